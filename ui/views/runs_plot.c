/* runs_plot.c: a scatter plot of the runs with its Pareto front: no run has both less memory and a better axis. */
#include "runs_plot.h"

#include "devices.h"

enum { LABELS = 9 };

struct plot {
	const struct runs_plot *runs;
	struct rect rect;   /* of the points */
	double left, right; /* the axis at the first and last column */
	double low, high;   /* bytes at the last and first row */
};

void runs_plot_find_front(struct run_point *point, uint32_t points, bool more)
{
	FOR(i, points) {
		point[i].front = point[i].x > 0;
		FOR(k, points) {
			double better = more ? point[k].x - point[i].x : point[i].x - point[k].x, less = point[i].needs - point[k].needs;
			if (point[k].x > 0 && better >= 0 && less >= 0 && better + less > 0)
				point[i].front = false;
		}
	}
}

static bool runs_plot_find_scales(struct plot *plot)
{
	bool none = true;
	FOR(i, plot->runs->points) {
		double x = plot->runs->point[i].x, bytes = plot->runs->point[i].needs;
		if (x <= 0)
			continue;
		plot->left = none || x < plot->left ? x : plot->left;
		plot->right = none || x > plot->right ? x : plot->right;
		plot->low = none || bytes < plot->low ? bytes : plot->low;
		plot->high = none || bytes > plot->high ? bytes : plot->high;
		none = false;
	}
	return !none;
}

static int runs_plot_place(double value, double from, double to, int cells)
{
	return to > from ? (int)((value - from) / (to - from) * (cells - 1) + 0.5) : cells / 2;
}

static int runs_plot_column_of(const struct plot *plot, uint32_t run)
{
	return plot->rect.x + runs_plot_place(plot->runs->point[run].x, plot->left, plot->right, plot->rect.width);
}

static int runs_plot_row_of(const struct plot *plot, uint32_t run)
{
	return plot->rect.y + plot->rect.height - 1 -
		runs_plot_place(plot->runs->point[run].needs, plot->low, plot->high, plot->rect.height);
}

/* Between its points the front is a staircase: the memory of the best run that costs no more. */
static void runs_plot_draw_front(struct frame *frame, const struct plot *plot)
{
	for (int x = plot->rect.x; x < plot->rect.x + plot->rect.width; x++) {
		uint32_t least = NONE;
		FOR(i, plot->runs->points) {
			int column = runs_plot_column_of(plot, i);
			if (plot->runs->point[i].front && (plot->runs->more ? column >= x : column <= x) &&
				(least == NONE || plot->runs->point[i].needs < plot->runs->point[least].needs))
				least = i;
		}
		if (least != NONE)
			frame_glyph(frame, x, runs_plot_row_of(plot, least), GLYPH_DOT, ROLE_BOUND);
	}
}

/* Points, the selected run last: it stands above others in its cell; then numbers, where nothing else stands. */
static void runs_plot_draw_points(struct frame *frame, const struct plot *plot)
{
	uint32_t points = plot->runs->points;
	for (uint32_t k = 0; k <= 2 * points; k++) {
		uint32_t i = k == points ? plot->runs->selected : k < points ? k : k - points - 1;
		bool front = plot->runs->point[i].front;
		int x = runs_plot_column_of(plot, i), y = runs_plot_row_of(plot, i);
		if (plot->runs->point[i].x <= 0)
			continue;
		if (k <= points)
			frame_glyph(frame, x, y, front ? GLYPH_BULLET : GLYPH_CIRCLE, front ? ROLE_GOOD : ROLE_FAINT);
		if (k == points)
			frame_mark(frame, (struct rect){ x, y, 1, 1 }, MARK_REVERSE);
		if (k <= points)
			continue;
		char text[16];
		int cells = PRINT_TO(text, "%u", i + 1),
			at = x + 1 + cells < plot->rect.x + plot->rect.width ? x + 1 : x - cells;
		bool free = true;
		for (int c = at; c < at + cells; c++) {
			const struct cell *cell = frame_cell_at(frame, c, y);
			free &= cell && (cell->code == ' ' || cell->code == frame_code(frame, GLYPH_DOT));
		}
		if (free)
			frame_text(frame, at, y, cells, front ? ROLE_TEXT : ROLE_FAINT, text);
	}
}

static const char *runs_plot_axis_text(const struct plot *plot, double value, char text[32])
{
	return plot->runs->more ? count_text((uint64_t)(value + 0.5), text) : time_text((int64_t)value, text, 32);
}

static void runs_plot_draw_scales(struct frame *frame, const struct plot *plot, struct rect rect)
{
	char text[32];
	int bottom = plot->rect.y + plot->rect.height, right = plot->rect.x + plot->rect.width;
	frame_axes(frame, plot->rect);
	frame_bytes(frame, plot->rect.x - 1, plot->rect.y, ROLE_TEXT, (int64_t)plot->high);
	if (plot->high > plot->low)
		frame_bytes(frame, plot->rect.x - 1, bottom - 1, ROLE_TEXT, (int64_t)plot->low);
	runs_plot_axis_text(plot, plot->left, text);
	bool one = plot->right <= plot->left; /* its value stands below its point */
	frame_text(frame, plot->rect.x + (one ? plot->rect.width / 2 - text_cells(text) / 2 : 0), bottom + 1, plot->rect.width,
		ROLE_TEXT, text);
	if (!one)
		frame_right(frame, right, bottom + 1, ROLE_TEXT, runs_plot_axis_text(plot, plot->right, text));
	int x = rect.x + 1 + frame_print(frame, rect.x + 1, rect.y, ROLE_LABEL, "needs over %s", plot->runs->name);
	frame_glyph(frame, x + 2, rect.y, GLYPH_BULLET, ROLE_GOOD);
	frame_text(frame, x + 4, rect.y, rect.width - (x + 4 - rect.x), ROLE_FAINT, "Pareto: no run beats it in both");
}

void runs_plot_draw(struct frame *frame, struct rect rect, const struct runs_plot *runs)
{
	struct plot plot = { .runs = runs, .rect = { rect.x + LABELS, rect.y + 1, rect.width - LABELS - 1, rect.height - 3 } };
	if (plot.rect.width < 24 || plot.rect.height < 2 || !runs_plot_find_scales(&plot))
		return;
	runs_plot_draw_front(frame, &plot);
	runs_plot_draw_points(frame, &plot);
	runs_plot_draw_scales(frame, &plot, rect);
}
