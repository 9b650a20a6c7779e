/* slowdowns.c: the curve of time over memory, on a thread of its own. */
#include "view.h"

#include "src/base/background.h"

struct slowdowns_job {
	struct finder finder;
	struct slowdown curve;
};

static void slowdowns_take(void *context, const struct slowdown *curve)
{
	struct slowdowns_job *job = context;
	pthread_mutex_lock(&job->finder.lock);
	job->curve = *curve;
	job->finder.changed = true;
	pthread_mutex_unlock(&job->finder.lock);
}

static void slowdowns_run(void *context, const atomic_bool *cancel)
{
	struct slowdowns_job *job = context;
	struct slowdown_watch watch = { slowdowns_take, job };
	struct slowdown curve;
	if (slowdown_find(job->finder.plan, job->finder.rules_file, cancel, &watch, &curve, &job->finder.error) == OK)
		slowdowns_take(job, &curve);
}

void slowdowns_wait(struct slowdowns *slowdowns)
{
	struct slowdowns_job *job = slowdowns->job;
	if (!job)
		return;
	background_end(job->finder.background);
	slowdowns->finding = false;
	slowdowns_look(slowdowns);
	slowdowns->job = NULL;
	slowdowns->error = job->finder.error;
	finder_free(job);
}

void slowdowns_find(struct slowdowns *slowdowns, const struct plan *plan, const char *rules_file)
{
	uint64_t fingerprint = slowdown_fingerprint(plan);
	if (slowdowns->job ? slowdowns->job->finder.fingerprint == fingerprint
		: slowdowns->there && slowdowns->curve.fingerprint == fingerprint && !*slowdowns->error.text)
		return;
	slowdowns_free(slowdowns);
	slowdowns->there = false;
	slowdowns->error = (struct error){ 0 };
	slowdowns->job = finder_start(sizeof *slowdowns->job, plan, rules_file, fingerprint, slowdowns_run);
	slowdowns->finding = slowdowns->job;
	if (!slowdowns->job)
		fail_memory(&slowdowns->error);
}

const struct slowdowns *slowdowns_look(struct slowdowns *slowdowns)
{
	struct slowdowns_job *job = slowdowns->job;
	if (!job)
		return slowdowns;
	pthread_mutex_lock(&job->finder.lock);
	if (job->finder.changed) {
		slowdowns->curve = job->curve;
		slowdowns->there = true;
		job->finder.changed = false;
	}
	pthread_mutex_unlock(&job->finder.lock);
	if (slowdowns->finding && background_done(job->finder.background))
		slowdowns_wait(slowdowns);
	return slowdowns;
}

void slowdowns_free(struct slowdowns *slowdowns)
{
	finder_cancel(slowdowns->job);
	slowdowns_wait(slowdowns);
}
