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

#define K(knob) UINT64_C(1) << K_##knob
#define SPLITS \
	(K(sp) | K(zero) | K(padding) | K(replicate) | K(reduce_dtype) | K(reshard_after_forward) | K(prefetch) | K(dp) | \
		K(tp) | K(cp) | K(ep))
/* Of several rows of a knob the first that holds says why. */
static const struct row {
	uint64_t knobs; /* a bit each */
	bool (*holds)(const struct scenario *scenario);
	const char *why;
} rows[] = {
	{ K(schedule) | K(chunks) | K(rank), has_no_pipeline, "no pipeline (pp=1)" },
	{ K(chunks), is_not_interleaved, "only schedule=interleaved cuts ranks into pieces" },
	{ K(strategy) | SPLITS, has_one_device, "the step runs on one device" },
	{ SPLITS, is_not_split, "strategy=none splits nothing" },
	{ K(sp), idle_knobs_has_no_tensor_axis, "no tensor parallelism (tp=1)" },
	{ K(reshard_after_forward) | K(prefetch), cuts_no_parameters, "no parameters are gathered: zero=3 cuts them" },
	{ K(sp), splits_samples_alone, "strategy=data and zero split samples alone (tp=1)" },
	{ K(effort), plans_by_rule,
		"order and layout are rules: orders best, fast and roam search, layouts best, dive, roam" },
	{ K(slack), keeps_its_time, "only strategy=minred and auto trade time for memory" },
	{ K(reserve), has_no_cap, "no memory limit is set" },
	{ K(random), is_not_fitted, "only recompute=auto chooses what is recomputed" },
	{ K(offload), sends_saved_alone,
		"only recompute=auto chooses what waits in the host; offload=states sends the optimizer state" },
	{ K(order), has_no_time, "nothing runs beside computation: this is order=best" },
	{ K(order), has_ranks, "orders for time aren't sought in a pipeline's ranks: this is order=auto" },
};

const char *knob_idle(const struct scenario *scenario, int knob)
{
	FOR(i, COUNT_OF(rows))
		if (rows[i].knobs >> knob & 1 && rows[i].holds(scenario))
			return rows[i].why;
	return NULL;
}
