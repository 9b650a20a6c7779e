/* unit_layout_dive.c: dives against the definition, step by step. */
#include "tests/common/random_buffers.h"
#include "solver/layout/steps.h"
#include "tests/common/support.h"

static bool meet(const struct layout_model *model, uint32_t a, uint32_t b)
{
	for (uint32_t j = model->span_start[a]; j < model->span_start[a + 1]; j++)
		for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1]; k++)
			if (model->span[j].first < model->span[k].last && model->span[k].first < model->span[j].last)
				return true;
	return false;
}

/* Of all that is left what can rest lowest, the first in order among equals, again and again. */
static void simple_dive(const struct layout_model *model, const uint32_t *order, int64_t *offset)
{
	bool placed[MOST] = { false };
	for (uint32_t count = 0; count < model->n; count++) {
		uint32_t best = NONE;
		int64_t low = INT64_MAX;
		for (uint32_t i = 0; i < model->n; i++) {
			uint32_t b = order[i];
			int64_t top = 0;
			for (uint32_t c = 0; c < model->n && !placed[b]; c++)
				if (placed[c] && meet(model, b, c) && offset[c] + model->size[c] > top)
					top = offset[c] + model->size[c];
			if (!placed[b] && top < low) {
				low = top;
				best = b;
			}
		}
		offset[best] = align_up(low, model->alignment[best]);
		placed[best] = true;
	}
}

Test(dive, takes_what_can_rest_lowest)
{
	static const char *const keys[] = { "TAW", "AWT", "ZTW", "TWA", "OTA", "WZ", "EZ", "L" };
	uint64_t seed = test_seed();
	struct sample sample;
	struct control control = { 0 };
	for (int round = 0; round < 1500; round++) {
		int kind = (round % 2 ? ALIGNED : PLAIN) | (round % 8 == 7 ? GAPPED : PLAIN);
		draw(&sample, 1 + (uint32_t)below(&seed, 50), 1 + below(&seed, 40), 12, kind, &seed);
		OWN(layout_model) model;
		struct error error;
		uint32_t order[MOST];
		int64_t offset[MOST], expected[MOST], height;
		cr_assert_eq(layout_model_build(&sample.buffers, 1, &model, &error), OK);
		cr_assert_eq(layout_sort(&model, keys[round / 8 % 8], order), OK);
		simple_dive(&model, order, expected);
		cr_assert_eq(layout_dive(&model, order, false, INT64_MAX, offset, &height, &control), OK);
		for (uint32_t b = 0; b < model.n; b++)
			cr_assert_eq(offset[b], expected[b], "SEED=%llu round %d: buffer %u at %lld, not %lld",
				     (unsigned long long)test_seed(), round, b, (long long)offset[b], (long long)expected[b]);
		cr_assert_eq(height, layout_model_height(&model, expected));
		int64_t smallest = height;
		cr_assert_eq(layout_dive(&model, order, false, smallest, offset, &height, &control), OK);
		cr_assert_eq(height, INT64_MAX, "a dive that reaches the limit gives up");
		cr_assert_eq(layout_dive(&model, order, false, smallest + 1, offset, &height, &control), OK);
		cr_assert_eq(height, smallest);
	}
}

Test(online, is_first_fit_in_the_order_of_time)
{
	uint64_t seed = test_seed();
	struct sample sample;
	struct control control = { 0 };
	for (int round = 0; round < 1000; round++) {
		draw(&sample, 1 + (uint32_t)below(&seed, 50), 1 + below(&seed, 40), 12, PLAIN, &seed);
		OWN(layout_model) model;
		struct error error;
		uint32_t order[MOST];
		int64_t offset[MOST], expected[MOST], height;
		cr_assert_eq(layout_model_build(&sample.buffers, 1, &model, &error), OK);
		for (uint32_t b = 0; b < model.n; b++) {
			uint32_t at = b;
			for (; at > 0 && model.first[order[at - 1]] > model.first[b]; at--)
				order[at] = order[at - 1];
			order[at] = b;
		}
		cr_assert_eq(layout_fit(&model, order, false, INT64_MAX, expected, &height, &control), OK);
		cr_assert_eq(layout_online(&model, offset), OK);
		for (uint32_t b = 0; b < model.n; b++)
			cr_assert_eq(offset[b], expected[b], "SEED=%llu round %d: buffer %u at %lld, not %lld",
				(unsigned long long)test_seed(), round, b, (long long)offset[b], (long long)expected[b]);
	}
}

/* The first in order that lives within sections [first, last) and, if `over` is a section, is alive there. */
static uint32_t first_within(const struct layout_model *model, const uint32_t *order, const bool *placed,
	uint32_t first, uint32_t last, uint32_t over)
{
	for (uint32_t i = 0; i < model->n; i++) {
		uint32_t b = order[i];
		if (!placed[b] && model->first[b] >= first && model->last[b] <= last
		    && (over == NONE || (model->first[b] <= over && over < model->last[b])))
			return b;
	}
	return NONE;
}

/* Always at the lowest run of sections with one top; what it reaches is worked out section by section. */
static void simple_critical_dive(const struct layout_model *model, const uint32_t *order, int64_t *offset)
{
	int64_t top[2 * MOST] = { 0 }, reach[2 * MOST];
	bool placed[MOST] = { false };
	memcpy(reach, model->load, model->sections * sizeof *reach);
	for (uint32_t left = model->n; left > 0;) {
		uint32_t first = 0, last, over;
		for (uint32_t s = 1; s < model->sections; s++)
			first = top[s] < top[first] ? s : first;
		for (last = over = first; last < model->sections && top[last] == top[first]; last++)
			over = reach[last] > reach[over] ? last : over;
		uint32_t b = first_within(model, order, placed, first, last, over);
		if (b == NONE)
			b = first_within(model, order, placed, first, last, NONE);
		if (b == NONE) {
			int64_t left_wall = first > 0 ? top[first - 1] : INT64_MAX;
			int64_t right_wall = last < model->sections ? top[last] : INT64_MAX;
			int64_t wall = left_wall < right_wall ? left_wall : right_wall;
			for (uint32_t s = first; s < last; s++) {
				reach[s] += wall - top[s];
				top[s] = wall;
			}
			continue;
		}
		offset[b] = align_up(top[first], model->alignment[b]);
		placed[b] = true;
		left--;
		for (uint32_t s = model->first[b]; s < model->last[b]; s++)
			top[s] = offset[b] + model->size[b];
	}
}

Test(dive, the_critical_one_fills_first_what_would_reach_highest)
{
	static const char *const keys[] = { "TAW", "AWT", "EW", "OTA" };
	uint64_t seed = test_seed();
	struct sample sample;
	struct control control = { 0 };
	for (int round = 0; round < 1000; round++) {
		draw(&sample, 1 + (uint32_t)below(&seed, 50), 1 + below(&seed, 40), 12, round % 2 ? ALIGNED : PLAIN, &seed);
		OWN(layout_model) model;
		struct error error;
		uint32_t order[MOST];
		int64_t offset[MOST], expected[MOST], height;
		cr_assert_eq(layout_model_build(&sample.buffers, 1, &model, &error), OK);
		cr_assert_eq(layout_sort(&model, keys[round / 2 % 4], order), OK);
		simple_critical_dive(&model, order, expected);
		cr_assert_eq(layout_dive(&model, order, true, INT64_MAX, offset, &height, &control), OK);
		for (uint32_t b = 0; b < model.n; b++)
			cr_assert_eq(offset[b], expected[b], "SEED=%llu round %d: buffer %u at %lld, not %lld",
				     (unsigned long long)test_seed(), round, b, (long long)offset[b], (long long)expected[b]);
	}
}

Test(nest, finds_the_first_in_order_between_two_sections)
{
	uint64_t seed = test_seed();
	struct sample sample;
	for (int round = 0; round < 300; round++) {
		draw(&sample, 1 + (uint32_t)below(&seed, 60), 1 + below(&seed, 60), 12, PLAIN, &seed);
		OWN(layout_model) model;
		struct nest nest;
		struct error error;
		uint32_t order[MOST];
		bool gone[MOST] = { false };
		cr_assert_eq(layout_model_build(&sample.buffers, 1, &model, &error), OK);
		cr_assert_eq(layout_sort(&model, round % 2 ? "AZ" : "TWA", order), OK);
		cr_assert_eq(nest_build(&nest, &model, order), OK);
		for (int question = 0; question < 200; question++) {
			uint32_t first = (uint32_t)below(&seed, model.sections), expected = NONE;
			uint32_t last = first + 1 + (uint32_t)below(&seed, model.sections - first);
			for (uint32_t i = model.n; i-- > 0;)
				if (!gone[order[i]] && model.first[order[i]] >= first && model.last[order[i]] <= last)
					expected = i;
			cr_assert_eq(nest_best(&nest, first, last), expected, "SEED=%llu round %d question %d",
				     (unsigned long long)test_seed(), round, question);
			uint32_t over = first + (uint32_t)below(&seed, last - first), alive = NONE;
			for (uint32_t i = model.n; i-- > 0;)
				if (!gone[order[i]] && model.first[order[i]] >= first && model.last[order[i]] <= last
				    && model.first[order[i]] <= over && over < model.last[order[i]])
					alive = i;
			cr_assert_eq(nest_best_over(&nest, first, last, over), alive, "SEED=%llu round %d question %d",
				     (unsigned long long)test_seed(), round, question);
			if (expected != NONE && question % 3) {
				nest_remove(&nest, order[expected]);
				gone[order[expected]] = true;
			}
		}
		nest_free(&nest);
	}
}

Test(dive, out_of_memory_leaks_nothing)
{
	uint64_t seed = test_seed();
	struct sample sample;
	struct control control = { 0 };
	OWN(layout_model) model;
	struct error error;
	uint32_t order[MOST];
	int64_t offset[MOST], height;
	draw(&sample, 30, 20, 12, PLAIN, &seed);
	cr_assert_eq(layout_model_build(&sample.buffers, 1, &model, &error), OK);
	cr_assert_eq(layout_sort(&model, "TAW", order), OK);
	EACH_REFUSAL(refused)
		refused.status = layout_dive(&model, order, true, INT64_MAX, offset, &height, &control);
}
