/* frequency.c: one row for each value of a field. */
#include "frequency.h"

#include <ctype.h>

/* So many parts of a module's path tell it, "h.0" of "h.0.attn.c_proj", and more where one row would have most of all.
 */
enum { MODULE_PARTS = 2, MODULE_PARTS_MOST = 6, HEAD = 1, WIDE = 50 };

void frequency_free(struct frequency *frequency)
{
	mem_free(frequency->row);
	frequency->row = NULL;
	frequency->rows = 0;
}

static uint32_t value_length(const struct frequency *frequency, const char *value)
{
	size_t length = strlen(value);
	const char *at = value;
	for (int part = 0; frequency->field == ROW_MODULE && part < frequency->parts && at; part++) {
		at = strchr(at, '.');
		length = at ? (size_t)(at - value) : strlen(value);
		at = at ? at + 1 : NULL;
	}
	return (uint32_t)length;
}

static int frequency_by_value(const void *left, const void *right)
{
	const struct frequency_row *a = left, *b = right;
	uint32_t least = SMALLER(a->length, b->length);
	int order = memcmp(a->value, b->value, least);
	return order ? order : (a->length > b->length) - (a->length < b->length);
}

COMPARATOR(frequency_by_bytes, struct frequency_row,
	COMPARE(b->at_peak, a->at_peak, COMPARE(b->bytes, a->bytes, frequency_by_value(a, b))))

/* Rows of the same value become one. */
static void join_equal(struct frequency *frequency)
{
	uint32_t rows = 0;
	qsort(frequency->row, frequency->rows, sizeof *frequency->row, frequency_by_value);
	FOR(i, frequency->rows) {
		struct frequency_row *last = rows ? &frequency->row[rows - 1] : NULL, *next = &frequency->row[i];
		if (last && frequency_by_value(last, next) == 0) {
			last->count += next->count;
			last->bytes += next->bytes;
			last->at_peak += next->at_peak;
		} else
			frequency->row[rows++] = *next;
	}
	frequency->rows = rows;
	qsort(frequency->row, rows, sizeof *frequency->row, frequency_by_bytes);
}

/* Of storage s: its bytes, and how many of them are alive at the peak. */
static int64_t frequency_storage_bytes(const struct plan *plan, uint32_t s, int64_t *at_peak)
{
	bool there = plan->laid_out->first[s] != NONE,
		 peak = there && plan->ordered->peak_position != NONE && alive_at(plan, s, plan->ordered->peak_position);
	int64_t bytes = there ? plan->laid_out->bytes[s] : plan->graph->storage[s].bytes;
	*at_peak = peak ? bytes : 0;
	return bytes;
}

static void frequency_add_tensors(struct frequency *frequency, const struct plan *plan, const struct row_filter *filter)
{
	const struct graph *graph = plan->graph;
	FOR(s, graph->storages) {
		const char *value[ROW_FIELD_COUNT];
		tensor_fields(graph, graph->storage[s].root, value);
		if (!row_filter_passes(filter, value))
			continue;
		struct frequency_row *row = &frequency->row[frequency->rows++];
		*row = (struct frequency_row){
			.value = value[frequency->field], .length = value_length(frequency, value[frequency->field]), .count = 1
		};
		row->bytes = frequency_storage_bytes(plan, s, &row->at_peak);
	}
}

/* Whether one module has more than half of all that is counted. */
static bool has_most(const struct frequency *frequency)
{
	uint32_t all = 0, most = 0;
	FOR(i, frequency->rows) {
		all += frequency->row[i].count;
		most = frequency->row[i].length > 0 && frequency->row[i].count > most ? frequency->row[i].count : most;
	}
	return most > all / 2;
}

bool frequency_count(
	struct frequency *frequency, const struct plan *plan, const struct row_filter *filter, const char *text)
{
	const struct graph *graph = plan->graph;
	if (frequency->row && frequency->serial == plan->serial && text_is(frequency->filter, text))
		return true;
	frequency_free(frequency);
	MAKE(frequency->row, graph->storages + 1);
	if (!frequency->row)
		return false;
	for (frequency->parts = MODULE_PARTS; ; frequency->parts++) {
		frequency->rows = 0;
		frequency_add_tensors(frequency, plan, filter);
		join_equal(frequency);
		if (frequency->field != ROW_MODULE || frequency->parts == MODULE_PARTS_MOST || !has_most(frequency))
			break;
	}
	frequency->serial = plan->serial;
	PRINT_TO(frequency->filter, "%s", text);
	if (frequency->selected >= frequency->rows)
		frequency->selected = frequency->rows ? frequency->rows - 1 : 0;
	return true;
}

/* In narrow windows counts and shares give way to what is counted. */
static bool narrow(const struct frame *frame)
{
	return frame->window.width < WIDE;
}

static void frequency_draw_row(struct frame *frame, int y, const struct frequency_row *row, int64_t peak)
{
	char text[300];
	double share = peak > 0 ? (double)row->at_peak / (double)peak : 0;
	frame_right(frame, 8, y, ROLE_TEXT, COUNT(row->count));
	if (!narrow(frame))
		frame_bytes(frame, 18, y, ROLE_TEXT, row->bytes);
	frame_bytes(frame, narrow(frame) ? 18 : 28, y, ROLE_TITLE, row->at_peak);
	PRINT_TO(text, "%.1f %%", 100 * share);
	if (!narrow(frame))
		frame_right(frame, 36, y, ROLE_TEXT, text);
	PRINT_TO(text, "%.*s", (int)row->length, row->value);
	int x = narrow(frame) ? 20 : 38;
	frame_name(frame, x, y, frame->window.width - x, *text ? ROLE_TEXT : ROLE_FAINT, *text ? text : "(none)");
}

void frequency_draw(struct frequency *frequency, const struct plan *plan, struct frame *frame)
{
	int page = frame->window.height - HEAD - 1, x = narrow(frame) ? 20 : 38;
	frame_right(frame, 8, 0, ROLE_LABEL, "tensors");
	if (!narrow(frame)) {
		frame_right(frame, 18, 0, ROLE_LABEL, "bytes");
		frame_right(frame, 36, 0, ROLE_LABEL, "share");
	}
	frame_right(frame, narrow(frame) ? 18 : 28, 0, ROLE_TITLE, "at peak v");
	frame_rest(frame, x, 0, ROLE_LABEL, row_field_names[frequency->field]);
	frequency->top = scroll_to(frequency->top, frequency->selected, frequency->rows, page);
	for (int i = 0; i < page && frequency->top + (uint32_t)i < frequency->rows; i++) {
		frequency_draw_row(frame, HEAD + i, &frequency->row[frequency->top + (uint32_t)i], plan_peak(plan));
		if (frequency->top + (uint32_t)i == frequency->selected)
			frame_select(frame, HEAD + i);
	}
	frame_words(frame, 0, frame->window.height - 1, frame->window.width, ROLE_FAINT,
		"Enter lists a row, o counts by the next field");
}

/* "module:/^h\.1(\.|$)/": h.1 and what is in it, but not h.10. */
static char *module_word(const struct frequency_row *row, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "%s:/^", row_field_names[ROW_MODULE]);
	FOR_WHILE(i, row->length, used + 12 < size) {
		bool plain = isalnum((unsigned char)row->value[i]) || row->value[i] == '_' || (unsigned char)row->value[i] >= 0x80;
		if (!plain)
			text[used++] = row->value[i] == ' ' ? '.' : '\\';
		if (row->value[i] != ' ')
			text[used++] = row->value[i];
	}
	snprintf(text + used, size - used, "(\\.|$)/");
	return text;
}

char *frequency_word(const struct frequency *frequency, char *text, size_t size)
{
	text[0] = '\0';
	if (frequency->selected >= frequency->rows)
		return text;
	const struct frequency_row *row = &frequency->row[frequency->selected];
	if (frequency->field == ROW_MODULE && row->length)
		return module_word(row, text, size);
	bool whole = row->value[row->length] == '\0' && !memchr(row->value, ' ', row->length);
	/* A value with blanks has no word of its own: its first part stands for it. */
	uint32_t length = whole ? row->length
		: (uint32_t)strcspn(row->value, " ") < row->length ? (uint32_t)strcspn(row->value, " ")
		: row->length;
	return printed(text, size, "%s%s%.*s", row_field_names[frequency->field], whole ? "=" : ":", (int)length, row->value);
}
