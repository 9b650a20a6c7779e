/* read.h: a DOT graph of either dialect as a graph.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     main        the program tidemark-dot
 *     guard       limits on the process
 *     lex         tokens of DOT
 *     normal      DOT that libcgraph reads safely
 *     parse       runs libcgraph's parser
 *     attributes  the attributes that we know
 *     read        from nodes and edges to a graph
 *     render      pictures by libgvc
 *     figure      figures by Cairo and Pango, from a list of what is drawn
 *     pdf_date    the date in a PDF */
#pragma once

#include <graphviz/cgraph.h>

#include "normal.h"
#include "solver/graph/graph.h"

/* Full dialect where a node has kind=, else teaching dialect (docs/design.md section 6, tidemark(5)). normal gives the
 * lines for errors. NULL with *status and *error. O(nodes + edges + nodes x depth of their clusters). */
struct graph *read_dot(Agraph_t *dot, const struct normal *normal, struct error *error);
