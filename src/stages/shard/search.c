/* search.c: searches of the shard stage over one mesh, and what they list. */
#include <stdio.h>
#include <stdlib.h>

#include "job.h"

#define COPIES_LEAST 3         /* two copies save no time, and their shared tensors are counted less exactly */

static int shard_search_by_cost(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
	return left < right ? -1 : left > right;
}

/* What a strategy itself looked at: of more than there is room for, what it chose and the cheapest. taken: the plan is
 * made of what it chose. */
static enum status add_found(struct shard_job *job, const struct sharding_report *report, bool taken)
{
	uint32_t room = CANDIDATES_MAX - job->candidates, chosen = 0, others = 0;
	int64_t *cost = arena_alloc(&job->arena, report->candidates, sizeof *cost), most = INT64_MAX;
	NEED(cost);
	for (uint32_t i = 0; i < report->candidates; i++)
		if (report->candidate[i].chosen)
			chosen++;
		else
			cost[others++] = report->candidate[i].cost;
	qsort(cost, others, sizeof *cost, shard_search_by_cost);
	if (chosen + others > room)
		most = room > chosen ? cost[room - chosen - 1] : -1;
	for (uint32_t i = 0; i < report->candidates && room > 0; i++) {
		const struct sharding_candidate *found = &report->candidate[i];
		if (!found->chosen && (found->cost > most || room <= chosen))
			continue;
		char *copy = arena_text(&job->arena, found->text, strlen(found->text));
		job->candidate[job->candidates++] = (struct shard_candidate){ copy ? copy : "", found->cost, found->usage,
			found->usage, found->cost < SHARD_FORBIDDEN, found->chosen && taken };
		chosen -= found->chosen;
		room--;
	}
	job->patterns += report->candidates;
	return OK;
}

static enum status find_fold(struct shared_units *shared)
{
	enum status status = OK;
	if (!shared->folded)
		status = fold_find(shared->graph, units_label, &shared->units, COPIES_LEAST, &shared->fold);
	shared->folded = status == OK;
	return status;
}

/* The curve over all that was looked at: an expert's sharding, perhaps over another mesh, may be below what the search
 * counts. */
static void add_experts(const struct shard_job *job, struct sharding_point *curve)
{
	int64_t least = curve[0].usage;
	for (uint32_t i = 0; i < job->candidates; i++)
		least = job->candidate[i].usage >= 0 && job->candidate[i].usage < least ? job->candidate[i].usage : least;
	struct sharding_point found[SHARDING_CURVE_POINTS];
	memcpy(found, curve, sizeof found);
	for (int k = 0; k < SHARDING_CURVE_POINTS; k++) {
		int64_t limit = least + least / 100 * curve[k].eps + least % 100 * curve[k].eps / 100;
		struct sharding_point best = { .time = INT64_MAX };
		for (int i = 0; i < SHARDING_CURVE_POINTS; i++)
			if (found[i].usage <= limit && found[i].time < best.time)
				best = found[i];
		for (uint32_t i = 0; i < job->candidates; i++) {
			const struct shard_candidate *expert = &job->candidate[i];
			if (expert->usage >= 0 && expert->usage <= limit && expert->time < best.time)
				best = (struct sharding_point){
					.status = OK, .usage = expert->usage, .redundant = expert->redundant, .time = expert->time
				};
		}
		best.eps = curve[k].eps;
		curve[k] = best;
	}
}

/* The options of a search over a mesh; they are the job's. */
static enum status search_options(
	struct shard_job *job, const struct mesh *mesh, const struct axis_roles *roles, struct sharding_options *options)
{
	struct placement_pin *pin = arena_alloc(&job->arena, job->scenario->pins, sizeof *pin);
	struct axis_roles *usual = arena_alloc(&job->arena, MESH_AXES, sizeof *usual);
	enum status status = pin && usual ? find_fold(job->shared) : NO_MEMORY;
	if (status != OK)
		return status == NO_MEMORY ? fail_memory(job->error) : status;
	roles_of_mesh(job->scenario, mesh, usual);
	*options = (struct sharding_options){ .strategy = shard_job_strategy(job),
		.roles = roles,
		.usual = usual,
		.memory = job->cap,
		.slack = (uint32_t)job->scenario->value[K_slack],
		.exposed = SHARD_EXPOSED,
		.microbatches = job->clock.microbatches,
		.clock = job->clock.clock,
		.fold = &job->shared->fold,
		.pin = pin,
		.by_axes = job->by_axes,
		.others = job->others,
		.apart = job->apart,
		.alone = job->alone,
		.mixture = job->mixture };
	return shard_pins_find(job->scenario, &job->shared->units, mesh, pin, &options->pins, job->error);
}

enum status shard_job_search(struct shard_job *job, const struct mesh *mesh, const struct axis_roles *roles,
	struct sharding_options *options, struct sharding *found, struct sharding_report *report)
{
	enum status status = search_options(job, mesh, roles, options);
	if (status == OK)
		status = sharding_find(&job->shared->units, mesh, options, job->stage->control, found, report, job->error);
	return status == LIMIT ? OK : status;
}

/* What the search found is the chosen one of the candidates. */
void shard_job_list_found(struct shard_job *job, const struct sharding *sharding, const struct sharding_cost *cost)
{
	char mesh[96], text[120];
	for (uint32_t i = 0; i < job->candidates; i++)
		job->candidate[i].chosen = false;
	job->candidates -= job->candidates == CANDIDATES_MAX;
	snprintf(text, sizeof text, "%s, searched", mesh_text(&sharding->mesh, mesh, sizeof mesh));
	shard_job_list(job, text, cost);
	job->candidate[job->candidates - 1].chosen = true;
}

/* minred: within the slack above the least memory the faster one is better. */
static bool improves(
	const struct shard_job *job, const struct sharding_report *report, const struct sharding_cost *expert)
{
	const struct sharding_cost *found = &report->cost;
	int64_t least = report->least_usage < expert->usage ? report->least_usage : expert->usage;
	int64_t limit = sharding_slack(least, (uint32_t)job->scenario->value[K_slack]);
	if (shard_job_strategy(job) != STRATEGY_MINRED || report->least_usage < 0 || found->usage > limit ||
		expert->usage > limit)
		return shard_job_better(job, found, expert);
	return found->summed < expert->summed;
}

/* Searches begin with what is the larger sum for an expert's sharding. */
void shard_job_begin_mixture(struct shard_job *job, const struct sharding_cost *expert)
{
	for (int k = 0; k < HIDINGS; k++) {
		uint8_t over = sharding_longest(expert, k, true) == SERIAL ? 0 : 100;
		job->mixture.over[k] = over;
		memset(job->mixture.axis[k], over, sizeof job->mixture.axis[k]);
	}
}

/* Searches over the mesh of a sharding; what is found takes its place where it is better. */
enum status shard_job_improve(struct shard_job *job, const struct axis_roles *roles, struct sharding *sharding,
	const struct sharding_cost *cost, struct sharding_report *report, struct sharding_point *curve, uint32_t *points)
{
	struct sharding_options options = { .pins = 0 };
	struct sharding found = { 0 };
	struct mesh mesh = sharding->mesh;
	job->others = true;
	job->apart = !job->by_axes && shard_job_strategy(job) == STRATEGY_AUTO;
	shard_job_begin_mixture(job, cost);
	enum status status = shard_job_search(job, &mesh, roles, &options, &found, report);
	bool nearest = status == INFEASIBLE && options.pins == 0;   /* pins that can't be kept are the user's to take back */
	if (nearest && job->cap >= 0 && report->cost.usage > job->cap && cost->usage > job->cap)
		note(job->notes,
			"the search estimates that no sharding over this mesh fits the cap, short-lived tensors included: this one "
			"comes nearest");
	else if (nearest && !found.split && options.strategy == STRATEGY_TAP)
		note(job->notes, "an expert's sharding, as the search found none: %s", job->error->text);
	status = nearest || (status == CANCELLED && found.split) ? OK : status;
	bool taken = status == OK && found.split && improves(job, report, cost);
	if (taken) {
		sharding_free(sharding);
		*sharding = found;
		found = (struct sharding){ 0 };
		shard_job_list_found(job, sharding, &report->cost);
	} else if (status == OK && found.split && options.strategy == STRATEGY_TAP) {
		note(job->notes, "an expert's sharding, which is better than the best patterns of weights");
	}
	sharding_free(&found);
	NEED(add_found(job, report, taken) == OK);
	if (status == OK && options.strategy == STRATEGY_MINRED && job->scenario->value[K_curve]
		&& sharding_curve(&job->shared->units, &mesh, &options, job->stage->control, curve, job->error) == OK) {
		*points = SHARDING_CURVE_POINTS;
		add_experts(job, curve);
	}
	return status;
}

enum status shard_price_again(struct stage_context *stage, const struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, const struct price *price,
	const struct mixture *mixture, int64_t *bound, bool *whole, struct error *error)
{
	struct shard_job job = {
		.stage = stage, .wish = wish, .shared = sharded->shared, .scenario = scenario, .error = error
	};
	struct sharding_options options;
	const struct mesh *mesh = &sharded->sharding.mesh;
	job.cap = shard_job_cap(wish, scenario);
	job.mixture = *mixture;
	*whole = scenario_strategy(scenario) == STRATEGY_AUTO && (price->limit < 0 || price->limit == job.cap);
	enum status status = shard_clock_open(stage, &sharded->shared->units, scenario, &job.clock);
	if (status == OK)
		status = search_options(&job, mesh, NULL, &options);
	if (status == OK)
		status = sharding_priced(
			&sharded->shared->units, mesh, &options, price->limit, price->alpha, price->beta, bound, error);
	shard_clock_close(&job.clock);
	arena_free(&job.arena);
	return status;
}

enum status shard_bound_again(struct stage_context *stage, const struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, const struct mixture *mixture, int64_t *bound,
	struct error *error)
{
	struct shard_job job = {
		.stage = stage, .wish = wish, .shared = sharded->shared, .scenario = scenario, .error = error
	};
	struct axis_roles roles[MESH_AXES] = { roles_data, roles_data, roles_data, roles_data };
	struct sharding_options options;
	struct sharding_report report = { .proof.value = -1 };
	struct sharding found = { 0 };
	job.cap = shard_job_cap(wish, scenario);
	job.mixture = *mixture;
	job.apart = scenario_strategy(scenario) == STRATEGY_AUTO;
	job.alone = job.apart && scenario->value[K_slack] == 0;
	enum status status = shard_clock_open(stage, &sharded->shared->units, scenario, &job.clock);
	if (status == OK)
		status = shard_job_search(&job, &sharded->sharding.mesh, roles, &options, &found, &report);
	*bound = report.proof.value >= 0 ? report.proof.bound : -1;
	sharding_free(&found);
	sharding_report_free(&report);
	shard_clock_close(&job.clock);
	arena_free(&job.arena);
	return status == INFEASIBLE ? OK : status;
}
