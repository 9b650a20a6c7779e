/* parse.h: DOT text to libcgraph's graph, with libcgraph's traps closed. */
#pragma once

#include <graphviz/cgraph.h>

#include "normal.h"

/* Parses one graph; what follows its closing brace is ignored. NULL with *error (line included).
 * Ends the process when there are more than edges_most edges or memory runs out. */
Agraph_t *parse_dot(const struct normal *normal, int64_t edges_most, struct error *error);
/* What libcgraph and libgvc have said since the last parse_dot(), "" if nothing: warnings about labels and the like. */
const char *parse_messages(void);
