/* json.c: a stack of open brackets, and one place that puts what stands between items. */
#include <assert.h>
#include <inttypes.h>

#include "json.h"
#include "words.h"
#include "safe_text.h"

/* Hidden characters are written as escapes: they come back as they were and steer nothing meanwhile. Bytes that are no
 * UTF-8 can't. */
static void json_quote(FILE *stream, const char *text)
{
	static const char short_form[] = "\"\\\n\t\r\b\f", letter[] = "\"\\ntrbf";
	putc('"', stream);
	for (uint32_t character;;) {
		size_t plain = 0;
		while (text[plain] >= ' ' && text[plain] <= '~' && text[plain] != '"' && text[plain] != '\\')
			plain++;
		fwrite(text, 1, plain, stream);
		text += plain;
		if ((character = text_next(&text)) == 0)
			break;
		const char *found = character < 0x80 ? strchr(short_form, (int)character) : NULL;
		if (found)
			fprintf(stream, "\\%c", letter[found - short_form]);
		else if (text_hidden(character))
			fprintf(stream, "\\u%04x", character);
		else
			text_put(stream, character);
	}
	putc('"', stream);
}

/* The line break that was asked for. */
static bool break_line(struct json *json)
{
	if (!json->lined)
		return false;
	putc('\n', json->stream);
	FOR_INT(i, json->indent)
		putc(' ', json->stream);
	json->lined = false;
	return true;
}

/* What stands before an item: comma, space or line break, key. */
static void begin_item(struct json *json, const char *key)
{
	bool comma = json->depth > 0 && json->level[json->depth - 1].filled;
	if (comma)
		putc(',', json->stream);
	if (!break_line(json) && comma && json->spaced)
		putc(' ', json->stream);
	if (json->depth > 0)
		json->level[json->depth - 1].filled = true;
	if (key) {
		json_quote(json->stream, key);
		fputs(json->spaced ? ": " : ":", json->stream);
	}
}

static void open_bracket(struct json *json, const char *key, char open, char close)
{
	begin_item(json, key);
	putc(open, json->stream);
	assert(json->depth < JSON_DEPTH);
	json->level[json->depth].filled = false;
	json->level[json->depth++].close = close;
}

void json_open_object(struct json *json, const char *key)
{
	open_bracket(json, key, '{', '}');
}

void json_open_array(struct json *json, const char *key)
{
	open_bracket(json, key, '[', ']');
}

void json_close(struct json *json)
{
	assert(json->depth > 0);
	break_line(json);
	putc(json->level[--json->depth].close, json->stream);
}

void json_end(struct json *json)
{
	while (json->depth > 0)
		json_close(json);
	putc('\n', json->stream);
}

void json_write_text(struct json *json, const char *key, const char *text)
{
	begin_item(json, key);
	if (text)
		json_quote(json->stream, text);
	else
		fputs("null", json->stream);
}

void json_write_lines(struct json *json, const char *lines)
{
	for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n')
		json_write_text(json, NULL, PRINTED(1000, "%.*s", (int)strcspn(at, "\n"), at));
}

void json_write_integer(struct json *json, const char *key, int64_t value)
{
	begin_item(json, key);
	fprintf(json->stream, "%" PRId64, value);
}

void json_write_known(struct json *json, const char *key, const char *text)
{
	if (text)
		json_write_text(json, key, text);
}

void json_write_some(struct json *json, const char *key, int64_t value)
{
	if (value)
		json_write_integer(json, key, value);
}

void json_write_bool(struct json *json, const char *key, bool value)
{
	json_write_raw(json, key, value ? "true" : "false");
}

void json_write_null(struct json *json, const char *key)
{
	json_write_raw(json, key, "null");
}

void json_write_real(struct json *json, const char *key, double value, int digits)
{
	begin_item(json, key);
	fprintf(json->stream, "%.*f", digits, value);
}

char *json_real_text(double value, char *text, size_t size)
{
	int digits = 15;
	do
		snprintf(text, size - 2, "%.*g", digits, value);
	while (digits++ < 17 && strtod(text, NULL) != value);
	size_t length = strlen(text);
	if (!text[strcspn(text, ".e")])
		snprintf(text + length, size - length, ".0");
	return text;
}

void json_write_decimal(struct json *json, const char *key, int64_t count, int digits)
{
	int64_t one = 1;
	FOR_INT(i, digits)
		one *= 10;
	begin_item(json, key);
	fprintf(json->stream, "%" PRId64 ".%0*" PRId64, count / one, digits, count % one);
}

void json_write_raw(struct json *json, const char *key, const char *raw)
{
	begin_item(json, key);
	fputs(raw, json->stream);
}

void json_new_line(struct json *json, int indent)
{
	json->lined = true;
	json->indent = indent;
}

/* jansson's allocations are mem_alloc()'s, so that tests can make them fail as they do all others. */

static _Thread_local bool failed;

/* When jansson gets no memory for a larger hash table it goes on with the freed smaller one, and without a larger
 * buffer for a string it reads on behind the end of the old one. Such a block (a power of two of at least LEAST bytes)
 * is a piece of this instead, and the flag says that nobody wants the result. */
enum { RESERVE = 4 << 20, LEAST = 32 };
static _Alignas(16) unsigned char reserve[RESERVE];
static atomic_size_t taken; /* never given back: one failure is rare enough */

static void *from_reserve(size_t size)
{
	if (size < LEAST || (size & (size - 1)) || size > RESERVE)
		return NULL;
	size_t begin = atomic_fetch_add(&taken, size);
	if (begin > RESERVE - size) {
		atomic_fetch_sub(&taken, size);
		return NULL;
	}
	memset(reserve + begin, 0, size);
	return reserve + begin;
}

static void *json_memory_allocate(size_t size)
{
	void *block = mem_alloc(1, size);
	if (block)
		return block;
	failed = true;
	return from_reserve(size);
}

static void json_memory_release(void *block)
{
	uintptr_t at = (uintptr_t)block, begin = (uintptr_t)reserve;
	if (at < begin || at >= begin + RESERVE)
		mem_free(block);
}

void json_memory_watch(void)
{
	json_set_alloc_funcs(json_memory_allocate, json_memory_release);
}

bool json_memory_failed(void)
{
	bool was = failed;
	failed = false;
	return was;
}

const char *json_wrong(const json_error_t *problem)
{
	switch (json_error_code(problem)) {
	case json_error_premature_end_of_input: return "it ends too early";
	case json_error_end_of_input_expected: return "there is more behind its end";
	case json_error_stack_overflow: return "it is nested too deeply";
	case json_error_invalid_utf8: return "it has bytes that are not UTF-8";
	case json_error_null_character: case json_error_null_byte_in_key: return "a text in it has a NUL";
	case json_error_duplicate_key: return "a key is there twice";
	case json_error_numeric_overflow: return "a number is too large";
	default: return "a value, a comma or a bracket is missing or wrong";
	}
}

json_t *json_read_text(const char *text, size_t size, const char *what, struct error *error)
{
	json_error_t problem;
	json_memory_failed();
	json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
	if (json_memory_failed()) {
		json_decref(value);
		fail_memory(error);
		return NULL;
	}
	if (!value) {
		refuse(error, "not %s: %s", what, json_wrong(&problem));
		if (error)
			error->line = problem.line > 0 ? (unsigned)problem.line : 0;
	}
	return value;
}
