/* file_figures.c: figures of what commands wrote: sweeps, searches, fits, layouts and plan files. */
#include <math.h>

#include "caption.h"
#include "src/read/detect.h"
#include "src/read/problems/buffers_csv.h"

#define CSV_BYTES_MAX ((size_t)1 << 30)

static bool file_figure_is(const struct export_options *options, const char *view)
{
	return text_is(options->view, view);
}

bool sweep_figure_view(const char *view)
{
	return view && (text_is(view, "pareto") || text_is(view, "sweep"));
}

/* Standard input can't be looked at and read again: UNKNOWN, as what can't be read. */
static enum input_kind file_figure_kind(const char *path)
{
	struct error error;
	size_t size;
	struct input *input = text_is(path, "-") ? NULL : input_open(path, &error);
	const char *start = input ? input_peek(input, &size) : NULL;
	enum input_kind kind = start ? input_detect(start, size) : INPUT_UNKNOWN;
	input_close(input);
	return kind;
}

bool file_is_plan(const char *path)
{
	return file_figure_kind(path) == INPUT_PLAN;
}

bool file_figure(char *const *path, int paths, const struct export_options *options)
{
	if (paths > 1 || sweep_figure_view(options->view))
		return true;
	if (file_figure_is(options, "bars"))
		return input_kind_advice(file_figure_kind(*path)) != NULL;
	bool map = file_figure_is(options, "map"), curve = file_figure_is(options, "timeline") ||
		file_figure_is(options, "timeline:pair") || file_figure_is(options, "gap");
	enum input_kind kind = curve || map ? file_figure_kind(*path) : INPUT_UNKNOWN;
	return kind == INPUT_PLAN || kind == INPUT_JSON || (map && kind == INPUT_MINIMALLOC);
}

/* ---- sweeps, searches, fits ---- */

static void file_figure_name(const char *path, char name[200])
{
	const char *begin = strrchr(path, '/');
	snprintf(name, 200, "%s", text_is(path, "-") ? "sweep" : begin ? begin + 1 : path);
	name[strcspn(name, ".")] = '\0';
}

static enum status file_figure_sweep(
	const char *path, const struct export_options *options, enum export_kind_id kind, FILE *stream, struct error *error)
{
	struct sweep_table table;
	struct curve curve[BARS_MOST];
	struct canvas_paper paper = export_paper(options, kind);
	uint32_t curves;
	char name[200];
	file_figure_name(path, name);
	enum status status = sweep_file_read(path, &table, error);
	if (status == OK && file_figure_is(options, "bars")) {
		status = sweep_bars(&table, name, curve, &curves, error);
		THEN(status, figure_needs(curve, curves, paper, stream, error));
	} else if (status == OK)
		status = (file_figure_is(options, "pareto") ? figure_pareto : figure_sweep)(&table, name, paper, stream, error);
	sweep_table_done(&table);
	return status == OK ? OK : input_name(path, error);
}

enum status sweep_figure_refuse(const struct export_job *job)
{
	return refuse(job->error,
		"the view %s is drawn of what `tidemark sweep`, search --json or fit --json wrote%s: "
		"tidemark export FILE --view %s",
		job->options->view, file_figure_is(job->options, "bars") ? ", or of plan files" : "", job->options->view);
}

/* ---- addresses ---- */

/* The buffers of a plan file's layout. */
static enum status file_figure_take_plan(
	const json_t *plan, struct arena *arena, struct boxes *boxes, struct error *error)
{
	const json_t *layout = json_object_get(plan, "layout"), *buffers = json_object_get(layout, "buffers"), *one;
	const char *name = json_text_in(json_object_get(plan, "graph"), "name");
	size_t i;
	boxes->name = arena_text(arena, name ? name : "", name ? strlen(name) : 0);
	boxes->time = "position in the order";
	boxes->end = (double)json_array_size(json_object_get(json_object_get(plan, "order"), "ops"));
	NEEDED(error, boxes->name && ROOM(arena, boxes->box, json_array_size(buffers)));
	json_array_foreach(buffers, i, one) {
		const char *tensor = json_text_in(one, "tensor");
		struct address_box *box = &boxes->box[boxes->boxes++];
		*box = (struct address_box){ arena_text(arena, tensor ? tensor : "", tensor ? strlen(tensor) : 0),
			json_number_in(one, "first"), json_number_in(one, "last") + 1,
			json_integer_in(one, "offset"), json_integer_in(one, "bytes"),
			(int)plan_file_group(one) };
		NEEDED(error, box->name);
		if (box->first < 0 || box->first >= box->end || box->end > boxes->end || box->offset < 0 || box->offset > BYTES_MAX ||
			box->bytes < 0 || box->bytes > BYTES_MAX)
			return refuse(error, "layout.buffers[%zu]: offset, bytes, first and last, within the order, were expected", i);
	}
	return OK;
}

/* Of buffers with gaps each piece has a box. */
static enum status file_figure_take_csv(
	const struct buffers_csv *csv, const char *path, struct arena *arena, struct boxes *boxes, struct error *error)
{
	const struct buffers *buffers = &csv->buffers;
	char name[200];
	uint32_t pieces = buffers->piece_start ? buffers->piece_start[buffers->n] : 0;
	file_figure_name(path, name);
	boxes->time = "time";
	boxes->name = arena_text(arena, name, strlen(name));
	NEEDED(error, boxes->name && ROOM(arena, boxes->box, (size_t)buffers->n + pieces));
	FOR(i, buffers->n) {
		const char *id = arena_text(arena, csv->id[i].text, csv->id[i].length);
		NEEDED(error, id);
		if (!buffers->fixed || buffers->fixed[i] < 0)
			return refuse(error, "buffer %.60s has no offset: draw what `tidemark layout %.60s` writes", id, path);
		uint32_t first = buffers->piece_start ? buffers->piece_start[i] : 0,
				 count = buffers->piece_start ? buffers->piece_start[i + 1] - first : 0;
		for (uint32_t k = 0; k < LARGER(count, 1); k++)
			boxes->box[boxes->boxes++] = (struct address_box){ id,
				(double)(count ? buffers->piece[first + k].lower : buffers->lower[i]),
				(double)(count ? buffers->piece[first + k].upper : buffers->upper[i]), buffers->fixed[i], buffers->size[i],
				GROUP_ACTIVATION };
		boxes->end = fmax(boxes->end, (double)buffers->upper[i]);
	}
	return OK;
}

static enum status file_figure_map(
	const char *path, const struct export_options *options, enum export_kind_id kind, FILE *stream, struct error *error)
{
	OWN(arena) arena = { 0 };
	struct boxes boxes = { .name = NULL };
	enum status status;
	if (file_is_plan(path)) {
		json_t *plan = plan_file_read(path, error);
		status = plan ? file_figure_take_plan(plan, &arena, &boxes, error) : error->status;
		json_decref(plan);
	} else {
		struct buffers_csv csv = { 0 };
		size_t size;
		char *text = input_text(path, CSV_BYTES_MAX, &size, error);
		status = text ? buffers_csv_read(text, size, &csv, error) : error->status;
		THEN(status, file_figure_take_csv(&csv, path, &arena, &boxes, error));
		buffers_csv_free(&csv);
		mem_free(text);
	}
	TRY(status == OK ? OK : input_name(path, error));
	return figure_boxes(&boxes, export_paper(options, kind), stream, error);
}

/* Of a file that isn't a plan the message says what it is, and what draws it. */
static enum status file_figure_plans(char *const *path, int paths, bool map, struct error *error)
{
	FOR_INT(i, paths) {
		enum input_kind kind = file_figure_kind(path[i]);
		if (kind != INPUT_PLAN && kind != INPUT_UNKNOWN && !(map && kind == INPUT_MINIMALLOC))
			return refuse(error, "%s: not a plan file, but: %s; `tidemark plan GRAPH --json` writes one, and what sweep, "
								 "search and fit wrote is drawn by --view bars, pareto and sweep", path[i],
				input_kind_name(kind));
	}
	return OK;
}

enum status file_figure_write(char *const *path, int paths, const struct export_options *options,
	enum export_kind_id kind, FILE *stream, struct error *error)
{
	bool bars = file_figure_is(options, "bars");
	if (sweep_figure_view(options->view) || (bars && paths == 1 && !file_is_plan(*path)))
		return file_figure_sweep(*path, options, kind, stream, error);
	TRY(file_figure_plans(path, paths, file_figure_is(options, "map"), error));
	if (file_figure_is(options, "map"))
		return file_figure_map(*path, options, kind, stream, error);
	return plan_curves_write(path, (uint32_t)paths, options, kind, stream, error);
}
