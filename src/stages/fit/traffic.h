/* traffic.h: what each device sends in a step. */
#pragma once

#include "src/stages/shard/sharded.h"

/* The collectives of one kind over one axis, summed over the step. */
struct traffic {
	uint32_t count;
	int64_t bytes;              /* that each device sends */
	int64_t time;               /* picoseconds, one after another */
};

struct traffic_sum {
	struct traffic of[MESH_AXES][COLLECTIVE_COUNT];
	int64_t bytes, time;        /* of all */
};

/* Sums over a graph that a device runs: its collectives, and those inside its ops; what is computed again sends again.
 * O(ops). */
void traffic_find(const struct sharded *sharded, const struct graph *graph, struct traffic_sum *sum);

/* What an op of a device's graph sends: its axis, and bytes as collective_time() takes them. False: it is no
 * collective. */
bool traffic_collective(const struct mesh *mesh, const struct graph *graph, uint32_t op, uint32_t *axis,
	enum collective_kind *collective, int64_t *bytes);
/* Bytes that a device sends inside an op of a device's graph: all-reduces that let it do with a part of a dim. */
int64_t traffic_inside(const struct sharded *sharded, const struct graph *graph, uint32_t op);
