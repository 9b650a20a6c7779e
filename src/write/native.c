/* native.c: writes the native graph format: a record a line. */
#include "src/read/native.h"

static void begin_record(struct json *json, const char *kind)
{
	json_open_object(json, NULL);
	json_write_text(json, "k", kind);
}

/* ---- members that other programs don't have ---- */

static void write_places(struct json *json, const char *key, const struct axis_places *places)
{
	if (places->axes == 0)
		return;
	json_open_array(json, key);
	FOR(a, places->axes)
		json_write_text(json, NULL, axis_place_text(places->on[a], TEXT(40)));
	json_close(json);
}

static void write_collective(struct json *json, const struct collective *said)
{
	if (*said->axis)
		json_write_text(json, "axis", said->axis);
	json_write_some(json, "size", said->size);
	if (said->group != NONE)
		json_write_integer(json, "group", said->group);
	if (said->moved >= 0)
		json_write_integer(json, "moved", said->moved);
	write_places(json, "from", &said->from);
	write_places(json, "to", &said->to);
	if (said->rank != NONE)
		json_write_integer(json,
			said->kind == COLLECTIVE_SEND ? "to"
			: said->kind == COLLECTIVE_RECEIVE ? "from"
			: "rank",
			said->rank);
}

static void write_values(const struct argument *value, uint32_t values, struct json *json)
{
	for (uint32_t i = 0; i < values; i += 1 + value[i].within)
		switch (value[i].kind) {
		case ARGUMENT_NOTHING:
			json_write_null(json, value[i].key);
			break;
		case ARGUMENT_FALSE:
		case ARGUMENT_TRUE:
			json_write_bool(json, value[i].key, value[i].kind == ARGUMENT_TRUE);
			break;
		case ARGUMENT_NUMBER:
			json_write_raw(json, value[i].key, value[i].text);
			break;
		case ARGUMENT_TEXT:
			json_write_text(json, value[i].key, value[i].text);
			break;
		case ARGUMENT_TENSOR:
			json_open_object(json, value[i].key);
			json_write_text(json, "t", value[i].text);
			json_close(json);
			break;
		default:
			if (value[i].kind == ARGUMENT_LIST)
				json_open_array(json, value[i].key);
			else
				json_open_object(json, value[i].key);
			write_values(&value[i + 1], value[i].within, json);
			json_close(json);
		}
}

/* "init":["fill",0.0], or "data":[1.0] */
static void write_start(const struct tensor *tensor, struct json *json)
{
	json_open_array(json, tensor->starts == STARTS_FILLED ? "init" : "data");
	if (tensor->starts == STARTS_FILLED)
		json_write_text(json, NULL, "fill");
	json_write_raw(json, NULL, json_real_text(tensor->start, TEXT(40)));
	json_close(json);
}

void native_tensor_members(const struct tensor *tensor, struct json *json)
{
	json_write_known(json, "gradient_of", tensor->gradient_of);
	if (tensor->replaced)
		json_write_bool(json, "replaced", true);
	if (tensor->starts != STARTS_UNSAID)
		write_start(tensor, json);
	if (tensor->extra)
		json_write_raw(json, NULL, tensor->extra);
	if (tensor->places)
		write_places(json, "placement", tensor->places);
}

void native_op_members(const struct op *op, struct json *json)
{
	if (op->arguments)
		write_values(op->arguments->value, op->arguments->values, json);
	if (op->extra)
		json_write_raw(json, NULL, op->extra);
	if (op->collective)
		write_collective(json, op->collective);
	if (op->recomputed)
		json_write_bool(json, "recomputed", true);
	json_write_some(json, "in_flight", op->in_flight);
	json_write_known(json, "src", op->src);
	json_write_known(json, "part", op->part);
}

/* "per_sample":{"shape":[1,0],"bytes":8} */
static void write_tensor_growth(const struct tensor *tensor, struct json *json)
{
	bool shape = false;
	FOR_INT(d, tensor->dims)
		shape |= tensor->grows[d] != 0;
	json_open_object(json, "per_sample");
	if (shape)
		json_open_array(json, "shape");
	for (int d = 0; shape && d < tensor->dims; d++)
		json_write_integer(json, NULL, tensor->grows[d]);
	if (shape)
		json_close(json);
	json_write_some(json, "bytes", tensor->grows[tensor->dims]);
	json_close(json);
}

static void write_pair(int64_t a, int64_t b, struct json *json)
{
	json_open_array(json, NULL);
	json_write_integer(json, NULL, a);
	json_write_integer(json, NULL, b);
	json_close(json);
}

/* "per_sample":{"flops":8,"arguments":[[0,1]]},"workspace_at":[[2,64],[3,96]] */
static void write_op_growth(const struct op_growth *grows, struct json *json)
{
	if (grows->flops || grows->numbers)
		json_open_object(json, "per_sample");
	json_write_some(json, "flops", grows->flops);
	if (grows->numbers)
		json_open_array(json, "arguments");
	FOR(i, grows->numbers)
		write_pair(grows->number[i].place, grows->number[i].by, json);
	if (grows->numbers)
		json_close(json);
	if (grows->flops || grows->numbers)
		json_close(json);
	if (grows->workspaces)
		json_open_array(json, "workspace_at");
	FOR(i, grows->workspaces)
		write_pair(grows->workspace[i].batch, grows->workspace[i].bytes, json);
	if (grows->workspaces)
		json_close(json);
}

static void write_size(struct json *json, const char *key, int64_t size)
{
	if (size > 0)
		json_write_integer(json, key, size);
	else if (size < 0)
		json_write_null(json, key);
}

/* One line each. */
static void write_native_write_lines(struct json *json, const char *key, const char *lines)
{
	json_open_array(json, key);
	json_write_lines(json, lines);
	json_close(json);
}

static void write_intake(struct json *json, const struct intake *intake)
{
	json_open_object(json, "read");
	json_write_text(json, "format", intake->format);
	json_write_known(json, "version", intake->version);
	json_write_some(json, "inferred", intake->inferred);
	json_write_some(json, "missing", intake->missing);
	if (intake->derived)
		json_write_bool(json, "derived", true);
	if (intake->assumed)
		write_native_write_lines(json, "assumed", intake->assumed);
	json_write_known(json, "advice", intake->advice);
	json_write_some(json, "peak", intake->peak);
	json_write_known(json, "peak_by", intake->peak_by);
	json_write_known(json, "grows", intake->grows);
	json_write_known(json, "segments", intake->segments);
	if (intake->caching[0] > 0) {
		json_write_integer(json, "caching_allocator", intake->caching[0]);
		json_write_integer(json, "expandable_segments", intake->caching[1]);
	}
	json_close(json);
}

void native_graph_members(const struct graph *graph, struct json *json)
{
	const struct about *about = &graph->about;
	write_size(json, "batch", about->batch);
	write_size(json, "seq", about->sequence);
	if (graph->line[0])
		json_open_array(json, "batches");
	for (int i = 0; i < LINE_BATCHES && graph->line[i]; i++)
		json_write_integer(json, NULL, graph->line[i]);
	if (graph->line[0])
		json_close(json);
	json_write_known(json, "one_sample", about->one_sample);
	json_write_some(json, "router_nodes", about->router_nodes);
	if (graph->extra)
		json_write_raw(json, NULL, graph->extra);
	json_write_known(json, "teaches", about->teaches);
	json_write_known(json, "asks", about->asks);
	json_write_known(json, "synthesised", about->synthesised);
	if (about->opaques)
		json_open_array(json, "opaque_ops");
	FOR(i, about->opaques)
		json_write_text(json, NULL, about->opaque[i]);
	if (about->opaques)
		json_close(json);
	if (about->axes) {
		json_open_object(json, "mesh");
		FOR(a, about->axes)
			json_write_integer(json, about->axis[a].name, about->axis[a].size);
		json_close(json);
		json_write_integer(json, "rank", about->device);
	}
	if (about->intake.said)
		write_intake(json, &about->intake);
	if (about->ranks) {
		json_open_object(json, "pipeline");
		json_write_integer(json, "ranks", about->ranks);
		json_write_integer(json, "rank", about->rank);
		json_close(json);
	}
}

/* ---- records ---- */

static void write_native_write_tensor(const struct graph *graph, const struct tensor *tensor, struct json *json)
{
	begin_record(json, "tensor");
	json_write_text(json, "id", tensor->name);
	if (tensor->has_bytes)
		json_write_integer(json, "bytes", tensor->bytes);
	if (tensor->has_dtype)
		json_write_text(json, "dtype", dtype_names[tensor->dtype]);
	if (tensor->has_shape) {
		json_open_array(json, "shape");
		FOR_INT(i, tensor->dims)
			json_write_integer(json, NULL, tensor->shape[i]);
		json_close(json);
	}
	json_write_text(json, "kind", kind_names[tensor->kind]);
	if (tensor->alias != NONE)
		json_write_text(json, "alias", graph->tensor[tensor->alias].name);
	if (tensor->has_address)
		json_write_integer(json, "address", tensor->address);
	native_tensor_members(tensor, json);
	if (graph->line[0] && tensor->grows)
		write_tensor_growth(tensor, json);
	json_end(json);
}

static void tensor_names(
	const struct graph *graph, const struct csr *rows, uint32_t op, const char *key, struct json *json)
{
	json_open_array(json, key);
	FOR_ITEMS(row, rows, op)
		json_write_text(json, NULL, graph->tensor[row].name);
	json_close(json);
}

static void write_native_write_inplace(const struct graph *graph, uint32_t id, struct json *json)
{
	uint32_t begin = graph->inplace_start[id], end = graph->inplace_start[id + 1];
	if (begin == end)
		return;
	json_open_array(json, "inplace");
	FOR_FROM(i, begin, end) {
		uint32_t out = graph->inplace[i].out;
		json_open_array(json, NULL);
		json_write_text(json, NULL, out == NONE ? NULL : graph->tensor[out].name);
		json_write_text(json, NULL, graph->tensor[graph->inplace[i].in].name);
		json_close(json);
	}
	json_close(json);
}

static void write_after(const struct graph *graph, uint32_t id, struct json *json)
{
	if (csr_length(&graph->after, id) == 0)
		return;
	json_open_array(json, "after");
	FOR_ITEMS(item, &graph->after, id)
		json_write_text(json, NULL, graph->op[item].name);
	json_close(json);
}

static void write_native_write_op(const struct graph *graph, uint32_t id, struct json *json)
{
	const struct op *op = &graph->op[id];
	begin_record(json, "op");
	json_write_text(json, "id", op->name);
	json_write_text(json, "op", op->type);
	if (op->has_phase)
		json_write_text(json, "phase", phase_names[op->phase]);
	if (op->has_module)
		json_write_text(json, "mod", op->module);
	tensor_names(graph, &graph->reads, id, "in", json);
	tensor_names(graph, &graph->writes, id, "out", json);
	if (op->flops >= 0)
		json_write_integer(json, "flops", op->flops);
	if (op->has_workspace)
		json_write_integer(json, "workspace", op->workspace);
	write_native_write_inplace(graph, id, json);
	write_after(graph, id, json);
	native_op_members(op, json);
	if (graph->line[0] && op->grows)
		write_op_growth(op->grows, json);
	json_end(json);
}

bool native_write(const struct graph *graph, FILE *stream)
{
	struct json json = { .stream = stream };
	begin_record(&json, "graph");
	json_write_integer(&json, "v", 1);
	json_write_text(&json, "name", graph->name);
	json_write_known(&json, "source", graph->source);
	native_graph_members(graph, &json);
	json_end(&json);
	FOR(id, graph->tensors)
		write_native_write_tensor(graph, &graph->tensor[id], &json);
	FOR(id, graph->ops)
		write_native_write_op(graph, id, &json);
	begin_record(&json, "end");
	json_write_integer(&json, "tensors", graph->tensors);
	json_write_integer(&json, "ops", graph->ops);
	json_end(&json);
	return graph->other ? native_write(graph->other, stream) : !ferror(stream);
}
