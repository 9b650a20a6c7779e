/* mesh.h: the grid of devices, its links, and what a collective over one of its axes costs.
 *
 * Times are picoseconds in integers, so that sums are exact and certificates can be verified. */
#pragma once

#include "solver/graph/graph.h"

#define PICOSECONDS INT64_C(1000000000000) /* in a second */

struct link {
	int64_t latency;           /* picoseconds of a hop */
	int64_t rate;              /* bytes per second and device, one direction; 0: links cost nothing */
};

/* One axis of the mesh: size devices in a ring, or, where an axis spans nodes, groups of near ones joined by the far
 * link. */
struct mesh_axis {
	char name[8];              /* "dp", "tp", "cp", "ep" */
	uint32_t size;
	uint32_t near_size;        /* members of the axis within one node; divides size */
	struct link near, far;     /* far.rate: a device's share of the node's network */
	uint16_t dispatch; /* thousandths of the bytes between nodes that an all-to-all sends there: what several devices of
						* a node need goes there once, and on while the rest still comes (DeepEP; DeepSeek-V3, arXiv
						* 2412.19437, section 3.2.2); 0: all of them, one way after the other */
	uint16_t held;     /* thousandths of its multiprocessors that a device gives for that meanwhile */
};

/* Axis 0 is the outermost: a dim that several axes shard is cut by axis 0 first. Devices are numbered row-major. */
struct mesh {
	uint32_t axes;
	bool padding;              /* an axis may cut what it doesn't divide: see placement_divides() */
	bool copies; /* DTensor's kernels compute a log-softmax over split classes: see split_scratch() */
	struct mesh_axis axis[MESH_AXES];
};

uint32_t mesh_devices(const struct mesh *mesh);
/* Of an axis of experts with such a dispatcher: of a token's copies, spread evenly over n nodes, at most so many,
 * n (1 - (1 - 1/n)^copies) are sent between nodes. */
void mesh_dispatch(struct mesh *mesh, uint32_t copies, uint32_t most_nodes);
/* What computation loses to a dispatcher of so many thousandths of the multiprocessors: no more than waiting takes. */
static inline int64_t dispatch_lost(int64_t held, int64_t computing, int64_t collectives)
{
	int64_t lost = computing / (1000 - held) * held;
	return SMALLER(lost, collectives);
}
/* True where everything costs and divides the same: all but the names. */
bool mesh_equal(const struct mesh *a, const struct mesh *b);
/* Coordinate of a device on an axis. */
uint32_t mesh_coordinate(const struct mesh *mesh, uint32_t device, uint32_t axis);

/* Bytes that each device sends: bytes is the local tensor gathered (all-gather), reduced (reduce-scatter, all-reduce),
 * of all members together (all-to-all), or sent. Ring algorithms. O(1). */
int64_t collective_bytes(const struct mesh_axis *axis, enum collective_kind collective, int64_t bytes);
/* Time in picoseconds, rounded up: the faster of ring and halving (tree) algorithms (Thakur, Rabenseifner, Gropp 2005);
 * across nodes the hierarchical one. Never above COLLECTIVE_TIME_MAX (20 hours), so that sums don't overflow. O(1). */
#define COLLECTIVE_TIME_MAX (INT64_C(1) << 56)
int64_t collective_time(const struct mesh_axis *axis, enum collective_kind collective, int64_t bytes);
/* The bytes that both take for a collective that makes a local tensor of `to` bytes from one of `from`: of unequal
 * pieces every one counts as the largest. */
int64_t collective_of(const struct mesh_axis *axis, enum collective_kind collective, int64_t from, int64_t to);

/* The axis of that name, or NONE. */
static inline uint32_t mesh_axis_named(const struct mesh *mesh, const char *name)
{
	FOR(a, mesh->axes)
		if (strcmp(mesh->axis[a].name, name) == 0)
			return a;
	return NONE;
}
