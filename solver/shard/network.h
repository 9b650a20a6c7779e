/* network.h: the placements of a graph on a mesh as a sharding problem, with equal layers as copies of a segment.
 *
 * There are three kinds of nodes. A node of an op says how the op is split. A node of a tensor that nothing writes says
 * how the tensor is kept. A node of a tensor with several readers says which second copy it has, in another placement;
 * readers may use or start from that copy, so that a gather is paid once. Costs are picoseconds: the time of an op, and
 * of the cheapest resharding from the placement in which a tensor is written to the one in which it is read. Usage is
 * the bytes that one device keeps: persistent storages, what the forward pass saves for the backward pass, and
 * gradients as their update reads them. */
#pragma once

#include "solver/chain/chain.h"
#include "solver/cost/op_time.h"
#include "solver/cost/reshard.h"

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
