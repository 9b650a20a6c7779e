/* build.c: from a decision to the graph of a device, and what it costs. */
#include "stage.h"
#include "solver/shard/device_graph.h"

/* ---- units ---- */

struct shared_units *shared_units_find(struct stage_context *stage, struct graph *graph)
{
	struct key key = key_of("units");
	key_add(&key, graph->fingerprint);
	struct shared_units *shared = store_find(stage->store, &key);
	if (shared)
		return shared_units_retain(shared);
	MAKE(shared, 1);
	if (!shared || units_find(graph, stage->rules, &shared->units) != OK) {
		mem_free(shared);
		return NULL;
	}
	atomic_store(&shared->references, 1);
	shared->graph = graph_retain(graph);
	if (blocks_find(graph, &shared->blocks) != OK) {
		shared_units_release(shared);
		return NULL;
	}
	store_keep(stage->store, &key, shared_units_retain(shared),
		shared->units.arena.bytes + shared->units.factors.arena.bytes + shared->blocks.arena.bytes,
		shared_units_release);
	return shared;
}

/* ---- what a sharding costs ---- */

enum status shard_clock_open(const struct stage_context *stage, const struct units *units,
	const struct scenario *scenario, struct shard_clock *clock)
{
	clock->microbatches = scenario_microbatches(scenario) > 1 ? (uint32_t)scenario_microbatches(scenario) : 1;
	clock->machine = scenario->machine;
	enum status status = op_times_find(units, stage->rules, &clock->machine, &clock->times);
	clock->clock = op_times_clock(&clock->times);
	clock->clock.late_casts = scenario_casts_late(scenario);
	return status;
}

void shard_clock_close(struct shard_clock *clock)
{
	op_times_free(&clock->times);
}

static enum status shard_build_build(struct sharded *sharded, const struct shard_clock *clock, struct error *error)
{
	const struct units *units = &sharded->shared->units;
	const struct graph *graph = units->graph;
	NEEDED(error, ROOM(&sharded->arena, sharded->redundant, graph->storages));
	sharded->device = device_graph_build(units, &sharded->sharding, 0, error);
	if (!sharded->device)
		return error->status;
	enum status status = sharding_cost(
		units, &sharded->sharding, clock->clock, SHARD_EXPOSED, clock->microbatches, &sharded->cost);
	if (status != OK)
		return fail(error, status, "%s", status == NO_MEMORY ? status_text(status) : "a placement can't be reached");
	FOR(s, graph->storages) {
		uint32_t root = graph->storage[s].root;
		sharded->redundant[s] = placement_redundant(units, &sharded->sharding.mesh, root, sharded->sharding.produced[root]);
	}
	return OK;
}

struct sharded *sharded_of(
	struct shared_units *shared, struct sharding *sharding, const struct shard_clock *clock, struct error *error)
{
	struct sharded *MAKE(sharded, 1);
	if (!sharded) {
		sharding_free(sharding);
		fail_memory(error);
		return NULL;
	}
	*sharded = (struct sharded){ .shared = shared_units_retain(shared), .sharding = *sharding, .notes = "",
		.shown.proof = SHOWN_NOTHING };
	atomic_store(&sharded->references, 1);
	if (error_set(error, shard_build_build(sharded, clock, error)) == OK)
		return sharded;
	sharded_release(sharded);
	return NULL;
}
