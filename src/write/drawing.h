/* drawing.h: the graph as a drawing: DOT, SVG, PDF, PNG. */
#ifndef TIDEMARK_WRITE_DRAWING_H
#define TIDEMARK_WRITE_DRAWING_H

#include "export.h"

/* Rows of the export table. */

/* Drawings of the graph, as DOT, SVG, PDF, PNG; views: see draw_options_of(). Laying out stops after 20 s: then, and above a thousand nodes,
 * the picture has coordinates of our own. */
enum status export_drawing(const struct plan *plan, const struct export_options *options, enum export_kind_id kind, FILE *stream,
	struct error *error);
/* All of the graph in the full dialect of DOT. */
enum status export_dot(const struct plan *plan, const struct export_options *options, enum export_kind_id kind, FILE *stream,
	struct error *error);
enum status segments_drawing(const struct plan *plan, const struct export_options *options, enum export_kind_id kind, FILE *stream,
	struct error *error);
/* Figures. */
enum status export_timeline(const struct plan *plan, const struct export_options *options, enum export_kind_id kind, FILE *stream,
	struct error *error);
enum status export_map(const struct plan *plan, const struct export_options *options, enum export_kind_id kind, FILE *stream,
	struct error *error);

#endif
