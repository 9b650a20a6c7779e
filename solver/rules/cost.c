/* cost.c: an op's FLOPs and bytes moved, from its rule. */
#include "form.h"

/* The product of all factors that are no windows or broadcasts: the points of the op's index space. */
static int64_t points(const struct binding *binding)
{
	int64_t product = 1;
	FOR(i, binding->factors)
		if (!(binding->factor[i].marks & (FACTOR_WINDOW | FACTOR_UNIT)) &&
			__builtin_mul_overflow(product, binding->factor[i].size, &product))
			return INT64_MAX;
	return product;
}

/* Of a product whose rows go to one group each, where groups end is an operand of one dim: how many groups; else 1. */
static int64_t groups_of_rows(const struct binding *binding)
{
	FOR(t, binding->operands) {
		const struct binding_dim *dim = &binding->dim[binding->dim_start[t]];
		if (binding_dims(binding, t) == 1 && dim->count == 1 && dim->size > 0 &&
			binding->factor[binding->part[dim->first]].marks & FACTOR_WHOLE)
			return dim->size;
	}
	return 1;
}

static int64_t largest_tensor(const struct binding *binding)
{
	int64_t largest = 0;
	FOR(t, binding->tensors) {
		int64_t elements = 1;
		FOR_SPAN(dim, binding->dim_start, t)
			elements *= binding->dim[dim].size;
		largest = LARGER(elements, largest);
	}
	return largest;
}

/* Products along queries' width and along values': scores, and what is made of them. */
static int64_t attention_flops(
	const struct binding *binding, uint32_t query, int64_t query_products, int64_t value_products)
{
	const struct binding_dim *of_query = &binding->dim[binding->dim_start[query + 1] - 1],
							 *of_value = &binding->dim[binding->dim_start[query + 3] - 1];
	bool same = of_query->count == 1 && of_value->count == 1 &&
		binding->part[of_query->first] == binding->part[of_value->first];
	int64_t flops, area = of_query->size * (same ? 1 : of_value->size), scores = area > 0 ? points(binding) / area : 0;
	bool fits = !__builtin_mul_overflow(
		scores, 2 * (query_products * of_query->size + value_products * of_value->size), &flops);
	return fits ? flops : INT64_MAX;
}

/* Products of every time and sample with every weight; twice in the backward pass, which makes gradients of weights,
 * too. */
static int64_t recurrence_flops(const struct binding *binding)
{
	int64_t weights = 0, flops = 0;
	bool backward = false;
	FOR(t, binding->tensors) {
		const struct binding_dim *dim = &binding->dim[binding->dim_start[t]];
		bool weight = binding_dims(binding, t) == 2;
		FOR_WHILE(d, 2, weight)
			weight = dim[d].count == 1 && binding->factor[binding->part[dim[d].first]].marks & FACTOR_FORBIDDEN;
		backward |= weight && t >= binding->operands;
		weights += weight && t < binding->operands ? dim[0].size * dim[1].size : 0;
	}
	const struct binding_dim *x = &binding->dim[binding->dim_start[0]];
	bool fits = binding_dims(binding, 0) < 2 || (!__builtin_mul_overflow(x[0].size, 2 * (backward + 1) * x[1].size, &flops)
		&& !__builtin_mul_overflow(flops, weights, &flops));
	return fits ? flops : INT64_MAX;
}

int64_t rule_flops(const struct rule *rule, const struct binding *binding)
{
	int64_t products = 0;
	switch (rule->cost) {
	case COST_NONE:
		return 0;
	case COST_ELEMENT:
		return largest_tensor(binding);
	case COST_CONTRACTION: case COST_GROUPED:
		FOR_FROM(t, binding->operands, binding->tensors)
			products += binding_dims(binding, t) > 1 || binding->tensors == binding->operands + 1;
		break;
	case COST_RECURRENCE:
		return recurrence_flops(binding);
	case COST_ATTENTION:
		return attention_flops(binding, 0, 1, 1);
	case COST_ATTENTION_BACKWARD: /* scores again, gradients of queries and keys; of weights and values */
		return attention_flops(binding, 1, 3, 2);
	}
	int64_t flops;
	return __builtin_mul_overflow(2 * products, points(binding) / groups_of_rows(binding), &flops) ? INT64_MAX : flops;
}

enum status rule_bind_op(
	const struct rule *rule, const struct graph *graph, uint32_t op, struct binding *binding, struct error *error)
{
	struct rule_tensor tensor[64], *all = tensor;
	uint32_t operands = graph_operands(graph, op), results = graph_results(graph, op), count = 0;
	if (operands + results > COUNT_OF(tensor) && !(MAKE(all, operands + results)))
		return NO_MEMORY;
	const struct csr *sides[] = { &graph->reads, &graph->writes };
	enum status status = OK;
	for (int s = 0; s < 2 && status == OK; s++)
		FOR_ITEMS(item, sides[s], op) {
			const struct tensor *from = &graph->tensor[item];
			if (!from->shape)
				status = refuse(error, "%s: the shape of tensor %s is unknown", graph->op[op].name, from->name);
			all[count++] = (struct rule_tensor) { from->shape, from->dims };
		}
	bool in_place = false;
	for (uint32_t i = graph->inplace_start[op]; i < graph->inplace_start[op + 1] && operands > 0 && results > 0; i++) {
		uint32_t first = graph_operand(graph, op, 0), result = graph_result(graph, op, 0);
		in_place |= graph->inplace[i].out == result && graph->tensor[first].storage == graph->tensor[result].storage;
	}
	binding->arguments = graph->op[op].arguments;
	THEN(status, rule_bind(rule, all, operands, results, in_place, binding, error));
	binding->arguments = NULL;
	if (all != tensor)
		mem_free(all);
	return status;
}
