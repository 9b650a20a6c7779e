/* order_rows.c: like the lanes of a commit graph. */
#include "order_rows.h"

enum {
	NUMBER = 8,
	AMOUNT = ORDER_AMOUNT,
	BAR = 10,
	CANDIDATE = 24,
	CANDIDATE_NAME = 40,
	WIDE = 70 /* from here on lanes leave room */
};
static const enum column wanted[] = { COLUMN_MAKER, COLUMN_SHAPE, COLUMN_MODULE, COLUMN_SOURCE };
enum { WANTED = COUNT_OF(wanted) };

/* ---- lanes ---- */

/* What an item does at a row: made, used, freed or just there. */
static enum glyph lane_glyph(const struct order_schedule *schedule, uint32_t item, uint32_t position)
{
	if (schedule->first[item] == schedule->last[item])
		return GLYPH_CIRCLE;
	if (position == schedule->first[item])
		return GLYPH_TOP_LEFT;
	if (position == schedule->last[item])
		return GLYPH_BOTTOM_LEFT;
	FOR_ITEMS(use, &schedule->problem->uses, schedule->order[position])
		if (use == item)
			return GLYPH_TEE_RIGHT;
	return GLYPH_VERTICAL;
}

static void draw_lanes(struct frame *frame, struct rect rect, const struct order_rows *rows, const struct model *model)
{
	const struct order_schedule *schedule = rows->schedule;
	const struct order_roam *roam = rows->roam;
	uint32_t end = rows->top + (uint32_t)rect.height, top;
	segment_row_of_rule(roam, rows->top, &top);
	FOR(item, schedule->problem->items) {
		int lane = schedule->lane[item];
		uint32_t storage = schedule->problem->storage[item];
		if (lane >= rect.width || segment_row(roam, schedule->first[item]) >= end ||
			segment_row(roam, schedule->last[item]) < rows->top)
			continue;
		uint32_t from = LARGER(schedule->first[item], top);
		for (uint32_t position = from; position <= schedule->last[item] && segment_row(roam, position) < end; position++) {
			if (position >= rows->ran)
				break;
			int y = rect.y + (int)(segment_row(roam, position) - rows->top);
			frame_glyph(frame, rect.x + lane, y, lane_glyph(schedule, item, position), item_role(model->plan, storage));
			if (storage == model->storage)
				frame_mark(frame, (struct rect){ rect.x + lane, y, 1, 1 }, MARK_REVERSE);
		}
	}
}

/* ---- rows ---- */

static void order_rows_draw_bar(struct frame *frame, int x, int y, int64_t live, int64_t base, int64_t peak)
{
	int filled = peak > base ? (int)((double)(live - base) / (double)(peak - base) * BAR + 0.5) : 0;
	FOR_INT(i, BAR)
		if (i < filled)
			frame_glyph(frame, x + i, y, GLYPH_HEAVY, live == peak ? ROLE_BAD : ROLE_LABEL);
		else
			frame_glyph(frame, x + i, y, GLYPH_DOT, ROLE_EMPTY);
}

/* Number, live bytes, a bar above the persistent bytes, name and type; returns the column where lanes can begin. */
static int order_rows_draw_row(struct frame *frame, int y, const struct order_rows *rows, const struct model *model,
	uint32_t position, int name_width)
{
	const struct order_schedule *schedule = rows->schedule;
	const struct op *op = &model->plan->graph->op[schedule->order[position]];
	bool waiting = position >= rows->ran;
	frame_right(frame, NUMBER - 1, y, ROLE_FAINT, PRINTED(32, "%u", position));
	if (segment_of_waist(rows->roam, schedule->order[position], position) != NONE)
		frame_glyph(frame, NUMBER - 1, y, GLYPH_BULLET, ROLE_KEY);
	int x = NUMBER;
	enum role role = waiting ? ROLE_FAINT : ROLE_TEXT;
	if (!waiting)
		frame_bytes(frame, x + AMOUNT - 1, y, schedule->live[position] == schedule->peak ? ROLE_PEAK : ROLE_TEXT,
			schedule->live[position]);
	x += AMOUNT;
	if (frame->window.width >= 70) {
		if (!waiting)
			order_rows_draw_bar(frame, x, y, schedule->live[position], schedule->problem->base, schedule->peak);
		x += BAR + 1;
	}
	frame_name(frame, x, y, name_width, role, op->name);
	details_of_op(frame, y, &rows->details, model->plan, schedule->order[position]);
	return x + name_width + 1;
}

void order_rows_draw(struct frame *frame, struct rect rect, struct order_rows *rows, const struct model *model)
{
	const struct order_roam *roam = rows->roam;
	uint32_t count = rows->listed + roam->segments, cursor = segment_row(roam, rows->schedule->position[model->op]),
			 position;
	int name_width = rect.width >= 110 ? 36 : rect.width >= 70 ? 22 : 16, lanes = 0;
	int left = NUMBER + AMOUNT + (rect.width >= 70 ? BAR + 1 : 0) + name_width + 1;
	int free = rect.width - left, room = free >= WIDE ? 2 * free / 5 : free;
	room = SMALLER(rows->schedule->lanes, room);
	details_arrange(wanted, WANTED, model->index, left + room + 1, rect.width, &rows->details);
	rows->page = rect.height;
	rows->top = scroll_to(rows->top, cursor, count, rect.height);
	uint32_t to, from = view_span(model, &to);
	for (int i = 0; i < rect.height && rows->top + (uint32_t)i < count; i++)
		if (segment_row_of_rule(roam, rows->top + (uint32_t)i, &position) == NONE) {
			lanes = order_rows_draw_row(frame, rect.y + i, rows, model, position, name_width);
			if (model->span && position >= from && position <= to)
				frame_mark(frame, (struct rect){ 0, rect.y + i, NUMBER - 1, 1 }, MARK_REVERSE);
		}
	draw_lanes(frame,
		(struct rect){
			lanes, rect.y, rows->details.count ? rows->details.from - lanes : rect.width - lanes, rect.height },
		rows, model);
	for (int i = 0; i < rect.height && rows->top + (uint32_t)i < count; i++) {
		uint32_t segment = segment_row_of_rule(roam, rows->top + (uint32_t)i, &position);
		if (segment != NONE)
			segment_rule_draw(frame, rect.y + i, model->plan, segment);
	}
	if (cursor < count)
		frame_mark(frame, (struct rect){ 0, rect.y + (int)(cursor - rows->top), lanes - 1, 1 }, MARK_REVERSE);
}

uint32_t order_rows_at(const struct order_rows *rows, int y)
{
	uint32_t position, row = rows->top + (uint32_t)y;
	bool there = rows->roam && y >= 0 && y < rows->page && row < rows->listed + rows->roam->segments;
	return there && segment_row_of_rule(rows->roam, row, &position) == NONE ? position : NONE;
}

/* ---- what an op does ---- */

void order_items_draw(struct frame *frame, int y, const struct model *model, const struct problem *problem,
	const char *verb, enum role role, const uint32_t *item, uint32_t count)
{
	char text[32];
	int64_t sum = 0;
	FOR(i, count)
		sum += problem->size[item[i]];
	frame_text(frame, 0, y, AMOUNT, ROLE_LABEL, verb);
	frame_bytes(frame, 15, y, count ? role : ROLE_FAINT, sum);
	int x = 17;
	FOR(i, count) {
		int room = frame->window.width - x;
		const char *name = storage_name(model->plan, problem->storage[item[i]]);
		PRINT_TO(text, "and %u more", count - i);
		if (i > 0 && room < text_cells(name) + 14) {
			frame_text(frame, x, y, room, ROLE_FAINT, text);
			return;
		}
		x += frame_name(frame, x, y, room, item_role(model->plan, problem->storage[item[i]]), name) + 2;
	}
}

void order_candidates_title(struct frame *frame, int y, const struct model *model, uint32_t count, const char *second,
	struct details *details)
{
	frame_right(frame, 11, y, ROLE_LABEL, "needs");
	frame_right(frame, 22, y, ROLE_LABEL, second);
	details_arrange(wanted, WANTED, model->index, CANDIDATE + CANDIDATE_NAME, frame->window.width, details);
	details_titles(frame, y, details, true);
	frame_print(frame, CANDIDATE, y, ROLE_LABEL, "%u op%s could run here", count, count == 1 ? "" : "s");
}

void order_candidate_draw(struct frame *frame, int y, const struct model *model, const struct candidate *candidate,
	int64_t before, bool chosen, const struct details *details)
{
	if (chosen)
		frame_glyph(frame, 0, y, GLYPH_INCREASE, ROLE_KEY);
	frame_bytes(frame, 11, y, chosen ? ROLE_TITLE : ROLE_TEXT, candidate->during);
	if (candidate->best > 0)
		frame_bytes(frame, 22, y, candidate->best > before ? ROLE_WARN : ROLE_GOOD, candidate->best);
	else
		frame_right(frame, 22, y, candidate->after < before ? ROLE_GOOD : candidate->after > before ? ROLE_WARN : ROLE_FAINT,
		    CHANGE(candidate->after - before));
	const struct op *op = &model->plan->graph->op[candidate->op];
	int end = details->count ? details->from : frame->window.width;
	int x = CANDIDATE + frame_name(frame, CANDIDATE, y, end - CANDIDATE, chosen ? ROLE_TITLE : ROLE_TEXT, op->name);
	if (!details->count)
		frame_text(frame, x + 2, y, end - x - 2, ROLE_FAINT, op->type);
	details_of_op(frame, y, details, model->plan, candidate->op);
}
