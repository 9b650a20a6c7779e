/* unit_layout_wheel.c: the squeaky wheel against dives and exact search. */
#include "tests/common/random_buffers.h"
#include "solver/layout/steps.h"
#include "tests/common/support.h"

/* The layout of a model as a wheel of so much effort leaves it, from a dive; heights before and after. */
struct turned { struct layout_model model; int64_t offset[MOST], dive, height; };

static enum status turn(const struct buffers *buffers, uint64_t effort, struct turned *turned)
{
	struct control control = { 0 };
	uint32_t order[MOST];
	*turned = (struct turned) { 0 };
	TRY(layout_model_build(buffers, 1, &turned->model, NULL));
	enum status status = layout_sort(&turned->model, "TAW", order);
	if (status == OK)
		status = layout_dive(&turned->model, order, false, INT64_MAX, turned->offset, &turned->dive, &control);
	turned->height = turned->dive;
	if (status == OK)
		status = layout_wheel(&turned->model, order, false, turned->model.max_load, effort, effort, turned->offset,
			&turned->height, &control);
	return status;
}

static int64_t smallest(const struct buffers *buffers)
{
	struct control control = { 0 };
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .effort = 1000000 };
	OWN(layout) layout = { 0 };
	return layout_solve(buffers, &options, &control, &layout, NULL) == OK ? layout.arena : -1;
}

static enum status check(const struct buffers *buffers, const struct turned *turned, struct error *error)
{
	int64_t bytes[MOST] = { 0 }, unit = turned->model.unit, load = turned->model.max_load * unit;
	for (uint32_t b = 0; b < turned->model.n; b++)
		bytes[turned->model.origin[b]] = turned->offset[b] * unit;
	struct layout layout = { .offset = bytes, .arena = turned->height * unit, .load = load,
		.moment = turned->model.time[turned->model.max_section],
		.proof = { QUANTITY_ARENA, turned->height * unit, load, "load" } };
	return layout_check(buffers, 1, &layout, error);
}

Test(wheel, turns_make_dives_better_and_never_worse)
{
	uint64_t seed = test_seed();
	struct sample sample;
	int better = 0, least = 0, rounds = 150;
	for (int round = 0; round < rounds; round++) {
		draw(&sample, 20, 12, 12, (int[]) { PLAIN, ALIGNED, GAPPED, ALIGNED | GAPPED }[round % 4], &seed);
		struct turned turned, again;
		struct error error;
		cr_assert_eq(turn(&sample.buffers, 1000000, &turned), OK);
		cr_assert_eq(turn(&sample.buffers, 1000000, &again), OK);
		cr_assert_eq(check(&sample.buffers, &turned, &error), OK, "SEED=%llu round %d: %s",
			(unsigned long long)test_seed(), round, error.text);
		cr_assert_leq(turned.height, turned.dive);
		cr_assert_eq(memcmp(turned.offset, again.offset, sizeof again.offset), 0);
		better += turned.height < turned.dive;
		least += turned.height * turned.model.unit <= smallest(&sample.buffers);
		layout_model_free(&turned.model);
		layout_model_free(&again.model);
	}
	cr_assert_gt(better, rounds / 10, "SEED=%llu: better in %d of %d", (unsigned long long)test_seed(), better, rounds);
	cr_assert_gt(least, rounds * 3 / 4, "SEED=%llu: smallest in %d of %d", (unsigned long long)test_seed(), least,
		rounds);
}

/* A strip cut again and again: full everywhere, so that the load is the smallest arena. */
static uint32_t cut_strip(struct sample *sample, uint32_t n, uint64_t *seed)
{
	uint32_t count = 1;
	memset(sample, 0, sizeof *sample);
	sample->buffers = (struct buffers){ 1, sample->lower, sample->upper, sample->size, NULL, NULL, NULL, NULL, NULL,
		NULL };
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
		struct turned turned;
		cr_assert_eq(turn(&sample.buffers, 3000000, &turned), OK);
		cr_assert_eq(turned.model.max_load * turned.model.unit, 1000);
		missed += turned.dive > turned.model.max_load;
		found += turned.dive > turned.model.max_load && turned.height == turned.model.max_load;
		layout_model_free(&turned.model);
	}
	cr_assert_gt(found * 4, missed, "SEED=%llu: %d of %d", (unsigned long long)test_seed(), found, missed);
}

Test(wheel, out_of_memory_leaks_nothing)
{
	uint64_t seed = test_seed();
	struct sample sample;
	cut_strip(&sample, 24, &seed);
	for (long n = 0;; n = memory_next(n)) {
		struct turned turned;
		long before = memory_blocks();
		memory_allow(n);
		enum status status = turn(&sample.buffers, 20000, &turned);
		memory_allow(-1);
		layout_model_free(&turned.model);
		if (status != NO_MEMORY) {
			cr_assert_gt(n, 10);
			break;
		}
		cr_assert_eq(memory_blocks(), before, "allocation %ld", n);
	}
}
