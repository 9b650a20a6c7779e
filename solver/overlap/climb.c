/* climb.c: see overlap.h. The limits lie between the least peak and what passes for time alone take: close to each
 * other where memory is scarce and dear. */

#include "overlap.h"

#define PASSES_EACH 2       /* at so many limits passes from the starts are made, too */
#define NEAR 2000           /* a step longer than the bound by such a part alone: more memory is left alone */

/* Takes the result over to its place by time; frees it where another one takes as long. */
static void climb_keep(struct overlap_climb *climb, struct overlap_result *result)
{
	uint32_t at = climb->count;
	while (at > 0 && result->order && climb->found[at - 1].time < result->time)
		at--;
	if (!result->order || (at > 0 && climb->found[at - 1].time == result->time)) {
		overlap_result_free(result);
		return;
	}
	memmove(climb->found + at + 1, climb->found + at, (climb->count++ - at) * sizeof *climb->found);
	climb->found[at] = *result;
}

static const struct overlap_result *fastest_of(const struct overlap_climb *climb)
{
	return climb->count > 0 ? &climb->found[climb->count - 1] : NULL;
}

/* Of a large step every second, fourth or eighth limit alone is tried, with more effort each. */
static int64_t stride_of(uint32_t ops)
{
	return ops > 40000 ? 8 : ops > 10000 ? 4 : ops > 4000 ? 2 : 1;
}

/* Of an effort: less where little is left to gain. */
static uint64_t climb_share_of(
	uint64_t effort, const struct overlap_request *request, const struct overlap_result *last)
{
	double left = last && request->bound > 0 ? 100 * ((double)last->time / (double)request->bound - 1) : 1;
	return left < 1 ? (uint64_t)((double)effort * left) + 1 : effort;
}

/* Bytes that the n-th search may take. */
static int64_t climb_limit_of(int64_t least, int64_t most, int64_t rung)
{
	return least + (most - least) / (CLIMB_RUNGS * CLIMB_RUNGS) * (rung * rung);
}

/* Under one limit: passes from the starts, then changes of the fastest order so far. known: another one that keeps the
 * limit, or NULL. */
static enum status climb_search(const struct overlap_request *request, struct control *control, bool passes,
	const struct overlap_result *known, struct overlap_climb *climb)
{
	struct overlap_request next = *request;
	struct overlap_result result = { 0 };
	enum status status = OK;
	if (passes) {
		const struct overlap_result *last = fastest_of(climb);
		next.moves = 0;
		next.lead = last && (next.lead == 0 || last->time < next.lead) ? last->time : next.lead;
		status = overlap_schedule(&next, control, &result);
		climb_keep(climb, &result);
		next.moves = request->moves;
	}
	const struct overlap_result *fastest = fastest_of(climb);
	fastest = known && (!fastest || known->time < fastest->time) ? known : fastest;
	if (status != OK || !fastest)
		return status;
	next.starts = 0;
	next.known = fastest->order;
	status = overlap_schedule(&next, control, &result);
	climb_keep(climb, &result);
	return status;
}

static enum status overlap_climb_from(const struct overlap_request *request, struct control *control, int64_t least,
	const struct overlap_result *free, struct overlap_climb *climb)
{
	enum status status = OK;
	bool over = false;
	int64_t stride = stride_of(request->graph->ops);
	for (int64_t rung = 0; rung <= CLIMB_RUNGS && !over && status == OK; rung += stride) {
		struct overlap_request next = *request;
		const struct overlap_result *last = fastest_of(climb);
		next.ticks = climb_share_of(request->ticks / CLIMB_RUNGS * (uint64_t)larger_of(stride, PASSES_EACH), request, last);
		next.moves = climb_share_of(request->moves, request, last);
		next.lead = free->peak <= request->limit ? free->time : 0;
		next.limit = rung < CLIMB_RUNGS ? climb_limit_of(least, free->peak, rung) : larger_of(least, free->peak);
		if (next.limit > request->limit)
			break;
		status = climb_search(&next, control, rung < CLIMB_RUNGS && rung % PASSES_EACH == 0,
			rung == CLIMB_RUNGS ? free : NULL, climb);
		last = fastest_of(climb);
		over = last && last->time - request->bound <= request->bound / NEAR;
	}
	return status;
}

enum status overlap_climb_orders(
	const struct overlap_request *request, struct control *control, struct overlap_climb *climb)
{
	struct overlap_request any = *request;
	struct overlap_result free;
	int64_t least = problem_peak(request->problem, request->start[0], NULL, &(uint32_t) { 0 });
	*climb = (struct overlap_climb) { 0 };
	NEED(least >= 0);
	if (least > request->limit)
		return INFEASIBLE;
	any.limit = INT64_MAX;
	any.moves = 0;
	enum status status = overlap_schedule(&any, control, &free);
	THEN(status, overlap_climb_from(request, control, least, &free, climb));
	if (free.order && free.peak <= request->limit)
		climb_keep(climb, &free);
	else
		overlap_result_free(&free);
	if (status == NO_MEMORY)
		overlap_climb_free(climb);
	return status;
}

void overlap_climb_free(struct overlap_climb *climb)
{
	FOR(i, climb->count)
		overlap_result_free(&climb->found[i]);
	*climb = (struct overlap_climb) { 0 };
}
