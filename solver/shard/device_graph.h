/* device_graph.h: the graph of one device of a sharded step, with collectives as ops. */
#pragma once

#include "solver/cost/placement.h"

/* The graph that a device runs: local shapes and bytes, local FLOPs and workspace; where a tensor is needed in another
 * placement than it has, ops of type "comm.all_gather", "comm.slice", "comm.keep_one" (of a whole tensor one device
 * keeps a summand, the others zeros), ... and phase communication, named after the tensor and the axis:
 * "wte.weight.all_gather.dp". Ids are kept: an op or tensor of the input has its name here.
 *
 * Order     Reductions come right after the op that made the partial sum (late_axes: before the update that reads it),
 * other collectives right before their first reader. Sharing   Readers share copies. A chain of collectives begins at
 * the copy from which it is cheapest. It goes by way of a placement that a later reader needs, if both chains together
 * are cheaper then. A copy that was gathered for the forward pass is gathered again for the backward pass, unless it is
 * a parameter on no axis of regather_axes (as in sequence parallelism, arXiv 2205.05198). In place  An all-reduce
 * overwrites a partial sum that nobody reads any more. A slice of a persistent tensor is a view where it is in one
 * piece, else a copy. What is written in place into a copy is brought back into the storage before anyone reads that. A
 *           persistent storage gets it after its last use: a parameter that is kept whole and updated in shards is
 * gathered in place. Members   A tensor that isn't whole has "placement":["S(0)","R"], one for each axis; the graph
 * "mesh":{"dp":2,"tp":4},"rank":0; a collective "axis", "size", "group" (its lowest device), "moved" (bytes that this
 * device sends), "from" and "to".
 *
 * All devices have the same graph but for "rank", which is the device's number, and group. BAD_INPUT: a placement that
 * can't be reached, a write in place whose result lies otherwise than its operand. O(size), and reshard_find() for
 * every collective. */
struct graph *device_graph_build(
	const struct units *units, const struct sharding *sharding, uint32_t device, struct error *error);

/* Verifies the graph of a device from its own words and the sharding: every op of the step is there, in order, and
 * reads and writes its operands in the placements that it is split for; collectives change one axis as they say;
 * extents and bytes are those of the placements; rules fit the pieces where these are in one piece; whatever is read is
 * the latest version of its storage; and persistent storages are up to date at the end. INFEASIBLE says what is wrong;
 * NO_MEMORY. Nearly linear. */
enum status device_graph_check(const struct units *units, const struct sharding *sharding, const struct rules *rules,
	const struct graph *device, struct error *error);
