/* adapters.c: LoRA (Hu et al. 2021) beside frozen weights as peft writes it, weights of fewer bits (QLoRA, Dettmers et
 * al. 2023) as bitsandbytes keeps them. */

#include "train.h"

enum { BLOCK = 64, BLOCKS = 256 }; /* numbers with a scale of 8 bits; such scales with one in f32 */

struct adapting {
	const struct graph *graph;
	const struct rules *rules;
	const struct adapter_options *options;
	struct build build;
	uint32_t *tensor, *op; /* [tensors], [ops] the draft's; of a packed weight the last unpacked */
	uint32_t *kept;        /* [tensors] a packed weight as it is kept */
	uint32_t *weight;      /* [ops] the frozen weight, a root, of a linear layer's product; NONE */
	bool *packed;          /* [tensors] a weight that linear layers alone read */
};

bool adapter_name(const char *name)
{
	return strstr(name, ".lora_") != NULL;
}

/* The parameter, a matrix, that a product reads; NONE. A router, which chooses experts, is no linear layer. */
static uint32_t adapters_weight(const struct adapting *adapting, uint32_t op)
{
	const struct graph *graph = adapting->graph;
	const struct rule *rule = rules_find(adapting->rules, graph->op[op].type);
	FOR_ITEMS(read, &graph->reads, op) {
		uint32_t root = graph_home(graph, read)->root;
		const struct tensor *record = &graph->tensor[root];
		if (rule && rule_contracts(rule) && record->kind == KIND_PARAMETER && record->dims == 2 &&
			graph->tensor[read].dims == 2 && !adapter_name(record->name) && !strstr(record->name, "gate.weight"))
			return root;
	}
	return NONE;
}

/* Of all but the output layer, whose product is the forward pass's last. Returns how many get an adapter. */
static uint32_t adapters_find(struct adapting *adapting)
{
	const struct graph *graph = adapting->graph;
	uint32_t last = NONE, count = 0;
	FOR(op, graph->ops) {
		uint32_t weight = adapting->weight[op] = adapters_weight(adapting, op);
		last = weight != NONE && graph->op[op].phase == PHASE_FORWARD ? weight : last;
		if (weight != NONE)
			adapting->packed[weight] = true;
	}
	FOR(op, graph->ops) {
		uint32_t *weight = &adapting->weight[op];
		*weight = *weight == last ? NONE : *weight;
		FOR_ITEMS(read, &graph->reads, op) /* a table that is a layer's weight, too, stays as it is */
			if (*weight == NONE && !graph_is_view(graph, op))
				adapting->packed[graph_home(graph, read)->root] = false;
		const char *module = graph->op[op].module;
		if (adapting->options->attention && !strstr(module, "attn") && !strstr(module, "ttention"))
			*weight = NONE;
		count += *weight != NONE;
	}
	return count;
}

/* A tensor beside a weight, "h.0.attn.c_fc.lora_A.weight", made where there is none. */
static uint32_t adapters_leaf(struct adapting *adapting, uint32_t weight, const char *word, enum kind kind,
	enum dtype dtype, struct shape shape)
{
	const char *name = adapting->graph->tensor[weight].name, *dot = strrchr(name, '.');
	char text[512];
	PRINT_TO(text, "%.*s.%s", (int)SMALLER(dot ? (size_t)(dot - name) : strlen(name), 480), name, word);
	uint32_t found = draft_find_tensor(adapting->build.draft, text);
	return found != NONE ? found : build_leaf(&adapting->build, text, kind, dtype, shape);
}

static uint32_t adapters_product(struct build *build, uint32_t x, uint32_t weight)
{
	struct shape rows = build_shape(build, x), matrix = build_shape(build, weight);
	uint32_t turned = build_reshape(build, "aten.t.default", weight, SHAPE(matrix.dim[1], matrix.dim[0]));
	build_op(build, "aten.mm.default", IN(x, turned));
	return build_output(build, build_dtype(build, x), SHAPE(rows.dim[0], matrix.dim[0]));
}

/* The product, and what two small ones of the same rows add to it, scaled, in the format that it had. */
static uint32_t adapt(struct adapting *adapting, uint32_t op)
{
	const struct graph *graph = adapting->graph;
	struct build *build = &adapting->build;
	uint32_t weight = adapting->weight[op], made = graph_result(graph, op, 0), x = NONE,
		result = adapting->tensor[made];
	struct shape shape = build_shape(build, result);
	FOR_ITEMS(read, &graph->reads, op)
		if (graph->tensor[read].dims == 2 && graph_home(graph, read)->root != weight)
			x = adapting->tensor[read];
	build_op(build, graph->op[op].type, NULL, 0);
	FOR_ITEMS(item, &graph->reads, op)
		build_read(build, adapting->tensor[item]);
	uint32_t plain = build_output(build, build_dtype(build, result), shape), copy = build->op;
	bool narrow = build_dtype(build, x) != DTYPE_F32;
	if (narrow) {
		build_op(build, "aten._to_copy.default", IN(x));
		x = build_output(build, DTYPE_F32, build_shape(build, x));
	}
	x = adapters_product(build, x, adapters_leaf(adapting, weight, "lora_A.weight", KIND_PARAMETER, DTYPE_F32,
		SHAPE(adapting->options->rank, build_shape(build, x).dim[1])));
	x = adapters_product(build, x, adapters_leaf(adapting, weight, "lora_B.weight", KIND_PARAMETER, DTYPE_F32,
		SHAPE(shape.dim[1], adapting->options->rank)));
	x = build_map(build, "aten.mul.Tensor", IN(x));
	build_op(build, "aten.add.Tensor", IN(plain, x));
	if (narrow)
		build_op(build, "aten._to_copy.default", IN(build_output(build, DTYPE_F32, shape)));
	build_write(build, result);
	return copy;
}

/* A tensor that is a weight or a view of it, made from what is kept under the weight's name. */
static uint32_t unpack(struct adapting *adapting, uint32_t tensor)
{
	const struct tensor *record = &adapting->graph->tensor[tensor];
	struct build *build = &adapting->build;
	struct shape shape = { .dims = record->dims };
	COPY(shape.dim, record->shape, record->dims);
	if (record->writer != NONE)
		return build_reshape(build, adapting->graph->op[record->writer].type, unpack(adapting,
			graph_operand(adapting->graph, record->writer, 0)), shape);
	uint32_t scale, packed = adapting->kept[tensor];
	if (adapting->options->base == BASE_NF4) {
		int64_t blocks = (tensor_elements(record) + BLOCK - 1) / BLOCK;
		scale = adapters_leaf(adapting, tensor, "scale", KIND_BUFFER, DTYPE_U8, SHAPE(blocks));
		build_op(build, "tidemark.unpack_blocks.default", IN(scale, adapters_leaf(adapting, tensor, "scale_of_scales",
			KIND_BUFFER, DTYPE_F32, SHAPE((blocks + BLOCKS - 1) / BLOCKS))));
		scale = build_output(build, DTYPE_F32, SHAPE(blocks));
		scale = build_map_inplace(build, "aten.add_.Tensor", IN(scale, adapters_leaf(adapting, tensor, "offset",
			KIND_BUFFER, DTYPE_F32, SCALAR)));
		build_op(build, "tidemark.unpack_nf4.default", IN(packed, scale));
	} else {
		scale = adapters_leaf(adapting, tensor, "scale", KIND_BUFFER, DTYPE_F32, SHAPE(shape.dim[0], 1));
		build_op(build, "tidemark.unpack_rows", IN(packed, scale));
	}
	return build_output(build, (enum dtype)record->dtype, shape);
}

/* The tensors, weights in the format in which they are kept. */
static void adapters_copy_tensors(struct adapting *adapting, bool pack)
{
	const struct graph *graph = adapting->graph;
	enum adapter_base base = adapting->options->base;
	FOR_WHILE(t, graph->tensors, adapting->build.status == OK) {
		struct tensor record = graph->tensor[t];
		const int64_t halves[] = { (tensor_elements(&record) + 1) / 2, 1 };
		adapting->packed[t] &= pack;
		if (adapting->packed[t]) {
			record.dtype = base == BASE_NF4 ? DTYPE_U8 : base == BASE_INT8 ? DTYPE_I8 : DTYPE_F8E4M3;
			record.shape = base == BASE_NF4 ? halves : record.shape;
			record.bytes = base == BASE_NF4 ? halves[0] : tensor_elements(&graph->tensor[t]);
		}
		adapting->kept[t] = adapting->tensor[t] = build_add_tensor(&adapting->build, &record);
	}
}

static void adapters_write(struct adapting *adapting, bool pack)
{
	const struct graph *graph = adapting->graph;
	struct build *build = &adapting->build;
	adapters_copy_tensors(adapting, pack);
	FOR_WHILE(op, graph->ops, build->status == OK) {
		bool view = graph_is_view(graph, op), keeps = true;
		build_beside(build, &graph->op[op]);
		FOR_ITEMS(read, &graph->reads, op)
			if (adapting->packed[graph_home(graph, read)->root]) {
				keeps &= !view;
				adapting->tensor[read] = view ? adapting->tensor[read] : unpack(adapting, read);
			}
		adapting->op[op] = !keeps ? NONE : adapting->weight[op] != NONE && !pack ? adapt(adapting, op)
			: build_copy_op(build, graph, op, adapting->tensor);
	}
	build_finish(build);
	build_copy_control(build, graph, adapting->op);
}

struct graph *adapters_apply(const struct graph *graph, const struct rules *rules,
	const struct adapter_options *options, bool pack, struct error *error)
{
	OWN(arena) arena = { 0 };
	struct adapting adapting = { .graph = graph, .rules = rules, .options = options,
		.build = { .source = graph, .rules = rules } };
	struct build *build = &adapting.build;
	if (!(build_copy_begin(build, graph, &arena, &adapting.tensor, &adapting.op) &&
		ROOMS(&arena, graph->tensors, adapting.kept, adapting.packed) && ROOM(&arena, adapting.weight, graph->ops))) {
		build->status = NO_MEMORY;
	} else if (adapters_find(&adapting) == 0) {
		draft_free(build->draft);
		refuse(error, "no linear layer%s to adapt", options->attention ? " of attention" : "");
		return NULL;
	} else {
		adapters_write(&adapting, pack);
	}
	return build_like(build, graph, error);
}

bool adapters_of_peft(const struct graph *graph)
{
	FOR(op, graph->ops)
		if (graph->op[op].module && strstr(graph->op[op].module, ".lora_A."))
			return true;
	return false;
}
