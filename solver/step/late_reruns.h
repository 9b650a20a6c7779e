/* late_reruns.h: what runs again waits for the backward pass to come there. */
#pragma once

#include "solver/graph/graph.h"

/* The graph with a control edge to every op that runs again from the last op before it, in program order, that doesn't:
 * an order that takes ops as soon as they are ready would run it in the forward pass and keep its result all the same.
 * Program order stays valid. A new reference, the graph itself where nothing runs again; or NULL: NO_MEMORY. O(size).
 */
struct graph *late_reruns(struct graph *graph, struct error *error);
