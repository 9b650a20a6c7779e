/* fit_most_command.h: `tidemark fit --max` and `--smallest-device`. */
#pragma once

#include "fit_check.h"

struct most_request {
	struct fit_asked asked;    /* most: --max; KNOB_COUNT: --smallest-device */
	bool json;
	const char *path, *output;
};

/* Plans and writes the answer: an exit status. A failure is said on standard error. */
int fit_most_serve(
	const struct most_request *request, struct planner *planner, struct graph *graph, const struct scenario *scenario);
/* The same as JSON to a stream. INFEASIBLE where nothing fits, and written all the same; what planning says; NO_MEMORY.
 */
enum status fit_most_write_json(const struct fit_asked *asked, struct planner *planner, struct graph *graph,
	const struct scenario *scenario, FILE *stream, struct error *error);
