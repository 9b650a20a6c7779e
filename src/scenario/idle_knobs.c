/* idle_knobs.c: a row for each reason. A row must be sure: unit_idle_knobs plans with and without. */
#include "idle_knobs.h"
#include "shard_mesh.h"
#include "knobs.h"

static bool has_no_pipeline(const struct scenario *scenario)
{
	return scenario->value[K_pp] < 2;    /* auto is 1 */
}

/* When a row of the table holds. */
#define WHEN(name, condition) static bool name(const struct scenario *scenario) { return condition; }

WHEN(is_not_interleaved,
	scenario->value[K_schedule] != SCHEDULE_INTERLEAVED && scenario->value[K_schedule] != SCHEDULE_AUTO)
WHEN(has_one_device, scenario->value[K_devices] < 2)
WHEN(is_not_split, scenario->value[K_devices] > 1 && scenario->value[K_strategy] == 0 && !scenario_pipelines(scenario))
WHEN(idle_knobs_has_no_tensor_axis, scenario->value[K_tp] == 1)
WHEN(keeps_its_time, scenario_strategy(scenario) != STRATEGY_MINRED && scenario_strategy(scenario) != STRATEGY_AUTO)
WHEN(has_no_cap, scenario_budget(scenario) < 0)
WHEN(is_not_fitted, scenario->value[K_recompute] != RECOMPUTE_AUTO)

WHEN(sends_saved_alone, is_not_fitted(scenario) && scenario->value[K_offload] == HOSTS_SAVED)

/* Data parallelism alone, with or without ZeRO: what is left over is dp's. */
static bool splits_samples_alone(const struct scenario *scenario)
{
	bool data = scenario_strategy(scenario) == STRATEGY_DATA || scenario_strategy(scenario) == STRATEGY_ZERO;
	return scenario->value[K_strategy] != 0 && data && scenario->value[K_tp] == KNOB_GIVEN &&
		scenario->value[K_dp] == KNOB_GIVEN;
}

/* Other plans than the one that is asked for are made, with effort of their own. */
WHEN(compares_plans,
	!is_not_fitted(scenario) || scenario_searches(scenario) || scenario->value[K_schedule] == SCHEDULE_AUTO)

static bool plans_by_rule(const struct scenario *scenario)
{
	enum order_strategy order = scenario_order(scenario);
	int64_t layout = scenario->value[K_layout];
	return order != ORDER_BEST && order != ORDER_ROAM && !scenario_seeks_time(scenario) && layout != LAYOUT_BEST &&
		layout != LAYOUT_ROAM && layout != LAYOUT_DIVE && !compares_plans(scenario);
}

WHEN(has_no_time, scenario->value[K_order] == ORDER_FAST && (has_one_device(scenario) || is_not_split(scenario)))
WHEN(has_ranks,
	scenario->value[K_order] == ORDER_FAST && scenario_pipelines(scenario) &&
		scenario_strategy(scenario) == STRATEGY_AUTO)

static bool cuts_no_parameters(const struct scenario *scenario)
{
	return !scenario_searches(scenario) && scenario->value[K_zero] < 3 &&
		(scenario->value[K_zero] > 0 || scenario_strategy(scenario) != STRATEGY_ZERO);
}

static const struct row {
	int knob;
	bool (*holds)(const struct scenario *scenario);
	const char *why;
} rows[] = {
	{ K_schedule, has_no_pipeline, "no pipeline (pp=1)" },
	{ K_chunks, has_no_pipeline, "no pipeline (pp=1)" },
	{ K_chunks, is_not_interleaved, "only schedule=interleaved cuts ranks into pieces" },
	{ K_rank, has_no_pipeline, "no pipeline (pp=1)" },
	{ K_strategy, has_one_device, "the step runs on one device" },
	{ K_sp, has_one_device, "the step runs on one device" },
	{ K_zero, has_one_device, "the step runs on one device" },
	{ K_padding, has_one_device, "the step runs on one device" },
	{ K_sp, is_not_split, "strategy=none splits nothing" },
	{ K_zero, is_not_split, "strategy=none splits nothing" },
	{ K_padding, is_not_split, "strategy=none splits nothing" },
	{ K_sp, idle_knobs_has_no_tensor_axis, "no tensor parallelism (tp=1)" },
	{ K_replicate, has_one_device, "the step runs on one device" },
	{ K_reshard_after_forward, has_one_device, "the step runs on one device" },
	{ K_prefetch, has_one_device, "the step runs on one device" },
	{ K_replicate, is_not_split, "strategy=none splits nothing" },
	{ K_reduce_dtype, has_one_device, "the step runs on one device" },
	{ K_reduce_dtype, is_not_split, "strategy=none splits nothing" },
	{ K_reshard_after_forward, is_not_split, "strategy=none splits nothing" },
	{ K_prefetch, is_not_split, "strategy=none splits nothing" },
	{ K_reshard_after_forward, cuts_no_parameters, "no parameters are gathered: zero=3 cuts them" },
	{ K_prefetch, cuts_no_parameters, "no parameters are gathered: zero=3 cuts them" },
	{ K_dp, has_one_device, "the step runs on one device" },
	{ K_tp, has_one_device, "the step runs on one device" },
	{ K_cp, has_one_device, "the step runs on one device" },
	{ K_ep, has_one_device, "the step runs on one device" },
	{ K_dp, is_not_split, "strategy=none splits nothing" },
	{ K_tp, is_not_split, "strategy=none splits nothing" },
	{ K_cp, is_not_split, "strategy=none splits nothing" },
	{ K_ep, is_not_split, "strategy=none splits nothing" },
	{ K_sp, splits_samples_alone, "strategy=data and zero split samples alone (tp=1)" },
	{ K_effort, plans_by_rule, "order and layout are rules: orders best, fast and roam search, layouts best, dive, roam" },
	{ K_slack, keeps_its_time, "only strategy=minred and auto trade time for memory" },
	{ K_reserve, has_no_cap, "no memory limit is set" },
	{ K_random, is_not_fitted, "only recompute=auto chooses what is recomputed" },
	{ K_offload, sends_saved_alone,
		"only recompute=auto chooses what waits in the host; offload=states sends the optimizer state" },
	{ K_order, has_no_time, "nothing runs beside computation: this is order=best" },
	{ K_order, has_ranks, "orders for time aren't sought in a pipeline's ranks: this is order=auto" },
};

const char *knob_idle(const struct scenario *scenario, int knob)
{
	FOR(i, COUNT_OF(rows))
		if (rows[i].knob == knob && rows[i].holds(scenario))
			return rows[i].why;
	return NULL;
}
