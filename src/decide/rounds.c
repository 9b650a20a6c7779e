/* rounds.c: plans with other margins of the memory cap: choices count with models, order and layout show what they come
 * to. What one plan has shown decides on the next. */
#include "decide.h"
#include "src/scenario/shard_mesh.h"

#define FIT_ROUNDS 4
#define LIMIT_ROUNDS 6      /* without rivals they are short */
#define HUGE_ROUNDS 2
#define EXCESS_ROUNDS 6     /* of recomputation: the limit is lower by what the plan before was above the cap */
#define REFINE_ROUNDS 12    /* then by halves */
#define HOST_ROUNDS 3       /* where storages may wait in the host: each takes long, and others follow without it */
#define FINE 200            /* limits are told apart by so small a part of the cap */
#define CLOSE 500           /* a plan that takes so small a part longer than one above the cap is good enough */
#define SCANS 3             /* finer limits above the largest that fits, as some of them may fit, too */

/* What rounds try: a margin each. */
struct rounds {
	const struct planning *planning;
	const struct plan *first;
	struct plan_wish wish;
	/* Sets the wish's margin; false: none helps. */
	bool (*next)(struct rounds *rounds, const struct plan *last, int round);
	int most;
	bool quick;
	int64_t budget;
	/* Limits of what stays, or of what recomputation counts with: below which plans keep the cap, or nothing does. */
	int64_t low, high;
	int64_t step, fits;         /* see rounds_halve() */
	int64_t grain;              /* of scans */
	int scans, tried;
	int64_t seen[EXCESS_ROUNDS + REFINE_ROUNDS];    /* [tried] margins */
	bool any;                   /* a plan that fits */
	int64_t closest, farthest;  /* by which plans are above their limit */
};

bool starts_without_cap(const struct scenario *scenario)
{
	return scenario_searches(scenario) && scenario_strategy(scenario) != STRATEGY_TAP && !scenario_cuts(scenario) &&
		scenario_recompute(scenario) != RECOMPUTE_AUTO && scenario_budget(scenario) >= 0;
}

/* Adds the plans of all rounds to a list; *compared rises by their number. Whether the last was cut short. */
static bool rounds_run(struct rounds *rounds, struct shortlist *list, uint32_t *compared)
{
	struct plan *last = plan_retain((struct plan *)(uintptr_t)rounds->first);
	for (int round = 0; round < rounds->most && !last->limited && !plan_is_enough(rounds->planning, last) &&
		rounds->next(rounds, last, round); round++) {
		if (rounds->tried < (int)COUNT_OF(rounds->seen))
			rounds->seen[rounds->tried++] = rounds->wish.margin;
		struct plan *next = plan_once(rounds->planning, &rounds->wish, rounds->quick);
		if (!next)
			break;
		++*compared;
		plan_release(last);
		last = next;
		shortlist_add(list, plan_retain(next));
	}
	bool limited = last->limited;
	plan_release(last);
	return limited;
}

/* The best of the first, which it takes over, and of all rounds. */
static struct plan *rounds_best(struct rounds *rounds, int goal, struct plan *first, uint32_t *compared)
{
	struct shortlist list = { .goal = { goal, rounds->budget } };
	rounds->first = first;
	shortlist_add(&list, plan_retain(first));
	bool limited = rounds_run(rounds, &list, compared);
	struct plan *best = shortlist_take(&list);
	best->limited |= limited;
	plan_release(first);
	return best;
}

/* The margin for another round: what this plan's arena has above the bytes that the choice counted with: the
 * program-order peak, the worst pipeline rank's by the model, or what stays of a sharding, which may well be more than
 * the arena. Else it exceeds the old margin by at least the deficit; a pipeline's first cut has none. False where a
 * round can't help: the plan fits and doesn't waste memory, there is nothing to choose, or what can be done is done
 * already. */
static bool rounds_margin(const struct plan *plan, int64_t *margin)
{
	int64_t budget = scenario_budget(&plan->scenario), peak = plan->transformed->fit_peak, needs = plan_needs(plan);
	bool first = plan->pipelined && plan->fit_margin == 0;
	if (budget < 0 || peak < 0 || plan->limited)
		return false;
	bool uncapped = plan->fit_margin == MARGIN_NO_CAP, nearest = !uncapped && !first && peak > budget - plan->fit_margin;
	if (starts_without_cap(&plan->scenario)) {
		bool wastes = !uncapped && needs < budget - budget / 50;
		*margin = needs - peak;
		return needs <= budget ? wastes && *margin < plan->fit_margin : !nearest && *margin > plan->fit_margin;
	}
	*margin = needs == peak ? 1 : needs - peak;
	return needs > budget && !nearest;
}

static bool rounds_by_margin(struct rounds *rounds, const struct plan *last, int round)
{
	(void)round;
	return rounds_margin(last, &rounds->wish.margin);
}

/* What the last plan's arena leaves of the cap, if comings and goings stay as they are; else the middle. */
static bool rounds_by_limit(struct rounds *rounds, const struct plan *last, int round)
{
	int64_t needs = plan_needs(last), peak = last->transformed->fit_peak, guess = rounds->budget - (needs - peak);
	if (round > 0 && (needs <= rounds->budget || peak > rounds->budget - last->fit_margin))
		rounds->low = rounds->budget - last->fit_margin;
	else
		rounds->high = peak;
	int64_t low = rounds->low, high = rounds->high;
	rounds->wish.margin = rounds->budget - (guess > low && guess < high ? guess : low + (high - low) / 2);
	return high - low > high / 64;
}

int64_t rounds_limits(
	const struct planning *planning, const struct plan *first, struct shortlist *list, uint32_t *compared)
{
	struct rounds rounds = { planning, first, { .rivals = RIVALS_NONE, .first = first->sharded }, rounds_by_limit,
		first->graph->ops > HUGE_OPS ? HUGE_ROUNDS : LIMIT_ROUNDS, .budget = scenario_budget(&first->scenario) };
	struct shortlist found = { .goal = list->goal };
	rounds_run(&rounds, &found, compared);
	int64_t margin = found.plans > 0 ? shortlist_leader(&found)->fit_margin : MARGIN_NO_CAP;
	shortlist_join(list, &found);
	return margin;
}

/* ---- recomputation ---- */

static int64_t rounds_persistent(const struct graph *graph)
{
	int64_t bytes = 0;
	FOR(s, graph->storages)
		bytes += graph->storage[s].persistent ? graph->storage[s].bytes : 0;
	return bytes;
}

/* Nothing keeps the limit, so that a smaller one leads to no other plan: what is left to be tried is above. */
static bool rounds_below_floor(const struct rounds *rounds, const struct plan *plan)
{
	const struct fitted *fitted = plan->fitted;
	return fitted && fitted->replayed > rounds->budget - plan->fit_margin;
}

/* A plan that fits takes hardly longer than the first one. */
static bool rounds_is_close(const struct rounds *rounds, const struct plan *plan)
{
	int64_t time = rounds->first->speed.time;
	return !rounds_below_floor(rounds, plan) && plan->speed.time - time <= time / CLOSE;
}

static bool rounds_saw(const struct rounds *rounds, int64_t margin)
{
	bool saw = false;
	FOR_INT(i, rounds->tried)
		saw |= rounds->seen[i] == margin;
	return saw;
}

/* Above a limit that fits, a pipeline's plan is above the cap by what others were above their limits: its orders are
 * the program's, so that arenas follow. */
static bool rounds_is_over(const struct rounds *rounds, int64_t limit)
{
	return rounds->any && rounds->first->pipelined &&
		limit + rounds->closest - (rounds->farthest - rounds->closest) > rounds->budget;
}

/* What segments hold is no matter of size alone: limits above the largest that fits, one by one. */
static bool rounds_scan(struct rounds *rounds, const struct plan *last, bool fits)
{
	int64_t least = rounds->first->fit_margin;
	rounds->scans = fits ? 0 : rounds->scans;
	do
		rounds->wish.margin = rounds->budget - rounds->low - ++rounds->scans * rounds->grain;
	while (rounds_saw(rounds, rounds->wish.margin));
	return rounds->any && rounds->scans <= SCANS && rounds->wish.margin > least &&
		!rounds_is_over(rounds, rounds->budget - rounds->wish.margin) &&
		!(fits && rounds_is_close(rounds, last));
}

/* Halves of halves of a range that no cap changes, so that a larger cap never ends at a smaller limit where what fits
 * the one fits the other. low: the largest that fits so far; it and what is searched above it, a power of two. fits,
 * high: limits outside of the tree that were planned: up to the one plans keep the cap or nothing is below it, from the
 * other on none does. */
static bool rounds_halve(struct rounds *rounds, const struct plan *last, bool fits)
{
	int64_t budget = rounds->budget, limit = budget - last->fit_margin;
	bool up = fits || rounds_below_floor(rounds, last);
	rounds->any |= fits;
	if (rounds->step == 0) {
		int64_t persistent = rounds_persistent(last->graph);
		rounds->low = persistent < budget ? persistent : 0;
		for (rounds->step = 1; rounds->step < budget - rounds->low; )
			rounds->step *= 2;
		rounds->fits = up ? limit : -1;
		rounds->high = up ? budget - rounds->first->fit_margin : limit;
	} else if (up) {
		rounds->low = limit;
	}
	for (rounds->step /= 2; rounds->step > budget / FINE; rounds->step /= 2) {
		int64_t node = rounds->low + rounds->step;
		rounds->wish.margin = budget - node;
		if (rounds_is_over(rounds, node))
			continue;
		if (node > rounds->fits && node < rounds->high)
			return true;
		rounds->low = node <= rounds->fits ? node : rounds->low;
	}
	rounds->grain = larger_of(rounds->grain ? rounds->grain : rounds->step, 1);
	rounds->low += larger_of(rounds->fits - rounds->low, 0) / rounds->grain * rounds->grain;
	return rounds_scan(rounds, last, fits);
}

/* First what the plan itself shows: its arena's part above what recomputation counted with. */
static bool rounds_by_halves(struct rounds *rounds, const struct plan *last, int round)
{
	int64_t margin;
	int64_t above = plan_needs(last) - (rounds->budget - last->fit_margin);
	bool fits = plan_needs(last) <= rounds->budget;
	if (!rounds_below_floor(rounds, last)) {
		rounds->closest = round > 0 ? smaller_of(rounds->closest, above) : above;
		rounds->farthest = round > 0 ? larger_of(rounds->farthest, above) : above;
	}
	if (round < EXCESS_ROUNDS && rounds->step == 0 && rounds_margin(last, &margin) && margin > last->fit_margin &&
		margin < rounds->budget) {
		rounds->wish.margin = margin;
		return true;
	}
	if (round <= EXCESS_ROUNDS && rounds->step == 0 && fits && rounds_is_close(rounds, last))
		return false;
	return rounds_halve(rounds, last, fits);
}

/* recompute=auto: the largest limit found whose plan keeps the cap. */
static struct plan *rounds_refine(
	const struct planning *planning, struct plan *first, bool alone, bool quick, uint32_t *compared)
{
	bool hosts = (scenario_offload(planning->scenario) & HOSTS_SAVED) && !alone;
	struct rounds rounds = { planning, first, { .alone = alone }, rounds_by_halves, hosts ? HOST_ROUNDS : REFINE_ROUNDS,
		quick, .budget = scenario_budget(planning->scenario) };
	int64_t peak = first->transformed->fit_peak;
	bool unfit = first->pipelined && first->pipelined->unfit && first->fit_margin <= 0;
	if (unfit || plan_needs(first) <= rounds.budget || peak < 0 ||
		(first->pipelined ? bytes_are_far(peak, rounds.budget) : peak > rounds.budget - first->fit_margin))
		return first;
	return rounds_best(&rounds, GOAL_FASTEST, first, compared);
}

/* offload=on: recomputation without the host, planned as well, where it may take less time: choices under the same cap
 * were compared, but this plan may wait for copies longer than was counted, or leave a part of the cap to the layout
 * that another wouldn't. */
static bool rounds_alone_helps(const struct plan *plan)
{
	int64_t extra = plan_extra_time(plan);
	const struct fitted *fitted = plan->fitted;
	if (!fitted || plan->pipelined || !(scenario_offload(&plan->scenario) & HOSTS_SAVED))
		return false;
	bool whole = plan->fit_margin <= 0,
		 least = extra == 0 || (whole && (extra <= fitted->extra || (fitted->away > 0 && extra <= fitted->alone)));
	return fitted->impossible ? !whole : plan_needs(plan) > scenario_budget(&plan->scenario) || !least;
}

/* Where nothing keeps the cap, the plan of the least memory, on which no cap decides. */
static bool rounds_least_helps(const struct plan *plan)
{
	return plan_needs(plan) > scenario_budget(&plan->scenario) && !plan->pipelined;
}

static struct plan *rounds_fit_recomputation(
	const struct planning *planning, struct plan *first, bool quick, uint32_t *compared)
{
	int64_t budget = scenario_budget(planning->scenario);
	struct plan *plan = rounds_refine(planning, first, false, quick, compared);
	for (int alone = 1; alone >= 0 && !quick && !plan->limited && !plan_is_enough(planning, plan) &&
		planning->error->status == OK; alone--) {
		if (!(alone ? rounds_alone_helps : rounds_least_helps)(plan))
			continue;
		struct plan_wish wish = { .margin = alone ? 0 : budget, .alone = alone };
		struct plan *other = plan_once(planning, &wish, false);
		*compared += other != NULL;
		plan = better_of(
			budget, plan, other && alone ? rounds_refine(planning, other, true, false, compared) : other);
	}
	return plan;
}

struct plan *rounds_fit(const struct planning *planning, struct plan *first, bool quick, uint32_t *compared)
{
	struct rounds rounds = { planning, first, { .margin = first->fit_margin }, rounds_by_margin, FIT_ROUNDS, quick,
		.budget = scenario_budget(&first->scenario) };
	struct plan *best = scenario_recompute(planning->scenario) == RECOMPUTE_AUTO
		? rounds_fit_recomputation(planning, first, quick, compared)
		: rounds_best(&rounds, starts_without_cap(planning->scenario) ? GOAL_FASTEST : GOAL_SMALLEST, first, compared);
	return planning_keep(planning, best);
}
