/* choose_schedule.h: schedule=auto: the best of the plans of the named schedules. */
#pragma once

#include "choose.h"

/* The step is cut over pipeline ranks, and their schedule is to be found. */
bool has_free_schedule(const struct scenario *scenario);

/* The plan of the fastest step that keeps the cap among those that choose_plan() finds for every named schedule, of the
 * interleaved one with the numbers of pieces that searches try (of more than 4 the fastest; plans of heuristics have up
 * to 4) unless the knob says how many; where none keeps it, the one that needs least. So it is no worse than any of
 * these by name. The fastest is planned first, and others are left out where they can't be better: without a search for
 * shardings, those whose step takes as long, and those that heuristics find a quarter above the cap. quick: plans of
 * heuristics alone. The plan's scenario is the one asked for. A new reference, or NULL with the error's status. */
struct plan *choose_schedule(const struct planning *planning, bool quick);
