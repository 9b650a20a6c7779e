/* segments.c: orders that hold in PyTorch's allocator.
 *
 * What a step needs there above its peak are holes in segments, and which holes are left is a matter of what comes and
 * goes right before: so where an allocation fails, ops before it change places until it doesn't. */
#include "stages.h"

#define TRIES 1600
#define IDLE 800           /* tries that bring nothing, */
#define FIRST_IDLE 200     /* and before the first that does, */
#define FIRST_OPS 1000000  /* of small steps so many ops in all */
#define NEAR 150           /* positions before the failing one: most moves begin there */
#define REACH 12           /* positions that an op moves at most */
#define MOVES 4            /* of a try at most */

struct segments {
	struct ordered ordered;    /* with other orders; lent */
	struct laid_out laid_out;  /* with their lifetimes */
	const struct scenario *scenario;
	bool state_first;
	uint32_t *first, *last;    /* [items] of the problem */
	uint32_t *next, *position; /* [ops] */
	uint64_t random;
	struct arena arena;
};

/* The position, counted over all steps, at which an order breaks; INT64_MAX: it holds. */
static enum status segments_break(struct segments *segments, const uint32_t *order, int64_t *breaks)
{
	const struct ordered *ordered = &segments->ordered;
	struct laid_out *laid_out = &segments->laid_out;
	OWN(arena) arena = { 0 };
	struct buffers buffers;
	segments->ordered.result.order = (uint32_t *)(uintptr_t)order;
	TRY(problem_lifetimes(&ordered->problem, order, segments->first, segments->last));
	FOR(item, ordered->problem.items) {
		laid_out->first[ordered->problem.storage[item]] = segments->first[item];
		laid_out->last[ordered->problem.storage[item]] = segments->last[item];
	}
	FOR(i, ordered->problem.ops) {
		uint32_t item = ordered->graph->storages + order[i];
		if (laid_out->first[item] != NONE)
			laid_out->first[item] = laid_out->last[item] = i;
	}
	TRY(allocator_buffers(ordered, laid_out, ALLOCATOR_STEPS, segments->state_first, &arena, &buffers));
	*breaks = layout_breaks(&buffers, scenario_allocator(segments->scenario, ordered->graph) == ALLOCATOR_EXPANDABLE,
		scenario_budget(segments->scenario));
	return OK;
}

/* An op to another position that what it needs, and what needs it, leave it. */
static void segments_move(struct segments *segments, uint32_t near)
{
	const struct problem *problem = &segments->ordered.problem;
	uint32_t *order = segments->next, from = random_below(&segments->random, MOVES) == 0
		? random_below(&segments->random, problem->ops)
		: near - random_below(&segments->random, SMALLER(near + 1, NEAR));
	uint32_t op = order[from], low = from > REACH ? from - REACH : 0, high = SMALLER(from + REACH, problem->ops - 1);
	FOR(i, problem->ops)
		segments->position[order[i]] = i;
	FOR_ITEMS(before, &problem->pred, op)
		low = LARGER(low, segments->position[before] + 1);
	FOR_ITEMS(after, &problem->succ, op)
		high = SMALLER(high, segments->position[after] - 1);
	uint32_t to = low + random_below(&segments->random, high - low + 1);
	if (to < from)
		memmove(order + to + 1, order + to, (from - to) * sizeof *order);
	else
		memmove(order + from, order + from + 1, (to - from) * sizeof *order);
	order[to] = op;
}

/* From an order that breaks to one that holds, or breaks later. OK, NO_MEMORY or CANCELLED. */
static enum status segments_climb(
	struct segments *segments, const struct control *control, uint32_t *order, int64_t *breaks)
{
	uint32_t ops = segments->ordered.problem.ops, first = LARGER(FIRST_IDLE, SMALLER(IDLE, FIRST_OPS / LARGER(ops, 1)));
	for (uint32_t n = 0, idle = IDLE - first; n < TRIES && idle < IDLE && *breaks > 0 && *breaks < INT64_MAX;
		n++, idle++) {
		int64_t comes = 0;
		TRY(control_status(control) == CANCELLED ? CANCELLED : OK);
		COPY(segments->next, order, ops);
		for (uint32_t moves = 1 + random_below(&segments->random, MOVES); moves > 0; moves--)
			segments_move(segments, (uint32_t)(*breaks % ops));
		TRY(segments_break(segments, segments->next, &comes));
		if (comes >= *breaks)
			COPY(order, segments->next, ops);
		idle = comes > *breaks ? 0 : idle;
		*breaks = LARGER(*breaks, comes);
	}
	return OK;
}

enum status segments_order(const struct ordered *ordered, const struct laid_out *laid_out,
	const struct scenario *scenario, bool state_first, const uint32_t *const *start, uint32_t count,
	const struct control *control, uint32_t *order, bool *holds)
{
	struct segments segments = { .ordered = *ordered, .laid_out = *laid_out, .scenario = scenario,
		.state_first = state_first, .random = 1 };
	struct arena *arena = &segments.arena;
	uint32_t ops = ordered->problem.ops;
	int64_t most = -1;
	enum status status = ROOMS(arena, ordered->problem.items, segments.first, segments.last) &&
		ROOMS(arena, ops, segments.next, segments.position) && ROOMS(arena, laid_out->items, segments.laid_out.first,
		segments.laid_out.last) ? OK : NO_MEMORY;
	if (status == OK) {
		COPY(segments.laid_out.first, laid_out->first, laid_out->items);
		COPY(segments.laid_out.last, laid_out->last, laid_out->items);
	}
	FOR_WHILE(i, count, status == OK) {
		int64_t breaks = 0;
		status = segments_break(&segments, start[i], &breaks);
		if (status == OK && breaks > most)
			COPY(order, start[i], ops);
		most = LARGER(most, breaks);
	}
	status = status == OK ? segments_climb(&segments, control, order, &most) : status;
	*holds = status == OK && most == INT64_MAX;
	arena_free(arena);
	return status;
}
