/* best.c: the best order: a table of steps, run one after the other until the gap is closed or the effort spent.
 *
 * Cheap steps come first. Cuts prove what they can, min-cut repair moves ops across the whole graph, exact windows
 * rearrange what is near the peak, and the exact search over the whole graph proves the rest where it can. */

#include "job.h"
#include "solver/base/names.h"

#define LARGE 2500                 /* ops */
#define NEAR 100                   /* a bound within a hundredth of the program's peak is near */
#define CLOSE 1000                 /* and one within a thousandth of the best peak hardly leaves anything open: */
#define MORE 8                     /* an eighth of the effort more to close it */
#define REPAIRS 6                  /* rounds in a row without a better order */
#define CUTS 64                    /* at most; few are needed until no other cut can raise the bound */
#define SEARCH_MOVES 50000000      /* ops kept by one search: 200 MB */
#define SEARCH_STATES 4000000      /* and states: 300 MB */

/* What a step works on: the run, and the network of cuts that prefer to leave ops where they are. */
struct closing {
	struct order_job *job;
	struct order_cut cut;
	bool shaved;                   /* all pairs were tried */
	int64_t shaved_peak;           /* the best when a few were */
};

/* ---- where to begin ---- */

static bool best_is_large(const struct order_job *job)
{
	return job->model.ops >= LARGE;
}

/* Moves the few ops by which the program's order misses a bound that is near. */
static enum status repair_program(struct closing *closing)
{
	struct order_job *job = closing->job;
	HELD uint32_t *MAKE(order, job->model.ops);
	NEED(order);
	COPY(order, job->problem->program, job->model.ops);
	return order_repair(job, &closing->cut, order, REPAIRS);
}

/* The program's order may already be optimal, or nearly so: one cut where it is highest proves or mends that in a
 * tenth of the time that all seeds take. */
static enum status try_program(struct closing *closing)
{
	struct order_job *job = closing->job;
	order_job_offer(job, job->problem->program, order_strategy_names[ORDER_PROGRAM]);
	TRY(order_run_cuts(job, 1));
	bool near = job->bound >= job->peak - job->peak / NEAR;
	return near && !order_job_done(job) ? repair_program(closing) : OK;
}

static enum status run_seeds(struct closing *closing)
{
	return order_run_seeds(closing->job, false);
}

static enum status run_alive(struct closing *closing)
{
	return order_run_alive(closing->job);
}

static enum status run_cuts(struct closing *closing)
{
	return order_run_cuts(closing->job, CUTS);
}

/* ROAM's assignment of branches, as one more seed. */
static enum status run_roam(struct closing *closing)
{
	struct order_job *job = closing->job;
	uint32_t *order = job->seed[ORDER_ROAM] = arena_alloc(&job->arena, job->model.ops, sizeof *order);
	NEED(order);
	TRY(order_run_roam(job, order, NULL));
	job->seed_peak[ORDER_ROAM] = order_profile(&job->model, order, job->count, job->live);
	order_job_hurry(job);
	return OK;
}

/* ---- closing the gap ---- */

/* The seed of the lowest peak that isn't used yet, or -1. */
static int next_seed(const struct order_job *job, const bool used[SEEDS])
{
	int next = -1;
	FOR_INT(i, SEEDS)
		if (job->seed[i] && !used[i] && (next < 0 || job->seed_peak[i] < job->seed_peak[next]))
			next = i;
	return next;
}

/* Repairs the seeds, the lowest peak first, with exact windows before and after. */
static enum status best_improve(struct closing *closing, int seeds, uint32_t failures, uint32_t states)
{
	struct order_job *job = closing->job;
	bool used[SEEDS] = { false };
	for (int round = 0, next; round < seeds && !order_job_done(job) && (next = next_seed(job, used)) >= 0; round++) {
		used[next] = true;
		TRY(order_improve_windows(job, job->seed[next], states));
		TRY(order_repair(job, &closing->cut, job->seed[next], failures));
		TRY(order_improve_windows(job, job->seed[next], states));
		job->seed_peak[next] = order_profile(&job->model, job->seed[next], job->count, job->live);
	}
	return OK;
}

static enum status improve_two(struct closing *closing)
{
	return best_improve(closing, 2, 6, 300);
}

static enum status improve_all(struct closing *closing)
{
	return best_improve(closing, SEEDS, 40, 1000);
}

/* The exact search over the whole graph, forward or backward in time, with so many states. Its own limits don't end
 * the run. */
static enum status best_search(struct order_job *job, bool backward, uint32_t states)
{
	struct order_search_limits limits = { .states = states, .moves = SEARCH_MOVES };
	const struct order_model *model = backward ? &job->reversed : &job->model;
	HELD uint32_t *MAKE(order, job->model.ops);
	uint32_t visited;
	int64_t bound = job->bound;
	NEED(order);
	enum status status = order_search_least(model, job->peak - 1, &limits, &job->control, order, &bound, &visited);
	if (status == OK && backward)
		order_turn(order, job->model.ops);
	if (status == OK)
		order_job_offer(job, order, "exact search");
	if (status == INFEASIBLE || status == OK || status == LIMIT)
		order_job_raise(job, SMALLER(bound, job->peak), ORDER_PROOF_SEARCH, NONE);
	if (status == INFEASIBLE || (status == LIMIT && control_status(&job->control) == OK))
		status = OK;
	return status;
}

static bool best_closes(const struct order_job *job)
{
	return !job->options->brief;
}

static enum status best_shave(struct closing *closing)
{
	TRY(order_run_shaving(closing->job, false));
	closing->shaved_peak = closing->job->peak;
	return OK;
}

static enum status shave_all(struct closing *closing)
{
	closing->shaved = true;
	return order_run_shaving(closing->job, true);
}

static enum status best_series(struct closing *closing)
{
	return order_run_series(closing->job);
}

static enum status search_briefly(struct closing *closing)
{
	return best_search(closing->job, false, 4000);
}

/* A level of effort is four times the work where a gap is open: ever longer searches, forward and backward in time, and
 * windows between them, until a quarter of it is spent. */
static enum status search_longer(struct closing *closing)
{
	struct order_job *job = closing->job;
	HELD uint32_t *MAKE(order, job->model.ops);
	NEED(order);
	for (uint32_t states = 60000; states <= SEARCH_STATES && !order_job_done(job); states *= 4) {
		TRY(best_search(job, false, states));
		if (job->control.limit > 0 && job->control.ticks > job->control.limit / 4)
			break;
		TRY(best_search(job, true, states));
		COPY(order, job->order, job->model.ops);
		TRY(order_improve_windows(job, order, states / 16));
	}
	return OK;
}

/* ---- the run ---- */

/* docs/benchmarks.md says what each is worth. helps: NULL: always. */
static const struct step {
	const char *name;
	bool (*helps)(const struct order_job *job);
	enum status (*run)(struct closing *closing);
} steps[] = {
	{ "order.program", best_is_large, try_program },
	{ "seeds", NULL, run_seeds },
	{ "order.alive", NULL, run_alive },
	{ "order.cuts", NULL, run_cuts },
	{ "order.roam", NULL, run_roam },
	{ "order.series", best_closes, best_series },
	{ "order.shave", best_closes, best_shave },
	{ "order.repair", NULL, improve_two },
	{ "order.shave-all", best_closes, shave_all },
	{ "order.search", best_closes, search_briefly },
	{ "order.repair-more", best_closes, improve_all },
	{ "order.search-more", best_closes, search_longer },
};

/* A hurried run ends before what proves: where hardly anything is open, or the order has changed, that is worth a
 * little more. */
static enum status shave_at_end(struct closing *closing)
{
	struct order_job *job = closing->job;
	bool near = job->peak - job->bound <= (job->peak - job->problem->base) / CLOSE;
	job->control.limit = job->control.ticks + job->effort / MORE;
	if (near && !closing->shaved && step_runs("order.shave-all"))
		TRY(shave_all(closing));
	else if (job->peak < closing->shaved_peak)
		TRY(best_shave(closing));
	return LIMIT;
}

enum status order_run_best(struct order_job *job)
{
	struct closing closing = { .job = job };
	enum status status = order_cut_init(&closing.cut, job->problem, true);
	for (size_t i = 0; i < COUNT_OF(steps) && status == OK && !order_job_done(job); i++)
		if ((!steps[i].helps || steps[i].helps(job)) && step_runs(steps[i].name))
			status = steps[i].run(&closing);
	if (status == LIMIT && job->effort > 0 && best_closes(job))
		status = shave_at_end(&closing);
	order_cut_free(&closing.cut);
	return status == OK && !order_job_done(job) ? LIMIT : status;
}
