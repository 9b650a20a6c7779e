/* unit_milp.c: the interface to GLPK. */
#include <math.h>

#include "solver/base/milp.h"
#include "tests/common/support.h"

#define ITEMS 10

/* Choose items of at least `least` weight at the least cost: value against all subsets. */
static void knapsack(struct milp *milp, uint64_t seed, double least, double *cost, double *weight)
{
	uint64_t state = seed;
	for (int i = 0; i < ITEMS; i++) {
		cost[i] = (double)(1 + random_next(&state) % 50);
		weight[i] = (double)(1 + random_next(&state) % 50);
		milp_add_column(milp, 0, 1, cost[i], true);
	}
	milp_add_row(milp, least, INFINITY);
	for (uint32_t i = 0; i < ITEMS; i++)
		milp_add_entry(milp, i, weight[i]);
}

Test(milp, finds_the_cheapest_subset_or_that_there_is_none)
{
	for (uint64_t seed = test_seed(); seed < test_seed() + 50; seed++) {
		OWN(milp) milp = { 0 };
		struct milp_limits limits = { 0 };
		OWN(milp_solution) solution;
		struct control control = { 0 };
		double cost[ITEMS], weight[ITEMS], least = (double)(seed % 400), best = INFINITY;
		knapsack(&milp, seed, least, cost, weight);
		for (uint32_t set = 0; set < 1u << ITEMS; set++) {
			double spent = 0, carried = 0;
			for (int i = 0; i < ITEMS; i++)
				if (set >> i & 1) {
					spent += cost[i];
					carried += weight[i];
				}
			best = carried >= least && spent < best ? spent : best;
		}
		enum status status = milp_solve(&milp, &limits, &control, &solution);
		cr_assert_eq(status, isinf(best) ? INFEASIBLE : OK, "seed %lu", seed);
		if (status == OK)
			cr_assert_float_eq(solution.cost, best, 1e-6, "seed %lu", seed);
	}
}

Test(milp, every_failed_allocation_is_reported_and_nothing_leaks)
{
	long before = memory_blocks();
	enum status status = NO_MEMORY;
	for (long n = 0; status == NO_MEMORY; n++) {
		struct milp milp = { 0 };
		struct milp_limits limits = { 0 };
		struct milp_solution solution;
		struct control control = { 0 };
		double cost[ITEMS], weight[ITEMS];
		memory_allow(n);
		knapsack(&milp, 7, 100, cost, weight);
		status = milp_solve(&milp, &limits, &control, &solution);
		memory_allow(-1);
		milp_solution_free(&solution);
		milp_free(&milp);
		cr_assert_eq(memory_blocks(), before, "a leak after %ld allocations", n);
	}
	cr_assert_eq(status, OK);
}

Test(milp, stops_when_it_is_cancelled)
{
	OWN(milp) milp = { 0 };
	struct milp_limits limits = { 0 };
	OWN(milp_solution) solution;
	atomic_bool cancel = true;
	struct control control = { .cancel = &cancel };
	double cost[ITEMS], weight[ITEMS];
	knapsack(&milp, 7, 100, cost, weight);
	cr_assert_eq(milp_solve(&milp, &limits, &control, &solution), CANCELLED);
}
