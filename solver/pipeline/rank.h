/* rank.h: the graph of one pipeline rank: its part of a device's graph, and what goes from rank to rank.
 *
 * One microbatch goes forward and backward, then comes the update. Where the cut splits the backward pass, gradients of
 * a piece's weights come behind all that the pieces before it wait for: control dependencies hold them back, so that no
 * order brings them forward. What the rank holds of other microbatches meanwhile is storage: for every activation that
 * the backward pass reads, and every gradient that waits for those of the weights, "NAME.in_flight", as large as its
 * copies of the other microbatches in flight, there until "pipeline.flush", which ends the backward pass; for every
 * gradient "NAME.sum", to which a microbatch's is added. */
#pragma once

#include "blocks.h"
#include "pipeline.h"
#include "solver/cost/placement.h"

/* cut: which pipeline rank runs which op of a device's graph, and in which pass of a microbatch.
 *
 * The forward pass goes through the pieces in order, the backward pass back: no forward op needs a later piece's
 * result, no backward op an earlier piece's gradient. Some tensors are made of parameters alone or of inputs alone
 * (masks, positions, transposed weights). A rank that needs one of these, or a view, makes it for itself. */

enum side { SIDE_FORWARD, SIDE_BACKWARD, SIDE_UPDATE };

/* A parameter whose gradient is a sum of what several ranks find (an embedding that the output layer shares): each of
 * them holds it, adds up its own part and reduces the sums once a step (Megatron-LM, arXiv 1909.08053, and its
 * embedding group). */
struct tied {
	uint32_t parameter;            /* storage */
	uint32_t first, count;         /* of cut->leaf: the tensors that are summed */
};

struct pipeline_cut {
	const struct graph *graph;     /* of one device, for one microbatch */
	uint32_t ranks, pieces;        /* piece s lies on piece_rank(s) */
	bool folded;
	uint32_t *piece;               /* [ops] */
	uint8_t *side;                 /* [ops] enum side */
	bool *weight;                  /* [ops] of a split backward pass, in its second part; of one that isn't split, none */
	bool *anywhere;                /* [ops] a rank that needs the result runs the op itself */
	bool *joint; /* [storages] one number to which ops of several ranks add, in the update: reduced over the ranks */
	uint32_t *of_tied; /* [ops] additions of a tied parameter's gradients, what is done with their sum, its updates: of
						  cut->tied; NONE */
	bool *sums;                    /* [ops] of these, the additions */
	struct tied *tied;
	uint32_t tieds;
	uint32_t *leaf;
	struct csr readers;            /* tensor -> ops */
	struct arena arena;
};

/* folded: pieces lie in a V. split: gradients of weights are a part of the backward pass of their own. */
struct pieces_wanted { uint32_t ranks, pieces; bool folded, split; };

/* piece_of[b]: the piece of block b of the whole step's graph; names of ops tell which block an op of the device's
 * graph belongs to, collectives go with what they read or, where that is less to send, with who reads them. Gradients
 * are reduced once a step, in the update, but where the sharding (NULL: none) has them scattered by each microbatch:
 * that is in its backward pass. OK or NO_MEMORY. O(size). */
enum status pipeline_cut_find(const struct graph *device, const struct graph *whole, const struct rules *rules,
	const struct sharding *sharding, const struct blocks *blocks, const uint32_t *piece_of, struct pieces_wanted wanted,
	struct pipeline_cut *cut);
void pipeline_cut_free(struct pipeline_cut *cut);
#define pipeline_cut_drop pipeline_cut_free

static inline uint32_t cut_rank(const struct pipeline_cut *cut, uint32_t op)
{
	return piece_rank(cut->piece[op], cut->ranks, cut->folded);
}
/* The rank holds a tied parameter: it finds a part of its gradient. */
bool tied_on(const struct pipeline_cut *cut, uint32_t tied, uint32_t rank);

/* A tensor on its way between two ranks; state: the updated content of what both hold. */
struct transfer {
	uint32_t tensor, from, to;
	uint32_t reader;           /* the first op there that reads it; NONE for state */
	uint8_t side;              /* the pass of that op */
	bool state;
};

struct pipeline_flow {
	struct transfer *transfer; /* by tensor, then by rank */
	uint32_t transfers;
	uint32_t *sent_start;      /* [tensors + 1] the transfers of a tensor */
	struct arena arena;
};

/* Every tensor that a rank reads and another one makes. OK, NO_MEMORY, or BAD_INPUT: something that several ranks write
 * without a name for the result. O(ranks * size). */
enum status pipeline_flow_find(const struct pipeline_cut *cut, struct pipeline_flow *flow, struct error *error);
void pipeline_flow_free(struct pipeline_flow *flow);
#define pipeline_flow_drop pipeline_flow_free

/* runs[ops]: the ops of the device's graph that a rank runs. side[ops]: in which pass; what it makes for itself is in
 * the pass that needs it first. stands[tensors]: for the sum of a tied parameter the part of it that is made here
 * (NONE: none is), for all other tensors themselves. */
void pipeline_rank_ops(const struct pipeline_cut *cut, uint32_t rank, bool *runs, uint8_t *side, uint32_t *stands);

/* Bytes that a piece keeps of a microbatch: until the gradients of its input, until those of its weights, and between
 * the two. */
struct kept_bytes { int64_t input, weight, between; };

/* A rank's graph; in_flight[pieces]: microbatches of a piece held at once; at least 1 counts. Ops and tensors keep
 * their names; transfers are ops "NAME.send.RANK" and "NAME.recv" of phase communication and type comm.send, comm.recv;
 * gradients are added by "NAME.accumulate", sums over ranks by "NAME.all_reduce.pp". kept[pieces], where not NULL:
 * added is what a piece keeps of a microbatch. NULL with *status and *error. O(size). */
struct graph *pipeline_rank_graph(const struct pipeline_cut *cut, const struct pipeline_flow *flow,
	const struct in_flight *in_flight, uint32_t microbatches, uint32_t rank, struct kept_bytes *kept,
	struct error *error);
