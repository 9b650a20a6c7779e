/* unit_shard.c: sharding problems against brute force; certificates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/shard_walk.h"
#include "tests/common/support.h"

enum { NODES = 7, STRATEGIES = 4, EDGES = 12 };

/* A small problem in fixed arrays. */
struct sample {
	struct shard_problem problem;
	uint32_t first[NODES + 1], from[EDGES], to[EDGES];
	int64_t cost[NODES * STRATEGIES], usage[NODES * STRATEGIES], begin[NODES], end[NODES];
	size_t table[EDGES + 1];
	int64_t pair[EDGES * STRATEGIES * STRATEGIES];
};

static int64_t below(uint64_t *seed, int64_t limit)
{
	return (int64_t)(random_next(seed) % (uint64_t)limit);
}

static int64_t draw_cost(uint64_t *seed, int64_t costs, int forbidden)
{
	return below(seed, 100) < forbidden ? SHARD_FORBIDDEN * (1 + below(seed, 10)) : below(seed, costs) - costs / 8;
}

/* Every strategy of the narrower end has one partner, drawn without return; other pairs are forbidden. */
static void draw_follower(struct sample *sample, uint32_t edge, uint32_t rows, uint32_t columns, uint64_t *seed)
{
	uint32_t shift = (uint32_t)below(seed, rows + columns), most = rows > columns ? rows : columns;
	for (uint32_t p = 0; p < rows; p++)
		for (uint32_t q = 0; q < columns; q++)
			sample->pair[sample->table[edge] + p * columns + q] = (p + shift) % most == q ? below(seed, 10) : SHARD_FORBIDDEN;
}

/* kind: 0 plain, 1 with forbidden pairs, 2 without a limit, 3 with tables that are sums, 4 with nodes that follow
 * others. */
static void draw(struct sample *sample, int kind, uint64_t *seed)
{
	memset(sample, 0, sizeof *sample);
	uint32_t nodes = (uint32_t)(1 + below(seed, NODES)), edges = (uint32_t)below(seed, EDGES + 1);
	int forbidden = kind == 1 ? 20 : 0;
	sample->problem = (struct shard_problem){ .nodes = nodes,
		.edges = edges,
		.first = sample->first,
		.cost = sample->cost,
		.usage = sample->usage,
		.begin = sample->begin,
		.end = sample->end,
		.from = sample->from,
		.to = sample->to,
		.table = sample->table,
		.pair = sample->pair,
		.limit = kind == 2 ? -1 : 3 + below(seed, 12 * nodes) };
	for (uint32_t node = 0; node < nodes; node++) {
		sample->first[node + 1] = sample->first[node] + (uint32_t)(1 + below(seed, STRATEGIES));
		sample->begin[node] = below(seed, 8);
		sample->end[node] = sample->begin[node] + below(seed, 6);
		for (uint32_t i = sample->first[node]; i < sample->first[node + 1]; i++) {
			sample->cost[i] = draw_cost(seed, 40, forbidden / 2);
			sample->usage[i] = below(seed, 20);
		}
	}
	for (uint32_t edge = 0; edge < edges; edge++) {
		sample->from[edge] = (uint32_t)below(seed, nodes);
		sample->to[edge] = (uint32_t)below(seed, nodes);
		uint32_t rows = shard_strategies(&sample->problem, sample->from[edge]);
		uint32_t columns = shard_strategies(&sample->problem, sample->to[edge]);
		sample->table[edge + 1] = sample->table[edge] + (size_t)rows * columns;
		for (size_t i = sample->table[edge]; i < sample->table[edge + 1]; i++)
			sample->pair[i] = kind == 3 && edge % 2 ? (int64_t)(i - sample->table[edge]) / columns * 3
				: draw_cost(seed, 30, forbidden);
		if (kind == 4 && sample->from[edge] != sample->to[edge] && below(seed, 3) > 0)
			draw_follower(sample, edge, rows, columns, seed);
	}
}

/* The cost of a choice, INT64_MAX when it breaks a rule: moment by moment, edge by edge. */
static int64_t weigh(const struct shard_problem *problem, const uint32_t *choice)
{
	int64_t sum = 0;
	for (uint32_t node = 0; node < problem->nodes; node++) {
		int64_t cost = problem->cost[problem->first[node] + choice[node]];
		if (cost >= SHARD_FORBIDDEN)
			return INT64_MAX;
		sum += cost;
	}
	for (uint32_t edge = 0; edge < problem->edges; edge++) {
		uint32_t width = shard_strategies(problem, problem->to[edge]);
		int64_t cost = problem->pair[problem->table[edge] + choice[problem->from[edge]] * width + choice[problem->to[edge]]];
		if (cost >= SHARD_FORBIDDEN)
			return INT64_MAX;
		sum += cost;
	}
	for (int64_t time = 0; time < 16 && problem->limit >= 0; time++) {
		int64_t live = 0;
		for (uint32_t node = 0; node < problem->nodes; node++)
			if (problem->begin[node] <= time && time < problem->end[node])
				live += problem->usage[problem->first[node] + choice[node]];
		if (live > problem->limit)
			return INT64_MAX;
	}
	return sum;
}

static int64_t brute_force(const struct shard_problem *problem)
{
	uint32_t choice[NODES] = { 0 }, node;
	int64_t best = INT64_MAX;
	do {
		int64_t cost = weigh(problem, choice);
		best = cost < best ? cost : best;
		for (node = 0; node < problem->nodes && ++choice[node] == shard_strategies(problem, node); node++)
			choice[node] = 0;
	} while (node < problem->nodes);
	return best;
}

static enum status solve(const struct shard_problem *problem, uint64_t effort, struct shard_plan *plan)
{
	struct control control = { 0 };
	struct error error = { 0 };
	struct shard_options options = { .effort = effort, .walk = problem->edges % 2 ? shard_primal_walk : NULL };
	return shard_solve(problem, &options, &control, plan, &error);
}

Test(shard, small_problems_are_solved_as_brute_force_does)
{
	uint64_t seed = test_seed();
	struct sample sample;
	for (int round = 0; round < 4000; round++) {
		draw(&sample, round % 5, &seed);
		OWN(shard_plan) plan;
		struct error error = { 0 };
		int64_t best = brute_force(&sample.problem), cost, peak, bound;
		enum status status = solve(&sample.problem, SHARD_EFFORT_DEFAULT, &plan);
		if (best == INT64_MAX) {
			cr_assert_eq(status, INFEASIBLE, "SEED=%llu round %d: status %d", (unsigned long long)test_seed(), round, status);
		} else {
			cr_assert_eq(status, OK, "SEED=%llu round %d: status %d", (unsigned long long)test_seed(), round, status);
			cr_assert(plan.choice && plan.cost == best && plan.bound == best && plan.proved,
				"SEED=%llu round %d: %lld, bound %lld, not %lld", (unsigned long long)test_seed(), round,
				(long long)plan.cost, (long long)plan.bound, (long long)best);
			cr_assert_eq(weigh(&sample.problem, plan.choice), plan.cost);
			cr_assert_eq(shard_evaluate(&sample.problem, plan.choice, &cost, &peak, &error), OK, "%s", error.text);
			cr_assert(cost == plan.cost && peak == plan.peak);
			cr_assert_eq(shard_bound(&sample.problem, &plan.certificate, &(struct control){ 0 }, &bound, &error), OK, "%s", error.text);
			cr_assert_leq(bound, best, "SEED=%llu round %d", (unsigned long long)test_seed(), round);
		}
	}
}

/* A walk under any prices stays within the limit and never ends dearer; most of them end cheaper. */
Test(shard, walks_stay_within_the_limit)
{
	uint64_t seed = test_seed();
	struct sample sample;
	uint32_t walks = 0, cheaper = 0;
	for (int round = 0; round < 1000; round++) {
		struct shard_model model;
		struct shard_primal primal;
		struct control control = { 0 };
		struct error error;
		draw(&sample, round % 5, &seed);
		enum status status = shard_model_build(&model, &sample.problem, &control, &error);
		if (sample.problem.limit < 0)
			model.limit = (double)INFINITY;
		if (status == OK && shard_primal_begin(&primal, &model, &control) == OK) {
			double priced[NODES * STRATEGIES];
			for (uint32_t i = 0; i < model.first[model.nodes]; i++)
				priced[i] = model.unary[i] + (double)below(&seed, 20);
			for (uint32_t node = 0; node < model.nodes; node++)
				primal.choice[node] = (uint32_t)below(&seed, shard_width(&model, node));
			double before = shard_primal_cost(&primal);
			primal.random = seed;
			if (shard_primal_load(&primal) <= model.limit) {
				shard_primal_walk(&primal, priced, 2000);
				double after = shard_primal_cost(&primal);
				cr_assert(after <= before && shard_primal_load(&primal) <= model.limit, "SEED=%llu round %d",
					(unsigned long long)test_seed(), round);
				walks++;
				cheaper += after < before;
			}
			shard_primal_free(&primal);
		}
		shard_model_free(&model);
	}
	cr_assert(walks > 200 && cheaper > walks / 2, "%u of %u walks", cheaper, walks);
}

Test(shard, any_multipliers_and_messages_prove_a_bound_below_the_optimum)
{
	uint64_t seed = test_seed();
	struct sample sample;
	for (int round = 0; round < 2000; round++) {
		draw(&sample, round % 5, &seed);
		struct shard_plan plan;
		struct error error = { 0 };
		int64_t best = brute_force(&sample.problem), bound;
		if (best == INT64_MAX || solve(&sample.problem, 10000, &plan) > LIMIT)
			continue;
		struct shard_certificate *certificate = &plan.certificate;
		for (uint32_t i = 0; i < certificate->moments; i++)
			certificate->multiplier[i] += below(&seed, INT64_C(4) << certificate->shift);
		for (size_t i = 0; i < certificate->start[sample.problem.edges]; i++)
			certificate->message[i] += below(&seed, INT64_C(40) << certificate->shift);
		cr_assert_eq(shard_bound(&sample.problem, certificate, &(struct control){ 0 }, &bound, &error), OK, "%s", error.text);
		cr_assert_leq(bound, best, "SEED=%llu round %d", (unsigned long long)test_seed(), round);
		shard_plan_free(&plan);
	}
}

Test(shard, the_checker_refuses_what_breaks_a_rule)
{
	int64_t cost[] = { 0, 3, 5 }, usage[] = { 4, 2, 3 }, begin[] = { 0, 1 }, end[] = { 2, 3 },
			pair[] = { SHARD_FORBIDDEN, 1 };
	uint32_t first[] = { 0, 2, 3 }, from[] = { 0 }, to[] = { 1 }, choice[] = { 0, 0 };
	size_t table[] = { 0, 2 };
	struct shard_problem problem = { NULL, 2, 1, first, cost, usage, begin, end, from, to, table, pair, 6 };
	struct error error;
	int64_t sum, peak;
	cr_assert_eq(shard_evaluate(&problem, choice, &sum, &peak, &error), BAD_INPUT);
	cr_assert_str_eq(error.text, "strategies 0 of node 0 and 0 of node 1 are forbidden together");
	pair[0] = 0;
	cr_assert_eq(shard_evaluate(&problem, choice, &sum, &peak, &error), BAD_INPUT);
	cr_assert_str_eq(error.text, "7 bytes at the peak, above the limit of 6");
	choice[0] = 1;
	cr_assert_eq(shard_evaluate(&problem, choice, &sum, &peak, &error), OK);
	cr_assert(sum == 9 && peak == 5);
	int64_t multiplier[] = { -1 }, moment[] = { 1 }, message[] = { 0, 0, 0 };
	size_t start[] = { 0, 3 };
	struct shard_certificate certificate = { 0, 1, moment, multiplier, start, message };
	cr_assert_eq(shard_bound(&problem, &certificate, &(struct control){ 0 }, &sum, &error), BAD_INPUT);
	multiplier[0] = 1;
	cr_assert_eq(shard_bound(&problem, &certificate, &(struct control){ 0 }, &sum, &error), OK);
	cr_assert_eq(sum, 6, "%lld", (long long)sum);
}

Test(shard, models_and_bounds_stop)
{
	uint64_t seed = test_seed();
	atomic_bool cancel = true;
	struct control control = { .cancel = &cancel };
	struct sample sample;
	struct shard_model model;
	struct error error;
	uint32_t joined = 0;
	for (int round = 0; round < 100; round++) {
		draw(&sample, round % 5, &seed);
		struct shard_plan plan;
		struct shard_options options = { .effort = 1000000 };
		enum status status = shard_model_build(&model, &sample.problem, &(struct control){ 0 }, &error);
		bool joins = status == OK && model.bundles > 0;
		shard_model_free(&model);
		status = joins ? shard_solve(&sample.problem, &options, &(struct control){ 0 }, &plan, &error) : INFEASIBLE;
		if (status == INFEASIBLE && joins)
			shard_plan_free(&plan);
		if (status == INFEASIBLE)
			continue;
		cr_assert_eq(shard_model_build(&model, &sample.problem, &control, &error), CANCELLED);
		shard_model_free(&model);
		int64_t bound;
		cr_assert_eq(shard_bound(&sample.problem, &plan.certificate, &control, &bound, &error), CANCELLED);
		shard_plan_free(&plan);
		joined++;
	}
	cr_assert_gt(joined, 10);
}

Test(shard, the_same_effort_gives_the_same_plan)
{
	uint64_t seed = test_seed();
	struct sample sample;
	for (int round = 0; round < 50; round++) {
		draw(&sample, round % 5, &seed);
		OWN(shard_plan) one, two;
		cr_assert_eq(solve(&sample.problem, 3000, &one), solve(&sample.problem, 3000, &two));
		cr_assert(one.cost == two.cost && one.bound == two.bound && !one.choice == !two.choice);
		if (one.choice)
			cr_assert_arr_eq(one.choice, two.choice, sample.problem.nodes * sizeof *one.choice);
	}
}

Test(shard, running_out_of_memory_leaks_nothing)
{
	uint64_t seed = test_seed();
	struct sample sample;
	for (int round = 0; round < 12; round++) {
		draw(&sample, round % 5, &seed);
		EACH_REFUSAL(refused) {
			struct shard_plan plan;
			refused.status = solve(&sample.problem, 3000, &plan) == NO_MEMORY ? NO_MEMORY : OK;
			if (refused.status == OK)
				shard_plan_free(&plan);
		}
	}
}
