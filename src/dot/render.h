/* render.h: DOT text to a picture, by libgvc. */
#pragma once

#include <graphviz/cgraph.h>
#include <stdio.h>

#include "solver/base/base.h"

/* Lays out (engine "dot", or "nop2" where the nodes have positions) and writes format svg, pdf, png or dot (with
 * positions). BAD_INPUT when Graphviz fails. dot may take minutes on a few hundred nodes: run it under a limit. */
enum status render(Agraph_t *dot, const char *engine, const char *format, FILE *stream, struct error *error);
