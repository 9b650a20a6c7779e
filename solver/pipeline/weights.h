/* weights.h: which ops of a backward pass only make gradients of parameters.
 *
 * Zero-bubble schedules run a backward pass in two parts (Qi et al., arXiv 2401.10241): the gradients of a piece's
 * input, which the piece before it waits for, and later the gradients of its weights, which nobody waits for before the
 * update. */
#pragma once

#include "solver/graph/graph.h"

/* weight[ops]: an op of the backward pass from which nothing leads to the backward pass of an earlier block; what leads
 * to both is left to the first part. Sums of a parameter's gradients that several blocks make count with the weights.
 * linear[ops]: additions, copies, collectives. backward[ops], block[ops]. OK or NO_MEMORY. O(size). */
enum status weight_ops_find(
	const struct graph *graph, const bool *linear, const bool *backward, const uint32_t *block, bool *weight);
