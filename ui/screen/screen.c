/* screen.c: rectangles for every size of terminal.
 *
 *     tabs
 *     status          (two rows)
 *     body            | panel
 *     message         (from 14 rows on; below, messages cover the body's last rows)
 *     footer */
#include "terminal.h"

enum { PANEL_BESIDE = 100, PANEL_MIN = 28, PANEL_MAX = 40, BODY_MIN = 24, MESSAGE_ROWS = 14 };

static int panel_width(int width, bool has_keys)
{
	if (width < PANEL_BESIDE && !has_keys)
		return 0;
	int wanted = width / 4 < PANEL_MIN ? PANEL_MIN : width / 4 > PANEL_MAX ? PANEL_MAX : width / 4;
	if (width < PANEL_BESIDE && has_keys)
		wanted = 32;
	return width - wanted < BODY_MIN ? width : wanted;
}

struct screen screen_layout(int width, int height, bool panel_has_keys, bool hidden)
{
	struct screen screen = { 0 };
	screen.small = width < SCREEN_WIDTH_MIN || height < SCREEN_HEIGHT_MIN;
	if (screen.small)
		return screen;
	int bottom = height - 1 - (height >= MESSAGE_ROWS);
	int panel = hidden && !panel_has_keys ? 0 : panel_width(width, panel_has_keys);
	screen.tabs = (struct rect){ 0, 0, width, 1 };
	screen.status = (struct rect){ 0, 1, width, 2 };
	if (width > panel)
		screen.body = (struct rect){ 0, 3, width - panel, bottom - 3 };
	if (panel)
		screen.panel = (struct rect){ width - panel, 3, panel, bottom - 3 };
	screen.message = (struct rect){ 0, bottom, width, height >= MESSAGE_ROWS };
	screen.footer = (struct rect){ 0, height - 1, width, 1 };
	return screen;
}

void screen_draw_small(struct frame *frame)
{
	char text[80];
	snprintf(
		text, sizeof text, "needs %dx%d, has %dx%d", SCREEN_WIDTH_MIN, SCREEN_HEIGHT_MIN, frame->width, frame->height);
	if (text_cells(text) > frame->width)
		PRINT_TO(text, "needs %dx%d", SCREEN_WIDTH_MIN, SCREEN_HEIGHT_MIN);
	int x = (frame->width - text_cells(text)) / 2;
	frame_window(frame, (struct rect){ 0, 0, frame->width, frame->height });
	frame_text(frame, LARGER(x, 0), (frame->height - 1) / 2, frame->width, ROLE_TEXT, text);
}
