/* late_updates.h: updates that wait for reruns. */
#pragma once

#include "step.h"

/* The same order, but for updates of what an op of the forward pass reads: they move behind the last op that may ask
 * for that op to run again, and what they need from other updates with them, so that no temporary of theirs waits.
 * order: [ops]. False: out of memory. O(arcs). */
bool fit_updates_late(const struct fit_step *step, uint32_t *order);
