/* model_explorer.c: Model Explorer's graph JSON. It folds nodes by their namespace, "h/0/attn". */

#include "data.h"
#include "src/base/json.h"

static void attribute(struct json *json, const char *key, const char *value)
{
	json_open_object(json, NULL);
	json_write_text(json, "key", key);
	json_write_text(json, "value", value);
	json_close(json);
}

static void write_number(struct json *json, const char *key, uint32_t number)
{
	char text[16];
	snprintf(text, sizeof text, "%u", number);
	json_write_text(json, key, text);
}

static enum status write_namespace(struct json *json, const char *module)
{
	size_t length = strlen(module) + 1;
	char *path = mem_alloc(length, 1);
	NEED(path);
	memcpy(path, module, length);
	for (char *at = path; *at; at++)
		*at = *at == '.' ? '/' : *at;
	json_write_text(json, "namespace", path);
	mem_free(path);
	return OK;
}

/* Edges in, one for each tensor that another op wrote. */
static void write_edges(const struct graph *graph, uint32_t op, struct json *json)
{
	json_open_array(json, "incomingEdges");
	FOR_ROW(i, &graph->reads, op) {
		uint32_t tensor = graph->reads.item[i], writer = graph->tensor[tensor].writer, output = 0;
		if (writer == NONE)
			continue;
		FOR_ROW(j, &graph->writes, writer)
			if (graph->writes.item[j] == tensor)
				output = j - graph->writes.start[writer];
		json_open_object(json, NULL);
		write_number(json, "sourceNodeId", writer);
		write_number(json, "sourceNodeOutputId", output);
		write_number(json, "targetNodeInputId", i - graph->reads.start[op]);
		json_close(json);
	}
	json_close(json);
}

static void write_outputs(const struct graph *graph, uint32_t op, struct json *json)
{
	json_open_array(json, "outputsMetadata");
	FOR_ROW(i, &graph->writes, op) {
		const struct tensor *tensor = &graph->tensor[graph->writes.item[i]];
		char text[32];
		json_open_object(json, NULL);
		write_number(json, "id", i - graph->writes.start[op]);
		json_open_array(json, "attrs");
		attribute(json, "tensor", tensor->name);
		attribute(json, "kind", kind_names[tensor->kind]);
		attribute(json, "bytes", bytes_text(tensor->bytes, text, sizeof text));
		json_close(json);
		json_close(json);
	}
	json_close(json);
}

static enum status write_node(const struct plan *plan, uint32_t id, struct json *json)
{
	const struct op *op = &plan->graph->op[id];
	uint32_t position = plan->ordered->position[id];
	char text[32];
	json_new_line(json, 0);
	json_open_object(json, NULL);
	write_number(json, "id", id);
	json_write_text(json, "label", op->type);
	enum status status = write_namespace(json, op->module);
	json_open_array(json, "attrs");
	attribute(json, "name", op->name);
	attribute(json, "phase", phase_names[op->phase]);
	snprintf(text, sizeof text, "%u", position);
	attribute(json, "position", text);
	attribute(json, "live memory", bytes_text(plan->ordered->live[position], text, sizeof text));
	if (position == plan->ordered->peak_position)
		attribute(json, "peak", "yes");
	json_close(json);
	write_edges(plan->graph, id, json);
	write_outputs(plan->graph, id, json);
	json_close(json);
	return status;
}

enum status export_model_explorer(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	struct json json = { .stream = job->stream };
	enum status status = OK;
	json_open_object(&json, NULL);
	json_write_text(&json, "label", plan->graph->name);
	json_open_array(&json, "graphs");
	json_open_object(&json, NULL);
	json_write_text(&json, "id", "step");
	json_open_array(&json, "nodes");
	for (uint32_t id = 0; id < plan->graph->ops && status == OK; id++)
		status = write_node(plan, id, &json);
	json_new_line(&json, 0);
	json_end(&json);
	return status == OK ? OK : fail_memory(job->error);
}
