/* native.h: the native graph format: JSON Lines, one record a line (tidemark(5), docs/design.md section 6). */
#pragma once

#include "solver/graph/graph.h"
#include "src/base/json.h"
#include "src/base/source.h"

#define NATIVE_LINE_MAX (16u << 20) /* bytes in a line */

/* Reads a graph to its `end` record; what follows is an error. NULL with *status and *error (line included):
 * BAD_INPUT for anything that tidemark(5) forbids, truncation included; NO_MEMORY. O(file). */
struct graph *native_read(struct source *source, struct error *error);

/* Writes a graph so that reading it gives the same graph and writing that the same bytes: known keys in a fixed
 * order, unknown keys as they were. False when the stream has an error. */
bool native_write(const struct graph *graph, FILE *stream);

/* The members of a record behind the known ones: unknown keys as they were, then placements, collectives and where
 * an op comes from. */
void native_graph_members(const struct graph *graph, struct json *json);
void native_tensor_members(const struct tensor *tensor, struct json *json);
void native_op_members(const struct op *op, struct json *json);
