/* step.c: what the step needs of the device, part by part; the timeline; what is alive at the cursor, in groups, and
 * why; what to do next. */
#include "details.h"

/* curve: the memory timeline in cells.
 *
 * Heights are counted in eighths of a cell. A cell in which two bands meet shows the lower one as a block of some
 * eighths on the ground of the upper one. Without colours a cell holds the letter of what fills most of it. */

struct scale {
	int64_t low, high; /* bytes at the bottom and top of the plot */
	int64_t beside;    /* of the device, that no tensor of the curve takes: its lowest band */
	struct rect plot;
};

/* Bands from below: what is beside, then the categories. */
enum { BANDS = CATEGORIES + 1 };
static enum role curve_role(int band)
{
	return band == 0 ? role_of_category(CATEGORY_WORKSPACE, 1) : role_of_category(band - 1, 0);
}
static uint32_t curve_letter(int band)
{
	return band == 0 ? 'x' : (uint32_t)category_letters[band - 1];
}

/* Room for "1023 MiB " */
enum { LABELS = 9, LABELS_FROM = 44, EIGHTHS = 8 };

static int64_t eighths(const struct scale *scale, int64_t bytes)
{
	double share = (double)(bytes - scale->low) / (double)(scale->high - scale->low);
	double height = share * scale->plot.height * EIGHTHS;
	return height <= 0 ? 0 : (int64_t)(height + 0.5);
}

/* The row of the plot in which a height stands, from the top; outside where it isn't shown. */
static int curve_row_of(const struct scale *scale, int64_t bytes)
{
	int64_t height = eighths(scale, bytes);
	if (bytes < scale->low)
		return -1;
	return scale->plot.height - 1 - (int)((height > 0 ? height - 1 : 0) / EIGHTHS);
}

/* Tops of the stacked categories at a position, in eighths. */
static void curve_stack(
	const struct scale *scale, const struct plan_index *index, uint32_t position, int64_t top[BANDS])
{
	int64_t sum = scale->beside;
	FOR_INT(i, BANDS) {
		sum += i ? index->category[(size_t)position * CATEGORIES + i - 1] : 0;
		top[i] = eighths(scale, sum);
	}
}

/* The category that fills most of the eighths [from, to), or -1 where most is empty. */
static int filler(const int64_t top[BANDS], int64_t from, int64_t to)
{
	int64_t most = to - LARGER(top[BANDS - 1], from), below = from;
	int best = -1;
	FOR_INT(i, BANDS) {
		int64_t end = SMALLER(top[i], to);
		if (end - below > 0 && end - below >= most) {
			most = end - below;
			best = i;
		}
		below = LARGER(end, below);
	}
	return best;
}

static void curve_draw_letter(struct frame *frame, int x, int y, const int64_t top[BANDS], int64_t from)
{
	int category = filler(top, from, from + EIGHTHS);
	if (category >= 0)
		frame_cell(frame, x, y, curve_letter(category), curve_role(category), ROLE_TEXT);
}

static void draw_stack_cell(struct frame *frame, int x, int y, const int64_t top[BANDS], int64_t from)
{
	int lowest = 0;
	while (lowest < BANDS && top[lowest] <= from)
		lowest++;
	if (lowest == BANDS)
		return;
	int64_t border = top[lowest] - from;
	if (border >= EIGHTHS) {
		frame_cell(frame, x, y, ' ', ROLE_TEXT, curve_role(lowest));
		return;
	}
	int above = filler(top, from + border, from + EIGHTHS);
	if (frame->ascii) {
		int category = filler(top, from, from + EIGHTHS);
		if (category >= 0)
			frame_cell(frame, x, y, ' ', ROLE_TEXT, curve_role(category));
		return;
	}
	frame_cell(frame, x, y, 0x2580 + (uint32_t)border, curve_role(lowest),
		   above < 0 ? ROLE_TEXT : curve_role(above));
}

static void draw_columns(struct frame *frame, const struct scale *scale, const struct model *model)
{
	FOR_INT(x, scale->plot.width) {
		uint32_t first, last;
		int64_t top[BANDS];
		model_column(model, x, scale->plot.width, &first, &last);
		curve_stack(scale, model->index, plan_highest(model->plan, first, last), top);
		FOR_INT(y, scale->plot.height) {
			int64_t from = (int64_t)(scale->plot.height - 1 - y) * EIGHTHS;
			if (frame->mono)
				curve_draw_letter(frame, scale->plot.x + x, scale->plot.y + y, top, from);
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
	int64_t beside = plan_verdict(baseline).needed - plan_peak(baseline);
	if (baseline->graph->ops == 0 || baseline->fingerprint == model->plan->fingerprint)
		return;
	FOR_INT(x, scale->plot.width) {
		uint32_t first, last;
		model_column(model, x, scale->plot.width, &first, &last);
		baseline_positions(model, &first, &last);
		uint32_t position = plan_highest(baseline, first, last);
		int y = curve_row_of(scale, baseline->ordered->live[position] + beside);
		if (y >= 0 && y < scale->plot.height)
			frame_overlay(frame, scale->plot.x + x, scale->plot.y + y, GLYPH_DOT, ROLE_BASELINE);
	}
}

/* A horizontal line with its amount at the left; an earlier label keeps its row. */
static void curve_draw_level(struct frame *frame, const struct scale *scale, int64_t bytes, enum glyph glyph,
	enum role role, const char *word, bool *labelled)
{
	int y = curve_row_of(scale, bytes);
	if (y < 0 || y >= scale->plot.height)
		return;
	if (glyph != GLYPH_COUNT)
		for (int x = 0; x < scale->plot.width; x += 1 + (glyph == GLYPH_DASH))
			frame_overlay(frame, scale->plot.x + x, scale->plot.y + y, glyph, role);
	if (labelled[y] || scale->plot.x == 0)
		return;
	frame_bytes(frame, scale->plot.x - 1, scale->plot.y + y, role, bytes);
	if (glyph != GLYPH_COUNT)
		frame_text(frame, scale->plot.x + 1, scale->plot.y + y, scale->plot.width - 1, role, word);
	labelled[y] = true;
}

static void curve_draw_axis(struct frame *frame, const struct scale *scale, const struct model *model)
{
	const struct plan *plan = model->plan;
	int y = scale->plot.y + scale->plot.height, width = scale->plot.width;
	frame_repeat(frame, scale->plot.x, y, width, GLYPH_HORIZONTAL, ROLE_LINE);
	if (model->storage < plan->graph->storages && plan->laid_out->first[model->storage] != NONE) {
		int from = model_column_of(model, plan->laid_out->first[model->storage], width);
		int to = model_column_of(model, plan->laid_out->last[model->storage], width);
		for (int x = LARGER(0, from); x <= to && x < width; x++)
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
	int marked = frame->mono ? scale->plot.y : y, anchor = model->span ? model_column_of(model, model->span - 1, width)
		: cursor;
	for (int x = LARGER(0, anchor); x != cursor && x < width; x += x < cursor ? 1 : -1)
		frame_mark(frame, (struct rect){ scale->plot.x + x, y, 1, 1 }, MARK_REVERSE);
	frame_mark(frame, (struct rect){ scale->plot.x + cursor, marked, 1, y + 1 - marked }, MARK_REVERSE);
}

static struct scale curve_scale_of(
	const struct frame *frame, struct rect rect, const struct model *model, bool floor_hidden)
{
	const struct plan *plan = model->plan;
	struct scale scale = { 0 };
	int labels = frame->window.width >= LABELS_FROM ? LABELS : 0;
	scale.plot = (struct rect){ rect.x + labels, rect.y, rect.width - labels, rect.height - 1 };
	struct verdict verdict = plan_verdict(plan);
	scale.beside = verdict.needed - plan_peak(plan);
	scale.low = floor_hidden ? scale.beside + plan->ordered->problem.base : 0;
	scale.high = verdict.needed;
	int64_t other = model->baseline ? plan_verdict(model->baseline).needed : 0;
	scale.high = LARGER(other, scale.high);
	/* A limit that is far away would flatten the curve. */
	if (verdict.cap > scale.high && verdict.cap - scale.low <= 2 * (scale.high - scale.low))
		scale.high = verdict.cap;
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
	struct scale scale = curve_scale_of(frame, rect, model, floor_hidden);
	if (scale.plot.width < 1 || scale.plot.height < 1 || plan->graph->ops == 0)
		return;
	bool labelled[1024] = { false };
	if (scale.plot.height > (int)COUNT_OF(labelled))
		return;
	draw_columns(frame, &scale, model);
	if (model->baseline)
		draw_baseline(frame, &scale, model);
	struct verdict verdict = plan_verdict(plan);
	if (verdict.cap >= 0)
		curve_draw_level(frame, &scale, verdict.cap, GLYPH_HEAVY, ROLE_BUDGET, "", labelled);
	curve_draw_level(frame, &scale, verdict.needed, GLYPH_COUNT, ROLE_PEAK, "", labelled);
	if (plan_bound(plan) > 0 && plan_bound(plan) < plan_peak(plan))
		curve_draw_level(
			frame, &scale, plan_bound(plan) + scale.beside, GLYPH_DASH, ROLE_BOUND, " least ", labelled);
	curve_draw_level(frame, &scale, scale.low, GLYPH_COUNT, ROLE_FAINT, "", labelled);
	curve_draw_axis(frame, &scale, model);
}

struct step_view {
	bool floor_hidden, answered; /* answered: of a lesson */
	uint32_t top, selected;     /* of the groups */
	struct holders holders;     /* at the cursor, or in the span */
	int width, list; /* the window, and the list's first row, when it was drawn last */
};

enum { AMOUNT = 10, MANY = 17, KIND = 12, WHY = 16, WHY_FROM = 64, SMALL = 12, GROUPS_MOST = 24 };

static void step_clear(void *state)
{
	struct step_view *view = state;
	holders_free(&view->holders);
}

/* Kept until the cursor moves or the plan changes. */
static bool step_find(struct step_view *view, const struct model *model)
{
	uint32_t to, from = view_span(model, &to);
	uint64_t serial = view->holders.serial;
	uint32_t first = view->holders.from, last = view->holders.to;
	if (!holders_find(&view->holders, model->plan, from, to, true))
		return false;
	if (serial != model->plan->serial || first != from || last != to)
		view->selected = view->top = 0;
	return true;
}

/* ---- what it needs ---- */

/* Of each part a colour of the curve. */
static int step_band(enum ledger_part part)
{
	static const int kinds[] = { [PART_PARAMETERS] = KIND_PARAMETER, [PART_GRADIENTS] = KIND_GRADIENT,
		[PART_OPTIMIZER] = KIND_OPTIMIZER, [PART_ACTIVATIONS] = KIND_ACTIVATION, [PART_OTHER] = KIND_TEMPORARY };
	return part <= PART_OTHER ? kinds[part] + 1 : 0;
}

static void step_draw_bar(struct frame *frame, int y, const struct verdict *verdict)
{
	int width = frame->window.width - 1, x = 0;
	int64_t scale = LARGER(verdict->needed, verdict->cap), sum = 0;
	for (int part = 0; part < LEDGER_PARTS && scale > 0; part++) {
		sum += verdict->part[part];
		int end = (int)((double)sum / (double)scale * width + 0.5), band = step_band((enum ledger_part)part);
		end = end == x && verdict->part[part] > scale / 200 && x < width ? x + 1 : end;
		for (; x < end && x < width; x++)
			frame_cell(frame, x, y, frame->mono ? curve_letter(band) : ' ', curve_role(band),
				frame->mono ? ROLE_TEXT : curve_role(band));
	}
	for (; x < width; x++)
		frame_glyph(frame, x, y, GLYPH_DOT, ROLE_FAINT);
	if (verdict->cap >= 0 && scale > 0)
		frame_glyph(frame, (int)((double)verdict->cap / (double)scale * (width - 1)), y, GLYPH_VERTICAL, ROLE_BUDGET);
}

/* Parts that are not nothing, with their amounts below, and what they come to. */
static void step_draw_parts(struct frame *frame, int y, const struct verdict *verdict)
{
	static const char *const brief[] = { "params", "grads", "optim", "activ", "other", "holes", "gather",
		"NCCL", "context" };
	int x = 0, width = frame->window.width - 1, wanted = 20;
	int64_t hundredths[LEDGER_PARTS + 1];
	char text[32];
	const char *unit = ledger_cents(LARGER(verdict->needed, verdict->cap), verdict, hundredths);
	FOR_INT(part, LEDGER_PARTS)
		wanted += hundredths[part] ? text_cells(ledger_names[part]) + 2 : 0;
	for (int part = 0; part <= LEDGER_PARTS; part++) {
		bool sum = part == LEDGER_PARTS;
		const char *name = sum ? "= needs" : wanted > width ? brief[part] : ledger_names[part];
		if (!sum && hundredths[part] == 0)
			continue;
		PRINT_TO(text, "%.2f", (double)hundredths[part] / 100);
		x += LARGER(text_cells(name), text_cells(text));
		if (x > width)
			return;
		frame_right(frame, x, y, ROLE_LABEL, name);
		frame_right(frame, x, y + 1, sum ? ROLE_TITLE : ROLE_TEXT, text);
		x += 2;
	}
	frame_text(frame, x - 1, y + 1, width - x, ROLE_FAINT, unit);
}

static void step_draw_pytorch(struct frame *frame, int y, const struct verdict *verdict)
{
	char text[160];
	const int64_t *by = verdict->by;
	if (by[ALLOCATOR_PYTORCH] < 0 && by[ALLOCATOR_EXPANDABLE] < 0)
		PRINT_TO(text, "in PyTorch  not played");
	else
		PRINT_TO(text, "in PyTorch  %s reserved · %s with expandable segments%s",
			by[ALLOCATOR_PYTORCH] < 0 ? "?" : BYTES(by[ALLOCATOR_PYTORCH]),
			by[ALLOCATOR_EXPANDABLE] < 0 ? "?" : BYTES(by[ALLOCATOR_EXPANDABLE]),
			verdict->cap < 0 ? "" : by[ALLOCATOR_PYTORCH] >= 0 && by[ALLOCATOR_PYTORCH] <= verdict->cap ? ": fits"
			: by[ALLOCATOR_EXPANDABLE] >= 0 && by[ALLOCATOR_EXPANDABLE] <= verdict->cap ? ": these alone fit"
			: ": neither fits");
	frame_words(frame, 0, y, frame->window.width, ROLE_FAINT, text);
}

/* ---- the op at the cursor, and what is proved ---- */

/* "op 12 of 34  name  type  phase   live, distance from the most" */
static void draw_cursor_line(struct frame *frame, int y, const struct model *model)
{
	const struct plan *plan = model->plan;
	const struct op *op = &plan->graph->op[model->op];
	uint32_t position = model_position(model);
	char text[100];
	int64_t below = plan->ordered->live[position] - plan_peak(plan);
	const char *live = BYTES(plan->ordered->live[position]);
	if (below == 0)
		PRINT_TO(text, "%s alive = most", live);
	else
		PRINT_TO(text, "%s alive = most %s", live, CHANGE(below));
	int room = frame->window.width - text_cells(text) - 1;
	frame_right(frame, frame->window.width, y, below == 0 ? ROLE_PEAK : ROLE_TEXT, text);
	PRINT_TO(text, "op %s of %s ", COUNT(position), COUNT(plan->graph->ops));
	int x = frame_text(frame, 0, y, room, ROLE_FAINT, text);
	x += frame_name(frame, x, y, room - x, ROLE_TITLE, op->name);
	PRINT_TO(text, "  %s  %s", op->type, phase_names[op->phase]);
	if (x + text_cells(text) <= room)
		x += frame_text(frame, x, y, room - x, ROLE_FAINT, text);
	view_source(frame, x + 2, y, room - x - 2, op);
}

/* How low any order could be, and why not lower. */
static void step_draw_bound(struct frame *frame, int y, const struct plan *plan)
{
	char ground[300], text[400];
	bool proved = plan_is_proved(plan);
	plan_order_ground(plan, (size_t)frame->window.width / 3, ground, sizeof ground);
	if (proved || plan_bound(plan) > 0)
		PRINT_TO(text, "%s%s%s: %s", proved ? "least possible" : "at most ",
			proved ? "" : gap_text(plan_peak(plan), plan_bound(plan), TEXT(32)),
			proved ? "" : " above the least possible", ground);
	else
		PRINT_TO(text, "not proved: no bound was found");
	frame_words(frame, 0, y, frame->window.width, proved ? ROLE_GOOD : ROLE_WARN, text);
}

/* ---- drawing ---- */

static void step_draw_group(
	struct frame *frame, int y, const struct model *model, const struct holder *group, bool selected)
{
	const struct plan *plan = model->plan;
	const struct op *maker = holder_maker(plan, group->first);
	int width = frame->window.width, x = AMOUNT + 2, right = width;
	bool span = model->span;
	char text[64], module[200], name[300], type[40];
	frame_bytes(frame, AMOUNT, y, ROLE_TEXT, group->bytes);
	if (group->reason == ALIVE_PERSISTENT)
		PRINT_TO(text, "%s tensor%s", COUNT(group->count), group->count == 1 ? "" : "s");
	else
		PRINT_TO(text, "%4u x %s", group->count, BYTES(group->bytes / group->count));
	frame_text(frame, x, y, MANY - 1, ROLE_TEXT, text);
	x += MANY;
	if (!span)
		frame_text(frame, x, y, KIND - 1, item_role(plan, group->first), kind_names[plan->graph->storage[group->first].kind]);
	x += span ? 0 : KIND;
	for (int change = CHANGES; change-- > 1 && span && width >= WHY_FROM; right -= AMOUNT)
		frame_right(frame, right, y, ROLE_TEXT, group->of[change]
			? BYTES(group->of[change]) : "-");
	if (width >= WHY_FROM && !span)
		frame_text(frame, right -= WHY, y, WHY, group->reason == ALIVE_CHOICE ? ROLE_WARN : ROLE_FAINT,
			alive_reason_text[group->reason]);
	if (group->count == 1 || !maker)
		PRINT_TO(name, "%s%s", storage_name(plan, group->first), group->count > 1 ? " ..." : "");
	else
		PRINT_TO(name, "%s  %s", holder_operator(maker->type, type),
			holder_pattern(maker->module, module, sizeof module));
	if (right - x > 4)
		frame_name(frame, x, y, right - x - 1, span ? item_role(plan, group->first) : ROLE_TEXT, name);
	if (selected)
		frame_select(frame, y);
}

static void step_draw_groups(struct frame *frame, int y, int rows, struct step_view *view, const struct model *model)
{
	int width = frame->window.width;
	view->list = y + 1;
	frame_text(frame, 0, y, 20, ROLE_LABEL, "what holds it");
	frame_print(frame, model->span ? 14 : 31, y, ROLE_LABEL, "%s groups of %s tensors", COUNT(view->holders.groups),
		COUNT(view->holders.tensors));
	for (int change = 1; change < CHANGES && model->span && width >= WHY_FROM; change++)
		frame_right(frame, width - (CHANGES - 1 - change) * AMOUNT, y, ROLE_LABEL, change_names[change]);
	if (width >= WHY_FROM && !model->span)
		frame_text(frame, width - WHY, y, WHY, ROLE_LABEL, "why");
	view->top = scroll_to(view->top, view->selected, view->holders.groups, rows);
	for (int i = 0; i < rows && view->top + (uint32_t)i < view->holders.groups; i++)
		step_draw_group(frame, y + 1 + i, model, &view->holders.group[view->top + (uint32_t)i],
			view->top + (uint32_t)i == view->selected && model->storage != NONE);
}

/* The first of the list that fits in the words' group; false where there is none. */
static bool step_way(const struct fit_list *list, bool same, char *text, size_t size)
{
	FOR(i, list->ways)
		if (list->way[i].fits && (list->way[i].meaning != FIT_MEANING_RUN) == same) {
			bool program = strncmp(list->way[i].set, FIT_PROGRAM, strlen(FIT_PROGRAM)) == 0;
			snprintf(text, size, "%s, %+.1f %%", list->way[i].set + (program ? strlen(FIT_PROGRAM) : 0),
				list->base.step > 0 ? 100 * (double)list->way[i].extra / (double)list->base.step : 0.0);
			return true;
		}
	return false;
}

/* What to do now: the cheapest changes that fit, how to use what is left, how to set a limit. */
static void step_draw_next(struct frame *frame, int y, const struct model *model, const struct verdict *verdict)
{
	const struct ways *ways = model->ways;
	bool of_this = ways && ways->fingerprint == model->plan->fingerprint;
	char text[500] = "", same[200] = "", other[200] = "";
	if (of_this && !fits_runs(verdict->fits)) {
		bool one = step_way(&ways->list, true, same, sizeof same), two = step_way(&ways->list, false, other, sizeof other);
		PRINT_TO(text, "%s%s%s%s%s", one ? "same results: " : "", same, one && two ? " · " : "",
			two ? "other numbers: " : "", other);
		if (!one && !two)
			PRINT_TO(text, ways->job ? "planning what fits" : "no single change fits; S: more devices");
	} else
		PRINT_TO(text, "%s",
			verdict->fits == FITS_ANY ? "type a size or a GPU, such as 24 or h100: what fits is planned"
			: fits_runs(verdict->fits) ? "it fits; S: every way to use more devices"
			: verdict->fits == FITS_NO ? "plan what makes it fit (:notes says why no order does)"
			: "plan what makes it fit");
	frame_text(frame, 1, y, 5, ROLE_LABEL, "next");
	frame_text(frame, 7, y, 2, ROLE_KEY, "f");
	frame_words(frame, 10, y, frame->window.width - 10, ROLE_TEXT, text);
}

/* What a graph that is made to teach asks, and once asked for says. Returns the rows that it takes. */
static int draw_lesson(struct frame *frame, const struct about *about, bool answered, int width, int height)
{
	char text[900];
	if (!about->teaches || height < SMALL)
		return 0;
	if (about->asks && !answered)
		PRINT_TO(text, "? %s   i: the answer  ] next row  y order it", about->asks);
	else
		PRINT_TO(text, "%s%s", about->asks ? "! " : "lesson: ", about->teaches);
	int rows = text_rows(text, width), most = height * 3 / 10;
	rows = SMALLER(rows, most);
	frame_wrapped(frame, (struct rect){ 0, 0, width, rows }, ROLE_TITLE, text);
	return rows;
}

static void step_draw(void *state, struct model *model, struct frame *frame)
{
	struct step_view *view = state;
	int width = frame->window.width, height = frame->window.height;
	struct verdict verdict = plan_verdict(model->plan);
	if (model->plan->graph->ops == 0) {
		frame_rest(frame, 0, 0, ROLE_FAINT, "this graph has no ops");
		return;
	}
	if (!step_find(view, model)) {
		frame_no_memory(frame);
		return;
	}
	bool whole = height >= SMALL;
	int y = draw_lesson(frame, &model->plan->input->about, view->answered, width, height), below = whole ? 4 : 2;
	if (whole || height >= 6)
		step_draw_bar(frame, y++, &verdict);
	if (whole) {
		step_draw_parts(frame, y, &verdict);
		step_draw_pytorch(frame, y + 2, &verdict);
		y += 3;
	}
	int rest = height - y - below, groups = whole ? rest * 5 / 11 : 1;
	groups = groups < 1 ? 1 : groups > GROUPS_MOST ? GROUPS_MOST : groups;
	int curve = rest - groups;
	curve_draw(frame, (struct rect){ 0, y, width, curve }, model, view->floor_hidden);
	y += LARGER(curve, 0);
	if (model->span)
		view_draw_span(frame, y, model);
	else
		draw_cursor_line(frame, y, model);
	y++;
	if (whole && model->span)
		y++;
	else if (whole)
		step_draw_bound(frame, y++, model->plan);
	view->width = width;
	if (whole)
		step_draw_groups(frame, y, groups, view, model);
	else if (view->holders.groups > 0 && y < height - 1)
		step_draw_group(frame, y, model, &view->holders.group[view->selected], false);
	step_draw_next(frame, height - 1, model, &verdict);
}

/* ---- commands ---- */

/* Its tensors alone, in the table. */
static void step_open_group(struct model *model, const struct holder *group)
{
	const struct plan *plan = model->plan;
	const struct op *maker = holder_maker(plan, group->first);
	char module[60], word[90] = "";
	struct words words = { word, sizeof word, 0 };
	if (maker && group->reason != ALIVE_PERSISTENT && *maker->module) {
		words_add(&words, " module:/^");
		for (const char *at = holder_pattern(maker->module, module, sizeof module); *at && words.at + 10 < sizeof word; at++)
			words_add(&words, *at == '*' ? "[0-9]+" : *at == '.' ? "\\." : "%c", *at);
		words_add(&words, "$/");
	}
	PRINT_TO(model->filter, "kind=%s", kind_names[plan->graph->storage[group->first].kind]);
	if (strlen(model->filter) + strlen(word) < sizeof model->filter)
		snprintf(model->filter + strlen(model->filter), sizeof model->filter - strlen(model->filter), "%s", word);
	model->storage = group->first;
	view_request(model, false, "view tensors");
}

/* A click on the curve moves the cursor, one on a row selects its group. */
static void step_click(struct step_view *view, struct model *model)
{
	uint32_t position = curve_position(model, view->width, model->click_x);
	uint32_t row = view->top + (uint32_t)(model->click_y - view->list);
	if (model->click_y >= view->list && row < view->holders.groups) {
		view->selected = row;
		model->storage = view->holders.group[row].first;
	} else if (model->click_y < view->list - 2 && position != NONE)
		model_go(model, position);
}

static bool step_command(void *state, struct model *model, enum command_id command)
{
	struct step_view *view = state;
	if (model->plan->graph->ops == 0 || !step_find(view, model))
		return false;
	switch (command) {
	case COMMAND_CLICK: step_click(view, model); break;
	case COMMAND_HINT:
		view->answered = !view->answered;
		break;
	case COMMAND_BACKGROUND:
		view->floor_hidden = !view->floor_hidden;
		break;
	case COMMAND_UP:
	case COMMAND_DOWN:
		if (model->storage != NONE)
			row_command(command, &view->selected, view->holders.groups, 1);
		if (view->holders.groups > 0)
			model->storage = view->holders.group[view->selected].first;
		break;
	case COMMAND_ACTIVATE:
		if (view->holders.groups > 0)
			step_open_group(model, &view->holders.group[view->selected]);
		break;
	default:
		return view_command(model, command);
	}
	return true;
}

const struct view_ops view_step = { "Step", IN_STEP, sizeof(struct step_view), step_draw, step_command, step_clear,
	NULL };
