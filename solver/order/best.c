/* best.c: the best order: seeds, bounds, and the steps that close the gap between them.
 *
 * Cheap steps first, each with a share of the effort; whichever closes the gap ends the run. Min-cut repair moves
 * ops across the whole graph, exact windows rearrange what lies near the peak, and the exact search over the whole
 * graph proves the rest where it can.
 */
#include "begin.h"
#include "best.h"
#include "merge.h"
#include "repair.h"
#include "roam.h"
#include "search.h"
#include "window.h"

#define LARGE 2500                 /* ops */
#define NEAR 100                   /* a bound within one in so many of the program's peak is near */
#define REPAIRS 6                  /* rounds in a row without a better order */
#define CUTS 2                     /* where the best seed is highest */
#define SEARCH_MOVES 50000000      /* ops kept by one search: 200 MB */
#define SEARCH_STATES 1000000      /* states kept by one search: 100 MB */

/* ---- closing the gap -------------------------------------------------------------------- */

/* ROAM's assignment of branches, as one more seed. */
static enum status seed_by_roam(struct order_job *job)
{
	uint32_t *order = job->seed[ORDER_ROAM] = arena_alloc(&job->arena, job->model.ops, sizeof *order);
	enum status status = order ? order_run_roam(job, order, NULL) : NO_MEMORY;
	if (status == OK)
		job->seed_peak[ORDER_ROAM] = order_profile(&job->model, order, job->count, job->live);
	return status;
}

/* Merges branches of the best order, forward or backward in time. */
static enum status merge_best(struct order_job *job, bool backward, uint32_t *base, uint32_t *merged)
{
	bool exact;
	uint64_t ticks;
	memcpy(base, job->order, job->model.ops * sizeof *base);
	if (backward)
		order_turn(base, job->model.ops);
	TRY(order_merge(backward ? &job->reversed : &job->model, base, merged, &exact, &ticks));
	if (backward)
		order_turn(merged, job->model.ops);
	order_job_offer(job, merged, "branch merging");
	return control_spend(&job->control, ticks) ? control_status(&job->control) : OK;
}

/* What became better by merging is one more seed. */
static enum status seed_by_merging(struct order_job *job)
{
	uint32_t ops = job->model.ops, *merged = arena_alloc(&job->arena, ops, sizeof *merged);
	HELD uint32_t *base = mem_alloc(ops, sizeof *base);
	int64_t before = job->peak;
	enum status status = merged && base ? merge_best(job, false, base, merged) : NO_MEMORY;
	if (status == OK && !order_job_done(job))
		status = merge_best(job, true, base, merged);
	if (status == OK && job->peak < before) {
		memcpy(merged, job->order, ops * sizeof *merged);
		job->seed[SEED_MERGED] = merged;
		job->seed_peak[SEED_MERGED] = job->peak;
	}
	return status;
}

/* Repairs the seeds, the lowest peak first, so many of them, with exact windows where the repair stops. */
static enum status improve_seeds(struct order_job *job, struct order_cut *cut, int seeds, uint32_t failures, uint32_t states)
{
	bool used[SEEDS] = { false };
	enum status status = OK;
	for (int round = 0; round < seeds && status == OK && !order_job_done(job); round++) {
		int next = -1;
		for (int i = 0; i < SEEDS; i++)
			if (job->seed[i] && !used[i] && (next < 0 || job->seed_peak[i] < job->seed_peak[next]))
				next = i;
		if (next < 0)
			break;
		used[next] = true;
		status = order_improve_windows(job, job->seed[next], states);
		THEN(status, order_repair(job, cut, job->seed[next], failures));
		THEN(status, order_improve_windows(job, job->seed[next], states));
		job->seed_peak[next] = order_profile(&job->model, job->seed[next], job->count, job->live);
	}
	return status;
}

/* The exact search over the whole graph, forward or backward in time, with so many states. */
static enum status search(struct order_job *job, bool backward, uint32_t states)
{
	struct order_search_limits limits = { .states = states, .moves = SEARCH_MOVES };
	const struct order_model *model = backward ? &job->reversed : &job->model;
	uint32_t *order = mem_alloc(job->model.ops, sizeof *order), visited;
	int64_t bound = job->bound;
	enum status status = NO_MEMORY;
	if (order)
		status = order_search_least(model, job->peak - 1, &limits, &job->control, order, &bound, &visited);
	if (status == OK && backward)
		order_turn(order, job->model.ops);
	if (status == OK)
		order_job_offer(job, order, "exact search");
	if (status == INFEASIBLE || status == OK || status == LIMIT)
		order_job_raise(job, bound < job->peak ? bound : job->peak, ORDER_PROOF_SEARCH, NONE);
	mem_free(order);
	/* Its own limits are not the run's: only the run's end it. */
	if (status == INFEASIBLE || (status == LIMIT && control_status(&job->control) == OK))
		status = OK;
	return status;
}

static enum status search_both_ways(struct order_job *job, uint32_t states)
{
	enum status status = order_job_done(job) ? OK : search(job, false, states);
	return status != OK || order_job_done(job) ? status : search(job, true, states / 4);
}

/* Repair, windows and search with growing limits, as long as the one before brought something. */
static enum status close_gap(struct order_job *job, struct order_cut *cut)
{
	static const struct { int seeds; uint32_t failures, window, states; } pass[] = { { 2, 6, 300, 4000 }, { SEEDS, 40, 1000, 60000 }, { SEEDS, 40, 20000, SEARCH_STATES } };
	enum status status = OK;
	int64_t gap = INT64_MAX;
	for (size_t i = 0; i < sizeof pass / sizeof *pass && status == OK && !order_job_done(job); i++) {
		if (i > 1 && !order_job_gained(job, gap))
			break;
		gap = job->peak - job->bound;
		status = improve_seeds(job, cut, pass[i].seeds, pass[i].failures, pass[i].window);
		THEN(status, search_both_ways(job, pass[i].states));
	}
	return status == OK && !order_job_done(job) ? LIMIT : status;
}

/* Moves the few ops by which the program's order misses a bound that is near. */
static enum status repair_program(struct order_job *job)
{
	HELD uint32_t *order = mem_alloc(job->model.ops, sizeof *order);
	struct order_cut cut;
	NEED(order);
	memcpy(order, job->problem->program, job->model.ops * sizeof *order);
	enum status status = order_cut_init(&cut, job->problem, true);
	THEN(status, order_repair(job, &cut, order, REPAIRS));
	order_cut_free(&cut);
	return status;
}

/* The order of the program may need no more than any other, or hardly more: cuts where it is highest prove or mend that in a tenth of what all seeds take. */
static enum status try_program(struct order_job *job)
{
	order_job_offer(job, job->problem->program, order_strategy_names[ORDER_PROGRAM]);
	TRY(order_run_cuts(job, 1));
	bool near = job->bound >= job->peak - job->peak / NEAR;
	return near && !order_job_done(job) ? repair_program(job) : OK;
}

enum status order_run_best(struct order_job *job)
{
	struct order_cut cut;
	enum status status = job->model.ops >= LARGE ? try_program(job) : OK;
	if (status == OK && !order_job_done(job))
		status = order_run_seeds(job);
	if (status == OK && !order_job_done(job))
		status = order_run_alive(job);
	if (status == OK && !order_job_done(job) && job->model.ops >= LARGE)     /* a cut may prove a seed at a tenth of what merging takes */
		status = order_run_cuts(job, CUTS);
	if (status == OK && !order_job_done(job))
		status = seed_by_roam(job);
	if (status == OK && !order_job_done(job))
		status = seed_by_merging(job);
	if (status != OK || order_job_done(job))
		return status;
	status = order_cut_init(&cut, job->problem, true);
	order_job_hurry(job);
	THEN(status, close_gap(job, &cut));
	order_cut_free(&cut);
	return status;
}
