/* choose.h: the plan of a scenario: candidates, of which shortlist.h takes one. */
#pragma once

#include "assemble.h"
#include "few_layers.h"

/* What the first pass of choose_plan() wishes. */
struct plan_wish first_wish(const struct scenario *scenario);

/* The best plan of a scenario whose schedule is named: what a first pass finds, rounds that fit choices to the memory
 * cap, rivals of a sharding. rival: a plan of another schedule, which spares candidates that can't be better than it,
 * or NULL. A new reference, or NULL with the error's status. Cancelled with a plan at hand: that, limited. */
struct plan *choose_plan(const struct planning *planning, const struct plan *rival);
/* The same by heuristics alone, without rivals. */
struct plan *choose_quickly(const struct planning *planning);
/* Either of both. With recompute=auto the better one of that and of the plan that recompute=none
 * comes to, whose orders, cuts and shardings are sought for a step that keeps all: what keeps the cap so is not always
 * found on the way to what runs again. Under a search for shardings the step with all kept comes first, and where the
 * cap leaves it its fastest plan there is nothing else to look for. */
struct plan *choose_fit(const struct planning *planning, const struct plan *rival, bool quick);
