/* layout_snapshot.c: a snapshot's own memory beside that of its buffers planned. */
#include <inttypes.h>

#include "layout_snapshot.h"
#include "src/base/bytes.h"

/* Reserved beyond what was allocated at most. */
static int64_t fragmentation(const struct snapshot_facts *facts)
{
	return facts->reserved > facts->rounded_peak ? facts->reserved - facts->rounded_peak : 0;
}

json_t *snapshot_json(const struct snapshot_facts *facts, int64_t arena)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "device", (json_int_t)facts->device, "devices",
			 (json_int_t)facts->devices, "events", (json_int_t)facts->events, "buffers", (json_int_t)facts->buffers, "before",
			 (json_int_t)facts->before, "after", (json_int_t)facts->after, "peak_bytes", (json_int_t)facts->peak, "allocated_bytes",
			 (json_int_t)facts->rounded_peak, "reserved_bytes", (json_int_t)facts->reserved, "fragmentation_bytes",
			 (json_int_t)fragmentation(facts), "saved_bytes", (json_int_t)(facts->reserved ? facts->reserved - arena : 0));
}

static void print_bytes(FILE *stream, const char *what, int64_t bytes, const char *remark)
{
	char text[32];
	fprintf(stream, "%-14s%12s  %16" PRId64 " bytes%s%s\n", what, bytes_text(bytes, text, sizeof text), bytes, *remark ? "; " : "", remark);
}

static void print_head(const struct snapshot_facts *facts, FILE *stream)
{
	fprintf(stream, "PyTorch memory snapshot: %" PRIu32 " buffers in %" PRIu32 " events of device %" PRIu32, facts->buffers, facts->events,
		facts->device);
	if (facts->devices > 1)
		fprintf(stream, " (of %" PRIu32 " with events; --device N takes another)", facts->devices);
	fprintf(stream, "\n%" PRIu32 " of them were there before the first event, %" PRIu32 " are behind the last\n", facts->before, facts->after);
}

void snapshot_print(const struct snapshot_facts *facts, int64_t alignment, const struct layout *layout, FILE *stream)
{
	char remark[120] = "";
	print_head(facts, stream);
	print_bytes(stream, "asked for", facts->peak, "the trace's peak, sizes as they were asked for");
	print_bytes(stream, "allocated", facts->rounded_peak, "the same, rounded up to 512 each");
	if (facts->reserved) {
		print_bytes(stream, "reserved", facts->reserved, "the most that segments had");
		snprintf(remark, sizeof remark, "%.1f %% of what was reserved", 100 * (double)fragmentation(facts) / (double)facts->reserved);
		print_bytes(stream, "fragmentation", fragmentation(facts), remark);
	}
	snprintf(remark, sizeof remark, "the same buffers planned, aligned at %" PRId64 ", by %s", alignment, layout->strategy);
	print_bytes(stream, "arena", layout->arena, remark);
	print_bytes(stream, "bound", layout->proof.bound, proof_closed(&layout->proof) ? "proved: no layout needs less than the arena" : "no layout needs less");
	if (facts->reserved > layout->arena) {
		snprintf(remark, sizeof remark, "%.1f %% of what was reserved", 100 * (double)(facts->reserved - layout->arena) / (double)facts->reserved);
		print_bytes(stream, "saved", facts->reserved - layout->arena, remark);
	}
}
