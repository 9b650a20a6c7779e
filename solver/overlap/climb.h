/* climb.h: orders for time under one limit after the other.
 *
 * What keeps a limit keeps any larger one. So limits are taken upwards, each search begins with what the one below
 * found, and where the limits lie doesn't depend on the cap: a larger cap tries all that a smaller one tries, in the
 * same way, and more. No step is slower for more memory then. */
#pragma once

#include "overlap.h"

#define CLIMB_RUNGS 16

struct overlap_climb {
	uint32_t count;
	struct overlap_result
		found[2 * CLIMB_RUNGS + 3]; /* the slowest first, no two as fast. The faster ones need more memory, as a rule */
};

/* All orders found that keep the request's limit, the cap: what is laid out may need more than its peak, and how much
 * more differs. request->ticks is the effort of all passes, request->moves that of the changes under each limit; the
 * first start is the one with the least peak. OK; INFEASIBLE where it is above the cap; CANCELLED with what was found
 * so far; NO_MEMORY. Free it in any case. */
enum status overlap_climb_orders(
	const struct overlap_request *request, struct control *control, struct overlap_climb *climb);
void overlap_climb_free(struct overlap_climb *climb);
