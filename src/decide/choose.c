/* choose.c: candidates in, the better plan out.
 *
 * Choices on the way to a plan (recomputation, sharding, cuts) count with models; order and layout show what they come
 * to. So plans are compared, by shortlist.c alone, and the stages are asked again with another wish: another share of
 * the memory cap, a rival sharding, the least memory. */
#include "decide.h"
#include "src/scenario/knobs.h"
#include "src/scenario/shard_mesh.h"
#include "src/stages/shard/stage.h"

#define SEEN_MOST 3
#define RACE_OPS 1000       /* of a device's graph: of smaller ones all candidates are planned at once */

struct choosing {
	const struct planning *planning;
	const struct plan *rival;   /* of another schedule, which only a better plan is worth planning against; or NULL */
	struct shortlist list;      /* of all plans so far */
	bool automatic;             /* strategy=auto */
	bool limited;               /* cut short */
	bool left_out;              /* moves, which the cap may need */
	uint32_t compared;          /* shardings planned so far */
	struct plan *first;         /* of all */
	bool races;                 /* auto: it was looked at alone, as all others are first */
	struct outcome told;        /* what the leader that was told last comes to: what is told only gets better */
	bool capped;                /* auto, which found the first without the cap */
	struct sharded *seen[SEEN_MOST]; /* auto: results whose rivals were compared already, each kept alive */
	uint32_t seens;
};

static void choose_tell(struct choosing *choosing, const struct plan *best)
{
	struct outcome outcome = plan_outcome(best);
	if (!outcome_better(&choosing->list.goal, &outcome, &choosing->told))
		return;
	choosing->told = outcome;
	planner_lead(choosing->planning, best);
}

/* After a candidate: whether another one may follow. One that came to nothing leaves the others, but for what ends
 * every run. */
static bool choose_goes_on(struct choosing *choosing)
{
	struct error *error = choosing->planning->error;
	choosing->limited |= error->status == CANCELLED;
	const struct plan *best = shortlist_leader(&choosing->list);
	if (error->status == NO_MEMORY || error->status == LIMIT)
		return false;
	error_set(error, OK);
	if (choosing->automatic && best)
		choose_tell(choosing, best);
	return !choosing->limited && !(best && plan_is_enough(choosing->planning, best));
}

/* ---- one candidate, against what it has to beat ---- */

#define NEAR_PERCENT 3   /* heuristics alone are this near to a complete plan's arena */
#define SLOW_PART 67     /* a glance longer than the best step by such a part */

/* The best plan so far, or one that another schedule has shown. Lent. */
static const struct plan *choose_leader(const struct choosing *choosing)
{
	const struct plan *leader = shortlist_leader(&choosing->list);
	struct outcome ours = plan_outcome(leader), theirs = choosing->rival ? plan_outcome(choosing->rival) : ours;
	return outcome_better(&choosing->list.goal, &theirs, &ours) ? choosing->rival : leader;
}

/* auto, whose best keeps the cap: whether no order of a rival's graph can be as fast. Of accumulated microbatches the
 * time doesn't depend on the order. */
static bool choose_is_slower(
	const struct planning *planning, const struct plan *best, const struct transformed *transformed)
{
	int64_t least = transformed->pipelined ? transformed->pipelined->time
		: plan_time_least(transformed->graph, transformed->sharded, planning->scenario, planning->stage->rules);
	return least >= 0 && !is_as_fast(least, plan_step_time(best));
}

/* A candidate that has a chance. */
struct look {
	struct plan_wish wish;
	struct transformed *transformed;
	struct plan *quick;         /* by heuristics, or NULL */
	uint64_t mark;              /* of the store, before all this */
	int64_t glance;             /* picoseconds that a few passes come to; -1: unknown */
};

static void choose_forget(struct look *look)
{
	plan_release(look->quick);
	transformed_release(look->transformed);
}

/* The same of a rival that heuristics planned: by a bound on its step, or as a few passes say. */
static bool choose_trails(const struct look *look, int64_t time)
{
	return !is_as_fast(look->quick->time ? look->quick->time->bound.bound : 0, time) ||
		look->glance - time > time / SLOW_PART;
}

/* The same: as it is far above the cap, too, and of accumulated microbatches by the time itself. What a few passes find
 * is a candidate where it is the best so far. */
static bool choose_is_behind(struct choosing *choosing, const struct plan *best, struct look *look)
{
	const struct planning *planning = choosing->planning;
	struct plan *quick = look->quick;
	int64_t budget = scenario_budget(&best->scenario), time = plan_step_time(best);
	bool once = best->scenario.value[K_microbatches] == 1;
	if (budget >= 0 && plan_is_far(quick, budget))
		return true;
	if (!is_as_fast(plan_step_time(quick), time) && quick->time && (!once || plan_time_bound(quick->time) != OK))
		return true;
	if (once && scenario_seeks_time(planning->scenario) && !choose_trails(look, time))
		look->glance = plan_glance(planning, quick, time, choosing->automatic ? &choosing->list : NULL);
	return choose_trails(look, time);     /* the best so far may be gone: a faster one took its place */
}

/* auto, where nothing keeps the cap so far: a complete plan of so many ops finds no less memory than heuristics do. */
static bool choose_is_huge(const struct choosing *choosing, const struct transformed *transformed)
{
	return choosing->automatic && transformed->sharded && !transformed->pipelined &&
		transformed->graph->ops > HUGE_OPS;
}

static bool choose_has_chance(struct choosing *choosing, bool sure, struct look *look)
{
	const struct planning *planning = choosing->planning;
	const struct plan *best = choose_leader(choosing);
	struct transformed *transformed = look->transformed ? look->transformed : stage_transform(
		planning->stage, planning->input, planning->scenario, &look->wish, false, planning->error);
	look->transformed = transformed;
	if (transformed && control_status(planning->stage->control) == CANCELLED)
		return fail(planning->error, CANCELLED, "stopped before there was a plan") == OK;
	bool by_time = choosing->automatic && !plan_is_over(best), huge = transformed && choose_is_huge(choosing, transformed),
		 open = transformed && !(by_time ? choose_is_slower(planning, best, transformed)
			: huge && bytes_are_far(transformed->sharded->cost.usage, plan_needs(best)));
	look->quick = open && (by_time || !huge) ? plan_transformed(planning, transformed, &look->wish, true) : NULL;
	choosing->compared++;
	if (!look->quick)
		return open && planning->error->status == OK;
	return by_time ? !choose_is_behind(choosing, best, look)
		: plan_bound(look->quick) <= plan_needs(best) &&
			(sure || plan_needs(look->quick) <= plan_needs(best) + plan_needs(best) / 100 * NEAR_PERCENT);
}

/* Looks at a wish: whether it has a chance against the best so far; else nothing large stays in the store. sure: only
 * what no order can mend rules it out. */
static bool choose_look(struct choosing *choosing, const struct plan_wish *wish, bool sure, struct look *look)
{
	const struct stage_context *stage = choosing->planning->stage;
	*look = (struct look) { .wish = *wish, .mark = store_mark(stage->store), .glance = -1 };
	if (choose_has_chance(choosing, sure, look))
		return true;
	choose_forget(look);
	store_forget(stage->store, look->mark, stage->forgets);
	return false;
}

/* Adds the plans of what was looked at; auto's also as heuristics planned it, as the complete one may be slower. Of one
 * that is no better nothing large stays in the store that was kept since its mark. */
static void choose_complete(struct choosing *choosing, struct look *look)
{
	const struct planning *planning = choosing->planning;
	struct shortlist own = { .goal = choosing->list.goal };
	const struct plan *leader = choose_leader(choosing);
	struct outcome had = plan_outcome(leader), came = had;
	if (choosing->automatic && !plan_is_over(leader) && scenario_accumulation(planning->scenario) == 1)
		own.lead = had.time;
	plan_each_order(planning, look->transformed, &look->wish, false, &own);
	if (look->quick && choosing->automatic) {
		look->quick->complete = true;    /* as a candidate: nothing better of it follows */
		shortlist_add(&own, plan_retain(look->quick));
	}
	if (own.plans > 0)
		came = plan_outcome(shortlist_leader(&own));
	if (!outcome_better(&own.goal, &came, &had))
		store_forget(planning->stage->store, look->mark, planning->stage->forgets);
	shortlist_join(&choosing->list, &own);
	choose_forget(look);
}

/* Adds the plans of a wish, where it has a chance. */
static void choose_plan_wish(struct choosing *choosing, const struct plan_wish *wish, bool sure)
{
	struct look look;
	if (choose_look(choosing, wish, sure, &look))
		choose_complete(choosing, &look);
}

/* ---- rivals: planned memory and time decide between shardings ---- */

/* Whether an earlier result had this sharding already, itself or as a rival: it was compared then, and the best so far
 * only gets better. */
static bool choose_has_seen(const struct choosing *choosing, const struct sharding *sharding)
{
	bool seen = false;
	FOR_WHILE(i, choosing->seens, !seen) {
		struct sharded *sharded = choosing->seen[i];
		seen = sharding_equal(&sharded->shared->units, &sharded->sharding, sharding);
		FOR_WHILE(k, sharded->rivals, !seen)
			seen = sharding_equal(&sharded->shared->units, &sharded->rival[k], sharding);
	}
	return seen;
}

/* The rival of the least estimate that is still open; NULL: none is. */
static uint32_t rival_next(const struct sharded *sharded, const bool *open)
{
	uint32_t next = NONE;
	FOR(i, sharded->rivals)
		if (open[i] && (next == NONE || sharded->rival_time[i] < sharded->rival_time[next]))
			next = i;
	return next;
}

/* What may be the best, in the order of what a few passes come to, as a fast leader rules others out. */
static void choose_race(struct choosing *choosing, struct look *look, uint32_t looks)
{
	while (looks > 0 && choose_goes_on(choosing)) {
		uint32_t next = 0;
		FOR_FROM(i, 1, looks)
			next = look[i].glance < look[next].glance ? i : next;
		look[next].mark = store_mark(choosing->planning->stage->store);
		if (choose_trails(&look[next], plan_step_time(shortlist_leader(&choosing->list))))
			choose_forget(&look[next]);
		else
			choose_complete(choosing, &look[next]);
		look[next] = look[--looks];
	}
	FOR(i, looks)
		choose_forget(&look[i]);
}

/* What search and experts count is what stays; order and layout add what comes and goes. Adds the first plan and its
 * rivals', the fastest by estimate first; where all race, after a look at each. What auto promises to be no slower
 * than, experts' shardings, is planned even where nothing keeps the cap so far. Takes the first plan over. */
static void choose_judge(struct choosing *choosing, struct plan *first, bool races)
{
	struct sharded *sharded = first->sharded;
	struct look look[1 + SHARD_RIVALS] = { { .glance = plan_step_time(first) } };
	uint32_t looks = races;
	bool open[SHARD_RIVALS];
	choosing->limited |= first->limited;
	shortlist_add(&choosing->list, plan_retain(first));
	if (races) {
		look->wish = first_wish(choosing->planning->scenario);
		look->transformed = transformed_retain(first->transformed);
		look->quick = plan_retain(first);
	}
	if (sharded && !choosing->limited && sharded->rivals > 0 && step_runs("choose.rivals")) {
		FOR(i, sharded->rivals)
			open[i] = !choose_has_seen(choosing, &sharded->rival[i]);
		for (uint32_t i; choose_goes_on(choosing) && (i = rival_next(sharded, open)) != NONE; open[i] = false) {
			struct plan_wish wish = { .margin = first->fit_margin, .rival = 1 + i, .first = sharded };
			if (!choose_look(choosing, &wish, choosing->automatic && i < sharded->experts, &look[looks]))
				continue;
			if (races)
				looks++;
			else
				choose_complete(choosing, &look[looks]);
		}
		if (choosing->seens < SEEN_MOST)
			choosing->seen[choosing->seens++] = sharded_retain(sharded);
	}
	choose_race(choosing, look, looks);
	plan_release(first);
}

/* ---- where candidates come from ---- */

/* The first and its rivals, where it isn't found without the cap after rounds that fit choices to it. */
static void choose_first(struct choosing *choosing)
{
	struct plan *plan = plan_retain(choosing->first);
	if (!choosing->capped && !choosing->races)
		plan = rounds_fit(choosing->planning, plan, false, &choosing->compared);
	if (plan)
		choose_judge(choosing, plan, choosing->races);
}

static bool choose_limits_help(const struct choosing *choosing)
{
	return choosing->capped && choosing->first->transformed->fit_peak >= 0 && plan_is_over(choosing->first);
}

/* auto, whose first plan needs more than the cap: plans of what a search finds within other limits of what stays, as
 * the arena may be more than that or less; and the rivals of the best of them. */
static void choose_limits(struct choosing *choosing)
{
	struct plan_wish wish = { .rivals = RIVALS_ALONE, .first = choosing->first->sharded };
	wish.margin = rounds_limits(choosing->planning, choosing->first, &choosing->list, &choosing->compared);
	if (!choose_goes_on(choosing) || wish.margin == MARGIN_NO_CAP)
		return;
	struct plan *other = plan_once(choosing->planning, &wish, false);
	choosing->compared += other != NULL;
	if (other)
		choose_judge(choosing, other, false);
}

static bool choose_least_helps(const struct choosing *choosing)
{
	const struct plan *best = shortlist_leader(&choosing->list);
	const struct scenario *scenario = choosing->planning->scenario;
	return best->sharded && choosing->automatic && scenario->value[K_recompute] != RECOMPUTE_AUTO &&
		(!scenario_cuts(scenario) || plan_is_over(best));
}

/* What minred finds as a candidate of auto: it may be faster than what the estimate chose. Of a pipeline where nothing
 * fits the cap so far. */
static void choose_least(struct choosing *choosing)
{
	const struct planning *planning = choosing->planning;
	const struct plan *best = shortlist_leader(&choosing->list);
	struct plan_wish wish = { .margin = scenario_cuts(planning->scenario) ? best->fit_margin : MARGIN_NO_CAP,
		.least = true, .first = choosing->first->sharded };
	struct transformed *transformed = stage_transform(
		planning->stage, planning->input, planning->scenario, &wish, false, planning->error);
	if (transformed && !choose_has_seen(choosing, &transformed->sharded->sharding))
		choose_plan_wish(choosing, &wish, true);
	transformed_release(transformed);
}

/* The plans of a sharding of an earlier result. */
static void choose_told(struct choosing *choosing, const struct sharded *first, const struct sharding *told)
{
	struct plan_wish wish = { .margin = MARGIN_NO_CAP, .first = first, .told = told };
	choosing->compared--;     /* was planned already, with others */
	choose_plan_wish(choosing, &wish, true);
}

/* Whether a plan may be as fast as any: the first of all keeps the cap, and its step, or the best's, is no longer than
 * the least estimate. */
static bool choose_is_fastest(const struct plan *first, const struct plan *best)
{
	const struct transformed *transformed = first->transformed;
	bool estimated = transformed->sharded && !transformed->pipelined;
	return !plan_is_over(first) && (!estimated || plan_step_time(best) <= transformed->sharded->cost.total);
}

static bool choose_moves_help(const struct choosing *choosing)
{
	const struct scenario *scenario = choosing->planning->scenario;
	bool pinned = false;
	FOR(i, scenario->pins)
		pinned |= scenario->pin[i].kind == PIN_PLACEMENT;
	return choosing->capped && !pinned && !choose_is_fastest(choosing->first, shortlist_leader(&choosing->list));
}

/* auto under a cap on a small graph: what moves from the fastest and from the best so far lead to. */
static void choose_moves(struct choosing *choosing)
{
	OWN(plan) *best = plan_retain(shortlist_leader(&choosing->list));
	const struct plan *start[] = { choosing->first, best };
	struct shard_moves moves;
	enum status status = moves_find(choosing->planning, start, 2, best, &moves);
	choosing->compared += moves.plans;
	choosing->left_out = moves.left_out && plan_is_over(choosing->first);
	if (status == OK && moves.found.split)
		choose_told(choosing, moves.from->sharded, &moves.found);
	sharding_free(&moves.found);
}

static bool choose_order_helps(const struct choosing *choosing)
{
	const struct scenario *scenario = choosing->planning->scenario;
	return scenario_searches(scenario) && choosing->automatic && scenario->value[K_order] == ORDER_FAST &&
		plan_is_over(choosing->first);
}

/* order=fast within a cap: what candidates need depends on their orders, and so does which limits are tried next. The
 * sharding that order=auto leads to is a candidate, too, so that auto takes no longer than with it. */
static void choose_by_order(struct choosing *choosing)
{
	const struct plan *best = shortlist_leader(&choosing->list);
	struct variant other;
	if (!variant_open(&other, choosing->planning))
		return;
	other.scenario.value[K_order] = ORDER_AUTO;
	struct plan *plan = choose_plan(&other.planning, best);
	struct outcome ours = plan_outcome(best), theirs = plan ? plan_outcome(plan) : ours;
	if (plan && !plan->limited && plan->sharded && outcome_better(&choosing->list.goal, &theirs, &ours)) {
		choosing->compared += plan->compared;
		choose_told(choosing, plan->sharded, &plan->sharded->sharding);
	}
	plan_release(plan);
	scenario_done(&other.scenario);
}

/* docs/benchmarks.md says what each is worth. helps: NULL: always. */
static const struct step {
	const char *name;
	bool (*helps)(const struct choosing *choosing);
	void (*run)(struct choosing *choosing);
} steps[] = {
	{ "first", NULL, choose_first },
	{ "choose.limits", choose_limits_help, choose_limits },
	{ "choose.least", choose_least_helps, choose_least },
	{ "choose.moves", choose_moves_help, choose_moves },
	{ "choose.order", choose_order_helps, choose_by_order },
};

static void choose_among(struct choosing *choosing)
{
	choosing->capped = choosing->automatic && starts_without_cap(choosing->planning->scenario);
	for (size_t i = 0; i < COUNT_OF(steps) && choose_goes_on(choosing); i++)
		if ((!steps[i].helps || steps[i].helps(choosing)) && step_runs(steps[i].name))
			steps[i].run(choosing);
	choose_goes_on(choosing);
}

/* What was compared, and what wasn't. */
static void choose_say(const struct choosing *choosing, struct plan *plan)
{
	if (plan->sharded && choosing->compared > 1)
		plan->compared = choosing->compared;
	plan->limited |= choosing->limited;
	if (choosing->left_out)
		note(plan->notes, NOTE_LEFT_OUT "shardings that differ in one or two ops, as the step has many ops");
}

struct plan_wish first_wish(const struct scenario *scenario)
{
	return (struct plan_wish) { .margin = starts_without_cap(scenario) ? MARGIN_NO_CAP : 0 };
}

static bool choose_may_race(const struct transformed *transformed)
{
	return transformed && transformed->graph->ops > RACE_OPS && transformed->graph->ops <= HUGE_OPS;
}

/* Shows whoever looks on a first candidate, of one of the quick searches, where it keeps the cap. Errors are forgotten:
 * what follows finds them again. A new reference, or NULL. */
static struct transformed *choose_show_soon(struct choosing *choosing)
{
	const struct planning *planning = choosing->planning;
	struct plan_wish wish = first_wish(planning->scenario);
	struct shortlist list = { .goal = choosing->list.goal };
	wish.rivals = RIVALS_SOON;
	struct transformed *transformed = stage_transform(
		planning->stage, planning->input, planning->scenario, &wish, false, planning->error);
	OWN(plan) *quick = choose_may_race(transformed) ? plan_transformed(planning, transformed, &wish, true) : NULL;
	if (quick) {
		plan_glance(planning, quick, plan_step_time(quick), &list);
		shortlist_add(&list, plan_retain(quick));
	}
	const struct plan *best = shortlist_leader(&list);
	if (best && !plan_is_over(best) && planning->error->status == OK)
		choose_tell(choosing, best);
	shortlist_drop(&list);
	error_set(planning->error, OK);
	return transformed;
}

/* auto of a deep step: plans of what few of its layers are split as, and of the first. False: candidates of the whole
 * step may be better, as it keeps the cap and they didn't, or the other way round. */
static bool choose_by_few(struct choosing *choosing, struct transformed *first)
{
	const struct planning *planning = choosing->planning;
	OWN(sharding) told = { 0 };
	OWN(plan) *few = !choosing->rival && step_runs("choose.shallow") ? choose_shallow(planning, first->sharded, &told)
		: NULL;
	struct plan_wish wish = { .margin = MARGIN_NO_CAP, .first = first->sharded, .told = &told };
	OWN(transformed) *whole = few
		? stage_transform(planning->stage, planning->input, planning->scenario, &wish, false, planning->error) : NULL;
	if (!whole)
		return false;
	plan_each_order(planning, whole, &wish, false, &choosing->list);
	choosing->compared = few->compared;
	choosing->limited |= few->limited;
	const struct plan *best = shortlist_leader(&choosing->list);
	if (!best || plan_is_over(best) != plan_is_over(few))
		return false;
	struct look look = { .wish = first_wish(planning->scenario), .transformed = transformed_retain(first), .glance = -1,
		.mark = store_mark(planning->stage->store) };
	if (!plan_is_over(best) && !sharding_equal(&first->sharded->shared->units, &first->sharded->sharding, &told) &&
		choose_has_chance(choosing, false, &look))
		choose_complete(choosing, &look);
	else
		choose_forget(&look);
	return true;
}

/* Whether that is all of a deep step; else the first is made again, with rivals of the whole step. */
static bool choose_has_few(struct choosing *choosing, struct plan_wish *wish, struct transformed **first)
{
	const struct planning *planning = choosing->planning;
	if (!(*first)->sharded || !shard_is_deep((*first)->sharded->shared, planning->scenario))
		return false;
	bool has = choose_by_few(choosing, *first);
	choose_goes_on(choosing);
	if (has)
		return true;
	wish->whole = true;
	transformed_release(*first);
	*first = stage_transform(planning->stage, planning->input, planning->scenario, wish, false, planning->error);
	return false;
}

/* Whether a few passes say what the first plan of all comes to. */
static bool choose_glances(const struct choosing *choosing, const struct scenario *scenario)
{
	return choosing->automatic && !scenario_cuts(scenario) && scenario_seeks_time(scenario) &&
		scenario_accumulation(scenario) == 1 && (starts_without_cap(scenario) || choosing->list.goal.limit < 0);
}

/* The first plan of all. Auto's of a large step that keeps the cap is what a few passes find: what else there is
 * decides whether it is worth more. */
static struct plan *choose_begin(struct choosing *choosing)
{
	const struct planning *planning = choosing->planning;
	const struct scenario *scenario = planning->scenario;
	struct plan_wish wish = first_wish(scenario);
	struct shortlist own = { .goal = choosing->list.goal };
	bool may = choose_glances(choosing, scenario);
	OWN(transformed) *soon = may && planner_is_watched(planning) ? choose_show_soon(choosing) : NULL;
	wish.soon = soon ? soon->sharded : NULL;
	OWN(transformed) *transformed = stage_transform(
		planning->stage, planning->input, scenario, &wish, false, planning->error);
	if (transformed && choose_has_few(choosing, &wish, &transformed))
		return NULL;
	OWN(plan) *quick = may && choose_may_race(transformed) ? plan_transformed(planning, transformed, &wish, true) : NULL;
	choosing->races = quick && !plan_is_over(quick);
	if (!choosing->races)
		return transformed && planning->error->status == OK ? plan_transformed(planning, transformed, &wish, false) : NULL;
	quick->complete = true;
	shortlist_add(&own, plan_retain(quick));
	plan_glance(planning, quick, plan_step_time(quick), &own);
	return shortlist_take(&own);
}

struct plan *choose_plan(const struct planning *planning, const struct plan *rival)
{
	struct choosing choosing = { .planning = planning, .rival = rival, .compared = 1,
		.automatic = scenario_strategy(planning->scenario) == STRATEGY_AUTO, .told = { INT64_MAX, INT64_MAX },
		.list.goal = { GOAL_FASTEST, scenario_budget(planning->scenario) } };
	struct plan *first = choose_begin(&choosing), *plan = NULL;
	choosing.first = first;
	if (first)
		choose_among(&choosing);
	if (planning->error->status == OK)
		plan = shortlist_take(&choosing.list);
	shortlist_drop(&choosing.list);
	if (plan)
		choose_say(&choosing, plan);
	FOR(i, choosing.seens)
		sharded_release(choosing.seen[i]);
	plan_release(first);
	return plan;
}

struct plan *choose_quickly(const struct planning *planning)
{
	struct plan_wish wish = first_wish(planning->scenario);
	struct plan *first = plan_once(planning, &wish, true);
	return first ? rounds_fit(planning, first, true, &(uint32_t) { 1 }) : NULL;
}
