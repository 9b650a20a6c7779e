/* loss_chunks.h: the loss and what belongs to it in chunks of the tokens, one after the other. */
#pragma once

#include "solver/rules/factors.h"

struct loss_chunks_report {
	uint32_t chunks,
		ops; /* ops of the step that every chunk runs on its rows; chunks 0: nothing was changed, why says why */
	const char *logits; /* the largest tensor that is cut: lent by the given graph */
	char why[300];
};

/* The step in which the ops that touch tensors as large as the logits (projection to the classes, loss, and their
 * gradients) run `chunks` times on parts of the rows: each chunk's backward pass follows its forward pass, so that a
 * chunk's logits alone are alive. What is made of rows is joined, gradients of weights are added up in place, the loss
 * is the mean over all labels that count. This is what fused linear cross entropy does (Liger kernels, Hsu et al. 2024,
 * arXiv 2410.10989, section 3.2; torchtune's chunked loss). Rows are cut along their innermost factor, the sequence
 * where there is one. Where ops leave rows of the logits out, these are left out before the projection. Of several
 * losses with logits as large (multi-token prediction) each is so cut. A new reference, to the graph itself where
 * nothing can be cut: report->why. graph and factors must belong together. NULL with *error: out of memory. O(graph +
 * chunks * ops). */
struct graph *loss_chunks_apply(struct graph *graph, const struct rules *rules, const struct factors *factors,
	uint32_t chunks, struct loss_chunks_report *report, struct error *error);

/* loss_region: the ops around a loss over classes that touch tensors as large as its logits. */

/* What a tensor is to the region. */
enum loss_role {
	LOSS_WHOLE, /* made outside and read whole, or not touched */
	LOSS_CUT,   /* made outside, and every chunk reads its rows of it */
	LOSS_INSIDE /* made by the region: every chunk makes its own */
};

struct loss_region {
	uint32_t loss, backward; /* the op of the loss; its gradient's, or NONE */
	uint32_t cut, longer; /* the factor that is cut into chunks; the one that it is a slice of (GPT-2's logits but the
							 last), or NONE */
	uint32_t shorten, lengthen; /* ops of the region from longer to cut and back: they move out of it; NONE */
	uint32_t labels;            /* the tensor of labels that is cut */
	uint32_t first, last;       /* ops of the region in program order: the first, the last */
	uint32_t ops;
	bool *inside;    /* [ops] of the region */
	bool *moved;     /* [ops] of these, from longer to cut or back */
	bool *seed;      /* [ops] makes the first gradient from the loss's shape alone */
	bool *behind;    /* [ops] between first and last, not of the region, and waits for it */
	uint8_t *role;   /* [tensors] enum loss_role */
	bool mean;       /* the loss is a mean over rows, else their sum */
	int64_t ignored; /* the label that doesn't count */
	char why[300];   /* why there is none */
	struct arena arena;
};

/* How many losses have logits as large as the largest. O(ops). */
uint32_t loss_region_losses(const struct graph *graph, const struct rules *rules);
/* Finds the region of the first loss with the largest logits. INFEASIBLE, with region->why, where there is none that
 * can be cut; NO_MEMORY. Free with loss_region_free(). O(graph). */
enum status loss_region_find(
	const struct graph *graph, const struct rules *rules, const struct factors *factors, struct loss_region *region);
void loss_region_free(struct loss_region *region);

/* The dim of a tensor that a chunk has a part of, with the factor that it is of: region->cut or longer. -1: none.
 * *place: of the factor in the dim's product. */
int loss_region_dim(const struct loss_region *region, const struct factors *factors, const struct graph *graph,
	uint32_t tensor, uint32_t *factor, uint32_t *place);
/* Whether a tensor of the region is an output or is read by an op that is neither in the region nor its seed.
 * O(readers). */
bool loss_region_leaves(const struct graph *graph, const struct loss_region *region, uint32_t tensor);
