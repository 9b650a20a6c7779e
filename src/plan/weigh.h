/* weigh.h: how much memory plans keep. */
#pragma once

#include "plan.h"

/* How many of the newest of these plans, oldest first, keep at most `limit` bytes together, what they share counted
 * once; at least 1. What belongs to the graph as read isn't counted: it is there anyway. All of them when memory for
 * counting is out. O(plans). */
uint32_t plans_within(struct plan *const *plan, uint32_t plans, size_t limit);
