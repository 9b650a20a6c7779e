/* check_floor.c: an op's cheapest state as the certificate of an order's bound, in a problem in which what plans may
 * write again weighs nothing. */

#include "check_floor.h"
#include "solver/order/order.h"

/* The arcs as an order's certificate; of a storage that is no item, an item that isn't there. */
static enum status read_arcs(const struct fit_certificate *certificate, const struct problem *problem, uint32_t *item,
	uint32_t storages, struct order_certificate *order, struct error *error)
{
	for (uint32_t s = 0; s < storages; s++)
		item[s] = problem->items;
	for (uint32_t i = 0; i < problem->items; i++)
		item[problem->storage[i]] = i;
	for (uint32_t i = 0; i < certificate->arcs; i++) {
		const struct fit_arc *arc = &certificate->arc[i];
		if (arc->kind != FIT_ARC_STATE || (arc->storage != NONE && arc->storage >= storages))
			return fail(error, BAD_INPUT, "an arc of the proof that nothing fits is not of a state");
		order->arc[order->arcs++] = (struct order_arc){ arc->storage == NONE ? NONE : item[arc->storage], arc->op,
			arc->other, arc->flow };
	}
	return OK;
}

/* What is neither written for good nor touched by the op may be gone. */
static void forget_others(const struct graph *graph, const bool *for_good, uint32_t op, struct problem *problem)
{
	for (uint32_t i = 0; i < problem->items; i++) {
		bool there = for_good[problem->storage[i]];
		FOR_ROW(k, &graph->touches, op)
			there |= graph->touches.item[k] == problem->storage[i];
		if (!there)
			problem->size[i] = 0;
	}
}

enum status fit_check_floor(const struct fit_input *input, const bool *for_good, int64_t cap,
	const struct fit_certificate *certificate, struct error *error)
{
	const struct graph *graph = input->graph;
	const struct memory_rules rules = { .alignment = input->alignment, .workspace = input->workspace };
	struct order_certificate order = { .proof = ORDER_PROOF_CUT, .op = certificate->op };
	struct problem problem;
	struct error why = { 0 };
	TRY(problem_of_graph(graph, &rules, &problem, error));
	uint32_t *item = mem_alloc(graph->storages, sizeof *item);
	order.arc = mem_alloc(certificate->arcs, sizeof *order.arc);
	forget_others(graph, for_good, certificate->op, &problem);
	enum status status = item && order.arc ? read_arcs(certificate, &problem, item, graph->storages, &order, error)
		: fail_memory(error);
	if (status == OK && order_check_certificate(&problem, &order, cap + 1, &why) != OK)
		status = fail(error, BAD_INPUT, "that nothing fits is not proved: %s", why.text);
	mem_free(item);
	mem_free(order.arc);
	problem_free(&problem);
	return status;
}
