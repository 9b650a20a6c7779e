/* strides.h: how tensors lie in memory, and which views therefore need a copy. */
#pragma once

#include "rules.h"

/* Follows strides through the graph at its own extents and at others.
 * dim_start: [tensors + 1]; shape: [dims] the other extents. copied: [ops], set where a view is possible at the
 * graph's extents but not at the others. OK or NO_MEMORY. O(dims). */
enum status strides_find_copies(const struct graph *graph, const struct rules *rules, const uint32_t *dim_start,
	const int64_t *shape, bool *copied);
