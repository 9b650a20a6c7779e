/* unit_shard_chain.c: folded sharding problems against brute force and against the unfolded integer program. */
#include <math.h>

#include "tests/common/random_chain.h"
#include "tests/common/repeatable_chain.h"
#include "solver/base/milp.h"
#include "tests/common/support.h"
#include "tests/common/unfold_chain.h"

#define EFFORT UINT64_C(4000000000)

/* ---- the unfolded problem, by brute force ---------------------------------------------------- */

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
			int64_t cost = problem->pair[problem->table[edge] +
				(size_t)brute->choice[from] * shard_strategies(problem, to) + brute->choice[to]];
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
	OWN(shard_problem) problem;
	struct error error;
	size_t start[64];
	cr_assert_eq(shard_chain_unfold(chain, &problem, start, &error), OK, "%s", error.text);
	struct brute brute = { .problem = &problem, .best = INT64_MAX, .least = INT64_MAX, .limit = chain->limit };
	enumerate(&brute, 0, 0, 0);
	return brute;
}

static double combinations(const struct shard_chain *chain)
{
	double product = 1;
	for (uint32_t node = 0; node < chain->nodes; node++)
		product *= pow(chain->first[node + 1] - chain->first[node],
			chain->segment[node] == NONE ? 1 : chain->copies[chain->segment[node]]);
	return product;
}

static enum status solve_within(const struct shard_chain *chain, uint64_t effort, struct chain_plan *plan)
{
	struct control control = { 0 };
	struct error error = { 0 };
	return shard_chain_solve(chain, effort, &control, plan, &error);
}

static enum status solve(const struct shard_chain *chain, struct chain_plan *plan)
{
	return solve_within(chain, EFFORT, plan);
}

/* The plan's price shows what it says, any other one no more than the optimum; without usage's part it is the optimum
 * without a limit. */
static void check_price(const struct shard_chain *chain, const struct chain_plan *plan, int64_t best, int round)
{
	struct error error = { 0 };
	int64_t bound;
	cr_assert_gt(plan->alpha, 0);
	cr_assert_eq(shard_chain_bound(chain, plan->alpha, plan->beta, &bound, &error), OK, "%s", error.text);
	cr_assert(bound == plan->priced && bound <= best,
		"SEED=%llu round %d: price %lld / %lld shows %lld, not %lld; the optimum is %lld",
		(unsigned long long)test_seed(), round, (long long)plan->beta, (long long)plan->alpha, (long long)bound,
		(long long)plan->priced, (long long)best);
	if (chain->limit < 0)
		cr_assert_eq(bound, best);
	else
		cr_assert(shard_chain_bound(chain, 1 + round % 9, round % 50, &bound, &error) == OK && bound <= best);
	cr_assert_eq(shard_chain_bound(chain, 0, 1, &bound, &error), BAD_INPUT);
	cr_assert_eq(shard_chain_bound(chain, 1, -1, &bound, &error), BAD_INPUT);
}

/* Without a limit the plan is the optimum, with one plan and bound enclose it. */
static bool encloses(
	const struct shard_chain *chain, enum status status, const struct chain_plan *plan, int64_t best)
{
	bool whole = plan->choice && plan->bound <= best && best <= plan->cost && plan->proved == (plan->bound == plan->cost);
	return whole && (plan->proved ? status == OK : status == LIMIT && chain->limit >= 0);
}

static void check(const struct shard_chain *chain, int round)
{
	OWN(chain_plan) plan;
	struct error error = { 0 };
	int64_t cost, usage;
	struct brute brute = brute_force(chain);
	enum status status = solve(chain, &plan);
	if (brute.best == INT64_MAX) {
		cr_assert_eq(status, INFEASIBLE, "SEED=%llu round %d: status %d", (unsigned long long)test_seed(), round, status);
		cr_assert_eq(plan.usage, brute.least == INT64_MAX ? -1 : brute.least, "SEED=%llu round %d: least %lld, not %lld",
			(unsigned long long)test_seed(), round, (long long)plan.usage, (long long)brute.least);
	} else {
		cr_assert(encloses(chain, status, &plan, brute.best),
			"SEED=%llu round %d: status %d, cost %lld, bound %lld, not %lld (%s)", (unsigned long long)test_seed(),
			round, status, (long long)plan.cost, (long long)plan.bound, (long long)brute.best,
			plan.bound_kind ? plan.bound_kind : "");
		cr_assert_eq(shard_chain_evaluate(chain, &plan, &cost, &usage, &error), OK, "%s", error.text);
		cr_assert(cost == plan.cost && usage == plan.usage);
		check_price(chain, &plan, brute.best, round);
	}
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
		struct chain_shape shape = { .segments = round % 3,
			.copies = 5,
			.inside = 2,
			.outside = 3,
			.strategies = 3,
			.edges = 3,
			.forbidden = round % 4 == 3 ? 15 : 0,
			.costs = round % 5 ? 40 : 1000000,
			.usages = round % 7 ? 20 : 100000 };
		struct shard_chain chain;
		cr_assert(random_chain(&chain, &seed, &shape));
		if (round % 8)
			chain.limit = draw_limit(&chain, &seed);
		if (chain.limit >= -1 && combinations(&chain) < 20000)
			check(&chain, round);
		arena_free(&chain.arena);
	}
}

/* ---- the unfolded problem, by an integer program --------------------------------------------- */

/* One choice per node, one pair per edge (the local polytope with binary nodes). NAN: infeasible. */
static double unfolded_optimum(const struct shard_problem *problem)
{
	OWN(milp) milp = { 0 };
	struct control control = { 0 };
	for (uint32_t i = 0; i < problem->first[problem->nodes]; i++)
		milp_add_column(&milp, 0, problem->cost[i] < SHARD_FORBIDDEN,
			problem->cost[i] < SHARD_FORBIDDEN ? (double)problem->cost[i] : 0, true);
	for (uint32_t node = 0; node < problem->nodes; node++) {
		milp_add_row(&milp, 1, 1);
		for (uint32_t i = problem->first[node]; i < problem->first[node + 1]; i++)
			milp_add_entry(&milp, i, 1);
	}
	for (uint32_t edge = 0; edge < problem->edges; edge++) {
		uint32_t from = problem->from[edge], to = problem->to[edge], rows = shard_strategies(problem, from),
				 columns = shard_strategies(problem, to);
		uint32_t first = milp.columns;
		for (uint32_t i = 0; i < rows * columns; i++) {
			int64_t cost = problem->pair[problem->table[edge] + i];
			bool loop = from == to && i / columns != i % columns;
			milp_add_column(&milp, 0, cost < SHARD_FORBIDDEN && !loop, cost < SHARD_FORBIDDEN ? (double)cost : 0, false);
		}
		for (uint32_t p = 0; p < rows; p++) {
			milp_add_row(&milp, 0, 0);
			milp_add_entry(&milp, problem->first[from] + p, -1);
			for (uint32_t q = 0; q < columns; q++)
				milp_add_entry(&milp, first + p * columns + q, 1);
		}
		for (uint32_t q = 0; q < columns; q++) {
			milp_add_row(&milp, 0, 0);
			milp_add_entry(&milp, problem->first[to] + q, -1);
			for (uint32_t p = 0; p < rows; p++)
				milp_add_entry(&milp, first + p * columns + q, 1);
		}
	}
	if (problem->limit >= 0) {
		milp_add_row(&milp, -(double)INFINITY, (double)problem->limit);
		for (uint32_t i = 0; i < problem->first[problem->nodes]; i++)
			if (problem->usage[i])
				milp_add_entry(&milp, i, (double)problem->usage[i]);
	}
	struct milp_limits limits = { 0 };
	OWN(milp_solution) solution;
	enum status status = milp_solve(&milp, &limits, &control, &solution);
	double cost = status == OK ? solution.cost : (double)NAN;
	cr_assert(status == OK || status == INFEASIBLE);
	return cost;
}

Test(shard_chain, longer_chains_cost_what_the_unfolded_program_says)
{
	uint64_t seed = test_seed();
	for (int round = 0; round < 60; round++) {
		struct chain_shape shape = { .segments = 1 + (uint32_t)round % 2,
			.copies = 6,
			.inside = 4,
			.outside = 3,
			.strategies = 4,
			.edges = 2,
			.forbidden = round % 3 == 2 ? 8 : 0,
			.costs = 1000,
			.usages = 100 };
		struct shard_chain chain;
		struct shard_problem problem;
		struct chain_plan plan;
		struct error error;
		size_t start[64];
		cr_assert(random_chain(&chain, &seed, &shape));
		if (round % 4)
			chain.limit = draw_limit(&chain, &seed);
		cr_assert_eq(shard_chain_unfold(&chain, &problem, start, &error), OK, "%s", error.text);
		double best = unfolded_optimum(&problem);
		enum status status = solve(&chain, &plan);
		if (isnan(best))
			cr_assert_eq(status, INFEASIBLE, "SEED=%llu round %d", (unsigned long long)test_seed(), round);
		else
			cr_assert(encloses(&chain, status, &plan, llrint(best)), "SEED=%llu round %d: %lld, not %g",
				(unsigned long long)test_seed(), round, (long long)plan.cost, best);
		chain_plan_free(&plan);
		shard_problem_free(&problem);
		arena_free(&chain.arena);
	}
}

/* ---- long chains, by a table over usage ------------------------------------------------------ */

/* One segment. Outside nodes and the first and last copy are enumerated; between them a table: copy by copy, per state
 * the least cost at each usage. */
struct table_oracle {
	const struct shard_problem *problem;
	uint32_t copies, inside, states,
		range;   /* nodes of the segment come first: node's copy k is problem node node * copies + k */
	int64_t *row, *next;                       /* [states * range] */
	uint32_t choice[200];
	int64_t best;
};

static void set_copy(struct table_oracle *oracle, uint32_t copy, uint32_t state)
{
	for (uint32_t node = oracle->inside; node-- > 0;) {
		uint32_t at = node * oracle->copies + copy, width = shard_strategies(oracle->problem, at);
		oracle->choice[at] = state % width;
		state /= width;
	}
}

static uint32_t copy_of(const struct table_oracle *oracle, uint32_t node)
{
	return node < oracle->inside * oracle->copies ? node % oracle->copies : 0;
}

/* Nodes whose choice is fixed before the table: the first and last copy, and outside. */
static bool is_fixed(const struct table_oracle *oracle, uint32_t node)
{
	uint32_t copy = copy_of(oracle, node);
	return copy == 0 || copy == oracle->copies - 1;
}

/* What a copy adds to those before it: its own cost, and its edges to fixed nodes and to the copy before. last: only
 * edges between those. */
static int64_t copy_cost(const struct table_oracle *oracle, uint32_t copy, bool fixed)
{
	const struct shard_problem *problem = oracle->problem;
	int64_t sum = 0;
	for (uint32_t node = 0; node < problem->nodes; node++)
		if (fixed ? is_fixed(oracle, node) : !is_fixed(oracle, node) && copy_of(oracle, node) == copy) {
			int64_t cost = problem->cost[problem->first[node] + oracle->choice[node]];
			sum = cost < SHARD_FORBIDDEN && sum < SHARD_FORBIDDEN ? sum + cost : SHARD_FORBIDDEN;
		}
	for (uint32_t edge = 0; edge < problem->edges; edge++) {
		uint32_t from = problem->from[edge], to = problem->to[edge];
		bool a = is_fixed(oracle, from), b = is_fixed(oracle, to);
		uint32_t later = a ? copy_of(oracle, to)
			: b ? copy_of(oracle, from)
			: copy_of(oracle, from) > copy_of(oracle, to) ? copy_of(oracle, from)
			: copy_of(oracle, to);
		if (fixed ? a && b : !(a && b) && later == copy) {
			int64_t cost = problem->pair[problem->table[edge] +
				(size_t)oracle->choice[from] * shard_strategies(problem, to) + oracle->choice[to]];
			sum = cost < SHARD_FORBIDDEN && sum < SHARD_FORBIDDEN ? sum + cost : SHARD_FORBIDDEN;
		}
	}
	return sum;
}

static int64_t copy_usage(const struct table_oracle *oracle, uint32_t copy, bool fixed)
{
	int64_t sum = 0;
	for (uint32_t node = 0; node < oracle->problem->nodes; node++)
		if (fixed ? is_fixed(oracle, node) : !is_fixed(oracle, node) && copy_of(oracle, node) == copy)
			sum += oracle->problem->usage[oracle->problem->first[node] + oracle->choice[node]];
	return sum;
}

static void step(struct table_oracle *oracle, uint32_t copy)
{
	size_t size = (size_t)oracle->states * oracle->range;
	for (size_t i = 0; i < size; i++)
		oracle->next[i] = INT64_MAX;
	for (uint32_t before = 0; before < (copy == 1 ? 1 : oracle->states); before++)
		for (uint32_t state = 0; state < oracle->states; state++) {
			if (copy > 1)
				set_copy(oracle, copy - 1, before);
			set_copy(oracle, copy, state);
			int64_t cost = copy_cost(oracle, copy, false), usage = copy_usage(oracle, copy, false);
			for (uint32_t u = 0; cost < SHARD_FORBIDDEN && u + usage < oracle->range; u++) {
				int64_t *to = &oracle->next[state * oracle->range + u + usage], from = oracle->row[before * oracle->range + u];
				if (from != INT64_MAX && from + cost < *to)
					*to = from + cost;
			}
		}
	int64_t *swap = oracle->row;
	oracle->row = oracle->next;
	oracle->next = swap;
}

/* All copies between, with the fixed ones set. The last step's edges to the last copy are those of the copy before it.
 */
static void look_between(struct table_oracle *oracle)
{
	int64_t cost = copy_cost(oracle, 0, true), usage = copy_usage(oracle, 0, true);
	if (cost >= SHARD_FORBIDDEN || usage >= oracle->range)
		return;
	for (size_t i = 0; i < (size_t)oracle->states * oracle->range; i++)
		oracle->row[i] = INT64_MAX;
	oracle->row[usage] = cost;
	for (uint32_t copy = 1; copy + 1 < oracle->copies; copy++)
		step(oracle, copy);
	for (size_t i = 0; i < (size_t)oracle->states * oracle->range; i++)
		oracle->best = oracle->row[i] < oracle->best ? oracle->row[i] : oracle->best;
}

static void look_everywhere(struct table_oracle *oracle, uint32_t outside)
{
	if (outside < oracle->problem->nodes) {
		for (uint32_t i = 0; i < shard_strategies(oracle->problem, outside); i++) {
			oracle->choice[outside] = i;
			look_everywhere(oracle, outside + 1);
		}
		return;
	}
	for (uint32_t first = 0; first < oracle->states; first++)
		for (uint32_t last = 0; last < (oracle->copies > 1 ? oracle->states : 1); last++) {
			set_copy(oracle, 0, first);
			if (oracle->copies > 1)
				set_copy(oracle, oracle->copies - 1, last);
			look_between(oracle);
		}
}

Test(shard_chain, long_chains_cost_what_a_table_over_usage_says)
{
	uint64_t seed = test_seed();
	for (int round = 0; round < (int)test_rounds(40, 150); round++) {
		struct chain_shape shape = { .segments = 1,
			.copies = 24,
			.inside = 2,
			.outside = 2,
			.strategies = 2 + round % 2,
			.edges = 2,
			.forbidden = round % 5 == 4 ? 10 : 0,
			.costs = round % 3 ? 60 : 100000,
			.usages = 7 };
		struct shard_chain chain;
		struct shard_problem problem;
		struct chain_plan plan;
		struct error error;
		size_t start[16];
		cr_assert(random_chain(&chain, &seed, &shape));
		chain.limit = draw_limit(&chain, &seed);
		if (chain.limit >= 0) {
			cr_assert_eq(shard_chain_unfold(&chain, &problem, start, &error), OK, "%s", error.text);
			struct table_oracle oracle = { .problem = &problem,
				.copies = chain.copies[0],
				.states = 1,
				.range = (uint32_t)chain.limit + 1,
				.best = INT64_MAX };
			for (uint32_t node = 0; node < chain.nodes && chain.segment[node] == 0; node++, oracle.inside++)
				oracle.states *= chain.first[node + 1] - chain.first[node];
			HELD int64_t *tables = mem_alloc(2 * (size_t)oracle.states * oracle.range, sizeof *tables);
			oracle.row = tables;
			oracle.next = tables + (size_t)oracle.states * oracle.range;
			look_everywhere(&oracle, oracle.inside * oracle.copies);
			enum status status = solve(&chain, &plan);
			if (oracle.best == INT64_MAX)
				cr_assert_eq(status, INFEASIBLE, "SEED=%llu round %d", (unsigned long long)test_seed(), round);
			else
				cr_assert(encloses(&chain, status, &plan, oracle.best), "SEED=%llu round %d: status %d, %lld, not %lld",
					(unsigned long long)test_seed(), round, status, (long long)plan.cost, (long long)oracle.best);
			chain_plan_free(&plan);
			shard_problem_free(&problem);
		}
		arena_free(&chain.arena);
	}
}

/* ---- rules, memory --------------------------------------------------------------------------- */

Test(shard_chain, long_chains_keep_to_their_limit)
{
	uint64_t seed = test_seed();
	int wide = 0;
	for (int round = 0; round < (int)test_rounds(8, 20); round++) {
		struct chain_shape shape = { .segments = 1,
			.copies = 5,
			.inside = 6,
			.outside = 2,
			.strategies = 4,
			.edges = 2,
			.costs = 100000,
			.usages = 5000 };
		struct shard_chain chain;
		struct chain_plan plan;
		struct error error;
		int64_t cost, usage;
		cr_assert(random_chain(&chain, &seed, &shape));
		chain.copies[0] = 1000;
		chain.limit = draw_limit(&chain, &seed);
		enum status status = solve_within(&chain, 1000000, &plan);
		cr_assert(status == OK || status == LIMIT || status == INFEASIBLE);
		if (status == INFEASIBLE) {
			cr_assert_gt(plan.usage, chain.limit);
		} else {
			cr_assert_eq(shard_chain_evaluate(&chain, &plan, &cost, &usage, &error), OK, "%s", error.text);
			cr_assert(cost == plan.cost && usage == plan.usage && plan.bound <= plan.cost);
			wide += plan.cost - plan.bound > 10 * shape.costs;
		}
		chain_plan_free(&plan);
		arena_free(&chain.arena);
	}
	/* However many copies there are, what is left is less than what a few of them could save: but where what all copies
	 * see would change. */
	cr_assert_leq(wide, 3, "SEED=%llu: %d", (unsigned long long)test_seed(), wide);
}

Test(shard_chain, edges_that_join_what_does_not_belong_together_are_refused)
{
	uint32_t segment[] = { 0, 1, NONE }, copies[] = { 3, 3 }, first[] = { 0, 1, 2, 3 };
	int64_t cost[3] = { 0 }, usage[3] = { 0 }, pair[1] = { 0 };
	static const struct { struct chain_edge edge; bool fine; } edges[] = {
		{ { 0, 0, CHAIN_EVERY, CHAIN_EVERY, true, 0 }, true },
		{ { 0, 1, CHAIN_EVERY, CHAIN_EVERY, false, 0 }, false },      /* two segments */
		{ { 0, 1, CHAIN_LAST, CHAIN_EVERY, false, 0 }, true },
		{ { 0, 2, CHAIN_EVERY, CHAIN_ONLY, true, 0 }, false },        /* a step to the outside */
		{ { 0, 2, CHAIN_ONLY, CHAIN_ONLY, false, 0 }, false },        /* an inside node has copies */
		{ { 0, 3, CHAIN_EVERY, CHAIN_ONLY, false, 0 }, false },
		{ { 0, 2, CHAIN_EVERY, CHAIN_ONLY, false, 1 }, false },       /* no costs there */
	};
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
		struct chain_edge edge = edges[i].edge;
		struct shard_chain chain = { .nodes = 3,
			.edges = 1,
			.segments = 2,
			.segment = segment,
			.copies = copies,
			.first = first,
			.cost = cost,
			.usage = usage,
			.edge = &edge,
			.pair = pair,
			.pairs = 1,
			.limit = -1 };
		struct error error;
		cr_assert_eq(shard_chain_valid(&chain, &error), edges[i].fine ? OK : BAD_INPUT, "edge %zu", i);
	}
}

Test(shard_chain, the_same_effort_gives_the_same_plan_and_no_memory_leaks_nothing)
{
	uint64_t seed = test_seed();
	for (int round = 0; round < 6; round++) {
		struct chain_shape shape = { .segments = 1 + (uint32_t)round % 2,
			.copies = 5,
			.inside = 3,
			.outside = 2,
			.strategies = 3,
			.edges = 2,
			.costs = 1000,
			.usages = 100 };
		struct shard_chain chain;
		cr_assert(random_chain(&chain, &seed, &shape));
		chain.limit = draw_limit(&chain, &seed) + 50;
		check_repeatable(&chain, solve);
		arena_free(&chain.arena);
	}
}

/* Three nodes of 12 strategies, each bound to its next copy: 1,728 states between copies. One pass over their powers is
 * more than any effort. */
Test(shard_chain, wide_boundaries_are_left_to_the_rough_method_at_once)
{
	enum { NODES = 3, WIDTH = 12, EDGES = 6 };
	uint32_t segment[NODES] = { 0 }, copies[] = { 8 }, first[NODES + 1];
	int64_t cost[NODES * WIDTH], usage[NODES * WIDTH], pair[EDGES * WIDTH * WIDTH];
	struct chain_edge edge[EDGES];
	uint64_t seed = test_seed();
	for (uint32_t i = 0; i <= NODES; i++)
		first[i] = i * WIDTH;
	for (uint32_t i = 0; i < NODES * WIDTH; i++) {
		cost[i] = (int64_t)(random_next(&seed) % 1000);
		usage[i] = (int64_t)(random_next(&seed) % 1000);
	}
	for (uint32_t i = 0; i < EDGES * WIDTH * WIDTH; i++)
		pair[i] = (int64_t)(random_next(&seed) % 1000);
	for (uint32_t e = 0; e < EDGES; e++)
		edge[e] = (struct chain_edge){ e % NODES, e < NODES ? e : (e + 1) % NODES, CHAIN_EVERY, CHAIN_EVERY, e < NODES,
			(size_t)e * WIDTH * WIDTH };
	struct shard_chain chain = { .nodes = NODES,
		.edges = EDGES,
		.segments = 1,
		.segment = segment,
		.copies = copies,
		.first = first,
		.cost = cost,
		.usage = usage,
		.edge = edge,
		.pair = pair,
		.pairs = EDGES * WIDTH * WIDTH,
		.limit = 12000 };
	struct control control = { 0 };
	struct chain_plan plan;
	struct error error = { 0 };
	cr_expect_eq(shard_chain_solve(&chain, EFFORT / 400, &control, &plan, &error), LIMIT);
	cr_expect_null(plan.choice);
	cr_expect_lt(control.ticks, UINT64_C(100000000), "%llu ticks", (unsigned long long)control.ticks);
	chain_plan_free(&plan);
	enum status status = shard_chain_rough(&chain, EFFORT / 400, true, &control, &plan, &error);
	cr_expect(status == OK || status == LIMIT, "%s", error.text);
	cr_expect(plan.choice && plan.usage <= chain.limit && plan.bound <= plan.cost);
	chain_plan_free(&plan);
}
