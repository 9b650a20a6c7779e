/* devices_changes.c: the plan against the baseline, op by op: what a device sends and what memory it takes. */
#include "devices.h"

enum { AMOUNT = 12, NAME_LEAST = 16 };

void changes_free(struct change_list *list)
{
	arena_free(&list->arena);
	list->row = NULL;
	list->plan = list->baseline = 0;
}

static bool devices_changes_make_rows(struct change_list *list, const struct model *model)
{
	if (list->row && list->plan == model->plan->serial && list->baseline == model->baseline->serial)
		return true;
	changes_free(list);
	if (plan_changes(model->baseline, model->plan, &list->arena, &list->row, &list->rows) != OK) {
		changes_free(list);
		return false;
	}
	list->plan = model->plan->serial;
	list->baseline = model->baseline->serial;
	return true;
}

static void devices_changes_draw_amounts(struct frame *frame, int right, int y, const int64_t pair[2])
{
	char text[40];
	int64_t change = pair[1] - pair[0];
	frame_right(frame, right - AMOUNT, y, ROLE_TEXT, bytes_text(pair[1], text, sizeof text));
	frame_right(frame, right, y,
		change < 0 ? ROLE_GOOD
		: change > 0 ? ROLE_BAD
		: ROLE_FAINT,
		change_text(change, text, sizeof text));
}

static void draw_heads(struct frame *frame, int right, const char *what)
{
	frame_right(frame, right - AMOUNT, 0, ROLE_LABEL, what);
	frame_right(frame, right, 0, ROLE_LABEL, "change");
}

void changes_draw(struct frame *frame, struct change_list *list, const struct model *model)
{
	int width = frame->window.width, height = frame->window.height, name = width - 4 * AMOUNT - 2;
	if (!model->baseline) {
		frame_wrapped(frame, (struct rect){ 1, 0, width - 1, 2 }, ROLE_FAINT,
			"b makes a plan the baseline; then this says op by op what a device sends and holds more or less");
		return;
	}
	if (!devices_changes_make_rows(list, model)) {
		frame_text(frame, 1, 0, frame->window.width, ROLE_BAD, status_text(NO_MEMORY));
		return;
	}
	bool sent = name >= NAME_LEAST; /* else there is room for one pair of numbers */
	name = sent ? name : width - 2 * AMOUNT - 2;
	frame_text(frame, 1, 0, name, ROLE_LABEL, "op");
	draw_heads(frame, width, "memory");
	if (sent)
		draw_heads(frame, width - 2 * AMOUNT, "sent");
	list->page = height - 1;
	list->top = scroll_to(list->top, list->top, list->rows, list->page);
	for (int i = 0; i < list->page && list->top + (uint32_t)i < list->rows; i++) {
		const struct plan_change *row = &list->row[list->top + (uint32_t)i];
		frame_name(frame, 1, 1 + i, name, ROLE_TEXT, row->op);
		devices_changes_draw_amounts(frame, width, 1 + i, row->made);
		if (sent)
			devices_changes_draw_amounts(frame, width - 2 * AMOUNT, 1 + i, row->sent);
	}
	if (list->rows == 0)
		frame_text(frame, 1, 1, width, ROLE_FAINT, "no op differs from the baseline");
}
