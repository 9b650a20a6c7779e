/* json.c: a stack of open brackets, and one place that puts what stands between items. */
#include "json.h"
#include "safe_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Hidden characters are written as escapes: they come back as they were and steer nothing meanwhile. Bytes that are no
 * UTF-8 can't. */
static void json_quote(FILE *stream, const char *text)
{
	static const char short_form[] = "\"\\\n\t\r\b\f", letter[] = "\"\\ntrbf";
	putc('"', stream);
	for (uint32_t character; (character = text_next(&text)) != 0;) {
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
	fprintf(json->stream, "\n%*s", json->indent, "");
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

void json_write_integer(struct json *json, const char *key, int64_t value)
{
	begin_item(json, key);
	fprintf(json->stream, "%" PRId64, value);
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
	for (int i = 0; i < digits; i++)
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
