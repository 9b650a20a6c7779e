/* idle.c: what the scenario alone can't tell. A row must be sure: unit_idle_knobs plans with and without. */
#include "came_to.h"

#include "src/scenario/idle_knobs.h"
#include "src/scenario/knobs.h"
#include "src/scenario/shard_mesh.h"

static bool has_axis(const struct plan *plan, const char *name)
{
	const struct mesh *mesh = &plan->sharded->sharding.mesh;
	FOR(a, mesh->axes)
		if (text_is(mesh->axis[a].name, name))
			return true;
	return false;
}

/* Placements follow from the mesh, and another value of these knobs finds no other mesh. */
static bool mesh_is_given(const struct plan *plan)
{
	return plan->sharded && !scenario_searches(&plan->scenario);
}

static bool has_no_workspace(const struct plan *plan)
{
	FOR(op, plan->graph->ops)
		if (plan->graph->op[op].workspace > 0)
			return false;
	return true;
}

static bool has_no_data_axis(const struct plan *plan)
{
	return mesh_is_given(plan) && !has_axis(plan, "dp");
}

static bool sums_no_gradients(const struct plan *plan)
{
	return has_no_data_axis(plan) && !has_axis(plan, MESH_REPLICATE) && plan->scenario.value[K_microbatches] < 2;
}

static bool idle_has_no_tensor_axis(const struct plan *plan)
{
	return mesh_is_given(plan) && !has_axis(plan, "tp");
}

static const struct row {
	int knob;
	bool (*holds)(const struct plan *plan);
	const char *why;
} rows[] = {
	{ K_workspace, has_no_workspace, "no op of this graph has scratch memory that is known" },
	{ K_zero, has_no_data_axis, "no data parallelism here (dp=1)" },
	{ K_reshard_after_forward, has_no_data_axis, "no data parallelism here (dp=1)" },
	{ K_prefetch, has_no_data_axis, "no data parallelism here (dp=1)" },
	{ K_reduce_dtype, sums_no_gradients, "no data parallelism here (dp=1)" },
	{ K_sp, idle_has_no_tensor_axis, "no tensor parallelism here (tp=1)" },
};

const char *plan_knob_idle(const struct plan *plan, int knob)
{
	const char *why = knob_idle(&plan->scenario, knob);
	for (size_t i = 0; i < COUNT_OF(rows) && !why; i++)
		if (rows[i].knob == knob && rows[i].holds(plan))
			why = rows[i].why;
	return why;
}
