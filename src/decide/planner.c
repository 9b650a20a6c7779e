/* planner.c: a run: rules and store, then one pass or a choice of plans. */
#include "decide.h"
#include "planner.h"
#include "src/read/rules_file.h"
#include "src/scenario/knobs.h"
#include "src/scenario/shard_mesh.h"
#include "src/stages/shard/stage.h"

#define LITTLE (4u << 20)    /* bytes of a result that a single run needn't forget */

/* What every run begins with: rules, store, pins that the graph knows. False: error says why. */
static bool planner_start(struct planner *planner, const struct graph *input, const struct scenario *scenario,
	enum planner_depth depth, struct stage_context *stage, struct error *error)
{
	size_t room = (size_t)scenario->value[K_store];
	if (!planner->rules && !(planner->rules = rules_load(planner->rules_file, error)))
		return false;
	*stage = (struct stage_context){ .input = input,
		.store = planner->store,
		.control = &planner->control,
		.rules = planner->rules,
		.abandoned = planner->abandoned,
		.any = planner->any,
		.order_solver = planner->order_solver,
		.forgets = planner->once && !has_free_schedule(scenario) ? LITTLE : room / 16,
		.only_stored = depth == PLAN_STORED };
	store_begin(planner->store, room, planner->control.cancel);
	return error_set(error, check_pins(input, scenario, error)) == OK;
}

#define PROVED_OPS 500      /* of larger graphs little effort proves what more would: the rest goes into orders */

/* What no order is below doesn't depend on the order asked for, and the search for the least peak proves most: its
 * bound is every plan's, so that no knob makes one forgotten. Takes the plan over. */
static struct plan *planner_take_bound(struct stage_context *stage, struct plan *plan, struct error *error)
{
	enum status status = plan->limited || proof_closed(&plan->ordered->result.proof) ? LIMIT : OK;
	OWN(scenario) best;
	scenario_init(&best);
	THEN(status, scenario_copy(&best, &plan->scenario) == OK ? OK : fail_memory(error));
	enum order_strategy order = scenario_order(&best);
	if (best.value[K_effort] > 1 && plan->graph->ops > PROVED_OPS && order != ORDER_BEST && order != ORDER_FAST)
		best.value[K_effort] = 1;
	best.value[K_order] = ORDER_BEST;
	OWN(ordered) *least = status == OK ? stage_order(stage, plan->graph, &best, false, error) : NULL;
	if (least && least->result.proof.bound > plan->ordered->result.proof.bound)
		plan->least = ordered_retain(least);
	status = status != OK || least ? OK : error->status;
	if (status == OK || status == CANCELLED)
		return plan;
	plan_release(plan);
	return NULL;
}

/* What no sharding of auto's mesh is estimated below: of the one that is taken alone. Takes the plan over. */
static struct plan *planner_show(struct stage_context *stage, struct plan *plan, struct error *error)
{
	bool searched = plan->sharded && !plan->limited && scenario_strategy(&plan->scenario) == STRATEGY_AUTO;
	enum status status = searched
		? shard_show(stage, plan->sharded, &plan->scenario, plan->fit_margin, &plan->shown, error) : OK;
	if (status == OK || error_set(error, status) == CANCELLED)
		return plan;
	plan_release(plan);
	return NULL;
}

bool planner_is_watched(const struct planning *planning)
{
	return planning->planner && planning->planner->leads;
}

void planner_lead(const struct planning *planning, const struct plan *best)
{
	struct planner *planner = planning->planner;
	struct plan *plan = planner_is_watched(planning) && !best->pipelined
		? plan_so_far(planning, best) : NULL;
	if (!plan || plan_finish(plan, planner->rules) != OK) {
		plan_release(plan);
		return;
	}
	plan_find_why_not(plan, planner->rules);
	planner->leads(planner->control.context, plan);
}

/* What PyTorch's allocator doesn't hold though its peak does, and the optimizer has state: this made before the first
 * step doesn't lie between what comes and goes. */
static bool planner_state_first_helps(const struct plan *plan)
{
	return plan && plan->allocator != ALLOCATOR_PLAN && !plan->sharded && !plan->pipelined && !plan->limited &&
		plan_is_over(plan) && plan_peak(plan) <= scenario_budget(&plan->scenario) &&
		plan_verdict(plan).part[PART_OPTIMIZER] > 0;
}

static struct plan *planner_choose(struct planning *planning)
{
	struct plan *plan = choose_fit(planning, NULL, false);
	planning->state_first = planner_state_first_helps(plan);
	struct plan *other = planning->state_first ? planning_keep(planning, choose_fit(planning, NULL, false)) : NULL;
	bool better = other && !plan_is_over(other);
	plan_release(better ? plan : other);
	return better ? other : plan;
}

struct plan *planner_run(struct planner *planner, struct graph *input, const struct scenario *scenario,
	enum planner_depth depth, struct error *error)
{
	struct stage_context stage;
	struct planning planning = { &stage, input, scenario, error, .planner = planner };
	if (!planner_start(planner, input, scenario, depth, &stage, error))
		return NULL;
	struct plan *plan = has_free_schedule(scenario) ? choose_schedule(&planning, depth == PLAN_QUICK)
		: depth == PLAN_QUICK ? plan_once(&planning, &(struct plan_wish) { 0 }, true) : planner_choose(&planning);
	if (plan && plan_finish(plan, planner->rules) != OK) {
		fail_memory(error);
		plan_release(plan);
		return NULL;
	}
	if (plan && depth != PLAN_QUICK && depth != PLAN_UNPROVED) {
		plan = planner_take_bound(&stage, plan, error);
		plan = plan ? planner_show(&stage, plan, error) : NULL;
	}
	if (plan) {
		plan_find_why_not(plan, planner->rules);
		if (!plan->sharded)
			plan->routed_peak = routing_peak(
				plan->graph, planner->rules, plan->ordered->position, plan->ordered->live, plan->routed_load);
	}
	/* Whatever ended early did so because of this, and what saw nothing of it need not say so itself. */
	if (plan && depth >= PLAN_UNPROVED && control_status(&planner->control) == CANCELLED)
		plan->limited = true;
	return plan;
}

/* The bound on any order, by the heuristics' run. */
static enum status bound_order(
	const struct stage_context *stage, const struct scenario *scenario, struct least *least, struct error *error)
{
	struct problem problem;
	struct order_result result = { 0 };
	if (scenario_problem(least->transformed->graph, scenario, &problem, error) != OK)
		return error->status;
	enum status status = order_quick(&problem, stage->control, &result);
	least->bytes = stage_contradicts(stage, least->transformed->graph, scenario, result.proof.bound)
		? 0
		: result.proof.bound;
	least->above = status == OK && least->bytes > scenario_budget(scenario);
	order_result_free(&result);
	problem_free(&problem);
	return status == LIMIT ? OK : error_set(error, status);
}

enum status planner_least(struct planner *planner, struct graph *input, const struct scenario *scenario,
	struct least *least, struct error *error)
{
	struct stage_context stage;
	*least = (struct least){ 0 };
	if (!planner_start(planner, input, scenario, PLAN_COMPLETE, &stage, error) || scenario->value[K_devices] > 1)
		return error->status;
	struct plan_wish wish = first_wish(scenario);
	least->transformed = stage_transform(&stage, input, scenario, &wish, false, error);
	if (!least->transformed)
		return error->status;
	const struct fitted *fitted = least->transformed->fitted;
	if (least->transformed->pipelined || least->transformed->sharded)
		return OK;
	if (!fitted || !fitted->capped)
		return bound_order(&stage, scenario, least, error);
	least->above = fitted->impossible;
	least->bytes = fitted->certificate.bytes;
	return OK;
}

/* ---- as its file has it ---- */

static bool has_addresses(const struct graph *graph)
{
	FOR(i, graph->tensors)
		if (graph->tensor[i].has_address)
			return true;
	return false;
}

struct plan *plan_as_read(struct graph *graph, const char *rules_file, const atomic_bool *cancel, struct error *error)
{
	OWN(planner) planner = { .store = store_new(), .rules_file = rules_file, .control = { .cancel = cancel } };
	OWN(scenario) scenario;
	struct plan *plan = NULL;
	scenario_init(&scenario);
	enum status status = planner.store ? scenario_set(&scenario, "order=program", error) : fail_memory(error);
	if (status == OK && has_addresses(graph))
		status = scenario_set(&scenario, "layout=file", error);
	if (status == OK)
		plan = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, error);
	return plan;
}

void planner_done(struct planner *planner)
{
	store_free(planner->store);
	rules_free(planner->rules);
	*planner = (struct planner){ 0 };
}
