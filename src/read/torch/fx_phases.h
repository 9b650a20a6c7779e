/* fx_phases.h: which ops of a graph that holds both passes are of which. */
#pragma once

#include "fx.h"

/* The phase of each node of a joint graph, or of one whose gradients torch.func took. *phase is NULL where nothing in
 * the graph says it. O(size). */
enum status fx_phases(struct arena *arena, const struct fx_graph *graph, uint8_t **phase);
