/* planner.c: assembles plans from the stages' results. */
#include <string.h>

#include "planner.h"
#include "rules_file.h"

static uint64_t plan_fingerprint(const struct graph *graph, const struct scenario *scenario)
{
	struct key key = key_of("plan");
	char text[512];
	key_add(&key, graph->fingerprint);
	for (int knob = 0; knob < KNOB_COUNT; knob++)
		key_add(&key, (uint64_t)scenario->value[knob]);
	for (uint32_t i = 0; i < scenario->pins; i++)
		key_add_bytes(&key, text, strlen(pin_text(&scenario->pin[i], text, sizeof text)));
	return key.half[0];
}

/* A view of both stages' results as one plan; the plan keeps them alive. */
static struct plan *assemble(struct graph *input, const struct scenario *scenario, struct transformed *transformed,
	struct ordered *ordered, struct laid_out *laid_out)
{
	struct plan *plan = mem_alloc(1, sizeof *plan);
	if (!plan)
		return NULL;
	atomic_store(&plan->references, 1);
	if (scenario_copy(&plan->scenario, scenario) != OK) {
		mem_free(plan);
		return NULL;
	}
	plan->transformed = transformed_retain(transformed);
	plan->notes = transformed->notes;
	plan->ordered = ordered_retain(ordered);
	plan->laid_out = laid_out_retain(laid_out);
	plan->input = graph_retain(input);
	plan->graph = graph_retain(ordered->graph);
	plan->order_winner = ordered->result.winner;
	plan->order = ordered->result.order;
	plan->position = ordered->position;
	plan->live = ordered->live;
	plan->persistent_bytes = ordered->problem.base;
	plan->peak_bytes = ordered->result.peak;
	plan->peak_position = ordered->peak_position;
	plan->program_peak_bytes = ordered->program_peak;
	plan->order_bound_bytes = ordered->result.bound;
	plan->order_proved = ordered->result.proved;
	plan->order_certificate = &ordered->result.certificate;
	plan->roam = &ordered->result.roam;
	plan->layout_winner = laid_out->layout.strategy;
	plan->first = laid_out->first;
	plan->last = laid_out->last;
	plan->bytes = laid_out->bytes;
	plan->offset = laid_out->offset;
	plan->arena_bytes = laid_out->layout.arena;
	plan->layout_bound_bytes = laid_out->layout.bound;
	plan->layout_proved = laid_out->layout.proved;
	plan->layout = &laid_out->layout;
	plan->caching_bytes = laid_out->caching;
	plan->limited = ordered->cut_short || laid_out->cut_short;
	plan->fingerprint = plan_fingerprint(input, scenario);
	return plan;
}

/* How a stage came about in this run: from the store when no new result was made. */
static struct stage_run run_of(const struct stage_run *run, bool reused)
{
	return reused ? (struct stage_run){ 0, 1, 0 } : *run;
}

struct plan *planner_run(struct planner *planner, struct graph *input, const struct scenario *scenario, enum planner_depth depth,
	struct error *error, enum status *status)
{
	struct ordered *ordered = NULL;
	struct laid_out *laid_out = NULL;
	struct plan *plan = NULL;
	bool quick = depth == PLAN_QUICK;
	if (!planner->rules && !(planner->rules = rules_load(planner->rules_file, error, status)))
		return NULL;
	struct stage_context stage = { .store = planner->store, .control = &planner->control, .rules = planner->rules,
		.abandoned = planner->abandoned, .order_solver = planner->order_solver, .only_stored = depth == PLAN_STORED };
	store_set_limit(planner->store, (size_t)scenario->value[K_store]);
	*status = check_pins(input, scenario, error);
	struct transformed *transformed = *status == OK ? stage_transform(&stage, input, scenario, error, status) : NULL;
	if (transformed)
		ordered = stage_order(&stage, transformed->graph, scenario, quick, error, status);
	if (ordered)
		laid_out = stage_layout(&stage, ordered, scenario, quick, error, status);
	if (laid_out) {
		plan = assemble(input, scenario, transformed, ordered, laid_out);
		*status = plan ? OK : fail(error, NO_MEMORY, "out of memory");
	}
	if (plan) {
		plan->run[STAGE_ORDER] = run_of(&ordered->run, stage.order_reused);
		plan->run[STAGE_LAYOUT] = run_of(&laid_out->run, stage.layout_reused);
		plan->complete = !quick;
	}
	transformed_release(transformed);
	ordered_release(ordered);
	laid_out_release(laid_out);
	return plan;
}

void planner_done(struct planner *planner)
{
	store_free(planner->store);
	rules_free(planner->rules);
	*planner = (struct planner){ 0 };
}
