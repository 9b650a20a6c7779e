/* outlook.c: from a scenario to one configuration, evaluated. */
#include <inttypes.h>

#include "model_source.h"
#include "outlook.h"
#include "solver/step/scale.h"
#include "src/read/rules_file.h"
#include "src/scenario/own_device.h"
#include "src/stages/pipeline/stage.h"
#include "src/stages/shard/stage.h"

#define STORE_BYTES ((size_t)1 << 28)

void outlook_release(struct outlook *outlook)
{
	if (!outlook || atomic_fetch_sub(&outlook->references, 1) > 1)
		return;
	timetable_free(&outlook->timetable);
	mem_free(outlook);
}

uint64_t outlook_fingerprint(const struct graph *graph, const struct scenario *scenario)
{
	struct key key = key_of("outlook");
	key_add(&key, graph->fingerprint);
	FOR_INT(knob, KNOB_COUNT)
		if (knobs[knob].stage < STAGE_ORDER && knob != K_store && knob != K_rank)
			key_add(&key, (uint64_t)scenario->value[knob]);
	return key.half[0];
}

/* ---- the configuration that is asked for ---- */

static int64_t batch_of(const struct units *units)
{
	int64_t batch = scale_given_batch(units->graph, &units->factors);
	return batch > 0 ? batch : 1;
}

/* What a plan has decided stands where the knobs leave it open. */
static void outlook_take_mesh(const struct scenario *scenario, const struct mesh *mesh, struct config *config)
{
	const struct {
		const char *name;
		enum knob_id knob;
		uint32_t *degree;
	} axis[] = { { "dp", K_dp, &config->dp }, { "tp", K_tp, &config->tp }, { "cp", K_cp, &config->cp },
		{ "ep", K_ep, &config->ep } };
	if ((int64_t)mesh_devices(mesh) * config->pp != scenario->value[K_devices])
		return;
	FOR(i, COUNT_OF(axis)) {
		uint32_t at = mesh_axis_named(mesh, axis[i].name);
		*axis[i].degree = (at == NONE ? 1 : mesh->axis[at].size) *
			(axis[i].knob == K_dp ? (uint32_t)scenario_copies(scenario) : 1);
	}
}

/* What runs again is known without a plan. */
static bool estimated(int64_t recompute)
{
	return recompute < RECOMPUTE_AUTO || recompute == RECOMPUTE_OPS;
}

static enum status find_config(const struct scenario *scenario, const struct units *units, const struct mesh *mesh,
	struct config *config, struct error *error)
{
	const int64_t *value = scenario->value;
	struct degrees degrees;
	TRY(degrees_of_scenario(scenario, units, &degrees, error));
	*config = (struct config){ .dp = (uint32_t)degrees.dp,
		.tp = (uint32_t)degrees.tp,
		.pp = (uint32_t)degrees.pp,
		.cp = (uint32_t)degrees.cp,
		.ep = (uint32_t)degrees.ep,
		.microbatches = (uint32_t)value[K_microbatches],
		.schedule = (uint8_t)value[K_schedule],
		.chunks = 1,
		.recompute = (uint8_t)value[K_recompute],
		.zero = scenario_zero(scenario),
		.replicate = (uint32_t)scenario_copies(scenario),
		.keeps = !value[K_reshard_after_forward] };
	if (mesh)
		outlook_take_mesh(scenario, mesh, config);
	int64_t batch = value[K_batch] != KNOB_GIVEN ? value[K_batch] : batch_of(units);
	int64_t together = (int64_t)config->dp * config->ep * config->microbatches;
	if (batch % together != 0)
		return refuse(error,
			"batch %" PRId64 " is not divisible by dp %u x ep %u x %u microbatches", batch, config->dp,
			config->ep, config->microbatches);
	if (!estimated(value[K_recompute]))
		return refuse(error,
			"only recompute=none, selective, full, products and ops are known before they are planned");
	config->microbatch = (uint32_t)(batch / together);
	config->sp = config->tp > 1 && value[K_sp] != 0;
	if (config->pp == 1 || config->schedule >= SCHEDULE_COUNT)  /* what a file says, or a plan finds, has no model */
		config->schedule = SCHEDULE_1F1B;
	else
		config->chunks = scenario_chunks(scenario);
	return OK;
}

/* ---- evaluating ---- */

static struct shared_units *outlook_units_of(
	struct model_source *source, const struct scenario *scenario, struct error *error)
{
	enum recompute recompute = estimated(scenario->value[K_recompute]) ? (enum recompute)scenario->value[K_recompute]
		: RECOMPUTE_NONE;
	bool guess;   /* the plan on the screen says so */
	OWN(graph) *graph = source->step(source, scenario->value[K_batch], recompute, &guess, error);
	struct shared_units *units = graph ? shared_units_find(&source->stage, graph) : NULL;
	if (graph && !units)
		fail_memory(error);
	return units;
}

static struct outlook *outlook_evaluate(
	struct model_source *source, const struct scenario *scenario, const struct config *config, struct error *error)
{
	struct config_request request = { .devices = (uint32_t)scenario->value[K_devices],
		.devices_per_node = (uint32_t)scenario->device.node, .overheads = overheads_all };
	struct outlook *MAKE(outlook, 1);
	model_source_request(source, &request);
	struct config_case *opened = outlook ? config_case_open(&request, config, error) : NULL;
	if (!outlook)
		fail_memory(error);
	enum status status = opened
		? config_case_evaluate(opened, &request.machine, &request.overheads, &outlook->result)
		: error->status;
	if (opened && status != OK)
		fail_status(error, status);
	config_case_free(opened);
	if (status != OK) {
		mem_free(outlook);
		return NULL;
	}
	atomic_store(&outlook->references, 1);
	outlook->config = *config;
	outlook->machine = scenario->machine;
	outlook->machine.memory = scenario_budget(scenario);   /* a timetable has no context */
	outlook->fingerprint = outlook_fingerprint(source->graph, scenario);
	return outlook;
}

struct outlook *outlook_find(const struct stage_context *stage, struct graph *graph, const struct scenario *scenario,
	const struct mesh *mesh, struct error *error)
{
	struct model_source source;
	struct config config;
	struct outlook *outlook = NULL;
	model_source_of(&source, graph, scenario, stage);
	struct shared_units *units = outlook_units_of(&source, scenario, error);
	if (units && error_set(error, find_config(scenario, &units->units, mesh, &config, error)) == OK)
		outlook = outlook_evaluate(&source, scenario, &config, error);
	shared_units_release(units);
	return outlook;
}

int64_t outlook_batch(const struct stage_context *stage, struct graph *graph, const struct scenario *scenario)
{
	struct model_source source;
	struct error error;
	if (scenario->value[K_batch] != KNOB_GIVEN)
		return scenario->value[K_batch];
	model_source_of(&source, graph, scenario, stage);
	struct shared_units *units = outlook_units_of(&source, scenario, &error);
	int64_t batch = units ? batch_of(&units->units) : 0;
	shared_units_release(units);
	return batch;
}

/* ---- of plans ---- */

/* The most that is alive in positions [from, to), or least where there are none. */
static int64_t outlook_highest(const struct plan *plan, uint32_t from, uint32_t to, int64_t least)
{
	FOR_FROM(p, from, to)
		least = LARGER(plan->ordered->live[p], least);
	return least;
}

/* What a step that is not cut holds in its two slots, and between and behind them. */
static void outlook_hold(const struct plan *plan, uint32_t first, uint32_t last, struct timetable *timetable)
{
	uint32_t ops = plan->graph->ops;
	timetable->fixed[0] = plan->ordered->problem.base;
	timetable->bytes[0] = outlook_highest(plan, 0, first, plan->ordered->problem.base);
	timetable->bytes[1] = outlook_highest(plan, first, last, plan->ordered->problem.base);
	timetable->after[0] = first < ops ? plan->ordered->live[first] : plan->ordered->problem.base;
	timetable->after[1] = outlook_highest(plan, last, ops, plan->ordered->problem.base);
	timetable->peak[0] = timetable->bytes[1] > timetable->bytes[0];
	if (timetable->after[1] >
		timetable->bytes[timetable->peak[0]]) { /* the update has the peak: it counts to the backward slot */
		timetable->bytes[1] = timetable->after[1];
		timetable->peak[0] = 1;
	}
}

/* A step in one piece on one rank, as simulated in its plan's order: a forward slot up to the first op of the backward
 * pass, a backward slot up to its last one, and what follows. */
static enum status step_timetable(
	const struct plan *plan, const struct plan_time *time, struct timetable *timetable, struct error *error)
{
	const struct graph *graph = plan->graph;
	uint32_t first = graph->ops, last = 0;
	int64_t total = time->time.total, begin = total, end = 0, none[1] = { 0 };
	FOR(p, graph->ops) {
		uint32_t op = plan->ordered->result.order[p];
		if (graph->op[op].phase != PHASE_BACKWARD || time->model.time[op] == 0)
			continue;   /* views stand anywhere */
		int64_t start = time->time.start[op], stop = start + time->model.time[op];
		first = SMALLER(first, p);
		last = p + 1;
		begin = SMALLER(start, begin);
		end = LARGER(stop, end);
	}
	int64_t backward = end > begin ? end - begin : 0;
	struct pipeline pipeline = { .schedule = SCHEDULE_1F1B,
		.ranks = 1,
		.chunks = 1,
		.microbatches = 1,
		.forward = &begin,
		.backward = &backward,
		.send = none };
	struct timetable_bytes bytes = { .fixed = none, .working = none, .kept = none };
	TRY(timetable_build(&pipeline, &bytes, total - begin - backward, timetable, error));
	outlook_hold(plan, first, LARGER(last, first), timetable);
	return OK;
}

/* The schedule with what its pieces keep; then every rank is lifted to its peak: what is there through the step, and
 * for the rest what comes and goes in a slot. */
static enum status planned_timetable(const struct plan *plan, struct timetable *timetable, struct error *error)
{
	const struct pipelined *pipelined = plan->pipelined;
	uint32_t ranks = pipelined->ranks, pieces = ranks * pipelined->chunks;
	int64_t *MAKE(kept, 3 * (size_t)pieces + ranks), *weight = kept + pieces,
			*between = weight + pieces, *none = between + pieces;
	struct pipeline pipeline = pipelined_pipeline(pipelined);
	if (!kept)
		return fail_memory(error);
	FOR(k, pieces) {
		kept[k] = pipelined->piece[k].kept;
		weight[k] = pipelined->piece[k].kept_weight;
		between[k] = pipelined->piece[k].between;
	}
	struct timetable_bytes bytes = { none, none, kept, weight, between };
	enum status status = timetable_build(&pipeline, &bytes, pipelined->time - pipelined->timing.time, timetable, error);
	for (uint32_t r = 0; status == OK && r < ranks; r++) {
		const struct pipeline_rank *rank = &pipelined->rank[r];
		int64_t rest = (plan->by_rank ? plan->by_rank[r].peak : rank->peak) - timetable_peak(timetable, r);
		int64_t fixed = rank->parameters + rank->optimizer + rank->inputs + rank->gradients;
		fixed = SMALLER(fixed, rest);
		timetable_add(timetable, r, fixed, rest - fixed);
	}
	mem_free(kept);
	return status;
}

static enum status timetable_of_plan(
	const struct plan *plan, const struct rules *rules, struct timetable *timetable, struct error *error)
{
	if (plan->pipelined)
		return planned_timetable(plan, timetable, error);
	struct plan_time *time = plan->time
		? plan->time
		: plan_time_of(plan->graph, plan->ordered->result.order, NULL, &plan->scenario, rules);
	enum status status = time ? step_timetable(plan, time, timetable, error) : fail_memory(error);
	if (!plan->time)
		plan_time_free(time);
	return status;
}

/* Of the configuration what the plan says. */
static struct outlook *planned(const struct plan *plan, struct error *error)
{
	const struct pipelined *pipelined = plan->pipelined;
	struct outlook *MAKE(outlook, 1);
	if (!outlook) {
		fail_memory(error);
		return NULL;
	}
	error_set(error, OK);
	atomic_store(&outlook->references, 1);
	outlook->planned = true;
	outlook->config = (struct config) { .dp = 1, .tp = 1, .cp = 1, .ep = 1, .pp = pipelined ? pipelined->ranks : 1,
		.chunks = pipelined ? pipelined->chunks : 1, .microbatches = pipelined ? pipelined->microbatches : 1,
		.schedule = pipelined ? (uint8_t)pipelined->schedule : SCHEDULE_1F1B, .zero = scenario_zero(&plan->scenario) };
	if (plan->sharded)
		outlook_take_mesh(&plan->scenario, &plan->sharded->sharding.mesh, &outlook->config);
	outlook->config.sp = outlook->config.tp > 1 && plan->scenario.value[K_sp] != 0;
	outlook->machine = plan->scenario.machine;
	outlook->machine.memory = scenario_budget(&plan->scenario);
	outlook->fingerprint = outlook_fingerprint(plan->input, &plan->scenario);
	return outlook;
}

/* By the model, for the whole configuration: NULL where it has none, as of a batch that doesn't divide. */
static struct outlook *outlook_modelled(
	const struct plan *plan, const struct rules *rules, const atomic_bool *cancel, struct error *error)
{
	const struct mesh *mesh = plan->sharded ? &plan->sharded->sharding.mesh : NULL;
	struct control control = { .cancel = cancel };
	struct stage_context stage = { .store = store_new(), .rules = rules, .control = &control };
	struct outlook *outlook = NULL;
	if (stage.store) {
		store_begin(stage.store, STORE_BYTES, cancel);
		outlook = outlook_find(&stage, plan->input, &plan->scenario, mesh, error);
	} else {
		fail_memory(error);
	}
	store_free(stage.store);
	return outlook;
}

struct outlook *outlook_of_plan(
	const struct plan *plan, const char *rules_file, const atomic_bool *cancel, struct error *error)
{
	OWN(rules) *rules = rules_load(rules_file, error);
	struct outlook *outlook = rules && !plan->pipelined ? outlook_modelled(plan, rules, cancel, error) : NULL;
	if (rules && !outlook && (plan->pipelined || error->status == BAD_INPUT))
		outlook = planned(plan, error);
	if (outlook)
		timetable_free(&outlook->timetable);
	if (outlook && error_set(error, timetable_of_plan(plan, rules, &outlook->timetable, error)) != OK) {
		outlook_release(outlook);
		outlook = NULL;
	}
	return outlook;
}
