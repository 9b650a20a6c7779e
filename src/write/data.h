/* data.h: plans for other tools: allocators, trace and memory viewers, graph viewers, plotters. */
#pragma once

#include "export.h"

/* A field of a table: in quotes where it needs them, clean but for tabs and ends of lines; behind an apostrophe where a
 * spreadsheet would take it for a formula. */
void csv_text(FILE *stream, const char *text);

/* Picoseconds as seconds, to the last digit. */
void csv_seconds(FILE *stream, int64_t picoseconds);

/* Rows of the export table. */

/* MiniMalloc's CSV with offsets: id,lower,upper,size,offset; upper is exclusive. */
enum status export_minimalloc(const struct export_job *job);
/* Chrome's trace format, for Perfetto: ops, lifetimes of storages and live bytes; a step of the order takes a
 * microsecond. Where the step is split over devices, its simulated times as another process. */
enum status export_trace(const struct export_job *job);
/* The snapshot that pytorch.org/memory_viz shows: a pickle of allocations and frees at the plan's addresses. */
enum status export_memory_viz(const struct export_job *job);
/* The timeline or the address map as LaTeX with pgfplots, and as a gnuplot script. */
enum status tikz_timeline(const struct export_job *job);
enum status tikz_map(const struct export_job *job);
enum status gnuplot_timeline(const struct export_job *job);
enum status gnuplot_map(const struct export_job *job);
/* The key, clear of the lower axis' name. */
#define GNUPLOT_KEY "set key below height 1 samplen 2"
/* A gnuplot script's head; with a width it writes a PDF as wide as asked to standard output. */
void gnuplot_begin(const struct export_options *options, FILE *stream);
/* Time over memory with recomputation: bound, plans, published strategies. */
enum status slowdown_csv(const struct export_job *job);
enum status slowdown_gnuplot(const struct export_job *job);
enum status slowdown_picture(const struct export_job *job);
