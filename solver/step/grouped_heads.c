/* grouped_heads.c: finds copies of heads before attention and sums over groups behind it, and writes the graph without
 * them. */

#include "train.h"

#define CHAIN 6

struct grouping {
	const struct graph *graph;
	const struct rules *rules;
	struct csr readers; /* tensor -> ops, once each */
	uint32_t *heads;    /* [tensors] of copies of heads, the tensor that they are copies of; NONE */
	uint32_t
		*instead; /* [tensors] of a sum over groups and its views, the kernel's result that takes its place; NONE */
	uint32_t *like;          /* [tensors] of that result, the sum whose shape it has; NONE */
	bool *grouped, *dropped; /* [ops] a kernel that reads what heads are copies of; an op that is left out */
	bool *source;            /* [tensors] that heads are copies of: kernels read them now */
	uint32_t count;
	struct arena *arena;
};

static const struct tensor *tensor_at(const struct grouping *grouping, uint32_t t)
{
	return &grouping->graph->tensor[t];
}

static int64_t grouped_heads_elements(const struct tensor *tensor)
{
	int64_t count = tensor->shape ? 1 : -1;
	for (int d = 0; d < tensor->dims && count >= 0; d++)
		count *= tensor->shape[d];
	return count;
}

/* The only operand, of an op with one result and nothing written in place; NONE. */
static uint32_t only_operand(const struct graph *graph, uint32_t op)
{
	bool plain = graph_operands(graph, op) == 1 && graph_results(graph, op) == 1 &&
		graph_pairs(graph, op) == 0;
	return plain ? graph_operand(graph, op, 0) : NONE;
}

/* A view, or a copy of all elements. */
static bool only_moves(const struct grouping *grouping, uint32_t op)
{
	const struct rule *rule = rules_find(grouping->rules, grouping->graph->op[op].type);
	return rule && (rule->cost == COST_NONE || (rule->traits & TRAIT_COPY));
}

static bool has_shape(const struct tensor *tensor, const int64_t *shape, int dims)
{
	return tensor->shape && tensor->dims == dims && memcmp(tensor->shape, shape, (size_t)dims * sizeof *shape) == 0;
}

/* The tensor [b, k, t, d] whose heads `copies` [b, k g, t, d] repeats; NONE where it is made otherwise. */
static uint32_t grouped_heads_source_of(const struct grouping *grouping, uint32_t copies)
{
	const struct tensor *wide = tensor_at(grouping, copies);
	uint32_t at = copies;
	bool expanded = false;
	for (int step = 0; step < CHAIN && wide->dims == 4 && wide->shape; step++) {
		uint32_t op = tensor_at(grouping, at)->writer, from = op == NONE ? NONE : only_operand(grouping->graph, op);
		if (from == NONE || !only_moves(grouping, op) || tensor_at(grouping, from)->dtype != wide->dtype ||
			!tensor_at(grouping, from)->shape)
			return NONE;
		const struct tensor *before = tensor_at(grouping, from), *after = tensor_at(grouping, at);
		bool grows = grouped_heads_elements(before) != grouped_heads_elements(after);
		int64_t heads = before->dims == 5 ? before->shape[1] : 0, groups = heads > 0 ? wide->shape[1] / heads : 0;
		const int64_t one[] = { wide->shape[0], heads, 1, wide->shape[2], wide->shape[3] };
		const int64_t each[] = { wide->shape[0], heads, groups, wide->shape[2], wide->shape[3] };
		if (grows &&
			(expanded || groups < 2 || groups * heads != wide->shape[1] || !has_shape(before, one, 5) ||
				!has_shape(after, each, 5)))
			return NONE;
		expanded |= grows;
		at = from;
		const int64_t narrow[] = { wide->shape[0], before->dims == 4 ? before->shape[1] : 0, wide->shape[2], wide->shape[3] };
		if (expanded && has_shape(before, narrow, 4))
			return at;
	}
	return NONE;
}

/* The only op that reads a tensor, or NONE. */
static uint32_t only_reader(const struct grouping *grouping, uint32_t tensor)
{
	return csr_length(&grouping->readers, tensor) == 1 ? csr_at(&grouping->readers, tensor, 0) : NONE;
}

/* The sum over groups that a gradient [b, k g, t, d] goes into, of source's shape: views, one sum, views. chain: the
 * ops. NONE where it goes elsewhere. */
static uint32_t sum_of(
	const struct grouping *grouping, uint32_t gradient, const struct tensor *source, uint32_t *chain, uint32_t *links)
{
	const struct tensor *wide = tensor_at(grouping, gradient);
	const int64_t groups = source->shape[1] > 0 ? wide->shape[1] / source->shape[1] : 0;
	const int64_t each[] = { source->shape[0], source->shape[1], groups, source->shape[2], source->shape[3] };
	uint32_t at = gradient;
	bool summed = false;
	*links = 0;
	while (*links < CHAIN) {
		uint32_t op = only_reader(grouping, at);
		if (op == NONE || only_operand(grouping->graph, op) == NONE || grouping->graph->op[op].phase != PHASE_BACKWARD)
			return NONE;
		uint32_t to = graph_result(grouping->graph, op, 0);
		const struct rule *rule = rules_find(grouping->rules, grouping->graph->op[op].type);
		bool sums = rule && (rule->traits & TRAIT_LINEAR) && rule->cost != COST_NONE &&
			grouped_heads_elements(tensor_at(grouping, to)) * groups == grouped_heads_elements(tensor_at(grouping, at));
		if ((!sums && !(rule && rule->cost == COST_NONE)) ||
			(sums && (summed || !has_shape(tensor_at(grouping, at), each, 5))))
			return NONE;
		chain[(*links)++] = op;
		summed |= sums;
		at = to;
		if (summed && has_shape(tensor_at(grouping, at), source->shape, 4))
			return tensor_at(grouping, at)->dtype == wide->dtype ? at : NONE;
	}
	return NONE;
}

/* The kernel reads keys and values as operands k and k + 1. */
static bool find_sources(
	const struct grouping *grouping, uint32_t op, uint32_t k, uint32_t copies[2], uint32_t source[2])
{
	const struct graph *graph = grouping->graph;
	FOR(i, 2) {
		copies[i] = graph_operand(graph, op, k + i);
		source[i] = grouped_heads_source_of(grouping, copies[i]);
		if (source[i] == NONE)
			return false;
	}
	return tensor_at(grouping, source[0])->shape[1] == tensor_at(grouping, source[1])->shape[1];
}

static void group_kernel(struct grouping *grouping, uint32_t op)
{
	const struct graph *graph = grouping->graph;
	const struct rule *rule = rules_find(grouping->rules, graph->op[op].type);
	bool backward = rule && rule->cost == COST_ATTENTION_BACKWARD;
	uint32_t copies[2], source[2], sum[2], chain[2][CHAIN], links[2];
	if (!rule || (rule->cost != COST_ATTENTION && !backward) || graph_operands(graph, op) < (backward ? 4u : 3u) ||
		(backward && graph_results(graph, op) != 3) ||
		!find_sources(grouping, op, backward ? 2 : 1, copies, source))
		return;
	FOR_WHILE(i, 2, backward) {
		uint32_t gradient = graph_result(graph, op, 1 + i);
		const struct tensor *wide = tensor_at(grouping, gradient);
		bool fits = wide->shape && has_shape(tensor_at(grouping, copies[i]), wide->shape, wide->dims);
		sum[i] = fits ? sum_of(grouping, gradient, tensor_at(grouping, source[i]), chain[i], &links[i]) : NONE;
		if (sum[i] == NONE)
			return;
	}
	grouping->grouped[op] = true;
	grouping->count++;
	FOR(i, 2) {
		grouping->heads[copies[i]] = source[i];
		grouping->source[source[i]] = true;
		if (!backward)
			continue;
		uint32_t gradient = graph_result(graph, op, 1 + i);
		grouping->like[gradient] = sum[i];
		FOR(k, links[i]) {
			uint32_t result = graph_result(graph, chain[i][k], 0);
			grouping->dropped[chain[i][k]] = true;
			if (tensor_at(grouping, result)->storage == tensor_at(grouping, sum[i])->storage)
				grouping->instead[result] = gradient; /* views may be named after the root */
		}
	}
}

/* Copies that nobody reads any more, and what they alone were made of. */
static void drop_unread(struct grouping *grouping)
{
	const struct graph *graph = grouping->graph;
	FOR_DOWN(op, graph->ops) {
		uint32_t result = only_operand(graph, op) == NONE ? NONE : graph_result(graph, op, 0);
		if (result == NONE || csr_length(&grouping->readers, result) == 0 || !only_moves(grouping, op))
			continue;
		bool read = grouping->source[result] || graph_home(graph, result)->live_out, copied = false;
		FOR_ITEMS(reader, &grouping->readers, result) {
			bool past = grouping->grouped[reader] && grouping->heads[result] != NONE;
			read |= !past && !grouping->dropped[reader];
			copied |= past || (grouping->dropped[reader] && graph->op[reader].phase == graph->op[op].phase);
		}
		grouping->dropped[op] |= !read && copied;
	}
}

static bool grouped_heads_find_groups(struct grouping *grouping)
{
	const struct graph *graph = grouping->graph;
	struct arena *arena = grouping->arena;
	if (!(ROOMS(arena, graph->ops, grouping->grouped, grouping->dropped) && ROOMS(arena, graph->tensors, grouping->source,
		grouping->heads, grouping->instead, grouping->like) &&
		csr_transpose(arena, &graph->reads, graph->ops, graph->tensors, &grouping->readers) == OK))
		return false;
	FILL_NONE(grouping->heads, graph->tensors);
	FILL_NONE(grouping->instead, graph->tensors);
	FILL_NONE(grouping->like, graph->tensors);
	csr_unique(&grouping->readers, graph->tensors);
	FOR(op, graph->ops)
		group_kernel(grouping, op);
	if (grouping->count > 0)
		drop_unread(grouping);
	return true;
}

/* A tensor of an op that is left out, whose place no other takes. */
static bool is_gone(const struct grouping *grouping, uint32_t t)
{
	uint32_t writer = tensor_at(grouping, t)->writer;
	return writer != NONE && grouping->dropped[writer];
}

/* tensor[t]: the new graph's tensor for the graph's. */
static void grouped_heads_copy_tensors(const struct grouping *grouping, struct build *build, uint32_t *tensor)
{
	const struct graph *graph = grouping->graph;
	uint32_t count = 0;
	FOR(t, graph->tensors)
		tensor[t] = is_gone(grouping, t) ? NONE : count++;
	FOR(t, graph->tensors)
		if (grouping->instead[t] != NONE)
			tensor[t] = tensor[grouping->instead[t]];
	FOR_WHILE(t, graph->tensors, build->status == OK) {
		struct tensor copy = graph->tensor[t];
		if (is_gone(grouping, t))
			continue;
		if (grouping->like[t] != NONE) {
			const struct tensor *sum = tensor_at(grouping, grouping->like[t]);
			copy.shape = sum->shape;
			copy.dims = sum->dims;
			copy.bytes = grouped_heads_elements(sum) * dtype_bits[sum->dtype] / 8;
		}
		copy.alias = copy.alias == NONE ? NONE : tensor[copy.alias];
		build_add_tensor(build, &copy);
	}
}

/* As build_copy_op(), but a grouped kernel reads the groups' own heads. */
static void grouped_heads_copy_ops(
	const struct grouping *grouping, struct build *build, uint32_t *tensor, uint32_t *made)
{
	const struct graph *graph = grouping->graph;
	FOR(op, graph->ops) {
		uint32_t before[2] = { NONE, NONE }, changed[2], changes = 0;
		FOR_ITEMS(t, &graph->reads, op) {
			if (!grouping->grouped[op] || grouping->heads[t] == NONE || changes == 2 || (changes == 1 && changed[0] == t))
				continue;
			before[changes] = tensor[t];
			tensor[t] = tensor[grouping->heads[t]];
			changed[changes++] = t;
		}
		made[op] = grouping->dropped[op] ? NONE : build_copy_op(build, graph, op, tensor);
		FOR(i, changes)
			tensor[changed[i]] = before[i];
	}
	build_copy_control(build, graph, made);
}

struct graph *graph_group_heads(struct graph *graph, const struct rules *rules, struct error *error)
{
	OWN(arena) arena = { 0 };
	struct grouping grouping = { .graph = graph, .rules = rules, .arena = &arena };
	struct build build = { 0 };
	uint32_t *tensor, *made;
	bool found = grouped_heads_find_groups(&grouping);
	if (found && grouping.count == 0)
		return graph_retain(graph);
	if (found && build_copy_begin(&build, graph, &arena, &tensor, &made)) {
		grouped_heads_copy_tensors(&grouping, &build, tensor);
		grouped_heads_copy_ops(&grouping, &build, tensor, made);
	}
	return build_like(&build, graph, error);
}
