/* spill.c: local ratio for what leaves a pool.
 *
 * At the fullest section, over by some excess, what leaves has to have at least that many bytes there: so cost eps * min(bytes,
 * excess) of each unit alive there is a cost that every solution pays at least eps * excess of. It is taken off, with the
 * largest eps that leaves no cost negative, and those who have none left leave. What left last comes back first, if it fits
 * after all.
 */
#include "spill.h"

struct relief {
	const struct spill *spill;
	uint32_t pool;
	int64_t limit;
	int64_t *load;             /* [sections] */
	double *left;              /* [units] cost that has not been taken off */
	bool *inside;              /* [units] */
	uint32_t *gone;            /* [units] in the order they left */
	uint32_t gone_count;
	double dual;
};

int64_t spill_cost(const struct spill *spill, const uint32_t *pick)
{
	int64_t cost = 0;
	for (uint32_t u = 0; u < spill->units; u++)
		cost += pick[u] * spill->cost[u];
	return cost;
}

static void load_unit(struct relief *relief, uint32_t unit, int64_t sign)
{
	const struct spill *spill = relief->spill;
	for (uint32_t k = spill->span_start[unit]; k < spill->span_start[unit + 1]; k++)
		for (uint32_t s = spill->span[k].first; s < spill->span[k].last; s++)
			relief->load[s] += sign * spill->span[k].bytes;
}

static int64_t bytes_at(const struct spill *spill, uint32_t unit, uint32_t section)
{
	int64_t bytes = 0;
	for (uint32_t k = spill->span_start[unit]; k < spill->span_start[unit + 1]; k++)
		if (spill->span[k].first <= section && section < spill->span[k].last)
			bytes += spill->span[k].bytes;
	return bytes;
}

static uint32_t fullest(const struct relief *relief)
{
	uint32_t full = 0;
	for (uint32_t s = 1; s < relief->spill->sections; s++)
		if (relief->load[s] > relief->load[full])
			full = s;
	return full;
}

static double share(int64_t bytes, int64_t excess)
{
	return (double)(bytes < excess ? bytes : excess);
}

/* One step: takes costs off and lets units leave. False when nobody there can. */
static bool step(struct relief *relief, uint32_t section, const uint32_t *pick)
{
	const struct spill *spill = relief->spill;
	int64_t excess = relief->load[section] - relief->limit;
	double eps = -1;
	for (uint32_t u = 0; u < spill->units; u++) {
		int64_t bytes = relief->inside[u] && !spill_last(spill, pick, u) ? bytes_at(spill, u, section) : 0;
		if (bytes > 0 && (eps < 0 || relief->left[u] / share(bytes, excess) < eps))
			eps = relief->left[u] / share(bytes, excess);
	}
	if (eps < 0)
		return false;
	relief->dual += eps * (double)excess;
	for (uint32_t u = 0; u < spill->units; u++) {
		int64_t bytes = relief->inside[u] && !spill_last(spill, pick, u) ? bytes_at(spill, u, section) : 0;
		if (bytes == 0)
			continue;
		relief->left[u] -= eps * share(bytes, excess);
		if (relief->left[u] > 1e-9 * (double)spill->cost[u])
			continue;
		relief->inside[u] = false;
		relief->gone[relief->gone_count++] = u;
		load_unit(relief, u, -1);
	}
	return true;
}

static bool fits_back(const struct relief *relief, uint32_t unit)
{
	const struct spill *spill = relief->spill;
	for (uint32_t k = spill->span_start[unit]; k < spill->span_start[unit + 1]; k++)
		for (uint32_t s = spill->span[k].first; s < spill->span[k].last; s++)
			if (relief->load[s] + bytes_at(spill, unit, s) > relief->limit)
				return false;
	return true;
}

static enum status set_up(struct relief *relief, const uint32_t *pick)
{
	const struct spill *spill = relief->spill;
	relief->load = mem_alloc(spill->sections, sizeof *relief->load);
	relief->left = mem_alloc(spill->units, sizeof *relief->left);
	relief->inside = mem_alloc(spill->units, sizeof *relief->inside);
	relief->gone = mem_alloc(spill->units, sizeof *relief->gone);
	NEED(relief->load && relief->left && relief->inside && relief->gone);
	for (uint32_t u = 0; u < spill->units; u++) {
		relief->left[u] = (double)spill->cost[u];
		relief->inside[u] = spill_pool(spill, pick, u) == relief->pool;
		if (relief->inside[u])
			load_unit(relief, u, 1);
	}
	return OK;
}

static void tear_down(struct relief *relief)
{
	mem_free(relief->load);
	mem_free(relief->left);
	mem_free(relief->inside);
	mem_free(relief->gone);
}

/* Lets units leave until the rest fits; *section the one that is too full for good. */
static enum status relieve(struct relief *relief, const uint32_t *pick, uint32_t *section)
{
	enum status status = set_up(relief, pick);
	while (status == OK && relief->spill->sections > 0) {
		*section = fullest(relief);
		if (relief->load[*section] <= relief->limit)
			break;
		if (!step(relief, *section, pick))
			status = INFEASIBLE;
	}
	return status;
}

enum status spill_relieve(const struct spill *spill, uint32_t pool, int64_t limit, uint32_t *pick, uint32_t *section, int64_t *bytes)
{
	struct relief relief = { .spill = spill, .pool = pool, .limit = limit };
	enum status status = relieve(&relief, pick, section);
	if (status == INFEASIBLE)
		*bytes = relief.load[*section];
	for (uint32_t i = relief.gone_count; status == OK && i-- > 0;) {
		uint32_t unit = relief.gone[i];
		if (fits_back(&relief, unit))
			load_unit(&relief, unit, 1);
		else
			pick[unit]++;
	}
	tear_down(&relief);
	return status;
}

enum status spill_bound(const struct spill *spill, int64_t *bound)
{
	uint32_t *pick = mem_alloc(spill->units, sizeof *pick), section;
	enum status status = pick ? OK : NO_MEMORY;
	double dual = 0;
	for (uint32_t pool = 0; pool < spill->pools && status == OK; pool++) {
		struct relief relief = { .spill = spill, .pool = pool, .limit = spill->capacity[pool] };
		if (relief.limit < INT64_MAX && relieve(&relief, pick, &section) == NO_MEMORY)
			status = NO_MEMORY;
		dual += relief.dual;
		tear_down(&relief);
	}
	/* Rounding errors are far below this, and costs are whole. */
	int64_t whole = (int64_t)(dual * (1 - 1e-11));
	*bound = whole + ((double)whole < dual * (1 - 1e-11));
	mem_free(pick);
	return status;
}

enum status spill_add_cut(struct spill *spill, uint32_t pool, const uint32_t *unit, uint32_t count)
{
	if (!mem_reserve(&spill->cut, &spill->cut_room, spill->cuts + 1, sizeof *spill->cut)
	    || !mem_reserve(&spill->cut_unit, &spill->cut_unit_room, spill->cut_units + count, sizeof *spill->cut_unit))
		return NO_MEMORY;
	spill->cut[spill->cuts++] = (struct spill_cut){ pool, (uint32_t)spill->cut_units, count };
	memcpy(spill->cut_unit + spill->cut_units, unit, count * sizeof *unit);
	spill->cut_units += count;
	return OK;
}
