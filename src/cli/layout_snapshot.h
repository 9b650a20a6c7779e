/* layout_snapshot.h: what `tidemark layout` says of a PyTorch memory snapshot. */
#pragma once

#include <jansson.h>

#include "solver/layout/layout.h"
#include "src/read/snapshot/snapshot.h"

/* What is said of a snapshot: its facts, and the places in the source that hold most at its peak. */
#define SNAPSHOT_PLACES 10
struct snapshot_report {
	struct snapshot_facts facts;
	uint32_t places;
	struct {
		char text[200];
		int64_t bytes;
		uint32_t buffers;
	} place[SNAPSHOT_PLACES];   /* text: "" without a stack trace */
};

/* Fills places from the facts. OK or NO_MEMORY. */
enum status snapshot_report_places(
	struct snapshot_report *report, const struct snapshot *snapshot, const struct buffers_csv *csv);
/* The facts as members of a JSON object; NULL when out of memory. */
json_t *snapshot_json(const struct snapshot_report *report, int64_t arena);
/* Some lines: what the trace had, what the plan needs, what fragmentation cost, who holds the peak. layout: NULL where
 * none was found. */
void snapshot_print(const struct snapshot_report *report, int64_t alignment, const struct layout *layout, FILE *stream);
