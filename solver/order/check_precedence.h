/* check_precedence.h: verifies a bound by precedences. */
#pragma once

#include "order.h"

/* OK, or BAD_INPUT with the reason. One maximum flow for each precedence: O(precedences * items * problem) at worst. */
enum status order_check_precedence(
	const struct problem *problem, const struct order_certificate *certificate, int64_t bound, struct error *error);
