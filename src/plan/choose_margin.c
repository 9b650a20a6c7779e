/* choose_margin.c: rounds of plans with other margins: choices count with models, order and layout show what they come
 * to. */
#include "choose.h"
#include "src/scenario/shard_mesh.h"
#include "verdict.h"

#define FIT_ROUNDS 4
#define EXCESS_ROUNDS 6     /* of recomputation: the limit is lower by what the plan before was above the cap */
#define REFINE_ROUNDS 12    /* then by halves */
#define HOST_ROUNDS 3       /* where storages may wait in the host: each takes long, and others follow without it */
#define FINE 200            /* limits are told apart by so small a part of the cap */
#define NEAR 64             /* a plan that uses the cap but for so small a part of it */
#define CLOSE 500           /* or takes so small a part longer than one above the cap is good enough */

bool starts_without_cap(const struct scenario *scenario)
{
	return scenario_searches(scenario) && scenario_strategy(scenario) != STRATEGY_TAP && !scenario_cuts(scenario) &&
		scenario->value[K_recompute] != RECOMPUTE_AUTO && scenario_budget(scenario) >= 0;
}

/* The margin for another round: what this plan's arena has above the bytes that the choice counted with: the
 * program-order peak, the worst pipeline rank's by the model, or what stays of a sharding, which may well be more than
 * the arena. Else it exceeds the old margin by at least the deficit; a pipeline's first cut has none. False where a
 * round can't help: the plan fits and doesn't waste memory, there is nothing to choose, or what can be done is done
 * already. */
static bool next_margin(const struct plan *plan, int64_t *margin)
{
	int64_t budget = scenario_budget(&plan->scenario), peak = plan->transformed->fit_peak;
	bool first = plan->pipelined && plan->fit_margin == 0;
	if (budget < 0 || peak < 0 || plan->limited)
		return false;
	bool uncapped = plan->fit_margin == MARGIN_NO_CAP, nearest = !uncapped && !first && peak > budget - plan->fit_margin;
	if (starts_without_cap(&plan->scenario)) {
		bool fits = plan_needs(plan) <= budget, wastes = !uncapped && plan_needs(plan) < budget - budget / 50;
		*margin = plan_needs(plan) - peak;
		return fits ? wastes && *margin < plan->fit_margin : !nearest && *margin > plan->fit_margin;
	}
	if (plan_needs(plan) <= budget || nearest)
		return false;
	*margin = plan_needs(plan) == peak ? 1 : plan_needs(plan) - peak;
	return true;
}

static struct plan *rounds(const struct planning *planning, struct plan *first, bool quick, uint32_t *compared)
{
	struct shortlist list = { .goal = { starts_without_cap(planning->scenario) ? GOAL_FASTEST : GOAL_SMALLEST,
								  scenario_budget(&first->scenario) } };
	struct plan *last = first;
	struct plan_wish wish = { .margin = first->fit_margin };
	shortlist_add(&list, plan_retain(first));
	for (int round = 0; round < FIT_ROUNDS && next_margin(last, &wish.margin); round++) {
		struct plan *next = plan_once(planning, &wish, quick);
		if (!next)
			break;
		++*compared;
		plan_release(last);
		last = next;
		shortlist_add(&list, plan_retain(next));
	}
	struct plan *best = shortlist_take(&list);
	best->limited |= last->limited;
	plan_release(last);
	return best;
}

/* ---- recomputation ---- */

/* Limits that recomputation is tried with: halves of halves of a range that no cap changes, so that a larger cap never
 * ends at a smaller limit where what fits the one fits the other. */
struct halving {
	int64_t budget, low, step;  /* low: the largest that fits so far; it and what is searched above it, a power of two */
	int64_t fits, above; /* limits outside of the tree that were planned: up to the one plans keep the cap, from the
							other on none does */
	bool begun;
};

static int64_t persistent_bytes(const struct graph *graph)
{
	int64_t bytes = 0;
	FOR(s, graph->storages)
		bytes += graph->storage[s].persistent ? graph->storage[s].bytes : 0;
	return bytes;
}

static void begin_halving(struct halving *halving, const struct plan *plan)
{
	int64_t persistent = persistent_bytes(plan->graph);
	halving->begun = true;
	halving->low = persistent < halving->budget ? persistent : 0;
	halving->step = 1;
	while (halving->step < halving->budget - halving->low)
		halving->step *= 2;
}

/* Nothing keeps the limit, so that a smaller one leads to no other plan: what is left to be tried is above. */
static bool below_floor(const struct halving *halving, const struct plan *plan)
{
	const struct fitted *fitted = plan->fitted;
	int64_t limit = halving->budget - plan->fit_margin;
	return fitted && fitted->replayed > limit;
}

/* A plan that fits needs nearly all there is, or takes hardly longer than the first one. */
static bool choose_margin_is_close(const struct halving *halving, const struct plan *first, const struct plan *plan)
{
	return !below_floor(halving, plan) && (plan_needs(plan) >= halving->budget - halving->budget / NEAR ||
		plan->speed.time - first->speed.time <= first->speed.time / CLOSE);
}

/* The limit for another round, after a plan; -1: none helps. First what the plan itself shows: its arena's part above
 * what recomputation counted with. */
static int64_t choose_margin_next_limit(
	struct halving *halving, const struct plan *first, const struct plan *plan, int round)
{
	int64_t limit = halving->budget - plan->fit_margin, margin;
	bool fits = plan_needs(plan) <= halving->budget;
	if (round < EXCESS_ROUNDS && !halving->begun && next_margin(plan, &margin) && margin > plan->fit_margin &&
		margin < halving->budget)
		return halving->budget - margin;
	if (round <= EXCESS_ROUNDS && !halving->begun && fits && choose_margin_is_close(halving, first, plan))
		return -1;
	if (!halving->begun) {
		begin_halving(halving, plan);
		halving->fits = fits ? limit : -1;
		halving->above = fits || below_floor(halving, plan) ? halving->budget - first->fit_margin : limit;
	} else if (fits || below_floor(halving, plan)) {
		halving->low = limit;
	}
	for (halving->step /= 2; halving->step > halving->budget / FINE; halving->step /= 2) {
		int64_t node = halving->low + halving->step;
		if (node > halving->fits && node < halving->above)
			return node;
		halving->low = node <= halving->fits ? node : halving->low;
	}
	return -1;
}

/* recompute=auto: the largest limit found whose plan keeps the cap. */
static struct plan *choose_margin_refine(
	const struct planning *planning, struct plan *first, bool alone, bool quick, uint32_t *compared)
{
	int rounds = planning->scenario->value[K_offload] && !alone ? HOST_ROUNDS : REFINE_ROUNDS;
	struct halving halving = { .budget = scenario_budget(planning->scenario) };
	struct shortlist list = { .goal = { GOAL_FASTEST, halving.budget } };
	int64_t peak = first->transformed->fit_peak;
	bool unfit = first->pipelined && first->pipelined->unfit && first->fit_margin <= 0;
	if (unfit || plan_needs(first) <= halving.budget || peak < 0 || first->limited ||
		(!first->pipelined && peak > halving.budget - first->fit_margin))
		return first;
	struct plan *last = plan_retain(first);
	shortlist_add(&list, plan_retain(first));
	for (int round = 0; !last->limited; round++) {
		int64_t limit = round < rounds ? choose_margin_next_limit(&halving, first, last, round) : -1;
		struct plan_wish wish = { .margin = halving.budget - limit, .alone = alone };
		struct plan *next = limit < 0 ? NULL : plan_once(planning, &wish, quick);
		if (!next)
			break;
		++*compared;
		plan_release(last);
		last = plan_retain(next);
		shortlist_add(&list, next);
	}
	struct plan *best = shortlist_take(&list);
	best->limited |= last->limited;
	plan_release(last);
	plan_release(first);
	return best;
}

/* offload=on: recomputation without the host, planned as well, where it may take less time: choices under the same cap
 * were compared, but this plan may wait for copies longer than was counted, or leave a part of the cap to the layout
 * that another wouldn't. Takes the plan over. */
static struct plan *try_alone(const struct planning *planning, struct plan *plan, bool quick, uint32_t *compared)
{
	int64_t budget = scenario_budget(planning->scenario), extra = plan_extra_time(plan);
	const struct fitted *fitted = plan->fitted;
	struct plan_wish wish = { .alone = true };
	if (quick || plan->limited || planning->error->status != OK || !fitted || plan->pipelined ||
		!planning->scenario->value[K_offload])
		return plan;
	bool whole = plan->fit_margin <= 0,
		 least = extra == 0 || (whole && (extra <= fitted->extra || (fitted->away > 0 && extra <= fitted->alone)));
	if (fitted->impossible ? whole : plan_needs(plan) <= budget && least)
		return plan;
	struct plan *first = plan_once(planning, &wish, false),
				*alone = first ? choose_margin_refine(planning, first, true, false, compared) : NULL;
	*compared += alone != NULL;
	return better_of(budget, plan, alone);
}

/* Where nothing keeps the cap, the plan of the least memory, on which no cap decides. */
static struct plan *fit_recomputation(
	const struct planning *planning, struct plan *first, bool quick, uint32_t *compared)
{
	struct plan *plan = try_alone(
		planning, choose_margin_refine(planning, first, false, quick, compared), quick, compared);
	int64_t budget = scenario_budget(planning->scenario);
	if (quick || plan->limited || plan_needs(plan) <= budget || planning->error->status != OK ||
		plan->pipelined)
		return plan;
	struct plan *least = plan_once(planning, &(struct plan_wish) { .margin = budget }, false);
	*compared += least != NULL;
	return better_of(budget, plan, least);
}

struct plan *choose_margin(const struct planning *planning, struct plan *first, bool quick, uint32_t *compared)
{
	struct plan *best = (planning->scenario->value[K_recompute] == RECOMPUTE_AUTO ? fit_recomputation : rounds)(
		planning, first, quick, compared);
	enum status status = planning->error->status;
	best->limited |= status == CANCELLED;
	if (status != NO_MEMORY && status != LIMIT) {
		error_set(planning->error, OK);
		return best;
	}
	plan_release(best);
	return NULL;
}
