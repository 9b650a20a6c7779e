/* repeatable_chain.h: what every solver of chains keeps: the same plan for the same effort, and nothing leaks where
 * memory is short. */
#pragma once

#include <criterion/criterion.h>

#include "solver/chain/chain.h"
#include "support.h"

static inline void check_repeatable(
	const struct shard_chain *chain, enum status (*solve)(const struct shard_chain *chain, struct chain_plan *plan))
{
	struct chain_plan one, two;
	cr_assert_eq(solve(chain, &one), solve(chain, &two));
	cr_assert(one.cost == two.cost && one.bound == two.bound && !one.choice == !two.choice);
	if (one.choice)
		cr_assert_arr_eq(one.choice, two.choice, one.start[chain->nodes] * sizeof *one.choice);
	chain_plan_free(&one);
	chain_plan_free(&two);
	for (long n = 0;; n += 1 + n / 16) {
		long before = memory_blocks();
		memory_allow(n);
		enum status status = solve(chain, &one);
		memory_allow(-1);
		chain_plan_free(&one);
		cr_assert_eq(memory_blocks(), before, "allocation %ld", n);
		if (status != NO_MEMORY)
			break;
	}
}
