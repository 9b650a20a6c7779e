/* drawing.c: drawings through tidemark-dot. */
#include <math.h>

#include "caption.h"
#include "data.h"
#include "src/base/streams.h"
#include "src/draw/draw.h"
#include "src/read/dot_child.h"

#define LETTERS       9.0 /* points, of the smallest in a drawing as wide as it needs */
#define LETTERS_LEAST 6.0
#define FOLDS         16u /* see draw_options.fold: pictures of more than eight levels are too wide for a page */

static const struct dot_limits layout_limits = { .milliseconds = 20000 },
							   paint_limits = { .milliseconds = 120000 }; /* where every node has its place */

/* The drawing's DOT in memory; free() it. */
static enum status drawing_text(const struct plan *plan, const struct draw_options *draw, char **text, size_t *length,
	uint32_t *nodes, struct error *error)
{
	FILE *stream = text_stream(text, length);
	NEEDED(error, stream);
	enum status status = draw_write(plan->graph, plan, draw, stream, nodes, error);
	bool failed = ferror(stream);
	failed |= fclose(stream) != 0;
	return status == OK && failed ? fail_memory(error) : status;
}

static enum status drawing_picture(const struct plan *plan, struct draw_options *draw, const char *format,
	char **picture, size_t *length, struct error *error)
{
	char *text = NULL;
	size_t size = 0;
	uint32_t nodes = 0;
	enum status status = drawing_text(plan, draw, &text, &size, &nodes, error);
	if (status == OK && !draw->positions) {
		status = nodes > DRAW_LAYOUT_MOST
			? LIMIT
			: dot_child_render(text, size, format, false, &layout_limits, picture, length, error);
		if (status == LIMIT) {
			draw->positions = true;
			free(text);
			text = NULL;
			status = drawing_text(plan, draw, &text, &size, &nodes, error);
		}
	}
	if (status == OK && draw->positions)
		status = dot_child_render(text, size, format, true, &paint_limits, picture, length, error);
	free(text);
	return status;
}

/* Folds until letters can be read in the width that was asked for. */
static enum status drawing_fold(const struct plan *plan, struct draw_options *draw, struct error *error)
{
	double scale = 0, most = 0;
	for (uint32_t nodes = 0; draw->fold < (draw->detail == DRAW_OPS ? 2 : FOLDS); draw->fold++) {
		char *text = NULL, *svg = NULL;
		size_t size = 0, length = 0;
		enum status status = drawing_text(plan, draw, &text, &size, &nodes, error);
		if (status == OK && nodes <= DRAW_LAYOUT_MOST)
			status = dot_child_render(text, size, "svg", false, &layout_limits, &svg, &length, error);
		const char *found = svg ? strstr(svg, "scale(") : NULL;
		scale = found ? strtod(found + strlen("scale("), NULL) : 0;
		most = fmax(most, scale);
		free(text);
		mem_free(svg);
		if (status != LIMIT && (status != OK || scale * LETTERS >= LETTERS_LEAST))
			return status;
	}
	return refuse(error, "in %.0f points its letters would be %.1f points high; it needs %.0f",
		draw->width, most * LETTERS, draw->width * LETTERS_LEAST / (most * LETTERS));
}

enum status export_drawing(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	struct draw_options draw;
	char name[1024], *picture = NULL;
	size_t length = 0;
	enum status status = draw_options_of(job->options->view, name, sizeof name, &draw, job->error);
	draw.width = job->options->width;
	if (status == OK && draw.width > 0)
		status = drawing_fold(plan, &draw, job->error);
	if (status == OK && job->kind == EXPORT_dot)
		return draw_write(plan->graph, plan, &draw, job->stream, NULL, job->error);
	THEN(status, drawing_picture(plan, &draw, export_kinds[job->kind].name, &picture, &length, job->error));
	if (status == OK)
		fwrite(picture, 1, length, job->stream);
	mem_free(picture);
	return status;
}

enum status export_dot(const struct export_job *job)
{
	return dot_write(export_graph(job->plan, job->options), job->stream) || ferror(job->stream)
		? OK
		: fail_memory(job->error);
}

/* "Knobs: batch=4; the others at their defaults."; nothing where all are. */
static const char *drawing_knobs(const struct plan *plan, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	caption_add_knobs(&plan->scenario, &words);
	return *text == 'K' ? text : "";
}

/* timeline, timeline:time, map and map:time. */
enum status export_over_order(const struct export_job *job)
{
	const char *view = job->options->view ? job->options->view : "timeline";
	struct plan_time *time = NULL, *own = NULL;
	if (text_is(view, "timeline:pair"))
		return refuse(job->error, "%s is drawn of plan files: tidemark export BEFORE.json AFTER.json --view %s", view, view);
	if (strchr(view, ':'))
		TRY(time_of_step(job->plan, job->options, &time, &own, job->error));
	enum status status = (*view == 'm' ? figure_map : figure_timeline)(job->plan, time,
		drawing_knobs(job->plan, TEXT(2000)), export_paper(job->options, job->kind), job->stream, job->error);
	plan_time_free(own);
	return status;
}
