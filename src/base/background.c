/* background.c: threads for one call each, or for many. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "background.h"

struct background {
	pthread_t thread;
	void (*run)(void *context, const atomic_bool *cancel);
	void *context;
	atomic_bool cancel, done;
};

static void *background_run(void *argument)
{
	struct background *background = argument;
	background->run(background->context, &background->cancel);
	atomic_store(&background->done, true);
	return NULL;
}

struct background *background_start(void (*call)(void *context, const atomic_bool *cancel), void *context)
{
	sigset_t all, before;
	struct background *MAKE(background, 1);
	if (!background)
		return NULL;
	background->run = call;
	background->context = context;
	/* Signals belong to the screen. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool started = pthread_create(&background->thread, NULL, background_run, background) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (started)
		return background;
	mem_free(background);
	return NULL;
}

bool background_done(const struct background *background)
{
	return atomic_load(&background->done);
}

void background_cancel(struct background *background)
{
	atomic_store(&background->cancel, true);
}

void background_end(struct background *background)
{
	pthread_join(background->thread, NULL);
	mem_free(background);
}

#define MOST_THREADS 16

struct background_calls {
	uint32_t count;
	void (*call)(void *context, uint32_t i);
	void *context;
	atomic_uint next;
};

static void background_take(void *context, const atomic_bool *cancel)
{
	struct background_calls *calls = context;
	(void)cancel;
	for (uint32_t i; (i = atomic_fetch_add(&calls->next, 1)) < calls->count;)
		calls->call(calls->context, i);
}

void background_all(uint32_t count, void (*call)(void *context, uint32_t i), void *context)
{
	struct background_calls calls = { .count = count, .call = call, .context = context };
	struct background *thread[MOST_THREADS];
	uint32_t threads = 0;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	while (threads + 1 < count && threads + 1 < processors && threads < MOST_THREADS &&
		(thread[threads] = background_start(background_take, &calls)))
		threads++;
	background_take(&calls, NULL);
	while (threads > 0)
		background_end(thread[--threads]);
}
