/* stage.c: the shard stage: scenario -> mesh -> sharding -> the graph of one device. */
#include <inttypes.h>

#include "job.h"
#include "src/scenario/knobs.h"

/* ---- notes ---- */

/* Says which extents an axis would like to cut but doesn't divide. */
static void note_roles(const struct units *units, const struct mesh *mesh, const struct axis_roles *roles, char *notes)
{
	FOR(a, mesh->axes) {
		bool any = false;
		FOR(r, roles[a].roles) {
			int64_t size = least_extent(units, (enum factor_role)roles[a].role[r]);
			any |= size > 0;
			if (size > mesh->axis[a].size && size % mesh->axis[a].size != 0 && mesh->padding)
				note(notes, "%s %" PRId64 " is not divisible by %s %u: every device counts the largest piece, %" PRId64,
					factor_role_names[roles[a].role[r]], size, mesh->axis[a].name, mesh->axis[a].size,
					size / mesh->axis[a].size + 1);
			else if (size > 0 && size % mesh->axis[a].size != 0)
				note(notes, "%s %" PRId64 " is not divisible by %s %u: it stays whole on every device",
					factor_role_names[roles[a].role[r]], size, mesh->axis[a].name, mesh->axis[a].size);
		}
		if (!any && roles[a].role[0] == ROLE_BATCH)
			note(notes,
				"no op has a batch to split: the batch is 1, or shapes are not known; %s %u cuts only the states of "
				"parameters",
				mesh->axis[a].name, mesh->axis[a].size);
		else if (!any)
			note(notes, "the graph has nothing that %s can split: the %u devices along it hold and run the same",
				mesh->axis[a].name, mesh->axis[a].size);
		else if (roles[a].role[0] == ROLE_EXPERTS && least_extent(units, ROLE_EXPERTS) == 0)
			note(notes, "the graph has no experts for %s %u: it splits the batch, and cuts no parameter",
				mesh->axis[a].name, mesh->axis[a].size);
	}
}

/* Says which axes a search left without work. */
void shard_note_unsplit(const struct units *units, const struct sharding *sharding, char *notes)
{
	const struct mesh *mesh = &sharding->mesh;
	FOR(a, mesh->axes) {
		bool any = false;
		FOR_WHILE(op, units->graph->ops, !any)
			any = sharding->split[op].on[a] != UNIT_NONE;
		if (!any)
			note(notes, "no op is split over %s %u: every device along it runs the same%s", mesh->axis[a].name,
				mesh->axis[a].size, units->unit_start[units->graph->ops] == 0 ? ", as shapes are not known" : "");
	}
}

/* ---- deciding ---- */

static void add_mesh(struct key *key, const struct mesh *mesh)
{
	key_add(key, mesh->axes);
	FOR(a, mesh->axes) {
		key_add(key, mesh->axis[a].size);
		key_add_bytes(key, mesh->axis[a].name, strlen(mesh->axis[a].name));
	}
}

static void add_sharding(struct key *key, const struct graph *graph, const struct sharding *sharding)
{
	add_mesh(key, &sharding->mesh);
	key_add_bytes(key, sharding->split, graph->ops * sizeof *sharding->split);
	key_add_bytes(key, sharding->produced, graph->tensors * sizeof *sharding->produced);
	key_add_bytes(key, sharding->needed, graph->reads.start[graph->ops] * sizeof *sharding->needed);
	key_add(key, (uint64_t)sharding->late_axes << 16 | (uint64_t)sharding->each_axes << 8 | sharding->regather_axes);
}

void shard_key_add(struct key *key, const struct scenario *scenario, const struct plan_wish *wish, bool quick)
{
	bool searches = scenario_searches(scenario);
	key_add(key, quick && searches);
	key_add(key, scenario_casts_late(scenario));
	key_add_knobs(key, scenario, BY_SHARD | BY_MACHINE | (searches ? BY_SEARCH : 0) |
		(searches && wish->margin != MARGIN_NO_CAP ? BY_LIMIT : 0));
	if (searches && !scenario_cuts(scenario))
		key_add(key, (uint64_t)wish->margin);
	if (searches)
		key_add(key, 16 * wish->rival + 4 * (uint32_t)wish->rivals + 2 * wish->whole + wish->least);
	if (wish->first && (wish->rival > 0 || wish->rivals != RIVALS_SOUGHT || wish->told))
		key_add_key(key, &wish->first->key);
	if (wish->told)
		add_sharding(key, wish->first->shared->graph, wish->told);
	FOR(i, scenario->pins) {
		const struct pin *pin = &scenario->pin[i];
		if (pin->kind != PIN_PLACEMENT)
			continue;
		key_add_bytes(key, pin->a, strlen(pin->a));
		key_add_bytes(key, pin->b, strlen(pin->b));
		key_add(key, (uint64_t)pin->number);
	}
}

/* What the memory cap leaves to what stays: earlier rounds have shown what comes and goes beside it. */
int64_t shard_job_cap(const struct plan_wish *wish, const struct scenario *scenario)
{
	/* TAP's patterns know no memory. */
	int64_t cap = scenario_strategy(scenario) == STRATEGY_TAP ? -1 : scenario_budget(scenario);
	int64_t ranks = scenario->value[K_pp];
	if (scenario_cuts(scenario))    /* the ranks share what stays; their cuts see to the rest */
		return cap < 0 || cap > BYTES_MAX / ranks ? -1 : cap * ranks;
	if (cap < 0 || wish->margin == MARGIN_NO_CAP)
		return -1;
	return cap > wish->margin ? cap - wish->margin : 0;
}

enum shard_strategy shard_job_strategy(const struct shard_job *job)
{
	return job->wish->least ? STRATEGY_MINRED : scenario_strategy(job->scenario);
}

bool shard_job_better(const struct shard_job *job, const struct sharding_cost *a, const struct sharding_cost *b)
{
	bool fits_a = job->cap < 0 || a->usage <= job->cap, fits_b = job->cap < 0 || b->usage <= job->cap;
	if (fits_a != fits_b)
		return fits_a;
	/* Where nothing fits, a little less that stays is not worth much time, nor the buffers of many collectives. */
	bool alike = (a->usage > b->usage ? a->usage - b->usage : b->usage - a->usage) < a->usage / 50;
	if (!fits_a && !alike)
		return a->usage != b->usage ? a->usage < b->usage : a->summed < b->summed;
	return a->summed != b->summed ? a->summed < b->summed : a->usage < b->usage;
}

/* An expert's sharding over degrees. Free it in any case but a failure. */
enum status shard_job_split(struct shard_job *job, const struct degrees *degrees, int zero, struct sharding *sharding,
	struct axis_roles roles[MESH_AXES])
{
	struct mesh mesh;
	mesh_of_degrees(job->scenario, degrees, &mesh, roles);
	units_dispatch(&job->shared->units, &mesh);
	FOR_WHILE(a, mesh.axes, zero >= 0)
		if (strcmp(mesh.axis[a].name, "dp") == 0 || strcmp(mesh.axis[a].name, "cp") == 0 ||
			strcmp(mesh.axis[a].name, "ep") == 0)
			roles[a].zero = (uint8_t)zero;
	enum status status = split_by_roles(&job->shared->units, &mesh, roles, sharding);
	if (status != OK)
		return fail_status(job->error, status);
	status = shard_pins_apply(job->scenario, &job->shared->units, sharding, job->error);
	if (status != OK)
		sharding_free(sharding);
	return status;
}

void shard_job_list(struct shard_job *job, const char *text, const struct sharding_cost *cost)
{
	if (job->candidates == CANDIDATES_MAX)
		return;
	char *copy = arena_text(&job->arena, text, strlen(text));
	job->candidate[job->candidates++] = (struct shard_candidate){ copy ? copy : "", sharding_estimate(cost),
		cost->usage, cost->redundant, true, false };
}

#define DEEP_PART 3        /* of a deep step at most such a part is left with few layers */

/* Meshes that a first plan looks at, and a complete one: few on large graphs, so that it stands at once. */
enum { QUICK_WORK = 15000, FULL_WORK = 400000 };

/* What a strategy comes to beside its sharding. */
struct decided {
	struct shard_choice choice;  /* auto: the best of experts' */
};

/* What a result says of how it came about. */
bool shard_job_describe(struct shard_job *job, struct sharded *sharded)
{
	struct arena *arena = &sharded->arena;
	sharded->notes = arena_text(arena, job->notes, strlen(job->notes));
	if (!(ROOM(arena, sharded->candidate, job->candidates) && sharded->notes))
		return false;
	FOR(i, job->candidates) {
		sharded->candidate[i] = job->candidate[i];
		sharded->candidate[i].text = arena_text(arena, job->candidate[i].text, strlen(job->candidate[i].text));
		if (!sharded->candidate[i].text)
			return false;
	}
	sharded->candidates = job->candidates;
	sharded->patterns = job->patterns;
	return true;
}

/* ---- what is proved ---- */

const char *shard_bound_among(const struct scenario *scenario, int64_t limit)
{
	if (limit < 0)
		return "all shardings searched over this mesh";
	if (scenario_strategy(scenario) != STRATEGY_MINRED)
		return "shardings searched over this mesh that keep the memory limit";
	return scenario->value[K_slack] > 0 ? "shardings within the slack of the least memory"
		: "shardings of the least memory";
}

/* What a report shows of a sharding's estimate; nothing where it costs less: it lies outside of what was searched. */
void shard_stage_show(const struct shard_clock *clock, const struct sharding_report *report,
	const struct sharded *sharded, struct shown *shown)
{
	int64_t cost = sharding_estimate(&sharded->cost);
	if (report->proof.value < 0 || report->proof.bound < 0 || report->proof.bound > cost)
		return;
	enum quantity quantity = clock->microbatches > 1 ? QUANTITY_MICROBATCH : QUANTITY_ESTIMATE;
	*shown = (struct shown){
		{ quantity, cost, report->proof.bound, report->proof.by }, report->price, report->mixture };
}

static void note_report(struct shard_job *job, const struct sharding_report *report, struct sharded *sharded)
{
	sharded->searched = job->wish->first ? job->wish->first->searched : sharded->sharding.mesh;
	if (report->proof.value >= 0) {
		sharded->space = report->space;
		sharded->folded = report->folded;
	}
	if (shard_job_strategy(job) != STRATEGY_AUTO && !job->wish->least)
		shard_stage_show(&job->clock, report, sharded, &sharded->shown);
}

/* The result of a decision, which it takes over. */
struct sharded *shard_job_build(struct shard_job *job, struct sharding *sharding)
{
	sharding->late_sums = job->scenario->value[K_microbatches] > 1;
	return sharded_of(job->shared, sharding, &job->clock, job->error);
}

/* What data, megatron and zero are by definition; a first plan of tap and minred, on their first mesh. */
static enum status shard_stage_by_roles(struct shard_job *job, struct sharding *sharding)
{
	struct degrees degrees[DEGREES_MAX];
	struct axis_roles roles[MESH_AXES];
	bool search = scenario_searches(job->scenario);
	TRY(degrees_of_scenario(job->scenario, &job->shared->units, degrees, job->error));
	if (search && degrees_of_search(job->scenario, degrees, DEGREES_MAX) == 0)
		return refuse(job->error, "no mesh of %" PRId64 " devices", job->scenario->value[K_devices]);
	TRY(shard_job_split(job, degrees, -1, sharding, roles));
	if (!search)
		note_roles(&job->shared->units, &sharding->mesh, roles, job->notes);
	return OK;
}

/* tap and minred. */
static enum status shard_stage_published(
	struct shard_job *job, struct sharding *sharding, struct sharding_report *report)
{
	struct degrees degrees;
	TRY(degrees_of_scenario(job->scenario, &job->shared->units, &degrees, job->error));
	enum status status = shard_job_published(job, sharding, report);
	return status == CANCELLED && sharding->split ? OK : status;
}

static enum status shard_stage_freely(
	struct shard_job *job, bool quick, struct sharding *sharding, struct sharding_report *report, struct decided *decided)
{
	struct axis_roles roles[MESH_AXES];
	struct shard_choice *choice = &decided->choice;
	TRY(degrees_of_scenario(job->scenario, &job->shared->units, &choice->degrees, job->error));
	TRY(shard_job_expert(job, 1 + (quick ? QUICK_WORK : FULL_WORK) / (job->shared->graph->ops + 1), choice));
	if (job->wish->rivals == RIVALS_SOON)
		return shard_job_soon(job, choice, sharding, report);
	TRY(shard_job_split(job, &choice->degrees, choice->zero, sharding, roles));
	job->by_axes = job->wish->rivals == RIVALS_NONE;
	return quick || job->wish->rivals == RIVALS_ALONE ? OK
		: shard_job_improve(job, roles, sharding, &choice->cost, report);
}

/* The graph of a device of what auto has searched can't be made: an expert's takes its place. */
static struct sharded *shard_stage_expert(
	struct shard_job *job, const struct decided *decided, struct sharding_report *report)
{
	struct sharding sharding;
	struct axis_roles roles[MESH_AXES];
	if (job->error->status != BAD_INPUT || job->scenario->pins > 0 ||
		shard_job_split(job, &decided->choice.degrees, decided->choice.zero, &sharding, roles) != OK)
		return NULL;
	note(job->notes, "no graph of a device can be made for the search's sharding, so an expert's takes its place: %s",
		job->error->text);
	report->proof.value = -1;
	return shard_job_build(job, &sharding);
}

/* Beside the result what was looked at, and auto's rivals. OK or NO_MEMORY. */
static enum status shard_stage_complete(struct shard_job *job, bool rivals, const struct decided *decided,
	struct sharding_report *report, struct sharded *sharded)
{
	note_report(job, report, sharded);
	NEED(shard_job_describe(job, sharded));
	return rivals && shard_job_rivals(job, &decided->choice, report, sharded) == NO_MEMORY ? NO_MEMORY : OK;
}

/* auto: few layers of a deep step show what else there is. */
static bool shard_stage_seeks_rivals(const struct shard_job *job)
{
	bool few = !job->wish->whole && job->wish->rivals == RIVALS_SOUGHT && shard_is_deep(job->shared, job->scenario);
	return !few && job->wish->rivals != RIVALS_NONE && control_status(job->stage->control) != CANCELLED;
}

static struct sharded *shard_stage_decide(struct shard_job *job, bool quick)
{
	struct decided decided = { .choice.zero = -1 };
	struct sharding sharding = { 0 };
	struct sharding_report report = { .proof.value = -1 };
	bool search = scenario_searches(job->scenario), automatic = search && shard_job_strategy(job) == STRATEGY_AUTO;
	enum status status = automatic ? shard_stage_freely(job, quick, &sharding, &report, &decided)
		: search && !quick ? shard_stage_published(job, &sharding, &report)
		: shard_stage_by_roles(job, &sharding);
	if (search && status == OK)
		shard_note_unsplit(&job->shared->units, &sharding, job->notes);
	if (job->wish->least)
		note(job->notes,
			"once planned, a sharding that needs little memory is better here than the one with the least estimate");
	struct sharded *sharded = NULL;
	if (error_set(job->error, status) == OK)
		sharded = shard_job_build(job, &sharding);
	else
		sharding_free(&sharding);
	if (!sharded && status == OK && automatic && !quick)
		sharded = shard_stage_expert(job, &decided, &report);
	bool rivals = automatic && !quick && shard_stage_seeks_rivals(job);
	if (sharded && shard_stage_complete(job, rivals, &decided, &report, sharded) != OK) {
		fail_memory(job->error);
		sharded_release(sharded);
		sharded = NULL;
	}
	sharding_report_free(&report);
	return sharded;
}

bool shard_is_deep(const struct shared_units *shared, const struct scenario *scenario)
{
	uint64_t out = 0;
	FOR_WHILE(s, shared->fold.segments, shared->folded) {
		const struct fold_segment *segment = &shared->fold.segment[s];
		out += segment->copies >= 2 * SHARD_FEW ? (uint64_t)(segment->copies - SHARD_FEW) * segment->ops : 0;
	}
	return shared->graph->ops - out <= shared->graph->ops / DEEP_PART && scenario->pins == 0 && !scenario_cuts(scenario) &&
		scenario_strategy(scenario) == STRATEGY_AUTO && scenario_accumulation(scenario) == 1 &&
		scenario->value[K_microbatches] == 1 && scenario->value[K_offload] == 0 &&
		scenario->value[K_recompute] != RECOMPUTE_AUTO && scenario->value[K_recompute] != RECOMPUTE_KEPT;
}

struct sharded *stage_shard(struct stage_context *stage, struct graph *graph, const struct scenario *scenario,
	const struct plan_wish *wish, bool quick, struct error *error)
{
	struct shard_job job = { .stage = stage,
		.wish = wish,
		.shared = shared_units_find(stage, graph),
		.scenario = scenario,
		.cap = shard_job_cap(wish, scenario),
		.error = error };
	struct sharded *sharded = NULL;
	struct sharding sharding;
	enum status status = job.shared ? shard_clock_open(stage, &job.shared->units, scenario, &job.clock) : NO_MEMORY;
	if (status != OK) {
		fail_memory(error);
	} else if (stage->shard_decider) {
		status = stage->shard_decider(stage->shard_context, &job.shared->units, &sharding, error);
		if (error_set(error, status) == OK)
			sharded = shard_job_build(&job, &sharding);
	} else if (wish->rival > 0 || wish->told) {
		sharded = shard_job_rival(&job, wish->first, wish->told ? wish->told : &wish->first->rival[wish->rival - 1]);
	} else {
		sharded = shard_stage_decide(&job, quick);
	}
	shard_clock_close(&job.clock);
	arena_free(&job.arena);
	shared_units_release(job.shared);
	return sharded;
}
