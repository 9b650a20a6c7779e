/* draft.h: the inside of a draft, for draft.c and graph.c only. */
#pragma once

#include "graph.h"

/* Pairs (op, other) in the order they were given; csr_of_pairs makes rows of them. */
struct pairs {
	uint32_t *op, *other;
	uint32_t count;
	size_t room;
};
/* OK or NO_MEMORY. */
enum status pairs_add(struct pairs *pairs, uint32_t op, uint32_t other);
/* A copy of size bytes in an arena; NULL when out of memory. */
void *arena_copy(struct arena *arena, const void *of, size_t size);

/* The last different ones, in a ring: most records have what an earlier one has. */
struct recent { const void *kept[32]; size_t size[32]; uint32_t next; };

struct draft {
	const char *name, *source, *extra;
	struct about about;
	int64_t line[LINE_BATCHES];
	struct tensor *tensor;
	struct op *op;
	uint32_t tensors, ops;
	size_t tensor_room, op_room;
	struct pairs reads, writes, after;
	struct pairs inplace_out, inplace_in; /* two parallel lists: (op, out) and (op, in) */
	struct names op_names, tensor_names;
	struct texts shared; /* types, modules, places in the source */
	struct recent places, shapes, collectives;
	struct graph *lender; /* whose texts those of what is given are; NULL: they are copied */
	struct arena arena; /* texts and shapes */
};
