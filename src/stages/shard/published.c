/* published.c: tap and minred over all meshes that the knobs leave open, each by its own measure: the least
 * communication; the least memory, then the least time within the slack of it. Neither sees an expert's sharding.
 *
 * What the papers leave open, and we chose: meshes are dp x tp, the inner axis within a node first (minred's program
 * splits what it likes over either axis); of equals tap takes the one with the larger dp, minred the first; of a large
 * step few meshes are searched, which a note says. */
#include <inttypes.h>

#include "job.h"
#include "src/scenario/knobs.h"

#define PUBLISHED_WORK 400000  /* ops of all meshes together */

COMPARATOR(published_by_cost, int64_t, COMPARE(*a, *b, 0))

/* What a strategy itself looked at: of more than there is room for, what it chose and the cheapest. */
static enum status published_add_found(struct shard_job *job, const struct sharding_report *report)
{
	uint32_t room = CANDIDATES_MAX - job->candidates, chosen = 0, others = 0;
	int64_t *cost, most = INT64_MAX;
	NEED(ROOM(&job->arena, cost, report->candidates));
	FOR(i, report->candidates)
		if (report->candidate[i].chosen)
			chosen++;
		else
			cost[others++] = report->candidate[i].cost;
	qsort(cost, others, sizeof *cost, published_by_cost);
	if (chosen + others > room)
		most = room > chosen ? cost[room - chosen - 1] : -1;
	FOR_WHILE(i, report->candidates, room > 0) {
		const struct sharding_candidate *found = &report->candidate[i];
		if (!found->chosen && (found->cost > most || room <= chosen))
			continue;
		char *copy = arena_text(&job->arena, found->text, strlen(found->text));
		job->candidate[job->candidates++] = (struct shard_candidate){ copy ? copy : "", found->cost, found->usage,
			found->usage, found->cost < SHARD_FORBIDDEN, found->chosen };
		chosen -= found->chosen;
		room--;
	}
	job->patterns += report->candidates;
	return OK;
}

/* A mesh, and what a search has found there. */
struct published_mesh {
	struct degrees degrees;
	struct mesh mesh;
	struct axis_roles roles[MESH_AXES];
	struct sharding found;         /* tap: its plan; minred: of the least memory */
	struct sharding_report report;
	uint32_t candidate;
};

static const struct axis_roles roles_none[MESH_AXES];

/* Searches one mesh; what it finds takes the place of what is there. */
static enum status published_search(struct shard_job *job, struct published_mesh *at)
{
	struct sharding_options options;
	struct sharding_report report = { .proof.value = -1 };
	struct sharding found = { 0 };
	bool least = shard_job_strategy(job) == STRATEGY_MINRED;
	enum status status = shard_job_search(
		job, &at->mesh, least ? roles_none : at->roles, &options, &found, &report);
	bool taken = found.split && (status == OK || status == CANCELLED || (status == INFEASIBLE && least));
	if (taken) {
		sharding_free(&at->found);
		sharding_report_free(&at->report);
		at->found = found;
		at->report = report;
		return status == INFEASIBLE ? OK : status;
	}
	sharding_free(&found);
	sharding_report_free(&report);
	return status;
}

/* Lists a mesh; tap: with what it goes by. */
static void published_list(struct shard_job *job, struct published_mesh *at)
{
	char text[200], mesh[96];
	int used = PRINT_TO(text, "%s", mesh_text(&at->mesh, mesh, sizeof mesh));
	if (shard_job_strategy(job) == STRATEGY_TAP)
		snprintf(text + used, sizeof text - (size_t)used, ", %.3f ms of communication",
			(double)at->report.proof.value / 1e9);
	at->candidate = job->candidates;
	shard_job_list(job, text, &at->report.cost);
}

static bool published_before(
	const struct shard_job *job, const struct published_mesh *a, const struct published_mesh *b)
{
	const struct sharding_report *x = &a->report, *y = &b->report;
	if (shard_job_strategy(job) == STRATEGY_TAP)
		return x->proof.value != y->proof.value ? x->proof.value < y->proof.value : a->degrees.dp > b->degrees.dp;
	return x->cost.summed != y->cost.summed ? x->cost.summed < y->cost.summed : x->cost.usage < y->cost.usage;
}

/* minred's second program, on every mesh whose least memory is within the slack of the least of all. */
static enum status published_times(struct shard_job *job, struct published_mesh *mesh, uint32_t count)
{
	enum status status = OK;
	int64_t least = INT64_MAX;
	FOR(i, count)
		least = mesh[i].found.split && mesh[i].report.least_usage < least ? mesh[i].report.least_usage : least;
	int64_t limit = sharding_slack(least, (uint32_t)job->scenario->value[K_slack]);
	job->least = least;
	FOR_WHILE(i, count, status == OK) {
		if (!mesh[i].found.split)
			continue;
		OWN(sharding) first = { 0 };
		bool within = mesh[i].report.least_usage <= limit;
		status = within ? sharding_copy(&job->shared->units, &mesh[i].found, &first) : OK;
		job->first = &first;
		if (within && status == OK)
			status = published_search(job, &mesh[i]);
		status = status == INFEASIBLE ? OK : status;
		published_list(job, &mesh[i]);
		if (!within)
			sharding_free(&mesh[i].found);
	}
	job->first = NULL;
	job->least = 0;
	return status;
}

/* Every mesh; a failure of one leaves the others, the last one's error stays. */
static enum status published_meshes(struct shard_job *job, struct published_mesh *mesh, uint32_t count)
{
	bool tap = shard_job_strategy(job) == STRATEGY_TAP;
	job->least = tap ? 0 : -1;
	FOR(i, count) {
		mesh_of_degrees(job->scenario, &mesh[i].degrees, &mesh[i].mesh, mesh[i].roles);
		enum status status = published_search(job, &mesh[i]);
		if (status != OK && status != INFEASIBLE && status != BAD_INPUT)
			return status;
		if (tap && mesh[i].found.split)
			published_list(job, &mesh[i]);
	}
	return tap ? OK : published_times(job, mesh, count);
}

/* Those of a search; tp stands for cp where both are free. */
static uint32_t published_degrees(const struct shard_job *job, struct degrees degrees[DEGREES_MAX])
{
	uint32_t all = degrees_of_search(job->scenario, degrees, DEGREES_MAX), count = 0;
	FOR(i, all)
		if (degrees[i].cp == 1 || job->scenario->value[K_cp] != KNOB_GIVEN || job->scenario->value[K_tp] != KNOB_GIVEN)
			degrees[count++] = degrees[i];
	return count;
}

enum status shard_job_published(struct shard_job *job, struct sharding *sharding, struct sharding_report *report)
{
	struct degrees degrees[DEGREES_MAX];
	uint32_t all = published_degrees(job, degrees),
			 most = job->wish->least ? 1 : 1 + PUBLISHED_WORK / (job->shared->graph->ops + 1),
			 count = SMALLER(all, most);   /* auto: one, as a candidate of many */
	struct published_mesh *MAKE(mesh, count), *best = NULL;
	*sharding = (struct sharding) { 0 };
	NEED(mesh);
	FOR(i, count)
		mesh[i].degrees = degrees[i];
	if (count < all && !job->wish->least)
		note(job->notes, NOTE_LEFT_OUT "%u of %u meshes, as the step has many ops", all - count, all);
	enum status status = published_meshes(job, mesh, count);
	FOR_WHILE(i, count, status != NO_MEMORY)
		best = mesh[i].found.split && (!best || published_before(job, &mesh[i], best)) ? &mesh[i] : best;
	if (best) {
		*sharding = best->found;
		*report = best->report;
		best->found = (struct sharding) { 0 };
		best->report = (struct sharding_report) { 0 };
		if (best->candidate < job->candidates)
			job->candidate[best->candidate].chosen = true;
		status = status == OK || status == CANCELLED ? published_add_found(job, report) : status;
	} else if (status == OK) {
		status = job->error->text[0] ? INFEASIBLE
			: refuse(job->error, "no mesh of %" PRId64 " devices", job->scenario->value[K_devices]);
	}
	FOR(i, count) {
		sharding_free(&mesh[i].found);
		sharding_report_free(&mesh[i].report);
	}
	mem_free(mesh);
	return status;
}
