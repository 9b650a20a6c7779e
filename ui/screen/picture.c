/* picture.c: cells as areas of one colour each, and runs of text. Units are hundredths of a pixel. */
#include "picture.h"

/* A cell is as wide as the advance of common fixed-pitch fonts at FONT_SIZE. */
enum {
	CELL_WIDTH = 843,
	CELL_HEIGHT = 1800,
	BASELINE = 1360,
	FONT_SIZE = 1400,
	MARGIN = 800,
	LINE_WIDTH = 120,
	COLOURS_MAX = 4 * CELL_ROLES
};

/* What a terminal of the theme's kind shows where no colour is asked for. */
static const struct { uint32_t ink, paper; } defaults[THEME_COUNT] = {
	[THEME_ANSI] = { 0xd0d0d0, 0x101418 }, [THEME_DARK] = { 0xd0d0d0, 0x101418 },
	[THEME_LIGHT] = { 0x202428, 0xffffff }, [THEME_MONO] = { 0xd8d8d8, 0x101010 },
};

/* The 16 colours as most terminals have them. */
static const uint32_t basic[16] = {
	0x000000, 0xcd3131, 0x2da44e, 0xc5a332, 0x3b78d8, 0xb04fc0, 0x2aa1b3, 0xcccccc,
	0x6b7280, 0xf14c4c, 0x4fd675, 0xf5e06a, 0x6cabff, 0xd670d6, 0x57d3e6, 0xffffff,
};

/* xterm's 256 colours: the basic ones, a cube of 6 x 6 x 6, and 24 greys. */
static uint32_t picture_colour_of(int colour)
{
	static const uint32_t level[6] = { 0, 95, 135, 175, 215, 255 };
	if (colour < 16)
		return basic[colour];
	if (colour >= 232)
		return (uint32_t)(8 + 10 * (colour - 232)) * 0x010101u;
	colour -= 16;
	return level[colour / 36] << 16 | level[colour / 6 % 6] << 8 | level[colour % 6];
}

/* A cell as it is painted. */
struct paint {
	uint32_t ink, paper;
	bool bold, dim, underline;
};

struct picture {
	FILE *stream;
	const struct frame *frame;
	const struct palette *palette;
	enum theme theme;
	int cursor_x, cursor_y;
};

static struct paint paint_of(const struct picture *picture, int x, int y)
{
	struct look look = cell_look(picture->palette, &picture->frame->cell[y * picture->frame->width + x]);
	struct paint paint = { defaults[picture->theme].ink, defaults[picture->theme].paper, look.marks & MARK_BOLD,
		look.marks & MARK_DIM, look.marks & MARK_UNDERLINE };
	if (look.colour >= 0)
		paint.ink = picture_colour_of(look.colour);
	if (look.ground > 0)
		paint.paper = picture_colour_of(look.ground - 1);
	bool cursor = x == picture->cursor_x && y == picture->cursor_y;
	if (cursor != ((look.marks & MARK_REVERSE) != 0)) {
		uint32_t ink = paint.ink;
		paint.ink = paint.paper;
		paint.paper = ink;
	}
	return paint;
}

static bool same_paint(struct paint a, struct paint b)
{
	return a.ink == b.ink && a.paper == b.paper && a.bold == b.bold && a.dim == b.dim && a.underline == b.underline;
}

static int picture_left_of(int x) { return MARGIN + x * CELL_WIDTH; }
static int top_of(int y) { return MARGIN + y * CELL_HEIGHT; }

/* ---- areas: one path per colour ---- */

struct colours {
	uint32_t colour[COLOURS_MAX];
	int count;
};

static void add_colour(struct colours *colours, uint32_t colour)
{
	FOR_INT(i, colours->count)
		if (colours->colour[i] == colour)
			return;
	if (colours->count < COLOURS_MAX)
		colours->colour[colours->count++] = colour;
}

static void box(struct picture *picture, int x, int y, int width, int height)
{
	fprintf(picture->stream, "M%d %dh%dv%dh-%dz", x, y, width, height, width);
}

/* ---- shapes ---- */

/* The arms of box-drawing characters, as bits: left, right, up, down; and how heavy. */
static const struct { uint32_t code; int arms, weight;
} lines[] = {
	{ 0x2500, 3, 1 },
	{ 0x2502, 12, 1 },
	{ 0x250c, 10, 1 },
	{ 0x2510, 9, 1 },
	{ 0x2514, 6, 1 },
	{ 0x2518, 5, 1 },
	{ 0x251c, 14, 1 },
	{ 0x252c, 11, 1 },
	{ 0x2534, 7, 1 },
	{ 0x2501, 3, 3 },
};

static bool is_block(uint32_t code)
{
	return code >= 0x2580 && code <= 0x2588;
}

/* The line of a code, or -1. */
static int picture_line_of(uint32_t code)
{
	FOR(i, COUNT_OF(lines))
		if (lines[i].code == code)
			return (int)i;
	return -1;
}

static void draw_block(struct picture *picture, int left, int top, int width, uint32_t code)
{
	int height = code == 0x2580 ? CELL_HEIGHT / 2 : CELL_HEIGHT * (int)(code - 0x2580) / 8;
	box(picture, left, code == 0x2580 ? top : top + CELL_HEIGHT - height, width, height);
}

static void picture_draw_line(struct picture *picture, int left, int top, int width, int line)
{
	int arms = lines[line].arms, thick = LINE_WIDTH * lines[line].weight, half = thick / 2;
	int middle_x = left + CELL_WIDTH / 2, middle_y = top + CELL_HEIGHT / 2;
	int from_x = arms & 1 ? left : middle_x - half, to_x = arms & 2 ? left + width : middle_x + half;
	int from_y = arms & 4 ? top : middle_y - half, to_y = arms & 8 ? top + CELL_HEIGHT : middle_y + half;
	if (arms & 3)
		box(picture, from_x, middle_y - half, to_x - from_x, thick);
	if (arms & 12)
		box(picture, middle_x - half, from_y, thick, to_y - from_y);
}

/* ---- rows ---- */

static void write_escaped(FILE *stream, uint32_t code)
{
	char bytes[5];
	const char *entity = code == '<' ? "&lt;" : code == '>' ? "&gt;" : code == '&' ? "&amp;" : NULL;
	text_encode(code, bytes);
	fputs(entity ? entity : bytes, stream);
}

static const struct cell *cell_at(const struct picture *picture, int x, int y)
{
	return &picture->frame->cell[y * picture->frame->width + x];
}

static bool is_shape(uint32_t code)
{
	return is_block(code) || picture_line_of(code) >= 0;
}

/* The backgrounds of one colour. */
static void draw_papers(struct picture *picture, uint32_t colour)
{
	FOR_INT(y, picture->frame->height)
		for (int x = 0, next; x < picture->frame->width; x = next) {
			uint32_t paper = paint_of(picture, x, y).paper;
			for (next = x + 1; next < picture->frame->width && paint_of(picture, next, y).paper == paper; next++)
				;
			if (paper == colour)
				box(picture, picture_left_of(x), top_of(y), (next - x) * CELL_WIDTH, CELL_HEIGHT);
		}
}

/* Blocks and lines of one colour, as shapes that meet their neighbours; equal ones beside each other are one. */
static void draw_shapes(struct picture *picture, uint32_t colour)
{
	FOR_INT(y, picture->frame->height)
		for (int x = 0, next; x < picture->frame->width; x = next) {
			uint32_t code = cell_at(picture, x, y)->code;
			int line = picture_line_of(code);
			bool joins = is_block(code) || (line >= 0 && lines[line].arms == 3);
			next = x + 1;
			if (!is_shape(code) || paint_of(picture, x, y).ink != colour)
				continue;
			while (joins && next < picture->frame->width && cell_at(picture, next, y)->code == code &&
				paint_of(picture, next, y).ink == colour)
				next++;
			if (line < 0)
				draw_block(picture, picture_left_of(x), top_of(y), (next - x) * CELL_WIDTH, code);
			else
				picture_draw_line(picture, picture_left_of(x), top_of(y), (next - x) * CELL_WIDTH, line);
		}
}

/* One path for each colour that papers, or shapes, have. */
static void draw_areas(struct picture *picture, bool shapes)
{
	struct colours colours = { .count = 0 };
	FOR_INT(y, picture->frame->height)
		FOR_INT(x, picture->frame->width) {
			struct paint paint = paint_of(picture, x, y);
			if (shapes ? is_shape(cell_at(picture, x, y)->code) : paint.paper != defaults[picture->theme].paper)
				add_colour(&colours, shapes ? paint.ink : paint.paper);
		}
	FOR_INT(i, colours.count) {
		fprintf(picture->stream, "<path fill=\"#%06x\" d=\"", (unsigned)colours.colour[i]);
		if (shapes)
			draw_shapes(picture, colours.colour[i]);
		else
			draw_papers(picture, colours.colour[i]);
		fputs("\"/>\n", picture->stream);
	}
}

/* ---- text ---- */

/* A run of text of one look, stretched to its cells whatever the font. */
static void picture_draw_run(struct picture *picture, int x, int end, int y, struct paint paint)
{
	while (end > x && cell_at(picture, end - 1, y)->code == ' ' && !paint.underline)
		end--;
	if (end == x)
		return;
	fprintf(picture->stream, "<text x=\"%d\" y=\"%d\" textLength=\"%d\" fill=\"#%06x\"%s%s%s>", picture_left_of(x),
		top_of(y) + BASELINE, (end - x) * CELL_WIDTH, (unsigned)paint.ink, paint.bold ? " font-weight=\"bold\"" : "",
		paint.dim ? " opacity=\".6\"" : "", paint.underline ? " text-decoration=\"underline\"" : "");
	for (int i = x; i < end; i++)
		if (cell_at(picture, i, y)->code)
			write_escaped(picture->stream, cell_at(picture, i, y)->code);
	fputs("</text>\n", picture->stream);
}

static void picture_draw_row(struct picture *picture, int y)
{
	for (int x = 0, next; x < picture->frame->width; x = next) {
		uint32_t code = cell_at(picture, x, y)->code;
		struct paint paint = paint_of(picture, x, y);
		next = x + 1;
		if ((code == ' ' && !paint.underline) || code == 0 || is_shape(code))
			continue;
		/* Two blanks end a run: what follows them keeps its place in any font. */
		for (int blanks = 0; next < picture->frame->width && blanks < 2; next++) {
			uint32_t other = cell_at(picture, next, y)->code;
			if (is_shape(other) || !same_paint(paint, paint_of(picture, next, y)))
				break;
			blanks = other == ' ' ? blanks + 1 : 0;
		}
		picture_draw_run(picture, x, next, y, paint);
	}
}

void picture_svg(const struct frame *frame, const struct palette *palette, enum theme theme, int x, int y, FILE *stream)
{
	struct picture picture = { stream, frame, palette, theme, x, y };
	int width = 2 * MARGIN + frame->width * CELL_WIDTH, height = 2 * MARGIN + frame->height * CELL_HEIGHT;
	fprintf(stream,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n"
		"<rect width=\"100%%\" height=\"100%%\" rx=\"600\" fill=\"#%06x\"/>\n"
		"<g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"%d\" "
		"shape-rendering=\"crispEdges\" xml:space=\"preserve\">\n",
		(width + 50) / 100, (height + 50) / 100, width, height, (unsigned)defaults[theme].paper, FONT_SIZE);
	draw_areas(&picture, false);
	draw_areas(&picture, true);
	FOR_INT(row, frame->height)
		picture_draw_row(&picture, row);
	fputs("</g>\n</svg>\n", stream);
}
