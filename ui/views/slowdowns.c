/* slowdowns.c: the curve of time over memory, on a thread of its own. */
#include "view.h"

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

static void slowdowns_take_over(void *owner, void *job)
{
	struct slowdowns *slowdowns = owner;
	slowdowns->curve = ((struct slowdowns_job *)job)->curve;
	slowdowns->there = true;
}

void slowdowns_wait(struct slowdowns *slowdowns)
{
	slowdowns->job = finder_look(slowdowns->job, true, slowdowns, &slowdowns->error);
}

void slowdowns_find(struct slowdowns *slowdowns, const struct plan *plan, const char *rules_file)
{
	uint64_t fingerprint = slowdown_fingerprint(plan);
	if (slowdowns->job ? slowdowns->job->finder.fingerprint == fingerprint
		: slowdowns->there && slowdowns->curve.fingerprint == fingerprint && !*slowdowns->error.text)
		return;
	slowdowns_free(slowdowns);
	slowdowns->there = false;
	slowdowns->job = finder_start(sizeof *slowdowns->job, plan, rules_file, fingerprint, slowdowns_run,
		slowdowns_take_over, &slowdowns->error);
}

const struct slowdowns *slowdowns_look(struct slowdowns *slowdowns)
{
	slowdowns->job = finder_look(slowdowns->job, false, slowdowns, &slowdowns->error);
	return slowdowns;
}

void slowdowns_free(struct slowdowns *slowdowns)
{
	finder_cancel(slowdowns->job);
	slowdowns_wait(slowdowns);
}
