/* choose.c: the policy of choosing: candidates in, the better plan out.
 *
 * Choices on the way to a plan (recomputation, sharding, cuts) count with models; order and layout show what they come
 * to. So plans are compared, by choose.h alone, and the stages are asked again with another wish: another share of
 * the memory cap, a rival sharding, the least memory. */
#include "choose.h"
#include "solver/base/names.h"
#include "src/stages/shard/stage.h"
#include "verdict.h"

#define LIMIT_ROUNDS 6      /* without rivals they are short */
#define SEEN_MOST 3

struct choosing {
	const struct planning *planning;
	const struct plan *rival;   /* of another schedule, which only a better plan is worth planning against; or NULL */
	struct shortlist list;      /* of all plans so far */
	bool limited;               /* cut short */
	bool left_out;              /* moves, which the cap may need */
	uint32_t compared;          /* shardings planned so far */
	uint32_t foretold;          /* shardings of which a few layers alone were planned */
	struct few_layers *layers;  /* of a step with very many that are equal; else NULL */
	struct plan *first;         /* of all */
	bool capped;                /* auto, which found the first without the cap */
	struct sharded *seen[SEEN_MOST]; /* auto: results whose rivals were compared already, each kept alive */
	uint32_t seens;
};

static bool is_automatic(const struct planning *planning)
{
	return scenario_strategy(planning->scenario) == STRATEGY_AUTO;
}

/* After a candidate: whether another one may follow. One that came to nothing leaves the others, but for what ends
 * every run. */
static bool choose_goes_on(struct choosing *choosing)
{
	struct error *error = choosing->planning->error;
	choosing->limited |= error->status == CANCELLED;
	if (error->status == NO_MEMORY || error->status == LIMIT)
		return false;
	error_set(error, OK);
	return !choosing->limited;
}

/* What a candidate has to beat: the best plan so far, or one that another schedule has shown. Lent. */
static const struct plan *leader_of(const struct choosing *choosing)
{
	const struct plan *leader = shortlist_leader(&choosing->list);
	struct goal fastest = { GOAL_FASTEST, scenario_budget(choosing->planning->scenario) };
	struct foretold ours = plan_came_to(leader), theirs = choosing->rival ? plan_came_to(choosing->rival) : ours;
	return foretold_better(&fastest, &theirs, &ours) ? choosing->rival : leader;
}

/* ---- limits: what choices count with is not the arena ---- */

/* Limits of what stays: with the lower one a plan kept the cap, or no sharding keeps it; with the upper one the plan
 * was above the cap. */
struct bracket { int64_t low, high; };

/* The next limit: what the last plan's arena leaves of the cap, if comings and goings stay as they are; else the
 * middle. < 0: there is none between. */
static int64_t choose_next_limit(const struct plan *last, const struct bracket *bracket, int64_t budget)
{
	int64_t guess = budget - (plan_needs(last) - last->transformed->fit_peak);
	if (bracket->high - bracket->low <= bracket->high / 64)
		return -1;
	return guess > bracket->low && guess < bracket->high ? guess : bracket->low + (bracket->high - bracket->low) / 2;
}

/* auto, whose first plan needs more than the cap: plans of what a search finds within other limits of what stays, as
 * the arena may be more than that or less. *margin: that of the best of them. */
static void fit_limits(struct choosing *choosing, struct plan *first, int64_t *margin)
{
	const struct planning *planning = choosing->planning;
	int64_t budget = scenario_budget(&first->scenario);
	struct goal goal = { GOAL_FASTEST, budget };
	struct foretold best = { INT64_MAX, INT64_MAX };
	struct bracket bracket = { 0, first->transformed->fit_peak };
	struct plan_wish wish = { .rivals = RIVALS_NONE, .first = first->sharded };
	struct plan *last = plan_retain(first);
	for (int round = 0; round < LIMIT_ROUNDS && !last->limited; round++) {
		int64_t limit = choose_next_limit(last, &bracket, budget);
		wish.margin = budget - limit;
		struct plan *next = limit < 0 ? NULL : plan_once(planning, &wish, false);
		if (!next)
			break;
		struct foretold came = plan_came_to(next);
		choosing->compared++;
		if (came.needs <= budget || next->transformed->fit_peak > limit)
			bracket.low = limit;
		else
			bracket.high = next->transformed->fit_peak;
		*margin = foretold_better(&goal, &came, &best) ? next->fit_margin : *margin;
		best = foretold_better(&goal, &came, &best) ? came : best;
		plan_release(last);
		last = next;
		shortlist_add(&choosing->list, plan_retain(next));
	}
	plan_release(last);
}

/* ---- rivals: planned memory and time decide between shardings ---- */

#define NEAR_PERCENT 3   /* heuristics alone are this near to a complete plan's arena */
#define FAR_PERCENT 25   /* no order and no layout takes that much off heuristics' arena */

static bool choose_is_over(const struct plan *plan)
{
	int64_t budget = scenario_budget(&plan->scenario);
	return budget >= 0 && plan_needs(plan) > budget;
}

/* Whether heuristics alone leave a rival a chance of less memory than the best. */
static bool has_chance(const struct plan *best, const struct plan *quick)
{
	return plan_needs(quick) <= plan_needs(best) + plan_needs(best) / 100 * NEAR_PERCENT;
}

/* auto: whether no order of a rival's graph can be as fast as the best plan so far. Of accumulated microbatches the
 * time doesn't depend on the order. */
static bool is_slower_in_any_order(
	const struct planning *planning, const struct plan *best, const struct transformed *transformed)
{
	if (!is_automatic(planning) || choose_is_over(best))
		return false;
	int64_t least = transformed->pipelined ? transformed->pipelined->time
		: plan_time_least(transformed->graph, transformed->sharded, planning->scenario, planning->stage->rules);
	return least >= 0 && !is_as_fast(least, plan_step_time(best));
}

/* auto, whose best keeps the cap: whether a rival that heuristics planned can't be taken, whatever its order: as it is
 * far above the cap, or by a bound on its step. Of accumulated microbatches the time itself is one. */
static bool is_behind(const struct plan *best, struct plan *quick)
{
	int64_t budget = scenario_budget(&best->scenario), time = plan_step_time(best);
	if (budget >= 0 && plan_needs(quick) > budget + budget / 100 * FAR_PERCENT)
		return true;
	if (is_as_fast(plan_step_time(quick), time) || !quick->time)
		return false;
	return best->scenario.value[K_microbatches] > 1 ||
		(plan_time_bound(quick->time) == OK && !is_as_fast(quick->time->bound.bound, time));
}

#define SLOW_PART 40     /* a glance longer than the best step by such a part */

/* auto: whether a few passes say that a rival comes to no plan as fast as the best so far. */
static bool looks_slow(const struct planning *planning, const struct plan *best, const struct plan *quick)
{
	bool seeks = is_automatic(planning) && !choose_is_over(best) && scenario_seeks_time(planning->scenario) &&
		planning->scenario->value[K_microbatches] == 1;
	return seeks && plan_glance(planning, quick) - plan_step_time(best) > plan_step_time(best) / SLOW_PART;
}

/* Adds the plans of a wish to a list, where it has a chance against the best so far; auto's also as heuristics planned
 * it, as the complete one may be slower. sure: only what no order can mend rules it out. */
static void plan_candidate(struct choosing *choosing, const struct plan_wish *wish, bool sure, struct shortlist *list)
{
	const struct planning *planning = choosing->planning;
	const struct plan *best = leader_of(choosing);
	struct transformed *transformed = stage_transform(
		planning->stage, planning->input, planning->scenario, wish, false, planning->error);
	bool hopeless = transformed && is_slower_in_any_order(planning, best, transformed), fastest = is_automatic(planning);
	struct plan *quick = transformed && !hopeless ? plan_transformed(planning, transformed, wish, true) : NULL;
	bool near = quick && (fastest && !choose_is_over(best) ? !is_behind(best, quick) : sure || has_chance(best, quick));
	choosing->compared++;
	near = near && !looks_slow(planning, best, quick);
	if (near)
		plan_each_order(planning, transformed, wish, false, list);
	if (near && fastest) {
		quick->complete = true;    /* as a candidate: nothing better of it follows */
		shortlist_add(list, plan_retain(quick));
	}
	plan_release(quick);
	transformed_release(transformed);
}

/* Whether an earlier result had this sharding already, itself or as a rival: it was compared then, and the best so far
 * only gets better. */
static bool is_seen(const struct choosing *choosing, const struct sharding *sharding)
{
	bool seen = false;
	for (uint32_t i = 0; i < choosing->seens && !seen; i++) {
		struct sharded *sharded = choosing->seen[i];
		seen = sharding_equal(&sharded->shared->units, &sharded->sharding, sharding);
		for (uint32_t k = 0; k < sharded->rivals && !seen; k++)
			seen = sharding_equal(&sharded->shared->units, &sharded->rival[k], sharding);
	}
	return seen;
}

static void keep_seen(struct choosing *choosing, struct sharded *sharded)
{
	if (choosing->seens < SEEN_MOST)
		choosing->seen[choosing->seens++] = sharded_retain(sharded);
}

/* Rivals in the order in which they are planned: the least estimate first, as a fast leader rules others out. */
static void rank_rivals(const struct sharded *sharded, uint32_t rank[SHARD_RIVALS])
{
	FOR(i, sharded->rivals) {
		uint32_t at = i;
		for (; at > 0 && sharded->rival_time[rank[at - 1]] > sharded->rival_time[i]; at--)
			rank[at] = rank[at - 1];
		rank[at] = i;
	}
}

/* Every rival planned, or ruled out by its plan by heuristics. What auto promises to be no slower than, experts'
 * shardings, is planned even where nothing keeps the cap so far. */
static void judge_each(struct choosing *choosing, const struct plan *first)
{
	const struct sharded *sharded = first->sharded;
	uint32_t rank[SHARD_RIVALS];
	rank_rivals(sharded, rank);
	for (uint32_t i = 0; i < sharded->rivals && choose_goes_on(choosing); i++) {
		struct plan_wish wish = { .margin = first->fit_margin, .rival = 1 + rank[i], .first = sharded };
		if (!is_seen(choosing, &sharded->rival[rank[i]]))
			plan_candidate(choosing, &wish,
				is_automatic(choosing->planning) && rank[i] < sharded->experts, &choosing->list);
	}
}

/* Plans prospects, the most promising one first, as long as one has a chance against the best so far. */
static void plan_prospects(struct choosing *choosing, struct prospects *prospects)
{
	struct goal *goal = &choosing->list.goal;
	while (choose_goes_on(choosing)) {
		uint32_t next = prospects_next(prospects, goal);
		if (next == NONE)
			return;
		struct shortlist own = { .goal = *goal };
		plan_candidate(choosing, &prospects->prospect[next].wish, true, &own);
		const struct plan *plan = shortlist_leader(&own);
		struct foretold after = plan ? plan_came_to(plan) : prospects->best;
		prospects_planned(prospects, next, plan ? &after : NULL, foretold_better(goal, &after, &prospects->best));
		while (own.plans > 0)
			shortlist_add(&choosing->list, own.plan[--own.plans]);
	}
}

/* The wishes that ask for a search's rivals, in the order in which it has them. */
static enum status foretell_rivals(
	struct choosing *choosing, const struct sharded *sharded, int64_t margin, struct prospects *prospects)
{
	FOR(i, sharded->rivals) {
		struct prospect prospect = { .wish = { .margin = margin, .rival = 1 + i, .first = sharded },
			.sharding = &sharded->rival[i],
			.promised = i < sharded->experts };
		if (!is_seen(choosing, &sharded->rival[i]))
			TRY(prospects_add(prospects, choosing->layers, choosing->planning, &prospect));
	}
	return OK;
}

/* Of a step with very many equal layers: rivals are foretold, and those with a chance are planned. False where they
 * can't be. */
static bool judge_foretold(struct choosing *choosing, struct plan *first)
{
	struct prospects prospects = { .count = 0 };
	enum status status = prospects_begin(&prospects, choosing->layers, choosing->planning, first);
	if (status == OK)
		status = foretell_rivals(choosing, first->sharded, first->fit_margin, &prospects);
	if (status == INFEASIBLE)
		return false;
	choosing->foretold += prospects.count;
	if (status == OK)
		plan_prospects(choosing, &prospects);
	return true;
}

/* What search and experts count is what stays; order and layout add what comes and goes. Adds the first plan and its
 * rivals'. Takes the first plan over. */
static void choose_judge(struct choosing *choosing, struct plan *first)
{
	struct sharded *sharded = first->sharded;
	choosing->limited |= first->limited;
	shortlist_add(&choosing->list, plan_retain(first));
	if (sharded && !choosing->limited && sharded->rivals > 0 && step_runs("choose.rivals")) {
		if (!choosing->layers || !judge_foretold(choosing, first))
			judge_each(choosing, first);
		keep_seen(choosing, sharded);    /* only now: it would rule out its own rivals */
	}
	plan_release(first);
}

/* ---- what minred finds ---- */

static bool least_helps(const struct choosing *choosing)
{
	const struct plan *best = shortlist_leader(&choosing->list);
	const struct scenario *scenario = choosing->planning->scenario;
	return best->sharded && is_automatic(choosing->planning) &&
		scenario->value[K_recompute] != RECOMPUTE_AUTO && (!scenario_cuts(scenario) || choose_is_over(best));
}

/* What minred finds as a candidate of auto: it may be faster than what the estimate chose. Of a pipeline where nothing
 * fits the cap so far. */
static void try_least(struct choosing *choosing)
{
	const struct planning *planning = choosing->planning;
	const struct plan *best = shortlist_leader(&choosing->list);
	struct plan_wish wish = { .margin = scenario_cuts(planning->scenario) ? best->fit_margin : MARGIN_NO_CAP,
		.least = true,
		.first = choosing->first->sharded };
	struct transformed *transformed = stage_transform(
		planning->stage, planning->input, planning->scenario, &wish, false, planning->error);
	if (transformed && !is_seen(choosing, &transformed->sharded->sharding))
		plan_candidate(choosing, &wish, true, &choosing->list);
	transformed_release(transformed);
}

/* ---- all candidates ---- */

/* The first and its rivals, where it isn't found without the cap after rounds that fit choices to it. */
static void choose_first(struct choosing *choosing)
{
	struct plan *plan = plan_retain(choosing->first);
	if (!choosing->capped)
		plan = choose_margin(choosing->planning, plan, false, &choosing->compared);
	if (plan)
		choose_judge(choosing, plan);
}

static bool limits_help(const struct choosing *choosing)
{
	return choosing->capped && choosing->first->transformed->fit_peak >= 0 && choose_is_over(choosing->first);
}

/* Other limits of what stays, and the rivals of the best of them. */
static void try_limits(struct choosing *choosing)
{
	struct plan_wish wish = {
		.margin = MARGIN_NO_CAP, .rivals = RIVALS_ALONE, .first = choosing->first->sharded
	};
	fit_limits(choosing, choosing->first, &wish.margin);
	if (!choose_goes_on(choosing) || wish.margin == MARGIN_NO_CAP)
		return;
	struct plan *other = plan_once(choosing->planning, &wish, false);
	choosing->compared += other != NULL;
	if (other)
		choose_judge(choosing, other);
}

static bool has_placement_pins(const struct scenario *scenario)
{
	bool any = false;
	FOR(i, scenario->pins)
		any |= scenario->pin[i].kind == PIN_PLACEMENT;
	return any;
}

/* Whether a plan may be as fast as any: the first of all keeps the cap, and its step, or the best's, is no longer than
 * the least estimate. */
static bool choose_is_fastest(const struct plan *first, const struct plan *best)
{
	const struct transformed *transformed = first->transformed;
	bool estimated = transformed->sharded && !transformed->pipelined;
	return !choose_is_over(first) && (!estimated || plan_step_time(best) <= transformed->sharded->cost.total);
}

static bool moves_help(const struct choosing *choosing)
{
	return choosing->capped && !has_placement_pins(choosing->planning->scenario) &&
		!choose_is_fastest(choosing->first, shortlist_leader(&choosing->list));
}

/* auto under a cap on a small graph: what moves from the fastest and from the best so far lead to. */
static void try_moves(struct choosing *choosing)
{
	OWN(plan) *best = plan_retain(shortlist_leader(&choosing->list));
	const struct plan *start[] = { choosing->first, best };
	struct shard_moves moves;
	enum status status = shard_moves_find(choosing->planning, start, 2, best, &moves);
	choosing->compared += moves.plans;
	choosing->left_out = moves.left_out && choose_is_over(choosing->first);
	if (status == OK && moves.found.split) {
		struct plan_wish wish = { .margin = MARGIN_NO_CAP, .first = moves.from->sharded, .told = &moves.found };
		choosing->compared--;
		plan_candidate(choosing, &wish, true, &choosing->list);
	}
	sharding_free(&moves.found);
}

static bool order_helps(const struct choosing *choosing)
{
	const struct scenario *scenario = choosing->planning->scenario;
	return scenario_searches(scenario) && is_automatic(choosing->planning) && scenario->value[K_order] == ORDER_FAST &&
		choose_is_over(choosing->first);
}

/* order=fast within a cap: what candidates need depends on their orders, and so does which limits are tried next. The
 * sharding that order=auto leads to is a candidate, too, so that auto takes no longer than with it. */
static void try_comparing_order(struct choosing *choosing)
{
	const struct planning *planning = choosing->planning;
	const struct plan *best = shortlist_leader(&choosing->list);
	struct scenario scenario;
	if (scenario_copy(&scenario, planning->scenario) != OK)
		return;
	scenario.value[K_order] = ORDER_AUTO;
	struct planning other = *planning;
	other.scenario = &scenario;
	struct plan *plan = choose_plan(&other, best);
	struct foretold ours = plan_came_to(best), theirs = plan ? plan_came_to(plan) : ours;
	if (plan && !plan->limited && plan->sharded && foretold_better(&choosing->list.goal, &theirs, &ours)) {
		struct plan_wish wish = {
			.margin = MARGIN_NO_CAP, .first = plan->sharded, .told = &plan->sharded->sharding
		};
		plan_candidate(choosing, &wish, true, &choosing->list);
		choosing->compared += plan->compared - 1;
	}
	plan_release(plan);
	scenario_done(&scenario);
}

/* Where candidates come from. docs/benchmarks.md says what each is worth. helps: NULL: always. */
static const struct step {
	const char *name;
	bool (*helps)(const struct choosing *choosing);
	void (*run)(struct choosing *choosing);
} steps[] = {
	{ "first", NULL, choose_first },
	{ "choose.limits", limits_help, try_limits },
	{ "choose.least", least_helps, try_least },
	{ "choose.moves", moves_help, try_moves },
	{ "choose.order", order_helps, try_comparing_order },
};

static void choose_among(struct choosing *choosing)
{
	const struct scenario *scenario = choosing->planning->scenario;
	choosing->capped = scenario_searches(scenario) && is_automatic(choosing->planning) && starts_without_cap(scenario);
	for (size_t i = 0; i < COUNT_OF(steps) && choose_goes_on(choosing); i++)
		if ((!steps[i].helps || steps[i].helps(choosing)) && step_runs(steps[i].name))
			steps[i].run(choosing);
	choose_goes_on(choosing);
}

struct plan_wish first_wish(const struct scenario *scenario)
{
	return (struct plan_wish) { .margin = starts_without_cap(scenario) ? MARGIN_NO_CAP : 0 };
}

struct plan *choose_plan(const struct planning *planning, const struct plan *rival)
{
	struct choosing choosing = { .planning = planning,
		.rival = rival,
		.compared = 1,
		.list.goal = { GOAL_FASTEST, scenario_budget(planning->scenario) } };
	struct plan_wish wish = first_wish(planning->scenario);
	struct plan *first = plan_once(planning, &wish, false), *plan = NULL;
	bool fine = !first || !first->sharded || !is_automatic(planning) ||
		few_layers_new(planning, first->sharded->shared, &choosing.layers) == OK;
	choosing.first = first;
	if (first && fine)
		choose_among(&choosing);
	if (planning->error->status == OK)
		plan = shortlist_take(&choosing.list);
	shortlist_drop(&choosing.list);
	if (plan && plan->sharded && choosing.compared > 1)
		plan->compared = choosing.compared;
	if (plan) {
		plan->foretold = choosing.foretold;
		plan->limited |= choosing.limited;
		if (choosing.left_out)
			note(plan->notes, NOTE_LEFT_OUT "shardings that differ in one or two ops, as the step has many ops");
	}
	FOR(i, choosing.seens)
		sharded_release(choosing.seen[i]);
	few_layers_free(choosing.layers);
	plan_release(first);
	return plan;
}

struct plan *choose_quickly(const struct planning *planning)
{
	struct plan_wish wish = first_wish(planning->scenario);
	struct plan *first = plan_once(planning, &wish, true);
	return first ? choose_margin(planning, first, true, &(uint32_t) { 1 }) : NULL;
}
