/* record.c: one line of JSON as a row of values. */

#include "record.h"
#include "src/base/json.h"

enum { DEPTH_MOST = 512, FEW = 32, DIGITS_SURE = 18 };

struct scan {
	struct record *record;
	bool no_memory;
};

static char *record_skip_space(char *at)
{
	while (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')
		at++;
	return at;
}

static uint32_t record_add(struct scan *scan, enum value_kind kind)
{
	struct record *record = scan->record;
	if (!mem_reserve(&record->value, &record->room, (size_t)record->values + 1, sizeof *record->value)) {
		scan->no_memory = true;
		return NONE;
	}
	record->value[record->values] = (struct value){ .kind = (uint8_t)kind };
	return record->values++;
}

/* ---- what isn't plain ---- */

/* The scalar [begin, end) as jansson reads it; NULL: it is none. */
static json_t *by_library(struct scan *scan, const char *begin, const char *end)
{
	json_memory_failed();
	json_t *json = json_loadb(begin, (size_t)(end - begin), JSON_DECODE_ANY, NULL);
	if (!json_memory_failed())
		return json;
	json_decref(json);
	scan->no_memory = true;
	return NULL;
}

static const char *text_by_library(struct scan *scan, const char *begin, const char *end)
{
	json_t *json = by_library(scan, begin, end);
	const char *text = json_string_value(json);
	if (text && !(text = arena_text(&scan->record->texts, text, json_string_length(json))))
		scan->no_memory = true;
	json_decref(json);
	return text;
}

static bool number_by_library(struct scan *scan, const char *begin, const char *end, struct value *value)
{
	json_t *json = by_library(scan, begin, end);
	bool fine = json_is_number(json);
	value->kind = json_is_real(json) ? VALUE_REAL : VALUE_INTEGER;
	if (json_is_real(json))
		value->real = json_real_value(json);
	else
		value->integer = json_integer_value(json);
	json_decref(json);
	return fine;
}

/* ---- the walk: each returns one past what it read, or NULL where that is no JSON ---- */

/* A text in quotes; its closing quote becomes its end where it is plain. */
static char *scan_text(struct scan *scan, char *quote, const char **text, uint32_t *length)
{
	char *at = quote + 1;
	while ((unsigned char)*at >= ' ' && (unsigned char)*at < 0x80 && *at != '"' && *at != '\\')
		at++;
	*text = quote + 1;
	*length = (uint32_t)(at - quote - 1);
	if (*at == '"') {
		*at = '\0';
		return at + 1;
	}
	for (; *at && *at != '"'; at++)
		if (*at == '\\' && at[1])
			at++;
	if (!*at || !(*text = text_by_library(scan, quote, at + 1)))
		return NULL;
	*length = (uint32_t)strlen(*text);
	return at + 1;
}

static char *record_scan_number(struct scan *scan, char *begin, struct value *value)
{
	char *at = begin + (*begin == '-'), *digits = at;
	int64_t number = 0;
	for (; *at >= '0' && *at <= '9' && at - digits < DIGITS_SURE; at++)
		number = number * 10 + (*at - '0');
	bool plain = at > digits && (*digits != '0' || at == digits + 1) && !memchr("0123456789.eE", *at, 13);
	if (plain) {
		value->kind = VALUE_INTEGER;
		value->integer = *begin == '-' ? -number : number;
		return at;
	}
	at += strspn(at, "0123456789.eE+-");
	return number_by_library(scan, begin, at, value) ? at : NULL;
}

static char *record_scan_word(char *at, struct value *value)
{
	static const char *const words[] = { [VALUE_NULL] = "null", [VALUE_FALSE] = "false", [VALUE_TRUE] = "true" };
	for (int kind = VALUE_NULL; kind <= VALUE_TRUE; kind++)
		if (strncmp(at, words[kind], strlen(words[kind])) == 0) {
			value->kind = (uint8_t)kind;
			return at + strlen(words[kind]);
		}
	return NULL;
}

static bool few_keys_differ(const struct value *object)
{
	for EACH_INSIDE(first, object)
		for (const struct value *second = value_next(first); second != first_end; second = value_next(second))
			if (first->key_length == second->key_length && memcmp(first->key, second->key, first->key_length) == 0)
				return false;
	return true;
}

static bool keys_differ(struct scan *scan, const struct value *object)
{
	struct names names = { 0 };
	uint32_t count = 0;
	bool fine = true;
	if (object->items <= FEW)
		return few_keys_differ(object);
	for EACH_INSIDE(member, object) {
		uint32_t id = fine ? names_add(&names, member->key, count) : NONE;
		scan->no_memory |= fine && id == NONE;
		fine = id == count++;
	}
	names_free(&names);
	return fine;
}

static char *scan_value(struct scan *scan, char *at, uint32_t id, int depth);

/* `"key": value`, or a value alone. */
static char *record_scan_inside(struct scan *scan, char *at, bool member, int depth)
{
	const char *begin = at, *key = NULL;
	uint32_t length = 0;
	if (member) {
		at = *at == '"' ? scan_text(scan, at, &key, &length) : NULL;
		at = at ? record_skip_space(at) : NULL;
		if (!at || *at != ':')
			return NULL;
		at = record_skip_space(at + 1);
	}
	uint32_t id = record_add(scan, VALUE_NULL);
	at = id == NONE ? NULL : scan_value(scan, at, id, depth);
	if (!at)
		return NULL;
	struct value *value = &scan->record->value[id];
	value->key = key;
	value->key_length = length;
	value->begin = begin;
	value->end = at;
	return at;
}

static char *scan_container(struct scan *scan, char *at, uint32_t id, int depth)
{
	bool object = *at == '{';
	char close = object ? '}' : ']';
	uint32_t items = 0;
	at = record_skip_space(at + 1);
	if (depth >= DEPTH_MOST)
		return NULL;
	while (*at != close || items) {
		at = record_scan_inside(scan, at, object, depth + 1);
		if (!at)
			return NULL;
		items++;
		at = record_skip_space(at);
		if (*at == close)
			break;
		if (*at != ',')
			return NULL;
		at = record_skip_space(at + 1);
	}
	struct value *value = &scan->record->value[id];
	value->kind = object ? VALUE_OBJECT : VALUE_LIST;
	value->items = items;
	value->within = scan->record->values - id - 1;
	return object && !keys_differ(scan, value) ? NULL : at + 1;
}

static char *scan_value(struct scan *scan, char *at, uint32_t id, int depth)
{
	if (*at == '{' || *at == '[')
		return scan_container(scan, at, id, depth);
	if (*at == '-' || (*at >= '0' && *at <= '9'))
		return record_scan_number(scan, at, &scan->record->value[id]);
	if (*at != '"')
		return record_scan_word(at, &scan->record->value[id]);
	const char *text;
	uint32_t length;
	at = scan_text(scan, at, &text, &length);
	scan->record->value[id].kind = VALUE_TEXT;
	scan->record->value[id].text = text;
	return at;
}

/* ---- the line ---- */

/* Texts that end in the line do so where a quote stood: a line has no NUL of its own. */
static void put_quotes_back(char *text, size_t length)
{
	for (char *end = text + length; (text = memchr(text, '\0', (size_t)(end - text))); )
		*text = '"';
}

static enum status no_record(char *line, size_t length, struct error *error)
{
	json_error_t problem;
	put_quotes_back(line, length);
	json_memory_failed();
	json_decref(json_loadb(line, length, JSON_REJECT_DUPLICATES, &problem));
	if (json_memory_failed())
		return fail_memory(error);
	return refuse(
		error, "not a JSON record: %s", problem.text[0] ? json_wrong(&problem) : "it is nested too deeply");
}

enum status record_read(struct record *record, char *line, size_t length, struct error *error)
{
	struct scan scan = { .record = record };
	record->values = 0;
	arena_free(&record->texts);
	char *at = record_scan_inside(&scan, record_skip_space(line), false, 0);
	if (scan.no_memory)
		return fail_memory(error);
	bool whole = at && record_skip_space(at) == line + length &&
		(record->value->kind == VALUE_OBJECT || record->value->kind == VALUE_LIST);
	return whole ? OK : no_record(line, length, error);
}

void record_free(struct record *record)
{
	mem_free(record->value);
	arena_free(&record->texts);
	*record = (struct record){ 0 };
}

void record_raw(const struct value *value, char *copy)
{
	size_t length = (size_t)(value->end - value->begin);
	memcpy(copy, value->begin, length);
	put_quotes_back(copy, length);
}

const struct value *value_member(const struct value *object, const char *key)
{
	size_t length = strlen(key);
	if (!value_is(object, VALUE_OBJECT))
		return NULL;
	for EACH_INSIDE(member, object)
		if (member->key_length == length && memcmp(member->key, key, length) == 0)
			return member;
	return NULL;
}

const struct value *value_item(const struct value *list, uint32_t i)
{
	if (!value_is(list, VALUE_LIST) || i >= list->items)
		return NULL;
	for EACH_INSIDE(item, list)
		if (i-- == 0)
			return item;
	return NULL;
}
