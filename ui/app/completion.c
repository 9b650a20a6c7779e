/* completion.c: continuations of the last word of a line, from the command table, the knob table and the graph. */
#include "app.h"
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"

#include <glob.h>
#include <stdarg.h>

#include "src/write/export.h"

/* Words that only the session's language has. */
static const char *const session_words[] = { "keep", "offload" };

/* 0: word begins with part; 1: contains it; 2: has its letters in their order; 3: none of these. */
static uint8_t completion_rank_of(const char *word, const char *part)
{
	if (strncmp(word, part, strlen(part)) == 0)
		return 0;
	if (text_contains(word, part))
		return 1;
	for (; *word && *part; word++)
		part += *word == *part;
	return *part ? 3 : 2;
}

/* Where an offer of that rank goes: behind its equals; NULL where better ones fill the list. */
static struct candidate_line *completion_room_for(struct completion *completion, uint8_t rank)
{
	struct candidate_line *offer = completion->offer;
	uint32_t at = completion->count;
	if (at == COMPLETIONS && offer[at - 1].rank <= rank)
		return NULL;
	if (at == COMPLETIONS)
		at = --completion->count;
	for (; at > 0 && offer[at - 1].rank > rank; at--)
		offer[at] = offer[at - 1];
	completion->count++;
	return &offer[at];
}

/* Adds what is before part + word when the word has part in it, with a note. */
static void __attribute__((format(printf, 6, 7))) completion_offer(struct completion *completion, const char *line,
	const char *part, const char *word, const char *tail, const char *format, ...)
{
	uint8_t rank = completion_rank_of(word, part);
	struct candidate_line *room = rank < 3 ? completion_room_for(completion, rank) : NULL;
	va_list arguments;
	if (!room)
		return;
	snprintf(room->line, LINE_SIZE, "%.*s%s%s", (int)(part - line), line, word, tail);
	va_start(arguments, format);
	vsnprintf(room->note, COMPLETION_NOTE, format, arguments);
	va_end(arguments);
	room->word = (uint16_t)(part - line);
	room->rank = rank;
}

static void offer_words(struct completion *completion, const char *line, const char *part, const char *words)
{
	char word[64];
	for (int i = 0; knob_word(words, i, word, sizeof word); i++)
		completion_offer(completion, line, part, word, "", " ");
}

/* A knob's words, each with what it means. */
static void offer_values(
	struct completion *completion, const char *line, const char *part, enum knob_id knob)
{
	char word[64];
	const char *words = knobs[knob].type == KNOB_SWITCH ? "off|on" : knobs[knob].words;
	for (int i = 0; knob_word(words, i, word, sizeof word); i++)
		completion_offer(completion, line, part, word, "", "%s", knob == K_device
			? device_text((enum device)i, false, TEXT(200)) : knob_word_help(knob, i, TEXT(200)));
}

static void offer_knobs(
	struct completion *completion, const struct model *model, const char *line, const char *part, const char *tail)
{
	const char *value = strchr(part, '=');
	char now[64], name[64];
	for (int i = 0; i < KNOB_COUNT && !value; i++)
		completion_offer(completion, line, part, knobs[i].name, tail, "%s: %s", !model->scenario ? ""
			: knob_came_to_text((enum knob_id)i, model->scenario, &model->given, model->plan, sizeof now, now, sizeof now),
			knobs[i].help);
	for (int i = 0; i < FIGURE_COUNT && !value; i++)
		completion_offer(completion, line, part, figure_name((enum figure_id)i), tail, "a figure of the device: %s",
			figure_help((enum figure_id)i));
	if (!value)
		return;
	PRINT_TO(name, "%.*s", (int)(value - part), part);
	enum knob_id knob = knob_find(name);
	if (knob != KNOB_COUNT)
		offer_values(completion, line, value + 1, knob);
}

/* An op says its type, a tensor its bytes: one name may stand for both. */
static void offer_names(struct completion *completion, const struct model *model, const char *line, const char *part,
	bool ops, bool tensors)
{
	if (!model->plan)
		return;
	const struct graph *graph = model->plan->graph;
	for (uint32_t i = 0; ops && i < graph->ops; i++)
		completion_offer(completion, line, part, graph->op[i].name, "", "op %u, %s",
			model->plan->ordered->position[i], graph->op[i].type);
	for (uint32_t i = 0; tensors && i < graph->tensors; i++)
		completion_offer(completion, line, part, graph->tensor[i].name, "", "tensor, %s %s",
			BYTES(graph->tensor[i].bytes), kind_names[graph->tensor[i].kind]);
}

/* Files whose names begin with part, directories with a slash. */
static void offer_files(struct completion *completion, const char *line, const char *part)
{
	char pattern[LINE_SIZE + 2];
	glob_t found;
	PRINT_TO(pattern, "%s*", part);
	if (glob(pattern, GLOB_MARK, NULL, &found) != 0)
		return;
	FOR_SIZE(i, found.gl_pathc)
		if (strlen(found.gl_pathv[i]) + (size_t)(part - line) < LINE_SIZE)
			completion_offer(completion, line, part, found.gl_pathv[i], "", " ");
	globfree(&found);
}

static void offer_commands(struct completion *completion, const char *line, const char *part)
{
	FOR_INT(i, COMMAND_COUNT)
		completion_offer(completion, line, part, commands[i].word, *commands[i].arguments ? " " : "", "%s",
			commands[i].help);
	FOR(i, COUNT_OF(session_words))
		completion_offer(completion, line, part, session_words[i], " ", " ");
}

/* Types of the graph's ops, each once. */
static void offer_types(struct completion *completion, const struct model *model, const char *line, const char *part)
{
	const struct graph *graph = model->plan ? model->plan->input : NULL;
	for (uint32_t i = 0; graph && i < graph->ops; i++) {
		bool known = false;
		FOR_WHILE(j, completion->count, !known)
			known = text_is(completion->offer[j].line + (part - line), graph->op[i].type);
		if (!known)
			completion_offer(completion, line, part, graph->op[i].type, "", " ");
	}
}

/* pin op A before B; pin tensor T ...; pin layer N ... */
static void offer_pin(struct completion *completion, const struct model *model, const char *line, const char *part)
{
	static const char by_kind[] = "type ";
	const char *what = command_arguments(line);
	if (part == what)
		offer_words(completion, line, part, "op|tensor|layer|type");
	else if (text_begins(what, "op ") && (part == what + 3 || text_begins(part - 7, "before ")))
		offer_names(completion, model, line, part, true, false);
	else if (text_begins(what, "op "))
		completion_offer(completion, line, part, "before", " ", " ");
	else if (strncmp(what, by_kind, 5) == 0 && part == what + 5)
		offer_types(completion, model, line, part);
	else if (strncmp(what, by_kind, 5) == 0 || text_begins(what, "layer "))
		completion_offer(completion, line, part, "recompute", "", " ");
	else if (text_begins(what, "tensor ") && (part == what + 7 || text_begins(part - 7, "behind ")))
		offer_names(completion, model, line, part, false, true);
	else if (text_begins(what, "tensor "))
		offer_words(completion, line, part, "at|behind|shard|on");
}

/* Columns behind the last comma. */
static void offer_columns(struct completion *completion, const char *line, const char *part)
{
	const char *comma = strrchr(part, ',');
	completion_offer(completion, line, part, "usual", "", "as many of the usual columns as fit");
	part = comma ? comma + 1 : part;
	FOR_INT(i, COLUMN_COUNT)
		completion_offer(completion, line, part, columns[i].word, "", "%s", columns[i].help);
}

/* The graphs of the file that is open, by number. */
static void offer_graphs(struct completion *completion, const struct model *model, const char *line, const char *part)
{
	const struct intake *intake = model->plan ? &model->plan->input->about.intake : NULL;
	const char *at = intake && intake->graphs ? intake->graphs : "";
	for (uint32_t i = 1; *at; i++) {
		size_t length = strcspn(at, "\n");
		completion_offer(completion, line, part, PRINTED(16, "%u", i), "", "%.*s%s", (int)length, at,
			i == intake->graph ? " (this)" : "");
		at += length + (at[length] == '\n');
	}
}

static void offer_kinds(struct completion *completion, const char *line, const char *part)
{
	FOR_INT(kind, EXPORT_KIND_COUNT)
		completion_offer(completion, line, part, export_kinds[kind].name, "", "%s", export_kinds[kind].help);
	completion_offer(completion, line, part, "screen", "",
			"what you see now, as text, or as SVG where the file's name ends so");
}

/* The views that the line's kind has. */
static void offer_views(struct completion *completion, const char *line, const char *part)
{
	char kind[64];
	const char *begin = command_arguments(line);
	PRINT_TO(kind, "%.*s", (int)strcspn(begin, " "), begin);
	FOR_INT(i, export_view_count)
		if (export_views[i].name && export_views[i].kinds >> export_find(kind) & 1)
			completion_offer(completion, line, part, export_views[i].name, "", "%s", export_views[i].help);
}

/* The options that may follow an export's kind, and their values; false where a file's name stands. */
static bool offer_export(struct completion *completion, const char *line, const char *part)
{
	size_t head = (size_t)(part - line);
	if (head >= 7 && text_begins(part - 7, "--view "))
		offer_views(completion, line, part);
	else if (head >= 8 && text_begins(part - 8, "--stage "))
		offer_words(completion, line, part, "input|device");
	else if (*part == '-') {
		completion_offer(completion, line, part, "--view", " ", "which drawing or figure");
		completion_offer(completion, line, part, "--stage", " ", "input: the graph as read; device: as planned");
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
		offer_knobs(completion, model, line, part, "=");
	else if (command == COMMAND_RESET)
		offer_knobs(completion, model, line, part, "");
	else if (command == COMMAND_PIN)
		offer_pin(completion, model, line, part);
	else if (command == COMMAND_GO || command == COMMAND_FIND)
		offer_names(completion, model, line, part, true, true);
	else if (command == COMMAND_GRAPH)
		offer_graphs(completion, model, line, part);
	else if (command == COMMAND_COLUMNS)
		offer_columns(completion, line, part);
	else if (command == COMMAND_EXPORT && part == command_arguments(line))
		offer_kinds(completion, line, part);
	else if (command == COMMAND_EXPORT && offer_export(completion, line, part))
		;
	else if (command == COMMAND_OPEN || command == COMMAND_AGAINST || command == COMMAND_SAVE || command == COMMAND_EXPORT)
		offer_files(completion, line, part);
	else if (text_begins(line, "keep ") || text_begins(line, "offload "))
		offer_names(completion, model, line, part, false, true);
	/* Letters in their order alone are a guess: only where there is nothing better. */
	while (completion->count && completion->offer[completion->count - 1].rank == 2 && completion->offer[0].rank < 2)
		completion->count--;
}

int completion_draw(struct frame *frame, struct rect rect, const struct completion *completion, uint32_t chosen)
{
	int rows = completion->count < (uint32_t)rect.height ? (int)completion->count : rect.height, width = 0;
	uint32_t top = scroll_to(0, chosen ? chosen - 1 : 0, completion->count, rows);
	FOR_INT(i, rows) {
		const struct candidate_line *offer = &completion->offer[top + (uint32_t)i];
		int cells = text_cells(offer->line + offer->word);
		width = LARGER(cells, width);
	}
	width = SMALLER(rect.width / 2, width);
	struct rect inside = { rect.x, rect.y + rect.height - rows, rect.width, rows };
	frame_blank(frame, inside);
	char more[32] = "";
	if (rows > 0 && completion->count > top + (uint32_t)rows)
		PRINT_TO(more, "%u more", completion->count - top - (uint32_t)rows);
	FOR_INT(i, rows) {
		const struct candidate_line *offer = &completion->offer[top + (uint32_t)i];
		int y = inside.y + i, taken = i == rows - 1 && *more ? text_cells(more) + 2 : 0;
		frame_name(frame, inside.x + 1, y, width, ROLE_KEY, offer->line + offer->word);
		frame_words(frame, inside.x + width + 3, y, inside.width - width - 3 - taken, ROLE_FAINT, offer->note);
		if (taken)
			frame_right(frame, inside.x + inside.width - 1, y, ROLE_LABEL, more);
		if (top + (uint32_t)i + 1 == chosen)
			frame_mark(frame, (struct rect){ inside.x, y, inside.width, 1 }, MARK_REVERSE);
	}
	return rows;
}

const char *completion_hint(const char *line)
{
	enum command_id command = command_find(line);
	if (command == COMMAND_COUNT)
		return "";
	if (command == COMMAND_SET) {
		char name[64];
		const char *knob = command_arguments(line);
		PRINT_TO(name, "%.*s", (int)strcspn(knob, "="), knob);
		enum knob_id id = knob_find(name);
		enum figure_id figure = figure_find(name);
		if (id != KNOB_COUNT || figure != FIGURE_COUNT)
			return id != KNOB_COUNT ? knobs[id].help : figure_help(figure);
	}
	return commands[command].help;
}
