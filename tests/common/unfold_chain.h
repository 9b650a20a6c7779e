/* unfold_chain.h: a sharding problem with repeated segments as a plain one, every copy a node. Shares no code with the
 * solver. */
#pragma once

#include <string.h>

#include "solver/chain/chain.h"

static uint32_t strategies_of(const struct shard_chain *chain, uint32_t node)
{
	return chain->first[node + 1] - chain->first[node];
}

/* How many edges a chain edge stands for. */
static uint32_t times_of(const struct shard_chain *chain, const struct chain_edge *edge)
{
	if (edge->step)
		return chain_copies(chain, edge->from) - 1;
	if (edge->from_where == CHAIN_EVERY)
		return chain_copies(chain, edge->from);
	return edge->to_where == CHAIN_EVERY ? chain_copies(chain, edge->to) : 1;
}

/* The copy of an end in the k-th of these edges. */
static uint32_t copy_at(const struct shard_chain *chain, uint32_t node, uint8_t where, uint32_t k)
{
	return where == CHAIN_EVERY ? k : where == CHAIN_LAST ? chain_copies(chain, node) - 1 : 0;
}

static enum status make_room(const struct shard_chain *chain, struct shard_problem *problem, size_t *start)
{
	size_t strategies = 0, pairs = 0, nodes = 0, edges = 0;
	for (uint32_t node = 0; node < chain->nodes; node++) {
		start[node] = nodes;
		nodes += chain_copies(chain, node);
		strategies += (size_t)chain_copies(chain, node) * strategies_of(chain, node);
	}
	start[chain->nodes] = nodes;
	for (uint32_t i = 0; i < chain->edges; i++) {
		const struct chain_edge *edge = &chain->edge[i];
		edges += times_of(chain, edge);
		pairs += (size_t)times_of(chain, edge) * strategies_of(chain, edge->from) * strategies_of(chain, edge->to);
	}
	if (nodes >= NONE || edges >= NONE || strategies >= NONE)
		return NO_MEMORY;
	problem->nodes = (uint32_t)nodes;
	problem->edges = (uint32_t)edges;
	problem->first = mem_alloc(nodes + 1, sizeof *problem->first);
	problem->cost = mem_alloc(strategies, sizeof *problem->cost);
	problem->usage = mem_alloc(strategies, sizeof *problem->usage);
	problem->begin = mem_alloc(nodes, sizeof *problem->begin);
	problem->end = mem_alloc(nodes, sizeof *problem->end);
	problem->from = mem_alloc(edges, sizeof *problem->from);
	problem->to = mem_alloc(edges, sizeof *problem->to);
	problem->table = mem_alloc(edges + 1, sizeof *problem->table);
	problem->pair = mem_alloc(pairs, sizeof *problem->pair);
	return problem->first && problem->cost && problem->usage && problem->begin && problem->end && problem->from &&
			problem->to && problem->table && problem->pair
		? OK
		: NO_MEMORY;
}

static void write_nodes(const struct shard_chain *chain, struct shard_problem *problem)
{
	uint32_t written = 0;
	for (uint32_t node = 0; node < chain->nodes; node++)
		for (uint32_t copy = 0; copy < chain_copies(chain, node); copy++) {
			uint32_t at = problem->first[written], count = strategies_of(chain, node);
			memcpy(problem->cost + at, chain->cost + chain->first[node], count * sizeof *problem->cost);
			memcpy(problem->usage + at, chain->usage + chain->first[node], count * sizeof *problem->usage);
			problem->end[written++] = 1;
			problem->first[written] = at + count;
		}
}

static void write_edges(const struct shard_chain *chain, struct shard_problem *problem, const size_t *start)
{
	uint32_t written = 0;
	for (uint32_t i = 0; i < chain->edges; i++) {
		const struct chain_edge *edge = &chain->edge[i];
		size_t size = (size_t)strategies_of(chain, edge->from) * strategies_of(chain, edge->to);
		for (uint32_t k = 0; k < times_of(chain, edge); k++, written++) {
			problem->from[written] = (uint32_t)start[edge->from] + copy_at(chain, edge->from, edge->from_where, k);
			problem->to[written] = (uint32_t)start[edge->to] + copy_at(chain, edge->to, edge->to_where, k + edge->step);
			memcpy(problem->pair + problem->table[written], chain->pair + edge->table, size * sizeof *problem->pair);
			problem->table[written + 1] = problem->table[written] + size;
		}
	}
}

/* The same problem with every copy written out (one moment of memory); node's copy k is problem node start[node] + k.
 */
static enum status shard_chain_unfold(
	const struct shard_chain *chain, struct shard_problem *problem, size_t *start, struct error *error)
{
	*problem = (struct shard_problem) { .limit = chain->limit };
	TRY(shard_chain_valid(chain, error));
	enum status status = make_room(chain, problem, start);
	if (status != OK) {
		shard_problem_free(problem);
		return fail_memory(error);
	}
	write_nodes(chain, problem);
	write_edges(chain, problem, start);
	return OK;
}
