/* figure.c: axes, areas and boxes on a canvas. */
#include <inttypes.h>
#include <math.h>

#include "figure.h"
#include "timeline.h"

#define WIDTH       468.0   /* points: a page's text width */
#define HEIGHT      250.0
#define LEFT        50.0
#define TOP         30.0
#define RIGHT       10.0
#define BOTTOM      58.0
#define SMALL       8.0     /* font sizes */
#define NORMAL      9.0
#define POINTS_MOST 2000u
#define BOX_LEAST   0.02    /* points */
#define INK         "#222222"
#define ALARM       "#D55E00"

/* The plot's scales. */
struct axes {
	struct canvas canvas;
	double steps, bytes;      /* at the right and upper end */
	int64_t unit;
	const char *unit_name;
};

int64_t axis_unit(int64_t bytes, const char **name)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	int64_t unit = 1;
	int i = 0;
	for (; i < 5 && bytes / unit >= 1024; i++)
		unit *= 1024;
	*name = names[i];
	return unit;
}

double axis_step(double range, int most)
{
	static const double factors[] = { 1, 2, 5, 10 };
	double power = range > 0 ? pow(10, floor(log10(range / most))) : 1;
	int i = 0;
	while (i < 3 && power * factors[i] * most < range)
		i++;
	return power * factors[i];
}

static double x_of(const struct axes *axes, double step)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * step / axes->steps;
}

static double y_of(const struct axes *axes, double bytes)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * bytes / axes->bytes;
}

static void draw_title(struct axes *axes, const struct plan *plan, const char *what, int64_t bytes)
{
	char text[300], size[32];
	snprintf(text, sizeof text, "%.100s: %s %s (%" PRId64 " B)", plan->graph->name, what, bytes_text(bytes, size, sizeof size), bytes);
	canvas_text(&axes->canvas, LEFT, TOP - 14, NORMAL, ANCHOR_START, true, INK, text);
}

static void draw_axes(struct axes *axes, const char *label)
{
	const struct canvas_line grid = { "#DDDDDD", 0.5, false }, frame = { INK, 0.75, false };
	char text[64];
	double top = axes->bytes / (double)axes->unit, step = axis_step(top, 6);
	for (double value = 0; value <= top * 1.0001; value += step) {
		double y = y_of(axes, value * (double)axes->unit);
		canvas_path(&axes->canvas, (struct canvas_point[]){ { LEFT, y }, { WIDTH - RIGHT, y } }, 2, NULL, &grid);
		snprintf(text, sizeof text, "%g", value);
		canvas_text(&axes->canvas, LEFT - 4, y + SMALL / 3, SMALL, ANCHOR_END, false, INK, text);
	}
	step = axis_step(axes->steps, 8);
	if (step < 1)
		step = 1;
	for (double value = 0; value <= axes->steps; value += step) {
		snprintf(text, sizeof text, "%.0f", value);
		canvas_text(&axes->canvas, x_of(axes, value), HEIGHT - BOTTOM + SMALL + 3, SMALL, ANCHOR_MIDDLE, false, INK, text);
	}
	canvas_box(&axes->canvas, LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM, NULL, &frame, NULL);
	canvas_text(&axes->canvas, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 2 * SMALL + 6, SMALL, ANCHOR_MIDDLE, false, INK,
		"position in the order");
	snprintf(text, sizeof text, "%s [%s]", label, axes->unit_name);
	canvas_text(&axes->canvas, 4, TOP - 3, SMALL, ANCHOR_START, false, INK, text);
}

/* One row of boxes and names below the plot. */
static void draw_legend(struct axes *axes, const bool there[GROUP_COUNT], const char *note)
{
	double x = LEFT, y = HEIGHT - 18;
	for (int group = 0; group < GROUP_COUNT; group++) {
		if (!there[group])
			continue;
		canvas_box(&axes->canvas, x, y - 7, 10, 8, group_colours[group], NULL, NULL);
		canvas_text(&axes->canvas, x + 13, y, SMALL, ANCHOR_START, false, INK, group_names[group]);
		x += 24 + 4.4 * (double)strlen(group_names[group]);
	}
	if (*note)
		canvas_text(&axes->canvas, LEFT, HEIGHT - 5, SMALL, ANCHOR_START, false, INK, note);
}

static enum status open_axes(struct axes *axes, const struct plan *plan, enum canvas_kind kind, int64_t bytes, struct error *error)
{
	axes->steps = plan->graph->ops ? plan->graph->ops : 1;
	axes->bytes = bytes > 0 ? (double)bytes * 1.04 : 1;
	axes->unit = axis_unit(bytes, &axes->unit_name);
	return canvas_open(&axes->canvas, kind, WIDTH, HEIGHT) == OK ? OK : fail(error, NO_MEMORY, "out of memory");
}

/* ---- the timeline --------------------------------------------------------------------- */

struct thinned {
	int64_t (*group)[GROUP_COUNT];
	uint32_t keep[POINTS_MOST], count;
	struct canvas_point point[4 * POINTS_MOST];
};

/* The area between the sums below a group and with it; each position is one step wide. */
static void draw_area(struct axes *axes, struct thinned *thinned, int group)
{
	size_t points = 0;
	for (uint32_t i = 0; i < 2 * thinned->count; i++) {
		bool back = i >= thinned->count;
		uint32_t k = back ? 2 * thinned->count - 1 - i : i, position = thinned->keep[k];
		uint32_t next = k + 1 < thinned->count ? thinned->keep[k + 1] : (uint32_t)axes->steps;
		int64_t sum = 0;
		for (int below = 0; below < group + !back; below++)
			sum += thinned->group[position][below];
		double y = y_of(axes, (double)sum);
		thinned->point[points++] = (struct canvas_point){ x_of(axes, back ? next : position), y };
		thinned->point[points++] = (struct canvas_point){ x_of(axes, back ? position : next), y };
	}
	canvas_path(&axes->canvas, thinned->point, points, group_colours[group], NULL);
}

static void draw_level(struct axes *axes, int64_t bytes, const char *colour, bool dashed)
{
	const struct canvas_line line = { colour, 1, dashed };
	double y = y_of(axes, (double)bytes);
	canvas_path(&axes->canvas, (struct canvas_point[]){ { LEFT, y }, { WIDTH - RIGHT, y } }, 2, NULL, &line);
}

static void draw_peak(struct axes *axes, const struct plan *plan, char *note, size_t size)
{
	char text[32];
	if (plan->peak_position == NONE)
		return;
	double x = x_of(axes, plan->peak_position + 0.5), y = y_of(axes, (double)plan->peak_bytes);
	const struct canvas_line line = { ALARM, 1.5, false };
	canvas_path(&axes->canvas, (struct canvas_point[]){ { x, HEIGHT - BOTTOM }, { x, y } }, 2, NULL, &line);
	canvas_box(&axes->canvas, x - 2.5, y - 2.5, 5, 5, ALARM, NULL, NULL);
	int used = snprintf(note, size, "peak at position %u: %.60s", plan->peak_position, plan->graph->op[plan->order[plan->peak_position]].name);
	if (plan->order_bound_bytes <= 0 || used < 0 || (size_t)used >= size)
		return;
	draw_level(axes, plan->order_bound_bytes, INK, true);
	snprintf(note + used, size - (size_t)used, "; dashed: no order needs less than %s%s", bytes_text(plan->order_bound_bytes, text, sizeof text),
		plan->order_proved ? " (reached)" : "");
}

enum status figure_timeline(const struct plan *plan, enum canvas_kind kind, FILE *stream, struct error *error)
{
	struct axes axes;
	struct thinned *thinned = mem_alloc(1, sizeof *thinned);
	enum status status = thinned && (thinned->group = timeline_groups(plan)) ? OK : fail(error, NO_MEMORY, "out of memory");
	if (status == OK)
		status = open_axes(&axes, plan, kind, plan->peak_bytes, error);
	if (status == OK) {
		bool there[GROUP_COUNT] = { false };
		char note[200] = "";
		thinned->count = timeline_thin(plan->live, plan->graph->ops, POINTS_MOST, thinned->keep);
		for (uint32_t i = 0; i < plan->graph->ops; i++)
			for (int group = 0; group < GROUP_COUNT; group++)
				there[group] |= thinned->group[i][group] > 0;
		draw_title(&axes, plan, "peak", plan->peak_bytes);
		draw_axes(&axes, "live memory");
		for (int group = 0; group < GROUP_COUNT; group++)
			if (there[group])
				draw_area(&axes, thinned, group);
		draw_peak(&axes, plan, note, sizeof note);
		draw_legend(&axes, there, note);
		status = canvas_close(&axes.canvas, stream, error);
	}
	if (thinned)
		mem_free(thinned->group);
	mem_free(thinned);
	return status;
}

/* ---- the address map ---------------------------------------------------------------------- */

enum status figure_map(const struct plan *plan, enum canvas_kind kind, FILE *stream, struct error *error)
{
	struct axes axes;
	enum status status = open_axes(&axes, plan, kind, plan->arena_bytes, error);
	if (status != OK)
		return status;
	const struct canvas_line edge = { "#FFFFFF", 0.2, false };
	bool there[GROUP_COUNT] = { false };
	uint32_t small = 0;
	char note[100] = "";
	draw_title(&axes, plan, "arena", plan->arena_bytes);
	draw_axes(&axes, "address");
	for (uint32_t storage = 0; storage < plan->graph->storages; storage++) {
		if (plan->first[storage] == NONE)
			continue;
		enum timeline_group group = group_of_kind(plan->graph->storage[storage].kind);
		double x = x_of(&axes, plan->first[storage]), width = x_of(&axes, plan->last[storage] + 1.0) - x;
		double y = y_of(&axes, (double)(plan->offset[storage] + plan->bytes[storage])), height = y_of(&axes, (double)plan->offset[storage]) - y;
		there[group] = true;
		if (width < BOX_LEAST || height < BOX_LEAST)
			small++;
		else
			canvas_box(&axes.canvas, x, y, width, height, group_colours[group], width > 1 && height > 1 ? &edge : NULL,
				plan->graph->tensor[plan->graph->storage[storage].root].name);
	}
	draw_level(&axes, plan->arena_bytes, ALARM, false);
	if (small)
		snprintf(note, sizeof note, "%u buffers are too small to see", small);
	draw_legend(&axes, there, note);
	return canvas_close(&axes.canvas, stream, error);
}
