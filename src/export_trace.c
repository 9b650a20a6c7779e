/* export_trace.c: Chrome's trace events: complete events (X) for ops, counters (C) for bytes, asynchronous ones
 * (b, e) for storages, which may overlap freely. */
#include <inttypes.h>

#include "export_data.h"
#include "native.h"
#include "timeline.h"

enum { PROCESS_OPS = 1, PROCESS_STORAGES = 2 };

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

enum status export_trace(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	(void)options;
	int64_t (*bytes)[GROUP_COUNT] = timeline_groups(plan);
	if (!bytes)
		return fail(error, NO_MEMORY, "out of memory");
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
	fputs("\n]}\n", stream);
	mem_free(bytes);
	return OK;
}
