/* fold.h: repeated layers of a graph, found by structure alone: forward, backward and update of a layer together.
 *
 * TAP (arXiv 2302.00247) folds frequent subgraphs; here a chain of equal layers is found by hash refinement (Weisfeiler
 * and Leman) and every equality is checked by an isomorphism, so a plan for one copy holds for all. */
#pragma once

#include "graph.h"

struct fold_segment {
	uint32_t copies, ops; /* ops of one copy */
	uint32_t *op;         /* op[copy * ops + i]: the i-th op of a copy; equal i are equal in every copy */
};

struct fold {
	uint32_t segments;
	struct fold_segment *segment; /* copies in data-flow order: forward activations go from a copy to the next */
	uint32_t *segment_of; /* [ops] NONE: outside */
	uint32_t *copy_of, *index_of; /* [ops] */
	struct arena arena;
};

/* What makes two ops different besides their surroundings: type, phase, shapes, dtypes, rule. Planning uses
 * units_label(). */
typedef uint64_t fold_label(const struct graph *graph, uint32_t op, void *context);

/* Finds chains of at least least copies (2 at least). Operands of copy k come from the same argument of equal ops in
 * copy k, k - 1 or k + 1, or from outside: then from one tensor for all copies, except that the first and the last copy
 * may have their own. Where the first or last layer differs it stays outside. OK or NO_MEMORY. O((ops + arguments) *
 * rounds). */
enum status fold_find(const struct graph *graph, fold_label *label, void *context, uint32_t least, struct fold *fold);
void fold_free(struct fold *fold);
#define fold_drop fold_free
