/* room_order.h: another order of the same ops, where the layout that is asked for is above the cap and the order isn't.
 *
 * Most layouts are rules: what they add to the peak depends on which buffers meet, so on the order. */
#pragma once

#include "stages.h"

/* An order whose arena is at most limit bytes, found by moving single ops; arena: that of the order as it is. A new
 * reference; NULL where none was found, or with the error's status. Layouts that search for themselves, and addresses
 * of files, are left alone. Effort is bounded by the number of ops, not by time. */
struct ordered *room_order(struct stage_context *stage, const struct ordered *ordered, int64_t arena,
	const struct scenario *scenario, int64_t limit, struct error *error);
