/* completion.c: continuations of the last word of a line, from the command table, the knob table and the graph. */
#include "completion.h"

#include <glob.h>

#include "src/write/export.h"

/* Words that only the session's language has. */
static const char *const session_words[] = { "keep", "offload" };

/* Adds head + word when word begins with part. */
static void offer(struct completion *completion, const char *head, size_t head_length, const char *part, const char *word, const char *tail)
{
	if (completion->count == COMPLETIONS || strncmp(word, part, strlen(part)) != 0)
		return;
	snprintf(completion->line[completion->count++], LINE_SIZE, "%.*s%s%s", (int)head_length, head, word, tail);
}

static void offer_words(struct completion *completion, const char *head, size_t head_length, const char *part, const char *words)
{
	char word[64];
	for (int i = 0; knob_word(words, i, word, sizeof word); i++)
		offer(completion, head, head_length, part, word, "");
}

static void offer_knobs(struct completion *completion, const char *line, const char *part, const char *tail)
{
	const char *value = strchr(part, '=');
	if (!value) {
		for (int i = 0; i < KNOB_COUNT; i++)
			offer(completion, line, (size_t)(part - line), part, knobs[i].name, tail);
		return;
	}
	char name[64];
	snprintf(name, sizeof name, "%.*s", (int)(value - part), part);
	enum knob_id knob = knob_find(name);
	size_t head = (size_t)(value + 1 - line);
	if (knob == KNOB_COUNT)
		return;
	if (knobs[knob].type == KNOB_SWITCH)
		offer_words(completion, line, head, value + 1, "off|on");
	else if (knobs[knob].words)
		offer_words(completion, line, head, value + 1, knobs[knob].words);
}

static void offer_names(struct completion *completion, const struct model *model, const char *line, const char *part, bool ops, bool tensors)
{
	if (!model->plan)
		return;
	const struct graph *graph = model->plan->graph;
	for (uint32_t i = 0; ops && i < graph->ops; i++)
		offer(completion, line, (size_t)(part - line), part, graph->op[i].name, "");
	for (uint32_t i = 0; tensors && i < graph->tensors; i++)
		offer(completion, line, (size_t)(part - line), part, graph->tensor[i].name, "");
}

/* Files whose names begin with part, directories with a slash. */
static void offer_files(struct completion *completion, const char *line, const char *part)
{
	char pattern[LINE_SIZE + 2];
	glob_t found;
	snprintf(pattern, sizeof pattern, "%s*", part);
	if (glob(pattern, GLOB_MARK, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (strlen(found.gl_pathv[i]) + (size_t)(part - line) < LINE_SIZE)
			offer(completion, line, (size_t)(part - line), part, found.gl_pathv[i], "");
	globfree(&found);
}

static void offer_commands(struct completion *completion, const char *line, const char *part)
{
	for (int i = 0; i < COMMAND_COUNT; i++)
		offer(completion, line, (size_t)(part - line), part, commands[i].word, *commands[i].arguments ? " " : "");
	for (size_t i = 0; i < sizeof session_words / sizeof *session_words; i++)
		offer(completion, line, (size_t)(part - line), part, session_words[i], " ");
}

/* Types of the graph's ops, each once. */
static void offer_types(struct completion *completion, const struct model *model, const char *line, const char *part)
{
	const struct graph *graph = model->plan ? model->plan->input : NULL;
	for (uint32_t i = 0; graph && i < graph->ops; i++) {
		bool known = false;
		for (uint32_t j = 0; j < completion->count && !known; j++)
			known = strcmp(completion->line[j] + (part - line), graph->op[i].type) == 0;
		if (!known)
			offer(completion, line, (size_t)(part - line), part, graph->op[i].type, "");
	}
}

/* pin op A before B; pin tensor T ...; pin layer N ... */
static void offer_pin(struct completion *completion, const struct model *model, const char *line, const char *part)
{
	static const char by_kind[] = "type ";
	const char *what = command_arguments(line);
	if (part == what)
		offer_words(completion, line, (size_t)(part - line), part, "op|tensor|layer|type");
	else if (strncmp(what, "op ", 3) == 0 && (part == what + 3 || strncmp(part - 7, "before ", 7) == 0))
		offer_names(completion, model, line, part, true, false);
	else if (strncmp(what, "op ", 3) == 0)
		offer(completion, line, (size_t)(part - line), part, "before", " ");
	else if (strncmp(what, by_kind, 5) == 0 && part == what + 5)
		offer_types(completion, model, line, part);
	else if (strncmp(what, by_kind, 5) == 0 || strncmp(what, "layer ", 6) == 0)
		offer(completion, line, (size_t)(part - line), part, "recompute", "");
	else if (strncmp(what, "tensor ", 7) == 0 && (part == what + 7 || strncmp(part - 7, "behind ", 7) == 0))
		offer_names(completion, model, line, part, false, true);
	else if (strncmp(what, "tensor ", 7) == 0)
		offer_words(completion, line, (size_t)(part - line), part, "at|behind|shard|on");
}

static void offer_kinds(struct completion *completion, const char *line, const char *part)
{
	size_t head = (size_t)(part - line);
	for (int kind = 0; kind < EXPORT_KIND_COUNT; kind++)
		offer(completion, line, head, part, export_kinds[kind].name, "");
	offer(completion, line, head, part, "screen", "");
}

/* The views that the line's kind has. */
static void offer_views(struct completion *completion, const char *line, const char *part)
{
	char kind[64];
	const char *begin = command_arguments(line);
	snprintf(kind, sizeof kind, "%.*s", (int)strcspn(begin, " "), begin);
	for (int i = 0; i < export_view_count; i++)
		if (export_views[i].name && export_views[i].kinds >> export_find(kind) & 1)
			offer(completion, line, (size_t)(part - line), part, export_views[i].name, "");
}

/* The options that may follow an export's kind, and their values; false where a file's name stands. */
static bool offer_export(struct completion *completion, const char *line, const char *part)
{
	size_t head = (size_t)(part - line);
	if (head >= 7 && strncmp(part - 7, "--view ", 7) == 0)
		offer_views(completion, line, part);
	else if (head >= 8 && strncmp(part - 8, "--stage ", 8) == 0)
		offer_words(completion, line, head, part, "input|device");
	else if (*part == '-') {
		offer(completion, line, head, part, "--view", " ");
		offer(completion, line, head, part, "--stage", " ");
	} else
		return false;
	return true;
}

void completion_find(const char *line, const struct model *model, struct completion *completion)
{
	completion->count = 0;
	const char *part = strrchr(line, ' ');
	part = part ? part + 1 : line;
	enum command_id command = command_find(line);
	if (part == line + strspn(line, " "))
		offer_commands(completion, line, part);
	else if (command == COMMAND_SET)
		offer_knobs(completion, line, part, "=");
	else if (command == COMMAND_RESET)
		offer_knobs(completion, line, part, "");
	else if (command == COMMAND_PIN)
		offer_pin(completion, model, line, part);
	else if (command == COMMAND_GO || command == COMMAND_SEARCH)
		offer_names(completion, model, line, part, true, true);
	else if (command == COMMAND_EXPORT && part == command_arguments(line))
		offer_kinds(completion, line, part);
	else if (command == COMMAND_EXPORT && offer_export(completion, line, part))
		;
	else if (command == COMMAND_OPEN || command == COMMAND_SAVE || command == COMMAND_EXPORT)
		offer_files(completion, line, part);
	else if (strncmp(line, "keep ", 5) == 0 || strncmp(line, "offload ", 8) == 0)
		offer_names(completion, model, line, part, false, true);
}

const char *completion_hint(const char *line)
{
	enum command_id command = command_find(line);
	if (command == COMMAND_COUNT)
		return "";
	if (command == COMMAND_SET) {
		char name[64];
		const char *knob = command_arguments(line);
		snprintf(name, sizeof name, "%.*s", (int)strcspn(knob, "="), knob);
		enum knob_id id = knob_find(name);
		if (id != KNOB_COUNT)
			return knobs[id].help;
	}
	return commands[command].help;
}
