/* plot.c: axes on a canvas. */
#include <math.h>

#include "figure.h"
#include "plot.h"

#define SMALL 8.0
#define TICK  32.0   /* between numbers of the lower axis, at least */
#define TICKS 6      /* steps of the upright axis, at most */
#define INK   "#222222"

double plot_x(const struct plot *plot, double value)
{
	double range = plot->most_x - plot->least_x;
	return plot->left + plot->wide * (range > 0 ? (value - plot->least_x) / range : 0);
}

double plot_y(const struct plot *plot, double value)
{
	double range = plot->most_y - plot->least_y;
	return plot->top + plot->high * (1 - (range > 0 ? (value - plot->least_y) / range : 0));
}

/* How many of the axis' quantity its unit is. */
static double draw_plot_unit_of(double most, enum plot_unit unit, const char **name)
{
	if (unit == PLOT_BYTES)
		return (double)axis_unit((int64_t)most, name);
	*name = most >= 1 ? "s" : most >= 1e-3 ? "ms" : "us";
	return most >= 1 ? 1 : most >= 1e-3 ? 1e-3 : 1e-6;
}

void plot_place(struct plot *plot, double width, double right, enum plot_unit unit)
{
	const char *name;
	double one = draw_plot_unit_of(plot->most_y, unit, &name);
	plot->left = axis_margin(
		plot->least_y / one, plot->most_y / one, axis_step((plot->most_y - plot->least_y) / one, TICKS), SMALL);
	plot->wide = width - plot->left - right;
}

void plot_axes(const struct plot *plot, struct canvas *canvas, const char *label, enum plot_unit unit)
{
	const struct canvas_line grid = { "#DDDDDD", 0.5, false }, frame = { INK, 0.75, false };
	const char *name;
	char text[100];
	double one = draw_plot_unit_of(plot->most_y, unit, &name),
		   step = axis_step((plot->most_y - plot->least_y) / one, TICKS);
	for (double value = ceil(plot->least_y / one / step) * step; value * one <= plot->most_y; value += step) {
		double y = plot_y(plot, value * one);
		canvas_path(canvas, (struct canvas_point[]){ { plot->left, y }, { plot->left + plot->wide, y } }, 2, NULL, &grid);
		snprintf(text, sizeof text, "%g", value);
		canvas_text(canvas, plot->left - 4, y + SMALL / 3, SMALL, ANCHOR_END, false, INK, text);
	}
	canvas_box(canvas, plot->left, plot->top, plot->wide, plot->high, NULL, &frame, NULL);
	snprintf(text, sizeof text, "%s [%s]", label, name);
	canvas_text(canvas, 4, plot->top - 4, SMALL, ANCHOR_START, false, INK, text);
}

void plot_byte_axis(const struct plot *plot, struct canvas *canvas, const char *label)
{
	const char *name;
	char text[100];
	double one = draw_plot_unit_of(plot->most_x, PLOT_BYTES, &name),
		   step = axis_step((plot->most_x - plot->least_x) / one, (int)(plot->wide / TICK));
	for (double value = ceil(plot->least_x / one / step) * step; value * one <= plot->most_x; value += step) {
		snprintf(text, sizeof text, "%g", value);
		canvas_text(canvas, plot_x(plot, value * one), plot->top + plot->high + SMALL + 3, SMALL, ANCHOR_MIDDLE, false,
			INK, text);
	}
	snprintf(text, sizeof text, "%s [%s]", label, name);
	canvas_text(canvas, plot->left + plot->wide / 2, plot->top + plot->high + 2 * SMALL + 6, SMALL, ANCHOR_MIDDLE,
		false, INK, text);
}
