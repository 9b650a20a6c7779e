/* cost.h: what a sharding costs, summed straight from it. */
#pragma once

#include "network.h"

/* Collectives by class and axis: those that computation waits for, and those that may run beside it; of the latter the
 * part that counts in any case. */
struct transfers { int64_t waited[HIDINGS][MESH_AXES], hidden[HIDINGS][MESH_AXES], least[HIDINGS]; };

struct sharding_cost {
	/* Picoseconds of a microbatch: computation, and communication that computation doesn't hide. Collectives over
	 * different axes run side by side. */
	int64_t total;
	/* The same where collectives over different axes wait for each other, and casts of gradients (struct op_clock) for
	 * these: never less. It is what a first search minimises. */
	int64_t summed;
	int64_t compute;
	int64_t communication;       /* of total */
	int64_t axis_bytes[MESH_AXES];   /* communication by axis: what each device sends */
	int64_t usage; /* bytes that a device keeps: persistent, saved for the backward pass, gradients for the update */
	int64_t kept, saved, gradients;
	int64_t ties;                /* picoseconds: between equal times less memory wins, see sharding_tie() */
	int64_t redundant;           /* of usage: extra copies, bytes * (copies - 1) / devices */
	int64_t hiding[HIDINGS];     /* computation, by class */
	struct transfers apart, together;   /* as total and summed count them */
};

/* What takes longest of a class: everything one after the other, SERIAL, or the collectives over an axis, its number.
 * summed: over all axes, 0. */
#define SERIAL (-1)
int sharding_longest(const struct sharding_cost *cost, int hiding, bool summed);
/* What a search minimises: the estimate, or the sum. */
static inline int64_t sharding_time(const struct sharding_cost *cost, bool summed)
{
	return summed ? cost->summed : cost->total;
}

/* Every tensor goes once to each placement that its readers need (gathered ones once a phase, parameters where
 * sharding->regather_axes says so), from where it is written or by way of one of these placements; updated tensors go
 * back to where they are kept. exposed and microbatches as in struct network_options. INFEASIBLE: a placement that
 * can't be reached; NO_MEMORY. O(arguments). */
enum status sharding_cost(const struct units *units, const struct sharding *sharding, struct op_clock clock,
	uint32_t exposed, uint32_t microbatches, struct sharding_cost *cost);

/* The same for many shardings of a graph: what doesn't depend on them is found once; reshardings, and what classes of
 * tensors and ops last took, are remembered as long as the mesh is the same. sharding_sum_new() is NULL where memory
 * ends. */
struct sharding_sum;
struct sharding_sum *sharding_sum_new(
	const struct units *units, struct op_clock clock, uint32_t exposed, uint32_t microbatches);
enum status sharding_sum_cost(struct sharding_sum *sum, const struct sharding *sharding, struct sharding_cost *cost);
void sharding_sum_free(struct sharding_sum *sum);

/* True where computation hides resharding of a tensor: gradients for the update, parameters before their use.
 * late_casts: as in struct op_clock. */
bool sharding_hides(const struct graph *graph, uint32_t tensor, const struct csr *readers, bool late_casts);
/* The class of a hidden resharding: of a reader of the forward pass, or (for_update) of readers of the update alone. */
static inline enum hiding sharding_hiding(bool forward, bool for_update, uint32_t microbatches)
{
	return forward ? HIDING_FORWARD : for_update && microbatches > 1 ? HIDING_LATE : HIDING_BACKWARD;
}
/* Of what lasts through a backward pass, the part in the last microbatch's. */
static inline int64_t sharding_late(int64_t time, uint32_t microbatches)
{
	return microbatches > 1 ? time / microbatches : 0;
}
/* What a mixture counts of an op's time; of a collective over an axis that computation may hide; and of one that an op
 * of a phase waits for. */
static inline int64_t sharding_weigh_op(
	int64_t time, uint8_t phase, uint32_t microbatches, const struct mixture *mixture)
{
	int64_t late = sharding_late(time, microbatches);
	if (phase == PHASE_FORWARD)
		return (100 - mixture->over[HIDING_FORWARD]) * time / 100;
	return phase == PHASE_BACKWARD
		? ((100 - mixture->over[HIDING_BACKWARD]) * (time - late) + (100 - mixture->over[HIDING_LATE]) * late) / 100
		: time;
}
static inline int64_t sharding_weigh_hidden(
	int64_t time, uint32_t axis, enum hiding hiding, uint32_t exposed, const struct mixture *mixture)
{
	return ((100 - mixture->over[hiding]) * (time * exposed / 100) + mixture->axis[hiding][axis] * time) / 100;
}
static inline int64_t sharding_weigh_waited(
	int64_t time, uint32_t axis, uint8_t phase, uint32_t microbatches, const struct mixture *mixture)
{
	int64_t late = sharding_late(time, microbatches), of[HIDINGS];
	for (int k = 0; k < HIDINGS; k++)
		of[k] = 100 - mixture->over[k] + mixture->axis[k][axis];
	if (phase == PHASE_FORWARD)
		return of[HIDING_FORWARD] * time / 100;
	return phase == PHASE_BACKWARD ? (of[HIDING_BACKWARD] * (time - late) + of[HIDING_LATE] * late) / 100 : time;
}
/* What a microbatch pays of a resharding, and (on[MESH_AXES]) over which axis. for_update: only ops of the update read
 * what it makes; then each microbatch reduces what is scattered over axes of each_axes, as in struct sharding, and sums
 * up the rest, which goes its way once a step. */
int64_t sharding_share(
	const struct reshard *way, uint32_t microbatches, bool for_update, uint8_t each_axes, int64_t on[MESH_AXES]);
/* What kept bytes add to the estimate: a picosecond for every 16 KiB. */
static inline int64_t sharding_tie(int64_t bytes)
{
	return bytes >> 14;
}
/* The estimate in picoseconds: what searches minimise, what bounds are of, and what people see. */
static inline int64_t sharding_estimate(const struct sharding_cost *cost)
{
	return cost->total + cost->ties;
}
/* Extra copies: the bytes that the mesh holds of a tensor in a placement beyond one copy, per device. */
int64_t placement_redundant(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement);
