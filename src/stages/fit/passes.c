/* passes.c: ops of every pass and of the step, by their phases and what they wait for. */
#include "plan_time.h"

bool passes_sums(const struct graph *graph, uint32_t op)
{
	bool sum = false, gradient = false;
	uint8_t phase = graph->op[op].phase;
	if ((phase != PHASE_BACKWARD && phase != PHASE_UPDATE) || csr_length(&graph->writes, op) != 1)
		return false;
	uint32_t storage = graph->tensor[graph_result(graph, op, 0)].storage;
	if (graph->storage[storage].kind != KIND_GRADIENT || graph->storage[storage].allocator != NONE)
		return false;
	FOR_ITEMS(read, &graph->reads, op) {
		const struct tensor *tensor = &graph->tensor[read];
		/* Unscaling writes into the sum, too, but reads it as an op left it. */
		sum |= tensor->storage == storage && tensor->writer == NONE;
		gradient |= tensor->storage != storage && tensor->writer != NONE && graph->op[tensor->writer].phase != PHASE_UPDATE;
	}
	return sum && gradient;
}

void passes_find(const struct graph *graph, bool *once)
{
	FOR(op, graph->ops) {   /* in a topological order */
		uint8_t phase = graph->op[op].phase;
		once[op] = phase == PHASE_UPDATE && !passes_sums(graph, op);
		if (phase == PHASE_FORWARD || phase == PHASE_BACKWARD || phase == PHASE_UPDATE)
			continue;
		FOR_ITEMS(before, &graph->pred, op)
			once[op] |= once[before] || passes_sums(graph, before);
	}
}
