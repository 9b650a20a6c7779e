/* planned.h: recomputation chosen by what order and layout make of it. */
#pragma once

#include "stage.h"

/* Orders and layouts that add much to the peak bring a choice that fits by its replay above the cap, and one that
 * doesn't below it. So what published strategies choose, and cuts for a row of caps, are ordered and laid out as the
 * scenario asks; the fastest of them that keeps the cap is taken where it is faster than the graph, which is given up
 * then, or where nothing fits the cap less the margin. Where that leaves nothing of the cap, the least memory is taken
 * of the graph, of the lowest ones and of the step that keeps all. Not of a device's graph: what stands beside its
 * arena, gathered ahead or buffers of groups, is known of plans alone. fitted: of the graph; becomes that of the
 * result, with the bound under the whole cap. NULL with *error. */
struct graph *fit_planned(struct stage_context *stage, const struct scenario *scenario,
	const struct activations *activations, int64_t margin, struct graph *graph, struct fitted *fitted,
	struct error *error);

/* The choice of the least peak, whatever the cap, as the plan's, with its extra time; the bound stays. solver: of the
 * step. OK, CANCELLED or NO_MEMORY. */
enum status fit_planned_least(struct stage_context *stage, const struct scenario *scenario, struct fitted *fitted,
	const struct fit_options *options, struct fit_solver *solver, struct fit_plan *plan);
