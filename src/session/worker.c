/* worker.c: the thread that solves.
 *
 * One mutex guards everything that both sides see (struct worker below the line); the planner belongs to the
 * thread alone. The cancel flag is the only thing read without the mutex, by solvers. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/decide/planner.h"
#include "src/scenario/knobs.h"
#include "src/scenario/shard_mesh.h"
#include "worker.h"

#define REPORT_SECONDS 0.05 /* between two wake-ups for progress alone */

struct request {
	uint64_t number; /* 0: none */
	struct graph *graph;
	struct scenario scenario;
	bool raise_effort;
	struct plan *from; /* of a preview by heuristics' plans, or NULL */
};

struct worker {
	struct planner planner; /* the thread's own */
	uint64_t serves;        /* the request; the thread's own */
	double reported;        /* when progress woke the reader last; the thread's own */
	pthread_t thread;
	atomic_bool cancel;     /* stop at once: superseded, ended, or the user wants it */
	atomic_bool superseded; /* the first two alone: quick plans are not for the user to stop */
	int wake[2];
	/* ---- guarded by the mutex ---- */
	pthread_mutex_t mutex;
	pthread_cond_t work, done;
	struct request next; /* waits to be taken */
	uint64_t numbers, previews; /* given out so far */
	bool quit, user_cancelled;
	struct worker_state state;
	struct plan *published;
	uint64_t published_request, failed_request;
	struct request preview;   /* waits to be made */
	bool previewing, raising; /* what the thread is doing */
	struct preview made;      /* number 0: nothing new */
	struct error error;
	bool has_error;
	uint64_t serial;
};

static void wake_reader(struct worker *worker)
{
	/* A full pipe is readable already. */
	ssize_t written = write(worker->wake[1], "", 1);
	(void)written;
}

static void worker_report(void *context, const struct progress *progress)
{
	struct worker *worker = context;
	pthread_mutex_lock(&worker->mutex);
	worker->state.progress = *progress;
	pthread_mutex_unlock(&worker->mutex);
	if (clock_seconds(CLOCK_MONOTONIC) - worker->reported < REPORT_SECONDS)
		return;
	worker->reported = clock_seconds(CLOCK_MONOTONIC);
	wake_reader(worker);
}

/* Publishes a plan (its reference is taken over), unless it is superseded. */
static void worker_publish(struct worker *worker, struct plan *plan, uint64_t request)
{
	pthread_mutex_lock(&worker->mutex);
	bool stale = worker->next.number || worker->quit;
	struct plan *old = stale ? plan : worker->published;
	if (!stale) {
		plan->serial = ++worker->serial;
		worker->published = plan;
		worker->published_request = request;
		worker->has_error = false;
	}
	pthread_mutex_unlock(&worker->mutex);
	plan_release(old);
	wake_reader(worker);
}

/* What leads so far, while the planner compares others. */
static void worker_lead(void *context, struct plan *plan)
{
	struct worker *worker = context;
	worker_publish(worker, plan, worker->serves);
}

static void publish_error(struct worker *worker, const struct error *error, uint64_t request)
{
	pthread_mutex_lock(&worker->mutex);
	if (!worker->next.number) {
		worker->error = *error;
		worker->has_error = true;
		worker->failed_request = request;
	}
	pthread_mutex_unlock(&worker->mutex);
	wake_reader(worker);
}

/* The request is served, but for what raising the effort may still find. */
static void worker_finish(struct worker *worker, uint64_t request, bool goes_on)
{
	pthread_mutex_lock(&worker->mutex);
	worker->state.busy = goes_on;
	worker->state.finished = request;
	pthread_cond_broadcast(&worker->done);
	pthread_mutex_unlock(&worker->mutex);
}

static bool worker_better(const struct plan *plan, const struct plan *than)
{
	if (plan_peak(plan) != plan_peak(than))
		return plan_peak(plan) < plan_peak(than);
	if (plan_arena(plan) != plan_arena(than))
		return plan_arena(plan) < plan_arena(than);
	return plan_bound(plan) > plan_bound(than) || plan->laid_out->layout.proof.bound > than->laid_out->layout.proof.bound;
}

/* ---- previews ---- */

static void request_done(struct request *request)
{
	graph_release(request->graph);
	plan_release(request->from);
	scenario_done(&request->scenario);
	*request = (struct request){ 0 };
}

/* The next preview, moved out; false when there is none, or something more important waits. */
static bool take_preview(struct worker *worker, struct request *request)
{
	pthread_mutex_lock(&worker->mutex);
	bool more = worker->preview.number && !worker->next.number && !worker->quit;
	worker->previewing = more;
	if (more) {
		*request = worker->preview;
		worker->preview = (struct request){ 0 };
	}
	/* What was set to get here is taken back, but for what ends everything. */
	atomic_store(&worker->cancel, worker->next.number || worker->quit || (worker->user_cancelled && !more));
	pthread_cond_broadcast(&worker->done);
	pthread_mutex_unlock(&worker->mutex);
	return more;
}

/* Fills in what is as far from a plan as heuristics' plans of both scenarios are apart; false where one has none. */
static bool preview_beside(struct planner *planner, const struct request *request, struct preview *preview)
{
	struct error error;
	const struct plan *from = request->from;
	OWN(plan) *now = planner_run(planner, request->graph, &from->scenario, PLAN_QUICK, &error),
			  *then = now ? planner_run(planner, request->graph, &request->scenario, PLAN_QUICK, &error) : NULL;
	if (!then || now->limited || then->limited)
		return false;
	int64_t time = plan_step_time(from), before = plan_step_time(now), after = plan_step_time(then);
	preview->known = true;
	preview->peak_bytes = larger_of(plan_peak(from) + plan_peak(then) - plan_peak(now), 0);
	preview->arena_bytes = larger_of(plan_arena(from) + plan_arena(then) - plan_arena(now), 0);
	preview->time = time > 0 && before > 0 && after > 0
		? (int64_t)((double)time * (double)after / (double)before)
		: -1;
	return true;
}

static void make_preview(struct worker *worker, struct request *request)
{
	struct error error;
	struct planner *planner = &worker->planner;
	planner->control.report = NULL;
	planner->abandoned = &worker->cancel;
	struct plan *plan = planner_run(planner, request->graph, &request->scenario, PLAN_STORED, &error);
	struct preview preview = { .number = request->number, .exact = plan };
	bool beside = !plan && error.status == LIMIT && request->from && preview_beside(planner, request, &preview);
	request->scenario.value[K_effort] = 0;
	if (!plan && error.status == LIMIT && !beside)
		plan = planner_run(planner, request->graph, &request->scenario, PLAN_COMPLETE, &error);
	planner->control.report = worker_report;
	planner->abandoned = &worker->superseded;
	if (plan && !plan->limited) {
		preview.known = true;
		preview.peak_bytes = plan_peak(plan);
		preview.arena_bytes = plan_arena(plan);
		preview.time = plan_step_time(plan);
	}
	plan_release(plan);
	pthread_mutex_lock(&worker->mutex);
	worker->made = preview;
	pthread_mutex_unlock(&worker->mutex);
	wake_reader(worker);
}

static void make_previews(struct worker *worker)
{
	struct request request;
	while (take_preview(worker, &request)) {
		make_preview(worker, &request);
		request_done(&request);
	}
}

static void set_raising(struct worker *worker, bool raising)
{
	pthread_mutex_lock(&worker->mutex);
	worker->raising = raising;
	if (raising && worker->preview.number)
		atomic_store(&worker->cancel, true);
	pthread_mutex_unlock(&worker->mutex);
}

/* ---- requests ---- */

/* There is something better to do than to raise the effort. */
static bool stopped(struct worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	bool stop = worker->next.number || worker->quit || worker->user_cancelled;
	pthread_mutex_unlock(&worker->mutex);
	return stop;
}

/* Runs the planner; for previews the run is broken off and begun again. A new reference or NULL. */
static struct plan *run_raised(struct worker *worker, struct request *request)
{
	for (;;) {
		struct error error;
		set_raising(worker, true);
		struct plan *plan = planner_run(&worker->planner, request->graph, &request->scenario, PLAN_COMPLETE, &error);
		set_raising(worker, false);
		if ((plan && !plan->limited) || (!plan && error.status != CANCELLED) || stopped(worker))
			return plan;
		plan_release(plan);
		make_previews(worker);
	}
}

/* Solves again with more effort until nothing is left to prove, publishing what is better. Takes over best's reference.
 */
static void raise_effort(struct worker *worker, struct request *request, struct plan *best)
{
	int64_t *effort = &request->scenario.value[K_effort];
	while (!stopped(worker)) {
		bool more_order = !plan_is_proved(best) && scenario_order(&request->scenario) == ORDER_BEST;
		bool more_layout =
			!proof_closed(&best->laid_out->layout.proof) && request->scenario.value[K_layout] == LAYOUT_BEST;
		if ((!more_order && !more_layout) || *effort >= EFFORT_MAX)
			break;
		++*effort;
		struct plan *plan = run_raised(worker, request);
		if (!plan)
			break;
		if (worker_better(plan, best)) {
			plan_release(best);
			best = plan_retain(plan);
			worker_publish(worker, plan, request->number);
		} else {
			plan_release(plan);
		}
	}
	plan_release(best);
}

static void worker_serve(struct worker *worker, struct request *request)
{
	struct error error = { 0 };
	struct planner *planner = &worker->planner;
	struct plan *plan = planner_run(planner, request->graph, &request->scenario, PLAN_STORED, &error);
	if (!plan && error.status == LIMIT) {
		planner->control.cancel = &worker->superseded;
		struct plan *quick = planner_run(planner, request->graph, &request->scenario, PLAN_QUICK, &error);
		planner->control.cancel = &worker->cancel;
		if (quick)
			worker_publish(worker, quick, request->number);
		worker->serves = request->number;
		planner->leads = worker_lead;
		if (quick || error.status == CANCELLED)
			plan = planner_run(planner, request->graph, &request->scenario, PLAN_COMPLETE, &error);
		planner->leads = NULL;
	}
	struct plan *best = plan ? plan_retain(plan) : NULL;
	if (plan)
		worker_publish(worker, plan, request->number);
	else if (error.status != CANCELLED)
		publish_error(worker, &error, request->number);
	bool goes_on = best && request->raise_effort && !best->limited;
	worker_finish(worker, request->number, goes_on);
	if (goes_on)
		raise_effort(worker, request, best);
	else
		plan_release(best);
}

/* The next request, moved out; false when the worker shall end. */
static bool take_request(struct worker *worker, struct request *request)
{
	pthread_mutex_lock(&worker->mutex);
	worker->state.busy = false;
	while (!worker->next.number && !worker->quit) {
		if (worker->preview.number) {
			pthread_mutex_unlock(&worker->mutex);
			make_previews(worker);
			pthread_mutex_lock(&worker->mutex);
		} else
			pthread_cond_wait(&worker->work, &worker->mutex);
	}
	bool more = !worker->quit;
	if (more) {
		*request = worker->next;
		worker->next = (struct request){ 0 };
		worker->state.busy = true;
		worker->state.progress = (struct progress){ "", -1, -1, -1 };
		atomic_store(&worker->superseded, false);
		atomic_store(&worker->cancel, worker->user_cancelled);
	}
	pthread_mutex_unlock(&worker->mutex);
	return more;
}

static void *worker_run(void *argument)
{
	struct worker *worker = argument;
	struct request request;
	while (take_request(worker, &request)) {
		worker_serve(worker, &request);
		request_done(&request);
		pthread_mutex_lock(&worker->mutex);
		worker->state.busy = false;
		pthread_mutex_unlock(&worker->mutex);
		wake_reader(worker);
	}
	return NULL;
}

static bool open_pipe(struct worker *worker)
{
	if (pipe(worker->wake) != 0)
		return false;
	FOR_INT(end, 2) {
		fcntl(worker->wake[end], F_SETFL, O_NONBLOCK);
		fcntl(worker->wake[end], F_SETFD, FD_CLOEXEC);
	}
	return true;
}

/* The thread takes no signals: they belong to the screen. */
static bool start_thread(struct worker *worker)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool started = pthread_create(&worker->thread, NULL, worker_run, worker) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

struct worker *worker_new(order_solver *solver, const char *rules_file)
{
	struct worker *MAKE(worker, 1);
	if (!worker)
		return NULL;
	worker->planner.store = store_new();
	worker->planner.order_solver = solver;
	worker->planner.rules_file = rules_file;
	worker->planner.abandoned = &worker->superseded;
	worker->planner.control = (struct control){ .cancel = &worker->cancel, .report = worker_report, .context = worker };
	pthread_mutex_init(&worker->mutex, NULL);
	pthread_cond_init(&worker->work, NULL);
	pthread_cond_init(&worker->done, NULL);
	bool piped = worker->planner.store && open_pipe(worker);
	if (piped && start_thread(worker))
		return worker;
	if (piped) {
		close(worker->wake[0]);
		close(worker->wake[1]);
	}
	store_free(worker->planner.store);
	mem_free(worker);
	return NULL;
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	pthread_mutex_lock(&worker->mutex);
	worker->quit = true;
	atomic_store(&worker->superseded, true);
	atomic_store(&worker->cancel, true);
	pthread_cond_broadcast(&worker->work);
	pthread_mutex_unlock(&worker->mutex);
	pthread_join(worker->thread, NULL);
	request_done(&worker->next);
	request_done(&worker->preview);
	plan_release(worker->published);
	planner_done(&worker->planner);
	close(worker->wake[0]);
	close(worker->wake[1]);
	pthread_cond_destroy(&worker->work);
	pthread_cond_destroy(&worker->done);
	pthread_mutex_destroy(&worker->mutex);
	mem_free(worker);
}

uint64_t worker_request(struct worker *worker, struct graph *graph, const struct scenario *scenario, bool raise)
{
	struct request request = { .graph = graph, .raise_effort = raise };
	if (scenario_copy(&request.scenario, scenario) != OK)
		return 0;
	graph_retain(graph);
	pthread_mutex_lock(&worker->mutex);
	request.number = ++worker->numbers;
	struct request old = worker->next;
	worker->next = request;
	worker->user_cancelled = false;
	atomic_store(&worker->superseded, true);
	atomic_store(&worker->cancel, true);
	struct request old_preview = worker->preview; /* of a scenario that is no longer on the screen */
	worker->preview = (struct request){ 0 };
	pthread_cond_signal(&worker->work);
	pthread_mutex_unlock(&worker->mutex);
	request_done(&old);
	request_done(&old_preview);
	return request.number;
}

uint64_t worker_preview(
	struct worker *worker, struct graph *graph, const struct scenario *scenario, const struct plan *from)
{
	struct request request = { .graph = graph };
	if (scenario_copy(&request.scenario, scenario) != OK)
		return 0;
	request.from = from ? plan_retain((struct plan *)(uintptr_t)from) : NULL;
	graph_retain(graph);
	pthread_mutex_lock(&worker->mutex);
	request.number = ++worker->previews;
	struct request old = worker->preview;
	worker->preview = request;
	if (worker->raising || worker->previewing)
		atomic_store(&worker->cancel, true);
	pthread_cond_signal(&worker->work);
	pthread_mutex_unlock(&worker->mutex);
	request_done(&old);
	return request.number;
}

bool worker_take_preview(struct worker *worker, struct preview *preview)
{
	pthread_mutex_lock(&worker->mutex);
	*preview = worker->made;
	worker->made.number = 0;
	pthread_mutex_unlock(&worker->mutex);
	return preview->number != 0;
}

void worker_wait_preview(struct worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	while (worker->preview.number || worker->previewing)
		pthread_cond_wait(&worker->done, &worker->mutex);
	pthread_mutex_unlock(&worker->mutex);
}

void worker_cancel(struct worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	worker->user_cancelled = true;
	atomic_store(&worker->cancel, true);
	pthread_mutex_unlock(&worker->mutex);
}

int worker_wake_fd(const struct worker *worker)
{
	return worker->wake[0];
}

struct plan *worker_take(struct worker *worker, uint64_t *request, uint64_t *failed, struct error *error)
{
	while (read(worker->wake[0], TEXT(64)) > 0)
		;
	pthread_mutex_lock(&worker->mutex);
	struct plan *plan = worker->published;
	worker->published = NULL;
	*request = plan ? worker->published_request : 0;
	*failed = worker->has_error ? worker->failed_request : 0;
	*error = worker->has_error ? worker->error : (struct error){ 0 };
	worker->has_error = false;
	pthread_mutex_unlock(&worker->mutex);
	return plan;
}

void worker_state(struct worker *worker, struct worker_state *state)
{
	pthread_mutex_lock(&worker->mutex);
	*state = worker->state;
	state->busy = worker->state.busy || worker->next.number;
	pthread_mutex_unlock(&worker->mutex);
}

void worker_wait(struct worker *worker, uint64_t n)
{
	pthread_mutex_lock(&worker->mutex);
	while (worker->state.finished < n)
		pthread_cond_wait(&worker->done, &worker->mutex);
	pthread_mutex_unlock(&worker->mutex);
}
