/* read.h: a DOT graph of either dialect as a graph. */
#ifndef TIDEMARK_DOT_READ_H
#define TIDEMARK_DOT_READ_H

#include <graphviz/cgraph.h>

#include "normal.h"
#include "solver/graph/graph.h"

/* Full dialect where a node has kind=, else teaching dialect (docs/design.md section 6, tidemark(5)). normal gives the lines for
 * errors. NULL with *status and *error. O(nodes + edges + nodes x depth of their clusters). */
struct graph *read_dot(Agraph_t *dot, const struct normal *normal, struct error *error);

#endif
