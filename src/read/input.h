/* input.h: opens graph files: plain or gz, "-" for standard input, the format found by content. */
#pragma once

#include "read_options.h"
#include "solver/graph/graph.h"
#include "src/base/source.h"

/* Reads a graph of any format that is known. Errors as the formats' readers give them. options NULL: as the formats'
 * files have it. */
struct graph *graph_open(const char *path, const struct read_options *options, struct error *error);
