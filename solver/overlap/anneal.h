/* anneal.h: an order for time, changed at random: ops one by one, also to slower orders for a while (simulated
 * annealing, Kirkpatrick et al. 1983). */
#pragma once

#include "play.h"

struct anneal_effort {
	uint64_t plays;            /* of the step */
	int64_t hot, bound;        /* picoseconds: the first temperature; no order is faster */
	struct control *control;   /* may stop it */
};

/* From an order that keeps the request's limit. order: [ops], the fastest on the way, which keeps the limit. OK, also
 * where it was stopped, or NO_MEMORY. O(plays * (nodes log nodes + dependencies)). */
enum status overlap_anneal(struct lineup *line, struct play *play, const struct anneal_effort *effort, uint32_t *order);
