/* idle_knobs.h: knobs that change nothing in their scenario. */
#pragma once

#include "scenario.h"

/* Why it doesn't matter what the knob is set to: "there is no pipeline"; NULL where it does, or may. Where the knob's
 * own value is the reason, of that value. Static text. */
const char *knob_idle(const struct scenario *scenario, int knob);
