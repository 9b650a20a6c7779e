/* argument_form.c: arguments of new ops, from a form. */
#include "update.h"

struct making {
	struct arena *arena;
	const struct argument_names *names;
	struct argument *value;
	uint32_t values, room;
	const char *key; /* of the next value */
	bool failed;
};

/* text NULL: of one that has none. */
static uint32_t argument_form_add(struct making *making, enum argument_kind kind, const char *text)
{
	if (making->values == making->room) {
		uint32_t room = making->room ? 2 * making->room : 32;
		struct argument *value;
		if (!ROOM(making->arena, value, room)) {
			making->failed = true;
			return 0;
		}
		if (making->values)
			COPY(value, making->value, making->values);
		making->value = value;
		making->room = room;
	}
	bool nameless = !text && (kind == ARGUMENT_TENSOR || kind == ARGUMENT_TEXT);
	making->value[making->values] = (struct argument){
		.kind = nameless ? ARGUMENT_NOTHING : (uint8_t)kind, .key = making->key, .text = text
	};
	making->key = NULL;
	return making->values++;
}

/* What was added behind a list or map is in it. */
static void argument_form_end(struct making *making, uint32_t list)
{
	if (!making->failed)
		making->value[list].within = making->values - list - 1;
}

/* A copy of a part of the form. */
static const char *argument_form_part(struct making *making, const char *from, size_t length)
{
	const char *text = arena_text(making->arena, from, length);
	making->failed |= !text;
	return text;
}

static void argument_form_add_tensors(struct making *making, char letter)
{
	const struct argument_names *names = making->names;
	uint32_t list = names->lists ? argument_form_add(making, ARGUMENT_LIST, NULL) : 0;
	FOR_WHILE(i, names->count, !making->failed) {
		const char *name = names->name(names->context, letter, i);
		if (name)
			argument_form_add(making, ARGUMENT_TENSOR, name);
	}
	if (names->lists)
		argument_form_end(making, list);
}

static void add_numbers(struct making *making, const char *number)
{
	uint32_t list = making->names->lists ? argument_form_add(making, ARGUMENT_LIST, NULL) : 0;
	for (uint32_t i = 0; i < (making->names->lists ? making->names->count : 1) && !making->failed; i++)
		argument_form_add(making, ARGUMENT_NUMBER, number);
	if (making->names->lists)
		argument_form_end(making, list);
}

/* The value that begins there; returns its end. */
static const char *argument_form_add_value(struct making *making, const char *at)
{
	size_t length = strcspn(at, ",|");
	if (*at == '@' && at[1] >= 'A' && at[1] <= 'Z')
		argument_form_add(making, ARGUMENT_TENSOR, making->names->name(making->names->context, (char)(at[1] - 'A' + 'a'), 0));
	else if (*at == '@')
		argument_form_add_tensors(making, at[1]);
	else if (*at == '#')
		add_numbers(making, argument_form_part(making, at + 1, length - 1));
	else if (*at == '[')
		argument_form_add(making, ARGUMENT_LIST, NULL);
	else if (*at == 't' || *at == 'f')
		argument_form_add(making, *at == 't' ? ARGUMENT_TRUE : ARGUMENT_FALSE, NULL);
	else
		argument_form_add(making, ARGUMENT_NUMBER, argument_form_part(making, at, length));
	return at + length;
}

const struct arguments *arguments_make(struct arena *arena, const char *form, const struct argument_names *names)
{
	struct making making = { .arena = arena, .names = names, .key = "args" };
	struct arguments *MAKE_IN(arena, arguments, 1);
	uint32_t list = argument_form_add(&making, ARGUMENT_LIST, NULL);
	for (const char *at = form; *at && !making.failed; at += *at == ',') {
		if (*at == '|') {
			argument_form_end(&making, list);
			making.key = "kwargs";
			list = argument_form_add(&making, ARGUMENT_MAP, NULL);
			at++;
		}
		if (*at == '\'') {
			size_t length = strcspn(at + 1, "'");
			making.key = argument_form_part(&making, at + 1, length);
			at += length + 3;
		}
		if (*at)
			at = argument_form_add_value(&making, at);
	}
	argument_form_end(&making, list);
	if (!arguments || making.failed)
		return NULL;
	*arguments = (struct arguments){ making.value, making.values };
	return arguments;
}

const struct arguments *arguments_with_result(
	struct arena *arena, const struct arguments *arguments, const char *const *name, uint32_t names, bool list)
{
	uint32_t before = arguments->values, count = before;
	struct arguments *longer;
	struct argument *value;
	if (!(ROOM(arena, longer, 1) && ROOM(arena, value, before + names + 1)))
		return NULL;
	COPY(value, arguments->value, before);
	if (list || !names)
		value[count++] = (struct argument){ .kind = names ? ARGUMENT_LIST : ARGUMENT_NOTHING, .within = names };
	FOR(i, names)
		value[count++] = (struct argument){ .kind = name[i] ? ARGUMENT_TEXT : ARGUMENT_NOTHING, .text = name[i] };
	value[before].key = "result";
	*longer = (struct arguments){ value, count };
	return longer;
}
