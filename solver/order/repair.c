/* repair.c: min-cut repair with certificate (T7).
 *
 * Let v be an op at which an order peaks and S the cheapest state in which v can run. If S needs as much memory as the
 * order's peak, that is proved optimal. Otherwise [ops of S as they stand], v, [the others as they stand] is a valid
 * order in which v runs in S. Moving few ops keeps the rest of the order as good as it was: cuts are also limited to
 * ops near v, and prefer to leave ops on their side. */

#include "job.h"

static const uint32_t distances[] = { 30, 100, 300, 1000, UINT32_MAX / 2 };
#define DISTANCES (COUNT_OF(distances))

/* How good an order is: its peak, then how often it is reached. */
struct quality {
	int64_t peak;
	uint32_t count;
};

struct repair {
	struct order_job *job;
	struct order_cut *cut;
	uint32_t *order, *position;    /* the current order */
	uint32_t *trial, *choice;      /* a reordering, and the best one of this round */
	int64_t *live;
	uint64_t random;
	struct quality now, chosen;
};

static bool order_repair_better(struct quality a, struct quality b)
{
	return a.peak < b.peak || (a.peak == b.peak && a.count < b.count);
}

static struct quality order_repair_measure(struct repair *repair, const uint32_t *order)
{
	const struct order_model *model = &repair->job->model;
	struct quality quality = { order_profile(model, order, repair->job->count, repair->live), 0 };
	FOR(i, model->ops)
		quality.count += repair->live[i] == quality.peak;
	control_spend(&repair->job->control, model->touch.start[model->ops]);
	return quality;
}

/* Makes order the current one. */
static void adopt(struct repair *repair, const uint32_t *order)
{
	uint32_t ops = repair->job->model.ops;
	if (order != repair->order)
		memcpy(repair->order, order, ops * sizeof *order);
	FOR(i, ops)
		repair->position[order[i]] = i;
	repair->now = order_repair_measure(repair, order);
}

/* One of the ops at which the current order peaks: the first, or after a failure any. */
static uint32_t pick_peak(struct repair *repair, bool any)
{
	uint32_t skip = any ? (uint32_t)(random_next(&repair->random) % repair->now.count) : 0, at = 0;
	order_repair_measure(repair, repair->order);
	for (;; at++)
		if (repair->live[at] == repair->now.peak && skip-- == 0)
			return repair->order[at];
}

static void try_last_cut(struct repair *repair, uint32_t op, bool first)
{
	order_cut_split(repair->cut, repair->order, op, repair->trial);
	struct quality quality = order_repair_measure(repair, repair->trial);
	if (!first && !order_repair_better(quality, repair->chosen))
		return;
	repair->chosen = quality;
	uint32_t *swap = repair->choice;
	repair->choice = repair->trial;
	repair->trial = swap;
}

/* Cuts at op, unlimited first, for its bound. *hopeless: no order does better at op than the best or the current one.
 */
static enum status try_cuts(struct repair *repair, uint32_t op, bool *hopeless)
{
	struct order_job *job = repair->job;
	int64_t bytes;
	FOR_DOWN(i, DISTANCES) {
		if (i + 1 < DISTANCES && distances[i] >= job->model.ops)
			continue;
		TRY(order_cut_at(repair->cut, op, repair->position, distances[i], &job->control, &bytes));
		if (i + 1 == DISTANCES) {
			order_job_raise(job, bytes, ORDER_PROOF_CUT, op);
			*hopeless = order_job_done(job) || bytes >= repair->now.peak;
			if (*hopeless)
				return OK;
		}
		try_last_cut(repair, op, i + 1 == DISTANCES);
	}
	return OK;
}

static enum status order_repair_descend(struct repair *repair, uint32_t failures)
{
	struct order_job *job = repair->job;
	struct quality best = repair->now;
	uint32_t failed = 0;
	while (failed < failures && !order_job_done(job)) {
		bool hopeless = false;
		enum status status = try_cuts(repair, pick_peak(repair, failed > 0), &hopeless);
		if (status != OK || hopeless)
			return status;
		adopt(repair, repair->choice);
		if (order_repair_better(repair->now, best)) {
			best = repair->now;
			failed = 0;
			order_job_offer(job, repair->order, "min-cut repair");
		} else {
			failed++;
		}
		control_report(&job->control, "order: repair", -1, job->peak, job->bound);
	}
	return OK;
}

enum status order_repair(struct order_job *job, struct order_cut *cut, uint32_t *order, uint32_t failures)
{
	OWN(arena) arena = { 0 };
	uint32_t ops = job->model.ops;
	struct repair repair = { .job = job, .cut = cut, .order = order, .random = ops };
	NEED(ROOMS(&arena, ops, repair.position, repair.trial, repair.choice, repair.live));
	adopt(&repair, order);
	return order_repair_descend(&repair, failures);
}
