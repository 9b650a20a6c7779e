/* launch_keys.c: launchers' keys: the same rows of launch_keys.txt read and write them. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "launch.h"
#include "src/base/json.h"

#define X(id, name) name,
const char *const launcher_names[LAUNCHER_COUNT] = { LAUNCHERS(X) };
#undef X
#define X(id) #id,
const char *const launch_slot_names[LAUNCH_SLOT_COUNT] = { LAUNCH_SLOTS(X) };
#undef X

static const struct {
	const char *key;
	enum launcher of;
	enum launch_slot slot;
	enum launcher writes;
	const char *words;
} keys[] = {
#include "launch_keys.inc"
};

enum status launch_add(struct launch *launch, bool note, unsigned line, const char *format, ...)
{
	va_list arguments;
	NEED(mem_reserve(&launch->line, &launch->room, launch->lines + 1, sizeof *launch->line));
	struct launch_line *next = &launch->line[launch->lines++];
	*next = (struct launch_line){ note, { .line = line } };
	va_start(arguments, format);
	vsnprintf(next->said.text, sizeof next->said.text, format, arguments);
	va_end(arguments);
	return OK;
}

/* Word by word of "theirs=ours ...": ours of their value, or, with it NULL, theirs of our value. False: none. */
static bool launch_word(const char *words, const char *theirs, const char *ours, char *found, size_t size)
{
	for (const char *at = words, *end; *at; at = *end ? end + 1 : end) {
		bool part = *at == '~';
		const char *word = at + part, *equals = strchr(word, '=');
		size_t length = (size_t)(equals - word);
		end = equals + strcspn(equals, " ");
		const char *in = theirs ? theirs : "";
		while (part && *in && strncasecmp(in, word, length) != 0)
			in++;
		bool same = theirs ? strncasecmp(in, word, length) == 0 && (part ? *in : !in[length])
			: strlen(ours) == (size_t)(end - equals - 1) && strncmp(equals + 1, ours, strlen(ours)) == 0;
		if (same) {
			snprintf(found, size, "%.*s", theirs ? (int)(end - equals - 1) : (int)length, theirs ? equals + 1 : word);
			return true;
		}
	}
	return false;
}

static bool launch_is_off(const char *value)
{
	return !*value ||
		launch_word("false= no= none= null= off= auto= 0= -1= default= standard= ~??" "?=", value, NULL, NULL, 0);
}

/* Without the _ between its digits; "": none. */
static void launch_number_of(const char *value, char *ours, size_t size)
{
	char *end;
	size_t length = 0;
	for (; *value && length + 1 < size; value++)
		if (*value != '_')
			ours[length++] = *value;
	ours[length] = '\0';
	long number = strtol(ours, &end, 10);
	if (end == ours || (*end && *end != '+') || number < -1 || number > 1 << 24)
		*ours = '\0';
}

/* Keys that no row has, of which something may depend. */
static enum status launch_unknown(struct launch *launch, const char *key, const char *value, unsigned line)
{
	const char *last = strrchr(key, '.');
	bool counts = strcasecmp(value, "true") == 0 || strtol(value, NULL, 10) > 1;
	counts = counts && !launch_word("~validation= ~ckpt= ~amax=", key, NULL, NULL, 0) && launch_word(
		"~parallel= ~shard= ~recompute= ~checkpointing= ~quant= ~fp8= ~precision= ~batch_size=", key, NULL, NULL, 0);
	return counts || (strstr(last ? last : key, "offload") && !launch_is_off(value))
		? launch_add(launch, true, line, "%.100s = %.60s: isn't known here", key, value)
		: OK;
}

static enum status launch_take_row(
	struct launch *launch, size_t row, int depth, const char *key, const char *value, unsigned line, struct error *error)
{
	const char *words = keys[row].words, *why = NULL;
	enum launch_slot slot = keys[row].slot;
	bool number = strcmp(words, "NUMBER") == 0, off = launch_is_off(value);
	char ours[sizeof *launch->value] = "";
	if (number && !off)
		launch_number_of(value, ours, sizeof ours);
	if (slot == LAUNCH_note)
		why = off || *words == '-' ? NULL : words;
	else if (number && (*value == '$' || strcmp(value, "true") == 0))
		why = "its value isn't in the file";
	else if (number && text_begins(value, "--"))   /* a name of an option, not its value */
		return OK;
	else if (number && !off && !*ours) {
		refuse(error, "%.100s = %.60s: expected a number", key, value);
		error->line = line;
		return BAD_INPUT;
	} else if (strcmp(words, "TEXT") == 0) {
		value += strspn(value, "[ ");
		PRINT_TO(ours, "%.*s", off ? 0 : (int)strcspn(value, "]"), value);
	} else if (!number && !launch_word(words, value, NULL, ours, sizeof ours) && !off && !strchr(words, '~'))
		why = "isn't known here";
	bool more = slot != LAUNCH_zero || strcmp(ours, launch->value[slot]) > 0;
	if (*ours && more && (!*launch->value[slot] || depth <= launch->depth[slot])) {
		memcpy(launch->value[slot], ours, sizeof ours);
		launch->depth[slot] = depth;
	}
	return why ? launch_add(launch, true, line, "%.100s = %.60s: %s", key, value, why) : OK;
}

enum status launch_take(struct launch *launch, const char *key, const char *value, unsigned line, struct error *error)
{
	char name[300];
	size_t length = 0;
	int depth = 0;
	uint32_t known = launch->known;
	for (const char *at = key; *at && length + 1 < sizeof name; at++) {
		depth += *at == '.';
		if (text_begins(at, "--"))
			at++;
		else
			name[length++] = *at == '-' ? '_' : *at;
	}
	name[length] = '\0';
	FOR(row, COUNT_OF(keys)) {
		size_t tail = length - strlen(keys[row].key);
		if (tail > length || strcmp(name + tail, keys[row].key) != 0 || (tail > 0 && name[tail - 1] != '.'))
			continue;
		launch->known++;
		if (launch->launcher == LAUNCHER_any)
			launch->launcher = keys[row].of;
		TRY(launch_take_row(launch, row, depth, name, value, line, error));
	}
	return launch->known > known ? OK : launch_unknown(launch, name, value, line);
}

/* ---- out ---- */

/* A number, true, false or, in quotes, a word. */
static char *launch_literal(size_t row, const char *word, char *text, size_t size)
{
	bool plain = strcmp(keys[row].words, "NUMBER") == 0 || strchr(word, '.') || strcmp(word, "true") == 0 ||
		strcmp(word, "false") == 0;
	snprintf(text, size, plain ? "%s" : keys[row].slot == LAUNCH_float8 ? "[\"%s\"]" : "\"%s\"", word);
	return text;
}

/* What is written, and how far. */
struct launch_writing {
	FILE *stream;
	struct json json;
	const char *section;    /* the key before, whose part before its dot is open */
	bool inside, begun;
};

/* A member of an object, in the one that its key names before a dot. */
static void launch_write_member(
	struct launch_writing *writing, const char *key, const char *section, bool same, const char *literal)
{
	struct json *json = &writing->json;
	json_new_line(json, 2);
	if (writing->inside && !same)
		json_close(json);
	json_new_line(json, same ? 4 : 2);
	if (*section && !same) {
		json_open_object(json, section);
		json_new_line(json, 4);
	}
	writing->inside = *section;
	json_write_raw(json, *section ? key + strlen(section) + 1 : key, literal);
}

static void launch_write_option(const struct launch_writing *writing, const char *key, const char *word)
{
	fputs(writing->begun ? " --" : "--", writing->stream);
	for (const char *at = key; *at; at++)
		fputc(*at == '_' ? '-' : *at, writing->stream);
	if (strcmp(word, "true") != 0)
		fprintf(writing->stream, " %s", word);
}

/* A row of the table with its value's word, as the launcher has it. */
static void launch_write_row(struct launch_writing *writing, enum launcher launcher, uint32_t row, const char *word)
{
	const char *key = keys[row].key, *dot = strchr(key, '.');
	char literal[240], name[80];
	PRINT_TO(name, "%.*s", dot ? (int)(dot - key) : 0, key);
	bool same = strncmp(writing->section, name, strlen(name)) == 0 && writing->section[strlen(name)] == '.';
	launch_literal(row, word, literal, sizeof literal);
	if (launcher == LAUNCHER_deepspeed || launcher == LAUNCHER_accelerate)
		launch_write_member(writing, key, name, same, literal);
	else if (launcher != LAUNCHER_torchtitan)
		launch_write_option(writing, key, word);
	else if (same)
		fprintf(writing->stream, "%s = %s\n", dot + 1, literal);
	else
		fprintf(writing->stream, "%s[%s]\n%s = %s\n", writing->begun ? "\n" : "", name, dot + 1, literal);
	writing->begun = true;
	writing->section = key;
}

enum status launch_write(const struct launch *launch, FILE *stream, struct error *error)
{
	bool written[LAUNCH_SLOT_COUNT] = { false };
	struct launch_writing writing = {
		.stream = stream, .json = { .stream = stream, .spaced = true }, .section = "" };
	enum launcher launcher = launch->launcher;
	bool object = launcher == LAUNCHER_deepspeed || launcher == LAUNCHER_accelerate;
	if (object)
		json_open_object(&writing.json, NULL);
	FOR(row, COUNT_OF(keys)) {
		const char *value = launch->value[keys[row].slot];
		char word[220];
		PRINT_TO(word, "%s", value);
		if (keys[row].writes != launcher || !*value || (strchr(keys[row].words, '=') &&
			!launch_word(keys[row].words, NULL, value, word, sizeof word)))
			continue;
		written[keys[row].slot] = true;
		launch_write_row(&writing, launcher, row, word);
	}
	json_new_line(&writing.json, 0);
	if (object)
		json_end(&writing.json);
	else if (launcher == LAUNCHER_megatron)
		fputc('\n', stream);
	FOR_INT(slot, LAUNCH_SLOT_COUNT)
		if (*launch->value[slot] && !written[slot])
			return refuse(error, "%s has no word for %s=%s", launcher_names[launcher], launch_slot_names[slot],
				launch->value[slot]);
	return OK;
}
