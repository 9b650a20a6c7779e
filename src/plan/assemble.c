/* assemble.c: one pass through the stages: a plan of their results. */
#include <string.h>

#include "assemble.h"
#include "src/stages/fit/stage.h"
#include "src/stages/room_order.h"
#include "verdict.h"
#include "src/scenario/shard_mesh.h"

uint64_t plan_fingerprint(const struct graph *graph, const struct scenario *scenario)
{
	struct key key = key_of("plan");
	key_add(&key, graph->fingerprint);
	key_add_scenario(&key, scenario);
	return key.half[0];
}

/* time: of the plan, or NULL. */
static void find_stall(struct plan *plan, const struct plan_time *time)
{
	const struct fitted *fitted = plan->transformed->fitted;
	plan->stall = fitted && time ? fitted_stall(fitted, plan_time_host_waits(time, plan->transformed->sharded)) : 0;
}

/* The step's time: simulated, a pipeline's, or that of one device: with accumulation all passes and the update. A
 * pipeline counts its microbatches alone. False: out of memory. */
static bool find_speed(struct plan *plan, const struct rules *rules)
{
	const struct sharded *sharded = plan->transformed->sharded;
	const struct pipelined *pipelined = plan->transformed->pipelined;
	int64_t time = plan_step_time(plan),
			passes = pipelined ? (int64_t)pipelined->microbatches : plan->scenario.value[K_accumulation];
	uint32_t devices = sharded ? mesh_devices(&sharded->sharding.mesh) * (pipelined ? pipelined->ranks : 1) : 1;
	if (!sharded) {
		struct plan_time *alone = plan_time_of(plan->graph, plan->ordered->result.order, NULL, &plan->scenario, rules);
		time = alone ? alone->whole.total : -1;
		find_stall(plan, alone);
		plan_time_free(alone);
	} else {
		find_stall(plan, plan->time);
	}
	plan->speed = plan_speed_of(
		sharded ? sharded->shared->graph : plan->graph, rules, &plan->scenario, passes, devices, time);
	return time >= 0;
}

enum status plan_find_program_time(struct plan *plan, const struct rules *rules)
{
	const struct ordered *ordered = plan->ordered;
	plan->program_time = plan->speed.time;
	if (plan->speed.time < 0 || plan->transformed->pipelined ||
		memcmp(ordered->result.order, ordered->problem.program,
			ordered->problem.ops * sizeof *ordered->problem.program) == 0)
		return OK;
	struct plan_time *time = plan_time_of(
		plan->graph, ordered->problem.program, plan->transformed->sharded, &plan->scenario, rules);
	NEED(time);
	plan->program_time = time->whole.total == INT64_MAX ? -1 : time->whole.total;
	plan_time_free(time);
	return OK;
}

/* A view of both stages' results as one plan; the plan keeps them alive. */
static struct plan *assemble(const struct rules *rules, struct graph *input, const struct scenario *scenario,
	struct transformed *transformed, struct ordered *ordered, struct laid_out *laid_out)
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
		traffic_find(plan->transformed->sharded,
			plan->transformed->pipelined ? plan->transformed->sharded->device : plan->graph, &plan->traffic);
	if (plan->transformed->sharded && !plan->transformed->pipelined)
		plan->time = plan_time_of(plan->graph, plan->ordered->result.order, plan->transformed->sharded, scenario, rules);
	if ((plan->transformed->sharded && !plan->transformed->pipelined && !plan->time) || !find_speed(plan, rules)) {
		plan_release(plan);
		return NULL;
	}
	return plan;
}

/* How a stage came about in this run: from the store when no new result was made. */
static struct stage_run assemble_run_of(const struct stage_run *run, bool reused)
{
	return reused ? (struct stage_run){ 0, 1, 0 } : *run;
}

/* Layout of an ordered graph, and the plan of it all. */
static struct plan *plan_ordered(
	const struct planning *planning, struct transformed *transformed, struct ordered *ordered, bool quick)
{
	struct stage_context *stage = planning->stage;
	struct laid_out *laid_out = stage_layout(stage, ordered, planning->scenario, quick, planning->error);
	struct plan *plan = laid_out
		? assemble(stage->rules, planning->input, planning->scenario, transformed, ordered, laid_out)
		: NULL;
	if (laid_out && !plan)
		fail_memory(planning->error);
	if (plan)
		plan->run[STAGE_LAYOUT] = assemble_run_of(&laid_out->run, stage->layout_reused);
	laid_out_release(laid_out);
	return plan;
}

static struct plan_time_search search_of(const struct planning *planning, const struct transformed *transformed,
	const struct ordered *ordered, int64_t limit)
{
	return (struct plan_time_search){ ordered->graph, &ordered->problem, ordered->result.order, transformed->sharded,
		planning->scenario, planning->stage->rules, limit };
}

/* The same in an order of a shorter step whose peak keeps the limit, in bytes: NULL where none was found, or with the
 * error's status. *limited: the search was cut short. */
static struct ordered *order_faster(const struct planning *planning, const struct transformed *transformed,
	const struct ordered *ordered, int64_t limit, bool *limited)
{
	struct plan_time_search search = search_of(planning, transformed, ordered, limit);
	struct overlap_result faster;
	enum status status = plan_time_order(&search, planning->stage->control, &faster);
	*limited = status == CANCELLED;
	if (status == NO_MEMORY)
		fail_memory(planning->error);
	struct ordered *next = faster.order
		? ordered_again(ordered, planning->scenario, faster.order, faster.winner, planning->error)
		: NULL;
	overlap_result_free(&faster);
	return next;
}

/* A plan of the same in an order of a shorter step, whose arena keeps limit bytes more or less: NULL where none was
 * found, or with the error's status. */
static struct plan *plan_faster(const struct planning *planning, const struct plan *plan, int64_t limit)
{
	bool limited;
	struct ordered *ordered = order_faster(planning, plan->transformed, plan->ordered, limit, &limited);
	struct plan *next = ordered ? plan_ordered(planning, plan->transformed, ordered, false) : NULL;
	if (next)
		next->limited |= limited;
	ordered_release(ordered);
	return next;
}

/* The plan of the program's order where that is faster and keeps the cap, else the plan given; takes it over. NULL with
 * the error's status. */
static struct plan *plan_in_program_order(const struct planning *planning, struct plan *plan)
{
	const struct ordered *ordered = plan->ordered;
	struct ordered *program = ordered_again(
		ordered, planning->scenario, ordered->problem.program, "program", planning->error);
	struct plan *next = program ? plan_ordered(planning, plan->transformed, program, false) : NULL;
	ordered_release(program);
	if (!next) {
		plan_release(plan);
		return NULL;
	}
	bool better = plan_needs(next) <= scenario_budget(&plan->scenario) && next->speed.time >= 0 &&
		next->speed.time < plan->speed.time;
	if (better) {
		next->run[STAGE_ORDER] = plan->run[STAGE_ORDER];
		next->fit_margin = plan->fit_margin;
		next->complete = plan->complete;
		next->limited |= plan->limited;
	}
	plan_release(better ? plan : next);
	return better ? next : plan;
}

#define FAST_ROUNDS 3

static bool assemble_keeps_cap(const struct plan *plan)
{
	int64_t budget = scenario_budget(&plan->scenario);
	return budget < 0 || plan_needs(plan) <= budget;
}

/* Takes the faster of both that keep the cap. Whether next keeps it. */
static bool keep_faster(struct plan **best, struct plan *next)
{
	bool keeps = assemble_keeps_cap(next),
		 better = keeps && (!assemble_keeps_cap(*best) || plan_step_time(next) < plan_step_time(*best));
	plan_release(better ? *best : next);
	*best = better ? next : *best;
	return keeps;
}

/* Orders for time that keep the cap: the fastest whose arena keeps it, too. Returns whether a faster one's doesn't. */
static bool try_orders(const struct planning *planning, const struct plan *plan, int64_t limit, struct plan **best)
{
	struct plan_time_search search = search_of(planning, plan->transformed, plan->ordered, limit);
	struct overlap_climb climb;
	enum status status = plan_time_orders(&search, planning->stage->control, &climb);
	bool found = false, tight = false;
	if (status == NO_MEMORY)
		fail_memory(planning->error);
	for (uint32_t i = climb.count; i-- > 0 && !found && planning->error->status == OK;) {
		struct ordered *ordered = ordered_again(
			plan->ordered, planning->scenario, climb.found[i].order, climb.found[i].winner, planning->error);
		struct plan *next = ordered ? plan_ordered(planning, plan->transformed, ordered, false) : NULL;
		ordered_release(ordered);
		if (!next)
			break;
		next->limited |= status == CANCELLED;
		found = keep_faster(best, next);
		tight |= !found;
	}
	overlap_climb_free(&climb);
	return tight;
}

/* The same for a comparison, with less effort. */
static bool try_order(const struct planning *planning, const struct plan *plan, int64_t limit, struct plan **best)
{
	bool tight = false;
	for (int round = 0; round < FAST_ROUNDS && error_set(planning->error, OK) == OK; round++) {
		struct plan *next = plan_faster(planning, plan, limit);
		int64_t needs = next ? plan_needs(next) : 0;
		if (!next || keep_faster(best, next))
			break;
		limit -= needs - scenario_budget(&plan->scenario);   /* the next round allows the peak as much less */
		tight = true;
	}
	return tight;
}

/* The end of a search for time: the bound on the step. Takes the plan over; NULL with the error's status. */
static struct plan *bound_time(const struct planning *planning, struct plan *plan)
{
	bool fine = planning->error->status == OK || planning->error->status == CANCELLED;
	if (fine && plan_time_bound(plan->time) != OK)
		fine = fail_memory(planning->error) == OK;
	plan->limited |= planning->error->status == CANCELLED;
	if (fine) {
		error_set(planning->error, OK);
		return plan;
	}
	plan_release(plan);
	return NULL;
}

/* Bytes that an order for time may take without a memory cap: what the program's order takes, as frameworks run that.
 * order=fast may take any. */
static int64_t uncapped_limit(const struct scenario *scenario, const struct ordered *ordered)
{
	return scenario_order(scenario) == ORDER_FAST ? INT64_MAX : ordered->program_peak;
}

/* Where an arena needs more than its order's peak, the program's own order may be the fastest whose arena fits. */
struct plan *plan_fast(const struct planning *planning, struct plan *plan, bool foretells)
{
	int64_t budget = plan_budget(plan), limit = budget < 0 ? uncapped_limit(planning->scenario, plan->ordered) : budget;
	struct plan *best = plan_retain(plan);
	bool climbs = scenario_order(planning->scenario) == ORDER_FAST && !foretells,
		 tight = climbs ? try_orders(planning, plan, limit, &best) : try_order(planning, plan, limit, &best);
	if (tight && planning->error->status == OK && !(best = plan_in_program_order(planning, best))) {
		plan_release(plan);
		return NULL;
	}
	best->run[STAGE_ORDER] = plan->run[STAGE_ORDER];
	best->fit_margin = plan->fit_margin;
	best->complete = plan->complete;
	plan_release(plan);
	return bound_time(planning, best);
}

/* No cap is to be kept, so the faster order alone is laid out. The order is never slower than the least peak's. */
static struct plan *plan_fast_uncapped(
	const struct planning *planning, struct transformed *transformed, struct ordered *ordered)
{
	bool limited;
	struct ordered *faster = order_faster(
		planning, transformed, ordered, uncapped_limit(planning->scenario, ordered), &limited);
	bool same = faster &&
		memcmp(faster->result.order, ordered->result.order, ordered->problem.ops * sizeof *ordered->result.order) == 0;
	struct plan *plan = planning->error->status == OK
		? plan_ordered(planning, transformed, faster && !same ? faster : ordered, false)
		: NULL;
	ordered_release(faster);
	if (plan)
		plan->limited |= limited;
	return plan ? bound_time(planning, plan) : NULL;
}

/* Whether another order may take the place of the one found. */
static bool assemble_is_free(const struct scenario *scenario)
{
	enum order_strategy order = scenario_order(scenario);
	return order == ORDER_BEST || order == ORDER_AUTO;
}

/* Whether the order keeps the cap and the layout doesn't. */
static bool lacks_room(const struct planning *planning, const struct plan *plan)
{
	int64_t budget = scenario_budget(planning->scenario), needs = plan_needs(plan);
	return budget >= 0 && needs > budget && needs - plan_arena(plan) + plan_peak(plan) <= budget && !plan->limited
		&& assemble_is_free(planning->scenario) && !plan->transformed->pipelined;
}

/* The layout chosen adds to the peak: then an order whose layout keeps the cap, where one is found. Takes the plan
 * over. */
static struct plan *plan_for_room(const struct planning *planning, struct plan *plan)
{
	int64_t limit = scenario_budget(planning->scenario) - (plan_needs(plan) - plan_arena(plan));
	struct ordered *ordered = room_order(
		planning->stage, plan->ordered, plan_arena(plan), planning->scenario, limit, planning->error);
	struct plan *next = ordered ? plan_ordered(planning, plan->transformed, ordered, false) : NULL;
	bool fine = planning->error->status == OK;
	if (next) {
		next->run[STAGE_ORDER] = plan->run[STAGE_ORDER];
		next->fit_margin = plan->fit_margin;
		next->complete = plan->complete;
	}
	ordered_release(ordered);
	if (next || !fine)
		plan_release(plan);
	return next || !fine ? next : plan;
}

/* auto without a cap: whether the order of the least peak need not be laid out. */
static bool is_uncapped(const struct scenario *scenario, const struct transformed *transformed)
{
	const struct fitted *fitted = transformed->fitted;
	return scenario_budget(scenario) < 0 && scenario_order(scenario) == ORDER_AUTO && transformed->sharded &&
		!transformed->pipelined && !(fitted && fitted->away > 0);
}

/* Order and layout of a transformed graph, or of another pipeline rank's. */
static struct plan *plan_graph(const struct planning *planning, struct transformed *transformed, struct graph *graph,
	const struct plan_wish *wish, bool quick)
{
	struct stage_context *stage = planning->stage;
	const struct scenario *scenario = planning->scenario;
	struct ordered *ordered = stage_order(stage, graph, scenario, quick, planning->error);
	bool reused = stage->order_reused, uncapped = !quick && is_uncapped(scenario, transformed);
	struct plan *plan = !ordered ? NULL
		: uncapped ? plan_fast_uncapped(planning, transformed, ordered)
		: plan_ordered(planning, transformed, ordered, quick);
	if (plan) {
		plan->run[STAGE_ORDER] = assemble_run_of(&ordered->run, reused);
		plan->fit_margin = wish->margin;
		plan->complete = !quick;
	}
	ordered_release(ordered);
	if (!plan || quick || uncapped)
		return plan;
	const struct fitted *fitted = transformed->fitted;
	if (lacks_room(planning, plan) && !(plan = plan_for_room(planning, plan)))
		return NULL;
	if (fitted && fitted->away > 0 && !transformed->pipelined && assemble_is_free(scenario))
		return plan_in_program_order(planning, plan);   /* copies have their windows along it: in another one of a
														   slightly lower peak computation may wait for them */
	return plan->time && scenario_seeks_time(scenario) ? plan_fast(planning, plan, false) : plan;
}

/* ---- pipeline ranks ------------------------------------------------------------------------ */

/* Bytes of the copies in flight, and the position of the flush that ends them; 0 where there are none. */
static int64_t copies_in_flight(const struct plan *plan, const struct graph *graph, uint32_t *until)
{
	uint32_t flush = graph->flush;
	int64_t bytes = 0;
	*until = flush == NONE ? 0 : plan->ordered->position[flush];
	for (uint32_t i = flush == NONE ? 0 : graph->touches.start[flush];
		flush != NONE && i < graph->touches.start[flush + 1]; i++)
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

static struct graph *graph_of_rank(
	const struct transformed *transformed, const struct scenario *scenario, uint32_t rank, struct error *error)
{
	struct graph *graph = transformed->pipelined->rank[rank].graph;
	return scenario->value[K_in_place] ? graph_retain(graph) : graph_without_inplace(graph, error);
}

/* Plans the ranks that differ, and the one that is asked for; reports that, or the one with the largest arena. */
static struct plan *plan_ranks(
	const struct planning *planning, struct transformed *transformed, const struct plan_wish *wish, bool quick)
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

struct plan *plan_transformed(
	const struct planning *planning, struct transformed *transformed, const struct plan_wish *wish, bool quick)
{
	return transformed->pipelined ? plan_ranks(planning, transformed, wish, quick)
		: plan_graph(planning, transformed, transformed->graph, wish, quick);
}

struct plan *plan_once(const struct planning *planning, const struct plan_wish *wish, bool quick)
{
	struct transformed *transformed = stage_transform(
		planning->stage, planning->input, planning->scenario, wish, quick, planning->error);
	struct plan *plan = transformed ? plan_transformed(planning, transformed, wish, quick) : NULL;
	transformed_release(transformed);
	return plan;
}
