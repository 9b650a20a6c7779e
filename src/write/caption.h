/* caption.h: a figure's caption: what it shows, under which knobs, and the command that draws it again. */
#pragma once

#include "export.h"
#include "src/draw/figure.h"
#include "src/plan/beside.h"

/* A knob's value in a plan file, as people write it. Returns text. */
char *caption_knob(const json_t *value, int knob, char *text, size_t size);
/* "Knobs: batch=8, zero=3; the others at their defaults.", and on a line of its own what pins there are. O(knobs). */
void caption_add_knobs(const struct scenario *scenario, struct words *words);
/* Of a figure of one plan. command: the words of the command line behind the program's name. BAD_INPUT, NO_MEMORY. */
#define CAPTION_SAID 4000 /* bytes of what legends say, in options->said */
enum status caption_write(const struct plan *plan, const struct export_options *options, char *const *command,
	int commands, FILE *stream, struct error *error);
/* Of a figure of files: several plans over each other, a sweep. */
enum status caption_write_files(char *const *path, int paths, const struct export_options *options,
	char *const *command, int commands, FILE *stream, struct error *error);

/* file_figures: figures of what commands wrote: sweeps, searches, fits, layouts and plan files. */

/* Whether that view is drawn of a sweep's lines alone: pareto, sweep. */
bool sweep_figure_view(const char *view);
bool file_is_plan(const char *path);
/* Whether these are such files, by the view and the first one's content, and no graph. */
bool file_figure(char *const *path, int paths, const struct export_options *options);
/* Draws them. BAD_INPUT: a file is none of what the view is drawn of. */
enum status file_figure_write(char *const *path, int paths, const struct export_options *options,
	enum export_kind_id kind, FILE *stream, struct error *error);
/* A row of the export table: of a graph there is no such figure. */
enum status sweep_figure_refuse(const struct export_job *job);

/* plan_curves: live bytes of plans as their files have them, drawn over each other. */

/* Whether several plan files can be written so: the views timeline, bars and gap as svg, pdf, png or tikz, timeline as
 * csv. */
bool plan_curves_kind(const struct export_options *options, enum export_kind_id kind);
/* What a buffer of a plan file is for. */
enum timeline_group plan_file_group(const json_t *buffer);
/* Sums up what the files' layouts say is alive at each op, and draws a line for each, or writes them as CSV: plan,
 * step, live_bytes. A file's name, without folders and .json, names its line; in pictures the knobs that differ, where
 * they tell all apart. BAD_INPUT: a file that can't be read or
 * is no plan; more than CURVES_MOST. O(ops + buffers). */
enum status plan_curves_write(char *const *path, uint32_t paths, const struct export_options *options,
	enum export_kind_id kind, FILE *stream, struct error *error);

/* A row of the export table: how far the orderer's best was above its bound, over its time. */
enum status export_gap(const struct export_job *job);

/* beside_report: two plans laid over each other, as text, JSON, a table and a figure. */

/* plan[0] is what ran, or the first; name: of the files that they are of. */
struct beside_report {
	const struct plan *plan[2];
	const char *name[2];
	const struct beside *beside;
};

/* What both come to, by phase, and who holds the difference at the peaks. */
void beside_text(const struct beside_report *report, FILE *stream);
/* The same as an object. */
void beside_json(const struct beside_report *report, FILE *stream);
/* Live bytes of both over the first one's step: the second one's highest of what is there. kind: svg, pdf, png or
 * tikz; csv: a table of position, and live bytes of both. O(ops). */
enum status beside_timeline(const struct beside_report *report, const struct export_options *options,
	enum export_kind_id kind, FILE *stream, struct error *error);
