/* json.h: writes JSON to a stream, member by member. The writer knows where it stands: it puts every comma, colon and
 * closing bracket, so that what calls it can't forget one. Reading is jansson's.
 *
 *     struct json json = { .stream = stdout, .spaced = true };
 *     json_open_object(&json, NULL);
 *     json_write_text(&json, "name", graph->name);
 *     json_open_array(&json, "sizes");
 *     json_write_integer(&json, NULL, 3);
 *     json_end(&json);                           -> {"name": "...", "sizes": [3]} */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "solver/base/base.h"

enum { JSON_DEPTH = 32 };

struct json {
	FILE *stream;
	bool spaced; /* a space after commas and colons; may be changed between two items */
	bool lined;  /* the next item or bracket begins a line ... */
	int indent;  /* ... behind so many spaces */
	int depth;
	struct { bool filled; char close; } level[JSON_DEPTH];
};

/* In all of these: key is the member's key, and NULL in an array or for a whole text. */
void json_open_object(struct json *json, const char *key);
void json_open_array(struct json *json, const char *key);
void json_close(struct json *json); /* the object or array that was opened last */
void json_end(struct json *json);   /* closes all that is open and ends the line; another text may follow */
void json_write_text(struct json *json, const char *key, const char *text); /* text NULL: null */
/* Each line, cut at 1,000 bytes, as a text of the array that is open. */
void json_write_lines(struct json *json, const char *lines);
void json_write_integer(struct json *json, const char *key, int64_t value);
/* The same, but nothing where text is NULL, value 0. */
void json_write_known(struct json *json, const char *key, const char *text);
void json_write_some(struct json *json, const char *key, int64_t value);
void json_write_bool(struct json *json, const char *key, bool value);
void json_write_null(struct json *json, const char *key);
void json_write_real(struct json *json, const char *key, double value, int digits);
/* The fewest digits that read back as the value, with a point or an exponent. Returns text. */
char *json_real_text(double value, char *text, size_t size);
/* Counts of 10^-digits as a decimal number, exactly: picoseconds with 12 digits are seconds. */
void json_write_decimal(struct json *json, const char *key, int64_t count, int digits);
/* A text of the caller's that is JSON already: a value, or, with key NULL in an object, members without their brackets.
 */
void json_write_raw(struct json *json, const char *key, const char *raw);
/* The next item, or the next closing bracket, stands on a new line behind so many spaces. */
void json_new_line(struct json *json, int indent);

/* What a member of an object is that was read; NULL, 0, false where it is none of that kind. */
#define json_text_in(object, key) json_string_value(json_object_get(object, key))
#define json_integer_in(object, key) json_integer_value(json_object_get(object, key))
#define json_number_in(object, key) json_number_value(json_object_get(object, key))
#define json_true_in(object, key) json_is_true(json_object_get(object, key))

/* json_memory: memory that ends inside jansson. It answers with a syntax error, or, where a text is copied, with a
 * wrong result and no error at all; so a flag says that an allocation failed, and whoever parsed asks for it. */

/* Once, before any other call of jansson: its memory is ours (mem_alloc) from then on. */
void json_memory_watch(void);
/* Whether an allocation of jansson's failed on this thread since the last call. */
bool json_memory_failed(void);

/* What is wrong with a text that jansson doesn't read, in words of ours: its own name its macros and functions. */
const char *json_wrong(const json_error_t *problem);

/* The text as one JSON value, or NULL with its line in error: BAD_INPUT "not WHAT: ..." or OUT_OF_MEMORY. No object has
 * a key twice. */
json_t *json_read_text(const char *text, size_t size, const char *what, struct error *error);
