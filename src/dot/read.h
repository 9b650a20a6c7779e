/* read.h: a DOT graph of either dialect as a graph.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     main        the program tidemark-dot
 *     guard       limits on the process
 *     parse       runs libcgraph's parser
 *     attributes  the attributes that we know
 *     read        from nodes and edges to a graph
 *     figure      figures by Cairo and Pango, from a list of what is drawn
 *     pdf_date    the date in a PDF */
#pragma once

#include <graphviz/cgraph.h>

#include "solver/graph/graph.h"

/* Full dialect where a node has kind=, else teaching dialect (docs/design.md section 6, tidemark(5)). text is what dot
 * was parsed of: it gives errors their lines. NULL with *status and *error. O(text + edges + nodes x depth of their
 * clusters). */
struct graph *read_dot(Agraph_t *dot, const char *text, struct error *error);
