/* gradient_flow.c: what depends on data, and what flows into weight updates only. */

#include "terms.h"

bool graph_is_input(const struct graph *graph, uint32_t tensor)
{
	const struct tensor *at = &graph->tensor[tensor];
	return at->kind == KIND_INPUT && at->writer == NONE && at->shape && at->dims > 0;
}

/* Tensors that depend on the inputs' values. */
static void mark_data(const struct graph *graph, bool *data)
{
	FOR(t, graph->tensors)
		data[t] = graph_is_input(graph, graph->tensor[t].alias == NONE ? t : graph->tensor[t].alias);
	FOR(op, graph->ops) {
		bool depends = false;
		FOR_ITEMS(read, &graph->reads, op)
			depends |= data[read];
		FOR_ITEMS(written, &graph->writes, op)
			data[written] |= depends;
	}
}

/* The only operand of an op that depends on data; NONE where there is none or several. */
static uint32_t data_operand(const struct gradient_flow *flow, uint32_t op)
{
	uint32_t found = NONE;
	FOR_ITEMS(tensor, &flow->graph->reads, op) {
		if (flow->data[tensor] && found != NONE)
			return NONE;
		if (flow->data[tensor])
			found = tensor;
	}
	return found;
}

static bool gradient_flow_is_reduction(const struct rule *rule)
{
	return text_begins(rule->factors, "@reduce");
}

bool gradient_flow_is_derivative(const struct gradient_flow *flow, uint32_t op)
{
	const struct graph *graph = flow->graph;
	const struct rule *rule = rules_find(flow->rules, graph->op[op].type);
	if (!rule || rule->cost != COST_ELEMENT || gradient_flow_is_reduction(rule) ||
		graph->op[op].phase != PHASE_BACKWARD || graph_results(graph, op) != 1)
		return false;
	uint32_t gradient = data_operand(flow, op);
	const struct tensor *result = &graph->tensor[graph_result(graph, op, 0)];
	return gradient != NONE && tensor_same_shape(&graph->tensor[gradient], result);
}

/* Ops that pass a parameter's gradient on: views, sums, copies, derivatives of what was made of parameters (products,
 * too), and scattering into a table by indices that are the same for every sample. */
static bool passes_gradient(const struct gradient_flow *flow, uint32_t op)
{
	const struct graph *graph = flow->graph;
	const struct rule *rule = rules_find(flow->rules, graph->op[op].type);
	if (!rule || graph->op[op].phase != PHASE_BACKWARD)
		return false;
	bool scatters = (rule->traits & TRAIT_SCATTER) && graph_operands(graph, op) > 1 &&
		!flow->data[graph_operand(graph, op, 1)];
	return scatters || gradient_flow_is_derivative(flow, op) ||
		((rule_contracts(rule) || rule->cost == COST_RECURRENCE) && data_operand(flow, op) != NONE) ||
		rule->cost == COST_NONE || (rule->traits & (TRAIT_SOURCE | TRAIT_ADDITION | TRAIT_COPY));
}

/* Marks what reaches weight updates through such ops only, from the end of the step backwards. other [tensors]: is read
 * for something else. */
static void mark_gradients(struct gradient_flow *flow, bool *other)
{
	const struct graph *graph = flow->graph;
	FOR_DOWN(op, graph->ops) {
		if (op_releases(&graph->op[op]))
			continue;
		const struct rule *rule = rules_find(flow->rules, graph->op[op].type);
		bool passes = passes_gradient(flow, op), reduces = rule && gradient_flow_is_reduction(rule);
		FOR_ITEMS(t, &graph->writes, op) {
			flow->gradient[t] &= !other[t];
			passes &= flow->gradient[t];
		}
		FOR_ITEMS(t, &graph->reads, op) {
			bool derivative = data_operand(flow, op) == NONE || flow->data[t];
			if (graph->op[op].phase == PHASE_UPDATE || (passes && derivative))
				flow->gradient[t] = true;
			else if (!reduces || !flow->gradient[graph_result(graph, op, 0)])
				other[t] = true; /* what is summed into a parameter's gradient may be anything */
		}
	}
}

enum status gradient_flow_find(
	const struct graph *graph, const struct rules *rules, struct arena *arena, struct gradient_flow *flow)
{
	bool *other;
	*flow = (struct gradient_flow) { .graph = graph, .rules = rules };
	NEED(ROOMS(arena, graph->tensors, flow->gradient, flow->data, other));
	mark_data(graph, flow->data);
	mark_gradients(flow, other);
	return OK;
}
