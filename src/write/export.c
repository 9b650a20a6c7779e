/* export.c: the table of exports. */
#include <inttypes.h>

#include "caption.h"
#include "data.h"
#include "factors.h"
#include "plan_json.h"
#include "src/base/output.h"
#include "src/base/safe_text.h"
#include "src/base/streams.h"
#include "src/read/native.h"

const struct graph *export_graph(const struct plan *plan, const struct export_options *options)
{
	bool input = text_is(options->stage, "input");
	return input ? plan->input : plan->graph;
}

static enum status write_native(const struct export_job *job)
{
	native_write(export_graph(job->plan, job->options), job->stream);
	return OK;
}

static enum status export_write_json(const struct export_job *job)
{
	const struct export_options *options = job->options;
	struct factors factors;
	TRY(options->factors ? factors_of_graph(job->plan->graph, options->rules_file, &factors, job->error) : OK);
	plan_write_json(job->plan, options->factors ? &factors : NULL, options->with_run, job->stream);
	if (options->factors)
		factors_free(&factors);
	return OK;
}

/* People read the report on a terminal: the names in it are made clean, with all the rest. */
static enum status export_write_text(const struct export_job *job)
{
	char *text = NULL;
	size_t length = 0;
	FILE *report = text_stream(&text, &length);
	bool written = report && report_write(job->plan, job->options->utf8, report);
	written = report && fclose(report) == 0 && written;
	if (written)
		text_write_clean(job->stream, text, "\n");
	free(text);
	return written ? OK : fail_memory(job->error);
}

static enum status export_write_csv(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	FILE *stream = job->stream;
	fputs("step,op,type,phase,live_bytes,peak\n", stream);
	FOR(i, plan->graph->ops) {
		const struct op *op = &plan->graph->op[plan->ordered->result.order[i]];
		fprintf(stream, "%u,", i);
		csv_text(stream, op->name);
		fputc(',', stream);
		csv_text(stream, op->type);
		fprintf(stream, ",%s,%" PRId64 ",%d\n", phase_names[op->phase], plan->ordered->live[i],
			i == plan->ordered->peak_position);
	}
	return OK;
}

static enum status export_write_report(const struct export_job *job)
{
	return (job->kind == EXPORT_csv ? export_write_csv : export_write_text)(job);
}

const struct export_kind export_kinds[EXPORT_KIND_COUNT] = {
#define X(name, plan, help) { #name, help, plan },
	EXPORT_KINDS(X)
#undef X
};

#define AS(kind) (1u << EXPORT_##kind)
#define DRAWINGS (AS(svg) | AS(pdf) | AS(png))
#define FIGURES  (DRAWINGS | AS(tikz))

const struct export_view export_views[] = {
	{ NULL, NULL, AS(native), false, write_native },
	{ NULL, NULL, AS(json), false, export_write_json },
	{ NULL, NULL, AS(csv) | AS(text), false, export_write_report },
	{ NULL, NULL, AS(minimalloc), false, export_minimalloc },
	{ NULL, NULL, AS(trace), false, export_trace },
	{ NULL, NULL, AS(memory_viz), false, export_memory_viz },
	{ NULL, NULL, AS(tikz), true, export_over_order },
	{ NULL, NULL, AS(dot), false, export_dot },
	{ NULL, NULL, DRAWINGS, false, export_drawing },
	{ NULL, NULL, AS(html), false, export_html },
	{ NULL, NULL, AS(torchtitan) | AS(deepspeed) | AS(accelerate) | AS(megatron), false, export_launcher },
	{ "graph", "the graph, as much of it as can be read: equal layers drawn once", AS(dot) | DRAWINGS, false,
		export_drawing },
	{ "ops", "every op", AS(dot) | DRAWINGS, false, export_drawing },
	{ "layers", "the modules, equal layers one by one", AS(dot) | DRAWINGS, false, export_drawing },
	{ "alive", "the ops whose tensors are alive at the peak", AS(dot) | DRAWINGS, false, export_drawing },
	{ "around:", "around:NAME or around:NAME:HOPS: an op or tensor and its neighbours", AS(dot) | DRAWINGS, false,
		export_drawing },
	{ "segments", "what order=roam chose: segments, waists, update branches", AS(csv), false, segments_csv },
	{ "timeline", "live memory over the order; one plan: its kinds; timeline:time: over time, with the device's streams; "
		"timeline:pair: of plan files, side by side", FIGURES,
		true, export_over_order },
	{ "bars",
		"what each plan needs as a bar, stacked by part, by graph: of plan files, or of what sweep, search or fit wrote",
		FIGURES, true, sweep_figure_refuse },
	{ "gap", "how far the order's peak was above its lower bound, over the solver's time", AS(csv) | FIGURES, true,
		export_gap },
	{ "map", "every buffer as a box, addresses over its life; map:time: over time", FIGURES, true, export_over_order },
	{ "slowdown", "extra time over memory with recomputation: the bound, plans, published strategies",
		AS(csv) | FIGURES, true, export_slowdown },
	{ "pipeline", "the schedule of a pipeline, slot by slot, and what its ranks hold",
		AS(csv) | AS(json) | AS(trace) | FIGURES, true, export_pipeline },
	{ "schedule", "what every rank of a pipeline does in turn, as torch.distributed.pipelining reads it", AS(csv),
		false, schedule_csv },
	{ "time",
		"the time of a step on a device, by phase and by what limits it: products, memory bandwidth, launches, links",
		AS(csv) | FIGURES, true, export_time },
	{ "roofline", "every op's FLOPs a second over its FLOPs a byte, below the roofs of the device",
		AS(csv) | FIGURES, true, export_roofline },
	{ "pareto",
		"every scenario's memory and time, and those that no other one beats: of what sweep, search or fit wrote, in "
		"place of GRAPH",
		FIGURES, true, sweep_figure_refuse },
	{ "sweep",
		"memory and time over the values of a knob, a line for each combination of the others: of what sweep wrote",
		FIGURES, true, sweep_figure_refuse },
	{ "mesh", "the grid of devices: nodes, axes, peaks", AS(csv) | AS(json) | FIGURES, true, export_mesh },
	{ "placements", "how every tensor is placed on the devices, in the words of PyTorch, JAX and XLA", AS(csv), false,
		shard_placements },
	{ "collectives", "what the devices send each other", AS(csv), false, shard_collectives },
};
const int export_view_count = COUNT_OF(export_views);

enum export_kind_id export_find(const char *name)
{
	int kind = 0;
	while (kind < EXPORT_KIND_COUNT && !text_is(export_kinds[kind].name, name))
		kind++;
	return (enum export_kind_id)kind;
}

/* "around:h.0" is of the view "around:". */
static bool export_is_view(const struct export_view *view, const char *name)
{
	if (!name || !view->name)
		return name == view->name;
	size_t length = strlen(view->name);
	if (view->write == export_over_order && strncmp(view->name, name, length) == 0 &&
		(text_is(name + length, ":time") || text_is(name, "timeline:pair")))
		return true;
	return view->name[length - 1] == ':' ? strncmp(view->name, name, length) == 0 && name[length]
		: text_is(view->name, name);
}

char *export_view_names(enum export_kind_id kind, const char *between, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	text[0] = '\0';
	for (int i = 0; i < export_view_count; i++)
		if (export_views[i].name && export_views[i].kinds >> kind & 1)
			words_add(&words, "%s%s%s", words.at ? between : "", export_views[i].name,
				text_is(export_views[i].name, "around:") ? "NAME" : "");
	return text;
}

void export_figure_names(char *text, size_t size)
{
	struct words words = { text, size, 0 };
	text[0] = '\0';
	for (int i = 0; i < export_view_count; i++)
		if (export_views[i].name && export_views[i].figure)
			words_add(&words, "%s%s", words.at ? ", " : "", export_views[i].name);
}

/* "; svg and tikz have it": a view of other kinds is no slip. Nothing where it is none. */
static char *others_with(const char *name, char *text, size_t size)
{
	uint32_t kinds = 0, named = 0;
	struct words words = { text, size, 0 };
	text[0] = '\0';
	FOR_INT(i, export_view_count)
		kinds |= text_is(export_views[i].name, name) ? export_views[i].kinds : 0;
	for (int kind = 0; kind < EXPORT_KIND_COUNT; kind++)
		if (kinds >> kind & 1) {
			const char *before = !named ? "; " : kinds >> kind == 1 ? " and " : ", ";
			words_add(&words, "%s%s", before, export_kinds[kind].name);
			named++;
		}
	if (named > 0)
		words_add(&words, " ha%s it", named > 1 ? "ve" : "s");
	return text;
}

const struct export_view *export_view_find(enum export_kind_id kind, const char *view, struct error *error)
{
	char names[300], hint[200] = "";
	struct nearest nearest = { .wanted = export_is_picture(kind) && text_is(view, "step") ? "timeline" : view };
	FOR_INT(i, export_view_count) {
		if (export_views[i].kinds >> kind & 1 && export_is_view(&export_views[i], view))
			return &export_views[i];
		if (view && export_views[i].kinds >> kind & 1 && export_views[i].name)
			nearest_consider(&nearest, export_views[i].name);
	}
	export_view_names(kind, ", ", names, sizeof names);
	if (view && !*others_with(view, hint, sizeof hint))
		nearest_text(&nearest, "", hint, sizeof hint);
	if (*names)
		refuse(error, "%s has no view \"%.60s\"; it has %s%s", export_kinds[kind].name, view ? view : "",
			names, hint);
	else
		refuse(error, "%s has no views: leave out --view", export_kinds[kind].name);
	return NULL;
}

void export_help(FILE *stream)
{
	enum { COLUMN = 19 };
	char names[300];
	fputs("\nKIND:\n", stream);
	FOR_INT(kind, EXPORT_KIND_COUNT) {
		words_print(stream, PRINTED(40, "  %s", export_kinds[kind].name), COLUMN, export_kinds[kind].help);
		if (*export_view_names((enum export_kind_id)kind, ", ", names, sizeof names))
			words_print(stream, "                   V:", COLUMN + 3, names);
	}
	fputs("\nV:\n", stream);
	FOR_INT(i, export_view_count)
		if (export_views[i].help)
			words_print(stream, PRINTED(40, "  %s", export_views[i].name), COLUMN, export_views[i].help);
}

enum status export_to(enum export_kind_id kind, const struct plan *plan, const struct export_options *options,
	const char *path, bool force, struct error *error)
{
	struct output output;
	const struct export_view *view = export_view_find(kind, options->view, error);
	if (!view)
		return BAD_INPUT;
	TRY(output_open(&output, path, force, error));
	unsigned long refused = mem_refused();
	enum status status = view->write(&(struct export_job){ plan, options, kind, output.stream, error });
	/* A writer may have left out what it had no memory for. */
	if (status == OK && mem_refused() > refused)
		status = fail_memory(error);
	return output_close(&output, status, error);
}
