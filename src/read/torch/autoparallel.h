/* autoparallel.h: what AutoParallel (meta-pytorch/autoparallel) writes of a sharded step: get_json(), or the artifact
 * of that in a structured trace.
 *
 * One JSON object: `mesh` with its shape and names; `nodes` of the joint FX graph with op, phase, shape (of the whole
 * tensor), dtype, placement, and for each input the placement that it comes in and the one that the op needs; `summary`
 * with the optimizer's costs. The graph is that of one device: sizes are local, and where placements differ an op of
 * communication stands between, once for each tensor and placement. */
#pragma once

#include "solver/graph/graph.h"

/* The graph of a text: NULL with *error, BAD_INPUT or NO_MEMORY. O(size). */
struct graph *autoparallel_read(const char *text, size_t size, struct error *error);
