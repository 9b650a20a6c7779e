/* shard_chain_walk.h: cost and usage of all walks along a link that can be part of a nearly best plan.
 *
 * The powers of shard_chain_power.h once more, with sets of points as entries: a walk of twice the length is two walks that meet. Points stay
 * only where the best plan that has them weighs no more than a limit, so sets are small where the limit is close, whatever the length.
 */
#ifndef TIDEMARK_SHARD_CHAIN_WALK_H
#define TIDEMARK_SHARD_CHAIN_WALK_H

#include "shard_chain_search.h"

struct chain_walks {
	const struct chain_link *link;
	struct chain_front arcs;   /* of single copies */
	/* All walks: value and trail are the two that a walk is made of; of a single copy: NONE and a point of arcs. */
	struct chain_point *point;
	uint32_t points, room, most;
	struct chain_point *whole; /* those of the link's length, by entry of its factor; value: which of the walks */
	uint32_t *start;           /* [entries of the factor + 1] */
	uint32_t wholes, whole_room;
	struct chain_point *list;  /* scratch */
	uint32_t list_room;
	uint64_t looked;
	struct arena arena;
};

/* After passes up and down. limit: of the weight of a whole plan, below: of its cost. LIMIT: more than most points. Free in any case. */
enum status chain_walks_build(struct chain_walks *walks, struct chain_search *search, uint32_t link, int64_t limit, int64_t below, uint32_t most);
void chain_walks_free(struct chain_walks *walks);
/* The copies of a whole walk; what it needs lies in the arena. OK or NO_MEMORY. */
enum status chain_walks_path(const struct chain_walks *walks, uint32_t whole, struct chain_path *path, struct arena *arena);

#endif
