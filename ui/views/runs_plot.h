/* runs_plot.h: the runs so far as points: memory over what it costs. */
#pragma once

#include "view.h"

/* A run. x <= 0: not known, and not shown. front: no other has both less memory and a better x. */
struct run_point { double x, needs; bool front; };

/* more: more of x is better. O(points^2). */
void runs_plot_find_front(struct run_point *point, uint32_t points, bool more);

struct runs_plot {
	const struct run_point *point; /* [points] */
	uint32_t points, selected;
	bool more;
	const char *name; /* of x: "step" is in picoseconds */
};

/* The front is a staircase, and points have their runs' numbers where there is room. */
void runs_plot_draw(struct frame *frame, struct rect rect, const struct runs_plot *runs);

/* Time over memory, with a cap to move along it. */

struct slowdown_pane {
	int64_t cap;    /* under the cursor; 0: the plan's memory cap, or its peak */
	int64_t column; /* bytes of a column when it was drawn last */
};

void slowdown_draw(struct frame *frame, struct rect rect, struct slowdown_pane *pane, const struct model *model);
/* Moves the cap, or sets it; false for other commands. */
bool slowdown_command(struct slowdown_pane *pane, struct model *model, enum command_id command);
