/* planner.c: a run: rules and store, then one pass or a choice of plans. */
#include "choose_schedule.h"
#include "planner.h"
#include "src/read/rules_file.h"

struct plan *planner_run(struct planner *planner, struct graph *input, const struct scenario *scenario, enum planner_depth depth,
	struct error *error)
{
	if (!planner->rules && !(planner->rules = rules_load(planner->rules_file, error)))
		return NULL;
	struct stage_context stage = { .store = planner->store, .control = &planner->control, .rules = planner->rules,
		.abandoned = planner->abandoned, .order_solver = planner->order_solver, .only_stored = depth == PLAN_STORED };
	store_set_limit(planner->store, (size_t)scenario->value[K_store]);
	struct planning planning = { &stage, input, scenario, error };
	if (error_set(error, check_pins(input, scenario, error)) != OK)
		return NULL;
	if (has_free_schedule(scenario))
		return choose_schedule(&planning, depth == PLAN_QUICK);
	return depth == PLAN_QUICK ? plan_once(&planning, &(struct plan_wish) { 0 }, true) : choose_plan(&planning, NULL);
}

void planner_done(struct planner *planner)
{
	store_free(planner->store);
	rules_free(planner->rules);
	*planner = (struct planner){ 0 };
}
