/* tour.c: from the peak to the knob that moves it. */
#include "app.h"

const struct tour_step tour_steps[] = {
	{ "view step\npeak", "memory over the step; the mark below is its peak. t goes on, Esc ends" },
	{ "view step\npeak", "alive there, largest first: what forward ops keep for the backward pass" },
	{ "view order\npeak", "why here? the pane tells what else could run; proved: no order needs less" },
	{ "view map\npeak", "each tensor at its address: a hole would be fragmentation" },
	{ "view step\nbaseline\nset recompute=selective",
		"so keep less: what is cheap is computed again. Dots: the plan before" },
	{ "view runs", "both plans beside each other: what that knob changed" },
	{ "undo\nview order\nstep", "back again; op by op: what it makes and frees. . and , step" },
	{ "view order\npeak", "y makes a small graph a game: order it yourself against the optimum" },
	{ "view devices", "D doubles the devices, S ranks every way to use them" },
	{ "view step\npeak", "that was all: f fits a GPU, c turns knobs, ? lists every key" },
};
const int tour_step_count = sizeof tour_steps / sizeof *tour_steps;
