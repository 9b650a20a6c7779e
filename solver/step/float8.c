/* float8.c: casts in front of products. */

#include "recompute.h"
#include "train.h"

struct casting {
	const struct graph *graph;
	struct build build;
	uint32_t *tensor;  /* [tensors] the draft's tensor */
	uint32_t *op;      /* [ops] the draft's op */
	uint32_t *cast[2]; /* [tensors] the 8-bit copy that forward and other ops read, or NONE */
};

/* A matrix; of grouped products, one for each expert. */
static bool is_wide(const struct tensor *tensor, bool grouped)
{
	return tensor->dims == (grouped ? 3 : 2) &&
		(tensor->dtype == DTYPE_BF16 || tensor->dtype == DTYPE_F16 || tensor->dtype == DTYPE_F32);
}

static bool is_grouped(const struct rules *rules, const char *type)
{
	const struct rule *rule = rules_find(rules, type);
	return rule && rule->cost == COST_GROUPED;
}

/* A product of two matrices, in a layer; of two for each expert. */
static bool float8_is_linear(const struct graph *graph, const struct rules *rules, uint32_t op)
{
	const struct rule *rule = rules_find(rules, graph->op[op].type);
	uint32_t matrices = 0;
	if (!rule || !rule_contracts(rule) || graph_results(graph, op) != 1 || !module_in_layer(graph->op[op].module))
		return false;
	FOR_ITEMS(read, &graph->reads, op)
		matrices += is_wide(&graph->tensor[read], rule->cost == COST_GROUPED);
	return matrices == 2;
}

/* A gradient: made after the forward pass, and not what runs again. */
static bool float8_is_gradient(const struct graph *graph, uint32_t tensor)
{
	uint32_t writer = graph->tensor[graph_home(graph, tensor)->root].writer;
	return writer != NONE && graph->op[writer].phase != PHASE_FORWARD && !graph->op[writer].recomputed;
}

/* The 8-bit copy of an operand, made where there is none yet. */
static uint32_t cast_of(struct casting *casting, uint32_t op, uint32_t tensor)
{
	const struct graph *graph = casting->graph;
	struct build *build = &casting->build;
	uint32_t *copy = &casting->cast[graph->op[op].phase != PHASE_FORWARD][tensor];
	if (*copy != NONE)
		return *copy;
	build_beside(build, &graph->op[op]);
	build_op(build, "aten._to_copy.default", IN(casting->tensor[tensor]));
	*copy = build_output(build, float8_is_gradient(graph, tensor) ? DTYPE_F8E5M2 : DTYPE_F8E4M3,
		build_shape(build, casting->tensor[tensor]));
	return *copy;
}

/* The product with its operands in 8 bits: they stand in for the others while the op is copied. */
static uint32_t float8_narrow(struct casting *casting, uint32_t op)
{
	const struct graph *graph = casting->graph;
	bool grouped = is_grouped(casting->build.rules, graph->op[op].type);
	uint32_t wide[8], which[8], count = 0;
	FOR_ITEMS(tensor, &graph->reads, op) {
		if (!is_wide(&graph->tensor[tensor], grouped) || count == 8)
			continue;
		uint32_t copy = cast_of(casting, op, tensor);
		which[count] = tensor;
		wide[count++] = casting->tensor[tensor];
		casting->tensor[tensor] = copy;
	}
	uint32_t made = casting->build.status == OK ? build_copy_op(&casting->build, graph, op, casting->tensor) : NONE;
	while (count-- > 0)
		casting->tensor[which[count]] = wide[count];
	return made;
}

static void float8_rewrite(struct casting *casting, const bool *linear)
{
	const struct graph *graph = casting->graph;
	struct build *build = &casting->build;
	build_copy_tensors(build, graph, casting->tensor);
	FOR_INT(i, 2)
		FILL_NONE(casting->cast[i], graph->tensors);
	FOR_WHILE(op, graph->ops, build->status == OK)
		casting->op[op] = linear[op] ? float8_narrow(casting, op) : build_copy_op(build, graph, op, casting->tensor);
	build_finish(build);
	build_copy_control(build, graph, casting->op);
}

struct graph *float8_apply(struct graph *graph, const struct rules *rules, uint32_t *changed, struct error *error)
{
	OWN(arena) arena = { 0 };
	struct casting casting = { .graph = graph, .build = { .source = graph, .rules = rules } };
	bool *MAKE_IN(&arena, linear, graph->ops);
	*changed = 0;
	FOR_WHILE(op, graph->ops, linear)
		*changed += linear[op] = float8_is_linear(graph, rules, op);
	if (linear && *changed == 0)
		return graph_retain(graph);
	if (linear && ROOMS(&arena, graph->tensors, casting.cast[0], casting.cast[1]) &&
		build_copy_begin(&casting.build, graph, &arena, &casting.tensor, &casting.op))
		float8_rewrite(&casting, linear);
	return build_like(&casting.build, graph, error);
}
