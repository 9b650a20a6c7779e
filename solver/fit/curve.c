/* curve.c: plans for several caps, a pool of them: none is slower than one of a smaller cap. */

#include "fit.h"

static void fit_curve_take_over(const struct fit_step *step, const struct fit_plan *from, struct fit_plan *to)
{
	to->extra = from->extra;
	to->peak = from->peak;
	to->proved = to->extra <= to->bound;
	memcpy(to->state, from->state, step->storages);
	memcpy(to->order, from->order, step->ops * sizeof *to->order);
}

/* The smallest cap above the last one, and of equals the first; NONE: there is no more. */
static uint32_t next_cap(const int64_t *cap, uint32_t caps, uint32_t last)
{
	uint32_t next = NONE;
	for (uint32_t i = 0; i < caps; i++) {
		bool later = last == NONE || cap[i] > cap[last] || (cap[i] == cap[last] && i > last);
		if (later && (next == NONE || cap[i] < cap[next]))
			next = i;
	}
	return next;
}

enum status fit_curve(struct fit_solver *solver, const int64_t *cap, uint32_t caps, const struct fit_options *options,
	struct control *control, struct fit_plan *plan)
{
	enum status status = OK;
	uint32_t fastest = NONE;
	for (uint32_t i = 0; i < caps; i++)
		plan[i] = (struct fit_plan){ 0 };
	for (uint32_t i = next_cap(cap, caps, NONE); i != NONE && status == OK; i = next_cap(cap, caps, i)) {
		status = fit_solve(solver, cap[i], options, control, &plan[i]);
		if (status == OK && !plan[i].impossible)
			status = fit_consider(solver, cap[i], options->candidate, options->candidates, options, control, &plan[i]);
		if (status != OK)
			break;
		if (fastest != NONE && plan[fastest].extra < plan[i].extra)
			fit_curve_take_over(&solver->step, &plan[fastest], &plan[i]);
		if (plan[i].extra < INT64_MAX)
			fastest = i;
		if (options->solved)
			options->solved(options->context, &plan[i]);
	}
	return status;
}
