/* launch.c: launch configurations: YAML and JSON by libyaml, TOML as YAML; what keys mean says a reader in Python. */
#include <ctype.h>
#include <yaml.h>

#include "dot_child.h"
#include "launch.h"
#include "src/base/source.h"
#include "src/base/streams.h"
#include "src/base/words.h"

#define FILE_MOST  ((size_t)1 << 20)
#define NAME_MOST  256
#define NODES_MOST 100000 /* with those that aliases repeat */

#define X(id, name) name,
const char *const launcher_names[LAUNCHER_COUNT] = { LAUNCHERS(X) };
#undef X
#define X(id, name) #id,
static const char *const launcher_ids[LAUNCHER_COUNT] = { LAUNCHERS(X) };
#undef X
#define X(id) #id,
static const char *const launch_slot_names[LAUNCH_SLOT_COUNT] = { LAUNCH_SLOTS(X) };
#undef X

static enum status launch_wrong(struct error *error, unsigned line, const char *text)
{
	refuse(error, "%s", text);
	error->line = line;
	return BAD_INPUT;
}

/* ---- YAML, JSON, TOML ---- */

/* Each key as its line, its path and its value, a NUL behind each. */
static void launch_key(FILE *flat, unsigned line, const char *path, const char *value)
{
	fprintf(flat, "%u%c%s%c%s%c", line, 0, path, 0, value, 0);
}

struct launch_tree { yaml_document_t document; FILE *flat; uint32_t nodes; };

static enum status launch_walk(struct launch_tree *tree, int index, struct words path, struct error *error)
{
	const yaml_node_t *node = yaml_document_get_node(&tree->document, index), *key;
	unsigned line = (unsigned)node->start_mark.line + 1;
	char value[NAME_MOST] = "";
	struct words list = { value, sizeof value, 0 };
	size_t length = path.at;
	if (++tree->nodes > NODES_MOST || length > NAME_MOST / 2)
		return launch_wrong(error, line, "too much, or too many levels");
	if (node->type == YAML_SCALAR_NODE)
		launch_key(tree->flat, line, path.text, (const char *)node->data.scalar.value);
	if (node->type == YAML_SEQUENCE_NODE)
		for (const yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++)
			if ((key = yaml_document_get_node(&tree->document, *item))->type == YAML_SCALAR_NODE)
				words_add(&list, "%s%s", list.at ? "+" : "", (const char *)key->data.scalar.value);
	if (node->type == YAML_SEQUENCE_NODE)
		launch_key(tree->flat, line, path.text, value);
	if (node->type != YAML_MAPPING_NODE)
		return OK;
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
		key = yaml_document_get_node(&tree->document, pair->key);
		path.at = length;
		if (key->type == YAML_SCALAR_NODE)
			words_add(&path, "%s%s", length ? "." : "", (const char *)key->data.scalar.value);
		TRY(launch_walk(tree, pair->value, path, error));
		path.text[length] = '\0';
	}
	return OK;
}

static enum status launch_read_yaml(const char *text, FILE *flat, struct error *error)
{
	yaml_parser_t parser;
	struct launch_tree tree = { .flat = flat };
	enum status status = OK;
	NEEDED(error, yaml_parser_initialize(&parser));
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
	if (!yaml_parser_load(&parser, &tree.document)) {
		status = parser.error == YAML_MEMORY_ERROR ? fail_memory(error)
			: launch_wrong(error, (unsigned)parser.problem_mark.line + 1, parser.problem);
	} else {
		if (yaml_document_get_root_node(&tree.document))
			status = launch_walk(&tree, 1, (struct words){ TEXT(NAME_MOST), 0 }, error);
		yaml_document_delete(&tree.document);
	}
	yaml_parser_delete(&parser);
	return status;
}

static bool launch_is_name(const char *word, size_t length)
{
	FOR_SIZE(i, length)
		if (!isalnum((unsigned char)word[i]) && !strchr("_-.\"", word[i]))
			return false;
	return length > 0;
}

/* "[table]". */
static bool launch_is_table(const char *at)
{
	const char *name = at + strspn(at, "[");
	size_t length = strcspn(name, "]\n");
	return *at == '[' && name[length] == ']' && isalpha((unsigned char)*name) && launch_is_name(name, length);
}

/* Tables are keys, what is in them comes behind a blank; a line stays a line. */
static enum status launch_read_toml(const char *text, FILE *flat, struct error *error)
{
	size_t size = strlen(text) * 2 + 8;
	const char *blank = "";
	char *yaml = mem_alloc(size, 1);
	NEEDED(error, yaml);
	struct words words = { yaml, size, 0 };
	for (const char *at = text; *at; at += *at == '\n') {
		at += strspn(at, " \t");
		int length = (int)strcspn(at, "\n"), key = (int)strcspn(at, " \t=\n");
		const char *equals = at + key + strspn(at + key, " \t");
		if (launch_is_table(at))
			words_add(&words, "%.*s:\n", (int)strcspn(at + strspn(at, "["), "]"), at + strspn(at, "["));
		else if (launch_is_name(at, (size_t)key) && *equals == '=')
			words_add(&words, "%s%.*s: %.*s\n", blank, key, at, length - (int)(equals + 1 - at), equals + 1);
		else
			words_add(&words, "%s%.*s\n", blank, length, at);
		blank = launch_is_table(at) ? " " : blank;
		at += length;
	}
	enum status status = launch_read_yaml(yaml, flat, error);
	mem_free(yaml);
	return status;
}

/* ---- what they say, by the reader in Python ---- */

static enum status launch_add(struct launch *launch, bool note, unsigned line, const char *text, size_t length)
{
	NEED(mem_reserve(&launch->line, &launch->room, launch->lines + 1, sizeof *launch->line));
	struct launch_line *next = &launch->line[launch->lines++];
	*next = (struct launch_line){ note, { .line = line } };
	snprintf(next->said.text, sizeof next->said.text, "%.*s", (int)SMALLER(length, sizeof next->said.text), text);
	return OK;
}

/* What the reader answers to a request, which this frees; mem_free(text->memory). */
static enum status launch_ask(
	FILE *stream, char **request, const size_t *size, struct python_text *text, struct error *error)
{
	bool whole = !ferror(stream) & (fclose(stream) == 0);
	const struct python_job job = { .name = "launch", .data = *request, .size = *size };
	enum status status = whole ? python_child_text(&job, text, error) : fail_memory(error);
	free(*request);
	return status;
}

/* "LINE<TAB>note<TAB>TEXT" or "LINE<TAB><TAB>TEXT". */
static enum status launch_answer(struct launch *launch, char *at)
{
	for (size_t length; *at; at += length + (at[length] == '\n')) {
		unsigned line = (unsigned)strtoul(at, &at, 10);
		at += *at == '\t';
		bool note = *at == 'n';
		at += strcspn(at, "\t");
		at += *at == '\t';
		length = strcspn(at, "\n");
		TRY(launch_add(launch, note, line, at, length));
	}
	return OK;
}

static enum status launch_read_knobs(struct launch *launch, char *text)
{
	unsigned line = 1;
	for (char *at = text, *next; at; at = next, line++) {
		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		at += strspn(at, " \t");
		size_t length = strcspn(at, "#\r");
		while (length > 0 && strchr(" \t", at[length - 1]))
			length--;
		if (length > 0)
			TRY(launch_add(launch, false, line, at, length));
	}
	return OK;
}

static enum status launch_read_text(struct launch *launch, char *text, int64_t devices, struct error *error)
{
	const char *at = text;
	for (;; at += strcspn(at, "\n")) {
		at += strspn(at, " \t\r\n");
		if (*at != '#' && !text_begins(at, "---\n"))
			break;
	}
	size_t key = strcspn(at, ":\n"), size;
	bool table = launch_is_table(at);
	bool yaml = *at == '{' || (at[key] == ':' && strchr(" \r\n", at[key + 1]) && launch_is_name(at, key));
	if (!yaml && !table && !strstr(text, "--"))
		return launch_read_knobs(launch, text);
	char *request;
	FILE *stream = text_stream(&request, &size);
	NEEDED(error, stream);
	struct python_text said = { 0 };
	fprintf(stream, "read %lld %s%s\n", (long long)devices, yaml ? "yaml" : table ? "table" : "options",
		strstr(text, "--") ? " --" : "");
	enum status status = yaml ? launch_read_yaml(text, stream, error) : table ? launch_read_toml(text, stream, error) : OK;
	if (!yaml && !table)
		fputs(text, stream);
	if (status != OK) {
		fclose(stream);
		free(request);
		return status;
	}
	TRY(launch_ask(stream, &request, &size, &said, error));
	status = said.length > 0 ? launch_answer(launch, said.text) : launch_read_knobs(launch, text);
	mem_free(said.memory);
	return status;
}

enum status launch_read(struct launch *launch, const char *path, int64_t devices, struct error *error)
{
	size_t size;
	*launch = (struct launch){ 0 };
	char *text = input_text(path, FILE_MOST, &size, error);
	if (!text)
		return error->status;
	enum status status = memchr(text, 0, size) ? refuse(error, "holds a byte 0: it isn't text")
		: launch_read_text(launch, text, devices, error);
	mem_free(text);
	return status == NO_MEMORY ? fail_memory(error) : status;
}

enum status launch_write(const struct launch *launch, FILE *stream, struct error *error)
{
	size_t size;
	char *request;
	struct python_text said = { 0 };
	FILE *asks = text_stream(&request, &size);
	NEEDED(error, asks);
	fprintf(asks, "write %s\n", launcher_ids[launch->launcher]);
	FOR_INT(slot, LAUNCH_SLOT_COUNT)
		if (*launch->value[slot])
			fprintf(asks, "%s=%s\n", launch_slot_names[slot], launch->value[slot]);
	TRY(launch_ask(asks, &request, &size, &said, error));
	fputs(said.text, stream);
	mem_free(said.memory);
	return OK;
}
