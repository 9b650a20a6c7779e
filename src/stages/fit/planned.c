/* planned.c: recomputation chosen by what order and layout make of it. */

#include "solver/recompute/strategies.h"
#include "solver/step/train.h"
#include "src/scenario/shard_mesh.h"
#include "stage.h"

#define RIVALS 256
#define RUNGS 16           /* caps between what is always there and the peak when all is kept */
#define RUNG_TICKS UINT64_C(1000000)
#define LARGE 1500         /* ops: of larger steps what is far above the cap as played is not ordered */
#define FAR 8              /* above it by more than such a part of what the cap leaves */
#define ABOVE 32            /* heuristics above it by more than such a part and what a better order takes off */
#define LOWEST 8           /* so many choices are looked at for the least memory */
#define SMALL 300          /* ops: of larger steps a margin below */
#define SLIGHT \
	32 /* such a part of what the cap leaves is no reason to order and lay out dozens of choices: a little less is \
		  aimed at */

/* Choices, each with the order that it is played along. */
struct rivals {
	struct stage_context *stage;
	const struct scenario *scenario;
	struct fitted *fitted;
	struct recompute_solver *solver; /* of the step */
	int64_t budget;
	struct rival {
		uint8_t *state;        /* [storages] */
		uint32_t *order;       /* [ops] */
		int64_t extra, peak;   /* as played */
	} *rival;
	uint32_t count, room;
	struct arena arena;
	struct error *error;
};

static enum status fit_planned_add_rival(struct rivals *rivals, const uint8_t *state, const uint32_t *order)
{
	struct recompute_solver *solver = rivals->solver;
	struct rival *rival = &rivals->rival[rivals->count];
	struct recompute_base base = { 0 };
	enum status status = rivals->count < rivals->room ? recompute_base_of(&solver->step, order, &base) : LIMIT;
	status = status == OK ? recompute_play(&solver->replay, &base, state) : status;
	if (status == OK && solver->replay.valid) {
		*rival = (struct rival){ arena_alloc(&rivals->arena, solver->step.storages, sizeof *rival->state),
			arena_alloc(&rivals->arena, solver->step.ops, sizeof *rival->order), solver->replay.extra,
			solver->replay.peak };
		if (!rival->state || !rival->order) {
			status = NO_MEMORY;
		} else {
			memcpy(rival->state, state, solver->step.storages);
			memcpy(rival->order, order, solver->step.ops * sizeof *order);
			rivals->count++;
		}
	}
	recompute_base_free(&base);
	return status == LIMIT ? OK : status;
}

/* The same, and of small steps with nothing held for longer than a layer, or than one reader. */
static enum status add_rivals(struct rivals *rivals, const uint8_t *state, const uint32_t *order)
{
	uint32_t storages = rivals->solver->step.storages;
	enum status status = fit_planned_add_rival(rivals, state, order);
	HELD uint8_t *MAKE(other, storages);
	status = other ? status : NO_MEMORY;
	for (uint8_t to = RECOMPUTE_LATE; to < RECOMPUTE_STATES && status == OK && rivals->solver->step.ops <= LARGE; to++) {
		FOR(s, storages)
			other[s] = state[s] == RECOMPUTE_HOLD ? to : state[s];
		status = fit_planned_add_rival(rivals, other, order);
	}
	return status;
}

/* Nothing runs again but what pins say: another order may need less than any choice. */
static enum status fit_planned_add_kept(struct rivals *rivals)
{
	const struct recompute_step *step = &rivals->solver->step;
	HELD uint8_t *MAKE(keep, step->storages);
	NEED(keep);
	FOR(s, step->storages)
		keep[s] = step->droppable[s] && step->fixed[s] == RECOMPUTE_DROPPED ? RECOMPUTE_HOLD : RECOMPUTE_KEEP;
	return fit_planned_add_rival(rivals, keep, rivals->solver->base[1].order);
}

static enum status add_published(struct rivals *rivals, const struct activations *activations)
{
	struct recompute_solver *solver = rivals->solver;
	HELD uint8_t *state = NULL;
	uint32_t count = 0;
	TRY(recompute_published_states(
		&solver->step, activations, rivals->stage->rules, rivals->stage->control, &state, &count));
	FOR(i, count)
		TRY(add_rivals(rivals, state + (size_t)i * solver->step.storages, solver->base[1].order));
	return OK;
}

/* Cuts for caps that depend on the step alone, so that what a cap finds every larger one does. */
static enum status add_rungs(struct rivals *rivals)
{
	struct recompute_solver *solver = rivals->solver;
	struct recompute_search_options options = { .coarse = solver->step.ops > LARGE, .ticks = RUNG_TICKS };
	HELD uint8_t *MAKE(keep, solver->step.storages);
	TRY(keep ? recompute_play(&solver->replay, &solver->base[1], keep) : NO_MEMORY);
	int64_t top = solver->replay.peak, low = solver->step.persistent;
	for (int i = 1; i < RUNGS; i++) {
		OWN(recompute_plan) plan;
		TRY(recompute_solve(solver, low + (top - low) / RUNGS * i, &options, rivals->stage->control, &plan));
		TRY(add_rivals(rivals, plan.state, plan.order));
	}
	return OK;
}

/* ---- the store's copy ---- */

/* Choices depend on the step and its orders alone, and every cap and margin asks for them. */
static struct key key_of_rivals(const struct rivals *rivals, const char *what)
{
	struct key key = key_of(what);
	key_add(&key, rivals->fitted->step->fingerprint);
	key_add_knobs(&key, rivals->scenario, BY_MACHINE | BY_RECOMPUTE);
	key_add(&key, scenario_order(rivals->scenario));
	order_key_add(&key, rivals->scenario, true);
	key_add_bytes(&key, rivals->fitted->input.fixed, rivals->solver->step.storages);
	return key;
}

static size_t bytes_each(const struct rivals *rivals)
{
	const struct recompute_step *step = &rivals->solver->step;
	return 2 * sizeof(int64_t) + step->storages + step->ops * sizeof(uint32_t);
}

/* One rival as bytes, to and fro. */
static uint8_t *copy_rival(const struct rivals *rivals, struct rival *rival, uint8_t *bytes, bool out)
{
	const struct recompute_step *step = &rivals->solver->step;
	struct {
		void *data;
		size_t bytes;
	} part[] = { { &rival->extra, sizeof rival->extra }, { &rival->peak, sizeof rival->peak },
		{ rival->state, step->storages }, { rival->order, step->ops * sizeof *rival->order } };
	FOR(i, COUNT_OF(part)) {
		memcpy(out ? (void *)bytes : part[i].data, out ? part[i].data : (const void *)bytes, part[i].bytes);
		bytes += part[i].bytes;
	}
	return bytes;
}

static enum status find_stored(struct rivals *rivals, const struct key *key, uint8_t *blob, size_t each)
{
	size_t bytes = store_find_blob(rivals->stage->store, key->half, blob, rivals->room * each);
	FOR_SIZE(i, bytes / each) {
		struct rival *rival = &rivals->rival[rivals->count++];
		NEED(ROOM(&rivals->arena, rival->state, rivals->solver->step.storages) &&
			ROOM(&rivals->arena, rival->order, rivals->solver->step.ops));
		copy_rival(rivals, rival, blob + i * each, false);
	}
	return OK;
}

static enum status fit_planned_find_rivals(struct rivals *rivals, const struct activations *activations)
{
	size_t each = bytes_each(rivals);
	uint8_t *blob = mem_alloc(RIVALS, each), *end = blob;
	struct key key = key_of_rivals(rivals, "choices to be planned");
	enum status status = blob ? find_stored(rivals, &key, blob, each) : NO_MEMORY;
	if (status == OK && rivals->count == 0) {
		status = add_published(rivals, activations);
		status = status == OK ? add_rungs(rivals) : status;
		FOR_WHILE(i, rivals->count, status == OK)
			end = copy_rival(rivals, &rivals->rival[i], end, true);
		if (status == OK && rivals->count > 0)
			store_keep_blob(rivals->stage->store, key.half, blob, (size_t)(end - blob));
	}
	mem_free(blob);
	return status;
}

/* ---- what they come to ---- */

/* What an order and its layout need. slack: what a better order's peak may be lower. */
static enum status find_needs(struct rivals *rivals, struct graph *graph, bool quick, int64_t *arena, int64_t *slack)
{
	struct stage_context *stage = rivals->stage;
	OWN(ordered) *ordered = stage_order(stage, graph, rivals->scenario, quick, rivals->error);
	struct laid_out *laid_out = ordered ? stage_layout(stage, ordered, rivals->scenario, quick, rivals->error) : NULL;
	if (laid_out && allocator_needs(ordered, laid_out, rivals->scenario, arena) != OK)
		fail_memory(rivals->error);
	*slack = laid_out ? ordered->result.peak - ordered->result.proof.bound : 0;
	laid_out_release(laid_out);
	return rivals->error->status;
}

/* What the scenario's order and layout need; of what heuristics say is above `most` whatever a better order takes off,
 * theirs. */
static enum status find_arena(struct rivals *rivals, struct graph *graph, int64_t most, int64_t *arena)
{
	enum order_strategy order = scenario_order(rivals->scenario);
	bool quick = order == ORDER_BEST && graph->ops > LARGE;
	int64_t slack = 0;
	OWN(graph) *late = order == ORDER_LIST || order == ORDER_INDUCTOR_BFS ? late_reruns(graph, rivals->error)
		: graph_retain(graph);
	OWN(graph) *run = !late ? NULL
		: scenario_graph(rivals->scenario, late, rivals->error);
	if (!run)
		return rivals->error->status;
	if (order == ORDER_BEST && !quick && most < INT64_MAX) {
		TRY(find_needs(rivals, run, true, arena, &slack));
		if (*arena - slack > most + most / ABOVE)
			return OK;
	}
	return find_needs(rivals, run, quick, arena, &slack);
}

static struct graph *graph_of(struct rivals *rivals, const struct rival *rival)
{
	struct recompute_plan plan = { .state = rival->state, .order = rival->order };
	return recompute_plan_graph(rivals->solver, &plan, rivals->error);
}

static bool fit_planned_may_fit(const struct rivals *rivals, const struct rival *rival)
{
	return rivals->solver->step.ops <= LARGE ||
		rival->peak - rivals->budget <= (rivals->budget - rivals->solver->step.persistent) / FAR;
}

/* By extra time, or where the least memory is sought by peaks as played; equals stay in their order. */
static void sort_rivals(struct rivals *rivals, bool least)
{
	FOR_FROM(i, 1, rivals->count)
		for (uint32_t k = i; k > 0; k--) {
			struct rival other = rivals->rival[k], before = rivals->rival[k - 1];
			if ((least ? before.peak - other.peak : before.extra - other.extra) <= 0)
				break;
			rivals->rival[k] = before;
			rivals->rival[k - 1] = other;
		}
}

/* The first by extra time that keeps the cap and takes less than `below`; least: of the lowest and the last rival the
 * one whose arena is the smallest and below *arena. NULL: none does, or *error. *which: the rival. */
static struct graph *find_best(
	struct rivals *rivals, bool least, int64_t below, int64_t *arena, const struct rival **which)
{
	struct graph *best = NULL;
	for (uint32_t i = 0, looks = 0; i < rivals->count && (least || rivals->rival[i].extra < below); i++) {
		const struct rival *rival = &rivals->rival[i];
		bool last = least && i + 1 == rivals->count,
			 same = i > 0 && rival->extra == rival[-1].extra && rival->peak == rival[-1].peak;
		int64_t takes = INT64_MAX;
		if (!last && (same || (least ? looks++ >= LOWEST : !fit_planned_may_fit(rivals, rival))))
			continue;
		struct graph *graph = graph_of(rivals, rival);
		if (!graph || find_arena(rivals, graph, least ? *arena : rivals->budget, &takes) != OK) {
			graph_release(graph);
			graph_release(best);
			return NULL;
		}
		bool better = least ? takes < *arena : takes <= rivals->budget;
		graph_release(better ? best : graph);
		best = better ? graph : best;
		*which = better ? rival : *which;
		*arena = better ? takes : *arena;
		if (better && !least)
			break;
	}
	return best;
}

/* The bound under the whole cap, which the graph's arena was held against. */
static enum status fit_planned_take(struct rivals *rivals, int64_t limit)
{
	struct fitted *fitted = rivals->fitted;
	mem_free(fitted->certificate.arc);
	enum status status = recompute_bound(&rivals->solver->bounds, rivals->budget, rivals->stage->control, &fitted->bound,
		&fitted->slope, &fitted->certificate);
	fitted->planned = true;
	fitted->impossible = false;
	fitted->cap = rivals->budget;
	fitted->replayed = SMALLER(fitted->replayed, limit);
	return status;
}

/* The best rival by what it comes to, NULL where there is none or *error. The graph's own arena counts where that may
 * be what takes little memory and isn't fast: where a margin was asked for too much. */
static struct graph *fit_planned_best(struct rivals *rivals, const struct activations *activations, int64_t limit,
	struct graph *graph, const struct rival **rival)
{
	const struct fitted *fitted = rivals->fitted;
	bool least = limit <= 0, floor = least || fitted->impossible || fitted->replayed > limit;
	int64_t arena = 0;
	enum status status = fit_planned_find_rivals(rivals, activations);
	sort_rivals(rivals, least);
	rivals->count = least && rivals->count == RIVALS ? RIVALS - 1 : rivals->count;
	if (status == OK && least)
		status = fit_planned_add_kept(rivals);
	if (status == OK && floor)
		status = find_arena(rivals, graph, INT64_MAX, &arena);
	if (error_set(rivals->error, status) != OK)
		return NULL;
	return find_best(rivals, least, floor && arena > rivals->budget ? INT64_MAX : fitted->extra, &arena, rival);
}

struct graph *fit_planned(struct stage_context *stage, const struct scenario *scenario,
	const struct activations *activations, int64_t margin, struct graph *graph, struct fitted *fitted,
	struct error *error)
{
	OWN(recompute_solver) solver = { 0 };
	OWN(graph) *given = graph, *found = NULL;
	struct rivals rivals = { .stage = stage, .scenario = scenario, .fitted = fitted, .solver = &solver,
		.budget = scenario_budget(scenario), .room = RIVALS, .error = error };
	const struct rival *rival = NULL;
	int64_t limit = rivals.budget - margin;
	bool least = limit <= 0, slight = !least && fitted->step->ops > SMALL &&
		margin < (rivals.budget - fitted->step->persistent_bytes) / SLIGHT;
	error_set(error, OK);
	fitted->left_out = slight || fitted->step->ops > LARGE;
	if (slight || !step_runs("recompute.planned"))
		return graph_retain(given);
	enum status status = recompute_solver_new(&fitted->input, &solver);
	if (status == OK && !ROOM(&rivals.arena, rivals.rival, rivals.room))
		status = NO_MEMORY;
	if (error_set(error, status) == OK)
		found = fit_planned_best(&rivals, activations, limit, given, &rival);
	status = error->status;
	bool taken = status == OK && found && (least || fit_planned_take(&rivals, limit) == OK);
	if (taken) {
		fitted->replayed = least ? rival->peak : fitted->replayed;
		fitted->extra = rival->extra;
		fitted->proved = rival->extra <= fitted->bound;
	}
	arena_free(&rivals.arena);
	return status == OK || status == CANCELLED ? graph_retain(taken ? found : given) : NULL;
}

enum status fit_planned_least(struct stage_context *stage, const struct scenario *scenario, struct fitted *fitted,
	const struct recompute_search_options *options, struct recompute_solver *solver, struct recompute_plan *plan)
{
	struct rival one = { plan->state, plan->order, 0, 0 };
	struct rivals rivals = { .stage = stage, .scenario = scenario, .fitted = fitted, .solver = solver, .rival = &one,
		.room = 1 };
	struct key key = key_of_rivals(&rivals, "the least peak");
	OWN(recompute_plan) least = { 0 };
	size_t each = bytes_each(&rivals);
	HELD uint8_t *blob = mem_alloc(each, 1);
	NEED(blob);
	if (store_find_blob(stage->store, key.half, blob, each) == 0) {
		TRY(recompute_least(solver, options, stage->control, &least));
		copy_rival(&rivals, &(struct rival){ least.state, least.order, least.extra, least.peak }, blob, true);
		store_keep_blob(stage->store, key.half, blob, each);
	}
	copy_rival(&rivals, &one, blob, false);
	plan->extra = one.extra;
	plan->peak = one.peak;
	return OK;
}
