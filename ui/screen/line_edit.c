/* line_edit.c: editing UTF-8 text: the cursor never stands inside a character. */
#include "line_edit.h"
#include "src/base/words.h"

void line_set(struct line_edit *line, const char *text)
{
	PRINT_TO(line->text, "%s", text);
	line->length = line->cursor = strlen(line->text);
	line->recalled = 0;
}

static bool inside_character(const struct line_edit *line, size_t at)
{
	return at < line->length && ((unsigned char)line->text[at] & 0xc0) == 0x80;
}

static size_t line_edit_before(const struct line_edit *line, size_t at)
{
	while (at > 0 && inside_character(line, --at))
		;
	return at;
}

static size_t line_edit_after(const struct line_edit *line, size_t at)
{
	if (at < line->length)
		at++;
	while (inside_character(line, at))
		at++;
	return at;
}

static void erase(struct line_edit *line, size_t from, size_t to)
{
	memmove(line->text + from, line->text + to, line->length - to + 1);
	line->length -= to - from;
	line->cursor = from;
}

static void line_edit_insert(struct line_edit *line, uint32_t code)
{
	char bytes[5];
	size_t length = (size_t)text_encode(code, bytes);
	if (line->length + length >= sizeof line->text)
		return;
	memmove(line->text + line->cursor + length, line->text + line->cursor, line->length - line->cursor + 1);
	memcpy(line->text + line->cursor, bytes, length);
	line->cursor += length;
	line->length += length;
}

static size_t word_before(const struct line_edit *line)
{
	size_t at = line->cursor;
	while (at > 0 && line->text[at - 1] == ' ')
		at--;
	while (at > 0 && line->text[at - 1] != ' ')
		at--;
	return at;
}

/* Shows the line `back` entries ago, or the one being typed. */
static void recall(struct line_edit *line, const struct history *history, uint32_t back)
{
	if (!history || back > history->count)
		return;
	if (line->recalled == 0)
		memcpy(line->typed, line->text, sizeof line->typed);
	uint32_t slot = (history->next + HISTORY_LINES - back) % HISTORY_LINES;
	line_set(line, back ? history->line[slot] : line->typed);
	line->recalled = back;
}

static bool line_edit_is(const char *name, const char *key, const char *other)
{
	return text_is(name, key) || text_is(name, other);
}

bool line_key(struct line_edit *line, const struct key_press *key, const struct history *history)
{
	const char *name = key->name;
	if (key->code >= ' ')
		line_edit_insert(line, key->code);
	else if (text_is(name, "Backspace"))
		erase(line, line_edit_before(line, line->cursor), line->cursor);
	else if (line_edit_is(name, "Delete", "^D"))
		erase(line, line->cursor, line_edit_after(line, line->cursor));
	else if (text_is(name, "^W"))
		erase(line, word_before(line), line->cursor);
	else if (text_is(name, "^U"))
		erase(line, 0, line->cursor);
	else if (text_is(name, "^K"))
		erase(line, line->cursor, line->length);
	else if (line_edit_is(name, "left", "^B"))
		line->cursor = line_edit_before(line, line->cursor);
	else if (line_edit_is(name, "right", "^F"))
		line->cursor = line_edit_after(line, line->cursor);
	else if (line_edit_is(name, "Home", "^A"))
		line->cursor = 0;
	else if (line_edit_is(name, "End", "^E"))
		line->cursor = line->length;
	else if (line_edit_is(name, "up", "^P"))
		recall(line, history, line->recalled + 1);
	else if (line_edit_is(name, "down", "^N"))
		recall(line, history, line->recalled ? line->recalled - 1 : 0);
	else
		return false;
	return true;
}

void history_add(struct history *history, const char *line)
{
	uint32_t newest = (history->next + HISTORY_LINES - 1) % HISTORY_LINES;
	if (!*line || (history->count && text_is(history->line[newest], line)))
		return;
	snprintf(history->line[history->next], LINE_SIZE, "%s", line);
	history->next = (history->next + 1) % HISTORY_LINES;
	history->count += history->count < HISTORY_LINES;
}

int line_draw(struct frame *frame, int y, const char *label, const struct line_edit *line)
{
	int width = frame->window.width, x = frame_rest(frame, 0, y, ROLE_KEY, label);
	char head[LINE_SIZE];
	PRINT_TO(head, "%.*s", (int)line->cursor, line->text);
	const char *text = line->text;
	int cursor = text_cells(head), room = width - x - 1;
	/* Long lines scroll so that the cursor stays visible. */
	for (int skip = cursor - room; skip > 0 && *text; ) {
		const char *start = text;
		text_next(&text);
		char one[8];
		PRINT_TO(one, "%.*s", (int)(text - start), start);
		skip -= text_cells(one);
		cursor -= text_cells(one);
	}
	frame_rest(frame, x, y, ROLE_TEXT, text);
	return x + cursor;
}
