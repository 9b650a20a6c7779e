/* curve.c: the memory timeline in cells.
 *
 * Heights are counted in eighths of a cell. A cell in which two categories meet shows the lower one as a block
 * of some eighths on the ground of the upper one, so a column keeps its exact stack. Without colours a cell holds
 * the letter of the category that fills most of it. */
#include "curve.h"

struct scale {
	int64_t low, high;     /* bytes at the bottom and top of the plot */
	struct rect plot;
};

/* Room for "1023 MiB " */
enum { LABELS = 9, LABELS_FROM = 44, EIGHTHS = 8 };

static int64_t eighths(const struct scale *scale, int64_t bytes)
{
	double share = (double)(bytes - scale->low) / (double)(scale->high - scale->low);
	double height = share * scale->plot.height * EIGHTHS;
	return height <= 0 ? 0 : (int64_t)(height + 0.5);
}

/* The row of the plot in which a height stands, from the top; outside where it isn't shown. */
static int views_curve_row_of(const struct scale *scale, int64_t bytes)
{
	int64_t height = eighths(scale, bytes);
	if (bytes < scale->low)
		return -1;
	return scale->plot.height - 1 - (int)((height > 0 ? height - 1 : 0) / EIGHTHS);
}

/* Tops of the stacked categories at a position, in eighths. */
static void views_curve_stack(
	const struct scale *scale, const struct plan_index *index, uint32_t position, int64_t top[CATEGORIES])
{
	int64_t sum = 0;
	for (int i = 0; i < CATEGORIES; i++) {
		sum += index->category[(size_t)position * CATEGORIES + i];
		top[i] = eighths(scale, sum);
	}
}

/* The category that fills most of the eighths [from, to), or -1 where most is empty. */
static int filler(const int64_t top[CATEGORIES], int64_t from, int64_t to)
{
	int64_t most = to - (top[CATEGORIES - 1] > from ? top[CATEGORIES - 1] : from), below = from;
	int best = -1;
	for (int i = 0; i < CATEGORIES; i++) {
		int64_t end = top[i] < to ? top[i] : to;
		if (end - below > 0 && end - below >= most) {
			most = end - below;
			best = i;
		}
		below = end > below ? end : below;
	}
	return best;
}

static void views_curve_draw_letter(struct frame *frame, int x, int y, const int64_t top[CATEGORIES], int64_t from)
{
	int category = filler(top, from, from + EIGHTHS);
	if (category >= 0)
		frame_cell(frame, x, y, (uint32_t)category_letters[category], role_of_category(category, 0), ROLE_TEXT);
}

static void draw_stack_cell(struct frame *frame, int x, int y, const int64_t top[CATEGORIES], int64_t from)
{
	int lowest = 0;
	while (lowest < CATEGORIES && top[lowest] <= from)
		lowest++;
	if (lowest == CATEGORIES)
		return;
	int64_t border = top[lowest] - from;
	if (border >= EIGHTHS) {
		frame_cell(frame, x, y, ' ', ROLE_TEXT, role_of_category(lowest, 0));
		return;
	}
	int above = filler(top, from + border, from + EIGHTHS);
	if (frame->ascii) {
		int category = filler(top, from, from + EIGHTHS);
		if (category >= 0)
			frame_cell(frame, x, y, ' ', ROLE_TEXT, role_of_category(category, 0));
		return;
	}
	frame_cell(frame, x, y, 0x2580 + (uint32_t)border, role_of_category(lowest, 0),
		   above < 0 ? ROLE_TEXT : role_of_category(above, 0));
}

static void draw_columns(struct frame *frame, const struct scale *scale, const struct model *model)
{
	for (int x = 0; x < scale->plot.width; x++) {
		uint32_t first, last;
		int64_t top[CATEGORIES];
		model_column(model, x, scale->plot.width, &first, &last);
		views_curve_stack(scale, model->index, plan_highest(model->plan, first, last), top);
		for (int y = 0; y < scale->plot.height; y++) {
			int64_t from = (int64_t)(scale->plot.height - 1 - y) * EIGHTHS;
			if (frame->mono)
				views_curve_draw_letter(frame, scale->plot.x + x, scale->plot.y + y, top, from);
			else
				draw_stack_cell(frame, scale->plot.x + x, scale->plot.y + y, top, from);
		}
	}
}

/* The baseline's positions that stand where [*first, *last] do: of another file's step the same phase's, else by their
 * share of the step. */
static void baseline_positions(const struct model *model, uint32_t *first, uint32_t *last)
{
	uint64_t ops = model->plan->graph->ops, theirs = model->baseline->graph->ops;
	uint32_t from = *first, to = *last;
	*first = model->beside ? beside_position(model->beside, 1, from) : (uint32_t)(from * theirs / ops);
	*last = !model->beside ? (uint32_t)(to * theirs / ops)
		: to + 1 < ops ? beside_position(model->beside, 1, to + 1)
		: beside_position(model->beside, 1, to);
}

/* The baseline's curve as dots. */
static void draw_baseline(struct frame *frame, const struct scale *scale, const struct model *model)
{
	const struct plan *baseline = model->baseline;
	if (baseline->graph->ops == 0 || baseline->fingerprint == model->plan->fingerprint)
		return;
	for (int x = 0; x < scale->plot.width; x++) {
		uint32_t first, last;
		model_column(model, x, scale->plot.width, &first, &last);
		baseline_positions(model, &first, &last);
		uint32_t position = plan_highest(baseline, first, last);
		int y = views_curve_row_of(scale, baseline->ordered->live[position]);
		if (y >= 0 && y < scale->plot.height)
			frame_overlay(frame, scale->plot.x + x, scale->plot.y + y, GLYPH_DOT, ROLE_BASELINE);
	}
}

/* A horizontal line with its amount at the left; an earlier label keeps its row. */
static void views_curve_draw_level(struct frame *frame, const struct scale *scale, int64_t bytes, enum glyph glyph,
	enum role role, const char *word, bool *labelled)
{
	int y = views_curve_row_of(scale, bytes);
	if (y < 0 || y >= scale->plot.height)
		return;
	if (glyph != GLYPH_COUNT)
		for (int x = 0; x < scale->plot.width; x += 1 + (glyph == GLYPH_DASH))
			frame_overlay(frame, scale->plot.x + x, scale->plot.y + y, glyph, role);
	if (labelled[y] || scale->plot.x == 0)
		return;
	char text[32];
	frame_right(frame, scale->plot.x - 1, scale->plot.y + y, role, bytes_text(bytes, text, sizeof text));
	if (glyph != GLYPH_COUNT)
		frame_text(frame, scale->plot.x + 1, scale->plot.y + y, scale->plot.width - 1, role, word);
	labelled[y] = true;
}

static void views_curve_draw_axis(struct frame *frame, const struct scale *scale, const struct model *model)
{
	const struct plan *plan = model->plan;
	int y = scale->plot.y + scale->plot.height, width = scale->plot.width;
	frame_repeat(frame, scale->plot.x, y, width, GLYPH_HORIZONTAL, ROLE_LINE);
	if (model->storage < plan->graph->storages && plan->laid_out->first[model->storage] != NONE) {
		int from = model_column_of(model, plan->laid_out->first[model->storage], width);
		int to = model_column_of(model, plan->laid_out->last[model->storage], width);
		for (int x = from < 0 ? 0 : from; x <= to && x < width; x++)
			frame_glyph(frame, scale->plot.x + x, y, GLYPH_HEAVY, item_role(plan, model->storage));
	}
	int peak = model_column_of(model, plan->ordered->peak_position, width),
		cursor = model_column_of(model, model_position(model), width);
	if (peak >= 0 && peak < width)
		frame_glyph(frame, scale->plot.x + peak, y, GLYPH_PEAK, ROLE_PEAK);
	if (cursor < 0 || cursor >= width)
		return;
	for (int row = scale->plot.y; row < y && !frame->mono; row++)
		frame_line(frame, scale->plot.x + cursor, row, ROLE_CURSOR);
	int marked = frame->mono ? scale->plot.y : y;
	frame_mark(frame, (struct rect){ scale->plot.x + cursor, marked, 1, y + 1 - marked }, MARK_REVERSE);
}

static struct scale views_curve_scale_of(
	const struct frame *frame, struct rect rect, const struct model *model, bool floor_hidden)
{
	const struct plan *plan = model->plan;
	struct scale scale = { 0 };
	int labels = frame->window.width >= LABELS_FROM ? LABELS : 0;
	scale.plot = (struct rect){ rect.x + labels, rect.y, rect.width - labels, rect.height - 1 };
	scale.low = floor_hidden ? plan->ordered->problem.base : 0;
	scale.high = plan_peak(plan);
	int64_t budget = plan_budget(plan);
	if (model->baseline && plan_peak(model->baseline) > scale.high)
		scale.high = plan_peak(model->baseline);
	/* A budget that is far away would flatten the curve. */
	if (budget > scale.high && budget - scale.low <= 2 * (scale.high - scale.low))
		scale.high = budget;
	if (scale.high <= scale.low)
		scale.high = scale.low + 1;
	return scale;
}

uint32_t curve_position(const struct model *model, int width, int x)
{
	uint32_t first, last;
	int labels = width >= LABELS_FROM ? LABELS : 0;
	if (x < labels || x >= width)
		return NONE;
	model_column(model, x - labels, width - labels, &first, &last);
	return plan_highest(model->plan, first, last);
}

void curve_draw(struct frame *frame, struct rect rect, const struct model *model, bool floor_hidden)
{
	const struct plan *plan = model->plan;
	struct scale scale = views_curve_scale_of(frame, rect, model, floor_hidden);
	if (scale.plot.width < 1 || scale.plot.height < 1 || plan->graph->ops == 0)
		return;
	bool labelled[1024] = { false };
	if (scale.plot.height > (int)(sizeof labelled / sizeof *labelled))
		return;
	draw_columns(frame, &scale, model);
	if (model->baseline)
		draw_baseline(frame, &scale, model);
	int64_t budget = plan_budget(plan);
	if (budget >= 0)
		views_curve_draw_level(frame, &scale, budget, GLYPH_HEAVY, ROLE_BUDGET, " budget ", labelled);
	views_curve_draw_level(frame, &scale, plan_peak(plan), GLYPH_COUNT, ROLE_PEAK, "", labelled);
	if (plan_bound(plan) > 0 && plan_bound(plan) < plan_peak(plan))
		views_curve_draw_level(frame, &scale, plan_bound(plan), GLYPH_DASH, ROLE_BOUND, " bound ", labelled);
	views_curve_draw_level(frame, &scale, scale.low, GLYPH_COUNT, ROLE_FAINT, "", labelled);
	if (!floor_hidden)
		views_curve_draw_level(frame, &scale, plan->ordered->problem.base, GLYPH_COUNT, ROLE_FAINT, "", labelled);
	views_curve_draw_axis(frame, &scale, model);
}
