/* loss_chunks.h: the loss and what belongs to it in chunks of the tokens, one after the other. */
#pragma once

#include "solver/rules/factors.h"

struct loss_chunks_report {
	uint32_t chunks,
		ops; /* ops of the step that every chunk runs on its rows; chunks 0: nothing was changed, why says why */
	const char *logits;          /* the largest tensor that is cut: lent by the given graph */
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
