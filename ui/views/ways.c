/* ways.c: the list of changes that fit, on a thread of its own. */
#include "view.h"

#include <pthread.h>

#include "src/base/background.h"

#define STORE_BYTES (INT64_C(1) << 28)

struct ways_job {
	struct background *background;
	struct plan *plan;
	const char *rules_file;
	pthread_mutex_t lock; /* of list: rows come while the screen draws */
	struct fit_list list;
	bool changed;
	struct error error;
};

static void ways_take_row(void *context, const struct fit_list *list, const struct fit_way *way)
{
	(void)way;
	struct ways_job *job = context;
	pthread_mutex_lock(&job->lock);
	fit_list_free(&job->list);
	job->changed = fit_list_copy(&job->list, list) == OK;
	pthread_mutex_unlock(&job->lock);
}

static void views_ways_find(void *context, const atomic_bool *cancel)
{
	struct ways_job *job = context;
	struct scenario scenario;
	struct fit_list list = { 0 };
	struct planner planner = {
		.store = store_new(), .rules_file = job->rules_file, .abandoned = cancel, .control = { .cancel = cancel }
	};
	int64_t devices = job->plan->scenario.value[K_devices];
	if (!planner.store || scenario_copy(&scenario, &job->plan->scenario) != OK) {
		fail_memory(&job->error);
		planner_done(&planner);
		return;
	}
	scenario.value[K_store] = scenario.value[K_store] < STORE_BYTES ? scenario.value[K_store] : STORE_BYTES;
	struct fit_watch watch = { ways_take_row, job };
	if (fit_list_find(&planner, job->plan->input, &scenario, (uint32_t)devices, &watch, &list,
			&job->error) == OK)
		ways_take_row(job, &list, NULL);
	fit_list_free(&list);
	scenario_done(&scenario);
	planner_done(&planner);
}

static void ways_end(struct ways *ways)
{
	struct ways_job *job = ways->job;
	background_end(job->background);
	ways->finding = false;
	ways_look(ways);
	ways->job = NULL;
	ways->error = job->error;
	fit_list_free(&job->list);
	pthread_mutex_destroy(&job->lock);
	plan_release(job->plan);
	mem_free(job);
}

void ways_find(struct ways *ways, const struct plan *plan, const char *rules_file)
{
	if (ways->job) {
		ways_cancel(ways);
		ways_end(ways);
	}
	fit_list_free(&ways->list);
	ways->fingerprint = plan->fingerprint;
	ways->error = (struct error){ 0 };
	struct ways_job *job = mem_alloc(1, sizeof *job);
	if (job) {
		*job = (struct ways_job){ .plan = plan_retain((struct plan *)(uintptr_t)plan), .rules_file = rules_file };
		pthread_mutex_init(&job->lock, NULL);
		job->background = background_start(views_ways_find, job);
	}
	if (job && job->background) {
		ways->job = job;
		ways->finding = true;
		return;
	}
	if (job) {
		pthread_mutex_destroy(&job->lock);
		plan_release(job->plan);
	}
	mem_free(job);
	fail_memory(&ways->error);
}

const struct ways *ways_look(struct ways *ways)
{
	struct ways_job *job = ways->job;
	if (!job)
		return ways;
	pthread_mutex_lock(&job->lock);
	if (job->changed) {
		fit_list_free(&ways->list);
		ways->list = job->list;
		job->list = (struct fit_list){ 0 };
		job->changed = false;
	}
	pthread_mutex_unlock(&job->lock);
	if (ways->finding && background_done(job->background))
		ways_end(ways);
	return ways;
}

bool ways_cancel(struct ways *ways)
{
	if (ways->job)
		background_cancel(ways->job->background);
	return ways->job;
}

bool ways_pending(const struct ways *ways)
{
	return ways->job;
}

void ways_wait(struct ways *ways)
{
	if (ways->job)
		ways_end(ways);
}

void ways_free(struct ways *ways)
{
	ways_cancel(ways);
	ways_wait(ways);
	fit_list_free(&ways->list);
}
