/* native.c: writes the native graph format. */
#include <inttypes.h>

#include "src/base/json_text.h"
#include "src/read/native.h"

static void member(FILE *stream, const char *key, const char *text)
{
	fprintf(stream, ",\"%s\":", key);
	json_write_text(stream, text);
}

/* ---- members that other programs don't have: every one with a comma before it ----------------------------------- */

static void write_places(FILE *stream, const char *key, const struct axis_places *places)
{
	char one[40];
	if (places->axes == 0)
		return;
	fprintf(stream, ",\"%s\":[", key);
	for (uint32_t a = 0; a < places->axes; a++)
		fprintf(stream, "%s\"%s\"", a ? "," : "", axis_place_text(places->on[a], one, sizeof one));
	putc(']', stream);
}

static void write_collective(FILE *stream, const struct collective *said)
{
	if (*said->axis)
		member(stream, "axis", said->axis);
	if (said->size)
		fprintf(stream, ",\"size\":%u", said->size);
	if (said->group != NONE)
		fprintf(stream, ",\"group\":%u", said->group);
	if (said->moved >= 0)
		fprintf(stream, ",\"moved\":%" PRId64, said->moved);
	write_places(stream, "from", &said->from);
	write_places(stream, "to", &said->to);
	if (said->rank != NONE)
		fprintf(stream, ",\"%s\":%u", said->kind == COLLECTIVE_SEND ? "to" : said->kind == COLLECTIVE_RECEIVE ? "from" : "rank", said->rank);
}

void native_tensor_members(const struct tensor *tensor, FILE *stream)
{
	if (tensor->extra)
		fprintf(stream, ",%s", tensor->extra);
	if (tensor->places)
		write_places(stream, "placement", tensor->places);
}

void native_op_members(const struct op *op, FILE *stream)
{
	if (op->extra)
		fprintf(stream, ",%s", op->extra);
	if (op->collective)
		write_collective(stream, op->collective);
	if (op->recomputed)
		fputs(",\"recomputed\":true", stream);
	if (op->in_flight)
		fprintf(stream, ",\"in_flight\":%u", op->in_flight);
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

static void write_tensor(const struct graph *graph, const struct tensor *tensor, FILE *stream)
{
	fputs("{\"k\":\"tensor\"", stream);
	member(stream, "id", tensor->name);
	if (tensor->has_bytes)
		fprintf(stream, ",\"bytes\":%" PRId64, tensor->bytes);
	if (tensor->has_dtype)
		member(stream, "dtype", dtype_names[tensor->dtype]);
	if (tensor->has_shape) {
		fputs(",\"shape\":[", stream);
		for (int i = 0; i < tensor->rank; i++)
			fprintf(stream, "%s%" PRId64, i ? "," : "", tensor->shape[i]);
		putc(']', stream);
	}
	member(stream, "kind", kind_names[tensor->kind]);
	if (tensor->alias != NONE)
		member(stream, "alias", graph->tensor[tensor->alias].name);
	native_tensor_members(tensor, stream);
	fputs("}\n", stream);
}

static void tensor_names(const struct graph *graph, const struct csr *rows, uint32_t op, const char *key, FILE *stream)
{
	fprintf(stream, ",\"%s\":[", key);
	FOR_ROW(i, rows, op) {
		if (i > rows->start[op])
			putc(',', stream);
		json_write_text(stream, graph->tensor[rows->item[i]].name);
	}
	putc(']', stream);
}

static void write_inplace(const struct graph *graph, uint32_t id, FILE *stream)
{
	uint32_t begin = graph->inplace_start[id], end = graph->inplace_start[id + 1];
	if (begin == end)
		return;
	fputs(",\"inplace\":[", stream);
	for (uint32_t i = begin; i < end; i++) {
		fputs(i > begin ? ",[" : "[", stream);
		if (graph->inplace[i].out == NONE)
			fputs("null", stream);
		else
			json_write_text(stream, graph->tensor[graph->inplace[i].out].name);
		putc(',', stream);
		json_write_text(stream, graph->tensor[graph->inplace[i].in].name);
		putc(']', stream);
	}
	putc(']', stream);
}

static void write_op(const struct graph *graph, uint32_t id, FILE *stream)
{
	const struct op *op = &graph->op[id];
	fputs("{\"k\":\"op\"", stream);
	member(stream, "id", op->name);
	member(stream, "op", op->type);
	if (op->has_phase)
		member(stream, "phase", phase_names[op->phase]);
	if (op->has_module)
		member(stream, "mod", op->module);
	tensor_names(graph, &graph->reads, id, "in", stream);
	tensor_names(graph, &graph->writes, id, "out", stream);
	if (op->flops >= 0)
		fprintf(stream, ",\"flops\":%" PRId64, op->flops);
	if (op->has_workspace)
		fprintf(stream, ",\"workspace\":%" PRId64, op->workspace);
	write_inplace(graph, id, stream);
	if (csr_length(&graph->after, id)) {
		fputs(",\"after\":[", stream);
		FOR_ROW(i, &graph->after, id) {
			if (i > graph->after.start[id])
				putc(',', stream);
			json_write_text(stream, graph->op[graph->after.item[i]].name);
		}
		putc(']', stream);
	}
	native_op_members(op, stream);
	fputs("}\n", stream);
}

bool native_write(const struct graph *graph, FILE *stream)
{
	fputs("{\"k\":\"graph\",\"v\":1", stream);
	member(stream, "name", graph->name);
	if (graph->source)
		member(stream, "source", graph->source);
	if (graph->extra)
		fprintf(stream, ",%s", graph->extra);
	fputs("}\n", stream);
	for (uint32_t id = 0; id < graph->tensors; id++)
		write_tensor(graph, &graph->tensor[id], stream);
	for (uint32_t id = 0; id < graph->ops; id++)
		write_op(graph, id, stream);
	fprintf(stream, "{\"k\":\"end\",\"tensors\":%u,\"ops\":%u}\n", graph->tensors, graph->ops);
	return !ferror(stream);
}
