/* figure_roofline.c: a chip's roofs, and the ops of a step below them (Williams, Waterman and Patterson, CACM 2009):
 * FLOPs a second over FLOPs a byte, both axes in powers of ten. */
#include <math.h>

#include "figure.h"

#define TOP     30.0
#define PLOT    162.0
#define RIGHT   14.0
#define LEFT    34.0
#define BARE    28.0
#define DOT     2.4  /* points: an op */
#define GRID    1.0  /* ops as near as this are one dot */

/* The plot's scales: powers of ten at its edges. */
struct roofs {
	struct canvas canvas;
	const struct roofline *roofline;
	double least_x, most_x, least_y, most_y, span;
};

static double figure_roofline_x(const struct roofs *roofs, double intensity)
{
	return LEFT + roofs->span * (log10(intensity) - roofs->least_x) / (roofs->most_x - roofs->least_x);
}

static double figure_roofline_y(const struct roofs *roofs, double rate)
{
	return TOP + PLOT * (1 - (log10(rate) - roofs->least_y) / (roofs->most_y - roofs->least_y));
}

/* Whole powers of ten around all ops and the ridge. */
static void figure_roofline_measure(struct roofs *roofs, double width)
{
	const struct roofline *roofline = roofs->roofline;
	double ridge = log10(roofline->matrix / roofline->memory);
	roofs->least_x = roofs->most_x = ridge;
	roofs->least_y = roofs->most_y = log10(roofline->matrix);
	FOR(i, roofline->ops) {
		roofs->least_x = fmin(roofs->least_x, log10(roofline->op[i].intensity));
		roofs->most_x = fmax(roofs->most_x, log10(roofline->op[i].intensity));
		roofs->least_y = fmin(roofs->least_y, log10(roofline->op[i].rate));
	}
	roofs->least_x = floor(roofs->least_x);
	roofs->most_x = ceil(roofs->most_x + 0.3);
	roofs->least_y = floor(roofs->least_y);
	roofs->most_y = ceil(roofs->most_y + 0.2);
	roofs->span = width - LEFT - RIGHT;
}

static void figure_roofline_axes(struct roofs *roofs)
{
	const struct canvas_line grid = { "#DDDDDD", 0.5, false };
	static const char *const units[] = { "1", "1 K", "1 M", "1 G", "1 T", "1 P" };
	int every = (roofs->most_x - roofs->least_x) * 24 > roofs->span ? 2 : 1;
	char text[40];
	for (int power = (int)roofs->least_x; power <= roofs->most_x; power++) {
		double x = figure_roofline_x(roofs, pow(10, power));
		canvas_stroke(&roofs->canvas, x, TOP, x, TOP + PLOT, &grid);
		PRINT_TO(text, "%g", pow(10, power));
		if ((power - (int)roofs->least_x) % every == 0)
			canvas_label(&roofs->canvas, x, TOP + PLOT + SMALL + 3, ANCHOR_MIDDLE, text);
	}
	for (int power = (int)roofs->least_y; power <= roofs->most_y; power++) {
		double y = figure_roofline_y(roofs, pow(10, power));
		canvas_stroke(&roofs->canvas, LEFT, y, LEFT + roofs->span, y, &grid);
		if (power >= 0 && power <= 15 && power % 3 == 0)
			canvas_label(&roofs->canvas, LEFT - 4, y + SMALL / 3, ANCHOR_END, units[power / 3]);
	}
	canvas_label(&roofs->canvas, EDGE, TOP - 5, ANCHOR_START, "FLOP/s");
	canvas_label(&roofs->canvas, LEFT + roofs->span / 2, TOP + PLOT + 2 * SMALL + 6, ANCHOR_MIDDLE,
		"FLOP per byte of memory traffic");
}

/* The slope of the memory up to a level, and that level, with its name. */
static void figure_roofline_roof(struct roofs *roofs, double level, const char *name)
{
	const struct canvas_line line = { INK, 1, false };
	double memory = roofs->roofline->memory, first = fmax(pow(10, roofs->least_x), pow(10, roofs->least_y) / memory);
	double right = LEFT + roofs->span, y = figure_roofline_y(roofs, level);
	if (first * memory < level)
		canvas_path(&roofs->canvas, (struct canvas_point[]){ { figure_roofline_x(roofs, first),
			figure_roofline_y(roofs, first * memory) }, { figure_roofline_x(roofs, level / memory), y },
			{ right, y } }, 3, NULL, &line);
	canvas_text(&roofs->canvas, right - 2, y - 3, CANVAS_SMALL, ANCHOR_END, false, INK, name);
}

/* Ops at one place are drawn once. */
static void figure_roofline_ops(struct roofs *roofs)
{
	double last_x = -1, last_y = -1;
	FOR(i, roofs->roofline->ops) {
		const struct roofline_op *op = &roofs->roofline->op[i];
		double x = figure_roofline_x(roofs, op->intensity), y = figure_roofline_y(roofs, op->rate);
		if (fabs(x - last_x) < GRID && fabs(y - last_y) < GRID)
			continue;
		canvas_box(&roofs->canvas, x - DOT / 2, y - DOT / 2, DOT, DOT, time_colours[op->limit], NULL, op->name);
		last_x = x;
		last_y = y;
	}
}

static void figure_roofline_legend(struct canvas *canvas, const struct roofline *roofline)
{
	struct canvas_key key[LIMIT_COUNT];
	int keys = 0;
	double width = canvas->paper.width - 2 * EDGE;
	FOR_INT(limit, LIMIT_COUNT) {
		bool seen = false;
		FOR_WHILE(i, roofline->ops, !seen)
			seen = roofline->op[i].limit == limit;
		if (seen)
			key[keys++] = (struct canvas_key){ time_colours[limit], step_limit_names[limit], SIGN_BOX };
	}
	canvas_note(canvas, EDGE, width, PRINTED(160,
		"a dot is an op%s, its colour what limits it; %u ops without FLOPs are left out",
		roofline->share ? " on one device" : "", roofline->others));
	canvas_legend(canvas, EDGE, width, key, keys);
}

enum status figure_roofline(const struct roofline *roofline, const char *name, struct canvas_paper paper, FILE *stream,
	struct error *error)
{
	struct roofs roofs = { .roofline = roofline };
	const struct canvas_line frame = { INK, 0.75, false };
	if (roofline->ops == 0)
		return refuse(error, "no op of this step has FLOPs and moves bytes, so it has no roofline");
	figure_roofline_measure(&roofs, paper.width);
	if (canvas_open(&roofs.canvas, paper, TOP + PLOT + BARE) != OK)
		return fail_memory(error);
	canvas_title(&roofs.canvas, EDGE, TOP - 16, PRINTED(300, "%.150s%s%s", name, roofline->device ? " on " : "",
		roofline->device ? roofline->device : ""));
	figure_roofline_axes(&roofs);
	figure_roofline_ops(&roofs);
	figure_roofline_roof(&roofs, roofline->matrix, "matrix products");
	if (roofline->vector < roofline->matrix)
		figure_roofline_roof(&roofs, roofline->vector, "other arithmetic");
	canvas_box(&roofs.canvas, LEFT, TOP, roofs.span, PLOT, NULL, &frame, NULL);
	figure_roofline_legend(&roofs.canvas, roofline);
	return canvas_close(&roofs.canvas, stream, error);
}
