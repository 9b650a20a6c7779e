/* replay.h: a step whose activations are written anew, while it is made. For this folder only. */
#pragma once

#include "build.h"
#include "recompute.h"

struct replay {
	const struct graph *graph;
	const struct activations *activations;
	struct build build;
	struct arena arena;
	bool *anew;          /* [storages] written anew where it is needed */
	uint32_t *overwrite; /* [storages] the last forward op that writes into it in place, or NONE */
	uint32_t *tensor;    /* [tensors] the draft's tensor for later readers: the tensor, its copy, what was fetched */
	uint32_t *original;  /* [tensors] the draft's copy of the tensor itself */
	uint32_t *made;      /* [tensors] what the copy of an op that is being written gives for it, or NONE */
	uint32_t *op;        /* [ops] the draft's op */
	uint32_t *stack;     /* of ops to run again */
	bool *done;          /* [ops] has run again */
	uint32_t *leaves;    /* [storages] the op after which it goes to the host (graph), or NONE */
	uint32_t *host;      /* [storages] the draft's tensor while it waits there, else NONE */
	bool *back;          /* [storages] has been fetched: views of it are made anew where they are needed */
	const struct offload_window *
		*window; /* [storages] when it is in the host, or NULL: from its last forward reader to the next one */
	struct csr gone, come; /* op -> storages whose windows begin or end there */
	uint32_t *pinned, pins; /* [2 * windows] the draft's ops that the next op comes after */
};

static inline bool is_forward(const struct graph *graph, uint32_t op)
{
	return op != NONE && graph->op[op].phase == PHASE_FORWARD;
}

static inline uint32_t storage_of(const struct graph *graph, uint32_t tensor)
{
	return graph->tensor[tensor].storage;
}

static inline uint32_t allocator_of(const struct graph *graph, uint32_t storage)
{
	return graph->tensor[graph->storage[storage].root].writer;
}

/* Fills anew and overwrite: what is written anew where drop is set (NULL: nowhere) and what can run again, which may be
 * less. False: out of memory. O(graph) a round, and each round but the last shrinks the set. */
bool replay_sets(struct replay *replay, const bool *drop);
