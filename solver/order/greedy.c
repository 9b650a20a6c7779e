/* greedy.c: list scheduling: of the ops that are ready, the one that does best by memory runs next.
 *
 * order=list is the rule of XLA's list scheduler (openxla/xla, hlo_memory_scheduler.cc): most bytes freed less those
 * made, then most successors. LESCEA, which ROAM is compared with, schedules lists, too; its own rule couldn't be read.
 * LPMF goes by the key of PyTorch's (torch/_inductor/memory.py), whose own order is inductor.c's. Ready ops are kept in
 * a tournament, and only those are touched whose key a run changes. */

#include "job.h"

struct greedy {
	struct order_walk walk;
	struct order_tournament ready;
	enum order_greedy_rule rule;
	int64_t peak;
	const uint32_t *sequence;  /* ops that run in this order among themselves; NULL: none */
	uint32_t *place;           /* op -> its place there, or NONE */
	uint32_t length, turn;     /* the place of the next of them */
};

static bool greedy_may(const struct greedy *greedy, uint32_t op)
{
	return greedy->walk.waiting[op] == 0 &&
		(!greedy->sequence || greedy->place[op] == NONE || greedy->place[op] == greedy->turn);
}

static void greedy_put(struct greedy *greedy, uint32_t op)
{
	const struct order_walk *walk = &greedy->walk;
	int64_t successors = csr_length(&walk->model->succ, op);
	order_tournament_put(&greedy->ready, op, order_walk_need(walk, op), order_walk_growth(walk, op),
		greedy->rule == ORDER_GREEDY_LIST ? -successors : 0);
}

/* LPMF takes the least growth among what fits under the peak so far; if nothing fits, among what needs least. */
static uint32_t greedy_take(struct greedy *greedy)
{
	int64_t room = INT64_MAX, least = order_tournament_least(&greedy->ready);
	if (greedy->rule == ORDER_GREEDY_LPMF) {
		room = greedy->peak - greedy->walk.live;
		room = LARGER(least, room);
	}
	uint32_t op = order_tournament_best(&greedy->ready, room);
	order_tournament_remove(&greedy->ready, op);
	return op;
}

static void greedy_run(struct greedy *greedy, uint32_t op)
{
	struct order_walk *walk = &greedy->walk;
	const struct order_model *model = walk->model;
	int64_t live = walk->live + order_walk_need(walk, op);
	if (live > greedy->peak)
		greedy->peak = live;
	order_walk_run(walk, op);
	FOR(i, walk->changes)
		if (order_tournament_has(&greedy->ready, walk->changed[i]))
			greedy_put(greedy, walk->changed[i]);
	bool in_turn = greedy->sequence && greedy->place[op] != NONE;
	greedy->turn += in_turn;
	FOR_ITEMS(after, &model->succ, op)
		if (greedy_may(greedy, after))
			greedy_put(greedy, after);
	if (in_turn && greedy->turn < greedy->length && greedy_may(greedy, greedy->sequence[greedy->turn]))
		greedy_put(greedy, greedy->sequence[greedy->turn]);
}

/* Leaves are sorted by what each op would need if it ran first, which changes less than its need when ready. */
static enum status start_tournament(struct greedy *greedy, struct arena *arena)
{
	const struct order_walk *walk = &greedy->walk;
	const struct order_model *model = walk->model;
	int64_t *need;
	NEED(ROOM(arena, need, model->ops));
	FOR(op, model->ops)
		need[op] = order_walk_need(walk, op);
	return order_tournament_init(&greedy->ready, model->ops, need, arena);
}

static enum status greedy_all(
	struct greedy *greedy, const struct order_model *model, bool prefer_late, struct arena *arena, uint32_t *order)
{
	TRY(order_walk_start(&greedy->walk, model, arena));
	TRY(start_tournament(greedy, arena));
	greedy->ready.late = prefer_late;
	greedy->peak = greedy->walk.live;
	FOR(op, model->ops)
		if (greedy_may(greedy, op))
			greedy_put(greedy, op);
	FOR(i, model->ops) {
		order[i] = greedy_take(greedy);
		greedy_run(greedy, order[i]);
	}
	return OK;
}

enum status order_greedy(
	const struct order_model *model, enum order_greedy_rule rule, bool prefer_late, uint32_t *order)
{
	OWN(arena) arena = { 0 };
	struct greedy greedy = { .rule = rule };
	return greedy_all(&greedy, model, prefer_late, &arena, order);
}

enum status order_greedy_beside(
	const struct order_model *model, const uint32_t *sequence, uint32_t length, uint32_t *order)
{
	OWN(arena) arena = { 0 };
	struct greedy greedy = { .rule = ORDER_GREEDY_LIST, .sequence = sequence, .length = length };
	ROOM(&arena, greedy.place, model->ops);
	FOR_WHILE(op, model->ops, greedy.place)
		greedy.place[op] = NONE;
	FOR_WHILE(i, length, greedy.place)
		greedy.place[sequence[i]] = i;
	return greedy.place ? greedy_all(&greedy, model, false, &arena, order) : NO_MEMORY;
}
