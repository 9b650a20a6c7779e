/* dual.c: prices at a few moments and the cuts at these prices: Kelley's cutting planes. */
#include <math.h>

#include "search.h"
#include "solver/base/milp.h"

#define GIGA 1e9       /* the master counts in gigabytes and milliseconds */
#define PRICE_MOST 1e6 /* picoseconds a byte: a second for a megabyte */
#define TOLERANCE 2e-4 /* of the bound, or of a thousandth of the step's time */

void recompute_dual_prices(const struct recompute_base *base, const uint32_t *moment, const double *lambda,
	uint32_t moments, double *sum, int64_t *price)
{
	const struct recompute_step *step = base->step;
	CLEAR(sum, (step->ops + 1u));
	FOR(m, moments)
		sum[moment[m] + 1] += lambda[m];
	FOR(i, step->ops)
		sum[i + 1] += sum[i];
	FOR(s, step->storages) {
		price[s] = 0;
		if (!step->droppable[s])
			continue;
		bool gap = base->from[s] <= base->until[s] && base->until[s] < step->ops;
		double each = gap ? sum[base->until[s] + 1] - sum[base->from[s]] : 0;
		double copies = step->copies && step->copies[s] > 0
			? sum[base->position[step->flush] + 1] * (double)step->copies[s]
			: 0;
		double whole = floor(LARGER(each, 0) * (double)step->bytes[s] + copies);
		price[s] = base->dominated[s] || whole > (double)step->total ? step->total + 1 : (int64_t)whole;
	}
}

void recompute_dual_profile(const struct recompute_base *base, const int64_t *fixed, const bool *kept, int64_t *profile)
{
	const struct recompute_step *step = base->step;
	CLEAR(profile, step->ops);
	FOR(s, step->storages)
		if (step->droppable[s] && kept[s] && base->from[s] <= base->until[s] && base->until[s] < step->ops) {
			profile[base->from[s]] += step->bytes[s];
			if (base->until[s] + 1 < step->ops)
				profile[base->until[s] + 1] -= step->bytes[s];
		}
	int64_t more = 0, copies = 0;
	FOR_WHILE(s, step->storages, step->copies)
		copies += step->droppable[s] && kept[s] ? step->copies[s] : 0;
	FOR(i, step->ops) {
		more += profile[i] +
			(copies > 0 && i == 0 ? copies
			: copies > 0 && i == base->position[step->flush] + 1 ? -copies
			: 0);
		profile[i] = fixed[i] + more;
	}
}

/* ---- columns ---- */

static struct recompute_column *new_column(struct recompute_dual *dual)
{
	const struct recompute_step *step = dual->base->step;
	struct recompute_column *column = &dual->column[dual->columns];
	*column = (struct recompute_column){ .kept = arena_alloc(&dual->arena, step->storages, sizeof *column->kept),
		.profile = arena_alloc(&dual->arena, step->ops, sizeof *column->profile) };
	return column->kept && column->profile ? column : NULL;
}

static uint32_t recompute_dual_fullest(const struct recompute_step *step, const int64_t *profile)
{
	uint32_t most = 0;
	FOR_FROM(i, 1, step->ops)
		most = profile[i] > profile[most] ? i : most;
	return most;
}

static void finish_column(struct recompute_dual *dual, struct recompute_column *column)
{
	recompute_dual_profile(dual->base, dual->fixed, column->kept, column->profile);
	column->most = dual->base->step->ops ? column->profile[recompute_dual_fullest(dual->base->step, column->profile)] : 0;
	dual->columns++;
}

/* The cut at prices; *bound: the dual's value there. */
static enum status recompute_dual_add_cut(
	struct recompute_dual *dual, const double *lambda, struct control *control, double *bound)
{
	const struct recompute_step *step = dual->base->step;
	int64_t *price = dual->prices, value = 0, kept = 0;
	struct recompute_column *column = new_column(dual);
	NEED(column);
	recompute_dual_prices(dual->base, dual->moment, lambda, dual->moments, dual->sums, price);
	TRY(recompute_cut(dual->network, price, step->time, step->saved, control, &value, column->kept));
	FOR(s, step->storages)
		kept += column->kept[s] ? price[s] : 0;
	column->time = value - kept;
	*bound = (double)value;
	FOR(m, dual->moments)
		*bound += lambda[m] * (double)(dual->fixed[dual->moment[m]] - dual->cap);
	finish_column(dual, column);
	return OK;
}

/* ---- the master ---- */

static double recompute_dual_excess(const struct recompute_dual *dual, uint32_t column, uint32_t moment)
{
	return (double)(dual->column[column].profile[dual->moment[moment]] - dual->cap) / GIGA;
}

/* The prices: the highest theta that no column contradicts. */
static enum status master_prices(
	const struct recompute_dual *dual, struct control *control, double *lambda, double *theta)
{
	OWN(milp) milp = { 0 };
	OWN(milp_solution) solution;
	uint32_t top = milp_add_column(&milp, -HUGE_VAL, HUGE_VAL, -1, false);
	FOR(m, dual->moments)
		milp_add_column(&milp, 0, PRICE_MOST, 0, false);
	FOR(c, dual->columns) {
		milp_add_row(&milp, -HUGE_VAL, (double)dual->column[c].time / GIGA);
		milp_add_entry(&milp, top, 1);
		FOR(m, dual->moments)
			milp_add_entry(&milp, top + 1 + m, -recompute_dual_excess(dual, c, m));
	}
	TRY(milp_solve(&milp, &(struct milp_limits){ 0 }, control, &solution));
	*theta = solution.value[top] * GIGA;
	FOR(m, dual->moments)
		lambda[m] = LARGER(solution.value[top + 1 + m], 0);
	return OK;
}

/* Its other side: the mix of columns that keeps the cap at every moment, at the least time. */
static enum status master_mix(struct recompute_dual *dual, struct control *control)
{
	OWN(milp) milp = { 0 };
	OWN(milp_solution) solution;
	FOR(c, dual->columns)
		milp_add_column(&milp, 0, 1, (double)dual->column[c].time / GIGA, false);
	FOR(m, dual->moments)
		milp_add_column(&milp, 0, HUGE_VAL, PRICE_MOST, false);
	milp_add_row(&milp, 1, 1);
	FOR(c, dual->columns)
		milp_add_entry(&milp, c, 1);
	FOR(m, dual->moments) {
		milp_add_row(&milp, -HUGE_VAL, 0);
		FOR(c, dual->columns)
			milp_add_entry(&milp, c, recompute_dual_excess(dual, c, m));
		milp_add_entry(&milp, dual->columns + m, -1);
	}
	TRY(milp_solve(&milp, &(struct milp_limits){ 0 }, control, &solution));
	FOR(c, dual->columns)
		dual->column[c].share = solution.value[c];
	return OK;
}

/* The fullest moment of the mix, where it is above the cap and has no price yet. */
static bool add_moment(struct recompute_dual *dual)
{
	const struct recompute_step *step = dual->base->step;
	double *mixed = dual->sums;
	uint32_t most = 0;
	if (dual->moments == RECOMPUTE_MOMENTS)
		return false;
	CLEAR(mixed, step->ops);
	FOR(c, dual->columns)
		FOR_WHILE(i, step->ops, dual->column[c].share > 1e-9)
			mixed[i] += dual->column[c].share * (double)dual->column[c].profile[i];
	FOR_FROM(i, 1, step->ops)
		most = mixed[i] > mixed[most] ? i : most;
	FOR(m, dual->moments)
		if (dual->moment[m] == most)
			return false;
	if (mixed[most] <= (double)dual->cap * (1 + 1e-6) + 1)
		return false;
	dual->price[dual->moments] = 0;
	dual->moment[dual->moments++] = most;
	return true;
}

/* ---- the whole ---- */

static enum status iterate(struct recompute_dual *dual, struct control *control)
{
	const struct recompute_step *step = dual->base->step;
	double lambda[RECOMPUTE_MOMENTS], theta = 0, value;
	while (dual->columns < RECOMPUTE_COLUMNS) {
		enum status status = master_prices(dual, control, lambda, &theta);
		uint32_t moments = dual->moments;
		status = status == OK ? master_mix(dual, control) : status;
		if (status != OK)
			return status == INFEASIBLE ? OK : status; /* numbers that GLPK can't handle: what there is will do */
		TRY(recompute_dual_add_cut(dual, lambda, control, &value));
		if (value > dual->bound || dual->columns == 2) {
			dual->bound = LARGER(value, 0);
			dual->best = dual->columns - 1;
			COPY(dual->price, lambda, moments);
		}
		double scale = LARGER(dual->bound, 1e-3 * (double)step->total);
		if (!add_moment(dual) && theta - dual->bound <= TOLERANCE * scale)
			return OK;
		if (control_spend(control, step->ops))
			return control_status(control);
	}
	return OK;
}

enum status recompute_dual_solve(const struct recompute_base *base, struct recompute_network *network, int64_t cap,
	const int64_t *fixed, const struct recompute_dual *warm, struct control *control, struct recompute_dual *dual)
{
	const struct recompute_step *step = base->step;
	*dual = (struct recompute_dual){ .base = base, .network = network, .cap = cap, .fixed = fixed ? fixed : base->fixed };
	if (step->ops == 0)
		return OK;
	ROOM(&dual->arena, dual->sums, step->ops + 1u);
	ROOM(&dual->arena, dual->prices, step->storages);
	struct recompute_column *all = new_column(dual);
	NEED(dual->sums && dual->prices && all);
	if (dual->fixed[recompute_dual_fullest(step, dual->fixed)] > cap)
		return INFEASIBLE;
	FOR(s, step->storages)
		all->kept[s] = step->droppable[s] && step->fixed[s] != RECOMPUTE_DROPPED && (!step->copies || step->saved[s]);
	finish_column(dual, all);
	dual->column[0].share = 1;
	if (all->most <= cap)
		return OK;
	dual->moment[dual->moments++] = recompute_dual_fullest(step, all->profile);
	for (uint32_t m = 0; warm && m < warm->moments && dual->moments < RECOMPUTE_MOMENTS / 2; m++)
		if (warm->price[m] > 0 && warm->moment[m] != dual->moment[0])
			dual->moment[dual->moments++] = warm->moment[m];
	return iterate(dual, control);
}

void recompute_dual_free(struct recompute_dual *dual)
{
	arena_free(&dual->arena);
}
