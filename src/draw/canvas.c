/* canvas.c: the two ways to write a figure. */
#include "canvas.h"
#include "src/base/safe_text.h"

enum status canvas_open(struct canvas *canvas, enum canvas_kind kind, double width, double height)
{
	*canvas = (struct canvas){ .kind = kind, .width = width, .height = height };
	canvas->body = open_memstream(&canvas->text, &canvas->length);
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

/* "#RRGGBB" as PDF's three numbers and an operator. */
static void pdf_colour(FILE *stream, const char *colour, const char *operator)
{
	unsigned long value = strtoul(colour + 1, NULL, 16);
	fprintf(stream, "%.3f %.3f %.3f %s\n", (double)(value >> 16 & 255) / 255, (double)(value >> 8 & 255) / 255,
		(double)(value & 255) / 255, operator);
}

static bool line_drawn(const struct canvas_line *line)
{
	return line && line->colour;
}

static void svg_style(const struct canvas *canvas, const char *fill, const struct canvas_line *line)
{
	fprintf(canvas->body, " fill=\"%s\"", fill ? fill : "none");
	if (line_drawn(line))
		fprintf(canvas->body, " stroke=\"%s\" stroke-width=\"%.2f\"%s", line->colour, line->width, line->dashed ? " stroke-dasharray=\"4 3\"" : "");
}

static void pdf_style(const struct canvas *canvas, const char *fill, const struct canvas_line *line)
{
	if (fill)
		pdf_colour(canvas->body, fill, "rg");
	if (line_drawn(line)) {
		pdf_colour(canvas->body, line->colour, "RG");
		fprintf(canvas->body, "%.2f w %s d\n", line->width, line->dashed ? "[4 3] 0" : "[] 0");
	}
}

static const char *pdf_paint(const char *fill, const struct canvas_line *line)
{
	return fill && line_drawn(line) ? "B" : fill ? "f" : "S";
}

void canvas_box(struct canvas *canvas, double x, double y, double width, double height, const char *fill, const struct canvas_line *line,
	const char *title)
{
	if (canvas->kind == CANVAS_PDF) {
		pdf_style(canvas, fill, line);
		fprintf(canvas->body, "%.2f %.2f %.2f %.2f re %s\n", x, canvas->height - y - height, width, height, pdf_paint(fill, line));
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

void canvas_path(struct canvas *canvas, const struct canvas_point *point, size_t points, const char *fill, const struct canvas_line *line)
{
	bool pdf = canvas->kind == CANVAS_PDF;
	if (pdf)
		pdf_style(canvas, fill, line);
	else
		fputs("<path d=\"", canvas->body);
	for (size_t i = 0; i < points; i++)
		if (pdf)
			fprintf(canvas->body, "%.2f %.2f %c\n", point[i].x, canvas->height - point[i].y, i ? 'l' : 'm');
		else
			fprintf(canvas->body, "%c%.2f %.2f", i ? 'L' : 'M', point[i].x, point[i].y);
	if (pdf) {
		fprintf(canvas->body, "%s\n", pdf_paint(fill, line));
		return;
	}
	fputc('"', canvas->body);
	svg_style(canvas, fill, line);
	fputs(" stroke-linejoin=\"round\"/>\n", canvas->body);
}

/* Helvetica's widths, in 1/1000 of the size, close enough to centre a label. */
static double text_width(const char *text)
{
	double width = 0;
	for (; *text; text++) {
		bool capital = *text >= 'A' && *text <= 'Z';
		width += strchr("ijl.,:;|!' ", *text) ? 0.26 : strchr("frt()-", *text) ? 0.32 : strchr("mwMW", *text) ? 0.82 : capital ? 0.69 : 0.55;
	}
	return width;
}

static void pdf_string(FILE *stream, const char *text)
{
	putc('(', stream);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		if (strchr("()\\", byte))
			putc('\\', stream);
		if ((byte & 0xc0) != 0x80)   /* one mark for a character that is not ASCII */
			putc(byte >= 0x20 && byte < 0x7f ? byte : '?', stream);
	}
	putc(')', stream);
}

void canvas_text(struct canvas *canvas, double x, double y, double size, enum canvas_anchor anchor, bool bold, const char *colour, const char *text)
{
	static const char *const anchors[] = { "start", "middle", "end" };
	if (canvas->kind == CANVAS_PDF) {
		double width = text_width(text) * size;
		pdf_colour(canvas->body, colour, "rg");
		fprintf(canvas->body, "BT /F%d %.2f Tf %.2f %.2f Td ", bold ? 2 : 1, size, x - width * (double)anchor / 2, canvas->height - y);
		pdf_string(canvas->body, text);
		fputs(" Tj ET\n", canvas->body);
		return;
	}
	fprintf(canvas->body, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.2f\" text-anchor=\"%s\" fill=\"%s\"%s>", x, y, size, anchors[anchor], colour,
		bold ? " font-weight=\"bold\"" : "");
	xml_text(canvas->body, text);
	fputs("</text>\n", canvas->body);
}

double canvas_text_width(double size, const char *text)
{
	return text_width(text) * size;
}

int canvas_rows(struct canvas *canvas, double x, double y, double width, double size, double leading, const char *colour, const char *text)
{
	char row[300];
	int rows = 0;
	while (*text) {
		size_t length = 0;
		for (size_t next = strcspn(text, " "); ; next += 1 + strcspn(text + next + 1, " ")) {
			snprintf(row, sizeof row, "%.*s", (int)next, text);
			if (length > 0 && canvas_text_width(size, row) > width)
				break;
			length = next;
			if (!text[next])
				break;
		}
		snprintf(row, sizeof row, "%.*s", (int)length, text);
		if (canvas)
			canvas_text(canvas, x, y + leading * rows, size, ANCHOR_START, false, colour, row);
		rows++;
		text += length + strspn(text + length, " ");
	}
	return rows;
}

int canvas_legend(struct canvas *canvas, double x, double y, double width, double size, double leading, const char *colour,
	const struct canvas_key *key, int keys)
{
	double at = 0;
	int rows = keys > 0;
	for (int i = 0; i < keys; i++) {
		double wide = 13 + canvas_text_width(size, key[i].name);
		if (at > 0 && at + wide > width) {
			at = 0;
			rows++;
		}
		double base = y + leading * (rows - 1);
		if (canvas) {
			canvas_box(canvas, x + at, base - 7, 10, 8, key[i].colour, NULL, NULL);
			canvas_text(canvas, x + at + 13, base, size, ANCHOR_START, false, colour, key[i].name);
		}
		at += wide + 12;
	}
	return rows;
}

/* ---- files ----------------------------------------------------------------------------- */

static void write_svg(const struct canvas *canvas, FILE *stream)
{
	fprintf(stream, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0fpt\" height=\"%.0fpt\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"Helvetica,Arial,sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#FFFFFF\"/>\n",
		canvas->width, canvas->height, canvas->width, canvas->height);
	fwrite(canvas->text, 1, canvas->length, stream);
	fputs("</svg>\n", stream);
}

/* A PDF file is numbered objects and a table of where each begins. */
static void write_pdf(const struct canvas *canvas, FILE *stream)
{
	enum { OBJECTS = 6 };
	char object[OBJECTS][300];
	size_t at = 0, begin[OBJECTS];
	snprintf(object[0], sizeof object[0], "<< /Type /Catalog /Pages 2 0 R >>");
	snprintf(object[1], sizeof object[1], "<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
	snprintf(object[2], sizeof object[2], "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.0f %.0f] /Contents 6 0 R "
		"/Resources << /Font << /F1 4 0 R /F2 5 0 R >> >> >>",
		canvas->width, canvas->height);
	snprintf(object[3], sizeof object[3], "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");
	snprintf(object[4], sizeof object[4], "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>");
	snprintf(object[5], sizeof object[5], "<< /Length %zu >>\nstream\n", canvas->length);
	at += (size_t)fprintf(stream, "%%PDF-1.4\n");
	for (int i = 0; i < OBJECTS; i++) {
		begin[i] = at;
		at += (size_t)fprintf(stream, "%d 0 obj\n%s", i + 1, object[i]);
		if (i == OBJECTS - 1)
			at += fwrite(canvas->text, 1, canvas->length, stream) + (size_t)fprintf(stream, "endstream");
		at += (size_t)fprintf(stream, "\nendobj\n");
	}
	fprintf(stream, "xref\n0 %d\n0000000000 65535 f \n", OBJECTS + 1);
	for (int i = 0; i < OBJECTS; i++)
		fprintf(stream, "%010zu 00000 n \n", begin[i]);
	fprintf(stream, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%zu\n%%%%EOF\n", OBJECTS + 1, at);
}

enum status canvas_close(struct canvas *canvas, FILE *stream, struct error *error)
{
	bool failed = ferror(canvas->body);
	failed |= fclose(canvas->body) != 0;
	if (!failed && canvas->kind == CANVAS_SVG)
		write_svg(canvas, stream);
	else if (!failed)
		write_pdf(canvas, stream);
	free(canvas->text);
	return failed ? fail_memory(error) : OK;
}
