/* search.h: exact search for an order that stays within a threshold. */
#pragma once

#include "model.h"

struct order_search_limits {
	uint32_t states;           /* distinct states kept, at most */
	uint64_t moves;            /* ops kept on the ways between them, at most */
};

/* Looks for an order of which no live bytes exceed the threshold. OK: found, in order [ops]. INFEASIBLE: none exists,
 * and *bound is a threshold below which that stays so: every order peaks at *bound or more. LIMIT: unknown. CANCELLED.
 * *states: how many were visited. Depth first over downsets, with safe moves (T3) and safe runs (T4); a state is
 * known by a 128-bit hash of its ops. Memory is bounded by limits, time is exponential in general. */
enum status order_search_within(const struct order_model *model, int64_t threshold,
	const struct order_search_limits *limits, struct control *control, uint32_t *order, int64_t *bound,
	uint32_t *states);

/* The least peak: thresholds from `bound`, a lower bound, upwards, reusing what was searched. OK: order has the least
 * peak, *bound. LIMIT: *bound is still a lower bound, raised as far as was proved; stops above `ceiling` as well
 * (INFEASIBLE: every order peaks at *bound > ceiling). */
enum status order_search_least(const struct order_model *model, int64_t ceiling,
	const struct order_search_limits *limits, struct control *control, uint32_t *order, int64_t *bound,
	uint32_t *states);
