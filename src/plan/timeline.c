/* timeline.c: sums over lifetimes, and thinning that keeps the peaks. */
#include "timeline.h"

#define X(id, name, colour) name,
const char *const group_names[GROUP_COUNT] = { TIMELINE_GROUPS(X) };
#undef X
#define X(id, name, colour) colour,
const char *const group_colours[GROUP_COUNT] = { TIMELINE_GROUPS(X) };
#undef X

enum timeline_group group_of_kind(int kind)
{
	if (kind == KIND_COUNT)
		return GROUP_WORKSPACE;
	if (kind_persistent((enum kind)kind))
		return GROUP_STATE;
	return kind == KIND_GRADIENT ? GROUP_GRADIENT : kind == KIND_TEMPORARY ? GROUP_TEMPORARY : GROUP_ACTIVATION;
}

int64_t (*timeline_groups(const struct plan *plan))[GROUP_COUNT]
{
	uint32_t ops = plan->graph->ops;
	int64_t (*bytes)[GROUP_COUNT] = mem_alloc((size_t)ops + 1, sizeof *bytes);
	if (!bytes)
		return NULL;
	FOR(item, plan->laid_out->items) {
		if (plan->laid_out->first[item] == NONE)
			continue;
		enum timeline_group group = group_of_kind(item_kind(plan, item));
		bytes[plan->laid_out->first[item]][group] += plan->laid_out->bytes[item];
		bytes[plan->laid_out->last[item] + 1][group] -= plan->laid_out->bytes[item];
	}
	FOR_FROM(i, 1, ops)
		FOR_INT(group, GROUP_COUNT)
			bytes[i][group] += bytes[i - 1][group];
	return bytes;
}

int64_t timeline_limit(const struct plan *plan, int64_t bytes)
{
	int64_t limit = plan_budget(plan);
	return limit / 2 <= bytes ? limit : -1;
}

uint32_t timeline_thin(const int64_t *live, uint32_t count, uint32_t most, uint32_t *keep)
{
	uint32_t kept = 0, stretches = (most - 2) / 2;
	if (count <= most) {
		FOR(i, count)
			keep[i] = i;
		return count;
	}
	keep[kept++] = 0;
	FOR(stretch, stretches) {
		uint32_t begin = (uint32_t)((uint64_t)count * stretch / stretches),
				 end = (uint32_t)((uint64_t)count * (stretch + 1) / stretches);
		uint32_t low = begin, high = begin;
		FOR_FROM(i, begin, end) {
			if (live[i] < live[low])
				low = i;
			if (live[i] > live[high])
				high = i;
		}
		uint32_t both[2] = { low < high ? low : high, low < high ? high : low };
		FOR_INT(i, 2)
			if (both[i] > keep[kept - 1])
				keep[kept++] = both[i];
	}
	if (keep[kept - 1] != count - 1)
		keep[kept++] = count - 1;
	return kept;
}
