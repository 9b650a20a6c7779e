/* bound.h: the certainly-alive bound LB2. */
#pragma once

#include "model.h"

/* alive: [ops]; for each op the bytes that are live while it runs in every order: base, its workspace, and each
 * item touched by it or an op before it, and by it or an op after it. topological: any valid order.
 * O((arcs + uses) * ops / 512) time, O(ops + items) memory. CANCELLED and LIMIT leave alive incomplete. */
enum status order_bound_alive(const struct order_model *model, const uint32_t *topological,
	struct control *control, int64_t *alive);
