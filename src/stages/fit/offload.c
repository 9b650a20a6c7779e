/* offload.c: what recomputation leaves to the host. */

#include "plan_time.h"
#include "solver/recompute/offload.h"
#include "stage.h"

#define ALL UINT32_MAX
#define ROUNDS 3

/* A step with storages away, and how good it is. */
struct away {
	struct graph *graph;
	uint32_t windows;
	int64_t bytes;             /* away at the turn */
	int64_t peak;              /* bytes with everything kept */
	bool fits;
	int64_t least; /* picoseconds: no recomputation of it costs less, stalls included; INT64_MAX: nothing fits */
};

struct choosing {
	struct stage_context *stage;
	const struct scenario *scenario;
	const struct sharded *sharded;
	const struct activations *activations;
	const struct recompute_options *options;
	const struct fitted *fitted;
	const struct recompute_step *step;
	int64_t cap;
	bool finished;             /* nothing more will run again: what doesn't fit as it is is of no use */
	struct recompute_reruns reruns;  /* estimated */
	uint32_t turn;             /* the moment that counts */
	struct offload_window *window; /* [storages] scratch */
	struct error *error;
};

enum status host_link_of(const struct graph *step, const struct scenario *scenario, struct recompute_link *link)
{
	const struct machine *machine = &scenario->machine;
	int64_t memory = scenario->device.host_memory;
	int64_t *MAKE(time, step->storages);
	*link = (struct recompute_link){ .rate = machine->host.rate, .memory = memory ? memory : BYTES_MAX, .time = time };
	FOR_WHILE(s, step->storages, time)
		time[s] = machine_host_time(machine, step->storage[s].bytes);
	return time ? OK : NO_MEMORY;
}

int64_t host_stall(const struct graph *graph, const struct scenario *scenario, const struct sharded *sharded,
	const struct rules *rules)
{
	HELD uint32_t *MAKE(order, graph->ops);
	FOR_WHILE(op, graph->ops, order)
		order[op] = op;
	struct plan_time *time = order ? plan_time_of(graph, order, sharded, scenario, rules) : NULL;
	int64_t stall = time ? plan_time_host_waits(time, sharded) : -1;
	plan_time_free(time);
	return stall;
}

/* ---- how good a choice is ---- */

static enum status fit_offload_judge(const struct choosing *choosing, const struct fitted *fitted, struct away *away)
{
	OWN(recompute_solver) solver;
	enum status status = recompute_solver_begin(&fitted->input, &solver);
	HELD uint8_t *MAKE(keep, away->graph->storages);
	status = keep ? status : NO_MEMORY;
	FOR_WHILE(b, solver.bases, status == OK) {
		status = recompute_play(&solver.replay, &solver.base[b], keep);
		away->peak = b == 0 || solver.replay.peak < away->peak ? solver.replay.peak : away->peak;
	}
	away->fits = status == OK && away->peak <= choosing->cap;
	away->least = status == OK && away->fits ? 0 : INT64_MAX;
	FOR_WHILE(b, solver.bases, status == OK && !away->fits && !choosing->finished) {
		struct recompute_dual dual;
		status = recompute_dual_solve(
			&solver.base[b], &solver.network, choosing->cap, NULL, NULL, choosing->stage->control, &dual);
		if (status == OK && (int64_t)dual.bound < away->least)
			away->least = (int64_t)dual.bound;
		recompute_dual_free(&dual);
		status = status == INFEASIBLE ? OK : status;
	}
	return status;
}

/* Storages that are wanted, at most `most` of them, with so long a wait at the turn. */
static enum status fit_offload_look(
	const struct choosing *choosing, const bool *wanted, int64_t stall, uint32_t most, struct away *away)
{
	*away = (struct away){ 0 };
	enum status status = recompute_windows_find(choosing->step, choosing->fitted->input.link, wanted,
		choosing->reruns.later ? &choosing->reruns : NULL, choosing->turn, stall, most, choosing->window,
		&away->windows);
	if (status != OK)
		return error_set(choosing->error, status);
	FOR(i, away->windows)
		away->bytes += choosing->step->bytes[choosing->window[i].storage];
	away->graph = offload_apply(
		choosing->fitted->step, choosing->activations, choosing->window, away->windows, choosing->error);
	if (!away->graph)
		return choosing->error->status;
	struct fitted *fitted = fitted_of_pinned(choosing->stage, away->graph, choosing->fitted->step, choosing->scenario,
		choosing->sharded, choosing->options, choosing->error);
	status = fitted ? fit_offload_judge(choosing, fitted, away) : choosing->error->status;
	if (status == OK && away->least < INT64_MAX && stall > 0) {
		int64_t waits = host_stall(away->graph, choosing->scenario, choosing->sharded, choosing->stage->rules);
		away->least += waits;
		status = waits < 0 ? NO_MEMORY : OK;
	}
	fitted_release(fitted);
	if (error_set(choosing->error, status) == OK)
		return OK;
	graph_release(away->graph);
	away->graph = NULL;
	return choosing->error->status;
}

static bool fit_offload_is_better(const struct away *a, const struct away *b)
{
	if (a->fits != b->fits && (a->fits ? a : b)->least <= (a->fits ? b : a)->least)
		return a->fits;
	return a->least != b->least ? a->least < b->least : a->windows < b->windows;
}

/* The better one stays in *best. */
static void take_better(struct away *best, struct away *other)
{
	struct away worse = *other;
	if (!best->graph || fit_offload_is_better(other, best)) {
		worse = *best;
		*best = *other;
	}
	graph_release(worse.graph);
	other->graph = NULL;
}

/* ---- choosing ---- */

/* Where all fits with so many away: as few of them, those made first, as still do. */
static enum status take_fewer(const struct choosing *choosing, const bool *wanted, struct away *best)
{
	uint32_t low = 0, high = best->windows;
	enum status status = OK;
	while (status == OK && high - low > 1 + high / 32) {
		struct away other;
		uint32_t middle = low + (high - low) / 2;
		status = fit_offload_look(choosing, wanted, 0, middle, &other);
		if (status == OK && other.fits)
			high = middle;
		else
			low = middle;
		if (status == OK && other.fits)
			take_better(best, &other);
		graph_release(other.graph);
	}
	return status;
}

/* Copies that are worth waiting for: a byte of the cap may be worth more than the time that its copy takes. */
static enum status try_stalls(const struct choosing *choosing, const bool *wanted, struct away *best)
{
	enum status status = OK;
	int64_t most = SMALLER(best->least, choosing->fitted->total);
	for (int part = 1; part <= 4 && status == OK && most > 0; part++) {
		struct away other;
		status = fit_offload_look(choosing, wanted, most / 5 * part, ALL, &other);
		if (status == OK)
			take_better(best, &other);
		graph_release(other.graph);
	}
	return status;
}

/* What the bound's cut keeps where the cap is larger by what waits in the host, and what runs again then. *price:
 * picoseconds a byte, in RECOMPUTE_PRICE_UNIT; 0: all is kept. */
static enum status fit_offload_estimate(struct choosing *choosing, struct recompute_solver *solver, int64_t bytes,
	bool *wanted, struct recompute_reruns *reruns, int64_t *price)
{
	HELD uint8_t *MAKE(state, choosing->step->storages);
	struct recompute_certificate certificate = { .op = NONE };
	int64_t bound;
	double slope = 0;
	enum status status = state
		? recompute_bound(&solver->bounds, choosing->cap + bytes, choosing->stage->control, &bound, &slope, &certificate)
		: NO_MEMORY;
	mem_free(certificate.arc);
	choosing->turn = certificate.op != NONE ? certificate.op : choosing->turn;
	*price = (int64_t)(slope * (double)RECOMPUTE_PRICE_UNIT);
	THEN(status, recompute_bound_kept(&solver->bounds, *price, choosing->stage->control, wanted));
	FOR_WHILE(s, choosing->step->storages, *price == 0)
		wanted[s] = true;
	if (status == OK) {
		recompute_states_of(choosing->step, wanted, state);
		status = recompute_reruns_of(solver, state, reruns);
	}
	if (status == OK)
		choosing->reruns = *reruns;
	return status == INFEASIBLE ? INFEASIBLE : error_set(choosing->error, status);
}

/* First as if nothing ran again; then what a cut keeps when so much is away as went in the try before. */
static enum status fit_offload_choose(struct choosing *choosing, struct recompute_solver *solver, bool *wanted,
	struct recompute_reruns *reruns, struct away *best)
{
	struct away other = { 0 };
	int64_t price = 0, bytes;
	FOR(s, choosing->step->storages)
		wanted[s] = true;
	enum status status = fit_offload_look(choosing, wanted, 0, ALL, best);
	if (status == OK && best->fits)
		return take_fewer(choosing, wanted, best);
	bytes = best->bytes;
	for (int round = 0; round < ROUNDS && status == OK; round++) {
		status = fit_offload_estimate(choosing, solver, bytes, wanted, reruns, &price);
		if (status == INFEASIBLE)
			return OK;
		uint32_t turn = choosing->turn;
		choosing->turn = NONE;
		THEN(status, fit_offload_look(choosing, wanted, 0, ALL, &other));
		if (status == OK)
			take_better(best, &other);
		choosing->turn = turn;
		THEN(status, fit_offload_look(choosing, wanted, 0, ALL, &other));
		int64_t moved = other.bytes;
		if (status == OK)
			take_better(best, &other);
		if (moved == bytes)
			break;
		bytes = moved;
	}
	bool dear = (double)price / (double)RECOMPUTE_PRICE_UNIT * (double)choosing->fitted->input.link->rate >=
		0.98 * (double)PICOSECONDS;
	return status == OK && dear ? try_stalls(choosing, wanted, best) : status;
}

/* What runs again in a graph that was found, by ops and storages of the step. */
static void read_reruns(
	const struct fitted *fitted, const struct graph *graph, uint32_t *came, struct recompute_reruns *reruns)
{
	const struct graph *step = fitted->step;
	int64_t more = 0;
	uint32_t next = step->ops;
	CLEAR(reruns->later, step->ops);
	memset(reruns->first, 0xff, step->storages * sizeof *reruns->first);
	FOR(s, graph->storages) {    /* a storage of the step, also where it was fetched to */
		uint32_t root = graph_find_tensor(step, graph->tensor[graph->storage[s].root].name);
		came[s] = root == NONE ? NONE : step->tensor[root].storage;
	}
	FOR(op, graph->ops)
		if (graph->op[op].added == ADDED_FETCH && csr_length(&graph->reads, op) > 0 && csr_length(&graph->writes, op) > 0) {
			uint32_t host = graph->tensor[csr_at(&graph->reads, op, 0)].writer,
					 to = csr_at(&graph->writes, op, 0);
			if (host != NONE && csr_length(&graph->reads, host) > 0)
				came[graph->tensor[to].storage] = came[graph->tensor[csr_at(&graph->reads, host, 0)].storage];
		}
	FOR_DOWN(op, graph->ops) {
		uint32_t own = graph_find_op(step, graph->op[op].name),
				 of = graph->op[op].recomputed && graph->op[op].of ? graph_find_op(step, graph->op[op].of) : NONE;
		if (own != NONE && fitted->time[own] > 0) {
			if (next < step->ops)
				reruns->later[next] = more;
			more = 0;
			next = own;
		}
		if (of == NONE)
			continue;
		more += fitted->time[of];
		FOR_ITEMS(touched, &graph->touches, op)
			if (came[touched] != NONE && next < step->ops)
				reruns->first[came[touched]] = next;    /* from the last to the first */
	}
}

struct graph *offload_again(struct stage_context *stage, const struct scenario *scenario, const struct sharded *sharded,
	const struct activations *activations, const struct recompute_options *options, const struct fitted *fitted,
	const struct recompute_step *step, const struct graph *found, struct error *error)
{
	struct choosing choosing = { .stage = stage,
		.scenario = scenario,
		.sharded = sharded,
		.activations = activations,
		.options = options,
		.fitted = fitted,
		.step = step,
		.turn = NONE,
		.error = error };
	OWN(arena) arena = { 0 };
	struct graph *graph = NULL;
	uint32_t windows = 0, ops = fitted->step->ops, storages = fitted->step->storages;
	struct recompute_reruns reruns = { arena_alloc(&arena, ops, sizeof *reruns.later),
		arena_alloc(&arena, storages, sizeof *reruns.first) };
	uint32_t *came = NULL;
	bool *wanted = NULL;
	enum status status = ROOM(&arena, came, found->storages) && ROOMS(&arena, storages, wanted, choosing.window) &&
		reruns.later && reruns.first ? OK : NO_MEMORY;
	if (status == OK) {
		read_reruns(fitted, found, came, &reruns);
		FOR(op, found->ops)
			FOR_ITEMS(read, &found->reads, op)
				if (found->op[op].added == ADDED_OFFLOAD && came[found->tensor[read].storage] != NONE)
					wanted[came[found->tensor[read].storage]] = true;
		status = recompute_windows_find(step, fitted->input.link, wanted, &reruns, NONE, 0, ALL, choosing.window, &windows);
	}
	if (error_set(error, status) == OK)
		graph = offload_apply(fitted->step, activations, choosing.window, windows, error);
	return graph;
}

struct graph *offload_choose(struct stage_context *stage, const struct scenario *scenario,
	const struct sharded *sharded, const struct activations *activations, const struct recompute_options *options,
	const struct fitted *fitted, struct recompute_solver *solver, int64_t cap, struct error *error)
{
	struct choosing choosing = { .stage = stage,
		.scenario = scenario,
		.sharded = sharded,
		.activations = activations,
		.options = options,
		.fitted = fitted,
		.step = &solver->step,
		.cap = cap,
		.turn = NONE,
		.error = error };
	struct away best = { 0 };
	struct arena arena = { 0 };
	uint32_t ops = fitted->step->ops, storages = fitted->step->storages;
	struct recompute_reruns reruns = { arena_alloc(&arena, ops, sizeof *reruns.later),
		arena_alloc(&arena, storages, sizeof *reruns.first) };
	bool *wanted = NULL;
	enum status status = ROOMS(&arena, storages, wanted, choosing.window) && reruns.later &&
		reruns.first ? fit_offload_choose(&choosing, solver, wanted, &reruns, &best) : fail_memory(error);
	arena_free(&arena);
	if (status == OK && best.windows > 0)
		return best.graph;
	graph_release(best.graph);
	return status == OK ? graph_retain(fitted->step) : NULL;
}

/* The op after the pass where memory is fullest with all kept: copies have until there; NONE: it is in the pass. */
static enum status find_fullest(struct recompute_solver *solver, uint32_t *turn)
{
	const struct recompute_base *program = &solver->base[RECOMPUTE_OWN_BASES - 1];
	HELD uint8_t *MAKE(keep, solver->step.storages);
	TRY(keep ? recompute_play(&solver->replay, program, keep) : NO_MEMORY);
	uint32_t op = solver->step.ops > 0 ? program->order[solver->replay.peak_position] : NONE;
	*turn = op != NONE && solver->step.graph->op[op].phase == PHASE_BACKWARD ? op : NONE;
	return OK;
}

/* The best of what waits for nothing: everything that has the time, then, where asked for, as little as keeps the cap.
 */
static enum status choose_after(struct choosing *choosing, struct fitted *sub, bool fewest, struct away *best)
{
	struct recompute_solver solver = { 0 };
	uint32_t storages = sub->step->storages;
	bool *MAKE(wanted, storages);
	MAKE(choosing->window, storages);
	enum status status = wanted && choosing->window ? host_link_of(sub->step, choosing->scenario, &sub->link) : NO_MEMORY;
	status = status == OK ? recompute_solver_begin(&sub->input, &solver) : status;
	THEN(status, find_fullest(&solver, &choosing->turn));
	sub->input.link = &sub->link;
	choosing->step = &solver.step;
	FOR_WHILE(s, storages, wanted)
		wanted[s] = true;
	status = error_set(choosing->error, status) == OK ? fit_offload_look(choosing, wanted, 0, ALL, best) : status;
	if (status == OK && best->fits && fewest)
		status = take_fewer(choosing, wanted, best);
	recompute_solver_free(&solver);
	mem_free(wanted);
	mem_free(choosing->window);
	return status;
}

struct graph *offload_after(struct stage_context *stage, const struct scenario *scenario, const struct sharded *sharded,
	const struct recompute_options *options, const struct fitted *fitted, struct graph *found, int64_t cap, bool fewest,
	int64_t *peak, struct error *error)
{
	struct activations activations = { 0 };
	struct away best = { 0 };
	struct fitted *sub = fitted_of_pinned(stage, found, fitted->step, scenario, sharded, options, error);
	enum status status = sub ? activations_find(found, stage->rules, &activations, error) : error->status;
	struct choosing choosing = { .stage = stage,
		.scenario = scenario,
		.sharded = sharded,
		.activations = &activations,
		.options = options,
		.fitted = sub,
		.cap = cap,
		.finished = true,
		.turn = NONE,
		.error = error };
	THEN(status, choose_after(&choosing, sub, fewest, &best));
	*peak = best.peak;
	activations_free(&activations);
	fitted_release(sub);
	if (status == OK)
		return best.graph;
	graph_release(best.graph);
	return NULL;
}

struct graph *stage_offload_states(struct stage_context *stage, struct graph *step, const struct scenario *scenario,
	const struct sharded *sharded, uint32_t *states, int64_t *bytes, struct error *error)
{
	struct fitted *fitted = fitted_of_step(step, scenario, sharded, stage->rules);
	OWN(recompute_solver) solver = { 0 };
	int64_t room = scenario->device.host_memory ? scenario->device.host_memory : BYTES_MAX;
	enum status status = fitted ? recompute_solver_begin(&fitted->input, &solver) : NO_MEMORY;
	struct graph *graph = error_set(error, status) == OK
		? offload_states(step, solver.base[0].order, room, states, bytes, error)
		: NULL;
	fitted_release(fitted);
	return graph;
}
