/* runs_plot.c: a scatter plot of the runs with its Pareto front: no run has both less memory and less of the axis. */
#include "runs_plot.h"

#include "devices.h"
#include "src/plan/verdict.h"

enum { LABELS = 9 };

struct plot {
	const struct model *model;
	const double *work; /* [runs] */
	int axis;
	struct rect rect;   /* of the points */
	double left, right; /* the axis at the first and last column */
	double low, high;   /* bytes at the last and first row */
};

/* A step whose ops' work can't be counted has no time. */
static bool runs_plot_shown(const struct plot *plot, uint32_t run)
{
	return plot->axis != AXIS_TIME || plot->model->run[run]->speed.time > 0;
}

static double runs_plot_needs(const struct plot *plot, uint32_t run)
{
	return (double)plan_verdict(plot->model->run[run]).needed;
}

const char *runs_plot_axis_name(int axis)
{
	return axis == AXIS_WORK ? "work of a device" : axis == AXIS_TIME ? "time of a step" : knobs[axis].name;
}

static double runs_plot_value_of(const struct plot *plot, uint32_t run)
{
	const struct plan *plan = plot->model->run[run];
	return plot->axis == AXIS_TIME ? (double)plan->speed.time
		: plot->axis == AXIS_WORK ? plot->work[run]
		: (double)plan->scenario.value[plot->axis];
}

static bool runs_plot_differs(const struct model *model, int knob)
{
	FOR_FROM(i, 1, model->runs)
		if (model->run[i]->scenario.value[knob] != model->run[0]->scenario.value[knob])
			return true;
	return false;
}

int runs_plot_first_axis(const struct model *model)
{
	FOR(i, model->runs)
		if (model->run[i]->speed.time > 0 &&
			(model->run[i]->transformed->sharded || model->run[i]->speed.time != model->run[0]->speed.time))
			return AXIS_TIME;
	return AXIS_WORK;
}

int runs_plot_next_axis(const struct model *model, int axis)
{
	if (axis == AXIS_WORK && runs_plot_first_axis(model) == AXIS_TIME)
		return AXIS_TIME;
	for (int knob = axis == AXIS_TIME ? 0 : axis + 1; knob < KNOB_COUNT; knob++)
		if (runs_plot_differs(model, knob))
			return knob;
	return AXIS_WORK;
}

bool runs_work(const struct model *model, double *work)
{
	bool known = true;
	FOR(i, model->runs) {
		work[i] = (double)plan_flops(model->run[i]);
		known = known && work[i] > 0;
	}
	for (uint32_t i = 0; i < model->runs && !known; i++)
		work[i] = model->run[i]->graph->ops;
	return known;
}

static const char *axis_text(int axis, bool flops, double value, char *text, size_t size)
{
	static const char *const units[] = { "", " k", " M", " G", " T", " P", " E" };
	if (axis == AXIS_TIME)
		return time_text((int64_t)value, text, size);
	if (axis != AXIS_WORK)
		return knob_text((enum knob_id)axis, (int64_t)value, text, size);
	int unit = 0;
	for (; flops && value >= 1000 && unit < 6; unit++)
		value /= 1000;
	snprintf(text, size, flops ? "%.4g%s%s" : "%.0f%s%s", value, units[unit], flops ? unit ? "FLOP" : " FLOP" : " ops");
	return text;
}

static void runs_plot_find_scales(struct plot *plot)
{
	bool first = true;
	FOR(i, plot->model->runs) {
		double x = runs_plot_value_of(plot, i), bytes = runs_plot_needs(plot, i);
		if (!runs_plot_shown(plot, i))
			continue;
		plot->left = first || x < plot->left ? x : plot->left;
		plot->right = first || x > plot->right ? x : plot->right;
		plot->low = first || bytes < plot->low ? bytes : plot->low;
		plot->high = first || bytes > plot->high ? bytes : plot->high;
		first = false;
	}
}

static int runs_plot_place(double value, double from, double to, int cells)
{
	return to > from ? (int)((value - from) / (to - from) * (cells - 1) + 0.5) : cells / 2;
}

static int runs_plot_column_of(const struct plot *plot, uint32_t run)
{
	return plot->rect.x + runs_plot_place(runs_plot_value_of(plot, run), plot->left, plot->right, plot->rect.width);
}

static int runs_plot_row_of(const struct plot *plot, uint32_t run)
{
	return plot->rect.y + plot->rect.height - 1 -
		runs_plot_place(runs_plot_needs(plot, run), plot->low, plot->high, plot->rect.height);
}

/* True where another run is no worse in both and better in one. */
static bool beaten(const struct plot *plot, uint32_t run)
{
	double x = runs_plot_value_of(plot, run), bytes = runs_plot_needs(plot, run);
	FOR(i, plot->model->runs) {
		double other = runs_plot_value_of(plot, i), theirs = runs_plot_needs(plot, i);
		if (runs_plot_shown(plot, i) && other <= x && theirs <= bytes && (other < x || theirs < bytes))
			return true;
	}
	return false;
}

/* Between its points the front is a staircase: what costs so much reaches the memory of the best run that costs no
 * more. */
static void runs_plot_draw_front(struct frame *frame, const struct plot *plot)
{
	for (int x = plot->rect.x; x < plot->rect.x + plot->rect.width; x++) {
		uint32_t least = NONE;
		FOR(i, plot->model->runs)
			if (runs_plot_shown(plot, i) && runs_plot_column_of(plot, i) <= x &&
				(least == NONE || runs_plot_needs(plot, i) < runs_plot_needs(plot, least)))
				least = i;
		if (least != NONE)
			frame_glyph(frame, x, runs_plot_row_of(plot, least), GLYPH_DOT, ROLE_BOUND);
	}
}

static void runs_plot_draw_points(struct frame *frame, const struct plot *plot, uint32_t selected)
{
	const struct model *model = plot->model;
	/* The selected run last: it stands above others in its cell. */
	for (uint32_t k = 0; k <= model->runs; k++) {
		uint32_t i = k < model->runs ? k : selected;
		if (!runs_plot_shown(plot, i))
			continue;
		bool front = !beaten(plot, i),
			 baseline = model->baseline && model->run[i]->fingerprint == model->baseline->fingerprint;
		int x = runs_plot_column_of(plot, i), y = runs_plot_row_of(plot, i);
		frame_glyph(frame, x, y, front ? GLYPH_BULLET : GLYPH_CIRCLE,
			baseline ? ROLE_BASELINE : front ? ROLE_GOOD : ROLE_FAINT);
		if (k == model->runs)
			frame_mark(frame, (struct rect){ x, y, 1, 1 }, MARK_REVERSE);
	}
}

/* The run's number beside its point, where nothing else stands. */
static void draw_number(struct frame *frame, const struct plot *plot, uint32_t run, bool front)
{
	char text[16];
	int x = runs_plot_column_of(plot, run), y = runs_plot_row_of(plot, run),
		cells = PRINT_TO(text, "%u", run + 1),
		at = x + 1 + cells < plot->rect.x + plot->rect.width ? x + 1 : x - cells;
	for (int i = 0; i < cells; i++) {
		const struct cell *cell = frame_cell_at(frame, at + i, y);
		if (!cell || (cell->code != ' ' && cell->code != frame_code(frame, GLYPH_DOT)))
			return;
	}
	frame_text(frame, at, y, cells, front ? ROLE_TEXT : ROLE_FAINT, text);
}

static void draw_numbers(struct frame *frame, const struct plot *plot)
{
	for (int front = 1; front >= 0; front--)
		FOR(i, plot->model->runs)
			if (runs_plot_shown(plot, i) && !beaten(plot, i) == front)
				draw_number(frame, plot, i, front);
}

static void runs_plot_draw_scales(struct frame *frame, const struct plot *plot, struct rect rect, bool flops)
{
	char text[64], word[64];
	int bottom = plot->rect.y + plot->rect.height, right = plot->rect.x + plot->rect.width;
	for (int y = plot->rect.y; y < bottom; y++)
		frame_glyph(frame, plot->rect.x - 1, y, GLYPH_VERTICAL, ROLE_LINE);
	frame_glyph(frame, plot->rect.x - 1, bottom, GLYPH_BOTTOM_LEFT, ROLE_LINE);
	frame_repeat(frame, plot->rect.x, bottom, plot->rect.width, GLYPH_HORIZONTAL, ROLE_LINE);
	frame_right(frame, plot->rect.x - 1, plot->rect.y, ROLE_TEXT, bytes_text((int64_t)plot->high, text, sizeof text));
	if (plot->high > plot->low)
		frame_right(frame, plot->rect.x - 1, bottom - 1, ROLE_TEXT, bytes_text((int64_t)plot->low, text, sizeof text));
	axis_text(plot->axis, flops, plot->left, text, sizeof text);
	int from = plot->right > plot->left
		? plot->rect.x
		: plot->rect.x + plot->rect.width / 2 - text_cells(text) / 2; /* one value: below its point */
	int used = from + frame_text(frame, from, bottom + 1, right - from, ROLE_TEXT, text);
	if (plot->right > plot->left &&
		right - text_cells(axis_text(plot->axis, flops, plot->right, text, sizeof text)) > used + 1)
		frame_right(frame, right, bottom + 1, ROLE_TEXT, text);
	PRINT_TO(word, "needs over %s", runs_plot_axis_name(plot->axis));
	int x = rect.x + frame_text(frame, rect.x, rect.y, rect.width, ROLE_LABEL, word);
	frame_glyph(frame, x + 2, rect.y, GLYPH_BULLET, ROLE_GOOD);
	frame_text(frame, x + 4, rect.y, rect.width - (x + 4 - rect.x), ROLE_FAINT, "no run beats it in both");
}

void runs_plot_draw(struct frame *frame, struct rect rect, const struct model *model, int axis, const double *work,
	bool flops, uint32_t selected)
{
	struct plot plot = { .model = model, .work = work, .axis = axis,
		.rect = { rect.x + LABELS, rect.y + 1, rect.width - LABELS - 1, rect.height - 3 } };
	if (plot.rect.width < 8 || plot.rect.height < 2 || model->runs == 0)
		return;
	runs_plot_find_scales(&plot);
	runs_plot_draw_front(frame, &plot);
	runs_plot_draw_points(frame, &plot, selected);
	draw_numbers(frame, &plot);
	runs_plot_draw_scales(frame, &plot, rect, flops);
}
