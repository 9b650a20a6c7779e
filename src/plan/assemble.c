/* assemble.c: one pass through the stages: a plan of their results. */
#include <string.h>

#include "assemble.h"

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
	plan->ordered = ordered_retain(ordered);
	plan->laid_out = laid_out_retain(laid_out);
	plan->input = graph_retain(input);
	plan->graph = graph_retain(ordered->graph);
	plan->limited = ordered->cut_short || laid_out->cut_short;
	plan->fingerprint = plan_fingerprint(input, scenario);
	if (plan->transformed->sharded)
		traffic_find(plan->transformed->sharded, plan->transformed->pipelined ? plan->transformed->sharded->device : plan->graph, &plan->traffic);
	if (plan->transformed->sharded && !plan->transformed->pipelined)
		plan->time = plan_time_of(plan->graph, plan->ordered->result.order, plan->transformed->sharded, scenario, rules);
	if (plan->transformed->sharded && !plan->transformed->pipelined && !plan->time) {
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
static struct plan *plan_graph(const struct planning *planning, struct transformed *transformed, struct graph *graph, const struct plan_wish *wish, bool quick)
{
	struct stage_context *stage = planning->stage;
	const struct scenario *scenario = planning->scenario;
	struct error *error = planning->error;
	struct laid_out *laid_out = NULL;
	struct plan *plan = NULL;
	struct ordered *ordered = stage_order(stage, graph, scenario, quick, error);
	if (ordered)
		laid_out = stage_layout(stage, ordered, scenario, quick, error);
	if (laid_out && !(plan = assemble(stage->rules, planning->input, scenario, transformed, ordered, laid_out)))
		fail_memory(error);
	if (plan) {
		plan->run[STAGE_ORDER] = run_of(&ordered->run, stage->order_reused);
		plan->run[STAGE_LAYOUT] = run_of(&laid_out->run, stage->layout_reused);
		plan->fit_margin = wish->margin;
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
	*until = flush == NONE ? 0 : plan->ordered->position[flush];
	for (uint32_t i = flush == NONE ? 0 : graph->touches.start[flush]; flush != NONE && i < graph->touches.start[flush + 1]; i++)
		bytes += align_up(graph->storage[graph->touches.item[i]].bytes, plan->scenario.value[K_alignment]);
	return bytes;
}

/* A rank in the order of a plan of one that is alike: just what is in flight differs. */
static void follow_plan(const struct plan *plan, const struct graph *graph, struct planned_rank *planned)
{
	uint32_t until, ignored, position = 0;
	int64_t theirs = copies_in_flight(plan, plan->graph, &until), ours = copies_in_flight(plan, graph, &ignored);
	planned->peak = -1;
	for (uint32_t i = 0; i < plan->graph->ops; i++) {
		int64_t live = plan->ordered->live[i] + (i <= until ? ours - theirs : 0);
		if (live > planned->peak) {
			planned->peak = live;
			position = i;
		}
	}
	plan_categories(plan, position, planned->bytes, &planned->workspace);
	planned->bytes[KIND_ACTIVATION] += position <= until ? ours - theirs : 0;
	planned->arena = ours == theirs ? plan_arena(plan) : -1;
}

static struct graph *graph_of_rank(const struct transformed *transformed, const struct scenario *scenario, uint32_t rank, struct error *error)
{
	struct graph *graph = transformed->pipelined->rank[rank].graph;
	return scenario->value[K_in_place] ? graph_retain(graph) : graph_without_inplace(graph, error);
}

/* Plans the ranks that differ, and the one that is asked for; reports that, or the one with the largest arena. */
static struct plan *plan_ranks(const struct planning *planning, struct transformed *transformed, const struct plan_wish *wish, bool quick)
{
	struct error *error = planning->error;
	const struct pipelined *pipelined = transformed->pipelined;
	struct planned_rank *by_rank = mem_alloc(pipelined->ranks, sizeof *by_rank);
	int64_t wanted = planning->scenario->value[K_rank];
	struct plan *best = NULL;
	bool limited = false;
	enum status status = by_rank ? error_set(error, OK) : fail_memory(error);
	for (uint32_t r = 0; r < pipelined->ranks && status == OK; r++) {
		if (pipelined->rank[r].alike != r && r != wanted)
			continue;
		struct graph *graph = graph_of_rank(transformed, planning->scenario, r, error);
		struct plan *plan = graph ? plan_graph(planning, transformed, graph, wish, quick) : NULL;
		graph_release(graph);
		status = plan ? OK : error->status;
		if (!plan)
			break;
		plan->rank = r;
		for (uint32_t other = r; other < pipelined->ranks; other++)
			if (other == r || pipelined->rank[other].alike == r)
				follow_plan(plan, pipelined->rank[other].graph, &by_rank[other]);
		bool better = !best || (wanted == KNOB_GIVEN ? plan_arena(plan) > plan_arena(best) : r == wanted);
		limited |= plan->limited;
		plan_release(better ? best : plan);
		best = better ? plan : best;
	}
	if (status == OK) {
		best->by_rank = by_rank;
		best->limited = limited;
		return best;
	}
	mem_free(by_rank);
	plan_release(best);
	return NULL;
}

struct plan *plan_transformed(const struct planning *planning, struct transformed *transformed, const struct plan_wish *wish, bool quick)
{
	return transformed->pipelined ? plan_ranks(planning, transformed, wish, quick) : plan_graph(planning, transformed, transformed->graph, wish, quick);
}

struct plan *plan_once(const struct planning *planning, const struct plan_wish *wish, bool quick)
{
	struct transformed *transformed = stage_transform(planning->stage, planning->input, planning->scenario, wish, quick, planning->error);
	struct plan *plan = transformed ? plan_transformed(planning, transformed, wish, quick) : NULL;
	transformed_release(transformed);
	return plan;
}
