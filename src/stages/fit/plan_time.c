/* plan_time.c: what the ops of a planned graph take, and the simulation of its step. */

#include "plan_time.h"

struct timing {
	const struct graph *graph;       /* as planned */
	const struct sharded *sharded;   /* NULL: one device runs the whole step */
	const struct rules *rules;
	struct machine machine;
	struct step_costs costs;
	uint8_t *limit;                  /* [ops] enum machine_limit, of what is computed */
	int64_t passes;                  /* of a step */
	bool *once;                      /* [ops] runs in the last pass alone; NULL where there is one */
	struct arena arena;
};

bool plan_time_host(const struct graph *graph, uint32_t op, int64_t *bytes)
{
	bool out = graph->op[op].added == ADDED_OFFLOAD, back = graph->op[op].added == ADDED_FETCH;
	const struct csr *moved = out ? &graph->reads : &graph->writes;
	*bytes = (out || back) && csr_length(moved, op) > 0 ? graph->tensor[moved->item[moved->start[op]]].bytes : 0;
	return out || back;
}

static const struct mesh no_mesh;

static enum status time_op(struct timing *timing, uint32_t op, uint32_t *near)
{
	const struct mesh *mesh = timing->sharded ? &timing->sharded->sharding.mesh : &no_mesh;
	struct step_costs *costs = &timing->costs;
	enum collective_kind collective;
	uint32_t axis, whole = timing->sharded ? sharded_op(timing->sharded, timing->graph, op, near) : NONE;
	int64_t bytes;
	costs->layer[op] = whole == NONE || timing->sharded->shared->blocks.blocks < 2
		? NONE
		: timing->sharded->shared->blocks.of[whole] * PHASE_COUNT + timing->graph->op[op].phase;
	if (traffic_collective(mesh, timing->graph, op, &axis, &collective, &bytes) && collective != COLLECTIVE_SLICE) {
		costs->stream[op] = 1 + axis;
		costs->time[op] = collective_time(&mesh->axis[axis], collective, bytes);
		return OK;
	}
	if (plan_time_host(timing->graph, op, &bytes)) {
		costs->stream[op] = 1 + mesh->axes + (timing->graph->op[op].added == ADDED_FETCH);
		costs->time[op] = machine_host_time(&timing->machine, bytes);
		return OK;
	}
	bool pieces = whole != NONE &&
		op_on_pieces(&timing->sharded->shared->units, whole, timing->sharded->sharding.split[whole]);
	if (whole != NONE)
		op_inside_time(&timing->sharded->shared->units, mesh, whole, timing->sharded->sharding.split[whole],
			costs->inside + (size_t)op * costs->axes, NULL);
	enum machine_limit limit;
	enum status status = op_local_time(
		timing->graph, timing->rules, &timing->machine, op, pieces, &costs->time[op], &limit);
	timing->limit[op] = (uint8_t)limit;
	return status;
}

static bool plan_time_find_costs(struct timing *timing)
{
	struct step_costs *costs = &timing->costs;
	uint32_t ops = timing->graph->ops, near = 0;
	int64_t ignored;
	bool host = false;
	FOR(op, ops)
		host |= plan_time_host(timing->graph, op, &ignored);
	costs->axes = (timing->sharded ? timing->sharded->sharding.mesh.axes : 0) + 2u * host;
	if (!(ROOMS(&timing->arena, ops, costs->stream, costs->time, costs->layer, timing->limit) &&
		ROOM(&timing->arena, costs->inside, (size_t)ops * costs->axes)))
		return false;
	enum status status = OK;
	FOR_WHILE(op, ops, status == OK)
		status = time_op(timing, op, &near);
	return status == OK;
}

static struct timing timing_of(const struct graph *graph, const struct sharded *sharded,
	const struct scenario *scenario, const struct rules *rules)
{
	struct timing timing = {
		.graph = graph, .sharded = sharded, .rules = rules, .costs.prefetch = (uint32_t)scenario_prefetch(scenario)
	};
	timing.machine = scenario->machine;
	return timing;
}

enum status plan_costs_find(const struct graph *graph, const struct sharded *sharded, const struct scenario *scenario,
	const struct rules *rules, struct arena *arena, struct step_costs *costs)
{
	struct timing timing = timing_of(graph, sharded, scenario, rules);
	bool fine = plan_time_find_costs(&timing);
	*costs = timing.costs;
	*arena = timing.arena;
	return fine ? OK : NO_MEMORY;
}

enum status plan_op_times(const struct graph *graph, const struct sharded *sharded, const struct scenario *scenario,
	const struct rules *rules, int64_t *full, int64_t *sure)
{
	OWN(arena) arena = { 0 };
	struct step_costs costs;
	TRY(plan_costs_find(graph, sharded, scenario, rules, &arena, &costs));
	FOR(op, graph->ops) {
		full[op] = costs.time[op];
		sure[op] = costs.stream[op] > 0 ? 0 : full[op];
	}
	return OK;
}

/* Tells what runs once a step from what runs in every pass. False: out of memory. */
static bool find_passes(struct timing *timing, const struct scenario *scenario)
{
	timing->passes = scenario_accumulation(scenario);
	if (timing->passes == 1)
		return true;
	if (ROOM(&timing->arena, timing->once, timing->graph->ops))
		passes_find(timing->graph, timing->once);
	return timing->once;
}

/* How often an op runs in a step. */
static int64_t runs_of(const struct timing *timing, uint32_t op)
{
	return timing->once && !timing->once[op] ? timing->passes : 1;
}

/* sum + times * time, INT64_MAX at the most. */
static int64_t added(int64_t sum, int64_t times, int64_t time)
{
	return __builtin_mul_overflow(times, time, &time) || __builtin_add_overflow(sum, time, &sum) ? INT64_MAX : sum;
}

/* Without what runs once a step. */
static void leave_pass(struct timing *timing)
{
	struct step_costs *costs = &timing->costs;
	FOR(op, timing->graph->ops) {
		if (!timing->once[op])
			continue;
		costs->time[op] = 0;
		FOR(a, costs->axes)
			costs->inside[(size_t)op * costs->axes + a] = 0;
	}
}

/* A pass that no update follows, and the whole step. Changes the costs. False: out of memory. */
static bool find_whole(struct timing *timing, const uint32_t *order, struct plan_time *time)
{
	time->passes = timing->passes;
	if (timing->passes > 1) {
		leave_pass(timing);
		if (step_model_build(timing->graph, order, &timing->costs, &time->pass_model) != OK ||
			step_time_find(&time->pass_model, &time->pass) != OK)
			return false;
	}
	time->whole.total = added(time->time.total, time->passes - 1, time->pass.total);
	FOR_INT(s, STREAMS_MAX) {
		time->whole.busy[s] = added(time->time.busy[s], time->passes - 1, time->pass.busy[s]);
		time->whole.exposed[s] = added(time->time.exposed[s], time->passes - 1, time->pass.exposed[s]);
	}
	return true;
}

struct plan_time *plan_time_of(const struct graph *graph, const uint32_t *order, const struct sharded *sharded,
	const struct scenario *scenario, const struct rules *rules)
{
	struct timing timing = timing_of(graph, sharded, scenario, rules);
	struct plan_time *MAKE(time, 1);
	bool fine = time && find_passes(&timing, scenario) && plan_time_find_costs(&timing) &&
		step_model_build(graph, order, &timing.costs, &time->model) == OK &&
		step_time_find(&time->model, &time->time) == OK && find_whole(&timing, order, time);
	arena_free(&timing.arena);
	if (fine)
		return time;
	plan_time_free(time);
	return NULL;
}

const char *const step_part_names[STEP_PARTS] = { "forward", "backward", "recomputed", "update", "resharding",
	"waiting" };
const char *const step_limit_names[STEP_LIMITS] = { "matrix products", "other arithmetic", "memory bandwidth",
	"launch overhead", "links between devices", "link to the host", "other ranks" };

static enum step_part plan_time_part_of(const struct op *op)
{
	static const enum step_part of[PHASE_COUNT] = { [PHASE_FORWARD] = STEP_FORWARD,
		[PHASE_BACKWARD] = STEP_BACKWARD,
		[PHASE_UPDATE] = STEP_UPDATE,
		[PHASE_COMMUNICATION] = STEP_RESHARDING };
	return op->recomputed ? STEP_RECOMPUTED : of[op->phase];
}

/* Whether passes count an op: sums over microbatches and messages between ranks are none of a pipeline's. */
static bool plan_time_in_pass(const struct timing *timing, uint32_t op)
{
	enum collective_kind collective;
	uint32_t axis;
	int64_t bytes;
	return !timing->sharded || sharded_op(timing->sharded, timing->graph, op, NULL) != NONE ||
		traffic_collective(&timing->sharded->sharding.mesh, timing->graph, op, &axis, &collective, &bytes);
}

enum status plan_step_shares(const struct graph *graph, const struct sharded *sharded, uint32_t passes,
	const struct scenario *scenario, const struct rules *rules, struct step_shares *shares, int64_t *in_passes)
{
	struct timing timing = timing_of(graph, sharded, scenario, rules);
	uint32_t axes = sharded ? sharded->sharding.mesh.axes : 0;
	bool fine = find_passes(&timing, scenario) && plan_time_find_costs(&timing);
	*in_passes = 0;
	FOR_WHILE(op, graph->ops, fine) {
		uint32_t stream = timing.costs.stream[op];
		bool update = graph->op[op].phase == PHASE_UPDATE;
		int64_t runs = passes == 0 ? runs_of(&timing, op) : update ? 1 : passes, time;
		if (passes > 0 && (!plan_time_in_pass(&timing, op) || timing.costs.time[op] == 0))
			continue;
		enum step_part part = stream > 0 ? STEP_WAITING : plan_time_part_of(&graph->op[op]);
		int limit = stream == 0 ? timing.limit[op] : stream <= axes ? STEP_LINK : STEP_HOST;
		time = stream > 0 ? 0 : added(0, runs, timing.costs.time[op]);
		shares->time[part][limit] = added(shares->time[part][limit], 1, time);
		shares->ops[part][limit] += stream > 0 || time > 0 ? (uint32_t)runs : 0;
		shares->computed = added(shares->computed, 1, time);
		*in_passes = added(*in_passes, !update, time);
	}
	arena_free(&timing.arena);
	return fine ? OK : NO_MEMORY;
}

enum status plan_time_shares(const struct graph *graph, const struct sharded *sharded, const struct scenario *scenario,
	const struct rules *rules, const struct plan_time *time, struct step_shares *shares)
{
	uint32_t axes = sharded ? sharded->sharding.mesh.axes : 0;
	int64_t ignored;
	*shares = (struct step_shares) { .total = time->whole.total };
	TRY(plan_step_shares(graph, sharded, 0, scenario, rules, shares, &ignored));
	FOR_FROM(s, 1, time->model.streams) {
		int64_t *waiting = &shares->time[STEP_WAITING][s <= axes ? STEP_LINK : STEP_HOST];
		*waiting = added(*waiting, 1, time->whole.exposed[s]);
	}
	return OK;
}

static int64_t longest_way(const struct graph *graph, const struct step_costs *costs, int64_t *end)
{
	int64_t longest = 0;
	FOR(op, graph->ops) {   /* in a topological order */
		end[op] = 0;
		FOR_ITEMS(before, &graph->pred, op)
			end[op] = LARGER(end[before], end[op]);
		end[op] += costs->time[op];
		FOR(a, costs->axes)
			end[op] += costs->inside[(size_t)op * costs->axes + a];
		longest = LARGER(end[op], longest);
	}
	return longest;
}

int64_t plan_time_least(const struct graph *graph, const struct sharded *sharded, const struct scenario *scenario,
	const struct rules *rules)
{
	struct timing timing = timing_of(graph, sharded, scenario, rules);
	int64_t busy[STREAMS_MAX] = { 0 }, least = -1;
	int64_t *end = NULL;
	if (ROOM(&timing.arena, end, graph->ops) && find_passes(&timing, scenario) && plan_time_find_costs(&timing)) {
		FOR(op, graph->ops) {
			int64_t runs = runs_of(&timing, op), *of = &busy[timing.costs.stream[op]];
			*of = added(*of, runs, timing.costs.time[op]);
			FOR(a, timing.costs.axes)
				busy[1 + a] = added(busy[1 + a], runs, timing.costs.inside[(size_t)op * timing.costs.axes + a]);
		}
		least = longest_way(graph, &timing.costs, end);
		if (timing.passes > 1) {
			leave_pass(&timing);
			least = added(least, timing.passes - 1, longest_way(graph, &timing.costs, end));
		}
		FOR(s, 1 + timing.costs.axes)
			least = LARGER(busy[s], least);
	}
	arena_free(&timing.arena);
	return least;
}

enum status plan_time_bound(struct plan_time *time)
{
	step_bound_free(&time->bound);
	return step_bound_find(&time->model, &time->bound);
}

#define COMPARED_PART 3     /* of the effort, in a comparison of plans */

/* The bound of any order's step: where it is reached, nothing is left to be sought. 0 of a step so large that it would
 * take as long as the search. */
static enum status plan_time_find_bound(
	const struct plan_time_search *search, const struct step_costs *costs, int64_t *value)
{
	OWN(step_model) model = { 0 };
	OWN(step_bound) bound = { 0 };
	if (overlap_changes(OVERLAP_MOVES, search->graph->ops) == 0)
		return OK;
	TRY(step_model_build(search->graph, search->order, costs, &model));
	TRY(step_bound_find(&model, &bound));
	*value = bound.bound;
	return OK;
}

/* The request of a search, with room for its parts. False: out of memory. */
static bool request_of(const struct plan_time_search *search, struct timing *timing, const uint32_t *start[2],
	struct overlap_request *request)
{
	*timing = timing_of(search->graph, search->sharded, search->scenario, search->rules);
	start[0] = search->order;
	start[1] = search->problem->program;
	*request = (struct overlap_request){ .graph = search->graph,
		.problem = search->problem,
		.costs = &timing->costs,
		.limit = search->limit,
		.start = start,
		.starts = 2,
		.ticks = OVERLAP_EFFORT,
		.moves = OVERLAP_MOVES };
	return plan_time_find_costs(timing) && plan_time_find_bound(search, &timing->costs, &request->bound) == OK;
}

/* The fastest order within the peak of the program's, as that memory is there in any case; where a few passes from it
 * say that more memory makes a faster one the fastest within the limit, too. */
static enum status compare_orders(const struct plan_time_search *search, struct overlap_request *request,
	struct control *control, struct overlap_climb *climb)
{
	struct overlap_result *found = climb->found;
	int64_t program = problem_peak(search->problem, search->problem->program, NULL, NULL);
	NEED(program >= 0);
	request->ticks /= COMPARED_PART;
	request->moves /= COMPARED_PART;
	request->glance = search->how == TIME_GLANCES;
	request->limit = program < search->limit && search->how > TIME_GLANCES ? program : search->limit;
	enum status status = overlap_schedule(request, control, &found[0]);
	const uint32_t *from = found[0].order;
	climb->count = from != NULL;
	if (status != OK || search->how != TIME_COMPARES || request->limit == search->limit)
		return status;
	request->limit = search->limit;
	request->start = &from;
	request->starts = 1;
	bool gains = !is_as_fast(found[0].time, request->bound);
	for (int round = 0; round < 2 && gains && status == OK; round++) {
		overlap_result_free(&found[1]);
		request->glance = round == 0;
		status = overlap_schedule(request, control, &found[1]);
		gains = found[1].order && !is_as_fast(found[0].time, found[1].time);
	}
	climb->count += gains;
	if (!gains)
		overlap_result_free(&found[1]);
	return status;
}

enum status plan_time_orders(
	const struct plan_time_search *search, struct control *control, struct overlap_climb *climb)
{
	struct timing timing;
	const uint32_t *start[2];
	struct overlap_request request;
	*climb = (struct overlap_climb) { 0 };
	bool fine = request_of(search, &timing, start, &request);
	enum status status = !fine ? NO_MEMORY
		: search->how == TIME_CLIMBS ? overlap_climb_orders(&request, control, climb)
		: compare_orders(search, &request, control, climb);
	arena_free(&timing.arena);
	return status;
}

void plan_time_places(const struct plan_time *time, const uint32_t *order, uint32_t ops, int64_t *at)
{
	at[ops] = time->time.total;
	for (uint32_t i = ops; i-- > 0; ) {
		bool computes = time->model.stream[order[i]] == 0 && time->model.time[order[i]] > 0;
		at[i] = computes ? time->time.start[order[i]] : at[i + 1];
	}
}

void plan_time_free(struct plan_time *time)
{
	if (!time)
		return;
	step_bound_free(&time->bound);
	step_time_free(&time->pass);
	step_model_free(&time->pass_model);
	step_time_free(&time->time);
	step_model_free(&time->model);
	mem_free(time);
}

int64_t plan_time_host_waits(const struct plan_time *time, const struct sharded *sharded)
{
	int64_t waits = 0;
	FOR_FROM(s, 1 + (sharded ? sharded->sharding.mesh.axes : 0), time->model.streams)
		waits += time->time.exposed[s];
	return waits;
}

const char *plan_time_stream(const struct sharded *sharded, uint32_t stream)
{
	const struct mesh *mesh = sharded ? &sharded->sharding.mesh : &no_mesh;
	return stream == 0 ? "computation"
		: stream <= mesh->axes ? mesh->axis[stream - 1].name
		: stream == 1 + mesh->axes ? "host"
		: "host back";
}
