/* late_casts.c: the same ops in another program order. */
#include "train.h"

struct moving {
	const struct graph *graph;
	struct build build;
	uint32_t *tensor; /* [tensors] the draft's tensor */
	uint32_t *op;     /* [ops] the draft's op; NONE: not there yet */
	bool of_update;   /* what is put off belongs to the update */
};

static void copy(struct moving *moving, uint32_t op, bool late)
{
	moving->op[op] = build_copy_op(&moving->build, moving->graph, op, moving->tensor);
	if (late && moving->of_update && moving->op[op] != NONE)
		draft_op_at(moving->build.draft, moving->op[op])->phase = PHASE_UPDATE;
}

/* Behind what it waits for, as far as that was put off; casts alone are, and none waits for another. */
static void late_casts_add(struct moving *moving, uint32_t op, bool late)
{
	const struct graph *graph = moving->graph;
	FOR_ITEMS(before, &graph->pred, op)
		if (moving->op[before] == NONE && moving->build.status == OK)
			copy(moving, before, true);
	if (moving->op[op] == NONE && moving->build.status == OK)
		copy(moving, op, late);
}

static void late_casts_move(struct moving *moving, const bool *late)
{
	const struct graph *graph = moving->graph;
	struct build *build = &moving->build;
	build_copy_tensors(build, graph, moving->tensor);
	FILL_NONE(moving->op, graph->ops);
	FOR_INT(rest, 2) /* what nothing waits for comes last */
		FOR_WHILE(op, graph->ops, build->status == OK)
			if (!late[op] || rest)
				late_casts_add(moving, op, late[op]);
	build_copy_control(build, graph, moving->op);
}

struct graph *late_casts(struct graph *graph, bool of_update, uint32_t *moved, struct error *error)
{
	OWN(arena) arena = { 0 };
	struct moving moving = { .graph = graph, .of_update = of_update, .build = { .source = graph } };
	bool *MAKE_IN(&arena, late, graph->ops);
	*moved = 0;
	FOR_WHILE(op, graph->ops, late) {
		bool after_cast = false;
		FOR_ITEMS(before, &graph->pred, op)
			after_cast |= late[before];
		*moved += late[op] = graph_widens_gradient(graph, op) && !after_cast;
	}
	if (late && *moved == 0)
		return graph_retain(graph);
	if (late && build_copy_begin(&moving.build, graph, &arena, &moving.tensor, &moving.op))
		late_casts_move(&moving, late);
	return build_like(&moving.build, graph, error);
}
