/* pipeline.c: a pipeline's schedule as a table, as JSON and as a trace. */
#include <inttypes.h>

#include "data.h"
#include "pipeline.h"
#include "schedule_rows.h"
#include "src/draw/figure_pipeline.h"
#include "src/configs/outlook.h"
#include "trace.h"

/* Writes what a schedule is written as. */
static enum status with_outlook(
	const struct export_job *job, void (*write)(const struct export_job *job, const struct outlook *outlook))
{
	struct outlook *outlook = outlook_of_plan(job->plan, job->options->rules_file, NULL, job->error);
	if (!outlook)
		return job->error->status;
	write(job, outlook);
	outlook_release(outlook);
	return OK;
}

/* ---- table ---- */

static void write_pipeline_write_csv(const struct export_job *job, const struct outlook *outlook)
{
	FILE *stream = job->stream;
	const struct timetable *timetable = &outlook->timetable;
	fputs("rank,slot,pass,microbatch,chunk,begin_seconds,end_seconds,bytes,peak,stage\n", stream);
	for (uint32_t rank = 0; rank < timetable->ranks; rank++)
		for (uint32_t i = 0; i < timetable->slots; i++) {
			const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
			fprintf(stream, "%u,%u,%s,%u,%u,", rank, i, pass_names[slot->pass], slot->microbatch,
				slot->piece / timetable->ranks);
			csv_seconds(stream, slot->begin);
			putc(',', stream);
			csv_seconds(stream, slot->end);
			fprintf(stream, ",%" PRId64 ",%d,%u\n", timetable->bytes[(size_t)rank * timetable->slots + i],
				i == timetable->peak[rank], slot->piece);
		}
}

/* ---- JSON ---- */

static void write_slot(const struct timetable *timetable, uint32_t rank, uint32_t i, struct json *json)
{
	const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
	json_new_line(json, 3);
	json_open_object(json, NULL);
	json_write_text(json, "pass", pass_names[slot->pass]);
	json_write_integer(json, "microbatch", slot->microbatch);
	json_write_integer(json, "chunk", slot->piece / timetable->ranks);
	json_write_integer(json, "stage", slot->piece);
	json_write_decimal(json, "begin_seconds", slot->begin, 12);
	json_write_decimal(json, "end_seconds", slot->end, 12);
	json_write_integer(json, "bytes", timetable->bytes[(size_t)rank * timetable->slots + i]);
	json_close(json);
}

static void write_pipeline_write_rank(const struct timetable *timetable, uint32_t rank, struct json *json)
{
	json_new_line(json, 2);
	json_open_object(json, NULL);
	json_write_integer(json, "rank", rank);
	json_write_decimal(json, "busy_seconds", timetable->busy[rank], 12);
	json_write_integer(json, "fixed_bytes", timetable->fixed[rank]);
	json_write_integer(json, "peak_bytes", timetable_peak(timetable, rank));
	json_write_integer(json, "peak_slot", timetable->peak[rank]);
	json_open_array(json, "slots");
	for (uint32_t i = 0; i < timetable->slots; i++)
		write_slot(timetable, rank, i, json);
	json_close(json);
	json_close(json);
}

static void write_pipeline_write_json(const struct export_job *job, const struct outlook *outlook)
{
	const struct timetable *timetable = &outlook->timetable;
	struct json json = { .stream = job->stream, .spaced = true };
	json_open_object(&json, NULL);
	json_write_text(&json, "graph", job->plan->input->name);
	json_write_text(&json, "schedule", schedule_names[timetable->schedule]);
	json_write_integer(&json, "ranks", timetable->ranks);
	json_write_integer(&json, "chunks", timetable->chunks);
	json_write_integer(&json, "microbatches", timetable->microbatches);
	json_new_line(&json, 1);
	json_write_decimal(&json, "step_seconds", timetable->time, 12);
	json_write_decimal(&json, "pipeline_seconds", timetable->pipeline_time, 12);
	json_write_real(&json, "bubble", timetable_bubble(timetable) / 1000.0, 3);
	json_write_integer(&json, "worst_rank", timetable->worst);
	json_write_integer(&json, "memory", outlook->machine.memory);
	json_new_line(&json, 1);
	json_open_array(&json, "rank");
	for (uint32_t rank = 0; rank < timetable->ranks; rank++)
		write_pipeline_write_rank(timetable, rank, &json);
	json_end(&json);
}

/* ---- trace ---- */

static void trace_times(struct json *json, int64_t begin, int64_t end)
{
	json_write_decimal(json, "ts", begin, 6);
	json_write_decimal(json, "dur", end - begin, 6);
}

static void trace_bytes(struct json *json, uint32_t rank, int64_t time, int64_t bytes)
{
	char name[40];
	snprintf(name, sizeof name, "bytes of rank %u", rank);
	trace_event(json, name, "C", 1);
	json_write_decimal(json, "ts", time, 6);
	json_open_object(json, "args");
	json_write_integer(json, "bytes", bytes);
	json_close(json);
	json_close(json);
}

static void trace_slot(const struct timetable *timetable, uint32_t rank, uint32_t i, struct json *json)
{
	const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
	size_t at = (size_t)rank * timetable->slots + i;
	const char *pass = pass_names[slot->pass];
	char name[40];
	snprintf(name, sizeof name, "%s %u", pass, slot->microbatch);
	trace_event(json, name, "X", 1);
	json_write_integer(json, "tid", rank + 1);
	trace_times(json, slot->begin, slot->end);
	json_write_text(json, "cat", pass);
	json_open_object(json, "args");
	json_write_integer(json, "microbatch", slot->microbatch);
	json_write_integer(json, "chunk", slot->piece / timetable->ranks);
	json_write_integer(json, "bytes", timetable->bytes[at]);
	json_close(json);
	json_close(json);
	trace_bytes(json, rank, slot->begin, timetable->bytes[at]);
	if (i + 1 == timetable->slots || timetable_slot(timetable, rank, i + 1)->begin > slot->end)
		trace_bytes(json, rank, slot->end, timetable->after[at]);
}

static void trace_rank(const struct timetable *timetable, uint32_t rank, struct json *json)
{
	char name[40];
	snprintf(name, sizeof name, "rank %u", rank);
	trace_name(json, "thread_name", 1, (int)rank + 1, name);
	for (uint32_t i = 0; i < timetable->slots; i++)
		trace_slot(timetable, rank, i, json);
	if (timetable->time > timetable->pipeline_time) {
		trace_event(json, pipeline_names[PART_UPDATE], "X", 1);
		json_write_integer(json, "tid", rank + 1);
		trace_times(json, timetable->pipeline_time, timetable->time);
		json_close(json);
	}
}

static void write_trace(const struct export_job *job, const struct outlook *outlook)
{
	struct json json;
	trace_begin(&json, job->plan->input->name, job->stream);
	trace_events(&json);
	trace_name(&json, "process_name", 1, -1, "pipeline");
	for (uint32_t rank = 0; rank < outlook->timetable.ranks; rank++)
		trace_rank(&outlook->timetable, rank, &json);
	trace_end(&json);
}

/* ---- the table's functions ---- */

enum status pipeline_csv(const struct export_job *job)
{
	return with_outlook(job, write_pipeline_write_csv);
}

enum status pipeline_json(const struct export_job *job)
{
	return with_outlook(job, write_pipeline_write_json);
}

enum status pipeline_trace(const struct export_job *job)
{
	return with_outlook(job, write_trace);
}

static void write_rows(const struct export_job *job, const struct outlook *outlook)
{
	const struct timetable *timetable = &outlook->timetable;
	for (uint32_t rank = 0; rank < timetable->ranks; rank++) {
		schedule_row_write(timetable_slot(timetable, rank, 0), timetable->slots, job->stream);
		putc('\n', job->stream);
	}
}

enum status schedule_csv(const struct export_job *job)
{
	return with_outlook(job, write_rows);
}

enum status pipeline_picture(const struct export_job *job)
{
	struct outlook *outlook = outlook_of_plan(job->plan, job->options->rules_file, NULL, job->error);
	if (!outlook)
		return job->error->status;
	enum status status = figure_pipeline(&outlook->timetable, job->plan->input->name, outlook->machine.memory,
		export_paper(job->options, job->kind), job->stream, job->error);
	outlook_release(outlook);
	return status;
}
