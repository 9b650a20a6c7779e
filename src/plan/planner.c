/* planner.c: assembles plans from the stages' results. */
#include <string.h>

#include "planner.h"
#include "src/read/rules_file.h"
#include "src/scenario/shard_mesh.h"
#include "solver/step/recompute.h"

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
static struct plan *assemble(const struct rules *rules, struct graph *input, const struct scenario *scenario, struct transformed *transformed,
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
	plan->sharded = transformed->sharded;
	plan->pipelined = transformed->pipelined;
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
	plan->order_bound_bytes = ordered->result.proof.bound;
	plan->order_proved = proof_closed(&ordered->result.proof);
	plan->order_certificate = &ordered->result.certificate;
	plan->roam = &ordered->result.roam;
	plan->layout_winner = laid_out->layout.strategy;
	plan->first = laid_out->first;
	plan->last = laid_out->last;
	plan->bytes = laid_out->bytes;
	plan->offset = laid_out->offset;
	plan->arena_bytes = laid_out->layout.arena;
	plan->layout_bound_bytes = laid_out->layout.proof.bound;
	plan->layout_proved = proof_closed(&laid_out->layout.proof);
	plan->layout = &laid_out->layout;
	plan->caching_bytes = laid_out->caching;
	plan->limited = ordered->cut_short || laid_out->cut_short;
	plan->fingerprint = plan_fingerprint(input, scenario);
	if (plan->sharded)
		traffic_find(plan->sharded, plan->pipelined ? plan->sharded->device : plan->graph, &plan->traffic);
	if (plan->sharded && !plan->pipelined)
		plan->time = plan_time_of(plan->graph, plan->order, plan->sharded, scenario, rules);
	if (plan->sharded && !plan->pipelined && !plan->time) {
		plan_release(plan);
		return NULL;
	}
	return plan;
}

/* How a stage came about in this run: from the store when no new result was made. */
static struct stage_run run_of(const struct stage_run *run, bool reused)
{
	return reused ? (struct stage_run){ 0, 1, 0 } : *run;
}

/* Order and layout of a transformed graph, or of another pipeline rank's. */
static struct plan *plan_graph(struct stage_context *stage, struct graph *input, const struct scenario *scenario, struct transformed *transformed,
	struct graph *graph, bool quick, struct error *error)
{
	struct laid_out *laid_out = NULL;
	struct plan *plan = NULL;
	struct ordered *ordered = stage_order(stage, graph, scenario, quick, error);
	if (ordered)
		laid_out = stage_layout(stage, ordered, scenario, quick, error);
	if (laid_out && !(plan = assemble(stage->rules, input, scenario, transformed, ordered, laid_out)))
		fail_memory(error);
	if (plan) {
		plan->run[STAGE_ORDER] = run_of(&ordered->run, stage->order_reused);
		plan->run[STAGE_LAYOUT] = run_of(&laid_out->run, stage->layout_reused);
		plan->fit_margin = stage->fit_margin;
		plan->complete = !quick;
	}
	ordered_release(ordered);
	laid_out_release(laid_out);
	return plan;
}

/* ---- pipeline ranks ------------------------------------------------------------------------ */

/* Bytes of the copies in flight, and the position of the flush that ends them; 0 where there are none. */
static int64_t copies_in_flight(const struct plan *plan, const struct graph *graph, uint32_t *until)
{
	uint32_t flush = graph->flush;
	int64_t bytes = 0;
	*until = flush == NONE ? 0 : plan->position[flush];
	for (uint32_t i = flush == NONE ? 0 : graph->touches.start[flush]; flush != NONE && i < graph->touches.start[flush + 1]; i++)
		bytes += align_up(graph->storage[graph->touches.item[i]].bytes, plan->scenario.value[K_alignment]);
	return bytes;
}

/* A rank in the order of a plan of one that is alike: just what is in flight differs. */
static void follow_plan(const struct plan *plan, const struct graph *graph, struct plan_stage *stage)
{
	uint32_t until, ignored, position = 0;
	int64_t theirs = copies_in_flight(plan, plan->graph, &until), ours = copies_in_flight(plan, graph, &ignored);
	stage->peak = -1;
	for (uint32_t i = 0; i < plan->graph->ops; i++) {
		int64_t live = plan->live[i] + (i <= until ? ours - theirs : 0);
		if (live > stage->peak) {
			stage->peak = live;
			position = i;
		}
	}
	plan_categories(plan, position, stage->bytes, &stage->workspace);
	stage->bytes[KIND_ACTIVATION] += position <= until ? ours - theirs : 0;
	stage->arena = ours == theirs ? plan->arena_bytes : -1;
}

static struct graph *graph_of_rank(const struct transformed *transformed, const struct scenario *scenario, uint32_t rank, struct error *error)
{
	struct graph *graph = transformed->pipelined->rank[rank].graph;
	return scenario->value[K_in_place] ? graph_retain(graph) : graph_without_inplace(graph, error);
}

/* Plans the ranks that differ, and the one that is asked for; reports that, or the one with the largest arena. */
static struct plan *plan_ranks(struct stage_context *stage, struct graph *input, const struct scenario *scenario, struct transformed *transformed,
	bool quick, struct error *error)
{
	const struct pipelined *pipelined = transformed->pipelined;
	struct plan_stage *stages = mem_alloc(pipelined->ranks, sizeof *stages);
	int64_t wanted = scenario->value[K_rank];
	struct plan *best = NULL;
	bool limited = false;
	enum status status = stages ? error_set(error, OK) : fail_memory(error);
	for (uint32_t r = 0; r < pipelined->ranks && status == OK; r++) {
		if (pipelined->rank[r].alike != r && r != wanted)
			continue;
		struct graph *graph = graph_of_rank(transformed, scenario, r, error);
		struct plan *plan = graph ? plan_graph(stage, input, scenario, transformed, graph, quick, error) : NULL;
		graph_release(graph);
		status = plan ? OK : error->status;
		if (!plan)
			break;
		plan->rank = r;
		for (uint32_t other = r; other < pipelined->ranks; other++)
			if (other == r || pipelined->rank[other].alike == r)
				follow_plan(plan, pipelined->rank[other].graph, &stages[other]);
		bool better = !best || (wanted == KNOB_GIVEN ? plan->arena_bytes > best->arena_bytes : r == wanted);
		limited |= plan->limited;
		plan_release(better ? best : plan);
		best = better ? plan : best;
	}
	if (status == OK) {
		best->stage = stages;
		best->limited = limited;
		return best;
	}
	mem_free(stages);
	plan_release(best);
	return NULL;
}

static struct plan *plan_transformed(struct stage_context *stage, struct graph *input, const struct scenario *scenario, struct transformed *transformed,
	bool quick, struct error *error)
{
	return transformed->pipelined ? plan_ranks(stage, input, scenario, transformed, quick, error)
		: plan_graph(stage, input, scenario, transformed, transformed->graph, quick, error);
}

/* One pass through the stages. */
static struct plan *plan_once(struct stage_context *stage, struct graph *input, const struct scenario *scenario, bool quick,
	struct error *error)
{
	struct transformed *transformed = stage_transform(stage, input, scenario, quick, error);
	struct plan *plan = transformed ? plan_transformed(stage, input, scenario, transformed, quick, error) : NULL;
	transformed_release(transformed);
	return plan;
}

/* ---- choosing ---------------------------------------------------------------------------- */

#define FIT_ROUNDS 4

/* A search over shardings counts what stays, which may be more or less than an arena: it starts without the cap. */
static bool starts_without_cap(const struct scenario *scenario)
{
	return scenario_searches(scenario) && !scenario_pipelines(scenario) && scenario->value[K_recompute] != RECOMPUTE_AUTO && scenario_budget(scenario) >= 0;
}

/* The margin for another round: what this plan's arena has above the bytes that the choice counted with: the program-order peak, the worst
 * pipeline rank's by the model, or what stays of a sharding, which may well be more than the arena. Else it exceeds the old margin by at
 * least the deficit; a pipeline's first cut has none. False where a round can't help: the plan fits and doesn't waste memory, there is
 * nothing to choose, or what can be done is done already. */
static bool next_margin(const struct plan *plan, int64_t *margin)
{
	int64_t budget = plan_budget(plan), peak = plan->transformed->fit_peak;
	bool first = plan->pipelined && plan->fit_margin == 0;
	if (budget < 0 || peak < 0 || plan->limited)
		return false;
	bool uncapped = plan->fit_margin == MARGIN_NO_CAP, nearest = !uncapped && !first && peak > budget - plan->fit_margin;
	if (starts_without_cap(&plan->scenario)) {
		bool fits = plan->arena_bytes <= budget, wastes = !uncapped && plan->arena_bytes < budget - budget / 50;
		*margin = plan->arena_bytes - peak;
		return fits ? wastes && *margin < plan->fit_margin : !nearest && *margin > plan->fit_margin;
	}
	if (plan->arena_bytes <= budget || nearest)
		return false;
	*margin = plan->arena_bytes == peak ? 1 : plan->arena_bytes - peak;
	return true;
}

/* Of two plans one that fits the cap, then the faster one where that is what is sought; the smaller arena where none fits. */
static bool fits_better(const struct plan *a, const struct plan *b)
{
	int64_t budget = plan_budget(a);
	bool both = a->arena_bytes <= budget && b->arena_bytes <= budget;
	return both && starts_without_cap(&a->scenario) ? plan_step_time(a) < plan_step_time(b) : a->arena_bytes < b->arena_bytes;
}

/* What a choice counts with is not the arena: order and layout may end above the memory cap. Then the choice is made anew
 * with another cap, in a few rounds. Takes over the first plan; returns the best that fits, or that with the smallest arena.
 * A round that is cancelled, or that the pins forbid, leaves the best so far. */
static struct plan *choose(struct stage_context *stage, struct plan *first, struct error *error)
{
	struct plan *best = plan_retain(first), *last = first;
	for (int round = 0; round < FIT_ROUNDS && next_margin(last, &stage->fit_margin); round++) {
		struct plan *next = plan_once(stage, best->input, &best->scenario, false, error);
		if (!next)
			break;
		plan_release(last);
		last = next;
		if (fits_better(next, best)) {
			plan_release(best);
			best = plan_retain(next);
		}
	}
	best->limited |= last->limited || error->status == CANCELLED;
	plan_release(last);
	if (error->status == CANCELLED || error->status == INFEASIBLE || error->status == BAD_INPUT)
		error->status = OK;
	if (error->status != OK) {
		plan_release(best);
		return NULL;
	}
	return best;
}

/* ---- minred: planned memory decides ------------------------------------------------------------ */

#define NEAR_PERCENT 3   /* heuristics alone are this near to a complete plan's arena */

/* A rival's complete plan; NULL where it can't come near the arena. */
static struct plan *plan_rival(struct stage_context *stage, const struct plan *first, uint32_t rival, struct error *error)
{
	stage->rival = rival;
	struct transformed *transformed = stage_transform(stage, first->input, &first->scenario, false, error);
	struct plan *plan = transformed ? plan_transformed(stage, first->input, &first->scenario, transformed, true, error) : NULL;
	bool near = plan && plan->arena_bytes <= first->arena_bytes + first->arena_bytes / 100 * NEAR_PERCENT;
	plan_release(plan);
	plan = near ? plan_transformed(stage, first->input, &first->scenario, transformed, false, error) : NULL;
	transformed_release(transformed);
	return plan;
}

/* What search and experts count is what stays; order and layout add what comes and goes. Of the plans whose arenas are within the slack of
 * the least, and not above that of any expert's, the fastest; then the smallest. Takes over the first plan. */
static struct plan *judge(struct stage_context *stage, struct plan *first, struct error *error)
{
	struct plan *plan[1 + SHARD_RIVALS] = { first }, *best = NULL;
	uint32_t rivals = !first->sharded || first->limited ? 0 : first->sharded->rivals, i;
	int64_t least = first->arena_bytes, experts = INT64_MAX;
	stage->fit_margin = first->fit_margin;
	stage->first = first->sharded;
	for (i = 1; i <= rivals && (error->status == OK || error->status == INFEASIBLE || error->status == BAD_INPUT); i++) {
		plan[i] = plan_rival(stage, first, i, error);
		int64_t arena = plan[i] ? plan[i]->arena_bytes : INT64_MAX;
		least = arena < least ? arena : least;
		experts = i <= first->sharded->experts && arena < experts ? arena : experts;
	}
	int64_t limit = least + least / 100 * first->scenario.value[K_slack], budget = plan_budget(first);
	limit = experts < limit ? experts : limit;
	limit = budget >= least && (budget < limit || stage->least) ? budget : limit;
	for (uint32_t k = 0; k < i; k++) {
		if (!plan[k] || plan[k]->arena_bytes > limit)
			continue;
		int64_t ours = plan_step_time(plan[k]), theirs = best ? plan_step_time(best) : INT64_MAX;
		if (!best || ours < theirs || (ours == theirs && plan[k]->arena_bytes < best->arena_bytes))
			best = plan[k];
	}
	for (uint32_t k = 0; k < i; k++)
		if (plan[k] != best)
			plan_release(plan[k]);
	if (rivals > 0 && error->status == CANCELLED)
		best->limited = true;
	if (error->status != NO_MEMORY && error->status != LIMIT)
		error->status = OK;
	if (error->status == OK)
		return best;
	plan_release(best);
	return NULL;
}

/* auto where nothing fits the cap so far: the least memory, unless every sharding keeps more than the cap. Takes over the best so far. */
static struct plan *choose_least(struct stage_context *stage, struct plan *best, struct error *error)
{
	int64_t budget = plan_budget(best), kept = 0;
	const struct graph *whole = best->sharded ? best->sharded->shared->graph : NULL;
	for (uint32_t i = 0; whole && i < whole->storages; i++)
		kept += whole->storage[i].persistent ? whole->storage[i].bytes : 0;
	if (!whole || scenario_strategy(&best->scenario) != STRATEGY_AUTO || !starts_without_cap(&best->scenario) || best->limited || best->arena_bytes <= budget
		|| kept / best->scenario.value[K_devices] > budget)
		return best;
	stage->fit_margin = MARGIN_NO_CAP;
	stage->least = true;
	struct plan *least = plan_once(stage, best->input, &best->scenario, false, error);
	least = least ? judge(stage, least, error) : NULL;
	stage->least = false;
	if (error->status != NO_MEMORY && error->status != LIMIT)
		error->status = OK;
	bool smaller = least && least->arena_bytes < best->arena_bytes;
	plan_release(smaller ? best : least);
	if (error->status == OK)
		return smaller ? least : best;
	plan_release(smaller ? least : best);
	return NULL;
}

struct plan *planner_run(struct planner *planner, struct graph *input, const struct scenario *scenario, enum planner_depth depth,
	struct error *error)
{
	if (!planner->rules && !(planner->rules = rules_load(planner->rules_file, error)))
		return NULL;
	struct stage_context stage = { .store = planner->store, .control = &planner->control, .rules = planner->rules,
		.abandoned = planner->abandoned, .order_solver = planner->order_solver, .only_stored = depth == PLAN_STORED };
	store_set_limit(planner->store, (size_t)scenario->value[K_store]);
	if (depth != PLAN_QUICK && starts_without_cap(scenario))
		stage.fit_margin = MARGIN_NO_CAP;
	struct plan *plan = error_set(error, check_pins(input, scenario, error)) == OK ? plan_once(&stage, input, scenario, depth == PLAN_QUICK, error) : NULL;
	if (plan && depth != PLAN_QUICK)
		plan = choose(&stage, plan, error);
	if (plan && depth != PLAN_QUICK)
		plan = judge(&stage, plan, error);
	return plan && depth != PLAN_QUICK ? choose_least(&stage, plan, error) : plan;
}

void planner_done(struct planner *planner)
{
	store_free(planner->store);
	rules_free(planner->rules);
	*planner = (struct planner){ 0 };
}
