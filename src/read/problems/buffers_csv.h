/* buffers_csv.h: MiniMalloc's CSV of buffers: id, lower, upper, size and optional columns, in any order.
 *
 * A header names the columns: id|buffer|buffer_id, lower|start|begin, upper (exclusive) or end (inclusive; so are then
 * the ends of gaps), size, and optionally alignment, hint (negative: none), offset (pinned there; negative or empty:
 * free) and gaps, separated by spaces: a-b, absent from a to b, or a-b@lo:hi, only bytes lo to hi of it are there.
 * Ours are group (a name: buffers of the same group lie next to each other, in order of the file) and inplace (ids, separated
 * by |, of buffers of which it may take one's place). Other columns are kept and ignored.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     buffers_csv   reads and writes MiniMalloc's CSV
 *     problem_json  reads IOPDDL problems
 */
#pragma once

#include <stdio.h>

#include "solver/layout/links.h"

#define POOLS_MOST 64

/* A cell or a line of the text. */
struct slice { const char *text; size_t length; };

struct buffers_csv {
	struct buffers buffers;
	struct slice header;
	struct slice *row;         /* [n] */
	struct slice *id;          /* [n] */
	unsigned *line;            /* [n] of the file */
	struct layout_links links;
	int offset_column;         /* where the offset is written; columns where there was none */
	int inplace_column, pool_column; /* -1: there is none */
	struct slice *pool;        /* [pools] names in order of appearance, or as declared */
	uint32_t pools;
	struct csr candidates;     /* [n] rows of pools; start NULL without the column */
	int64_t *spill_cost;       /* [n] or NULL */
	int columns;
	struct arena arena;        /* holds everything, a copy of the text included */
};

/* declared: names of the pools that there are, in their order; NULL: those that column pool names, in order of appearance.
 * BAD_INPUT with the line in *error. Free with buffers_csv_free(), after an error too. O(text). */
enum status buffers_csv_read(const char *text, size_t size, const struct slice *declared, uint32_t pools, struct buffers_csv *csv,
			     struct error *error);
void buffers_csv_free(struct buffers_csv *csv);
#define buffers_csv_drop buffers_csv_free

/* What was chosen for each buffer; donor and pool may be NULL. */
struct buffers_result { const int64_t *offset; const uint32_t *donor, *pool; };

/* The rows as they were read, with the offsets in their column, the last one if there was none; in column inplace the id of the
 * buffer whose place was taken, in column pool, behind that of offset if there was none, the pool's name. False when the
 * stream has an error. */
bool buffers_csv_write(const struct buffers_csv *csv, const struct buffers_result *result, FILE *stream);
