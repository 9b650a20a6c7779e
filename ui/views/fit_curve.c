/* fit_curve.c: extra time over memory: the bound under all plans, plans, strategies, and a cap that answers at
 * once. */
#include <math.h>

#include "devices.h"
#include "runs_plot.h"

enum { LABELS = 8, ABOVE = 3, BELOW = 2, PAGE = 10 };

struct scales {
	struct rect rect;        /* of the points */
	double left, right, top; /* bytes, bytes, percent */
	double total;
};

static struct scales fit_curve_scales_of(struct rect rect, const struct slowdown *curve)
{
	struct scales scales = { .rect = { rect.x + LABELS, rect.y + ABOVE, rect.width - LABELS - 1,
								 rect.height - ABOVE - BELOW },
		.top = 1,
		.left = (double)curve->least - (double)(curve->most - curve->least) / 50,
		.total = (double)(curve->total > 0 ? curve->total : 1) };
	scales.right = (double)curve->most + ((double)curve->most - scales.left) * 0.02 + 1;
	FOR(i, curve->strategies)
		scales.top = fmax(scales.top, fmin(105 * (double)curve->strategy[i].extra / scales.total, 60));
	FOR(i, curve->plans)
		scales.top = fmax(scales.top, 105 * (double)curve->plan[i].extra / scales.total);
	return scales;
}

static int fit_curve_column_of(const struct scales *scales, double bytes)
{
	return scales->rect.x + (int)floor((bytes - scales->left) / (scales->right - scales->left) * scales->rect.width);
}

static double fit_curve_bytes_at(const struct scales *scales, int column)
{
	return scales->left + (scales->right - scales->left) * (column - scales->rect.x + 0.5) / scales->rect.width;
}

static int fit_curve_row_of(const struct scales *scales, double extra)
{
	double share = fmin(100 * extra / scales->total / scales->top, 1);
	return scales->rect.y + scales->rect.height - 1 - (int)lround(share * (scales->rect.height - 1));
}

static bool fit_curve_inside(const struct scales *scales, int x)
{
	return x >= scales->rect.x && x < scales->rect.x + scales->rect.width;
}

/* Dots where no plan can be, a line at the bound. */
static void fit_curve_draw_bound(struct frame *frame, const struct scales *scales, const struct slowdown *curve)
{
	int bottom = scales->rect.y + scales->rect.height;
	for (int x = scales->rect.x; x < scales->rect.x + scales->rect.width; x++) {
		double price;
		int64_t bound = slowdown_bound(curve, (int64_t)fit_curve_bytes_at(scales, x), &price);
		int row = bound < 0 ? scales->rect.y : fit_curve_row_of(scales, (double)bound);
		for (int y = row; y < bottom && (bound != 0 || y == bottom - 1); y++)
			frame_glyph(frame, x, y, GLYPH_DOT, y == row ? ROLE_BOUND : ROLE_LINE);
	}
}

/* Where names stand already: row and columns. */
struct taken { int y, from, to; };

/* A name beside its mark where no other stands; true where it found room. */
static bool place_name(struct taken *taken, uint32_t count, int y, int from, int to)
{
	FOR(i, count)
		if (taken[i].y == y && from <= taken[i].to && to >= taken[i].from)
			return false;
	taken[count] = (struct taken){ y, from, to };
	return true;
}

static void fit_curve_draw_points(
	struct frame *frame, const struct scales *scales, const struct slowdown *curve, const struct plan *plan)
{
	struct taken taken[2 * SLOWDOWN_STRATEGIES];
	uint32_t names = 0;
	struct slowdown_point front[SLOWDOWN_FRONT];
	for (uint32_t i = 0, plans = slowdown_front(curve, plan, front); i < plans; i++) {
		int x = fit_curve_column_of(scales, (double)front[i].bytes);
		if (fit_curve_inside(scales, x))
			frame_glyph(frame, x, fit_curve_row_of(scales, (double)front[i].extra), GLYPH_BULLET, ROLE_GOOD);
	}
	FOR(i, curve->strategies) { /* over the plans, of which some are strategies */
		int x = fit_curve_column_of(scales, (double)curve->strategy[i].bytes);
		taken[names++] = (struct taken){ fit_curve_row_of(scales, (double)curve->strategy[i].extra), x, x };
	}
	FOR(i, curve->strategies) {
		const struct slowdown_point *point = &curve->strategy[i];
		int x = fit_curve_column_of(scales, (double)point->bytes), y = fit_curve_row_of(scales, (double)point->extra);
		const char *share = strchr(point->name, ':');
		bool knapsack = share && strchr(share, '%');
		const char *name = knapsack ? share + 1 : point->name;
		if (!fit_curve_inside(scales, x))
			continue;
		frame_glyph(frame, x, y, GLYPH_CIRCLE, knapsack ? ROLE_LABEL : ROLE_WARN);
		int cells = text_cells(name), right = scales->rect.x + scales->rect.width;
		if (x + cells < right && place_name(taken, names, y, x + 1, x + cells))
			frame_text(frame, x + 1, y, cells, knapsack ? ROLE_FAINT : ROLE_TEXT, name);
		else if (place_name(taken, names, y, x - cells, x - 1))
			frame_text(frame, x - cells, y, cells, knapsack ? ROLE_FAINT : ROLE_TEXT, name);
		else
			continue;
		names++;
	}
}

static void fit_curve_draw_scales(struct frame *frame, const struct scales *scales)
{
	int bottom = scales->rect.y + scales->rect.height, right = scales->rect.x + scales->rect.width;
	frame_axes(frame, scales->rect);
	frame_right(frame, scales->rect.x - 1, scales->rect.y, ROLE_LABEL, PRINTED(32, "+%.3g %%", scales->top));
	frame_right(frame, scales->rect.x - 1, bottom - 1, ROLE_LABEL, "+0 %");
	frame_text(frame, scales->rect.x, bottom + 1, 12, ROLE_LABEL, BYTES((int64_t)scales->left));
	frame_bytes(frame, right, bottom + 1, ROLE_LABEL, (int64_t)scales->right);
	if (scales->rect.width > 64)
		frame_text(frame, scales->rect.x + scales->rect.width / 2 - 18, bottom + 1, 40, ROLE_FAINT,
			"extra time over memory, in its order");
}

/* The least extra time of what was found within the cap, or -1. */
static int64_t found_within(const struct slowdown *curve, const struct plan *plan, int64_t cap)
{
	struct slowdown_point front[SLOWDOWN_FRONT];
	for (uint32_t i = 0, plans = slowdown_front(curve, plan, front); i < plans; i++)
		if (front[i].bytes <= cap)
			return front[i].extra;
	return -1;
}

/* What the cap under the cursor comes to: from the cuts, at once. */
static void draw_answer(
	struct frame *frame, struct rect rect, const struct slowdown *curve, const struct plan *plan, int64_t cap)
{
	char text[300], time[32];
	double price, total = (double)(curve->total > 0 ? curve->total : 1);
	int64_t bound = slowdown_bound(curve, cap, &price), found = found_within(curve, plan, cap);
	const char *bytes = BYTES(cap);
	if (bound < 0)
		PRINT_TO(text, "at a cap of %s nothing fits, whatever is computed again: proved", bytes);
	else if (bound == 0 && found == 0)
		PRINT_TO(text, "at a cap of %s everything can be kept", bytes);
	else if (PRINT_TO(text,
				 "at a cap of %s any plan takes at least %.3g %% more, %s; 1 GB more is worth %.3g ms", bytes,
				 100 * (double)bound / total, time_text(bound, time, sizeof time), price) > rect.width)
		PRINT_TO(text, "%s: at least +%.3g %%, %s; 1 GB is %.3g ms", bytes, 100 * (double)bound / total,
			time, price);
	frame_text(frame, rect.x, rect.y, rect.width, bound < 0 ? ROLE_BAD : ROLE_TITLE, text);
	if (bound >= 0 && found > 0) {
		PRINT_TO(text, "found: %.3g %% more; Enter plans it", 100 * (double)found / total);
		frame_text(frame, rect.x, rect.y + 1, rect.width, ROLE_GOOD, text);
	} else if (bound > 0) {
		frame_text(frame, rect.x, rect.y + 1, rect.width, ROLE_FAINT, "Enter plans recompute=auto at this cap");
	}
}

static int64_t present_cap(const struct slowdown_pane *pane, const struct model *model)
{
	int64_t budget = plan_budget(model->plan);
	return pane->cap > 0 ? pane->cap : budget >= 0 ? budget : plan_peak(model->plan);
}

static void fit_curve_draw_legend(struct frame *frame, struct rect rect, const struct slowdowns *slowdowns)
{
	int x = rect.x, y = rect.y + 2;
	frame_glyph(frame, x, y, GLYPH_BULLET, ROLE_GOOD);
	x += 2 + frame_text(frame, x + 2, y, rect.width, ROLE_FAINT, "plans");
	frame_glyph(frame, x + 2, y, GLYPH_CIRCLE, ROLE_WARN);
	x += 4 + frame_text(frame, x + 4, y, rect.width - x, ROLE_FAINT, "strategies; % of saved bytes: knapsack");
	frame_text(frame, x + 2, y, rect.width - x - 2, slowdowns->job ? ROLE_WARN : ROLE_FAINT,
		slowdowns->job ? "planning" : "x this plan; dots: no plan can be there");
}

void slowdown_draw(struct frame *frame, struct rect rect, struct slowdown_pane *pane, const struct model *model)
{
	const struct slowdowns *slowdowns = model->slowdowns;
	if (!slowdowns || !slowdowns->there || slowdowns->curve.fingerprint != slowdown_fingerprint(model->plan)) {
		const char *text = slowdowns && slowdowns->job ? "a moment: cuts at prices for memory"
			: slowdowns && *slowdowns->error.text
			? slowdowns->error.text
			: ":curve draws extra time over memory: what no plan is below, plans, published strategies";
		frame_wrapped(frame, (struct rect){ rect.x + 1, rect.y, rect.width - 1, 3 }, ROLE_FAINT, text);
		return;
	}
	const struct slowdown *curve = &slowdowns->curve;
	struct scales scales = fit_curve_scales_of(rect, curve);
	int64_t cap = present_cap(pane, model);
	if (scales.rect.width < 16 || scales.rect.height < 3)
		return;
	pane->column = (int64_t)((scales.right - scales.left) / scales.rect.width) + 1;
	fit_curve_draw_bound(frame, &scales, curve);
	int x = fit_curve_column_of(&scales, (double)cap);
	for (int y = scales.rect.y; y < scales.rect.y + scales.rect.height && fit_curve_inside(&scales, x); y++)
		frame_glyph(frame, x, y, GLYPH_VERTICAL, ROLE_BUDGET);
	fit_curve_draw_points(frame, &scales, curve, model->plan);
	x = fit_curve_column_of(&scales, (double)plan_peak(model->plan));
	if (fit_curve_inside(&scales, x))
		frame_text(frame, x, fit_curve_row_of(&scales, (double)plan_extra_time(model->plan)), 1, ROLE_PEAK, "x");
	fit_curve_draw_scales(frame, &scales);
	draw_answer(frame, rect, curve, model->plan, cap);
	fit_curve_draw_legend(frame, rect, slowdowns);
}

bool slowdown_command(struct slowdown_pane *pane, struct model *model, enum command_id command)
{
	const struct slowdowns *slowdowns = model->slowdowns;
	int64_t cap = present_cap(pane, model), step = pane->column > 0 ? pane->column : 1;
	if (!slowdowns || !slowdowns->there)
		return false;
	const struct slowdown *curve = &slowdowns->curve;
	switch (command) {
	case COMMAND_LEFT: cap -= step; break;
	case COMMAND_RIGHT: cap += step; break;
	case COMMAND_PAGE_UP: cap -= PAGE * step; break;
	case COMMAND_PAGE_DOWN: cap += PAGE * step; break;
	case COMMAND_FIRST: cap = curve->least; break;
	case COMMAND_LAST: cap = curve->most; break;
	case COMMAND_ACTIVATE: break;
	default: return false;
	}
	pane->cap = cap < curve->least - step ? curve->least - step : cap > curve->most ? curve->most : cap;
	bool follows = scenario_recompute(model->scenario) == RECOMPUTE_AUTO;
	if (command == COMMAND_ACTIVATE || follows)
		view_request(model, false, "set memory=%lld%s", (long long)pane->cap, follows ? "" : " recompute=auto");
	return true;
}
