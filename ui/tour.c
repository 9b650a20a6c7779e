/* tour.c: from the peak to the knob that moves it. */
#include "tour.h"

const struct tour_step tour_steps[] = {
	{ "view 1\npeak", "memory over the step; the mark below is its peak. t goes on, Esc ends" },
	{ "view 1\npeak", "below: what is alive there, and why. Up and down select a tensor" },
	{ "view 2\npeak", "each tensor at its address; a hole would be fragmentation" },
	{ "view 1\nbaseline\nset recompute=full", "activations computed again, not kept; dots: the plan before, pinned" },
	{ "view 7", "both plans beside each other: what the knob changed" },
	{ "undo\nview 3\nstep", "op by op: what could run, what it needs, why this one. . and , step" },
	{ "view 1\npeak", "that was all: c turns knobs, ? lists every key" },
};
const int tour_step_count = sizeof tour_steps / sizeof *tour_steps;
