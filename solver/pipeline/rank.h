/* rank.h: the graph of one pipeline rank: its part of a device's graph, and what goes from rank to rank.
 *
 * One microbatch goes forward and backward, then comes the update. Where the cut splits the backward pass, gradients of
 * a piece's weights come behind all that the pieces before it wait for: control dependencies hold them back, so that no
 * order brings them forward. What the rank holds of other microbatches meanwhile is storage: for every activation that
 * the backward pass reads, and every gradient that waits for those of the weights, "NAME.in_flight", as large as its
 * copies of the other microbatches in flight, there until "pipeline.flush", which ends the backward pass; for every
 * gradient "NAME.sum", to which a microbatch's is added. */
#pragma once

#include "cut.h"

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
