/* devices_traffic.c: what a device sends, and how its streams are busy. */
#include "devices.h"

char *time_text(int64_t picoseconds, char *text, size_t size)
{
	static const struct {
		int64_t scale;
		const char *unit;
	} units[] = { { PICOSECONDS, "s" }, { PICOSECONDS / 1000, "ms" }, { PICOSECONDS / 1000000, "us" } };
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

enum { COUNT_END = 30, BYTES_END = 42, TIME_END = 54, SENT_FROM = 58, SENT_LEAST = 80, SENT_MOST = 150 };

static void devices_traffic_draw_line(struct frame *frame, int y, enum role role, const char *axis, const char *name,
	uint32_t count, int64_t bytes, int64_t time)
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
	const struct step_whole *time = &plan->time->whole;
	char text[32];
	frame_text(frame, 1, y, COUNT_END - 10, ROLE_LABEL, "stream");
	frame_right(frame, COUNT_END, y, ROLE_LABEL, "busy");
	frame_right(frame, BYTES_END, y, ROLE_LABEL, "exposed");
	frame_right(frame, TIME_END, y++, ROLE_LABEL, "idle");
	for (uint32_t s = 0; s < plan->time->model.streams; s++, y++) {
		frame_text(frame, 1, y, COUNT_END - 10, ROLE_TEXT, plan_time_stream(plan->transformed->sharded, s));
		frame_right(frame, COUNT_END, y, ROLE_TEXT, time_text(time->busy[s], text, sizeof text));
		if (s > 0)
			frame_right(frame, BYTES_END, y, time->exposed[s] ? ROLE_TEXT : ROLE_FAINT,
				time_text(time->exposed[s], text, sizeof text));
		frame_right(frame, TIME_END, y, ROLE_FAINT, time_text(time->total - time->busy[s], text, sizeof text));
	}
	frame_text(frame, 1, y, COUNT_END - 10, ROLE_TITLE, "step");
	frame_right(frame, COUNT_END, y++, ROLE_TITLE, time_text(time->total, text, sizeof text));
	return y;
}

struct sent { int64_t time, bytes; uint32_t op, axis; enum collective_kind kind; };

static int compare_sent(const void *left, const void *right)
{
	const struct sent *a = left, *b = right;
	return a->time != b->time ? a->time < b->time ? 1 : -1 : a->op < b->op ? -1 : 1;
}

static void draw_sent(struct frame *frame, struct rect rect, int y, const struct model *model, const struct sent *sent)
{
	const struct plan *plan = model->plan;
	const struct op *op = &plan->graph->op[sent->op];
	char text[32];
	int x = rect.x;
	frame_right(frame, x += 10, y, ROLE_TEXT, time_text(sent->time, text, sizeof text));
	frame_right(frame, x += 11, y, ROLE_TEXT, bytes_text(sent->bytes, text, sizeof text));
	frame_right(frame, x += 8, y, ROLE_FAINT, count_text(plan->ordered->position[sent->op], text));
	frame_text(frame, x += 2, y, 4, ROLE_TEXT, plan->transformed->sharded->sharding.mesh.axis[sent->axis].name);
	frame_text(frame, x += 5, y, 15, ROLE_TEXT, collective_names[sent->kind]);
	x += 16;
	x += frame_name(frame, x, y, 44, ROLE_TEXT, op->name) + 2;
	frame_name(frame, x, y, rect.x + rect.width - x, ROLE_FAINT, op->module);
}

/* The collectives that take longest, one by one. */
static void draw_longest(struct frame *frame, struct rect rect, const struct model *model)
{
	const struct plan *plan = model->plan;
	HELD struct sent *sent = mem_alloc(plan->graph->ops + 1, sizeof *sent);
	uint32_t count = 0;
	for (uint32_t op = 0; op < plan->graph->ops && sent; op++) {
		struct sent *at = &sent[count];
		if (!traffic_collective(
				&plan->transformed->sharded->sharding.mesh, plan->graph, op, &at->axis, &at->kind, &at->bytes) ||
			at->kind == COLLECTIVE_SLICE)
			continue;
		at->op = op;
		at->time = collective_time(&plan->transformed->sharded->sharding.mesh.axis[at->axis], at->kind, at->bytes);
		count++;
	}
	if (count > 0) {
		qsort(sent, count, sizeof *sent, compare_sent);
		static const struct { int end; const char *name; } ends[] = { { 10, "time" }, { 21, "bytes" }, { 29, "op" } };
		for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
			frame_right(frame, rect.x + ends[i].end, rect.y, ROLE_LABEL, ends[i].name);
		frame_text(frame, rect.x + 31, rect.y, rect.width - 31, ROLE_LABEL, "the longest, one by one");
	}
	for (uint32_t i = 0; i < count && (int)i + 1 < rect.height; i++)
		draw_sent(frame, rect, rect.y + 1 + (int)i, model, &sent[i]);
}

int devices_draw_traffic(struct frame *frame, const struct model *model)
{
	if (frame->window.width >= SENT_FROM + SENT_LEAST) {
		int room = frame->window.width - SENT_FROM - 1;
		draw_longest(frame, (struct rect){ SENT_FROM, 0, room < SENT_MOST ? room : SENT_MOST, frame->window.height }, model);
	}
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
			devices_traffic_draw_line(frame, y++, ROLE_TEXT, sharded->sharding.mesh.axis[a].name, collective_names[c],
				traffic->count, traffic->bytes, traffic->time);
			count += traffic->count;
		}
	devices_traffic_draw_line(
		frame, y++, ROLE_TITLE, "all", "", count, model->plan->traffic.bytes, model->plan->traffic.time);
	if (!model->plan->time)
		return y;
	y = draw_streams(frame, y + 1, model->plan);
	if (y + 1 < frame->window.height)
		frame_wrapped(frame,
			(struct rect){
				1, y + 1, frame->window.width >= SENT_FROM + SENT_LEAST ? TIME_END : frame->window.width - 1, 4 },
			ROLE_FAINT,
			"per device and step, simulated in the plan's order; exposed is what computation waits for, the rest runs "
			"beside it");
	return y;
}
