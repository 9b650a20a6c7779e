/* planned.h: rows of a search as plans: the knobs that give a configuration, and what its plan comes to.
 *
 * A search estimates by formulas. Its best rows are planned, so that memory and time of the two stand side by side. */
#pragma once

#include "config_search.h"
#include "src/plan/planner.h"

/* False where optimizer states wait in the host's memory: plans keep them on the devices. */
bool config_has_plan(const struct config *config);
/* Sets the knobs so that a plan has the configuration. */
void config_knobs(const struct config *config, struct scenario *scenario);
/* " --set devices=8 --set tp=2 ...": every knob that isn't at its default. Returns text. */
char *config_set_text(const struct scenario *scenario, char *text, size_t size);

#define CONFIGS_PLANNED 3    /* rows, where nobody says how many */

/* Told of the list after every row that was tried; the list is lent for the call. */
struct config_watch {
	void (*found)(void *context, const struct config_list *list);
	void *context;
};

/* Plans rows of a graph under base, in order, until so many fit or twice as many are tried, and fills in their planned.
 * One whose plan is that of another row has none. A configuration that can't be planned has the reason there. Where
 * none fits by the estimates, those that need the least are tried, and what fits counts as fitting: the list is ranked
 * anew. Rows tried are then in the order of their planned times. watch may be NULL. OK, CANCELLED or NO_MEMORY. */
enum status config_plan_best(struct planner *planner, struct graph *graph, const struct scenario *base, uint32_t wanted,
	const struct config_watch *watch, struct config_list *list, struct error *error);
