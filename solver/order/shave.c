/* shave.c: a bound on the peak by precedence shaving on minimum cuts.
 *
 * Suppose that an order stays within a threshold. While op v runs, its state costs at least the minimum cut at v, and
 * the slack between that and the threshold is small where memory is tight. If forcing another op w out of the state
 * costs more than the slack, w runs before v in every such order; if forcing it in does, w runs behind v. Each such
 * precedence makes later cuts dearer, so they are added and all is repeated until nothing changes. A cut above the
 * threshold then proves that no order stays within it: the bound is one byte more.
 *
 * On large graphs a few pairs do: the best order, with an op's cheapest state before the op, is above the threshold
 * where other ops run on the wrong side of it, a weight's gradient before what frees its room. Those are tried first.
 *
 * This is shaving as in scheduling (Carlier, Pinson, "Adjustment of heads and tails for the job-shop problem", EJOR
 * 78, 1994) with the cut of cut.h as the test. The precedences, in the order of their discovery, are a certificate:
 * each follows from the earlier ones by one maximum flow (check.c). */
#include <stdlib.h>

#include "job.h"

#define SHAVED_OPS 12000           /* above it, an attempt takes longer than it is worth */
#define SLACK 4                    /* cuts with more slack than a quarter of the peak force hardly anything */
#define HALVINGS 6                 /* thresholds tried below the first */
#define SHARE 8                    /* an eighth of the effort; half of it where all pairs are tried */

struct precedence {
	uint32_t before, after;
	bool at_before;                /* found by the cut at `before`, not at `after` */
};

struct shaving {
	struct order_job *job;
	struct control control;        /* its share of the effort */
	struct problem problem;        /* the run's, with all precedences found so far */
	struct order_cut cut;
	struct precedence *edge;
	uint32_t edges, room;
	int64_t *bytes;                /* op -> its last cut, at first LB2 */
	uint32_t *visit;               /* ops, the highest cut first */
	int64_t *kept;                 /* residuals of the cut at hand [arcs] */
	size_t kept_room;
	int64_t threshold, highest;    /* and the highest cut seen within it */
	uint32_t refuted;              /* the op whose cut is above the threshold, or NONE */
	uint32_t *trial, *count;       /* an order in which an op runs in its cheapest state; scratch [items] */
	int64_t *live;                 /* its live bytes */
	bool *high;                    /* op -> above the threshold in the best order */
	struct arena arena;            /* of problem's precedences */
};

/* ---- the problem with its precedences ---- */

/* One direction of the precedences: those of the run's problem, and all that were found. */
static enum status join_rows(struct shaving *shaving, const struct csr *given, bool after, struct csr *joined)
{
	uint32_t ops = shaving->problem.ops, pairs = given->start[ops] + shaving->edges, count = 0;
	HELD uint32_t *MAKE(row, pairs);
	HELD uint32_t *MAKE(item, pairs);
	NEED(row && item);
	FOR(op, ops)
		FOR_ITEMS(each, given, op) {
			row[count] = op;
			item[count++] = each;
		}
	FOR(i, shaving->edges) {
		row[count] = after ? shaving->edge[i].after : shaving->edge[i].before;
		item[count++] = after ? shaving->edge[i].before : shaving->edge[i].after;
	}
	return csr_of_pairs(&shaving->arena, ops, pairs, row, item, joined);
}

/* Begins cuts anew, with the precedences found so far. */
static enum status shave_refresh(struct shaving *shaving)
{
	const struct problem *problem = shaving->job->problem;
	order_cut_free(&shaving->cut);
	arena_free(&shaving->arena);
	shaving->cut = (struct order_cut){ 0 };
	TRY(join_rows(shaving, &problem->pred, true, &shaving->problem.pred));
	TRY(join_rows(shaving, &problem->succ, false, &shaving->problem.succ));
	return order_cut_init(&shaving->cut, &shaving->problem, false);
}

static enum status shave_add_edge(struct shaving *shaving, struct precedence found)
{
	if (shaving->edges == shaving->room) {
		uint32_t room = 2 * shaving->room + 64;
		struct precedence *edge = mem_resize(shaving->edge, room, sizeof *edge);
		NEED(edge);
		shaving->edge = edge;
		shaving->room = room;
	}
	shaving->edge[shaving->edges++] = found;
	return OK;
}

/* ---- one op ---- */

/* Keeps the residuals of the maximum flow, from which every forced op is tried. */
static enum status shave_keep_flow(struct shaving *shaving)
{
	const struct max_flow *flow = &shaving->cut.flow;
	if (flow->arcs > shaving->kept_room) {
		int64_t *kept = mem_resize(shaving->kept, flow->arcs, sizeof *kept);
		NEED(kept);
		shaving->kept = kept;
		shaving->kept_room = flow->arcs;
	}
	if (flow->arcs > 0)
		COPY(shaving->kept, flow->residual, flow->arcs);
	return OK;
}

/* Forces an op that the cut at `at` leaves free to the side where it isn't. */
static enum status force_over(struct shaving *shaving, uint32_t at, uint32_t other, int64_t slack)
{
	struct order_cut *cut = &shaving->cut;
	bool inside = cut->flow.reached[other];
	int64_t more;
	TRY(flow_force(&cut->flow, cut->side, other, inside ? FLOW_SINK : FLOW_SOURCE, slack + 1, shaving->kept,
		&shaving->control, &more));
	struct precedence found = { inside ? other : at, inside ? at : other, !inside };
	return more > slack ? shave_add_edge(shaving, found) : OK;
}

static enum status shave_cut(struct shaving *shaving, uint32_t op, int64_t *slack)
{
	TRY(order_cut_at(&shaving->cut, op, NULL, 0, &shaving->control, &shaving->bytes[op]));
	*slack = shaving->threshold - shaving->bytes[op];
	if (*slack < 0)
		shaving->refuted = op;
	else
		shaving->highest = LARGER(shaving->highest, shaving->bytes[op]);
	return OK;
}

static enum status shave_op(struct shaving *shaving, uint32_t op)
{
	uint32_t edges = shaving->edges;
	int64_t slack;
	TRY(shave_cut(shaving, op, &slack));
	if (slack < 0 || slack > (shaving->job->peak - shaving->job->problem->base) / SLACK)
		return OK;
	TRY(shave_keep_flow(shaving));
	FOR(other, shaving->problem.ops)
		if (shaving->cut.side[other] == FLOW_FREE)
			TRY(force_over(shaving, op, other, slack));
	return shaving->edges > edges ? shave_refresh(shaving) : OK;
}

/* ---- what keeps an op from its cheapest state ---- */

/* Whether `other`, which runs above the threshold before or behind op's cheapest state, can run on that side at all. */
static enum status force_apart(struct shaving *shaving, uint32_t op, uint32_t other, bool before)
{
	const struct order_cut *cut = &shaving->cut;
	int64_t slack;
	TRY(shave_cut(shaving, other, &slack));
	if (slack < 0 || cut->side[op] != FLOW_FREE || cut->flow.reached[op] != before)
		return OK;
	TRY(shave_keep_flow(shaving));
	return force_over(shaving, other, op, slack);
}

/* Looks at the ops that keep op from its cheapest state, until none is found to be on the wrong side of it. */
static enum status shave_around(struct shaving *shaving, uint32_t op)
{
	struct order_job *job = shaving->job;
	uint32_t edges;
	do {
		int64_t slack;
		edges = shaving->edges;
		TRY(shave_cut(shaving, op, &slack));
		if (slack < 0)
			return OK;
		uint32_t place = order_cut_split(&shaving->cut, job->order, op, shaving->trial);
		if (order_profile(&job->model, shaving->trial, shaving->count, shaving->live) < job->peak)
			order_job_offer(job, shaving->trial, "min-cut repair");
		control_spend(&shaving->control, job->model.touch.start[job->model.ops]);
		FOR_WHILE(i, shaving->problem.ops, shaving->refuted == NONE)
			if (i != place && shaving->live[i] > shaving->threshold)
				TRY(force_apart(shaving, op, shaving->trial[i], i < place));
		if (shaving->edges > edges)
			TRY(shave_refresh(shaving));
	} while (shaving->refuted == NONE && shaving->edges > edges);
	return OK;
}

/* ---- one threshold ---- */

/* Ops by falling cuts: an insertion sort, as few change places between passes. */
static void sort_visits(struct shaving *shaving)
{
	uint32_t *visit = shaving->visit;
	FOR_FROM(i, 1, shaving->problem.ops) {
		uint32_t op = visit[i], at = i;
		for (; at > 0 && shaving->bytes[visit[at - 1]] < shaving->bytes[op]; at--)
			visit[at] = visit[at - 1];
		visit[at] = op;
	}
}

static void mark_high(struct shaving *shaving)
{
	const struct order_job *job = shaving->job;
	order_profile(&job->model, job->order, shaving->count, shaving->live);
	FOR(i, job->model.ops)
		shaving->high[job->order[i]] = shaving->live[i] > shaving->threshold;
}

/* Whether no order stays within the threshold: then refuted is the op that shows it. */
static enum status attempt(struct shaving *shaving, int64_t threshold, bool all)
{
	uint32_t before;
	shaving->threshold = threshold;
	shaving->highest = shaving->job->bound;
	shaving->refuted = NONE;
	shaving->edges = 0;
	TRY(shave_refresh(shaving));
	do {
		before = shaving->edges;
		sort_visits(shaving);
		mark_high(shaving);
		FOR_WHILE(i, shaving->problem.ops, shaving->refuted == NONE)
			if (all)
				TRY(shave_op(shaving, shaving->visit[i]));
			else if (shaving->high[shaving->visit[i]])
				TRY(shave_around(shaving, shaving->visit[i]));
	} while (shaving->refuted == NONE && shaving->edges > before);
	return OK;
}

/* The precedences as a certificate; the run's arena owns them. */
static enum status shave_raise_bound(struct shaving *shaving)
{
	struct order_job *job = shaving->job;
	struct order_arc *MAKE_IN(&job->arena, arc, shaving->edges);
	NEED(arc || shaving->edges == 0);
	FOR(i, shaving->edges)
		arc[i] = (struct order_arc){ NONE, shaving->edge[i].after, shaving->edge[i].before, shaving->edge[i].at_before };
	order_job_raise(job, shaving->threshold + 1, ORDER_PROOF_PRECEDENCE, shaving->refuted);
	job->certificate.arc = arc;
	job->certificate.arcs = shaving->edges;
	return OK;
}

static enum status shave_shave(struct shaving *shaving, bool all)
{
	struct order_job *job = shaving->job;
	int64_t open = job->peak;      /* the least threshold that isn't refuted, or the best peak */
	for (int i = 0; i <= HALVINGS && job->bound < open; i++) {
		int64_t threshold = i == 0 ? job->peak - 1
			: i == 1 && shaving->highest > job->bound ? shaving->highest - 1
			: job->bound + (open - job->bound) / 2;
		if (i > 0 && threshold < job->bound)
			break;
		TRY(attempt(shaving, threshold, all));
		if (shaving->refuted != NONE)
			TRY(shave_raise_bound(shaving));
		else
			open = threshold;
	}
	return OK;
}

enum status order_run_shaving(struct order_job *job, bool all)
{
	OWN(arena) arena = { 0 };
	uint32_t ops = job->model.ops;
	struct shaving shaving = { .job = job, .control = job->control, .problem = *job->problem };
	NEED(ROOMS(&arena, ops, shaving.bytes, shaving.visit, shaving.trial, shaving.live, shaving.high));
	NEED(ROOM(&arena, shaving.count, job->model.items));
	if (ops > SHAVED_OPS || !job->alive)
		return OK;
	COPY(shaving.bytes, job->alive, ops);
	COPY(shaving.visit, job->problem->program, ops);
	uint64_t effort = job->effort > 0 && !all ? job->effort : job->control.limit,
			 share = job->control.ticks + effort / (all ? 2 : SHARE);
	shaving.control.limit = effort && share < effort ? share : effort;
	enum status status = shave_shave(&shaving, all);
	order_cut_free(&shaving.cut);
	arena_free(&shaving.arena);
	mem_free(shaving.edge);
	mem_free(shaving.kept);
	uint64_t spent = shaving.control.ticks - job->control.ticks;
	if (job->effort > 0 && !all)
		job->control.limit = SMALLER(job->control.limit + spent, job->effort);
	control_spend(&job->control, spent);
	return status == LIMIT ? OK : status;
}
