/* chain.c: prices memory until plans just fit.
 *
 * A price on usage (Lagrange multiplier) moves along the lower hull of (cost, usage) of all plans: the slope between
 * the two vertices on either side of the limit is the next price, until no plan lies below (Handler, Zang, Networks 10,
 * 1980). Every price is a bound. */
#include <string.h>

#include "search.h"
#include "solver/base/names.h"

const char *const chain_bound_names[CHAIN_BOUNDS] = { "exact DP", "exhausted search", "local polytope and multipliers",
	"least of every op" };

#define TREE_BUDGET ((size_t)3 << 22) /* entries: 100 MB */
#define PRICES 60
#define PASSES_LEAST 40 /* over the tables of each model, and ticks besides, before effort counts */
#define TICKS_LEAST 5000000
#define PASS_MOST 100000000 /* ticks of one pass: with more, 40 of them take longer than all else that plans */
#define PRICE_BITS 24       /* of a price's numbers, fewer where sums would overflow */

__extension__ typedef __int128 wide;

struct price { int64_t alpha, beta; }; /* of a plan: alpha * cost + beta * usage */

struct run {
	const struct shard_chain *chain;
	struct chain_model model;
	struct chain_search search;
	struct control *control;
	uint64_t most_ticks; /* the caller's limit; 0: none */
	uint64_t patience;   /* ticks from which on there is no more than the least effort for each part */
	struct chain_plan *plan;
	struct error *error;
	int64_t cost, usage;    /* of plan->choice, where there is one: the best within the limit */
	uint32_t *over, *other; /* like plan->choice: the last plan that doesn't fit; scratch. NULL: none yet */
	int64_t bound;
	struct price price;     /* of the best bound, alpha 0: there is none yet */
};

/* ---- models ---- */

static enum status open_link(struct run *run, uint32_t number)
{
	struct chain_search *search = &run->search;
	const struct chain_link *link = &run->model.link[number];
	struct chain_copy *copy = &search->copy[number];
	enum status status = chain_tree_build(&copy->tree, &link->graph, TREE_BUDGET, run->control);
	ROOM(&search->arena, copy->power, link->blocks);
	if (status == OK && !copy->power)
		status = NO_MEMORY;
	FOR_WHILE(block, link->blocks, status == OK)
		status = chain_power_begin(&copy->power[block], link->states, link->length, &search->arena);
	return status;
}

static void close_model(struct run *run)
{
	FOR_WHILE(i, run->model.links, run->search.copy)
		chain_tree_free(&run->search.copy[i].tree);
	chain_tree_free(&run->search.core);
	arena_free(&run->search.arena);
	chain_model_free(&run->model);
	run->search.copy = NULL;
}

/* About what weighing takes. */
static uint64_t chain_pass_ticks(const struct run *run)
{
	uint64_t ticks = run->search.core.entries / 4;
	FOR(i, run->model.links) {
		const struct chain_link *link = &run->model.link[i];
		ticks += run->search.copy[i].tree.entries / 4;
		ticks += (uint64_t)link->blocks * link->states * link->states * link->states *
			(2 * run->search.copy[i].power->squares) / 8;
	}
	return ticks;
}

/* The effort that is left, at least so much. */
static void grant(struct run *run, uint64_t least)
{
	uint64_t limit = LARGER(run->control->ticks + least, run->patience);
	run->control->limit = run->most_ticks == 0 || limit < run->most_ticks ? limit : run->most_ticks;
}

static enum status open_model(struct run *run)
{
	struct chain_search *search = &run->search;
	uint32_t states = 0;
	close_model(run);
	search->model = &run->model;
	search->control = run->control;
	TRY(chain_model_build(&run->model, run->chain, run->error));
	NEED(ROOM(&search->arena, search->copy, run->model.links));
	FOR(i, run->model.links) {
		states += run->model.link[i].blocks * run->model.link[i].states;
		TRY(open_link(run, i));
	}
	run->plan->states = LARGER(states, run->plan->states);
	TRY(chain_tree_build(&search->core, &run->model.core, TREE_BUDGET, run->control));
	if (chain_pass_ticks(run) > PASS_MOST)
		return LIMIT;
	/* prices first, whatever the effort: plans on the way are far from good */
	grant(run, PASSES_LEAST * chain_pass_ticks(run) + TICKS_LEAST);
	return OK;
}

/* Sums at this price don't overflow. */
static bool weighable(const struct run *run, struct price price)
{
	return (wide)price.alpha * run->model.costs + (wide)price.beta * run->model.usages < CHAIN_WEIGHT_MAX;
}

/* A whole plan's weight, of one within the model. */
static wide whole_weight(const struct run *run, int64_t weight)
{
	return weight + (wide)run->search.alpha * run->model.base_cost + (wide)run->search.beta * run->model.base_usage;
}

static wide chain_weight_at(struct price price, int64_t cost, int64_t usage)
{
	return (wide)price.alpha * cost + (wide)price.beta * usage;
}

/* ---- plans ---- */

static void chain_write_node(const struct run *run, const struct chain_choice *found, uint32_t node, uint32_t *choice)
{
	const struct chain_model *model = &run->model;
	const struct shard_chain *chain = run->chain;
	uint32_t copies = chain_copies(chain, node);
	const uint32_t *original = model->original + model->first[node];
	choice[0] = original[found->core[model->var[AT_FIRST][node]]];
	choice[copies - 1] = original[found->core[model->var[AT_LAST][node]]];
	FOR_WHILE(i, model->links, copies > 2) {
		const struct chain_path *path = &found->path[i];
		FOR_WHILE(copy, model->link[i].length, model->link[i].segment == chain->segment[node])
			choice[copy + 1] = original[path->value[path->arc[copy]][model->link[i].var[node]]];
	}
}

/* Into the array of a whole plan, which is made where there is none. */
static enum status chain_write_choice(struct run *run, const struct chain_choice *found, uint32_t **choice)
{
	struct chain_plan *plan = run->plan;
	const struct shard_chain *chain = run->chain;
	if (!plan->start && !ROOM(&plan->arena, plan->start, (size_t)chain->nodes + 1))
		return NO_MEMORY;
	FOR(node, chain->nodes)
		plan->start[node + 1] = plan->start[node] + chain_copies(chain, node);
	if (!*choice && !(*choice = arena_alloc(&plan->arena, plan->start[chain->nodes], sizeof **choice)))
		return NO_MEMORY;
	FOR(node, chain->nodes)
		chain_write_node(run, found, node, *choice + plan->start[node]);
	return OK;
}

struct vertex { int64_t cost, usage; };

/* Takes the choice over where it is within the limit, and the best. Frees it; says what it comes to. */
static enum status chain_offer(struct run *run, struct chain_choice *choice, struct vertex *vertex)
{
	enum status status = OK;
	*vertex = (struct vertex) { choice->cost + run->model.base_cost, choice->usage + run->model.base_usage };
	bool fits = run->chain->limit < 0 || vertex->usage <= run->chain->limit;
	if (fits &&
		(!run->plan->choice || vertex->cost < run->cost || (vertex->cost == run->cost && vertex->usage < run->usage))) {
		run->cost = vertex->cost;
		run->usage = vertex->usage;
		status = chain_write_choice(run, choice, &run->plan->choice);
	} else if (!fits) {
		status = chain_write_choice(run, choice, &run->over);
	}
	chain_choice_free(choice);
	return status;
}

/* ---- prices ---- */

/* No plan within the limit costs less than (weight - beta * limit) / alpha. */
static int64_t bound_at(const struct run *run, int64_t weight)
{
	wide sum = whole_weight(run, weight) - (run->chain->limit >= 0 ? (wide)run->search.beta * run->chain->limit : 0);
	wide alpha = run->search.alpha, whole = sum / alpha + (sum % alpha > 0);
	return whole < -CHAIN_COST_MAX ? -CHAIN_COST_MAX : (int64_t)whole;
}

/* The last of a fraction's convergents whose numbers have so many bits: as near as such numbers get, but for a factor
 * of two. */
static struct price simplify(int64_t beta, int64_t alpha, int bits)
{
	struct price before = { 1, 0 }, here = { 0, 1 }; /* 0 / 1 and 1 / 0 */
	while (alpha > 0) {
		int64_t whole = beta / alpha, rest = beta % alpha;
		wide next_beta = (wide)whole * here.beta + before.beta, next_alpha = (wide)whole * here.alpha + before.alpha;
		if ((next_beta >> bits || next_alpha >> bits) && here.alpha > 0 && here.beta > 0)
			break;
		before = here;
		here = (struct price) { (int64_t)next_alpha, (int64_t)next_beta };
		beta = alpha;
		alpha = rest;
	}
	return here;
}

/* About as beta / alpha, with numbers that sums don't overflow at. */
static bool set_price(const struct run *run, int64_t beta, int64_t alpha, struct price *price)
{
	for (int bits = PRICE_BITS; bits > 3; bits--) {
		*price = simplify(beta, alpha, bits);
		if (weighable(run, *price))
			return true;
	}
	return false;
}

/* The best plan at a price, and the bound that the price is. */
static enum status chain_look(struct run *run, struct price price, struct vertex *found)
{
	struct chain_choice choice;
	if (!weighable(run, price))
		return LIMIT;
	chain_weigh(&run->search, price.alpha, price.beta);
	if (chain_blocked(run->search.weight))
		return INFEASIBLE;
	int64_t bound = price.alpha > 0 ? bound_at(run, run->search.weight) : 0;
	if (price.alpha > 0 && (bound > run->bound || !run->price.alpha)) {
		run->bound = bound;
		run->price = price;
	}
	if (control_status(run->control) == CANCELLED)
		return CANCELLED;
	TRY(chain_decode(&run->search, &choice));
	return chain_offer(run, &choice, found);
}

/* Something between the best plan and the last one that doesn't fit. */
static enum status splice(struct run *run)
{
	const struct shard_chain *chain = run->chain;
	FOR_WHILE(i, chain->segments, run->over && run->plan->choice && step_runs("chain.splice")) {
		int64_t cost, usage;
		if (!run->other)
			NEED(run->other = arena_alloc(&run->plan->arena, run->plan->start[chain->nodes], sizeof *run->other));
		if (chain->copies[i] < 4 || chain_splice(chain, run->plan, run->over, i, run->other, &cost, &usage) != OK ||
			cost >= run->cost)
			continue;
		uint32_t *better = run->other;
		run->other = run->plan->choice;
		run->plan->choice = better;
		run->cost = cost;
		run->usage = usage;
	}
	return OK;
}

/* Between a plan that is too large and one that fits, until none lies below the line through both. */
static enum status chain_find_price(struct run *run, struct vertex over, struct vertex under)
{
	for (int i = 0; i < PRICES && under.cost > over.cost && run->cost > run->bound; i++) {
		struct price price;
		struct vertex found;
		if (!set_price(run, under.cost - over.cost, over.usage - under.usage, &price))
			return LIMIT;
		TRY(chain_look(run, price, &found));
		TRY(control_status(run->control));
		wide weight = whole_weight(run, run->search.weight);
		if (weight >= chain_weight_at(price, over.cost, over.usage) ||
			weight >= chain_weight_at(price, under.cost, under.usage))
			return splice(run);
		*(found.usage <= run->chain->limit ? &under : &over) = found;
		TRY(splice(run));
	}
	return OK;
}

static enum status no_plan(struct run *run, int64_t usage)
{
	run->plan->usage = usage;
	return usage < 0 ? fail(run->error, INFEASIBLE, "forbidden pairs leave no choice")
		: fail(run->error, INFEASIBLE, "the least usage is %lld, above the limit of %lld",
						   (long long)usage, (long long)run->chain->limit);
}

/* The plan of least usage that costs little besides, or, where that doesn't fit, of least usage. */
static enum status find_under(struct run *run, struct vertex *under)
{
	struct price usage = { 0, 1 }, both = { 1, 1 };
	while (weighable(run, (struct price) { 1, 4 * both.beta }) && both.beta < CHAIN_COST_MAX)
		both.beta *= 4;
	TRY(chain_look(run, both, under));
	return !run->plan->choice ? chain_look(run, usage, under) : OK;
}

static enum status search_plans(struct run *run)
{
	struct price cost = { 1, 0 };
	struct vertex over, under;
	enum status status = open_model(run);
	THEN(status, chain_look(run, cost, &over));
	if (status == INFEASIBLE)
		return no_plan(run, -1);
	if (status != OK || run->plan->choice)
		return status;
	TRY(find_under(run, &under));
	if (!run->plan->choice)
		return no_plan(run, under.usage);
	return chain_find_price(run, over, under);
}

/* ---- results ---- */

static enum status chain_finish(struct run *run)
{
	struct chain_plan *plan = run->plan;
	plan->bound = SMALLER(run->bound, run->cost);
	plan->bound_kind = chain_bound_names[CHAIN_EXACT];
	plan->alpha = run->price.alpha;
	plan->beta = run->price.beta;
	plan->priced = run->bound;
	enum status status = shard_chain_evaluate(run->chain, plan, &plan->cost, &plan->usage, run->error);
	plan->proved = status == OK && plan->cost == plan->bound;
	return status;
}

enum status shard_chain_solve(const struct shard_chain *chain, uint64_t effort, struct control *control,
	struct chain_plan *plan, struct error *error)
{
	struct run run = { .chain = chain, .control = control, .plan = plan, .error = error, .most_ticks = control->limit };
	*plan = (struct chain_plan) { 0 };
	TRY(shard_chain_valid(chain, error));
	run.patience = control->ticks + effort;
	if (control->limit == 0 || control->ticks + effort < control->limit)
		control->limit = control->ticks + effort;
	enum status status = search_plans(&run);
	if ((status == OK || status == LIMIT || status == CANCELLED) && plan->choice) {
		enum status finished = chain_finish(&run);
		status = finished != OK ? finished : plan->proved ? OK : status == OK ? LIMIT : status;
	}
	control->limit = run.most_ticks;
	close_model(&run);
	if (status == NO_MEMORY)
		chain_plan_free(plan);
	return status == NO_MEMORY ? fail_memory(error) : status;
}

void chain_plan_free(struct chain_plan *plan)
{
	arena_free(&plan->arena);
	*plan = (struct chain_plan) { 0 };
}
