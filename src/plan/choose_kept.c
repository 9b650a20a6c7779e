/* choose_kept.c: recompute=auto against the step with all kept. */
#include "choose.h"
#include "src/scenario/shard_mesh.h"
#include "verdict.h"

#define FAR 20   /* heuristics' plan that is above the cap by a larger part of it has no chance */

static bool runs_again(const struct plan *plan)
{
	const struct pipelined *pipelined = plan->pipelined;
	bool again = graph_reruns(plan->graph);
	for (uint32_t r = 0; pipelined && r < pipelined->ranks && !again; r++)
		again = graph_reruns(pipelined->rank[r].graph);
	return again;
}

static bool pins_reruns(const struct scenario *scenario)
{
	bool any = false;
	FOR(i, scenario->pins)
		any |= scenario->pin[i].kind == PIN_RECOMPUTE || scenario->pin[i].kind == PIN_RERUN;
	return any;
}

static bool choose_kept_is_over(const struct plan *plan)
{
	return plan_needs(plan) > scenario_budget(&plan->scenario);
}

static bool searches_fastest(const struct scenario *scenario)
{
	return scenario_searches(scenario) && !scenario_cuts(scenario) && scenario_strategy(scenario) == STRATEGY_AUTO;
}

/* Whether a step with all kept may be the better plan: something runs again, or nothing fits, and no proof of the same
 * step says that something must. Where shardings are searched for it may have another one, which makes it another step.
 */
static bool may_keep(const struct planning *planning, const struct plan *plan)
{
	const struct fitted *fitted = plan->fitted;
	bool proved = fitted && fitted->bound > 0 && plan->fit_margin <= 0,
		 again = runs_again(plan) || plan_extra_time(plan) > 0 || choose_kept_is_over(plan);
	return !plan->limited && planning->error->status == OK &&
		(scenario_searches(planning->scenario) || (!proved && again));
}

/* A plan of the scenario with all kept as that of the scenario asked for. */
static struct plan *choose_kept_finish(const struct planning *planning, struct plan *kept)
{
	kept->scenario.value[K_recompute] = planning->scenario->value[K_recompute];
	kept->fingerprint = plan_fingerprint(kept->input, &kept->scenario);
	kept->kept = true;
	return kept;
}

/* The step with all kept, where heuristics leave it a chance; else NULL. Of a sharding that is searched for they say
 * nothing: theirs is by roles. */
static struct plan *plan_kept(const struct planning *kept, bool quick)
{
	int64_t budget = scenario_budget(kept->scenario);
	struct plan *plan = !quick && scenario_searches(kept->scenario) ? choose_plan(kept, NULL) : choose_quickly(kept);
	if (quick || !plan || scenario_searches(kept->scenario))
		return plan;
	bool far = plan_needs(plan) > budget + budget / FAR;
	plan_release(plan);
	return far ? NULL : choose_plan(kept, NULL);
}

/* strategy=auto: first the step with all kept, whose fastest plan ends the search where it fits. */
static struct plan *choose_fastest(
	const struct planning *planning, const struct planning *kept, const struct plan *rival)
{
	struct plan_wish wish = first_wish(kept->scenario);
	struct plan *first = plan_once(kept, &wish, false), *best = first ? choose_plan(kept, rival) : NULL;
	bool ends = best && (best->limited || !choose_kept_is_over(first));
	plan_release(first);
	best = best ? choose_kept_finish(planning, best) : NULL;
	if (ends || !best)
		return best;
	struct plan *again = choose_plan(planning, choose_kept_is_over(best) ? rival : best);
	if (planning->error->status != NO_MEMORY) {
		error_set(planning->error, OK);
		return better_of(scenario_budget(planning->scenario), best, again);
	}
	plan_release(best);
	plan_release(again);
	return NULL;
}

/* Other strategies: the step that runs something again, then the one with all kept. */
static struct plan *choose_other(
	const struct planning *planning, const struct planning *kept, const struct plan *rival, bool quick)
{
	struct plan *best = quick ? choose_quickly(planning) : choose_plan(planning, rival);
	if (!best || !may_keep(planning, best))
		return best;
	struct plan *other = plan_kept(kept, quick);
	enum status status = planning->error->status;
	if (status == NO_MEMORY) {
		plan_release(other);
		other = NULL;
	}
	if (status != NO_MEMORY) {
		error_set(planning->error, OK);
		return better_of(scenario_budget(planning->scenario), best,
			other ? choose_kept_finish(planning, other) : NULL);
	}
	plan_release(best);
	return NULL;
}

struct plan *choose_fit(const struct planning *planning, const struct plan *rival, bool quick)
{
	const struct scenario *asked = planning->scenario;
	if (asked->value[K_recompute] != RECOMPUTE_AUTO || scenario_budget(asked) < 0 || pins_reruns(asked))
		return quick ? choose_quickly(planning) : choose_plan(planning, rival);
	struct scenario scenario;
	struct planning kept = *planning;
	if (scenario_copy(&scenario, asked) != OK) {
		fail_memory(planning->error);
		return NULL;
	}
	scenario.value[K_recompute] = RECOMPUTE_KEPT;
	kept.scenario = &scenario;
	struct plan *plan = searches_fastest(asked) && !quick ? choose_fastest(planning, &kept, rival)
		: choose_other(planning, &kept, rival, quick);
	scenario_done(&scenario);
	return plan;
}
