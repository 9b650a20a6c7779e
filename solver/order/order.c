/* order.c: one run of the orderer: its best order, its bound and what proves it. */

#include "job.h"

#define CUTS 8                 /* ops at which a single strategy's bound is sought */

/* ---- a run's begin and end ---- */

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
		.problem = problem, .options = options, .bound = -1,
		.control = own_control(control, options->ticks ? options->ticks : ORDER_EFFORT_DEFAULT),
		.certificate = { .proof = ORDER_PROOF_NONE, .op = NONE },
	};
	job->own = order_memory_store(&job->memory);
	MAKE(job->order, problem->ops);
	NEED(ROOM(&job->arena, job->count, problem->items) && ROOM(&job->arena, job->live, problem->ops) && job->order);
	TRY(order_model_of(problem, &job->arena, &job->model));
	job->reversed = order_model_reversed(&job->model);
	return OK;
}

void order_result_free(struct order_result *result)
{
	mem_free(result->order);
	mem_free(result->certificate.arc);
	mem_free(result->roam.segment);
	mem_free(result->roam.branch);
	mem_free(result->roam.branch_of);
	*result = (struct order_result) { .certificate.op = NONE };
}

/* Precedences, moved from the run's memory. */
static enum status keep_precedences(struct order_certificate *certificate)
{
	struct order_arc *MAKE(arc, certificate->arcs);
	NEED(arc);
	if (certificate->arcs)
		COPY(arc, certificate->arc, certificate->arcs);
	certificate->arc = arc;
	return OK;
}

/* The flow of a cut bound: only the op was noted while bounds rose. Not cancelled: one maximum flow. */
static enum status certify(struct order_job *job)
{
	struct order_cut cut;
	struct control control = { 0 };
	int64_t bytes;
	if (job->certificate.proof == ORDER_PROOF_PRECEDENCE)
		return keep_precedences(&job->certificate);
	if (job->certificate.proof != ORDER_PROOF_CUT)
		return OK;
	enum status status = order_cut_init(&cut, job->problem, false);
	THEN(status, order_cut_at(&cut, job->certificate.op, NULL, 0, &control, &bytes));
	THEN(status, order_cut_certificate(&cut, job->certificate.op, &job->certificate));
	order_cut_free(&cut);
	return status;
}

/* Moves the job's findings into the result and frees the rest. */
static enum status job_finish(
	struct order_job *job, enum status status, struct control *control, struct order_result *result)
{
	if (status != NO_MEMORY && certify(job) != OK)
		status = NO_MEMORY;
	if (status == NO_MEMORY || !job->winner) {
		mem_free(job->order);
		job->order = NULL;
	}
	if (status == NO_MEMORY) {
		job->certificate = (struct order_certificate) { .op = NONE };
		order_result_free(result);
	}
	if (job->bound < job->problem->base &&
		status != NO_MEMORY)   /* cut short before any bound: what is always there needs no proof */
		job->bound = job->problem->base;
	result->order = job->order;
	result->peak = job->peak;
	result->proof = (struct proof){ QUANTITY_LIVE_PEAK, job->order ? job->peak : -1, job->bound,
		order_proof_names[job->certificate.proof] };
	result->winner = job->winner;
	result->certificate = job->certificate;
	result->solved = job->solved;
	result->reused = job->reused;
	control->ticks += job->control.ticks;
	arena_free(&job->arena);
	order_memory_free(&job->memory);
	if (status == LIMIT && proof_closed(&result->proof))
		status = OK;
	return status;
}

/* ---- runs ---- */

enum status order_quick(const struct problem *problem, struct control *control, struct order_result *result)
{
	struct order_options options = { .strategy = ORDER_BEST };
	struct order_job job;
	*result = (struct order_result) { .certificate.op = NONE };
	enum status status = job_start(&job, problem, &options, control);
	THEN(status, order_run_seeds(&job, true));
	if (status == OK && !order_job_done(&job))
		status = order_run_alive(&job);
	return job_finish(&job, status, control, result);
}

static enum status run_one_seed(struct order_job *job)
{
	HELD uint32_t *MAKE(order, job->model.ops);
	NEED(order);
	TRY(order_seed(job, job->options->strategy, order));
	order_job_offer(job, order, order_strategy_names[job->options->strategy]);
	TRY(order_run_alive(job));
	return order_run_cuts(job, CUTS);
}

static enum status order_run(struct order_job *job, struct order_roam *roam)
{
	switch (job->options->strategy) {
	case ORDER_AUTO:
	case ORDER_BEST:
	case ORDER_FAST:
		return order_run_best(job);    /* fast begins there; times are known elsewhere */
	case ORDER_ROAM:
		TRY(order_run_alive(job));
		TRY(order_run_roam(job, NULL, roam));
		return order_run_cuts(job, CUTS);   /* what is proved of its order; it knows nothing of it */
	default: return run_one_seed(job);
	}
}

enum status order_solve(const struct problem *problem, const struct order_options *options,
	struct control *control, struct order_result *result)
{
	struct order_job job;
	*result = (struct order_result) { .certificate.op = NONE };
	enum status status = job_start(&job, problem, options, control);
	THEN(status, order_run(&job, &result->roam));
	return job_finish(&job, status, control, result);
}
