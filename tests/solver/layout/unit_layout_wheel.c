/* unit_layout_wheel.c: the squeaky wheel against dives and exact search. */
#include "tests/common/random_buffers.h"
#include "solver/layout/layout.h"
#include "tests/common/support.h"

static enum status solve(const struct buffers *buffers, enum layout_strategy strategy, uint64_t effort, struct layout *layout)
{
	struct control control = { 0 };
	struct error error = { 0 };
	struct layout_options options = { .strategy = strategy, .alignment = 1, .effort = effort };
	return layout_solve(buffers, &options, &control, layout, &error);
}

Test(wheel, turns_make_dives_better_and_never_worse)
{
	uint64_t seed = test_seed();
	struct sample sample;
	int better = 0, smallest = 0, rounds = 150;
	for (int round = 0; round < rounds; round++) {
		draw(&sample, 20, 12, 12, round % 8, &seed);
		OWN(layout) dive, wheel, again, exact;
		struct error error;
		enum status status = solve(&sample.buffers, LAYOUT_DIVE, 0, &dive);
		cr_assert_eq(solve(&sample.buffers, LAYOUT_WHEEL, 1000000, &wheel), status, "SEED=%llu round %d",
			     (unsigned long long)test_seed(), round);
		solve(&sample.buffers, LAYOUT_WHEEL, 1000000, &again);
		solve(&sample.buffers, LAYOUT_BEST, 1000000, &exact);
		if (status == OK) {
			cr_assert_eq(layout_check(&sample.buffers, 1, &wheel, &error), OK, "SEED=%llu round %d: %s",
				     (unsigned long long)test_seed(), round, error.text);
			cr_assert_leq(wheel.arena, dive.arena);
			cr_assert_eq(memcmp(wheel.offset, again.offset, sample.buffers.n * sizeof *wheel.offset), 0);
			better += wheel.arena < dive.arena;
			smallest += wheel.arena <= exact.arena;
		} else {
			smallest++;
		}
	}
	cr_assert_gt(better, rounds / 10, "SEED=%llu: better in %d of %d", (unsigned long long)test_seed(), better, rounds);
	cr_assert_gt(smallest, rounds * 3 / 4, "SEED=%llu: smallest in %d of %d", (unsigned long long)test_seed(), smallest, rounds);
}

/* A strip cut again and again: full everywhere, so that the load is the smallest arena. */
static uint32_t cut_strip(struct sample *sample, uint32_t n, uint64_t *seed)
{
	uint32_t count = 1;
	memset(sample, 0, sizeof *sample);
	sample->buffers = (struct buffers){ 1, sample->lower, sample->upper, sample->size, NULL, NULL, NULL, NULL, NULL, NULL };
	sample->upper[0] = 1000;
	sample->size[0] = 1000;
	while (count < n) {
		uint32_t i = (uint32_t)below(seed, count), j = count;
		int64_t width = sample->upper[i] - sample->lower[i];
		sample->lower[j] = sample->lower[i];
		sample->upper[j] = sample->upper[i];
		sample->size[j] = sample->size[i];
		if (below(seed, 4) == 0 && width > 1) {
			sample->upper[i] = sample->lower[j] = sample->lower[i] + 1 + below(seed, width - 1);
		} else if (sample->size[i] > 1) {
			sample->size[i] = 1 + below(seed, sample->size[i] - 1);
			sample->size[j] -= sample->size[i];
		} else {
			continue;
		}
		count++;
	}
	sample->buffers.n = count;
	return count;
}

Test(wheel, finds_the_load_of_strips_that_no_dive_fills)
{
	uint64_t seed = test_seed();
	struct sample sample;
	int missed = 0, found = 0;
	for (int round = 0; round < 100; round++) {
		cut_strip(&sample, 30, &seed);
		OWN(layout) dive, wheel;
		solve(&sample.buffers, LAYOUT_DIVE, 0, &dive);
		solve(&sample.buffers, LAYOUT_WHEEL, 3000000, &wheel);
		cr_assert_eq(wheel.load, 1000);
		missed += !proof_closed(&dive.proof);
		found += !proof_closed(&dive.proof) && proof_closed(&wheel.proof);
	}
	cr_assert_gt(found * 4, missed, "SEED=%llu: %d of %d", (unsigned long long)test_seed(), found, missed);
}

Test(wheel, out_of_memory_leaks_nothing)
{
	uint64_t seed = test_seed();
	struct sample sample;
	cut_strip(&sample, 24, &seed);
	for (long n = 0;; n = memory_next(n)) {
		struct layout layout = { 0 };
		long before = memory_blocks();
		memory_allow(n);
		enum status status = solve(&sample.buffers, LAYOUT_WHEEL, 20000, &layout);
		memory_allow(-1);
		if (status != NO_MEMORY) {
			layout_free(&layout);
			cr_assert_gt(n, 10);
			break;
		}
		cr_assert_eq(memory_blocks(), before, "allocation %ld", n);
	}
}
