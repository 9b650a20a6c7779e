/* trace.c: Chrome's trace events: complete events (X) for ops, counters (C) for bytes, asynchronous ones
 * (b, e) for storages, which may overlap freely. A step over several devices has its simulated times, too: a thread for each stream. */
#include <inttypes.h>

#include "data.h"
#include "pipeline.h"
#include "src/read/native.h"
#include "src/plan/timeline.h"
#include "src/base/json_text.h"

enum { PROCESS_OPS = 1, PROCESS_STORAGES = 2, PROCESS_STEP = 3 };

static void event(FILE *stream, const char *name, const char *phase, int process, uint32_t time)
{
	fputs(",\n{\"name\":", stream);
	json_write_text(stream, name);
	fprintf(stream, ",\"ph\":\"%s\",\"pid\":%d,\"tid\":1,\"ts\":%u", phase, process, time);
}

static void write_op(const struct plan *plan, uint32_t position, FILE *stream)
{
	const struct op *op = &plan->graph->op[plan->order[position]];
	event(stream, op->name, "X", PROCESS_OPS, position);
	fprintf(stream, ",\"dur\":1,\"cat\":\"%s\",\"args\":{\"type\":", phase_names[op->phase]);
	json_write_text(stream, op->type);
	fputs(",\"module\":", stream);
	json_write_text(stream, op->module);
	fprintf(stream, ",\"live_bytes\":%" PRId64 ",\"workspace\":%" PRId64 "}}", plan->live[position], op->workspace);
}

static void write_counter(const int64_t bytes[GROUP_COUNT], uint32_t position, FILE *stream)
{
	event(stream, "live bytes", "C", PROCESS_OPS, position);
	for (int group = 0; group < GROUP_COUNT; group++)
		fprintf(stream, "%s\"%s\":%" PRId64, group ? "," : ",\"args\":{", group_names[group], bytes[group]);
	fputs("}}", stream);
}

static void write_storage(const struct plan *plan, uint32_t storage, FILE *stream)
{
	const char *name = plan->graph->tensor[plan->graph->storage[storage].root].name, *kind = kind_names[plan->graph->storage[storage].kind];
	event(stream, name, "b", PROCESS_STORAGES, plan->first[storage]);
	fprintf(stream, ",\"cat\":\"%s\",\"id\":%u,\"args\":{\"bytes\":%" PRId64 ",\"offset\":%" PRId64 "}}", kind, storage, plan->bytes[storage],
		plan->offset[storage]);
	event(stream, name, "e", PROCESS_STORAGES, plan->last[storage] + 1);
	fprintf(stream, ",\"cat\":\"%s\",\"id\":%u}", kind, storage);
}

static void write_name(const char *what, int process, uint32_t thread, const char *name, FILE *stream)
{
	fprintf(stream, ",\n{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":", what, process, thread);
	json_write_text(stream, name);
	fputs("}}", stream);
}

/* Microseconds with the picoseconds behind the point. */
static void write_moment(const char *key, int64_t picoseconds, FILE *stream)
{
	fprintf(stream, ",\"%s\":%" PRId64 ".%06" PRId64, key, picoseconds / 1000000, picoseconds % 1000000);
}

/* The step as simulated: a thread for each stream. */
static void write_step(const struct plan *plan, FILE *stream)
{
	const struct step_model *model = &plan->time->model;
	write_name("process_name", PROCESS_STEP, 0, "simulated step", stream);
	for (uint32_t s = 0; s < model->streams; s++)
		write_name("thread_name", PROCESS_STEP, s + 1, plan_time_stream(plan->sharded, s), stream);
	for (uint32_t i = 0; i < model->ops; i++) {
		uint32_t op = model->sequence[i];
		const struct op *of = &plan->graph->op[model->of[op]];
		if (model->time[op] == 0)
			continue;
		fputs(",\n{\"name\":", stream);
		json_write_text(stream, of->name);
		fprintf(stream, ",\"ph\":\"X\",\"pid\":%d,\"tid\":%u", PROCESS_STEP, model->stream[op] + 1);
		write_moment("ts", plan->time->time.start[op], stream);
		write_moment("dur", model->time[op], stream);
		fprintf(stream, ",\"cat\":\"%s\",\"args\":{\"type\":", phase_names[of->phase]);
		json_write_text(stream, of->type);
		fprintf(stream, ",\"position\":%u}}", plan->position[model->of[op]]);
	}
}

enum status export_trace(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	if (pipeline_view(options->view))
		return pipeline_trace(plan, options, stream, error);
	int64_t (*bytes)[GROUP_COUNT] = timeline_groups(plan);
	if (!bytes)
		return fail_memory(error);
	fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"graph\":", stream);
	json_write_text(stream, plan->graph->name);
	fprintf(stream, ",\"peak_bytes\":\"%" PRId64 "\",\"arena_bytes\":\"%" PRId64 "\"},\"traceEvents\":[\n", plan->peak_bytes, plan->arena_bytes);
	fprintf(stream, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"ops\"}},\n", PROCESS_OPS);
	fprintf(stream, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"storages\"}}", PROCESS_STORAGES);
	for (uint32_t i = 0; i < plan->graph->ops; i++) {
		write_op(plan, i, stream);
		write_counter(bytes[i], i, stream);
	}
	for (uint32_t storage = 0; storage < plan->graph->storages; storage++)
		if (plan->first[storage] != NONE)
			write_storage(plan, storage, stream);
	if (plan->time)
		write_step(plan, stream);
	fputs("\n]}\n", stream);
	mem_free(bytes);
	return OK;
}
