/* unit_layout_peak.c: windows around the peak and ejection chains, against the checker. */
#include "tests/common/random_buffers.h"
#include "solver/layout/steps.h"
#include "tests/common/support.h"

#define EFFORT 3000000

/* What improves a layout. */
typedef enum status improver(const struct layout_model *model, int64_t enough, uint64_t effort, int64_t *offset,
	int64_t *height, struct control *control);

static void check(
	const struct buffers *buffers, const struct layout_model *model, const int64_t *offset, int64_t height, int round)
{
	int64_t bytes[MOST] = { 0 };
	struct error error = { 0 };
	for (uint32_t b = 0; b < model->n; b++)
		bytes[model->origin[b]] = offset[b] * model->unit;
	int64_t load = model->max_load * model->unit;
	struct layout layout = { .offset = bytes,
		.arena = height * model->unit,
		.load = load,
		.moment = model->time[model->max_section],
		.proof = { QUANTITY_ARENA, height * model->unit, load, "load" } };
	cr_assert_eq(layout_check(buffers, 1, &layout, &error), OK, "SEED=%llu round %d: %s",
		(unsigned long long)test_seed(), round, error.text);
}

/* First fit in order of numbers: a bad layout. */
static int64_t bad_layout(const struct layout_model *model, int64_t *offset)
{
	uint32_t order[MOST];
	int64_t height;
	struct control control = { 0 };
	for (uint32_t b = 0; b < model->n; b++)
		order[b] = b;
	cr_assert_eq(layout_fit(model, order, false, INT64_MAX, offset, &height, &control), OK);
	return height;
}

/* A training step: forward buffers that live until their backward counterpart, temporaries, gradients that stay. Or
 * two: the second begins half way through the first. */
static void draw_step(struct sample *sample, uint32_t layers, bool twice, uint64_t *seed)
{
	uint32_t n = 0, half = twice ? layers / 2 : layers;
	int64_t length = 4 * half + 2;
	memset(sample, 0, sizeof *sample);
	for (uint32_t i = 0; i < layers; i++) {
		int64_t start = i < half ? 0 : length / 2, end = start + length;
		int64_t forward = start + 2 * (i % half), backward = end - 2 * (i % half) - 2, activation = 4 + below(seed, 20);
		int64_t life[4][2] = { { forward, backward + 1 }, { forward, forward + 2 }, { backward, end },
			{ backward, backward + 2 } };
		int64_t size[4] = { activation, 1 + below(seed, 12), 1 + below(seed, 4), 1 + activation / 2 + below(seed, 8) };
		for (int k = 0; k < 4; k++, n++) {
			sample->lower[n] = life[k][0];
			sample->upper[n] = life[k][1] < end ? life[k][1] : end;
			sample->size[n] = size[k];
		}
	}
	sample->buffers = (struct buffers){ .n = n, .lower = sample->lower, .upper = sample->upper, .size = sample->size };
}

static void lowers_to_load(improver *improve)
{
	uint64_t seed = test_seed();
	struct sample sample;
	struct control control = { 0 };
	int better = 0, at_load = 0, rounds = 60;
	for (int round = 0; round < rounds; round++) {
		draw_step(&sample, 10, round % 2, &seed);
		OWN(layout_model) model;
		int64_t offset[MOST], again[MOST];
		cr_assert_eq(layout_model_build(&sample.buffers, 1, &model, NULL), OK);
		int64_t before = bad_layout(&model, offset), height = before, height_again = before;
		memcpy(again, offset, sizeof again);
		cr_assert_eq(improve(&model, model.max_load, EFFORT, offset, &height, &control), OK);
		check(&sample.buffers, &model, offset, height, round);
		cr_assert_leq(height, before);
		cr_assert_eq(improve(&model, model.max_load, EFFORT, again, &height_again, &control), OK);
		cr_assert(height == height_again && memcmp(offset, again, model.n * sizeof *offset) == 0,
			"SEED=%llu round %d: differs", (unsigned long long)test_seed(), round);
		better += height < before;
		at_load += height == model.max_load;
	}
	cr_assert_gt(better, rounds / 4, "SEED=%llu: better in %d of %d", (unsigned long long)test_seed(), better, rounds);
	cr_assert_gt(at_load, rounds * 2 / 3, "SEED=%llu: at the load in %d of %d", (unsigned long long)test_seed(),
		at_load, rounds);
}

Test(peak, lowers_training_steps_to_their_load)
{
	lowers_to_load(layout_peak);
}

Test(eject, lowers_training_steps_to_their_load)
{
	lowers_to_load(layout_eject);
}

/* What a stopped run leaves is a layout, and never a worse one. */
static void stopped_anywhere(improver *improve)
{
	uint64_t seed = test_seed();
	struct sample sample;
	for (int round = 0; round < 300; round++) {
		draw_step(&sample, 8, round % 2, &seed);
		OWN(layout_model) model;
		int64_t offset[MOST];
		struct control control = { .limit = 1 + (uint64_t)below(&seed, 100000) };
		cr_assert_eq(layout_model_build(&sample.buffers, 1, &model, NULL), OK);
		int64_t before = bad_layout(&model, offset), height = before;
		enum status status = improve(&model, model.max_load, EFFORT, offset, &height, &control);
		cr_assert(status == OK || status == LIMIT);
		cr_assert_leq(height, before);
		check(&sample.buffers, &model, offset, height, round);
	}
}

Test(peak, stopped_anywhere_the_layout_is_whole)
{
	stopped_anywhere(layout_peak);
}

Test(eject, stopped_anywhere_the_layout_is_whole)
{
	stopped_anywhere(layout_eject);
}

/* Two full times are laid out one after the other: what lives between them has places with both, wherever that ends. */
Test(peak, what_lives_between_full_times_does_not_overlap)
{
	uint64_t seed = test_seed();
	struct sample sample;
	int better = 0;
	for (int round = 0; round < 3000; round++) {
		draw_step(&sample, 8 + (uint32_t)below(&seed, 8), true, &seed);
		OWN(layout_model) model;
		int64_t offset[MOST];
		struct control control = { .limit = 20000 + (uint64_t)below(&seed, 80000) };
		cr_assert_eq(layout_model_build(&sample.buffers, 1, &model, NULL), OK);
		int64_t before = bad_layout(&model, offset), height = before;
		enum status status = layout_peak(&model, model.max_load, EFFORT, offset, &height, &control);
		cr_assert(status == OK || status == LIMIT);
		check(&sample.buffers, &model, offset, height, round);
		better += height < before;
	}
	cr_assert_gt(better, 1000);
}

/* least: allocations that it makes. */
static void leaks_nothing(improver *improve, long least)
{
	uint64_t seed = test_seed();
	struct sample sample;
	OWN(layout_model) model;
	int64_t offset[MOST];
	draw_step(&sample, 6, true, &seed);
	cr_assert_eq(layout_model_build(&sample.buffers, 1, &model, NULL), OK);
	int64_t start = bad_layout(&model, offset);
	for (long n = 0;; n++) {
		struct control control = { 0 };
		int64_t height = start;
		long before = memory_blocks();
		bad_layout(&model, offset);
		memory_allow(n);
		/* Less than the load: every way is tried. */
		enum status status = improve(&model, model.max_load - 1, 100000, offset, &height, &control);
		memory_allow(-1);
		cr_assert_eq(memory_blocks(), before, "allocation %ld", n);
		if (status != NO_MEMORY) {
			cr_assert_geq(n, least);
			break;
		}
	}
}

Test(peak, out_of_memory_leaks_nothing)
{
	leaks_nothing(layout_peak, 11);
}

Test(eject, out_of_memory_leaks_nothing)
{
	leaks_nothing(layout_eject, 1); /* of an arena */
}
