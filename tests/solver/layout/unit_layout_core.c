/* unit_layout_core.c: bounds above the load, their cores, and the plain search that confirms them. */
#include "tests/common/random_buffers.h"
#include "solver/layout/layout.h"
#include "tests/common/support.h"

/* ---- buffers without any room to spare ------------------------------------------------------- */

#define TIGHT_MOST 128

struct tight {
	struct buffers buffers;
	int64_t lower[TIGHT_MOST], upper[TIGHT_MOST], size[TIGHT_MOST];
	uint32_t alive[TIGHT_MOST], alive_count;
};

/* Starts buffers that together have the size. */
static void start(struct tight *tight, int64_t step, int64_t size, uint32_t parts, uint64_t *seed)
{
	while (size > 0) {
		uint32_t b = tight->buffers.n++;
		tight->lower[b] = step;
		tight->size[b] = parts > 1 ? 1 + below(seed, size) : size;
		size -= tight->size[b];
		parts--;
		tight->alive[tight->alive_count++] = b;
	}
}

/* At every step some of those alive are replaced by others of the same total: the load is the same throughout, but
 * often nothing can be laid out within it. */
static void draw_tight(struct tight *tight, uint32_t n, int64_t load, uint64_t *seed)
{
	*tight = (struct tight){ .buffers = { .n = 0 } };
	start(tight, 0, load, 4, seed);
	int64_t step = 1;
	for (; tight->buffers.n + 4 < n; step++) {
		int64_t size = 0;
		for (uint32_t gone = 1 + (uint32_t)below(seed, 2); gone > 0 && tight->alive_count > 0; gone--) {
			uint32_t i = (uint32_t)below(seed, tight->alive_count), b = tight->alive[i];
			tight->alive[i] = tight->alive[--tight->alive_count];
			tight->upper[b] = step;
			size += tight->size[b];
		}
		start(tight, step, size, tight->alive_count < 4 ? 3 : 1, seed);
	}
	for (uint32_t i = 0; i < tight->alive_count; i++)
		tight->upper[tight->alive[i]] = step;
	tight->buffers = (struct buffers){
		.n = tight->buffers.n, .lower = tight->lower, .upper = tight->upper, .size = tight->size
	};
}

/* ---- cores ----------------------------------------------------------------------------------- */

#define NODES 2000000

static void check_core(const struct buffers *buffers, const struct layout *layout, int64_t capacity)
{
	uint32_t rest[TIGHT_MOST];
	unsigned long long seed = test_seed();
	cr_assert_gt(layout->core_count, 0u);
	cr_assert_eq(layout_check_core(buffers, layout->core, layout->core_count, 1, capacity, NODES), INFEASIBLE,
		"SEED=%llu", seed);
	for (uint32_t gone = 0; layout->irreducible && gone < layout->core_count; gone++) {
		uint32_t count = 0;
		for (uint32_t i = 0; i < layout->core_count; i++)
			if (i != gone)
				rest[count++] = layout->core[i];
		cr_assert_eq(layout_check_core(buffers, rest, count, 1, capacity, NODES), OK,
			"SEED=%llu: buffer %u is not needed", seed, layout->core[gone]);
	}
}

Test(layout_core, bounds_above_the_load_are_proved_by_few_buffers)
{
	uint64_t seed = test_seed();
	int above = 0, irreducible = 0, rounds = 24;
	for (int round = 0; round < rounds; round++) {
		struct tight tight;
		draw_tight(&tight, 24 + (uint32_t)round, 24, &seed);
		OWN(layout) layout;
		struct control control = { 0 };
		struct error error = { 0 };
		struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .effort = LAYOUT_EFFORT(1) };
		cr_assert_eq(layout_solve(&tight.buffers, &options, &control, &layout, &error), OK, "%s", error.text);
		cr_assert_eq(layout_check(&tight.buffers, 1, &layout, &error), OK, "SEED=%llu: %s",
			(unsigned long long)test_seed(), error.text);
		cr_assert_eq(layout.load, 24);
		if (layout.proof.bound > layout.load) {
			above++;
			irreducible += layout.irreducible;
			cr_assert_eq(layout.ground, LAYOUT_PROOF_SEARCH);
			check_core(&tight.buffers, &layout, layout.proof.bound - 1);
		}
	}
	cr_assert_gt(above, rounds / 10, "%d of %d", above, rounds);
	cr_assert_gt(irreducible, above / 2);
}

/* With alignments and pins of their own: what is called irreducible is, by the plain search. */
Test(layout_core, what_is_called_irreducible_is_so_with_alignments)
{
	uint64_t seed = test_seed();
	uint32_t claims = 0;
	for (uint32_t round = 0; round < test_rounds(200, 6000); round++) {
		int64_t lower[12], upper[12], size[12], alignment[12], fixed[12];
		struct buffers buffers = {
			.n = 3 + (uint32_t)below(&seed, 9), .lower = lower, .upper = upper, .size = size, .alignment = alignment
		};
		for (uint32_t b = 0; b < buffers.n; b++) {
			lower[b] = (int64_t)below(&seed, 4);
			upper[b] = below(&seed, 3) ? lower[b] + 1 + (int64_t)below(&seed, 4) : 8;
			size[b] = 1 + (int64_t)below(&seed, 9);
			alignment[b] = (int64_t)1 << below(&seed, 4);
			fixed[b] = round % 3 == 0 && below(&seed, 6) == 0 ? (int64_t)below(&seed, 3) * 8 : -1;
		}
		buffers.fixed = round % 3 == 0 ? fixed : NULL;
		OWN(layout) layout;
		struct control control = { 0 };
		struct error error = { 0 };
		struct layout_options options = { .strategy = LAYOUT_BEST,
			.alignment = 1,
			.effort = LAYOUT_EFFORT(1),
			.capacity = round % 2 ? 4 + (int64_t)below(&seed, 40) : 0 };
		enum status status = layout_solve(&buffers, &options, &control, &layout, &error);
		bool refused = status == INFEASIBLE && layout.clash.buffer[0] == NONE;
		int64_t capacity = layout.ground == LAYOUT_PROOF_LOAD ? options.capacity : layout.proof.bound - 1;
		for (uint32_t gone = 0; (status == OK || refused) && layout.irreducible && gone < layout.core_count; gone++) {
			uint32_t rest[12], count = 0;
			for (uint32_t i = 0; i < layout.core_count; i++)
				if (i != gone)
					rest[count++] = layout.core[i];
			claims++;
			cr_assert_neq(layout_check_core(&buffers, rest, count, 1, capacity, NODES), INFEASIBLE,
				"SEED=%llu round %u: buffer %u is not needed", (unsigned long long)test_seed(), round,
				layout.core[gone]);
		}
	}
	cr_assert_gt(claims, 50, "%u claims", claims);
}

Test(layout_core, a_capacity_that_is_too_small_names_its_core)
{
	uint64_t seed = test_seed();
	for (int round = 0; round < 40; round++) {
		struct tight tight;
		draw_tight(&tight, 40, 24, &seed);
		OWN(layout) layout;
		struct control control = { 0 };
		struct error error = { 0 };
		struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .effort = LAYOUT_EFFORT(1),
						  .capacity = round % 2 ? 24 : 23 };
		enum status status = layout_solve(&tight.buffers, &options, &control, &layout, &error);
		cr_assert(status == OK || status == INFEASIBLE);
		if (round % 2 == 0)
			cr_assert(status == INFEASIBLE && layout.irreducible, "the load does not fit");
		if (status == INFEASIBLE)
			check_core(&tight.buffers, &layout, options.capacity);
	}
}

Test(layout_core, a_core_that_fits_is_refused)
{
	int64_t lower[] = { 0, 1, 2 }, upper[] = { 2, 3, 4 }, size[] = { 4, 6, 4 };
	struct buffers buffers = { .n = 3, .lower = lower, .upper = upper, .size = size };
	uint32_t core[] = { 0, 1, 2 };
	int64_t offset[] = { 7, 0, 7 };
	struct layout layout = { .offset = offset,
		.arena = 11,
		.load = 10,
		.proof = { QUANTITY_ARENA, 11, 11, "search" },
		.ground = LAYOUT_PROOF_SEARCH,
		.moment = 1,
		.core = core,
		.core_count = 3 };
	struct error error;
	cr_assert_eq(layout_check(&buffers, 1, &layout, &error), BAD_INPUT);
	cr_assert_str_eq(error.text, "the core of the bound 11 fits below it");
}

Test(layout_core, the_plain_search_agrees_with_the_solver)
{
	uint64_t seed = test_seed();
	int fits = 0, rounds = 3000;
	for (int round = 0; round < rounds; round++) {
		struct sample sample;
		int kind = round % 8;
		uint32_t n = 1 + (uint32_t)below(&seed, 8), all[MOST];
		draw(&sample, n, 6, 6, kind, &seed);
		OWN(layout) layout;
		struct control control = { 0 };
		struct error error = { 0 };
		struct layout_options options = {
			.strategy = LAYOUT_BEST, .alignment = 1 + round % 2, .effort = LAYOUT_EFFORT_DEFAULT
		};
		enum status status = layout_solve(&sample.buffers, &options, &control, &layout, &error);
		for (uint32_t i = 0; i < n; i++)
			all[i] = i;
		/* Pins that contradict each other are refused before any search. */
		if (status == OK) {
			fits++;
			cr_assert(proof_closed(&layout.proof));
			cr_assert_eq(layout_check_core(&sample.buffers, all, n, options.alignment, layout.arena, NODES), OK,
				     "SEED=%llu round %d kind %d", (unsigned long long)test_seed(), round, kind);
			cr_assert_eq(layout_check_core(&sample.buffers, all, n, options.alignment, layout.arena - 1, NODES), INFEASIBLE,
				     "SEED=%llu round %d kind %d", (unsigned long long)test_seed(), round, kind);
		}
	}
	cr_assert_gt(fits, rounds / 2);
}

/* ---- one moment ------------------------------------------------------------------------------ */

Test(layout_core, pins_and_alignments_at_one_moment_give_bounds_that_hold)
{
	uint64_t seed = test_seed();
	int by_moment = 0, proved = 0, rounds = 2000;
	for (int round = 0; round < rounds; round++) {
		struct sample sample;
		draw(&sample, 4 + (uint32_t)below(&seed, 24), 8, 9, 1 + round % 7, &seed);
		OWN(layout) layout;
		struct control control = { 0 };
		struct error error = { 0 };
		struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1 + round % 2 };
		enum status status = layout_solve(&sample.buffers, &options, &control, &layout, &error);
		cr_assert(status == OK || status == INFEASIBLE);
		if (status == OK) {
			cr_assert_eq(layout_check(&sample.buffers, options.alignment, &layout, &error), OK, "SEED=%llu round %d: %s",
				     (unsigned long long)test_seed(), round, error.text);
			by_moment += layout.ground == LAYOUT_PROOF_MOMENT;
			proved += layout.ground == LAYOUT_PROOF_MOMENT && proof_closed(&layout.proof);
			layout.proof.bound++;
			layout.proof.value = -1;
			if (layout.ground == LAYOUT_PROOF_MOMENT && layout.proof.bound <= layout.arena)
				cr_assert_eq(layout_check(&sample.buffers, options.alignment, &layout, &error), BAD_INPUT, "a bound raised by one");
		}
	}
	cr_assert_gt(by_moment, rounds / 20, "%d", by_moment);
	cr_assert_gt(proved, by_moment / 4, "%d of %d", proved, by_moment);
}

Test(layout_core, what_fits_between_pins_is_a_subset_sum)
{
	/* Nothing but the 3 fits below the pin: 3 of 4 bytes, then 5 + 5 above it. */
	int64_t lower[] = { 0, 0, 0, 0 }, upper[] = { 1, 1, 1, 1 }, size[] = { 5, 5, 3, 2 }, fixed[] = { -1, -1, -1, 4 };
	struct buffers buffers = { .n = 4, .lower = lower, .upper = upper, .size = size, .fixed = fixed };
	cr_assert_eq(layout_check_moment(&buffers, 1, 0), 16);
	OWN(layout) layout;
	struct control control = { 0 };
	struct error error;
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1 };
	cr_assert_eq(layout_solve(&buffers, &options, &control, &layout, &error), OK);
	cr_assert(
		proof_closed(&layout.proof) && layout.arena == 16 && layout.load == 15 && layout.ground == LAYOUT_PROOF_MOMENT);
	cr_assert_eq(layout_check(&buffers, 1, &layout, &error), OK);
}

Test(layout_core, running_out_of_memory_leaks_nothing)
{
	uint64_t seed = 5;
	struct tight tight;
	draw_tight(&tight, 16, 24, &seed);
	int64_t alignment[TIGHT_MOST];
	for (uint32_t b = 0; b < tight.buffers.n; b++)
		alignment[b] = 2;
	for (long n = 0;; n++) {
		struct layout layout;
		struct control control = { 0 };
		struct error error;
		struct layout_options options = {
			.strategy = LAYOUT_BEST, .alignment = 1, .effort = LAYOUT_EFFORT(1), .capacity = 23 + n % 2
		};
		tight.buffers.alignment = n % 4 < 2 ? NULL : alignment;
		long before = memory_blocks();
		memory_allow(n);
		enum status status = layout_solve(&tight.buffers, &options, &control, &layout, &error);
		memory_allow(-1);
		layout_free(&layout);
		cr_assert_eq(memory_blocks(), before, "allocation %ld", n);
		if (status != NO_MEMORY && n % 4 == 3)
			break;
	}
}
