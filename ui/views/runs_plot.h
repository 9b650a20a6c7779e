/* runs_plot.h: the runs so far as points: memory over what it costs. */
#pragma once

#include "view.h"

/* What the horizontal axis may be: the work of a device, the simulated time of its step, or a knob by its number. */
#define AXIS_WORK (-1)
#define AXIS_TIME (-2)

/* What is asked for first: time where it differs between runs or some run is split over devices, else work. */
int runs_plot_first_axis(const struct model *model);
/* The axis after one, round in a circle: work, time where it is asked for first, then the knobs in which the runs
 * differ. */
int runs_plot_next_axis(const struct model *model, int axis);
/* "work of a device", "time of a step", "recompute". */
const char *runs_plot_axis_name(int axis);

/* The work of a device of each run: FLOPs where the runs' ops know them, else ops. work has room for the runs. False:
 * ops. */
bool runs_work(const struct model *model, double *work);

/* The points that no other run beats, in memory and on the axis, are joined, and points have their runs' numbers where
 * there is room; selected: a run's number. work: [runs]. */
void runs_plot_draw(struct frame *frame, struct rect rect, const struct model *model, int axis, const double *work,
	bool flops, uint32_t selected);

/* runs_slowdown: the pane of the Runs view that shows time over memory, with a cap to move along it. */

struct slowdown_pane {
	int64_t cap;    /* under the cursor; 0: the plan's memory cap, or its peak */
	int64_t column; /* bytes of a column when it was drawn last */
};

void slowdown_draw(struct frame *frame, struct rect rect, struct slowdown_pane *pane, const struct model *model);
/* Moves the cap, or sets it; false for other commands. */
bool slowdown_command(struct slowdown_pane *pane, struct model *model, enum command_id command);
