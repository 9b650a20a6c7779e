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

#include <stdio.h>

#include "solver/base/base.h"

enum { JSON_DEPTH = 32 };

struct json {
	FILE *stream;
	bool spaced;               /* a space after commas and colons; may be changed between two items */
	bool lined;                /* the next item or bracket begins a line ... */
	int indent;                /* ... behind so many spaces */
	int depth;
	struct { bool filled; char close; } level[JSON_DEPTH];
};

/* In all of these: key is the member's key, and NULL in an array or for a whole text. */
void json_open_object(struct json *json, const char *key);
void json_open_array(struct json *json, const char *key);
void json_close(struct json *json);            /* the object or array that was opened last */
void json_end(struct json *json);              /* closes all that is open and ends the line; another text may follow */
void json_write_text(struct json *json, const char *key, const char *text);   /* text NULL: null */
void json_write_integer(struct json *json, const char *key, int64_t value);
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
