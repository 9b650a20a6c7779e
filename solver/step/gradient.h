/* gradient.h: the backward ops of one forward op, as automatic differentiation by reverse accumulation writes them. */
#pragma once

#include "build.h"

/* What the backward pass keeps of the forward pass. */
enum gradient_policy {
	GRADIENT_EAGER,   /* what PyTorch's autograd saves, tensors whose values nobody needs included */
	GRADIENT_IDEAL    /* only what the derivatives need */
};

/* One forward op with the gradients of its results. Ids are the draft's. */
struct gradient {
	struct build *build;
	const struct rules *rules;
	const char *type;         /* "aten.addmm.default" */
	const uint32_t *in, *out;
	uint32_t ins, outs;
	const bool *needs;        /* [ins] a gradient of this input is wanted */
	const uint32_t *from;     /* [outs] gradients that arrived, NONE where none did */
	uint32_t *to;             /* [ins] gradients of the inputs: filled where needed, NONE elsewhere */
	enum gradient_policy policy;
	int64_t done, whole;      /* FLOPs of the forward op, and by its rule; 0: nobody says */
};

/* False for ops through which no gradient passes: comparisons, integer results. Ops without a rule pass one. O(1). */
bool gradient_passes(const struct rules *rules, const char *type);

/* True when the derivative reads the value of operand 0: an in-place op must keep a copy of it.
 * needed[i]: operand i, of count, needs a gradient. */
bool gradient_keeps_input(const struct rules *rules, const char *type, const bool *needed, uint32_t count);

/* Writes the backward ops of one op with build->phase and module as they are set. A gradient is
 * shape-faithful: each has its input's shape, reductions of broadcast dims included. Derivatives follow
 * PyTorch's derivatives.yaml. An op without a rule is opaque: one backward op that reads all it could. */
void gradient_expand(const struct gradient *gradient);
