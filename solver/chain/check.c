/* check.c: what a chain means, written out: every copy's costs summed. Shares no code with the solver. */
#include <string.h>

#include "chain.h"

static uint32_t strategies_of(const struct shard_chain *chain, uint32_t node)
{
	return chain->first[node + 1] - chain->first[node];
}

/* How many edges a chain edge stands for. */
static uint32_t chain_check_times_of(const struct shard_chain *chain, const struct chain_edge *edge)
{
	if (edge->step)
		return chain_copies(chain, edge->from) - 1;
	if (edge->from_where == CHAIN_EVERY)
		return chain_copies(chain, edge->from);
	return edge->to_where == CHAIN_EVERY ? chain_copies(chain, edge->to) : 1;
}

/* The copy of an end in the k-th of these edges. */
static uint32_t chain_check_copy_of(const struct shard_chain *chain, uint32_t node, uint8_t where, uint32_t k)
{
	return where == CHAIN_EVERY ? k : where == CHAIN_LAST ? chain_copies(chain, node) - 1 : 0;
}

/* ---- rules ---- */

static bool chain_check_add_magnitude(int64_t *sum, int64_t value, uint32_t times)
{
	int64_t product;
	return !__builtin_mul_overflow(value < 0 ? -value : value, (int64_t)times, &product) &&
		!__builtin_add_overflow(*sum, product, sum) && *sum <= CHAIN_COST_MAX;
}

static enum status chain_check_node_valid(
	const struct shard_chain *chain, uint32_t node, int64_t *costs, int64_t *bytes, struct error *error)
{
	int64_t dearest = 0, largest = 0;
	if (chain->segment[node] != NONE && chain->segment[node] >= chain->segments)
		return refuse(error, "node %u is of no segment", node);
	if (chain_copies(chain, node) == 0 || strategies_of(chain, node) == 0)
		return refuse(error, "node %u has no %s", node, chain_copies(chain, node) ? "strategy" : "copy");
	FOR_SPAN(i, chain->first, node) {
		int64_t cost = chain->cost[i], usage = chain->usage[i];
		if (cost <= -SHARD_FORBIDDEN || usage < 0 || usage > BYTES_MAX)
			return refuse(error, "node %u has a cost or a usage out of range", node);
		if (cost < SHARD_FORBIDDEN && (cost < 0 ? -cost : cost) > dearest)
			dearest = cost < 0 ? -cost : cost;
		largest = LARGER(usage, largest);
	}
	if (!chain_check_add_magnitude(costs, dearest, chain_copies(chain, node)) ||
		!chain_check_add_magnitude(bytes, largest, chain_copies(chain, node)))
		return refuse(error, "costs or usages up to node %u sum to too much", node);
	return OK;
}

static bool end_valid(const struct shard_chain *chain, uint32_t node, uint8_t where)
{
	return node < chain->nodes && where <= CHAIN_LAST && (chain->segment[node] == NONE) == (where == CHAIN_ONLY);
}

static enum status chain_check_edge_valid(
	const struct shard_chain *chain, uint32_t number, int64_t *costs, struct error *error)
{
	const struct chain_edge *edge = &chain->edge[number];
	if (!end_valid(chain, edge->from, edge->from_where) || !end_valid(chain, edge->to, edge->to_where))
		return refuse(error, "edge %u has an end that is not there", number);
	bool every = edge->from_where == CHAIN_EVERY && edge->to_where == CHAIN_EVERY;
	if ((every && chain->segment[edge->from] != chain->segment[edge->to]) || (edge->step && !every))
		return refuse(error, "edge %u joins copies that do not belong together", number);
	size_t size = (size_t)strategies_of(chain, edge->from) * strategies_of(chain, edge->to);
	if (edge->table > chain->pairs || size > chain->pairs - edge->table)
		return refuse(error, "edge %u has no costs", number);
	int64_t dearest = 0;
	for (size_t i = edge->table; i < edge->table + size; i++) {
		int64_t cost = chain->pair[i];
		if (cost <= -SHARD_FORBIDDEN)
			return refuse(error, "edge %u has a cost below -10^17", number);
		if (cost < SHARD_FORBIDDEN && (cost < 0 ? -cost : cost) > dearest)
			dearest = cost < 0 ? -cost : cost;
	}
	return chain_check_add_magnitude(costs, dearest, chain_check_times_of(chain, edge))
		? OK
		: refuse(error, "costs up to edge %u sum to too much", number);
}

enum status shard_chain_valid(const struct shard_chain *chain, struct error *error)
{
	int64_t costs = 0, bytes = 0;
	uint64_t copies = 0;
	enum status status = OK;
	FOR_WHILE(node, chain->nodes, status == OK) {
		status = chain_check_node_valid(chain, node, &costs, &bytes, error);
		copies += status == OK ? chain_copies(chain, node) : 0;
	}
	FOR_WHILE(edge, chain->edges, status == OK)
		status = chain_check_edge_valid(chain, edge, &costs, error);
	if (status == OK && copies >= NONE)
		status = refuse(error, "too many copies");
	return status;
}

/* ---- a plan ---- */

static enum status chain_check_add_nodes(
	const struct shard_chain *chain, const struct chain_plan *plan, int64_t *cost, int64_t *usage, struct error *error)
{
	FOR(node, chain->nodes)
		FOR(copy, chain_copies(chain, node)) {
			uint32_t choice = plan->choice[plan->start[node] + copy];
			if (choice >= strategies_of(chain, node) || chain->cost[chain->first[node] + choice] >= SHARD_FORBIDDEN)
				return refuse(error, "copy %u of node %u has no strategy %u", copy, node, choice);
			*cost += chain->cost[chain->first[node] + choice];
			*usage += chain->usage[chain->first[node] + choice];
		}
	return OK;
}

static enum status chain_check_add_edge(
	const struct shard_chain *chain, const struct chain_plan *plan, uint32_t number, int64_t *cost, struct error *error)
{
	const struct chain_edge *edge = &chain->edge[number];
	FOR(k, chain_check_times_of(chain, edge)) {
		uint32_t p = plan->choice[plan->start[edge->from] + chain_check_copy_of(chain, edge->from, edge->from_where, k)];
		uint32_t q =
			plan->choice[plan->start[edge->to] + chain_check_copy_of(chain, edge->to, edge->to_where, k + edge->step)];
		int64_t part = chain->pair[edge->table + (size_t)p * strategies_of(chain, edge->to) + q];
		if (part >= SHARD_FORBIDDEN)
			return refuse(error, "strategies %u of node %u and %u of node %u are forbidden together", p,
				edge->from, q, edge->to);
		*cost += part;
	}
	return OK;
}

enum status shard_chain_evaluate(
	const struct shard_chain *chain, const struct chain_plan *plan, int64_t *cost, int64_t *usage, struct error *error)
{
	*cost = *usage = 0;
	TRY(chain_check_add_nodes(chain, plan, cost, usage, error));
	FOR(edge, chain->edges)
		TRY(chain_check_add_edge(chain, plan, edge, cost, error));
	if (chain->limit >= 0 && *usage > chain->limit)
		return refuse(error, "%lld bytes, above the limit of %lld", (long long)*usage, (long long)chain->limit);
	return OK;
}
