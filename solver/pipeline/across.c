/* across.c: all-reduces inside ops, over the data axis. */
#include "configuration.h"

/* The unit that a data axis splits, if that takes all-reduces inside. */
static const struct unit *batch_unit(const struct units *units, uint32_t op)
{
	FOR(u, unit_count(units, op)) {
		const struct unit *unit = &units->unit[units->unit_start[op] + u];
		if (unit->role == ROLE_BATCH && unit->inside > 0)
			return unit;
	}
	return NULL;
}

void across_find(
	const struct units *units, const struct sharding *sharding, const struct blocks *blocks, struct block_cost *cost)
{
	const struct graph *graph = units->graph;
	FOR(op, graph->ops) {
		const struct unit *unit = graph->op[op].phase == PHASE_UPDATE ? NULL : batch_unit(units, op);
		struct split split = sharding->split[op];
		if (!unit)
			continue;
		FOR(a, sharding->mesh.axes)
			if (split.on[a] >= 0 && units->unit[units->unit_start[op] + (uint32_t)split.on[a]].inside > 0)
				split.on[a] = UNIT_NONE;
		struct block_across *across = &cost[blocks->of[op]].across[graph->op[op].phase != PHASE_FORWARD];
		across->bytes += unit->inside * split_share(units, &sharding->mesh, op, split, unit->points * 4);
		across->count += unit->inside;
	}
}

int64_t across_time(
	const struct config_model *model, const struct config *config, const struct block_cost *cost, bool backward)
{
	const struct block_across *across = &cost->across[backward];
	if (across->count == 0 || config->dp < 2)
		return 0;
	struct mesh_axis axis = config_axis(model, config->dp, config->tp * config->cp * config->ep);
	return across->count * collective_time(&axis, COLLECTIVE_ALL_REDUCE, across->bytes / across->count);
}
