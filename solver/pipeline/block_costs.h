/* block_costs.h: what one device of a sharded step spends and holds for every block, for one microbatch. */
#pragma once

#include "blocks.h"
#include "solver/cost/op_time.h"

/* Parameters differ in the axes over which they are whole, and so in who shares their states: bit 0: the context axis,
 * bit 1: the expert axis. */
enum { WHOLE_ON_CONTEXT = 1, WHOLE_ON_EXPERTS = 2, STATE_CLASSES = 4 };

/* Times of the update are kept for groups of 1, 2, 4, ... devices that share it. */
enum { UPDATE_SHARES = 13 };

/* What one pass reads of parameters, each view of one apart, as they are gathered where states are shared. */
struct block_reads { int64_t bytes[STATE_CLASSES]; uint32_t count[STATE_CLASSES]; };

/* uncast: gradients before a cast that makes them larger. */
struct block_states {
	int64_t parameter[STATE_CLASSES], gradient[STATE_CLASSES], optimizer[STATE_CLASSES], uncast[STATE_CLASSES];
};

/* The most bytes alive in program order beside what is saved up to here, states and gradients; may be below 0.
 * most[k][g]: k: without gradients; with those that an op writes, which are added to sums at once; the same where parts
 * wait for each other, as they are cut into shards; with all that the block has made. g: with the parameters that it
 * reads, whole over all that share states. */
enum { ALIVE_BARE, ALIVE_SUMMED, ALIVE_SHARDED, ALIVE_OWN, ALIVE_KINDS };
struct block_working { int64_t most[ALIVE_KINDS][2]; };

/* All-reduces inside ops that a data axis makes: not counted in forward and backward. */
struct block_across { int64_t bytes; uint32_t count; };

struct block_cost {
	int64_t forward, backward;       /* picoseconds of ops and collectives; backward includes what is computed again */
	int64_t forward_link, backward_link; /* of these, what waits for collectives */
	int64_t carried[2];              /* collectives of the forward and of the backward pass, hidden or not */
	int64_t weight;                  /* of backward, what only makes gradients of weights */
	int64_t weight_link;             /* of that, collectives */
	int64_t summed;                  /* of backward_link, sums of gradients of inputs */
	int64_t beside; /* of collectives what is not in backward, because computation hides it that runs later where the
					   backward pass is split */
	struct block_across across[2]; /* of the forward pass, of the backward pass; for those who know of a data axis
									  beside the sharding's; 0 here */
	int64_t flops;                   /* of forward and backward ops, what is computed again included */
	int64_t ideal; /* picoseconds of the whole step's products, on all devices that share it, at their formats' peaks;
					  without what is computed again */
	int64_t saved;                   /* bytes kept from the forward to the backward pass */
	int64_t saved_weight;            /* of these, what gradients of weights are made of */
	int64_t saved_small; /* of saved, statistics: less than 1/64 of the elements that cross to the next block */
	int64_t between; /* bytes of gradients that gradients of weights are made of later, where the backward pass is
						split; what both parts gather stays whole */
	struct block_working both;       /* of the whole backward pass, and the forward pass */
	struct block_working input;      /* without what only makes gradients of weights */
	int64_t whole, made, own; /* both.most[0][0] with its gradients of weights, whole, as they were made; all of these; all
										 of them */
	int64_t weights;                 /* the most bytes that making gradients of weights takes beside what it reads */
	int64_t update_transient;        /* the most bytes that an op of the update takes beside states and gradients */
	int64_t send;                    /* bytes that go to the next block */
	int64_t
		matrices; /* bytes of weights of products that are read here first, one of a stack, the vocabulary's left out */
	int64_t update[STATE_CLASSES][UPDATE_SHARES]; /* picoseconds of the update of parameters that are read here first */
	int64_t unscaled;                /* of update on a whole share, what touches gradients alone */
	struct block_reads forward_reads, backward_reads;
	uint32_t parameters[STATE_CLASSES]; /* how many are read here first */
	struct block_states states;      /* of parameters that are read here first */
	struct block_states vectors;     /* of these, the ones of parameters of one dim */
	struct block_states shared;      /* of parameters that are read here too, but first in block shared_with */
	uint32_t shared_with;            /* NONE */
	bool joined;                     /* with the block behind it: no cut lies between */
	uint32_t like; /* so many blocks before is one with the same costs, for those who repeat blocks; 0: none */
};

/* What doesn't depend on the sharding. */
struct block_work {
	struct op_work *op;          /* [ops] */
	uint32_t *twin;              /* [ops] of a view: the first op that gives the same view of the same tensor; NONE else */
	bool joint; /* the update of one parameter waits for gradients of others: loss scaling, clipping by a norm */
	bool *weight;                /* [ops] only makes gradients of weights */
	uint32_t *last;              /* [storages] the last op of the forward or backward pass that touches it */
	uint32_t *owner;             /* [storages] blocks_owners() */
	bool *saved, *gradient;      /* [storages] kept for the backward pass; a gradient that the update reads */
	bool *part; /* [storages] of a gradient that several blocks make: it waits for the others, or is added to a sum at
				   once */
};
/* The first tensor that is the same view of the same memory: what was gathered for one reader is there for the others.
 * twin: as above. O(1). */
uint32_t block_work_canonical(const struct graph *graph, const uint32_t *twin, uint32_t tensor);
/* Into the arena. OK or NO_MEMORY. O(size). */
enum status block_work_find(const struct graph *graph, const struct blocks *blocks, const struct rules *rules,
	struct arena *arena, struct block_work *work);

/* Costs of all blocks into cost[blocks->blocks], without collectives over an axis of the mesh named dp. Axes named cp
 * and ep are those of context and experts. OK or NO_MEMORY. O(size) and a search for each tensor that changes
 * placement. */
enum status block_costs_find(const struct units *units, const struct sharding *sharding, const struct blocks *blocks,
	const struct block_work *work, const struct machine *machine, struct block_cost *cost);

/* weights: which ops of a backward pass only make gradients of parameters.
 *
 * Zero-bubble schedules run a backward pass in two parts (Qi et al., arXiv 2401.10241): the gradients of a piece's
 * input, which the piece before it waits for, and later the gradients of its weights, which nobody waits for before the
 * update. */

/* weight[ops]: an op of the backward pass from which nothing leads to the backward pass of an earlier block; what leads
 * to both is left to the first part. Sums of a parameter's gradients that several blocks make count with the weights.
 * linear[ops]: additions, copies, collectives. backward[ops], block[ops]. OK or NO_MEMORY. O(size). */
enum status weight_ops_find(
	const struct graph *graph, const bool *linear, const bool *backward, const uint32_t *block, bool *weight);
