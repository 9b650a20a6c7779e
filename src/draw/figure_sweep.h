/* figure_sweep.h: what a sweep found, as figures of a paper's width. */
#pragma once

#include "canvas.h"
#include "src/read/sweep_file.h"

/* Every scenario as a point: time of a step over memory; the scenarios that no other one beats in both are joined and
 * named. Where `batch` is varied, time of a sample. BAD_INPUT: no scenario has a time. O(rows log rows). */
enum status figure_pareto(
	const struct sweep_table *table, const char *name, struct canvas_paper paper, FILE *stream, struct error *error);
/* Memory and time over the values of one varied knob (the one with the most numbers), a line for each combination of
 * the others. BAD_INPUT: more lines than can be told apart. */
enum status figure_sweep(
	const struct sweep_table *table, const char *name, struct canvas_paper paper, FILE *stream, struct error *error);

/* What the colours of such a figure stand for, for its caption: "Colours: batch 1 (#0072B2), 2 (#D55E00)"; "" where
 * there is one. BAD_INPUT as figure_sweep(). */
enum status sweep_colours(const struct sweep_table *table, bool pareto, char *text, size_t size, struct error *error);
