/* rough.c: chains whose tables are too large for elimination: a local search and multipliers over runs of copies.
 *
 * Plans come from shard_solve() on the chain with inner copies alike. The bound is a Lagrangian one that keeps its
 * strength over any number of copies: message passing over one inner copy whose steps lead back to itself says what
 * each node is worth to the copy before it (potentials); with those paid and refunded all copies fall apart into equal
 * problems, and multipliers of what is left bound each copy alike. */
#include <math.h>
#include <string.h>

#include "search.h"
#include "solver/problems/dual.h"

#define PAIRS_MOST 40000000
#define GAP 1e-6 /* between a plan of copies alike and their bound: nothing is proved of others anyway */
#define PASSES_MOST 100
#define PASSES_FEW 12
#define PATIENCE 4 /* passes, */
#define RISE 4e-4  /* and the share of the bound that they must raise it by */
#define PRICES 6

struct rough {
	const struct shard_chain *chain;
	struct control *control;
	struct chain_plan *plan;
	struct error *error;
	double multiplier; /* of usage, as the plan's search left it */
};

/* ---- plans ---- */

/* Every copy chooses as its run does. */
static enum status rough_take_choice(struct rough *rough, const struct chain_runs *runs, const uint32_t *choice)
{
	const struct shard_chain *chain = rough->chain;
	struct chain_plan *plan = rough->plan;
	NEED(ROOM(&plan->arena, plan->start, chain->nodes + (size_t)1));
	FOR(node, chain->nodes)
		plan->start[node + 1] = plan->start[node] + chain_copies(chain, node);
	NEED(plan->choice = arena_alloc(&plan->arena, plan->start[chain->nodes], sizeof *plan->choice));
	FOR(node, chain->nodes)
		for (size_t run = runs->start[node]; run < runs->start[node + 1]; run++) {
			size_t end = run + 1 < runs->start[node + 1] ? plan->start[node] + runs->begin[run + 1] : plan->start[node + 1];
			for (size_t copy = plan->start[node] + runs->begin[run]; copy < end; copy++)
				plan->choice[copy] = choice[run];
		}
	return shard_chain_evaluate(chain, plan, &plan->cost, &plan->usage, rough->error);
}

/* One plan, and where no copies are put together its bound, too. */
static enum status find_plan(
	struct rough *rough, uint32_t inner, uint64_t effort, enum chain_wants wants, bool *whole)
{
	struct chain_runs runs;
	OWN(shard_plan) found = { 0 };
	struct shard_options options = { .effort = effort };
	enum status status = chain_runs_write(rough->chain, STEPS_ALIKE, inner, NULL, PAIRS_MOST, &runs);
	*whole = runs.whole;
	options.passes = runs.whole ? PASSES_MOST : PASSES_FEW;
	options.gap = runs.whole ? 0 : GAP;
	options.unbounded = !runs.whole;
	if (status == OK && control_status(rough->control) == CANCELLED)
		status = CANCELLED;
	if (status == OK && (runs.whole || wants != CHAIN_BOUND)) {
		status = shard_solve(&runs.problem, &options, rough->control, &found, rough->error);
		if (found.choice) {
			enum status taken = rough_take_choice(rough, &runs, found.choice);
			status = taken == OK ? status : taken;
		}
		const struct shard_certificate *certificate = &found.certificate;
		rough->multiplier = certificate->moments > 0
			? ldexp((double)certificate->multiplier[0], -(int)certificate->shift)
			: 0;
		if (status == INFEASIBLE && !runs.whole) /* of copies alike */
			status = LIMIT;
	}
	rough->plan->bound = runs.whole ? found.bound : -CHAIN_COST_MAX;
	rough->plan->bound_kind = chain_bound_names[found.searched && runs.whole ? CHAIN_SEARCH : CHAIN_POLYTOPE];
	chain_runs_free(&runs);
	return status;
}

/* ---- bounds ---- */

/* Who wants it all to end wants no bound. */
static enum status rough_goes_on(const struct rough *rough)
{
	return control_status(rough->control) == CANCELLED ? LIMIT : OK;
}

static uint64_t rough_pass_ticks(const struct shard_model *model)
{
	return 2 * (model->first[model->nodes] + 2 * model->messages + (uint64_t)model->pair_count / 2);
}

/* Passes at one price, until they raise the bound no more. */
static void rough_pass(const struct rough *rough, struct shard_dual *dual, double multiplier, uint32_t most)
{
	const struct shard_model *model = dual->model;
	double last = -(double)HUGE_VAL;
	FOR(slot, model->slots)
		dual->multiplier[slot] = multiplier;
	shard_dual_price(model, dual->multiplier, dual->before, dual->priced);
	FOR(i, most) {
		shard_dual_pass(dual, NULL);
		if (control_spend(rough->control, rough_pass_ticks(model)))
			return;
		if (i % PATIENCE == PATIENCE - 1) {
			if (dual->bound - last < RISE * fabs(dual->bound))
				return;
			last = dual->bound;
		}
	}
}

struct ascent {
	struct chain_runs runs;
	struct shard_model model;
	struct shard_dual dual;
	double multiplier; /* of usage */
};

/* What a node's copies are worth to the copies before them: where messages over both sides of the tie agree. */
static void read_potential(const struct rough *rough, const struct ascent *ascent, uint32_t node, int64_t *potential)
{
	const struct shard_chain *chain = rough->chain;
	const struct shard_model *model = &ascent->model;
	const struct chain_runs *tied = &ascent->runs;
	uint32_t tie = model->node_of[tied->tie[node]], here = model->node_of[tied->start[node] + 1],
			 copies = chain_copies(chain, node);
	double most = (double)(SHARD_FORBIDDEN / 8) / copies;
	if (csr_length(&model->incident, tie) != 2)
		return;
	FOR(p, shard_width(model, tie)) {
		double sum = 0;
		FOR_ITEMS(edge, &model->incident, tie) {
			double message = ascent->dual.message[shard_into(model, edge, tie) + p];
			sum += shard_other(model, edge, tie) == here ? -message : message;
		}
		uint32_t strategy = chain->first[node] + shard_original(model, tied->tie[node], p);
		if (chain->cost[strategy] < SHARD_FORBIDDEN)
			potential[strategy] = llrint(fmax(-most, fmin(most, sum / 2 / (copies - 2))));
	}
}

static enum status rough_begin(
	const struct rough *rough, enum chain_steps steps, const int64_t *potential, struct ascent *ascent)
{
	*ascent = (struct ascent) { .multiplier = rough->multiplier };
	TRY(chain_runs_write(rough->chain, steps, 1, potential, PAIRS_MOST, &ascent->runs));
	TRY(rough_goes_on(rough));
	TRY(shard_model_build(&ascent->model, &ascent->runs.problem, rough->control, rough->error));
	return shard_dual_begin(&ascent->dual, &ascent->model);
}

static void rough_end(struct ascent *ascent)
{
	shard_dual_free(&ascent->dual);
	shard_model_free(&ascent->model);
	chain_runs_free(&ascent->runs);
}

/* The cut chain is the tied one without ties: over edges between the same two nodes messages go on from there. Edges
 * are sorted by their ends. */
static void go_on_from(const struct ascent *tied, struct ascent *cut)
{
	const struct shard_model *from = &tied->model, *to = &cut->model;
	for (uint32_t edge = 0, old = 0; edge < to->edges && old < from->edges; old++) {
		uint32_t tail = to->tail[edge], head = to->head[edge];
		if (from->tail[old] != tail || from->head[old] != head)
			continue;
		if (shard_width(from, tail) == shard_width(to, tail) && shard_width(from, head) == shard_width(to, head)) {
			memcpy(cut->dual.message + to->into_tail[edge], tied->dual.message + from->into_tail[old],
				shard_width(to, tail) * sizeof(double));
			memcpy(cut->dual.message + to->into_head[edge], tied->dual.message + from->into_head[old],
				shard_width(to, head) * sizeof(double));
		}
		edge++;
	}
}

/* Walks to the price of usage whose bound is best. */
static void rough_find_price(const struct rough *rough, struct shard_dual *dual, double *message, double *multiplier)
{
	const struct shard_model *model = dual->model;
	double best = -(double)HUGE_VAL, factor = 1.25, trial = rough->multiplier;
	*multiplier = trial;
	for (int i = 0; i < PRICES && control_status(rough->control) == OK; i++) {
		rough_pass(rough, dual, trial, i == 0 ? PASSES_MOST : PASSES_MOST / 5);
		if (dual->bound > best) {
			best = dual->bound;
			*multiplier = trial;
			COPY(message, dual->message, model->messages);
		} else {
			factor = 1 / sqrt(factor);
		}
		if (model->slots == 0 || rough->multiplier <= 0)
			return;
		trial = *multiplier * factor;
	}
}

/* The bound of the cut chain, in integers. */
static enum status bound_cut(const struct rough *rough, struct ascent *cut)
{
	const struct shard_model *model = &cut->model;
	struct shard_dual *dual = &cut->dual;
	struct shard_certificate certificate = { 0 };
	HELD double *MAKE(message, model->messages);
	enum status status = message ? OK : NO_MEMORY;
	if (status == OK) {
		rough_find_price(rough, dual, message, &cut->multiplier);
		COPY(dual->message, message, model->messages);
		FOR(slot, model->slots)
			dual->multiplier[slot] = cut->multiplier;
		status = rough_goes_on(rough);
	}
	THEN(status, shard_round(dual, &cut->runs.problem, &certificate));
	status = status == OK ? rough_goes_on(rough) : status;
	THEN(status, shard_bound(&cut->runs.problem, &certificate, rough->control, &rough->plan->bound, rough->error));
	shard_certificate_free(&certificate);
	return status;
}

static enum status rough_find_bound(const struct rough *rough)
{
	const struct shard_chain *chain = rough->chain;
	struct ascent tied = { .multiplier = 0 }, cut = { .multiplier = 0 };
	HELD int64_t *MAKE(potential, chain->first[chain->nodes]);
	enum status status = rough_goes_on(rough);
	status = status == OK ? rough_begin(rough, STEPS_TIED, NULL, &tied) : status;
	if (status == OK && !potential)
		status = NO_MEMORY;
	if (status == OK) {
		rough_pass(rough, &tied.dual, rough->multiplier, PASSES_MOST);
		FOR(node, chain->nodes)
			if (tied.runs.tie[node] != NONE)
				read_potential(rough, &tied, node, potential);
		status = rough_goes_on(rough);
	}
	THEN(status, rough_begin(rough, STEPS_CUT, potential, &cut));
	if (status == OK) {
		go_on_from(&tied, &cut);
		status = bound_cut(rough, &cut);
	}
	rough_end(&tied);
	rough_end(&cut);
	return status;
}

enum status chain_plan_join(struct chain_plan *plan, struct chain_plan *other)
{
	struct chain_plan *lower = plan->bound_kind && plan->bound > other->bound ? plan : other;
	int64_t bound = lower->bound;
	const char *bound_kind = lower->bound_kind;
	plan->alpha = other->alpha;
	plan->beta = other->beta;
	plan->priced = other->priced;
	if (!plan->choice || other->cost <= plan->cost) {
		struct chain_plan swap = *plan;
		*plan = *other;
		*other = swap;
	}
	plan->bound = SMALLER(bound, plan->cost);
	plan->bound_kind = bound_kind;
	plan->proved = plan->bound == plan->cost;
	return plan->proved ? OK : LIMIT;
}

enum status shard_chain_rough(const struct shard_chain *chain, uint64_t effort, enum chain_wants wants,
	struct control *control, struct chain_plan *plan, struct error *error)
{
	struct rough rough = { .chain = chain, .control = control, .plan = plan, .error = error };
	bool whole = false;
	*plan = (struct chain_plan) { 0 };
	enum status status = shard_chain_valid(chain, error);
	THEN(status, control_status(control) == CANCELLED ? CANCELLED : find_plan(&rough, 1, effort, wants, &whole));
	if (status == LIMIT && !plan->choice && !whole && chain->limit >= 0)
		status = find_plan(&rough, 4, effort, wants, &whole);
	if ((status == OK || status == LIMIT) && !whole && plan->bound_kind) {
		enum status found = wants != CHAIN_PLAN ? rough_find_bound(&rough) : OK;
		status = found == OK || found == LIMIT || found == CANCELLED ? LIMIT : found;
	}
	if (plan->choice && plan->bound > plan->cost)
		plan->bound = plan->cost;
	plan->proved = plan->choice && plan->bound == plan->cost;
	if (status == NO_MEMORY)
		chain_plan_free(plan);
	return plan->proved && status == LIMIT ? OK : status == NO_MEMORY ? fail_memory(error) : status;
}
