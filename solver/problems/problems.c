/* problems.c: ascends the Lagrangian dual, and turns every point of it into choices.
 *
 * A subgradient step (Polyak's, towards the best cost) moves the multipliers by how far the choice that the messages
 * suggest is from the limit; each slot's share is divided by how far it usually is, as AdaGrad does (Duchi, Hazan,
 * Singer 2011). Between two steps the best choice is shaken under perturbed prices. */
#include <math.h>
#include <string.h>

#include "primal.h"
#include "search.h"

#define DUAL_PASSES 3
#define FIRST_RISE 1e-6        /* of the bound in one of the first passes, relative: less isn't worth waiting for */
#define DECODE_FORESTS 3
#define REPAIR_ROUNDS 12
#define WALK_EVERY 4
#define SEARCH_NODES 2000      /* larger problems are never closed by searching */

struct shard_run {
	const struct shard_problem *problem;
	struct shard_model model;
	struct shard_dual dual;
	struct shard_primal primal;
	const struct shard_options *options;
	struct control *control;
	struct shard_plan *plan;
	struct error *error;
	uint32_t *choice;          /* the best choice within the limit, as the model counts; valid while cost < HUGE_VAL */
	uint32_t *plain; /* the best one that no walk has touched: where a walk has got stuck, shaking starts from here */
	double cost, bound;        /* the best ones */
	double plain_cost;
	double *best_multiplier, *best_message; /* of the best bound */
	double *subgradient, *square; /* [slots] bytes over the limit; a fading mean of their squares */
	double relaxation, last;   /* of the step; the bound when it was last looked at */
	uint32_t stalled, steps;
	bool searched;             /* exhaustively */
	struct arena arena;
};

static uint64_t problems_pass_ticks(const struct shard_run *run)
{
	uint64_t pairs = run->model.first[run->model.nodes] + 2 * run->model.messages;
	for (uint32_t edge = 0; edge < run->model.edges; edge++)
		pairs += (uint64_t)shard_width(&run->model, run->model.tail[edge]) * shard_width(&run->model, run->model.head[edge]);
	return pairs;
}

static bool problems_found(const struct shard_run *run)
{
	return isfinite(run->cost);
}

/* ---- choices ---- */

/* Polishes the choice at hand, which is within the limit, and keeps it if it is the best. plain: it doesn't come from a
 * walk. */
static void problems_offer(struct shard_run *run, bool plain)
{
	struct shard_primal *primal = &run->primal;
	shard_primal_polish(primal);
	double cost = shard_primal_cost(primal);
	if (cost >= (plain ? run->plain_cost : run->cost) || cost >= run->model.penalty / 2 ||
		shard_primal_load(primal) > run->model.limit)
		return;
	if (plain) {
		run->plain_cost = cost;
		memcpy(run->plain, primal->choice, run->model.nodes * sizeof *run->plain);
	}
	if (cost >= run->cost)
		return;
	run->cost = cost;
	memcpy(run->choice, primal->choice, run->model.nodes * sizeof *run->choice);
}

/* Leaves the loads of the relaxed choice for the subgradient, then repairs it. */
static void problems_decode(struct shard_run *run)
{
	struct shard_primal *primal = &run->primal;
	shard_primal_decode(primal, &run->dual);
	for (int i = 0; i < DECODE_FORESTS; i++)
		shard_primal_forest(primal, run->dual.priced);
	shard_primal_load(primal);
	for (uint32_t slot = 0; slot < run->model.slots; slot++)
		run->subgradient[slot] = primal->load[slot] - run->model.limit;
	if (shard_primal_repair(primal, run->dual.multiplier, REPAIR_ROUNDS))
		problems_offer(run, true);
}

/* From the best choice, forests under prices that are off by a random factor per stretch of slots: up to 2, 4, 8 or 16,
 * to get away from where small ones lead back. */
static void problems_shake(struct shard_run *run)
{
	struct shard_primal *primal = &run->primal;
	const struct shard_model *model = &run->model;
	double factor = 1, strength = (double)(1 + random_next(&primal->random) % 4);
	bool plain = run->steps % 2 == 0 && isfinite(run->plain_cost);
	memcpy(primal->choice, plain ? run->plain : run->choice, model->nodes * sizeof *run->choice);
	for (uint32_t slot = 0; slot < model->slots; slot++) {
		if (random_next(&primal->random) % (1 + model->slots / 16) == 0 || slot == 0)
			factor = exp2(strength * ((double)(random_next(&primal->random) % 1024) / 512 - 1));
		primal->pressure[slot] = run->dual.multiplier[slot] * factor;
	}
	shard_dual_price(model, primal->pressure, primal->before, primal->priced);
	for (int i = 0; i < DECODE_FORESTS; i++)
		shard_primal_forest(primal, primal->priced);
	if (shard_primal_repair(primal, primal->pressure, REPAIR_ROUNDS))
		problems_offer(run, plain);
}

/* Trees of the best choice, solved anew under the prices of the moment. */
static void problems_walk(struct shard_run *run, uint64_t ticks)
{
	memcpy(run->primal.choice, run->choice, run->model.nodes * sizeof *run->choice);
	shard_primal_walk(&run->primal, run->dual.priced, ticks);
	problems_offer(run, false);
}

/* ---- multipliers ---- */

/* Shortens the step again and again while the bound does not rise; begins anew where that has led nowhere. */
static void relax(struct shard_run *run)
{
	if (run->bound > run->last) {
		run->stalled = 0;
	} else if (++run->stalled > 6) {
		run->relaxation = run->relaxation < 1e-3 ? 0.1 : 0.8 * run->relaxation;
		run->stalled = 0;
	}
	run->last = run->bound;
}

static void problems_step(struct shard_run *run)
{
	struct shard_dual *dual = &run->dual;
	uint32_t slots = run->model.slots;
	double norm = 0, mean = 0, target = problems_found(run) ? run->cost : 1.5 * fabs(shard_primal_cost(&run->primal)) + 1;
	relax(run);
	for (uint32_t slot = 0; slot < slots; slot++) {
		run->square[slot] = 0.98 * run->square[slot] + 0.02 * run->subgradient[slot] * run->subgradient[slot];
		mean += run->square[slot] / slots;
	}
	for (uint32_t slot = 0; slot < slots; slot++) {
		double away = run->subgradient[slot], scale = sqrt(run->square[slot] + 1e-3 * mean + 1e-9);
		if (dual->multiplier[slot] > 0 || away > 0)
			norm += away * away / scale;
		run->subgradient[slot] = away / scale;
	}
	double gap = target > dual->bound ? target - dual->bound : 1e-3 * fabs(dual->bound);
	for (uint32_t slot = 0; slot < slots && norm > 0; slot++)
		dual->multiplier[slot] = fmax(0, dual->multiplier[slot] + run->relaxation * gap / norm * run->subgradient[slot]);
}

static bool closed(const struct shard_run *run)
{
	/* Less what rounding to a certificate may take. */
	return problems_found(run) &&
		ceil(run->bound - 1e-3 - 1e-10 * fabs(run->bound)) + run->options->gap * fabs(run->cost) >= run->cost;
}

static void keep_bound(struct shard_run *run)
{
	if (run->dual.bound <= run->bound)
		return;
	run->bound = run->dual.bound;
	memcpy(run->best_multiplier, run->dual.multiplier, run->model.slots * sizeof *run->best_multiplier);
	memcpy(run->best_message, run->dual.message, run->model.messages * sizeof *run->best_message);
}

/* Every time that the steps have doubled, a search with a share of the effort spent so far. */
static enum status problems_try_search(struct shard_run *run, uint64_t spent)
{
	if (run->problem->nodes > SEARCH_NODES || run->steps < 4 || (run->steps & (run->steps - 1)))
		return OK;
	uint64_t branches = spent / (1 + run->model.nodes / 64);
	enum status status = shard_search(&run->dual, branches, run->control, run->choice, &run->cost);
	control_spend(run->control, spent / 2);
	run->searched = status == OK;
	return status == NO_MEMORY ? NO_MEMORY : OK;
}

/* At first choices can wait: a pass takes far less than they do. */
static void problems_pass(struct shard_run *run)
{
	uint32_t passes = run->steps == 0 && run->options->passes > DUAL_PASSES ? run->options->passes : DUAL_PASSES;
	double before = -(double)HUGE_VAL;
	for (uint32_t i = 0; i < passes && (i == 0 || control_status(run->control) != CANCELLED); i++) {
		shard_dual_pass(&run->dual, NULL);
		if (i >= DUAL_PASSES && run->dual.bound - before < FIRST_RISE * fabs(run->dual.bound))
			return;
		before = run->dual.bound;
	}
}

static enum status problems_improve(struct shard_run *run)
{
	struct shard_dual *dual = &run->dual;
	uint64_t ticks = problems_pass_ticks(run) * (2 * DUAL_PASSES + 2 * (DECODE_FORESTS + 2)) + 1000, spent = 0;
	enum status status;
	do {
		shard_dual_price(&run->model, dual->multiplier, dual->before, dual->priced);
		problems_pass(run);
		keep_bound(run);
		problems_decode(run);
		if (problems_found(run) && control_status(run->control) != CANCELLED)
			problems_shake(run);
		if (problems_found(run) && run->steps % WALK_EVERY == 0 && control_status(run->control) != CANCELLED)
			problems_walk(run, ticks / 2);
		run->steps++;
		spent += ticks + ticks / (2 * WALK_EVERY);
		status = problems_try_search(run, spent);
		if (status == OK)
			problems_step(run);
		control_report(run->control, "shard", -1, problems_found(run) ? (int64_t)run->cost : -1, (int64_t)run->bound);
	} while (status == OK && !closed(run) && !run->searched &&
		!control_spend(run->control, ticks + ticks / (2 * WALK_EVERY)));
	return status;
}

/* ---- results ---- */

static enum status problems_take_choice(struct shard_run *run)
{
	const struct shard_model *model = &run->model;
	if (!problems_found(run))
		return OK;
	run->plan->choice = mem_alloc(run->problem->nodes, sizeof *run->plan->choice);
	NEED(run->plan->choice);
	for (uint32_t node = 0; node < run->problem->nodes; node++)
		run->plan->choice[node] = shard_original(model, node, run->choice[model->node_of[node]]);
	return shard_evaluate(run->problem, run->plan->choice, &run->plan->cost, &run->plan->peak, run->error);
}

static enum status problems_take_bound(struct shard_run *run)
{
	struct shard_dual *dual = &run->dual;
	memcpy(dual->multiplier, run->best_multiplier, run->model.slots * sizeof *dual->multiplier);
	memcpy(dual->message, run->best_message, run->model.messages * sizeof *dual->message);
	TRY(shard_round(dual, run->problem, &run->plan->certificate));
	return shard_bound(run->problem, &run->plan->certificate, &run->plan->bound, run->error);
}

static enum status run_begin(struct shard_run *run)
{
	enum status status = shard_model_build(&run->model, run->problem, run->error);
	if (status == OK && run->problem->limit < 0)
		run->model.limit = (double)HUGE_VAL;
	THEN(status, shard_dual_begin(&run->dual, &run->model));
	THEN(status, shard_primal_begin(&run->primal, &run->model, run->control));
	run->choice = arena_alloc(&run->arena, run->problem->nodes, sizeof *run->choice);
	run->plain = arena_alloc(&run->arena, run->problem->nodes, sizeof *run->plain);
	run->best_multiplier = arena_alloc(&run->arena, run->model.slots, sizeof *run->best_multiplier);
	run->best_message = arena_alloc(&run->arena, run->model.messages, sizeof *run->best_message);
	run->subgradient = arena_alloc(&run->arena, run->model.slots, sizeof *run->subgradient);
	run->square = arena_alloc(&run->arena, run->model.slots, sizeof *run->square);
	bool full = run->choice && run->plain && run->best_multiplier && run->best_message && run->subgradient && run->square;
	return status != OK || full ? status : NO_MEMORY;
}

enum status shard_solve(const struct shard_problem *problem, const struct shard_options *options,
	struct control *control, struct shard_plan *plan, struct error *error)
{
	struct shard_run run = { .problem = problem,
		.options = options,
		.control = control,
		.plan = plan,
		.error = error,
		.cost = (double)HUGE_VAL,
		.plain_cost = (double)HUGE_VAL,
		.bound = -(double)HUGE_VAL,
		.last = -(double)HUGE_VAL,
		.relaxation = 0.3 };
	*plan = (struct shard_plan) { 0 };
	enum status status = shard_problem_valid(problem, error);
	uint64_t limit = control->limit;
	if (control->limit == 0 || control->ticks + options->effort < control->limit)
		control->limit = control->ticks + options->effort;
	THEN(status, run_begin(&run));
	if (status == OK) {
		status = problems_improve(&run);
		if (status == OK && run.searched && !problems_found(&run))
			status = fail(error, INFEASIBLE, "no choice is within the usage limit");
	}
	THEN(status, problems_take_bound(&run));
	THEN(status, problems_take_choice(&run));
	if (status == OK && run.searched && plan->bound < plan->cost) {
		plan->bound = plan->cost;
		plan->searched = true;
	}
	plan->proved = status == OK && plan->choice && plan->cost == plan->bound;
	if (status == OK && !plan->proved)
		status = control_status(control);
	control->limit = limit;
	shard_primal_free(&run.primal);
	shard_dual_free(&run.dual);
	shard_model_free(&run.model);
	arena_free(&run.arena);
	if (status == NO_MEMORY)
		shard_plan_free(plan);
	return status == NO_MEMORY ? fail_memory(error) : status;
}
