/* frame.h: the screen as an array of cells. Views draw into it; curses.c copies it to the terminal, tests
 * read it back as text. Nothing here knows a terminal: a cell says what it means (its role), not how it looks.
 *
 * Drawing calls are relative to the current window and clipped to it. Text is UTF-8 and untrusted: control
 * characters become '?', a wide character is never split.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     frame         the screen as cells
 *     theme         colours
 *     screen        where things stand
 *     line_edit     a line being typed
 *     terminal      the terminal's interface
 *     curses        the only file that knows curses
 *     picture       a frame as SVG
 *     picture_ansi  a frame as coloured text */
#pragma once

#include "solver/graph/graph.h"
#include "src/base/safe_text.h"

struct rect { int x, y, width, height; };

/* What a cell means; theme.c gives each a look. */
enum role {
	ROLE_TEXT, ROLE_FAINT, ROLE_TITLE, ROLE_TAB, ROLE_TAB_ACTIVE, ROLE_KEY, ROLE_LABEL, ROLE_LINE, ROLE_GOOD,
	ROLE_WARN, ROLE_BAD, ROLE_PEAK, ROLE_BOUND, ROLE_BUDGET, ROLE_BASELINE, ROLE_CURSOR,
	ROLE_MESSAGE, ROLE_EMPTY,
	ROLE_KIND, /* first of CATEGORIES * 3: a category in two shades, then as words */
	ROLE_FIXED
};
#define CATEGORIES (KIND_COUNT + 1) /* kinds of storages, and workspace */
#define CATEGORY_WORKSPACE KIND_COUNT
#define CELL_ROLES (ROLE_KIND + 3 * CATEGORIES)
static inline enum role role_of_category(int category, int shade)
{
	return (enum role)(ROLE_KIND + 2 * category + (shade & 1));
}
/* Of words in a category's colour: an area may be too dark, or too light, for these. */
static inline enum role role_of_word(int category)
{
	return (enum role)(ROLE_KIND + 2 * CATEGORIES + category);
}
extern const char *const category_names[CATEGORIES];
extern const char category_letters[CATEGORIES + 1];

enum mark { MARK_BOLD = 1, MARK_REVERSE = 2, MARK_DIM = 4, MARK_UNDERLINE = 8 };

/* Pictures of one cell: id, Unicode, ASCII. */
#define GLYPHS(X) \
	X(HORIZONTAL, 0x2500, '-') X(VERTICAL, 0x2502, '|') X(TOP_LEFT, 0x250c, '+') X(TOP_RIGHT, 0x2510, '+') \
	X(BOTTOM_LEFT, 0x2514, '+') X(BOTTOM_RIGHT, 0x2518, '+') X(TEE_DOWN, 0x252c, '+') X(TEE_UP, 0x2534, '+') \
	X(TEE_RIGHT, 0x251c, '+') X(HEAVY, 0x2501, '=') X(DASH, 0x254c, '~') X(DOT, 0x00b7, '.') X(ELLIPSIS, 0x2026, '~') \
	X(BULLET, 0x25cf, 'o') X(CIRCLE, 0x25cb, 'o') X(PEAK, 0x25b2, '^') X(CURSOR_UP, 0x25b4, '^') X(DECREASE, 0x25c2, '<') \
	X(INCREASE, 0x25b8, '>') X(FOLDED, 0x25b8, '+') X(UNFOLDED, 0x25be, '-') X(FULL, 0x2588, '#') X(UPPER, 0x2580, '"') \
	X(LOWER, 0x2584, '_') X(SHADE, 0x2591, ':') X(SEPARATOR, 0x00b7, '-') X(DELTA, 0x0394, 'd') X(TICK, 0x2713, '*') \
	X(AT_MOST, 0x2264, '<') X(ARROW, 0x2192, '>') X(BRANCH, 0x21b3, '>')
#define X(id, unicode, ascii) GLYPH_##id,
enum glyph { GLYPHS(X) GLYPH_COUNT };
#undef X

struct cell {
	uint32_t code;        /* Unicode; 0: the right half of a wide character */
	uint8_t role, ground; /* of the character; of the background (ROLE_TEXT: the terminal's) */
	uint8_t marks;
};

struct frame {
	int width, height;
	struct cell *cell; /* [height * width] */
	struct rect window;
	uint8_t marks;    /* added to everything that is drawn: MARK_DIM while numbers are stale */
	bool ascii, mono; /* which pictures to use */
};

/* Cells for a screen of that size, blank. False when out of memory (the frame is unchanged). */
bool frame_resize(struct frame *frame, int width, int height);
void frame_free(struct frame *frame);
#define frame_drop frame_free
void frame_clear(struct frame *frame);
/* Later drawing is relative to this part of the screen and clipped to it. */
void frame_window(struct frame *frame, struct rect rect);

/* One character that is one cell wide, with a background. */
void frame_cell(struct frame *frame, int x, int y, uint32_t code, enum role role, enum role ground);
void frame_glyph(struct frame *frame, int x, int y, enum glyph glyph, enum role role);
/* What is in a cell of the window; NULL outside of it. */
const struct cell *frame_cell_at(const struct frame *frame, int x, int y);
/* A glyph where the cell has nothing but a ground, which stays. */
void frame_overlay(struct frame *frame, int x, int y, enum glyph glyph, enum role role);
/* A vertical line over whatever is there, on a ground of the cell's own colour: that of a block where it fills most of
 * the cell. */
void frame_line(struct frame *frame, int x, int y, enum role role);
uint32_t frame_code(const struct frame *frame, enum glyph glyph);
/* Text in at most width cells; returns the cells used. */
int frame_text(struct frame *frame, int x, int y, int width, enum role role, const char *text);
/* The same up to the window's right end. */
int frame_rest(struct frame *frame, int x, int y, enum role role, const char *text);
void frame_no_memory(struct frame *frame);
/* As frame_text(), but what doesn't fit loses its middle, so that both ends of a long name stay readable. */
int frame_name(struct frame *frame, int x, int y, int width, enum role role, const char *name);
/* The same, but it ends behind a whole word, with an ellipsis. */
int frame_words(struct frame *frame, int x, int y, int width, enum role role, const char *text);
/* Appends a part of a line at column *x when all of it fits before column end: numbers are never cut. Parts are
 * separated by a dot. False when it was left out. */
bool frame_part(struct frame *frame, int *x, int y, int end, enum role role, const char *format, ...)
	__attribute__((format(printf, 6, 7)));
/* A sentence in as many rows of the rectangle as it needs, broken at blanks. */
void frame_wrapped(struct frame *frame, struct rect rect, enum role role, const char *text);
/* The rows that frame_wrapped() needs at that width. */
int text_rows(const char *text, int width);
int frame_print(struct frame *frame, int x, int y, enum role role, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* Ends before column x. */
void frame_right(struct frame *frame, int x, int y, enum role role, const char *text);
void frame_bytes(struct frame *frame, int x, int y, enum role role, int64_t bytes);
/* A run of cells; and blanks for a whole rectangle. */
void frame_repeat(struct frame *frame, int x, int y, int width, enum glyph glyph, enum role role);
void frame_blank(struct frame *frame, struct rect rect);
/* A box with a title around the rectangle's inside. */
void frame_box(struct frame *frame, struct rect rect, const char *title);
/* Adds marks to cells that are drawn already. */
void frame_mark(struct frame *frame, struct rect rect, enum mark mark);
/* The axes of a plot, left of its rectangle and below it. */
void frame_axes(struct frame *frame, struct rect rect);
/* A row of the window in reverse. */
void frame_select(struct frame *frame, int y);

/* Cells that the text takes, without clipping. What is hidden or malformed takes one, a question mark. */
int text_cells(const char *text);
/* The cells as UTF-8 lines without trailing blanks. Freed by the caller with mem_free; NULL when out of memory. */
char *frame_dump(const struct frame *frame);
