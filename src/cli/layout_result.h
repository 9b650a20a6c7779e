/* layout_result.h: buffers read and laid out, and the object that says the result: what `tidemark layout` and the check of its files share. */
#pragma once

#include <jansson.h>

#include "solver/layout/pools/pools.h"
#include "layout_snapshot.h"
#include "src/read/problems/buffers_csv.h"
#include "src/read/input.h"

/* Without --time the exact search stops at this effort: some ten seconds. */
#define COMMAND_EFFORT LAYOUT_EFFORT(5)

/* What is asked for, and what the buffers were read from. */
struct layout_request {
	struct layout_options options;
	struct slice pool[POOLS_MOST]; /* names */
	int64_t room[POOLS_MOST];    /* their capacities, 0: none */
	uint32_t pools;
	int64_t device;              /* of a snapshot, -1: any */
	double seconds;              /* of --time, 0: none */
	bool snapshot;               /* it was read from one */
	struct snapshot_report report; /* of it */
};

/* Bytes, at least one, with the units of knobs. */
bool layout_parse_bytes(const char *text, int64_t *bytes);
/* NAME or NAME:BYTES, a new name each time; the text is kept. */
bool layout_parse_pool(struct layout_request *request, const char *text);

/* Reads a CSV or a snapshot; sets the alignment where none is asked for. BAD_INPUT with the line, NO_MEMORY. */
enum status layout_read(struct layout_request *request, const char *path, struct buffers_csv *csv, struct error *error);
enum status layout_read_input(struct layout_request *request, struct input *input, struct buffers_csv *csv, struct error *error);

/* As layout_solve(), with the file's links; as layout_solve_pools(). The result is to be freed in any case. */
enum status layout_solve_one(const struct layout_request *request, const struct buffers_csv *csv, struct control *control, struct linked_layout *result, struct error *error);
enum status layout_solve_all_pools(const struct layout_request *request, const struct buffers_csv *csv, struct control *control, struct pooled_layout *result, struct error *error);

/* Offsets of the file's buffers; NULL where there are none. */
const int64_t *layout_offsets(const struct linked_layout *result);
/* Calls visit for each of the file's buffers in the core. */
void layout_each_of_core(const struct buffers_csv *csv, const struct linked_layout *result, void (*visit)(void *context, struct slice id), void *context);
/* Whether a second, independent computation confirms that the core needs what the certificate says. */
bool layout_core_confirmed(const struct layout_request *request, const struct buffers_csv *csv, const struct linked_layout *result);

/* The objects of --json; NULL, or with members left out, when out of memory. */
json_t *layout_json(const struct layout_request *request, const struct buffers_csv *csv, const struct linked_layout *result, bool limited, double time);
json_t *layout_pools_json(const struct layout_request *request, const struct buffers_csv *csv, const struct pooled_layout *result, bool limited, double time);
