/* export.c: the export table, and writing files whole or not at all. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export.h"
#include "mesh.h"
#include "data.h"
#include "drawing.h"
#include "factors.h"
#include "pipeline.h"
#include "shard.h"
#include "src/read/native.h"
#include "plan_json.h"
#include "report.h"
#include "segments.h"

const struct graph *export_graph(const struct plan *plan, const struct export_options *options)
{
	bool input = options->stage && strcmp(options->stage, "input") == 0;
	return input ? plan->input : plan->graph;
}

static enum status write_native(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	(void)error;
	native_write(export_graph(plan, options), stream);
	return OK;
}

static enum status write_json(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	struct factors factors;
	if (pipeline_view(options->view))
		return pipeline_json(plan, options, stream, error);
	if (mesh_view(options->view))
		return mesh_json(plan, options, stream, error);
	enum status status = options->factors ? factors_of_graph(plan->graph, options->rules_file, &factors, error) : OK;
	if (status != OK)
		return status;
	plan_write_json(plan, options->factors ? &factors : NULL, options->with_run, stream);
	if (options->factors)
		factors_free(&factors);
	return OK;
}

static enum status write_text(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	if (options->view && strcmp(options->view, "segments") == 0)
		return segments_text(plan, stream, error);
	report_write(plan, options->utf8, stream);
	return OK;
}

static enum status write_csv(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	if (options->view && strcmp(options->view, "segments") == 0)
		return segments_csv(plan, stream, error);
	if (pipeline_view(options->view))
		return pipeline_csv(plan, options, stream, error);
	if (mesh_view(options->view))
		return mesh_csv(plan, options, stream, error);
	if (shard_csv_view(options->view))
		return shard_csv(plan, options->view, stream, error);
	fputs("step,op,type,phase,live_bytes,peak\n", stream);
	for (uint32_t i = 0; i < plan->graph->ops; i++) {
		const struct op *op = &plan->graph->op[plan->order[i]];
		fprintf(stream, "%u,", i);
		csv_text(stream, op->name);
		fputc(',', stream);
		csv_text(stream, op->type);
		fprintf(stream, ",%s,%" PRId64 ",%d\n", phase_names[op->phase], plan->live[i], i == plan->peak_position);
	}
	return OK;
}

const struct export_kind export_kinds[] = {
	{ "native", "the graph in the native format", false, write_native },
	{ "json", "the plan for scripts and for `check`; --factors: with what every dim carries; --view pipeline or mesh: schedule and devices alone", true, write_json },
	{ "csv", "the timeline: live bytes at every op; --view segments: what order=roam chose; placements, collectives, candidates, curve: the split over devices; pipeline: the schedule slot by slot; mesh: device by device", true, write_csv },
	{ "text", "the report; --view segments: what order=roam chose", true, write_text },
	{ "factors", "what every dim of every tensor carries (batch, sequence, heads, hidden, ...), as CSV", false, export_factors },
	{ "minimalloc", "buffers with lifetimes, sizes and offsets, in MiniMalloc's CSV", true, export_minimalloc },
	{ "trace", "a trace for Perfetto or chrome://tracing; --view pipeline: the schedule, a track for each rank", true, export_trace },
	{ "memory_viz", "a snapshot for pytorch.org/memory_viz", true, export_memory_viz },
	{ "model_explorer", "the graph for Model Explorer", true, export_model_explorer },
	{ "tikz", "a figure's LaTeX source: --view timeline, map, pipeline or mesh", true, export_tikz },
	{ "gnuplot", "a figure's gnuplot source: --view timeline or map", true, export_gnuplot },
	{ "dot", "the graph as DOT; with --view, a drawing's source", true, export_dot },
	{ "svg", "a drawing: --view graph, modules, ops, layers, alive, around:NAME:HOPS, segments; or a figure: timeline, map, pipeline, mesh", true, export_svg },
	{ "pdf", "the drawing or figure as PDF", true, export_pdf },
	{ "png", "the drawing as PNG", true, export_png },
};
const int export_kind_count = sizeof export_kinds / sizeof *export_kinds;

const struct export_kind *export_find(const char *name)
{
	for (int i = 0; i < export_kind_count; i++)
		if (strcmp(export_kinds[i].name, name) == 0)
			return &export_kinds[i];
	return NULL;
}

static enum status flushed(FILE *stream, const char *path, struct error *error)
{
	if (fflush(stream) == 0 && !ferror(stream))
		return OK;
	return fail(error, LIMIT, "can't write %s: %s", path, strerror(errno));
}

/* Into a new file beside path, which takes its place when all is written. */
static enum status replace_file(const struct export_kind *kind, const struct plan *plan, const struct export_options *options,
	const char *path, char *temporary, struct error *error)
{
	int descriptor = mkstemp(temporary);
	FILE *stream = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
	if (!stream)
		return fail(error, LIMIT, "can't write %s: %s", path, strerror(errno));
	enum status status = kind->write(plan, options, stream, error);
	if (status == OK)
		status = flushed(stream, path, error);
	mode_t mask = umask(0);
	umask(mask);
	fchmod(fileno(stream), 0666 & ~mask);
	if (fclose(stream) != 0 && status == OK)
		status = fail(error, LIMIT, "can't write %s: %s", path, strerror(errno));
	if (status == OK && rename(temporary, path) != 0)
		status = fail(error, LIMIT, "can't write %s: %s", path, strerror(errno));
	if (status != OK)
		unlink(temporary);
	return status;
}

/* Devices and pipes are written to as they are: replacing them would be a disaster. */
static enum status write_special(const struct export_kind *kind, const struct plan *plan, const struct export_options *options,
	const char *path, struct error *error)
{
	FILE *stream = fopen(path, "we");
	if (!stream)
		return fail(error, LIMIT, "can't write %s: %s", path, strerror(errno));
	enum status status = kind->write(plan, options, stream, error);
	if (status == OK)
		status = flushed(stream, path, error);
	fclose(stream);
	return status;
}

enum status export_to(const struct export_kind *kind, const struct plan *plan, const struct export_options *options, const char *path,
	bool force, struct error *error)
{
	struct stat there;
	if (!path || strcmp(path, "-") == 0) {
		enum status status = kind->write(plan, options, stdout, error);
		return status == OK ? flushed(stdout, "standard output", error) : status;
	}
	bool exists = stat(path, &there) == 0;
	if (exists && S_ISDIR(there.st_mode))
		return fail(error, LIMIT, "can't write %s: it is a directory", path);
	if (exists && !S_ISREG(there.st_mode))
		return write_special(kind, plan, options, path, error);
	if (exists && !force)
		return fail(error, BAD_INPUT, "%s exists already", path);
	/* A link keeps pointing where it does: the file behind it is replaced. */
	char *whole = exists ? realpath(path, NULL) : NULL;
	const char *target = whole ? whole : path;
	size_t length = strlen(target) + 8;
	char *temporary = mem_alloc(length, 1);
	enum status status = NO_MEMORY;
	if (temporary) {
		snprintf(temporary, length, "%s.XXXXXX", target);
		status = replace_file(kind, plan, options, target, temporary, error);
	} else {
		fail_memory(error);
	}
	mem_free(temporary);
	free(whole);
	return status;
}
