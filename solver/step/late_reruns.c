/* late_reruns.c: a copy of the graph with more control edges. */
#include "build.h"
#include "late_reruns.h"

static bool runs_again(const struct graph *graph)
{
	for (uint32_t op = 0; op < graph->ops; op++)
		if (graph->op[op].recomputed)
			return true;
	return false;
}

static enum status copy(struct build *build, const struct graph *graph, uint32_t *tensor, uint32_t *op)
{
	for (uint32_t t = 0; t < graph->tensors && build->status == OK; t++) {
		struct tensor record = graph->tensor[t];
		if ((tensor[t] = draft_tensor(build->draft, &record)) == NONE)
			build->status = NO_MEMORY;
	}
	for (uint32_t i = 0; i < graph->ops && build->status == OK; i++)
		op[i] = build_copy_op(build, graph, i, tensor);
	build_copy_control(build, graph, op);
	return build->status;
}

/* From the last op before it that doesn't run again. */
static enum status add_edges(struct build *build, const struct graph *graph, const uint32_t *op)
{
	uint32_t before = NONE;
	for (uint32_t i = 0; i < graph->ops && build->status == OK; i++) {
		if (!graph->op[i].recomputed)
			before = i;
		else if (before != NONE)
			build->status = draft_after(build->draft, op[i], op[before]);
	}
	return build->status;
}

struct graph *late_reruns(struct graph *graph, struct error *error)
{
	struct build build = { .source = graph, .op = NONE };
	struct arena arena = { 0 };
	struct graph *result = NULL;
	if (!runs_again(graph))
		return graph_retain(graph);
	uint32_t *tensor = arena_alloc(&arena, graph->tensors, sizeof *tensor), *op = arena_alloc(&arena, graph->ops, sizeof *op);
	build.draft = draft_new();
	if (tensor && op && build.draft && copy(&build, graph, tensor, op) == OK && add_edges(&build, graph, op) == OK
	    && draft_describe(build.draft, graph->name, graph->source, graph->extra, &graph->about) == OK)
		result = graph_build(build.draft, error);
	else
		fail_memory(error);
	draft_free(build.draft);
	arena_free(&arena);
	return result;
}
