/* shard_chain.c: prices memory until plans just fit, then closes what is left between bound and plan.
 *
 * A price on usage (Lagrange multiplier) moves along the lower hull of (cost, usage) of all plans: the slope between the two vertices on
 * either side of the limit is the next price, until no plan lies below (Handler, Zang, Networks 10, 1980). Every price is a bound.
 * What could still be better lies between the bound and the best plan: the ILP has only that, a growing share of it
 * in each round.
 */
#include <string.h>

#include "shard_chain_search.h"

#define TREE_BUDGET ((size_t)3 << 22) /* entries: 100 MB */
#define PRICES 60
#define PASSES_LEAST 40        /* over the tables, and ticks besides, before effort counts */
#define TICKS_LEAST 5000000
#define FIRST_SHARE 20         /* the first round of the ILP has a 2^-20th of the gap */
#define GROWTH 16              /* of the share, from round to round */

__extension__ typedef __int128 wide;

struct run {
	const struct shard_chain *chain;
	struct chain_model model;
	struct chain_search search;
	struct control *control;
	struct chain_plan *plan;
	struct error *error;
	struct chain_choice best;  /* within the limit; core NULL: none */
	struct chain_choice over;  /* not within it: the other end of the hull's edge at the limit */
	int64_t bound, alpha, beta; /* the best bound, and its price beta / alpha */
	bool exhausted;            /* the ILP has seen all that could be better */
};

/* ---- choices --------------------------------------------------------------------------------------------------- */

void chain_choice_free(struct chain_choice *choice)
{
	arena_free(&choice->arena);
	*choice = (struct chain_choice) { 0 };
}

static void sum_factors(const struct chain_graph *graph, const uint32_t *value, int64_t times, struct chain_choice *choice)
{
	for (uint32_t i = 0; i < graph->factors; i++) {
		const struct chain_factor *factor = &graph->factor[i];
		size_t entry = 0;
		if (factor->weight)
			continue;
		for (uint32_t j = 0; j < factor->count; j++)
			entry = entry * graph->domain[factor->var[j]] + value[factor->var[j]];
		choice->cost += times * factor->cost[entry];
		choice->usage += factor->usage ? times * factor->usage[entry] : 0;
	}
}

void chain_choice_sum(const struct chain_model *model, struct chain_choice *choice)
{
	choice->cost = choice->usage = 0;
	sum_factors(&model->core, choice->core, 1, choice);
	for (uint32_t i = 0; i < model->links; i++)
		for (uint32_t kind = 0; kind < choice->path[i].kinds; kind++) {
			int64_t times = 0;
			for (uint32_t copy = 0; copy < model->link[i].length; copy++)
				times += choice->path[i].arc[copy] == kind;
			sum_factors(&model->link[i].graph, choice->path[i].value[kind], times, choice);
		}
}

/* ---- weighing -------------------------------------------------------------------------------------------------- */

static void weigh(struct run *run, int64_t alpha, int64_t beta)
{
	struct chain_search *search = &run->search;
	for (uint32_t i = 0; i < run->model.links; i++) {
		const struct chain_link *link = &run->model.link[i];
		struct chain_copy *copy = &search->copy[i];
		size_t square = (size_t)link->states * link->states;
		chain_tree_up(&copy->tree, alpha, beta, run->control);
		for (uint32_t block = 0; block < link->blocks; block++) {
			struct chain_power *power = &copy->power[block];
			memcpy(power->square[0], copy->tree.bucket[copy->tree.buckets - 1].table + block * square, square * sizeof(int64_t));
			chain_power_run(power, run->control);
			memcpy(run->model.core.factor[link->factor].weight + block * square, power->product[power->products - 1],
				square * sizeof(int64_t));
		}
	}
	search->weight = chain_tree_up(&search->core, alpha, beta, run->control);
	search->alpha = alpha;
	search->beta = beta;
}

/* What is around every bucket of every tree. */
static void weigh_around(struct run *run)
{
	struct chain_search *search = &run->search;
	chain_tree_down(&search->core, NULL);
	for (uint32_t i = 0; i < search->core.buckets; i++)
		for (uint32_t j = 0; j < search->core.bucket[i].parts; j++) {
			const struct chain_part *part = &search->core.bucket[i].part[j];
			for (uint32_t k = 0; part->child == NONE && k < run->model.links; k++)
				if (run->model.link[k].factor == part->factor)
					chain_tree_around(&search->core, &search->core.bucket[i], part, search->copy[k].around);
		}
	for (uint32_t i = 0; i < run->model.links; i++) {
		const struct chain_link *link = &run->model.link[i];
		struct chain_copy *copy = &search->copy[i];
		size_t square = (size_t)link->states * link->states;
		for (uint32_t block = 0; block < link->blocks; block++)
			chain_power_around(&copy->power[block], copy->around + block * square, copy->arc + block * square, run->control);
		chain_tree_down(&copy->tree, copy->arc);
	}
}

/* The walk between the states that the core's values say. */
static enum status decode_path(struct run *run, uint32_t number, struct chain_choice *choice)
{
	const struct chain_link *link = &run->model.link[number];
	const struct chain_copy *copy = &run->search.copy[number];
	const struct chain_factor *factor = &run->model.core.factor[link->factor];
	struct chain_path *path = &choice->path[number];
	struct arena arena = { 0 };
	size_t entry = 0, square = (size_t)link->states * link->states;
	for (uint32_t i = 0; i < factor->count; i++)
		entry = entry * run->model.core.domain[factor->var[i]] + choice->core[factor->var[i]];
	size_t block = entry / square;
	uint32_t *state = path->state = arena_alloc(&choice->arena, (size_t)link->length + 1, sizeof *state);
	uint32_t *kind = arena_alloc(&arena, square, sizeof *kind);
	path->block = block;
	path->arc = arena_alloc(&choice->arena, link->length, sizeof *path->arc);
	path->value = arena_alloc(&choice->arena, link->length < square ? link->length : square, sizeof *path->value);
	enum status status = state && kind && path->arc && path->value ? OK : NO_MEMORY;
	if (status == OK)
		chain_power_walk(&copy->power[block], (uint32_t)(entry % square / link->states), (uint32_t)(entry % link->states), state);
	for (uint32_t i = 0; i < link->length && status == OK; i++) {
		size_t arc = (size_t)state[i] * link->states + state[i + 1];
		if (!kind[arc]) {
			uint32_t *value = arena_alloc(&choice->arena, link->graph.vars, sizeof *value);
			if (!value) {
				status = NO_MEMORY;
				break;
			}
			chain_tree_digits(&copy->tree, &copy->tree.bucket[copy->tree.buckets - 1], block * square + arc, value);
			chain_tree_decode(&copy->tree, value);
			path->value[path->kinds++] = value;
			kind[arc] = path->kinds;
		}
		path->arc[i] = kind[arc] - 1;
	}
	arena_free(&arena);
	return status;
}

static enum status decode(struct run *run, struct chain_choice *choice)
{
	*choice = (struct chain_choice) { 0 };
	choice->core = arena_alloc(&choice->arena, run->model.core.vars, sizeof *choice->core);
	choice->path = arena_alloc(&choice->arena, run->model.links, sizeof *choice->path);
	enum status status = choice->core && choice->path ? OK : NO_MEMORY;
	if (status == OK)
		chain_tree_decode(&run->search.core, choice->core);
	for (uint32_t i = 0; i < run->model.links && status == OK; i++)
		status = decode_path(run, i, choice);
	if (status == OK)
		chain_choice_sum(&run->model, choice);
	else
		chain_choice_free(choice);
	return status;
}

/* ---- prices ---------------------------------------------------------------------------------------------------- */

static bool fits(const struct run *run, const struct chain_choice *choice)
{
	return run->chain->limit < 0 || choice->usage <= run->chain->limit;
}

/* Takes the choice over if it is the best, or if it doesn't fit. */
static void offer(struct run *run, struct chain_choice *choice)
{
	bool better = !run->best.core || choice->cost < run->best.cost || (choice->cost == run->best.cost && choice->usage < run->best.usage);
	if (!fits(run, choice)) {
		chain_choice_free(&run->over);
		run->over = *choice;
	} else if (better) {
		chain_choice_free(&run->best);
		run->best = *choice;
	} else {
		chain_choice_free(choice);
	}
}

/* No plan within the limit costs less than (weight - beta * limit) / alpha. */
static int64_t bound_at(const struct run *run, int64_t weight)
{
	wide sum = (wide)weight - (run->chain->limit >= 0 ? (wide)run->search.beta * run->chain->limit : 0);
	wide alpha = run->search.alpha, whole = sum / alpha + (sum % alpha > 0);
	return whole < -CHAIN_COST_MAX ? -CHAIN_COST_MAX : (int64_t)whole;
}

struct vertex { int64_t cost, usage; };

/* Integers alpha and beta about as beta / alpha, not so large that sums overflow. */
static bool set_price(struct run *run, int64_t beta, int64_t alpha, int64_t *factor)
{
	wide sum = (wide)alpha * run->model.costs + (wide)beta * run->model.usages;
	int64_t scale = (int64_t)(sum / CHAIN_WEIGHT_MAX) + 1;
	if (sum < CHAIN_WEIGHT_MAX) {
		factor[0] = alpha;
		factor[1] = beta;
		return true;
	}
	factor[0] = alpha / scale;
	factor[1] = beta / scale + (beta / scale < beta && (wide)(beta / scale + 1) * run->model.usages < CHAIN_WEIGHT_MAX / 4);
	return factor[0] > 0 && factor[1] > 0;
}

/* Between a plan that is too large and one that fits, until none lies below the line through both. */
static enum status find_price(struct run *run, struct vertex over, struct vertex under)
{
	for (int i = 0; i < PRICES; i++) {
		struct chain_choice choice;
		int64_t factor[2];
		if (under.cost <= over.cost || !set_price(run, under.cost - over.cost, over.usage - under.usage, factor))
			return OK;
		weigh(run, factor[0], factor[1]);
		int64_t bound = bound_at(run, run->search.weight);
		if (bound > run->bound || !run->alpha) {
			run->bound = bound;
			run->alpha = factor[0];
			run->beta = factor[1];
		}
		if (control_status(run->control) != OK)
			return control_status(run->control);
		enum status status = decode(run, &choice);
		if (status != OK)
			return status;
		struct vertex found = { choice.cost, choice.usage };
		offer(run, &choice);
		wide line = (wide)factor[0] * over.cost + (wide)factor[1] * over.usage, other = (wide)factor[0] * under.cost + (wide)factor[1] * under.usage;
		if (run->search.weight >= line || run->search.weight >= other)
			return OK;
		*(found.usage <= run->chain->limit ? &under : &over) = found;
	}
	return OK;
}

/* ---- the rest -------------------------------------------------------------------------------------------------- */

/* One round of the ILP: all plans that weigh up to share above the least. What was left out weighs more. */
static enum status try_share(struct run *run, int64_t share)
{
	struct chain_choice choice;
	bool tried;
	int64_t most = run->search.weight + share;
	enum status status = chain_ilp(&run->search, most, run->best.cost, run->best.cost - run->bound, &choice, &tried, &run->plan->arcs);
	if (status == OK)
		offer(run, &choice);
	else if (status != INFEASIBLE)
		return status;
	if (!tried)
		return LIMIT;
	int64_t bound = bound_at(run, most + 1);
	bound = bound < run->best.cost ? bound : run->best.cost;
	run->bound = bound > run->bound ? bound : run->bound;
	run->exhausted = true;
	return OK;
}

/* Shares of what is between the least weight and the best plan's. The first is nearly nothing: plans on the hull alone. */
static enum status close_gap(struct run *run)
{
	int64_t share = -1;
	enum status status = OK;
	if (run->search.alpha != run->alpha || run->search.beta != run->beta)
		weigh(run, run->alpha, run->beta);
	weigh_around(run);
	for (uint32_t i = 0; i < run->model.links && status == OK && run->over.core && run->best.path[i].state; i++) {
		struct chain_choice choice;
		status = chain_splice(&run->search, &run->best, &run->over, i, &choice);
		if (choice.core)
			offer(run, &choice);
	}
	while (status == OK && run->best.cost > run->bound) {
		wide last = (wide)run->alpha * (run->best.cost - 1) + (wide)run->beta * run->chain->limit;
		int64_t gap = (int64_t)(last - run->search.weight);
		if (gap < 0) {
			run->bound = run->best.cost;
			return OK;
		}
		share = share < 0 ? gap >> FIRST_SHARE : share > gap / GROWTH ? gap : GROWTH * (share + 1);
		status = control_status(run->control);
		if (status == OK)
			status = try_share(run, share);
	}
	return status;
}

static enum status no_plan(struct run *run, int64_t usage)
{
	run->plan->usage = usage;
	return usage < 0 ? fail(run->error, INFEASIBLE, "forbidden pairs leave no choice")
		: fail(run->error, INFEASIBLE, "the least usage is %lld, above the limit of %lld", (long long)usage, (long long)run->chain->limit);
}

static enum status search_plans(struct run *run)
{
	struct chain_choice choice;
	weigh(run, 1, 0);
	if (chain_blocked(run->search.weight))
		return no_plan(run, -1);
	enum status status = control_status(run->control) == CANCELLED ? CANCELLED : decode(run, &choice);
	if (status != OK)
		return status;
	struct vertex over = { choice.cost, choice.usage };
	run->bound = choice.cost;
	offer(run, &choice);
	if (run->best.core)
		return OK;
	weigh(run, 0, 1);
	status = decode(run, &choice);
	if (status != OK)
		return status;
	struct vertex under = { choice.cost, choice.usage };
	offer(run, &choice);
	if (!run->best.core)
		return no_plan(run, under.usage);
	status = find_price(run, over, under);
	return status == OK && run->alpha ? close_gap(run) : status;
}

/* ---- results --------------------------------------------------------------------------------------------------- */

static void write_node(const struct run *run, uint32_t node)
{
	const struct chain_model *model = &run->model;
	const struct shard_chain *chain = run->chain;
	uint32_t *choice = run->plan->choice + run->plan->start[node], copies = chain_copies(chain, node);
	const uint32_t *original = model->original + model->first[node];
	choice[0] = original[run->best.core[model->var[AT_FIRST][node]]];
	choice[copies - 1] = original[run->best.core[model->var[AT_LAST][node]]];
	for (uint32_t i = 0; i < model->links && copies > 2; i++) {
		const struct chain_path *path = &run->best.path[i];
		for (uint32_t copy = 0; model->link[i].segment == chain->segment[node] && copy < model->link[i].length; copy++)
			choice[copy + 1] = original[path->value[path->arc[copy]][model->link[i].var[node]]];
	}
}

static enum status write_plan(struct run *run)
{
	struct chain_plan *plan = run->plan;
	const struct shard_chain *chain = run->chain;
	plan->start = arena_alloc(&plan->arena, (size_t)chain->nodes + 1, sizeof *plan->start);
	if (!plan->start)
		return NO_MEMORY;
	for (uint32_t node = 0; node < chain->nodes; node++)
		plan->start[node + 1] = plan->start[node] + chain_copies(chain, node);
	plan->choice = arena_alloc(&plan->arena, plan->start[chain->nodes], sizeof *plan->choice);
	if (!plan->choice)
		return NO_MEMORY;
	for (uint32_t node = 0; node < chain->nodes; node++)
		write_node(run, node);
	plan->bound = run->bound;
	plan->bound_kind = run->exhausted ? "folded ILP" : "exact DP";
	enum status status = shard_chain_evaluate(chain, plan, &plan->cost, &plan->usage, run->error);
	plan->proved = status == OK && plan->cost == plan->bound;
	return status;
}

static enum status begin(struct run *run)
{
	struct chain_search *search = &run->search;
	search->model = &run->model;
	search->limit = run->chain->limit;
	search->control = run->control;
	enum status status = chain_model_build(&run->model, run->chain, run->control, run->error);
	if (status == INFEASIBLE)
		run->plan->usage = -1;
	if (status == OK && !(search->copy = arena_alloc(&search->arena, run->model.links, sizeof *search->copy)))
		status = NO_MEMORY;
	for (uint32_t i = 0; i < run->model.links && status == OK; i++) {
		const struct chain_link *link = &run->model.link[i];
		struct chain_copy *copy = &search->copy[i];
		size_t size = (size_t)link->blocks * link->states * link->states;
		status = chain_tree_build(&copy->tree, &link->graph, TREE_BUDGET, run->control);
		copy->power = arena_alloc(&search->arena, link->blocks, sizeof *copy->power);
		copy->around = arena_alloc(&search->arena, size, sizeof *copy->around);
		copy->arc = arena_alloc(&search->arena, size, sizeof *copy->arc);
		if (status == OK && (!copy->power || !copy->around || !copy->arc))
			status = NO_MEMORY;
		for (uint32_t block = 0; block < link->blocks && status == OK; block++)
			status = chain_power_begin(&copy->power[block], link->states, link->length, &search->arena);
		run->plan->states += link->blocks * link->states;
	}
	return status == OK ? chain_tree_build(&search->core, &run->model.core, TREE_BUDGET, run->control) : status;
}

/* About what weighing takes. */
static uint64_t pass_ticks(const struct run *run)
{
	uint64_t ticks = run->search.core.entries / 4;
	for (uint32_t i = 0; i < run->model.links; i++) {
		const struct chain_link *link = &run->model.link[i];
		ticks += run->search.copy[i].tree.entries / 4;
		ticks += (uint64_t)link->blocks * link->states * link->states * link->states * (2 * run->search.copy[i].power->squares) / 8;
	}
	return ticks;
}

static void end(struct run *run)
{
	for (uint32_t i = 0; i < run->model.links && run->search.copy; i++)
		chain_tree_free(&run->search.copy[i].tree);
	chain_tree_free(&run->search.core);
	chain_choice_free(&run->best);
	chain_choice_free(&run->over);
	arena_free(&run->search.arena);
	chain_model_free(&run->model);
}

enum status shard_chain_solve(const struct shard_chain *chain, uint64_t effort, struct control *control, struct chain_plan *plan,
	struct error *error)
{
	struct run run = { .chain = chain, .control = control, .plan = plan, .error = error };
	*plan = (struct chain_plan) { 0 };
	enum status status = shard_chain_valid(chain, error);
	uint64_t limit = control->limit;
	if (status != OK)
		return status;
	run.search.patience = control->ticks + effort;
	if (limit == 0 || control->ticks + effort < limit)
		control->limit = control->ticks + effort;
	status = begin(&run);
	if (status == OK) {
		/* Prices first, whatever the effort: plans on the way are far from good. */
		uint64_t least = control->ticks + PASSES_LEAST * pass_ticks(&run) + TICKS_LEAST;
		if (control->limit < least && (limit == 0 || least < limit))
			control->limit = least;
		status = search_plans(&run);
	}
	if ((status == OK || status == LIMIT || status == CANCELLED) && run.best.core) {
		enum status written = write_plan(&run);
		status = written != OK ? written : plan->proved ? OK : status == OK ? LIMIT : status;
	}
	control->limit = limit;
	end(&run);
	if (status == NO_MEMORY)
		chain_plan_free(plan);
	return status == NO_MEMORY ? fail(error, NO_MEMORY, "out of memory") : status;
}

void chain_plan_free(struct chain_plan *plan)
{
	arena_free(&plan->arena);
	*plan = (struct chain_plan) { 0 };
}
