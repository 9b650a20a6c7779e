/* dot.h: a graph as DOT in the full dialect (docs/design.md section 6: ops and tensors are both nodes). */
#pragma once

#include <stdio.h>

#include "solver/graph/graph.h"

/* Writes all of the graph: reading the text gives the same native bytes. False when the stream has an error. O(graph).
 */
bool dot_write(const struct graph *graph, FILE *stream);
