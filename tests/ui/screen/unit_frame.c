/* Tests of the cell buffer: text, clipping, wide characters, dumps. */
#include <locale.h>

#include "tests/common/support.h"
#include "ui/screen/frame.h"
#include "ui/screen/line_edit.h"
#include "ui/screen/theme.h"

static struct frame make(int width, int height)
{
	struct frame frame = { 0 };
	setlocale(LC_CTYPE, "C.UTF-8");
	cr_assert(frame_resize(&frame, width, height));
	return frame;
}

static void expect(const struct frame *frame, const char *wanted)
{
	HELD char *text = frame_dump(frame);
	cr_assert_str_eq(text, wanted);
}

Test(frame, text_is_clipped_to_the_window)
{
	OWN(frame) frame = make(10, 2);
	frame_window(&frame, (struct rect){ 2, 0, 5, 1 });
	cr_assert_eq(frame_text(&frame, 0, 0, 100, ROLE_TEXT, "abcdefgh"), 8);
	frame_text(&frame, 0, 1, 5, ROLE_TEXT, "below");
	frame_text(&frame, -2, 0, 3, ROLE_TEXT, "xyz");
	expect(&frame, "  zbcde\n\n");
}

Test(frame, windows_outside_the_screen_take_nothing)
{
	OWN(frame) frame = make(4, 2);
	frame_window(&frame, (struct rect){ 3, 1, 50, 50 });
	frame_text(&frame, 0, 0, 9, ROLE_TEXT, "abc");
	frame_window(&frame, (struct rect){ 9, 9, 5, 5 });
	frame_text(&frame, 0, 0, 9, ROLE_TEXT, "abc");
	expect(&frame, "\n   a\n");
}

Test(frame, control_characters_and_broken_bytes_become_question_marks)
{
	OWN(frame) frame = make(20, 1);
	frame_text(&frame, 0, 0, 20, ROLE_TEXT, "a\x1b[2Jb\x80\xff\xe2\x82z\xe2\x80\xae|");
	expect(&frame, "a?[2Jb????z?|\n");
}

Test(frame, wide_characters_are_never_split)
{
	OWN(frame) frame = make(5, 1);
	cr_assert_eq(frame_text(&frame, 0, 0, 4, ROLE_TEXT, "a\u8a9e\u8a9e"), 3);
	expect(&frame, "a\u8a9e\n");
	frame_text(&frame, 2, 0, 1, ROLE_TEXT, "x");   /* over its right half */
	expect(&frame, "a x\n");
	frame_text(&frame, 0, 0, 2, ROLE_TEXT, "\u8a9e");
	frame_text(&frame, 0, 0, 1, ROLE_TEXT, "y");   /* over its left half */
	expect(&frame, "y x\n");
}

Test(frame, long_names_keep_both_ends)
{
	OWN(frame) frame = make(9, 1);
	cr_assert_eq(frame_name(&frame, 0, 0, 9, ROLE_TEXT, "layers.10.attention.weight"), 9);
	expect(&frame, "laye\u2026ight\n");
	frame.ascii = true;
	frame_clear(&frame);
	frame_name(&frame, 0, 0, 9, ROLE_TEXT, "layers.10.attention.weight");
	expect(&frame, "laye~ight\n");
}

Test(frame, clipped_sentences_end_behind_a_word)
{
	OWN(frame) frame = make(14, 2);
	cr_assert_eq(frame_words(&frame, 0, 0, 14, ROLE_TEXT, "number of devices"), 10);
	cr_assert_eq(frame_words(&frame, 0, 1, 14, ROLE_TEXT, "just fits here"), 14);
	expect(&frame, "number of\u2026\njust fits here\n");
	frame_clear(&frame);
	frame_words(&frame, 0, 0, 6, ROLE_TEXT, "activations");
	expect(&frame, "activ\u2026\n\n");
}

Test(frame, parts_that_do_not_fit_are_left_out_whole)
{
	OWN(frame) frame = make(20, 1);
	int x = 0;
	cr_assert(frame_part(&frame, &x, 0, 20, ROLE_TEXT, "peak 93.0 MiB"));
	cr_assert_not(frame_part(&frame, &x, 0, 20, ROLE_TEXT, "arena"));
	cr_assert(frame_part(&frame, &x, 0, 20, ROLE_TEXT, "gap"));
	expect(&frame, "peak 93.0 MiB \u00b7 gap\n");
}

Test(frame, sentences_break_at_blanks)
{
	OWN(frame) frame = make(12, 4);
	frame_wrapped(&frame, (struct rect){ 1, 0, 11, 4 }, ROLE_TEXT, "number of devices the step runs on");
	expect(&frame, " number of\n devices the\n step runs\n on\n");
	cr_assert_eq(text_rows("number of devices the step runs on", 11), 4);
	cr_assert_eq(text_rows("number of devices the step runs on", 40), 1);
	cr_assert_eq(text_rows("", 11), 0);
	cr_assert_eq(text_rows("on", 0), 0);
}

Test(frame, random_text_stays_inside_and_valid)
{
	uint64_t seed = test_seed(), state = seed;
	OWN(frame) frame = make(30, 3);
	for (int round = 0; round < 20000; round++) {
		char text[40];
		int length = (int)(random_next(&state) % sizeof text);
		for (int i = 0; i < length; i++)
			text[i] = (char)random_next(&state);
		text[length < (int)sizeof text ? length : (int)sizeof text - 1] = '\0';
		frame_window(&frame, (struct rect){ 5, 1, 20, 1 });
		int x = (int)(random_next(&state) % 40) - 10;
		frame_name(&frame, x, 0, (int)(random_next(&state) % 30), ROLE_TEXT, text);
		for (int i = 0; i < 90; i++) {
			bool inside = i / 30 == 1 && i % 30 >= 5 && i % 30 < 25;
			cr_assert(inside || frame.cell[i].code == ' ', "seed %llu round %d", (unsigned long long)seed, round);
			if (frame.cell[i].code == 0)
				cr_assert_neq(frame.cell[i - 1].code, 0, "seed %llu round %d", (unsigned long long)seed, round);
		}
	}
}

static void type(struct line_edit *line, struct history *history, const char *name, uint32_t code)
{
	struct key_press key = { .code = code };
	snprintf(key.name, sizeof key.name, "%s", name);
	line_key(line, &key, history);
}

Test(frame, a_typed_line_is_edited_by_whole_characters)
{
	struct line_edit line;
	line_set(&line, "a\u8a9e\u00e9");
	type(&line, NULL, "left", 0);
	type(&line, NULL, "Backspace", 0);
	cr_assert_str_eq(line.text, "a\u00e9");
	type(&line, NULL, "x", 'x');
	type(&line, NULL, "End", 0);
	type(&line, NULL, "space", ' ');
	type(&line, NULL, "b", 'b');
	type(&line, NULL, "^W", 0);
	cr_assert_str_eq(line.text, "ax\u00e9 ");
}

Test(frame, history_brings_older_lines_and_the_typed_one_back)
{
	static struct history history;
	struct line_edit line;
	for (int i = 0; i < 70; i++) {
		char text[20];
		snprintf(text, sizeof text, "line %d", i);
		history_add(&history, text);
		history_add(&history, text);
	}
	line_set(&line, "new");
	type(&line, &history, "up", 0);
	type(&line, &history, "up", 0);
	cr_assert_str_eq(line.text, "line 68");
	for (int i = 0; i < 100; i++)
		type(&line, &history, "up", 0);
	cr_assert_str_eq(line.text, "line 20");
	for (int i = 0; i < 100; i++)
		type(&line, &history, "down", 0);
	cr_assert_str_eq(line.text, "new");
}

Test(frame, the_user_can_change_colours_of_roles_and_categories)
{
	struct palette palette;
	palette_fill(&palette, THEME_ANSI);
	cr_assert(palette_change(&palette, "peak", "red", "default", "bold underline "));
	cr_assert_eq(palette.look[ROLE_PEAK].colour, 1);
	cr_assert_eq(palette.look[ROLE_PEAK].marks, MARK_BOLD | MARK_UNDERLINE);
	cr_assert(palette_change(&palette, "activation", "71", "", ""));
	cr_assert_eq(palette.look[role_of_category(KIND_ACTIVATION, 1)].colour, 71);
	cr_assert_not(palette_change(&palette, "peek", "red", "", ""));
	cr_assert_not(palette_change(&palette, "peak", "reddish", "", ""));
	cr_assert_not(palette_change(&palette, "peak", "256", "", ""));
	cr_assert_not(palette_change(&palette, "peak", "red", "", "blinking"));
	cr_assert_eq(theme_possible(THEME_DARK, 16), THEME_ANSI);
	cr_assert_eq(theme_possible(THEME_LIGHT, 0), THEME_MONO);
}
