/* configurations.c: timetables and searches on threads of their own. */
#include "view.h"

#include "src/base/background.h"
#include "src/configs/model_source.h"
#include "src/read/rules_file.h"
#include "src/scenario/knobs.h"

/* Rows that were planned stand by their plans' times, whatever the formula said. */
enum { ANY_ERROR = 9000 };
#define STORE_BYTES ((size_t)1 << 28)

struct timetable_job {
	struct finder finder;
	struct timetable timetable;
};

struct search_job {
	struct finder finder;
	struct config_ranking ranking; /* as it will be */
	struct config_list list;       /* guarded, as is the next */
	bool searched;                 /* it is whole */
};

/* ---- timetables ---- */

static void configurations_find_timetable(void *context, const atomic_bool *cancel)
{
	struct timetable_job *job = context;
	(void)cancel;
	plan_timetable(job->finder.plan, job->finder.rules_file, &job->timetable, &job->finder.error);
}

/* What was asked before is still on its way when something else is asked: it is thrown away then. */
static void end_timetable(struct configurations *kept)
{
	struct timetable_job *job = kept->job;
	background_end(job->finder.background);
	timetable_free(&kept->timetable);
	kept->timetable = job->timetable;
	kept->fingerprint = job->finder.fingerprint;
	kept->problem = job->finder.error;
	kept->job = NULL;
	finder_free(job);
}

const struct timetable *configurations_timetable(
	struct configurations *kept, const struct plan *plan, const char *rules_file, const char **problem)
{
	uint64_t wanted = plan->serial ^ plan->fingerprint; /* peaks and times are the plan's */
	if (kept->job && background_done(kept->job->finder.background))
		end_timetable(kept);
	if (!kept->job && (kept->fingerprint != wanted || (kept->timetable.ranks == 0 && !kept->problem.text[0]))) {
		timetable_free(&kept->timetable);
		kept->fingerprint = wanted;
		kept->job = finder_start(
			sizeof *kept->job, plan, rules_file, wanted, configurations_find_timetable, NULL, &kept->problem);
	} else if (kept->job && kept->job->finder.fingerprint != wanted) {
		finder_cancel(kept->job);
	}
	*problem = kept->problem.text;
	return kept->fingerprint == wanted && !kept->job && kept->timetable.ranks > 0 ? &kept->timetable : NULL;
}

/* ---- all configurations ---- */

static const enum knob_id chosen[] = { K_strategy, K_dp, K_tp, K_pp, K_cp, K_ep, K_sp, K_zero, K_microbatches,
	K_schedule, K_chunks, K_recompute, K_slack };

/* The scenario without what configurations choose. OK or NO_MEMORY. */
static enum status open_scenario(const struct plan *plan, struct scenario *scenario)
{
	TRY(scenario_copy(scenario, &plan->scenario));
	FOR_SIZE(i, COUNT_OF(chosen))
		scenario->value[chosen[i]] = knobs[chosen[i]].normal;
	return OK;
}

uint64_t configurations_fingerprint(const struct plan *plan)
{
	struct scenario scenario;
	if (open_scenario(plan, &scenario) != OK)
		return 0;
	struct key key = key_of("configurations");
	key_add(&key, plan->input->fingerprint);
	FOR_INT(knob, KNOB_COUNT)
		if (knobs[knob].stage < STAGE_ORDER && knob != K_store && knob != K_rank)
			key_add(&key, (uint64_t)scenario.value[knob]);
	scenario_done(&scenario);
	return key.half[0];
}

/* What the screen takes over when it draws next. */
static void configurations_publish(void *context, const struct config_list *list)
{
	struct search_job *job = context;
	pthread_mutex_lock(&job->finder.lock);
	config_list_free(&job->list);
	job->searched = true;
	job->finder.changed = config_list_copy(&job->list, list) == OK;
	pthread_mutex_unlock(&job->finder.lock);
}

/* The same of a list that is not ranked yet, as soon as the screen has taken the last one. */
static void configurations_publish_part(void *context, const struct config_list *list)
{
	struct search_job *job = context;
	pthread_mutex_lock(&job->finder.lock);
	bool taken = !job->finder.changed;
	if (taken && list->entries > 0 && config_list_copy(&job->list, list) == OK)
		job->finder.changed = config_rank(&job->list) == OK;
	pthread_mutex_unlock(&job->finder.lock);
}

static void configurations_search_in(
	struct search_job *job, struct stage_context *stage, struct control *control, struct error *error)
{
	const struct scenario *scenario = &job->finder.plan->scenario;
	struct config_ranking *ranking = &job->ranking;
	struct model_source source;
	struct config_request request = { .devices = (uint32_t)scenario->value[K_devices],
		.devices_per_node = (uint32_t)scenario->device.node,
		.overheads = overheads_all,
		.rows = UINT32_MAX,
		.zero = -1,
		.sp = -1,
		.recompute = -1,
		.schedule = -1 };
	model_source_of(&source, job->finder.plan->input, scenario, stage);
	model_source_request(&source, &request);
	struct config_watch watch = { configurations_publish_part, job };
	request.watch = &watch;
	request.batch = model_source_batch(&source);
	ranking->devices = request.devices;
	ranking->memory = request.machine.memory;
	ranking->batch = request.batch;
	if (config_search(&request, control, &ranking->list, error) == CANCELLED)
		config_list_free(&ranking->list);
}

/* The best rows, or where nothing fits by the estimates the nearest. */
static void plan_rows(struct search_job *job, const atomic_bool *cancel)
{
	OWN(planner)
	planner = {
		.store = store_new(), .rules_file = job->finder.rules_file, .abandoned = cancel, .control = { .cancel = cancel }
	};
	struct config_watch watch = { configurations_publish, job };
	struct scenario scenario;
	struct error error = { 0 };
	if (planner.store && open_scenario(job->finder.plan, &scenario) == OK) {
		scenario.value[K_rank] = KNOB_GIVEN;
		scenario.value[K_store] = SMALLER(scenario.value[K_store], (int64_t)STORE_BYTES);
		config_plan_best(&planner, job->finder.plan->input, &scenario, CONFIGS_BEST, &watch, &job->ranking.list, &error);
		configurations_publish(job, &job->ranking.list);
		scenario_done(&scenario);
	}
}

static void configurations_run(void *context, const atomic_bool *cancel)
{
	struct search_job *job = context;
	struct error error = { 0 };
	struct rules *rules = rules_load(job->finder.rules_file, &error);
	struct store *store = store_new();
	struct control control = { .cancel = cancel };
	struct stage_context stage = { .store = store, .rules = rules, .control = &control };
	if (rules && store) {
		store_begin(store, STORE_BYTES, cancel);
		configurations_search_in(job, &stage, &control, &error);
	} else if (rules) {
		fail_memory(&error);
	}
	store_free(store);
	rules_free(rules);
	if (job->ranking.list.entries == 0)
		job->ranking.error = error;
	if (job->ranking.list.entries == 0 && atomic_load(cancel))
		fail(&job->ranking.error, CANCELLED, "the search was stopped");
	if (job->ranking.list.entries == 0)
		return;
	configurations_publish(job, &job->ranking.list);
	plan_rows(job, cancel);
}

/* Takes over the rows that have come. */
static void configurations_take_rows(struct configurations *kept)
{
	struct search_job *job = kept->search;
	struct config_ranking *ranking = &kept->ranking;
	pthread_mutex_lock(&job->finder.lock);
	if (job->finder.changed) {
		uint64_t serial = ranking->serial + 1;
		config_list_free(&ranking->list);
		*ranking = (struct config_ranking){ .fingerprint = job->finder.fingerprint,
			.searching = !job->searched,
			.planning = job->searched,
			.serial = serial,
			.list = job->list,
			.devices = job->ranking.devices,
			.batch = job->ranking.batch,
			.memory = job->ranking.memory };
		job->list = (struct config_list){ 0 };
		job->finder.changed = false;
	}
	pthread_mutex_unlock(&job->finder.lock);
}

static void end_search(struct configurations *kept)
{
	struct search_job *job = kept->search;
	struct config_ranking *ranking = &kept->ranking;
	background_end(job->finder.background);
	configurations_take_rows(kept);
	if (job->ranking.list.entries == 0) {
		config_list_free(&ranking->list);
		*ranking = (struct config_ranking){
			.fingerprint = job->finder.fingerprint, .serial = ranking->serial + 1, .error = job->ranking.error
		};
	}
	if (ranking->planning)
		config_order_rows(&ranking->list, ANY_ERROR);
	ranking->searching = ranking->planning = false;
	kept->search = NULL;
	config_list_free(&job->ranking.list);
	config_list_free(&job->list);
	finder_free(job);
}

void configurations_search(struct configurations *kept, const struct plan *plan, const char *rules_file)
{
	uint64_t fingerprint = configurations_fingerprint(plan);
	if (kept->search && kept->search->finder.fingerprint == fingerprint)
		return;
	if (finder_cancel(kept->search))
		end_search(kept);
	struct error error;
	kept->search =
		finder_start(sizeof *kept->search, plan, rules_file, fingerprint, configurations_run, NULL, &error);
	kept->ranking.searching = kept->search;
	if (!kept->search)
		kept->ranking.error = error;
}

const struct config_ranking *configurations_ranking(struct configurations *kept)
{
	if (kept->search)
		configurations_take_rows(kept);
	if (kept->search && background_done(kept->search->finder.background))
		end_search(kept);
	return &kept->ranking;
}

/* ---- both ---- */

void configurations_wait(struct configurations *kept)
{
	if (kept->job)
		end_timetable(kept);
	if (kept->search)
		end_search(kept);
}

void configurations_free(struct configurations *kept)
{
	finder_cancel(kept->job);
	finder_cancel(kept->search);
	configurations_wait(kept);
	timetable_free(&kept->timetable);
	config_list_free(&kept->ranking.list);
	*kept = (struct configurations){ 0 };
}
