/* find.c: the strategies. */

#include "job.h"
#include "solver/base/names.h"

/* By hand: what the roles of the axes say. */
static enum status by_roles(struct sharding_job *job, struct sharding *sharding)
{
	job->report->space = "one split of each op, by its role";
	return split_by_roles(job->units, job->mesh, job->options->roles, sharding);
}

/* What the roles say instead, where that fits and is faster: limits count some copies twice, the sum doesn't. */
static enum status prefer_roles(
	struct sharding_job *job, int64_t limit, struct sharding *sharding, struct sharding_cost *cost)
{
	struct sharding other;
	struct sharding_cost of_other = { 0 };
	if (!job->options->roles || job->options->pins > 0)
		return OK;
	enum status status = split_by_roles(job->units, job->mesh, job->options->roles, &other);
	THEN(status, sharding_sum_cost(job->sum, &other, &of_other));
	bool fits = status == OK && (limit < 0 || of_other.usage <= limit), unfit = limit >= 0 && cost->usage > limit;
	if (fits && (!sharding->split || unfit || of_other.summed < cost->summed)) {
		sharding_free(sharding);
		*sharding = other;
		*cost = of_other;
		job->report->proof.value = sharding_estimate(&of_other);
	} else {
		sharding_free(&other);
	}
	return status == NO_MEMORY ? status : OK;
}

#define LEAST_GAIN 200   /* less than so small a part isn't worth a plan: estimates aren't as exact */

/* What a search for the estimate itself finds within the limit: another one than that of the least sum, where it is
 * faster. */
static enum status keep_apart(struct sharding_job *job, int64_t limit, const struct sharding_cost *cost)
{
	struct sharding apart;
	struct sharding_cost of_apart;
	enum status status = sharding_search_apart(job, limit, &apart, &of_apart);
	if (apart.split && of_apart.total < cost->total - cost->total / LEAST_GAIN) {
		job->report->other[0] = apart;
		job->report->other_cost[0] = of_apart;
		job->report->others = 1;
	} else {
		sharding_free(&apart);
	}
	return status;
}

/* ---- least time ---- */

/* With slack: the least memory of all shardings that are at most so much slower, by halving the limit's range. */
static enum status spend_slack(struct sharding_job *job, struct sharding *sharding, struct sharding_cost *cost)
{
	int64_t slowest = sharding_more_by(cost->summed, job->options->slack), high = cost->usage, low = 0;
	for (int step = 0; step < 7 && high - low > high / 64; step++) {
		struct sharding found;
		struct sharding_cost of_found;
		int64_t middle = low + (high - low) / 2;
		enum status status = sharding_search_time(job, middle, &found, &of_found);
		bool good = found.split && status == OK && of_found.usage <= middle && of_found.summed <= slowest;
		sharding_free(good ? sharding : &found);
		if (good) {
			*sharding = found;
			*cost = of_found;
			high = of_found.usage;
		} else {
			low = middle;
		}
		if (!sharding_usable(status) && status != INFEASIBLE)
			return status;
	}
	return OK;
}

/* What its steps share. */
struct timing {
	struct sharding_job *job;
	struct sharding *sharding, least;   /* least: of the least memory; empty where nobody asked */
	struct sharding_cost cost, cost_of_least;
	struct sharding_report free;
	enum status status;              /* of the sharding so far */
};

/* Whether even the least memory is above the cap: by more than what a search may be off, or proved. */
static bool cap_is_hopeless(struct timing *timing)
{
	struct sharding_job *job = timing->job;
	int64_t memory = job->options->memory;
	enum status status = sharding_least_memory(job, &timing->least, &timing->cost_of_least);
	bool above = status == OK || status == LIMIT, proved = job->report->proof.bound > memory;
	above &= timing->cost_of_least.usage > (proved ? memory : sharding_more_by(memory, 2));
	*job->report = timing->free;
	return above;
}

/* Without the cap first: if the fastest of all fits, it is the one. A cap counts what may be copied twice at its most.
 */
static enum status search_within(struct timing *timing)
{
	struct sharding_job *job = timing->job;
	int64_t memory = job->options->memory;
	enum status status = sharding_search_time(job, -1, timing->sharding, &timing->cost);
	timing->free = *job->report;
	if (memory < 0 || (status != OK && status != LIMIT) || (timing->sharding->split && timing->cost.usage <= memory))
		return status;
	sharding_free(timing->sharding);
	return cap_is_hopeless(timing) ? INFEASIBLE : sharding_search_time(job, memory, timing->sharding, &timing->cost);
}

/* Of those that keep no more than this one the fastest, where that is faster. OK or NO_MEMORY. */
static enum status faster_within(struct sharding_job *job, struct sharding *sharding, struct sharding_cost *cost)
{
	struct sharding found;
	struct sharding_cost of_found;
	job->start = sharding;
	enum status status = sharding_search_time(job, cost->usage, &found, &of_found);
	job->start = NULL;
	if (found.split && sharding_usable(status) && of_found.usage <= cost->usage && of_found.summed < cost->summed) {
		sharding_free(sharding);
		*sharding = found;
		*cost = of_found;
	} else {
		sharding_free(&found);
	}
	return status == NO_MEMORY ? NO_MEMORY : OK;
}

/* One mixture of the estimate within the cap, or where that shows nothing without it: what that shows. */
static enum status shown_by_mixture(struct sharding_job *job, struct sharding *sharding)
{
	struct sharding_cost cost;
	job->mixture = job->options->mixture;
	job->apart = true;
	enum status status = sharding_search(job, job->options->memory, false, sharding, &cost);
	if (job->options->memory >= 0 && job->report->proof.bound < 0 && (sharding_usable(status) || status == INFEASIBLE)) {
		sharding_free(sharding);
		status = sharding_search(job, -1, false, sharding, &cost);
	}
	job->report->proof.value = larger_of(job->report->proof.value, job->report->proof.bound);
	return status;
}

static enum status time_within(struct timing *timing)
{
	timing->status = search_within(timing);
	return timing->status == INFEASIBLE || sharding_usable(timing->status) ? OK : timing->status;
}

static bool is_usable(const struct timing *timing)
{
	return sharding_usable(timing->status);
}

static enum status time_apart(struct timing *timing)
{
	return keep_apart(timing->job, timing->job->options->memory, &timing->cost) == NO_MEMORY ? NO_MEMORY : OK;
}

static enum status time_roles(struct timing *timing)
{
	struct sharding_job *job = timing->job;
	enum status status = prefer_roles(job, job->options->memory, timing->sharding, &timing->cost);
	if (timing->status == INFEASIBLE && timing->sharding->split && timing->cost.usage <= job->options->memory)
		timing->status = OK;
	return status == NO_MEMORY ? NO_MEMORY : OK;
}

static bool is_above_cap(const struct timing *timing)
{
	return timing->status == INFEASIBLE;
}

/* What comes nearest to the cap. */
static enum status time_nearest(struct timing *timing)
{
	struct sharding_job *job = timing->job;
	struct sharding_report before = *job->report;
	enum status found = timing->least.split ? OK
		: sharding_least_memory(job, &timing->least, &timing->cost_of_least);
	if (sharding_usable(found)) {
		sharding_free(timing->sharding);
		*timing->sharding = timing->least;
		timing->cost = timing->cost_of_least;
		timing->least = (struct sharding) { 0 };
		before.least_usage = timing->cost.usage;
		found = faster_within(job, timing->sharding, &timing->cost);
	}
	*job->report = before;
	return sharding_usable(found) || found == INFEASIBLE ? OK : found;
}

static bool has_slack(const struct timing *timing)
{
	return timing->status == OK && timing->job->options->slack > 0;
}

static enum status time_slack(struct timing *timing)
{
	timing->status = spend_slack(timing->job, timing->sharding, &timing->cost);
	return OK;
}

/* docs/benchmarks.md says what each is worth. helps: NULL: always. */
static const struct step {
	const char *name;
	bool (*helps)(const struct timing *timing);
	enum status (*run)(struct timing *timing);
} steps[] = {
	{ "shard.within", NULL, time_within },
	{ "shard.apart", is_usable, time_apart },
	{ "shard.roles", NULL, time_roles },
	{ "shard.nearest", is_above_cap, time_nearest },
	{ "shard.slack", has_slack, time_slack },
};

static enum status least_time(struct sharding_job *job, struct sharding *sharding)
{
	struct timing timing = { .job = job, .sharding = sharding };
	enum status status = job->options->alone ? shown_by_mixture(job, sharding) : OK;
	for (size_t i = 0; i < COUNT_OF(steps) && status == OK && !job->options->alone; i++)
		if ((!steps[i].helps || steps[i].helps(&timing)) && step_runs(steps[i].name))
			status = steps[i].run(&timing);
	sharding_free(&timing.least);
	return status == OK && !job->options->alone ? timing.status : status;
}

static enum status (*const strategies[STRATEGY_COUNT])(
	struct sharding_job *job, struct sharding *sharding) = { by_roles, by_roles, by_roles,
	[STRATEGY_TAP] = sharding_tap, [STRATEGY_MINRED] = sharding_minred, [STRATEGY_AUTO] = least_time };

/* What is shown of the estimate: nothing by a mixture that may be above it. */
static void say_of_estimate(struct sharding_job *job)
{
	struct sharding_report *report = job->report;
	if (report->proof.quantity != QUANTITY_ESTIMATE || report->proof.value < 0)
		return;
	report->proof.value = sharding_estimate(&report->cost);
	if (!report->of_estimate) {
		report->proof.bound = -1;
		report->proof.by = "";
		report->price.alpha = 0;
		report->mixture = (struct mixture) { 0 };
	}
}

enum status sharding_find(const struct units *units, const struct mesh *mesh, const struct sharding_options *options,
	struct control *control, struct sharding *sharding, struct sharding_report *report, struct error *error)
{
	struct sharding_job job;
	enum status status = sharding_job_begin(&job, units, mesh, options, control, report, error);
	*sharding = (struct sharding) { 0 };
	THEN(status, strategies[options->strategy](&job, sharding));
	if (status == LIMIT && sharding->split && (control->limit == 0 || control->ticks < control->limit))
		status = OK;  /* its own effort is spent: report->proof.bound says how good it is */
	if (status == CANCELLED && !sharding->split && options->roles && by_roles(&job, sharding) == NO_MEMORY)
		status = NO_MEMORY;
	if (sharding->split) {
		enum status summed = sharding_sum_cost(job.sum, sharding, &report->cost);
		status = summed == OK ? status : summed;
	}
	if (status == OK && options->memory >= 0 && report->cost.usage > options->memory)
		status = fail(error, INFEASIBLE, "the sharding keeps %lld bytes on a device, the cap is %lld",
			(long long)report->cost.usage, (long long)options->memory);
	say_of_estimate(&job);
	sharding_job_end(&job);
	return status;
}

bool sharding_proves_by(const char *by)
{
	return name_index(chain_bound_names, CHAIN_BOUNDS, by) >= 0;
}

void sharding_report_free(struct sharding_report *report)
{
	FOR(i, report->others)
		sharding_free(&report->other[i]);
	arena_free(&report->arena);
	*report = (struct sharding_report) { 0 };
}
