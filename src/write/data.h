/* data.h: plans for other tools: allocators, trace and memory viewers, graph viewers, plotters. */
#pragma once

#include "export.h"
#include "src/base/json.h"

/* A field of a table: in quotes where it needs them, clean but for tabs and ends of lines; behind an apostrophe where a
 * spreadsheet would take it for a formula. */
void csv_text(FILE *stream, const char *text);

/* Picoseconds as seconds, to the last digit. */
void csv_seconds(FILE *stream, int64_t picoseconds);

/* Rows of the export table. */

/* MiniMalloc's CSV with offsets: id,lower,upper,size,offset; upper is exclusive. */
enum status export_minimalloc(const struct export_job *job);
/* Chrome's trace format, for Perfetto: ops, lifetimes of storages and live bytes as simulated, and the
 * streams as another process; where times are unknown a step of the order takes a microsecond. */
enum status export_trace(const struct export_job *job);
/* The snapshot that pytorch.org/memory_viz shows: a pickle of allocations and frees at the plan's addresses. */
enum status export_memory_viz(const struct export_job *job);
/* A launcher's file (src/read/launch.h). BAD_INPUT: why it can't run the plan. O(ops). */
enum status export_launcher(const struct export_job *job);
/* Time over memory with recomputation: bound, plans, published strategies. */
enum status export_slowdown(const struct export_job *job);

/* html: plans as one page for a browser, which needs no server and no network. */

enum status export_html(const struct export_job *job);
/* Several plans to choose from, each under its label. BAD_INPUT of a graph without ops, NO_MEMORY. O(plans), and what
 * their pages hold. */
enum status html_write(
	const struct plan *const *plan, const char *const *label, uint32_t plans, FILE *stream, struct error *error);

/* mesh: --view mesh: the grid of devices as a figure, as LaTeX, as tables. */

enum status export_mesh(const struct export_job *job);

/* segments: what ROAM chose (order=roam): segments, waists, and where each update branch went and why. */

/* --view segments. BAD_INPUT for plans of other orders. */
enum status segments_csv(const struct export_job *job);

/* shard: how a step is split over devices, as tables for other programs. */

/* Rows of the export table. BAD_INPUT where the step is not split, or not searched. */
enum status shard_placements(const struct export_job *job);
enum status shard_collectives(const struct export_job *job);

/* pipeline: --view pipeline: the schedule of a plan's pipeline and what its ranks hold meanwhile. */

/* The plan's schedule as CSV, as JSON, in Chrome's trace format: a track for each rank, and a counter of its bytes; or
 * as a figure. BAD_INPUT where it has none: what is in the way. */
enum status export_pipeline(const struct export_job *job);
/* The order of every rank's passes, a row each. */
enum status schedule_csv(const struct export_job *job);
/* What --view pipeline writes as JSON, as a member of that name. */
enum status pipeline_member(const struct plan *plan, struct json *json, struct error *error);

/* drawing: the graph as a drawing: DOT, SVG, PDF, PNG. */

/* Rows of the export table. */

/* Drawings of the graph, as DOT, SVG, PDF, PNG; views: see draw_options_of(). Laying out stops after 20 s: then, and
 * above a thousand nodes, the picture has coordinates of our own. With a width modules are folded until letters of 6
 * points fit; BAD_INPUT where they never do: the width that they need. */
enum status export_drawing(const struct export_job *job);
/* All of the graph in the full dialect of DOT. */
enum status export_dot(const struct export_job *job);
/* Figures. */
enum status export_over_order(const struct export_job *job);

/* report: a plan as text for people, and the timeline as CSV. */

/* The report of `plan` and of `tidemark GRAPH` where standard output is no terminal. utf8: draw with block characters.
 */
bool report_write(const struct plan *plan, bool utf8, FILE *stream);

/* time: --view time: a step's time by phase and by what limits it, as a figure and as a table. --view roofline: its ops
 * below their chip's roofs. */

enum status export_roofline(const struct export_job *job);

/* When a step's ops run, simulated: the plan's, or found for it: then *own is what the caller frees. BAD_INPUT where
 * times are unknown, and of a pipeline. O(graph). */
enum status time_of_step(const struct plan *plan, const struct export_options *options, struct plan_time **time,
	struct plan_time **own, struct error *error);
enum status export_time(const struct export_job *job);

/* dot: a graph as DOT in the full dialect (docs/design.md section 6: ops and tensors are both nodes). */

/* Writes all of the graph: reading the text gives the same native bytes. False when the stream has an error. O(graph).
 */
bool dot_write(const struct graph *graph, FILE *stream);
