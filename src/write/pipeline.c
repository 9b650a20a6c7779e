/* pipeline.c: a pipeline's schedule as a table, as JSON, as LaTeX and as a trace. */
#include <inttypes.h>
#include <string.h>

#include "data.h"
#include "pipeline.h"
#include "src/draw/figure_pipeline.h"
#include "src/read/native.h"
#include "src/configs/outlook.h"
#include "src/base/json_text.h"

bool pipeline_view(const char *view)
{
	return view && strcmp(view, "pipeline") == 0;
}

/* Writes what a schedule is written as. */
static enum status with_outlook(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error,
	enum status (*write)(const struct plan *plan, const struct outlook *outlook, FILE *stream, struct error *error))
{
	struct outlook *outlook = outlook_of_plan(plan, options->rules_file, NULL, error);
	if (!outlook)
		return error->status;
	enum status status = write(plan, outlook, stream, error);
	outlook_release(outlook);
	return status;
}

static void seconds(FILE *stream, int64_t picoseconds)
{
	fprintf(stream, "%" PRId64 ".%012" PRId64, picoseconds / PICOSECONDS, picoseconds % PICOSECONDS);
}

/* ---- table ------------------------------------------------------------------------------------------------------------------ */

static enum status write_csv(const struct plan *plan, const struct outlook *outlook, FILE *stream, struct error *error)
{
	const struct timetable *timetable = &outlook->timetable;
	(void)plan;
	(void)error;
	fputs("rank,slot,pass,microbatch,chunk,begin_seconds,end_seconds,bytes,peak\n", stream);
	for (uint32_t rank = 0; rank < timetable->ranks; rank++)
		for (uint32_t i = 0; i < timetable->slots; i++) {
			const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
			fprintf(stream, "%u,%u,%s,%u,%u,", rank, i, slot->backward ? "backward" : "forward", slot->microbatch, slot->piece / timetable->ranks);
			seconds(stream, slot->begin);
			putc(',', stream);
			seconds(stream, slot->end);
			fprintf(stream, ",%" PRId64 ",%d\n", timetable->bytes[(size_t)rank * timetable->slots + i], i == timetable->peak[rank]);
		}
	return OK;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------------------- */

static void write_rank(const struct timetable *timetable, uint32_t rank, FILE *stream)
{
	fprintf(stream, "%s\n  {\"rank\": %u, \"busy_seconds\": ", rank ? "," : "", rank);
	seconds(stream, timetable->busy[rank]);
	fprintf(stream, ", \"fixed_bytes\": %" PRId64 ", \"peak_bytes\": %" PRId64 ", \"peak_slot\": %u, \"slots\": [", timetable->fixed[rank],
		timetable_peak(timetable, rank), timetable->peak[rank]);
	for (uint32_t i = 0; i < timetable->slots; i++) {
		const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
		fprintf(stream, "%s\n   {\"pass\": \"%s\", \"microbatch\": %u, \"chunk\": %u, \"begin_seconds\": ", i ? "," : "",
			slot->backward ? "backward" : "forward", slot->microbatch, slot->piece / timetable->ranks);
		seconds(stream, slot->begin);
		fputs(", \"end_seconds\": ", stream);
		seconds(stream, slot->end);
		fprintf(stream, ", \"bytes\": %" PRId64 "}", timetable->bytes[(size_t)rank * timetable->slots + i]);
	}
	fputs("]}", stream);
}

static enum status write_json(const struct plan *plan, const struct outlook *outlook, FILE *stream, struct error *error)
{
	const struct timetable *timetable = &outlook->timetable;
	(void)error;
	fputs("{\"graph\": ", stream);
	json_write_text(stream, plan->input->name);
	fprintf(stream, ", \"schedule\": \"%s\", \"ranks\": %u, \"chunks\": %u, \"microbatches\": %u,\n \"step_seconds\": ",
		schedule_names[timetable->schedule], timetable->ranks, timetable->chunks, timetable->microbatches);
	seconds(stream, timetable->time);
	fputs(", \"pipeline_seconds\": ", stream);
	seconds(stream, timetable->pipeline_time);
	fprintf(stream, ", \"bubble\": %.3f, \"worst_rank\": %u, \"memory\": %" PRId64 ",\n \"rank\": [", timetable_bubble(timetable) / 1000.0,
		timetable->worst, outlook->machine.memory);
	for (uint32_t rank = 0; rank < timetable->ranks; rank++)
		write_rank(timetable, rank, stream);
	fputs("]}\n", stream);
	return OK;
}

/* ---- LaTeX -------------------------------------------------------------------------------------------------------------------- */

#define TIKZ_WIDE  14.0     /* centimetres */
#define TIKZ_LEAST 0.004    /* of the width: shorter slots are summed */

struct tikz { FILE *stream; double row; };

static void tikz_box(void *context, double x, double y, double width, double height, enum pipeline_part part, const struct pipeline_slot *slot)
{
	const struct tikz *tikz = context;
	double left = TIKZ_WIDE * x, wide = TIKZ_WIDE * width, top = -tikz->row * y, high = tikz->row * height;
	fprintf(tikz->stream, "\\%s[part%d] (%.4f,%.4f) rectangle (%.4f,%.4f);\n", slot && wide > 0.1 ? "filldraw" : "fill", (int)part, left, top,
		left + wide, top - high);
	if (slot && wide > 0.3 && tikz->row > 0.25)
		fprintf(tikz->stream, "\\node at (%.4f,%.4f) {%u};\n", left + wide / 2, top - high / 2, slot->microbatch);
}

static enum status write_tikz(const struct plan *plan, const struct outlook *outlook, FILE *stream, struct error *error)
{
	const struct timetable *timetable = &outlook->timetable;
	struct tikz tikz = { stream, 10.0 / timetable->ranks < 0.5 ? 10.0 / timetable->ranks : 0.5 };
	const char *name;
	int64_t unit = time_unit(timetable->time, &name);
	(void)error;
	fputs("% lualatex or pdflatex; \\input it after removing the first lines and the last.\n"
		"\\documentclass[border=2pt]{standalone}\n\\usepackage{tikz}\n", stream);
	for (int part = 0; part < PIPELINE_PARTS; part++)
		fprintf(stream, "\\definecolor{part%d}{HTML}{%s}\n", part, pipeline_colours[part] + 1);
	fputs("\\begin{document}\n\\begin{tikzpicture}[font=\\scriptsize, inner sep=0pt", stream);
	for (int part = 0; part < PIPELINE_PARTS; part++)
		fprintf(stream, ", part%d/.style={fill=part%d, draw=white, line width=0.3pt}", part, part);
	fputs("]\n", stream);
	pipeline_boxes(timetable, TIKZ_LEAST, tikz_box, &tikz);
	uint32_t every = 1;
	while (tikz.row * every < 0.3)
		every *= 2;
	for (uint32_t rank = 0; rank < timetable->ranks; rank += every)
		fprintf(stream, "\\node[anchor=east] at (-0.1,%.4f) {%u};\n", -tikz.row * (rank + 0.5), rank);
	double bottom = -tikz.row * timetable->ranks;
	fprintf(stream, "\\draw (0,%.4f) -- (%.4f,%.4f);\n\\node[anchor=north west] at (0,%.4f) {0};\n\\node[anchor=north east] at (%.4f,%.4f) {%.4g\\,%s};\n",
		bottom - 0.05, TIKZ_WIDE, bottom - 0.05, bottom - 0.12, TIKZ_WIDE, bottom - 0.12, (double)timetable->time / (double)unit, name);
	fprintf(stream, "\\node[anchor=north] at (%.4f,%.4f) {%s, %u microbatches: bubble %.1f\\,\\%%};\n", TIKZ_WIDE / 2, bottom - 0.12,
		schedule_names[timetable->schedule], timetable->microbatches, timetable_bubble(timetable) / 10.0);
	for (int part = 0; part < PIPELINE_PARTS; part++)
		fprintf(stream, "\\fill[part%d] (%.2f,%.4f) rectangle +(0.25,0.2); \\node[anchor=base west] at (%.2f,%.4f) {%s};\n", part, 4.0 * part,
			bottom - 0.8, 4.0 * part + 0.35, bottom - 0.78, pipeline_names[part]);
	fputs("\\end{tikzpicture}\n\\end{document}\n", stream);
	(void)plan;
	return OK;
}

/* ---- trace ------------------------------------------------------------------------------------------------------------------------ */

static double microseconds(int64_t picoseconds)
{
	return (double)picoseconds / 1e6;
}

static void trace_slot(const struct timetable *timetable, uint32_t rank, uint32_t i, FILE *stream)
{
	const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
	size_t at = (size_t)rank * timetable->slots + i;
	const char *pass = slot->backward ? "backward" : "forward";
	fprintf(stream, ",\n{\"name\":\"%s %u\",\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%.6f,\"dur\":%.6f,\"cat\":\"%s\",\"args\":{\"microbatch\":%u,"
		"\"chunk\":%u,\"bytes\":%" PRId64 "}}", pass, slot->microbatch, rank + 1, microseconds(slot->begin), microseconds(slot->end - slot->begin),
		pass, slot->microbatch, slot->piece / timetable->ranks, timetable->bytes[at]);
	fprintf(stream, ",\n{\"name\":\"bytes of rank %u\",\"ph\":\"C\",\"pid\":1,\"ts\":%.6f,\"args\":{\"bytes\":%" PRId64 "}}", rank,
		microseconds(slot->begin), timetable->bytes[at]);
	if (i + 1 == timetable->slots || timetable_slot(timetable, rank, i + 1)->begin > slot->end)
		fprintf(stream, ",\n{\"name\":\"bytes of rank %u\",\"ph\":\"C\",\"pid\":1,\"ts\":%.6f,\"args\":{\"bytes\":%" PRId64 "}}", rank,
			microseconds(slot->end), timetable->after[at]);
}

static enum status write_trace(const struct plan *plan, const struct outlook *outlook, FILE *stream, struct error *error)
{
	const struct timetable *timetable = &outlook->timetable;
	(void)error;
	fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"graph\":", stream);
	json_write_text(stream, plan->input->name);
	fputs("},\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"pipeline\"}}", stream);
	for (uint32_t rank = 0; rank < timetable->ranks; rank++) {
		fprintf(stream, ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"args\":{\"name\":\"rank %u\"}}", rank + 1, rank);
		for (uint32_t i = 0; i < timetable->slots; i++)
			trace_slot(timetable, rank, i, stream);
		if (timetable->time > timetable->pipeline_time)
			fprintf(stream, ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%.6f,\"dur\":%.6f}", pipeline_names[PART_UPDATE], rank + 1,
				microseconds(timetable->pipeline_time), microseconds(timetable->time - timetable->pipeline_time));
	}
	fputs("\n]}\n", stream);
	return OK;
}

/* ---- the table's functions ------------------------------------------------------------------------------------------------------- */

enum status pipeline_csv(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	return with_outlook(plan, options, stream, error, write_csv);
}

enum status pipeline_json(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	return with_outlook(plan, options, stream, error, write_json);
}

enum status pipeline_tikz(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	return with_outlook(plan, options, stream, error, write_tikz);
}

enum status pipeline_trace(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	return with_outlook(plan, options, stream, error, write_trace);
}

enum status pipeline_picture(const struct plan *plan, const struct export_options *options, enum canvas_kind kind, FILE *stream, struct error *error)
{
	struct outlook *outlook = outlook_of_plan(plan, options->rules_file, NULL, error);
	if (!outlook)
		return error->status;
	enum status status = figure_pipeline(&outlook->timetable, plan->input->name, outlook->machine.memory, export_paper(options, kind), stream, error);
	outlook_release(outlook);
	return status;
}
