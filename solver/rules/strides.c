/* strides.c: PyTorch's memory layouts, as far as views depend on them.
 *
 * A view is possible when the operand's strides allow it (ATen's computeStride). Extents of 1 allow much: a
 * transposed tensor of batch 1 can often be viewed where one of batch 2 can't, and `reshape` copies. Layouts of
 * results: views have what follows from their operand; elementwise results keep the order of their operand's
 * strides; images whose channels lie innermost keep them there through convolutions, pools and norms; all others
 * are contiguous. */

#include "form.h"
#include "strides.h"

enum { GIVEN, OTHER, VARIANTS };

struct layouts {
	const struct graph *graph;
	const uint32_t *dim_start;
	const int64_t *shape[VARIANTS];
	int64_t *stride[VARIANTS];
	struct binding binding;
};

static int strides_dims(const struct layouts *layouts, uint32_t tensor)
{
	return (int)(layouts->dim_start[tensor + 1] - layouts->dim_start[tensor]);
}

static void contiguous(const int64_t *shape, int dims, int64_t *stride)
{
	int64_t step = 1;
	for (int d = dims; d-- > 0;) {
		stride[d] = step;
		step *= LARGER(shape[d], 1);
	}
}

/* Strides of a view of `shape` with extents `wanted`, or false: a copy is needed. As ATen's computeStride: runs of
 * dims that lie in memory as one are found from the innermost outwards, and the wanted dims are fitted into them. */
static bool view_strides(
	const int64_t *shape, const int64_t *stride, int dims, const int64_t *wanted, int wanted_dims, int64_t *result)
{
	int64_t elements = 1;
	FOR_INT(d, dims)
		elements *= shape[d];
	if (elements == 0 || dims == 0) {
		contiguous(wanted, wanted_dims, result);
		return true;
	}
	int at = wanted_dims - 1;
	int64_t base = stride[dims - 1], run = 1, fitted = 1;
	for (int d = dims; d-- > 0;) {
		run *= shape[d];
		if (d > 0 && (shape[d - 1] == 1 || stride[d - 1] == run * base))
			continue;
		while (at >= 0 && (fitted < run || wanted[at] == 1)) {
			result[at] = fitted * base;
			fitted *= wanted[at--];
		}
		if (fitted != run)
			return false;
		if (d > 0) {
			base = stride[d - 1];
			run = fitted = 1;
		}
	}
	return at == -1;
}

/* Dense strides with the dims in the order of other strides, the largest outermost. */
static void same_order(const int64_t *shape, const int64_t *model, int dims, int64_t *stride)
{
	int order[DIMS_MAX];
	FOR_INT(d, dims) {
		int at = d;
		for (; at > 0; at--) {
			int above = order[at - 1];
			if (shape[d] == 1 || shape[above] == 1 || model[d] == 0 || model[above] == 0 || model[above] >= model[d])
				break;
			order[at] = above;
		}
		order[at] = d;
	}
	int64_t step = 1;
	for (int i = dims; i-- > 0;) {
		stride[order[i]] = step;
		step *= LARGER(shape[order[i]], 1);
	}
}

/* Each result dim has the stride of the operand dim that carries the same factor. */
static void by_factor(const struct layouts *layouts, const int64_t *operand, uint32_t position, int64_t *result)
{
	const struct binding *binding = &layouts->binding;
	uint32_t first = binding->dim_start[0], start = binding->dim_start[position];
	FOR(i, binding_dims(binding, position)) {
		result[i] = 0;
		FOR(j, binding_dims(binding, 0))
			if (binding->part[binding->dim[first + j].first] == binding->part[binding->dim[start + i].first])
				result[i] = operand[j];
	}
}

/* Dims keep their place, counted from the innermost; a repeated one has stride 0. */
static void strides_by_place(const int64_t *shape, const int64_t *operand, int dims, const int64_t *result_shape,
	int64_t *result, int result_dims)
{
	int lead = result_dims - dims;
	FOR_INT(d, result_dims)
		result[d] = d < lead || (shape[d - lead] == 1 && result_shape[d] != 1) ? 0 : operand[d - lead];
}

/* The layout of one result of a view op. False: a copy is needed. */
static bool view(const struct layouts *layouts, enum structure structure, uint32_t operand, uint32_t result,
	uint32_t position, int variant)
{
	uint32_t from = layouts->dim_start[operand], to = layouts->dim_start[result];
	int dims = strides_dims(layouts, operand), result_dims = strides_dims(layouts, result);
	const int64_t *shape = layouts->shape[variant] + from, *stride = layouts->stride[variant] + from;
	const int64_t *wanted = layouts->shape[variant] + to;
	int64_t *target = layouts->stride[variant] + to;
	switch (structure) {
	case RESHAPE:
		return view_strides(shape, stride, dims, wanted, result_dims, target);
	case PERMUTE: case SELECT: case UNBIND: case EINSUM:
		by_factor(layouts, stride, position, target);
		return true;
	case SLICE: case SPLIT: case EXPAND:
		strides_by_place(shape, stride, dims, wanted, target, result_dims);
		return true;
	default:
		contiguous(wanted, result_dims, target);
		return true;
	}
}

/* The operand whose layout an elementwise result takes: the first of the result's shape, NONE: none. */
static uint32_t model_operand(
	const struct layouts *layouts, const struct parsed_rule *parsed, uint32_t op, uint32_t result)
{
	const struct graph *graph = layouts->graph;
	bool elementwise = parsed && parsed->form && parsed->form->slot[0].repeated &&
		parsed->form->slot[0].dim[0].kind == DIM_BATCH;
	FOR_ITEMS(t, &graph->reads, op) {
		uint32_t start = layouts->dim_start[t];
		int dims = strides_dims(layouts, t);
		bool in_place = graph->tensor[t].storage == graph->tensor[result].storage;
		if ((elementwise || in_place) && dims == strides_dims(layouts, result) &&
			memcmp(layouts->shape[GIVEN] + start, layouts->shape[GIVEN] + layouts->dim_start[result],
				(size_t)dims * sizeof(int64_t)) == 0)
			return t;
	}
	return NONE;
}

/* The dims of an image with its channels innermost: from the innermost outwards. */
static int channels_last(int dims, int order[DIMS_MAX])
{
	int count = 0;
	order[count++] = 1;
	for (int d = dims; d-- > 2;)
		order[count++] = d;
	order[count++] = 0;
	return count;
}

/* As ATen's is_channels_last_strides. */
static bool lies_channels_last(const int64_t *shape, const int64_t *stride, int dims)
{
	int order[DIMS_MAX];
	int64_t least = 0;
	channels_last(dims, order);
	if (stride[1] == 0)
		return false;
	FOR_INT(i, dims) {
		int d = order[i];
		if (shape[d] == 0 || stride[d] < least || (d == 0 && least == stride[1]))
			return false;
		least = stride[d] * LARGER(shape[d], 1);
	}
	return true;
}

/* Whether an op's result is an image with its channels innermost, as its first operand. The factors of an op on images
 * begin with samples, channels and space. */
static bool is_image(const struct layouts *layouts, const struct parsed_rule *parsed, uint32_t op, uint32_t result)
{
	const struct graph *graph = layouts->graph;
	const struct form_slot *slot = parsed && parsed->form ? &parsed->form->slot[0] : NULL;
	if (!slot || slot->count != 3 || !slot->dim[2].space || slot->dim[1].space || graph_operands(graph, op) == 0)
		return false;
	uint32_t operand = graph_operand(graph, op, 0), start = layouts->dim_start[operand];
	int dims = strides_dims(layouts, operand);
	bool image = (dims == 4 || dims == 5) && dims == strides_dims(layouts, result);
	return image && lies_channels_last(layouts->shape[GIVEN] + start, layouts->stride[GIVEN] + start, dims);
}

static void lay_out_image(const struct layouts *layouts, uint32_t result)
{
	uint32_t to = layouts->dim_start[result];
	int order[DIMS_MAX], dims = channels_last(strides_dims(layouts, result), order);
	FOR_INT(v, VARIANTS) {
		int64_t step = 1;
		FOR_INT(i, dims) {
			layouts->stride[v][to + (uint32_t)order[i]] = step;
			step *= layouts->shape[v][to + (uint32_t)order[i]];
		}
	}
}

static void strides_lay_out(const struct layouts *layouts, uint32_t result, uint32_t model)
{
	uint32_t to = layouts->dim_start[result];
	int dims = strides_dims(layouts, result);
	FOR_INT(v, VARIANTS) {
		const int64_t *shape = layouts->shape[v] + to;
		if (model == NONE)
			contiguous(shape, dims, layouts->stride[v] + to);
		else if (layouts->graph->tensor[model].storage == layouts->graph->tensor[result].storage)
			memcpy(layouts->stride[v] + to, layouts->stride[v] + layouts->dim_start[model], (size_t)dims * sizeof(int64_t));
		else
			same_order(shape, layouts->stride[v] + layouts->dim_start[model], dims, layouts->stride[v] + to);
	}
}

/* Returns whether the op needs a copy at the other extents only. */
static bool visit_view(struct layouts *layouts, enum structure structure, uint32_t op)
{
	const struct graph *graph = layouts->graph;
	uint32_t operand = graph_operand(graph, op, 0), position = graph_operands(graph, op);
	bool copied = false;
	FOR_ITEMS(result, &graph->writes, op) {
		bool possible[VARIANTS];
		FOR_INT(v, VARIANTS)
			possible[v] = view(layouts, structure, operand, result, position, v);
		uint32_t to = layouts->dim_start[result];
		FOR_INT(v, VARIANTS)
			if (!possible[GIVEN] || !possible[v])
				contiguous(layouts->shape[v] + to, strides_dims(layouts, result), layouts->stride[v] + to);
		copied |= possible[GIVEN] && !possible[OTHER];
		position++;
	}
	return copied;
}

static enum status strides_visit(struct layouts *layouts, const struct rules *rules, uint32_t op, bool *copied)
{
	const struct graph *graph = layouts->graph;
	const struct rule *rule = rules_find(rules, graph->op[op].type);
	const struct parsed_rule *parsed = (const struct parsed_rule *)rule;
	bool is_view = rule && rule->cost == COST_NONE && graph_operands(graph, op) > 0;
	if (is_view && parsed->structure != RESHAPE) {
		enum status status = rule_bind_op(rule, graph, op, &layouts->binding, NULL);
		if (status == NO_MEMORY)
			return status;
		is_view = status == OK;
	}
	if (is_view) {
		*copied = visit_view(layouts, parsed->structure, op);
		return OK;
	}
	FOR_ITEMS(result, &graph->writes, op) {
		uint32_t model = model_operand(layouts, parsed, op, result);
		if (model == NONE && is_image(layouts, parsed, op, result))
			lay_out_image(layouts, result);
		else
			strides_lay_out(layouts, result, model);
	}
	return OK;
}

enum status strides_find_copies(const struct graph *graph, const struct rules *rules, const uint32_t *dim_start,
	const int64_t *shape, bool *copied)
{
	OWN(arena) arena = { 0 };
	struct layouts layouts = { .graph = graph, .dim_start = dim_start };
	int64_t *given;
	NEED(ROOMS(&arena, dim_start[graph->tensors], given, layouts.stride[GIVEN], layouts.stride[OTHER]));
	layouts.shape[GIVEN] = given;
	layouts.shape[OTHER] = shape;
	enum status status = OK;
	FOR(t, graph->tensors) {
		uint32_t dims = dim_start[t + 1] - dim_start[t];
		if (dims > 0)
			COPY(given + dim_start[t], graph->tensor[t].shape, dims);
		for (int v = 0; v < VARIANTS && graph->tensor[t].writer == NONE; v++)
			contiguous(layouts.shape[v] + dim_start[t], (int)dims, layouts.stride[v] + dim_start[t]);
	}
	FOR_WHILE(op, graph->ops, status == OK)
		status = strides_visit(&layouts, rules, op, &copied[op]);
	binding_free(&layouts.binding);
	return status;
}
