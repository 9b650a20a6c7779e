/* minred.c: the least redundant memory, then the least time (Shi et al., doi 10.1631/FITEE.2300684).
 *
 * Two programs over the placements of all tensors on a mesh: (P1) the least redundant memory of all operators; (P2) the
 * least time among shardings whose memory is within a slack of that. What stays of a tensor beyond one copy is
 * redundant, so the least bytes that stay are the least redundancy. Over several meshes P1's least is the least of all,
 * and P2 takes the mesh of the least time (src/stages/shard/published.c).
 *
 * The paper's body is closed; its abstract leaves open, and we chose:
 * - what an operator keeps: its saved tensors, parameters, gradients and states, once each, whatever comes and goes;
 * - the published trade of memory for throughput: the knob slack, in percent of the least; without one, a thousandth;
 * - time: the roofline of every op and what collectives add, as for every other strategy;
 * - the solver: solver/chain, whose bound says how near the program's optimum is. Programs over several axes that are
 *   too large for it are solved one axis after the other, from nothing split. */
#include "job.h"

enum status sharding_least_memory(struct sharding_job *job, struct sharding *sharding, struct sharding_cost *cost)
{
	enum status status = sharding_search(job, -1, true, sharding, cost);
	if (sharding_usable(status)) {
		/* What the program counts: of tensors that may be copied twice it knows the most that that takes. */
		if (job->report->proof.value > cost->usage)
			cost->usage = job->report->proof.value;
		job->report->least_usage = cost->usage;
	}
	return status;
}

/* P1, or what it has led to before. */
static enum status minred_first(struct sharding_job *job, struct sharding *first, struct sharding_cost *least)
{
	if (!job->options->first)
		return sharding_least_memory(job, first, least);
	TRY(sharding_copy(job->units, job->options->first, first));
	TRY(sharding_sum_cost(job->sum, first, least));
	job->report->least_usage = job->options->least;
	return OK;
}

static int64_t minred_limit(const struct sharding_job *job, int64_t least)
{
	int64_t memory = job->options->memory, limit = sharding_slack(least, job->options->slack);
	return memory < 0 || limit <= memory ? limit : memory > least ? memory : least;
}

enum status sharding_minred(struct sharding_job *job, struct sharding *sharding)
{
	struct sharding_cost least, cost;
	struct sharding first = { 0 };
	if (has_several_axes(job->mesh))
		job->effort /= 4;   /* two programs, on each of many meshes */
	enum status status = minred_first(job, &first, &least);
	if (!sharding_usable(status) || job->options->least < 0) {
		*sharding = first;
		return status;
	}
	int64_t limit = minred_limit(job, job->options->least > 0 ? job->options->least : least.usage);
	job->start = &first;
	status = sharding_search_time(job, limit, sharding, &cost);
	job->start = NULL;
	if (!sharding->split || (!sharding_usable(status) && status != INFEASIBLE) || cost.usage > limit) {
		sharding_free(sharding);
		*sharding = first;
		return status == INFEASIBLE ? OK : status;
	}
	sharding_free(&first);
	return status;
}
