/* shard_stage.c: the shard stage: scenario -> mesh -> sharding -> the graph of one device. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shard_stage.h"
#include "solver/device_graph.h"

#define NOTES_BYTES 2000

/* ---- units ---------------------------------------------------------------------------------------------------- */

static struct shared_units *find_units(struct stage_context *stage, struct graph *graph)
{
	struct key key = key_of("units");
	key_add(&key, graph->fingerprint);
	struct shared_units *shared = store_find(stage->store, &key);
	if (shared)
		return shared_units_retain(shared);
	shared = mem_alloc(1, sizeof *shared);
	if (!shared || units_find(graph, stage->rules, &shared->units) != OK) {
		mem_free(shared);
		return NULL;
	}
	atomic_store(&shared->references, 1);
	shared->graph = graph_retain(graph);
	store_keep(stage->store, &key, shared_units_retain(shared), shared->units.arena.bytes + shared->units.factors.arena.bytes, shared_units_release);
	return shared;
}

/* ---- what a sharding costs --------------------------------------------------------------------------------------- */

/* The axis that a collective of the device's graph runs over. */
static uint32_t axis_of(const struct mesh *mesh, const struct op *op)
{
	const char *at = op->extra ? strstr(op->extra, "\"axis\":\"") : NULL;
	char name[sizeof mesh->axis[0].name];
	if (!at)
		return NONE;
	snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 8, "\""), at + 8);
	return mesh_axis_named(mesh, name);
}

static int64_t bytes_of(const struct graph *graph, const struct csr *tensors, uint32_t op)
{
	int64_t bytes = 0;
	FOR_ROW(i, tensors, op)
		bytes += graph->tensor[tensors->item[i]].bytes;
	return bytes;
}

static void add_traffic(struct sharded *sharded, uint32_t axis, enum collective collective, uint32_t count, int64_t bytes)
{
	const struct mesh_axis *over = &sharded->sharding.mesh.axis[axis];
	struct traffic *traffic = &sharded->traffic[axis][collective];
	traffic->count += count;
	traffic->bytes += count * collective_bytes(over, collective, bytes);
	traffic->time += count * collective_time(over, collective, bytes);
}

/* Sums over the collectives of the device's graph. */
static void count_collectives(struct sharded *sharded)
{
	const struct graph *graph = sharded->device;
	for (uint32_t op = 0; op < graph->ops; op++) {
		if (strncmp(graph->op[op].type, "comm.", 5) != 0)
			continue;
		int collective = name_index(collective_names, COLLECTIVE_COUNT, graph->op[op].type + 5);
		uint32_t axis = axis_of(&sharded->sharding.mesh, &graph->op[op]);
		if (collective < 0 || axis == NONE)
			continue;
		int64_t bytes = bytes_of(graph, collective == COLLECTIVE_ALL_GATHER ? &graph->writes : &graph->reads, op);
		if (collective == COLLECTIVE_ALL_TO_ALL)
			bytes *= sharded->sharding.mesh.axis[axis].size;
		add_traffic(sharded, axis, (enum collective)collective, 1, bytes);
	}
}

/* And over those that ops make themselves. */
static void count_inside(struct sharded *sharded)
{
	const struct units *units = &sharded->shared->units;
	const struct mesh *mesh = &sharded->sharding.mesh;
	for (uint32_t op = 0; op < units->graph->ops; op++)
		for (uint32_t a = 0; a < mesh->axes; a++) {
			struct split split = sharded->sharding.split[op];
			const struct unit *unit = split.on[a] >= 0 ? &units->unit[units->unit_start[op] + (uint32_t)split.on[a]] : NULL;
			if (!unit || unit->inside == 0)
				continue;
			int64_t bytes = unit_inside_bytes(units, op, split.on[a]);
			for (uint32_t b = 0; b < mesh->axes; b++)
				if (b != a && split.on[b] >= 0 && split.on[b] != split.on[a])
					bytes /= mesh->axis[b].size;
			add_traffic(sharded, a, COLLECTIVE_ALL_REDUCE, unit->inside, bytes);
		}
}

static void count_traffic(struct sharded *sharded)
{
	count_collectives(sharded);
	count_inside(sharded);
	for (uint32_t a = 0; a < sharded->sharding.mesh.axes; a++)
		for (int c = 0; c < COLLECTIVE_COUNT; c++) {
			sharded->comm_bytes += sharded->traffic[a][c].bytes;
			sharded->comm_time += sharded->traffic[a][c].time;
		}
}

struct sharded *sharded_of(struct shared_units *shared, struct sharding *sharding, struct error *error, enum status *status)
{
	const struct graph *graph = shared->graph;
	struct sharded *sharded = mem_alloc(1, sizeof *sharded);
	if (!sharded) {
		sharding_free(sharding);
		*status = fail(error, NO_MEMORY, "out of memory");
		return NULL;
	}
	*sharded = (struct sharded){ .shared = shared_units_retain(shared), .sharding = *sharding, .compute_time = -1, .step_time = -1, .notes = "" };
	atomic_store(&sharded->references, 1);
	sharded->redundant = arena_alloc(&sharded->arena, graph->storages, sizeof *sharded->redundant);
	*status = sharded->redundant ? OK : fail(error, NO_MEMORY, "out of memory");
	if (*status == OK)
		sharded->device = device_graph_build(&shared->units, &sharded->sharding, 0, error, status);
	if (*status != OK) {
		sharded_release(sharded);
		return NULL;
	}
	for (uint32_t s = 0; s < graph->storages; s++) {
		uint32_t root = graph->storage[s].root;
		sharded->redundant[s] = placement_redundant_bytes(&shared->units, &sharded->sharding.mesh, root, sharded->sharding.produced[root]);
		sharded->redundant_bytes += sharded->redundant[s];
	}
	count_traffic(sharded);
	return sharded;
}

/* ---- notes ------------------------------------------------------------------------------------------------------------ */

static void note(char *notes, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(char *notes, const char *format, ...)
{
	size_t used = strlen(notes);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(notes + used, NOTES_BYTES - used - 1, format, arguments);
	va_end(arguments);
	used = strlen(notes);
	memcpy(notes + used, "\n", 2);
}

/* Says which extents an axis would like to cut but doesn't divide. */
static void note_roles(const struct units *units, const struct mesh *mesh, const struct axis_roles *roles, char *notes)
{
	for (uint32_t a = 0; a < mesh->axes; a++) {
		bool any = false;
		for (uint32_t r = 0; r < roles[a].roles; r++) {
			int64_t size = least_extent(units, (enum factor_role)roles[a].role[r]);
			any |= size > 0;
			if (size > 0 && size % mesh->axis[a].size != 0)
				note(notes, "%s %" PRId64 " is not divisible by %s %u: it stays whole on every device", factor_role_names[roles[a].role[r]], size,
					mesh->axis[a].name, mesh->axis[a].size);
		}
		if (!any && roles[a].role[0] == ROLE_BATCH)
			note(notes, "the batch is 1: %s %u splits nothing but states of parameters; set batch to a multiple of %u", mesh->axis[a].name,
				mesh->axis[a].size, mesh->axis[a].size);
		else if (!any)
			note(notes, "nothing in the graph is for %s to split", mesh->axis[a].name);
	}
}

/* ---- deciding ------------------------------------------------------------------------------------------------------------ */

static bool searches(const struct scenario *scenario)
{
	return scenario_strategy(scenario) >= STRATEGY_TAP;
}

void shard_key_add(struct key *key, const struct scenario *scenario, bool quick)
{
	static const enum knob_id read[] = { K_devices, K_devices_per_node, K_device, K_intra_bandwidth, K_inter_bandwidth, K_intra_latency,
		K_inter_latency, K_strategy, K_dp, K_tp, K_pp, K_cp, K_ep, K_sp, K_zero };
	key_add(key, quick && searches(scenario));
	for (size_t i = 0; i < sizeof read / sizeof *read; i++)
		key_add(key, (uint64_t)scenario->value[read[i]]);
	for (uint32_t i = 0; i < scenario->pins; i++) {
		const struct pin *pin = &scenario->pin[i];
		if (pin->kind != PIN_PLACEMENT)
			continue;
		key_add_bytes(key, pin->a, strlen(pin->a));
		key_add_bytes(key, pin->b, strlen(pin->b));
		key_add(key, (uint64_t)pin->number);
	}
}

static struct sharded *decide(struct shared_units *shared, const struct scenario *scenario, struct error *error, enum status *status)
{
	const struct units *units = &shared->units;
	struct degrees degrees;
	struct mesh mesh;
	struct axis_roles roles[MESH_AXES];
	struct sharding sharding;
	char notes[NOTES_BYTES] = "";
	*status = degrees_of_scenario(scenario, units, &degrees, error);
	if (*status != OK)
		return NULL;
	mesh_of_degrees(scenario, &degrees, &mesh, roles);
	note_roles(units, &mesh, roles, notes);
	*status = split_by_roles(units, &mesh, roles, &sharding);
	if (*status != OK)
		fail(error, *status, "out of memory");
	if (*status == OK && (*status = shard_pins_apply(scenario, units, &sharding, error)) != OK)
		sharding_free(&sharding);
	struct sharded *sharded = *status == OK ? sharded_of(shared, &sharding, error, status) : NULL;
	if (sharded && !(sharded->notes = arena_text(&sharded->arena, notes, strlen(notes)))) {
		*status = fail(error, NO_MEMORY, "out of memory");
		sharded_release(sharded);
		return NULL;
	}
	return sharded;
}

struct sharded *stage_shard(struct stage_context *stage, struct graph *graph, const struct scenario *scenario, bool quick,
	struct error *error, enum status *status)
{
	(void)quick;
	struct shared_units *shared = find_units(stage, graph);
	struct sharded *sharded = NULL;
	struct sharding sharding;
	*status = shared ? OK : fail(error, NO_MEMORY, "out of memory");
	if (shared && stage->shard_decider) {
		*status = stage->shard_decider(stage->shard_context, &shared->units, &sharding, error);
		if (*status == OK)
			sharded = sharded_of(shared, &sharding, error, status);
	} else if (shared) {
		sharded = decide(shared, scenario, error, status);
	}
	shared_units_release(shared);
	return sharded;
}
