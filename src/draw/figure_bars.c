/* figure_bars.c: stacked bars: what plans need by part, a step's phases by what limits their ops. */
#include <math.h>

#include "figure.h"

#define TOP     30.0
#define ROW     19.0
#define BAR     13.0
#define BARE    30.0 /* from the bars to the end of the axis' name */
#define SECONDS_MOST 1e6 /* a file that says more is a joke */
#define VISIBLE 0.3  /* points: what is narrower has no colour that one could look up */

/* Okabe and Ito's, as in the other figures. */
const char *const time_colours[STEP_LIMITS] = { "#0072B2", "#56B4E9", "#E69F00", "#999999", "#D55E00", "#3B2A8C",
	"#F0E442" };
static const char *const bar_colours[LEDGER_PARTS + 1] = { "#E6E6E6", "#C44A00", "#BDBDBD", "#56B4E9", "#F5EA50",
	"#FFFFFF",
	"#3B2A8C", "#009E73", "#777777", "#56B4E9" };

const char *const bar_names[LEDGER_PARTS + 1] = { [PART_PARAMETERS] = "parameters",
	[PART_GRADIENTS] = "gradients (activations' as well)", [PART_OPTIMIZER] = "optimizer state",
	[PART_ACTIVATIONS] = "activations", [PART_OTHER] = "other", [PART_HOLES] = "holes",
	[PART_AHEAD] = "parameters gathered ahead", [PART_BUFFERS] = "NCCL buffers", [PART_CONTEXT] = "context",
	[LEDGER_PARTS] = "what the step needs" };

enum { BAR_PARTS = LEDGER_PARTS + 1 };
struct bar {
	char name[200], said[64]; /* before it and behind it */
	double part[BAR_PARTS]; /* all 0: the name heads what follows */
};
struct bars {
	const char *title, *counts, *says; /* counts: what the axis counts; says: before the legend, "" */
	const char *const *colour, *const *name; /* [parts] */
	double unit; /* of the axis */
	const struct bar *bar; /* [bars] */
	uint32_t bars;
	int parts;
};

struct stacks {
	struct canvas canvas;
	const struct bars *bars;
	double left, span, top, most; /* where bars begin; width of the longest, and what it stands for; upper edge */
	struct canvas_key key[BAR_PARTS];
	int keys;
};

static double bars_sum(const struct bar *bar)
{
	double sum = 0;
	FOR_INT(part, BAR_PARTS)
		sum += bar->part[part];
	return sum;
}

/* The bars have what their names and what follows them leave of the width. */
static void bars_measure(struct stacks *stacks, double width)
{
	const struct bars *bars = stacks->bars;
	double behind = 0;
	FOR(i, bars->bars) {
		double sum = bars_sum(&bars->bar[i]);
		stacks->most = fmax(stacks->most, sum);
		stacks->left = fmax(stacks->left, sum > 0 ? fmin(canvas_text_width(SMALL, bars->bar[i].name), width * 0.4) : 0);
		behind = fmax(behind, canvas_text_width(SMALL, bars->bar[i].said));
	}
	stacks->left += EDGE + 5;
	stacks->span = width - stacks->left - behind - 10;
	FOR_INT(part, bars->parts) {
		bool seen = false;
		FOR(i, bars->bars)
			seen |= bars->bar[i].part[part] * stacks->span >= VISIBLE * stacks->most && stacks->most > 0;
		if (seen)
			stacks->key[stacks->keys++] = (struct canvas_key){ bars->colour[part], bars->name[part], SIGN_BOX };
	}
}

/* A bar; of nothing its name heads those below. */
static void bars_draw(struct stacks *stacks, const struct bar *bar, double y)
{
	const struct canvas_line edge = { "#888888", 0.2, false };
	struct canvas *canvas = &stacks->canvas;
	const struct bars *bars = stacks->bars;
	char cut[CANVAS_CUT];
	double x = stacks->left, base = y + BAR / 2 + SMALL / 3;
	if (bars_sum(bar) <= 0) {
		canvas_text(canvas, EDGE, base, SMALL, ANCHOR_START, true, INK, bar->name);
		return;
	}
	canvas_label(canvas, x - 4, base, ANCHOR_END, canvas_cut(SMALL, x - EDGE - 4, bar->name, cut));
	FOR_INT(part, bars->parts) {
		double wide = stacks->span * bar->part[part] / stacks->most;
		if (wide > 0)
			canvas_box(canvas, x, y, wide, BAR, bars->colour[part], &edge, bars->name[part]);
		x += wide;
	}
	canvas_box(canvas, x + 2, y, canvas_text_width(SMALL, bar->said) + 4, BAR, "#FFFFFF", NULL, NULL);
	canvas_label(canvas, x + 4, base, ANCHOR_START, bar->said);
}

/* What follows the last ": " has a row of its own where both don't fit into one; a long name is cut. */
static void bars_draw_title(struct stacks *stacks, const char *text)
{
	char name[CANVAS_CUT], cut[CANVAS_CUT];
	const char *rest = strstr(text, ": ");
	PRINT_TO(name, "%.*s", stacks->top > TOP && rest ? (int)(rest - text) : CANVAS_CUT - 1, text);
	if (stacks->top > TOP && rest)
		canvas_label(&stacks->canvas, EDGE, stacks->top - 14, ANCHOR_START, rest + 2);
	canvas_title(
		&stacks->canvas, EDGE, TOP - 16, canvas_cut(BOLD, stacks->canvas.paper.width - 2 * EDGE, name, cut));
}

static enum status figure_bars(const struct bars *bars, struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct stacks stacks = { .bars = bars };
	double wide = paper.width - 2 * EDGE;
	bars_measure(&stacks, paper.width);
	stacks.top = !paper.untitled && strstr(bars->title, ": ") && canvas_text_width(BOLD, bars->title) > wide
		? TOP + LEADING : TOP;
	double bottom = stacks.top + ROW * bars->bars;
	if (canvas_open(&stacks.canvas, paper, bottom + BARE) != OK)
		return fail_memory(error);
	bars_draw_title(&stacks, bars->title);
	axis_below(&stacks.canvas, stacks.left, stacks.span, bottom, bottom - stacks.top + 4, 0, stacks.most / bars->unit, 0,
		bars->counts);
	FOR(i, bars->bars)
		bars_draw(&stacks, &bars->bar[i], stacks.top + ROW * i);
	canvas_note(&stacks.canvas, EDGE, wide, bars->says);
	canvas_legend(&stacks.canvas, EDGE, wide, stacks.key, stacks.keys);
	return canvas_close(&stacks.canvas, stream, error);
}

/* ---- what several plans need ---- */

static const char *figure_time_text(int64_t picoseconds, char *text, size_t size)
{
	const char *name;
	int64_t unit = axis_time_unit(picoseconds, &name);
	double amount = (double)picoseconds / (double)unit;
	return printed(text, size, "%.*f %s", amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0, amount, name);
}

enum status figure_needs(
	const struct curve *curve, uint32_t curves, struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct bar bar[2 * BARS_MOST] = { 0 };
	uint32_t rows = 0;
	bool several = false;
	const char *unit;
	char title[CANVAS_CUT], counts[64], time[32] = "";
	double most = 0;
	FOR_FROM(i, 1, curves)
		several |= !text_is(curve[i].graph, curve[0].graph);
	FOR(i, curves) {
		if (several && (i == 0 || !text_is(curve[i].graph, curve[i - 1].graph)))
			PRINT_TO(bar[rows++].name, "%s", curve[i].graph);
		struct bar *next = &bar[rows++];
		PRINT_TO(next->name, "%s", curve[i].name);
		FOR_INT(part, BAR_PARTS)
			next->part[part] = (double)curve[i].part[part];
		most = fmax(most, bars_sum(next));
		bool timed = curve[i].seconds > 0 && curve[i].seconds < SECONDS_MOST;
		if (timed)
			figure_time_text((int64_t)(curve[i].seconds * (double)PICOSECONDS), time, sizeof time);
		PRINT_TO(next->said, "%s%s%s", BYTES((int64_t)bars_sum(next)), timed ? ", " : "", timed ? time : "");
	}
	struct bars bars = { curves_title(curve, curves, paper.width, title), counts, "", bar_colours, bar_names,
		(double)axis_unit((int64_t)most, &unit), bar, rows, BAR_PARTS };
	PRINT_TO(counts, "what the step needs at its peak [%s]%s", unit, *time ? ", and its time" : "");
	return figure_bars(&bars, paper, stream, error);
}

/* ---- a step's time ---- */

/* "gpt2: step 87.3 ms, computation 80.1 ms". */
static void time_title(const struct step_shares *shares, const char *name, char *text, size_t size)
{
	char step[32], computed[32];
	snprintf(text, size, "%.150s: step %s, computation %s", name, figure_time_text(shares->total, step, sizeof step),
		figure_time_text(shares->computed, computed, sizeof computed));
}

enum status figure_time(
	const struct step_shares *shares, const char *name, struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct bar bar[STEP_PARTS] = { 0 };
	char title[300], counts[64], time[32];
	const char *unit;
	struct bars bars = { title, counts, "limited by:", time_colours, step_limit_names, 1, bar, 0, STEP_LIMITS };
	double most = 0;
	time_title(shares, name, title, sizeof title);
	FOR_INT(part, STEP_PARTS) {
		struct bar *next = &bar[bars.bars];
		FOR_INT(limit, STEP_LIMITS)
			next->part[limit] = (double)shares->time[part][limit];
		double sum = bars_sum(next), percent = 100 * sum / (double)shares->total;
		PRINT_TO(next->name, "%s", step_part_names[part]);
		figure_time_text((int64_t)sum, time, sizeof time);
		PRINT_TO(next->said, percent < 0.05 ? "%s, < 0.1 %%" : "%s, %.1f %%", time, percent);
		most = fmax(most, sum);
		bars.bars += sum > 0;
	}
	if (bars.bars == 0)
		return refuse(error, "no op of this step takes time: its FLOPs and bytes are unknown");
	bars.unit = (double)axis_time_unit((int64_t)most, &unit);
	PRINT_TO(counts, "time on a device [%s]", unit);
	return figure_bars(&bars, paper, stream, error);
}
