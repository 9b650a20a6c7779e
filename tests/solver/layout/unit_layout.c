/* unit_layout.c: offsets, bounds and their checker. */
#include "tests/common/random_buffers.h"
#include "solver/layout/layout.h"
#include "tests/common/support.h"

static enum status solve(
	const struct buffers *buffers, enum layout_strategy strategy, int64_t alignment, struct layout *layout)
{
	struct control control = { 0 };
	struct error error = { 0 };
	struct layout_options options = { .strategy = strategy, .alignment = alignment, .effort = 100000 };
	return layout_solve(buffers, &options, &control, layout, &error);
}

Test(layout, every_strategy_gives_a_layout_that_the_checker_accepts)
{
	uint64_t seed = test_seed();
	struct sample sample;
	for (uint32_t round = 0; round < test_rounds(160, 2000); round++) {
		int kind = (int)(round % 8);
		draw(&sample, (uint32_t)below(&seed, 30), 20, 12, kind, &seed);
		for (int strategy = 0; strategy < LAYOUT_STRATEGY_COUNT; strategy++) {
			OWN(layout) layout;
			int64_t alignment = (kind & PINNED) ? 1 : 1 + round % 3;
			enum status status = solve(&sample.buffers, (enum layout_strategy)strategy, alignment, &layout);
			struct error error = { 0 };
			cr_assert(status == OK || (status == INFEASIBLE && (kind & PINNED)), "round %u: status %d", round, status);
			if (status == OK)
				cr_assert_eq(layout_check(&sample.buffers, alignment, &layout, &error), OK, "SEED=%llu round %u %s: %s",
					     (unsigned long long)test_seed(), round, layout_strategy_names[strategy], error.text);
		}
	}
}

Test(layout, the_checker_refuses_an_overlap_a_moved_pin_and_a_false_bound)
{
	int64_t lower[] = { 0, 1, 2 }, upper[] = { 2, 3, 4 }, size[] = { 4, 4, 4 }, fixed[] = { -1, 4, -1 },
			offset[] = { 0, 4, 0 };
	struct buffers buffers = { .n = 3, .lower = lower, .upper = upper, .size = size, .fixed = fixed };
	struct layout layout = {
		.offset = offset, .arena = 8, .load = 8, .proof = { QUANTITY_ARENA, 8, 8, "load" }, .moment = 1
	};
	struct error error;
	cr_assert_eq(layout_check(&buffers, 1, &layout, &error), OK);
	offset[0] = 2;
	cr_assert_eq(layout_check(&buffers, 1, &layout, &error), BAD_INPUT);
	cr_assert_str_eq(error.text, "buffers 0 and 1 overlap at step 1");
	offset[0] = 0;
	offset[1] = 8;
	cr_assert_eq(layout_check(&buffers, 1, &layout, &error), BAD_INPUT);
	offset[1] = 4;
	layout.load = layout.proof.bound = 9;
	layout.proof.value = -1;
	cr_assert_eq(layout_check(&buffers, 1, &layout, &error), BAD_INPUT);
	layout.load = layout.proof.bound = 8;
	layout.moment = 0;
	cr_assert_eq(layout_check(&buffers, 1, &layout, &error), BAD_INPUT);
}

/* Byte by byte and step by step. */
static bool overlap(const struct buffers *buffers, const int64_t *offset)
{
	uint8_t taken[40][400] = { { 0 } };
	for (uint32_t i = 0; i < buffers->n; i++) {
		uint32_t first = buffers->piece_start ? buffers->piece_start[i] : 0,
				 last = buffers->piece_start ? buffers->piece_start[i + 1] : 0;
		struct piece whole = { buffers->lower[i], buffers->upper[i] };
		for (uint32_t k = first; k < last || (first == last && k == first); k++) {
			const struct piece *piece = first == last ? &whole : &buffers->piece[k];
			for (int64_t step = piece->lower; step < piece->upper; step++)
				for (int64_t byte = 0; byte < buffers->size[i]; byte++)
					if (taken[step][offset[i] + byte]++)
						return true;
		}
	}
	return false;
}

Test(layout, the_checker_finds_exactly_what_overlaps)
{
	uint64_t seed = test_seed();
	uint32_t found = 0;
	for (uint32_t round = 0; round < test_rounds(700, 20000); round++) {
		struct sample sample;
		struct layout layout;
		struct error error = { 0 };
		draw(&sample, (uint32_t)below(&seed, 12), 20, 12, round % 2 ? GAPPED : PLAIN, &seed);
		cr_assert_eq(solve(&sample.buffers, LAYOUT_DIVE, 1, &layout), OK);
		for (uint32_t i = 0; i < sample.buffers.n; i++)
			if (below(&seed, 6) == 0)
				layout.offset[i] = below(&seed, layout.arena + 1);
		layout.arena += 12;
		layout.proof.value = -1;
		layout.proof.bound = 0;
		bool refused = layout_check(&sample.buffers, 1, &layout, &error) != OK && strstr(error.text, "overlap");
		cr_assert_eq(refused, overlap(&sample.buffers, layout.offset), "SEED=%llu round %u: %s",
			(unsigned long long)test_seed(), round, error.text);
		found += refused;
		layout_free(&layout);
	}
	cr_assert(found > 100);
}

Test(layout, contradictory_pins_are_refused_by_name)
{
	int64_t lower[] = { 0, 1 }, upper[] = { 2, 3 }, size[] = { 4, 4 }, fixed[] = { 0, 3 };
	struct buffers buffers = { .n = 2, .lower = lower, .upper = upper, .size = size, .fixed = fixed };
	OWN(layout) layout;
	struct control control = { 0 };
	struct error error;
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1 };
	cr_assert_eq(layout_solve(&buffers, &options, &control, &layout, &error), INFEASIBLE);
	cr_assert_str_eq(error.text,
		"buffers 0 and 1 are pinned to overlapping places: to bytes 0 to 3 and 3 to 6, and both are alive at "
		"step 1");
	cr_assert_eq(layout.clash.buffer[0], 0);
	cr_assert_eq(layout.clash.buffer[1], 1);
	cr_assert_null(layout.offset);
}

static struct allocated allocate(const struct buffers *buffers, bool expandable, int64_t limit)
{
	struct allocated allocated;
	cr_assert(layout_holds(buffers, expandable, limit < 0 ? -1 : limit << 20, &allocated));
	cr_expect_eq(allocated.breaks < 0, limit < 0 || allocated.least <= limit << 20);
	return allocated;
}

Test(layout, the_caching_allocator_reserves_what_pytorch_reserves)
{
	/* 1 MiB: the small pool's 2 MiB. 3 and 11 MiB: one segment of 20 MiB, whose free ends of 3 and 6 MiB cannot
	 * take 17 MiB: a segment of 18 MiB; the expandable one grows by 20 MiB at its free end. */
	int64_t lower[] = { 0, 0, 0, 2 }, upper[] = { 2, 2, 3, 4 }, size[] = { 1 << 20, 3 << 20, 11 << 20, 17 << 20 };
	struct buffers buffers = { .n = 4, .lower = lower, .upper = upper, .size = size };
	cr_assert_eq(allocate(&buffers, false, -1).reserved, INT64_C(40) << 20);
	cr_assert_eq(allocate(&buffers, true, -1).reserved, INT64_C(42) << 20);
}

/* What one stream has let go of no other takes. */
Test(layout, streams_have_memory_of_their_own)
{
	int64_t lower[] = { 0, 2, 4 }, upper[] = { 2, 4, 6 }, size[] = { 40 << 20, 40 << 20, 40 << 20 };
	uint8_t stream[] = { 0, 1, 0 };
	struct buffers buffers = { .n = 3, .lower = lower, .upper = upper, .size = size };
	cr_assert_eq(allocate(&buffers, false, -1).reserved, INT64_C(40) << 20);
	buffers.stream = stream;
	cr_assert_eq(allocate(&buffers, false, -1).reserved, INT64_C(80) << 20);
	cr_assert_eq(allocate(&buffers, true, -1).reserved, INT64_C(80) << 20);
}

/* get_free_block() of c10/cuda: the free end of an expandable segment counts as large as it can get, so that a larger
 * hole is taken before it. The last one (100 MiB) then finds room at the end (60 of 120 MiB) to grow by 40; had the end
 * been cut, by 80. */
Test(layout, an_expandable_segments_end_is_taken_last)
{
	int64_t lower[] = { 0, 0, 0, 2, 3 }, upper[] = { 1, 4, 1, 4, 4 },
			size[] = { 80 << 20, 20 << 20, 60 << 20, 40 << 20, 100 << 20 };
	struct buffers buffers = { .n = 5, .lower = lower, .upper = upper, .size = size };
	cr_assert_eq(allocate(&buffers, true, -1).reserved, INT64_C(200) << 20);
}

/* 40 MiB are let go of before 60 are asked for, which they can't hold: at 60 MiB the device gets them back first. */
Test(layout, cached_memory_goes_back_to_the_device_where_it_has_no_more)
{
	int64_t lower[] = { 0, 2 }, upper[] = { 1, 3 }, size[] = { 40 << 20, 60 << 20 };
	struct buffers buffers = { .n = 2, .lower = lower, .upper = upper, .size = size };
	struct allocated free = allocate(&buffers, false, -1), held = allocate(&buffers, false, 60),
			broken = allocate(&buffers, false, 59);
	cr_assert_eq(free.reserved, INT64_C(100) << 20);
	cr_assert_eq(free.least, INT64_C(60) << 20);
	cr_assert_eq(free.retries, 0);
	cr_assert_eq(held.retries, 1);
	cr_assert_eq(broken.breaks, 2);
	cr_assert_eq(allocate(&buffers, true, -1).reserved, INT64_C(60) << 20, "an expandable one grows instead");
}

/* A page in the middle of an expandable segment goes back; its addresses get memory again before the end does. */
Test(layout, pages_of_an_expandable_segment_go_back)
{
	int64_t lower[] = { 0, 0, 0, 2, 4 }, upper[] = { 1, 6, 6, 6, 6 },
			size[] = { 40 << 20, 20 << 20, (2 << 20) + 1, 60 << 20, 39 << 20 };
	struct buffers buffers = { .n = 4, .lower = lower, .upper = upper, .size = size };
	struct allocated free = allocate(&buffers, true, -1), held = allocate(&buffers, true, 100);
	cr_assert_eq(free.reserved, INT64_C(140) << 20);
	cr_assert_eq(held.breaks, -1);
	cr_assert_eq(held.retries, 1);
	buffers.n = 5;
	cr_assert_eq(allocate(&buffers, true, 120).breaks, 4);
	cr_assert_eq(allocate(&buffers, true, 140).breaks, -1);
}

Test(layout, running_out_of_memory_leaks_nothing)
{
	uint64_t seed = test_seed();
	struct sample sample;
	draw(&sample, 12, 10, 9, ALIGNED | GAPPED, &seed);
	for (int strategy = 0; strategy < LAYOUT_STRATEGY_COUNT; strategy++) {
		EACH_REFUSAL(refused) {
			struct layout layout = { 0 };
			refused.status = solve(&sample.buffers, (enum layout_strategy)strategy, 1, &layout);
			if (refused.status == OK)
				layout_free(&layout);
		}
	}
}

/* A cache of one value. */
struct one { uint64_t key[2]; unsigned char value[4096]; size_t bytes; int hits; };

static bool look_up(void *context, const uint64_t key[2], void *value, size_t bytes)
{
	struct one *one = context;
	if (one->bytes != bytes || memcmp(one->key, key, sizeof one->key))
		return false;
	memcpy(value, one->value, bytes);
	one->hits++;
	return true;
}

static void keep_value(void *context, const uint64_t key[2], const void *value, size_t bytes)
{
	struct one *one = context;
	memcpy(one->key, key, sizeof one->key);
	memcpy(one->value, value, bytes);
	one->bytes = bytes;
}

Test(layout, equal_components_are_solved_once)
{
	/* Two triples of the same shape, far apart. */
	int64_t lower[] = { 0, 1, 2, 100, 101, 102 }, upper[] = { 2, 3, 4, 102, 103, 104 }, size[] = { 4, 6, 4, 4, 6, 4 };
	struct buffers buffers = { .n = 6, .lower = lower, .upper = upper, .size = size };
	struct one one = { .bytes = 0 };
	struct layout_cache cache = { look_up, keep_value, &one };
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .cache = &cache };
	struct control control = { 0 };
	OWN(layout) layout;
	struct error error;
	cr_assert_eq(layout_solve(&buffers, &options, &control, &layout, &error), OK);
	cr_assert_eq(one.hits, 1);
	cr_assert_eq(layout.arena, 10);
	cr_assert_eq(layout_check(&buffers, 1, &layout, &error), OK);
}

/* Offsets of a checked layout come back as they are. With some of them moved onto others, or gone, the layout is still
 * one. */
Test(layout, addresses_of_a_file_are_kept_as_far_as_they_make_up_a_layout)
{
	uint64_t seed = test_seed();
	struct sample sample;
	for (int round = 0; round < 500; round++) {
		struct layout best, given;
		struct error error = { 0 };
		int64_t hint[30];
		draw(&sample, 1 + (uint32_t)below(&seed, 29), 20, 12, 0, &seed);
		cr_assert_eq(solve(&sample.buffers, LAYOUT_BEST_FIT, 1, &best), OK);
		memcpy(hint, best.offset, sample.buffers.n * sizeof *hint);
		sample.buffers.hint = hint;
		cr_assert_eq(solve(&sample.buffers, LAYOUT_FILE, 1, &given), OK);
		cr_expect_eq(given.moved, 0);
		for (uint32_t i = 0; i < sample.buffers.n; i++)
			cr_assert(given.offset[i] == hint[i] || sample.buffers.size[i] == 0, "SEED=%llu round %d",
				(unsigned long long)test_seed(), round);
		cr_expect_eq(given.arena, best.arena);
		layout_free(&given);
		for (uint32_t i = 0; i < sample.buffers.n; i += 1 + (uint32_t)below(&seed, 4))
			hint[i] = (int64_t)below(&seed, 20) - 1;
		cr_assert_eq(solve(&sample.buffers, LAYOUT_FILE, 1 + round % 3, &given), OK);
		cr_assert_eq(layout_check(&sample.buffers, 1 + round % 3, &given, &error), OK, "SEED=%llu round %d: %s",
			(unsigned long long)test_seed(), round, error.text);
		layout_free(&given);
		layout_free(&best);
	}
}
