/* spill_program.c: which pool each unit goes to, as an integer program.
 *
 * One column for each unit and pool that it may lie in; a row for each unit, for each section that may overfill a pool, and for each
 * cut. What GLPK says is rounded and checked in integers.
 */
#include <math.h>

#include "spill.h"
#include "solver/base/milp.h"

#define ENTRIES_MOST 30000
#define WORK_MOST 10000000 /* looks at a unit in a section */
#define PROGRAM_NODES 20000
#define PROGRAM_ITERATIONS 200000

/* The pick that the pool has in the unit's list, NONE: it may not lie there. */
static uint32_t pick_of(const struct spill *spill, uint32_t unit, uint32_t pool)
{
	FOR_ROW(i, &spill->candidates, unit)
		if (spill->candidates.item[i] == pool)
			return i - spill->candidates.start[unit];
	return NONE;
}

/* What the pool would have to hold in each section if all came that may. */
static void fill(const struct spill *spill, uint32_t pool, const uint32_t *pick, int64_t *load)
{
	memset(load, 0, spill->sections * sizeof *load);
	for (uint32_t u = 0; u < spill->units; u++) {
		uint32_t own = pick_of(spill, u, pool);
		if (own == NONE || (pick && pick[u] != own))
			continue;
		for (uint32_t k = spill->span_start[u]; k < spill->span_start[u + 1]; k++)
			for (uint32_t s = spill->span[k].first; s < spill->span[k].last; s++)
				load[s] += spill->span[k].bytes;
	}
}

/* Sections of the pool that may be too full get a row. Entries are grouped by row: units are looked through for each. */
static bool add_sections(struct milp *milp, const struct spill *spill, uint32_t pool, const int64_t *load)
{
	double capacity = (double)spill->capacity[pool], scale = capacity > 1 ? capacity : 1;
	for (uint32_t s = 0; s < spill->sections; s++) {
		if (load[s] <= spill->capacity[pool])
			continue;
		milp_add_row(milp, -INFINITY, capacity / scale);
		for (uint32_t u = 0; u < spill->units; u++) {
			uint32_t pick = pick_of(spill, u, pool);
			int64_t bytes = 0;
			for (uint32_t k = spill->span_start[u]; pick != NONE && k < spill->span_start[u + 1]; k++)
				if (spill->span[k].first <= s && s < spill->span[k].last)
					bytes += spill->span[k].bytes;
			if (bytes > 0)
				milp_add_entry(milp, spill->candidates.start[u] + pick, (double)bytes / scale);
		}
		if (milp->entries > ENTRIES_MOST)
			return false;
	}
	return true;
}

static void add_cuts(struct milp *milp, const struct spill *spill)
{
	for (uint32_t i = 0; i < spill->cuts; i++) {
		const struct spill_cut *cut = &spill->cut[i];
		milp_add_row(milp, -INFINITY, cut->count - 1.0);
		for (uint32_t k = 0; k < cut->count; k++) {
			uint32_t unit = spill->cut_unit[cut->first + k];
			milp_add_entry(milp, spill->candidates.start[unit] + pick_of(spill, unit, cut->pool), 1);
		}
	}
}

static bool build(struct milp *milp, const struct spill *spill, double scale, int64_t *load)
{
	if ((double)spill->units * spill->sections * spill->pools > WORK_MOST)
		return false;
	for (uint32_t u = 0; u < spill->units; u++)
		for (uint32_t k = 0; k < csr_length(&spill->candidates, u); k++)
			milp_add_column(milp, 0, 1, k * (double)spill->cost[u] / scale, true);
	for (uint32_t u = 0; u < spill->units; u++) {
		milp_add_row(milp, 1, 1);
		FOR_ROW(i, &spill->candidates, u)
			milp_add_entry(milp, i, 1);
	}
	for (uint32_t pool = 0; pool < spill->pools; pool++) {
		if (spill->capacity[pool] == INT64_MAX)
			continue;
		fill(spill, pool, NULL, load);
		if (!add_sections(milp, spill, pool, load))
			return false;
	}
	add_cuts(milp, spill);
	return true;
}

/* Whether the picks keep capacities and cuts, in integers. */
static bool valid(const struct spill *spill, const uint32_t *pick, int64_t *load)
{
	for (uint32_t pool = 0; pool < spill->pools; pool++) {
		fill(spill, pool, pick, load);
		for (uint32_t s = 0; s < spill->sections; s++)
			if (load[s] > spill->capacity[pool])
				return false;
	}
	for (uint32_t i = 0; i < spill->cuts; i++) {
		const struct spill_cut *cut = &spill->cut[i];
		uint32_t there = 0;
		for (uint32_t k = 0; k < cut->count; k++)
			there += spill_pool(spill, pick, spill->cut_unit[cut->first + k]) == cut->pool;
		if (there == cut->count)
			return false;
	}
	return true;
}

static void read_picks(const struct spill *spill, const double *value, uint32_t *pick)
{
	for (uint32_t u = 0; u < spill->units; u++) {
		pick[u] = 0;
		FOR_ROW(i, &spill->candidates, u)
			if (value[i] > 0.5)
				pick[u] = i - spill->candidates.start[u];
	}
}

enum status spill_program(const struct spill *spill, uint32_t *pick, int64_t *bound, struct control *control)
{
	OWN(milp) milp = { 0 };
	struct milp_limits limits = { .iterations = PROGRAM_ITERATIONS, .nodes = PROGRAM_NODES };
	OWN(milp_solution) solution = { 0 };
	int64_t *load = mem_alloc(spill->sections, sizeof *load), unit = 0;
	enum status status = load ? OK : NO_MEMORY;
	for (uint32_t u = 0; u < spill->units; u++)
		unit = common_divisor(spill->cost[u], unit);
	double scale = unit > 0 ? (double)unit : 1;
	THEN(status, build(&milp, spill, scale, load) ? milp_solve(&milp, &limits, control, &solution) : LIMIT);
	if ((status == OK || status == LIMIT) && solution.value) {
		read_picks(spill, solution.value, pick);
		/* Whole costs, rounding errors taken off. */
		int64_t least = (int64_t)ceil(solution.bound - 1e-7 * fabs(solution.bound) - 1e-6);
		status = valid(spill, pick, load) ? OK : LIMIT;
		if (status == OK)
			*bound = least > 0 ? least * (int64_t)scale : 0;
	}
	mem_free(load);
	return status;
}
