/* scale_held.h: what a framework holds while a module runs, where a graph at another batch copies it. */
#pragma once

#include "solver/graph/graph.h"

/* The arguments of a module are held by who called it until it returns, also where all that the module reads of them is
 * a copy. The last op of that call, for an op of `graph` whose first operand is copied before it; NONE: nothing holds
 * it longer, or no framework ran this graph op by op (it has no releases). O(ops of the call). */
uint32_t scale_held_until(const struct graph *graph, uint32_t op);
