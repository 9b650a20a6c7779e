/* tour.h: a short guided tour: commands that are run for the newcomer, each with a sentence about what is seen. */
#pragma once

struct tour_step {
	const char *commands;   /* lines of the prompt, one a line */
	const char *text;       /* fits a line of 80 columns with the step's number in front */
};
extern const struct tour_step tour_steps[];
extern const int tour_step_count;
