/* frame.c: cells, clipping and text. */
#include "frame.h"

#include <stdarg.h>
#include <wchar.h>

#include "src/base/words.h"

#define X(id, name) name,
const char *const category_names[CATEGORIES] = { KINDS(X) "workspace" };
#undef X
const char category_letters[CATEGORIES + 1] = "ipbcogatuw";

static const struct { uint32_t unicode, ascii; } glyphs[GLYPH_COUNT] = {
#define X(id, unicode, ascii) { unicode, ascii },
	GLYPHS(X)
#undef X
};

static const struct cell blank = { ' ', ROLE_TEXT, ROLE_TEXT, 0 };

static int smaller(int a, int b) { return SMALLER(a, b); }
static int frame_larger(int a, int b) { return LARGER(a, b); }

bool frame_resize(struct frame *frame, int width, int height)
{
	struct cell *MAKE(cell, (size_t)width * (size_t)height);
	if (!cell)
		return false;
	mem_free(frame->cell);
	frame->cell = cell;
	frame->width = width;
	frame->height = height;
	frame_clear(frame);
	return true;
}

void frame_free(struct frame *frame)
{
	mem_free(frame->cell);
	*frame = (struct frame){ 0 };
}

void frame_clear(struct frame *frame)
{
	FOR_INT(i, frame->width * frame->height)
		frame->cell[i] = blank;
	frame->marks = 0;
	frame->window = (struct rect){ 0, 0, frame->width, frame->height };
}

void frame_window(struct frame *frame, struct rect rect)
{
	int right = smaller(rect.x + rect.width, frame->width), bottom = smaller(rect.y + rect.height, frame->height);
	rect.x = frame_larger(rect.x, 0);
	rect.y = frame_larger(rect.y, 0);
	rect.width = frame_larger(right - rect.x, 0);
	rect.height = frame_larger(bottom - rect.y, 0);
	frame->window = rect;
}

static struct cell *at(struct frame *frame, int x, int y)
{
	if (x < 0 || y < 0 || x >= frame->window.width || y >= frame->window.height)
		return NULL;
	return &frame->cell[(frame->window.y + y) * frame->width + frame->window.x + x];
}

/* Overwriting one half of a wide character blanks the other. */
static void frame_put(struct frame *frame, int x, int y, uint32_t code, enum role role, enum role ground)
{
	struct cell *cell = at(frame, x, y);
	if (!cell)
		return;
	int column = frame->window.x + x;
	if (cell->code == 0 && code != 0 && column > 0)
		cell[-1].code = ' ';
	if (column + 1 < frame->width && cell[1].code == 0)
		cell[1].code = ' ';
	*cell = (struct cell){ code, (uint8_t)role, (uint8_t)ground, frame->marks };
}

void frame_cell(struct frame *frame, int x, int y, uint32_t code, enum role role, enum role ground)
{
	frame_put(frame, x, y, code, role, ground);
}

uint32_t frame_code(const struct frame *frame, enum glyph glyph)
{
	return frame->ascii ? glyphs[glyph].ascii : glyphs[glyph].unicode;
}

void frame_glyph(struct frame *frame, int x, int y, enum glyph glyph, enum role role)
{
	frame_put(frame, x, y, frame_code(frame, glyph), role, ROLE_TEXT);
}

const struct cell *frame_cell_at(const struct frame *frame, int x, int y)
{
	return at((struct frame *)(uintptr_t)frame, x, y);
}

void frame_overlay(struct frame *frame, int x, int y, enum glyph glyph, enum role role)
{
	const struct cell *cell = at(frame, x, y);
	if (cell && cell->code == ' ')
		frame_put(frame, x, y, frame_code(frame, glyph), role, (enum role)cell->ground);
}

void frame_line(struct frame *frame, int x, int y, enum role role)
{
	const struct cell *cell = at(frame, x, y);
	if (!cell)
		return;
	bool filled = cell->code >= 0x2584 && cell->code <= 0x2588;
	frame_put(frame, x, y, frame_code(frame, GLYPH_VERTICAL), role, (enum role)(filled ? cell->role : cell->ground));
}

/* ---- text ---- */

/* The next character as it is shown. */
static uint32_t frame_shown(const char **text)
{
	uint32_t code = text_next(text);
	return code == UNREADABLE || text_hidden(code) ? '?' : code;
}

/* Cells of one character: 0 for combining ones, which are left out; where the C library doesn't know it, 1. */
static int cells(uint32_t code)
{
	if (code < 0x80)
		return 1;
	int width = wcwidth((wchar_t)code);
	return width < 0 ? 1 : width;
}

int text_cells(const char *text)
{
	int sum = 0;
	for (uint32_t code; (code = frame_shown(&text)) != 0; )
		sum += cells(code);
	return sum;
}

/* One character of any width at column *x, which moves on; false where it doesn't fit before end. */
static bool frame_put_text(struct frame *frame, int *x, int end, int y, uint32_t code, enum role role)
{
	int width = cells(code);
	if (*x + width > end || (width == 2 && (*x < 0 || *x + 2 > frame->window.width)))
		return false;
	if (frame->ascii && code >= 0x80)
		code = code == glyphs[GLYPH_SEPARATOR].unicode ? '-' : '?';
	FOR_INT(i, width)
		frame_put(frame, (*x)++, y, i == 0 || frame->ascii ? code : 0, role, ROLE_TEXT);
	return true;
}

int frame_text(struct frame *frame, int x, int y, int width, enum role role, const char *text)
{
	int column = x;
	for (uint32_t code; (code = frame_shown(&text)) != 0; )
		if (!frame_put_text(frame, &column, x + width, y, code, role))
			break;
	return column - x;
}

int frame_rest(struct frame *frame, int x, int y, enum role role, const char *text)
{
	return frame_text(frame, x, y, frame->window.width - x, role, text);
}

void frame_no_memory(struct frame *frame)
{
	frame_rest(frame, 0, 0, ROLE_BAD, status_text(NO_MEMORY));
}

int frame_name(struct frame *frame, int x, int y, int width, enum role role, const char *name)
{
	int whole = text_cells(name);
	if (whole <= width || width < 5)
		return frame_text(frame, x, y, width, role, name);
	int tail = (width - 1) / 2, head = width - 1 - tail;
	int used = frame_text(frame, x, y, head, role, name);
	frame_glyph(frame, x + used, y, GLYPH_ELLIPSIS, role);
	for (int skip = whole - tail; skip > 0; )
		skip -= cells(frame_shown(&name));
	return used + 1 + frame_text(frame, x + used + 1, y, tail, role, name);
}

int frame_print(struct frame *frame, int x, int y, enum role role, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return frame_rest(frame, x, y, role, text);
}

void frame_right(struct frame *frame, int x, int y, enum role role, const char *text)
{
	int width = text_cells(text);
	frame_text(frame, x - width, y, width, role, text);
}

void frame_bytes(struct frame *frame, int x, int y, enum role role, int64_t bytes)
{
	frame_right(frame, x, y, role, BYTES(bytes));
}

bool frame_part(struct frame *frame, int *x, int y, int end, enum role role, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	int lead = *x > 0 ? 3 : 0;
	if (*x + lead + text_cells(text) > end)
		return false;
	if (lead)
		frame_glyph(frame, *x + 1, y, GLYPH_SEPARATOR, ROLE_FAINT);
	*x += lead + frame_text(frame, *x + lead, y, end, role, text);
	return true;
}

/* The bytes of text that fit into a row: up to a blank, or all that fits when there is none. */
static size_t frame_row_length(const char *text, int width)
{
	const char *at = text;
	size_t fits = 0;
	for (int used = 0; ; ) {
		if (*at == ' ' || *at == '\0')
			fits = (size_t)(at - text);
		const char *next = at;
		uint32_t code = frame_shown(&next);
		used += code ? cells(code) : 0;
		if (code == 0 || used > width)
			break;
		at = next;
	}
	return fits ? fits : (size_t)(at - text);
}

void frame_wrapped(struct frame *frame, struct rect rect, enum role role, const char *text)
{
	for (int y = rect.y; y < rect.y + rect.height && *text && rect.width > 0; y++) {
		size_t length = frame_row_length(text, rect.width);
		if (length == 0)
			return;
		frame_words(frame, rect.x, y, rect.width, role,
			y + 1 == rect.y + rect.height ? text : PRINTED(1024, "%.*s", (int)length, text));
		text += length;
		text += strspn(text, " ");
	}
}

int frame_words(struct frame *frame, int x, int y, int width, enum role role, const char *text)
{
	if (text_cells(text) <= width || width < 2)
		return frame_text(frame, x, y, width, role, text);
	int used = frame_text(frame, x, y, width - 1, role,
		PRINTED(1024, "%.*s", (int)frame_row_length(text, width - 1), text));
	frame_glyph(frame, x + used, y, GLYPH_ELLIPSIS, role);
	return used + 1;
}

int text_rows(const char *text, int width)
{
	int rows = 0;
	for (size_t length; width > 0 && *text && (length = frame_row_length(text, width)) > 0; rows++) {
		text += length;
		text += strspn(text, " ");
	}
	return rows;
}

/* ---- areas ---- */

void frame_repeat(struct frame *frame, int x, int y, int width, enum glyph glyph, enum role role)
{
	FOR_INT(i, width)
		frame_glyph(frame, x + i, y, glyph, role);
}

void frame_blank(struct frame *frame, struct rect rect)
{
	for (int y = rect.y; y < rect.y + rect.height; y++)
		for (int x = rect.x; x < rect.x + rect.width; x++)
			frame_put(frame, x, y, ' ', ROLE_TEXT, ROLE_TEXT);
}

void frame_box(struct frame *frame, struct rect rect, const char *title)
{
	int right = rect.x + rect.width - 1, bottom = rect.y + rect.height - 1;
	frame_blank(frame, rect);
	frame_repeat(frame, rect.x, rect.y, rect.width, GLYPH_HORIZONTAL, ROLE_LINE);
	frame_repeat(frame, rect.x, bottom, rect.width, GLYPH_HORIZONTAL, ROLE_LINE);
	for (int y = rect.y + 1; y < bottom; y++) {
		frame_glyph(frame, rect.x, y, GLYPH_VERTICAL, ROLE_LINE);
		frame_glyph(frame, right, y, GLYPH_VERTICAL, ROLE_LINE);
	}
	frame_glyph(frame, rect.x, rect.y, GLYPH_TOP_LEFT, ROLE_LINE);
	frame_glyph(frame, right, rect.y, GLYPH_TOP_RIGHT, ROLE_LINE);
	frame_glyph(frame, rect.x, bottom, GLYPH_BOTTOM_LEFT, ROLE_LINE);
	frame_glyph(frame, right, bottom, GLYPH_BOTTOM_RIGHT, ROLE_LINE);
	if (rect.width > 6) {
		int used = frame_text(frame, rect.x + 3, rect.y, rect.width - 6, ROLE_TITLE, title);
		frame_text(frame, rect.x + 2, rect.y, 1, ROLE_LINE, " ");
		frame_text(frame, rect.x + 3 + used, rect.y, 1, ROLE_LINE, " ");
	}
}

void frame_mark(struct frame *frame, struct rect rect, enum mark mark)
{
	for (int y = rect.y; y < rect.y + rect.height; y++)
		for (int x = rect.x; x < rect.x + rect.width; x++) {
			struct cell *cell = at(frame, x, y);
			if (cell)
				cell->marks |= (uint8_t)mark;
		}
}

void frame_axes(struct frame *frame, struct rect rect)
{
	for (int y = rect.y; y < rect.y + rect.height; y++)
		frame_glyph(frame, rect.x - 1, y, GLYPH_VERTICAL, ROLE_LINE);
	frame_glyph(frame, rect.x - 1, rect.y + rect.height, GLYPH_BOTTOM_LEFT, ROLE_LINE);
	frame_repeat(frame, rect.x, rect.y + rect.height, rect.width, GLYPH_HORIZONTAL, ROLE_LINE);
}

void frame_select(struct frame *frame, int y)
{
	frame_mark(frame, (struct rect){ 0, y, frame->window.width, 1 }, MARK_REVERSE);
}

/* ---- dumps ---- */

char *frame_dump(const struct frame *frame)
{
	char *text = mem_alloc((size_t)frame->height * ((size_t)frame->width * 4 + 1) + 1, 1), *end = text;
	if (!text)
		return NULL;
	FOR_INT(y, frame->height) {
		char *line = end;
		FOR_INT(x, frame->width) {
			uint32_t code = frame->cell[y * frame->width + x].code;
			char bytes[5];
			int length = code ? text_encode(code, bytes) : 0;
			memcpy(end, bytes, (size_t)length);
			end += length;
		}
		while (end > line && end[-1] == ' ')
			end--;
		*end++ = '\n';
	}
	*end = '\0';
	return text;
}
