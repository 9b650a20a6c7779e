/* slowdowns.h: time over memory of the step on the screen: found beside the screen, shown as far as it is there. */
#pragma once

#include "src/plan/slowdown.h"

struct slowdowns {
	bool there, finding;       /* there: the curve holds something; finding: more may come */
	struct slowdown curve;
	struct error error;
	struct slowdowns_job *job; /* under way, or NULL */
};

/* Finds the curve of a plan's step, unless it is there or on its way; another one that is on its way is given up. Out
 * of memory: the error says so. */
void slowdowns_find(struct slowdowns *slowdowns, const struct plan *plan, const char *rules_file);
/* Takes what is there by now. */
const struct slowdowns *slowdowns_look(struct slowdowns *slowdowns);
bool slowdowns_cancel(struct slowdowns *slowdowns);
bool slowdowns_pending(const struct slowdowns *slowdowns);
void slowdowns_wait(struct slowdowns *slowdowns);
void slowdowns_free(struct slowdowns *slowdowns);
