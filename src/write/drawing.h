/* drawing.h: the graph as a drawing: DOT, SVG, PDF, PNG. */
#pragma once

#include "export.h"

/* Rows of the export table. */

/* Drawings of the graph, as DOT, SVG, PDF, PNG; views: see draw_options_of(). Laying out stops after 20 s: then, and
 * above a thousand nodes, the picture has coordinates of our own. */
enum status export_drawing(const struct export_job *job);
/* All of the graph in the full dialect of DOT. */
enum status export_dot(const struct export_job *job);
/* Figures. */
enum status export_timeline(const struct export_job *job);
enum status export_map(const struct export_job *job);
