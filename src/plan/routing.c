/* routing.c: the peak of an order where one expert gets every token, and all have as much room.
 *
 * Tensors with a place for each token of an expert are [experts, places, width], or turned: they begin at the ops that
 * send tokens to experts and bring them back, and go on through products, which sum over places or keep them, and
 * through all that works element by element. */
#include "plan.h"

struct routing {
	const struct graph *graph;
	const struct rules *rules;
	uint8_t *dim; /* [tensors] */
	int64_t experts, places, tokens;
};

/* The dim of an op's result that is places, by those of what it reads; 0: none. */
static uint8_t routing_dim(const struct routing *routing, uint32_t op, uint32_t result)
{
	const struct graph *graph = routing->graph;
	const struct tensor *tensor = &graph->tensor[result];
	uint32_t traits = rules_traits(routing->rules, graph->op[op].type);
	bool view = graph_is_view(graph, op);
	if (tensor->dims != 3 || !tensor->shape || tensor->shape[0] != routing->experts)
		return 0;
	if (traits & TRAIT_ROUTES)
		return tensor->shape[1] == routing->places;
	FOR(i, csr_length(&graph->reads, op)) {
		uint8_t dim = routing->dim[graph_operand(graph, op, i)];
		if (traits & TRAIT_PRODUCT)
			dim = dim == i + 1 ? dim : 0; /* rows of the left one, columns of the right one */
		else if (dim && view && (tensor->shape[1] == tensor->shape[2] || tensor->shape[dim] != routing->places))
			dim = (uint8_t)(3 - dim);
		if (dim && tensor->shape[dim] == routing->places)
			return dim;
	}
	return 0;
}

/* The places of the first experts; false: there are none, or one expert gets every token already. */
static bool routing_find(struct routing *routing)
{
	const struct graph *graph = routing->graph;
	FOR(op, graph->ops) {
		if (!(rules_traits(routing->rules, graph->op[op].type) & TRAIT_DISPATCH) ||
			csr_length(&graph->reads, op) == 0 || csr_length(&graph->writes, op) == 0)
			continue;
		const struct tensor *from = &graph->tensor[graph_operand(graph, op, 0)],
							*to = &graph->tensor[graph_result(graph, op, 0)];
		if (!from->shape || !to->shape || to->dims != 3)
			return false;
		routing->experts = to->shape[0];
		routing->places = to->shape[1];
		routing->tokens = from->shape[0];
		return routing->places > 0 && routing->tokens > routing->places;
	}
	return false;
}

int64_t routing_peak(const struct graph *graph, const struct rules *rules, const uint32_t *position,
	const int64_t *live, int64_t load[2])
{
	struct routing routing = { .graph = graph, .rules = rules };
	int64_t peak = 0, bytes = 0, more, sum = 0;
	if (!routing_find(&routing))
		return -1;
	HELD uint8_t *MAKE(dim, graph->tensors);
	HELD int64_t *MAKE(change, (size_t)graph->ops + 1);
	if (!dim || !change)
		return -1;
	routing.dim = dim;
	FOR(op, graph->ops)
		FOR_ITEMS(result, &graph->writes, op)
			dim[result] = routing_dim(&routing, op, result);
	FOR(s, graph->storages) {
		const struct storage *storage = &graph->storage[s];
		if (!dim[storage->root] || storage->allocator == NONE || storage->persistent)
			continue;
		if (__builtin_mul_overflow(storage->bytes / routing.places, routing.tokens - routing.places, &more) ||
			more > BYTES_MAX - sum)
			return -1;
		sum += more;
		uint32_t first = position[storage->allocator], last = storage->live_out ? graph->ops - 1 : first;
		FOR_ITEMS(user, &graph->users, s)
			last = LARGER(position[user], last);
		change[first] += more;
		change[last + 1] -= more;
	}
	FOR(i, graph->ops) {
		bytes += change[i];
		peak = LARGER(live[i] + bytes, peak);
	}
	load[0] = routing.places;
	load[1] = routing.tokens;
	return peak;
}
