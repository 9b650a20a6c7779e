/* help.c: a list of the command table's rows for one context, and of the screen's words. */
#include "app.h"

#include "src/session/glossary.h"

/* The selected command's whole sentence stands below the list. */
enum { SENTENCE_ROWS = 2 };

void help_open(struct help *help)
{
	*help = (struct help){ 0 };
	line_set(&help->filter, "");
}

static bool help_listed(const struct help *help, enum command_id id, unsigned context)
{
	const struct command *command = &commands[id];
	const char *text = help->filter.text;
	return (command->context & context) &&
	       (text_contains(command->word, text) || text_contains(command->help, text) || strcmp(command->keys, text) == 0);
}

static const struct { const char *word, *meaning; } words[] = {
#define X(word, meaning) { word, meaning },
	WORDS(X)
#undef X
};
enum { WORD_COUNT = COUNT_OF(words) };

static bool word_listed(const struct help *help, int word)
{
	return text_contains(words[word].word, help->filter.text) || text_contains(words[word].meaning, help->filter.text);
}

static uint32_t commands_listed(const struct help *help, unsigned context)
{
	uint32_t n = 0;
	for (int i = 0; i < COMMAND_COUNT; i++)
		n += help_listed(help, (enum command_id)i, context);
	return n;
}

static uint32_t help_count(const struct help *help, unsigned context)
{
	uint32_t n = commands_listed(help, context);
	for (int i = 0; i < WORD_COUNT; i++)
		n += word_listed(help, i);
	return n;
}

/* The command of a row; COMMAND_COUNT: it is a word's. */
static enum command_id help_nth(const struct help *help, unsigned context, uint32_t n)
{
	for (int i = 0; i < COMMAND_COUNT; i++)
		if (help_listed(help, (enum command_id)i, context) && n-- == 0)
			return (enum command_id)i;
	return COMMAND_COUNT;
}

/* The word of a row; WORD_COUNT: it is a command's, or there is none. */
static int word_at(const struct help *help, unsigned context, uint32_t n)
{
	uint32_t before = commands_listed(help, context);
	for (int i = 0; n >= before && i < WORD_COUNT; i++)
		if (word_listed(help, i) && n-- == before)
			return i;
	return WORD_COUNT;
}

enum command_id help_key(
	struct help *help, const struct model *model, unsigned context, const struct key_press *key, bool *close)
{
	static const enum command_id moves[] = { COMMAND_UP, COMMAND_DOWN, COMMAND_PAGE_UP, COMMAND_PAGE_DOWN };
	const char *name = key->name;
	*close = strcmp(name, "Esc") == 0 || strcmp(name, "^C") == 0 || strcmp(name, "F1") == 0;
	if (help->filter.length == 0 && (strcmp(name, "q") == 0 || strcmp(name, "?") == 0))
		*close = true;
	if (*close)
		return COMMAND_COUNT;
	if (strcmp(name, "Enter") == 0) {
		enum command_id command = help_nth(help, context, help->selected);
		*close = command < COMMAND_COUNT && !command_unavailable(model, command);
		return *close ? command : COMMAND_COUNT;
	}
	enum command_id command = key->code ? COMMAND_COUNT : command_of_key(name, IN_ANY);
	for (size_t i = 0; i < COUNT_OF(moves); i++)
		if (command == moves[i]) {
			row_command(command, &help->selected, help_count(help, context), help->page);
			return COMMAND_COUNT;
		}
	if (line_key(&help->filter, key, NULL))
		help->selected = 0;
	return COMMAND_COUNT;
}

static void help_draw_row(
	struct frame *frame, struct rect rect, int y, const struct model *model, enum command_id id, bool selected)
{
	const struct command *command = &commands[id];
	const char *reason = command_unavailable(model, id);
	enum role role = reason ? ROLE_FAINT : ROLE_TEXT;
	int key_width = rect.width >= 60 ? 17 : 8, word_width = rect.width >= 60 ? 18 : 0;
	frame_words(frame, rect.x, y, key_width - 1, reason ? ROLE_FAINT : ROLE_KEY, command->keys);
	frame_text(frame, rect.x + key_width, y, word_width, role, command->word);
	frame_words(frame, rect.x + key_width + word_width, y, rect.width - key_width - word_width, role,
		reason ? reason : command->help);
	if (selected)
		frame_mark(frame, (struct rect){ rect.x, y, rect.width, 1 }, MARK_REVERSE);
}

static void draw_word(struct frame *frame, struct rect rect, int y, int word, bool selected)
{
	int width = rect.width >= 60 ? 24 : 12;
	frame_words(frame, rect.x, y, width - 1, ROLE_LABEL, words[word].word);
	frame_words(frame, rect.x + width, y, rect.width - width, ROLE_TEXT, words[word].meaning);
	if (selected)
		frame_mark(frame, (struct rect){ rect.x, y, rect.width, 1 }, MARK_REVERSE);
}

void help_draw(struct help *help, const struct model *model, unsigned context, struct frame *frame, int *x, int *y)
{
	int margin = frame->width > 100 ? (frame->width - 100) / 2 : frame->width >= 60 ? 1 : 0;
	struct rect box = { margin, 1, frame->width - 2 * margin, frame->height - 2 };
	frame_window(frame, (struct rect){ 0, 0, frame->width, frame->height });
	frame_box(
		frame, box, box.width >= 60 ? "help: type to narrow, Enter runs, Esc closes" : "help: Enter runs, Esc closes");
	struct rect inside = { box.x + 2, box.y + 1, box.width - 4, box.height - 2 };
	frame_window(frame, inside);
	*x = inside.x + line_draw(frame, 0, "/ ", &help->filter);
	*y = inside.y;
	uint32_t rows = help_count(help, context);
	help->page = inside.height - 1 - SENTENCE_ROWS;
	if (help->selected >= rows)
		help->selected = rows ? rows - 1 : 0;
	help->top = scroll_to(help->top, help->selected, rows, help->page);
	struct rect row = { 0, 0, inside.width, 1 };
	for (int i = 0; i < help->page && help->top + (uint32_t)i < rows; i++) {
		uint32_t n = help->top + (uint32_t)i;
		enum command_id command = help_nth(help, context, n);
		if (command != COMMAND_COUNT)
			help_draw_row(frame, row, 1 + i, model, command, n == help->selected);
		else
			draw_word(frame, row, 1 + i, word_at(help, context, n), n == help->selected);
	}
	enum command_id selected = help_nth(help, context, help->selected);
	int word = word_at(help, context, help->selected);
	const char *sentence = selected != COMMAND_COUNT ? commands[selected].help
		: word < WORD_COUNT ? words[word].meaning
		: "";
	frame_wrapped(
		frame, (struct rect){ 0, inside.height - SENTENCE_ROWS, inside.width, SENTENCE_ROWS }, ROLE_LABEL, sentence);
	if (rows == 0)
		frame_text(frame, 0, 1, inside.width, ROLE_FAINT, "no command and no word contains this");
}
