/* waists.h: memory-insensitive ops: comparable with every other op, so that the problem falls apart there. */
#pragma once

#include "model.h"

/* True when op is in path [count]; place says where ops of the path are, and may hold anything for the others. */
static inline bool order_on_path(const uint32_t *path, uint32_t count, const uint32_t *place, uint32_t op)
{
	return place[op] < count && path[place[op]] == op;
}

/* Which ops of a set are comparable with all others of it (MAGIS' narrow waist nw = 0): waist [count], by position.
 * path lists the set's ops in a topological order, and place [ops] is its inverse. lowest [count + 1] becomes, for
 * each position, the least position behind the last predecessor of an op from there on: lowest[i + 1] > i says that
 * all ops behind i depend on it. Dependencies through ops outside the set don't count. O(arcs of the set). */
void order_find_waists(const struct order_model *model, const uint32_t *path, uint32_t count, const uint32_t *place,
	uint32_t *lowest, bool *waist);
