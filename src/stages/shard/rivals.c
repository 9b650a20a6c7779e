/* rivals.c: auto's other shardings: the best of experts', where it begins, and what else is worth a plan. */
#include <inttypes.h>

#include "job.h"
#include "src/scenario/knobs.h"

#define HOPELESS_PERCENT 125    /* estimates are that near to simulated steps */

/* Keeps the best: planned, one of them may be better than what is searched. */
static void rivals_keep_expert(struct shard_job *job, const struct shard_choice *next)
{
	uint32_t i = job->experts;
	for (; i > 0 && shard_job_better(job, &next->cost, &job->expert[i - 1].cost); i--)
		if (i < SHARD_EXPERTS)
			job->expert[i] = job->expert[i - 1];
	if (i < SHARD_EXPERTS)
		job->expert[i] = *next;
	job->experts += job->experts < SHARD_EXPERTS;
}

/* An expert's sharding on a mesh, with a ZeRO stage unless the knob has one: listed, and the best where it is. */
static enum status rivals_try_mesh(struct shard_job *job, const struct degrees *degrees, int zero,
	struct sharding_sum *sum, struct shard_choice *best)
{
	struct shard_choice next = { *degrees, job->scenario->value[K_zero] ? (int)job->scenario->value[K_zero] : zero,
		.any = true, .candidate = job->candidates };
	struct axis_roles roles[MESH_AXES];
	struct sharding sharding;
	char text[120], mesh[96];
	TRY(shard_job_split(job, degrees, next.zero, &sharding, roles));
	enum status status = sharding_sum_cost(sum, &sharding, &next.cost);
	mesh_text(&sharding.mesh, mesh, sizeof mesh);
	if (next.zero > 0)
		PRINT_TO(text, "%s, ZeRO %d", mesh, next.zero);
	else
		PRINT_TO(text, "%s", mesh);
	shard_job_list(job, text, &next.cost);
	sharding_free(&sharding);
	TRY(status);
	rivals_keep_expert(job, &next);
	if (!best->any || shard_job_better(job, &next.cost, &best->cost))
		*best = next;
	return OK;
}

enum status shard_job_expert(struct shard_job *job, uint32_t most, struct shard_choice *best)
{
	struct degrees degrees[DEGREES_MAX];
	uint32_t all = degrees_of_search(job->scenario, degrees, DEGREES_MAX), count = SMALLER(all, most);
	struct sharding_sum *sum = sharding_sum_new(
		&job->shared->units, job->clock.clock, SHARD_EXPOSED, job->clock.microbatches);
	enum status status = sum ? OK : fail_memory(job->error);
	bool refused = false;
	*best = (struct shard_choice){ .any = false };
	FOR(i, count)
		for (int zero = 0; zero <= 3 && status == OK; zero += 3) {
			if (zero && degrees[i].dp * degrees[i].cp == 1)
				continue;
			status = rivals_try_mesh(job, &degrees[i], zero, sum, best);
			refused |= status == BAD_INPUT;   /* this mesh can't keep a pin, another may; else the error stays */
			status = status == BAD_INPUT ? OK : status;
		}
	if (count < all)
		note(job->notes, NOTE_LEFT_OUT "%u of %u meshes, as the step has many ops", all - count, all);
	sharding_sum_free(sum);
	if (best->any && best->candidate < job->candidates)
		job->candidate[best->candidate].chosen = true;
	if (status == OK && !best->any)
		return refused
			? BAD_INPUT
			: refuse(job->error, "no mesh of %" PRId64 " devices", job->scenario->value[K_devices]);
	return status;
}

/* The candidates of an earlier result, with another one chosen. */
static void list_again(struct shard_job *job, const struct sharded *first, const struct sharded *chosen)
{
	bool there = false;
	FOR(i, first->candidates) {
		struct shard_candidate *candidate = &job->candidate[job->candidates++];
		*candidate = first->candidate[i];
		candidate->chosen = !there && candidate->time == sharding_estimate(&chosen->cost) &&
			candidate->usage == chosen->cost.usage;
		there |= candidate->chosen;
	}
	if (!there)
		shard_job_list_found(job, &chosen->sharding, &chosen->cost);
}

/* Takes a rival over, once. */
static void rivals_add_rival(const struct shard_job *job, struct sharding *rival, int64_t time, struct sharded *sharded)
{
	const struct units *units = &job->shared->units;
	bool known = sharding_equal(units, rival, &sharded->sharding);
	FOR_WHILE(i, sharded->rivals, !known)
		known = sharding_equal(units, rival, &sharded->rival[i]);
	if (known) {
		sharding_free(rival);
		return;
	}
	sharded->rival_time[sharded->rivals] = time;
	sharded->rival[sharded->rivals++] = *rival;
}

/* Takes over what a search reports beside what it found, the last first, where its estimate is below most. */
static void add_others(
	const struct shard_job *job, struct sharding_report *report, int64_t most, struct sharded *sharded)
{
	for (; report->others > 0 && sharded->rivals < SHARD_RIVALS; report->others--) {
		int64_t time = report->other_cost[report->others - 1].total;
		if (time < most)
			rivals_add_rival(job, &report->other[report->others - 1], time, sharded);
		else
			sharding_free(&report->other[report->others - 1]);
	}
}

/* Whether a mesh was searched already, its axes perhaps by other names: the first choice's, or that of an expert
 * before. */
static bool is_searched(const struct shard_job *job, const struct shard_choice *choice, uint32_t expert)
{
	struct mesh mesh, before;
	struct axis_roles roles[MESH_AXES];
	bool known = false;
	mesh_of_degrees(job->scenario, &job->expert[expert].degrees, &mesh, roles);
	for (uint32_t i = 0; i <= expert && !known; i++) {
		const struct degrees *other = i == expert ? &choice->degrees : &job->expert[i].degrees;
		mesh_of_degrees(job->scenario, other, &before, roles);
		known = mesh_equal(&mesh, &before);
	}
	return known;
}

/* What a search finds on an expert's mesh, as a rival where it may still be better than the first. */
static enum status search_mesh_of(struct shard_job *job, const struct shard_choice *expert, struct sharded *sharded)
{
	struct axis_roles roles[MESH_AXES];
	struct sharding start, found = { 0 };
	struct sharding_options options;
	struct sharding_report report = { .proof.value = -1 };
	TRY(shard_job_split(job, &expert->degrees, expert->zero, &start, roles));
	job->by_axes = job->apart = true;
	shard_job_begin_mixture(job, &expert->cost);
	enum status status = shard_job_search(job, &start.mesh, roles, &options, &found, &report);
	job->by_axes = job->apart = false;
	if (status == OK && found.split && report.cost.summed < sharded->cost.summed / 100 * HOPELESS_PERCENT) {
		rivals_add_rival(job, &found, report.cost.total, sharded);
		found = (struct sharding){ 0 };
	}
	if (status == OK)
		add_others(job, &report, sharded->cost.total / 100 * HOPELESS_PERCENT, sharded);
	sharding_free(&found);
	sharding_report_free(&report);
	sharding_free(&start);
	return status == INFEASIBLE || status == BAD_INPUT ? OK : status;
}

/* auto: planning decides between meshes, as estimates of different meshes are not exact enough: what a search finds on
 * those of the best experts. One axis after the other: a rival needs no bound. */
static enum status search_elsewhere(struct shard_job *job, const struct shard_choice *choice, struct sharded *sharded)
{
	uint32_t searched = 0;
	FOR_WHILE(i, job->experts, sharded->rivals < SHARD_RIVALS && searched < SHARD_MESHES)
		if (!is_searched(job, choice, i)) {
			TRY(search_mesh_of(job, &job->expert[i], sharded));
			searched++;
		}
	return OK;
}

#define SOON_MESHES 2    /* of those above, that there is room for in any case */

enum status shard_job_soon(struct shard_job *job, const struct shard_choice *choice, struct sharding *sharding,
	struct sharding_report *report)
{
	struct axis_roles roles[MESH_AXES];
	struct sharding_options options;
	struct sharding found;
	struct mesh mesh;
	const struct shard_choice *next = choice;
	uint32_t searched = 0, i = 0;
	for (mesh_of_degrees(job->scenario, &next->degrees, &mesh, roles); mesh.axes != 1; ) {
		while (i < job->experts && is_searched(job, choice, i))
			i++;
		if (i == job->experts || searched++ == SOON_MESHES)
			return refuse(job->error, "no mesh of one axis");
		next = &job->expert[i++];
		mesh_of_degrees(job->scenario, &next->degrees, &mesh, roles);
	}
	TRY(shard_job_split(job, &next->degrees, next->zero, sharding, roles));
	job->apart = true;
	shard_job_begin_mixture(job, &next->cost);
	enum status status = shard_job_search(job, &mesh, roles, &options, &found, report);
	sharding_free(sharding);
	*sharding = found;
	if (status == OK && report->others > 0) {
		*sharding = report->other[0];
		report->other[0] = found;
	}
	return status;
}

static enum status add_expert(struct shard_job *job, const struct degrees *degrees, int zero, struct sharded *sharded)
{
	struct axis_roles roles[MESH_AXES];
	struct sharding rival;
	struct sharding_cost cost = { .total = INT64_MAX };
	TRY(shard_job_split(job, degrees, zero, &rival, roles));
	if (sharding_cost(&job->shared->units, &rival, job->clock.clock, SHARD_EXPOSED, job->clock.microbatches, &cost) ==
		NO_MEMORY) {
		sharding_free(&rival);
		return NO_MEMORY;
	}
	rivals_add_rival(job, &rival, cost.total, sharded);
	return OK;
}

/* auto: what the strategies that experts write by hand come to, on meshes of their own. Degrees or pins that one can't
 * keep leave it out. */
static enum status add_strategies(struct shard_job *job, struct sharded *sharded)
{
	static const enum shard_strategy by_hand[] = { STRATEGY_DATA, STRATEGY_MEGATRON, STRATEGY_ZERO };
	enum status status = OK;
	for (size_t i = 0; i < COUNT_OF(by_hand) && status == OK; i++) {
		struct scenario scenario = *job->scenario;   /* only read */
		struct degrees degrees;
		int zero = (int)scenario.value[K_zero];
		scenario.value[K_strategy] = by_hand[i] + 1;
		status = degrees_of_scenario(&scenario, &job->shared->units, &degrees, job->error);
		THEN(status, add_expert(job, &degrees, zero == 0 && by_hand[i] == STRATEGY_ZERO ? 3 : zero, sharded));
		status = status == BAD_INPUT ? error_set(job->error, OK) : status;
	}
	return status;
}

/* What experts write and what the search passed by, for the planner to compare with. */
enum status shard_job_rivals(struct shard_job *job, const struct shard_choice *choice, struct sharding_report *report,
	struct sharded *sharded)
{
	enum status status = OK;
	if (job->wish->rivals == RIVALS_SOON) {
		add_others(job, report, INT64_MAX, sharded);
		return OK;
	}
	FOR_WHILE(i, job->experts, i < EXPERTS_PLANNED && status == OK) {
		const struct sharding_cost *cost = &job->expert[i].cost;
		if (cost->total != sharded->cost.total || cost->usage != sharded->cost.usage)   /* else the first itself */
			status = add_expert(job, &job->expert[i].degrees, job->expert[i].zero, sharded);
	}
	if (status == OK && !job->wish->first)   /* later ones need not be told again what no cap changes */
		status = add_strategies(job, sharded);
	sharded->experts = sharded->rivals;
	add_others(job, report, INT64_MAX, sharded);
	return status == OK ? search_elsewhere(job, choice, sharded) : status;
}

/* The plan of a rival: what was looked at is as with the first one. */
struct sharded *shard_job_rival(struct shard_job *job, const struct sharded *first, const struct sharding *rival)
{
	struct sharding sharding;
	struct sharded *sharded = NULL;
	if (sharding_copy(&job->shared->units, rival, &sharding) != OK)
		fail_memory(job->error);
	else
		sharded = shard_job_build(job, &sharding);
	if (!sharded)
		return NULL;
	list_again(job, first, sharded);
	shard_note_unsplit(&job->shared->units, rival, job->notes);
	note(job->notes,
		job->wish->told && shard_is_deep(job->shared, job->scenario)
			? "plans of a few of the equal layers were compared, and this sharding was the best of them"
			: job->wish->told ? "once planned, this sharding is better than what the searches found: one or two ops at a "
						  "time were split another way, and each such sharding was planned"
							: rival < first->rival + first->experts
			? "once planned, this expert's sharding is better than what the search found"
			: sharding_estimate(&sharded->cost) < sharding_estimate(&first->cost)
			? "once planned, this sharding is better than what the first search found, as its lower estimate says"
			: "once planned, this sharding is better than one with a lower estimate");
	sharded->space = first->space;
	sharded->folded = first->folded;
	sharded->searched = first->searched;
	if (shard_job_describe(job, sharded))
		return sharded;
	fail_memory(job->error);
	sharded_release(sharded);
	return NULL;
}
