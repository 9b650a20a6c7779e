/* argument_members.c: members of an op's record that say what it is called with. */
#include <inttypes.h>

#include "record.h"
#include "src/base/json.h"

#define NESTED_MOST (JSON_DEPTH - 4)
static const char *const members[] = { "args", "kwargs", "result" };

/* A list is counted first (value NULL), then filled. */
struct taking {
	struct arena *arena;
	struct argument *value;
	uint32_t values;
	bool fine;   /* a writer can write it back */
	bool failed; /* out of memory */
};

/* {"t": NAME} */
static const char *argument_members_tensor_name(const struct value *json)
{
	return value_items(json, VALUE_OBJECT) == 1 ? value_text(value_member(json, "t")) : NULL;
}

static const char *argument_members_number_text(struct taking *taking, const struct value *json)
{
	char text[40];
	if (json->kind == VALUE_REAL)
		json_real_text(json->real, text, sizeof text);
	else
		PRINT_TO(text, "%" PRId64, json->integer);
	const char *kept = taking->value ? arena_text(taking->arena, text, strlen(text)) : "";
	taking->failed |= !kept;
	return kept;
}

static void argument_members_take(struct taking *taking, const char *key, const struct value *json, int depth)
{
	static const uint8_t kinds[] = { [VALUE_OBJECT] = ARGUMENT_MAP,
		[VALUE_LIST] = ARGUMENT_LIST,
		[VALUE_TEXT] = ARGUMENT_TEXT,
		[VALUE_INTEGER] = ARGUMENT_NUMBER,
		[VALUE_REAL] = ARGUMENT_NUMBER,
		[VALUE_TRUE] = ARGUMENT_TRUE,
		[VALUE_FALSE] = ARGUMENT_FALSE,
		[VALUE_NULL] = ARGUMENT_NOTHING };
	const char *name = argument_members_tensor_name(json);
	struct argument value = {
		.kind = name ? ARGUMENT_TENSOR : kinds[json->kind], .key = key, .text = name ? name : value_text(json)
	};
	uint32_t at = taking->values++;
	taking->fine &= depth < NESTED_MOST;
	if (!taking->fine || taking->failed)
		return;
	if (value.kind == ARGUMENT_NUMBER)
		value.text = argument_members_number_text(taking, json);
	if (value.kind == ARGUMENT_MAP || value.kind == ARGUMENT_LIST)
		for EACH_INSIDE(item, json)
			argument_members_take(taking, item->key, item, depth + 1);
	value.within = taking->values - at - 1;
	if (taking->value)
		taking->value[at] = value;
}

static void take_all(struct taking *taking, const struct value *record)
{
	const struct value *member;
	taking->values = 0;
	FOR(i, COUNT_OF(members))
		if ((member = value_member(record, members[i])))
			argument_members_take(taking, members[i], member, 0);
}

enum status record_arguments(struct arena *arena, const struct value *record, const struct arguments **arguments)
{
	struct taking taking = { .arena = arena, .fine = true };
	*arguments = NULL;
	take_all(&taking, record);
	if (!taking.fine || !taking.values)
		return OK;
	struct arguments *made;
	NEED(ROOM(arena, made, 1) && ROOM(arena, taking.value, taking.values));
	take_all(&taking, record);
	*made = (struct arguments){ taking.value, taking.values };
	*arguments = made;
	return taking.failed ? NO_MEMORY : OK;
}
