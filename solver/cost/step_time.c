/* step_time.c: a step event by event; what computation waited for is read off backwards. */
#include "solver/base/sort.h"
#include "step_time.h"

struct running {
	const struct step_model *model;
	struct step_time *time;
	struct csr succ, held, released; /* op -> ops that need its end; those that do in this order alone; op -> ops that
										may begin when it begins */
	uint32_t *missing;               /* [ops] what it still waits for, but for its stream */
	int64_t *ready;                  /* [ops] since when that is nothing */
	uint32_t *cause;                 /* [ops] what the start waited for last; NONE: nothing */
	uint32_t *ended, ends;           /* ops whose followers don't know yet */
	struct order_heap queue[STREAMS_MAX]; /* collectives that could begin */
	uint32_t next;                   /* place in the sequence of the next op to compute */
	uint32_t at[STREAMS_MAX], last[STREAMS_MAX]; /* the running op, and the one before: NONE */
	int64_t now;
	struct arena arena;
};

static int64_t step_time_end_of(const struct running *running, uint32_t op)
{
	return running->time->start[op] + running->model->time[op];
}

static void step_time_may_begin(struct running *running, uint32_t op)
{
	const struct step_model *model = running->model;
	running->ready[op] = running->now;
	if (model->time[op] == 0) {
		running->time->start[op] = running->now;
		running->ended[running->ends++] = op;
	} else if (model->stream[op] > 0) {
		order_heap_put(&running->queue[model->stream[op]], op, model->turn[op], 0);
	}
}

/* One thing less that an op waits for. */
static void satisfy(struct running *running, uint32_t op, uint32_t by)
{
	running->cause[op] = by;
	if (--running->missing[op] == 0)
		step_time_may_begin(running, op);
}

static void tell_followers(struct running *running)
{
	while (running->ends > 0) {
		uint32_t op = running->ended[--running->ends];
		FOR_ITEMS(after, &running->succ, op)
			satisfy(running, after, op);
		FOR_ITEMS(holder, &running->held, op)
			satisfy(running, holder, op);
	}
}

static void step_time_begin(struct running *running, uint32_t op)
{
	uint32_t stream = running->model->stream[op];
	running->time->start[op] = running->now;
	if (running->ready[op] < running->now)
		running->cause[op] = running->last[stream];
	running->time->busy[stream] += running->model->time[op];
	running->at[stream] = running->last[stream] = op;
	FOR_ITEMS(item, &running->released, op)
		satisfy(running, item, op);
}

/* Computation first: what it releases may begin at the same time. */
static void begin_all(struct running *running)
{
	const struct step_model *model = running->model;
	while (running->next < model->ops &&
		(model->stream[model->sequence[running->next]] != 0 || model->time[model->sequence[running->next]] == 0))
		running->next++;
	if (running->at[0] == NONE && running->next < model->ops && running->missing[model->sequence[running->next]] == 0)
		step_time_begin(running, model->sequence[running->next++]);
	FOR_FROM(s, 1, model->streams) {
		uint32_t op = running->at[s] == NONE ? order_heap_top(&running->queue[s]) : NONE;
		if (op == NONE)
			continue;
		order_heap_remove(&running->queue[s], op);
		step_time_begin(running, op);
	}
}

/* To the next end; false where nothing runs. */
static bool step_time_advance(struct running *running)
{
	int64_t next = INT64_MAX;
	FOR(s, running->model->streams)
		if (running->at[s] != NONE && step_time_end_of(running, running->at[s]) < next)
			next = step_time_end_of(running, running->at[s]);
	if (next == INT64_MAX)
		return false;
	running->now = next;
	FOR(s, running->model->streams)
		if (running->at[s] != NONE && step_time_end_of(running, running->at[s]) == next) {
			running->ended[running->ends++] = running->at[s];
			running->at[s] = NONE;
		}
	return true;
}

static void step_time_run(struct running *running)
{
	FOR(op, running->model->ops)
		if (running->missing[op] == 0)
			step_time_may_begin(running, op);
	do {
		tell_followers(running);
		begin_all(running);
	} while (step_time_advance(running));
	running->time->total = running->now;
}

/* ---- what is exposed ---- */

/* The time from `from` to the end of op, by what ran last on the way to it. */
static void expose(struct running *running, uint32_t op, int64_t from)
{
	for (; op != NONE && step_time_end_of(running, op) > from; op = running->cause[op]) {
		int64_t start = LARGER(running->time->start[op], from);
		running->time->exposed[running->model->stream[op]] += step_time_end_of(running, op) - start;
	}
}

static void find_exposed(struct running *running)
{
	const struct step_model *model = running->model;
	int64_t free = 0;
	uint32_t latest = NONE;
	FOR(i, model->ops) {
		uint32_t op = model->sequence[i];
		if (latest == NONE || step_time_end_of(running, op) > step_time_end_of(running, latest))
			latest = op;
		if (model->time[op] == 0 || model->stream[op] != 0)
			continue;
		expose(running, running->cause[op], free);
		free = step_time_end_of(running, op);
	}
	expose(running, latest, free);
}

/* ---- the whole ---- */

static enum status find_releases(struct running *running)
{
	const struct step_model *model = running->model;
	uint32_t pairs = 0;
	uint32_t *row, *item;
	NEED(ROOMS(&running->arena, model->ops, row, item));
	FOR(op, model->ops) {
		running->cause[op] = NONE;
		running->missing[op] = csr_length(&model->pred, op) + csr_length(&model->held, op) + (model->release[op] != NONE);
		if (model->release[op] != NONE) {
			row[pairs] = model->release[op];
			item[pairs++] = op;
		}
	}
	return csr_of_pairs(&running->arena, model->ops, pairs, row, item, &running->released);
}

static enum status step_time_prepare(struct running *running)
{
	const struct step_model *model = running->model;
	NEED(ROOM(&running->time->arena, running->time->start, model->ops) &&
		ROOMS(&running->arena, model->ops, running->missing, running->ready, running->cause, running->ended));
	FOR(s, model->streams) {
		running->at[s] = running->last[s] = NONE;
		TRY(order_heap_init(&running->queue[s], s > 0 ? model->ops : 0, &running->arena));
	}
	TRY(csr_transpose(&running->arena, &model->pred, model->ops, model->ops, &running->succ));
	TRY(csr_transpose(&running->arena, &model->held, model->ops, model->ops, &running->held));
	return find_releases(running);
}

enum status step_time_find(const struct step_model *model, struct step_time *time)
{
	struct running running = { .model = model, .time = time };
	*time = (struct step_time) { 0 };
	enum status status = step_time_prepare(&running);
	if (status == OK) {
		step_time_run(&running);
		find_exposed(&running);
	}
	arena_free(&running.arena);
	return status;
}

void step_time_free(struct step_time *time)
{
	arena_free(&time->arena);
	*time = (struct step_time) { 0 };
}
