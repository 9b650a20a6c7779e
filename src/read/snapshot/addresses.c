/* addresses.c: the real addresses of a snapshot's buffers, as offsets in one memory.
 *
 * Segments lie anywhere in 64 bits of addresses. What segments and buffers ever covered is put together, without what
 * lies between. */
#include <stdlib.h>

#include "snapshot.h"

struct range { uint64_t from, to; int64_t base; };

static int addresses_compare(const void *a, const void *b)
{
	const struct range *left = a, *right = b;
	return left->from < right->from ? -1 : left->from > right->from;
}

/* Ranges so far, and then more that are not joined to them yet. */
struct ranges {
	struct range *range;
	uint32_t count;
	size_t room;
	bool wrong; /* one goes round the end of all addresses */
};

/* Ranges that overlap or touch become one. */
static void addresses_join(struct ranges *ranges)
{
	struct range *range = ranges->range;
	uint32_t kept = 0;
	if (ranges->count == 0) /* then there may be no memory at all, which qsort() doesn't take */
		return;
	qsort(range, ranges->count, sizeof *range, addresses_compare);
	FOR(i, ranges->count) {
		if (kept && range[i].from <= range[kept - 1].to)
			range[kept - 1].to = LARGER(range[i].to, range[kept - 1].to);
		else
			range[kept++] = range[i];
	}
	ranges->count = kept;
}

#define ADDRESSES_ROOM 65536

/* Millions of buffers lie at thousands of addresses: what is full is joined before it grows. */
static enum status addresses_add(struct ranges *ranges, int64_t address, int64_t bytes)
{
	if (bytes <= 0)
		return OK;
	if (ranges->count == ranges->room) {
		if (ranges->room)
			addresses_join(ranges);
		if (ranges->count >= ranges->room / 2 &&
			!mem_reserve(&ranges->range, &ranges->room, ranges->room ? ranges->room * 2 : ADDRESSES_ROOM, sizeof *ranges->range))
			return NO_MEMORY;
	}
	uint64_t from = (uint64_t)address, to = from + (uint64_t)bytes;
	ranges->wrong |= to < from;
	ranges->range[ranges->count++] = (struct range){ from, to, 0 };
	return OK;
}

static enum status addresses_collect(const struct snapshot *snapshot, const struct snapshot_trace *trace,
	const struct buffers_csv *csv, const struct snapshot_facts *facts, struct ranges *ranges)
{
	FOR(i, trace->events) {
		const struct snapshot_event *event = &snapshot->event[trace->first + i];
		if (event->action >= SNAPSHOT_SEGMENT_ALLOC)
			TRY(addresses_add(ranges, event->address, event->size));
	}
	FOR(i, snapshot->segments)
		if (snapshot->segment[i].device == trace->device)
			TRY(addresses_add(ranges, snapshot->segment[i].address, snapshot->segment[i].bytes));
	FOR(i, csv->buffers.n)
		TRY(addresses_add(ranges, facts->origin[i].address, csv->buffers.size[i]));
	return OK;
}

/* Each behind the one before; false where they are too large or go round. */
static bool addresses_stack_up(struct ranges *ranges)
{
	uint64_t base = 0;
	addresses_join(ranges);
	for (uint32_t i = 0; i < ranges->count && !ranges->wrong; i++) {
		struct range *range = &ranges->range[i];
		range->base = (int64_t)base;
		if (range->to - range->from > (uint64_t)BYTES_MAX - base)
			return false;
		base += range->to - range->from;
		base = (base + SNAPSHOT_ALIGNMENT - 1) / SNAPSHOT_ALIGNMENT * SNAPSHOT_ALIGNMENT;
		if (base > (uint64_t)BYTES_MAX)
			return false;
	}
	return !ranges->wrong;
}

enum status snapshot_addresses(
	const struct snapshot *snapshot, const struct snapshot_facts *facts, struct buffers_csv *csv, struct error *error)
{
	const struct snapshot_trace *trace = snapshot->trace;
	while (trace->device != facts->device)
		trace++;
	struct buffers *buffers = &csv->buffers;
	struct ranges ranges = { 0 };
	if (!ROOM(&csv->arena, buffers->hint, buffers->n) ||
		addresses_collect(snapshot, trace, csv, facts, &ranges) != OK) {
		mem_free(ranges.range);
		return fail_memory(error);
	}
	bool fine = addresses_stack_up(&ranges);
	FOR(i, buffers->n) {
		uint64_t address = (uint64_t)facts->origin[i].address;
		uint32_t low = 0, high = ranges.count;
		while (high - low > 1) {
			uint32_t middle = low + (high - low) / 2;
			*(ranges.range[middle].from <= address ? &low : &high) = middle;
		}
		buffers->hint[i] = fine && buffers->size[i] > 0
			? ranges.range[low].base + (int64_t)(address - ranges.range[low].from)
			: -1;
	}
	mem_free(ranges.range);
	return OK;
}
