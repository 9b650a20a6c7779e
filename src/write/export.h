/* export.h: the export table: every kind of file that a plan or graph can be written as. */
#ifndef TIDEMARK_WRITE_EXPORT_H
#define TIDEMARK_WRITE_EXPORT_H

#include <stdio.h>

#include "src/draw/canvas.h"
#include "src/plan/plan.h"

/* What an export needs beside the plan. */
struct export_options {
	const char *view;        /* "graph", "timeline", "map", "segments"; NULL: the kind's own */
	const char *stage;       /* "input" or "device"; NULL: device */
	bool utf8;
	bool with_run;           /* json: also how the run went, the part that differs between equal runs */
	bool factors;            /* json: also the factors of every dim */
	const char *rules_file;  /* a user's operator rules, or NULL */
	double width;            /* figures: points; 0: a page's text width */
};

/* What a figure is drawn on. */
static inline struct canvas_paper export_paper(const struct export_options *options, enum canvas_kind kind)
{
	return (struct canvas_paper){ kind, options->width > 0 ? options->width : CANVAS_PAGE };
}

struct export_kind {
	const char *name, *help;
	bool needs_plan;         /* else the graph alone */
	enum status (*write)(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error);
};
extern const struct export_kind export_kinds[];
extern const int export_kind_count;

/* The graph that the options ask for: as planned, or as read. */
const struct graph *export_graph(const struct plan *plan, const struct export_options *options);

/* The kind of that name, or NULL. */
const struct export_kind *export_find(const char *name);

/* Writes to path ("-" or NULL: standard output). A file appears whole or not at all. force: replaces what is there. */
enum status export_to(const struct export_kind *kind, const struct plan *plan, const struct export_options *options, const char *path,
	bool force, struct error *error);

#endif
