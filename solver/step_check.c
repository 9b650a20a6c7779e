/* step_check.c: the streams of a device, event by event: nothing here knows how starts are found in one pass. */
#include <string.h>

#include "step_time.h"

struct events {
	const struct step_model *model;
	uint32_t *queue[STREAMS_MAX];    /* ops that take time, in turn */
	uint32_t length[STREAMS_MAX], head[STREAMS_MAX];
	int64_t until[STREAMS_MAX];      /* the op at the head is running: its end; -1: it is not */
	uint32_t *missing;               /* [ops] what has not ended yet */
	struct csr succ;
	bool *started;
	uint32_t *ended, ends;           /* ops whose followers are to be told */
	int64_t *start, now;
};

static void begin(struct events *events, uint32_t op)
{
	events->start[op] = events->now;
	events->started[op] = true;
}

static bool may_begin(const struct events *events, uint32_t op)
{
	uint32_t release = events->model->release[op];
	return events->missing[op] == 0 && (release == NONE || events->started[release]);
}

/* Tells all followers of what has ended; those that take no time end at once. */
static void tell(struct events *events)
{
	while (events->ends > 0) {
		uint32_t op = events->ended[--events->ends];
		FOR_ROW(i, &events->succ, op) {
			uint32_t next = events->succ.item[i];
			if (--events->missing[next] == 0 && events->model->time[next] == 0) {
				begin(events, next);
				events->ended[events->ends++] = next;
			}
		}
	}
}

/* Begins what can begin now; a stream that begins may release another. */
static void begin_heads(struct events *events)
{
	bool any = true;
	while (any) {
		any = false;
		for (uint32_t s = 0; s < events->model->streams; s++) {
			if (events->head[s] == events->length[s] || events->until[s] >= 0 || !may_begin(events, events->queue[s][events->head[s]]))
				continue;
			uint32_t op = events->queue[s][events->head[s]];
			begin(events, op);
			events->until[s] = events->now + events->model->time[op];
			any = true;
		}
	}
}

/* The next moment at which something ends, and what does. False: nothing runs. */
static bool advance(struct events *events)
{
	int64_t next = INT64_MAX;
	for (uint32_t s = 0; s < events->model->streams; s++)
		next = events->until[s] >= 0 && events->until[s] < next ? events->until[s] : next;
	if (next == INT64_MAX)
		return false;
	events->now = next;
	for (uint32_t s = 0; s < events->model->streams; s++)
		if (events->until[s] == next) {
			events->ended[events->ends++] = events->queue[s][events->head[s]++];
			events->until[s] = -1;
		}
	return true;
}

static enum status prepare(struct events *events, struct arena *arena)
{
	const struct step_model *model = events->model;
	events->missing = arena_alloc(arena, model->ops, sizeof *events->missing);
	events->started = arena_alloc(arena, model->ops, sizeof *events->started);
	events->ended = arena_alloc(arena, model->ops, sizeof *events->ended);
	events->start = arena_alloc(arena, model->ops, sizeof *events->start);
	if (!events->missing || !events->started || !events->ended || !events->start)
		return NO_MEMORY;
	for (uint32_t s = 0; s < model->streams; s++) {
		events->queue[s] = arena_alloc(arena, model->ops, sizeof **events->queue);
		if (!events->queue[s])
			return NO_MEMORY;
		events->until[s] = -1;
	}
	for (uint32_t i = 0; i < model->ops; i++) {
		uint32_t op = model->sequence[i], s = model->stream[op];
		events->missing[op] = csr_length(&model->pred, op);
		if (model->time[op] > 0)
			events->queue[s][events->length[s]++] = op;
	}
	return csr_transpose(arena, &model->pred, model->ops, model->ops, &events->succ);
}

static void run(struct events *events)
{
	const struct step_model *model = events->model;
	for (uint32_t op = 0; op < model->ops; op++)
		if (csr_length(&model->pred, op) == 0 && model->time[op] == 0) {
			begin(events, op);
			events->ended[events->ends++] = op;
		}
	do {
		tell(events);
		begin_heads(events);
	} while (advance(events));
}

static enum status compare(const struct events *events, const struct step_time *time, struct error *error)
{
	const struct step_model *model = events->model;
	int64_t busy[STREAMS_MAX] = { 0 }, exposed = 0;
	for (uint32_t op = 0; op < model->ops; op++) {
		if (!events->started[op])
			return fail(error, INFEASIBLE, "op %u never starts", op);
		if (events->start[op] != time->start[op])
			return fail(error, INFEASIBLE, "op %u starts at %lld ps, not at %lld", op, (long long)events->start[op], (long long)time->start[op]);
		busy[model->stream[op]] += model->time[op];
	}
	if (events->now != time->total)
		return fail(error, INFEASIBLE, "the step takes %lld ps, not %lld", (long long)events->now, (long long)time->total);
	for (uint32_t s = 0; s < model->streams; s++) {
		if (busy[s] != time->busy[s])
			return fail(error, INFEASIBLE, "stream %u is busy for %lld ps, not %lld", s, (long long)busy[s], (long long)time->busy[s]);
		if (time->exposed[s] < 0 || time->exposed[s] > busy[s] || (s == 0 && time->exposed[s] != 0))
			return fail(error, INFEASIBLE, "stream %u can't expose %lld ps", s, (long long)time->exposed[s]);
		exposed += time->exposed[s];
	}
	if (exposed != time->total - busy[0])
		return fail(error, INFEASIBLE, "what is exposed doesn't add up to what computation waits");
	return OK;
}

enum status step_time_check(const struct step_model *model, const struct step_time *time, struct error *error)
{
	struct arena arena = { 0 };
	struct events events = { .model = model };
	enum status status = prepare(&events, &arena);
	if (status == OK) {
		run(&events);
		status = compare(&events, time, error);
	} else {
		fail(error, status, "out of memory");
	}
	arena_free(&arena);
	return status;
}
