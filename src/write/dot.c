/* dot.c: writes DOT in the full dialect. All nodes come first, in the graph's order, and then the edges op by
 * op: reading keeps both orders, and with them the order of the arguments. */
#include <inttypes.h>

#include "data.h"
#include "src/base/dot_text.h"
#include "src/base/streams.h"
#include "src/read/native.h"

#define DOT_QUICK 300u /* ops: of more Graphviz takes minutes */

/* Ops and tensors are one name space in DOT: an op gives way to a tensor of its name. */
static void op_node(const struct graph *graph, uint32_t op, FILE *stream)
{
	const char *name = graph->op[op].name;
	if (graph_find_tensor(graph, name) == NONE) {
		dot_write_text(stream, name, NULL);
		return;
	}
	for (unsigned i = 1; ; i++) {
		char other[600];
		PRINT_TO(other, "op %u.%u", op, i);
		if (graph_find_tensor(graph, other) != NONE || graph_find_op(graph, other) != NONE)
			continue;
		dot_write_text(stream, other, NULL);
		return;
	}
}

static void attribute(FILE *stream, const char *key, const char *text)
{
	fprintf(stream, ", %s=", key);
	dot_write_text(stream, text, NULL);
}

/* What the native format has beyond the attributes, as it writes it, behind `before`: a tensor's, an op's, or else the
 * graph's. False when out of memory. */
static bool dot_members(
	FILE *stream, const char *before, const struct graph *graph, const struct tensor *tensor, const struct op *op)
{
	char *text = NULL;
	size_t length = 0;
	FILE *native = text_stream(&text, &length);
	if (!native)
		return false;
	struct json json = { .stream = native, .depth = 1 }; /* inside brackets that nobody writes */
	if (tensor)
		native_tensor_members(tensor, &json);
	else if (op)
		native_op_members(op, &json);
	else
		native_graph_members(graph, &json);
	bool fine = fclose(native) == 0;
	if (fine && length > 0) {
		fputs(before, stream);
		dot_write_text(stream, text, NULL);
	}
	free(text);
	return fine;
}

static bool dot_write_tensor(const struct graph *graph, const struct tensor *tensor, FILE *stream)
{
	fputs("  ", stream);
	dot_write_text(stream, tensor->name, NULL);
	fprintf(stream, " [kind=%s", kind_names[tensor->kind]);
	if (tensor->has_bytes)
		fprintf(stream, ", bytes=%" PRId64, tensor->bytes);
	if (tensor->has_dtype)
		fprintf(stream, ", dtype=%s", dtype_names[tensor->dtype]);
	if (tensor->has_shape) {
		fputs(tensor->dims ? ", dims=\"" : ", dims=\"scalar", stream);
		FOR_INT(i, tensor->dims)
			fprintf(stream, "%s%" PRId64, i ? "," : "", tensor->shape[i]);
		putc('"', stream);
	}
	if (tensor->alias != NONE)
		attribute(stream, "alias_of", graph->tensor[tensor->alias].name);
	bool fine = dot_members(stream, ", extra=", graph, tensor, NULL);
	fputs("];\n", stream);
	return fine;
}

static void dot_write_inplace(const struct graph *graph, uint32_t op, FILE *stream)
{
	uint32_t begin = graph->inplace_start[op], end = graph->inplace_start[op + 1];
	if (begin == end)
		return;
	fputs(", inplace=\"", stream);
	FOR_FROM(i, begin, end) {
		if (i > begin)
			fputs((i - begin) % 16 ? "," : ",\"+\"", stream); /* a long string in pieces, as in dot_write_text() */
		if (graph->inplace[i].out != NONE)
			dot_write_part(stream, graph->tensor[graph->inplace[i].out].name, ":, ");
		putc(':', stream);
		dot_write_part(stream, graph->tensor[graph->inplace[i].in].name, ":, ");
	}
	putc('"', stream);
}

static bool dot_write_op(const struct graph *graph, uint32_t id, FILE *stream)
{
	const struct op *op = &graph->op[id];
	fputs("  ", stream);
	op_node(graph, id, stream);
	fputs(" [op=", stream);
	dot_write_text(stream, op->type, NULL);
	if (graph_find_tensor(graph, op->name) != NONE)
		attribute(stream, "name", op->name);
	if (op->has_phase)
		fprintf(stream, ", phase=%s", phase_names[op->phase]);
	if (op->has_module)
		attribute(stream, "module", op->module);
	if (op->flops >= 0)
		fprintf(stream, ", flops=%" PRId64, op->flops);
	if (op->has_workspace)
		fprintf(stream, ", workspace=%" PRId64, op->workspace);
	fprintf(stream, ", step=%u", id);
	dot_write_inplace(graph, id, stream);
	bool fine = dot_members(stream, ", extra=", graph, NULL, op);
	fputs("];\n", stream);
	return fine;
}

static void write_edges(const struct graph *graph, uint32_t op, FILE *stream)
{
	FOR_ITEMS(read, &graph->reads, op) {
		fputs("  ", stream);
		dot_write_text(stream, graph->tensor[read].name, NULL);
		fputs(" -> ", stream);
		op_node(graph, op, stream);
		fputs(";\n", stream);
	}
	FOR_ITEMS(written, &graph->writes, op) {
		fputs("  ", stream);
		op_node(graph, op, stream);
		fputs(" -> ", stream);
		dot_write_text(stream, graph->tensor[written].name, NULL);
		fputs(";\n", stream);
	}
	FOR_ITEMS(item, &graph->after, op) {
		fputs("  ", stream);
		op_node(graph, item, stream);
		fputs(" -> ", stream);
		op_node(graph, op, stream);
		fputs(" [order=1, style=dashed];\n", stream);
	}
}

bool dot_write(const struct graph *graph, FILE *stream)
{
	bool fine = true;
	fputs("digraph ", stream);
	dot_write_text(stream, graph->name, NULL);
	fputs(" {\n", stream);
	if (graph->source) {
		fputs("  source=", stream);
		dot_write_text(stream, graph->source, NULL);
		fputs(";\n", stream);
	}
	if (graph->extra || about_says(&graph->about)) {
		fine = dot_members(stream, "  extra=", graph, NULL, NULL);
		fputs(";\n", stream);
	}
	if (graph->ops > DOT_QUICK)
		fputs("  // `dot` takes long for that many nodes: --view graph draws equal layers once\n", stream);
	fputs("  node [shape=ellipse];\n", stream);
	FOR(id, graph->tensors)
		fine = dot_write_tensor(graph, &graph->tensor[id], stream) && fine;
	fputs("  node [shape=box];\n", stream);
	FOR(id, graph->ops)
		fine = dot_write_op(graph, id, stream) && fine;
	FOR(id, graph->ops)
		write_edges(graph, id, stream);
	fputs("}\n", stream);
	return fine && !ferror(stream);
}
