/* timetable.c: of a plan the schedule slot by slot, as planned and simulated: its peaks are the plan's. */
#include "plan.h"
#include "solver/pipeline/timetable.h"
#include "src/read/rules_file.h"

/* The most that is alive in positions [from, to), or least where there are none. */
static int64_t timetable_highest(const struct plan *plan, uint32_t from, uint32_t to, int64_t least)
{
	FOR_FROM(p, from, to)
		least = LARGER(plan->ordered->live[p], least);
	return least;
}

/* What a step that is not cut holds in its two slots, and between and behind them. */
static void timetable_hold(const struct plan *plan, uint32_t first, uint32_t last, struct timetable *timetable)
{
	uint32_t ops = plan->graph->ops;
	timetable->fixed[0] = plan->ordered->problem.base;
	timetable->bytes[0] = timetable_highest(plan, 0, first, plan->ordered->problem.base);
	timetable->bytes[1] = timetable_highest(plan, first, last, plan->ordered->problem.base);
	timetable->after[0] = first < ops ? plan->ordered->live[first] : plan->ordered->problem.base;
	timetable->after[1] = timetable_highest(plan, last, ops, plan->ordered->problem.base);
	timetable->peak[0] = timetable->bytes[1] > timetable->bytes[0];
	if (timetable->after[1] >
		timetable->bytes[timetable->peak[0]]) { /* the update has the peak: it counts to the backward slot */
		timetable->bytes[1] = timetable->after[1];
		timetable->peak[0] = 1;
	}
}

/* A step in one piece on one rank, as simulated in its plan's order: a forward slot up to the first op of the backward
 * pass, a backward slot up to its last one, and what follows. */
static enum status timetable_of_step(
	const struct plan *plan, const struct plan_time *time, struct timetable *timetable, struct error *error)
{
	const struct graph *graph = plan->graph;
	uint32_t first = graph->ops, last = 0;
	int64_t total = time->time.total, begin = total, end = 0, none[1] = { 0 };
	FOR(p, graph->ops) {
		uint32_t op = plan->ordered->result.order[p];
		if (graph->op[op].phase != PHASE_BACKWARD || time->model.time[op] == 0)
			continue;   /* views stand anywhere */
		int64_t start = time->time.start[op], stop = start + time->model.time[op];
		first = SMALLER(first, p);
		last = p + 1;
		begin = SMALLER(start, begin);
		end = LARGER(stop, end);
	}
	int64_t backward = end > begin ? end - begin : 0;
	struct pipeline pipeline = { .schedule = SCHEDULE_1F1B,
		.ranks = 1,
		.chunks = 1,
		.microbatches = 1,
		.forward = &begin,
		.backward = &backward,
		.send = none };
	struct timetable_bytes bytes = { .fixed = none, .working = none, .kept = none };
	TRY(timetable_build(&pipeline, &bytes, total - begin - backward, timetable, error));
	timetable_hold(plan, first, LARGER(last, first), timetable);
	return OK;
}

/* The schedule with what its pieces keep; then every rank is lifted to its peak: what is there through the step, and
 * for the rest what comes and goes in a slot. */
static enum status timetable_of_ranks(const struct plan *plan, struct timetable *timetable, struct error *error)
{
	const struct pipelined *pipelined = plan->pipelined;
	uint32_t ranks = pipelined->ranks, pieces = ranks * pipelined->chunks;
	int64_t *MAKE(kept, 3 * (size_t)pieces + ranks), *weight = kept + pieces,
			*between = weight + pieces, *none = between + pieces;
	struct pipeline pipeline = pipelined_pipeline(pipelined);
	NEEDED(error, kept);
	FOR(k, pieces) {
		kept[k] = pipelined->piece[k].kept;
		weight[k] = pipelined->piece[k].kept_weight;
		between[k] = pipelined->piece[k].between;
	}
	struct timetable_bytes bytes = { none, none, kept, weight, between };
	enum status status = timetable_build(&pipeline, &bytes, pipelined->time - pipelined->timing.time, timetable, error);
	FOR_WHILE(r, ranks, status == OK) {
		const struct pipeline_rank *rank = &pipelined->rank[r];
		int64_t rest = (plan->by_rank ? plan->by_rank[r].peak : rank->peak) - timetable_peak(timetable, r);
		int64_t fixed = rank->parameters + rank->optimizer + rank->inputs + rank->gradients;
		fixed = SMALLER(fixed, rest);
		timetable_add(timetable, r, fixed, rest - fixed);
	}
	mem_free(kept);
	return status;
}

enum status plan_timetable(
	const struct plan *plan, const char *rules_file, struct timetable *timetable, struct error *error)
{
	*timetable = (struct timetable){ 0 };
	error_set(error, OK);
	if (plan->pipelined)
		return error_set(error, timetable_of_ranks(plan, timetable, error));
	if (plan->time)
		return error_set(error, timetable_of_step(plan, plan->time, timetable, error));
	OWN(rules) *rules = rules_load(rules_file, error);
	if (!rules)
		return error->status;
	struct plan_time *time = plan_time_of(plan->graph, plan->ordered->result.order, NULL, &plan->scenario, rules);
	enum status status = time ? timetable_of_step(plan, time, timetable, error) : fail_memory(error);
	plan_time_free(time);
	return error_set(error, status);
}
