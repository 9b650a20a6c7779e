/* search.c: searches of the shard stage over one mesh, and what they list. */

#include "job.h"

#define LEAST_SHARE 8          /* minred's as auto's candidate: it hardly ever wins, and seldom by its last percent */
#define COPIES_LEAST 3         /* two copies save no time, and their shared tensors are counted less exactly */

static enum status find_fold(struct shared_units *shared)
{
	enum status status = OK;
	if (!shared->folded)
		status = fold_find(shared->graph, units_label, &shared->units, COPIES_LEAST, &shared->fold);
	shared->folded = status == OK;
	return status;
}

/* The options of a search over a mesh; they are the job's. BAD_INPUT: of pins, else as shard_job_search(). */
static enum status shard_job_options(
	struct shard_job *job, const struct mesh *mesh, const struct axis_roles *roles, struct sharding_options *options)
{
	struct placement_pin *pin = NULL;
	struct axis_roles *usual = NULL;
	enum status status = ROOM(&job->arena, pin, job->scenario->pins) &&
		ROOM(&job->arena, usual, MESH_AXES) ? find_fold(job->shared) : NO_MEMORY;
	if (status != OK)
		return status == NO_MEMORY ? fail_memory(job->error) : status;
	roles_of_mesh(job->scenario, mesh, usual);
	*options = (struct sharding_options){ .strategy = shard_job_strategy(job),
		.roles = roles,
		.usual = shard_job_strategy(job) == STRATEGY_AUTO ? usual : NULL,
		.memory = job->cap,
		.slack = (uint32_t)scenario_slack(job->scenario),
		.exposed = SHARD_EXPOSED,
		.microbatches = job->clock.microbatches,
		.clock = job->clock.clock,
		.fold = &job->shared->fold,
		.pin = pin,
		.by_axes = job->by_axes || job->wish->least,
		.least = job->least,
		.effort = job->wish->least ? SHARDING_EFFORT_DEFAULT / LEAST_SHARE : 0,
		.first = job->first,
		.unproved = !job->alone && (job->wish->least || shard_job_strategy(job) == STRATEGY_AUTO),
		.apart = job->apart,
		.alone = job->alone,
		.mixture = job->mixture };
	return shard_pins_find(job->scenario, &job->shared->units, mesh, pin, &options->pins, job->error);
}

/* A search of which RIVALS_SOON shows the better sharding, with the other as its rival. */
static enum status search_shown(struct shard_job *job, struct sharding *found, struct sharding_report *report)
{
	const struct units *units = &job->shared->units;
	const struct sharded *soon = job->wish->soon;
	report->proof.value = soon->space ? 0 : -1;
	report->space = soon->space;
	report->folded = soon->folded;
	report->cost = report->other_cost[0] = soon->cost;
	if (soon->rivals == 0)
		return sharding_copy(units, &soon->sharding, found);
	TRY(sharding_copy(units, &soon->sharding, &report->other[0]));
	report->others = 1;
	TRY(sharding_copy(units, &soon->rival[0], found));
	return sharding_cost(units, found, job->clock.clock, SHARD_EXPOSED, job->clock.microbatches, &report->cost);
}

enum status shard_job_search(struct shard_job *job, const struct mesh *mesh, const struct axis_roles *roles,
	struct sharding_options *options, struct sharding *found, struct sharding_report *report)
{
	enum status status = shard_job_options(job, mesh, roles, options);
	if (status == OK && job->wish->soon && mesh_equal(mesh, &job->wish->soon->sharding.mesh))
		return search_shown(job, found, report);
	THEN(status, sharding_find(&job->shared->units, mesh, options, job->stage->control, found, report, job->error));
	return status == LIMIT ? OK : status;
}

/* What the search found is the chosen one of the candidates. */
void shard_job_list_found(struct shard_job *job, const struct sharding *sharding, const struct sharding_cost *cost)
{
	char mesh[96], text[120];
	FOR(i, job->candidates)
		job->candidate[i].chosen = false;
	job->candidates -= job->candidates == CANDIDATES_MAX;
	PRINT_TO(text, "%s, searched", mesh_text(&sharding->mesh, mesh, sizeof mesh));
	shard_job_list(job, text, cost);
	job->candidate[job->candidates - 1].chosen = true;
}

/* Searches begin with what is the larger sum for an expert's sharding. */
void shard_job_begin_mixture(struct shard_job *job, const struct sharding_cost *expert)
{
	FOR_INT(k, HIDINGS) {
		uint8_t over = sharding_longest(expert, k, true) == SERIAL ? 0 : 100;
		job->mixture.over[k] = over;
		memset(job->mixture.axis[k], over, sizeof job->mixture.axis[k]);
	}
}

/* Searches over the mesh of a sharding; what is found takes its place where it is better. */
enum status shard_job_improve(struct shard_job *job, const struct axis_roles *roles, struct sharding *sharding,
	const struct sharding_cost *cost, struct sharding_report *report)
{
	struct sharding_options options = { .pins = 0 };
	struct sharding found = { 0 };
	struct mesh mesh = sharding->mesh;
	job->apart = !job->by_axes;
	shard_job_begin_mixture(job, cost);
	enum status status = shard_job_search(job, &mesh, roles, &options, &found, report);
	bool nearest = status == INFEASIBLE && options.pins == 0;   /* pins that can't be kept are the user's to take back */
	if (nearest && job->cap >= 0 && report->cost.usage > job->cap && cost->usage > job->cap)
		note(job->notes,
			"the search estimates that no sharding over this mesh fits the cap, short-lived tensors included: this one "
			"comes nearest");
	status = nearest || (status == CANCELLED && found.split) ? OK : status;
	if (status == OK && found.split && shard_job_better(job, &report->cost, cost)) {
		sharding_free(sharding);
		*sharding = found;
		found = (struct sharding){ 0 };
		shard_job_list_found(job, sharding, &report->cost);
	}
	sharding_free(&found);
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
	THEN(status, shard_job_options(&job, mesh, NULL, &options));
	THEN(status, sharding_priced(
		&sharded->shared->units, mesh, &options, price->limit, price->alpha, price->beta, bound, error));
	shard_clock_close(&job.clock);
	arena_free(&job.arena);
	return status;
}

enum status shard_bound_again(struct stage_context *stage, const struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, const struct mixture *mixture, struct shown *shown,
	struct error *error)
{
	struct shard_job job = {
		.stage = stage, .wish = wish, .shared = sharded->shared, .scenario = scenario, .error = error
	};
	struct axis_roles roles[MESH_AXES] = { 0 };
	struct sharding_options options;
	struct sharding_report report = { .proof.value = -1 };
	struct sharding found = { 0 };
	job.cap = shard_job_cap(wish, scenario);
	job.mixture = *mixture;
	job.apart = job.alone = scenario_strategy(scenario) == STRATEGY_AUTO;
	*shown = (struct shown){ .proof = SHOWN_NOTHING };
	enum status status = shard_clock_open(stage, &sharded->shared->units, scenario, &job.clock);
	THEN(status, job.alone ? shard_job_search(&job, &sharded->sharding.mesh, roles, &options, &found, &report)
		: shard_job_published(&job, &found, &report));
	if (status == OK)
		shard_stage_show(&job.clock, &report, sharded, shown);
	sharding_free(&found);
	sharding_report_free(&report);
	shard_clock_close(&job.clock);
	arena_free(&job.arena);
	return status == INFEASIBLE ? OK : status;
}

enum status shard_show(struct stage_context *stage, const struct sharded *sharded, const struct scenario *scenario,
	int64_t margin, struct shown *shown, struct error *error)
{
	struct mixture mixture = { 0 };
	struct plan_wish wish = { .margin = margin };
	const struct mesh *mesh = &sharded->sharding.mesh;
	struct key key = key_of("shown");
	if (mesh->axes > 1 && !mesh_equal(mesh, &sharded->searched))
		return OK;
	key_add_key(&key, &sharded->key);
	key_add(&key, (uint64_t)shard_job_cap(&wish, scenario));
	if (store_find_blob(stage->store, key.half, shown, sizeof *shown))
		return OK;
	if (stage->only_stored)
		return error_set(error, LIMIT);
	FOR_INT(k, HIDINGS) {
		int longest = sharding_longest(&sharded->cost, k, false);
		if (longest != SERIAL)
			mixture.over[k] = mixture.axis[k][longest] = 100;
	}
	TRY(shard_bound_again(stage, sharded, scenario, &wish, &mixture, shown, error));
	store_keep_blob(stage->store, key.half, shown, sizeof *shown);
	return OK;
}
