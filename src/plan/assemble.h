/* assemble.h: one pass through the stages, without a choice between plans (choose.h makes it). */
#pragma once

#include "plan.h"
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
/* Fills in program_time: of the plan that was chosen, as a candidate doesn't need it. OK or NO_MEMORY. O(plan). */
enum status plan_find_program_time(struct plan *plan, const struct rules *rules);
/* All stages. A new reference or NULL. */
struct plan *plan_once(const struct planning *planning, const struct plan_wish *wish, bool quick);
/* The plan in the fastest order found whose arena keeps the cap; it begins with a plan of the least peak (of a step
 * split over devices), which it takes over. foretells: of a few layers, to draw out from, with fewer tries where the
 * cap is tight. NULL with the error's status. */
struct plan *plan_fast(const struct planning *planning, struct plan *plan, bool foretells);
