/* step_time.c: one pass over the sequence gives every start; what computation waited for is read off backwards. */
#include "step_time.h"

struct running {
	const struct step_model *model;
	struct step_time *time;
	uint32_t last[STREAMS_MAX];  /* the stream's latest op, or NONE */
	uint32_t *cause;             /* [ops] whose end (or start, for a release) set the start; NONE: nothing did */
};

static int64_t end_of(const struct running *running, uint32_t op)
{
	return running->time->start[op] + running->model->time[op];
}

static void no_earlier(struct running *running, uint32_t op, int64_t than, uint32_t cause)
{
	if (than <= running->time->start[op])
		return;
	running->time->start[op] = than;
	running->cause[op] = cause;
}

static void start_op(struct running *running, uint32_t op)
{
	const struct step_model *model = running->model;
	uint32_t stream = model->stream[op];
	FOR_ROW(i, &model->pred, op)
		no_earlier(running, op, end_of(running, model->pred.item[i]), model->pred.item[i]);
	if (model->time[op] > 0 && running->last[stream] != NONE)
		no_earlier(running, op, end_of(running, running->last[stream]), running->last[stream]);
	if (model->release[op] != NONE)
		no_earlier(running, op, running->time->start[model->release[op]], model->release[op]);
	if (model->time[op] > 0) {
		running->last[stream] = op;
		running->time->busy[stream] += model->time[op];
	}
}

/* The time from `from` on until an op could start (or ended, where nothing follows), told by what it waited for. */
static void expose(struct running *running, uint32_t op, int64_t from)
{
	for (; op != NONE && end_of(running, op) > from; op = running->cause[op]) {
		int64_t start = running->time->start[op] > from ? running->time->start[op] : from;
		running->time->exposed[running->model->stream[op]] += end_of(running, op) - start;
	}
}

static void find_exposed(struct running *running)
{
	const struct step_model *model = running->model;
	int64_t free = 0;
	uint32_t latest = NONE;
	for (uint32_t i = 0; i < model->ops; i++) {
		uint32_t op = model->sequence[i];
		if (latest == NONE || end_of(running, op) > end_of(running, latest))
			latest = op;
		if (model->time[op] == 0 || model->stream[op] != 0)
			continue;
		expose(running, running->cause[op], free);
		free = end_of(running, op);
	}
	if (latest != NONE)
		expose(running, latest, free);
	running->time->total = latest == NONE ? 0 : end_of(running, latest);
}

enum status step_time_find(const struct step_model *model, struct step_time *time)
{
	struct arena scratch = { 0 };
	struct running running = { .model = model, .time = time };
	*time = (struct step_time) { 0 };
	time->start = arena_alloc(&time->arena, model->ops, sizeof *time->start);
	running.cause = arena_alloc(&scratch, model->ops, sizeof *running.cause);
	if (!time->start || !running.cause) {
		arena_free(&scratch);
		return NO_MEMORY;
	}
	for (uint32_t op = 0; op < model->ops; op++)
		running.cause[op] = NONE;
	for (int s = 0; s < STREAMS_MAX; s++)
		running.last[s] = NONE;
	for (uint32_t i = 0; i < model->ops; i++)
		start_op(&running, model->sequence[i]);
	find_exposed(&running);
	arena_free(&scratch);
	return OK;
}

void step_time_free(struct step_time *time)
{
	arena_free(&time->arena);
	*time = (struct step_time) { 0 };
}
