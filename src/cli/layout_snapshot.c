/* layout_snapshot.c: a snapshot's own memory beside that of its buffers planned. */
#include <inttypes.h>

#include "layout_result.h"
#include "src/base/safe_text.h"
#include "src/base/words.h"

enum status snapshot_report_places(
	struct snapshot_report *report, const struct snapshot *snapshot, const struct buffers_csv *csv)
{
	struct snapshot_holder holder[SNAPSHOT_PLACES];
	uint32_t count = snapshot->stacks.frames ? snapshot_holders(snapshot, csv, &report->facts, holder, SNAPSHOT_PLACES)
		: 0;
	if (count == NONE)
		return NO_MEMORY;
	report->places = count;
	FOR(i, count) {
		stacks_frame_text(&snapshot->stacks, holder[i].frame, report->place[i].text, sizeof report->place[i].text);
		report->place[i].bytes = holder[i].bytes;
		report->place[i].buffers = holder[i].buffers;
	}
	return OK;
}

/* Reserved beyond what was allocated at most. */
static int64_t fragmentation(const struct snapshot_facts *facts)
{
	return facts->reserved > facts->rounded_peak ? facts->reserved - facts->rounded_peak : 0;
}

static json_t *places_json(const struct snapshot_report *report)
{
	json_t *list = json_array();
	FOR(i, report->places) {
		char clean[800];
		text_clean(report->place[i].text, clean, sizeof clean);
		json_array_append_new(list,
			json_pack("{s:s, s:I, s:I}", "place", clean, "bytes", (json_int_t)report->place[i].bytes, "buffers",
				(json_int_t)report->place[i].buffers));
	}
	return list;
}

json_t *snapshot_json(const struct snapshot_report *report, int64_t arena)
{
	const struct snapshot_facts *facts = &report->facts;
	json_t *object = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "device",
		(json_int_t)facts->device, "devices", (json_int_t)facts->devices, "events", (json_int_t)facts->events,
		"buffers", (json_int_t)facts->buffers, "before", (json_int_t)facts->before, "after", (json_int_t)facts->after,
		"peak_bytes", (json_int_t)facts->peak, "allocated_bytes", (json_int_t)facts->rounded_peak, "reserved_bytes",
		(json_int_t)facts->reserved, "fragmentation_bytes", (json_int_t)fragmentation(facts), "saved_bytes",
		(json_int_t)(facts->reserved ? facts->reserved - arena : 0));
	if (object && *facts->grows)
		json_object_set_new(object, "grows", json_string(facts->grows));
	if (object)
		json_object_set_new(object, "peak_places", places_json(report));
	return object;
}

static void print_bytes(FILE *stream, const char *what, int64_t bytes, const char *remark)
{
	fprintf(stream, "%-14s%12s  %16" PRId64 " bytes%s%s\n", what, BYTES(bytes), bytes,
		*remark ? "; " : "", remark);
}

static void print_head(const struct snapshot_facts *facts, FILE *stream)
{
	fprintf(stream, "PyTorch memory snapshot: %" PRIu32 " buffers in %" PRIu32 " events of device %" PRIu32,
		facts->buffers, facts->events, facts->device);
	if (facts->devices > 1)
		fprintf(stream, " (of %" PRIu32 " with events; --device N takes another)", facts->devices);
	fprintf(stream, "\n%" PRIu32 " of them were there before the first event, %" PRIu32 " are behind the last\n",
		facts->before, facts->after);
}

/* The places that hold most of what was asked for at the peak. */
static void print_places(const struct snapshot_report *report, FILE *stream)
{
	if (report->places)
		fputs("\nalive at the peak, by the program's place that asked for it\n", stream);
	FOR(i, report->places) {
		char clean[800];
		fprintf(stream, "  %12s  %5.1f %%  %7" PRIu32 " buffer%s  %s\n",
			BYTES(report->place[i].bytes),
			100 * (double)report->place[i].bytes / (double)report->facts.peak, report->place[i].buffers,
			report->place[i].buffers == 1 ? " " : "s",
			*report->place[i].text ? text_clean(report->place[i].text, clean, sizeof clean) : "without a stack trace");
	}
}

static void print_plan(const struct snapshot_facts *facts, int64_t alignment, const struct layout *layout, FILE *stream)
{
	char remark[120] = "";
	snprintf(
		remark, sizeof remark, "the same buffers planned, aligned at %" PRId64 ", by %s", alignment, layout->strategy);
	print_bytes(stream, "arena", layout->arena, remark);
	print_bytes(stream, "bound", layout->proof.bound,
		proof_closed(&layout->proof) ? "proved: no layout needs less than the arena" : "no layout needs less");
	if (facts->reserved > layout->arena) {
		PRINT_TO(remark, "%.1f %% of what was reserved",
			100 * (double)(facts->reserved - layout->arena) / (double)facts->reserved);
		print_bytes(stream, "saved", facts->reserved - layout->arena, remark);
	}
}

void snapshot_print(const struct snapshot_report *report, int64_t alignment, const struct layout *layout, FILE *stream)
{
	const struct snapshot_facts *facts = &report->facts;
	char remark[120] = "";
	print_head(facts, stream);
	print_bytes(stream, "asked for", facts->peak, "the trace's peak, sizes as they were asked for");
	print_bytes(stream, "allocated", facts->rounded_peak, "the same, rounded up to 512 each");
	if (facts->reserved) {
		print_bytes(stream, "reserved", facts->reserved, "the most that segments had");
		PRINT_TO(remark, "%.1f %% of what was reserved",
			100 * (double)fragmentation(facts) / (double)facts->reserved);
		print_bytes(stream, "fragmentation", fragmentation(facts), remark);
	}
	if (*facts->grows)
		fprintf(stream, "%-14s  %s\n", "grows", facts->grows);
	if (layout)
		print_plan(facts, alignment, layout, stream);
	print_places(report, stream);
}
