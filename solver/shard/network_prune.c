/* network_prune.c: strategies that another one of the same node is never worse than, whatever the neighbours do.
 *
 * Dead-end elimination (Desmet et al., Nature 356, 1992) with Goldstein's criterion: s goes where for some t cost(t) - cost(s) plus, for each edge,
 * the most that t pays more than s is not above zero, and t takes no more memory. Most pairs are told apart by a witness on each edge: what t
 * pays more where s pays least is no more than the most. A node is looked at again only where something beside it went since.
 */
#include <string.h>

#include "network_build.h"

struct pruning {
	struct network *network;
	struct csr near;               /* node -> 2 * edge, and 1 where the node is its "to" */
	bool *gone;                    /* [choices] */
	uint32_t *witness;             /* [edges of a node] the neighbour's strategy with which the one at hand pays least */
	bool witnessed;                /* there is one on every edge */
	uint32_t *looked, *lost, time; /* [nodes] when it was last looked at, and lost a strategy */
	uint32_t dropped;
};

static int64_t pair_of(const struct shard_chain *chain, const struct chain_edge *edge, bool is_from, uint32_t own, uint32_t other)
{
	uint32_t columns = chain->first[edge->to + 1] - chain->first[edge->to];
	return chain->pair[edge->table + (is_from ? (size_t)own * columns + other : (size_t)other * columns + own)];
}

/* The most that t pays more than s on an edge; SHARD_FORBIDDEN where s may and t may not. */
static int64_t most_more(const struct pruning *pruning, const struct chain_edge *edge, bool is_from, uint32_t s, uint32_t t)
{
	const struct shard_chain *chain = &pruning->network->chain;
	uint32_t other = is_from ? edge->to : edge->from;
	int64_t most = INT64_MIN;
	for (uint32_t i = 0; i < chain->first[other + 1] - chain->first[other]; i++) {
		int64_t of_s = pair_of(chain, edge, is_from, s, i), of_t = pair_of(chain, edge, is_from, t, i);
		if (pruning->gone[chain->first[other] + i] || of_s >= SHARD_FORBIDDEN)
			continue;
		if (of_t >= SHARD_FORBIDDEN)
			return SHARD_FORBIDDEN;
		most = of_t - of_s > most ? of_t - of_s : most;
	}
	return most;
}

/* True where an edge may be missing in some copies of the node. */
static bool sometimes(const struct chain_edge *edge, bool is_from)
{
	uint8_t where = is_from ? edge->from_where : edge->to_where;
	return edge->step || where == CHAIN_FIRST || where == CHAIN_LAST;
}

/* Edges of a copy of the node: one to each copy of the other end, where only that has several. */
static int64_t times(const struct shard_chain *chain, const struct chain_edge *edge, bool is_from)
{
	uint8_t own = is_from ? edge->from_where : edge->to_where, far = is_from ? edge->to_where : edge->from_where;
	return own != CHAIN_EVERY && far == CHAIN_EVERY ? chain->copies[chain->segment[is_from ? edge->to : edge->from]] : 1;
}

/* Where s pays least on each edge. */
static void find_witnesses(struct pruning *pruning, uint32_t node, uint32_t s)
{
	const struct shard_chain *chain = &pruning->network->chain;
	uint32_t *witness = pruning->witness;
	pruning->witnessed = true;
	FOR_ROW(i, &pruning->near, node) {
		const struct chain_edge *edge = &chain->edge[pruning->near.item[i] / 2];
		bool is_from = pruning->near.item[i] % 2 == 0;
		uint32_t other = is_from ? edge->to : edge->from;
		int64_t least = SHARD_FORBIDDEN;
		*witness = NONE;
		for (uint32_t j = 0; j < chain->first[other + 1] - chain->first[other]; j++) {
			int64_t cost = pair_of(chain, edge, is_from, s, j);
			if (cost < least && !pruning->gone[chain->first[other] + j]) {
				least = cost;
				*witness = j;
			}
		}
		pruning->witnessed &= *witness++ != NONE;
	}
}

/* True where the witnesses show that t doesn't dominate s. */
static bool told_apart(const struct pruning *pruning, uint32_t node, uint32_t t, uint32_t s)
{
	const struct shard_chain *chain = &pruning->network->chain;
	const uint32_t *witness = pruning->witness;
	uint32_t first = chain->first[node];
	int64_t more = chain->cost[first + t] - chain->cost[first + s];
	if (!pruning->witnessed)
		return false;
	FOR_ROW(i, &pruning->near, node) {
		const struct chain_edge *edge = &chain->edge[pruning->near.item[i] / 2];
		bool is_from = pruning->near.item[i] % 2 == 0;
		int64_t of_t = pair_of(chain, edge, is_from, t, *witness), least = of_t - pair_of(chain, edge, is_from, s, *witness);
		witness++;
		if (of_t >= SHARD_FORBIDDEN)
			return true;
		if (sometimes(edge, is_from) && least < 0)
			least = 0;
		if (least > CHAIN_COST_MAX / times(chain, edge, is_from))
			return true;
		if (least < -CHAIN_COST_MAX / times(chain, edge, is_from))
			return false;
		more += least * times(chain, edge, is_from);
	}
	return more > 0;
}

static bool dominates(const struct pruning *pruning, uint32_t node, uint32_t t, uint32_t s)
{
	const struct shard_chain *chain = &pruning->network->chain;
	uint32_t first = chain->first[node];
	int64_t more = chain->cost[first + t] - chain->cost[first + s];
	FOR_ROW(i, &pruning->near, node) {
		const struct chain_edge *edge = &chain->edge[pruning->near.item[i] / 2];
		bool is_from = pruning->near.item[i] % 2 == 0;
		if (edge->from == edge->to && !edge->step)
			return false;
		int64_t most = most_more(pruning, edge, is_from, s, t);
		if (most >= SHARD_FORBIDDEN)
			return false;
		if (sometimes(edge, is_from) && most < 0)
			most = 0;
		if (most == INT64_MIN)  /* nothing goes with s */
			return true;
		if (most != 0 && (most > CHAIN_COST_MAX / times(chain, edge, is_from) || most < -CHAIN_COST_MAX / times(chain, edge, is_from)))
			return false;
		more += most * times(chain, edge, is_from);
	}
	return more <= 0;
}

/* True where a neighbour lost a strategy since the node was last looked at: nothing else makes one dominate another. */
static bool to_look_at(const struct pruning *pruning, uint32_t node)
{
	const struct shard_chain *chain = &pruning->network->chain;
	bool any = pruning->looked[node] == 0;
	FOR_ROW(i, &pruning->near, node) {
		const struct chain_edge *edge = &chain->edge[pruning->near.item[i] / 2];
		any |= pruning->lost[pruning->near.item[i] % 2 == 0 ? edge->to : edge->from] >= pruning->looked[node];
	}
	return any;
}

static bool prune_node(struct pruning *pruning, uint32_t node)
{
	const struct shard_chain *chain = &pruning->network->chain;
	uint32_t first = chain->first[node], count = chain->first[node + 1] - first, before = pruning->dropped;
	if (!to_look_at(pruning, node))
		return false;
	pruning->looked[node] = ++pruning->time;
	for (uint32_t s = 0; s < count; s++) {
		if (pruning->gone[first + s])
			continue;
		find_witnesses(pruning, node, s);
		for (uint32_t t = 0; t < count && !pruning->gone[first + s]; t++)
			if (t != s && !pruning->gone[first + t] && chain->usage[first + t] <= chain->usage[first + s] && !told_apart(pruning, node, t, s)
				&& dominates(pruning, node, t, s)) {
				pruning->gone[first + s] = true;
				pruning->lost[node] = pruning->time;
				pruning->dropped++;
			}
	}
	return pruning->dropped > before;
}

static enum status find_near(struct pruning *pruning, struct arena *arena)
{
	const struct shard_chain *chain = &pruning->network->chain;
	uint32_t *row = mem_alloc(2 * (size_t)chain->edges, sizeof *row), *item = mem_alloc(2 * (size_t)chain->edges, sizeof *item), pairs = 0;
	for (uint32_t e = 0; row && item && e < chain->edges; e++)
		for (uint32_t end = 0; end < 2; end++) {
			row[pairs] = end ? chain->edge[e].to : chain->edge[e].from;
			item[pairs++] = 2 * e + end;
		}
	enum status status = row && item ? csr_of_pairs(arena, chain->nodes, pairs, row, item, &pruning->near) : NO_MEMORY;
	mem_free(row);
	mem_free(item);
	return status;
}

/* Closes the gaps: choices and tables keep their order. */
static void compact(struct pruning *pruning)
{
	struct network *network = pruning->network;
	struct shard_chain *chain = &network->chain;
	size_t at = 0;
	for (uint32_t e = 0; e < chain->edges; e++) {
		struct chain_edge *edge = &chain->edge[e];
		size_t from = edge->table;
		edge->table = at;
		for (uint32_t i = chain->first[edge->from]; i < chain->first[edge->from + 1]; i++)
			for (uint32_t j = chain->first[edge->to]; j < chain->first[edge->to + 1]; j++, from++)
				if (!pruning->gone[i] && !pruning->gone[j])
					chain->pair[at++] = chain->pair[from];
	}
	chain->pairs = at;
	uint32_t kept = 0, begin = 0;
	for (uint32_t node = 0; node < chain->nodes; node++) {
		uint32_t end = chain->first[node + 1];
		for (uint32_t i = begin; i < end; i++)
			if (!pruning->gone[i]) {
				chain->cost[kept] = chain->cost[i];
				chain->usage[kept] = chain->usage[i];
				network->choice[kept++] = network->choice[i];
			}
		begin = end;
		chain->first[node + 1] = kept;
	}
}

enum status network_prune(struct network *network)
{
	struct arena arena = { 0 };
	struct pruning pruning = { .network = network };
	enum status status = find_near(&pruning, &arena);
	pruning.gone = arena_alloc(&arena, network->chain.first[network->chain.nodes], sizeof *pruning.gone);
	pruning.witness = arena_alloc(&arena, 2 * (size_t)network->chain.edges, sizeof *pruning.witness);
	pruning.looked = arena_alloc(&arena, network->chain.nodes, sizeof *pruning.looked);
	pruning.lost = arena_alloc(&arena, network->chain.nodes, sizeof *pruning.lost);
	if (!pruning.gone || !pruning.witness || !pruning.looked || !pruning.lost)
		status = NO_MEMORY;
	bool more = status == OK;
	for (int round = 0; round < 4 && more; round++) {
		more = false;
		for (uint32_t node = 0; node < network->chain.nodes; node++)
			more |= prune_node(&pruning, node);
	}
	if (status == OK) {
		compact(&pruning);
		network->dropped = pruning.dropped;
	}
	arena_free(&arena);
	return status;
}
