/* slowdown.c: how much longer a step takes the less memory it has. */
#include <math.h>

#include "slowdown.h"
#include "solver/recompute/strategies.h"
#include "src/read/rules_file.h"
#include "src/scenario/knobs.h"

#define PRICE_LEAST 0.01       /* picoseconds a byte */
#define PRICE_MOST  1e5
#define PLAN_TICKS UINT64_C(2000000)

struct drawing {
	const struct plan *plan;
	struct stage_context stage;
	struct fitted *fitted;
	struct activations activations;
	struct slowdown *slowdown;
	const struct slowdown_watch *watch;
	struct error *error;
};

static void slowdown_tell(const struct drawing *drawing)
{
	if (drawing->watch)
		drawing->watch->found(drawing->watch->context, drawing->slowdown);
}

/* ---- the bound ---- */

int64_t slowdown_bound(const struct slowdown *slowdown, int64_t cap, double *price)
{
	int64_t best = 0;
	*price = 0;
	if (cap < slowdown->least)
		return -1;
	FOR(i, slowdown->lines) {
		int64_t value = recompute_line_at(&slowdown->line[i], cap);
		if (value > best) {
			best = value;
			*price = (double)slowdown->line[i].price / (double)RECOMPUTE_PRICE_UNIT;
		}
	}
	return best;
}

/* The best moment at the middle of the range, and lines at prices that rise by a constant factor. */
static enum status slowdown_find_bound(struct drawing *drawing, struct recompute_solver *solver)
{
	struct slowdown *slowdown = drawing->slowdown;
	struct control *control = drawing->stage.control;
	double slope, factor = pow(PRICE_MOST / PRICE_LEAST, 1.0 / (SLOWDOWN_LINES - 1)), price = PRICE_LEAST;
	int64_t bound, low = solver->step.persistent, high = slowdown->most;
	enum status status = OK;
	while (status == OK && high - low > 1 + slowdown->most / 4096) {   /* what fits at all */
		int64_t middle = low + (high - low) / 2;
		status = recompute_bound(&solver->bounds, middle, control, &bound, &slope, NULL);
		*(status == INFEASIBLE ? &low : &high) = middle;
		status = status == INFEASIBLE ? OK : status;
	}
	slowdown->least = low;
	if (status == OK)
		status = recompute_bound(&solver->bounds, slowdown->most - (slowdown->most - low) / 2, control, &bound, &slope, NULL);
	for (; slowdown->lines < SLOWDOWN_LINES && status == OK; price *= factor) {
		status = recompute_bound_line(
			&solver->bounds, (int64_t)(price * (double)RECOMPUTE_PRICE_UNIT), control, &slowdown->line[slowdown->lines]);
		slowdown->lines += status == OK;
	}
	return status;
}

/* ---- strategies ---- */

/* The peak of a graph in the order that the scenario gives it, at effort 1. */
static enum status planned_peak_of(struct drawing *drawing, struct graph *graph, int64_t *peak)
{
	struct scenario scenario = drawing->plan->scenario;   /* only read */
	scenario.value[K_effort] = smaller_of(scenario.value[K_effort], 1);
	struct ordered *ordered = stage_order(&drawing->stage, graph, &scenario, false, drawing->error);
	if (!ordered)
		return drawing->error->status;
	*peak = ordered->result.peak;
	ordered_release(ordered);
	return OK;
}

/* A strategy that can't be played here is left out. */
static enum status add_strategy(struct drawing *drawing, const char *word)
{
	struct slowdown *slowdown = drawing->slowdown;
	struct graph *step = drawing->fitted->step, *graph = NULL;
	struct slowdown_point *point = &slowdown->strategy[slowdown->strategies];
	struct error why = { 0 };
	int64_t value;
	bool *MAKE(drop, step->storages);
	if (!drop || knob_parse(K_recompute, word, &value, drawing->error) != OK) {
		mem_free(drop);
		return NO_MEMORY;
	}
	struct recompute_options options = { .mode = (enum recompute)knob_choice(value),
		.number = knob_number(K_recompute, value) };
	if (options.mode > RECOMPUTE_AUTO) {
		graph = strategy_apply(&drawing->stage, &drawing->fitted->input, &drawing->activations, &options, &why);
	} else {
		recompute_choose(step, &drawing->activations, &options, drop);
		graph = recompute_apply(step, &drawing->activations, drop, NULL, 0, &why);
	}
	mem_free(drop);
	PRINT_TO(point->name, "%s", word);
	enum status status = graph ? planned_peak_of(drawing, graph, &point->bytes)
		: why.status == BAD_INPUT ? OK
		: why.status;
	if (graph && status == OK) {
		point->extra = fitted_extra(drawing->fitted, graph);
		slowdown->strategies++;
	}
	graph_release(graph);
	return status;
}

static enum status find_strategies(struct drawing *drawing)
{
	static const char *const words[] = { "selective", "full", "sqrt", "layers:2", "knapsack:0%", "knapsack:10%",
		"knapsack:25%", "knapsack:40%", "knapsack:50%", "knapsack:60%", "knapsack:75%", "knapsack:90%",
		"knapsack:100%" };
	enum status status = OK;
	for (size_t i = 0; i < COUNT_OF(words) && status == OK; i++) {
		status = add_strategy(drawing, words[i]);
		slowdown_tell(drawing);
	}
	return status;
}

/* ---- plans ---- */

/* From the smallest cap up; the list has most memory first. */
static void slowdown_add_plan(void *context, const struct recompute_plan *plan)
{
	struct drawing *drawing = context;
	struct slowdown *slowdown = drawing->slowdown;
	bool again = slowdown->plans > 0 && slowdown->plan[0].bytes == plan->peak && slowdown->plan[0].extra == plan->extra;
	if (plan->extra == INT64_MAX || again)
		return;
	memmove(slowdown->plan + 1, slowdown->plan, slowdown->plans++ * sizeof *slowdown->plan);
	slowdown->plan[0] = (struct slowdown_point){ .bytes = plan->peak, .extra = plan->extra };
	slowdown_tell(drawing);
}

static enum status find_plans(struct drawing *drawing, struct recompute_solver *solver)
{
	struct slowdown *slowdown = drawing->slowdown;
	struct recompute_search_options options = { .ticks = PLAN_TICKS, .context = drawing, .solved = slowdown_add_plan };
	struct recompute_plan plan[SLOWDOWN_PLANS] = { 0 };
	int64_t cap[SLOWDOWN_PLANS];
	HELD uint8_t *candidate = NULL;
	enum status status = recompute_published_states(&solver->step, &drawing->activations, drawing->stage.rules,
		drawing->stage.control, &candidate, &options.candidates);
	options.candidate = candidate;
	FOR_INT(i, SLOWDOWN_PLANS)
		cap[i] = slowdown->most - (slowdown->most - slowdown->least) / (SLOWDOWN_PLANS + 1) * (i + 1);
	status = status == OK ? recompute_curve(solver, cap, SLOWDOWN_PLANS, &options, drawing->stage.control, plan) : status;
	FOR_INT(i, SLOWDOWN_PLANS)
		recompute_plan_free(&plan[i]);
	return status;
}

/* ---- all ---- */

static enum status find_all(struct drawing *drawing)
{
	struct slowdown *slowdown = drawing->slowdown;
	OWN(recompute_solver) solver;
	TRY(recompute_solver_new(&drawing->fitted->input, &solver));
	slowdown->total = drawing->fitted->total;
	TRY(planned_peak_of(drawing, drawing->fitted->step, &slowdown->most));
	TRY(slowdown_find_bound(drawing, &solver));
	slowdown_tell(drawing);
	TRY(find_strategies(drawing));
	return find_plans(drawing, &solver);
}

/* The step before anything was computed again, with the times of its ops; NULL with the error. */
static struct fitted *slowdown_step_of(const struct plan *plan, const struct rules *rules, struct error *error)
{
	const struct transformed *transformed = plan->transformed;
	bool fixed = plan->scenario.value[K_recompute] != RECOMPUTE_NONE &&
		plan->scenario.value[K_recompute] != RECOMPUTE_AUTO;
	if (transformed->pipelined || (transformed->sharded && fixed)) {
		refuse(error, transformed->pipelined ? "a pipeline has no curve of time over memory"
			: "on a step that is split over devices this curve needs recompute=none or auto");
		return NULL;
	}
	if (transformed->fitted)
		return fitted_retain(transformed->fitted);
	struct fitted *fitted = fitted_of_step(plan->graph, &plan->scenario, transformed->sharded, rules);
	if (!fitted)
		fail_memory(error);
	return fitted;
}

enum status slowdown_find(const struct plan *plan, const char *rules_file, const atomic_bool *cancel,
	const struct slowdown_watch *watch, struct slowdown *slowdown, struct error *error)
{
	struct rules *rules = rules_load(rules_file, error);
	struct control control = { .cancel = cancel };
	OWN(store) *store = store_new();
	struct drawing drawing = { .plan = plan,
		.stage = { .store = store, .rules = rules, .control = &control },
		.slowdown = slowdown,
		.watch = watch,
		.error = error };
	*slowdown = (struct slowdown){ .fingerprint = slowdown_fingerprint(plan) };
	if (!rules || !store) {
		rules_free(rules);
		return rules ? fail_memory(error) : error->status;
	}
	drawing.fitted = slowdown_step_of(plan, rules, error);
	enum status status = drawing.fitted ? activations_find(drawing.fitted->step, rules, &drawing.activations, error)
		: error->status;
	if (status == OK) {
		status = find_all(&drawing);
		activations_free(&drawing.activations);
	}
	fitted_release(drawing.fitted);
	rules_free(rules);
	if (status != OK && !*error->text)
		fail_status(error, status);
	return status;
}

uint64_t slowdown_fingerprint(const struct plan *plan)
{
	struct key key = key_of("slowdown");
	const struct transformed *transformed = plan->transformed;
	key_add(&key, transformed->pipelined != NULL);
	key_add(&key, transformed->fitted ? transformed->fitted->step->fingerprint : plan->graph->fingerprint);
	key_add_knobs(&key, &plan->scenario, BY_MACHINE | BY_MEMORY);
	key_add(&key, (uint64_t)plan->scenario.value[K_random]);
	return key.half[0];
}

/* Puts a point in its place by memory, and takes out what needs no less of both than another. */
static uint32_t add_front(struct slowdown_point *front, uint32_t count, const struct slowdown_point *point)
{
	uint32_t kept = 0, at;
	FOR(i, count)
		if (front[i].bytes <= point->bytes && front[i].extra <= point->extra)
			return count;
	FOR(i, count)
		if (front[i].bytes < point->bytes || front[i].extra < point->extra)
			front[kept++] = front[i];
	for (at = kept; at > 0 && front[at - 1].bytes < point->bytes; at--)
		front[at] = front[at - 1];
	front[at] = *point;
	return kept + 1;
}

uint32_t slowdown_front(
	const struct slowdown *slowdown, const struct plan *plan, struct slowdown_point front[SLOWDOWN_FRONT])
{
	uint32_t count = add_front(front, 0, &(struct slowdown_point){ .bytes = slowdown->most });
	FOR(i, slowdown->plans)
		count = add_front(front, count, &slowdown->plan[i]);
	FOR(i, slowdown->strategies)
		count = add_front(front, count,
			&(struct slowdown_point){ .bytes = slowdown->strategy[i].bytes, .extra = slowdown->strategy[i].extra });
	return plan
		? add_front(front, count, &(struct slowdown_point){ .bytes = plan_peak(plan), .extra = plan_extra_time(plan) })
		: count;
}
