/* stage.c: recomputation that fits a step into the memory cap. */

#include "plan_time.h"
#include "solver/recompute/strategies.h"
#include "src/scenario/knobs.h"
#include "src/scenario/shard_mesh.h"
#include "stage.h"

#define AGAIN 2            /* tries of windows for copies to the host */
#define NEAR 2000          /* a plan that is so small a part of the step above a bound is near it */
#define AFTER 7            /* what the host may take off the cap is looked for to a part in so many powers of two */
#define AFTER_ABOVE 3      /* looks above what the link carries in the pass */
#define IDLE 2             /* looks that bring nothing new */
#define AFTER_WHOLE 3      /* so many such parts lie between the choices that are then searched for in full */
#define ORDER_TICKS UINT64_C(20000000)      /* of the orders that recomputation is chosen along: at most, */
#define ORDER_OP_TICKS UINT64_C(5000)       /* and for each op */

/* ---- life ---- */

struct fitted *fitted_retain(struct fitted *fitted)
{
	atomic_fetch_add(&fitted->references, 1);
	return fitted;
}

void fitted_release(void *pointer)
{
	struct fitted *fitted = pointer;
	if (!fitted || atomic_fetch_sub(&fitted->references, 1) > 1)
		return;
	graph_release(fitted->step);
	graph_release(fitted->recomputed);
	mem_free(fitted->time);
	mem_free(fitted->sure);
	mem_free(fitted->traits);
	mem_free((void *)(uintptr_t)fitted->link.time);
	mem_free((void *)(uintptr_t)fitted->input.fixed);
	mem_free((void *)(uintptr_t)fitted->input.forward);
	mem_free(fitted->certificate.arc);
	FOR(r, fitted->ranks) {
		graph_release(fitted->rank[r].step);
		mem_free(fitted->rank[r].certificate.arc);
		arena_free(&fitted->rank[r].arena);
	}
	mem_free(fitted->rank);
	mem_free(fitted);
}

/* Parameters gathered for the forward pass: what reads them again gathers them again, or they stay from the one pass to
 * the other. */
static bool gathers_for_pass(const struct graph *step, uint32_t op)
{
	const struct collective *collective = step->op[op].collective;
	bool gathers = collective && collective->kind == COLLECTIVE_ALL_GATHER && csr_length(&step->reads, op) > 0,
		 wanted = false;
	FOR_ITEMS(read, &step->reads, op)
		gathers &= step->storage[step->tensor[read].storage].persistent;
	FOR_ITEMS(written, &step->writes, op) {
		uint32_t s = step->tensor[written].storage;
		gathers &= step->storage[s].allocator == op;
		FOR_ITEMS(user, &step->users, s)
			wanted |= step->op[user].phase == PHASE_FORWARD;
	}
	return gathers && wanted;
}

static bool *find_forward(const struct graph *step)
{
	bool *MAKE(forward, step->ops);
	for (uint32_t op = 0; forward && op < step->ops; op++)
		forward[op] = step->op[op].phase == PHASE_FORWARD || gathers_for_pass(step, op);
	return forward;
}

static struct fitted *new_fitted(
	struct graph *step, const struct scenario *scenario, const struct sharded *sharded, const struct rules *rules)
{
	struct fitted *MAKE(fitted, 1);
	if (!fitted)
		return NULL;
	atomic_store(&fitted->references, 1);
	fitted->certificate.op = NONE;
	fitted->step = graph_retain(step);
	MAKE(fitted->time, step->ops);
	MAKE(fitted->sure, step->ops);
	MAKE(fitted->traits, step->ops);
	uint8_t *MAKE(fixed, step->storages);
	fitted->input = (struct recompute_input){ .graph = step,
		.time = fitted->time,
		.sure = fitted->sure,
		.traits = fitted->traits,
		.alignment = scenario->value[K_alignment],
		.workspace = scenario->value[K_workspace],
		.random = (enum recompute_random)scenario->value[K_random],
		.fixed = fixed,
		.forward = find_forward(step) };
	if (!fitted->time || !fitted->sure || !fitted->traits || !fixed || !fitted->input.forward ||
		plan_op_times(step, sharded, scenario, rules, fitted->time, fitted->sure) != OK) {
		fitted_release(fitted);
		return NULL;
	}
	FOR(op, step->ops)
		fitted->total += fitted->time[op];
	FOR(op, step->ops)
		fitted->traits[op] = rules_traits(rules, step->op[op].type);
	return fitted;
}

int64_t fitted_extra(const struct fitted *fitted, const struct graph *graph)
{
	int64_t extra = 0;
	FOR(op, graph->ops) {
		uint32_t of = graph->op[op].recomputed && graph->op[op].of ? graph_find_op(fitted->step, graph->op[op].of) : NONE;
		extra += of == NONE ? 0 : fitted->time[of];
	}
	return extra + fitted->stall;
}

/* ---- choosing ---- */

struct ordering { const struct scenario *scenario; };

/* The orders that a planner would take, at less effort. */
static enum status order_step(
	void *context, struct graph *graph, int64_t ceiling, struct control *control, uint32_t *order, int64_t *peak)
{
	const struct ordering *ordering = context;
	uint64_t ticks = ORDER_OP_TICKS * (graph->ops + 1u);
	struct order_options options = {
		.strategy = ORDER_BEST, .ticks = SMALLER(ticks, ORDER_TICKS), .ceiling = ceiling,
		.brief = true
	};
	struct control own = { .cancel = control->cancel };
	struct order_result result = { 0 };
	struct problem problem;
	struct error error = { 0 };
	TRY(scenario_problem(graph, ordering->scenario, &problem, &error));
	enum status status = order_solve(&problem, &options, &own, &result);
	if ((status == OK || status == LIMIT) && result.order) {
		COPY(order, result.order, graph->ops);
		*peak = result.peak;
		status = OK;
	}
	order_result_free(&result);
	problem_free(&problem);
	return status;
}

/* Pins, and what the host gets: its storages stay until they leave. */
static void fit_stage_fix_storages(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options, bool *drop, uint8_t *fixed)
{
	struct recompute_options pins = *options;
	pins.mode = RECOMPUTE_NONE;
	recompute_choose(step, activations, &pins, drop);
	FOR(s, step->storages)
		fixed[s] = drop[s] ? RECOMPUTE_DROPPED : RECOMPUTE_FREE;
	FOR(i, options->residents)
		fixed[step->tensor[options->resident[i]].storage] = RECOMPUTE_SAVED;
	FOR(i, options->offloads)
		fixed[step->tensor[options->offload[i]].storage] = RECOMPUTE_SAVED;
	FOR(op, step->ops)
		FOR_ITEMS(read, &step->reads, op)
			if (step->op[op].added == ADDED_OFFLOAD)
				fixed[step->tensor[read].storage] = RECOMPUTE_SAVED;
}

void fitted_keep(struct fitted *fitted, int64_t cap)
{
	fitted->capped = true;
	fitted->cap = fitted->replayed = cap;
	fitted->certificate = (struct recompute_certificate){ .op = NONE };
	fitted->proved = fitted->extra == 0;
}

static void fit_stage_take_plan(struct fitted *fitted, struct recompute_plan *plan, int64_t cap)
{
	fitted->capped = true;
	fitted->cap = cap;
	fitted->replayed = plan->peak;
	fitted->bound = plan->bound;
	fitted->impossible = plan->impossible;
	fitted->slope = plan->slope;
	fitted->certificate = plan->certificate;
	plan->certificate.arc = NULL;
}

/* No plan is slower than what a published strategy does within the cap. */
static enum status consider_published(struct stage_context *stage, struct recompute_solver *solver,
	const struct activations *activations, int64_t cap, const struct recompute_search_options *options,
	struct recompute_plan *plan)
{
	HELD uint8_t *state = NULL;
	uint32_t count = 0;
	TRY(recompute_published_states(&solver->step, activations, stage->rules, stage->control, &state, &count));
	return recompute_consider(solver, cap, state, count, options, stage->control, plan);
}

static bool has_copies(const struct graph *graph)
{
	FOR(op, graph->ops)
		if (graph->op[op].added == ADDED_OFFLOAD && !offload_stays(graph, op))
			return true;
	return false;
}

/* Whether the step itself is the plan: nothing runs again, and either its own order keeps the cap or another one is
 * sought anyway, where that costs no time: windows of copies are along the order that was found. */
static bool keeps_all(
	struct recompute_solver *solver, const struct recompute_plan *plan, const struct scenario *scenario, int64_t cap)
{
	bool sought = scenario_seeks_time(scenario) || scenario_order(scenario) == ORDER_BEST;
	FOR(s, solver->step.storages)
		if (solver->step.droppable[s] && plan->state[s] != RECOMPUTE_KEEP)
			return false;
	return plan->extra == 0 &&
		((sought && !has_copies(solver->step.graph)) ||
			(recompute_play(&solver->replay, &solver->base[1], plan->state) == OK && solver->replay.peak <= cap));
}

enum effort {
	EFFORT_ALL,
	EFFORT_UNPUBLISHED,
	EFFORT_LOOK,
	EFFORT_LEAST
}; /* published strategies as candidates; not; the cuts alone; the least memory, whatever the cap */

/* What is proved not to fit the whole cap gets its lowest plan where that is asked for. */
static bool fit_stage_wants_least(enum effort effort, const struct recompute_plan *plan, bool whole)
{
	return effort == EFFORT_LEAST ||
		(effort != EFFORT_LOOK && plan->extra == INT64_MAX && !(plan->impossible && whole));
}

static struct graph *fit_stage_solve(struct stage_context *stage, const struct scenario *scenario,
	const struct activations *activations, int64_t cap, enum effort effort, struct fitted *fitted, struct error *error)
{
	struct ordering ordering = { scenario };
	struct recompute_search_options options = { .orderer = order_step,
		.context = &ordering,
		.activations = activations,
		.played = scenario_order(scenario) == ORDER_PROGRAM || has_copies(fitted->step),
		.coarse = effort >= EFFORT_LOOK };
	OWN(recompute_solver) solver;
	OWN(recompute_plan) plan = { 0 };
	struct graph *graph = NULL;
	enum status status = recompute_solver_new(&fitted->input, &solver);
	status = status == OK ? recompute_solve(&solver, cap, &options, stage->control, &plan) : status;
	if (status == OK && !plan.proved && !plan.impossible && effort == EFFORT_ALL)
		status = consider_published(stage, &solver, activations, cap, &options, &plan);
	if (status == OK && fit_stage_wants_least(effort, &plan, cap >= scenario_budget(scenario))) {
		options.coarse = false;
		status = fit_planned_least(stage, scenario, fitted, &options, &solver, &plan);
	}
	/* Cut short, the best so far is the plan; the run says so. */
	if (status == CANCELLED && plan.state && !(stage->abandoned && atomic_load(stage->abandoned)))
		status = OK;
	if (status == OK && keeps_all(&solver, &plan, scenario, cap))
		graph = graph_retain(fitted->step);
	else if (status == OK)
		graph = recompute_plan_graph(&solver, &plan, error);
	else
		fail_status(error, status);
	if (graph) {
		fit_stage_take_plan(fitted, &plan, cap);
		fitted->extra = fitted_extra(fitted, graph);
		fitted->proved = !fitted->impossible && fitted->extra <= fitted->bound;
	}
	return graph;
}

/* The options that are left where the rest of them is in the step already: its tensors have their names. resident:
 * [options->residents]. */
static struct recompute_options rest_of(
	const struct recompute_options *options, const struct graph *from, const struct graph *step, uint32_t *resident)
{
	struct recompute_options rest = *options;
	FOR(i, options->residents)
		resident[i] = graph_find_tensor(step, from->tensor[options->resident[i]].name);
	rest.resident = resident;
	rest.offloads = 0;
	return rest;
}

struct fitted *fitted_of_pinned(struct stage_context *stage, struct graph *step, const struct graph *other,
	const struct scenario *scenario, const struct sharded *sharded, const struct recompute_options *options,
	struct error *error)
{
	struct activations activations = { 0 };
	struct fitted *fitted = new_fitted(step, scenario, sharded, stage->rules);
	bool *MAKE(drop, step->storages);
	uint32_t *MAKE(resident, options->residents);
	enum status status = fitted && drop && resident ? activations_find(step, stage->rules, &activations, error)
		: fail_memory(error);
	if (status == OK) {
		struct recompute_options rest = rest_of(options, other, step, resident);
		fit_stage_fix_storages(step, &activations, &rest, drop, (uint8_t *)(uintptr_t)fitted->input.fixed);
	}
	activations_free(&activations);
	mem_free(drop);
	mem_free(resident);
	if (status == OK)
		return fitted;
	fitted_release(fitted);
	return NULL;
}

/* What the host took, and what computation waits for it. */
static enum status note_away(struct stage_context *stage, const struct scenario *scenario,
	const struct sharded *sharded, const struct graph *graph, struct fitted *fitted)
{
	fitted->away = 0;
	fitted->moved = 0;
	int64_t bytes, stall = host_stall(graph, scenario, sharded, stage->rules),
				   before = host_stall(fitted->step, scenario, sharded, stage->rules);
	FOR(op, graph->ops)
		if (graph->op[op].added == ADDED_OFFLOAD && graph_find_op(fitted->step, graph->op[op].name) == NONE &&
			plan_time_host(graph, op, &bytes)) {
			fitted->away++;
			fitted->moved += bytes;
		}
	fitted->stall = stall > before ? stall - before : 0;
	fitted->pinned_stall = LARGER(before, 0);
	return stall < 0 || before < 0 ? NO_MEMORY : OK;
}

/* The bound of plans that use the link, at the moments that a solver of the step without it looks at. */
static enum status bound_both(struct stage_context *stage, int64_t cap, const struct recompute_solver *solver,
	struct fitted *fitted, struct error *error)
{
	struct recompute_bounds bounds = { 0 };
	HELD uint32_t *MAKE(op, solver->bounds.turns);
	FOR_WHILE(i, solver->bounds.turns, op)
		op[i] = recompute_bounds_op(&solver->bounds, i);
	enum status status = op ? recompute_bounds_new(&fitted->input, op, solver->bounds.turns, &bounds) : NO_MEMORY;
	THEN(status, recompute_bound(&bounds, cap, stage->control, &fitted->bound, &fitted->slope, &fitted->certificate));
	fitted->impossible = status == INFEASIBLE;
	recompute_bounds_free(&bounds);
	return fitted->impossible ? OK : error_set(error, status);
}

/* A plan with storages in the host. */
struct both {
	struct stage_context *stage;
	const struct scenario *scenario;
	const struct sharded *sharded;
	const struct activations *activations;
	const struct recompute_options *options;
	int64_t cap;
	bool alone;                /* nothing goes to the host */
	struct fitted *fitted;     /* of the step; what is found is there */
	struct graph *graph;       /* the best so far, or NULL */
	int64_t least; /* picoseconds that a search in full of the last step tried would not be below by much; INT64_MAX:
					  nothing fits */
	struct graph
		*windows; /* storages that were sent to the host, looked at only, with the lowest such time so far; or NULL */
	int64_t windows_least;
	struct error *error;
};

/* Recomputation of a step whose storages wait in the host; what is better stays. */
static enum status solve_away(struct both *both, struct graph *away, enum effort effort)
{
	struct fitted *fitted = both->fitted;
	struct activations activations = { 0 };
	OWN(graph) *graph = NULL;
	struct fitted *sub = fitted_of_pinned(
		both->stage, away, fitted->step, both->scenario, both->sharded, both->options, both->error);
	if (sub && activations_find(away, both->stage->rules, &activations, both->error) == OK)
		graph = fit_stage_solve(both->stage, both->scenario, &activations, both->cap, effort, sub, both->error);
	activations_free(&activations);
	struct fitted before = *fitted;
	enum status status = !graph
		? both->error->status
		: error_set(both->error, note_away(both->stage, both->scenario, both->sharded, graph, fitted));
	bool fits = status == OK && sub->replayed <= both->cap, did = both->graph && before.replayed <= both->cap;
	int64_t extra = status == OK ? fitted_extra(fitted, graph) : 0;
	both->least = status != OK || sub->impossible ? INT64_MAX : fits ? extra - (sub->extra - sub->bound) : sub->bound;
	bool better = status == OK &&
		(!both->graph ||
			(fits != did ? fits
			: fits ? extra < before.extra
			: sub->replayed < before.replayed));
	if (better) {
		fitted->replayed = sub->replayed;
		fitted->extra = extra;
		graph_release(both->graph);
		both->graph = graph_retain(graph);
	} else {
		fitted->stall = before.stall;
		fitted->away = before.away;
		fitted->moved = before.moved;
	}
	fitted_release(sub);
	return status;
}

/* Whether what may take so little time is worth a search. */
static bool may_win(const struct both *both, int64_t least)
{
	return both->fitted->replayed > both->cap || least < both->fitted->extra - both->fitted->total / NEAR;
}

/* A first look at it, then a search in full where that can be the better one. */
static enum status try_away(struct both *both, struct graph *away)
{
	TRY(solve_away(both, away, EFFORT_LOOK));
	return may_win(both, both->least) ? solve_away(both, away, EFFORT_ALL) : OK;
}

static bool is_close(const struct fitted *fitted, int64_t cap)
{
	return fitted->replayed <= cap && fitted->extra - fitted->bound <= fitted->total / NEAR;
}

/* The fastest recomputation under a larger cap that the host takes enough off: the graph, or NULL; near: a search in
 * full can't make it noticeably faster. */
struct after { struct graph *graph; int64_t extra; bool near; };

/* Recomputation of the step under so much larger a cap, then what the host takes off it at most. *room: so much is left
 * of the cap, or missing where that is below 0; INT64_MAX: more may be too much or too little, but this is no use, as
 * less may run again. */
static enum status look_after(struct both *both, int64_t more, enum effort effort, struct after *best, int64_t *room)
{
	struct fitted *fitted = both->fitted,
				  *sub = fitted_of_pinned(both->stage, fitted->step, fitted->step, both->scenario, both->sharded,
					  both->options, both->error);
	OWN(graph) *graph = sub
		? fit_stage_solve(both->stage, both->scenario, both->activations, both->cap + more, effort, sub, both->error)
		: NULL;
	OWN(graph) *away = NULL;
	enum status status = graph ? OK : both->error->status;
	int64_t least = fitted->replayed <= both->cap && fitted->extra < best->extra ? fitted->extra : best->extra, peak = 0;
	*room = INT64_MAX;
	if (status == OK && sub->replayed <= both->cap + more && sub->extra < least) {
		away = offload_after(both->stage, both->scenario, both->sharded, both->options, fitted, graph, both->cap, false,
			&peak, both->error);
		status = away ? OK : both->error->status;
		*room = both->cap - peak;
	}
	if (away && *room >= 0) {
		graph_release(best->graph);
		*best = (struct after){ graph_retain(graph), sub->extra, sub->extra - sub->bound <= fitted->total / NEAR };
	}
	fitted_release(sub);
	return status;
}

/* As few copies as keep the cap; then all of them, where what they leave of it may let less run again. */
static enum status take_after(struct both *both, const struct after *best)
{
	for (int fewest = 1; fewest >= 0 && best->graph && !is_close(both->fitted, both->cap); fewest--) {
		int64_t peak = 0;
		OWN(graph) *away = offload_after(both->stage, both->scenario, both->sharded, both->options, both->fitted,
			best->graph, both->cap, fewest > 0, &peak, both->error);
		TRY(!away ? both->error->status : try_away(both, away));
	}
	return OK;
}

static bool is_close_after(const struct both *both, const struct after *best)
{
	return is_close(both->fitted, both->cap) ||
		(best->graph && best->extra - both->fitted->bound <= both->fitted->total / NEAR);
}

/* Looks between what is known to do and what isn't, the first at `more`: what is left of the cap, or missing, tells
 * where to look next. */
static enum status narrow_after(
	struct both *both, int64_t more, int64_t near, int looks, struct after *best, int64_t *low, int64_t *high)
{
	enum status status = OK;
	int64_t room = 0;
	int idle = 0;
	for (int n = 0; n < looks && idle < IDLE && *high - *low > near && (n == 0 || room < 0 || room >= near) &&
		status == OK && !is_close_after(both, best);
		n++) {
		status = look_after(both, more, EFFORT_LOOK, best, &room);
		int64_t next = room < 0 ? more + room - near / 2 : room < INT64_MAX ? more + room : 0;
		idle = !best->graph || room < INT64_MAX ? 0 : idle + 1;
		*low = room >= 0 ? more : *low;
		*high = room >= 0 ? *high : more;
		more = next > *low && next < *high ? next : *low + (*high - *low) / 2;
	}
	return status;
}

/* The cuts alone leave something: as much larger a cap as they showed to do, somewhat more where there is room, in
 * full. */
static enum status search_after(struct both *both, int64_t more, int64_t stride, struct after *best)
{
	enum status status = OK;
	int64_t low = 0, high = INT64_MAX, room = 0;
	for (int n = 0; n < 3 && more > low && more < high && !best->near && status == OK && !is_close_after(both, best);
		n++) {
		status = look_after(both, more, EFFORT_UNPUBLISHED, best, &room);
		stride = n > 0 ? stride / 2 : stride;
		low = room >= 0 ? more : low;
		high = room >= 0 ? high : more;
		more += room < -stride || (room > stride && room < INT64_MAX) ? room : room >= 0 ? stride : -stride;
	}
	return status;
}

/* How much larger a cap recomputation may count with: as much as what it keeps can wait in the host. That jumps with
 * what is kept: where what the link carries in the pass is too much, something more may do all the same, as copies may
 * last until memory is fullest, somewhat behind the pass. */
static enum status find_after(struct both *both, const struct recompute_solver *solver)
{
	double carried = (double)solver->step.forward_time / (double)PICOSECONDS * (double)both->fitted->link.rate;
	struct after best = { NULL, INT64_MAX, false };
	int64_t low = 0, most = 0;
	FOR(i, solver->step.storages)
		most += solver->step.saved[i] ? solver->step.bytes[i] : 0;
	int64_t more = carried < (double)most ? (int64_t)carried : most, near = more >> AFTER;
	most = more < most - most / 4 ? more + more / 4 : most + 1;
	int64_t high = most;
	enum status status = narrow_after(both, more, near, AFTER, &best, &low, &high);
	if (status == OK && high <= more)
		status = narrow_after(both, more + (most - more) / 2, near, AFTER_ABOVE, &best, &low, &most);
	if (status == OK && best.graph && low > 0)
		status = search_after(both, low, AFTER_WHOLE * near, &best);
	THEN(status, take_after(both, &best));
	graph_release(best.graph);
	return status;
}

/* Whether recomputation without the host may be faster: near a floor what comes back early is in the way. */
static bool alone_may_win(struct both *both, struct recompute_solver *solver, enum status *status)
{
	struct fitted *fitted = both->fitted;
	struct recompute_certificate certificate = { .op = NONE };
	int64_t bound = 0;
	double slope;
	enum status bounded = recompute_bound(&solver->bounds, both->cap, both->stage->control, &bound, &slope, &certificate);
	mem_free(certificate.arc);
	*status = bounded == INFEASIBLE ? OK : error_set(both->error, bounded);
	fitted->alone = bounded == OK ? bound : INT64_MAX;
	return fitted->replayed > both->cap || fitted->alone < fitted->extra;
}

/* Whether the cap keeps the step as it is. */
static enum status fits_kept(struct recompute_solver *solver, int64_t cap, bool *kept)
{
	HELD uint8_t *MAKE(keep, solver->step.storages);
	enum status status = keep ? OK : NO_MEMORY;
	FOR_WHILE(s, solver->step.storages, keep)
		keep[s] = solver->step.droppable[s] && solver->step.fixed[s] == RECOMPUTE_DROPPED ? RECOMPUTE_HOLD : RECOMPUTE_KEEP;
	FOR_WHILE(b, solver->bases, status == OK && !*kept) {
		status = recompute_play(&solver->replay, &solver->base[b], keep);
		*kept = status == OK && solver->replay.peak <= cap;
	}
	return status;
}

static void fit_stage_note_windows(struct both *both, struct graph *away)
{
	if (both->windows && both->least >= both->windows_least)
		return;
	graph_release(both->windows);
	both->windows = graph_retain(away);
	both->windows_least = both->least;
}

/* What the bound's cut sends to the host, and recomputation of the step that is left; then again with the windows that
 * fit what runs again. */
static enum status look_at_windows(struct both *both, struct recompute_solver *solver)
{
	struct fitted *fitted = both->fitted;
	enum status status = OK;
	uint64_t tried = 0;
	for (int round = 0; round < AGAIN && status == OK; round++) {
		OWN(graph) *away = round == 0 ? offload_choose(both->stage, both->scenario, both->sharded, both->activations,
											both->options, fitted, solver, both->cap, both->error)
											: offload_again(both->stage, both->scenario, both->sharded, both->activations,
											both->options, fitted, &solver->step, both->graph, both->error);
		if (away && round > 0 &&
			away->fingerprint == tried) /* the windows fit what runs again: it would be the same plan */
			break;
		tried = away ? away->fingerprint : 0;
		status = away ? solve_away(both, away, EFFORT_LOOK) : both->error->status;
		if (status == OK)
			fit_stage_note_windows(both, away);
		if (fitted->away == 0 || fitted->stall == 0 || is_close(fitted, both->cap))
			break;
	}
	return status;
}

/* Storages in the host, and recomputation of the step that is left: looks first, as a search in full takes long, and
 * then of the windows that may win. The bound is over plans that do both. */
static enum status find_both(struct both *both, struct recompute_solver *solver)
{
	struct fitted *fitted = both->fitted;
	bool kept = false;
	enum status status = bound_both(both->stage, both->cap, solver, fitted, both->error);
	status = status == OK && fitted->bound == 0 ? error_set(both->error, fits_kept(solver, both->cap, &kept)) : status;
	if (status == OK &&
		(both->alone || kept || fitted->impossible)) /* proved: nothing fits, and what is lowest is shown */
		return try_away(both, fitted->step);
	THEN(status, look_at_windows(both, solver));
	if (status == OK && !fitted->impossible)
		status = find_after(both, solver);
	if (status == OK && !is_close(fitted, both->cap) && may_win(both, both->windows_least))
		status = solve_away(both, both->windows, both->fitted->replayed > both->cap ? EFFORT_ALL : EFFORT_UNPUBLISHED);
	if (status == OK && fitted->away > 0 && !fitted->impossible && alone_may_win(both, solver, &status))
		status = try_away(both, fitted->step);
	return status;
}

static struct graph *solve_both(struct both *both)
{
	struct recompute_solver solver = { 0 };
	struct fitted *fitted = both->fitted;
	enum status status = host_link_of(fitted->step, both->scenario, &fitted->link);
	status = error_set(both->error, status == OK ? recompute_solver_new(&fitted->input, &solver) : status);
	fitted->input.link = &fitted->link;
	THEN(status, find_both(both, &solver));
	recompute_solver_free(&solver);
	graph_release(both->windows);
	if (status != OK) {
		graph_release(both->graph);
		return NULL;
	}
	fitted->capped = true;
	fitted->cap = both->cap;
	fitted->proved = !fitted->impossible && fitted->extra <= fitted->bound;
	return both->graph;
}

/* All stays but what pins say. That another order or sharding keeps the cap so is for the plan to show. */
static struct graph *keep_all(struct graph *step, const struct activations *activations,
	const struct recompute_options *options, bool *drop, const struct scenario *scenario, struct fitted *fitted,
	struct error *error)
{
	struct recompute_options pins = *options;
	pins.mode = RECOMPUTE_NONE;
	recompute_choose(step, activations, &pins, drop);
	struct graph *graph = recompute_apply(step, activations, drop, options->offload, options->offloads, error);
	if (graph)
		fitted->extra = fitted_extra(fitted, graph);
	fitted_keep(fitted, scenario_budget(scenario));
	return graph;
}

static struct graph *fit_stage_apply(struct graph *step, const struct activations *activations,
	const struct recompute_options *options, bool *drop, struct error *error)
{
	recompute_choose(step, activations, options, drop);
	return recompute_apply(step, activations, drop, options->offload, options->offloads, error);
}

static struct graph *fit_step_graph(struct stage_context *stage, const struct plan_wish *wish, struct graph *step,
	const struct scenario *scenario, const struct sharded *sharded, const struct activations *activations,
	const struct recompute_options *options, struct fitted **fitted, struct error *error)
{
	struct graph *graph = NULL;
	bool *MAKE(drop, step->storages);
	*fitted = new_fitted(step, scenario, sharded, stage->rules);
	if (!*fitted || !drop) {
		fail_memory(error);
	} else if (scenario->value[K_recompute] == RECOMPUTE_KEPT) {
		graph = keep_all(step, activations, options, drop, scenario, *fitted, error);
	} else if (options->mode == RECOMPUTE_AUTO) {
		fit_stage_fix_storages(step, activations, options, drop, (uint8_t *)(uintptr_t)(*fitted)->input.fixed);
		int64_t budget = scenario_budget(scenario);
		bool least = budget > 0 && wish->margin >= budget;
		int64_t cap = least ? budget : budget - wish->margin;
		struct both both = { .stage = stage,
			.scenario = scenario,
			.sharded = sharded,
			.activations = activations,
			.options = options,
			.cap = cap,
			.alone = wish->alone,
			.fitted = *fitted,
			.error = error };
		graph = scenario->value[K_offload] & HOSTS_SAVED ? solve_both(&both)
			: fit_stage_solve(
				  stage, scenario, activations, cap, least ? EFFORT_LEAST : EFFORT_ALL, *fitted, error);
		(*fitted)->planned |= least;
		if (graph && !sharded && !(scenario->value[K_offload] & HOSTS_SAVED) && wish->margin > 0 &&
			(least || !((*fitted)->proved && (*fitted)->extra == 0)))
			graph = fit_planned(stage, scenario, activations, wish->margin, graph, *fitted, error);
	} else {
		if (options->mode > RECOMPUTE_AUTO)
			fit_stage_fix_storages(step, activations, options, drop, (uint8_t *)(uintptr_t)(*fitted)->input.fixed);
		graph = options->mode > RECOMPUTE_AUTO ? strategy_apply(stage, &(*fitted)->input, activations, options, error)
			: fit_stage_apply(step, activations, options, drop, error);
		if (graph)
			(*fitted)->extra = fitted_extra(*fitted, graph);
	}
	mem_free(drop);
	if (graph) {
		(*fitted)->recomputed = graph_retain(graph);
	} else {
		fitted_release(*fitted);
		*fitted = NULL;
	}
	return graph;
}

/* What pins send to the host goes there first; then the rest is made to fit. */
static struct graph *fit_rest(struct stage_context *stage, const struct plan_wish *wish, struct graph *step,
	const struct scenario *scenario, const struct sharded *sharded, const struct activations *activations,
	const struct recompute_options *options, struct fitted **fitted, struct error *error)
{
	struct graph *away = recompute_apply(step, activations, NULL, options->offload, options->offloads, error),
				 *graph = NULL;
	OWN(activations) now = { 0 };
	HELD uint32_t *MAKE(resident, options->residents);
	if (!resident)
		fail_memory(error);
	else if (away && activations_find(away, stage->rules, &now, error) == OK) {
		struct recompute_options rest = rest_of(options, step, away, resident);
		graph = fit_step_graph(stage, wish, away, scenario, sharded, &now, &rest, fitted, error);
	}
	graph_release(away);
	return graph;
}

struct graph *stage_fit(struct stage_context *stage, const struct plan_wish *wish, struct graph *step,
	const struct scenario *scenario, const struct sharded *sharded, const struct activations *activations,
	const struct recompute_options *options, struct fitted **fitted, struct error *error)
{
	*fitted = NULL;
	if (options->mode == RECOMPUTE_AUTO && scenario_budget(scenario) < 0) {
		refuse(error, "recompute=auto needs a memory cap: set memory");
		return NULL;
	}
	return (options->mode >= RECOMPUTE_AUTO && options->mode != RECOMPUTE_KEPT && options->offloads > 0
			? fit_rest
			: fit_step_graph)(stage, wish, step, scenario, sharded, activations, options, fitted, error);
}

void fit_key_add(struct key *key, const struct scenario *scenario, int64_t margin)
{
	key_add_knobs(
		key, scenario, BY_RECOMPUTE | BY_FIT | BY_MACHINE | BY_LIMIT | BY_MEMORY | (margin > 0 ? BY_ARENA : 0));
	key_add(key, scenario_order(scenario));
	order_key_add(key, scenario, margin <= 0);
	if (margin > 0)
		layout_key_add(key, scenario, false);
	key_add(key, (uint64_t)margin);
}

struct fitted *fitted_of_step(
	struct graph *step, const struct scenario *scenario, const struct sharded *sharded, const struct rules *rules)
{
	return new_fitted(step, scenario, sharded, rules);
}
