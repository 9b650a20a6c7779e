/* check_pools.c: is everything in a pool that it may lie in, and does every pool hold? Independent of the solvers. */
#include "pools.h"

/* The steps down its list that the buffer's pool is; -1: not in its list. */
static int64_t steps_down(const struct layout_pools *pools, uint32_t i, uint32_t pool)
{
	if (!pools->candidates.start || pools->candidates.start[i] == pools->candidates.start[i + 1])
		return pool < pools->count ? (int64_t)pool : -1;
	FOR_ROW(k, &pools->candidates, i)
		if (pools->candidates.item[k] == pool)
			return k - pools->candidates.start[i];
	return -1;
}

static enum status check_places(const struct buffers *buffers, const struct layout_links *links, const struct layout_pools *pools,
				const struct pooled_layout *result, struct error *error)
{
	int64_t cost = 0;
	for (uint32_t i = 0; i < buffers->n; i++) {
		int64_t steps = steps_down(pools, i, result->pool[i]);
		if (steps < 0)
			return fail(error, BAD_INPUT, "buffer %u may not lie in pool %u", i, result->pool[i]);
		cost += steps * (pools->spill_cost ? pools->spill_cost[i] : buffers->size[i]);
		if (result->donor && result->donor[i] < buffers->n && result->pool[result->donor[i]] != result->pool[i])
			return fail(error, BAD_INPUT, "buffer %u has taken a place in another pool", i);
		uint32_t before = links->behind ? links->behind[i] : NONE;
		if (before != NONE && result->pool[before] != result->pool[i])
			return fail(error, BAD_INPUT, "buffers %u and %u are of one group, but in two pools", before, i);
	}
	if (result->cost != cost)
		return fail(error, BAD_INPUT, "spilling costs %lld, not %lld", (long long)cost, (long long)result->cost);
	if (result->bound > result->cost || (result->proved && result->bound != result->cost))
		return fail(error, BAD_INPUT, "the bound %lld of the cost %lld is wrong", (long long)result->bound, (long long)result->cost);
	return OK;
}

/* One pool: all others' buffers are taken for empty ones. */
static enum status check_pool(const struct buffers *buffers, const struct layout_links *links, const struct layout_pools *pools, uint32_t pool,
			      int64_t alignment, const struct pooled_layout *result, struct error *error)
{
	struct buffers own = *buffers;
	struct layout_links linked = *links;
	uint32_t n = buffers->n, *donor = mem_alloc(n, sizeof *donor);
	own.size = mem_alloc(n, sizeof *own.size);
	linked.behind = mem_alloc(n, sizeof *linked.behind);
	enum status status = donor && own.size && linked.behind ? OK : NO_MEMORY;
	for (uint32_t i = 0; i < n && status == OK; i++) {
		bool here = result->pool[i] == pool;
		own.size[i] = here ? buffers->size[i] : 0;
		linked.behind[i] = here && links->behind ? links->behind[i] : NONE;
		donor[i] = here && result->donor ? result->donor[i] : NONE;
	}
	int64_t arena = result->part[pool].linked.layout.arena;
	THEN(status, layout_check_links(&own, &linked, alignment, result->offset, donor, arena, error));
	if (status == OK && pools->capacity[pool] > 0 && arena > pools->capacity[pool])
		status = fail(error, BAD_INPUT, "pool %u has %lld bytes, but room for only %lld", pool, (long long)arena,
			      (long long)pools->capacity[pool]);
	mem_free(donor);
	mem_free(own.size);
	mem_free(linked.behind);
	return status;
}

enum status layout_check_pools(const struct buffers *buffers, const struct layout_links *links, const struct layout_pools *pools,
			       int64_t alignment, const struct pooled_layout *result, struct error *error)
{
	enum status status = check_places(buffers, links, pools, result, error);
	for (uint32_t p = 0; p < pools->count && status == OK; p++)
		status = check_pool(buffers, links, pools, p, alignment, result, error);
	return status;
}
