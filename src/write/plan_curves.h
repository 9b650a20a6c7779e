/* plan_curves.h: live bytes of plans as their files have them, drawn over each other. */
#pragma once

#include "export.h"
#include "src/draw/figure.h"

/* Whether several plan files can be written so: the view timeline as svg, pdf, png, tikz or csv. */
bool plan_curves_kind(const struct export_options *options, enum export_kind_id kind);
/* Sums up what the files' layouts say is alive at each op, and draws a line for each, or writes them as CSV: plan,
 * step, live_bytes. A file's name, without folders and .json, names its line. BAD_INPUT: a file that can't be read or
 * is no plan; more than CURVES_MOST. O(ops + buffers). */
enum status plan_curves_write(char *const *path, uint32_t paths, const struct export_options *options,
	enum export_kind_id kind, FILE *stream, struct error *error);
