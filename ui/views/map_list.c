/* map_list.c: the buffers at one op as a stack, and the holes in it. */
#include "map_list.h"

#include "details.h"

enum { LIST_FROM = 120, HALF_FROM = 200, LEAST = 48, OFFSET = 9, AMOUNT = 9, NAME = 24 };
static const enum column wanted[] = { COLUMN_FIRST, COLUMN_LAST, COLUMN_SHAPE, COLUMN_MAKER, COLUMN_MODULE,
	COLUMN_SOURCE };

int map_list_width(int width)
{
	int part = width >= HALF_FROM ? width / 2 : width * 2 / 5;
	return width < LIST_FROM ? 0 : part > LEAST ? part : LEAST;
}

/* One row: an item of the layout, or NONE and free bytes. */
struct stack_row {
	uint32_t item;
	int64_t offset, bytes;
};

/* Goes down the stack. */
struct walk {
	const struct model *model;
	uint32_t position, next;   /* next: of by_offset, behind the one to look at */
	int64_t low;               /* all above it has been told */
	bool persistent_hidden;
};

static struct walk walk_of(const struct model *model, bool persistent_hidden)
{
	return (
		struct walk){ model, model_position(model), model->index->present, plan_arena(model->plan), persistent_hidden };
}

static bool next_row(struct walk *walk, struct stack_row *row)
{
	const struct plan *plan = walk->model->plan;
	const struct laid_out *laid_out = plan->laid_out;
	while (walk->next > 0) {
		uint32_t item = walk->model->index->by_offset[walk->next - 1];
		int64_t end = laid_out->offset[item] + laid_out->bytes[item];
		if (!alive_at(plan, item, walk->position)) {
			walk->next--;
			continue;
		}
		if (end < walk->low) {
			*row = (struct stack_row){ NONE, end, walk->low - end };
			walk->low = end;
			return true;
		}
		walk->low = laid_out->offset[item];
		walk->next--;
		*row = (struct stack_row){ item, laid_out->offset[item], laid_out->bytes[item] };
		if (!walk->persistent_hidden || item >= plan->graph->storages || !plan->graph->storage[item].persistent)
			return true;
	}
	*row = (struct stack_row){ NONE, 0, walk->low };
	walk->low = 0;
	return row->bytes > 0;
}

static void map_list_draw_row(struct frame *frame, struct rect rect, int y, const struct model *model,
	const struct stack_row *row, const struct details *details)
{
	const struct plan *plan = model->plan;
	char text[32];
	int x = rect.x + OFFSET + AMOUNT;
	frame_right(frame, rect.x + OFFSET - 1, y, ROLE_FAINT, bytes_text(row->offset, text, sizeof text));
	frame_right(frame, x - 1, y, row->item == NONE ? ROLE_WARN : ROLE_TEXT, bytes_text(row->bytes, text, sizeof text));
	if (row->item == NONE) {
		frame_text(frame, x + 2, y, rect.x + rect.width - x - 2, ROLE_WARN, "free");
		return;
	}
	enum role role = item_role(plan, row->item);
	frame_cell(frame, x, y, frame->mono ? (uint32_t)category_letters[item_kind(plan, row->item)] : ' ', ROLE_TEXT,
		frame->mono ? ROLE_TEXT : role);
	frame_name(frame, x + 2, y, details->from - x - 2, ROLE_TEXT, item_name(plan, row->item));
	if (row->item >= plan->graph->storages)
		return;
	details_of_tensor(frame, y, details, plan, plan->graph->storage[row->item].root);
	if (row->item == model->storage)
		frame_mark(frame, (struct rect){ rect.x, y, rect.width, 1 }, MARK_REVERSE);
}

void map_list_draw(
	struct frame *frame, struct rect rect, struct map_list *list, const struct model *model, bool persistent_hidden)
{
	struct walk walk = walk_of(model, persistent_hidden);
	struct stack_row row;
	struct details details;
	uint32_t rows = 0, selected = NONE;
	while (next_row(&walk, &row)) {
		selected = row.item < model->plan->graph->storages && row.item == model->storage ? rows : selected;
		rows++;
	}
	list->x = rect.x;
	list->rows = rect.height - 1;
	list->top = scroll_to(list->top, selected == NONE ? (list->top < rows ? list->top : 0) : selected, rows, list->rows);
	details_arrange(wanted, sizeof wanted / sizeof *wanted, model->index, rect.x + OFFSET + AMOUNT + 2 + NAME,
		rect.x + rect.width, &details);
	frame_right(frame, rect.x + OFFSET - 1, rect.y, ROLE_LABEL, "address");
	frame_right(frame, rect.x + OFFSET + AMOUNT - 1, rect.y, ROLE_LABEL, "bytes");
	frame_print(frame, rect.x + OFFSET + AMOUNT + 2, rect.y, ROLE_LABEL, "at op %u", walk.position);
	details_titles(frame, rect.y, &details, false);
	walk = walk_of(model, persistent_hidden);
	for (uint32_t i = 0; i < list->top + (uint32_t)list->rows && next_row(&walk, &row); i++)
		if (i >= list->top)
			map_list_draw_row(frame, rect, rect.y + 1 + (int)(i - list->top), model, &row, &details);
}

uint32_t map_list_at(const struct map_list *list, const struct model *model, bool persistent_hidden, int y)
{
	struct walk walk = walk_of(model, persistent_hidden);
	struct stack_row row = { .item = NONE };
	if (y < 1 || y > list->rows)
		return NONE;
	for (uint32_t i = 0; i < list->top + (uint32_t)y; i++)
		if (!next_row(&walk, &row))
			return NONE;
	return row.item;
}
