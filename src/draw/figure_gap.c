/* figure_gap.c: how far the best order was above the lower bound, over the solver's time: the anytime curve. */
#include <math.h>

#include "figure.h"

#define TOP    30.0
#define PLOT   162.0
#define RIGHT  14.0
#define BARE   28.0
#define SOONEST 1e-6 /* seconds: what is earlier is drawn there */
#define TICKS  6
#define LEAST  0.1 /* percent: less is as good as nothing */

/* The plot's scales: powers of ten at its sides, percent at its upper edge. */
struct anytime {
	struct canvas canvas;
	double left, span, least, most, top;
};

static double gap_of(const struct gap_point *point)
{
	return 100 * ((double)point->peak / (double)point->bound - 1);
}

static void gap_measure(struct anytime *anytime, const struct curve *curve, uint32_t curves, double width)
{
	double first = 1e9, last = SOONEST;
	FOR(i, curves) {
		last = fmax(last, curve[i].solved);
		FOR(k, curve[i].gaps)
			if (curve[i].gap[k].bound > 0) {
				first = fmin(first, curve[i].gap[k].seconds);
				last = fmax(last, curve[i].gap[k].seconds);
				anytime->top = fmax(anytime->top, 1.05 * gap_of(&curve[i].gap[k]));
			}
	}
	anytime->top = fmax(anytime->top, LEAST);
	anytime->least = floor(log10(fmax(fmin(first, last), SOONEST)));
	anytime->most = fmax(ceil(log10(last)), anytime->least + 1);
	anytime->left = axis_margin(0, anytime->top, axis_step(anytime->top, TICKS), SMALL);
	anytime->span = width - anytime->left - RIGHT;
}

static double gap_x(const struct anytime *anytime, double seconds)
{
	return anytime->left +
		anytime->span * (log10(fmax(seconds, SOONEST)) - anytime->least) / (anytime->most - anytime->least);
}

static double gap_y(const struct anytime *anytime, double percent)
{
	return TOP + PLOT * (1 - percent / anytime->top);
}

static void gap_draw_axes(struct anytime *anytime)
{
	const struct canvas_line grid = { "#DDDDDD", 0.5, false };
	static const char *const names[] = { "1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s",
		"1000 s" };
	axis_beside(&anytime->canvas, anytime->left, anytime->span, TOP, PLOT, 0, anytime->top, TICKS);
	int every = anytime->span < 32 * (anytime->most - anytime->least) ? 2 : 1;
	for (int power = (int)anytime->least; power <= anytime->most; power++) {
		double x = gap_x(anytime, pow(10, power));
		canvas_stroke(&anytime->canvas, x, TOP, x, TOP + PLOT + 3, &grid);
		if (power + 6 < (int)COUNT_OF(names) && (power - (int)anytime->least) % every == 0)
			canvas_label(&anytime->canvas, x, TOP + PLOT + SMALL + 3, power == anytime->most ? ANCHOR_END : ANCHOR_MIDDLE,
				names[power + 6]);
	}
	canvas_label(&anytime->canvas, EDGE, TOP - 5, ANCHOR_START, "peak above its lower bound [%]");
	canvas_label(&anytime->canvas, anytime->left + anytime->span / 2, TOP + PLOT + 2 * SMALL + 6, ANCHOR_MIDDLE,
		"time of the solver");
}

/* What it has holds until something better is found, and to its end. */
static void gap_draw_line(struct anytime *anytime, const struct curve *curve, const struct canvas_line *line)
{
	struct canvas_point point[2 * IMPROVEMENTS_MOST + 1];
	size_t points = 0;
	FOR(k, curve->gaps) {
		if (curve->gap[k].bound <= 0)
			continue;
		double x = gap_x(anytime, curve->gap[k].seconds), y = gap_y(anytime, gap_of(&curve->gap[k]));
		if (points > 0)
			point[points] = (struct canvas_point){ x, point[points - 1].y }, points++;
		point[points++] = (struct canvas_point){ x, y };
	}
	if (points == 0)
		return;
	double end = gap_x(anytime, curve->solved), y = point[points - 1].y;
	if (end > point[points - 1].x)
		point[points++] = (struct canvas_point){ end, y };
	canvas_path(&anytime->canvas, point, points, NULL, line);
	canvas_box(&anytime->canvas, point[points - 1].x - 2, y - 2, 4, 4, line->colour, NULL, curve->name);
}

static void gap_legend(struct anytime *anytime, const struct curve *curve, uint32_t curves)
{
	struct canvas_key key[CURVES_MOST];
	char name[CURVES_MOST][CANVAS_CUT + 60], end[60], cut[CANVAS_CUT];
	FOR(i, curves) {
		const struct gap_point *last = curve[i].gaps ? &curve[i].gap[curve[i].gaps - 1] : NULL;
		double gap = last && last->bound > 0 ? gap_of(last) : -1;
		PRINT_TO(end, gap < 0 ? ": no bound" : gap == 0 ? ": 0 %%, proved" : gap < 0.005 ? ": < 0.01 %%" : ": %.2g %%", gap);
		PRINT_TO(name[i], "%s%s", canvas_cut(SMALL, anytime->span - 16 - canvas_text_width(SMALL, end), curve[i].name, cut),
			end);
		key[i] = (struct canvas_key){ curve_colours[i], name[i], i % 2 ? SIGN_DASHES : SIGN_LINE };
	}
	canvas_legend(&anytime->canvas, anytime->left, anytime->span, key, (int)curves);
}

enum status figure_gap(
	const struct curve *curve, uint32_t curves, struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct anytime anytime = { .top = 0 };
	const struct canvas_line frame = { INK, 0.75, false };
	char cut[CANVAS_CUT];
	uint32_t known = 0;
	FOR(i, curves)
		FOR(k, curve[i].gaps)
			known += curve[i].gap[k].bound > 0;
	if (known == 0)
		return refuse(error, "nothing is known of how an order was found: plan anew, and write it with plan --json");
	gap_measure(&anytime, curve, curves, paper.width);
	if (canvas_open(&anytime.canvas, paper, TOP + PLOT + BARE) != OK)
		return fail_memory(error);
	canvas_title(&anytime.canvas, EDGE, TOP - 16, PRINTED(CANVAS_CUT + 40, "%s: gap over time",
		curves == 1 ? canvas_cut(BOLD, paper.width - 100, curve->graph, cut) : curves_title(curve, curves,
		paper.width - 80, cut)));
	gap_draw_axes(&anytime);
	FOR(i, curves) {
		const struct canvas_line line = { curve_colours[i], 1.2, i % 2 == 1 };
		gap_draw_line(&anytime, &curve[i], &line);
	}
	canvas_box(&anytime.canvas, anytime.left, TOP, anytime.span, PLOT, NULL, &frame, NULL);
	gap_legend(&anytime, curve, curves);
	return canvas_close(&anytime.canvas, stream, error);
}
