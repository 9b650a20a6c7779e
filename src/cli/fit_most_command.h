/* fit_most_command.h: `tidemark fit --max` and `--smallest-device`. */
#ifndef TIDEMARK_CLI_FIT_MOST_COMMAND_H
#define TIDEMARK_CLI_FIT_MOST_COMMAND_H

#include "src/plan/planner.h"

struct most_request {
	enum knob_id knob;         /* K_batch or K_seq: --max; KNOB_COUNT: --smallest-device */
	bool json;
	const char *path, *output;
};

/* Plans and writes the answer: an exit status. A failure is said on standard error. */
int fit_most_serve(const struct most_request *request, struct planner *planner, struct graph *graph, const struct scenario *scenario);

#endif
