/* open.h: opens a graph for a command: a file's, or a built-in model's step. */
#pragma once

#include "src/read/read_options.h"
#include "solver/graph/graph.h"

/* Reads a graph, or where no file has that name makes the step of the built-in model that has it ("_" is "-"), with
 * other sizes behind it: gpt2:layers=2. Otherwise as graph_open(). */
struct graph *open_graph(const char *path, const struct read_options *options, struct error *error);
/* The same with warnings printed; NULL after complaining, *exit_code set. */
struct graph *batch_open(const char *path, const struct read_options *options, int *exit_code);
