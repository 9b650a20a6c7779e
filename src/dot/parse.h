/* parse.h: DOT text to libcgraph's graph. */
#pragma once

#include <graphviz/cgraph.h>

#include "solver/base/base.h"

/* Parses one graph; what follows its closing brace is ignored. NULL with *error (line included). Ends the process when
 * there are more than edges_most edges or memory runs out. libcgraph 2.42 refuses chains of more than 2,500 nodes,
 * braces nested as deep, and names, comments and pieces of strings of 16,383 bytes; thousands of attribute names take
 * it long. */
Agraph_t *parse_dot(const char *text, size_t size, int64_t edges_most, struct error *error);
/* What libcgraph and libgvc have said since the last parse_dot(), "" if nothing: warnings about labels and the like. */
const char *parse_messages(void);
