/* fit_check.h: what was asked of `tidemark fit`, as its JSON says it, and the check of such a file. */
#pragma once

#include "src/base/json.h"
#include "src/configs/fit_list.h"

/* Beside the scenario. */
struct fit_asked {
	int64_t devices;   /* the most that changes may use */
	bool smallest;     /* --smallest-device */
	int most; /* --max; KNOB_COUNT: not asked for */
};

/* Member "asked": the knobs that are not as they are by default, as --set takes them, pins, and the rest. */
void fit_write_asked(struct json *json, const struct scenario *scenario, const struct fit_asked *asked);
/* The object of --json. */
void fit_write_json(
	FILE *file, const struct scenario *scenario, const struct fit_asked *asked, const struct fit_list *list);

/* Whether a file has the members of one. */
bool fit_is_file(const json_t *file);
/* Verifies such a file of a graph that path gave: every sum and verdict is derived from the bytes and times beside it;
 * then all changes are planned again, and every member is compared. That asks the planner itself, and the report says
 * so. numbers: nothing is planned. OK; INFEASIBLE; BAD_INPUT; NO_MEMORY. */
enum status fit_check_file(struct graph *graph, const char *path, const json_t *file, const char *rules_file,
	bool numbers, FILE *report, struct error *error);

/* fit_most_command: `tidemark fit --max` and `--smallest-device`. */

struct most_request {
	struct fit_asked asked; /* most: --max; KNOB_COUNT: --smallest-device */
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
