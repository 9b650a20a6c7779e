/* idle.h: knobs that change nothing in a plan: by its scenario, and by what its graph and its mesh have. */
#pragma once

#include "plan.h"

/* Why no value of the knob would change the plan: "no op has scratch memory"; NULL where one does or may. Static text.
 * O(ops). */
const char *plan_knob_idle(const struct plan *plan, enum knob_id knob);
