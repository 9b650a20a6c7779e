/* least.c: see least.h. */
#include "choose.h"
#include "least.h"
#include "src/read/rules_file.h"

/* The bound on any order, by the heuristics' run. */
static enum status bound_order(const struct scenario *scenario, struct control *control, struct least *least, struct error *error)
{
	struct problem problem;
	struct order_result result = { 0 };
	if (scenario_problem(least->transformed->graph, scenario, &problem, error) != OK)
		return error->status;
	enum status status = order_quick(&problem, control, &result);
	least->bytes = result.proof.bound;
	least->above = status == OK && least->bytes > scenario_budget(scenario);
	order_result_free(&result);
	problem_free(&problem);
	return status == LIMIT ? OK : error_set(error, status);
}

enum status planner_least(struct planner *planner, struct graph *input, const struct scenario *scenario, struct least *least, struct error *error)
{
	*least = (struct least){ 0 };
	if (!planner->rules && !(planner->rules = rules_load(planner->rules_file, error)))
		return error->status;
	if (error_set(error, check_pins(input, scenario, error)) != OK || scenario->value[K_devices] > 1)
		return error->status;
	struct stage_context stage = { .store = planner->store, .control = &planner->control, .rules = planner->rules, .abandoned = planner->abandoned };
	struct plan_wish wish = first_wish(scenario);
	store_set_limit(planner->store, (size_t)scenario->value[K_store]);
	least->transformed = stage_transform(&stage, input, scenario, &wish, false, error);
	if (!least->transformed)
		return error->status;
	const struct fitted *fitted = least->transformed->fitted;
	if (least->transformed->pipelined || least->transformed->sharded)
		return OK;
	if (!fitted || !fitted->capped)
		return bound_order(scenario, &planner->control, least, error);
	least->above = fitted->impossible;
	least->bytes = fitted->certificate.bytes;
	return OK;
}
