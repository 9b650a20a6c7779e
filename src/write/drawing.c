/* drawing.c: drawings through tidemark-dot. */
#include "mesh.h"
#include "src/read/dot_child.h"
#include "dot.h"
#include "src/draw/draw.h"
#include "drawing.h"
#include "pipeline.h"
#include "src/draw/figure.h"
#include "segments.h"

#define LAYOUT_MILLISECONDS 20000
#define PAINT_MILLISECONDS 120000   /* where every node has its place */

/* The drawing's DOT in memory; free() it. */
static enum status drawing_text(const struct plan *plan, const struct draw_options *draw, char **text, size_t *length,
	uint32_t *nodes, struct error *error)
{
	FILE *stream = open_memstream(text, length);
	if (!stream)
		return fail_memory(error);
	enum status status = draw_write(plan->graph, plan, draw, stream, nodes, error);
	bool failed = ferror(stream);
	failed |= fclose(stream) != 0;
	return status == OK && failed ? fail_memory(error) : status;
}

static enum status drawing_picture(const struct plan *plan, struct draw_options *draw, const char *format, char **picture, size_t *length,
	struct error *error)
{
	static const struct dot_limits limits = { .milliseconds = LAYOUT_MILLISECONDS }, placed = { .milliseconds = PAINT_MILLISECONDS };
	char *text = NULL;
	size_t size = 0;
	uint32_t nodes = 0;
	enum status status = drawing_text(plan, draw, &text, &size, &nodes, error);
	if (status == OK && !draw->positions) {
		status = nodes > DRAW_LAYOUT_MOST ? LIMIT : dot_child_render(text, size, format, false, &limits, picture, length, error);
		if (status == LIMIT) {
			draw->positions = true;
			free(text);
			text = NULL;
			status = drawing_text(plan, draw, &text, &size, &nodes, error);
		}
	}
	if (status == OK && draw->positions)
		status = dot_child_render(text, size, format, true, &placed, picture, length, error);
	free(text);
	return status;
}

static enum status segments_picture(const struct plan *plan, const char *format, char **picture, size_t *length, struct error *error)
{
	static const struct dot_limits limits = { .milliseconds = LAYOUT_MILLISECONDS };
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	enum status status = stream ? segments_dot(plan, stream, error) : fail_memory(error);
	if (stream && fclose(stream) != 0 && status == OK)
		status = fail_memory(error);
	if (status == OK)
		status = dot_child_render(text, size, format, false, &limits, picture, length, error);
	free(text);
	return status;
}

static enum status export_picture(const struct plan *plan, const struct export_options *options, const char *format, FILE *stream,
	struct error *error)
{
	struct draw_options draw;
	char name[1024], *picture = NULL;
	size_t length = 0;
	bool timeline = options->view && strcmp(options->view, "timeline") == 0, map = options->view && strcmp(options->view, "map") == 0;
	bool pipeline = pipeline_view(options->view), mesh = mesh_view(options->view);
	if ((timeline || map || pipeline || mesh) && strcmp(format, "png") == 0)
		return fail(error, BAD_INPUT, "figures are svg or pdf");
	if (timeline || map)
		return (timeline ? figure_timeline : figure_map)(plan, export_paper(options, strcmp(format, "svg") == 0 ? CANVAS_SVG : CANVAS_PDF), stream, error);
	if (pipeline || mesh)
		return (pipeline ? pipeline_picture : mesh_picture)(plan, options, strcmp(format, "svg") == 0 ? CANVAS_SVG : CANVAS_PDF, stream, error);
	bool segments = options->view && strcmp(options->view, "segments") == 0;
	enum status status = segments ? OK : draw_options_of(options->view, name, sizeof name, &draw, error);
	if (status == OK && segments)
		status = segments_picture(plan, format, &picture, &length, error);
	else if (status == OK)
		status = drawing_picture(plan, &draw, format, &picture, &length, error);
	if (status == OK)
		fwrite(picture, 1, length, stream);
	mem_free(picture);
	return status;
}

enum status export_svg(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	return export_picture(plan, options, "svg", stream, error);
}

enum status export_pdf(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	return export_picture(plan, options, "pdf", stream, error);
}

enum status export_png(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	return export_picture(plan, options, "png", stream, error);
}

/* Without a view, all of the graph in the full dialect; with one, the drawing's source. */
enum status export_dot(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	struct draw_options draw;
	char name[1024];
	if (!options->view) {
		dot_write(options->stage && strcmp(options->stage, "input") == 0 ? plan->input : plan->graph, stream);
		return OK;
	}
	if (strcmp(options->view, "segments") == 0)
		return segments_dot(plan, stream, error);
	enum status status = draw_options_of(options->view, name, sizeof name, &draw, error);
	return status == OK ? draw_write(plan->graph, plan, &draw, stream, NULL, error) : status;
}
