/* explain.c: why an item is alive while an op runs. */
#include "cut.h"

/* Alive in every state in which op can run: made by its sources, needed by its sinks (labels of the cut). */
static bool certain(const struct problem *problem, const struct order_cut *cut, uint32_t item)
{
	uint32_t producer = problem->producer[item];
	bool made = producer == NONE || cut->side[producer] == FLOW_SOURCE, needed = problem->live_out[item];
	FOR_ITEMS(user, &problem->users, item)
		needed |= cut->side[user] == FLOW_SINK;
	return made && needed;
}

/* Alive in the cheapest state found. */
static bool in_cut(const struct problem *problem, const struct order_cut *cut, uint32_t item)
{
	uint32_t producer = problem->producer[item];
	bool made = producer == NONE || cut->flow.reached[producer], needed = problem->live_out[item];
	FOR_ITEMS(user, &problem->users, item)
		needed |= !cut->flow.reached[user];
	return made && needed;
}

/* The network, which the next position's cut starts from, and lifetimes. */
struct order_explainer {
	const struct problem *problem;
	const uint32_t *order;
	struct order_cut cut;
	uint32_t *first, *last;
};

struct order_explainer *order_explainer_new(const struct problem *problem, const uint32_t *order)
{
	struct order_explainer *MAKE(explainer, 1);
	if (!explainer)
		return NULL;
	explainer->problem = problem;
	explainer->order = order;
	MAKE(explainer->first, problem->items);
	MAKE(explainer->last, problem->items);
	bool made = explainer->first && explainer->last &&
		problem_lifetimes(problem, order, explainer->first, explainer->last) == OK &&
		order_cut_init(&explainer->cut, problem, false) == OK;
	if (made)
		return explainer;
	order_explainer_free(explainer);
	return NULL;
}

void order_explainer_free(struct order_explainer *explainer)
{
	if (!explainer)
		return;
	order_cut_free(&explainer->cut);
	mem_free(explainer->first);
	mem_free(explainer->last);
	mem_free(explainer);
}

enum status order_explainer_at(
	struct order_explainer *explainer, uint32_t position, struct control *control, enum order_reason *reason)
{
	const struct problem *problem = explainer->problem;
	const struct order_cut *cut = &explainer->cut;
	uint32_t op = explainer->order[position];
	int64_t bytes;
	TRY(order_cut_at(&explainer->cut, op, NULL, 0, control, &bytes));
	FOR(item, problem->items) {
		bool used = csr_length(&problem->users, item) || problem->live_out[item] || problem->producer[item] != NONE;
		if (!used || explainer->first[item] > position || explainer->last[item] < position)
			reason[item] = ORDER_DEAD;
		else if (problem->producer[item] == op || certain(problem, cut, item))
			reason[item] = ORDER_CERTAIN;
		else
			reason[item] = in_cut(problem, cut, item) ? ORDER_IN_CUT : ORDER_CHOICE;
	}
	return OK;
}
