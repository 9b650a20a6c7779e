/* sharded_build.c: from a decision to the graph of a device, and what it costs. */
#include <stdio.h>
#include <string.h>

#include "devices.h"
#include "shard_stage.h"
#include "solver/device_graph.h"

/* ---- units ---------------------------------------------------------------------------------------------------- */

struct shared_units *shared_units_find(struct stage_context *stage, struct graph *graph)
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

bool sharded_collective(const struct mesh *mesh, const struct graph *graph, uint32_t op, uint32_t *axis, enum collective *collective, int64_t *bytes)
{
	if (strncmp(graph->op[op].type, "comm.", 5) != 0)
		return false;
	int found = name_index(collective_names, COLLECTIVE_COUNT, graph->op[op].type + 5);
	*axis = axis_of(mesh, &graph->op[op]);
	if (found < 0 || *axis == NONE)
		return false;
	*collective = (enum collective)found;
	*bytes = collective_of(&mesh->axis[*axis], *collective, bytes_of(graph, &graph->reads, op), bytes_of(graph, &graph->writes, op));
	return true;
}

/* Sums over the collectives of the device's graph. */
static void count_collectives(struct sharded *sharded)
{
	enum collective collective;
	uint32_t axis;
	int64_t bytes;
	for (uint32_t op = 0; op < sharded->device->ops; op++)
		if (sharded_collective(&sharded->sharding.mesh, sharded->device, op, &axis, &collective, &bytes))
			add_traffic(sharded, axis, collective, 1, bytes);
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
			add_traffic(sharded, a, COLLECTIVE_ALL_REDUCE, unit->inside, unit_inside_bytes(units, mesh, op, split, a));
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

enum status shard_clock_open(const struct stage_context *stage, const struct units *units, const struct scenario *scenario, struct shard_clock *clock)
{
	scenario_machine(scenario, &clock->machine);
	enum status status = op_times_find(units, stage->rules, &clock->machine, &clock->times);
	clock->clock = op_times_clock(&clock->times);
	return status;
}

void shard_clock_close(struct shard_clock *clock)
{
	op_times_free(&clock->times);
}

static enum status build(struct sharded *sharded, const struct shard_clock *clock, struct error *error)
{
	const struct units *units = &sharded->shared->units;
	const struct graph *graph = units->graph;
	enum status status;
	sharded->redundant = arena_alloc(&sharded->arena, graph->storages, sizeof *sharded->redundant);
	if (!sharded->redundant)
		return fail(error, NO_MEMORY, "out of memory");
	sharded->device = device_graph_build(units, &sharded->sharding, 0, error, &status);
	if (status != OK)
		return status;
	status = sharding_cost(units, &sharded->sharding, clock->clock, SHARD_EXPOSED, &sharded->cost);
	if (status != OK)
		return fail(error, status, status == NO_MEMORY ? "out of memory" : "a placement can't be reached");
	for (uint32_t s = 0; s < graph->storages; s++) {
		uint32_t root = graph->storage[s].root;
		sharded->redundant[s] = placement_redundant(units, &sharded->sharding.mesh, root, sharded->sharding.produced[root]);
	}
	count_traffic(sharded);
	return OK;
}

struct sharded *sharded_of(struct shared_units *shared, struct sharding *sharding, const struct shard_clock *clock, struct error *error, enum status *status)
{
	struct sharded *sharded = mem_alloc(1, sizeof *sharded);
	if (!sharded) {
		sharding_free(sharding);
		*status = fail(error, NO_MEMORY, "out of memory");
		return NULL;
	}
	*sharded = (struct sharded){ .shared = shared_units_retain(shared), .sharding = *sharding, .notes = "", .proof = { .kind = "none" } };
	atomic_store(&sharded->references, 1);
	*status = build(sharded, clock, error);
	if (*status == OK)
		return sharded;
	sharded_release(sharded);
	return NULL;
}
