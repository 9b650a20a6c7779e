/* open.h: opens a graph for a command: warnings and errors go to standard error. */
#ifndef TIDEMARK_READ_OPEN_H
#define TIDEMARK_READ_OPEN_H

#include "solver/graph/graph.h"

/* Reads a graph, with its warnings printed; NULL after complaining, *exit_code set. */
struct graph *batch_open(const char *path, int *exit_code);

#endif
