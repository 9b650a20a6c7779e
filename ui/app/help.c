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

static const struct { const char *word, *meaning; } words[] = {
#define X(word, meaning) { word, meaning },
	WORDS(X)
#undef X
};

/* What is listed: commands, and behind COMMAND_COUNT words. */
struct help_items {
	int item[COMMAND_COUNT + COUNT_OF(words)];
	uint32_t here, count; /* here: those that some views alone have */
};

bool command_everywhere(enum command_id id)
{
	return (commands[id].context & ((1u << VIEWS) - 1)) == (1u << VIEWS) - 1;
}

/* Frequent first, as in the table; what has no key goes behind what has one. */
static void help_find(const struct help *help, unsigned context, struct help_items *items)
{
	const char *text = help->filter.text;
	items->count = items->here = 0;
	FOR_INT(part, 4) {
		items->here = part == 2 ? items->count : items->here;
		FOR_INT(i, COMMAND_COUNT) {
			const struct command *command = &commands[i];
			if ((command->context & context) && command_everywhere((enum command_id)i) == part / 2 &&
				(*command->keys == '\0') == part % 2 && (text_contains(command->word, text) ||
					text_contains(command->help, text) || text_is(command->keys, text)))
				items->item[items->count++] = i;
		}
	}
	FOR_INT(i, (int)COUNT_OF(words))
		if (text_contains(words[i].word, text) || text_contains(words[i].meaning, text))
			items->item[items->count++] = COMMAND_COUNT + i;
}

enum command_id help_key(
	struct help *help, const struct model *model, unsigned context, const struct key_press *key, bool *close)
{
	static const enum command_id moves[] = { COMMAND_UP, COMMAND_DOWN, COMMAND_PAGE_UP, COMMAND_PAGE_DOWN };
	const char *name = key->name;
	struct help_items items;
	help_find(help, context, &items);
	*close = text_is(name, "Esc") || text_is(name, "^C") || text_is(name, "F1");
	if (help->filter.length == 0 && (text_is(name, "q") || text_is(name, "?")))
		*close = true;
	if (*close)
		return COMMAND_COUNT;
	if (text_is(name, "Enter")) {
		int item = help->selected < items.count ? items.item[help->selected] : COMMAND_COUNT;
		*close = item < COMMAND_COUNT && !command_unavailable(model, (enum command_id)item);
		return *close ? (enum command_id)item : COMMAND_COUNT;
	}
	enum command_id command = key->code ? COMMAND_COUNT : command_of_key(name, IN_ANY);
	FOR(i, COUNT_OF(moves))
		if (command == moves[i]) {
			row_command(command, &help->selected, items.count, help->page);
			return COMMAND_COUNT;
		}
	if (command == COMMAND_LEFT || command == COMMAND_RIGHT)
		help->selected = command == COMMAND_LEFT ? 0 : items.here;
	else if (line_key(&help->filter, key, NULL))
		help->selected = 0;
	return COMMAND_COUNT;
}

static void help_draw_row(
	struct frame *frame, struct rect rect, int y, const struct model *model, int item, bool selected)
{
	const struct command *command = &commands[item < COMMAND_COUNT ? item : 0];
	const char *reason = item < COMMAND_COUNT ? command_unavailable(model, (enum command_id)item) : NULL;
	char key[40], text[200];
	int key_width = item >= COMMAND_COUNT ? rect.width / 3 : rect.width >= 60 ? 17 : 9;
	if (item >= COMMAND_COUNT)
		PRINT_TO(key, "%s", words[item - COMMAND_COUNT].word);
	else
		PRINT_TO(key, *command->keys ? "%s" : ":%s", *command->keys ? command->keys : command->word);
	PRINT_TO(text, "%s", reason ? reason : item < COMMAND_COUNT ? command->help
		: words[item - COMMAND_COUNT].meaning);
	size_t first = strcspn(text, rect.width < 60 ? ";:" : ""); /* the gist */
	text[first] = '\0';
	frame_words(frame, rect.x, y, key_width - 1, reason ? ROLE_FAINT : item < COMMAND_COUNT ? ROLE_KEY : ROLE_LABEL, key);
	frame_words(frame, rect.x + key_width, y, rect.width - key_width, reason ? ROLE_FAINT : ROLE_TEXT, text);
	if (selected)
		frame_mark(frame, (struct rect){ rect.x, y, rect.width, 1 }, MARK_REVERSE);
}

/* Items from first to end; the selected one scrolls them, in another column the first ones stay. */
static void help_draw_column(struct frame *frame, struct rect rect, const struct model *model,
	const struct help_items *items, uint32_t first, uint32_t end, uint32_t selected)
{
	uint32_t at = selected >= first && selected < end ? selected - first : 0,
			 top = scroll_to(0, at, end - first, rect.height);
	for (int i = 0; i < rect.height && first + top + (uint32_t)i < end; i++)
		help_draw_row(frame, rect, rect.y + i, model, items->item[first + top + (uint32_t)i],
			first + top + (uint32_t)i == selected);
}

void help_draw(struct help *help, const struct model *model, unsigned context, struct frame *frame, int *x, int *y)
{
	int margin = frame->width > 140 ? (frame->width - 140) / 2 : 0;
	struct rect box = { margin, 1, frame->width - 2 * margin, frame->height - 2 };
	struct help_items items;
	help_find(help, context, &items);
	frame_window(frame, (struct rect){ 0, 0, frame->width, frame->height });
	frame_box(frame, box, "help: type to narrow, Enter runs, Esc closes");
	struct rect inside = { box.x + 2, box.y + 1, box.width - 4, box.height - 2 };
	frame_window(frame, inside);
	*x = inside.x + line_draw(frame, 0, "/ ", &help->filter);
	*y = inside.y;
	help->selected = help->selected < items.count ? help->selected : items.count ? items.count - 1 : 0;
	help->page = inside.height - 1 - SENTENCE_ROWS;
	bool two = help->filter.length == 0 && inside.width >= 70;
	struct rect column = { 0, 1 + two, two ? inside.width / 2 - 1 : inside.width, help->page - two };
	help_draw_column(frame, column, model, &items, 0, two ? items.here : items.count, help->selected);
	if (two) {
		frame_text(frame, 0, 1, column.width, ROLE_LABEL, "HERE");
		frame_text(frame, column.width + 2, 1, column.width, ROLE_LABEL, "EVERYWHERE");
		column.x = column.width + 2;
		help_draw_column(frame, column, model, &items, items.here, items.count, help->selected);
	}
	int item = items.count ? items.item[help->selected] : COMMAND_COUNT;
	frame_wrapped(frame, (struct rect){ 0, inside.height - SENTENCE_ROWS, inside.width, SENTENCE_ROWS }, ROLE_LABEL,
		items.count == 0 ? "no command and no word contains this" : item < COMMAND_COUNT ? commands[item].help
		: words[item - COMMAND_COUNT].meaning);
}
