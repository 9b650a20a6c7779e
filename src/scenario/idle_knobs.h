/* idle_knobs.h: knobs that are set and change nothing in their scenario. */
#ifndef TIDEMARK_SCENARIO_IDLE_KNOBS_H
#define TIDEMARK_SCENARIO_IDLE_KNOBS_H

#include "scenario.h"

/* Why the knob's value, which is not its default, has no effect: "there is no pipeline"; NULL where it has one, may have one, or is the default. Static text. */
const char *knob_idle(const struct scenario *scenario, enum knob_id knob);

#endif
