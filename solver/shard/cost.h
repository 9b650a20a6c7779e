/* cost.h: what a sharding costs, summed straight from it. */
#pragma once

#include "solver/chain/chain.h"
#include "solver/cost/op_time.h"
#include "solver/cost/reshard.h"

/* network: the placements of a graph on a mesh as a sharding problem, with equal layers as copies of a segment.
 *
 * There are three kinds of nodes. A node of an op says how the op is split. A node of a tensor that nothing writes says
 * how the tensor is kept. A node of a tensor with several readers says which second copy it has, in another placement;
 * readers may use or start from that copy, so that a gather is paid once. Costs are picoseconds: the time of an op, and
 * of the cheapest resharding from the placement in which a tensor is written to the one in which it is read. Usage is
 * the bytes that one device keeps: persistent storages, what the forward pass saves for the backward pass, and
 * gradients as their update reads them. */

/* A pin: the tensor has this placement on the axis where it is written (or kept). */
struct placement_pin { uint32_t tensor; uint8_t axis; int8_t on; };

/* Transfers that computation may hide, by what hides them: parameters gathered for the forward pass; those for the
 * backward pass, and gradients that are reduced in it; of several microbatches, gradients that the last one's backward
 * pass alone can hide. */
enum hiding { HIDING_FORWARD, HIDING_BACKWARD, HIDING_LATE, HIDINGS };

/* The estimate takes the largest of several sums for each of these classes: one after the other, what is computed, what
 * computation waits for and a part of what it may hide; or one axis' collectives alone. A search minimises a mixture:
 * of every class `axis` percent of those sums, and 100 - `over` of the first. Where an `over` is the sum of its `axis`,
 * the mixture is never above the estimate; where it is each of them, never above struct sharding_cost's `summed`. */
struct mixture { uint8_t over[HIDINGS], axis[HIDINGS][MESH_AXES]; };

struct network_options {
	uint8_t free;                    /* bit a: axis a is decided; on all others base decides */
	const struct sharding *base;     /* may be NULL where all axes are free */
	const struct fold *fold;         /* may be NULL: no ops are alike */
	struct op_clock clock;
	/* Of the time to reduce gradients for the update, and to gather parameters, the part in percent that computation
	 * doesn't hide in any case. */
	uint32_t exposed;
	struct mixture mixture;
	uint32_t microbatches;           /* of a step; each pays its share of what is done once a step. 0 and 1: all of it */
	const struct placement_pin *pin;
	uint32_t pins;
	/* Leaves out what hardly ever pays: activations cut along the hidden size or inside heads (where a product of
	 * matrices doesn't make them so), sums of activations that stay partial, second copies by more than one all-to-all.
	 * Deep graphs need it: layers meet in fewer ways. */
	bool narrow;
	const struct sharding *usual;    /* what narrow never leaves out; may be NULL */
	bool plain;                      /* no second copies: every reader pays for itself */
	/* Usage is never less than what the sharding takes: what the backward pass reads of a tensor that the forward pass
	 * may have moved to the same place must be the counted copy. */
	bool strict;
	struct reshard_memo *memo;       /* of the units and the mesh, for what is built after it; may be NULL */
	const struct control *control;   /* network_build() ends with CANCELLED when it says so; may be NULL */
};

enum network_kind { NETWORK_OP, NETWORK_KEPT, NETWORK_COPY };
struct network_node { uint8_t kind; uint32_t id; };   /* op or tensor; of a segment's: in one of the copies */

/* What a strategy of a node says. */
struct network_choice {
	struct split split;              /* of an op */
	struct placement placement;      /* of a kept tensor; where a tensor with a second copy is written */
	struct placement second;         /* that copy */
	uint8_t phases;                  /* whose ops may read it, bit by bit; 0: there is none */
};

struct network {
	const struct units *units;
	struct mesh mesh;
	struct shard_chain chain;        /* its arrays are the network's */
	struct network_node *node;
	struct network_choice *choice;   /* [chain.first[nodes]] */
	uint32_t *op_node, *kept_node;   /* [ops], [tensors]: their node, NONE: none */
	uint32_t *op_copy, *kept_copy;   /* which copy of it */
	uint32_t dropped;                /* strategies that others dominate */
	struct arena arena;
};

/* Builds it. INFEASIBLE: pins contradict each other or the graph; *error names the tensor. LIMIT: the fold doesn't fit
 * (call again without). CANCELLED; NO_MEMORY. O(arguments of the graph + nodes * strategies^2). */
enum status network_build(const struct units *units, const struct mesh *mesh, const struct network_options *options,
	struct network *network, struct error *error);
void network_free(struct network *network);
#define network_drop network_free

/* Makes memory the cost: the bytes that a device keeps. Usage is then 0. */
void network_weigh_memory(struct network *network);

/* Drops a strategy if another one of its node is never worse, whatever the other nodes choose. An optimum is left.
 * control: may be NULL. CANCELLED; NO_MEMORY. */
enum status network_prune(struct network *network, struct control *control);

/* A plan's choices as a sharding. base: decides on axes that weren't free; may be NULL. OK or NO_MEMORY. */
enum status network_decode(const struct network *network, const struct chain_plan *plan, const struct sharding *base,
	struct sharding *sharding);

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
	FOR_INT(k, HIDINGS)
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
