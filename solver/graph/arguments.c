/* arguments.c: what a captured op is called with. */
#include <errno.h>
#include <stdlib.h>

#include "graph.h"

/* A text with its end; *to is the place behind it. */
static const char *arguments_put_text(char **to, const char *text)
{
	if (!text)
		return NULL;
	size_t size = strlen(text) + 1;
	char *copy = memcpy(*to, text, size);
	*to += size;
	return copy;
}

const struct arguments *arguments_copy(struct arena *arena, const struct arguments *arguments)
{
	size_t size = 0;
	FOR(i, arguments->values)
		size += (arguments->value[i].key ? strlen(arguments->value[i].key) + 1 : 0) +
			(arguments->value[i].text ? strlen(arguments->value[i].text) + 1 : 0);
	struct arguments *MAKE_IN(arena, copy, 1);
	struct argument *MAKE_IN(arena, value, arguments->values);
	char *text = arena_alloc(arena, size, 1);
	if (!copy || !value || !text)
		return NULL;
	FOR(i, arguments->values) {
		value[i] = arguments->value[i];
		value[i].key = arguments_put_text(&text, value[i].key);
		value[i].text = arguments_put_text(&text, value[i].text);
	}
	*copy = (struct arguments){ value, arguments->values };
	return copy;
}

const struct arguments *arguments_rename(
	struct arena *arena, const struct arguments *arguments, const struct graph *graph, const struct renaming *renaming)
{
	struct arguments *copy;
	struct argument *value;
	if (!(ROOM(arena, copy, 1) && ROOM(arena, value, arguments->values)))
		return NULL;
	for (uint32_t i = 0, end = 0, result = 0; i < arguments->values; i++) {
		value[i] = arguments->value[i];
		if (i == end) { /* a member begins */
			end += 1 + value[i].within;
			result = strcmp(value[i].key, "result") == 0;
		}
		uint32_t tensor = value[i].kind == (result ? ARGUMENT_TEXT : ARGUMENT_TENSOR)
			? graph_find_tensor(graph, value[i].text)
			: NONE;
		if (tensor != NONE && !(value[i].text = renaming->name(renaming->context, tensor, result)))
			value[i].kind = ARGUMENT_NOTHING;
	}
	*copy = (struct arguments){ value, arguments->values };
	return copy;
}

const struct argument *arguments_item(const struct arguments *arguments, uint32_t item)
{
	for (uint32_t i = 0; arguments && i < arguments->values; i += 1 + arguments->value[i].within) {
		const struct argument *list = &arguments->value[i];
		if (strcmp(list->key, "args") != 0 || list->kind != ARGUMENT_LIST)
			continue;
		for (uint32_t k = 1; k <= list->within; k += 1 + list[k].within)
			if (item-- == 0)
				return &list[k];
	}
	return NULL;
}

bool argument_integer(const struct argument *value, int64_t *number)
{
	char *end;
	if (!value || value->kind != ARGUMENT_NUMBER)
		return false;
	errno = 0;
	*number = strtoll(value->text, &end, 10);
	return *end == '\0' && errno == 0;
}

uint32_t arguments_tensors(
	const struct arguments *arguments, const struct graph *graph, uint32_t item, uint32_t *tensor, uint32_t room)
{
	const struct argument *list = arguments_item(arguments, item);
	uint32_t count = list && list->kind == ARGUMENT_LIST ? list->within : 0;
	FOR(i, count) {
		uint32_t found = list[1 + i].kind == ARGUMENT_TENSOR ? graph_find_tensor(graph, list[1 + i].text) : NONE;
		if (found == NONE)
			return 0;
		if (i < room)
			tensor[i] = found;
	}
	return count;
}
