/* unit_shard_chain_rough.c: runs of copies, and what a local search and multipliers over them say, against the exact
 * solver. */
#include <string.h>

#include "solver/chain/search.h"
#include "tests/common/random_chain.h"
#include "tests/common/repeatable_chain.h"
#include "tests/common/support.h"

#define EFFORT UINT64_C(3000000)
#define SEED (unsigned long long)test_seed()

static const struct chain_shape small = {
	.segments = 1, .copies = 9, .inside = 4, .outside = 3, .strategies = 4, .edges = 2, .costs = 100000, .usages = 100
};

static enum status solve(const struct shard_chain *chain, struct chain_plan *plan)
{
	struct control control = { 0 };
	struct error error = { 0 };
	return shard_chain_solve(chain, UINT64_C(4000000000), &control, plan, &error);
}

static enum status solve_roughly(const struct shard_chain *chain, struct chain_plan *plan)
{
	struct control control = { 0 };
	struct error error = { 0 };
	return shard_chain_rough(chain, EFFORT, true, &control, plan, &error);
}

static int64_t most_usage(const struct shard_chain *chain)
{
	int64_t sum = 0;
	for (uint32_t node = 0; node < chain->nodes; node++) {
		int64_t most = 0;
		for (uint32_t i = chain->first[node]; i < chain->first[node + 1]; i++)
			most = chain->usage[i] > most ? chain->usage[i] : most;
		sum += most * (chain->segment[node] == NONE ? 1 : chain->copies[chain->segment[node]]);
	}
	return sum;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* A random choice of the runs, and of all copies alike. */
static void draw_choices(const struct shard_chain *chain, const struct chain_runs *runs, uint64_t *seed,
	uint32_t *choice, struct chain_plan *plan)
{
	uint32_t copy = 0;
	for (uint32_t node = 0; node < chain->nodes; node++) {
		uint32_t copies = chain->segment[node] == NONE ? 1 : chain->copies[chain->segment[node]];
		for (size_t run = runs->start[node]; run < runs->start[node + 1]; run++) {
			uint32_t end = run + 1 < runs->start[node + 1] ? runs->begin[run + 1] : copies;
			choice[run] = chain_draw(seed, chain->first[node + 1] - chain->first[node]);
			for (uint32_t k = runs->begin[run]; k < end; k++)
				plan->choice[copy++] = choice[run];
		}
		plan->start[node + 1] = copy;
	}
}

Test(shard_chain_rough, runs_cost_what_their_copies_do)
{
	uint64_t seed = test_seed();
	int allowed = 0;
	for (int round = 0; round < 400; round++) {
		struct chain_shape shape = small;
		shape.segments = 1 + (uint32_t)round % 2;
		shape.forbidden = round % 3 == 0 ? 5 : 0;
		struct shard_chain chain;
		struct chain_runs runs;
		struct error error;
		uint32_t choice[128], of_copy[512];
		size_t start[32] = { 0 };
		struct chain_plan plan = { .start = start, .choice = of_copy };
		int64_t cost, usage, of_runs, peak;
		cr_assert(random_chain(&chain, &seed, &shape));
		cr_assert_eq(chain_runs_write(&chain, STEPS_ALIKE, 1 + (uint32_t)round % 3, NULL, 1 << 20, &runs), OK);
		cr_assert_eq(shard_problem_valid(&runs.problem, &error), OK, "%s", error.text);
		draw_choices(&chain, &runs, &seed, choice, &plan);
		enum status status = shard_chain_evaluate(&chain, &plan, &cost, &usage, &error);
		cr_assert_eq(shard_evaluate(&runs.problem, choice, &of_runs, &peak, &error), status, "SEED=%llu round %d: %s",
			SEED, round, error.text);
		if (status == OK)
			cr_assert(cost == of_runs && usage == peak, "SEED=%llu round %d: %lld, not %lld", SEED, round,
				(long long)of_runs, (long long)cost);
		allowed += status == OK;
		bool pairs = runs.problem.edges > 0;
		chain_runs_free(&runs);
		cr_assert_eq(chain_runs_write(&chain, STEPS_TIED, 1, NULL, 0, &runs), pairs ? LIMIT : OK);
		chain_runs_free(&runs);
		arena_free(&chain.arena);
	}
	cr_assert_gt(allowed, 200);
}

/* Whatever the potentials: what the chain's best plan costs, its copies and twins cost, too. */
Test(shard_chain_rough, no_potentials_make_the_cut_chain_dearer)
{
	uint64_t seed = test_seed();
	int cut = 0;
	for (int round = 0; round < 300; round++) {
		struct chain_shape shape = small;
		shape.copies = 7;
		shape.inside = 3;
		shape.strategies = 3;
		struct shard_chain chain;
		struct chain_runs runs;
		struct chain_plan best;
		struct shard_plan found;
		struct error error;
		struct control control = { 0 };
		struct shard_options options = { .effort = EFFORT };
		int64_t potential[128];
		cr_assert(random_chain(&chain, &seed, &shape));
		for (uint32_t i = 0; i < chain.first[chain.nodes]; i++)
			potential[i] = (int64_t)chain_draw(&seed, 200000) - 100000;
		enum status priced = solve(&chain, &best);
		cr_assert(priced == OK || priced == LIMIT);
		cr_assert_eq(chain_runs_write(&chain, STEPS_CUT, 1, potential, 1 << 20, &runs), OK);
		enum status status = shard_solve(&runs.problem, &options, &control, &found, &error);
		cr_assert(status == OK || status == LIMIT);
		cr_assert_leq(found.bound, best.cost, "SEED=%llu round %d: %lld, above %lld", SEED, round,
			(long long)found.bound, (long long)best.cost);
		cut += !runs.whole;
		shard_plan_free(&found);
		chain_plan_free(&best);
		chain_runs_free(&runs);
		arena_free(&chain.arena);
	}
	cr_assert_gt(cut, 100);
}

/* ---- plans and bounds ------------------------------------------------------------------------ */

/* Adds up how far plan and bound are from the optimum. */
static void check(const struct shard_chain *chain, int round, double *dearer, double *lower, double *sum)
{
	OWN(chain_plan) exact, rough;
	struct error error;
	int64_t cost, usage;
	enum status status = solve(chain, &exact), roughly = solve_roughly(chain, &rough);
	cr_assert(status == OK || status == LIMIT || status == INFEASIBLE);
	if (status == INFEASIBLE) {
		cr_assert(roughly == INFEASIBLE || (roughly == LIMIT && !rough.choice), "SEED=%llu round %d: %d", SEED, round,
			roughly);
	} else {
		cr_assert(roughly == OK || roughly == LIMIT, "SEED=%llu round %d: %d", SEED, round, roughly);
		cr_assert(!rough.bound_kind || rough.bound <= exact.cost, "SEED=%llu round %d: %lld, above %lld", SEED, round,
			(long long)rough.bound, (long long)exact.cost);
		cr_assert_eq(rough.proved, roughly == OK);
	}
	if (exact.choice && rough.choice) {
		cr_assert_eq(shard_chain_evaluate(chain, &rough, &cost, &usage, &error), OK, "%s", error.text);
		cr_assert(
			cost == rough.cost && usage == rough.usage && cost >= exact.bound && (!rough.proved || cost <= exact.cost),
			"SEED=%llu round %d", SEED, round);
		*dearer += (double)(cost - exact.cost);
		*lower += (double)(exact.cost - rough.bound);
		enum status joined = chain_plan_join(&rough, &exact);
		cr_assert(joined == (rough.proved ? OK : LIMIT) && rough.bound <= rough.cost && rough.cost <= cost &&
			rough.bound >= exact.bound && shard_chain_evaluate(chain, &rough, &cost, &usage, &error) == OK &&
			cost == rough.cost, "SEED=%llu round %d", SEED, round);
		*sum += (double)exact.cost;
	}
}

Test(shard_chain_rough, plans_and_bounds_enclose_the_optimum)
{
	uint64_t seed = test_seed();
	double dearer = 0, lower = 0, sum = 0;
	for (int round = 0; round < 400; round++) {
		struct chain_shape shape = small;
		struct shard_chain chain;
		shape.segments = (uint32_t)round % 3;
		shape.forbidden = round % 4 == 3 ? 8 : 0;
		cr_assert(random_chain(&chain, &seed, &shape));
		if (round % 10 == 4 && chain.segments > 0)
			chain.copies[0] = 1000;
		if (round % 2)
			chain.limit = most_usage(&chain) / 8 * (int64_t)chain_draw(&seed, 8);
		check(&chain, round, &dearer, &lower, &sum);
		arena_free(&chain.arena);
	}
	/* Random layers gain from differing copies more than layers of models do; that isn't more where there are a
	 * thousand. */
	cr_assert_lt(dearer, 0.3 * sum, "SEED=%llu: plans %.3f of the optimum above it", SEED, dearer / sum);
	cr_assert_lt(lower, 0.1 * sum, "SEED=%llu: bounds %.3f of the optimum below it", SEED, lower / sum);
}

Test(shard_chain_rough, the_same_effort_gives_the_same_plan_and_no_memory_leaks_nothing)
{
	uint64_t seed = test_seed();
	for (int round = 0; round < 4; round++) {
		struct chain_shape shape = small;
		struct shard_chain chain;
		cr_assert(random_chain(&chain, &seed, &shape));
		chain.copies[0] = 6;
		chain.limit = round % 2 ? most_usage(&chain) / 2 : -1;
		check_repeatable(&chain, solve_roughly);
		arena_free(&chain.arena);
	}
}
