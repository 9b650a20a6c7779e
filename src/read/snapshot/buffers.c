/* buffers.c: from the events of a device to buffers with lives. */
#include <inttypes.h>

#include "snapshot.h"

#define ROW_MOST 96 /* bytes of "id,lower,upper,size" with numbers of 64 bits */

/* Open addressing: address -> the buffer that lies there now, NONE where it is free again. */
struct live {
	int64_t *address;
	uint32_t *buffer; /* NONE where none; slots are taken for ever, used tells them from empty ones */
	bool *used;
	size_t mask, count;
};

struct builder {
	struct buffers_csv *csv;
	struct snapshot_facts *facts;
	struct error *error;
	struct live live;
	int64_t end; /* the step behind the last event */
	int64_t sum; /* of all sizes */
	/* Bytes alive, as asked for and rounded up: those from before the first event, all of which are known at the end
	 * only, and how many more there are now and were at most: fewer than none, where such are freed. */
	int64_t before[2], now[2], most[2];
};

static void snapshot_buffers_count(int64_t bytes[2], int64_t size, int sign)
{
	bytes[0] += sign * size;
	bytes[1] += sign * align_up(size, SNAPSHOT_ALIGNMENT);
}

static void live_free(struct live *live)
{
	mem_free(live->address);
	mem_free(live->buffer);
	mem_free(live->used);
}

static size_t live_slot(const struct live *live, int64_t address)
{
	size_t slot = (size_t)hash_mix((uint64_t)address) & live->mask;
	while (live->used[slot] && live->address[slot] != address)
		slot = (slot + 1) & live->mask;
	return slot;
}

/* Twice the room where half of it is taken. What was taken before lies elsewhere then. */
static enum status live_reserve(struct live *live, struct error *error)
{
	if (live->address && live->count * 2 <= live->mask)
		return OK;
	size_t slots = live->address ? (live->mask + 1) * 2 : 1024;
	struct live grown = { mem_alloc(slots, sizeof *live->address), mem_alloc(slots, sizeof *live->buffer),
		mem_alloc(slots, sizeof *live->used), slots - 1, live->count };
	bool fine = grown.address && grown.buffer && grown.used;
	for (size_t i = 0; fine && live->address && i <= live->mask; i++)
		if (live->used[i]) {
			size_t slot = live_slot(&grown, live->address[i]);
			grown.used[slot] = true;
			grown.address[slot] = live->address[i];
			grown.buffer[slot] = live->buffer[i];
		}
	if (!fine) {
		live_free(&grown);
		return fail_memory(error);
	}
	live_free(live);
	*live = grown;
	return OK;
}

static enum status snapshot_buffers_add(struct builder *builder, int64_t lower, int64_t upper, int64_t size,
	struct snapshot_origin origin, uint32_t *buffer)
{
	struct buffers *buffers = &builder->csv->buffers;
	int64_t rounded = align_up(size, SNAPSHOT_ALIGNMENT);
	if (__builtin_add_overflow(builder->sum, rounded, &builder->sum) || builder->sum > BYTES_MAX)
		return refuse(builder->error, "the sizes of the events add up to more than 2^60 bytes");
	*buffer = buffers->n++;
	buffers->lower[*buffer] = lower;
	buffers->upper[*buffer] = upper;
	buffers->size[*buffer] = size;
	builder->facts->origin[*buffer] = origin;
	builder->facts->alive[*buffer] = builder->now[1];
	snapshot_buffers_count(origin.before ? builder->before : builder->now, size, 1);
	return OK;
}

/* The memory of a buffer that is alive is given back. */
static void snapshot_buffers_end(struct builder *builder, uint32_t buffer, int64_t step)
{
	builder->csv->buffers.upper[buffer] = step;
	snapshot_buffers_count(builder->now, builder->csv->buffers.size[buffer], -1);
}

static enum status on_alloc(struct builder *builder, const struct snapshot_event *event, int64_t step)
{
	struct live *live = &builder->live;
	size_t slot = live_slot(live, event->address);
	/* Its free is not in the trace, but the address is used again. */
	if (live->used[slot] && live->buffer[slot] != NONE)
		snapshot_buffers_end(builder, live->buffer[slot], step);
	live->count += !live->used[slot];
	live->used[slot] = true;
	live->address[slot] = event->address;
	return snapshot_buffers_add(builder, step, builder->end, event->size,
		(struct snapshot_origin){ event->address, event->stack, false }, &live->buffer[slot]);
}

static enum status on_free(struct builder *builder, const struct snapshot_event *event, int64_t step)
{
	struct live *live = &builder->live;
	size_t slot = live_slot(live, event->address);
	if (live->used[slot] && live->buffer[slot] != NONE) {
		snapshot_buffers_end(builder, live->buffer[slot], step);
		live->buffer[slot] = NONE;
		return OK;
	}
	/* Nothing was allocated there since the trace began, and nothing freed: it was there before. */
	bool before = !live->used[slot] && step > 0;
	live->count += !live->used[slot];
	live->used[slot] = true;
	live->address[slot] = event->address;
	live->buffer[slot] = NONE;
	builder->facts->before += before;
	snapshot_buffers_count(builder->now, before ? event->size : 0, -1);
	uint32_t buffer;
	return before ? snapshot_buffers_add(
						builder, 0, step, event->size, (struct snapshot_origin){ event->address, 0, true }, &buffer)
						: OK;
}

/* Blocks in use at the end of which the trace says nothing were there all the time. */
static enum status add_blocks(struct builder *builder, const struct snapshot *snapshot)
{
	struct live *live = &builder->live;
	enum status status = OK;
	FOR(i, snapshot->segments) {
		const struct snapshot_segment *segment = &snapshot->segment[i];
		uint64_t address = (uint64_t)segment->address;
		for (uint32_t k = 0; k < segment->blocks && status == OK && segment->device == builder->facts->device; k++) {
			const struct snapshot_block *block = &snapshot->block[segment->first_block + k];
			int64_t at = block->placed ? block->address : (int64_t)address;
			size_t slot = live_slot(live, at);
			uint32_t buffer;
			address += (uint64_t)block->size;
			if (!block->active || live->used[slot])
				continue;
			builder->facts->before++;
			status = snapshot_buffers_add(
				builder, 0, builder->end, block->size, (struct snapshot_origin){ at, block->stack, true }, &buffer);
		}
	}
	return status;
}

/* The event that gives memory back: free_completed, or free_requested in a trace that has nothing else. */
static enum snapshot_action free_action(const struct snapshot_event *event, uint32_t events)
{
	FOR(i, events)
		if (event[i].action == SNAPSHOT_FREE_COMPLETED)
			return SNAPSHOT_FREE_COMPLETED;
	return SNAPSHOT_FREE_REQUESTED;
}

static void note_peak(struct builder *builder, int64_t step)
{
	if (builder->now[0] > builder->most[0])
		builder->facts->peak_event = step;
	FOR_INT(k, 2)
		builder->most[k] = LARGER(builder->now[k], builder->most[k]);
}

static enum status snapshot_buffers_follow(struct builder *builder, const struct snapshot_event *event, uint32_t events)
{
	enum snapshot_action freeing = free_action(event, events);
	enum status status = OK;
	builder->most[0] = builder->most[1] = INT64_MIN;
	for (uint32_t i = 0; i < events && status == OK; i++) {
		TRY(live_reserve(&builder->live, builder->error));
		if (event[i].action == SNAPSHOT_ALLOC)
			status = on_alloc(builder, &event[i], i);
		else if (event[i].action == freeing)
			status = on_free(builder, &event[i], i);
		note_peak(builder, i);
	}
	return status;
}

/* ---- what the trace says itself ---- */

/* The largest sum of segments: those of the end, less and more what the events before did. */
static enum status find_reserved(
	const struct snapshot *snapshot, const struct snapshot_event *event, struct builder *builder)
{
	int64_t now = 0, most = 0, least = 0, end = 0;
	bool known = false, wide = false;
	for (uint32_t i = 0; i < builder->facts->events && !wide; i++) {
		bool more = event[i].action == SNAPSHOT_SEGMENT_ALLOC || event[i].action == SNAPSHOT_SEGMENT_MAP;
		bool less = event[i].action == SNAPSHOT_SEGMENT_FREE || event[i].action == SNAPSHOT_SEGMENT_UNMAP;
		if (more)
			builder->facts->segments = event[i].action == SNAPSHOT_SEGMENT_MAP ? "expandable" : "default";
		now += more ? event[i].size : less ? -event[i].size : 0;
		most = LARGER(now, most);
		least = SMALLER(now, least);
		wide = now > BYTES_MAX || now < -BYTES_MAX;
	}
	for (uint32_t i = 0; i < snapshot->segments && !wide; i++)
		if (snapshot->segment[i].device == builder->facts->device) {
			end += snapshot->segment[i].bytes;
			known = true;
			wide = end > BYTES_MAX;
		}
	if (wide)
		return refuse(builder->error, "the sizes of the segments add up to more than 2^60 bytes");
	/* Nothing reserved can have been negative. */
	int64_t start = known && end - now > -least ? end - now : -least;
	builder->facts->reserved = start + most;
	return OK;
}

/* What was there before the first event is known now, and belongs to all sums. */
static void snapshot_buffers_find_peaks(struct builder *builder)
{
	const struct buffers *buffers = &builder->csv->buffers;
	struct snapshot_facts *facts = builder->facts;
	FOR(i, buffers->n) {
		facts->alive[i] += builder->before[1];
		facts->after += buffers->upper[i] == builder->end;
	}
	facts->peak = builder->before[0] + builder->most[0];
	facts->rounded_peak = builder->before[1] + builder->most[1];
}

/* ---- as a CSV ---- */

/* Rows as they would stand in a file. */
enum status snapshot_rows(struct buffers_csv *csv, struct error *error)
{
	static const char header[] = "id,lower,upper,size";
	const struct buffers *buffers = &csv->buffers;
	if (!(ROOM(&csv->arena, csv->row, (size_t)buffers->n + 1) && ROOM(&csv->arena, csv->id, (size_t)buffers->n + 1)))
		return fail_memory(error);
	FOR(i, buffers->n) {
		char text[ROW_MOST];
		int id = PRINT_TO(text, "%" PRIu32, i);
		int length = id +
			snprintf(text + id, sizeof text - (size_t)id, ",%" PRId64 ",%" PRId64 ",%" PRId64, buffers->lower[i],
				buffers->upper[i], buffers->size[i]);
		char *row = arena_text(&csv->arena, text, (size_t)length);
		if (!row)
			return fail_memory(error);
		csv->row[i] = (struct slice){ row, (size_t)length };
		csv->id[i] = (struct slice){ row, (size_t)id };
	}
	csv->header = (struct slice){ header, sizeof header - 1 };
	csv->columns = csv->offset_column = 4;
	return OK;
}

static enum status snapshot_buffers_allocate(struct builder *builder, size_t most)
{
	struct buffers *buffers = &builder->csv->buffers;
	struct arena *arena = &builder->csv->arena;
	return ROOM(arena, buffers->lower, most) && ROOM(arena, buffers->upper, most) && ROOM(arena, buffers->size, most) &&
		ROOM(arena, builder->facts->origin, most) &&
		ROOM(arena, builder->facts->alive, most) ? OK : fail_memory(builder->error);
}

static const struct snapshot_trace *find_trace(const struct snapshot *snapshot, int64_t device)
{
	const struct snapshot_trace *found = NULL;
	FOR(i, snapshot->traces) {
		const struct snapshot_trace *trace = &snapshot->trace[i];
		if (device < 0 ? !found || trace->events > found->events : trace->device == device)
			found = trace;
	}
	return found;
}

enum status snapshot_buffers(const struct snapshot *snapshot, int64_t device, struct buffers_csv *csv,
	struct snapshot_facts *facts, struct error *error)
{
	*csv = (struct buffers_csv){ 0 };
	*facts = (struct snapshot_facts){ 0 };
	const struct snapshot_trace *trace = find_trace(snapshot, device);
	if (!trace)
		return refuse(error, "the snapshot has no events of device %" PRId64, device);
	*facts = (struct snapshot_facts){ .device = trace->device, .devices = snapshot->traces, .events = trace->events };
	const struct snapshot_event *event = snapshot->event + trace->first;
	struct builder builder = { .csv = csv, .facts = facts, .error = error, .end = trace->events };
	enum status status = snapshot_buffers_allocate(&builder, (size_t)trace->events + snapshot->blocks + 1);
	if (status == OK)
		status = snapshot_buffers_follow(&builder, event, trace->events);
	if (status == OK)
		status = add_blocks(&builder, snapshot);
	live_free(&builder.live);
	if (status == OK)
		status = find_reserved(snapshot, event, &builder);
	facts->buffers = csv->buffers.n;
	if (status != OK)
		return status;
	snapshot_buffers_find_peaks(&builder);
	if (trace->grows)
		PRINT_TO(facts->grows, "%s", trace->grows);
	struct words words = { facts->grows, sizeof facts->grows, 0 };
	return trace->grows ? OK : snapshot_growth(snapshot, trace, csv, facts->origin, &words, error);
}
