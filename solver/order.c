/* order.c: the orderer's driver: seeds, bounds, and the steps that close the gap between them. */
#include <string.h>

#include "order_bound.h"
#include "order_cut.h"
#include "order_job.h"
#include "order_repair.h"
#include "order_search.h"
#include "order_seeds.h"

#define REPAIR_FAILURES 40
#define SEARCH_MOVES 50000000

#define X(id, name, help) name,
const char *const order_strategy_names[ORDER_STRATEGY_COUNT] = { ORDER_STRATEGIES(X) };
#undef X

/* ---- the job -------------------------------------------------------------------- */

bool order_job_done(const struct order_job *job)
{
	return job->peak <= job->bound || (job->cap >= 0 && (job->peak <= job->cap || job->bound > job->cap));
}

static void tell(const struct order_job *job)
{
	if (job->options->improved)
		job->options->improved(job->options->context, job->order, job->peak, job->bound, job->winner);
}

void order_job_offer(struct order_job *job, const uint32_t *order, const char *winner)
{
	int64_t peak = order_profile(&job->model, order, job->count, job->live);
	if (job->winner && peak >= job->peak)
		return;
	memcpy(job->order, order, job->model.ops * sizeof *order);
	job->peak = peak;
	job->winner = winner;
	tell(job);
}

void order_job_raise(struct order_job *job, int64_t bound, enum order_proof proof, uint32_t op)
{
	if (bound <= job->bound)
		return;
	job->bound = bound;
	job->certificate = (struct order_certificate) { .proof = proof, .op = op };
	if (job->winner)
		tell(job);
}

/* The run's own control: the caller's cancel flag and reports, effort counted from zero. */
static struct control own_control(const struct control *outer, uint64_t ticks)
{
	struct control control = *outer;
	control.ticks = 0;
	control.limit = ticks;
	if (outer->limit) {
		uint64_t left = outer->limit > outer->ticks ? outer->limit - outer->ticks : 1;
		control.limit = ticks && ticks < left ? ticks : left;
	}
	return control;
}

static enum status job_start(struct order_job *job, const struct problem *problem, const struct order_options *options,
	const struct control *control)
{
	*job = (struct order_job) {
		.problem = problem, .options = options, .cap = -1, .bound = -1,
		.control = own_control(control, options->ticks ? options->ticks : ORDER_EFFORT_DEFAULT),
		.certificate = { .proof = ORDER_PROOF_NONE, .op = NONE },
	};
	job->order = mem_alloc(problem->ops, sizeof *job->order);
	job->count = arena_alloc(&job->arena, problem->items, sizeof *job->count);
	job->live = arena_alloc(&job->arena, problem->ops, sizeof *job->live);
	if (!job->order || !job->count || !job->live)
		return NO_MEMORY;
	enum status status = order_model_of(problem, &job->arena, &job->model);
	if (status == OK)
		job->reversed = order_model_reversed(&job->model);
	return status;
}

/* The flow of a cut bound: only the op was noted while bounds rose. Not cancelled: one max-flow. */
static enum status certify(struct order_job *job)
{
	struct order_cut cut;
	struct control control = { 0 };
	int64_t bytes;
	enum status status = order_cut_init(&cut, job->problem, false);
	if (status == OK)
		status = order_cut_at(&cut, job->certificate.op, NULL, 0, &control, &bytes);
	if (status == OK)
		status = order_cut_certificate(&cut, job->certificate.op, &job->certificate);
	order_cut_free(&cut);
	return status;
}

/* Moves the job's findings into the result and frees the rest. */
static enum status job_finish(struct order_job *job, enum status status, struct control *control, struct order_result *result)
{
	if (status != NO_MEMORY && job->certificate.proof == ORDER_PROOF_CUT && certify(job) != OK)
		status = NO_MEMORY;
	if (status == NO_MEMORY || !job->winner) {
		mem_free(job->order);
		job->order = NULL;
	}
	if (status == NO_MEMORY)
		job->certificate = (struct order_certificate) { .op = NONE };
	result->order = job->order;
	result->peak = job->peak;
	result->bound = job->bound;
	result->proved = job->order && job->peak == job->bound;
	result->winner = job->winner;
	result->certificate = job->certificate;
	result->ticks = job->control.ticks;
	result->solved = job->solved;
	result->reused = job->reused;
	control->ticks += job->control.ticks;
	arena_free(&job->arena);
	if (status == LIMIT && result->proved)
		status = OK;
	return status;
}

void order_result_free(struct order_result *result)
{
	mem_free(result->order);
	mem_free(result->certificate.arc);
	mem_free(result->roam.segment);
	mem_free(result->roam.branch);
	*result = (struct order_result) { .certificate.op = NONE };
}

/* ---- seeds and LB2 ------------------------------------------------------------------ */

static void reverse(uint32_t *order, uint32_t ops)
{
	for (uint32_t i = 0; i < ops / 2; i++) {
		uint32_t swap = order[i];
		order[i] = order[ops - 1 - i];
		order[ops - 1 - i] = swap;
	}
}

/* Program order by stages: stage_of maps a phase to the stage in which its ops run. */
static enum status order_by_phase(const struct order_job *job, const uint8_t stage_of[PHASE_COUNT], uint32_t *order)
{
	const struct problem *problem = job->problem;
	uint8_t *stage = mem_alloc(problem->ops, sizeof *stage);
	uint32_t *rank = mem_alloc(problem->ops, sizeof *rank);
	enum status status = stage && rank ? OK : NO_MEMORY;
	for (uint32_t i = 0; status == OK && i < problem->ops; i++) {
		rank[problem->program[i]] = i;
		stage[i] = stage_of[problem->phase[i]];
	}
	if (status == OK)
		status = order_by_rank(&job->model, stage, rank, order);
	mem_free(stage);
	mem_free(rank);
	return status;
}

static enum status seed(const struct order_job *job, enum order_strategy strategy, uint32_t *order)
{
	static const uint8_t last[PHASE_COUNT] = {
		[PHASE_FORWARD] = 0, [PHASE_BACKWARD] = 1, [PHASE_COMMUNICATION] = 1, [PHASE_UPDATE] = 2
	};
	enum status status = OK;
	switch (strategy) {
	case ORDER_PROGRAM:
		memcpy(order, job->problem->program, job->problem->ops * sizeof *order);
		break;
	case ORDER_UPDATES_LAST:
		return order_by_phase(job, last, order);
	case ORDER_LIST:
		return order_greedy(&job->model, ORDER_GREEDY_LIST, false, order);
	case ORDER_LPMF:
		return order_greedy(&job->model, ORDER_GREEDY_LPMF, false, order);
	case ORDER_DFS:
		return order_depth_first(&job->model, order);
	default:
		status = order_greedy(&job->reversed, ORDER_GREEDY_LPMF, true, order);
		if (status == OK)
			reverse(order, job->model.ops);
	}
	return status;
}

static enum status run_alive(struct order_job *job)
{
	/* Without ops there is nothing to order, and the state's own bytes are the bound. */
	if (job->model.ops == 0) {
		order_job_raise(job, job->peak, ORDER_PROOF_NONE, NONE);
		return OK;
	}
	job->alive = arena_alloc(&job->arena, job->model.ops, sizeof *job->alive);
	if (!job->alive)
		return NO_MEMORY;
	enum status status = order_bound_alive(&job->model, job->problem->program, &job->control, job->alive);
	if (status != OK) {
		job->alive = NULL;
		return status;
	}
	for (uint32_t op = 0; op < job->model.ops; op++)
		order_job_raise(job, job->alive[op], ORDER_PROOF_ALIVE, op);
	return OK;
}

/* All seeds, whatever the effort; they are kept for the repair. */
static enum status run_seeds(struct order_job *job)
{
	for (enum order_strategy strategy = ORDER_PROGRAM; strategy < SEEDS; strategy++) {
		uint32_t *order = job->seed[strategy] = arena_alloc(&job->arena, job->model.ops, sizeof *order);
		enum status status = order ? seed(job, strategy, order) : NO_MEMORY;
		if (status != OK)
			return status;
		order_job_offer(job, order, order_strategy_names[strategy]);
		job->seed_peak[strategy] = order_profile(&job->model, order, job->count, job->live);
		if (control_spend(&job->control, job->model.ops) && control_status(&job->control) == CANCELLED)
			return CANCELLED;
	}
	return OK;
}

enum status order_quick(const struct problem *problem, struct control *control, struct order_result *result)
{
	struct order_options options = { .strategy = ORDER_BEST };
	struct order_job job;
	*result = (struct order_result) { .certificate.op = NONE };
	enum status status = job_start(&job, problem, &options, control);
	if (status == OK)
		status = run_seeds(&job);
	if (status == OK)
		status = run_alive(&job);
	return job_finish(&job, status, control, result);
}

/* ---- the whole run ----------------------------------------------------------------------- */

static enum status run_one_seed(struct order_job *job)
{
	uint32_t *order = mem_alloc(job->model.ops, sizeof *order);
	enum status status = order ? seed(job, job->options->strategy, order) : NO_MEMORY;
	if (status == OK)
		order_job_offer(job, order, order_strategy_names[job->options->strategy]);
	mem_free(order);
	return status == OK ? run_alive(job) : status;
}

/* Repairs every seed, the lowest peak first. */
static enum status run_repair(struct order_job *job)
{
	struct order_cut cut;
	bool used[SEEDS] = { false };
	enum status status = order_cut_init(&cut, job->problem, true);
	for (int round = 0; round < SEEDS && status == OK && !order_job_done(job); round++) {
		int next = -1;
		for (int i = 0; i < SEEDS; i++)
			if (!used[i] && (next < 0 || job->seed_peak[i] < job->seed_peak[next]))
				next = i;
		used[next] = true;
		status = order_repair(job, &cut, job->seed[next], REPAIR_FAILURES);
	}
	order_cut_free(&cut);
	return status;
}

/* The exact search over the whole graph, forward or backward in time, with so many states. */
static enum status run_search(struct order_job *job, bool backward, uint32_t states)
{
	struct order_search_limits limits = { .states = states, .moves = (uint64_t)SEARCH_MOVES };
	uint32_t *order = mem_alloc(job->model.ops, sizeof *order), visited;
	int64_t bound = job->bound, ceiling = job->cap >= 0 && job->cap < job->peak ? job->cap : job->peak - 1;
	enum status status = NO_MEMORY;
	if (order)
		status = order_search_least(backward ? &job->reversed : &job->model, ceiling, &limits, &job->control,
			order, &bound, &visited);
	if (status == OK && backward)
		reverse(order, job->model.ops);
	if (status == OK)
		order_job_offer(job, order, "exact search");
	if (status != NO_MEMORY)
		order_job_raise(job, bound < job->peak ? bound : job->peak, ORDER_PROOF_SEARCH, NONE);
	mem_free(order);
	/* Its own limits are not the run's: only the run's end it. */
	if (status == INFEASIBLE || (status == LIMIT && control_status(&job->control) == OK))
		status = OK;
	return status;
}

/* Ever larger searches in both directions. */
static enum status run_searches(struct order_job *job, uint32_t states, uint32_t most)
{
	enum status status = OK;
	for (; states <= most && status == OK && !order_job_done(job); states *= 4) {
		status = run_search(job, false, states);
		if (status == OK && !order_job_done(job))
			status = run_search(job, true, states);
	}
	return status;
}

static enum status run_best(struct order_job *job)
{
	enum status status = run_seeds(job);
	if (status == OK)
		status = run_alive(job);
	if (status == OK && !order_job_done(job))
		status = run_repair(job);
	if (status == OK && !order_job_done(job))
		status = run_searches(job, 1000, 1000000);
	return status == OK && !order_job_done(job) ? LIMIT : status;
}

static enum status run(struct order_job *job)
{
	if (job->options->strategy < ORDER_ROAM)
		return run_one_seed(job);
	return run_best(job);
}

enum status order_solve(const struct problem *problem, const struct order_options *options,
	struct control *control, struct order_result *result)
{
	struct order_job job;
	*result = (struct order_result) { .certificate.op = NONE };
	enum status status = job_start(&job, problem, options, control);
	if (status == OK)
		status = run(&job);
	return job_finish(&job, status, control, result);
}

enum status order_fit(const struct problem *problem, int64_t cap, const struct order_options *options,
	struct control *control, struct order_result *result)
{
	struct order_job job;
	*result = (struct order_result) { .certificate.op = NONE };
	enum status status = job_start(&job, problem, options, control);
	job.cap = cap;
	if (status == OK)
		status = run_best(&job);
	status = job_finish(&job, status, control, result);
	if (status != OK && status != LIMIT)
		return status;
	if (result->order && result->peak <= cap)
		return OK;
	return result->bound > cap ? INFEASIBLE : LIMIT;
}
