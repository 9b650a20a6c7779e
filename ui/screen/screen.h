/* screen.h: where things stand: the rectangles of a terminal of any size. */
#pragma once

#include "frame.h"

#define SCREEN_WIDTH_MIN 40
#define SCREEN_HEIGHT_MIN 10

struct screen {
	bool small;          /* below the minimum: nothing but one line fits, all rectangles are empty */
	struct rect tabs, status, body, panel, message, footer;   /* panel and message may be empty (0 x 0) */
};

/* Rectangles that neither overlap nor leave the screen. The panel stands at the right where there is room for it beside
 * the view; on a narrow screen it appears, over a part of the view or all of it, while it has the keys. */
struct screen screen_layout(int width, int height, bool panel_has_keys);

/* The line for screens that are too small, centred. */
void screen_draw_small(struct frame *frame);
