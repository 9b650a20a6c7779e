/* figure_pipeline.h: a pipeline's schedule as a figure of a paper's width: ranks down, time to the right, memory of the
 * ranks below. */
#pragma once

#include "canvas.h"
#include "solver/pipeline/timetable.h"

/* name: of the graph. limit: bytes of a device, < 0: any. */
enum status figure_pipeline(const struct timetable *timetable, const char *name, int64_t limit,
	struct canvas_paper paper, FILE *stream, struct error *error);

/* ---- shared with captions and the sources for other plotters ---- */

/* What the figure shows, in one row or in two: the graph's name, ": ", and the rest. */
void pipeline_title(const struct timetable *timetable, const char *name, char *text, size_t size);

/* What a box stands for. */
enum pipeline_part { PART_FORWARD, PART_BACKWARD, PART_WEIGHT, PART_UPDATE, PIPELINE_PARTS };
extern const char *const pipeline_names[PIPELINE_PARTS], *const pipeline_colours[PIPELINE_PARTS];
