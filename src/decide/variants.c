/* variants.c: other scenarios whose plans answer the one asked for: recompute=auto with all kept, schedule=auto with
 * each schedule by name. */
#include "decide.h"
#include "src/scenario/knobs.h"
#include "src/scenario/shard_mesh.h"
#include "src/stages/pipeline/stage.h"

bool variant_open(struct variant *variant, const struct planning *planning)
{
	variant->planning = *planning;
	variant->planning.scenario = &variant->scenario;
	variant->planning.planner = NULL;
	return scenario_copy(&variant->scenario, planning->scenario) == OK || fail_memory(planning->error) == OK;
}

void variant_of_part(struct scenario *scenario, double part)
{
	int64_t budget = scenario_budget(scenario);
	FOR_INT(k, KNOB_COUNT)
		if (knobs[k].stage < STAGE_SHARD && k != K_allocator && knob_matters(k))
			scenario->value[k] = knobs[k].normal;
	if (budget >= 0) {
		scenario->value[K_reserve] = 0;
		scenario->value[K_memory] = (int64_t)((double)budget * part);
	}
}

/* A variant's plan as one of the scenario that was asked for. */
static struct plan *variants_answer(const struct planning *planning, struct plan *plan)
{
	if (plan) {
		memcpy(plan->scenario.value, planning->scenario->value, sizeof plan->scenario.value);
		plan->fingerprint = plan_fingerprint(plan->input, &plan->scenario);
	}
	return plan;
}

/* ---- recompute=auto against the step with all kept ---- */

#define FAR 20   /* heuristics' plan that is above the cap by a larger part of it has no chance */

static bool variants_runs_again(const struct plan *plan)
{
	const struct pipelined *pipelined = plan->pipelined;
	bool again = graph_reruns(plan->graph) || plan_extra_time(plan) > 0;
	for (uint32_t r = 0; pipelined && r < pipelined->ranks && !again; r++)
		again = graph_reruns(pipelined->rank[r].graph);
	return again;
}

static bool variants_pins_reruns(const struct scenario *scenario)
{
	bool any = false;
	FOR(i, scenario->pins)
		any |= scenario->pin[i].kind == PIN_RECOMPUTE || scenario->pin[i].kind == PIN_RERUN;
	return any;
}

/* Whether a step with all kept may be the better plan: something runs again, or nothing fits, and no proof of the same
 * step says that something must. Where shardings are searched for it may have another one, which makes it another step.
 */
static bool variants_may_keep(const struct planning *planning, const struct plan *plan)
{
	const struct fitted *fitted = plan->fitted;
	bool proved = fitted && fitted->bound > 0 && plan->fit_margin <= 0;
	return !plan->limited && planning->error->status == OK && !plan_is_enough(planning, plan) &&
		(scenario_searches(planning->scenario) || (!proved && (variants_runs_again(plan) || plan_is_over(plan))));
}

/* The step with all kept, where heuristics leave it a chance; else NULL. Of a sharding that is searched for they say
 * nothing: theirs is by roles. */
static struct plan *variants_keep(
	const struct planning *planning, const struct planning *kept, const struct plan *rival, bool quick)
{
	bool searches = !quick && scenario_searches(kept->scenario);
	struct plan *plan = searches ? choose_plan(kept, rival) : choose_quickly(kept);
	if (plan && !quick && !searches) {
		int64_t budget = scenario_budget(kept->scenario);
		bool far = plan_needs(plan) > budget + budget / FAR;
		plan_release(plan);
		plan = far ? NULL : choose_plan(kept, NULL);
	}
	if (plan)
		plan->kept = true;
	return variants_answer(planning, plan);
}

/* Whether the first plan of a scenario keeps its cap. */
static bool variants_first_fits(const struct planning *planning)
{
	struct plan_wish wish = first_wish(planning->scenario);
	OWN(plan) *first = plan_once(planning, &wish, false);
	return first && !plan_is_over(first);
}

struct plan *choose_fit(const struct planning *planning, const struct plan *rival, bool quick)
{
	const struct scenario *asked = planning->scenario;
	int64_t budget = scenario_budget(asked);
	bool fits = asked->value[K_recompute] == RECOMPUTE_AUTO && budget >= 0 && !variants_pins_reruns(asked);
	bool keeps_first = fits && !quick && scenario_searches(asked) && !scenario_cuts(asked) &&
		scenario_strategy(asked) == STRATEGY_AUTO;
	struct variant kept;
	if (fits && !variant_open(&kept, planning))
		return NULL;
	if (fits)
		kept.scenario.value[K_recompute] = RECOMPUTE_KEPT;
	struct plan *best = keeps_first ? variants_keep(planning, &kept.planning, rival, quick)
		: quick ? choose_quickly(planning)
		: choose_plan(planning, rival);
	bool ends = !fits || !best ||
		(keeps_first ? best->limited || variants_first_fits(&kept.planning) : !variants_may_keep(planning, best));
	if (!ends)
		best = planning_keep(planning, better_of(budget, best, keeps_first
			? choose_plan(planning, plan_is_over(best) ? rival : best)
			: variants_keep(planning, &kept.planning, NULL, quick)));
	if (fits)
		scenario_done(&kept.scenario);
	return best;
}

/* ---- schedule=auto: the best of the plans of the named schedules ----
 *
 * Which schedule keeps a cap shows in planned arenas alone: the peak of a program order may be above it where another
 * order isn't. So every schedule that may be the best gets a plan of its own, by the same choice as by name. */

#define CHUNKS_FEW 4      /* heuristics alone have no more pieces of a rank, others of more the fastest number */
#define TRIALS (SCHEDULE_COUNT + SCHEDULE_CHUNKS_MAX - 2)

struct trials {
	struct variant named;
	const struct scenario *asked;
	struct trial {
		int64_t schedule, chunks;
		int64_t time;          /* picoseconds of a step of the first cuts, which are the fastest */
	} trial[TRIALS];
	uint32_t count;
};

bool has_free_schedule(const struct scenario *scenario)
{
	return scenario_cuts(scenario) && scenario->value[K_schedule] == SCHEDULE_AUTO;
}

static void variants_name(struct trials *trials, const struct trial *trial)
{
	trials->named.scenario.value[K_schedule] = trial->schedule;
	trials->named.scenario.value[K_chunks] = trial->chunks;
}

/* A candidate that can't be played says why and is no reason to stop. */
static bool variants_go_on(const struct planning *planning)
{
	enum status status = planning->error->status;
	return status == OK || status == BAD_INPUT || status == INFEASIBLE;
}

/* Takes a schedule in, by the time of its step, if it can be played. */
static void variants_add_trial(struct trials *trials, int64_t schedule, int64_t chunks, bool quick)
{
	const struct planning *planning = &trials->named.planning;
	struct trial trial = { schedule, chunks, 0 };
	struct plan_wish wish = first_wish(planning->scenario);
	variants_name(trials, &trial);
	struct transformed *transformed = stage_transform(
		planning->stage, planning->input, planning->scenario, &wish, quick, planning->error);
	if (!transformed)
		return;
	uint32_t at = trials->count++;
	trial.time = transformed->pipelined ? transformed->pipelined->time : 0;
	for (; at > 0 && trials->trial[at - 1].time > trial.time; at--)
		trials->trial[at] = trials->trial[at - 1];
	trials->trial[at] = trial;
	transformed_release(transformed);
}

static void variants_find_trials(struct trials *trials, bool quick)
{
	const struct planning *planning = &trials->named.planning;
	int64_t chunks = trials->asked->value[K_chunks];
	uint32_t layers = pipeline_layers(planning->input), most = quick ? CHUNKS_FEW : SCHEDULE_CHUNKS_MAX;
	for (int schedule = 0; schedule < SCHEDULE_COUNT && variants_go_on(planning); schedule++) {
		bool varies = schedule == SCHEDULE_INTERLEAVED && chunks == KNOB_GIVEN && trials->asked->value[K_pp] > 1;
		if (!varies)
			variants_add_trial(trials, schedule, chunks, quick);
		for (uint32_t count = 2; varies && count <= most && variants_go_on(planning); count++)
			if (pipeline_tries_chunks(trials->asked, layers, count))
				variants_add_trial(trials, schedule, count, quick);
	}
}

/* Of many pieces of a rank the fastest number stays: each has plans of its own. */
static void variants_leave_one(struct trials *trials)
{
	uint32_t count = 0, many = 0;
	FOR(i, trials->count) {
		many += trials->trial[i].chunks > CHUNKS_FEW;
		if (trials->trial[i].chunks <= CHUNKS_FEW || many == 1 || trials->asked->value[K_chunks] != KNOB_GIVEN)
			trials->trial[count++] = trials->trial[i];
	}
	trials->count = count;
}

/* Whether a schedule's plans can't be better than the best so far: see the header. May plan it by heuristics. */
static bool variants_is_hopeless(struct trials *trials, const struct trial *trial, const struct plan *best)
{
	int64_t budget = scenario_budget(trials->asked);
	if (!best || scenario_searches(trials->asked))
		return false;
	if (!plan_is_over(best) && !is_as_fast(trial->time, plan_step_time(best)))
		return true;
	if (budget < 0)
		return false;
	OWN(plan) *quick = choose_fit(&trials->named.planning, NULL, true);
	return quick && plan_is_far(quick, larger_of(budget, plan_needs(best)));
}

struct plan *choose_schedule(const struct planning *planning, bool quick)
{
	struct trials trials = { .asked = planning->scenario };
	struct shortlist list = { .goal = { GOAL_FASTEST, scenario_budget(planning->scenario) } };
	if (!variant_open(&trials.named, planning))
		return NULL;
	variants_find_trials(&trials, quick);
	variants_leave_one(&trials);
	FOR_WHILE(i, trials.count, variants_go_on(planning)) {
		variants_name(&trials, &trials.trial[i]);
		const struct plan *best = shortlist_leader(&list);
		if (variants_is_hopeless(&trials, &trials.trial[i], best))
			continue;
		error_set(planning->error, OK);
		shortlist_add(&list, choose_fit(&trials.named.planning, best, quick));
	}
	struct plan *best = variants_answer(planning, planning_keep(planning, shortlist_take(&list)));
	scenario_done(&trials.named.scenario);
	if (best)
		best->schedules = trials.count;
	return best;
}
