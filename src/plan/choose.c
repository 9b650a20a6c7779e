/* choose.c: the policy of choosing: candidates in, the better plan out.
 *
 * Choices on the way to a plan (recomputation, sharding, cuts) count with models; order and layout show what they come
 * to. So plans are compared, by plan_better() alone, and the stages are asked again with another wish: another share of
 * the memory cap, a rival sharding, the least memory. */
#include "choose_margin.h"
#include "prospects.h"
#include "shard_moves.h"
#include "src/stages/shard/stage.h"
#include "verdict.h"
#include "src/scenario/shard_mesh.h"
#include "solver/step/recompute.h"

#define LIMIT_ROUNDS 6      /* without rivals they are short */
#define SEEN_MOST 3

/* A run of choosing. */
struct choosing {
	const struct planning *planning;
	const struct plan *rival;   /* of another schedule, which only a better plan is worth planning against; or NULL */
	uint32_t compared;          /* shardings planned so far */
	uint32_t foretold;          /* shardings of which a few layers alone were planned */
	struct few_layers *layers;  /* of a step with very many that are equal; else NULL */
	struct sharded *seen[SEEN_MOST]; /* auto: results whose rivals were compared already, each kept alive */
	uint32_t seens;
};

bool foretold_better(const struct goal *goal, const struct foretold *a, const struct foretold *b)
{
	bool fits_a = goal->limit < 0 || a->needs <= goal->limit, fits_b = goal->limit < 0 || b->needs <= goal->limit;
	if (fits_a != fits_b)
		return fits_a;
	if ((goal->of == GOAL_FASTEST && fits_a && a->time != b->time) || a->needs == b->needs)
		return a->time < b->time;
	return a->needs < b->needs;
}

static bool plan_better(const struct goal *goal, const struct plan *a, const struct plan *b)
{
	struct foretold ours = plan_came_to(a), theirs = plan_came_to(b);
	return foretold_better(goal, &ours, &theirs);
}

struct plan *better_of(const struct goal *goal, struct plan *first, struct plan *second)
{
	bool turn = second && (!first || plan_better(goal, second, first));
	plan_release(turn ? first : second);
	return turn ? second : first;
}

/* A candidate that came to nothing leaves the best so far, but for what ends every run. */
static bool choose_goes_on(const struct planning *planning)
{
	enum status status = planning->error->status;
	return status != NO_MEMORY && status != LIMIT;
}

/* ---- limits: what choices count with is not the arena ---------------------------------------- */

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
 * the arena may be more than that or less. Keeps neither. The best that keeps the cap, or NULL; *margin is its own, or
 * the last. */
static struct plan *fit_limits(struct choosing *choosing, struct plan *first, int64_t *margin)
{
	const struct planning *planning = choosing->planning;
	int64_t budget = scenario_budget(&first->scenario);
	struct goal goal = { GOAL_FASTEST, budget };
	struct bracket bracket = { 0, first->transformed->fit_peak };
	struct plan_wish wish = { .rivals = RIVALS_NONE, .first = first->transformed->sharded };
	struct plan *best = NULL, *last = plan_retain(first);
	for (int round = 0; round < LIMIT_ROUNDS; round++) {
		int64_t limit = choose_next_limit(last, &bracket, budget);
		wish.margin = budget - limit;
		struct plan *next = limit < 0 ? NULL : plan_once(planning, &wish, false);
		if (!next)
			break;
		choosing->compared++;
		plan_release(last);
		last = next;
		if (plan_needs(next) <= budget || next->transformed->fit_peak > limit)
			bracket.low = limit;
		else
			bracket.high = next->transformed->fit_peak;
		best = better_of(&goal, best, plan_retain(next));
		*margin = best->fit_margin;
		if (last->limited)
			break;
	}
	plan_release(last);
	return best;
}

/* ---- rivals: planned memory and time decide between shardings -------------------------------- */

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

/* auto: whether no order of a rival's graph can be faster than the best plan so far. Of accumulated microbatches the
 * time doesn't depend on the order. */
static bool is_slower_in_any_order(
	const struct planning *planning, const struct plan *best, const struct transformed *transformed)
{
	if (scenario_strategy(planning->scenario) != STRATEGY_AUTO || choose_is_over(best))
		return false;
	int64_t least = transformed->pipelined ? transformed->pipelined->time
		: plan_time_least(transformed->graph, transformed->sharded, planning->scenario, planning->stage->rules);
	return least >= 0 && least > plan_step_time(best);
}

/* auto, whose best keeps the cap: whether a rival that heuristics planned can't win, whatever its order: as it is far
 * above the cap, or by a bound on its step. Of accumulated microbatches the time itself is one. */
static bool is_behind(const struct plan *best, struct plan *quick)
{
	int64_t budget = scenario_budget(&best->scenario);
	if (budget >= 0 && plan_needs(quick) > budget + budget / 100 * FAR_PERCENT)
		return true;
	if (plan_step_time(quick) <= plan_step_time(best) || !quick->time)
		return false;
	return best->scenario.value[K_microbatches] > 1 ||
		(plan_time_bound(quick->time) == OK && quick->time->bound.bound > plan_step_time(best));
}

/* The plan of a wish; NULL where it has no chance against the best so far. auto takes the heuristics' own where the
 * complete one is slower. sure: only what no order can mend rules it out. */
static struct plan *plan_candidate(
	const struct planning *planning, const struct plan_wish *wish, const struct plan *best, bool sure)
{
	struct transformed *transformed = stage_transform(
		planning->stage, planning->input, planning->scenario, wish, false, planning->error);
	bool hopeless = transformed && is_slower_in_any_order(planning, best, transformed),
		 fastest = scenario_strategy(planning->scenario) == STRATEGY_AUTO;
	struct plan *plan = transformed && !hopeless ? plan_transformed(planning, transformed, wish, true) : NULL;
	bool near = plan && (fastest && !choose_is_over(best) ? !is_behind(best, plan) : sure || has_chance(best, plan));
	struct plan *quick = near && fastest ? plan_retain(plan) : NULL;
	if (quick)
		quick->complete = true;    /* as a candidate: nothing better of it follows */
	plan_release(plan);
	plan = near ? plan_transformed(planning, transformed, wish, false) : NULL;
	transformed_release(transformed);
	return better_of(&(struct goal){ GOAL_FASTEST, scenario_budget(planning->scenario) }, plan, quick);
}

/* A rival's plan, or NULL as above. What auto promises to be no slower than, experts' shardings, is planned even where
 * nothing keeps the cap so far. */
static struct plan *plan_rival(const struct planning *planning, const struct sharded *first, int64_t margin,
	const struct plan *best, uint32_t rival)
{
	struct plan_wish wish = { .margin = margin, .rival = rival, .first = first };
	bool promised = scenario_strategy(planning->scenario) == STRATEGY_AUTO && rival <= first->experts;
	return plan_candidate(planning, &wish, best, promised);
}

/* minred's limit: the slack above the least arena, but not above that of any expert's, nor of the cap. needs[0]: of the
 * first, then of its rivals; INT64_MAX: of what has no plan. */
static int64_t choose_limit_of(const struct plan *first, const int64_t *needs, uint32_t plans)
{
	int64_t least = INT64_MAX, experts = INT64_MAX, budget = scenario_budget(&first->scenario);
	for (uint32_t i = 0; i < plans; i++) {
		least = needs[i] < least ? needs[i] : least;
		experts = i > 0 && i <= first->transformed->sharded->experts && needs[i] < experts ? needs[i] : experts;
	}
	int64_t limit = sharding_slack(least, (uint32_t)first->scenario.value[K_slack]);
	limit = experts < limit ? experts : limit;
	return budget >= least && budget < limit ? budget : limit;
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
	if (choosing->seens < SEEN_MOST && scenario_strategy(choosing->planning->scenario) == STRATEGY_AUTO)
		choosing->seen[choosing->seens++] = sharded_retain(sharded);
}

/* The better one of a plan and of the one that another schedule has shown, lent. */
static const struct plan *leader_of(const struct choosing *choosing, const struct plan *plan)
{
	struct goal fastest = { GOAL_FASTEST, scenario_budget(&plan->scenario) };
	return choosing->rival && plan_better(&fastest, choosing->rival, plan) ? choosing->rival : plan;
}

/* Rivals in the order in which they are planned: auto begins with the least estimate, as a fast leader rules others
 * out. */
static void rank_rivals(const struct sharded *sharded, bool by_time, uint32_t rank[SHARD_RIVALS])
{
	for (uint32_t i = 0; i < sharded->rivals; i++) {
		uint32_t at = i;
		for (; by_time && at > 0 && sharded->rival_time[rank[at - 1]] > sharded->rival_time[i]; at--)
			rank[at] = rank[at - 1];
		rank[at] = i;
	}
}

/* The end of a part of the choice that may have been cut short: the best so far, or NULL where no run goes on. Takes it
 * over. */
static struct plan *choose_end_of(const struct planning *planning, struct plan *best)
{
	best->limited |= planning->error->status == CANCELLED;
	if (choose_goes_on(planning)) {
		error_set(planning->error, OK);
		return best;
	}
	plan_release(best);
	return NULL;
}

/* Every rival planned, or ruled out by its plan by heuristics. */
static struct plan *judge_each(struct choosing *choosing, struct plan *first)
{
	const struct planning *planning = choosing->planning;
	struct sharded *sharded = first->transformed->sharded;
	uint32_t rivals = sharded->rivals, rank[SHARD_RIVALS];
	bool automatic = scenario_strategy(planning->scenario) == STRATEGY_AUTO;
	struct plan *plan[1 + SHARD_RIVALS] = { first }, *best = NULL;
	int64_t needs[1 + SHARD_RIVALS];
	const struct plan *leader = leader_of(choosing, first);    /* the fastest that keeps the cap, so far */
	struct goal fastest = { GOAL_FASTEST, scenario_budget(&first->scenario) };
	enum status status = OK;
	rank_rivals(sharded, automatic, rank);
	for (uint32_t i = 0; i < rivals && (status == OK || status == INFEASIBLE || status == BAD_INPUT); i++) {
		uint32_t rival = 1 + rank[i];
		if (is_seen(choosing, &sharded->rival[rank[i]]))
			continue;
		error_set(planning->error, OK);
		plan[rival] = plan_rival(planning, sharded, first->fit_margin, leader, rival);
		leader = plan[rival] && plan_better(&fastest, plan[rival], leader) ? plan[rival] : leader;
		status = planning->error->status;
		choosing->compared++;
	}
	for (uint32_t k = 0; k <= rivals; k++)
		needs[k] = plan[k] ? plan_needs(plan[k]) : INT64_MAX;
	struct goal goal = { GOAL_FASTEST, automatic ? fastest.limit : choose_limit_of(first, needs, 1 + rivals) };
	for (uint32_t k = 0; k <= rivals; k++)
		best = better_of(&goal, best, plan[k]);
	return best;
}

/* Plans prospects, the most promising one first, as long as one has a chance against the best so far, which is taken
 * over. first: minred's, whose limit follows from what all come to; else NULL. */
static struct plan *plan_prospects(
	struct choosing *choosing, struct prospects *prospects, const struct plan *first, struct plan *best)
{
	const struct planning *planning = choosing->planning;
	struct goal goal = { GOAL_FASTEST, scenario_budget(planning->scenario) };
	for (;;) {
		int64_t needs[1 + PROSPECTS_MOST] = { first ? plan_needs(first) : 0 };
		for (uint32_t i = 0; i < prospects->count; i++)
			needs[1 + i] = prospects->prospect[i].comes_to.needs;
		goal.limit = first ? choose_limit_of(first, needs, 1 + prospects->count) : goal.limit;
		const struct plan *leader = leader_of(choosing, best);
		uint32_t next = prospects_next(prospects, &goal);
		if (next == NONE || planning->error->status == CANCELLED || !choose_goes_on(planning))
			return best;
		error_set(planning->error, OK);
		struct plan *plan = plan_candidate(planning, &prospects->prospect[next].wish, leader, true);
		struct foretold after = plan ? plan_came_to(plan) : prospects->best;
		prospects_planned(prospects, next, plan ? &after : NULL, foretold_better(&goal, &after, &prospects->best));
		choosing->compared++;
		best = better_of(&goal, best, plan);
	}
}

/* The wishes that ask for a search's rivals, in the order in which it has them. */
static enum status foretell_rivals(
	struct choosing *choosing, const struct sharded *sharded, int64_t margin, struct prospects *prospects)
{
	enum status status = OK;
	for (uint32_t i = 0; i < sharded->rivals && status == OK; i++) {
		struct prospect prospect = { .wish = { .margin = margin, .rival = 1 + i, .first = sharded },
			.sharding = &sharded->rival[i],
			.promised = i < sharded->experts };
		if (!is_seen(choosing, &sharded->rival[i]))
			status = prospects_add(prospects, choosing->layers, choosing->planning, &prospect);
	}
	return status;
}

/* Of a step with very many equal layers: rivals are foretold, and those with a chance are planned. NULL where they
 * can't be. */
static struct plan *judge_foretold(struct choosing *choosing, struct plan *first)
{
	struct prospects prospects = { .count = 0 };
	bool automatic = scenario_strategy(choosing->planning->scenario) == STRATEGY_AUTO;
	enum status status = prospects_begin(&prospects, choosing->layers, choosing->planning, first);
	if (status == OK)
		status = foretell_rivals(choosing, first->transformed->sharded, first->fit_margin, &prospects);
	if (status == INFEASIBLE)
		return NULL;
	choosing->foretold += prospects.count;
	struct plan *best = plan_retain(first);
	return status == OK ? plan_prospects(choosing, &prospects, automatic ? NULL : first, best) : best;
}

/* What search and experts count is what stays; order and layout add what comes and goes. Takes over the first plan. */
static struct plan *choose_judge(struct choosing *choosing, struct plan *first)
{
	struct sharded *sharded = first->transformed->sharded;
	if (!sharded || first->limited || sharded->rivals == 0)
		return first;
	sharded_retain(sharded);
	struct plan *best = choosing->layers ? judge_foretold(choosing, first) : NULL;
	if (best)
		plan_release(first);
	else
		best = judge_each(choosing, first);
	keep_seen(choosing, sharded);    /* only now: it would rule out its own rivals */
	sharded_release(sharded);
	return choose_end_of(choosing->planning, best);
}

/* ---- where nothing fits ---------------------------------------------------------------------- */

/* Whether every sharding keeps more than the cap: what the whole step keeps, over all devices. */
static bool keeps_too_much(const struct plan *plan)
{
	const struct graph *whole = plan->transformed->sharded->shared->graph;
	int64_t kept = 0;
	for (uint32_t i = 0; i < whole->storages; i++)
		kept += whole->storage[i].persistent ? whole->storage[i].bytes : 0;
	return kept / plan->scenario.value[K_devices] > scenario_budget(&plan->scenario);
}

/* The same as below of a step with very many equal layers. Returns false, and does nothing, where one of them can't be
 * foretold. */
static bool try_least_foretold(
	struct choosing *choosing, const struct sharded *least, const struct plan_wish *wish, struct plan **best)
{
	struct prospects prospects = { .count = 0 };
	struct prospect itself = { .wish = *wish, .sharding = &least->sharding };
	enum status status = prospects_begin(&prospects, choosing->layers, choosing->planning, *best);
	if (status == OK && !is_seen(choosing, &least->sharding))
		status = prospects_add(&prospects, choosing->layers, choosing->planning, &itself);
	if (status == OK)
		status = foretell_rivals(choosing, least, wish->margin, &prospects);
	if (status == INFEASIBLE)
		return false;
	choosing->foretold += prospects.count;
	if (status == OK)
		*best = plan_prospects(choosing, &prospects, NULL, *best);
	return true;
}

/* What minred finds, and its rivals. *mesh: over which. Takes over the best so far. */
static struct plan *try_least_over(
	struct choosing *choosing, const struct plan_wish *wish, struct plan *best, struct mesh *mesh)
{
	const struct planning *planning = choosing->planning;
	struct goal goal = { GOAL_FASTEST, scenario_budget(&best->scenario) };
	struct transformed *transformed = stage_transform(
		planning->stage, planning->input, planning->scenario, wish, false, planning->error);
	const struct sharded *least = transformed ? transformed->sharded : NULL;
	bool foretold = least && choosing->layers && try_least_foretold(choosing, least, wish, &best);
	for (uint32_t rival = 0; least && !foretold && rival <= least->rivals && choose_goes_on(planning) &&
		planning->error->status != CANCELLED;
		rival++) {
		if (is_seen(choosing, rival ? &least->rival[rival - 1] : &least->sharding))
			continue;
		error_set(planning->error, OK);
		best = better_of(&goal, best, rival ? plan_rival(planning, least, wish->margin, leader_of(choosing, best), rival)
			: plan_candidate(planning, wish, leader_of(choosing, best), true));
		choosing->compared++;
	}
	*mesh = least ? least->sharding.mesh : (struct mesh) { 0 };
	transformed_release(transformed);
	return best;
}

/* What minred finds, as candidates of auto: on graphs whose searches are short, as it may be faster than what the
 * estimate chose, over the best plan's mesh, too; on others where nothing fits the cap so far, unless every sharding
 * keeps more than it. Takes over the best so far. */
static struct plan *try_least(struct choosing *choosing, const struct plan *first, struct plan *best)
{
	const struct planning *planning = choosing->planning;
	struct plan_wish wish = { .margin = scenario_cuts(planning->scenario) ? best->fit_margin : MARGIN_NO_CAP,
		.least = true,
		.first = first->transformed->sharded };
	int64_t budget = scenario_budget(&best->scenario);
	bool over = budget >= 0 && plan_needs(best) > budget,
		 small = best->input->ops <= RIVAL_OPS && !scenario_cuts(planning->scenario);
	if (!best->transformed->sharded || scenario_strategy(planning->scenario) != STRATEGY_AUTO ||
		planning->scenario->value[K_recompute] == RECOMPUTE_AUTO || best->limited ||
		!(small || (over && !keeps_too_much(best))))
		return best;
	struct mesh searched, mesh;
	best = try_least_over(choosing, &wish, best, &searched);
	mesh = best->transformed->sharded->sharding.mesh;
	wish.mesh = &mesh;
	if (small && choose_goes_on(planning) && planning->error->status != CANCELLED && !mesh_equal(&mesh, &searched))
		best = try_least_over(choosing, &wish, best, &searched);
	return choose_end_of(planning, best);
}

/* auto under a cap that the fastest doesn't keep: rivals, other limits of what stays, and the rivals of the best of
 * them. Takes the first plan over. */
static struct plan *choose_within(struct choosing *choosing, struct plan *first)
{
	const struct planning *planning = choosing->planning;
	struct goal goal = { GOAL_FASTEST, scenario_budget(&first->scenario) };
	struct plan *best = choose_judge(choosing, plan_retain(first));
	struct plan_wish wish = { .margin = MARGIN_NO_CAP, .rivals = RIVALS_ALONE, .first = first->transformed->sharded };
	if (best && !best->limited && first->transformed->fit_peak >= 0 && plan_needs(first) > goal.limit) {
		best = better_of(&goal, best, fit_limits(choosing, first, &wish.margin));
		best = choose_end_of(planning, best);
	}
	if (best && wish.margin != MARGIN_NO_CAP && !best->limited) {
		struct plan *other = plan_once(planning, &wish, false);
		choosing->compared += other != NULL;
		best = better_of(&goal, best, other ? choose_judge(choosing, other) : NULL);
		best = choose_end_of(planning, best);
	}
	plan_release(first);
	return best;
}

static bool has_placement_pins(const struct scenario *scenario)
{
	bool any = false;
	for (uint32_t i = 0; i < scenario->pins; i++)
		any |= scenario->pin[i].kind == PIN_PLACEMENT;
	return any;
}

/* Whether a plan may be as fast as any: the first of all keeps the cap, and its step, or the best's, is no longer than
 * the least estimate. */
static bool choose_is_fastest(const struct plan *first, const struct plan *best)
{
	const struct transformed *transformed = first->transformed;
	int64_t budget = scenario_budget(&first->scenario);
	bool estimated = transformed->sharded && !transformed->pipelined;
	return plan_needs(first) <= budget && (!estimated || plan_step_time(best) <= transformed->sharded->cost.total);
}

/* auto under a cap on a small graph: what moves from the fastest and from the best so far lead to. Takes over the best
 * so far. */
static struct plan *try_moves(struct choosing *choosing, const struct plan *first, struct plan *best)
{
	const struct planning *planning = choosing->planning;
	struct goal goal = { GOAL_FASTEST, scenario_budget(&best->scenario) };
	const struct plan *start[] = { first, best };
	struct shard_moves moves;
	if (best->limited || choose_is_fastest(first, best))
		return best;
	enum status status = shard_moves_find(planning, start, 2, best, &moves);
	choosing->compared += moves.plans;
	if (status == OK && moves.found.split) {
		struct plan_wish wish = { .margin = MARGIN_NO_CAP, .first = moves.from->transformed->sharded, .told = &moves.found };
		best = better_of(&goal, best, plan_candidate(planning, &wish, best, true));
	}
	sharding_free(&moves.found);
	return choose_end_of(planning, best);
}

/* All candidates, of a first plan. */
static struct plan *choose_among(struct choosing *choosing, struct plan *first)
{
	const struct planning *planning = choosing->planning;
	bool automatic = scenario_searches(planning->scenario) && scenario_strategy(planning->scenario) == STRATEGY_AUTO;
	struct plan *plan = plan_retain(first);
	if (automatic && starts_without_cap(planning->scenario)) {
		plan = choose_within(choosing, plan);
	} else {
		plan = choose_margin(planning, plan, false, &choosing->compared);
		plan = plan ? choose_judge(choosing, plan) : NULL;
	}
	plan = plan ? try_least(choosing, first, plan) : NULL;
	bool movable = plan && automatic && starts_without_cap(planning->scenario) && !has_placement_pins(planning->scenario);
	return movable ? try_moves(choosing, first, plan) : plan;
}

/* order=fast within a cap: what candidates need depends on their orders, and so does which limits are tried next. The
 * sharding that order=best leads to is a candidate, too, so that auto takes no longer than with it. Takes over the best
 * so far. */
static struct plan *try_best_order(struct choosing *choosing, const struct plan *first, struct plan *best)
{
	const struct planning *planning = choosing->planning;
	struct goal goal = { GOAL_FASTEST, scenario_budget(planning->scenario) };
	struct scenario scenario;
	bool automatic = scenario_searches(planning->scenario) && scenario_strategy(planning->scenario) == STRATEGY_AUTO;
	if (!automatic || planning->scenario->value[K_order] != ORDER_FAST || goal.limit < 0 || best->limited ||
		plan_needs(first) <= goal.limit || !choose_goes_on(planning) ||
		scenario_copy(&scenario, planning->scenario) != OK)
		return best;
	scenario.value[K_order] = ORDER_AUTO;
	struct planning other = *planning;
	other.scenario = &scenario;
	struct plan *plan = choose_plan(&other, best);
	if (plan && !plan->limited && plan->transformed->sharded && plan_better(&goal, plan, best)) {
		struct plan_wish wish = {
			.margin = MARGIN_NO_CAP, .first = plan->transformed->sharded, .told = &plan->transformed->sharded->sharding
		};
		best = better_of(&goal, best, plan_candidate(planning, &wish, best, true));
		choosing->compared += plan->compared;
	}
	plan_release(plan);
	scenario_done(&scenario);
	return choose_end_of(planning, best);
}

struct plan_wish first_wish(const struct scenario *scenario)
{
	return (struct plan_wish) { .margin = starts_without_cap(scenario) ? MARGIN_NO_CAP : 0 };
}

struct plan *choose_plan(const struct planning *planning, const struct plan *rival)
{
	struct choosing choosing = { .planning = planning, .rival = rival, .compared = 1 };
	struct plan_wish wish = first_wish(planning->scenario);
	struct plan *first = plan_once(planning, &wish, false);
	bool fine = !first || !first->transformed->sharded ||
		few_layers_new(planning, first->transformed->sharded->shared, &choosing.layers) == OK;
	struct plan *plan = first && fine ? choose_among(&choosing, first) : NULL;
	plan = plan ? try_best_order(&choosing, first, plan) : NULL;
	if (plan && plan->transformed->sharded && choosing.compared > 1)
		plan->compared = choosing.compared;
	if (plan)
		plan->foretold = choosing.foretold;
	for (uint32_t i = 0; i < choosing.seens; i++)
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
