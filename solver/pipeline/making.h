/* making.h: a rank's graph while it is made: what rank.c and waiting.c share. */
#pragma once

#include <stdio.h>

#include "rank.h"

/* What a storage waits for: the gradients of its piece's input, of the weights, or from the first to the second. */
enum until { UNTIL_INPUT, UNTIL_WEIGHT, BETWEEN };

struct making {
	const struct pipeline_cut *cut;
	const struct pipeline_flow *flow;
	const struct graph *graph;
	const struct in_flight *in_flight;
	uint32_t rank, microbatches;
	struct draft *draft;
	bool *runs;                /* [ops] */
	uint8_t *side;             /* [ops] the pass in which this rank runs it */
	uint32_t *stands;          /* [tensors] */
	uint32_t *local;           /* [tensors] the draft's tensor, or NONE */
	uint32_t *added;           /* [storages] the tensor whose gradients are added up for the update; NONE */
	uint32_t *sum;             /* [storages] of these, the draft's tensor of the sum, before it and behind */
	uint32_t *summed;
	uint32_t *last;            /* [storages] the last op of this rank that touches it before the update */
	uint32_t *alone;           /* [storages] of joint ones, the last op of this rank that writes it */
	uint32_t *sequence; /* [ops] in what order they are run: gradients of weights behind the others of their piece */
	bool *later;               /* [ops] gradients of weights that wait for the others */
	struct sink {
		uint32_t op, piece;
	} *sink; /* [ops + transfers] the draft's ops with which the gradients of a piece's input end */
	uint32_t sinks;
	uint8_t *until;            /* [storages] enum until */
	uint32_t *held; /* [storages] microbatches whose copies wait for the backward pass, 0: it isn't read there */
	uint32_t *holder;          /* [storages] the piece that they wait for */
	bool *sent;                /* [transfers] */
	int64_t in_host;           /* bytes of all microbatches that are offloaded */
	uint32_t pass_send, before_send,
		pass; /* the last send of the pass at hand and of the one before; the pass's number */
	uint32_t flush;            /* the draft's op, or NONE */
	uint32_t *ends, ended; /* [ops + storages + transfers] the draft's ops of both passes that none of them waits for,
							  and perhaps others */
	bool updating;
	enum status status;
	struct error *error;
	struct arena arena;
};

static inline void stop(struct making *making, enum status status)
{
	if (making->status == OK && status != OK)
		making->status = status == NO_MEMORY ? fail_memory(making->error) : status;
}

/* An id from the draft; NONE stops. */
static inline uint32_t made(struct making *making, uint32_t id)
{
	if (id == NONE)
		stop(making, NO_MEMORY);
	return id;
}

static inline const char *joined(struct making *making, const char *name, const char *suffix)
{
	size_t length = strlen(name) + strlen(suffix) + 1;
	char *text = arena_alloc(&making->arena, length, 1);
	if (!text) {
		stop(making, NO_MEMORY);
		return name;
	}
	snprintf(text, length, "%s%s", name, suffix);
	return text;
}

static inline uint32_t storage_of(const struct making *making, uint32_t tensor)
{
	return making->graph->tensor[tensor].storage;
}

static inline const struct transfer *transfer_here(const struct making *making, uint32_t tensor)
{
	const struct pipeline_flow *flow = making->flow;
	FOR_SPAN(i, flow->sent_start, tensor)
		if (flow->transfer[i].to == making->rank)
			return &flow->transfer[i];
	return NULL;
}

/* waiting: what lasts longer than a microbatch on a rank: activations and gradients that wait for the backward pass,
 * in as many copies as there are microbatches in flight, and sums of gradients. */

/* Notes what an op of the rank reads: activations that are held for it, gradients to be added up. */
void waiting_note_uses(struct making *making, uint32_t op);
/* The same of what is sent to other ranks' later passes. */
void waiting_note_sends(struct making *making);

/* Adds a microbatch's gradient to the sum: the op "NAME.accumulate". */
void waiting_accumulate(struct making *making, uint32_t storage);

/* The i-th tensor whose memory is filled in the forward pass and waits for the backward pass: a storage's root, where
 * an op of this rank or the input fills it; else every name under which it was sent here. NONE: there are no more. *i
 * counts on. */
uint32_t waiting_tensor(const struct making *making, uint32_t storage, uint32_t *i);

/* The end of the backward pass: the op "pipeline.flush" reads the copies in flight and follows all ops of both passes.
 */
void waiting_end(struct making *making);
