/* parts.c: the peaks of a step's parts, as the program names them. */
#include "plan.h"

uint32_t parts_find(
	const struct graph *graph, const uint32_t *order, const int64_t *live, struct part_peak part[PARTS_MOST])
{
	uint32_t count = 0;
	bool named = false;
	const char *name = NULL;
	FOR(op, graph->ops)
		named |= graph->op[op].part != NULL;
	for (uint32_t i = 0; named && i < graph->ops; i++) {
		const struct op *op = &graph->op[order[i]];
		uint32_t p = 0;
		name = op->part || !op_releases(op) ? op->part : name; /* what is let go of goes with the op before */
		while (p < count && !text_is(part[p].name, name ? name : "the rest"))
			p++;
		if (p == count && count < PARTS_MOST)
			part[count++] = (struct part_peak){ name ? name : "the rest", -1, 0 };
		if (p < count && live[i] > part[p].bytes) {
			part[p].bytes = live[i];
			part[p].position = i;
		}
	}
	return count;
}
