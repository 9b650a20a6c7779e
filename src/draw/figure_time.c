/* figure_time.c: a step's time as bars, one for each phase, stacked by what limits its ops. */
#include <math.h>

#include "figure.h"

#define TOP     26.0
#define ROW     20.0
#define BAR     13.0
#define BELOW   30.0 /* from the bars to the end of the axis' name */
#define LEGEND  40.0 /* from the bars to the legend */
#define TICK    30.0 /* between numbers of the axis, at least */
#define VISIBLE 0.3 /* points: what is narrower has no colour that one could look up */

/* Okabe and Ito's, as in the other figures. */
const char *const time_colours[STEP_LIMITS] = { "#0072B2", "#56B4E9", "#E69F00", "#999999", "#D55E00", "#3B2A8C",
	"#F0E442" };

struct bars {
	struct canvas canvas;
	const struct step_shares *shares;
	int64_t time[STEP_PARTS]; /* of a phase */
	int64_t most, unit;       /* the longest bar; picoseconds of a unit */
	const char *unit_name;
	int rows;
	double left, span, top, bottom; /* where bars begin; width of the longest; upper and lower edge of all */
};

static const char *figure_time_time_text(int64_t picoseconds, char *text, size_t size)
{
	const char *name;
	int64_t unit = axis_time_unit(picoseconds, &name);
	double amount = (double)picoseconds / (double)unit;
	snprintf(text, size, "%.*f %s", amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0, amount, name);
	return text;
}

void time_title(const struct step_shares *shares, const char *name, char *text, size_t size)
{
	char step[32], computed[32];
	snprintf(text, size, "%.150s: step %s, computation %s", name,
		figure_time_time_text(shares->total, step, sizeof step),
		figure_time_time_text(shares->computed, computed, sizeof computed));
}

static void figure_time_draw_axis(struct bars *bars)
{
	const struct canvas_line grid = { "#DDDDDD", 0.5, false }, frame = { INK, 0.75, false };
	double top = (double)bars->most / (double)bars->unit, step = axis_step(top, (int)(bars->span / TICK));
	char text[64];
	for (double value = 0; value <= top * 1.0001; value += step) {
		double x = bars->left + bars->span * value / top;
		canvas_stroke(&bars->canvas, x, bars->top, x, bars->bottom + 3, &grid);
		axis_number(&bars->canvas, x, bars->bottom + SMALL + 4, value);
	}
	canvas_stroke(&bars->canvas, bars->left, bars->top, bars->left, bars->bottom, &frame);
	PRINT_TO(text, "time on a device [%s]", bars->unit_name);
	canvas_label(&bars->canvas, bars->left + bars->span / 2, bars->bottom + 2 * SMALL + 6, ANCHOR_MIDDLE, text);
}

/* What follows a bar: its time, and its share of the step. */
static const char *bar_text(const struct bars *bars, int part, char *text, size_t size)
{
	double percent = 100.0 * (double)bars->time[part] / (double)bars->shares->total;
	char time[32];
	figure_time_time_text(bars->time[part], time, sizeof time);
	snprintf(text, size, percent < 0.05 ? "%s, < 0.1 %%" : "%s, %.1f %%", time, percent);
	return text;
}

static void figure_time_draw_bar(struct bars *bars, int part, double y)
{
	const struct step_shares *shares = bars->shares;
	char text[100], time[32];
	double x = bars->left;
	canvas_label(&bars->canvas, bars->left - 4, y + BAR / 2 + SMALL / 3, ANCHOR_END, step_part_names[part]);
	FOR_INT(limit, STEP_LIMITS) {
		double wide = bars->span * (double)shares->time[part][limit] / (double)bars->most;
		if (wide <= 0)
			continue;
		PRINT_TO(text, "%s, %s: %s in %u ops", step_part_names[part], step_limit_names[limit],
			figure_time_time_text(shares->time[part][limit], time, sizeof time), shares->ops[part][limit]);
		canvas_box(&bars->canvas, x, y, wide, BAR, time_colours[limit], NULL, text);
		x += wide;
	}
	bar_text(bars, part, text, sizeof text);
	canvas_box(&bars->canvas, x + 2, y, canvas_text_width(SMALL, text) + 4, BAR, "#FFFFFF", NULL, NULL);
	canvas_label(&bars->canvas, x + 4, y + BAR / 2 + SMALL / 3, ANCHOR_START, text);
}

/* On narrow paper the times have a row of their own. */
static void figure_time_draw_title(struct bars *bars, char *text)
{
	char *rest = strstr(text, ": step ");
	if (bars->top > TOP && rest) {
		*rest = '\0';
		canvas_label(&bars->canvas, EDGE, bars->top - 12, ANCHOR_START, rest + 2);
	}
	char cut[CANVAS_CUT], name[CANVAS_CUT], title[2 * CANVAS_CUT];
	const char *rank = strstr(text, ", rank "); /* of a long name the end is cut, but not that */
	PRINT_TO(name, "%.*s", rank ? (int)(rank - text) : (int)strlen(text), text);
	double room = bars->canvas.paper.width - 2 * EDGE - canvas_text_width(BOLD, rank ? rank : "");
	PRINT_TO(title, "%s%s", canvas_cut(BOLD, room, name, cut), rank ? rank : "");
	canvas_title(&bars->canvas, EDGE, TOP - 12, title);
}

/* Returns its rows; canvas NULL: only that. */
static int figure_time_draw_legend(struct canvas *canvas, const struct bars *bars, double y, double width)
{
	struct canvas_key key[STEP_LIMITS];
	int keys = 0;
	FOR_INT(limit, STEP_LIMITS) {
		bool seen = false;
		FOR_INT(part, STEP_PARTS)
			seen |= bars->span * (double)bars->shares->time[part][limit] >= VISIBLE * (double)bars->most;
		if (seen)
			key[keys++] = (struct canvas_key){ time_colours[limit], step_limit_names[limit], SIGN_BOX };
	}
	int rows = canvas_rows(canvas, 4, y, width, "limited by:");
	return rows + canvas_legend(canvas, 4, y + LEADING * rows, width, key, keys);
}

/* The bars have what their names and times leave of the width. */
static void figure_time_measure(struct bars *bars, double width)
{
	double names = 0, times = 0;
	char text[100];
	FOR_INT(part, STEP_PARTS) {
		FOR_INT(limit, STEP_LIMITS)
			bars->time[part] += bars->shares->time[part][limit];
		bars->most = bars->time[part] > bars->most ? bars->time[part] : bars->most;
		bars->rows += bars->time[part] > 0;
	}
	FOR_INT(part, STEP_PARTS)
		if (bars->time[part] > 0) {
			names = fmax(names, canvas_text_width(SMALL, step_part_names[part]));
			times = fmax(times, canvas_text_width(SMALL, bar_text(bars, part, text, sizeof text)));
		}
	bars->left = EDGE + names + 5;
	bars->span = width - bars->left - times - 10;
	bars->unit = axis_time_unit(bars->most, &bars->unit_name);
	bars->bottom = bars->top + ROW * bars->rows;
}

enum status figure_time(
	const struct step_shares *shares, const char *name, struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct bars bars = { .shares = shares };
	char title[300];
	time_title(shares, name, title, sizeof title);
	bars.top = !paper.untitled && canvas_text_width(NORMAL, title) * 1.1 > paper.width - 8 ? TOP + LEADING : TOP;
	figure_time_measure(&bars, paper.width);
	if (bars.rows == 0)
		return refuse(error, "no op of this step takes time: its FLOPs and bytes are unknown");
	double width = paper.width - 8, y = bars.top + (ROW - BAR) / 2;
	double below = paper.unexplained ? BELOW : LEGEND + LEADING * figure_time_draw_legend(NULL, &bars, 0, width) - 2;
	if (canvas_open(&bars.canvas, paper, bars.bottom + below) != OK)
		return fail_memory(error);
	figure_time_draw_title(&bars, title);
	figure_time_draw_axis(&bars);
	FOR_INT(part, STEP_PARTS)
		if (bars.time[part] > 0) {
			figure_time_draw_bar(&bars, part, y);
			y += ROW;
		}
	if (!paper.unexplained)
		figure_time_draw_legend(&bars.canvas, &bars, bars.bottom + LEGEND, width);
	return canvas_close(&bars.canvas, stream, error);
}
