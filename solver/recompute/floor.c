/* floor.c: an op's cheapest state, where what plans may write again weighs nothing. */

#include "search.h"
#include "solver/order/cut.h"

/* Bytes of what is written once or touched by the op alone. */
static void floor_weigh(const struct recompute_step *loose, uint32_t op, struct problem *problem)
{
	FOR(i, problem->items) {
		bool touched = false;
		FOR_ITEMS(touche, &loose->graph->touches, op)
			touched |= touche == problem->storage[i];
		if (loose->droppable[problem->storage[i]] && !touched)
			problem->size[i] = 0;
	}
	COPY(problem->workspace, loose->workspace, problem->ops);
}

/* The order's flow as arcs of a certificate. */
static enum status take_flow(
	const struct problem *problem, const struct order_certificate *flow, struct recompute_certificate *certificate)
{
	MAKE(certificate->arc, flow->arcs ? flow->arcs : 1);
	NEED(certificate->arc);
	FOR(i, flow->arcs) {
		const struct order_arc *arc = &flow->arc[i];
		uint32_t storage = arc->item == NONE ? NONE : problem->storage[arc->item];
		certificate->arc[certificate->arcs++] = (struct recompute_arc){ RECOMPUTE_ARC_STATE, storage, arc->from,
			arc->to, arc->flow };
	}
	return OK;
}

enum status recompute_floor(const struct recompute_step *loose, uint32_t op, int64_t cap, struct control *control,
	bool *above, struct recompute_certificate *certificate)
{
	const struct memory_rules rules = { .alignment = loose->alignment };
	struct order_certificate flow = { 0 };
	struct order_cut cut;
	struct problem problem;
	struct error error = { 0 };
	int64_t bytes = 0;
	*above = false;
	NEED(problem_of_graph(loose->graph, &rules, &problem, &error) == OK);
	floor_weigh(loose, op, &problem);
	enum status status = order_cut_init(&cut, &problem, false);
	status = status == OK ? order_cut_at(&cut, op, NULL, 0, control, &bytes) : status;
	if (status == OK && bytes > cap) {
		*above = true;
		*certificate = (struct recompute_certificate){ .op = op, .impossible = true, .bytes = bytes };
		status = order_cut_certificate(&cut, op, &flow);
		status = status == OK ? take_flow(&problem, &flow, certificate) : status;
	}
	mem_free(flow.arc);
	order_cut_free(&cut);
	problem_free(&problem);
	return status;
}
