/* labels.c: names beside points: six rows to the right are tried, then six to the left. */
#include <math.h>

#include "labels.h"

#define BESIDE 5.0
#define LINE   8.0

static void take(struct labels *labels, double left, double right, double base)
{
	if (labels->count == sizeof labels->at / sizeof *labels->at)
		return;
	labels->at[labels->count].left = left;
	labels->at[labels->count].right = right;
	labels->at[labels->count++].y = base;
}

void label_avoid(struct labels *labels, double x, double y, double size)
{
	take(labels, x - size / 2, x + size / 2, y + size / 2);
}

void label_point(struct labels *labels, struct canvas *canvas, double x, double y, double size, const char *colour, const char *name)
{
	static const double rows[] = { -3, LINE, -3 - LINE, 2 * LINE, -3 - 2 * LINE, 3 * LINE };
	enum { ROWS = sizeof rows / sizeof *rows };
	double wide = canvas_text_width(size, name);
	for (int try = 0; try < 2 * ROWS && *name; try++) {
		double left = try >= ROWS ? x - BESIDE - wide : x + BESIDE, base = y + rows[try % ROWS];
		bool taken = left < labels->left || left + wide > labels->right || base < labels->top + LINE || base > labels->bottom;
		for (int i = 0; i < labels->count && !taken; i++)
			taken = left < labels->at[i].right + 2 && left + wide + 2 > labels->at[i].left && fabs(base - labels->at[i].y) < LINE - 1;
		if (taken)
			continue;
		take(labels, left, left + wide, base);
		canvas_text(canvas, left, base, size, ANCHOR_START, false, colour, name);
		return;
	}
}
