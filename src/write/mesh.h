/* mesh.h: --view mesh: the grid of devices as a figure, as LaTeX, as tables. */
#ifndef TIDEMARK_WRITE_MESH_H
#define TIDEMARK_WRITE_MESH_H

#include "export.h"

bool mesh_view(const char *view);
enum status mesh_csv(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error);
enum status mesh_json(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error);
enum status mesh_tikz(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error);
enum status mesh_picture(const struct plan *plan, const struct export_options *options, enum canvas_kind kind, FILE *stream, struct error *error);

#endif
