/* Tests of the rectangles of the screen, for every size. */
#include <criterion/criterion.h>

#include "ui/screen/terminal.h"

enum { RECTS = 6 };

static void rects_of(const struct screen *screen, struct rect rect[RECTS])
{
	const struct rect all[RECTS] = { screen->tabs, screen->status, screen->body, screen->panel, screen->message,
		screen->footer };
	memcpy(rect, all, sizeof all);
}

static bool empty(struct rect r)
{
	return r.width == 0 || r.height == 0;
}

static bool overlap(struct rect a, struct rect b)
{
	return !empty(a) && !empty(b) && a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
		b.y < a.y + a.height;
}

Test(ui_layout, nothing_overlaps_and_everything_is_inside_at_every_size)
{
	for (int width = 1; width <= 250; width++)
		for (int height = 1; height <= 80; height++)
			for (int keys = 0; keys < 2; keys++) {
				struct screen screen = screen_layout(width, height, keys, false);
				struct rect rect[RECTS];
				rects_of(&screen, rect);
				for (int i = 0; i < RECTS; i++) {
					bool inside = rect[i].x >= 0 && rect[i].y >= 0 && rect[i].width >= 0 && rect[i].height >= 0 &&
						      rect[i].x + rect[i].width <= width && rect[i].y + rect[i].height <= height;
					cr_assert(inside, "%dx%d rectangle %d", width, height, i);
					for (int j = 0; j < i; j++)
						cr_assert_not(overlap(rect[i], rect[j]), "%dx%d rectangles %d %d", width, height, i, j);
				}
			}
}

Test(ui_layout, the_whole_screen_is_used_where_it_is_large_enough)
{
	for (int width = 1; width <= 250; width++)
		for (int height = 1; height <= 80; height++)
			for (int keys = 0; keys < 2; keys++) {
				struct screen screen = screen_layout(width, height, keys, false);
				struct rect rect[RECTS];
				int area = 0;
				rects_of(&screen, rect);
				for (int i = 0; i < RECTS; i++)
					area += rect[i].width * rect[i].height;
				bool small = width < SCREEN_WIDTH_MIN || height < SCREEN_HEIGHT_MIN;
				cr_assert_eq(screen.small, small);
				cr_assert_eq(area, small ? 0 : width * height, "%dx%d", width, height);
			}
}

Test(ui_layout, the_panel_stands_beside_the_view_or_appears_with_the_keys)
{
	cr_assert_eq(screen_layout(60, 24, false, false).panel.width, 0);
	cr_assert_gt(screen_layout(60, 24, true, false).panel.width, 0);
	cr_assert_gt(screen_layout(100, 24, false, false).panel.width, 0);
	cr_assert_geq(screen_layout(100, 24, false, false).body.width, 50);
	cr_assert_eq(screen_layout(40, 10, true, false).panel.width, 40);
}

Test(ui_layout, too_small_screens_say_what_they_need)
{
	for (int width = 1; width < 250; width++)
		for (int height = 1; height < 80; height += 9) {
			OWN(frame) frame = { 0 };
			cr_assert(frame_resize(&frame, width, height));
			screen_draw_small(&frame);
		}
	static const struct { int width; const char *text; } shown[] = {
		{ 30, "\n\n    needs 40x10, has 30x5\n\n\n" }, { 20, "\n\n    needs 40x10\n\n\n" } };
	for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
		OWN(frame) frame = { 0 };
		cr_assert(frame_resize(&frame, shown[i].width, 5));
		screen_draw_small(&frame);
		HELD char *text = frame_dump(&frame);
		cr_assert_str_eq(text, shown[i].text);
	}
}
