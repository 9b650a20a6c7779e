/* tournament.c: the best ready op among those whose need fits. */
#include <stdlib.h>

#include "job.h"

struct sorted {
	int64_t need;
	uint32_t op;
};

COMPARATOR(tournament_compare, struct sorted, COMPARE(a->need, b->need, COMPARE(a->op, b->op, 0)))

enum status order_tournament_init(
	struct order_tournament *tournament, uint32_t ops, const int64_t *need, struct arena *arena)
{
	uint32_t leaves = 1;
	while (leaves < ops)
		leaves *= 2;
	*tournament = (struct order_tournament) {
		.leaves = leaves,
		.slot = arena_alloc(arena, ops, sizeof *tournament->slot),
		.least = arena_alloc(arena, 2 * (size_t)leaves, sizeof *tournament->least),
		.most = arena_alloc(arena, 2 * (size_t)leaves, sizeof *tournament->most),
		.best = arena_alloc(arena, 2 * (size_t)leaves, sizeof *tournament->best),
		.key = arena_alloc(arena, ops, sizeof *tournament->key),
		.second = arena_alloc(arena, ops, sizeof *tournament->second),
	};
	struct sorted *MAKE(sorted, ops);
	if (!sorted || !tournament->slot || !tournament->least || !tournament->most || !tournament->best || !tournament->key
	    || !tournament->second) {
		mem_free(sorted);
		return NO_MEMORY;
	}
	FOR(op, ops)
		sorted[op] = (struct sorted) { need[op], op };
	SORT(sorted, ops, tournament_compare);
	FOR(i, ops)
		tournament->slot[sorted[i].op] = leaves + i;
	mem_free(sorted);
	FOR(node, 2 * leaves) {
		tournament->least[node] = INT64_MAX;
		tournament->most[node] = INT64_MIN;
		tournament->best[node] = NONE;
	}
	return OK;
}

static bool tournament_before(const struct order_tournament *tournament, uint32_t a, uint32_t b)
{
	if (a == NONE || b == NONE)
		return a != NONE;
	if (tournament->key[a] != tournament->key[b])
		return tournament->key[a] < tournament->key[b];
	if (tournament->second[a] != tournament->second[b])
		return tournament->second[a] < tournament->second[b];
	return tournament->late ? a > b : a < b;
}

/* Plays the matches again on the way from a leaf to the root. */
static void replay(struct order_tournament *tournament, uint32_t node)
{
	for (node /= 2; node > 0; node /= 2) {
		uint32_t left = 2 * node, right = left + 1;
		const int64_t *least = tournament->least, *most = tournament->most;
		tournament->least[node] = SMALLER(least[left], least[right]);
		tournament->most[node] = LARGER(most[left], most[right]);
		bool first = tournament_before(tournament, tournament->best[left], tournament->best[right]);
		tournament->best[node] = tournament->best[first ? left : right];
	}
}

void order_tournament_put(struct order_tournament *tournament, uint32_t op, int64_t need, int64_t key, int64_t second)
{
	uint32_t node = tournament->slot[op];
	tournament->key[op] = key;
	tournament->second[op] = second;
	tournament->least[node] = tournament->most[node] = need;
	tournament->best[node] = op;
	replay(tournament, node);
}

void order_tournament_remove(struct order_tournament *tournament, uint32_t op)
{
	uint32_t node = tournament->slot[op];
	tournament->least[node] = INT64_MAX;
	tournament->most[node] = INT64_MIN;
	tournament->best[node] = NONE;
	replay(tournament, node);
}

uint32_t order_tournament_best(const struct order_tournament *tournament, int64_t room)
{
	uint32_t stack[64], depth = 0, best = NONE;
	stack[depth++] = 1;
	while (depth > 0) {
		uint32_t node = stack[--depth];
		if (tournament->least[node] > room || !tournament_before(tournament, tournament->best[node], best))
			continue;
		if (tournament->most[node] <= room) {
			best = tournament->best[node];
			continue;
		}
		stack[depth++] = 2 * node + 1;
		stack[depth++] = 2 * node;
	}
	return best;
}
