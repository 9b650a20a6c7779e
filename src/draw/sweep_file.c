/* sweep_file.c: lines of a sweep, or what search and fit wrote, as a table. */
#include "figure.h"

#include <math.h>

#include "src/base/json.h"

#define SWEEP_BYTES_MAX ((size_t)1 << 30)

static struct sweep_knob *find_knob(struct sweep_table *table, const char *name)
{
	FOR(i, table->knobs)
		if (text_is(table->knob[i].name, name))
			return &table->knob[i];
	return NULL;
}

static enum status sweep_file_take_value(
	struct sweep_knob *knob, const char *text, uint32_t *place, struct error *error)
{
	for (*place = 0; *place < knob->values; ++*place)
		if (text_is(knob->value[*place], text))
			return OK;
	NEEDED(error, mem_reserve(&knob->value, &knob->room, knob->values + 1, sizeof *knob->value));
	snprintf(knob->value[knob->values++], sizeof *knob->value, "%s", text);
	return OK;
}

static enum status take_set(struct sweep_table *table, json_t *set, struct swept *row, struct error *error)
{
	const char *name;
	json_t *value;
	uint32_t seen = 0;
	json_object_foreach(set, name, value) {
		struct sweep_knob *knob = find_knob(table, name);
		if (!knob && table->rows == 0 && table->knobs < SWEEP_KNOBS) {
			knob = &table->knob[table->knobs++];
			PRINT_TO(knob->name, "%s", name);
		}
		if (!json_is_string(value))
			return refuse(error, "is not a line of a sweep: the value of %.40s is not text", name);
		if (!knob)
			return refuse(error,
				table->rows == 0 ? "more than %u varied knobs"
				: "has other knobs than the lines before: not of the same sweep",
				SWEEP_KNOBS);
		TRY(sweep_file_take_value(knob, json_string_value(value), &row->value[knob - table->knob], error));
		seen++;
	}
	return seen == table->knobs
		? OK
		: refuse(error, "lacks a knob that the lines before have: not of the same sweep");
}

/* A number from 0; -1 where there is none. */
static enum status sweep_file_number(const json_t *record, const char *name, double *number, struct error *error)
{
	const json_t *value = json_object_get(record, name);
	*number = json_is_number(value) ? json_number_value(value) : -1;
	return !value || json_is_null(value) || (*number >= 0 && *number <= (double)BYTES_MAX) ? OK
		: refuse(error, "%s must be a number from 0 to 2^60", name);
}

static enum status sweep_file_part(const json_t *record, const char *name, double *number, struct error *error)
{
	TRY(sweep_file_number(record, name, number, error));
	*number = fmax(0, *number);
	return OK;
}

/* The next row; its knobs are in set. */
static enum status add_row(struct sweep_table *table, json_t *set, struct swept **row, struct error *error)
{
	if (table->rows == SWEEP_ROWS)
		return refuse(error, "more than %u scenarios", SWEEP_ROWS);
	NEEDED(error, mem_reserve(&table->row, &table->room, table->rows + 1, sizeof *table->row));
	*row = &table->row[table->rows];
	**row = (struct swept){ .number = table->rows };
	enum status status = take_set(table, set, *row, error);
	table->rows += status == OK;
	return status;
}

static enum status take_record(struct sweep_table *table, const json_t *record, struct error *error)
{
	static const char *const bytes[LEDGER_PARTS] = {
#define X(id, key, remark) key "_bytes",
		LEDGER(X)
#undef X
	};
	json_t *set = json_object_get(record, "set");
	const char *state = json_text_in(record, "status");
	struct swept *row;
	if (!json_is_object(set) || !state)
		return refuse(error, "is not a line of a sweep, as JSON");
	TRY(add_row(table, set, &row, error));
	row->fits = text_is(state, "ok");
	TRY(sweep_file_number(record, "scenario", &row->number, error));
	TRY(sweep_file_number(record, "arena_bytes", &row->bytes, error));
	TRY(sweep_file_number(record, "step_seconds", &row->seconds, error));
	FOR_INT(part, LEDGER_PARTS)
		TRY(sweep_file_part(record, bytes[part], &row->part[part], error));
	return OK;
}

/* ---- what search and fit wrote ---- */

/* "dp4 pp2 zero2 zbv mb8": what is more than one device, stage 0, no pipeline. */
static void configuration_text(const json_t *record, char *text, size_t size)
{
	static const char *const degree[] = { "dp", "tp", "pp", "cp", "ep", "zero", "microbatches" };
	struct words words = { text, size, 0 };
	const char *schedule = json_text_in(record, "schedule");
	bool piped = json_number_in(record, "pp") > 1;
	text[0] = '\0';
	FOR_SIZE(i, COUNT_OF(degree)) {
		double value = json_number_in(record, degree[i]);
		if (value > (text_is(degree[i], "zero") ? 0 : 1))
			words_add(&words, "%s%s%.0f", *text ? " " : "", *degree[i] == 'm' ? "mb" : degree[i], value);
	}
	if (piped && schedule)
		words_add(&words, " %s", schedule);
	if (piped && text_is(schedule, "interleaved"))
		words_add(&words, " %.0f", json_number_in(record, "chunks"));
}

/* Frees set. memory: the object with the bytes, and their key. */
static enum status take_row(struct sweep_table *table, json_t *set, const json_t *record, const json_t *memory,
	const char *key, struct swept **row, struct error *error)
{
	enum status status = add_row(table, set, row, error);
	json_decref(set);
	TRY(status);
	(*row)->fits = json_true_in(record, "fits");
	TRY(sweep_file_number(memory, key, &(*row)->bytes, error));
	return sweep_file_number(record, "step_seconds", &(*row)->seconds, error);
}

/* A configuration as search estimates it, whose parts add up. */
static enum status take_configuration(struct sweep_table *table, const json_t *record, struct error *error)
{
	static const struct { const char *key; enum ledger_part part; } part[] = {
		{ "parameters", PART_PARAMETERS }, { "gradients", PART_GRADIENTS }, { "optimizer", PART_OPTIMIZER },
		{ "activations", PART_ACTIVATIONS }, { "transient", PART_OTHER }, { "gathered", PART_AHEAD },
		{ "overhead", PART_CONTEXT }
	};
	const json_t *worst = json_object_get(record, "worst_rank");
	const char *recompute = json_text_in(record, "recompute");
	struct swept *row;
	char text[64];
	configuration_text(record, text, sizeof text);
	json_t *set = json_pack("{s:s, s:s}", "configuration", text, "recompute", recompute ? recompute : "none");
	TRY(take_row(table, set, record, worst, "total", &row, error));
	FOR_SIZE(i, COUNT_OF(part))
		TRY(sweep_file_part(worst, part[i].key, &row->part[part[i].part], error));
	return OK;
}

/* Whether every way sets the word. */
static bool all_set(const json_t *ways, const char *word)
{
	size_t i, k;
	const json_t *way, *set;
	json_array_foreach(ways, i, way) {
		bool there = false;
		json_array_foreach(json_object_get(way, "set"), k, set)
			there |= json_is_string(set) && text_is(json_string_value(set), word);
		if (!there)
			return false;
	}
	return true;
}

/* A way to make a step fit, by what it sets that not all do; the step itself sets nothing. */
static enum status take_way(struct sweep_table *table, const json_t *way, const json_t *ways, struct error *error)
{
	char text[64] = "";
	struct words words = { text, sizeof text, 0 };
	const char *results = json_text_in(way, "changes");
	const char *model = json_text_in(way, "model");
	const json_t *word;
	size_t i;
	struct swept *row;
	words_add(&words, "%s", model ? model : "");
	json_array_foreach(json_object_get(way, "set"), i, word)
		if (json_is_string(word) && !all_set(ways, json_string_value(word)))
			words_add(&words, "%s%s", *text ? ", " : "", json_string_value(word));
	json_t *set = json_pack("{s:s, s:s}", "change", *text ? text : "no change", "results", results ? results : "same");
	return take_row(table, set, way, way, "needed_bytes", &row, error);
}

/* *whole: the text was such an object. */
static enum status take_whole(
	struct sweep_table *table, const char *text, size_t size, bool *whole, struct error *error)
{
	json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	const json_t *list = json_object_get(object, "configurations"), *ways = json_object_get(object, "ways"), *one;
	enum status status = json_memory_failed() ? fail_memory(error) : OK;
	size_t i;
	*whole = json_is_array(list) || json_is_array(ways);
	table->rows_are = json_is_array(list) ? "configuration" : *whole ? "change" : "scenario";
	if (status == OK && json_is_array(ways))
		status = take_way(table, object, ways, error);
	json_array_foreach(json_is_array(list) ? list : ways, i, one)
		status = status != OK ? status : json_is_array(list) ? take_configuration(table, one, error)
			: take_way(table, one, ways, error);
	json_decref(object);
	return json_memory_failed() ? fail_memory(error) : status;
}

static enum status sweep_file_take_line(struct sweep_table *table, const char *text, size_t size, struct error *error)
{
	json_t *record = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	enum status status = json_memory_failed() ? fail_memory(error)
		: json_is_object(record) ? take_record(table, record, error)
		: refuse(error, "is not a line of a sweep, as JSON");
	json_decref(record);
	return status;
}

/* ---- order ---- */

COMPARATOR(sweep_file_by_number, struct swept, COMPARE(a->number, b->number, 0))

/* What values are sorted by: themselves, if all are numbers, else the first scenario that has them. */
static void value_keys(const struct sweep_table *table, uint32_t k, double *key)
{
	const struct sweep_knob *knob = &table->knob[k];
	char *end;
	bool numbers = true;
	FOR(i, knob->values) {
		key[i] = strtod(knob->value[i], &end);
		numbers &= *knob->value[i] && !*end;
	}
	for (uint32_t i = table->rows; !numbers && i-- > 0;)
		key[table->row[i].value[k]] = i;
}

static enum status sort_values(struct sweep_table *table, uint32_t k, struct error *error)
{
	struct sweep_knob *knob = &table->knob[k];
	HELD double *MAKE(key, knob->values);
	HELD uint32_t *MAKE(place, knob->values);
	char (*sorted)[64] = mem_alloc(knob->values, sizeof *sorted);
	bool there = key && place && sorted;
	if (there) {
		value_keys(table, k, key);
		FOR(i, knob->values)
			FOR(j, knob->values)
				place[i] += key[j] < key[i] || (key[j] == key[i] && j < i);
		FOR(i, knob->values)
			memcpy(sorted[place[i]], knob->value[i], sizeof *sorted);
		FOR(i, table->rows)
			table->row[i].value[k] = place[table->row[i].value[k]];
		mem_free(knob->value);
		knob->value = sorted;
	} else {
		mem_free(sorted);
	}
	return there ? OK : fail_memory(error);
}

enum status sweep_file_read(const char *path, struct sweep_table *table, struct error *error)
{
	size_t size = 0;
	char *text = input_text(path, SWEEP_BYTES_MAX, &size, error);
	enum status status = text ? OK : error->status;
	unsigned number = 1;
	bool whole = false;
	*table = (struct sweep_table){ .rows_are = "scenario" };
	THEN(status, take_whole(table, text, size, &whole, error));
	for (size_t at = 0; status == OK && !whole && at < size; number++) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t length = end ? (size_t)(end - text) - at : size - at;
		if (length > 0)
			status = sweep_file_take_line(table, text + at, length, error);
		if (status == BAD_INPUT)
			error->line = number;
		at += length + 1;
	}
	mem_free(text);
	if (status == OK && table->rows > 0)
		qsort(table->row, table->rows, sizeof *table->row, sweep_file_by_number);
	FOR_WHILE(k, table->knobs, status == OK)
		status = sort_values(table, k, error);
	return status == OK && table->rows == 0 ? refuse(error, "has no line of a sweep") : status;
}

void sweep_table_done(struct sweep_table *table)
{
	FOR(i, table->knobs)
		mem_free(table->knob[i].value);
	mem_free(table->row);
	*table = (struct sweep_table){ .rows = 0 };
}
