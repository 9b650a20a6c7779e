/* step.c: the timeline, and below it what is alive at the cursor, largest first, and why. */
#include "details.h"

/* curve: the memory timeline in cells.
 *
 * Heights are counted in eighths of a cell. A cell in which two categories meet shows the lower one as a block
 * of some eighths on the ground of the upper one, so a column keeps its exact stack. Without colours a cell holds
 * the letter of the category that fills most of it. */

struct scale {
	int64_t low, high; /* bytes at the bottom and top of the plot */
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

/* The position under a column of the curve's rectangle in a window of that width, or NONE. */
static uint32_t curve_position(const struct model *model, int width, int x)
{
	uint32_t first, last;
	int labels = width >= LABELS_FROM ? LABELS : 0;
	if (x < labels || x >= width)
		return NONE;
	model_column(model, x - labels, width - labels, &first, &last);
	return plan_highest(model->plan, first, last);
}

/* Draws the curve of the model's zoom into the rectangle of the current window: labels at the left where it is wide
 * enough, the axis with peak, cursor and the selected storage's life in the last row. Each column shows the position
 * with the most live bytes among those it stands for: short peaks never vanish. floor_hidden: start the axis at the
 * persistent bytes. */
static void curve_draw(struct frame *frame, struct rect rect, const struct model *model, bool floor_hidden)
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

struct step_view {
	bool floor_hidden;
	uint32_t top;    /* first row shown of the list */
	uint32_t *alive; /* the storages alive at `position` of plan `serial`, largest first */
	uint32_t count, position;
	uint64_t serial;
	enum alive_reason *reason; /* [count], or NULL while they are not known */
	struct order_explainer *explainer; /* of plan `explained`, or NULL */
	uint64_t explained;
	int width, list; /* the window, and the list's first row, when it was drawn last */
	int list_x;
};

enum { LEGEND = 34, LEGEND_FROM = 86, AMOUNT = 8, KIND = 11, WHY = 15, WHY_FROM = 52, KIND_FROM = 36, NAME = 32 };
static const enum column wanted[] = { COLUMN_SHAPE, COLUMN_FIRST, COLUMN_LAST, COLUMN_MAKER, COLUMN_MODULE,
	COLUMN_SOURCE };

static void forget_list(struct step_view *view)
{
	mem_free(view->alive);
	mem_free(view->reason);
	view->alive = NULL;
	view->reason = NULL;
}

static void views_step_free(void *state)
{
	struct step_view *view = state;
	forget_list(view);
	order_explainer_free(view->explainer);
	view->explainer = NULL;
}

/* The list is kept until the cursor moves or the plan changes. */
static bool find_alive(struct step_view *view, const struct model *model)
{
	const struct plan *plan = model->plan;
	uint32_t position = model_position(model);
	if (view->alive && view->serial == plan->serial && view->position == position)
		return true;
	forget_list(view);
	view->alive = mem_alloc(plan->graph->storages, sizeof *view->alive);
	if (!view->alive)
		return false;
	view->count = 0;
	for (uint32_t i = 0; i < model->index->present; i++)
		if (model->index->by_bytes[i] < plan->graph->storages && alive_at(plan, model->index->by_bytes[i], position))
			view->alive[view->count++] = model->index->by_bytes[i];
	view->position = position;
	view->serial = plan->serial;
	return true;
}

/* The selected storage's row in the list, or 0. */
static uint32_t selected_row(const struct step_view *view, const struct model *model)
{
	for (uint32_t i = 0; i < view->count; i++)
		if (view->alive[i] == model->storage)
			return i;
	return 0;
}

/* "op 12 of 34  name  type  phase   live, distance from the peak" */
static void draw_cursor_line(struct frame *frame, int y, const struct model *model)
{
	const struct plan *plan = model->plan;
	const struct op *op = &plan->graph->op[model->op];
	uint32_t position = model_position(model);
	char live[32], change[32], number[32], all[32], text[100];
	int64_t below = plan->ordered->live[position] - plan_peak(plan);
	bytes_text(plan->ordered->live[position], live, sizeof live);
	if (below == 0)
		snprintf(text, sizeof text, "%s = peak", live);
	else
		snprintf(text, sizeof text, "%s = peak %s", live, change_text(below, change, sizeof change));
	int room = frame->window.width - text_cells(text) - 1;
	frame_right(frame, frame->window.width, y, below == 0 ? ROLE_PEAK : ROLE_TEXT, text);
	snprintf(text, sizeof text, "op %s of %s ", count_text(position, number), count_text(plan->graph->ops, all));
	int x = frame_text(frame, 0, y, room, ROLE_FAINT, text);
	x += frame_name(frame, x, y, room - x, ROLE_TITLE, op->name);
	snprintf(text, sizeof text, "  %s  %s", op->type, phase_names[op->phase]);
	if (x + text_cells(text) <= room)
		x += frame_text(frame, x, y, room - x, ROLE_FAINT, text);
	view_source(frame, x + 2, y, room - x - 2, op);
}

/* How low any order could be, and why not lower. */
static void step_draw_bound(struct frame *frame, struct rect rect, const struct plan *plan)
{
	char ground[300], text[400], bytes[32];
	snprintf(text, sizeof text, "no order is below %s: %s", bytes_text(plan_bound(plan), bytes, sizeof bytes),
		 plan_order_ground(plan, (size_t)rect.width, ground, sizeof ground));
	if (text_rows(text, rect.width) <= rect.height)
		frame_wrapped(frame, rect, plan_is_proved(plan) ? ROLE_GOOD : ROLE_WARN, text);
}

static void step_draw_legend(struct frame *frame, struct rect rect, const struct model *model)
{
	const int64_t *category = &model->index->category[(size_t)model_position(model) * CATEGORIES];
	int64_t live = model->plan->ordered->live[model_position(model)];
	int y = rect.y;
	for (int i = CATEGORIES - 1; i >= 0 && y < rect.y + rect.height; i--) {
		if (category[i] == 0)
			continue;
		char amount[32];
		uint32_t letter = (uint32_t)category_letters[i];
		frame_cell(frame, rect.x, y, frame->mono ? letter : ' ', role_of_category(i, 0),
			frame->mono ? ROLE_TEXT : role_of_category(i, 0));
		frame_text(frame, rect.x + 2, y, 11, ROLE_TEXT, category_names[i]);
		frame_right(frame, rect.x + 25, y, ROLE_TEXT, bytes_text(category[i], amount, sizeof amount));
		snprintf(amount, sizeof amount, "%3.0f %%", live ? 100.0 * (double)category[i] / (double)live : 0.0);
		frame_right(frame, rect.x + 32, y++, ROLE_FAINT, amount);
	}
	step_draw_bound(frame, (struct rect){ rect.x, y + 1, LEGEND - 2, rect.y + rect.height - y - 1 }, model->plan);
}

static void step_draw_row(struct frame *frame, struct rect rect, int y, const struct model *model, uint32_t storage,
	enum alive_reason reason, const struct details *details)
{
	const struct plan *plan = model->plan;
	char text[32];
	int x = rect.x + AMOUNT + 1, right = rect.x + rect.width;
	frame_right(frame, rect.x + AMOUNT, y, ROLE_TEXT, bytes_text(plan->laid_out->bytes[storage], text, sizeof text));
	if (rect.width >= KIND_FROM) {
		frame_text(frame, x, y, KIND - 1, item_role(plan, storage), kind_names[plan->graph->storage[storage].kind]);
		x += KIND;
	}
	if (rect.width >= WHY_FROM)
		frame_text(frame, right -= WHY, y, WHY, reason == ALIVE_CHOICE ? ROLE_WARN : ROLE_FAINT, alive_reason_text[reason]);
	if (details->count)
		right = details->from + 1;
	frame_name(frame, x, y, right - x - 1, ROLE_TEXT, storage_name(plan, storage));
	details_of_tensor(frame, y, details, plan, plan->graph->storage[storage].root);
	if (storage == model->storage)
		frame_mark(frame, (struct rect){ rect.x, y, rect.width, 1 }, MARK_REVERSE);
}

/* Why each of them is alive: kept like the list, because finding it goes through the graph. */
static bool find_reasons(struct step_view *view, const struct model *model)
{
	if (view->reason)
		return true;
	view->reason = mem_alloc(view->count, sizeof *view->reason);
	if (view->explained != view->serial) {
		order_explainer_free(view->explainer);
		view->explainer = NULL;
		view->explained = view->serial;
	}
	if (view->reason)
		plan_reasons(
			model->plan, view->position, view->alive, view->count, &view->explainer, view->reason);
	return view->reason;
}

static void step_draw_list(
	struct frame *frame, struct rect rect, struct step_view *view, const struct model *model)
{
	char count[32];
	int x = frame_print(
		frame, rect.x, rect.y, ROLE_LABEL, "alive here: %s, largest first", count_text(view->count, count));
	if (rect.width >= WHY_FROM && x < rect.width - WHY)
		frame_text(frame, rect.x + rect.width - WHY, rect.y, WHY, ROLE_LABEL, "why");
	struct details details;
	details_arrange(wanted, sizeof wanted / sizeof *wanted, model->index, rect.x + AMOUNT + 1 + KIND + NAME,
		rect.x + rect.width - WHY - 1, &details);
	details_titles(frame, rect.y, &details, false);
	int rows = rect.height - 1;
	view->top = scroll_to(view->top, selected_row(view, model), view->count, rows);
	if (view->count - view->top < (uint32_t)(rows > 0 ? rows : 0))
		rows = (int)(view->count - view->top);
	if (rows <= 0 || !find_reasons(view, model))
		return;
	for (int i = 0; i < rows; i++)
		step_draw_row(frame, rect, rect.y + 1 + i, model, view->alive[view->top + (uint32_t)i],
			view->reason[view->top + (uint32_t)i], &details);
}

/* A note at the curve's upper right: what a column stands for, and what is cut off. False where there is nothing to
 * note. */
static bool draw_note(struct frame *frame, int y, const struct step_view *view, const struct model *model, int width)
{
	uint32_t first, last;
	char text[100] = "", amount[32];
	model_column(model, 0, width, &first, &last);
	if (last > first)
		snprintf(text, sizeof text, "column = max of %u ops", last - first + 1);
	if (view->floor_hidden) {
		size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, "%sabove persistent %s", used ? ", " : "",
			 bytes_text(model->plan->ordered->problem.base, amount, sizeof amount));
	}
	if (text_cells(text) < width)
		frame_right(frame, width, y, ROLE_FAINT, text);
	return *text;
}

/* What a graph that is made to teach is about, above the curve. Returns the rows that it takes. */
static int draw_lesson(struct frame *frame, const char *teaches, int width, int height)
{
	char text[400];
	if (!teaches)
		return 0;
	snprintf(text, sizeof text, "lesson: %s", teaches);
	int rows = text_rows(text, width);
	if (rows > height / 6)
		return 0;
	frame_wrapped(frame, (struct rect){ 0, 0, width, rows }, ROLE_TITLE, text);
	return rows;
}

static void step_draw(void *state, struct model *model, struct frame *frame)
{
	struct step_view *view = state;
	int width = frame->window.width, height = frame->window.height;
	if (model->plan->graph->ops == 0) {
		frame_text(frame, 0, 0, width, ROLE_FAINT, "this graph has no ops");
		return;
	}
	if (!find_alive(view, model)) {
		frame_text(frame, 0, 0, frame->window.width, ROLE_BAD, status_text(NO_MEMORY));
		return;
	}
	int plot = height < 12 ? height / 2 : height * 5 / 10,
		lesson = draw_lesson(frame, model->plan->input->about.teaches, width, height);
	bool noted = draw_note(frame, lesson, view, model, width);
	int top = lesson + (noted || lesson == 0);
	curve_draw(frame, (struct rect){ 0, top, width, plot + 1 - top }, model, view->floor_hidden);
	draw_cursor_line(frame, plot + 1, model);
	struct rect below = { 0, plot + 2, width, height - plot - 2 };
	if (width >= LEGEND_FROM) {
		step_draw_legend(frame, (struct rect){ 0, below.y + 1, LEGEND, below.height - 1 }, model);
		frame_text(frame, 0, below.y, LEGEND, ROLE_LABEL, "live here by category");
		below.x = LEGEND;
		below.width -= LEGEND;
	}
	view->width = width;
	view->list = below.y + 1;
	view->list_x = below.x;
	step_draw_list(frame, below, view, model);
}

/* A click on the curve moves the cursor, one on a row selects its tensor. */
static void step_click(struct step_view *view, struct model *model)
{
	uint32_t position = curve_position(model, view->width, model->click_x);
	uint32_t row = view->top + (uint32_t)(model->click_y - view->list);
	if (model->click_y < view->list - 2 && position != NONE)
		model_go(model, position);
	else if (model->click_y >= view->list && model->click_x >= view->list_x && find_alive(view, model) &&
		row < view->count)
		model->storage = view->alive[row];
}

static bool step_command(void *state, struct model *model, enum command_id command)
{
	struct step_view *view = state;
	uint32_t row;
	if (model->plan->graph->ops == 0)
		return false;
	switch (command) {
	case COMMAND_CLICK: step_click(view, model); return true;
	case COMMAND_BACKGROUND:
		view->floor_hidden = !view->floor_hidden;
		return true;
	case COMMAND_UP:
	case COMMAND_DOWN:
		if (!find_alive(view, model) || view->count == 0)
			return true;
		row = selected_row(view, model);
		if (view->alive[row] == model->storage)
			row_command(command, &row, view->count, 1);
		model->storage = view->alive[row];
		return true;
	case COMMAND_ACTIVATE:
		if (find_alive(view, model) && view->count > 0) {
			model->storage = view->alive[selected_row(view, model)];
			view_request(model, false, "view tensors");
		}
		return true;
	default:
		return view_command(model, command);
	}
}

const struct view_ops view_step = {
	"Step", IN_STEP, sizeof(struct step_view), step_draw, step_command, views_step_free, NULL
};
