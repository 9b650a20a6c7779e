/* gradient_flow.h: what depends on data, and what flows into weight updates only. For factors.c, which follows the
 * batch. */
#pragma once

#include "rules.h"

struct gradient_flow {
	const struct graph *graph;
	const struct rules *rules;
	bool *data;                    /* tensor: depends on the inputs' values */
	bool *gradient;                /* tensor: goes into weight updates only */
};

/* An input of the step that has dims. */
bool graph_is_input(const struct graph *graph, uint32_t tensor);
/* NO_MEMORY: free it nonetheless. O(ops + tensors). */
enum status gradient_flow_find(const struct graph *graph, const struct rules *rules, struct gradient_flow *flow);
void gradient_flow_free(struct gradient_flow *flow);
/* The derivative of an elementwise op on what was made of parameters alone: one gradient, and nothing else that depends
 * on data. */
bool gradient_flow_is_derivative(const struct gradient_flow *flow, uint32_t op);
