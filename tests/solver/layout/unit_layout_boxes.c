/* unit_layout_boxes.c: boxes are layouts of what they are made of, and solve what has been cut up. */
#include "solver/layout/steps.h"
#include "tests/common/random_buffers.h"
#include "tests/common/support.h"

/* Any layout of the boxes, here one above the other, is a layout of the buffers and no higher. */
static void check_boxes(const struct buffers *buffers, int64_t room, uint32_t variant)
{
	OWN(layout_model) model;
	struct layout_boxes boxes;
	struct error error = { 0 };
	cr_assert_eq(layout_model_build(buffers, 1, &model, &error), OK);
	cr_assert_eq(layout_boxes_build(&model, room ? model.max_load + room : 0, variant, &boxes), OK);
	cr_assert_leq(boxes.model.n, model.n);
	if (room == 0)
		cr_assert_eq(boxes.model.max_load * boxes.scale, model.max_load, "joining exact fits leaves the load alone");
	int64_t coarse[MOST], offset[MOST], sum = 0;
	for (uint32_t b = 0; b < boxes.model.n; b++) {
		coarse[b] = sum;
		sum += boxes.model.size[b];
	}
	OWN(layout) layout = { .offset = mem_alloc(model.n, sizeof *layout.offset), .load = model.max_load * model.unit,
				 .proof.bound = model.max_load * model.unit, .moment = model.time[model.max_section] };
	cr_assert_eq(layout_boxes_unpack(&boxes, coarse, offset), OK);
	for (uint32_t b = 0; b < model.n; b++)
		layout.offset[model.origin[b]] = offset[b] * model.unit;
	layout.arena = sum * boxes.scale * model.unit;
	cr_assert_eq(
		layout_check(buffers, 1, &layout, &error), OK, "SEED=%llu: %s", (unsigned long long)test_seed(), error.text);
	layout_boxes_free(&boxes);
}

Test(layout_boxes, every_layout_of_boxes_is_one_of_buffers)
{
	uint64_t seed = test_seed();
	struct sample sample;
	for (int round = 0; round < 4000; round++) {
		draw(&sample, 1 + (uint32_t)below(&seed, MOST), 3 + below(&seed, 20), 1 + below(&seed, 9), PLAIN, &seed);
		check_boxes(&sample.buffers, round % 3 ? below(&seed, 30) : 0, (uint32_t)round / 2);
	}
}

/* A rectangle cut into n pieces from edge to edge, some of which are lost. */
struct puzzle { struct buffers buffers; int64_t lower[400], upper[400], size[400]; };

static void cut_up(struct puzzle *puzzle, uint32_t n, int64_t lost_percent, uint64_t *seed)
{
	int64_t *lower = puzzle->lower, *upper = puzzle->upper, *size = puzzle->size;
	uint32_t count = 1;
	*puzzle = (struct puzzle){ .upper = { 1024 }, .size = { 1024 } };
	while (count < n) {
		uint32_t i = (uint32_t)below(seed, count), j = (uint32_t)below(seed, count);
		if ((upper[j] - lower[j]) * size[j] > (upper[i] - lower[i]) * size[i])
			i = j;
		lower[count] = lower[i];
		upper[count] = upper[i];
		size[count] = size[i];
		if (below(seed, 2) && upper[i] - lower[i] >= 4)
			upper[i] = lower[count] = lower[i] + 1 + below(seed, upper[i] - lower[i] - 1);
		else if (size[i] >= 4)
			size[count] -= size[i] = 1 + below(seed, size[i] - 1);
		else
			continue;
		count++;
	}
	uint32_t kept = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (below(seed, 100) < lost_percent)
			continue;
		lower[kept] = lower[i];
		upper[kept] = upper[i];
		size[kept++] = size[i];
	}
	puzzle->buffers = (struct buffers){ .n = kept, .lower = lower, .upper = upper, .size = size };
}

Test(layout_boxes, puzzles_are_put_together_again)
{
	uint64_t seed = test_seed();
	int solved = 0, rounds = 30;
	for (int round = 0; round < rounds; round++) {
		struct puzzle puzzle;
		cut_up(&puzzle, 100 + (uint32_t)below(&seed, 200), round % 3 * 5, &seed);
		struct layout_options options = {
			.strategy = LAYOUT_BEST, .alignment = 1, .capacity = 1024, .effort = LAYOUT_EFFORT(1)
		};
		OWN(layout) layout;
		struct control control = { 0 };
		struct error error = { 0 };
		enum status status = layout_solve(&puzzle.buffers, &options, &control, &layout, &error);
		cr_assert_eq(status, OK, "SEED=%llu round %d: %s", (unsigned long long)test_seed(), round, error.text);
		cr_assert_eq(layout_check(&puzzle.buffers, 1, &layout, &error), OK, "%s", error.text);
		solved += layout.arena <= 1024;
	}
	cr_assert_geq(solved, rounds - 3, "SEED=%llu: %d of %d", (unsigned long long)test_seed(), solved, rounds);
}

Test(layout_boxes, running_out_of_memory_leaks_nothing)
{
	uint64_t seed = test_seed();
	struct puzzle puzzle;
	cut_up(&puzzle, 40, 15, &seed);
	OWN(layout_model) model;
	struct error error;
	cr_assert_eq(layout_model_build(&puzzle.buffers, 1, &model, &error), OK);
	EACH_REFUSAL(refused) {
		struct layout_boxes boxes;
		int64_t offset[MOST] = { 0 }, coarse[MOST] = { 0 };
		refused.status = layout_boxes_build(&model, 1024, 0, &boxes);
		if (refused.status == OK)
			refused.status = layout_boxes_unpack(&boxes, coarse, offset);
		layout_boxes_free(&boxes);
	}
}
