/* dot_write.h: a graph as DOT in the full dialect (DESIGN: ops and tensors are both nodes). */
#ifndef TIDEMARK_DOT_WRITE_H
#define TIDEMARK_DOT_WRITE_H

#include <stdio.h>

#include "solver/graph.h"

/* Writes all of the graph: reading the text gives the same native bytes. False when the stream has an error. O(graph). */
bool dot_write(const struct graph *graph, FILE *stream);

#endif
