/* step_check.c: looks at every start of a step by itself: nothing here knows how starts are found. */
#include <stdlib.h>

#include "step_time.h"

struct begun { int64_t start; uint32_t op; };

struct checking {
	const struct step_model *model;
	const struct step_time *time;
	struct error *error;
	struct begun *begun;             /* [ops] collectives of one stream, by their start */
};

static int64_t step_check_end_of(const struct checking *checking, uint32_t op)
{
	return checking->time->start[op] + checking->model->time[op];
}

static enum status step_check_wrong(const struct checking *checking, uint32_t op, int64_t expected)
{
	return fail(checking->error, INFEASIBLE, "op %u starts at %lld ps, not at %lld", op,
		(long long)checking->time->start[op], (long long)expected);
}

/* When all that an op needs is there, but for its stream. */
static int64_t ready_at(const struct checking *checking, uint32_t op)
{
	const struct step_model *model = checking->model;
	int64_t ready = model->release[op] == NONE ? 0 : checking->time->start[model->release[op]];
	FOR_ITEMS(before, &model->pred, op)
		ready = step_check_end_of(checking, before) > ready
			? step_check_end_of(checking, before)
			: ready;
	FOR_ITEMS(holder, &model->held, op)
		ready = step_check_end_of(checking, holder) > ready
			? step_check_end_of(checking, holder)
			: ready;
	return ready;
}

/* Views begin when they can; computation in its order, as soon as it can. */
static enum status step_check_order(const struct checking *checking)
{
	const struct step_model *model = checking->model;
	int64_t free = 0;
	FOR(i, model->ops) {
		uint32_t op = model->sequence[i];
		bool computes = model->stream[op] == 0 && model->time[op] > 0;
		int64_t ready = ready_at(checking, op);
		if (model->time[op] > 0 && !computes)
			continue;
		if (computes && free > ready)
			ready = free;
		if (checking->time->start[op] != ready)
			return step_check_wrong(checking, op, ready);
		if (computes)
			free = step_check_end_of(checking, op);
	}
	return OK;
}

COMPARATOR(step_check_by_start, struct begun, COMPARE(a->start, b->start, COMPARE(a->op, b->op, 0)))

/* One collective at a time; one that waits though it could begin, waits for others all the while, and for those that
 * began meanwhile in its turn. */
static enum status check_link(const struct checking *checking, uint32_t stream)
{
	const struct step_model *model = checking->model;
	struct begun *begun = checking->begun;
	uint32_t count = 0;
	FOR(op, model->ops)
		if (model->stream[op] == stream && model->time[op] > 0)
			begun[count++] = (struct begun) { checking->time->start[op], op };
	SORT(begun, count, step_check_by_start);
	FOR(i, count) {
		int64_t ready = ready_at(checking, begun[i].op), free = i > 0 ? step_check_end_of(checking, begun[i - 1].op) : 0;
		if (begun[i].start < ready || begun[i].start < free)
			return step_check_wrong(checking, begun[i].op, LARGER(ready, free));
		for (uint32_t j = i; begun[j].start > ready; j--) {
			if (j == 0 || step_check_end_of(checking, begun[j - 1].op) != begun[j].start)
				return step_check_wrong(checking, begun[i].op, ready);
			if (begun[j - 1].start >= ready && model->turn[begun[j - 1].op] > model->turn[begun[i].op])
				return fail(checking->error, INFEASIBLE, "op %u runs before op %u, whose turn it is", begun[j - 1].op, begun[i].op);
		}
	}
	return OK;
}

static enum status step_check_sums(const struct checking *checking)
{
	const struct step_model *model = checking->model;
	const struct step_time *time = checking->time;
	int64_t busy[STREAMS_MAX] = { 0 }, exposed = 0, end = 0;
	FOR(op, model->ops) {
		busy[model->stream[op]] += model->time[op];
		end = step_check_end_of(checking, op) > end ? step_check_end_of(checking, op) : end;
	}
	if (end != time->total)
		return fail(checking->error, INFEASIBLE, "the step takes %lld ps, not %lld", (long long)end, (long long)time->total);
	FOR(s, model->streams) {
		if (busy[s] != time->busy[s])
			return fail(checking->error, INFEASIBLE, "stream %u is busy for %lld ps, not %lld", s, (long long)busy[s],
				(long long)time->busy[s]);
		if (time->exposed[s] < 0 || time->exposed[s] > busy[s] || (s == 0 && time->exposed[s] != 0))
			return fail(checking->error, INFEASIBLE, "stream %u can't expose %lld ps", s, (long long)time->exposed[s]);
		exposed += time->exposed[s];
	}
	if (exposed != time->total - busy[0])
		return fail(checking->error, INFEASIBLE, "the exposed times don't add up to the time that computation waits");
	return OK;
}

enum status step_time_check(const struct step_model *model, const struct step_time *time, struct error *error)
{
	struct checking checking = { model, time, error, mem_alloc(model->ops, sizeof *checking.begun) };
	if (!checking.begun)
		return fail_memory(error);
	enum status status = step_check_order(&checking);
	for (uint32_t s = 1; s < model->streams && status == OK; s++)
		status = check_link(&checking, s);
	THEN(status, step_check_sums(&checking));
	mem_free(checking.begun);
	return status;
}
