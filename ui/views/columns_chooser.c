/* columns_chooser.c: one row a column, those that are shown first, in their places. */
#include "columns_chooser.h"

#include "src/base/words.h"

enum { HEAD = 1, FOOT = 2, MARK = 3, TITLE = 14 };

/* The columns row by row; returns how many are shown. */
static int list_rows(const struct column_set *shown, enum column row[COLUMN_COUNT])
{
	struct column_set whole = *shown;
	int rows = 0;
	if (whole.count == 0)
		column_set_usual(&whole);
	for (int i = 0; i < whole.count; i++)
		row[rows++] = (enum column)whole.column[i];
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (column_place(&whole, (enum column)i) < 0)
			row[rows++] = (enum column)i;
	return whole.count;
}

static uint32_t columns_chooser_row_of(const enum column row[COLUMN_COUNT], enum column column)
{
	uint32_t at = 0;
	while (at + 1 < COLUMN_COUNT && row[at] != column)
		at++;
	return at;
}

static void columns_chooser_draw_row(struct frame *frame, int y, enum column column, bool shown)
{
	int x = MARK + TITLE;
	if (shown)
		frame_glyph(frame, 1, y, GLYPH_TICK, ROLE_GOOD);
	frame_text(frame, MARK, y, TITLE - 1, shown ? ROLE_TITLE : ROLE_TEXT, columns[column].word);
	frame_words(frame, x, y, frame->window.width - x, ROLE_FAINT, columns[column].help);
}

/* How to choose, how the choice gets a name, and the names there are. */
static void columns_chooser_draw_foot(struct frame *frame, int y, const struct column_sets *sets)
{
	char text[400];
	struct words words = { text, sizeof text, 0 };
	words_add(&words, ":columns save NAME keeps them; sets: usual");
	for (int i = 0; i < sets->sets; i++)
		words_add(&words, ", %s", sets->kept[i].name);
	static const char whole[] = "space shows or hides, left and right move, Enter goes back";
	frame_words(frame, 0, y, frame->window.width, ROLE_FAINT,
		text_cells(whole) <= frame->window.width ? whole : "space shows, left/right move, Enter ends");
	frame_words(frame, 0, y + 1, frame->window.width, ROLE_FAINT, text);
}

void columns_chooser_draw(struct columns_chooser *chooser, const struct column_sets *sets, struct frame *frame)
{
	enum column row[COLUMN_COUNT];
	int shown = list_rows(&sets->shown, row), width = frame->window.width;
	uint32_t at = columns_chooser_row_of(row, chooser->at);
	chooser->page = frame->window.height - HEAD - FOOT;
	chooser->top = scroll_to(chooser->top, at, COLUMN_COUNT, chooser->page);
	frame_print(frame, 0, 0, ROLE_TITLE, "columns of this table: %s",
		sets->shown.count == 0 ? "usual, as many as fit"
		: *sets->shown.name ? sets->shown.name
		: "no name yet");
	for (int i = 0; i < chooser->page && chooser->top + (uint32_t)i < COLUMN_COUNT; i++) {
		columns_chooser_draw_row(frame, HEAD + i, row[chooser->top + (uint32_t)i], (int)chooser->top + i < shown);
		if (chooser->top + (uint32_t)i == at)
			frame_mark(frame, (struct rect){ 0, HEAD + i, width, 1 }, MARK_REVERSE);
	}
	columns_chooser_draw_foot(frame, frame->window.height - FOOT, sets);
}

/* What is hidden leaves its row to the next column. */
static void toggle(struct columns_chooser *chooser, struct column_sets *sets, uint32_t at)
{
	enum column row[COLUMN_COUNT];
	column_toggle(sets, chooser->at);
	int shown = list_rows(&sets->shown, row);
	if (column_place(&sets->shown, chooser->at) < 0 && (int)at < shown)
		chooser->at = row[at];
}

bool columns_chooser_command(struct columns_chooser *chooser, struct model *model, enum command_id command)
{
	struct column_sets *sets = model->columns;
	enum column row[COLUMN_COUNT];
	if (!sets || (!chooser->open && command != COMMAND_COLUMNS))
		return false;
	list_rows(&sets->shown, row);
	uint32_t at = columns_chooser_row_of(row, chooser->at);
	switch (command) {
	case COMMAND_COLUMNS: chooser->open = !chooser->open; return true;
	case COMMAND_ACTIVATE:
	case COMMAND_CANCEL:
	case COMMAND_CLOSE: chooser->open = false; return true;
	case COMMAND_MARK: toggle(chooser, sets, at); return true;
	case COMMAND_LEFT: column_move(sets, chooser->at, -1); return true;
	case COMMAND_RIGHT: column_move(sets, chooser->at, 1); return true;
	case COMMAND_CLICK:
		if (model->click_y >= HEAD && model->click_y < HEAD + chooser->page &&
			chooser->top + (uint32_t)(model->click_y - HEAD) < COLUMN_COUNT) {
			enum column clicked = row[chooser->top + (uint32_t)(model->click_y - HEAD)];
			if (clicked == chooser->at)
				column_toggle(sets, clicked);
			chooser->at = clicked;
		}
		return true;
	default:
		if (!row_command(command, &at, COLUMN_COUNT, chooser->page))
			return false;
		chooser->at = row[at];
		return true;
	}
}
