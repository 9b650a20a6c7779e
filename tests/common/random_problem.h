/* random_problem.h: small random ordering problems, and their optimum by brute force. Shares no code with the orderers.
 */
#pragma once

#include <string.h>

#include "solver/graph/problem.h"

struct random_rows {
	uint32_t count, row[4000], value[4000];
};

static inline void random_add(struct random_rows *rows, uint32_t row, uint32_t value)
{
	if (rows->count < 4000) {
		rows->row[rows->count] = row;
		rows->value[rows->count++] = value;
	}
}

/* Numbers ops in a random topological order that is not the identity: id[k] is the op at program position k. */
static inline void random_ids(uint64_t *state, uint32_t ops, uint32_t *id)
{
	for (uint32_t i = 0; i < ops; i++)
		id[i] = i;
	for (uint32_t i = ops; i > 1; i--) {
		uint32_t j = random_below(state, i), swap = id[i - 1];
		id[i - 1] = id[j];
		id[j] = swap;
	}
}

/* A random problem: items with and without producer, shared and unused, live-out or not; control edges;
 * workspace in some. Returns false when out of memory. Free with problem_free(). */
static inline bool random_problem(uint64_t *state, uint32_t ops, struct problem *problem)
{
	*problem = (struct problem) { .ops = ops, .base = random_below(state, 3) * 100 };
	struct arena *arena = &problem->arena;
	uint32_t items = ops ? random_below(state, 2 * ops + 3) : 0, reach = 1 + random_below(state, ops + 1);
	bool shuffled = random_below(state, 2), workspace = random_below(state, 3) == 0;
	uint32_t largest = random_below(state, 2) ? 12 : 1000;
	static _Thread_local struct random_rows uses, products, edges;
	uses.count = products.count = edges.count = 0;
	problem->items = items;
	problem->producer = arena_alloc(arena, items, sizeof *problem->producer);
	problem->size = arena_alloc(arena, items, sizeof *problem->size);
	problem->live_out = arena_alloc(arena, items, sizeof *problem->live_out);
	problem->storage = arena_alloc(arena, items, sizeof *problem->storage);
	problem->workspace = arena_alloc(arena, ops, sizeof *problem->workspace);
	problem->phase = arena_alloc(arena, ops, sizeof *problem->phase);
	problem->program = arena_alloc(arena, ops, sizeof *problem->program);
	if (!problem->producer || !problem->size || !problem->live_out || !problem->storage || !problem->workspace ||
		!problem->phase || !problem->program)
		return false;
	uint32_t *id = problem->program;
	random_ids(state, ops, id);
	if (!shuffled)
		for (uint32_t i = 0; i < ops; i++)
			id[i] = i;
	for (uint32_t item = 0; item < items; item++) {
		uint32_t at = random_below(state, ops + 1), users = random_below(state, 4);
		problem->size[item] = 1 + random_below(state, largest);
		problem->live_out[item] = random_below(state, 6) == 0;
		problem->storage[item] = NONE;
		problem->producer[item] = at == ops ? NONE : id[at];
		if (at < ops)
			random_add(&products, id[at], item);
		uint32_t from = at == ops ? 0 : at + 1, room = ops - from < reach ? ops - from : reach;
		for (uint32_t i = 0; i < users && room > 0; i++) {
			uint32_t user = id[from + random_below(state, room)];
			random_add(&uses, user, item);
			if (at < ops)
				random_add(&edges, user, id[at]);
		}
	}
	for (uint32_t i = random_below(state, ops + 1); i > 0 && ops > 1; i--) {
		uint32_t before = random_below(state, ops - 1), after = before + 1 + random_below(state, ops - 1 - before);
		if (random_below(state, 2))
			random_add(&edges, id[after], id[before]);
	}
	for (uint32_t op = 0; op < ops; op++) {
		problem->workspace[op] = workspace ? random_below(state, largest) : 0;
		problem->phase[op] = (uint8_t)random_below(state, PHASE_COUNT);
	}
	bool fine = csr_of_pairs(arena, ops, uses.count, uses.row, uses.value, &problem->uses) == OK
		&& csr_of_pairs(arena, ops, products.count, products.row, products.value, &problem->products) == OK
		&& csr_of_pairs(arena, ops, edges.count, edges.row, edges.value, &problem->pred) == OK;
	if (!fine)
		return false;
	csr_unique(&problem->uses, ops);
	csr_unique(&problem->products, ops);
	csr_unique(&problem->pred, ops);
	return csr_transpose(arena, &problem->uses, ops, items, &problem->users) == OK
		&& csr_transpose(arena, &problem->pred, ops, ops, &problem->succ) == OK;
}

/* mem(S) by its definition; bit v of state: v has run. */
static inline int64_t state_bytes(const struct problem *problem, uint32_t state)
{
	int64_t bytes = problem->base;
	for (uint32_t item = 0; item < problem->items; item++) {
		bool made = problem->producer[item] == NONE || state >> problem->producer[item] & 1, needed = problem->live_out[item];
		FOR_ROW(i, &problem->users, item)
			needed |= !(state >> problem->users.item[i] & 1);
		if (made && needed)
			bytes += problem->size[item];
	}
	return bytes;
}

/* The least peak over all orders of at most 16 ops, by dynamic programming over all states. */
static inline int64_t least_peak(const struct problem *problem)
{
	uint32_t ops = problem->ops;
	static _Thread_local int64_t best[1u << 16];
	best[0] = ops ? 0 : state_bytes(problem, 0);
	for (uint32_t state = 1; state < 1u << ops; state++)
		best[state] = INT64_MAX;
	for (uint32_t state = 0; state + 1 < 1u << ops; state++) {
		if (best[state] == INT64_MAX)
			continue;
		int64_t bytes = state_bytes(problem, state);
		for (uint32_t op = 0; op < ops; op++) {
			bool ready = !(state >> op & 1);
			FOR_ROW(i, &problem->pred, op)
				ready &= state >> problem->pred.item[i] & 1;
			if (!ready)
				continue;
			int64_t live = bytes + problem->workspace[op];
			FOR_ROW(i, &problem->products, op)
				live += problem->size[problem->products.item[i]];
			int64_t peak = live > best[state] ? live : best[state];
			uint32_t next = state | 1u << op;
			best[next] = peak < best[next] ? peak : best[next];
		}
	}
	return best[(1u << ops) - 1];
}
