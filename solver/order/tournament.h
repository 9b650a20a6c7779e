/* tournament.h: the best ready op among those whose need fits. */
#pragma once

#include "solver/base/base.h"

/* A complete binary tree over the ops, sorted by the need they start with. Each node knows the range of needs below
 * it and its best op: the least by key, then by second, then the smaller number (the larger if late). */
struct order_tournament {
	uint32_t leaves;           /* a power of two; node 1 is the root, node leaves + i leaf i */
	uint32_t *slot;            /* op -> its leaf's node */
	int64_t *least, *most;     /* node -> range of needs of the ops in it that take part */
	uint32_t *best;            /* node -> op, or NONE */
	int64_t *key, *second;     /* op -> */
	bool late;
};

/* need: [ops], what the leaves are sorted by; nothing takes part yet. O(ops log ops). */
enum status order_tournament_init(
	struct order_tournament *tournament, uint32_t ops, const int64_t *need, struct arena *arena);
/* Lets op take part with these keys, or changes them. O(log ops). */
void order_tournament_put(struct order_tournament *tournament, uint32_t op, int64_t need, int64_t key, int64_t second);
void order_tournament_remove(struct order_tournament *tournament, uint32_t op);
/* The best op of those that need no more than room, or NONE. O(log ops) while needs stay near those at the start. */
uint32_t order_tournament_best(const struct order_tournament *tournament, int64_t room);

static inline bool order_tournament_has(const struct order_tournament *tournament, uint32_t op)
{
	return tournament->best[tournament->slot[op]] != NONE;
}
/* The least need of all; INT64_MAX without ops. */
static inline int64_t order_tournament_least(const struct order_tournament *tournament)
{
	return tournament->least[1];
}
