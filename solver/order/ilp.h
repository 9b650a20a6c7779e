/* ilp.h: ordering as an integer program. */
#pragma once

#include "solver/base/milp.h"
#include "model.h"

/* The least peak by the prefix model: x[v, t] = "v has run by step t". For leaves of up to about 20 ops.
 * The model's ops must be numbered in a valid order (those of a window are). high: a peak that is known to be
 * reachable. OK: order [ops] is optimal as far as floating point can tell; LIMIT: order holds the best found if
 * *found; INFEASIBLE: nothing is better than high. */
enum status order_ilp_prefix(const struct order_model *model, int64_t high, const struct milp_limits *limits,
	struct control *control, uint32_t *order, bool *found);
