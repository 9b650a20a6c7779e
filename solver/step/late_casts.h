/* late_casts.h: casts of gradients to a wider format, put off until something reads them. */
#pragma once

#include "solver/graph/graph.h"

/* The graph with casts that graph_widens_gradient() knows right before the first op that reads them, so that a gradient
 * is summed over devices in its narrow format while the backward pass goes on. of_update: they belong to the update
 * then, so that microbatches add up gradients in the narrow format, and the sums are cast once. moved: how many; 0: the
 * graph itself. A new reference, or NULL: NO_MEMORY. O(size). */
struct graph *late_casts(struct graph *graph, bool of_update, uint32_t *moved, struct error *error);
