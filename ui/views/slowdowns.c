/* slowdowns.c: the curve of time over memory, on a thread of its own. */
#include "view.h"

#include <pthread.h>

#include "src/base/background.h"

struct slowdowns_job {
	struct background *background;
	struct plan *plan;
	const char *rules_file;
	uint64_t fingerprint;
	pthread_mutex_t lock; /* of curve: points come while the screen draws */
	struct slowdown curve;
	bool changed;
	struct error error;
};

static void slowdowns_take(void *context, const struct slowdown *curve)
{
	struct slowdowns_job *job = context;
	pthread_mutex_lock(&job->lock);
	job->curve = *curve;
	job->changed = true;
	pthread_mutex_unlock(&job->lock);
}

static void views_slowdowns_find(void *context, const atomic_bool *cancel)
{
	struct slowdowns_job *job = context;
	struct slowdown_watch watch = { slowdowns_take, job };
	struct slowdown curve;
	if (slowdown_find(job->plan, job->rules_file, cancel, &watch, &curve, &job->error) == OK)
		slowdowns_take(job, &curve);
}

static void slowdowns_end(struct slowdowns *slowdowns)
{
	struct slowdowns_job *job = slowdowns->job;
	background_end(job->background);
	slowdowns->finding = false;
	slowdowns_look(slowdowns);
	slowdowns->job = NULL;
	slowdowns->error = job->error;
	pthread_mutex_destroy(&job->lock);
	plan_release(job->plan);
	mem_free(job);
}

void slowdowns_find(struct slowdowns *slowdowns, const struct plan *plan, const char *rules_file)
{
	uint64_t fingerprint = slowdown_fingerprint(plan);
	if (slowdowns->job ? slowdowns->job->fingerprint == fingerprint
		: slowdowns->there && slowdowns->curve.fingerprint == fingerprint && !*slowdowns->error.text)
		return;
	if (slowdowns->job) {
		slowdowns_cancel(slowdowns);
		slowdowns_end(slowdowns);
	}
	slowdowns->there = false;
	slowdowns->error = (struct error){ 0 };
	struct slowdowns_job *job = mem_alloc(1, sizeof *job);
	if (job) {
		*job = (struct slowdowns_job){
			.plan = plan_retain((struct plan *)(uintptr_t)plan), .rules_file = rules_file, .fingerprint = fingerprint
		};
		pthread_mutex_init(&job->lock, NULL);
		job->background = background_start(views_slowdowns_find, job);
	}
	if (job && job->background) {
		slowdowns->job = job;
		slowdowns->finding = true;
		return;
	}
	if (job) {
		pthread_mutex_destroy(&job->lock);
		plan_release(job->plan);
	}
	mem_free(job);
	fail_memory(&slowdowns->error);
}

const struct slowdowns *slowdowns_look(struct slowdowns *slowdowns)
{
	struct slowdowns_job *job = slowdowns->job;
	if (!job)
		return slowdowns;
	pthread_mutex_lock(&job->lock);
	if (job->changed) {
		slowdowns->curve = job->curve;
		slowdowns->there = true;
		job->changed = false;
	}
	pthread_mutex_unlock(&job->lock);
	if (slowdowns->finding && background_done(job->background))
		slowdowns_end(slowdowns);
	return slowdowns;
}

bool slowdowns_cancel(struct slowdowns *slowdowns)
{
	if (slowdowns->job)
		background_cancel(slowdowns->job->background);
	return slowdowns->job;
}

bool slowdowns_pending(const struct slowdowns *slowdowns)
{
	return slowdowns->job;
}

void slowdowns_wait(struct slowdowns *slowdowns)
{
	if (slowdowns->job)
		slowdowns_end(slowdowns);
}

void slowdowns_free(struct slowdowns *slowdowns)
{
	slowdowns_cancel(slowdowns);
	slowdowns_wait(slowdowns);
}
