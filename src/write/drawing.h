/* drawing.h: the graph as a drawing: DOT, SVG, PDF, PNG. */
#ifndef TIDEMARK_WRITE_DRAWING_H
#define TIDEMARK_WRITE_DRAWING_H

#include "export.h"

/* Rows of the export table. view: see draw_options_of(); "timeline" and "map" are figures. Laying out stops after 20 s: then, and above
 * a thousand nodes, the picture has coordinates of our own. */
enum status export_dot(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error);
enum status export_svg(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error);
enum status export_pdf(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error);
enum status export_png(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error);

#endif
