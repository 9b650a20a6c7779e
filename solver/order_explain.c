/* order_explain.c: why an item is alive while an op runs. */
#include "order_cut.h"

const char *const order_reason_names[4] = { "not alive", "certainly alive", "in the cut", "by choice" };

/* Alive in every state in which op can run: made by its sources, needed by its sinks (labels of the cut). */
static bool certain(const struct problem *problem, const struct order_cut *cut, uint32_t item)
{
	uint32_t producer = problem->producer[item];
	bool made = producer == NONE || cut->side[producer] == FLOW_SOURCE, needed = problem->live_out[item];
	FOR_ROW(i, &problem->users, item)
		needed |= cut->side[problem->users.item[i]] == FLOW_SINK;
	return made && needed;
}

/* Alive in the cheapest state found. */
static bool in_cut(const struct problem *problem, const struct order_cut *cut, uint32_t item)
{
	uint32_t producer = problem->producer[item];
	bool made = producer == NONE || cut->flow.reached[producer], needed = problem->live_out[item];
	FOR_ROW(i, &problem->users, item)
		needed |= !cut->flow.reached[problem->users.item[i]];
	return made && needed;
}

static enum status explain(const struct problem *problem, const uint32_t *order, uint32_t position, struct control *control,
	struct order_cut *cut, uint32_t *first, uint32_t *last, enum order_reason *reason)
{
	int64_t bytes;
	enum status status = problem_lifetimes(problem, order, first, last);
	if (status == OK)
		status = order_cut_init(cut, problem, false);
	if (status == OK)
		status = order_cut_at(cut, order[position], NULL, 0, control, &bytes);
	for (uint32_t item = 0; status == OK && item < problem->items; item++) {
		bool used = csr_length(&problem->users, item) || problem->live_out[item] || problem->producer[item] != NONE;
		if (!used || first[item] > position || last[item] < position)
			reason[item] = ORDER_DEAD;
		else if (problem->producer[item] == order[position] || certain(problem, cut, item))
			reason[item] = ORDER_CERTAIN;
		else
			reason[item] = in_cut(problem, cut, item) ? ORDER_IN_CUT : ORDER_CHOICE;
	}
	order_cut_free(cut);
	return status;
}

enum status order_explain(const struct problem *problem, const uint32_t *order, uint32_t position,
	struct control *control, enum order_reason *reason)
{
	struct order_cut cut = { 0 };
	uint32_t *first = mem_alloc(problem->items, sizeof *first), *last = mem_alloc(problem->items, sizeof *last);
	enum status status = NO_MEMORY;
	if (first && last)
		status = explain(problem, order, position, control, &cut, first, last, reason);
	mem_free(first);
	mem_free(last);
	return status;
}
