/* assemble.h: one pass through the stages, without a choice between plans (choose.h makes it). */
#pragma once

#include "shortlist.h"
#include "transform.h"

/* What a run plans, and with what. */
struct planning {
	struct stage_context *stage;
	struct graph *input;
	const struct scenario *scenario;
	struct error *error;
};

/* Of graph and scenario. */
uint64_t plan_fingerprint(const struct graph *graph, const struct scenario *scenario);

/* Order and layout of a transformed graph; of a pipeline those of all ranks that differ. quick: by heuristics alone. A
 * new reference or NULL. */
struct plan *plan_transformed(
	const struct planning *planning, struct transformed *transformed, const struct plan_wish *wish, bool quick);
/* In every order that may be taken: adds to a list. What went wrong is the error's status. */
void plan_each_order(const struct planning *planning, struct transformed *transformed, const struct plan_wish *wish,
	bool quick, struct shortlist *list);
/* All stages. A new reference or NULL. */
struct plan *plan_once(const struct planning *planning, const struct plan_wish *wish, bool quick);
/* Adds plans in the fastest orders found to a list, and the one that they begin with: of the least peak (of a step
 * split over devices), which it takes over. foretells: of a few layers, to draw out from. What went wrong is the
 * error's status. */
void plan_fast(const struct planning *planning, struct plan *plan, bool foretells, struct shortlist *list);
/* Picoseconds of a step in an order that a few passes find, mostly within 3 % of what a search comes to; -1: none, or
 * the error's status. */
int64_t plan_glance(const struct planning *planning, const struct plan *plan);
/* What the plan that was chosen says besides: the step in the program's order, and where orders for time were sought
 * the bound on the step. OK or NO_MEMORY. O(plan). */
enum status plan_finish(struct plan *plan, const struct rules *rules);
