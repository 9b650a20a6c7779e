/* weights.c: the two parts of a backward pass. */
#include "block_costs.h"

/* Adds up, reduces or renames gradients for the update: it makes nothing that another gradient is made of. */
static bool only_sums(
	const struct graph *graph, const bool *linear, const bool *backward, const bool *sums, uint32_t op)
{
	bool only = linear[op];
	FOR_ITEMS(next, &graph->succ, op)
		only &= !backward[next] || sums[next];
	return only;
}

enum status weight_ops_find(
	const struct graph *graph, const bool *linear, const bool *backward, const uint32_t *block, bool *weight)
{
	bool *MAKE(sums, graph->ops + (size_t)1);
	NEED(sums);
	FOR_DOWN(op, graph->ops) {
		weight[op] = sums[op] = false;
		if (!backward[op])
			continue;
		bool leads = false;
		FOR_ITEMS(next, &graph->succ, op)
			leads |= backward[next] && (!weight[next] || (block[next] < block[op] && !sums[next]));
		weight[op] = !leads;
		sums[op] = weight[op] && only_sums(graph, linear, backward, sums, op);
	}
	mem_free(sums);
	return OK;
}
