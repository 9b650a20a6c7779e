/* inductor.h: Inductor's memory graph: what torch._inductor.config.reorder_for_peak_memory_debug writes into the
 * structured trace.
 *
 * One JSON object: `nodes` in the order that Inductor began with, each with its name and the names of the buffers that
 * it makes; `buffers` with size_alloc, size_free, is_input, is_output and deps, the buffers that the node of this one
 * reads. A node of several outputs allocates them all, and nodes behind it that take one out free it: these become
 * views here. Inputs that can't be freed are not in it. */
#pragma once

#include "solver/graph/graph.h"

/* The graph of a text: NULL with *error, BAD_INPUT or NO_MEMORY. O(size). */
struct graph *inductor_read(const char *text, size_t size, struct error *error);
