/* late_reruns.c: a copy of the graph with more control edges. */
#include "train.h"

/* From the last op before it that doesn't run again. */
static void late_reruns_add_edges(struct build *build, const struct graph *graph, const uint32_t *op)
{
	uint32_t before = NONE;
	FOR_WHILE(i, graph->ops, build->status == OK) {
		if (!graph->op[i].recomputed)
			before = i;
		else if (before != NONE)
			build->status = draft_after(build->draft, op[i], op[before]);
	}
}

struct graph *late_reruns(struct graph *graph, struct error *error)
{
	struct build build = { .source = graph };
	OWN(arena) arena = { 0 };
	if (!graph_reruns(graph))
		return graph_retain(graph);
	uint32_t *tensor, *op;
	if (build_copy_begin(&build, graph, &arena, &tensor, &op))
		build_copy_tensors(&build, graph, tensor);
	FOR_WHILE(i, graph->ops, build.status == OK)
		op[i] = build_copy_op(&build, graph, i, tensor);
	build_copy_control(&build, graph, op);
	late_reruns_add_edges(&build, graph, op);
	return build_like(&build, graph, error);
}
