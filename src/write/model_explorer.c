/* model_explorer.c: Model Explorer's graph JSON. It folds nodes by their namespace, "h/0/attn". */
#include <inttypes.h>

#include "data.h"
#include "src/read/native.h"
#include "src/base/json_text.h"

static void attribute(FILE *stream, const char *key, const char *value, bool first)
{
	fprintf(stream, "%s{\"key\":\"%s\",\"value\":", first ? "" : ",", key);
	json_write_text(stream, value);
	putc('}', stream);
}

static void write_namespace(FILE *stream, const char *module)
{
	fputs(",\"namespace\":\"", stream);
	for (; *module; module++) {
		unsigned char byte = (unsigned char)*module;
		if (byte == '.')
			putc('/', stream);
		else if (byte == '"' || byte == '\\')
			fprintf(stream, "\\%c", byte);
		else if (byte < 0x20)
			fprintf(stream, "\\u%04x", byte);
		else
			putc(byte, stream);
	}
	putc('"', stream);
}

/* Edges in, one for each tensor that another op wrote. */
static void write_edges(const struct graph *graph, uint32_t op, FILE *stream)
{
	bool first = true;
	fputs(",\"incomingEdges\":[", stream);
	FOR_ROW(i, &graph->reads, op) {
		uint32_t tensor = graph->reads.item[i], writer = graph->tensor[tensor].writer, output = 0;
		if (writer == NONE)
			continue;
		FOR_ROW(j, &graph->writes, writer)
			if (graph->writes.item[j] == tensor)
				output = j - graph->writes.start[writer];
		fprintf(stream, "%s{\"sourceNodeId\":\"%u\",\"sourceNodeOutputId\":\"%u\",\"targetNodeInputId\":\"%u\"}", first ? "" : ",", writer, output,
			i - graph->reads.start[op]);
		first = false;
	}
	putc(']', stream);
}

static void write_outputs(const struct graph *graph, uint32_t op, FILE *stream)
{
	fputs(",\"outputsMetadata\":[", stream);
	FOR_ROW(i, &graph->writes, op) {
		const struct tensor *tensor = &graph->tensor[graph->writes.item[i]];
		char text[32];
		fprintf(stream, "%s{\"id\":\"%u\",\"attrs\":[", i > graph->writes.start[op] ? "," : "", i - graph->writes.start[op]);
		attribute(stream, "tensor", tensor->name, true);
		attribute(stream, "kind", kind_names[tensor->kind], false);
		attribute(stream, "bytes", bytes_text(tensor->bytes, text, sizeof text), false);
		fputs("]}", stream);
	}
	putc(']', stream);
}

static void write_node(const struct plan *plan, uint32_t id, FILE *stream)
{
	const struct op *op = &plan->graph->op[id];
	char text[32];
	fprintf(stream, "%s{\"id\":\"%u\",\"label\":", id ? ",\n" : "\n", id);
	json_write_text(stream, op->type);
	write_namespace(stream, op->module);
	fputs(",\"attrs\":[", stream);
	attribute(stream, "name", op->name, true);
	attribute(stream, "phase", phase_names[op->phase], false);
	snprintf(text, sizeof text, "%u", plan->position[id]);
	attribute(stream, "position", text, false);
	attribute(stream, "live memory", bytes_text(plan->live[plan->position[id]], text, sizeof text), false);
	if (plan->position[id] == plan->peak_position)
		attribute(stream, "peak", "yes", false);
	putc(']', stream);
	write_edges(plan->graph, id, stream);
	write_outputs(plan->graph, id, stream);
	putc('}', stream);
}

enum status export_model_explorer(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error)
{
	(void)options;
	(void)error;
	fputs("{\"label\":", stream);
	json_write_text(stream, plan->graph->name);
	fputs(",\"graphs\":[{\"id\":\"step\",\"nodes\":[", stream);
	for (uint32_t id = 0; id < plan->graph->ops; id++)
		write_node(plan, id, stream);
	fputs("\n]}]}\n", stream);
	return OK;
}
