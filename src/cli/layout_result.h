/* layout_result.h: buffers read and laid out, and the object that says the result: what `tidemark layout` and the check
 * of its files share. */
#pragma once

#include <jansson.h>

#include "src/read/input.h"
#include "src/read/snapshot.h"

/* layout_snapshot: what `tidemark layout` says of a PyTorch memory snapshot. */

/* What the trace says itself, and what an arena saves; NULL when out of memory. */
json_t *snapshot_json(json_t *said, int64_t arena);
/* Some lines: what the trace had, what the plan needs, what fragmentation cost, who holds the peak. layout: NULL where
 * none was found. */
void snapshot_print(const json_t *said, int64_t alignment, const struct layout *layout, FILE *stream);

/* Without --time the exact search stops at this effort: some ten seconds. */
#define COMMAND_EFFORT LAYOUT_EFFORT(5)

/* What is asked for, and what the buffers were read from. */
struct layout_request {
	struct layout_options options;
	int64_t device; /* of a snapshot, -1: any */
	double seconds; /* of --time, 0: none */
	json_t *said;   /* what a snapshot says itself, to be freed; NULL: the buffers are a CSV's */
};

/* Bytes, at least one, with the units of knobs. */
bool layout_parse_bytes(const char *text, int64_t *bytes);

/* Reads a CSV or a snapshot; sets the alignment where none is asked for. BAD_INPUT with the line, NO_MEMORY. */
enum status layout_read(struct layout_request *request, const char *path, struct buffers_csv *csv, struct error *error);
enum status layout_read_input(
	struct layout_request *request, struct input *input, struct buffers_csv *csv, struct error *error);

/* Calls visit for each of the file's buffers in the core. */
void layout_each_of_core(const struct buffers_csv *csv, const struct layout *layout,
	void (*visit)(void *context, struct slice id), void *context);
/* Whether a second, independent computation confirms that the core needs what the certificate says. */
bool layout_core_confirmed(const struct layout_request *request, const struct buffers_csv *csv,
	const struct layout *layout);

/* The object of --json; NULL, or with members left out, when out of memory. */
json_t *layout_json(const struct layout_request *request, const struct buffers_csv *csv, const struct layout *layout,
	bool limited, double time);
