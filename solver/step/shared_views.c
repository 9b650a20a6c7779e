/* shared_views.c: finds views that are the same, and writes the graph with the first of each alone. */

#include "train.h"

struct sharing {
	const struct graph *graph;
	const struct rules *rules;
	bool *fixed;            /* [storages] written in place, or seen from outside: its views stay */
	bool *tied;             /* [ops] has control dependencies */
	uint32_t *first, *next; /* [tensors] its first view, by the op that makes it; [ops] that op's successor */
	uint32_t *same;         /* [ops] the op that makes the same view, or NONE */
	uint32_t count;
	struct arena *arena;
};

/* The first tensor that is the same: the tensor itself, or what the same op made before. */
static uint32_t canonical(const struct sharing *sharing, uint32_t tensor)
{
	uint32_t writer = sharing->graph->tensor[tensor].writer;
	return writer == NONE || sharing->same[writer] == NONE
		? tensor
		: graph_result(sharing->graph, sharing->same[writer], 0);
}

/* A view whose operand and shape say all of it. */
static bool shared_views_is_plain_view(const struct sharing *sharing, uint32_t op)
{
	const struct graph *graph = sharing->graph;
	const struct rule *rule = rules_find(sharing->rules, graph->op[op].type);
	if (!rule || !(rule->traits & TRAIT_SHAPED) || rule->cost != COST_NONE || graph_operands(graph, op) != 1 ||
		graph_results(graph, op) != 1 || sharing->tied[op])
		return false;
	const struct tensor *result = &graph->tensor[graph_result(graph, op, 0)];
	return result->alias != NONE && result->shape && result->kind != KIND_OUTPUT && !sharing->fixed[result->storage];
}

/* False where equal extents let a permutation be one of several: of [4, 4, 8] two make [4, 8, 4]. A rule that names its
 * factors is one, whatever the extents. */
static bool is_certain(const struct sharing *sharing, uint32_t op)
{
	const struct rule *rule = rules_find(sharing->rules, sharing->graph->op[op].type);
	const struct tensor *result = &sharing->graph->tensor[graph_result(sharing->graph, op, 0)];
	bool certain = strchr(rule->factors, '@') == NULL || strcmp(rule->factors, "@reshape") == 0, differ = true;
	FOR(a, result->dims)
		FOR(b, a)
			differ &= result->shape[a] != result->shape[b];
	return certain || differ;
}

static bool same_view(const struct graph *graph, uint32_t a, uint32_t b)
{
	const struct tensor *x = &graph->tensor[graph_result(graph, a, 0)],
						*y = &graph->tensor[graph_result(graph, b, 0)];
	return graph->op[a].phase == graph->op[b].phase && x->dtype == y->dtype && x->bytes == y->bytes &&
		tensor_same_shape(x, y) && strcmp(graph->op[a].type, graph->op[b].type) == 0;
}

static void note_view(struct sharing *sharing, uint32_t op)
{
	const struct graph *graph = sharing->graph;
	uint32_t *at = &sharing->first[canonical(sharing, graph_operand(graph, op, 0))];
	while (*at != NONE && !same_view(graph, *at, op))
		at = &sharing->next[*at];
	if (*at == NONE) {
		*at = op;
	} else if (is_certain(sharing, op)) {
		sharing->same[op] = *at;
		sharing->count++;
	}
}

static bool find_same(struct sharing *sharing)
{
	const struct graph *graph = sharing->graph;
	if (!(ROOM(sharing->arena, sharing->fixed, graph->storages) && ROOM(sharing->arena, sharing->first, graph->tensors) &&
		ROOMS(sharing->arena, graph->ops, sharing->tied, sharing->next, sharing->same)))
		return false;
	FILL_NONE(sharing->first, graph->tensors);
	FILL_NONE(sharing->next, graph->ops);
	FILL_NONE(sharing->same, graph->ops);
	FOR(op, graph->ops) {
		FOR_SPAN(i, graph->inplace_start, op)
			sharing->fixed[graph->tensor[graph->inplace[i].in].storage] = true;
		FOR_ITEMS(item, &graph->after, op)
			sharing->tied[op] = sharing->tied[item] = true;
	}
	FOR(op, graph->ops)
		if (shared_views_is_plain_view(sharing, op))
			note_view(sharing, op);
	return true;
}

/* The name of the op that runs in place of one that is left out. */
static const char *name_left(const struct sharing *sharing, const char *of)
{
	uint32_t op = of ? graph_find_op(sharing->graph, of) : NONE;
	return op == NONE || sharing->same[op] == NONE ? of : sharing->graph->op[sharing->same[op]].name;
}

/* tensor[t]: the new graph's tensor for the graph's. */
static void shared_views_copy_tensors(const struct sharing *sharing, struct build *build, uint32_t *tensor)
{
	const struct graph *graph = sharing->graph;
	uint32_t count = 0;
	FOR(t, graph->tensors)
		if (canonical(sharing, t) == t)
			tensor[t] = count++;
	FOR(t, graph->tensors)
		tensor[t] = tensor[canonical(sharing, t)];
	FOR_WHILE(t, graph->tensors, build->status == OK) {
		struct tensor copy = graph->tensor[t];
		if (canonical(sharing, t) != t)
			continue;
		copy.alias = copy.alias == NONE ? NONE : tensor[copy.alias];
		build_add_tensor(build, &copy);
	}
}

static void shared_views_copy_ops(
	const struct sharing *sharing, struct build *build, const uint32_t *tensor, uint32_t *made)
{
	const struct graph *graph = sharing->graph;
	FOR(op, graph->ops) {
		made[op] = sharing->same[op] == NONE ? build_copy_op(build, graph, op, tensor) : NONE;
		if (made[op] != NONE && graph->op[op].recomputed)
			THEN(build->status, draft_op_of(build->draft, made[op], name_left(sharing, graph->op[op].of)));
	}
	build_copy_control(build, graph, made);
}

struct graph *graph_share_views(struct graph *graph, const struct rules *rules, struct error *error)
{
	OWN(arena) arena = { 0 };
	struct sharing sharing = { .graph = graph, .rules = rules, .arena = &arena };
	struct build build = { 0 };
	uint32_t *tensor, *made;
	bool found = find_same(&sharing);
	if (found && sharing.count == 0)
		return graph_retain(graph);
	if (found && build_copy_begin(&build, graph, &arena, &tensor, &made)) {
		shared_views_copy_tensors(&sharing, &build, tensor);
		shared_views_copy_ops(&sharing, &build, tensor, made);
	}
	return build_like(&build, graph, error);
}
