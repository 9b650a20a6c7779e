/* cut.h: which pipeline rank runs which op of a device's graph, and in which pass of a microbatch.
 *
 * The forward pass goes through the pieces in order, the backward pass back: no forward op needs a later piece's
 * result, no backward op an earlier piece's gradient. Some tensors are made of parameters alone or of inputs alone
 * (masks, positions, transposed weights). A rank that needs one of these, or a view, makes it for itself. */
#pragma once

#include "blocks.h"
#include "pipeline.h"
#include "solver/cost/placement.h"

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
