/* job.c: the best order and bound of a run so far, and answers that it or an earlier run found. */

#include "job.h"

#define X(id, name, help) name,
const char *const order_strategy_names[ORDER_STRATEGY_COUNT] = { ORDER_STRATEGIES(X) };
#undef X

const char *const order_branch_reasons[4] = {
	"at once: raises nothing", "delayed until it raises nothing", "needed by the main path", "delayed to the end"
};

bool order_job_done(const struct order_job *job)
{
	return job->peak <= job->bound || (job->options->ceiling > 0 && job->bound > job->options->ceiling);
}

#define SMALL_OPS 2500         /* problems of fewer ops are often proved by a long search */
#define WORTH 100              /* closing less than a hundredth of the gap is no reason to go on */

/* Best order and bound have come noticeably nearer to each other than so many bytes. */
static bool gained(const struct order_job *job, int64_t gap)
{
	return gap - (job->peak - job->bound) >= gap / WORTH;
}

/* Something better was found: it pays to go on for so many times what that took, and for a part of the effort at least;
 * less where little is left to gain. */
static void wait_longer(struct order_job *job)
{
	int64_t gap = job->peak - job->bound, thousandth = job->peak / 1000;
	uint64_t patience = gap > 10 * thousandth ? 8
		: gap > thousandth ? 4
		: 2,
			 least = job->effort / 64 * patience + 1, longer = patience * job->control.ticks;
	if (job->effort == 0 || !gained(job, job->gap))
		return;
	job->gap = gap;
	job->control.limit = LARGER(longer, least);
	job->control.limit = SMALLER(job->control.limit, job->effort);
}

void order_job_hurry(struct order_job *job)
{
	if (job->model.ops < SMALL_OPS)
		return;
	job->effort = job->control.limit;
	job->gap = INT64_MAX;
	wait_longer(job);
}

static void job_tell(const struct order_job *job)
{
	if (job->options->improved)
		job->options->improved(job->options->context, job->control.ticks, job->peak, job->bound, job->winner);
}

void order_job_offer(struct order_job *job, const uint32_t *order, const char *winner)
{
	int64_t peak = order_profile(&job->model, order, job->count, job->live);
	if (job->winner && peak >= job->peak)
		return;
	COPY(job->order, order, job->model.ops);
	job->peak = peak;
	job->winner = winner;
	wait_longer(job);
	job_tell(job);
}

void order_job_raise(struct order_job *job, int64_t bound, enum order_proof proof, uint32_t op)
{
	if (bound <= job->bound)
		return;
	job->bound = bound;
	job->certificate = (struct order_certificate) { .proof = proof, .op = op };
	wait_longer(job);
	if (job->winner)
		job_tell(job);
}

bool order_job_find(struct order_job *job, const uint64_t key[2], void *answer, size_t bytes)
{
	const struct order_store *store = job->options->store;
	bool known = job->own.find(job->own.context, key, answer, bytes) == bytes;
	if (!known && store && store->find(store->context, key, answer, bytes) == bytes) {
		uint64_t ticks;
		memcpy(&ticks, answer, sizeof ticks);
		control_spend(&job->control, ticks);
		job->own.keep(job->own.context, key, answer, bytes);
		known = true;
	}
	job->reused += known;
	return known;
}

void order_job_keep(struct order_job *job, const uint64_t key[2], const void *answer, size_t bytes, enum status status)
{
	const struct order_store *store = job->options->store;
	job->solved++;
	bool stopped = status == NO_MEMORY || status == CANCELLED || (status == LIMIT && control_status(&job->control) != OK);
	if (stopped)
		return;
	job->own.keep(job->own.context, key, answer, bytes);
	if (store)
		store->keep(store->context, key, answer, bytes);
}
