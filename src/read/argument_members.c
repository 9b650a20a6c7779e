/* argument_members.c: members of an op's record that say what it is called with. */
#include <stdio.h>
#include <string.h>

#include "argument_members.h"
#include "src/base/json.h"

#define NESTED_MOST (JSON_DEPTH - 4)
static const char *const members[] = { "args", "kwargs", "result" };

/* A list is counted first (value NULL), then filled. */
struct taking {
	struct arena *arena;
	struct argument *value;
	uint32_t values;
	bool fine;             /* a writer can write it back */
	bool failed;           /* out of memory */
};

/* {"t": NAME} */
static const char *tensor_name(const json_t *json)
{
	const json_t *name = json_object_size(json) == 1 ? json_object_get(json, "t") : NULL;
	return json_string_value(name);
}

static const char *number_text(struct taking *taking, const json_t *json)
{
	char text[40];
	if (json_is_real(json))
		json_real_text(json_real_value(json), text, sizeof text);
	else
		snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
	const char *kept = taking->value ? arena_text(taking->arena, text, strlen(text)) : "";
	taking->failed |= !kept;
	return kept;
}

static void take(struct taking *taking, const char *key, json_t *json, int depth)
{
	static const uint8_t kinds[] = { [JSON_OBJECT] = ARGUMENT_MAP, [JSON_ARRAY] = ARGUMENT_LIST, [JSON_STRING] = ARGUMENT_TEXT, [JSON_INTEGER] = ARGUMENT_NUMBER,
		[JSON_REAL] = ARGUMENT_NUMBER, [JSON_TRUE] = ARGUMENT_TRUE, [JSON_FALSE] = ARGUMENT_FALSE, [JSON_NULL] = ARGUMENT_NOTHING };
	const char *name = tensor_name(json), *member;
	struct argument value = { .kind = name ? ARGUMENT_TENSOR : kinds[json_typeof(json)], .key = key, .text = name ? name : json_string_value(json) };
	uint32_t at = taking->values++;
	size_t i;
	json_t *item;
	const json_t *text = name ? json_object_get(json, "t") : json;
	taking->fine &= depth < NESTED_MOST && (!value.text || strlen(value.text) == json_string_length(text));
	if (!taking->fine || taking->failed)
		return;
	if (value.kind == ARGUMENT_NUMBER)
		value.text = number_text(taking, json);
	if (value.kind == ARGUMENT_MAP)
		json_object_foreach(json, member, item)
			take(taking, member, item, depth + 1);
	if (value.kind == ARGUMENT_LIST)
		json_array_foreach(json, i, item)
			take(taking, NULL, item, depth + 1);
	value.within = taking->values - at - 1;
	if (taking->value)
		taking->value[at] = value;
}

static void take_all(struct taking *taking, const json_t *record)
{
	taking->values = 0;
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		if (json_object_get(record, members[i]))
			take(taking, members[i], json_object_get(record, members[i]), 0);
}

enum status record_arguments(struct arena *arena, const json_t *record, const struct arguments **arguments)
{
	struct taking taking = { .arena = arena, .fine = true };
	*arguments = NULL;
	take_all(&taking, record);
	if (!taking.fine || !taking.values)
		return OK;
	struct arguments *made = arena_alloc(arena, 1, sizeof *made);
	taking.value = arena_alloc(arena, taking.values, sizeof *taking.value);
	NEED(made && taking.value);
	take_all(&taking, record);
	*made = (struct arguments){ taking.value, taking.values };
	*arguments = made;
	return taking.failed ? NO_MEMORY : OK;
}
