/* tour.c: from the peak to the knob that moves it. */
#include "app.h"

const struct tour_step tour_steps[] = {
	{ "view 1\npeak", "memory over the step; the mark below is its peak. t goes on, Esc ends" },
	{ "view 1\npeak", "alive there, largest first: what forward ops keep for the backward pass" },
	{ "view 3\npeak", "why here? the pane tells what else could run; proved: no order needs less" },
	{ "view 2\npeak", "each tensor at its address: a hole would be fragmentation" },
	{ "view 1\nbaseline\nset recompute=selective",
		"so keep less: what is cheap is computed again. Dots: the plan before" },
	{ "view 7", "both plans beside each other: what that knob changed" },
	{ "undo\nview 3\nstep", "back again; op by op: what it makes and frees. . and , step" },
	{ "view 3\npeak", "y makes a small graph a game: order it yourself against the optimum" },
	{ "view 6", "D doubles the devices, f ranks every way to use them, space shows more" },
	{ "view 1\npeak", "that was all: c turns knobs, ? lists every key" },
};
const int tour_step_count = sizeof tour_steps / sizeof *tour_steps;
