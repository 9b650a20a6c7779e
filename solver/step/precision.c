/* precision.c: the number format of parameters and activations.
 *
 * Every floating-point tensor changes its dtype; what a few ops compute in f32 (the island) is cast on the way in
 * and out. An island's result that others read has two tensors: the f32 one for the island, and under its old name
 * the cast one, so that views of it need no care. */

#include "build.h"
#include "precision.h"

#define X(id, name) name,
const char *const precision_names[PRECISION_COUNT] = { PRECISIONS(X) };
#undef X

struct conversion {
	const struct graph *graph;
	const struct rules *rules;
	enum precision precision;
	enum dtype dtype; /* the format to come */
	struct build build;
	uint32_t *tensor; /* [tensors] the draft's tensor */
	uint32_t *wide;   /* [tensors] its f32 form for the island, or NONE */
	uint32_t *op;     /* [ops] the draft's op */
};

/* Ops that mixed precision computes in f32. */
static bool in_island(const struct conversion *conversion, uint32_t op)
{
	return (conversion->precision == PRECISION_MIXED || conversion->precision == PRECISION_WIDE_LOSS) &&
		(rules_traits(conversion->rules, conversion->graph->op[op].type) & TRAIT_WIDE);
}

/* A statistic: any result of a norm but the first. */
static bool is_statistic(const struct conversion *conversion, uint32_t tensor)
{
	const struct graph *graph = conversion->graph;
	uint32_t writer = graph->tensor[tensor].writer;
	return writer != NONE && (rules_traits(conversion->rules, graph->op[writer].type) & TRAIT_STATISTICS)
		&& graph_result(graph, writer, 0) != tensor;
}

/* A buffer that an op writes. */
static bool is_running(const struct graph *graph, const bool *written, uint32_t tensor)
{
	const struct storage *storage = &graph->storage[graph->tensor[tensor].storage];
	return storage->kind == KIND_BUFFER && written[graph->tensor[tensor].storage];
}

static bool convertible(enum dtype dtype)
{
	return dtype == DTYPE_F32 || dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

/* Copies the tensors in their new format. Bytes follow the dtype, so no shape is needed. */
static enum status convert_tensors(struct conversion *conversion, const bool *written, struct error *error)
{
	const struct graph *graph = conversion->graph;
	FOR_WHILE(t, graph->tensors, conversion->build.status == OK) {
		struct tensor tensor = graph->tensor[t];
		conversion->wide[t] = NONE;
		if (!tensor.has_dtype && tensor.bytes > 0 && graph->storage[tensor.storage].kind != KIND_OPTIMIZER)
			return refuse(error, "precision can't be changed: the dtype of \"%.200s\" is unknown", tensor.name);
		if (convertible(tensor.dtype) && tensor.kind != KIND_OPTIMIZER && tensor.kind != KIND_OUTPUT &&
		    !is_statistic(conversion, t) && !is_running(graph, written, t)) {
			tensor.bytes = tensor.bytes * dtype_bits[conversion->dtype] / dtype_bits[tensor.dtype];
			tensor.dtype = (uint8_t)conversion->dtype;
		}
		conversion->tensor[t] = build_add_tensor(&conversion->build, &tensor);
	}
	return OK;
}

/* The f32 form of a tensor that the island reads: the island's own result, or a cast. */
static uint32_t widened(struct conversion *conversion, uint32_t tensor)
{
	struct build *build = &conversion->build;
	uint32_t id = conversion->tensor[tensor];
	enum dtype dtype = build_dtype(build, id);
	if (conversion->wide[tensor] != NONE || !convertible(dtype) || dtype == DTYPE_F32)
		return conversion->wide[tensor] != NONE ? conversion->wide[tensor] : id;
	build_op(build, "aten._to_copy.default", IN(id));
	return conversion->wide[tensor] = build_output(build, DTYPE_F32, build_shape(build, id));
}

static bool read_outside(const struct conversion *conversion, uint32_t tensor)
{
	const struct graph *graph = conversion->graph;
	uint32_t storage = graph->tensor[tensor].storage;
	FOR_ITEMS(user, &graph->users, storage)
		if (!in_island(conversion, user))
			return true;
	return false;
}

/* An op of the island, with casts before and after. */
static uint32_t island_op(struct conversion *conversion, uint32_t op)
{
	const struct graph *graph = conversion->graph;
	struct build *build = &conversion->build;
	build_beside(build, &graph->op[op]);
	FOR_ITEMS(read, &graph->reads, op)
		widened(conversion, read);
	build_count_flops(build); /* of the last cast */
	uint32_t copy = build->op = build->status == OK ? build_add_op(build, &graph->op[op]) : NONE;
	build->outputs = 0;
	FOR_ITEMS(item, &graph->reads, op)
		THEN(build->status, draft_read(build->draft, copy, widened(conversion, item)));
	FOR_ITEMS(tensor, &graph->writes, op) {
		uint32_t id = conversion->tensor[tensor];
		bool narrow = convertible(build_dtype(build, id)) && build_dtype(build, id) != DTYPE_F32;
		if (narrow && read_outside(conversion, tensor)) {
			conversion->wide[tensor] = build_output(build, DTYPE_F32, build_shape(build, id));
			continue;
		}
		if (narrow && build->status == OK) {
			struct tensor *record = draft_tensor_at(build->draft, id);
			record->bytes = record->bytes * dtype_bits[DTYPE_F32] / dtype_bits[record->dtype];
			record->dtype = DTYPE_F32;
		}
		THEN(build->status, draft_write(build->draft, copy, id));
	}
	FOR_ITEMS(written, &graph->writes, op)
		if (conversion->wide[written] != NONE) {
			build_op(build, "aten._to_copy.default", IN(conversion->wide[written]));
			build_write(build, conversion->tensor[written]);
		}
	return copy;
}

/* What fails while the step is written is in build->status. */
static enum status precision_convert(struct conversion *conversion, struct error *error)
{
	const struct graph *graph = conversion->graph;
	struct build *build = &conversion->build;
	OWN(arena) arena = { 0 };
	bool *written;
	if (!(build_copy_begin(build, graph, &arena, &conversion->tensor, &conversion->op) &&
		ROOM(&arena, written, graph->storages) && ROOM(&arena, conversion->wide, graph->tensors)))
		return fail_memory(error);
	FOR(i, graph->inplace_start[graph->ops])
		written[graph->tensor[graph->inplace[i].in].storage] = true;
	TRY(convert_tensors(conversion, written, error));
	FOR_WHILE(op, graph->ops, build->status == OK)
		conversion->op[op] = in_island(conversion, op) ? island_op(conversion, op)
			: build_copy_op(build, graph, op, conversion->tensor);
	build_finish(build);
	build_copy_control(build, graph, conversion->op);
	return OK;
}

struct graph *precision_apply(
	const struct graph *graph, const struct rules *rules, enum precision precision, struct error *error)
{
	if (precision == PRECISION_AUTOCAST)
		return autocast_apply(graph, rules, error);
	static const enum dtype formats[PRECISION_COUNT + 1] = {
		[PRECISION_FP32] = DTYPE_F32,
		[PRECISION_BF16] = DTYPE_BF16,
		[PRECISION_FP16] = DTYPE_F16,
		[PRECISION_MIXED] = DTYPE_F16,
		[PRECISION_WIDE_LOSS] = DTYPE_BF16,
	};
	struct conversion conversion = { .graph = graph, .rules = rules, .precision = precision, .dtype = formats[precision],
		.build = { .source = graph, .rules = rules } };
	if (error_set(error, precision_convert(&conversion, error)) == OK)
		return build_like(&conversion.build, graph, error);
	draft_free(conversion.build.draft);
	return NULL;
}
