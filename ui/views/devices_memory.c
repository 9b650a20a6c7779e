/* devices_memory.c: what a device holds at its peak by category, and what it sends. */
#include "devices.h"

enum {
	NAMES = 22,
	AMOUNT = 9,
	SHARE = 10,
	HELD_FROM = 45,
	HELD_LEAST = 40,
	HELD_KIND = 12,
	HELD_PLACE = 14,
	HELD_WIDE = 72,
	HELD_SHAPE = 22,
	HELD_WIDEST = 110
};

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

/* Bytes alive at the peak that collectives have made: buffers of communication. They count in their tensor's category
 * too. */
static int64_t buffers_at_peak(const struct plan *plan)
{
	int64_t sum = 0;
	for (uint32_t s = 0; s < plan->graph->storages; s++)
		if (plan->graph->storage[s].phase == PHASE_COMMUNICATION && plan->graph->storage[s].allocator != NONE &&
			alive_at(plan, s, plan->ordered->peak_position))
			sum += plan->laid_out->bytes[s];
	return sum;
}

static void devices_memory_draw_amount(struct frame *frame, int y, int64_t bytes, int64_t whole)
{
	char text[32];
	frame_right(frame, NAMES + AMOUNT, y, ROLE_TEXT, bytes_text(bytes, text, sizeof text));
	snprintf(text, sizeof text, "%5.1f %%", whole ? 100.0 * (double)bytes / (double)whole : 0.0);
	if (frame->window.width > NAMES + AMOUNT + SHARE)
		frame_right(frame, NAMES + AMOUNT + SHARE, y, ROLE_FAINT, text);
}

static void draw_held(struct frame *frame, struct rect rect, int y, const struct model *model, uint32_t storage)
{
	const struct plan *plan = model->plan;
	const struct tensor *tensor = &plan->graph->tensor[plan->graph->storage[storage].root];
	int x = rect.x + AMOUNT + 2, right = rect.x + rect.width;
	char text[120];
	frame_right(frame, rect.x + AMOUNT, y, ROLE_TEXT, bytes_text(plan->laid_out->bytes[storage], text, sizeof text));
	frame_text(frame, x, y, HELD_KIND - 2, item_role(plan, storage), kind_names[plan->graph->storage[storage].kind]);
	x += HELD_KIND;
	if (rect.width >= HELD_WIDE + HELD_SHAPE)
		frame_name(frame, right -= HELD_SHAPE, y, HELD_SHAPE - 1, ROLE_FAINT, tensor_shape_text(tensor, text, sizeof text));
	if (rect.width >= HELD_WIDE && plan->transformed->sharded)
		frame_text(frame, right -= HELD_PLACE, y, HELD_PLACE - 1, ROLE_FAINT,
			sharded_place_here(
				plan->transformed->sharded, plan->graph, plan->graph->storage[storage].root, text, sizeof text));
	frame_name(frame, x, y, right - x - 1, ROLE_TEXT, tensor->name);
}

/* The largest storages alive at the peak. */
static void draw_largest(struct frame *frame, struct rect rect, const struct model *model)
{
	int y = rect.y, x = rect.x + AMOUNT + 2 + HELD_KIND, right = rect.x + rect.width;
	if (rect.height < 2)
		return;
	frame_text(frame, rect.x + 1, y, rect.width, ROLE_LABEL, "largest of these");
	if (rect.width >= HELD_WIDE + HELD_SHAPE)
		frame_text(frame, right -= HELD_SHAPE, y, HELD_SHAPE, ROLE_LABEL, "shape");
	if (rect.width >= HELD_WIDE && model->plan->transformed->sharded)
		frame_text(frame, right - HELD_PLACE, y, HELD_PLACE, ROLE_LABEL, "placement");
	if (rect.width >= HELD_WIDE)
		frame_text(frame, x, y, 10, ROLE_LABEL, "tensor");
	for (uint32_t i = 0; i < model->index->present && y + 1 < rect.y + rect.height; i++)
		if (model->index->by_bytes[i] < model->plan->graph->storages && alive_at(model->plan, model->index->by_bytes[i],
			model->plan->ordered->peak_position))
			draw_held(frame, rect, ++y, model, model->index->by_bytes[i]);
}

int devices_draw_beside(struct frame *frame, const struct model *model)
{
	int width = frame->window.width, height = frame->window.height, room = width - HELD_FROM - 1;
	if (room < HELD_LEAST)
		return width;
	bool figures = room >= HELD_LEAST + FIGURES_WIDE + 2;
	int held = !figures ? room : room - FIGURES_WIDE - 2 < HELD_WIDEST ? room - FIGURES_WIDE - 2 : HELD_WIDEST;
	draw_largest(frame, (struct rect){ HELD_FROM, 0, held, height }, model);
	if (figures)
		figures_draw_list(frame, (struct rect){ HELD_FROM + held + 2, 0, room - held - 2, height }, model);
	return HELD_FROM - 2;
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
		devices_memory_draw_amount(frame, y++, category[i], plan_peak(plan));
	}
	if (!plan->transformed->sharded)
		return y;
	frame_text(frame, 3, y, NAMES - 3, ROLE_FAINT, "made by collectives");
	devices_memory_draw_amount(frame, y++, buffers_at_peak(plan), plan_peak(plan));
	return y;
}

int devices_draw_notes(struct frame *frame, int y, const struct plan *plan)
{
	for (const char *at = plan->notes; *at && y < frame->window.height; at += strcspn(at, "\n") + 1) {
		char text[400];
		snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\n"), at);
		frame_glyph(frame, 1, y, GLYPH_SEPARATOR, ROLE_FAINT);
		frame_wrapped(frame, (struct rect){ 3, y, frame->window.width - 4, frame->window.height - y }, ROLE_LABEL, text);
		y += text_rows(text, frame->window.width - 4);
	}
	return y;
}

/* ---- collectives ---- */

enum { COUNT_END = 30, BYTES_END = 42, TIME_END = 54, SENT_FROM = 58, SENT_LEAST = 80, SENT_MOST = 150 };

static void devices_memory_draw_line(struct frame *frame, int y, enum role role, const char *axis, const char *name,
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
			devices_memory_draw_line(frame, y++, ROLE_TEXT, sharded->sharding.mesh.axis[a].name, collective_names[c],
				traffic->count, traffic->bytes, traffic->time);
			count += traffic->count;
		}
	devices_memory_draw_line(
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
