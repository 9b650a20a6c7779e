/* unit_order_series.c: series-parallel steps, against brute force over all orders. */
#include "solver/order/job.h"
#include "tests/common/order_valid.h"
#include "tests/common/random_problem.h"
#include "tests/common/support.h"

/* A step that is made op by op. */
struct making {
	uint64_t *state;
	struct random_rows edges;      /* op, one it waits for */
	uint32_t ops;
};

static uint32_t make_op(struct making *making, const uint32_t *before, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		random_add(&making->edges, making->ops, before[i]);
	return making->ops++;
}

/* So many ops in a row or side by side, behind one. Returns the last. */
static uint32_t make_part(struct making *making, uint32_t ops, uint32_t start)
{
	uint32_t last[2], left;
	if (ops < 3) {
		while (ops--)
			start = make_op(making, &start, 1);
		return start;
	}
	if (random_below(making->state, 2)) {
		left = 1 + random_below(making->state, ops - 1);
		return make_part(making, ops - left, make_part(making, left, start));
	}
	left = random_below(making->state, ops - 1);
	last[0] = left ? make_part(making, left, start) : start;
	last[1] = make_part(making, ops - 1 - left, start);
	return make_op(making, last, 2);
}

static void make_item(struct problem *problem, uint64_t *state, struct random_rows *products, uint32_t producer)
{
	problem->size[problem->items] = 1 + random_below(state, problem->base ? 12 : 1000);
	problem->producer[problem->items] = producer;
	problem->storage[problem->items] = NONE;
	random_add(products, producer, problem->items++);
}

/* Items: one that all ops behind read, mostly; some that one of them reads; some that nobody does, or that stay. */
static void make_items(struct problem *problem, uint64_t *state, struct random_rows *uses, struct random_rows *products)
{
	for (uint32_t op = 0; op < problem->ops; op++) {
		bool none = csr_length(&problem->succ, op) == 0;
		for (uint32_t kind = random_below(state, 4); kind < 4; kind += 2) {
			make_item(problem, state, products, op);
			uint32_t item = problem->items - 1, only = random_below(state, 2);
			problem->live_out[item] = none && random_below(state, 2);
			FOR_ITEMS(after, &problem->succ, op)
				if (kind < 2 || (only && only-- == 1))
					random_add(uses, after, item);
		}
	}
}

static bool random_series(uint64_t *state, uint32_t ops, struct problem *problem)
{
	static struct random_rows uses, products;
	static struct making making;
	making = (struct making){ .state = state };
	uses.count = products.count = 0;
	make_part(&making, ops - 1, make_op(&making, NULL, 0));
	*problem = (struct problem) { .ops = ops, .base = random_below(state, 2) * 100 };
	struct arena *arena = &problem->arena;
	if (!ROOM(arena, problem->size, 2 * ops) || !ROOM(arena, problem->producer, 2 * ops) ||
		!ROOM(arena, problem->live_out, 2 * ops) || !ROOM(arena, problem->storage, 2 * ops) ||
		!ROOM(arena, problem->workspace, ops) || !ROOM(arena, problem->phase, ops) ||
		!ROOM(arena, problem->program, ops) ||
		csr_of_pairs(arena, ops, making.edges.count, making.edges.row, making.edges.value, &problem->pred) != OK)
		return false;
	csr_unique(&problem->pred, ops);
	if (csr_transpose(arena, &problem->pred, ops, ops, &problem->succ) != OK)
		return false;
	for (uint32_t op = 0; op < ops; op++) {
		problem->program[op] = op;
		problem->workspace[op] = random_below(state, 3) ? 0 : random_below(state, 12);
	}
	make_items(problem, state, &uses, &products);
	if (csr_of_pairs(arena, ops, uses.count, uses.row, uses.value, &problem->uses) != OK ||
		csr_of_pairs(arena, ops, products.count, products.row, products.value, &problem->products) != OK)
		return false;
	csr_unique(&problem->uses, ops);
	return csr_transpose(arena, &problem->uses, ops, problem->items, &problem->users) == OK;
}

static void begin(struct order_job *job)
{
	uint32_t ops = job->problem->ops;
	cr_assert_eq(order_model_of(job->problem, &job->arena, &job->model), OK);
	job->order = arena_alloc(&job->arena, ops, sizeof *job->order);
	job->live = arena_alloc(&job->arena, ops, sizeof *job->live);
	job->count = arena_alloc(&job->arena, job->problem->items, sizeof *job->count);
	cr_assert(job->order && job->live && job->count);
	order_job_offer(job, job->problem->program, "program");
}

/* The order is the best one and proved; or nothing was said, where that is allowed. */
static void check_series(const struct problem *problem, bool must, uint64_t seed)
{
	int64_t optimum = least_peak(problem);
	struct order_options options = { .strategy = ORDER_BEST };
	struct order_job job = { .problem = problem, .options = &options, .bound = -1 };
	begin(&job);
	cr_assert_eq(order_run_series(&job), OK);
	cr_assert(problem_order_valid(problem, job.order), "seed %lu: the order is not valid", seed);
	if (job.bound >= 0 || must) {
		cr_assert_eq(job.bound, optimum, "seed %lu: bound %ld, optimum %ld", seed, job.bound, optimum);
		cr_assert_eq(job.peak, optimum, "seed %lu: peak %ld, optimum %ld", seed, job.peak, optimum);
		cr_assert_eq(job.certificate.proof, ORDER_PROOF_SERIES);
	}
	arena_free(&job.arena);
}

Test(order_series, orders_series_parallel_steps_as_well_as_brute_force)
{
	for (uint64_t round = 0; round < test_rounds(2000, 50000); round++) {
		uint64_t seed = test_seed() * 5 + round, state = seed;
		OWN(problem) problem;
		cr_assert(random_series(&state, 2 + random_below(&state, 12), &problem));
		check_series(&problem, true, seed);
	}
}

Test(order_series, says_nothing_wrong_of_other_steps)
{
	for (uint64_t round = 0; round < test_rounds(3000, 50000); round++) {
		uint64_t seed = test_seed() * 9 + round, state = seed;
		OWN(problem) problem;
		cr_assert(random_problem(&state, 1 + random_below(&state, 7), &problem));
		check_series(&problem, false, seed);
	}
}
