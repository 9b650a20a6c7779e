/* view_order.c: ops down, lifetimes across, like the lanes of a commit graph; below, the decision at the cursor.
 *
 * Stepping (`.` and `,`) runs the order op by op: what has not run yet is faint, and the pane tells which ops could
 * run, what each would need and leave behind, and why the order takes this one. `J` and `K` move ops by hand.
 * Plans of order=roam have a rule above each segment and a line about the segment, or the branch, of the op at the cursor.
 */
#include "schedule.h"
#include "segment_rows.h"
#include "view.h"

struct order_view {
	struct schedule schedule;
	uint64_t serial;             /* of the plan that the schedule belongs to; 0: none */
	struct candidate *candidate; /* [ops] room for the ready list */
	uint32_t *freed;             /* [items] room */
	uint32_t top;                /* row: of an op or of a segment's rule */
	int page;
	bool stepping;
};

enum { NUMBER = 8, AMOUNT = 10, PANE_FROM = 14, BAR = 10 };

static void forget(struct order_view *view)
{
	schedule_free(&view->schedule);
	mem_free(view->candidate);
	mem_free(view->freed);
	view->candidate = NULL;
	view->freed = NULL;
	view->serial = 0;
}

static void order_free(void *state)
{
	forget(state);
}

static bool prepare(struct order_view *view, const struct model *model)
{
	if (view->serial == model->plan->serial && view->candidate)
		return true;
	forget(view);
	view->candidate = mem_alloc(model->plan->graph->ops, sizeof *view->candidate);
	view->freed = mem_alloc(model->plan->ordered->problem.items, sizeof *view->freed);
	if (view->candidate && view->freed && schedule_new(model->plan, &view->schedule) == OK) {
		view->serial = model->plan->serial;
		return true;
	}
	forget(view);
	return false;
}

/* ---- lanes ---------------------------------------------------------------------------- */

/* What an item does at a row: made, used, freed or just there. */
static enum glyph lane_glyph(const struct schedule *schedule, uint32_t item, uint32_t position)
{
	if (schedule->first[item] == schedule->last[item])
		return GLYPH_CIRCLE;
	if (position == schedule->first[item])
		return GLYPH_TOP_LEFT;
	if (position == schedule->last[item])
		return GLYPH_BOTTOM_LEFT;
	FOR_ROW(i, &schedule->problem->uses, schedule->order[position])
		if (schedule->problem->uses.item[i] == item)
			return GLYPH_TEE_RIGHT;
	return GLYPH_VERTICAL;
}

static void draw_lanes(struct frame *frame, struct rect rect, const struct order_view *view, const struct model *model)
{
	const struct schedule *schedule = &view->schedule;
	const struct order_roam *roam = model->plan->roam;
	uint32_t cursor = schedule->position[model->op], end = view->top + (uint32_t)rect.height, top;
	segment_row_of_rule(roam, view->top, &top);
	for (uint32_t item = 0; item < schedule->problem->items; item++) {
		int lane = schedule->lane[item];
		uint32_t storage = schedule->problem->storage[item];
		if (lane >= rect.width || segment_row(roam, schedule->first[item]) >= end || segment_row(roam, schedule->last[item]) < view->top)
			continue;
		uint32_t from = schedule->first[item] > top ? schedule->first[item] : top;
		for (uint32_t position = from; position <= schedule->last[item] && segment_row(roam, position) < end; position++) {
			if (view->stepping && position > cursor)
				break;
			int y = rect.y + (int)(segment_row(roam, position) - view->top);
			frame_glyph(frame, rect.x + lane, y, lane_glyph(schedule, item, position), storage_role(model->plan, storage));
			if (storage == model->storage)
				frame_mark(frame, (struct rect){ rect.x + lane, y, 1, 1 }, MARK_REVERSE);
		}
	}
}

/* ---- rows ------------------------------------------------------------------------------- */

static void draw_bar(struct frame *frame, int x, int y, int64_t live, int64_t base, int64_t peak)
{
	int filled = peak > base ? (int)((double)(live - base) / (double)(peak - base) * BAR + 0.5) : 0;
	for (int i = 0; i < BAR; i++)
		if (i < filled)
			frame_glyph(frame, x + i, y, GLYPH_HEAVY, live == peak ? ROLE_BAD : ROLE_LABEL);
		else
			frame_glyph(frame, x + i, y, GLYPH_DOT, ROLE_EMPTY);
}

/* Number, live bytes, a bar above the persistent bytes, name and type; returns the column where lanes can begin. */
static int draw_row(struct frame *frame, int y, const struct order_view *view, const struct model *model, uint32_t position, int name_width)
{
	const struct schedule *schedule = &view->schedule;
	const struct op *op = &model->plan->graph->op[schedule->order[position]];
	bool waiting = view->stepping && position > schedule->position[model->op];
	char text[32];
	snprintf(text, sizeof text, "%u", position + 1);
	frame_right(frame, NUMBER - 1, y, ROLE_FAINT, text);
	if (segment_of_waist(model->plan->roam, schedule->order[position], position) != NONE)
		frame_glyph(frame, NUMBER - 1, y, GLYPH_BULLET, ROLE_KEY);
	int x = NUMBER;
	enum role role = waiting ? ROLE_FAINT : ROLE_TEXT;
	if (!waiting)
		frame_right(frame, x + AMOUNT - 1, y, schedule->live[position] == schedule->peak ? ROLE_PEAK : ROLE_TEXT,
			    bytes_text(schedule->live[position], text, sizeof text));
	x += AMOUNT;
	if (frame->window.width >= 70) {
		if (!waiting)
			draw_bar(frame, x, y, schedule->live[position], schedule->problem->base, schedule->peak);
		x += BAR + 1;
	}
	frame_name(frame, x, y, name_width, role, op->name);
	return x + name_width + 1;
}

static void draw_rows(struct frame *frame, struct rect rect, struct order_view *view, struct model *model)
{
	const struct schedule *schedule = &view->schedule;
	const struct order_roam *roam = model->plan->roam;
	uint32_t rows = schedule->problem->ops + roam->segments, cursor = segment_row(roam, schedule->position[model->op]), position;
	int name_width = rect.width >= 110 ? 36 : rect.width >= 70 ? 22 : 16, lanes = 0;
	view->page = rect.height;
	view->top = scroll_to(view->top, cursor, rows, rect.height);
	for (int i = 0; i < rect.height && view->top + (uint32_t)i < rows; i++)
		if (segment_row_of_rule(roam, view->top + (uint32_t)i, &position) == NONE)
			lanes = draw_row(frame, rect.y + i, view, model, position, name_width);
	draw_lanes(frame, (struct rect){ lanes, rect.y, rect.width - lanes, rect.height }, view, model);
	for (int i = 0; i < rect.height && view->top + (uint32_t)i < rows; i++) {
		uint32_t segment = segment_row_of_rule(roam, view->top + (uint32_t)i, &position);
		if (segment != NONE)
			segment_rule_draw(frame, rect.y + i, model->plan, segment);
	}
	frame_mark(frame, (struct rect){ 0, rect.y + (int)(cursor - view->top), lanes - 1, 1 }, MARK_REVERSE);
}

/* ---- the decision --------------------------------------------------------------------------- */

/* "makes 64.0 MiB  left.out, ...": the sum, and as many names as fit. */
static void draw_items(struct frame *frame, int y, const struct model *model, const char *verb, enum role role, const uint32_t *item, uint32_t count)
{
	const struct problem *problem = &model->plan->ordered->problem;
	char text[32];
	int64_t sum = 0;
	for (uint32_t i = 0; i < count; i++)
		sum += problem->size[item[i]];
	frame_text(frame, 0, y, AMOUNT, ROLE_LABEL, verb);
	frame_right(frame, 15, y, count ? role : ROLE_FAINT, bytes_text(sum, text, sizeof text));
	int x = 17;
	for (uint32_t i = 0; i < count; i++) {
		int room = frame->window.width - x;
		const char *name = storage_name(model->plan, problem->storage[item[i]]);
		snprintf(text, sizeof text, "and %u more", count - i);
		if (i > 0 && room < text_cells(name) + 14) {
			frame_text(frame, x, y, room, ROLE_FAINT, text);
			return;
		}
		x += frame_name(frame, x, y, room, storage_role(model->plan, problem->storage[item[i]]), name) + 2;
	}
}

/* What speaks for the op that the order takes, among those that could run. */
static const char *why(const struct order_view *view, const struct candidate *list, uint32_t count, uint32_t chosen)
{
	bool least_after = true, all_below = true;
	for (uint32_t i = 0; i < count; i++) {
		least_after = least_after && list[chosen].after <= list[i].after;
		all_below = all_below && list[i].during <= view->schedule.peak;
	}
	if (count == 1)
		return "the only op that can run";
	if (list[chosen].during == list[0].during && least_after)
		return "none needs less, none leaves less behind";
	if (least_after)
		return "none leaves less behind";
	if (list[chosen].during == list[0].during)
		return "none needs less while it runs";
	return all_below ? "all stay within the peak; later ops count" : "it opens the way to ops that free more";
}

static void draw_candidate(struct frame *frame, int y, const struct model *model, const struct candidate *candidate, int64_t before, bool chosen)
{
	char during[32], after[32];
	if (chosen)
		frame_glyph(frame, 0, y, GLYPH_INCREASE, ROLE_KEY);
	frame_right(frame, 11, y, chosen ? ROLE_TITLE : ROLE_TEXT, bytes_text(candidate->during, during, sizeof during));
	frame_right(frame, 22, y, candidate->after < before ? ROLE_GOOD : candidate->after > before ? ROLE_WARN : ROLE_FAINT,
		    change_text(candidate->after - before, after, sizeof after));
	const struct op *op = &model->plan->graph->op[candidate->op];
	int x = 24 + frame_name(frame, 24, y, frame->window.width - 24, chosen ? ROLE_TITLE : ROLE_TEXT, op->name);
	frame_text(frame, x + 2, y, frame->window.width - x - 2, ROLE_FAINT, op->type);
}

static void draw_pane(struct frame *frame, struct rect rect, struct order_view *view, const struct model *model)
{
	const struct schedule *schedule = &view->schedule;
	const struct problem *problem = schedule->problem;
	uint32_t position = schedule->position[model->op];
	uint32_t freed = schedule_freed(schedule, position, view->freed), count = schedule_ready(schedule, position, view->candidate), chosen = 0;
	int y = rect.y, rows = rect.height - 5;
	frame_repeat(frame, 0, y, rect.width, GLYPH_HORIZONTAL, ROLE_LINE);
	if (model->plan->roam->segments) {
		segment_choice_draw(frame, ++y, model->plan, model->op, position);
		rows--;
	}
	draw_items(frame, y + 1, model, view->stepping ? "made" : "makes", ROLE_WARN,
		   problem->products.item + problem->products.start[model->op], csr_length(&problem->products, model->op));
	draw_items(frame, y + 2, model, view->stepping ? "freed" : "frees", ROLE_GOOD, view->freed, freed);
	while (chosen + 1 < count && view->candidate[chosen].op != model->op)
		chosen++;
	frame_text(frame, 0, y + 3, rect.width, ROLE_LABEL, "why");
	frame_text(frame, 7, y + 3, rect.width - 7, ROLE_TEXT, why(view, view->candidate, count, chosen));
	frame_right(frame, 11, y + 4, ROLE_LABEL, "needs");
	frame_right(frame, 22, y + 4, ROLE_LABEL, "leaves");
	frame_print(frame, 24, y + 4, ROLE_LABEL, "%u op%s could run here", count, count == 1 ? "" : "s");
	uint32_t top = scroll_to(0, chosen, count, rows);
	int64_t before = schedule_before(schedule, position);
	for (int i = 0; i < rows && top + (uint32_t)i < count; i++)
		draw_candidate(frame, y + 5 + i, model, &view->candidate[top + (uint32_t)i], before, top + (uint32_t)i == chosen);
}

/* What moving by hand costs. */
static void draw_hand(struct frame *frame, int y, const struct order_view *view, const struct model *model)
{
	const struct schedule *schedule = &view->schedule;
	char peak[32], change[32];
	int64_t difference = schedule->peak - model->plan->peak_bytes;
	if (schedule->moves == 0) {
		frame_print(frame, 0, y, ROLE_LABEL, "peak %s at op %u", bytes_text(schedule->peak, peak, sizeof peak), schedule->peak_position + 1);
		return;
	}
	int x = frame_print(frame, 0, y, ROLE_LABEL, "by hand, %u move%s: peak %s at op %u  ", schedule->moves, schedule->moves == 1 ? "" : "s",
			    bytes_text(schedule->peak, peak, sizeof peak), schedule->peak_position + 1);
	frame_text(frame, x, y, frame->window.width - x, difference > 0 ? ROLE_BAD : difference < 0 ? ROLE_GOOD : ROLE_TEXT,
		   difference ? change_text(difference, change, sizeof change) : "as planned");
}

static void order_draw(void *state, struct model *model, struct frame *frame)
{
	struct order_view *view = state;
	int width = frame->window.width, height = frame->window.height;
	if (model->plan->graph->ops == 0)
		return;
	if (!prepare(view, model)) {
		frame_text(frame, 0, 0, width, ROLE_BAD, "out of memory");
		return;
	}
	int pane = height >= PANE_FROM ? (height - 1) * 2 / 5 : 0;
	draw_hand(frame, 0, view, model);
	draw_rows(frame, (struct rect){ 0, 1, width, height - 1 - pane }, view, model);
	if (pane)
		draw_pane(frame, (struct rect){ 0, height - pane, width, pane }, view, model);
}

/* ---- commands ----------------------------------------------------------------------------------- */

/* The cursor's position in the schedule, which may differ from the plan's. */
static void go(struct order_view *view, struct model *model, int64_t position)
{
	uint32_t ops = view->schedule.problem->ops;
	position = position < 0 ? 0 : position >= ops ? (int64_t)ops - 1 : position;
	model_go(model, model->plan->position[view->schedule.order[position]]);
}

static void move_by_hand(struct order_view *view, struct model *model, int direction)
{
	uint32_t position = view->schedule.position[model->op];
	if (direction < 0 && position == 0)
		return;
	if (schedule_swap(&view->schedule, direction < 0 ? position - 1 : position, NULL) != OK)
		view_say(model, "can't move: %s", direction < 0 ? "it needs the op before it" : "the op after it needs it");
	else
		view_say(model, "P goes back to the plan; :pin op A before B makes the solver keep such a choice");
}

static bool order_command(void *state, struct model *model, enum command_id command)
{
	struct order_view *view = state;
	if (model->plan->graph->ops == 0 || !prepare(view, model))
		return false;
	uint32_t position = view->schedule.position[model->op];
	switch (command) {
	case COMMAND_STEP:
		go(view, model, view->stepping ? (int64_t)position + 1 : position);
		view->stepping = true;
		return true;
	case COMMAND_STEP_BACK:
		go(view, model, view->stepping ? (int64_t)position - 1 : position);
		view->stepping = true;
		return true;
	case COMMAND_ACTIVATE: view->stepping = !view->stepping; return true;
	case COMMAND_EARLIER: move_by_hand(view, model, -1); return true;
	case COMMAND_LATER: move_by_hand(view, model, 1); return true;
	case COMMAND_PLANNED: forget(view); return true;
	case COMMAND_PEAK: go(view, model, view->schedule.peak_position); return true;
	case COMMAND_LEFT: go(view, model, (int64_t)position - 1); return true;
	case COMMAND_RIGHT: go(view, model, (int64_t)position + 1); return true;
	default:
		if (!row_command(command, &position, view->schedule.problem->ops, view->page))
			return view_command(model, command);
		go(view, model, position);
		return true;
	}
}

const struct view_ops view_order = { "Order", IN_ORDER, sizeof(struct order_view), order_draw, order_command, order_free };
