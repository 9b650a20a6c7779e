/* assemble.c: one pass through the stages: a plan of their results. */

#include "decide.h"
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
	const struct fitted *fitted = plan->fitted;
	plan->stall = fitted && time ? fitted_stall(fitted, plan_time_host_waits(time, plan->sharded)) : 0;
}

/* The step's time: simulated, a pipeline's, or that of one device: with accumulation all passes and the update. A
 * pipeline counts its microbatches alone. False: out of memory. */
static bool find_speed(struct plan *plan, const struct rules *rules)
{
	const struct sharded *sharded = plan->sharded;
	const struct pipelined *pipelined = plan->pipelined;
	int64_t time = plan_step_time(plan),
			passes = pipelined ? (int64_t)pipelined->microbatches : scenario_accumulation(&plan->scenario);
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

enum status plan_finish(struct plan *plan, const struct rules *rules)
{
	const struct ordered *ordered = plan->ordered;
	FOR_INT(expandable, 2)
		if (plan->pytorch[expandable].least == 0)
			TRY(plan_allocate(plan, expandable));
	if (plan->time && plan->complete && !plan->limited && scenario_seeks_time(&plan->scenario))
		TRY(plan_time_bound(plan->time));
	plan->program_time = plan->speed.time;
	if (plan->speed.time < 0 || plan->pipelined ||
		memcmp(ordered->result.order, ordered->problem.program,
			ordered->problem.ops * sizeof *ordered->problem.program) == 0)
		return OK;
	struct plan_time *time = plan_time_of(
		plan->graph, ordered->problem.program, plan->sharded, &plan->scenario, rules);
	NEED(time);
	plan->program_time = time->whole.total == INT64_MAX ? -1 : time->whole.total;
	plan_time_free(time);
	return OK;
}

/* A view of both stages' results as one plan; the plan keeps them alive. */
static struct plan *assemble(const struct planning *planning, struct transformed *transformed, struct ordered *ordered,
	struct laid_out *laid_out)
{
	const struct rules *rules = planning->stage->rules;
	const struct scenario *scenario = planning->scenario;
	struct graph *input = planning->input;
	struct plan *MAKE(plan, 1);
	if (!plan)
		return NULL;
	atomic_store(&plan->references, 1);
	if (scenario_copy(&plan->scenario, scenario) != OK) {
		mem_free(plan);
		return NULL;
	}
	plan->transformed = transformed_retain(transformed);
	plan->sharded = transformed->sharded;
	plan->pipelined = transformed->pipelined;
	plan->fitted = transformed->fitted;
	memcpy(plan->notes, transformed->notes, strlen(transformed->notes) + 1);
	plan->ordered = ordered_retain(ordered);
	plan->laid_out = laid_out_retain(laid_out);
	plan->input = graph_retain(input);
	plan->graph = graph_retain(ordered->graph);
	plan->limited = ordered->cut_short || laid_out->cut_short;
	plan->fingerprint = plan_fingerprint(input, scenario);
	if (plan->sharded) {
		plan->shown = plan->sharded->shown;
		traffic_find(plan->sharded,
			plan->pipelined ? plan->sharded->device : plan->graph, &plan->traffic);
	}
	if (plan->sharded && !plan->pipelined)
		plan->time = plan_time_of(plan->graph, plan->ordered->result.order, plan->sharded, scenario, rules);
	plan->allocator = scenario_allocator(scenario, input);
	plan->state_first = planning->state_first;
	if ((plan->sharded && !plan->pipelined && !plan->time) || !find_speed(plan, rules) ||
		(plan->allocator != ALLOCATOR_PLAN && plan_allocate(plan, plan->allocator == ALLOCATOR_EXPANDABLE) != OK)) {
		plan_release(plan);
		return NULL;
	}
	return plan;
}

struct plan *plan_so_far(const struct planning *planning, const struct plan *plan)
{
	struct plan *again = assemble(planning, plan->transformed, plan->ordered, plan->laid_out);
	if (again) {
		again->fit_margin = plan->fit_margin;
		memcpy(again->run, plan->run, sizeof plan->run);
	}
	return again;
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
		? assemble(planning, transformed, ordered, laid_out)
		: NULL;
	if (laid_out && !plan)
		fail_memory(planning->error);
	if (plan)
		plan->run[STAGE_LAYOUT] = assemble_run_of(&laid_out->run, stage->layout_reused);
	laid_out_release(laid_out);
	return plan;
}

/* A plan of the same in another order; of arguments that allocate, NULL with the error's status. */
static struct plan *plan_reordered(
	const struct planning *planning, const struct plan *from, const uint32_t *order, const char *winner)
{
	struct ordered *ordered = ordered_again(from->ordered, planning->scenario, order, winner, planning->error);
	struct plan *plan = ordered ? plan_ordered(planning, from->transformed, ordered, false) : NULL;
	ordered_release(ordered);
	if (plan) {
		plan->run[STAGE_ORDER] = from->run[STAGE_ORDER];
		plan->fit_margin = from->fit_margin;
		plan->complete = from->complete;
		plan->limited |= from->limited;
	}
	return plan;
}

static void add_program(const struct planning *planning, const struct plan *plan, struct shortlist *list)
{
	shortlist_add(
		list, plan_reordered(planning, plan, plan->ordered->problem.program, order_strategy_names[ORDER_PROGRAM]));
}

/* Plans in the orders found: the fastest whose arena keeps the cap, and slower ones of less memory that are as fast.
 * Bytes by which the fastest is above the cap; 0: it keeps it. */
static int64_t add_orders(const struct planning *planning, const struct plan *plan, const struct overlap_climb *climb,
	bool limited, struct shortlist *list, bool *any)
{
	int64_t budget = scenario_budget(&plan->scenario), over = 0, peak = INT64_MAX,
			time = list->lead > 0 ? list->lead : INT64_MAX;
	*any = false;
	for (uint32_t i = climb->count; i-- > 0 && is_as_fast(climb->found[i].time, time) && planning->error->status == OK;) {
		const struct overlap_result *found = &climb->found[i];
		struct plan *next = found->peak < peak ? plan_reordered(planning, plan, found->order, found->winner) : NULL;
		int64_t above = next && budget >= 0 ? plan_needs(next) - budget : 0;
		if (!next)
			continue;
		next->limited |= limited;
		over = over == 0 && !*any ? larger_of(above, 0) : over;
		if (above <= 0) {
			*any = true;
			time = SMALLER(time, found->time);
			peak = found->peak;
		}
		shortlist_add(list, next);
	}
	return over;
}

/* In what orders of a shorter step than a plan's are sought. */
static struct plan_time_search search_of(const struct planning *planning, const struct plan *plan, int how)
{
	int64_t budget = plan_budget(plan);
	return (struct plan_time_search){ plan->ordered->graph, &plan->ordered->problem, plan->ordered->result.order,
		plan->sharded, planning->scenario, planning->stage->rules,
		budget >= 0 ? budget
		: how == TIME_CLIMBS ? INT64_MAX
		: plan->ordered->program_peak,
		how };
}

int64_t plan_glance(const struct planning *planning, const struct plan *plan, int64_t lead, struct shortlist *list)
{
	struct plan_time_search search = search_of(planning, plan, TIME_GLANCES);
	struct overlap_climb climb = { 0 };
	bool once = plan->time && scenario_accumulation(planning->scenario) == 1 &&
		control_status(planning->stage->control) != CANCELLED;
	enum status status = once ? plan_time_orders(&search, planning->stage->control, &climb) : OK;
	const struct overlap_result *found = &climb.found[0];
	int64_t time = climb.count > 0 ? found->time : -1;
	if (list && climb.count > 0 && time < lead) {
		struct plan *fast = plan_reordered(planning, plan, found->order, found->winner);
		if (fast)
			fast->complete = true;
		shortlist_add(list, fast);
	}
	overlap_climb_free(&climb);
	if (status == NO_MEMORY || status == CANCELLED)
		fail_status(planning->error, status);
	return time;
}

#define FAST_ROUNDS 3

/* Adds plans in the fastest orders found to a list, and the one of the least peak that they begin with, which it takes
 * over. Where an arena needs more than its order's peak, the next round allows the peak as much less, and the program's
 * own order may be the fastest whose arena fits. */
static void plan_fast(const struct planning *planning, struct plan *plan, struct shortlist *list)
{
	int64_t over = 1;
	bool climbs = scenario_order(planning->scenario) == ORDER_FAST, tight = false, any = false;
	struct plan_time_search search = search_of(planning, plan, climbs ? TIME_CLIMBS : TIME_COMPARES);
	bool stopped = control_status(planning->stage->control) == CANCELLED;
	plan->limited |= stopped;
	for (int round = 0; round < (climbs ? 1 : FAST_ROUNDS) && over > 0 && !any && !stopped &&
		error_set(planning->error, OK) == OK; round++) {
		struct overlap_climb climb;
		enum status status = plan_time_orders(&search, planning->stage->control, &climb);
		if (status == NO_MEMORY)
			fail_memory(planning->error);
		over = add_orders(planning, plan, &climb, status == CANCELLED, list, &any);
		search.limit -= over;
		tight |= over > 0;
		plan->limited |= status == CANCELLED;
		overlap_climb_free(&climb);
	}
	if (tight && planning->error->status == OK)
		add_program(planning, plan, list);
	plan->limited |= planning->error->status == CANCELLED;
	shortlist_add(list, plan);
}

/* Whether another order may take the place of the one found. */
static bool assemble_is_free(const struct scenario *scenario)
{
	enum order_strategy order = scenario_order(scenario);
	return order == ORDER_BEST || order == ORDER_AUTO;
}

/* What PyTorch's allocator doesn't hold though its peak does: an order that it holds. The store has it, or that there
 * is none: rounds come back to a graph. */
static void add_held(const struct planning *planning, const struct plan *plan, struct shortlist *list)
{
	const struct scenario *scenario = planning->scenario;
	struct stage_context *stage = planning->stage;
	uint32_t ops = plan->graph->ops;
	if (plan->allocator == ALLOCATOR_PLAN || plan->sharded || plan->pipelined || !plan_is_over(plan) ||
		plan_peak(plan) > scenario_budget(scenario) || !assemble_is_free(scenario) || !step_runs("recompute.segments"))
		return;
	struct key key = key_of("an order by segments");
	key_add(&key, plan->graph->fingerprint + planning->state_first);
	key_add_scenario(&key, scenario);
	HELD uint32_t *MAKE(order, ops + 1);    /* and whether it holds */
	if (order && store_find_blob(stage->store, key.half, order, (ops + 1) * sizeof *order) == 0) {
		OWN(ordered) *quick = stage_order(stage, plan->graph, scenario, true, planning->error);
		const uint32_t *start[] = { plan->ordered->result.order, plan->ordered->problem.program,
			quick ? quick->result.order : NULL };
		bool holds = false;
		if (!quick)
			return;
		enum status status = segments_order(plan->ordered, plan->laid_out, scenario, planning->state_first, start,
			COUNT_OF(start), stage->control, order, &holds);
		if (status != OK) {
			fail_status(planning->error, status);
			return;
		}
		order[ops] = holds;
		store_keep_blob(stage->store, key.half, order, (ops + 1) * sizeof *order);
	}
	if (!order)
		fail_memory(planning->error);
	else if (order[ops])
		shortlist_add(list, plan_reordered(planning, plan, order, "by segments"));
}

/* Order and layout of a transformed graph, or of another pipeline rank's, in all orders that may be taken. */
static void add_graph(const struct planning *planning, struct transformed *transformed, struct graph *graph,
	const struct plan_wish *wish, bool quick, struct shortlist *list)
{
	struct stage_context *stage = planning->stage;
	const struct fitted *fitted = transformed->fitted;
	struct ordered *ordered = stage_order(stage, graph, planning->scenario, quick, planning->error);
	bool reused = stage->order_reused;
	struct plan *plan = ordered ? plan_ordered(planning, transformed, ordered, quick) : NULL;
	if (plan) {
		plan->run[STAGE_ORDER] = assemble_run_of(&ordered->run, reused);
		plan->fit_margin = wish->margin;
		plan->complete = !quick;
	}
	ordered_release(ordered);
	if (plan && !quick && fitted && fitted->away > 0 && !transformed->pipelined && assemble_is_free(planning->scenario))
		add_program(planning, plan, list);   /* copies have their windows along it: in another one of a slightly lower
												peak computation may wait for them */
	else if (plan && !quick && plan->time && scenario_seeks_time(planning->scenario)) {
		plan_fast(planning, plan, list);
		return;
	}
	if (plan && !quick)
		add_held(planning, plan, list);
	shortlist_add(list, plan);
}

/* The end of a choice: what ends every run leaves no plan. */
static struct plan *take(const struct planning *planning, struct shortlist *list)
{
	struct plan *plan = shortlist_take(list);
	if (plan && planning->error->status == CANCELLED)
		error_set(planning->error, OK);
	if (planning->error->status == OK)
		return plan;
	plan_release(plan);
	return NULL;
}

static struct plan *plan_graph(const struct planning *planning, struct transformed *transformed, struct graph *graph,
	const struct plan_wish *wish, bool quick)
{
	struct shortlist list = { .goal = { GOAL_FASTEST, scenario_budget(planning->scenario) } };
	add_graph(planning, transformed, graph, wish, quick, &list);
	return take(planning, &list);
}

/* ---- pipeline ranks ---- */

/* Bytes of the copies in flight, and the position of the flush that ends them; 0 where there are none. */
static int64_t copies_in_flight(const struct plan *plan, const struct graph *graph, uint32_t *until)
{
	uint32_t flush = graph->flush;
	int64_t bytes = 0;
	*until = flush == NONE ? 0 : plan->ordered->position[flush];
	for (uint32_t i = flush == NONE ? 0 : graph->touches.start[flush];
		flush != NONE && i < graph->touches.start[flush + 1]; i++)
		bytes += align_up(graph->storage[graph->touches.item[i]].bytes, scenario_memory_rules(&plan->scenario).alignment);
	return bytes;
}

/* A rank in the order of a plan of one that is alike: just what is in flight differs. */
static void follow_plan(const struct plan *plan, const struct graph *graph, struct planned_rank *planned)
{
	uint32_t until, ignored, position = 0;
	int64_t theirs = copies_in_flight(plan, plan->graph, &until), ours = copies_in_flight(plan, graph, &ignored);
	planned->peak = -1;
	FOR(i, plan->graph->ops) {
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
	return scenario_graph(scenario, graph, error);
}

/* Plans the ranks that differ, and the one that is asked for; reports that, or the one that needs most. */
static struct plan *plan_ranks(
	const struct planning *planning, struct transformed *transformed, const struct plan_wish *wish, bool quick)
{
	struct error *error = planning->error;
	const struct pipelined *pipelined = transformed->pipelined;
	struct planned_rank *MAKE(by_rank, pipelined->ranks);
	int64_t wanted = scenario_rank(planning->scenario);
	struct plan *best = NULL;
	bool limited = false;
	enum status status = by_rank ? error_set(error, OK) : fail_memory(error);
	FOR_WHILE(r, pipelined->ranks, status == OK) {
		if (pipelined->rank[r].alike != r && r != wanted)
			continue;
		struct graph *graph = graph_of_rank(transformed, planning->scenario, r, error);
		struct plan *plan = graph ? plan_graph(planning, transformed, graph, wish, quick) : NULL;
		graph_release(graph);
		status = plan ? OK : error->status;
		if (!plan)
			break;
		plan->rank = r;
		FOR_FROM(other, r, pipelined->ranks)
			if (other == r || pipelined->rank[other].alike == r)
				follow_plan(plan, pipelined->rank[other].graph, &by_rank[other]);
		bool better = !best || (wanted == KNOB_GIVEN ? plan_needs(plan) > plan_needs(best) : r == wanted);
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

void plan_each_order(const struct planning *planning, struct transformed *transformed, const struct plan_wish *wish,
	bool quick, struct shortlist *list)
{
	if (transformed->pipelined)
		shortlist_add(list, plan_ranks(planning, transformed, wish, quick));
	else
		add_graph(planning, transformed, transformed->graph, wish, quick, list);
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
