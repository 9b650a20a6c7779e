/* blocks.h: a training step cut into blocks one after the other, as the pieces of a pipeline are made of.
 *
 * A cut lies where one activation alone goes from the forward ops before it to those behind it: at a residual stream
 * between attention and feed-forward layers. Tensors made of parameters alone (position biases) or of inputs alone
 * (masks) don't count, every rank makes its own. Nor are there cuts within what recomputation runs again in one go.
 * Structure alone decides, no names. */
#pragma once

#include "solver/graph/graph.h"

struct blocks {
	uint32_t blocks;
	uint32_t *of;            /* [ops] backward and update ops belong to the block of what they differentiate and update */
	uint32_t *crossing;      /* [blocks] the tensor that goes from a block to the next; NONE after the last */
	bool *joined; /* [blocks] with the block behind it: recomputation runs both again in one go, no cut lies between */
	uint32_t stretches;      /* of blocks between which cuts may lie */
	uint64_t *signature;     /* [blocks] of the forward ops: types, shapes, dtypes; equal blocks have equal ones */
	uint32_t *home;          /* [storages] the block that first reads what nothing writes, or that writes it */
	struct arena arena;
};

/* OK or NO_MEMORY. At least one block. O(size). */
enum status blocks_find(const struct graph *graph, struct blocks *blocks);
/* The same with cuts behind the forward ops of gap[ops], whatever tensors go through these, and whatever runs again
 * over them. */
enum status blocks_find_at(const struct graph *graph, const bool *gap, struct blocks *blocks);
/* For steps that have no such cuts: of each of so many stretches of the forward ops the gap through which the fewest
 * bytes go, into gap[ops]. Returns how many there are. OK or NO_MEMORY. O(size). */
enum status blocks_cheap_gaps(const struct graph *graph, uint32_t stretches, bool *gap, uint32_t *gaps);
void blocks_free(struct blocks *blocks);
#define blocks_drop blocks_free

/* True for an op that only gives other names to what nothing writes: a transposed parameter. It belongs to its readers.
 */
bool blocks_views_state(const struct graph *graph, uint32_t op);

/* Gradients and states belong to the parameter that they update, found along shared storages: owner[storages], NONE for
 * what has none. O(size). */
void blocks_owners(const struct graph *graph, uint32_t *owner);
/* The parameter that an op of the update works for, or NONE. */
uint32_t blocks_owner(const struct graph *graph, const uint32_t *owner, uint32_t op);

/* The longest run of blocks that repeats: blocks first .. first + length with a period, at least two periods long;
 * false where none is. */
bool blocks_period(const struct blocks *blocks, uint32_t *first, uint32_t *length, uint32_t *period);
