/* addresses.c: the real addresses of a snapshot's buffers, as offsets in one memory.
 *
 * Segments lie anywhere in 64 bits of addresses. What segments and buffers ever covered is put together, without what lies between.
 */
#include <stdlib.h>

#include "snapshot.h"

struct range { uint64_t from, to; int64_t base; };

static int compare(const void *a, const void *b)
{
	const struct range *left = a, *right = b;
	return left->from < right->from ? -1 : left->from > right->from;
}

static uint32_t collect(const struct snapshot *snapshot, const struct snapshot_trace *trace, const struct buffers_csv *csv, const struct snapshot_facts *facts, struct range *range)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < trace->events; i++) {
		const struct snapshot_event *event = &snapshot->event[trace->first + i];
		if (event->action >= SNAPSHOT_SEGMENT_ALLOC && event->size > 0)
			range[count++] = (struct range){ (uint64_t)event->address, (uint64_t)event->address + (uint64_t)event->size, 0 };
	}
	for (uint32_t i = 0; i < snapshot->segments; i++)
		if (snapshot->segment[i].device == trace->device && snapshot->segment[i].bytes > 0)
			range[count++] = (struct range){ (uint64_t)snapshot->segment[i].address, (uint64_t)snapshot->segment[i].address + (uint64_t)snapshot->segment[i].bytes, 0 };
	for (uint32_t i = 0; i < csv->buffers.n; i++)
		if (csv->buffers.size[i] > 0)
			range[count++] = (struct range){ (uint64_t)facts->origin[i].address, (uint64_t)facts->origin[i].address + (uint64_t)csv->buffers.size[i], 0 };
	return count;
}

/* Ranges that overlap or touch become one, each behind the one before; how many, 0 where they are too large or go round. */
static uint32_t join(struct range *range, uint32_t count)
{
	uint32_t kept = 0;
	uint64_t base = 0;
	qsort(range, count, sizeof *range, compare);
	for (uint32_t i = 0; i < count; i++) {
		if (range[i].to < range[i].from)
			return 0;
		if (kept && range[i].from <= range[kept - 1].to)
			range[kept - 1].to = range[i].to > range[kept - 1].to ? range[i].to : range[kept - 1].to;
		else
			range[kept++] = range[i];
	}
	for (uint32_t i = 0; i < kept; i++) {
		range[i].base = (int64_t)base;
		if (range[i].to - range[i].from > (uint64_t)BYTES_MAX - base)
			return 0;
		base += range[i].to - range[i].from;
		base = (base + SNAPSHOT_ALIGNMENT - 1) / SNAPSHOT_ALIGNMENT * SNAPSHOT_ALIGNMENT;
		if (base > (uint64_t)BYTES_MAX)
			return 0;
	}
	return kept;
}

enum status snapshot_addresses(const struct snapshot *snapshot, const struct snapshot_facts *facts, struct buffers_csv *csv, struct error *error)
{
	const struct snapshot_trace *trace = snapshot->trace;
	while (trace->device != facts->device)
		trace++;
	struct buffers *buffers = &csv->buffers;
	struct range *range = mem_alloc((size_t)trace->events + snapshot->segments + buffers->n, sizeof *range);
	buffers->hint = arena_alloc(&csv->arena, buffers->n, sizeof *buffers->hint);
	if (!range || !buffers->hint) {
		mem_free(range);
		return fail_memory(error);
	}
	uint32_t count = join(range, collect(snapshot, trace, csv, facts, range));
	for (uint32_t i = 0; i < buffers->n; i++) {
		uint64_t address = (uint64_t)facts->origin[i].address;
		uint32_t low = 0, high = count;
		while (high - low > 1) {
			uint32_t middle = low + (high - low) / 2;
			*(range[middle].from <= address ? &low : &high) = middle;
		}
		buffers->hint[i] = count && buffers->size[i] > 0 ? range[low].base + (int64_t)(address - range[low].from) : -1;
	}
	mem_free(range);
	return OK;
}
