/* commands.c: the command table and its look-ups. */
#include "commands.h"

#include "src/base/words.h"

#define X(id, word, keys, footer, context, arguments, help) \
	[COMMAND_##id] = { word, keys, footer, arguments, help, context },
const struct command commands[COMMAND_COUNT] = { COMMANDS(X) };
#undef X

enum command_id command_find(const char *line)
{
	line += strspn(line, " ");
	size_t length = strcspn(line, " ");
	for (int i = 0; length > 0 && i < COMMAND_COUNT; i++)
		if (strlen(commands[i].word) == length && memcmp(commands[i].word, line, length) == 0)
			return (enum command_id)i;
	return COMMAND_COUNT;
}

enum status command_unknown(const char *line, struct error *error)
{
	char word[61];
	struct nearest nearest = { .wanted = word };
	PRINT_TO(word, "%.*s", (int)strcspn(line, " \t"), line);
	FOR_INT(i, COMMAND_COUNT)
		nearest_consider(&nearest, commands[i].word);
	return refuse(error, "unknown command \"%s\"%s", word, nearest_text(&nearest, "", TEXT(120)));
}

const char *command_arguments(const char *line)
{
	line += strspn(line, " ");
	line += strcspn(line, " ");
	return line + strspn(line, " ");
}

static bool has_key(const char *keys, const char *key)
{
	size_t length = strlen(key);
	while (*keys) {
		size_t next = strcspn(keys, " ");
		if (next == length && memcmp(keys, key, length) == 0)
			return true;
		keys += next + strspn(keys + next, " ");
	}
	return false;
}

enum command_id command_of_key(const char *key, unsigned context)
{
	FOR_INT(i, COMMAND_COUNT)
		if ((commands[i].context & context) && has_key(commands[i].keys, key))
			return (enum command_id)i;
	return COMMAND_COUNT;
}

char *command_key(enum command_id command, char text[16])
{
	snprintf(text, 16, "%.*s", (int)strcspn(commands[command].keys, " "), commands[command].keys);
	return text;
}
