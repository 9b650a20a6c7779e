/* buffers_csv.c: MiniMalloc's CSV of buffers. */
#include <inttypes.h>

#include "buffers_csv.h"

#define COLUMNS_MOST 64

enum column { COLUMN_ID, COLUMN_LOWER, COLUMN_UPPER, COLUMN_SIZE, COLUMN_ALIGNMENT, COLUMN_HINT, COLUMN_OFFSET,
	COLUMN_GAPS, COLUMN_KINDS };

static const struct { const char *name; enum column column; bool inclusive; } column_names[] = {
	{ "id", COLUMN_ID, false }, { "buffer", COLUMN_ID, false }, { "buffer_id", COLUMN_ID, false },
	{ "lower", COLUMN_LOWER, false }, { "start", COLUMN_LOWER, false }, { "begin", COLUMN_LOWER, false },
	{ "upper", COLUMN_UPPER, false }, { "end", COLUMN_UPPER, true }, { "size", COLUMN_SIZE, false },
	{ "alignment", COLUMN_ALIGNMENT, false }, { "hint", COLUMN_HINT, false }, { "offset", COLUMN_OFFSET, false },
	{ "gaps", COLUMN_GAPS, false },
};

struct reader {
	struct buffers_csv *csv;
	struct error *error;
	const char *next, *end;
	unsigned line;
	int at[COLUMN_KINDS]; /* where each column stands, -1: nowhere */
	bool inclusive;       /* ends of lives and gaps are inclusive */
	uint32_t pieces;
	size_t piece_room;
};

#define NOWHERE ((struct slice){ "", 0 })

/* Says what is wrong, and in which cell if any. */
static enum status fail_at(struct reader *reader, const char *what, struct slice cell)
{
	enum status status = refuse(reader->error, "%s%s%.*s", what, cell.length ? ": " : "",
				  (int)SMALLER(60, cell.length), cell.text);
	if (reader->error)
		reader->error->line = reader->line;
	return status;
}

static struct slice buffers_csv_trim(struct slice slice)
{
	while (slice.length && (slice.text[0] == ' ' || slice.text[0] == '\t')) {
		slice.text++;
		slice.length--;
	}
	while (slice.length && memchr(" \t\r", slice.text[slice.length - 1], 3))
		slice.length--;
	return slice;
}

/* Splits off what stands before the separator; false when nothing is left. A missing separator ends the rest. */
static bool buffers_csv_split(struct slice *rest, char separator, struct slice *part)
{
	if (!rest->text)
		return false;
	const char *found = memchr(rest->text, separator, rest->length);
	*part = *rest;
	if (found) {
		part->length = (size_t)(found - rest->text);
		rest->text += part->length + 1;
		rest->length -= part->length + 1;
	} else {
		*rest = (struct slice){ NULL, 0 };
	}
	return true;
}

static bool buffers_csv_parse_number(struct slice cell, int64_t *number)
{
	cell = buffers_csv_trim(cell);
	size_t i = cell.length && (cell.text[0] == '-' || cell.text[0] == '+');
	int64_t value = 0;
	if (i == cell.length)
		return false;
	for (; i < cell.length; i++) {
		if (cell.text[i] < '0' || cell.text[i] > '9' || __builtin_mul_overflow(value, 10, &value)
		    || __builtin_add_overflow(value, cell.text[i] - '0', &value))
			return false;
	}
	*number = cell.text[0] == '-' ? -value : value;
	return true;
}

/* ---- header ---- */

static enum status read_column_name(struct reader *reader, struct slice cell, int index)
{
	cell = buffers_csv_trim(cell);
	FOR(i, COUNT_OF(column_names)) {
		if (strlen(column_names[i].name) != cell.length || memcmp(column_names[i].name, cell.text, cell.length))
			continue;
		enum column column = column_names[i].column;
		if (reader->at[column] >= 0)
			return fail_at(reader, "a column appears twice", cell);
		reader->at[column] = index;
		reader->inclusive |= column_names[i].inclusive;
	}
	return OK;
}

static enum status buffers_csv_read_header(struct reader *reader, struct slice line)
{
	static const char *const required[] = { "id", "lower", "upper or end", "size" };
	struct slice rest = line, cell;
	int columns = 0;
	FOR_INT(i, COLUMN_KINDS)
		reader->at[i] = -1;
	while (buffers_csv_split(&rest, ',', &cell)) {
		if (columns == COLUMNS_MOST)
			return fail_at(reader, "too many columns", line);
		TRY(read_column_name(reader, cell, columns++));
	}
	for (int i = 0; i <= COLUMN_SIZE; i++)
		if (reader->at[i] < 0)
			return fail_at(reader, "the header lacks a column", (struct slice){ required[i], strlen(required[i]) });
	struct buffers_csv *csv = reader->csv;
	csv->header = line;
	csv->columns = columns;
	csv->offset_column = reader->at[COLUMN_OFFSET] < 0 ? columns : reader->at[COLUMN_OFFSET];
	return OK;
}

/* Arrays for at most so many rows. */
static enum status buffers_csv_allocate(struct reader *reader, uint32_t rows)
{
	struct buffers_csv *csv = reader->csv;
	struct buffers *buffers = &csv->buffers;
	struct arena *arena = &csv->arena;
	bool done = ROOMS(arena, rows, csv->row, csv->id, csv->line, buffers->lower, buffers->upper, buffers->size);
	if (reader->at[COLUMN_ALIGNMENT] >= 0)
		done &= (buffers->alignment = arena_alloc(arena, rows, sizeof *buffers->alignment)) != NULL;
	if (reader->at[COLUMN_HINT] >= 0)
		done &= (buffers->hint = arena_alloc(arena, rows, sizeof *buffers->hint)) != NULL;
	if (reader->at[COLUMN_OFFSET] >= 0)
		done &= (buffers->fixed = arena_alloc(arena, rows, sizeof *buffers->fixed)) != NULL;
	if (reader->at[COLUMN_GAPS] >= 0)
		done &= (buffers->piece_start = arena_alloc(arena, (size_t)rows + 1, sizeof *buffers->piece_start)) != NULL;
	return done ? OK : fail_memory(reader->error);
}

/* ---- gaps ---- */

COMPARATOR(compare_gaps, struct piece, COMPARE(a->lower, b->lower, 0))

static enum status add_piece(struct reader *reader, struct piece piece)
{
	struct buffers *buffers = &reader->csv->buffers;
	NEEDED(reader->error, mem_reserve(&buffers->piece, &reader->piece_room, reader->pieces + 1, sizeof *buffers->piece));
	buffers->piece[reader->pieces++] = piece;
	return OK;
}

static enum status read_gap(struct reader *reader, struct slice cell, uint32_t i, struct piece *gap)
{
	const struct buffers *buffers = &reader->csv->buffers;
	struct slice rest = cell, lower, upper;
	if (!buffers_csv_split(&rest, '-', &lower) || !buffers_csv_split(&rest, '-', &upper) || rest.text ||
		!buffers_csv_parse_number(lower, &gap->lower) || !buffers_csv_parse_number(upper, &gap->upper))
		return fail_at(reader, "a gap is not of the form a-b", cell);
	gap->upper += reader->inclusive && gap->upper < BYTES_MAX;
	if (gap->lower >= gap->upper || gap->lower < buffers->lower[i] || gap->upper > buffers->upper[i])
		return fail_at(reader, "a gap is empty or outside its buffer's life", cell);
	return OK;
}

/* The pieces between the sorted gaps. */
static enum status pieces_between(struct reader *reader, uint32_t i, const struct piece *gap, uint32_t gaps)
{
	struct buffers *buffers = &reader->csv->buffers;
	int64_t step = buffers->lower[i];
	FOR(k, gaps) {
		if (gap[k].lower < step)
			return fail_at(reader, "gaps overlap", NOWHERE);
		if (gap[k].lower > step)
			TRY(add_piece(reader, (struct piece){ step, gap[k].lower }));
		step = gap[k].upper;
	}
	if (step < buffers->upper[i])
		TRY(add_piece(reader, (struct piece){ step, buffers->upper[i] }));
	/* A buffer that is never there takes no place. */
	if (reader->pieces == buffers->piece_start[i])
		buffers->size[i] = 0;
	return OK;
}

static enum status read_gaps(struct reader *reader, struct slice cell, uint32_t i)
{
	uint32_t gaps = 0, most = 1;
	struct slice rest = buffers_csv_trim(cell), part;
	FOR_SIZE(k, rest.length)
		most += rest.text[k] == ' ';
	HELD struct piece *MAKE(gap, most);
	enum status status = gap ? OK : fail_memory(reader->error);
	while (status == OK && buffers_csv_split(&rest, ' ', &part)) {
		part = buffers_csv_trim(part);
		if (part.length)
			status = read_gap(reader, part, i, &gap[gaps++]);
	}
	if (status == OK && gaps) {
		qsort(gap, gaps, sizeof *gap, compare_gaps);
		status = pieces_between(reader, i, gap, gaps);
	}
	reader->csv->buffers.piece_start[i + 1] = reader->pieces;
	return status;
}

/* ---- rows ---- */

static enum status read_cell(struct reader *reader, const struct slice *cell, enum column column, int64_t *number)
{
	static const char *const wrong[] = { [COLUMN_LOWER] = "lower is not a number",
		[COLUMN_UPPER] = "upper is not a number",
		[COLUMN_SIZE] = "size is not a number",
		[COLUMN_ALIGNMENT] = "alignment is not a number",
		[COLUMN_HINT] = "hint is not a number",
		[COLUMN_OFFSET] = "offset is not a number" };
	struct slice value = cell[reader->at[column]];
	bool optional = column == COLUMN_HINT || column == COLUMN_OFFSET;
	*number = -1;
	if (optional && buffers_csv_trim(value).length == 0)
		return OK;
	if (!buffers_csv_parse_number(value, number))
		return fail_at(reader, wrong[column], value);
	if (*number > BYTES_MAX || *number < -BYTES_MAX)
		return fail_at(reader, "a number is out of range", value);
	return OK;
}

static enum status buffers_csv_read_numbers(struct reader *reader, const struct slice *cell, uint32_t i)
{
	struct buffers *buffers = &reader->csv->buffers;
	int64_t *const value[COLUMN_KINDS] = { [COLUMN_LOWER] = buffers->lower, [COLUMN_UPPER] = buffers->upper,
		[COLUMN_SIZE] = buffers->size, [COLUMN_ALIGNMENT] = buffers->alignment, [COLUMN_HINT] = buffers->hint,
		[COLUMN_OFFSET] = buffers->fixed };
	for (enum column column = COLUMN_LOWER; column <= COLUMN_OFFSET; column++) {
		if (reader->at[column] < 0)
			continue;
		TRY(read_cell(reader, cell, column, &value[column][i]));
	}
	buffers->upper[i] += reader->inclusive;
	if (buffers->size[i] < 0)
		return fail_at(reader, "size is negative", cell[reader->at[COLUMN_SIZE]]);
	if (buffers->lower[i] >= buffers->upper[i])
		return fail_at(reader, "a life is empty", reader->csv->id[i]);
	if (buffers->alignment && buffers->alignment[i] < 1)
		return fail_at(reader, "alignment is less than 1", cell[reader->at[COLUMN_ALIGNMENT]]);
	return OK;
}

static enum status buffers_csv_read_row(struct reader *reader, struct slice line)
{
	struct buffers_csv *csv = reader->csv;
	struct slice cell[COLUMNS_MOST], rest = line, part;
	int columns = 0;
	while (buffers_csv_split(&rest, ',', &part)) {
		if (columns == csv->columns)
			return fail_at(reader, "more columns than the header", line);
		cell[columns++] = part;
	}
	if (columns < csv->columns)
		return fail_at(reader, "fewer columns than the header", line);
	uint32_t i = csv->buffers.n;
	csv->row[i] = line;
	csv->line[i] = reader->line;
	csv->id[i] = buffers_csv_trim(cell[reader->at[COLUMN_ID]]);
	enum status status = buffers_csv_read_numbers(reader, cell, i);
	if (status == OK && reader->at[COLUMN_GAPS] >= 0)
		status = read_gaps(reader, cell[reader->at[COLUMN_GAPS]], i);
	csv->buffers.n += status == OK;
	return status;
}

static bool buffers_csv_next_line(struct reader *reader, struct slice *line)
{
	if (reader->next == reader->end)
		return false;
	const char *found = memchr(reader->next, '\n', (size_t)(reader->end - reader->next));
	const char *stop = found ? found : reader->end;
	*line = (struct slice){ reader->next, (size_t)(stop - reader->next) };
	if (line->length && line->text[line->length - 1] == '\r')
		line->length--;
	reader->next = found ? found + 1 : reader->end;
	reader->line++;
	return true;
}

static int buffers_csv_compare_ids(const void *left, const void *right)
{
	const struct slice *a = *(const struct slice *const *)left, *b = *(const struct slice *const *)right;
	int order = memcmp(a->text, b->text, SMALLER(a->length, b->length));
	return order ? order : a->length != b->length ? (a->length > b->length ? 1 : -1) : (a > b) - (a < b);
}

/* Refuses the first row whose id another has, too: results would name both. O(n log n). */
static enum status refuse_twins(struct reader *reader)
{
	const struct buffers_csv *csv = reader->csv;
	uint32_t n = csv->buffers.n, second = n, first = n;
	HELD const struct slice **id = mem_alloc(n, sizeof *id);
	NEEDED(reader->error, id);
	FOR(i, n)
		id[i] = &csv->id[i];
	qsort(id, n, sizeof *id, buffers_csv_compare_ids);
	FOR_FROM(i, 1, n)
		if (id[i]->length == id[i - 1]->length && memcmp(id[i]->text, id[i - 1]->text, id[i]->length) == 0 &&
			id[i] < csv->id + second) {
			second = (uint32_t)(id[i] - csv->id);
			first = (uint32_t)(id[i - 1] - csv->id);
		}
	if (second == n)
		return OK;
	char text[60];
	reader->line = csv->line[second];
	PRINT_TO(text, "there are two buffers of one id, the other in line %u", csv->line[first]);
	return fail_at(reader, text, csv->id[second]);
}

static enum status buffers_csv_read_all(struct reader *reader)
{
	struct slice line = { NULL, 0 };
	uint64_t rows = 0;
	if (memchr(reader->next, '\0', (size_t)(reader->end - reader->next)))
		return fail_at(reader, "a NUL byte", NOWHERE);
	for (const char *c = reader->next; c < reader->end; c++)
		rows += *c == '\n';
	if (rows >= UINT32_MAX / 4)
		return fail_at(reader, "too many rows", NOWHERE);
	while (buffers_csv_trim(line).length == 0)
		if (!buffers_csv_next_line(reader, &line))
			return fail_at(reader, "the file is empty", NOWHERE);
	TRY(buffers_csv_read_header(reader, line));
	TRY(buffers_csv_allocate(reader, (uint32_t)rows + 1));
	while (buffers_csv_next_line(reader, &line))
		if (buffers_csv_trim(line).length)
			TRY(buffers_csv_read_row(reader, line));
	return refuse_twins(reader);
}

enum status buffers_csv_read(const char *text, size_t size, struct buffers_csv *csv, struct error *error)
{
	*csv = (struct buffers_csv){ 0 };
	if (error)
		*error = (struct error){ 0 };
	char *copy = arena_text(&csv->arena, text, size);
	NEEDED(error, copy);
	struct reader reader = { .csv = csv, .error = error, .next = copy, .end = copy + size };
	if (size >= 3 && memcmp(copy, "\xef\xbb\xbf", 3) == 0)
		reader.next += 3;
	return buffers_csv_read_all(&reader);
}

void buffers_csv_free(struct buffers_csv *csv)
{
	mem_free(csv->buffers.piece);
	arena_free(&csv->arena);
	*csv = (struct buffers_csv){ 0 };
}

/* ---- writing ---- */

/* A line with its offset replaced, or one behind the last cell. */
static void write_line(const struct buffers_csv *csv, struct slice line, const char *offset, FILE *stream)
{
	struct slice text;
	for (int column = 0; column <= csv->columns; column++) {
		bool there = buffers_csv_split(&line, ',', &text);
		if (column == csv->offset_column)
			text = (struct slice){ offset, strlen(offset) };
		else if (!there)
			continue;
		if (column > 0)
			putc(',', stream);
		fwrite(text.text, 1, text.length, stream);
	}
	putc('\n', stream);
}

bool buffers_csv_write(const struct buffers_csv *csv, const int64_t *offset, FILE *stream)
{
	write_line(csv, csv->header, "offset", stream);
	FOR(i, csv->buffers.n) {
		char text[24];
		PRINT_TO(text, "%" PRId64, offset[i]);
		write_line(csv, csv->row[i], text, stream);
	}
	return !ferror(stream);
}
