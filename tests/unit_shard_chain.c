/* unit_shard_chain.c: folded sharding problems against brute force and against the unfolded integer program. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "random_chain.h"
#include "solver/milp.h"
#include "support.h"

#define EFFORT UINT64_C(4000000000)

/* ---- the unfolded problem, by brute force ------------------------------------------------------------------------- */

struct brute {
	const struct shard_problem *problem;
	uint32_t choice[64];
	int64_t best, least, limit;   /* least: usage of anything allowed */
};

static int64_t add_cost(const struct brute *brute, uint32_t node)
{
	const struct shard_problem *problem = brute->problem;
	int64_t sum = problem->cost[problem->first[node] + brute->choice[node]];
	for (uint32_t edge = 0; edge < problem->edges && sum < SHARD_FORBIDDEN; edge++) {
		uint32_t from = problem->from[edge], to = problem->to[edge];
		if ((from == node && to <= node) || (to == node && from < node)) {
			int64_t cost = problem->pair[problem->table[edge] + (size_t)brute->choice[from] * shard_strategies(problem, to) + brute->choice[to]];
			sum = cost < SHARD_FORBIDDEN ? sum + cost : SHARD_FORBIDDEN;
		}
	}
	return sum < SHARD_FORBIDDEN ? sum : INT64_MAX;
}

static void enumerate(struct brute *brute, uint32_t node, int64_t cost, int64_t usage)
{
	const struct shard_problem *problem = brute->problem;
	if (node == problem->nodes) {
		brute->least = usage < brute->least ? usage : brute->least;
		if ((brute->limit < 0 || usage <= brute->limit) && cost < brute->best)
			brute->best = cost;
		return;
	}
	for (uint32_t i = 0; i < shard_strategies(problem, node); i++) {
		brute->choice[node] = i;
		int64_t more = add_cost(brute, node);
		if (more != INT64_MAX)
			enumerate(brute, node + 1, cost + more, usage + problem->usage[problem->first[node] + i]);
	}
}

static struct brute brute_force(const struct shard_chain *chain)
{
	struct shard_problem problem;
	struct error error;
	size_t start[64];
	cr_assert_eq(shard_chain_unfold(chain, &problem, start, &error), OK, "%s", error.text);
	struct brute brute = { .problem = &problem, .best = INT64_MAX, .least = INT64_MAX, .limit = chain->limit };
	enumerate(&brute, 0, 0, 0);
	shard_problem_free(&problem);
	return brute;
}

static double combinations(const struct shard_chain *chain)
{
	double product = 1;
	for (uint32_t node = 0; node < chain->nodes; node++)
		product *= pow(chain->first[node + 1] - chain->first[node], chain->segment[node] == NONE ? 1 : chain->copies[chain->segment[node]]);
	return product;
}

static enum status solve(const struct shard_chain *chain, struct chain_plan *plan)
{
	struct control control = { 0 };
	struct error error = { 0 };
	return shard_chain_solve(chain, EFFORT, &control, plan, &error);
}

static void check(const struct shard_chain *chain, int round)
{
	struct chain_plan plan;
	struct error error = { 0 };
	int64_t cost, usage;
	struct brute brute = brute_force(chain);
	enum status status = solve(chain, &plan);
	if (brute.best == INT64_MAX) {
		cr_assert_eq(status, INFEASIBLE, "SEED=%llu round %d: status %d", (unsigned long long)test_seed(), round, status);
		cr_assert_eq(plan.usage, brute.least == INT64_MAX ? -1 : brute.least, "SEED=%llu round %d: least %lld, not %lld",
			(unsigned long long)test_seed(), round, (long long)plan.usage, (long long)brute.least);
	} else {
		cr_assert(status == OK && plan.choice && plan.cost == brute.best && plan.bound == brute.best && plan.proved,
			"SEED=%llu round %d: status %d, cost %lld, bound %lld, not %lld (%s)", (unsigned long long)test_seed(), round, status,
			(long long)plan.cost, (long long)plan.bound, (long long)brute.best, plan.bound_kind ? plan.bound_kind : "");
		cr_assert_eq(shard_chain_evaluate(chain, &plan, &cost, &usage, &error), OK, "%s", error.text);
		cr_assert(cost == plan.cost && usage == plan.usage);
	}
	chain_plan_free(&plan);
}

static int64_t draw_limit(const struct shard_chain *chain, uint64_t *seed)
{
	int64_t least = 0, most = 0;
	for (uint32_t node = 0; node < chain->nodes; node++) {
		int64_t low = INT64_MAX, high = 0;
		for (uint32_t i = chain->first[node]; i < chain->first[node + 1]; i++) {
			low = chain->usage[i] < low ? chain->usage[i] : low;
			high = chain->usage[i] > high ? chain->usage[i] : high;
		}
		int64_t copies = chain->segment[node] == NONE ? 1 : chain->copies[chain->segment[node]];
		least += copies * low;
		most += copies * high;
	}
	return least - 1 + (int64_t)chain_draw(seed, (uint64_t)(most - least + 2));
}

Test(shard_chain, small_chains_are_solved_as_brute_force_does)
{
	uint64_t seed = test_seed();
	for (int round = 0; round < 2500; round++) {
		struct chain_shape shape = { .segments = round % 3, .copies = 5, .inside = 2, .outside = 3, .strategies = 3, .edges = 3,
			.forbidden = round % 4 == 3 ? 15 : 0, .costs = round % 5 ? 40 : 1000000, .usages = round % 7 ? 20 : 100000 };
		struct shard_chain chain;
		cr_assert(random_chain(&chain, &seed, &shape));
		if (round % 8)
			chain.limit = draw_limit(&chain, &seed);
		if (chain.limit >= -1 && combinations(&chain) < 20000)
			check(&chain, round);
		arena_free(&chain.arena);
	}
}
