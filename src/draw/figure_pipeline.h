/* figure_pipeline.h: a pipeline's schedule as a figure of a paper's width: ranks down, time to the right, memory of the ranks below. */
#ifndef TIDEMARK_DRAW_FIGURE_PIPELINE_H
#define TIDEMARK_DRAW_FIGURE_PIPELINE_H

#include "canvas.h"
#include "solver/pipeline/timetable.h"

/* name: of the graph. limit: bytes of a device, < 0: any. */
enum status figure_pipeline(const struct timetable *timetable, const char *name, int64_t limit, struct canvas_paper paper, FILE *stream,
	struct error *error);

/* ---- shared with captions and the sources for other plotters ---- */

/* What the figure shows, in one row or in two: the graph's name, ": ", and the rest. */
void pipeline_title(const struct timetable *timetable, const char *name, char *text, size_t size);

/* What a box stands for. */
enum pipeline_part { PART_FORWARD, PART_BACKWARD, PART_WEIGHT, PART_UPDATE, PIPELINE_PARTS };
extern const char *const pipeline_colours[PIPELINE_PARTS], *const pipeline_names[PIPELINE_PARTS];

/* Calls box for everything that is drawn, in units of a rank's row (from the top) and of a share of the time (0 to 1). Slots of at least `least`
 * of the time are boxes of their own, with slot; shorter ones are summed: a column of that width shows from below which share of its time
 * goes forward, then which goes backward, then which makes gradients of weights alone. */
void pipeline_boxes(const struct timetable *timetable, double least,
	void (*box)(void *context, double x, double y, double width, double height, enum pipeline_part part, const struct pipeline_slot *slot),
	void *context);

/* The largest of seconds, milliseconds, microseconds that isn't above the time, in picoseconds, and its name. */
int64_t time_unit(int64_t picoseconds, const char **name);

#endif
