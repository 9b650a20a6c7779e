/* order_valid.h: whether an order is one of a problem's ops. */
#pragma once

#include "solver/graph/problem.h"

/* True when order is a permutation of the ops that keeps every dependency. NO_MEMORY counts as false. */
static inline bool problem_order_valid(const struct problem *problem, const uint32_t *order)
{
	HELD bool *done = mem_alloc(problem->ops, sizeof *done);
	bool valid = done != NULL;
	for (uint32_t position = 0; position < problem->ops && valid; position++) {
		uint32_t op = order[position];
		valid = op < problem->ops && !done[op];
		for (uint32_t i = 0; valid && i < csr_length(&problem->pred, op); i++)
			valid = done[problem->pred.item[problem->pred.start[op] + i]];
		if (valid)
			done[op] = true;
	}
	return valid;
}
