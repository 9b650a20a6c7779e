/* record.h: one line of JSON as a row of values, read where it stands.
 *
 * Files of graphs have hundreds of thousands of lines, nearly all of plain texts and numbers. Such a line is walked
 * once and nothing is copied: making a tree of it with jansson takes ten times as long. What isn't plain (escapes,
 * bytes beyond ASCII, numbers with a point) jansson reads, value by value, and it says what is wrong with a line that
 * isn't JSON. */
#pragma once

#include "solver/graph/graph.h"

enum value_kind {
	VALUE_NULL,
	VALUE_FALSE,
	VALUE_TRUE,
	VALUE_INTEGER,
	VALUE_REAL,
	VALUE_TEXT,
	VALUE_LIST,
	VALUE_OBJECT
};

struct value {
	const char *key;         /* of a member; NULL: an item */
	const char *begin, *end; /* in the line, key included; see record_raw() */
	union {
		const char *text;
		int64_t integer;
		double real;
		uint32_t items; /* of a list or an object */
	};
	uint32_t within; /* values inside this one: they stand behind it */
	uint32_t key_length;
	uint8_t kind; /* enum value_kind */
};

struct record {
	struct value *value; /* the first is the whole line */
	uint32_t values;
	size_t room;
	struct arena texts; /* of texts that had to be decoded */
};

/* Reads a line of JSON, which ends with '\0', has no other one, and is changed: texts end where their quotes stood.
 * Values are valid until the next call and as long as the line. No object has a key twice, no text a NUL character.
 * BAD_INPUT with jansson's words, NO_MEMORY. O(length), of objects with k members k^2 up to 32 of them. */
enum status record_read(struct record *record, char *line, size_t length, struct error *error);
void record_free(struct record *record);

/* Copies the bytes [value->begin, value->end) as they stood in the file. */
void record_raw(const struct value *value, char *copy);

static inline const struct value *value_next(const struct value *value)
{
	return value + 1 + value->within;
}

/* The values directly inside a list or object; NULL may be given, and has none. */
#define EACH_INSIDE(item, of) \
	(const struct value *item = (of) ? (of) + 1 : NULL, \
		*item##_end = (of) ? value_next(of) : NULL; item != item##_end; item = value_next(item))

static inline bool value_is(const struct value *value, enum value_kind kind)
{
	return value && value->kind == kind;
}
/* What is asked for, or "none" where the value is NULL or another kind: NULL, 0. */
static inline const char *value_text(const struct value *value)
{
	return value_is(value, VALUE_TEXT) ? value->text : NULL;
}
static inline int64_t value_integer(const struct value *value)
{
	return value_is(value, VALUE_INTEGER) ? value->integer : 0;
}
static inline uint32_t value_items(const struct value *value, enum value_kind kind)
{
	return value_is(value, kind) ? value->items : 0;
}
/* O(members). */
const struct value *value_member(const struct value *object, const char *key);
/* O(i). */
const struct value *value_item(const struct value *list, uint32_t i);

/* device_members: members of records that only device graphs have: placements, collectives, what ops come from,
 * meshes and pipelines. */

/* Keys of a record that have a place in the graph: those of every record, and others of this one. */
#define KEYS 24
struct keys {
	const char *key[KEYS];
	uint32_t count;
};
void keys_add(struct keys *keys, const char *key);

/* Each reads what is as Tidemark writes it, and adds its keys to those that are known. Texts are the record's or in the
 * arena. */
bool record_places(const struct value *list, struct axis_places *places);
void record_collective(
	const struct value *record, enum collective_kind kind, struct collective *said, struct keys *known);
void record_origin(struct arena *names, const struct value *record, struct op *op, struct keys *known);
void record_about(struct arena *names, const struct value *record, struct about *about, struct keys *known);

/* growth_members: members of records that say how a step grows with its batch: tidemark(5). BAD_INPUT, without words,
 * where one isn't as Tidemark writes it; what is read becomes a known key. */

/* "batches": those at which the step was captured, its own among them, ascending. All zero: none. */
enum status record_line(const struct value *record, int64_t batch, int64_t line[LINE_BATCHES], struct keys *known);
/* "per_sample" of a tensor, in by[]; *grows is that, or NULL where there is none. */
enum status record_tensor_growth(const struct value *record, const struct tensor *tensor, int64_t by[DIMS_MAX + 1],
	const int64_t **grows, struct keys *known);
/* The same of an op, with places among the numbers of its arguments, and "workspace_at"; in the arena. NO_MEMORY, too.
 */
enum status record_op_growth(struct arena *arena, const struct value *record, const struct op *op, int64_t batch,
	const struct op_growth **grows, struct keys *known);

/* argument_members: members of an op's record that say what it is called with. */

/* Reads `args`, `kwargs` and `result` (tidemark(5)). *arguments is in the arena, as its numbers are; other texts are
 * the record's. NULL where none of them is there, or one is more than a writer can take: then they stay members that we
 * don't know. */
enum status record_arguments(struct arena *arena, const struct value *record, const struct arguments **arguments);
