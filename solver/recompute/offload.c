/* offload.c: which storages wait in the host's memory, and from when to when. */

#include "offload.h"

/* A storage that may go: positions are ops in program order. */
struct moved {
	uint32_t storage;
	uint32_t written, last; /* by the pass for the last time; its last reader there */
	uint32_t first;         /* the first op after it that names the storage */
	uint32_t gone, back;
	int64_t out, start; /* picoseconds: when its copy is out, when the way back begins */
};

struct scheduling {
	const struct recompute_step *step;
	const struct recompute_link *link;
	int64_t *start; /* [ops + 1] when an op computes at the earliest */
	uint32_t turn;  /* the first op that computes after the pass */
	int64_t stall;
	struct moved *moved; /* in the order in which they are written */
	uint32_t count;
	uint32_t *by_need; /* [count] the last needed first */
	struct arena arena;
};

static bool recompute_offload_computes(const struct recompute_step *step, uint32_t op)
{
	return step->time[op] > 0 && step->graph->op[op].phase != PHASE_COMMUNICATION;
}

/* The first op at or behind `from` that computes, of the backward pass where from is NONE. */
static uint32_t recompute_offload_find_turn(const struct recompute_step *step, uint32_t from)
{
	uint32_t op = from == NONE ? 0 : from;
	while (op < step->ops &&
		(!recompute_offload_computes(step, op) || (from == NONE && step->graph->op[op].phase != PHASE_BACKWARD)))
		op++;
	return op;
}

/* What is estimated to run again before the turn may not: copies to the host don't count on it. */
static void recompute_offload_find_starts(struct scheduling *scheduling, const int64_t *later)
{
	const struct recompute_step *step = scheduling->step;
	int64_t now = 0;
	FOR(op, step->ops) {
		now += later && op > scheduling->turn ? later[op] : 0;
		scheduling->start[op] = now;
		now += recompute_offload_computes(step, op) ? step->time[op] : 0;
	}
	scheduling->start[step->ops] = now;
}

/* Of ops that compute: the first at or behind `op` that begins at `when` or later; step->ops: none. */
static uint32_t first_from(const struct scheduling *scheduling, uint32_t op, int64_t when)
{
	while (op < scheduling->step->ops &&
		(!recompute_offload_computes(scheduling->step, op) || scheduling->start[op] < when))
		op++;
	return op;
}

/* The last one before or at `op` that begins at `when` or before; NONE: none. */
static uint32_t last_to(const struct scheduling *scheduling, uint32_t op, int64_t when)
{
	while (op != NONE && (!recompute_offload_computes(scheduling->step, op) || scheduling->start[op] > when))
		op--;
	return op;
}

static bool recompute_offload_describe(
	const struct recompute_step *step, const struct recompute_reruns *reruns, uint32_t storage, struct moved *moved)
{
	const struct graph *graph = step->graph;
	*moved = (struct moved){ .storage = storage, .first = NONE };
	FOR_ITEMS(writer, &step->writers, storage)
		moved->written = writer;
	FOR_ITEMS(user, &graph->users, storage) {
		if (graph->op[user].phase == PHASE_FORWARD)
			moved->last = user;
		else if (moved->first == NONE && !op_releases(&graph->op[user]))
			moved->first = user;
	}
	if (reruns && reruns->first[storage] < moved->first)
		moved->first = reruns->first[storage];
	return moved->first != NONE && moved->first > moved->last;
}

/* By keys, ties in the order given: insertion into a sorted list, which storages nearly are. */
static void sort_written(struct moved *moved, uint32_t count)
{
	FOR_FROM(i, 1, count) {
		struct moved one = moved[i];
		uint32_t j = i;
		for (; j > 0 && moved[j - 1].written > one.written; j--)
			moved[j] = moved[j - 1];
		moved[j] = one;
	}
}

static void sort_needed(struct scheduling *scheduling)
{
	FOR(i, scheduling->count) {
		uint32_t j = i;
		for (; j > 0 && scheduling->moved[scheduling->by_need[j - 1]].first < scheduling->moved[i].first; j--)
			scheduling->by_need[j] = scheduling->by_need[j - 1];
		scheduling->by_need[j] = i;
	}
}

/* Both ways of all; NONE, or the last one that can't go. */
static uint32_t schedule(struct scheduling *scheduling)
{
	const struct recompute_step *step = scheduling->step;
	const int64_t *start = scheduling->start;
	int64_t free = 0, next = INT64_MAX, deadline = start[scheduling->turn] + scheduling->stall;
	uint32_t fails = NONE, at = 0;
	FOR(i, scheduling->count) {
		struct moved *moved = &scheduling->moved[i];
		int64_t ready = start[moved->written] + step->time[moved->written];
		moved->out = free = LARGER(ready, free) + scheduling->link->time[moved->storage];
		at = first_from(scheduling, at > moved->last ? at : moved->last + 1, moved->out);
		moved->gone = at;
		if (moved->out > deadline)
			fails = i;
		else if (at > scheduling->turn)
			moved->gone = scheduling->turn; /* which waits for it */
	}
	at = step->ops - 1;
	FOR(i, scheduling->count) {
		struct moved *moved = &scheduling->moved[scheduling->by_need[i]];
		int64_t due = SMALLER(start[moved->first], next);
		moved->start = next = due - scheduling->link->time[moved->storage];
		at = last_to(scheduling, SMALLER(at, moved->first), moved->start);
		moved->back = at;
		if (at == NONE || at <= moved->gone || at <= scheduling->turn) {
			fails = fails == NONE || scheduling->by_need[i] > fails ? scheduling->by_need[i] : fails;
			at = at == NONE ? 0 : at;
		}
	}
	return fails;
}

static void recompute_offload_leave_out(struct scheduling *scheduling, uint32_t which)
{
	memmove(&scheduling->moved[which], &scheduling->moved[which + 1],
		(scheduling->count - which - 1) * sizeof *scheduling->moved);
	scheduling->count--;
	sort_needed(scheduling);
}

static bool recompute_offload_collect(
	struct scheduling *scheduling, const bool *wanted, const struct recompute_reruns *reruns)
{
	const struct recompute_step *step = scheduling->step;
	int64_t waiting = 0;
	if (!ROOMS(&scheduling->arena, step->storages + 1u, scheduling->moved, scheduling->by_need))
		return false;
	FOR(s, step->storages)
		if (wanted[s] && step->droppable[s] && step->fixed[s] == RECOMPUTE_FREE && step->bytes[s] >= RECOMPUTE_MOVED
		    && recompute_offload_describe(step, reruns, s, &scheduling->moved[scheduling->count]))
			scheduling->count++;
	sort_written(scheduling->moved, scheduling->count);
	uint32_t count = 0;
	FOR(i, scheduling->count)
		if (step->bytes[scheduling->moved[i].storage] <= scheduling->link->memory - waiting) {
			waiting += step->bytes[scheduling->moved[i].storage];
			scheduling->moved[count++] = scheduling->moved[i];
		}
	scheduling->count = count;
	sort_needed(scheduling);
	return true;
}

enum status recompute_windows_find(const struct recompute_step *step, const struct recompute_link *link,
	const bool *wanted, const struct recompute_reruns *reruns, uint32_t turn, int64_t stall, uint32_t most,
	struct offload_window *window, uint32_t *count)
{
	struct scheduling scheduling = { .step = step, .link = link, .stall = stall };
	uint32_t fails = NONE;
	*count = 0;
	bool fine = ROOM(&scheduling.arena, scheduling.start, step->ops + 1u) &&
		recompute_offload_collect(&scheduling, wanted, reruns);
	if (fine && step->ops > 0) {
		scheduling.turn = recompute_offload_find_turn(step, turn);
		recompute_offload_find_starts(&scheduling, reruns ? reruns->later : NULL);
		if (scheduling.turn == step->ops)
			scheduling.count = 0;
		while (scheduling.count > 0 && (scheduling.count > most || (fails = schedule(&scheduling)) != NONE))
			recompute_offload_leave_out(&scheduling, scheduling.count > most ? scheduling.count - 1 : fails);
	}
	FOR_WHILE(i, scheduling.count, fine)
		window[(*count)++] = (struct offload_window){ scheduling.moved[i].storage, scheduling.moved[i].gone,
			scheduling.moved[i].back };
	arena_free(&scheduling.arena);
	return fine ? OK : NO_MEMORY;
}

enum status recompute_reruns_of(struct recompute_solver *solver, const uint8_t *state, struct recompute_reruns *reruns)
{
	const struct recompute_step *step = &solver->step;
	const struct recompute_replay *replay = &solver->replay;
	CLEAR(reruns->later, step->ops);
	FILL_NONE(reruns->first, step->storages);
	TRY(recompute_play_all(&solver->replay, &solver->base[1], state));
	FOR_WHILE(i, replay->length, replay->valid) {
		uint32_t op = replay->run[i] / 2, before = solver->base[1].order[replay->at[i]];
		if (!(replay->run[i] & 1))
			continue;
		reruns->later[before] += step->time[op];
		FOR_ITEMS(read, &step->reads, op)
			if (before < reruns->first[read])
				reruns->first[read] = before;
	}
	return OK;
}
