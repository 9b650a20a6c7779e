/* devices_traffic.c: what a device sends, and how its streams are busy. */
#include "devices.h"

char *time_text(int64_t picoseconds, char *text, size_t size)
{
	static const struct { int64_t scale; const char *unit; } units[] = {
		{ PICOSECONDS, "s" }, { PICOSECONDS / 1000, "ms" }, { PICOSECONDS / 1000000, "us" } };
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

enum { COUNT_END = 30, BYTES_END = 42, TIME_END = 54 };

static void devices_traffic_draw_line(struct frame *frame, int y, enum role role, const char *axis, const char *name,
	uint32_t count, int64_t bytes, int64_t time)
{
	frame_text(frame, 1, y, 5, role, axis);
	frame_text(frame, 6, y, COUNT_END - 12, role, name);
	frame_right(frame, COUNT_END, y, role, COUNT(count));
	frame_bytes(frame, BYTES_END, y, role, bytes);
	frame_right(frame, TIME_END, y, role, TIME(time));
}

/* What each stream of a device does in the simulated step. Returns the next row. */
static int draw_streams(struct frame *frame, int y, const struct plan *plan)
{
	const struct step_whole *time = &plan->time->whole;
	frame_text(frame, 1, y, COUNT_END - 10, ROLE_LABEL, "stream");
	frame_right(frame, COUNT_END, y, ROLE_LABEL, "busy");
	frame_right(frame, BYTES_END, y, ROLE_LABEL, "exposed");
	frame_right(frame, TIME_END, y++, ROLE_LABEL, "idle");
	for (uint32_t s = 0; s < plan->time->model.streams; s++, y++) {
		frame_text(frame, 1, y, COUNT_END - 10, ROLE_TEXT, plan_time_stream(plan->transformed->sharded, s));
		frame_right(frame, COUNT_END, y, ROLE_TEXT, TIME(time->busy[s]));
		if (s > 0)
			frame_right(frame, BYTES_END, y, time->exposed[s] ? ROLE_TEXT : ROLE_FAINT,
				TIME(time->exposed[s]));
		frame_right(frame, TIME_END, y, ROLE_FAINT, TIME(time->total - time->busy[s]));
	}
	frame_text(frame, 1, y, COUNT_END - 10, ROLE_TITLE, "step");
	frame_right(frame, COUNT_END, y++, ROLE_TITLE, TIME(time->total));
	return y;
}

void devices_draw_traffic(struct frame *frame, const struct model *model)
{
	const struct sharded *sharded = model->plan->transformed->sharded;
	uint32_t count = 0;
	int y = 1;
	frame_text(frame, 1, 0, 5, ROLE_LABEL, "axis");
	frame_text(frame, 6, 0, 16, ROLE_LABEL, "collective");
	frame_right(frame, COUNT_END, 0, ROLE_LABEL, "count");
	frame_right(frame, BYTES_END, 0, ROLE_LABEL, "sent");
	frame_right(frame, TIME_END, 0, ROLE_LABEL, "time");
	FOR(a, sharded->sharding.mesh.axes)
		FOR_INT(c, COLLECTIVE_COUNT) {
			const struct traffic *traffic = &model->plan->traffic.of[a][c];
			if (traffic->count == 0)
				continue;
			devices_traffic_draw_line(frame, y++, ROLE_TEXT, sharded->sharding.mesh.axis[a].name, collective_names[c],
				traffic->count, traffic->bytes, traffic->time);
			count += traffic->count;
		}
	devices_traffic_draw_line(
		frame, y++, ROLE_TITLE, "all", "", count, model->plan->traffic.bytes, model->plan->traffic.time);
	if (!model->plan->time)
		return;
	y = draw_streams(frame, y + 1, model->plan);
	if (y + 1 < frame->window.height)
		frame_wrapped(frame, (struct rect){ 1, y + 1, frame->window.width - 1, 4 }, ROLE_FAINT,
			"per device and step, simulated in the plan's order; exposed is what computation waits for");
}
