/* check.h: verifies a bound on the extra time from its certificate, in integers, with code that shares nothing with
 * bound.c. */
#pragma once

#include "bound.h"

/* BAD_INPUT, with the reason, where the certificate does not prove that every plan of the step whose memory stays
 * within cap takes `bound` picoseconds more (or, where it says impossible, that none exists). The class of plans is
 * bound.h's. O(step + arcs). */
enum status recompute_check(const struct recompute_input *input, int64_t cap, int64_t bound,
	const struct recompute_certificate *certificate, struct error *error);
