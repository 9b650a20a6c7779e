/* curve.c: plans for several caps, a pool of them: none is slower than one of a smaller cap. */

#include "recompute.h"

static void recompute_curve_take_over(
	const struct recompute_step *step, const struct recompute_plan *from, struct recompute_plan *to)
{
	to->extra = from->extra;
	to->peak = from->peak;
	to->proved = to->extra <= to->bound;
	memcpy(to->state, from->state, step->storages);
	COPY(to->order, from->order, step->ops);
}

/* The smallest cap above the last one, and of equals the first; NONE: there is no more. */
static uint32_t next_cap(const int64_t *cap, uint32_t caps, uint32_t last)
{
	uint32_t next = NONE;
	FOR(i, caps) {
		bool later = last == NONE || cap[i] > cap[last] || (cap[i] == cap[last] && i > last);
		if (later && (next == NONE || cap[i] < cap[next]))
			next = i;
	}
	return next;
}

enum status recompute_curve(struct recompute_solver *solver, const int64_t *cap, uint32_t caps,
	const struct recompute_search_options *options, struct control *control, struct recompute_plan *plan)
{
	enum status status = OK;
	uint32_t fastest = NONE;
	FOR(i, caps)
		plan[i] = (struct recompute_plan){ 0 };
	for (uint32_t i = next_cap(cap, caps, NONE); i != NONE && status == OK; i = next_cap(cap, caps, i)) {
		status = recompute_solve(solver, cap[i], options, control, &plan[i]);
		if (status == OK && !plan[i].impossible)
			status = recompute_consider(solver, cap[i], options->candidate, options->candidates, options, control, &plan[i]);
		if (status != OK)
			break;
		if (fastest != NONE && plan[fastest].extra < plan[i].extra)
			recompute_curve_take_over(&solver->step, &plan[fastest], &plan[i]);
		if (plan[i].extra < INT64_MAX)
			fastest = i;
		if (options->solved)
			options->solved(options->context, &plan[i]);
	}
	return status;
}
