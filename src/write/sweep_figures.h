/* sweep_figures.h: figures of what `tidemark sweep` wrote. */
#pragma once

#include "export.h"

/* Whether that view is drawn of a sweep's lines: pareto, sweep. */
bool sweep_figure_view(const char *view);
/* Draws a file of a sweep's lines. BAD_INPUT: it is no such file, or it can't be drawn so. */
enum status sweep_figure_write(const char *path, const struct export_options *options, enum export_kind_id kind,
	FILE *stream, struct error *error);
/* A row of the export table: of a plan there is no such figure. */
enum status sweep_figure_refuse(const struct export_job *job);
