/* view_devices.c: what each device holds: bars by category at its peak, against the memory cap. */
#include "view.h"

enum { LABELS = 10, AMOUNT = 9, BAR_MIN = 8 };

/* The full width of a bar stands for the cap, or for the peak where there is none or it is lower. */
static int64_t full_scale(const struct plan *plan)
{
	int64_t budget = plan_budget(plan), scale = plan->peak_bytes > plan->arena_bytes ? plan->peak_bytes : plan->arena_bytes;
	if (budget > scale)
		scale = budget;
	return scale > 0 ? scale : 1;
}

static int cells_of(int64_t bytes, int64_t scale, int width)
{
	return (int)((double)bytes / (double)scale * width + 0.5);
}

/* The categories alive at the peak, one after another. */
static void draw_bar(struct frame *frame, int x, int y, int width, const struct model *model)
{
	const struct plan *plan = model->plan;
	const int64_t *category = &model->index->category[(size_t)plan->peak_position * CATEGORIES];
	int64_t scale = full_scale(plan), sum = 0;
	for (int i = 0; i < CATEGORIES; i++) {
		int from = cells_of(sum, scale, width), to = cells_of(sum += category[i], scale, width);
		for (int column = from; column < to; column++)
			frame_cell(frame, x + column, y, frame->mono ? (uint32_t)category_letters[i] : ' ', role_of_category(i, 0),
				   frame->mono ? ROLE_TEXT : role_of_category(i, 0));
	}
	for (int column = cells_of(sum, scale, width); column < width; column++)
		frame_glyph(frame, x + column, y, GLYPH_DOT, ROLE_FAINT);
	int64_t budget = plan_budget(plan);
	if (budget >= 0 && budget < scale)
		frame_glyph(frame, x + cells_of(budget, scale, width), y, GLYPH_VERTICAL, ROLE_BUDGET);
}

static int draw_categories(struct frame *frame, int y, const struct model *model)
{
	const struct plan *plan = model->plan;
	const int64_t *category = &model->index->category[(size_t)plan->peak_position * CATEGORIES];
	frame_text(frame, 1, y++, frame->window.width, ROLE_LABEL, "at the peak");
	for (int i = 0; i < CATEGORIES; i++) {
		char text[32];
		if (category[i] == 0)
			continue;
		frame_cell(frame, 1, y, frame->mono ? (uint32_t)category_letters[i] : ' ', role_of_category(i, 0),
			   frame->mono ? ROLE_TEXT : role_of_category(i, 0));
		frame_text(frame, 3, y, 12, ROLE_TEXT, category_names[i]);
		frame_right(frame, 3 + 12 + AMOUNT, y, ROLE_TEXT, bytes_text(category[i], text, sizeof text));
		snprintf(text, sizeof text, "%5.1f %%", plan->peak_bytes ? 100.0 * (double)category[i] / (double)plan->peak_bytes : 0.0);
		frame_right(frame, 3 + 12 + AMOUNT + 10, y++, ROLE_FAINT, text);
	}
	return y;
}

static void devices_draw(void *state, struct model *model, struct frame *frame)
{
	(void)state;
	const struct plan *plan = model->plan;
	int width = frame->window.width, bar = width - LABELS - AMOUNT - 3, y = 1;
	char text[64], amount[32];
	if (plan->graph->ops == 0)
		return;
	frame_print(frame, 1, 0, ROLE_TITLE, "%lld device%s, strategy %s", (long long)plan->scenario.value[K_devices],
		    plan->scenario.value[K_devices] == 1 ? "" : "s",
		    knob_text(K_strategy, plan->scenario.value[K_strategy], text, sizeof text));
	frame_text(frame, 1, y + 1, LABELS, ROLE_TEXT, "device 0");
	if (bar >= BAR_MIN)
		draw_bar(frame, LABELS, y + 1, bar, model);
	frame_right(frame, width - 1, y + 1, ROLE_TITLE, bytes_text(plan->peak_bytes, text, sizeof text));
	int64_t budget = plan_budget(plan);
	if (budget >= 0)
		frame_print(frame, LABELS, y + 2, plan->peak_bytes > budget ? ROLE_BAD : ROLE_GOOD, "cap %s: %s", bytes_text(budget, amount, sizeof amount),
			    change_text(plan->peak_bytes - budget, text, sizeof text));
	else
		frame_text(frame, LABELS, y + 2, width - LABELS, ROLE_FAINT, "no cap; :set memory=80GiB gives one");
	y = draw_categories(frame, y + 4, model);
	const char *reason = knob_unavailable(K_strategy);
	if (reason)
		frame_wrapped(frame, (struct rect){ 1, y + 1, width - 1, 2 }, ROLE_WARN, reason);
	frame_wrapped(frame, (struct rect){ 1, y + (reason ? 3 : 1), width - 1, 2 }, ROLE_FAINT,
		      "the whole step runs on this device: nothing is communicated");
}

static bool devices_command(void *state, struct model *model, enum command_id command)
{
	(void)state;
	return view_command(model, command);
}

const struct view_ops view_devices = { "Devices", IN_DEVICES, 1, devices_draw, devices_command, NULL };
