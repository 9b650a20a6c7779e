/* arguments.c: the arguments that a captured op carries for those who run it, when its tensors get other names.
 *
 * They are members that the planner doesn't know, kept as text: one pass over the text finds the names.
 */
#include <string.h>

#include "arguments.h"

struct text {
	char *at;
	size_t length, room;
	bool failed;
};

static void put(struct text *text, const char *from, size_t length)
{
	if (text->failed || !mem_reserve(&text->at, &text->room, text->length + length + 1, 1)) {
		text->failed = true;
		return;
	}
	memcpy(text->at + text->length, from, length);
	text->length += length;
}

/* The length of the string that begins at a quote, both quotes included. */
static size_t string_length(const char *at)
{
	size_t length = 1;
	while (at[length] && at[length] != '"')
		length += at[length] == '\\' && at[length + 1] ? 2 : 1;
	return length + (at[length] == '"');
}

/* The tensor whose name stands between quotes, or NONE. */
static uint32_t find_tensor(const struct graph *graph, const char *quoted, size_t length)
{
	char name[1024];
	if (length < 2 || length - 2 >= sizeof name || memchr(quoted, '\\', length))
		return NONE;
	memcpy(name, quoted + 1, length - 2);
	name[length - 2] = '\0';
	return graph_find_tensor(graph, name);
}

static void put_name(struct text *text, const char *name, bool wrapped)
{
	if (!name) {
		put(text, "null", 4);
		return;
	}
	put(text, "{\"t\":\"", wrapped ? 6 : 0);
	put(text, "\"", !wrapped);
	put(text, name, strlen(name));
	put(text, "\"}", wrapped ? 2 : 1);
}

/* {"t": name} at the text: its length, 0 for anything else. The quoted name is at *quoted. */
static size_t reference_length(const char *at, const char **quoted, size_t *length)
{
	if (strncmp(at, "{\"t\":", 5) != 0)
		return 0;
	const char *from = at + 5 + strspn(at + 5, " ");
	if (*from != '"')
		return 0;
	*quoted = from;
	*length = string_length(from);
	return from[*length] == '}' ? (size_t)(from - at) + *length + 1 : 0;
}

/* A string that is no reference: a key, which tells whether results follow, or a result's name. */
static size_t put_string(struct text *text, const char *at, const struct graph *graph, const struct renaming *renaming,
	int depth, bool *result)
{
	size_t length = string_length(at);
	bool key = at[length] == ':';
	uint32_t tensor = *result && !key ? find_tensor(graph, at, length) : NONE;
	if (depth == 0 && key)
		*result = length == 8 && strncmp(at, "\"result\"", 8) == 0;
	if (tensor == NONE)
		put(text, at, length);
	else
		put_name(text, renaming->name(renaming->context, tensor, true), false);
	return length;
}

char *arguments_rename(const char *extra, const struct graph *graph, const struct renaming *renaming)
{
	struct text text = { 0 };
	bool result = false;
	int depth = 0;
	for (const char *at = extra; *at;) {
		const char *quoted;
		size_t name, length = result ? 0 : reference_length(at, &quoted, &name);
		uint32_t tensor = length ? find_tensor(graph, quoted, name) : NONE;
		if (tensor != NONE) {
			put_name(&text, renaming->name(renaming->context, tensor, false), true);
		} else if (*at == '"') {
			length = put_string(&text, at, graph, renaming, depth, &result);
		} else {
			depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
			length = 1;
			put(&text, at, 1);
		}
		at += length;
	}
	put(&text, "", 1);
	if (!text.failed)
		return text.at;
	mem_free(text.at);
	return NULL;
}

const char *arguments_item(const char *extra, int item)
{
	const char *at = extra ? strstr(extra, "\"args\":[") : NULL;
	int depth = 0;
	for (at = at ? at + 8 : NULL; at && *at; at++) {
		if (depth == 0 && item == 0)
			return at;
		if (depth == 0 && *at == ']')
			return NULL;
		item -= depth == 0 && *at == ',';
		depth += (*at == '[' || *at == '{') - (*at == ']' || *at == '}');
	}
	return NULL;
}

uint32_t arguments_tensors(const char *extra, const struct graph *graph, int item, uint32_t *tensor, uint32_t room)
{
	const char *at = arguments_item(extra, item), *quoted;
	uint32_t count = 0;
	if (!at || *at != '[')
		return 0;
	for (at++; *at && *at != ']'; at += *at == ',') {
		at += strspn(at, " ");
		size_t name, length = reference_length(at, &quoted, &name);
		uint32_t found = length ? find_tensor(graph, quoted, name) : NONE;
		if (found == NONE)
			return 0;
		if (count < room)
			tensor[count] = found;
		count++;
		at += length + strspn(at + length, " ");
	}
	return count;
}

uint32_t arguments_gradient_of(const struct graph *graph, uint32_t tensor)
{
	const char *at = graph->tensor[tensor].extra;
	at = at ? strstr(at, "\"gradient_of\":") : NULL;
	at = at ? at + 14 + strspn(at + 14, " ") : NULL;
	return at && *at == '"' ? find_tensor(graph, at, string_length(at)) : NONE;
}

/* ---- new ones --------------------------------------------------------------------------------------- */

static char *finish(struct text *text)
{
	put(text, "", 1);
	if (!text->failed)
		return text->at;
	mem_free(text->at);
	return NULL;
}

static void put_list(struct text *text, char letter, const struct argument_names *names)
{
	uint32_t put_so_far = 0;
	put(text, "[", names->lists);
	for (uint32_t i = 0; i < names->count; i++) {
		const char *name = names->name(names->context, letter, i);
		if (!name)
			continue;
		put(text, ",", put_so_far++ > 0);
		put_name(text, name, true);
	}
	put(text, "]", names->lists);
}

/* The number behind '#', which a blank ends: its length. */
static size_t put_numbers(struct text *text, const char *number, const struct argument_names *names)
{
	size_t length = strcspn(number, " ");
	put(text, "[", names->lists);
	for (uint32_t i = 0; i < (names->lists ? names->count : 1); i++) {
		put(text, ",", i > 0);
		put(text, number, length);
	}
	put(text, "]", names->lists);
	return length + 1;
}

char *arguments_make(const char *form, const struct argument_names *names)
{
	struct text text = { 0 };
	put(&text, "\"args\":[", 8);
	for (const char *at = form; *at; at++)
		if (*at == '@' && at[1] >= 'A' && at[1] <= 'Z')
			put_name(&text, names->name(names->context, (char)(*++at - 'A' + 'a'), 0), true);
		else if (*at == '@')
			put_list(&text, *++at, names);
		else if (*at == '#')
			at += put_numbers(&text, at + 1, names);
		else if (*at == '|')
			put(&text, "],\"kwargs\":{", 12);
		else
			put(&text, *at == '\'' ? "\"" : at, 1);
	put(&text, "}", 1);
	return finish(&text);
}

char *arguments_with_result(char *members, const char *const *name, uint32_t names, bool list)
{
	struct text text = { 0 };
	if (!members)
		return NULL;
	put(&text, members, strlen(members));
	put(&text, ",\"result\":", 10);
	put(&text, "[", list && names > 0);
	for (uint32_t i = 0; i < names; i++) {
		put(&text, ",", i > 0);
		put_name(&text, name[i], false);
	}
	if (!names)
		put_name(&text, NULL, false);
	put(&text, "]", list && names > 0);
	mem_free(members);
	return finish(&text);
}
