/* problems.c: ascends the Lagrangian dual, and turns every point of it into choices.
 *
 * A subgradient step (Polyak's, towards the best cost) moves the multipliers by how far the choice that the messages
 * suggest is from the limit; each slot's share is divided by how far it usually is, as AdaGrad does (Duchi, Hazan,
 * Singer 2011). Between two steps the best choice is shaken under perturbed prices. */
#include <math.h>
#include <string.h>

#include "primal.h"
#include "solver/base/names.h"

/* search: depth-first branch and bound over reduced costs.
 *
 * The dual divides the bound into least reduced costs of nodes and edges. What a partial choice has above them is below
 * what every completion costs more than the bound, so most branches of small problems end early. */

struct search {
	const struct shard_model *model;
	double *node, *edge;      /* reduced costs above the least: strategy; place in pair's order, an edge after another */
	size_t *start;            /* [edges] where an edge's are */
	double *above;            /* [nodes + 1] sum over the nodes before this one */
	double *load;             /* [slots] least bytes of any completion */
	double *lightest;         /* [pieces] least use of a strategy */
	uint32_t *trial, *choice; /* [nodes] strategies under trial; the best */
	double bound, best, cost; /* of the dual; the best choice's; the trial's at a leaf */
	struct arena arena;
};

static double lower_to_zero(double *value, size_t count)
{
	double least = value[0];
	for (size_t i = 1; i < count; i++)
		least = SMALLER(value[i], least);
	FOR_SIZE(i, count)
		value[i] -= least;
	return least;
}

static void problems_search_reduce(struct search *search, const struct shard_dual *dual, const double *part)
{
	const struct shard_model *model = search->model;
	search->bound = model->slots ? -dual->before[model->slots] * model->limit : 0;
	COPY(search->node, dual->priced, model->first[model->nodes]);
	FOR(edge, model->edges) {
		uint32_t tail = model->tail[edge], head = model->head[edge];
		uint32_t rows = shard_width(model, tail), columns = shard_width(model, head);
		double *reduced = search->edge + search->start[edge];
		FOR(p, rows)
			FOR(q, columns)
				reduced[p * columns + q] = model->pair[model->table[edge] + p * columns + q]
					- part[model->into_tail[edge] + p] - part[model->into_head[edge] + q];
		search->bound += lower_to_zero(reduced, (size_t)rows * columns);
		FOR(p, rows)
			search->node[model->first[tail] + p] += part[model->into_tail[edge] + p];
		FOR(q, columns)
			search->node[model->first[head] + q] += part[model->into_head[edge] + q];
	}
	FOR(node, model->nodes)
		search->bound += lower_to_zero(search->node + model->first[node], shard_width(model, node));
}

static void add_load(struct search *search, const struct shard_piece *piece, double bytes)
{
	for (uint32_t slot = piece->begin; slot < piece->end && bytes != 0; slot++)
		search->load[slot] += bytes;
}

/* Adds what strategy p of a node uses beyond the least; sign -1 takes it away again. */
static void problems_search_use(struct search *search, uint32_t node, uint32_t p, double sign)
{
	const struct shard_model *model = search->model;
	FOR_PIECES(piece, model, node)
		add_load(search, piece, sign * (model->use[piece->base + p] - search->lightest[piece - model->piece]));
}

static bool within_limit(const struct search *search, uint32_t node)
{
	const struct shard_model *model = search->model;
	FOR_PIECES(piece, model, node)
		FOR_FROM(slot, piece->begin, piece->end)
			if (search->load[slot] > model->limit)
				return false;
	return true;
}

static enum status problems_search_begin(struct search *search, struct shard_dual *dual, uint32_t *choice, double cost)
{
	const struct shard_model *model = dual->model;
	struct arena *arena = &search->arena;
	size_t pairs = 0;
	*search = (struct search) { .model = model, .choice = choice, .best = cost };
	ROOM(arena, search->start, model->edges);
	FOR_WHILE(edge, model->edges, search->start) {
		search->start[edge] = pairs;
		pairs += (size_t)shard_width(model, model->tail[edge]) * shard_width(model, model->head[edge]);
	}
	double *part;
	NEED(ROOM(arena, search->node, model->first[model->nodes]) && ROOM(arena, search->edge, pairs) &&
		ROOM(arena, search->above, (size_t)model->nodes + 1) && ROOM(arena, search->load, model->slots) &&
		ROOM(arena, search->lightest, model->piece_start[model->nodes]) && ROOM(arena, search->trial, model->nodes) &&
		ROOM(arena, part, model->messages) && search->start);
	shard_dual_price(model, dual->multiplier, dual->before, dual->priced);
	shard_dual_pass(dual, part);
	problems_search_reduce(search, dual, part);
	FOR(node, model->nodes)
		FOR_PIECES(piece, model, node) {
			double least = HUGE_VAL;
			FOR(p, shard_width(model, node))
				least = fmin(least, model->use[piece->base + p]);
			search->lightest[piece - model->piece] = least;
			add_load(search, piece, least);
		}
	return OK;
}

/* What strategy p of the node adds to the trial's costs above the bound; HUGE_VAL where it is forbidden. */
static double problems_search_weigh(const struct search *search, uint32_t node, uint32_t p)
{
	const struct shard_model *model = search->model;
	double above = search->node[model->first[node] + p];
	FOR_ITEMS(edge, &model->incident, node) {
		uint32_t other = model->tail[edge];
		if (other == node)
			continue;
		size_t at = (size_t)search->trial[other] * shard_width(model, node) + p;
		if (model->pair[model->table[edge] + at] >= model->penalty / 2)
			return (double)HUGE_VAL;
		above += search->edge[search->start[edge] + at];
	}
	return above;
}

static double trial_cost(const struct search *search)
{
	const struct shard_model *model = search->model;
	double sum = 0;
	FOR(node, model->nodes)
		sum += model->unary[model->first[node] + search->trial[node]];
	FOR(edge, model->edges)
		sum += model->pair[model->table[edge] +
			(size_t)search->trial[model->tail[edge]] * shard_width(model, model->head[edge]) +
			search->trial[model->head[edge]]];
	return sum;
}

/* Tries strategies of the node from trial[node] on; false when none is left. */
static bool problems_search_descend(struct search *search, uint32_t node, uint64_t *branches)
{
	uint32_t width = shard_width(search->model, node);
	for (; search->trial[node] < width; search->trial[node]++) {
		++*branches;
		double above = search->above[node] + problems_search_weigh(search, node, search->trial[node]);
		/* Costs are whole numbers: only what is below best - 1 and rounding can be better. */
		if (search->bound + above > search->best - 1 + 1e-9 * fabs(search->best) + 1e-6 || isinf(above))
			continue;
		problems_search_use(search, node, search->trial[node], 1);
		if (!within_limit(search, node)) {
			problems_search_use(search, node, search->trial[node], -1);
			continue;
		}
		search->above[node + 1] = above;
		return true;
	}
	return false;
}

static void problems_search_leaf(struct search *search)
{
	double cost = trial_cost(search);
	if (cost >= search->best)
		return;
	search->best = cost;
	COPY(search->choice, search->trial, search->model->nodes);
}

static enum status problems_search_run(struct search *search, uint64_t limit, struct control *control)
{
	uint32_t node = 0, nodes = search->model->nodes;
	uint64_t branches = 0;
	for (;;) {
		bool down = node < nodes && problems_search_descend(search, node, &branches);
		if (node == nodes)
			problems_search_leaf(search);
		if (down) {
			if (++node < nodes)
				search->trial[node] = 0;
			continue;
		}
		if (node == 0)
			return OK;
		node--;
		problems_search_use(search, node, search->trial[node], -1);
		search->trial[node]++;
		if (branches > limit)
			return LIMIT;
		if (control->cancel && branches % 1024 == 0 && control_status(control) == CANCELLED)
			return CANCELLED;
	}
}

/* Looks for the cheapest choice within the limit that is cheaper than *cost, by depth-first branch and bound over the
 * reparametrised costs that dual left (see shard_dual_pass(); its part is computed here). Where there is one, choice
 * and *cost become it. OK: exhausted, *cost is optimal. LIMIT: as many branches were tried as allowed. CANCELLED,
 * NO_MEMORY. */
static enum status shard_search(
	struct shard_dual *dual, uint64_t branches, struct control *control, uint32_t *choice, double *cost)
{
	struct search search = { 0 };
	enum status status = problems_search_begin(&search, dual, choice, *cost);
	THEN(status, problems_search_run(&search, branches, control));
	if (status != NO_MEMORY)
		*cost = search.best;
	arena_free(&search.arena);
	return status;
}

#define DUAL_PASSES 3
#define FIRST_RISE 1e-6 /* of the bound in one of the first passes, relative: less isn't worth waiting for */
#define DECODE_FORESTS 3
#define REPAIR_ROUNDS 12
#define WALK_EVERY 4
#define SEARCH_NODES 2000 /* larger problems are never closed by searching */

struct shard_run {
	const struct shard_problem *problem;
	struct shard_model model;
	struct shard_dual dual;
	struct shard_primal primal;
	const struct shard_options *options;
	struct control *control;
	struct shard_plan *plan;
	struct error *error;
	uint32_t *choice; /* the best choice within the limit, as the model counts; valid while cost < HUGE_VAL */
	uint32_t *plain; /* the best one that no walk has touched: where a walk has got stuck, shaking starts from here */
	double cost, bound; /* the best ones */
	double plain_cost;
	double *best_multiplier, *best_message; /* of the best bound */
	double *subgradient, *square; /* [slots] bytes over the limit; a fading mean of their squares */
	double relaxation, last; /* of the step; the bound when it was last looked at */
	uint32_t stalled, steps;
	bool searched; /* exhaustively */
	struct arena arena;
};

static uint64_t problems_pass_ticks(const struct shard_run *run)
{
	uint64_t pairs = run->model.first[run->model.nodes] + 2 * run->model.messages;
	FOR(edge, run->model.edges)
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
		COPY(run->plain, primal->choice, run->model.nodes);
	}
	if (cost >= run->cost)
		return;
	run->cost = cost;
	COPY(run->choice, primal->choice, run->model.nodes);
}

/* Leaves the loads of the relaxed choice for the subgradient, then repairs it. */
static void problems_decode(struct shard_run *run)
{
	struct shard_primal *primal = &run->primal;
	shard_primal_decode(primal, &run->dual);
	FOR_INT(i, DECODE_FORESTS)
		shard_primal_forest(primal, run->dual.priced);
	shard_primal_load(primal);
	FOR(slot, run->model.slots)
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
	FOR(slot, model->slots) {
		if (random_next(&primal->random) % (1 + model->slots / 16) == 0 || slot == 0)
			factor = exp2(strength * ((double)(random_next(&primal->random) % 1024) / 512 - 1));
		primal->pressure[slot] = run->dual.multiplier[slot] * factor;
	}
	shard_dual_price(model, primal->pressure, primal->before, primal->priced);
	FOR_INT(i, DECODE_FORESTS)
		shard_primal_forest(primal, primal->priced);
	if (shard_primal_repair(primal, primal->pressure, REPAIR_ROUNDS))
		problems_offer(run, plain);
}

/* Trees of the best choice, solved anew under the prices of the moment. */
static void problems_walk(struct shard_run *run, uint64_t ticks)
{
	COPY(run->primal.choice, run->choice, run->model.nodes);
	run->options->walk(&run->primal, run->dual.priced, ticks);
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
	FOR(slot, slots) {
		run->square[slot] = 0.98 * run->square[slot] + 0.02 * run->subgradient[slot] * run->subgradient[slot];
		mean += run->square[slot] / slots;
	}
	FOR(slot, slots) {
		double away = run->subgradient[slot], scale = sqrt(run->square[slot] + 1e-3 * mean + 1e-9);
		if (dual->multiplier[slot] > 0 || away > 0)
			norm += away * away / scale;
		run->subgradient[slot] = away / scale;
	}
	double gap = target > dual->bound ? target - dual->bound : 1e-3 * fabs(dual->bound);
	FOR_WHILE(slot, slots, norm > 0)
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
	COPY(run->best_multiplier, run->dual.multiplier, run->model.slots);
	COPY(run->best_message, run->dual.message, run->model.messages);
}

/* Every time that the steps have doubled, a search with a share of the effort spent so far. */
static enum status problems_try_search(struct shard_run *run, uint64_t spent)
{
	if (run->problem->nodes > SEARCH_NODES || run->steps < 4 || (run->steps & (run->steps - 1)) ||
		!step_runs("problems.search"))
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
	FOR_WHILE(i, passes, (i == 0 || control_status(run->control) != CANCELLED)) {
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
		bool on = problems_found(run) && control_status(run->control) != CANCELLED;
		if (on && step_runs("problems.shake"))
			problems_shake(run);
		if (on && run->options->walk && run->steps % WALK_EVERY == 0)
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
	MAKE(run->plan->choice, run->problem->nodes);
	NEED(run->plan->choice);
	FOR(node, run->problem->nodes)
		run->plan->choice[node] = shard_original(model, node, run->choice[model->node_of[node]]);
	return shard_evaluate(run->problem, run->plan->choice, &run->plan->cost, &run->plan->peak, run->error);
}

static enum status problems_take_bound(struct shard_run *run)
{
	struct shard_dual *dual = &run->dual;
	if (run->options->unbounded && (run->model.slots == 0 || control_status(run->control) == CANCELLED))
		return OK;   /* a certificate's multipliers are wanted alone: there is none, or nobody waits for it */
	COPY(dual->multiplier, run->best_multiplier, run->model.slots);
	COPY(dual->message, run->best_message, run->model.messages);
	TRY(shard_round(dual, run->problem, &run->plan->certificate));
	return run->options->unbounded ? OK
		: shard_bound(run->problem, &run->plan->certificate, &(struct control) { 0 }, &run->plan->bound, run->error);
}

static enum status run_begin(struct shard_run *run)
{
	TRY(shard_model_build(&run->model, run->problem, run->control, run->error));
	if (run->problem->limit < 0)
		run->model.limit = (double)HUGE_VAL;
	TRY(shard_dual_begin(&run->dual, &run->model));
	TRY(shard_primal_begin(&run->primal, &run->model, run->control));
	bool full = ROOMS(&run->arena, run->problem->nodes, run->choice, run->plain) &&
		ROOMS(&run->arena, run->model.slots, run->best_multiplier, run->subgradient, run->square) &&
		ROOM(&run->arena, run->best_message, run->model.messages);
	return full ? OK : NO_MEMORY;
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
