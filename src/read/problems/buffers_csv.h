/* buffers_csv.h: MiniMalloc's CSV of buffers: id, lower, upper, size and optional columns, in any order.
 *
 * A header names the columns: id|buffer|buffer_id, lower|start|begin, upper (exclusive) or end (inclusive; so are then
 * the ends of gaps), size, and optionally alignment, hint (negative: none), offset (pinned there; negative or empty:
 * free) and gaps, separated by spaces: a-b, absent from a to b. Other columns are kept and ignored.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     buffers_csv   reads and writes MiniMalloc's CSV */
#pragma once

#include <stdio.h>

#include "solver/layout/layout.h"

/* A cell or a line of the text. */
struct slice { const char *text; size_t length; };

struct buffers_csv {
	struct buffers buffers;
	struct slice header;
	struct slice *row; /* [n] */
	struct slice *id;  /* [n] */
	unsigned *line;    /* [n] of the file */
	int offset_column; /* where the offset is written; columns where there was none */
	int columns;
	struct arena arena; /* holds everything, a copy of the text included */
};

/* BAD_INPUT with the line in *error. Free with buffers_csv_free(), after an error too. O(text). */
enum status buffers_csv_read(const char *text, size_t size, struct buffers_csv *csv, struct error *error);
void buffers_csv_free(struct buffers_csv *csv);
#define buffers_csv_drop buffers_csv_free

/* The rows as they were read, with the offsets [n] in their column, the last one if there was none. False when the
 * stream has an error. */
bool buffers_csv_write(const struct buffers_csv *csv, const int64_t *offset, FILE *stream);
