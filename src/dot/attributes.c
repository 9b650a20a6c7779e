/* attributes.c: finds and reads node attributes. */
#include <math.h>
#include <strings.h>

#include "attributes.h"
#include "src/base/dot_text.h"
#include "src/base/json.h"
#include "src/base/streams.h"

#define X(id, name) name,
static const char *const names[ATTRIBUTE_COUNT] = { ATTRIBUTES(X) };
#undef X

/* Graphviz's own node attributes say how a node looks, not what it is. */
static const char *const drawing[] = {
	"area",
	"class",
	"color",
	"colorscheme",
	"comment",
	"distortion",
	"fillcolor",
	"fixedsize",
	"fontcolor",
	"fontname",
	"fontsize",
	"gradientangle",
	"group",
	"height",
	"href",
	"id",
	"image",
	"imagepos",
	"imagescale",
	"labelloc",
	"layer",
	"margin",
	"nojustify",
	"ordering",
	"orientation",
	"penwidth",
	"peripheries",
	"pin",
	"pos",
	"rank",
	"rects",
	"regular",
	"root",
	"samplepoints",
	"shape",
	"shapefile",
	"showboxes",
	"sides",
	"skew",
	"sortv",
	"style",
	"target",
	"tooltip",
	"URL",
	"vertices",
	"width",
	"xlabel",
	"xlp",
	"z",
};

/* Keys of native records, known there. */
static const char *const record_keys[][12] = {
	[RECORD_GRAPH] = { "k", "v", "name", "source" },
	[RECORD_TENSOR] = { "k", "id", "bytes", "dtype", "shape", "kind", "alias" },
	[RECORD_OP] = { "k", "id", "op", "phase", "mod", "in", "out", "flops", "workspace", "inplace", "after" },
};

static bool attributes_listed(const char *const *list, size_t count, const char *name)
{
	FOR_SIZE(i, count)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

static bool record_key(enum record_kind record, const char *key)
{
	for (const char *const *known = record_keys[record]; *known; known++)
		if (strcmp(*known, key) == 0)
			return true;
	return false;
}

enum status attributes_find(Agraph_t *dot, struct arena *arena, struct attributes *attributes)
{
	uint32_t count = 0;
	for (Agsym_t *symbol = NULL; (symbol = agnxtattr(dot, AGNODE, symbol)); )
		count++;
	NEED(ROOM(arena, attributes->foreign, count));
	for (Agsym_t *symbol = NULL; (symbol = agnxtattr(dot, AGNODE, symbol)); ) {
		int known = name_index(names, ATTRIBUTE_COUNT, symbol->name);
		if (known >= 0)
			attributes->symbol[known] = symbol;
		else if (!attributes_listed(drawing, COUNT_OF(drawing), symbol->name))
			attributes->foreign[attributes->foreigns++] = symbol;
	}
	return OK;
}

const char *attribute_of(const struct attributes *attributes, Agnode_t *node, enum attribute attribute)
{
	const char *value = attributes->symbol[attribute] ? agxget(node, attributes->symbol[attribute]) : NULL;
	return value && *value ? value : NULL;
}

/* One letter changed, left out or put in. */
static bool one_off(const char *a, const char *b)
{
	size_t same = 0;
	while (a[same] && a[same] == b[same])
		same++;
	a += same;
	b += same;
	return (*a || *b) &&
		((*a && *b && strcmp(a + 1, b + 1) == 0) || (*a && strcmp(a + 1, b) == 0) || (*b && strcmp(a, b + 1) == 0));
}

const char *attribute_meant(const char *name)
{
	FOR_INT(i, ATTRIBUTE_COUNT)
		if (strlen(names[i]) > 2 && strcasecmp(name, names[i]) == 0)
			return names[i];
	FOR_INT(i, ATTRIBUTE_COUNT)
		if (strlen(names[i]) > 2 && one_off(name, names[i]))
			return names[i];
	return NULL;
}

bool parse_integer(const char *text, int64_t *value)
{
	int64_t number = 0;
	if (!*text)
		return false;
	for (; *text; text++)
		if (*text < '0' || *text > '9' || __builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, *text - '0', &number))
			return false;
	*value = number;
	return true;
}

bool parse_bytes(const char *text, int64_t *bytes)
{
	static const struct { const char *name; int64_t bytes; } units[] = {
		{ "B", 1 }, { "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { "TiB", INT64_C(1) << 40 },
	};
	if (parse_integer(text, bytes))
		return true;
	size_t digits = strspn(text, "0123456789.");
	char number[40];
	if (digits == 0 || digits >= sizeof number)
		return false;
	memcpy(number, text, digits);
	number[digits] = '\0';
	text += digits;
	text += strspn(text, " ");
	char *end;
	double value = strtod(number, &end);
	for (size_t i = 0; i < COUNT_OF(units) && !*end; i++)
		if (strcmp(text, units[i].name) == 0) {
			value *= (double)units[i].bytes;
			*bytes = value <= (double)BYTES_MAX ? (int64_t)value : 0;
			return value <= (double)BYTES_MAX && floor(value) >= value;
		}
	return false;
}

bool parse_dims(const char *text, int64_t shape[DIMS_MAX], uint8_t *dims)
{
	*dims = 0;
	if (strcmp(text, "scalar") == 0)
		return true;
	for (;;) {
		char number[24];
		text += strspn(text, " ");
		size_t length = strcspn(text, ", ");
		if (*dims == DIMS_MAX || length >= sizeof number)
			return false;
		memcpy(number, text, length);
		number[length] = '\0';
		if (!parse_integer(number, &shape[(*dims)++]))
			return false;
		text += length;
		text += strspn(text, " ");
		if (!*text)
			return true;
		if (*text++ != ',')
			return false;
	}
}

/* ---- unknown keys ---- */

/* The members as an object, or NULL. */
static json_t *attributes_members(const char *extra)
{
	size_t length = strlen(extra);
	char *text = mem_alloc(length + 3, 1);
	if (!text)
		return NULL;
	*text = '{';
	memcpy(text + 1, extra, length);
	text[length + 1] = '}';
	json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	mem_free(text);
	return object;
}

enum status check_extra(const char *extra, enum record_kind record, struct error *error)
{
	json_t *object = attributes_members(extra);
	const char *key, *taken = NULL;
	json_t *value;
	json_object_foreach(object, key, value)
		if (record_key(record, key))
			taken = key;
	enum status status = OK;
	if (!object || strchr(extra, '\n'))
		status = refuse(error, "extra must hold JSON members on one line: \\\"key\\\": value, ...");
	else if (taken)
		status = refuse(error, "extra holds \"%.60s\", which has an attribute of its own", taken);
	json_decref(object);
	return status;
}

static char *stream_text(struct arena *arena, char *text, size_t length)
{
	char *copy = text && length ? arena_text(arena, text, length) : NULL;
	free(text);
	return copy;
}

enum status unknown_keys(const struct attributes *attributes, Agnode_t *node, enum record_kind record,
	struct arena *arena, char **extra, struct error *error)
{
	*extra = NULL;
	const char *value = attribute_of(attributes, node, ATTRIBUTE_EXTRA);
	char *given = value ? arena_text(arena, value, strlen(value)) : NULL;
	if (value && !given)
		return NO_MEMORY;
	if (given)
		dot_decode(given);
	enum status status = given ? check_extra(given, record, error) : OK;
	*extra = given;
	if (status != OK || !attributes->foreigns)
		return status;
	json_t *object = given ? attributes_members(given) : NULL;
	char *text = NULL;
	size_t length = 0;
	FILE *stream = text_stream(&text, &length);
	if (!stream) {
		json_decref(object);
		return NO_MEMORY;
	}
	/* Members of an object whose brackets the writer of the record puts. */
	struct json json = { .stream = stream, .depth = 1 };
	if (given)
		json_write_raw(&json, NULL, given);
	FOR(i, attributes->foreigns) {
		const char *key = attributes->foreign[i]->name;
		value = agxget(node, attributes->foreign[i]);
		if (!value || !*value || record_key(record, key) || json_object_get(object, key))
			continue;
		json_write_text(&json, key, value);
	}
	json_decref(object);
	bool failed = ferror(stream);
	failed |= fclose(stream) != 0;
	*extra = stream_text(arena, text, length);
	return failed || (json.level[0].filled && !*extra) ? NO_MEMORY : OK;
}
