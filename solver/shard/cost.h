/* cost.h: what a sharding costs, summed straight from it. */
#pragma once

#include "network.h"
#include "solver/cost/reshard.h"

struct sharding_cost {
	int64_t total;               /* picoseconds of a microbatch: computation, and communication that computation doesn't hide */
	int64_t compute;
	int64_t communication;       /* of total */
	int64_t axis_bytes[MESH_AXES];   /* communication by axis: what each device sends */
	int64_t usage;               /* bytes that a device keeps: persistent, saved for the backward pass, gradients for the update */
	int64_t kept, saved, gradients;
	int64_t ties;                /* picoseconds: between equal times less memory wins, see sharding_tie() */
	int64_t redundant;           /* of usage: extra copies, bytes * (copies - 1) / devices */
	/* What may run beside computation: its time, the part of it that counts in any case, and the computation that is there to hide it. Of each the
	 * larger counts: that part, or what is longer than that computation. */
	int64_t hidden[HIDINGS], least[HIDINGS], hiding[HIDINGS];
};

/* What of a class of hidden transfers counts, in picoseconds; and whether that is what computation is too short for. */
static inline bool sharding_is_over(const struct sharding_cost *cost, int hiding)
{
	return cost->hidden[hiding] - cost->hiding[hiding] > cost->least[hiding];
}

/* Every tensor goes once to each placement that its readers need (gathered ones once a phase, parameters where sharding->regather_axes says
 * so), from where it is written or by way of one of these placements; updated tensors go back to where they are kept.
 * exposed and microbatches as in struct network_options. INFEASIBLE: a placement that can't be reached; NO_MEMORY. O(arguments). */
enum status sharding_cost(const struct units *units, const struct sharding *sharding, struct op_clock clock, uint32_t exposed,
	uint32_t microbatches, struct sharding_cost *cost);

/* The same for many shardings of a graph: what doesn't depend on them is found once; reshardings, and what classes of tensors and ops last
 * took, are remembered as long as the mesh is the same. sharding_sum_new() is NULL where memory ends. */
struct sharding_sum;
struct sharding_sum *sharding_sum_new(const struct units *units, struct op_clock clock, uint32_t exposed, uint32_t microbatches);
enum status sharding_sum_cost(struct sharding_sum *sum, const struct sharding *sharding, struct sharding_cost *cost);
void sharding_sum_free(struct sharding_sum *sum);

/* True where computation hides resharding of a tensor: gradients for the update, parameters before their use. */
bool sharding_hides(const struct graph *graph, uint32_t tensor, const struct csr *readers);
/* The class of a hidden resharding: of a reader of the forward pass, or (for_update) of readers of the update alone. */
static inline enum hiding sharding_hiding(bool forward, bool for_update, uint32_t microbatches)
{
	return forward ? HIDING_FORWARD : for_update && microbatches > 1 ? HIDING_LATE : HIDING_BACKWARD;
}
/* What counts of a hidden resharding's time and of an op's, where `over` percent are weighed as if computation were too short to hide the class: then all
 * of the transfer counts, and of the computation that hides it nothing. A mixture of the two is never above the larger of them, the true cost. */
static inline int64_t sharding_weigh_hidden(int64_t time, uint32_t exposed, uint8_t over)
{
	return ((100 - over) * (time * exposed / 100) + over * time) / 100;
}
static inline int64_t sharding_weigh_op(int64_t time, uint8_t phase, uint32_t microbatches, const uint8_t over[HIDINGS])
{
	int64_t late = microbatches > 1 ? time / microbatches : 0;
	if (phase == PHASE_FORWARD)
		return (100 - over[HIDING_FORWARD]) * time / 100;
	return phase == PHASE_BACKWARD ? ((100 - over[HIDING_BACKWARD]) * (time - late) + (100 - over[HIDING_LATE]) * late) / 100 : time;
}
/* What a microbatch pays of a resharding. for_update: only ops of the update read what it makes; then each microbatch reduces what is
 * scattered over axes of each_axes, as in struct sharding, and sums up the rest, which goes its way once a step. */
int64_t sharding_share(const struct reshard *way, uint32_t microbatches, bool for_update, uint8_t each_axes);
/* What kept bytes add to the objective: a picosecond for every 16 KiB. */
static inline int64_t sharding_tie(int64_t bytes)
{
	return bytes >> 14;
}
/* Extra copies: the bytes that the mesh holds of a tensor in a placement beyond one copy, per device. */
int64_t placement_redundant(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement);
