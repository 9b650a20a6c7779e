/* pipeline.c: a pipeline's schedule as a table, as JSON and as a trace. */
#include <inttypes.h>

#include "data.h"
#include "plan_json.h"
#include "src/draw/figure.h"

/* trace: Chrome's trace events: complete events (X) for ops, counters (C) for bytes, asynchronous ones
 * (b, e) for storages, which may overlap freely. A step over several devices has its simulated times, too, of all its
 * passes: a thread for each stream. */

enum { PROCESS_OPS = 1, PROCESS_STORAGES = 2, PROCESS_STEP = 3 };
/* More events of a step than this take a viewer minutes. */
#define EVENTS_MOST INT64_C(200000)

/* Begins a trace of that graph. Members of its description may follow until trace_events(). */
static void trace_begin(struct json *json, const char *graph, FILE *stream)
{
	*json = (struct json){ .stream = stream };
	json_open_object(json, NULL);
	json_write_text(json, "displayTimeUnit", "ms");
	json_open_object(json, "otherData");
	json_write_text(json, "graph", graph);
}

static void trace_events(struct json *json)
{
	json_close(json);
	json_open_array(json, "traceEvents");
}

static void trace_end(struct json *json)
{
	json_new_line(json, 0);
	json_end(json);
}

/* Begins an event with its first three members: the caller adds the others and closes it. phase: "X", "C", "b", "e",
 * "M". */
static void trace_event(struct json *json, const char *name, const char *phase, int process)
{
	json_new_line(json, 0);
	json_open_object(json, NULL);
	json_write_text(json, "name", name);
	json_write_text(json, "ph", phase);
	json_write_integer(json, "pid", process);
}

/* The name of a process or thread (what: "process_name", "thread_name"); thread -1: none is said. */
static void trace_name(struct json *json, const char *what, int process, int thread, const char *name)
{
	trace_event(json, what, "M", process);
	if (thread >= 0)
		json_write_integer(json, "tid", thread);
	json_open_object(json, "args");
	json_write_text(json, "name", name);
	json_close(json);
	json_close(json);
}

/* time: microseconds with the picoseconds behind the point. */
static void event_at(struct json *json, const char *name, const char *phase, int process, int64_t time)
{
	trace_event(json, name, phase, process);
	json_write_integer(json, "tid", 1);
	json_write_decimal(json, "ts", time, 6);
}

static void write_trace_write_op(const struct plan *plan, const int64_t *at, uint32_t position, struct json *json)
{
	const struct op *op = &plan->graph->op[plan->ordered->result.order[position]];
	event_at(json, op->name, "X", PROCESS_OPS, at[position]);
	json_write_decimal(json, "dur", at[position + 1] - at[position], 6);
	json_write_text(json, "cat", phase_names[op->phase]);
	json_open_object(json, "args");
	json_write_text(json, "type", op->type);
	json_write_text(json, "module", op->module);
	json_write_integer(json, "live_bytes", plan->ordered->live[position]);
	json_write_integer(json, "workspace", op->workspace);
	json_close(json);
	json_close(json);
}

static void write_counter(const int64_t bytes[GROUP_COUNT], int64_t time, struct json *json)
{
	event_at(json, "live bytes", "C", PROCESS_OPS, time);
	json_open_object(json, "args");
	FOR_INT(group, GROUP_COUNT)
		json_write_integer(json, group_names[group], bytes[group]);
	json_close(json);
	json_close(json);
}

/* A storage or a workspace. */
static void write_item(const struct plan *plan, const int64_t *at, uint32_t item, struct json *json)
{
	const char *name = item_name(plan, item), *kind = item < plan->graph->storages ? kind_names[item_kind(plan, item)]
		: "workspace";
	event_at(json, name, "b", PROCESS_STORAGES, at[plan->laid_out->first[item]]);
	json_write_text(json, "cat", kind);
	json_write_integer(json, "id", item);
	json_open_object(json, "args");
	json_write_integer(json, "bytes", plan->laid_out->bytes[item]);
	json_write_integer(json, "offset", plan->laid_out->offset[item]);
	json_close(json);
	json_close(json);
	event_at(json, name, "e", PROCESS_STORAGES, at[plan->laid_out->last[item] + 1]);
	json_write_text(json, "cat", kind);
	json_write_integer(json, "id", item);
	json_close(json);
}

static void begin_step_event(struct json *json, const char *name, uint32_t stream, int64_t start, int64_t time)
{
	trace_event(json, name, "X", PROCESS_STEP);
	json_write_integer(json, "tid", stream + 1);
	json_write_decimal(json, "ts", start, 6);
	json_write_decimal(json, "dur", time, 6);
}

/* The ops of a pass, counted from 0, that begins at a time. */
static void write_pass(
	const struct plan *plan, const struct plan_time *of_step, int64_t pass, int64_t begin, struct json *json)
{
	bool last = pass + 1 == of_step->passes;
	const struct step_model *model = last ? &of_step->model : &of_step->pass_model;
	const struct step_time *time = last ? &of_step->time : &of_step->pass;
	FOR(i, model->ops) {
		uint32_t op = model->sequence[i];
		const struct op *of = &plan->graph->op[model->of[op]];
		if (model->time[op] == 0)
			continue;
		begin_step_event(json, of->name, model->stream[op], begin + time->start[op], model->time[op]);
		json_write_text(json, "cat", phase_names[of->phase]);
		json_open_object(json, "args");
		json_write_text(json, "type", of->type);
		json_write_integer(json, "position", plan->ordered->position[model->of[op]]);
		if (of_step->passes > 1)
			json_write_integer(json, "pass", pass);
		json_close(json);
		json_close(json);
	}
}

/* One event for passes that are as the first one, from the second to the last but one. */
static void write_equal_passes(const struct plan_time *time, struct json *json)
{
	begin_step_event(json, PRINTED(80, "passes 1 to %lld, each as pass 0", (long long)time->passes - 2), 0,
		time->pass.total, (time->passes - 2) * time->pass.total);
	json_close(json);
}

/* The step as simulated: a thread for each stream. Gradients that are added up take several passes; many equal ones are
 * one event. */
static void write_trace_write_step(const struct plan *plan, const struct plan_time *time, struct json *json)
{
	int64_t passes = time->passes;
	trace_name(json, "process_name", PROCESS_STEP, 0, "simulated step");
	FOR(s, time->model.streams)
		trace_name(json, "thread_name", PROCESS_STEP, (int)s + 1, plan_time_stream(plan->sharded, s));
	bool all = passes <= EVENTS_MOST / (1 + (int64_t)time->model.ops);
	for (int64_t pass = 0; pass < passes; pass++) {
		if (!all && pass == 1 && passes > 2) {
			write_equal_passes(time, json);
			pass = passes - 1;
		}
		write_pass(plan, time, pass, pass * time->pass.total, json);
	}
}

static void write_bytes(struct json *json, const char *key, int64_t bytes)
{
	json_write_text(json, key, PRINTED(32, "%lld", (long long)bytes));
}

enum status export_trace(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	HELD int64_t (*bytes)[GROUP_COUNT] = timeline_groups(plan);
	HELD int64_t *MAKE(at, (size_t)plan->graph->ops + 1);
	struct plan_time *time = NULL, *own = NULL;
	struct json json;
	bool known = plan->speed.time > 0 && !plan->pipelined;
	NEEDED(job->error, bytes && at);
	if (known)
		TRY(time_of_step(plan, job->options, &time, &own, job->error));
	FOR(i, plan->graph->ops + 1)
		at[i] = INT64_C(1000000) * i;
	if (known)
		plan_time_places(time, plan->ordered->result.order, plan->graph->ops, at);
	trace_begin(&json, plan->graph->name, job->stream);
	write_bytes(&json, "peak_bytes", plan_peak(plan));
	write_bytes(&json, "arena_bytes", plan_arena(plan));
	trace_events(&json);
	trace_name(
		&json, "process_name", PROCESS_OPS, -1, scenario_accumulation(&plan->scenario) > 1 ? "ops of one pass" : "ops");
	trace_name(&json, "process_name", PROCESS_STORAGES, -1, "storages");
	FOR(i, plan->graph->ops) {
		write_trace_write_op(plan, at, i, &json);
		write_counter(bytes[i], at[i], &json);
	}
	FOR(item, plan->laid_out->items)
		if (plan->laid_out->first[item] != NONE)
			write_item(plan, at, item, &json);
	if (time)
		write_trace_write_step(plan, time, &json);
	trace_end(&json);
	plan_time_free(own);
	return OK;
}

/* Writes what a schedule is written as. */
static enum status with_timetable(
	const struct export_job *job, void (*write)(const struct export_job *job, const struct timetable *timetable))
{
	OWN(timetable) timetable;
	TRY(plan_timetable(job->plan, job->options->rules_file, &timetable, job->error));
	write(job, &timetable);
	return OK;
}

/* ---- table ---- */

static void write_pipeline_write_csv(const struct export_job *job, const struct timetable *timetable)
{
	FILE *stream = job->stream;
	fputs("rank,slot,pass,microbatch,chunk,begin_seconds,end_seconds,bytes,peak,stage\n", stream);
	FOR(rank, timetable->ranks)
		FOR(i, timetable->slots) {
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
	FOR(i, timetable->slots)
		write_slot(timetable, rank, i, json);
	json_close(json);
	json_close(json);
}

static void pipeline_json(const struct plan *plan, const struct timetable *timetable, struct json *json)
{
	json_write_text(json, "graph", plan->input->name);
	json_write_text(json, "schedule", schedule_names[timetable->schedule]);
	json_write_integer(json, "ranks", timetable->ranks);
	json_write_integer(json, "chunks", timetable->chunks);
	json_write_integer(json, "microbatches", timetable->microbatches);
	json_new_line(json, 1);
	json_write_decimal(json, "step_seconds", timetable->time, 12);
	json_write_decimal(json, "pipeline_seconds", timetable->pipeline_time, 12);
	json_write_real(json, "bubble", timetable_bubble(timetable) / 1000.0, 3);
	json_write_integer(json, "worst_rank", timetable->worst);
	json_write_integer(json, "memory", scenario_budget(&plan->scenario));
	json_new_line(json, 1);
	json_open_array(json, "rank");
	FOR(rank, timetable->ranks)
		write_pipeline_write_rank(timetable, rank, json);
	json_close(json);
}

static void write_pipeline_write_json(const struct export_job *job, const struct timetable *timetable)
{
	struct json json = { .stream = job->stream, .spaced = true };
	json_open_object(&json, NULL);
	pipeline_json(job->plan, timetable, &json);
	json_end(&json);
}

enum status pipeline_member(const struct plan *plan, struct json *json, struct error *error)
{
	OWN(timetable) timetable;
	TRY(plan_timetable(plan, NULL, &timetable, error));
	json_open_object(json, "pipeline");
	pipeline_json(plan, &timetable, json);
	json_close(json);
	return OK;
}

/* ---- trace ---- */

static void trace_times(struct json *json, int64_t begin, int64_t end)
{
	json_write_decimal(json, "ts", begin, 6);
	json_write_decimal(json, "dur", end - begin, 6);
}

static void trace_bytes(struct json *json, uint32_t rank, int64_t time, int64_t bytes)
{
	trace_event(json, PRINTED(40, "bytes of rank %u", rank), "C", 1);
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
	trace_event(json, PRINTED(40, "%s %u", pass, slot->microbatch), "X", 1);
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
	trace_name(json, "thread_name", 1, (int)rank + 1, PRINTED(40, "rank %u", rank));
	FOR(i, timetable->slots)
		trace_slot(timetable, rank, i, json);
	if (timetable->time > timetable->pipeline_time) {
		trace_event(json, pipeline_names[PART_UPDATE], "X", 1);
		json_write_integer(json, "tid", rank + 1);
		trace_times(json, timetable->pipeline_time, timetable->time);
		json_close(json);
	}
}

static void write_trace(const struct export_job *job, const struct timetable *timetable)
{
	struct json json;
	trace_begin(&json, job->plan->input->name, job->stream);
	trace_events(&json);
	trace_name(&json, "process_name", 1, -1, "pipeline");
	FOR(rank, timetable->ranks)
		trace_rank(timetable, rank, &json);
	trace_end(&json);
}

/* ---- the table's functions ---- */

static void write_rows(const struct export_job *job, const struct timetable *timetable)
{
	FOR(rank, timetable->ranks) {
		schedule_row_write(timetable_slot(timetable, rank, 0), timetable->slots, job->stream);
		putc('\n', job->stream);
	}
}

enum status schedule_csv(const struct export_job *job)
{
	return with_timetable(job, write_rows);
}

enum status export_pipeline(const struct export_job *job)
{
	if (job->kind == EXPORT_csv || job->kind == EXPORT_json || job->kind == EXPORT_trace)
		return with_timetable(job, job->kind == EXPORT_csv ? write_pipeline_write_csv
			: job->kind == EXPORT_json ? write_pipeline_write_json
			: write_trace);
	OWN(timetable) timetable;
	TRY(plan_timetable(job->plan, job->options->rules_file, &timetable, job->error));
	return figure_pipeline(&timetable, job->plan->input->name, scenario_budget(&job->plan->scenario),
		export_paper(job->options, job->kind), job->stream, job->error);
}
