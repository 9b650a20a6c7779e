/* ways.h: what would make the step fit its memory cap: the list of `tidemark fit`, planned beside the screen, row by
 * row. */
#pragma once

#include "src/configs/fit_list.h"

struct ways {
	uint64_t fingerprint;          /* of the plan that was asked about */
	bool finding;                  /* more rows may come */
	struct fit_list list;          /* as far as it is there */
	struct error error;
	struct ways_job *job;          /* under way, or NULL */
};

/* Plans changes of the plan's scenario that may fit its cap; what was being planned before is given up. Out of memory:
 * the error says so. */
void ways_find(struct ways *ways, const struct plan *plan, const char *rules_file);
/* Takes the rows that are there by now. */
const struct ways *ways_look(struct ways *ways);
/* Gives up what is under way; false where there is nothing. */
bool ways_cancel(struct ways *ways);
bool ways_pending(const struct ways *ways);
void ways_wait(struct ways *ways);
void ways_free(struct ways *ways);
