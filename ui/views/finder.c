/* finder.c: threads that find something of a plan. */
#include "view.h"

#include "src/base/background.h"

void *finder_start(size_t size, const struct plan *plan, const char *rules_file, uint64_t fingerprint,
	void (*run)(void *job, const atomic_bool *cancel), void (*take)(void *owner, void *job), struct error *error)
{
	struct finder *finder = mem_alloc(1, size);
	*error = (struct error){ 0 };
	if (!finder) {
		fail_memory(error);
		return NULL;
	}
	finder->plan = plan_retain((struct plan *)(uintptr_t)plan);
	finder->rules_file = rules_file;
	finder->fingerprint = fingerprint;
	finder->take = take;
	pthread_mutex_init(&finder->lock, NULL);
	finder->background = background_start(run, finder);
	if (finder->background)
		return finder;
	finder_free(finder);
	fail_memory(error);
	return NULL;
}

bool finder_cancel(void *job)
{
	struct finder *finder = job;
	if (finder)
		background_cancel(finder->background);
	return finder;
}

void *finder_look(void *job, bool wait, void *owner, struct error *error)
{
	struct finder *finder = job;
	if (!finder)
		return NULL;
	bool ended = wait || background_done(finder->background);
	if (ended)
		background_end(finder->background);
	pthread_mutex_lock(&finder->lock);
	if (finder->changed)
		finder->take(owner, job);
	finder->changed = false;
	pthread_mutex_unlock(&finder->lock);
	if (!ended)
		return job;
	*error = finder->error;
	finder_free(job);
	return NULL;
}

void finder_free(void *job)
{
	struct finder *finder = job;
	pthread_mutex_destroy(&finder->lock);
	plan_release(finder->plan);
	mem_free(finder);
}
