/* canvas.c: figures as SVG, as TikZ, or as the list of what is drawn that tidemark-dot takes (src/dot/figure.c says its
 * form). */
#include <math.h>

#include "canvas.h"
#include "src/base/safe_text.h"
#include "src/base/streams.h"
#include "src/read/dot_child.h"

#define BOLDER   1.08  /* bold letters are wider */
#define ELLIPSIS 1.0   /* the width of one, of the size */
#define TITLE    14.0  /* points that a title takes */
#define SIGN_WIDE 10.0 /* of a legend */
#define EXPLAINED 12.0 /* from what is drawn to the first row that explains it */

enum status canvas_open(struct canvas *canvas, struct canvas_paper paper, double height)
{
	*canvas = (struct canvas){ .paper = paper, .height = height, .raise = paper.untitled ? TITLE : 0 };
	canvas->body = text_stream(&canvas->text, &canvas->length);
	return canvas->body ? OK : NO_MEMORY;
}

static void xml_text(FILE *stream, const char *text)
{
	for (uint32_t character; (character = text_next(&text)) != 0;) {
		switch (character) {
		case '&': fputs("&amp;", stream); break;
		case '<': fputs("&lt;", stream); break;
		case '>': fputs("&gt;", stream); break;
		case '"': fputs("&quot;", stream); break;
		default: text_put(stream, character < 0x20 ? ' ' : text_hidden(character) ? UNREADABLE : character);
		}
	}
}

static bool line_drawn(const struct canvas_line *line)
{
	return line && line->colour;
}

static void svg_style(const struct canvas *canvas, const char *fill, const struct canvas_line *line)
{
	fprintf(canvas->body, " fill=\"%s\"", fill ? fill : "none");
	if (line_drawn(line))
		fprintf(canvas->body, " stroke=\"%s\" stroke-width=\"%.2f\"%s", line->colour, line->width,
			line->dashed ? " stroke-dasharray=\"4 3\"" : "");
}

/* " FILL STROKE WIDTH DASHED" of a drawing list. */
static void list_style(const struct canvas *canvas, const char *fill, const struct canvas_line *line)
{
	bool drawn = line_drawn(line);
	fprintf(canvas->body, " %s %s %.2f %d", fill ? fill + 1 : "-", drawn ? line->colour + 1 : "-",
		drawn ? line->width : 0.0, drawn && line->dashed);
}

static bool is_list(const struct canvas *canvas)
{
	return canvas->paper.kind == CANVAS_PDF || canvas->paper.kind == CANVAS_PNG;
}

/* TikZ's colours have names, so that an author can change them in one place. */
static void name_colour(struct canvas *canvas, const char *colour)
{
	int i = 0;
	while (i < canvas->colours && !text_is(canvas->colour[i], colour))
		i++;
	if (i < canvas->colours)
		return;
	fprintf(canvas->body, "\\definecolor{c%s}{HTML}{%s}\n", colour + 1, colour + 1);
	if (canvas->colours < (int)(sizeof canvas->colour / sizeof *canvas->colour))
		snprintf(canvas->colour[canvas->colours++], sizeof *canvas->colour, "%s", colour);
}

/* "\\path[fill=..., draw=...]" */
static void tikz_style(struct canvas *canvas, const char *fill, const struct canvas_line *line)
{
	if (fill)
		name_colour(canvas, fill);
	if (line_drawn(line))
		name_colour(canvas, line->colour);
	fputs("\\path[", canvas->body);
	if (fill)
		fprintf(canvas->body, "fill=c%s", fill + 1);
	if (line_drawn(line))
		fprintf(canvas->body, "%sdraw=c%s, line width=%.2fbp%s", fill ? ", " : "", line->colour + 1, line->width,
			line->dashed ? ", dash pattern=on 4bp off 3bp" : "");
	fputs("] ", canvas->body);
}

void canvas_box(struct canvas *canvas, double x, double y, double width, double height, const char *fill,
	const struct canvas_line *line, const char *title)
{
	y -= canvas->raise;
	if (is_list(canvas)) {
		fprintf(canvas->body, "B %.2f %.2f %.2f %.2f", x, y, width, height);
		list_style(canvas, fill, line);
		putc('\n', canvas->body);
		return;
	}
	if (canvas->paper.kind == CANVAS_TIKZ) {
		tikz_style(canvas, fill, line);
		fprintf(canvas->body, "(%.2f,%.2f) rectangle (%.2f,%.2f);\n", x, y, x + width, y + height);
		return;
	}
	fprintf(canvas->body, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", x, y, width, height);
	svg_style(canvas, fill, line);
	if (title) {
		fputs("><title>", canvas->body);
		xml_text(canvas->body, title);
		fputs("</title></rect>\n", canvas->body);
	} else {
		fputs("/>\n", canvas->body);
	}
}

/* Whether b lies between a and c on a line along an axis, as far as two decimals tell. */
static bool canvas_needless(struct canvas_point a, struct canvas_point b, struct canvas_point c)
{
	bool upright = fabs(a.x - b.x) < 0.005 && fabs(b.x - c.x) < 0.005;
	bool level = fabs(a.y - b.y) < 0.005 && fabs(b.y - c.y) < 0.005;
	return (upright && (b.y - a.y) * (c.y - b.y) >= 0) || (level && (b.x - a.x) * (c.x - b.x) >= 0);
}

/* The next point that is drawn: TeX takes seconds for the thousands that change nothing. */
static size_t canvas_next(const struct canvas_point *point, size_t points, size_t at)
{
	size_t next = at + 1;
	while (next + 1 < points && canvas_needless(point[at], point[next], point[next + 1]))
		next++;
	return next;
}

void canvas_path(struct canvas *canvas, const struct canvas_point *point, size_t points, const char *fill,
	const struct canvas_line *line)
{
	if (is_list(canvas)) {
		size_t drawn = 0;
		for (size_t i = 0; i < points; i = canvas_next(point, points, i))
			drawn++;
		fprintf(canvas->body, "P %zu", drawn);
		list_style(canvas, fill, line);
		for (size_t i = 0; i < points; i = canvas_next(point, points, i))
			fprintf(canvas->body, " %.2f %.2f", point[i].x, point[i].y - canvas->raise);
		putc('\n', canvas->body);
		return;
	}
	if (canvas->paper.kind == CANVAS_TIKZ) {
		tikz_style(canvas, fill, line);
		/* TeX wants short lines. */
		for (size_t i = 0, drawn = 1; i < points; i = canvas_next(point, points, i), drawn++)
			fprintf(canvas->body, "%s(%.2f,%.2f)%s", i ? "--" : "", point[i].x, point[i].y - canvas->raise,
				drawn % 8 == 0 ? "\n" : "");
		fputs(";\n", canvas->body);
		return;
	}
	fputs("<path d=\"", canvas->body);
	for (size_t i = 0; i < points; i = canvas_next(point, points, i))
		fprintf(canvas->body, "%c%.2f %.2f", i ? 'L' : 'M', point[i].x, point[i].y - canvas->raise);
	fputc('"', canvas->body);
	svg_style(canvas, fill, line);
	fputs(" stroke-linejoin=\"round\"/>\n", canvas->body);
}

void canvas_stroke(
	struct canvas *canvas, double x, double y, double to_x, double to_y, const struct canvas_line *line)
{
	canvas_path(canvas, (struct canvas_point[]){ { x, y }, { to_x, to_y } }, 2, NULL, line);
}

void canvas_cross(struct canvas *canvas, double x, double y, double half, const char *colour)
{
	const struct canvas_line line = { colour, 1.5, false };
	canvas_stroke(canvas, x - half, y - half, x + half, y + half, &line);
	canvas_stroke(canvas, x - half, y + half, x + half, y - half, &line);
}

/* Helvetica's widths, in 1/1000 of the size, close enough to centre a label. */
static double text_width(const char *text)
{
	double width = 0;
	for (uint32_t character; (character = text_next(&text)) != 0;) {
		char letter = character < 0x80 ? (char)character : 'A';
		bool capital = letter >= 'A' && letter <= 'Z';
		width += character >= 0x1100 ? 1.0
			: strchr("ijl.,:;|!' ", letter) ? 0.26
			: strchr("frt()-", letter)      ? 0.32
			: strchr("mwMW", letter)        ? 0.82
			: capital ? 0.69
			: 0.55;
	}
	return width;
}

const char *canvas_cut(double size, double room, const char *text, char cut[CANVAS_CUT])
{
	if (text_width(text) * size <= room)
		return text;
	size_t length = strlen(text_clean(text, cut, CANVAS_CUT - 4));
	for (; length > 0 && (text_width(cut) + ELLIPSIS) * size > room; cut[length] = '\0')
		while (--length > 0 && (cut[length] & 0xc0) == 0x80)
			;
	snprintf(cut + length, CANVAS_CUT - length, "…");
	return cut;
}

/* What of the text stays on the paper. */
static const char *canvas_fitting(const struct canvas *canvas, double x, double size, enum canvas_anchor anchor,
	const char *text, char cut[CANVAS_CUT])
{
	double left = x - 1, right = canvas->paper.width - 1 - x;
	return canvas_cut(size,
		anchor == ANCHOR_START ? right
		: anchor == ANCHOR_END ? left
		: 2 * SMALLER(left, right),
		text, cut);
}

void canvas_text(struct canvas *canvas, double x, double y, double size, enum canvas_anchor anchor, bool bold,
	const char *colour, const char *text)
{
	static const char *const anchors[] = { "start", "middle", "end" },
							 *const sides[] = { "base west", "base", "base east" };
	char cut[CANVAS_CUT];
	y -= canvas->raise;
	text = canvas_fitting(canvas, x, bold ? size * BOLDER : size, anchor, text, cut);
	if (is_list(canvas)) {
		fprintf(canvas->body, "T %.2f %.2f %.2f %d %d %s %.2f ", x, y, size, (int)anchor, bold, colour + 1,
			canvas_text_width(size, text) * (bold ? BOLDER : 1));
		text_write_clean(canvas->body, text, "");
		putc('\n', canvas->body);
		return;
	}
	if (canvas->paper.kind == CANVAS_TIKZ) {
		name_colour(canvas, colour);
		fprintf(canvas->body, "\\node[anchor=%s, size=%.4g, text=c%s] at (%.2f,%.2f) {%s", sides[anchor], size,
			colour + 1, x, y, bold ? "\\bfseries " : "");
		tikz_text(canvas->body, text);
		fputs("};\n", canvas->body);
		return;
	}
	fprintf(canvas->body, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.2f\" text-anchor=\"%s\" fill=\"%s\"%s>", x, y,
		size, anchors[anchor], colour, bold ? " font-weight=\"bold\"" : "");
	xml_text(canvas->body, text);
	fputs("</text>\n", canvas->body);
}

void canvas_label(struct canvas *canvas, double x, double y, enum canvas_anchor anchor, const char *text)
{
	canvas_text(canvas, x, y, SMALL, anchor, false, INK, text);
}

void canvas_title(struct canvas *canvas, double x, double y, const char *text)
{
	if (!canvas->paper.untitled)
		canvas_text(canvas, x, y, NORMAL, ANCHOR_START, true, INK, text);
}

double canvas_text_width(double size, const char *text)
{
	return text_width(text) * size;
}

int canvas_rows(struct canvas *canvas, double x, double y, double width, const char *text)
{
	char row[300];
	int rows = 0;
	while (*text) {
		size_t length = 0;
		for (size_t next = strcspn(text, " "); ; next += 1 + strcspn(text + next + 1, " ")) {
			PRINT_TO(row, "%.*s", (int)next, text);
			if (length > 0 && canvas_text_width(SMALL, row) > width)
				break;
			length = next;
			if (!text[next])
				break;
		}
		PRINT_TO(row, "%.*s", (int)length, text);
		if (canvas)
			canvas_label(canvas, x, y + LEADING * rows, ANCHOR_START, row);
		rows++;
		text += length + strspn(text + length, " ");
	}
	return rows;
}

static void draw_sign(struct canvas *canvas, double x, double base, const struct canvas_key *key)
{
	const struct canvas_line line = { key->colour, 1.4, key->sign == SIGN_DASHES };
	double middle = base - 3;
	if (key->sign == SIGN_BOX) {
		canvas_box(canvas, x, base - 7, SIGN_WIDE, 8, key->colour, &(struct canvas_line){ "#888888", 0.2, false }, NULL);
	} else if (key->sign == SIGN_CROSS) {
		canvas_cross(canvas, x + SIGN_WIDE / 2, middle, 3.5, key->colour);
	} else {
		canvas_stroke(canvas, x - 1, middle, x + SIGN_WIDE, middle, &line);
	}
}

/* Where the next row of an explanation stands. */
static double canvas_next_row(struct canvas *canvas, double above)
{
	double base = canvas->height + (canvas->explained ? above - 7 : EXPLAINED);
	canvas->explained = true;
	canvas->height = base + 7;
	return base;
}

void canvas_legend(struct canvas *canvas, double x, double width, const struct canvas_key *key, int keys)
{
	double at = 0, base = 0;
	FOR_INT(i, keys) {
		if (canvas->paper.said)
			words_add(canvas->paper.said, "%s%s (%s%s)%s", i ? ", " : "\n", key[i].name, key[i].colour,
				key[i].sign == SIGN_DASHES ? ", dashed" : "", i + 1 == keys ? "." : "");
		if (canvas->paper.unexplained)
			continue;
		double wide = 13 + canvas_text_width(SMALL, key[i].name);
		bool next = at > 0 && at + wide > width;
		if (i == 0 || next)
			base = canvas_next_row(canvas, LEADING);
		at = next ? 0 : at;
		draw_sign(canvas, x + at, base, &key[i]);
		canvas_label(canvas, x + at + 13, base, ANCHOR_START, key[i].name);
		at += wide + 12;
	}
}

void canvas_note(struct canvas *canvas, double x, double width, const char *text)
{
	if (!*text)
		return;
	if (canvas->paper.said)
		words_add(canvas->paper.said, "\n%c%s%s", *text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text, text + 1,
			strchr(".:", text[strlen(text) - 1]) ? "" : ".");
	if (canvas->paper.unexplained)
		return;
	double base = canvas_next_row(canvas, LEADING + 1);
	canvas->height += LEADING * (canvas_rows(canvas, x, base, width, text) - 1);
}

/* ---- files ---- */

static void write_svg(const struct canvas *canvas, FILE *stream)
{
	fprintf(stream,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0fpt\" height=\"%.0fpt\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"Helvetica,Arial,sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#FFFFFF\"/>\n",
		canvas->paper.width, canvas->height - canvas->raise, canvas->paper.width, canvas->height - canvas->raise);
	fwrite(canvas->text, 1, canvas->length, stream);
	fputs("</svg>\n", stream);
}

static void write_tikz(const struct canvas *canvas, FILE *stream)
{
	tikz_head(stream);
	fprintf(stream,
		"\\begin{tikzpicture}[x=1bp, y=-1bp, line join=round, inner sep=0pt, outer sep=0pt, "
		"size/.style={font=\\fontsize{#1bp}{#1bp}\\sffamily\\selectfont}]\n"
		"\\path[use as bounding box] (0,0) rectangle (%.2f,%.2f);\n",
		canvas->paper.width, canvas->height - canvas->raise);
	fwrite(canvas->text, 1, canvas->length, stream);
	fputs("\\end{tikzpicture}%\n", stream);
	tikz_end(stream);
}

static enum status canvas_write_list(const struct canvas *canvas, FILE *stream, struct error *error)
{
	char *list = NULL, *picture = NULL;
	size_t size = 0, length = 0;
	FILE *text = text_stream(&list, &size);
	NEEDED(error, text);
	fprintf(text, "tidemark-figure 1 %.0f %.0f\n", canvas->paper.width, canvas->height - canvas->raise);
	fwrite(canvas->text, 1, canvas->length, text);
	enum status status = fclose(text) == 0
		? dot_child_render(
			  list, size, canvas->paper.kind == CANVAS_PNG ? "png" : "pdf", false, NULL, &picture, &length, error)
		: fail_memory(error);
	if (status == OK)
		fwrite(picture, 1, length, stream);
	mem_free(picture);
	free(list);
	return status;
}

enum status canvas_close(struct canvas *canvas, FILE *stream, struct error *error)
{
	bool failed = ferror(canvas->body);
	failed |= fclose(canvas->body) != 0;
	enum status status = failed ? fail_memory(error) : OK;
	if (status == OK && is_list(canvas))
		status = canvas_write_list(canvas, stream, error);
	else if (status == OK && canvas->paper.kind == CANVAS_TIKZ)
		write_tikz(canvas, stream);
	else if (status == OK)
		write_svg(canvas, stream);
	free(canvas->text);
	return status;
}
