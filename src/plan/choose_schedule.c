/* choose_schedule.c: schedule=auto: the best of the plans of the named schedules.
 *
 * Which schedule keeps a cap shows in planned arenas alone: the peak of a program order may be above it where another
 * order isn't. So every schedule that may be the best gets a plan of its own, by the same choice as by name. */
#include "choose.h"
#include "src/scenario/shard_mesh.h"
#include "src/stages/pipeline/stage.h"
#include "verdict.h"

#define CHUNKS_FEW 4      /* heuristics alone have no more pieces of a rank, others of more the fastest number */
#define TRIALS (SCHEDULE_COUNT + SCHEDULE_CHUNKS_MAX - 2)
#define FAR_PERCENT 25   /* no order and no layout takes that much off heuristics' arena */

struct trial {
	int64_t schedule, chunks;
	int64_t time;            /* picoseconds of a step of the first cuts, which are the fastest */
};

struct trials {
	struct planning planning;  /* with a scenario of its own */
	const struct scenario *asked;
	struct scenario scenario;
	struct trial trial[TRIALS];
	uint32_t count;
	bool searches;             /* for shardings, so that the first isn't the only one */
};

bool has_free_schedule(const struct scenario *scenario)
{
	return scenario_cuts(scenario) && scenario->value[K_schedule] == SCHEDULE_AUTO;
}

static void name_schedule(struct trials *trials, const struct trial *trial)
{
	trials->scenario.value[K_schedule] = trial->schedule;
	trials->scenario.value[K_chunks] = trial->chunks;
}

/* A candidate that can't be played says why and is no reason to stop. */
static bool choose_schedule_goes_on(const struct planning *planning)
{
	enum status status = planning->error->status;
	return status == OK || status == BAD_INPUT || status == INFEASIBLE;
}

/* Takes a schedule in, by the time of its step, if it can be played. */
static void add_trial(struct trials *trials, struct trial trial, bool quick)
{
	struct planning *planning = &trials->planning;
	struct plan_wish wish = first_wish(&trials->scenario);
	name_schedule(trials, &trial);
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

static void find_trials(struct trials *trials, bool quick)
{
	int64_t chunks = trials->asked->value[K_chunks];
	uint32_t layers = pipeline_layers(trials->planning.input), most = quick ? CHUNKS_FEW : SCHEDULE_CHUNKS_MAX;
	FOR_INT(schedule, SCHEDULE_COUNT) {
		bool varies = schedule == SCHEDULE_INTERLEAVED && chunks == KNOB_GIVEN && trials->asked->value[K_pp] > 1;
		if (!varies)
			add_trial(trials, (struct trial) { .schedule = schedule, .chunks = chunks }, quick);
		for (uint32_t count = 2; varies && count <= most && choose_schedule_goes_on(&trials->planning); count++)
			if (pipeline_tries_chunks(trials->asked, layers, count))
				add_trial(trials, (struct trial) { .schedule = schedule, .chunks = count }, quick);
		if (!choose_schedule_goes_on(&trials->planning))
			break;
	}
}

/* Of many pieces of a rank the fastest number stays: each has plans of its own. */
static void leave_one(struct trials *trials)
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
static bool choose_schedule_is_hopeless(struct trials *trials, const struct trial *trial, const struct plan *best)
{
	int64_t budget = scenario_budget(trials->asked), needs = best ? plan_needs(best) : -1;
	bool fits = best && (budget < 0 || needs <= budget);
	if (!best || trials->searches)
		return false;
	if (fits && !is_as_fast(trial->time, plan_step_time(best)))
		return true;
	if (budget < 0)
		return false;
	OWN(plan) *quick = choose_fit(&trials->planning, NULL, true);
	int64_t limit = fits || needs < budget ? budget : needs;
	bool hopeless = quick && plan_needs(quick) > limit + limit / 100 * FAR_PERCENT;
	return hopeless;
}

/* A plan as that of the scenario that was asked for. */
static struct plan *choose_schedule_finish(const struct trials *trials, struct plan *best, bool limited)
{
	static const enum knob_id changed[] = { K_schedule, K_chunks };
	FOR(i, COUNT_OF(changed))
		best->scenario.value[changed[i]] = trials->asked->value[changed[i]];
	best->fingerprint = plan_fingerprint(best->input, &best->scenario);
	best->schedules = trials->count;
	best->limited |= limited;
	return best;
}

struct plan *choose_schedule(const struct planning *planning, bool quick)
{
	struct trials trials = {
		.planning = *planning, .asked = planning->scenario, .searches = scenario_searches(planning->scenario)
	};
	struct shortlist list = { .goal = { GOAL_FASTEST, scenario_budget(planning->scenario) } };
	if (scenario_copy(&trials.scenario, planning->scenario) != OK) {
		fail_memory(planning->error);
		return NULL;
	}
	trials.planning.scenario = &trials.scenario;
	find_trials(&trials, quick);
	leave_one(&trials);
	for (uint32_t i = 0; i < trials.count && choose_schedule_goes_on(planning); i++) {
		name_schedule(&trials, &trials.trial[i]);
		const struct plan *best = shortlist_leader(&list);
		if (choose_schedule_is_hopeless(&trials, &trials.trial[i], best))
			continue;
		error_set(planning->error, OK);
		shortlist_add(&list, choose_fit(&trials.planning, best, quick));
	}
	struct plan *best = shortlist_take(&list);
	bool cancelled = planning->error->status == CANCELLED, fine = choose_schedule_goes_on(planning) || cancelled;
	scenario_done(&trials.scenario);
	if (best && fine) {
		error_set(planning->error, OK);
		return choose_schedule_finish(&trials, best, cancelled);
	}
	plan_release(best);
	return NULL;
}
