/* layout_snapshot.c: a snapshot's own memory beside that of its buffers planned. */
#include <inttypes.h>

#include "layout_result.h"
#include "src/base/words.h"

static int64_t snapshot_said(const json_t *said, const char *key)
{
	return json_integer_in(said, key);
}

json_t *snapshot_json(json_t *said, int64_t arena)
{
	json_t *object = json_copy(said);
	int64_t reserved = snapshot_said(said, "reserved_bytes");
	if (object)
		json_object_set_new(object, "saved_bytes", json_integer(reserved ? reserved - arena : 0));
	return object;
}

static void print_bytes(FILE *stream, const char *what, int64_t bytes, const char *remark)
{
	fprintf(stream, "%-14s%12s  %16" PRId64 " bytes%s%s\n", what, BYTES(bytes), bytes,
		*remark ? "; " : "", remark);
}

static void print_head(const json_t *said, FILE *stream)
{
	int64_t devices = snapshot_said(said, "devices");
	fprintf(stream, "PyTorch memory snapshot: %" PRId64 " buffers in %" PRId64 " events of device %" PRId64,
		snapshot_said(said, "buffers"), snapshot_said(said, "events"), snapshot_said(said, "device"));
	if (devices > 1)
		fprintf(stream, " (of %" PRId64 " with events; --device N takes another)", devices);
	fprintf(stream, "\n%" PRId64 " of them were there before the first event, %" PRId64 " are behind the last\n",
		snapshot_said(said, "before"), snapshot_said(said, "after"));
}

/* The places that hold most of what was asked for at the peak. */
static void print_places(const json_t *said, FILE *stream)
{
	const json_t *places = json_object_get(said, "peak_places"), *place;
	size_t i;
	if (json_array_size(places))
		fputs("\nalive at the peak, by the program's place that asked for it\n", stream);
	json_array_foreach(places, i, place) {
		int64_t bytes = snapshot_said(place, "bytes"), buffers = snapshot_said(place, "buffers");
		const char *text = json_text_in(place, "place");
		fprintf(stream, "  %12s  %5.1f %%  %7" PRId64 " buffer%s  %s\n", BYTES(bytes),
			100 * (double)bytes / (double)snapshot_said(said, "peak_bytes"), buffers, buffers == 1 ? " " : "s",
			text && *text ? text : "without a stack trace");
	}
}

static void print_plan(int64_t reserved, int64_t alignment, const struct layout *layout, FILE *stream)
{
	char remark[120] = "";
	snprintf(
		remark, sizeof remark, "the same buffers planned, aligned at %" PRId64 ", by %s", alignment, layout->strategy);
	print_bytes(stream, "arena", layout->arena, remark);
	print_bytes(stream, "bound", layout->proof.bound,
		proof_closed(&layout->proof) ? "proved: no layout needs less than the arena" : "no layout needs less");
	if (reserved > layout->arena) {
		PRINT_TO(remark, "%.1f %% of what was reserved", 100 * (double)(reserved - layout->arena) / (double)reserved);
		print_bytes(stream, "saved", reserved - layout->arena, remark);
	}
}

void snapshot_print(const json_t *said, int64_t alignment, const struct layout *layout, FILE *stream)
{
	int64_t reserved = snapshot_said(said, "reserved_bytes"), lost = snapshot_said(said, "fragmentation_bytes");
	const char *grows = json_text_in(said, "grows");
	char remark[120] = "";
	print_head(said, stream);
	print_bytes(stream, "asked for", snapshot_said(said, "peak_bytes"),
		"the trace's peak, sizes as they were asked for");
	print_bytes(stream, "allocated", snapshot_said(said, "allocated_bytes"), "the same, rounded up to 512 each");
	if (reserved) {
		print_bytes(stream, "reserved", reserved, "the most that segments had");
		PRINT_TO(remark, "%.1f %% of what was reserved", 100 * (double)lost / (double)reserved);
		print_bytes(stream, "fragmentation", lost, remark);
	}
	if (grows)
		fprintf(stream, "%-14s  %s\n", "grows", grows);
	if (layout)
		print_plan(reserved, alignment, layout, stream);
	print_places(said, stream);
}
