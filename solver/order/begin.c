/* begin.c: what every run begins with: simple orders as seeds, LB2, and cut bounds where they may be highest. */

#include "job.h"

#define ALIVE_OPS 20000            /* above it, LB2 is left out */

/* Program order by groups: group_of maps a phase to the group in which its ops run. */
static enum status order_by_phase(const struct order_job *job, const uint8_t group_of[PHASE_COUNT], uint32_t *order)
{
	const struct problem *problem = job->problem;
	HELD uint8_t *MAKE(group, problem->ops);
	HELD uint32_t *MAKE(priority, problem->ops);
	NEED(group && priority);
	FOR(i, problem->ops) {
		priority[problem->program[i]] = i;
		group[i] = group_of[problem->phase[i]];
	}
	return order_by_priority(&job->model, group, priority, order);
}

enum status order_seed(const struct order_job *job, enum order_strategy strategy, uint32_t *order)
{
	static const uint8_t last[PHASE_COUNT] = {
		[PHASE_FORWARD] = 0, [PHASE_BACKWARD] = 1, [PHASE_COMMUNICATION] = 1, [PHASE_UPDATE] = 2
	};
	enum status status = OK;
	switch (strategy) {
	case ORDER_PROGRAM:
		COPY(order, job->problem->program, job->problem->ops);
		break;
	case ORDER_UPDATES_LAST:
		return order_by_phase(job, last, order);
	case ORDER_LIST:
		return order_greedy(&job->model, ORDER_GREEDY_LIST, false, order);
	case ORDER_LPMF:
		return order_greedy(&job->model, ORDER_GREEDY_LPMF, false, order);
	case ORDER_DFS:
		return order_depth_first(&job->model, order);
	case ORDER_INDUCTOR_LPMF:
		return order_inductor_lpmf(job->problem, order);
	case ORDER_INDUCTOR_BFS:
		return order_inductor_bfs(job->problem, order);
	case ORDER_INDUCTOR_DFS:
		return order_inductor_dfs(job->problem, order);
	default:
		status = order_greedy(&job->reversed, ORDER_GREEDY_LPMF, true, order);
		if (status == OK)
			order_turn(order, job->model.ops);
	}
	return status;
}

enum status order_run_alive(struct order_job *job)
{
	/* Without ops there is nothing to order, and the state's own bytes are the bound. */
	if (job->model.ops == 0) {
		order_job_offer(job, job->problem->program, order_strategy_names[ORDER_PROGRAM]);
		order_job_raise(job, job->peak, ORDER_PROOF_NONE, NONE);
		return OK;
	}
	/* LB2 of all ops is quadratic: large problems have their bound from a few cuts, which are at least as tight. */
	if (job->model.ops > ALIVE_OPS)
		return order_run_cuts(job, 8);
	NEED(ROOM(&job->arena, job->alive, job->model.ops));
	enum status status = order_bound_alive(&job->model, job->problem->program, &job->control, job->alive);
	if (status != OK) {
		job->alive = NULL;
		return status;
	}
	uint32_t highest = 0;
	FOR_FROM(op, 1, job->model.ops)
		if (job->alive[op] > job->alive[highest])
			highest = op;
	order_job_raise(job, job->alive[highest], ORDER_PROOF_ALIVE, highest);
	return OK;
}

/* Forward and backward passes in program order, updates and communication wherever they free most. A list over all ops
 * starts what runs again, whose operands are there, long before it is needed. */
static enum status seed_between(struct order_job *job)
{
	const struct problem *problem = job->problem;
	uint32_t *order = job->seed[SEED_BETWEEN] = arena_alloc(&job->arena, job->model.ops, sizeof *order);
	HELD uint32_t *MAKE(sequence, problem->ops);
	uint32_t length = 0;
	NEED(order && sequence);
	FOR(i, problem->ops) {
		enum phase phase = problem->phase[problem->program[i]];
		if (phase != PHASE_UPDATE && phase != PHASE_COMMUNICATION)
			sequence[length++] = problem->program[i];
	}
	TRY(order_greedy_beside(&job->model, sequence, length, order));
	order_job_offer(job, order, "updates between");
	job->seed_peak[SEED_BETWEEN] = order_profile(&job->model, order, job->count, job->live);
	return OK;
}

/* Whether each op waits for the one before it in program order. */
static bool only_order(const struct order_job *job)
{
	const struct order_model *model = &job->model;
	const uint32_t *program = job->problem->program;
	FOR_FROM(i, 1, model->ops) {
		bool waits = false;
		for (uint32_t k = model->pred.start[program[i]]; k < model->pred.start[program[i] + 1] && !waits; k++)
			waits = model->pred.item[k] == program[i - 1];
		if (!waits)
			return false;
	}
	return model->ops > 0;
}

/* What no other order can change is proved where it is highest. */
static void run_only_order(struct order_job *job)
{
	uint32_t highest = 0;
	order_job_offer(job, job->problem->program, order_strategy_names[ORDER_PROGRAM]);
	order_profile(&job->model, job->problem->program, job->count, job->live);
	FOR_FROM(i, 1, job->model.ops)
		if (job->live[i] > job->live[highest])
			highest = i;
	order_job_raise(job, job->peak, ORDER_PROOF_CUT, job->problem->program[highest]);
}

/* Seeds run whatever the effort; they are kept for the repair. */
enum status order_run_seeds(struct order_job *job, bool all)
{
	if (only_order(job)) {
		run_only_order(job);
		return OK;
	}
	for (enum order_strategy strategy = ORDER_PROGRAM; strategy < (all ? ORDER_ROAM : ORDER_PROGRAM + 1); strategy++) {
		uint32_t *order = job->seed[strategy] = arena_alloc(&job->arena, job->model.ops, sizeof *order);
		TRY(order ? order_seed(job, strategy, order) : NO_MEMORY);
		order_job_offer(job, order, order_strategy_names[strategy]);
		job->seed_peak[strategy] = order_profile(&job->model, order, job->count, job->live);
		if (control_spend(&job->control, job->model.ops) && control_status(&job->control) == CANCELLED)
			return CANCELLED;
	}
	return seed_between(job);
}

/* ---- cuts ---- */

/* What is known of the cut at each op before it is sought: it is at most the live bytes at the op in any order. */
struct cutting {
	struct order_job *job;
	struct order_cut *cut;
	int64_t *least;                /* op -> its least live bytes in all orders seen */
	bool *done;                    /* op -> cut already */
	uint32_t *order;               /* scratch [ops] */
};

static void note_order(struct cutting *cutting, const uint32_t *order)
{
	struct order_job *job = cutting->job;
	order_profile(&job->model, order, job->count, job->live);
	FOR(i, job->model.ops)
		cutting->least[order[i]] = smaller_of(cutting->least[order[i]], job->live[i]);
	control_spend(&job->control, job->model.touch.start[job->model.ops]);
}

/* The op whose cut may raise the bound most, or NONE: then no cut at an op raises it. */
static uint32_t most_promising(const struct cutting *cutting)
{
	const struct order_job *job = cutting->job;
	uint32_t best = NONE;
	FOR(op, job->model.ops) {
		if (cutting->done[op] || cutting->least[op] <= job->bound)
			continue;
		bool more = best == NONE || cutting->least[op] > cutting->least[best];
		bool equal = best != NONE && cutting->least[op] == cutting->least[best];
		if (more || (equal && job->alive && job->alive[op] > job->alive[best]))
			best = op;
	}
	return best;
}

/* What the best order has behind the cut at other ops, too, bounds their cuts. */
static void note_cut(struct cutting *cutting, uint32_t op)
{
	struct order_job *job = cutting->job;
	order_cut_split(cutting->cut, job->order, op, cutting->order);
	note_order(cutting, cutting->order);
	/* Other strategies ask for an order of their own. */
	if (job->options->strategy == ORDER_BEST || job->options->strategy == ORDER_FAST)
		order_job_offer(job, cutting->order, "min-cut repair");
}

/* Cuts where the bound may rise most: when no such op is left, no cut at an op proves more. */
static enum status cut_promising(struct cutting *cutting, uint32_t cuts)
{
	struct order_job *job = cutting->job;
	FOR(op, job->model.ops)
		cutting->least[op] = INT64_MAX;
	note_order(cutting, job->order);
	FOR_INT(i, SEEDS)
		if (job->seed[i])
			note_order(cutting, job->seed[i]);
	for (uint32_t i = 0, op; i < cuts && !order_job_done(job) && (op = most_promising(cutting)) != NONE; i++) {
		int64_t bytes;
		TRY(order_cut_at(cutting->cut, op, NULL, 0, &job->control, &bytes));
		cutting->done[op] = true;
		order_job_raise(job, bytes, ORDER_PROOF_CUT, op);
		if (!order_job_done(job))
			note_cut(cutting, op);
	}
	return OK;
}

enum status order_run_cuts(struct order_job *job, uint32_t cuts)
{
	OWN(arena) arena = { 0 };
	struct order_cut cut;
	struct cutting cutting = { .job = job, .cut = &cut };
	uint32_t ops = job->model.ops;
	NEED(ROOMS(&arena, ops, cutting.least, cutting.done, cutting.order));
	enum status status = order_cut_init(&cut, job->problem, false);
	THEN(status, cut_promising(&cutting, cuts));
	order_cut_free(&cut);
	/* A bound is extra: an order without one is still what was asked for. */
	return status == LIMIT ? OK : status;
}
