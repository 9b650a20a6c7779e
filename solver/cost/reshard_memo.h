/* reshard_memo.h: reshardings on one mesh, each found once: tensors that are alike have equal ones. */
#pragma once

#include "reshard.h"

struct known_class;
struct known;

struct reshard_memo {
	const struct units *units;
	const struct mesh *mesh;
	struct known_class *class;       /* [classes of tensors] tables, where they are small enough */
	struct known *known;             /* hash table of the rest */
	size_t count, room;
	struct arena arena;
};

/* OK or NO_MEMORY; end it in any case. */
enum status reshard_memo_begin(struct reshard_memo *memo, const struct units *units, const struct mesh *mesh);
void reshard_memo_end(struct reshard_memo *memo);
/* As reshard_any(); the result is lent until the end. O(1) but for the first of a class. */
enum status reshard_memo_find(struct reshard_memo *memo, uint32_t tensor, struct placement from, struct placement to,
	const struct reshard **reshard);
