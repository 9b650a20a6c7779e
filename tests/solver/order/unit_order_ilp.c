/* unit_order_ilp.c: the exact search and the integer program, which share nothing, agree on small problems. */
#include "tests/common/order_ilp.h"
#include "solver/order/job.h"
#include "tests/common/random_problem.h"
#include "tests/common/support.h"

/* The whole problem with its ops numbered in program order. */
static void renumber(const struct problem *problem, struct arena *arena, struct order_window *window)
{
	struct order_model model;
	uint32_t ops = problem->ops;
	uint32_t *position = arena_alloc(arena, ops, sizeof *position),
			 *count = arena_alloc(arena, problem->items, sizeof *count);
	int64_t *live = arena_alloc(arena, ops, sizeof *live);
	cr_assert_eq(order_model_of(problem, arena, &model), OK);
	order_profile(&model, problem->program, count, live);
	for (uint32_t i = 0; i < ops; i++)
		position[problem->program[i]] = i;
	cr_assert_eq(order_window_cut(window, &model, problem->program, position, live, 0, ops), OK);
}

Test(order_ilp, agrees_with_the_exact_search_up_to_15_ops)
{
	uint32_t compared = 0;
	for (uint64_t round = 0; round < 40; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		OWN(arena) arena = { 0 };
		struct order_window window;
		uint32_t ops = 6 + random_below(&state, 10);
		cr_assert(random_problem(&state, ops, &problem));
		renumber(&problem, &arena, &window);
		uint32_t order[16], states, count[64];
		int64_t live[16], bound = 0,
						  high = order_profile(&window.model,
							  (uint32_t[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }, count, live);
		struct order_search_limits limits = { 1000000, 10000000 };
		struct control control = { 0 };
		cr_assert_eq(order_search_least(&window.model, INT64_MAX - 1, &limits, &control, order, &bound, &states), OK);
		cr_assert_eq(order_profile(&window.model, order, count, live), bound);
		cr_assert_leq(bound, high);

		struct milp_limits effort = { .nodes = 300 };
		bool found;
		enum status status = order_ilp_prefix(&window.model, high, &effort, &control, order, &found);
		cr_assert_neq(status, INFEASIBLE, "seed %lu: the integer program has no solution", seed);
		if (found)
			cr_assert_geq(order_profile(&window.model, order, count, live), bound, "seed %lu", seed);
		if (status == OK) {
			cr_assert_eq(order_profile(&window.model, order, count, live), bound, "seed %lu: GLPK found another optimum", seed);
			compared++;
		}
		order_window_free(&window);
	}
	cr_assert_geq(compared, 25, "only %u of 40 were solved by GLPK", compared);
}
