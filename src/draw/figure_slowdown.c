/* figure_slowdown.c: extra time over memory as a figure. */
#include <math.h>

#include "figure.h"

#define PLOT    190.0
#define TICKS   6    /* steps of the upright axis, at most */
#define TOP     30.0
#define RIGHT   12.0
#define BELOW   28.0 /* from the plot to the end of its axis' name */
#define LEGEND  42.0 /* from the plot to the first row of the legend */
#define MARK    2.5
#define NAMELESS 5.8 /* around a point, where no other name begins */
#define SAMPLES 240
#define GREY    "#E4E4E4" /* where nothing fits */
/* Okabe and Ito's: lines of plans, marks of strategies, of those that fill a knapsack. */
#define BLUE    "#0072B2"
#define ORANGE  "#D55E00"
#define GREEN   "#009E73"

struct scales {
	struct canvas canvas;
	double begin, span, left, right, top;
	int64_t unit;
	const char *unit_name;
	double total;
};

/* Percent of the step at the upper end of the axis: all plans, and strategies not far above them. */
static double figure_slowdown_top(const struct slowdown *slowdown)
{
	double total = (double)(slowdown->total > 0 ? slowdown->total : 1), top = 1;
	FOR(i, slowdown->plans)
		top = fmax(top, 100 * (double)slowdown->plan[i].extra / total);
	FOR(i, slowdown->strategies)
		top = fmax(top, fmin(100 * (double)slowdown->strategy[i].extra / total, 60));
	return top * 1.08;
}

/* Bytes at the left end of the axis. */
static int64_t figure_slowdown_left_of(const struct slowdown *slowdown)
{
	return slowdown->least - (slowdown->most - slowdown->least) / 50;
}

static double figure_slowdown_x_of(const struct scales *scales, double bytes)
{
	return scales->begin + scales->span * (bytes - scales->left) / (scales->right - scales->left);
}

static double figure_slowdown_y_of(const struct scales *scales, double extra)
{
	double percent = 100 * extra / scales->total;
	return TOP + PLOT * (1 - fmin(percent, scales->top) / scales->top);
}

static void figure_slowdown_draw_axes(struct scales *scales, const struct plan *plan)
{
	struct canvas *canvas = &scales->canvas;
	char cut[CANVAS_CUT];
	double unit = (double)scales->unit;
	axis_beside(canvas, scales->begin, scales->span, TOP, PLOT, 0, scales->top, TICKS);
	axis_below(canvas, scales->begin, scales->span, TOP + PLOT, 0, scales->left / unit, scales->right / unit, 0,
		PRINTED(CANVAS_CUT + 20, "memory [%s]", scales->unit_name));
	canvas_label(canvas, EDGE, TOP - 4, ANCHOR_START, "extra time [%]");
	double room = canvas->paper.width - EDGE - 2 - canvas_text_width(BOLD, ": recomputation");
	canvas_title(canvas, EDGE, TOP - 16, PRINTED(CANVAS_CUT + 20, "%s: recomputation",
		canvas_cut(BOLD, room, plan->graph->name, cut)));
}

static void figure_slowdown_draw_bound(struct scales *scales, const struct slowdown *slowdown)
{
	struct canvas_point point[SAMPLES + 3];
	const struct canvas_line line = { "#888888", 0.75, true };
	size_t points = 0;
	double price;
	double first = fmax(scales->left, (double)slowdown->least);
	canvas_box(&scales->canvas, scales->begin, TOP, figure_slowdown_x_of(scales, first) - scales->begin, PLOT, GREY,
		NULL, "nothing fits: proved");
	for (int i = 0; i <= SAMPLES; i++) {
		double bytes = first + (scales->right - first) * i / SAMPLES;
		int64_t bound = slowdown_bound(slowdown, (int64_t)bytes, &price);
		point[points++] = (struct canvas_point){ figure_slowdown_x_of(scales, bytes),
			figure_slowdown_y_of(scales, bound < 0 ? 0 : (double)bound) };
	}
	point[points] = (struct canvas_point){ scales->begin + scales->span, TOP + PLOT };
	point[points + 1] = (struct canvas_point){ figure_slowdown_x_of(scales, first), TOP + PLOT };
	canvas_path(&scales->canvas, point, points + 2, GREY, NULL);
	canvas_path(&scales->canvas, point, points, NULL, &line);
}

static void draw_plans(
	struct scales *scales, const struct slowdown *slowdown, const struct plan *plan, struct labels *names)
{
	struct slowdown_point front[SLOWDOWN_FRONT];
	struct canvas_point point[2 * SLOWDOWN_FRONT];
	const struct canvas_line line = { BLUE, 1.2, false };
	size_t points = 0;
	for (uint32_t i = 0, plans = slowdown_front(slowdown, plan, front); i < plans; i++) {
		double x = figure_slowdown_x_of(scales, (double)front[i].bytes),
			   y = figure_slowdown_y_of(scales, (double)front[i].extra);
		if (i > 0) /* with less memory than the plan before, this one holds */
			point[points] = (struct canvas_point){ point[points - 1].x, y };
		points += i > 0;
		point[points++] = (struct canvas_point){ x, y };
		canvas_box(&scales->canvas, x - MARK / 2, y - MARK / 2, MARK, MARK, BLUE, NULL, "a plan");
	}
	canvas_path(&scales->canvas, point, points, NULL, &line);
	for (size_t i = 1; i < points; i++)
		label_avoid_line(names, point[i - 1].x, point[i - 1].y, point[i].x, point[i].y);
}

/* Knapsack's points have their share alone for a name. Names keep off all points and the cross. */
static void draw_strategies(
	struct scales *scales, const struct slowdown *slowdown, const struct plan *plan, struct labels *names)
{
	label_avoid(names, figure_slowdown_x_of(scales, (double)plan_peak(plan)),
		figure_slowdown_y_of(scales, (double)plan_extra_time(plan)), NAMELESS);
	FOR(i, slowdown->strategies)
		label_avoid(names, figure_slowdown_x_of(scales, (double)slowdown->strategy[i].bytes),
			figure_slowdown_y_of(scales, (double)slowdown->strategy[i].extra), NAMELESS);
	FOR(i, slowdown->strategies) {
		const struct slowdown_point *point = &slowdown->strategy[i];
		const char *number = strchr(point->name, ':');
		bool knapsack = number && point->name[strlen(point->name) - 1] == '%';
		double x = figure_slowdown_x_of(scales, (double)point->bytes), y = figure_slowdown_y_of(scales, (double)point->extra);
		if (x < scales->begin || x > scales->begin + scales->span)
			continue;
		canvas_box(&scales->canvas, x - MARK, y - MARK, 2 * MARK, 2 * MARK, knapsack ? GREEN : ORANGE, NULL, point->name);
		bool again = i > 0 && point->bytes == point[-1].bytes && point->extra == point[-1].extra;
		if (!again)
			label_point(names, &scales->canvas, x, y, SMALL - 1, INK, knapsack ? number + 1 : point->name);
	}
}

static void draw_present(struct scales *scales, const struct plan *plan)
{
	double x = figure_slowdown_x_of(scales, (double)plan_peak(plan)),
		   y = figure_slowdown_y_of(scales, (double)plan_extra_time(plan));
	if (x < scales->begin || x > scales->begin + scales->span)
		return;
	canvas_cross(&scales->canvas, x, y, 4, INK);
}

enum status figure_slowdown(const struct plan *plan, const struct slowdown *slowdown, struct canvas_paper paper,
	FILE *stream, struct error *error)
{
	const struct canvas_key key[] = { { GREY, "no plan in any order: proved", SIGN_BOX },
		{ BLUE, "plans found", SIGN_LINE }, { INK, "this plan", SIGN_CROSS }, { ORANGE, "strategies", SIGN_BOX },
		{ GREEN, "knapsack at % of saved bytes", SIGN_BOX } };
	struct scales scales = { .left = (double)figure_slowdown_left_of(slowdown), .top = figure_slowdown_top(slowdown),
		.total = (double)(slowdown->total > 0 ? slowdown->total : 1) };
	scales.begin = axis_margin(0, scales.top, axis_step(scales.top, TICKS), SMALL);
	scales.span = paper.width - scales.begin - RIGHT;
	struct labels names = {
		.left = scales.begin + 2, .right = scales.begin + scales.span, .top = TOP, .bottom = TOP + PLOT
	};
	scales.right = (double)slowdown->most + ((double)slowdown->most - scales.left) * 0.03 + 1;
	scales.unit = axis_unit(slowdown->most, &scales.unit_name);
	if (canvas_open(&scales.canvas, paper, TOP + PLOT + BELOW) != OK)
		return fail_memory(error);
	figure_slowdown_draw_bound(&scales, slowdown);
	figure_slowdown_draw_axes(&scales, plan);
	draw_plans(&scales, slowdown, plan, &names);
	canvas_box(
		&scales.canvas, scales.begin, TOP, scales.span, PLOT, NULL, &(struct canvas_line){ INK, 0.75, false }, NULL);
	draw_strategies(&scales, slowdown, plan, &names);
	draw_present(&scales, plan);
	canvas_legend(&scales.canvas, scales.begin, scales.span, key, COUNT_OF(key));
	return canvas_close(&scales.canvas, stream, error);
}
