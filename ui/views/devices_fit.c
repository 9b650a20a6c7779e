/* devices_fit.c: what makes the step fit its memory cap: changes of knobs, each of them planned, those that fit first.
 */
#include "devices.h"

enum { MEMORY = 10, OVER = 21, STEP = 32, EXTRA = 43, SET = 46, RESULTS_FROM = 110, FOOT = 4 };

static uint32_t devices_fit_rows_of(const struct model *model)
{
	return model->ways ? model->ways->list.ways : 0;
}

static void devices_fit_draw_header(struct frame *frame, int y)
{
	bool wide = frame->window.width > SET + 20;
	frame_right(frame, MEMORY, y, ROLE_LABEL, "memory");
	frame_right(frame, OVER, y, ROLE_LABEL, "over by");
	if (wide)
		frame_right(frame, STEP, y, ROLE_LABEL, "step");
	frame_right(frame, wide ? EXTRA : STEP, y, ROLE_LABEL, "extra");
	frame_text(
		frame, wide ? SET : STEP + 3, y, frame->window.width, ROLE_LABEL, wide ? "change (Enter sets it)" : "change");
}

static void draw_way(struct frame *frame, int y, const struct fit_list *list, const struct fit_way *way, bool selected)
{
	char text[64];
	int width = frame->window.width, at = width > SET + 20 ? SET : STEP + 3;
	enum role role = !way->planned ? ROLE_FAINT : way->fits ? ROLE_GOOD : ROLE_TEXT;
	if (way->planned) {
		frame_right(frame, MEMORY, y, role, bytes_text(way->arena, text, sizeof text));
		if (way->fits)
			frame_right(frame, OVER, y, *way->reason ? ROLE_WARN : ROLE_GOOD, *way->reason ? "fits?" : "fits");
		else
			frame_right(frame, OVER, y, ROLE_BAD, bytes_text(way->arena - list->budget, text, sizeof text));
		if (at == SET)
			frame_right(frame, STEP, y, ROLE_TEXT, time_text(way->step, text, sizeof text));
		snprintf(text, sizeof text, "%+.2f %%", list->step > 0 ? 100 * (double)way->extra / (double)list->step : 0.0);
		frame_right(frame, at - 3, y, way->extra > 0 ? ROLE_WARN : ROLE_TEXT, text);
	} else if (way->above) {
		frame_right(frame, MEMORY, y, role, bytes_text(way->arena, text, sizeof text));
		frame_right(frame, OVER, y, role, bytes_text(way->arena - list->budget, text, sizeof text));
		if (at == SET)
			frame_right(frame, STEP, y, role, "at least");
	} else {
		frame_right(frame, OVER, y, ROLE_FAINT, "not possible");
	}
	int end = width >= RESULTS_FROM ? width - 34 : width;
	frame_name(frame, at, y, end - at, role, way->set);
	if (end < width)
		frame_text(frame, end + 1, y, width - end - 1, way->meaning == FIT_MEANING_RUN ? ROLE_WARN : ROLE_FAINT,
			fit_meaning_texts[way->meaning]);
	if (selected)
		frame_mark(frame, (struct rect){ 0, y, width, 1 }, MARK_REVERSE);
}

/* What the selected change means, or why it can't be; above it the proof that recomputation can't do it. */
static void devices_fit_draw_foot(struct frame *frame, int y, const struct model *model, uint32_t selected)
{
	const struct fit_list *list = &model->ways->list;
	const struct fit_way *way = &list->way[selected];
	char text[700];
	size_t used = 0;
	frame_repeat(frame, 0, y, frame->window.width, GLYPH_HORIZONTAL, ROLE_LINE);
	if (way->planned)
		used += (size_t)snprintf(text, sizeof text, "%s. %s%s", fit_meaning_texts[way->meaning], way->reason,
			*way->reason ? ". " : "");
	else
		used += (size_t)snprintf(text, sizeof text, "%s. ", way->reason);
	if (list->forbids && used < sizeof text)
		used += (size_t)snprintf(text + used, sizeof text - used,
			"No recomputation and no order helps: what %.200s alone reads and writes, with what must be there, is "
			"above "
			"the cap. %s",
			list->forbids, list->advice ? list->advice : "");
	frame_wrapped(frame, (struct rect){ 0, y + 1, frame->window.width, FOOT - 1 }, ROLE_FAINT, text);
}

static void devices_fit_draw_title(struct frame *frame, const struct model *model)
{
	const struct ways *ways = model->ways;
	const struct fit_list *list = &ways->list;
	char text[160], bytes[32];
	int x = 0, end = frame->window.width;
	if (list->fits) {
		frame_text(frame, 0, 0, end, ROLE_GOOD, list->captured
				? "the step fits as it is: program order, PyTorch's allocator"
				: "the step fits as it is");
		return;
	}
	snprintf(text, sizeof text, "%u of %u changes fit", list->fitting, list->ways + list->useless);
	frame_part(frame, &x, 0, end, list->fitting ? ROLE_TITLE : ROLE_BAD, text);
	bool older = ways->fingerprint != model->plan->fingerprint;
	snprintf(text, sizeof text, "%s by %s%s", older ? "was over" : "over",
		bytes_text(list->arena - list->budget, bytes, sizeof bytes),
		list->captured ? " in PyTorch's allocator" : older ? "" : " now");
	frame_part(frame, &x, 0, end, ROLE_TEXT, text);
	if (list->useless) {
		snprintf(text, sizeof text, "%u save nothing", list->useless);
		frame_part(frame, &x, 0, end, ROLE_FAINT, text);
	}
	if (ways->finding)
		frame_part(frame, &x, 0, end, ROLE_WARN, "planning");
	else if (older)
		frame_part(frame, &x, 0, end, ROLE_WARN, "of an older scenario: F plans again");
}

void ways_draw(struct frame *frame, struct way_rows *rows, const struct model *model)
{
	const struct ways *ways = model->ways;
	int width = frame->window.width, height = frame->window.height, foot = height >= 9 ? FOOT : 0;
	if (!ways || (ways->list.ways == 0 && !ways->list.fits)) {
		const char *text = ways && ways->finding
			? "planning changes of recomputation, precision, optimizer, batch, sequence and sharding; Esc stops"
			: ways && *ways->error.text ? ways->error.text
			: plan_budget(model->plan) < 0
			? "no cap: :set memory=24GiB, then F plans what makes the step fit"
			: "F plans changes that make the step fit its memory cap, and ranks them by the time that they add";
		frame_wrapped(frame, (struct rect){ 1, 0, width - 1, 4 }, ROLE_FAINT, text);
		return;
	}
	devices_fit_draw_title(frame, model);
	if (ways->list.ways == 0)
		return;
	rows->page = height - 2 - foot;
	rows->selected = rows->selected < ways->list.ways ? rows->selected : ways->list.ways - 1;
	rows->top = scroll_to(rows->top, rows->selected, ways->list.ways, rows->page);
	devices_fit_draw_header(frame, 1);
	for (int i = 0; i < rows->page && rows->top + (uint32_t)i < ways->list.ways; i++)
		draw_way(frame, 2 + i, &ways->list, &ways->list.way[rows->top + (uint32_t)i],
			rows->top + (uint32_t)i == rows->selected);
	if (foot)
		devices_fit_draw_foot(frame, height - foot, model, rows->selected);
}

void ways_click(struct way_rows *rows, const struct model *model, int y)
{
	uint32_t row = rows->top + (uint32_t)(y - 2);
	if (y >= 2 && y < 2 + rows->page && row < devices_fit_rows_of(model))
		rows->selected = row;
}

bool ways_command(struct way_rows *rows, struct model *model, enum command_id command)
{
	if (devices_fit_rows_of(model) == 0)
		return false;
	const struct fit_way *way = &model->ways->list.way[rows->selected];
	if (command == COMMAND_ACTIVATE && !way->planned)
		view_say(model, "%s", way->reason);
	else if (command == COMMAND_ACTIVATE)
		view_request(model, false, "set %s", way->set);
	return command == COMMAND_ACTIVATE || row_command(command, &rows->selected, devices_fit_rows_of(model), rows->page);
}
