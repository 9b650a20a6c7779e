/* unit_order_merge.c: hill-valley merging of branches, against brute force over all orders. */
#include "tests/common/order_valid.h"
#include "tests/common/random_problem.h"
#include "solver/order/merge.h"
#include "tests/common/support.h"

#define OPS 9      /* at most, where brute force is the judge */
#define LARGE 120

/* A problem as lists, before it is one: items by producer and users. */
struct sketch {
	uint32_t ops, items;
	struct random_rows uses, products, edges;
	uint32_t producer[64];
	int64_t size[64], workspace[OPS];
	bool live_out[64];
};

static uint32_t sketch_item(struct sketch *sketch, uint64_t *state, uint32_t producer)
{
	uint32_t item = sketch->items++;
	sketch->producer[item] = producer;
	sketch->size[item] = 1 + random_below(state, 20);
	if (producer != NONE)
		random_add(&sketch->products, producer, item);
	return item;
}

/* An edge that carries an item of its own. */
static void sketch_edge(struct sketch *sketch, uint64_t *state, uint32_t from, uint32_t to)
{
	random_add(&sketch->edges, to, from);
	if (random_below(state, 5))
		random_add(&sketch->uses, to, sketch_item(sketch, state, from));
}

static bool sketch_problem(const struct sketch *sketch, struct problem *problem)
{
	*problem = (struct problem) { .ops = sketch->ops, .items = sketch->items };
	struct arena *arena = &problem->arena;
	problem->producer = arena_alloc(arena, sketch->items, sizeof *problem->producer);
	problem->size = arena_alloc(arena, sketch->items, sizeof *problem->size);
	problem->live_out = arena_alloc(arena, sketch->items, sizeof *problem->live_out);
	problem->storage = arena_alloc(arena, sketch->items, sizeof *problem->storage);
	problem->workspace = arena_alloc(arena, sketch->ops, sizeof *problem->workspace);
	problem->phase = arena_alloc(arena, sketch->ops, sizeof *problem->phase);
	problem->program = arena_alloc(arena, sketch->ops, sizeof *problem->program);
	for (uint32_t op = 0; op < sketch->ops; op++) {
		problem->program[op] = op;
		problem->workspace[op] = sketch->workspace[op];
	}
	memcpy(problem->producer, sketch->producer, sketch->items * sizeof *problem->producer);
	memcpy(problem->size, sketch->size, sketch->items * sizeof *problem->size);
	memcpy(problem->live_out, sketch->live_out, sketch->items * sizeof *problem->live_out);
	bool fine = csr_of_pairs(arena, sketch->ops, sketch->uses.count, sketch->uses.row, sketch->uses.value, &problem->uses) == OK
		&& csr_of_pairs(arena, sketch->ops, sketch->products.count, sketch->products.row, sketch->products.value, &problem->products) == OK
		&& csr_of_pairs(arena, sketch->ops, sketch->edges.count, sketch->edges.row, sketch->edges.value, &problem->pred) == OK;
	if (!fine)
		return false;
	csr_unique(&problem->uses, sketch->ops);
	csr_unique(&problem->pred, sketch->ops);
	return csr_transpose(arena, &problem->uses, sketch->ops, sketch->items, &problem->users) == OK
		&& csr_transpose(arena, &problem->pred, sketch->ops, sketch->ops, &problem->succ) == OK;
}

/* A random series-parallel order of ops first..last, in a sequence of single ops and sets of branches. before holds the
 * ops that everything in it follows directly; on return, those that what comes next follows directly. */
struct ends {
	uint32_t count, op[OPS];
};

static struct ends sketch_part(struct sketch *sketch, uint64_t *state, uint32_t first, uint32_t last, struct ends before)
{
	while (first < last) {
		bool forked = before.count <= 1 && last - first > 1 && random_below(state, 3);
		if (!forked) {
			for (uint32_t i = 0; i < before.count; i++)
				sketch_edge(sketch, state, before.op[i], first);
			before = (struct ends) { 1, { first++ } };
			continue;
		}
		uint32_t end = first + 2 + random_below(state, last - first - 1);
		struct ends after = { 0 };
		while (first < end) {
			uint32_t middle = first + 1 + random_below(state, end - first);
			struct ends branch = sketch_part(sketch, state, first, middle, before);
			for (uint32_t i = 0; i < branch.count; i++)
				after.op[after.count++] = branch.op[i];
			first = middle;
		}
		before = after;
	}
	return before;
}

/* Items from the start, left at the end, kept from an op to one that follows it, and shared among any. */
static void sketch_more_items(struct sketch *sketch, uint64_t *state)
{
	for (uint32_t op = 0; op < sketch->ops; op++) {
		if (random_below(state, 3) == 0)
			random_add(&sketch->uses, op, sketch_item(sketch, state, NONE));
		if (random_below(state, 3) == 0)
			sketch->live_out[sketch_item(sketch, state, op)] = true;
		if (random_below(state, 4) == 0)
			sketch->workspace[op] = random_below(state, 20);
	}
	for (uint32_t n = random_below(state, 4), edges = sketch->edges.count; n > 0 && edges > 0; n--) {
		uint32_t edge = random_below(state, edges), item = random_below(state, sketch->items ? sketch->items : 1);
		if (item < sketch->items && sketch->producer[item] == sketch->edges.value[edge])
			random_add(&sketch->uses, sketch->edges.row[edge], item);
	}
}

static bool series_parallel_problem(uint64_t *state, struct problem *problem)
{
	static _Thread_local struct sketch sketch;
	sketch = (struct sketch) { .ops = 1 + random_below(state, OPS) };
	sketch_part(&sketch, state, 0, sketch.ops, (struct ends) { 0 });
	sketch_more_items(&sketch, state);
	return sketch_problem(&sketch, problem);
}

/* Chains side by side, every edge with an item of its own: each op frees its operand. */
static bool chains_problem(uint64_t *state, struct problem *problem)
{
	static _Thread_local struct sketch sketch;
	sketch = (struct sketch) { .ops = 1 + random_below(state, OPS) };
	for (uint32_t op = 0, start = 0; op < sketch.ops; op++) {
		if (op > start)
			sketch_edge(&sketch, state, op - 1, op);
		if (random_below(state, 4) == 0)
			start = op + 1;
		if (random_below(state, 2))
			random_add(&sketch.uses, op, sketch_item(&sketch, state, NONE));
		if (random_below(state, 2))
			sketch.live_out[sketch_item(&sketch, state, op)] = true;
		sketch.workspace[op] = random_below(state, 20);
	}
	return sketch_problem(&sketch, problem);
}

/* Merges the program order, forward or backward in time; the order is checked, and its peak returned. */
static int64_t merged_peak(const struct problem *problem, bool backward, uint64_t seed, bool *exact)
{
	OWN(arena) arena = { 0 };
	struct order_model model;
	uint32_t base[LARGE], merged[LARGE], order[LARGE];
	uint64_t ticks;
	cr_assert_eq(order_model_of(problem, &arena, &model), OK);
	if (backward)
		model = order_model_reversed(&model);
	for (uint32_t i = 0; i < problem->ops; i++)
		base[i] = problem->program[backward ? problem->ops - 1 - i : i];
	cr_assert_eq(order_merge(&model, base, merged, exact, &ticks), OK);
	for (uint32_t i = 0; i < problem->ops; i++)
		order[i] = merged[backward ? problem->ops - 1 - i : i];
	cr_assert(problem_order_valid(problem, order), "seed %lu: the order is not valid", seed);
	return problem_peak(problem, order, NULL, NULL);
}

/* How many of both directions say that their order is the best: it has to be. */
static uint32_t check_both_ways(const struct problem *problem, uint64_t seed)
{
	int64_t optimum = least_peak(problem);
	uint32_t recognised = 0;
	for (int backward = 0; backward < 2; backward++) {
		bool exact;
		int64_t peak = merged_peak(problem, backward, seed, &exact);
		recognised += exact;
		if (exact)
			cr_assert_eq(peak, optimum, "seed %lu, backward %d: %ld, not %ld", seed, backward, peak, optimum);
	}
	return recognised;
}

Test(order_merge, series_parallel_problems_are_recognised_and_solved_to_optimality)
{
	uint32_t recognised = 0, rounds = 6000;
	for (uint64_t round = 0; round < rounds; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		cr_assert(series_parallel_problem(&state, &problem));
		recognised += check_both_ways(&problem, seed);
	}
	cr_assert_gt(recognised, rounds * 2 * 8 / 10, "only %u recognised", recognised);
}

Test(order_merge, chains_are_merged_to_optimality)
{
	for (uint64_t round = 0; round < 3000; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		cr_assert(chains_problem(&state, &problem));
		cr_assert_eq(check_both_ways(&problem, seed), 2, "seed %lu: not recognised", seed);
	}
}

Test(order_merge, any_problem_gets_a_valid_order_and_no_false_claim)
{
	uint32_t recognised = 0;
	for (uint64_t round = 0; round < 6000; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		cr_assert(random_problem(&state, random_below(&state, OPS + 1), &problem));
		recognised += check_both_ways(&problem, seed);
	}
	cr_assert_gt(recognised, 500u, "only %u recognised", recognised);
}

Test(order_merge, larger_problems_get_a_valid_order)
{
	for (uint64_t round = 0; round < 1000; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		bool exact;
		cr_assert(random_problem(&state, OPS + random_below(&state, LARGE - OPS + 1), &problem));
		merged_peak(&problem, false, seed, &exact);
		merged_peak(&problem, true, seed, &exact);
	}
}

Test(order_merge, every_failed_allocation_is_reported_and_nothing_leaks)
{
	uint64_t state = test_seed();
	OWN(problem) problem;
	OWN(arena) arena = { 0 };
	struct order_model model;
	cr_assert(random_problem(&state, OPS, &problem));
	cr_assert_eq(order_model_of(&problem, &arena, &model), OK);
	EACH_REFUSAL(refused) {
		uint32_t order[OPS];
		uint64_t ticks;
		bool exact;
		refused.status = order_merge(&model, problem.program, order, &exact, &ticks);
	}
}
