/* figure.c: reads a drawing list line by line and draws it. The list, as src/draw/canvas.c writes it, in points from
 * the top left corner:
 *
 *     tidemark-figure 1 WIDTH HEIGHT
 *     B X Y WIDTH HEIGHT FILL STROKE WIDTH DASHED         a box; colours are RRGGBB or -
 *     P POINTS FILL STROKE WIDTH DASHED X Y X Y ...       a line or an area
 *     T X Y SIZE ANCHOR BOLD COLOUR WIDTH TEXT            a text, at most that wide; ANCHOR 0 begins, 1 is centred, 2
 * ends at X */
#include <cairo/cairo-pdf.h>
#include <math.h>
#include <pango/pangocairo.h>

#include "parse.h"
#include "src/base/streams.h"

#define FAMILY "Helvetica, Arial, Liberation Sans, sans-serif"
#define PNG_SCALE 3.0 /* pixels for a point: 216 a inch */
#define SIZE_MOST 20000.0

static const char magic[] = "tidemark-figure 1 ";

struct drawing { cairo_t *cairo; const char *at; bool good; };

bool figure_is(const char *content, size_t size)
{
	return size >= sizeof magic - 1 && memcmp(content, magic, sizeof magic - 1) == 0;
}

/* ---- words of a line ---- */

static double dot_figure_number(struct drawing *drawing)
{
	char *end;
	double value = strtod(drawing->at, &end);
	drawing->good &= end > drawing->at && isfinite(value);
	drawing->at = end;
	return drawing->good ? value : 0;
}

/* A colour becomes the source; false for "-". */
static bool colour(struct drawing *drawing)
{
	drawing->at += strspn(drawing->at, " ");
	if (*drawing->at == '-') {
		drawing->at++;
		return false;
	}
	char *end;
	unsigned long value = strtoul(drawing->at, &end, 16);
	drawing->good &= end == drawing->at + 6;
	drawing->at = end;
	cairo_set_source_rgb(drawing->cairo, (double)(value >> 16 & 255) / 255, (double)(value >> 8 & 255) / 255,
		(double)(value & 255) / 255);
	return drawing->good;
}

/* Fills and strokes the path by the line's next four words. */
static void dot_figure_paint(struct drawing *drawing)
{
	static const double dash[] = { 4, 3 };
	if (colour(drawing))
		cairo_fill_preserve(drawing->cairo);
	bool stroked = colour(drawing);
	cairo_set_line_width(drawing->cairo, dot_figure_number(drawing));
	cairo_set_dash(drawing->cairo, dash, dot_figure_number(drawing) != 0 ? 2 : 0, 0);
	if (stroked)
		cairo_stroke_preserve(drawing->cairo);
	cairo_new_path(drawing->cairo);
}

static void dot_figure_draw_box(struct drawing *drawing)
{
	double x = dot_figure_number(drawing), y = dot_figure_number(drawing), width = dot_figure_number(drawing),
		   height = dot_figure_number(drawing);
	cairo_rectangle(drawing->cairo, x, y, width, height);
	dot_figure_paint(drawing);
}

/* The style stands before the points: the path is built from what follows it. */
static void draw_path(struct drawing *drawing)
{
	long points = (long)dot_figure_number(drawing);
	const char *style = drawing->at;
	FOR_INT(word, 4) {
		drawing->at += strspn(drawing->at, " ");
		drawing->at += strcspn(drawing->at, " \n");
	}
	for (long i = 0; i < points && drawing->good; i++) {
		double x = dot_figure_number(drawing), y = dot_figure_number(drawing);
		cairo_line_to(drawing->cairo, x, y);
	}
	const char *end = drawing->at;
	drawing->at = style;
	cairo_set_line_join(drawing->cairo, CAIRO_LINE_JOIN_ROUND);
	dot_figure_paint(drawing);
	cairo_set_line_join(drawing->cairo, CAIRO_LINE_JOIN_MITER);
	drawing->at = end;
}

/* What the figure was laid out for is another font's width: a wider text is pressed together. */
static void dot_figure_show(
	struct drawing *drawing, PangoLayout *layout, double x, double y, double anchor, double room)
{
	int width, height;
	pango_layout_get_size(layout, &width, &height);
	double wide = (double)width / PANGO_SCALE, base = (double)pango_layout_get_baseline(layout) / PANGO_SCALE;
	double scale = room > 0 && wide > room ? room / wide : 1;
	cairo_save(drawing->cairo);
	cairo_translate(drawing->cairo, x - wide * scale * anchor / 2, y - base);
	cairo_scale(drawing->cairo, scale, 1);
	pango_cairo_show_layout(drawing->cairo, layout);
	cairo_restore(drawing->cairo);
}

static void draw_text(struct drawing *drawing)
{
	double x = dot_figure_number(drawing), y = dot_figure_number(drawing), size = dot_figure_number(drawing),
		   anchor = dot_figure_number(drawing);
	bool bold = dot_figure_number(drawing) != 0;
	drawing->good &= colour(drawing) && size > 0 && size < 1000;
	double room = dot_figure_number(drawing);
	drawing->at += *drawing->at == ' ';
	size_t length = strcspn(drawing->at, "\n");
	if (drawing->good) {
		PangoLayout *layout = pango_cairo_create_layout(drawing->cairo);
		/* Else letters stand at whole units: "tem poraries". */
		pango_context_set_round_glyph_positions(pango_layout_get_context(layout), FALSE);
		PangoFontDescription *font = pango_font_description_from_string(FAMILY);
		pango_font_description_set_absolute_size(font, size * PANGO_SCALE);
		pango_font_description_set_weight(font, bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
		pango_layout_set_font_description(layout, font);
		pango_layout_set_single_paragraph_mode(layout, TRUE);
		pango_layout_set_text(layout, drawing->at, (int)length);
		dot_figure_show(drawing, layout, x, y, anchor, room);
		pango_font_description_free(font);
		g_object_unref(layout);
	}
	drawing->at += length;
}

static void dot_figure_draw_list(struct drawing *drawing)
{
	cairo_set_source_rgb(drawing->cairo, 1, 1, 1);
	cairo_paint(drawing->cairo);
	while (drawing->good && *drawing->at) {
		char kind = *drawing->at++;
		if (kind == 'B')
			dot_figure_draw_box(drawing);
		else if (kind == 'P')
			draw_path(drawing);
		else if (kind == 'T')
			draw_text(drawing);
		else
			drawing->good = false;
		drawing->good &= *drawing->at == '\n';
		drawing->at += *drawing->at == '\n';
	}
}

/* ---- surfaces ---- */

static cairo_status_t dot_figure_put(void *stream, const unsigned char *data, unsigned length)
{
	return fwrite(data, 1, length, stream) == length ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static cairo_surface_t *open_surface(const char *format, double width, double height, FILE *stream)
{
	if (strcmp(format, "png") == 0)
		return cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width * PNG_SCALE), (int)ceil(height * PNG_SCALE));
	cairo_surface_t *surface = cairo_pdf_surface_create_for_stream(dot_figure_put, stream, width, height);
	cairo_pdf_surface_set_metadata(surface, CAIRO_PDF_METADATA_CREATOR, "tidemark " TIDEMARK_VERSION);
	return surface;
}

/* Draws on a surface that writes into stream, and ends both. */
static enum status draw_surface(
	struct drawing *drawing, double width, double height, const char *format, FILE *stream, struct error *error)
{
	bool png = strcmp(format, "png") == 0;
	cairo_surface_t *surface = open_surface(format, width, height, stream);
	drawing->cairo = cairo_create(surface);
	if (png)
		cairo_scale(drawing->cairo, PNG_SCALE, PNG_SCALE);
	dot_figure_draw_list(drawing);
	cairo_status_t drawn = cairo_status(drawing->cairo);
	cairo_destroy(drawing->cairo);
	if (drawn == CAIRO_STATUS_SUCCESS && png)
		drawn = cairo_surface_write_to_png_stream(surface, dot_figure_put, stream);
	cairo_surface_finish(surface);
	if (drawn == CAIRO_STATUS_SUCCESS)
		drawn = cairo_surface_status(surface);
	cairo_surface_destroy(surface);
	pango_cairo_font_map_set_default(NULL);
	if (!drawing->good)
		return refuse(error, "not a figure: a line has other words than its kind");
	return drawn == CAIRO_STATUS_SUCCESS
		? OK
		: fail(error, LIMIT, "Cairo could not draw the figure: %s", cairo_status_to_string(drawn));
}

enum status figure_draw(const char *content, const char *format, FILE *stream, struct error *error)
{
	struct drawing drawing = { .at = content + sizeof magic - 1, .good = true };
	double width = dot_figure_number(&drawing), height = dot_figure_number(&drawing);
	char *picture = NULL;
	size_t length = 0;
	if (!drawing.good || *drawing.at++ != '\n' || !(width >= 1 && width <= SIZE_MOST) ||
		!(height >= 1 && height <= SIZE_MOST))
		return refuse(error, "not a figure: the first line has no size");
	FILE *memory = text_stream(&picture, &length);
	NEEDED(error, memory);
	enum status status = draw_surface(&drawing, width, height, format, memory, error);
	if (fclose(memory) != 0 && status == OK)
		status = fail_memory(error);
	if (status == OK && strcmp(format, "pdf") == 0)
		pdf_set_date(picture, length);
	if (status == OK)
		fwrite(picture, 1, length, stream);
	free(picture);
	return status;
}
