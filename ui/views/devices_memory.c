/* devices_memory.c: what a device holds at its peak by category, and what it sends. */
#include "devices.h"

enum { NAMES = 22, AMOUNT = 9, SHARE = 10 };

char *time_text(int64_t picoseconds, char *text, size_t size)
{
	static const struct { int64_t scale; const char *unit; } units[] = { { PICOSECONDS, "s" }, { PICOSECONDS / 1000, "ms" }, { PICOSECONDS / 1000000, "us" } };
	int i = 0;
	while (i < 2 && picoseconds < units[i].scale)
		i++;
	double value = (double)picoseconds / (double)units[i].scale;
	if (picoseconds == 0)
		snprintf(text, size, "0 s");
	else
		snprintf(text, size, value < 10 ? "%.2f %s" : value < 100 ? "%.1f %s" : "%.0f %s", value, units[i].unit);
	return text;
}

/* Bytes alive at the peak that collectives have made: buffers of communication. They count in their tensor's category too. */
static int64_t buffers_at_peak(const struct plan *plan)
{
	int64_t sum = 0;
	for (uint32_t s = 0; s < plan->graph->storages; s++)
		if (plan->graph->storage[s].phase == PHASE_COMMUNICATION && plan->graph->storage[s].allocator != NONE && alive_at(plan, s, plan->ordered->peak_position))
			sum += plan->laid_out->bytes[s];
	return sum;
}

static void draw_amount(struct frame *frame, int y, int64_t bytes, int64_t whole)
{
	char text[32];
	frame_right(frame, NAMES + AMOUNT, y, ROLE_TEXT, bytes_text(bytes, text, sizeof text));
	snprintf(text, sizeof text, "%5.1f %%", whole ? 100.0 * (double)bytes / (double)whole : 0.0);
	if (frame->window.width > NAMES + AMOUNT + SHARE)
		frame_right(frame, NAMES + AMOUNT + SHARE, y, ROLE_FAINT, text);
}

int devices_draw_memory(struct frame *frame, const struct model *model)
{
	const struct plan *plan = model->plan;
	const int64_t *category = &model->index->category[(size_t)plan->ordered->peak_position * CATEGORIES];
	int y = 0;
	frame_text(frame, 1, y++, frame->window.width, ROLE_LABEL, "at the peak");
	for (int i = 0; i < CATEGORIES; i++) {
		if (category[i] == 0)
			continue;
		frame_cell(frame, 1, y, frame->mono ? (uint32_t)category_letters[i] : ' ', role_of_category(i, 0),
			   frame->mono ? ROLE_TEXT : role_of_category(i, 0));
		frame_text(frame, 3, y, NAMES - 3, ROLE_TEXT, category_names[i]);
		draw_amount(frame, y++, category[i], plan_peak(plan));
	}
	if (!plan->transformed->sharded)
		return y;
	frame_text(frame, 3, y, NAMES - 3, ROLE_FAINT, "made by collectives");
	draw_amount(frame, y++, buffers_at_peak(plan), plan_peak(plan));
	return y;
}

int devices_draw_notes(struct frame *frame, int y, const struct plan *plan)
{
	for (const char *at = plan->transformed->notes; *at && y < frame->window.height; at += strcspn(at, "\n") + 1) {
		char text[400];
		snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\n"), at);
		frame_glyph(frame, 1, y, GLYPH_SEPARATOR, ROLE_FAINT);
		frame_wrapped(frame, (struct rect){ 3, y, frame->window.width - 4, frame->window.height - y }, ROLE_LABEL, text);
		y += text_rows(text, frame->window.width - 4);
	}
	return y;
}

/* ---- collectives --------------------------------------------------------------------------------------------- */

enum { COUNT_END = 30, BYTES_END = 42, TIME_END = 54 };

static void draw_line(struct frame *frame, int y, enum role role, const char *axis, const char *name, uint32_t count, int64_t bytes, int64_t time)
{
	char text[32];
	frame_text(frame, 1, y, 5, role, axis);
	frame_text(frame, 6, y, COUNT_END - 12, role, name);
	frame_right(frame, COUNT_END, y, role, count_text(count, text));
	frame_right(frame, BYTES_END, y, role, bytes_text(bytes, text, sizeof text));
	frame_right(frame, TIME_END, y, role, time_text(time, text, sizeof text));
}

/* What each stream of a device does in the simulated step. Returns the next row. */
static int draw_streams(struct frame *frame, int y, const struct plan *plan)
{
	const struct step_time *time = &plan->time->time;
	char text[32];
	frame_text(frame, 1, y, COUNT_END - 10, ROLE_LABEL, "stream");
	frame_right(frame, COUNT_END, y, ROLE_LABEL, "busy");
	frame_right(frame, BYTES_END, y, ROLE_LABEL, "exposed");
	frame_right(frame, TIME_END, y++, ROLE_LABEL, "idle");
	for (uint32_t s = 0; s < plan->time->model.streams; s++, y++) {
		frame_text(frame, 1, y, COUNT_END - 10, ROLE_TEXT, plan_time_stream(plan->transformed->sharded, s));
		frame_right(frame, COUNT_END, y, ROLE_TEXT, time_text(time->busy[s], text, sizeof text));
		if (s > 0)
			frame_right(frame, BYTES_END, y, time->exposed[s] ? ROLE_TEXT : ROLE_FAINT, time_text(time->exposed[s], text, sizeof text));
		frame_right(frame, TIME_END, y, ROLE_FAINT, time_text(time->total - time->busy[s], text, sizeof text));
	}
	frame_text(frame, 1, y, COUNT_END - 10, ROLE_TITLE, "step");
	frame_right(frame, COUNT_END, y++, ROLE_TITLE, time_text(time->total, text, sizeof text));
	return y;
}

int devices_draw_traffic(struct frame *frame, const struct model *model)
{
	const struct sharded *sharded = model->plan->transformed->sharded;
	uint32_t count = 0;
	int y = 1;
	frame_text(frame, 1, 0, 5, ROLE_LABEL, "axis");
	frame_text(frame, 6, 0, 16, ROLE_LABEL, "collective");
	frame_right(frame, COUNT_END, 0, ROLE_LABEL, "count");
	frame_right(frame, BYTES_END, 0, ROLE_LABEL, "sent");
	frame_right(frame, TIME_END, 0, ROLE_LABEL, "time");
	for (uint32_t a = 0; a < sharded->sharding.mesh.axes; a++)
		for (int c = 0; c < COLLECTIVE_COUNT; c++) {
			const struct traffic *traffic = &model->plan->traffic.of[a][c];
			if (traffic->count == 0)
				continue;
			draw_line(frame, y++, ROLE_TEXT, sharded->sharding.mesh.axis[a].name, collective_names[c], traffic->count, traffic->bytes, traffic->time);
			count += traffic->count;
		}
	draw_line(frame, y++, ROLE_TITLE, "all", "", count, model->plan->traffic.bytes, model->plan->traffic.time);
	if (!model->plan->time)
		return y;
	y = draw_streams(frame, y + 1, model->plan);
	if (y + 1 < frame->window.height)
		frame_wrapped(frame, (struct rect){ 1, y + 1, frame->window.width - 1, 2 }, ROLE_FAINT,
			      "per device and step, simulated in the plan's order; exposed is what computation waits for, the rest runs beside it");
	return y;
}
