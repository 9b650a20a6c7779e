/* unit_gantt.c: schedules in cells. */
#include <locale.h>
#include <string.h>

#include "solver/cost/mesh.h"
#include "tests/common/support.h"
#include "ui/views/gantt.h"

#define PIECES 128

struct example {
	int64_t forward[PIECES], backward[PIECES], send[PIECES], fixed[PIECES], working[PIECES], kept[PIECES];
	struct timetable timetable;
	struct gantt gantt;
	struct frame frame;
};
static struct example example;

static void open_example(
	enum schedule schedule, uint32_t ranks, uint32_t chunks, uint32_t microbatches, int width, int height)
{
	struct error error;
	setlocale(LC_ALL, "C.UTF-8");
	memset(&example, 0, sizeof example);
	for (int i = 0; i < PIECES; i++) {
		example.forward[i] = PICOSECONDS;
		example.backward[i] = 2 * PICOSECONDS;
		example.fixed[i] = INT64_C(1) << 30;
		example.kept[i] = INT64_C(1) << 29;
	}
	struct pipeline pipeline = { .schedule = schedule,
		.ranks = ranks,
		.chunks = chunks,
		.microbatches = microbatches,
		.forward = example.forward,
		.backward = example.backward,
		.send = example.send };
	struct timetable_bytes bytes = { .fixed = example.fixed, .working = example.working, .kept = example.kept };
	cr_assert_eq(timetable_build(&pipeline, &bytes, PICOSECONDS, &example.timetable, &error), OK, "%s", error.text);
	example.frame.ascii = example.frame.mono = true;
	cr_assert(frame_resize(&example.frame, width, height));
}

static void close_example(void)
{
	frame_free(&example.frame);
	timetable_free(&example.timetable);
}

static char *draw(int64_t limit)
{
	struct rect all = { 0, 0, example.frame.width, example.frame.height };
	frame_clear(&example.frame);
	gantt_take(&example.gantt, &example.timetable);
	gantt_draw(&example.frame, all, &example.gantt, &example.timetable, limit);
	char *text = frame_dump(&example.frame);
	cr_assert(text);
	return text;
}

static void expect(const char *wanted)
{
	HELD char *text = draw(-1);
	cr_assert(strstr(text, wanted), "no \"%s\" in\n%s", wanted, text);
}

static void press(enum command_id command)
{
	cr_assert(gantt_command(&example.gantt, &example.timetable, command));
}

/* 16 seconds in 64 columns: a forward pass is 4 wide, a backward pass 8. Narayanan et al., arXiv 2104.04473, figure 4,
 * top. */
Test(gantt, slots_stand_where_they_run_with_their_microbatchs_number)
{
	open_example(SCHEDULE_1F1B, 2, 1, 4, 64 + GANTT_LABELS + GANTT_AMOUNTS, 10);
	char *text = draw(-1);
	cr_assert(strstr(text, "\nrank 0   0fff1fff........0bbbbbbb2fff1bbbbbbb3fff2bbbbbbb....3bbbbbbbuuuu   80 %  2.00 GiB\n"
				"rank 1   ....0fff0bbbbbbb1fff1bbbbbbb2fff2bbbbbbb3fff3bbbbbbb........uuuu   80 %  1.50 GiB\n"), "\n%s", text);
	cr_assert(strstr(text, "1f1b, 2 ranks - bubble 20.0 % - step 16.0 s - 4 microbatches"), "\n%s", text);
	mem_free(text);
	close_example();
}

Test(gantt, the_cursor_says_what_a_slot_waits_for_and_holds)
{
	open_example(SCHEDULE_1F1B, 2, 1, 4, 100, 12);
	expect("rank 0: forward of microbatch 0, 0 s to 1.00 s");
	expect("begins the step");
	press(COMMAND_RIGHT);
	press(COMMAND_RIGHT);
	expect("rank 0: backward of microbatch 0, 4.00 s to 6.00 s");
	cr_assert_eq(example.gantt.slot, 2);
	press(COMMAND_RIGHT);
	expect("waits for its rank: backward of microbatch 0");
	press(COMMAND_LEFT);
	expect("holds 2.00 GiB, 2 in flight");
	press(COMMAND_DOWN);
	press(COMMAND_FIRST);
	expect("waits for rank 0: forward of microbatch 0 - 1.00 s idle before");
	press(COMMAND_PEAK);
	cr_assert_eq(example.gantt.rank, 0);
	press(COMMAND_LAST);
	expect("rank 0: backward of microbatch 3, 13.0 s to 15.0 s");
	close_example();
}

Test(gantt, chunks_are_told)
{
	open_example(SCHEDULE_INTERLEAVED, 2, 2, 4, 100, 12);
	press(COMMAND_RIGHT);
	press(COMMAND_RIGHT);
	expect("rank 0: forward of microbatch 0, chunk 1");
	expect("waits for rank 1: forward of microbatch 0, chunk 0");
	close_example();
}

/* What of its rows' cells is busy, as the letters say. */
static double busy_share(const char *text)
{
	double busy = 0, cells = 0;
	for (int row = 0; row < example.gantt.plot.height; row++) {
		text = strchr(text, '\n') + 1;
		for (int x = 0; x < example.gantt.plot.width; x++) {
			char cell = text[GANTT_LABELS + x];
			cells++;
			busy += cell == 'f' || cell == 'b' || cell == 'x' ? 1 : cell == ':' ? 0.25 : 0;
		}
	}
	return busy / cells;
}

Test(gantt, many_ranks_and_microbatches_are_summed)
{
	open_example(SCHEDULE_1F1B, 64, 1, 512, 80, 16);
	char *text = draw(-1);
	double share = busy_share(text), wanted = 512.0 / (512 + 63);
	cr_assert(share > wanted - 0.05 && share < wanted + 0.05, "%.3f of the cells are busy, not %.3f\n%s", share, wanted,
		text);
	cr_assert(strstr(text, "a row") && strstr(text, "0-6"), "\n%s", text);
	mem_free(text);
	for (int i = 0; i < 8; i++)
		press(COMMAND_ZOOM_IN);
	expect("rank 0 ");
	text = draw(-1);
	cr_assert_eq(example.gantt.group, 1);
	cr_assert(!strstr(text, "a row"));
	mem_free(text);
	press(COMMAND_PAGE_DOWN);
	expect("rank 10:");
	for (int i = 0; i < 8; i++)
		press(COMMAND_ZOOM_OUT);
	expect("0-6");
	close_example();
}

Test(gantt, memory_marks_the_worst_and_what_is_over_the_budget)
{
	open_example(SCHEDULE_1F1B, 4, 1, 8, 100, 30);
	char *text = draw(INT64_C(5) << 29);
	cr_assert(strchr(text, '!') && strchr(text, '^') && strstr(text, "\nrank 3  "), "\n%s", text);
	mem_free(text);
	text = draw(INT64_C(7) << 29);
	cr_assert(!strchr(text, '!') && strstr(text, "3.50 GiB"), "\n%s", text);
	mem_free(text);
	close_example();
}

Test(gantt, a_click_goes_to_the_slot)
{
	open_example(SCHEDULE_1F1B, 2, 1, 4, 64 + GANTT_LABELS + GANTT_AMOUNTS, 10);
	mem_free(draw(-1));
	gantt_click(&example.gantt, &example.timetable, GANTT_LABELS + 17, 2);
	cr_assert_eq(example.gantt.rank, 1);
	cr_assert_eq(example.gantt.slot, 2);
	gantt_click(&example.gantt, &example.timetable, 0, 0);
	cr_assert_eq(example.gantt.slot, 2);
	close_example();
}

Test(gantt, it_draws_at_every_size_and_zoom)
{
	open_example(SCHEDULE_INTERLEAVED, 6, 3, 12, 10, 10);
	for (int looks = 0; looks < 4; looks++)
		for (int width = 1; width < 130; width += 3)
			for (int height = 1; height < 45; height += 2) {
				example.frame.ascii = example.frame.mono = looks & 1;
				cr_assert(frame_resize(&example.frame, width, height));
				mem_free(draw(INT64_C(3) << 30));
				gantt_command(&example.gantt, &example.timetable, (width + height) % 3 ? COMMAND_ZOOM_IN : COMMAND_ZOOM_OUT);
				gantt_command(&example.gantt, &example.timetable, COMMAND_COLUMN_RIGHT);
			}
	close_example();
}
