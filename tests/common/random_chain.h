/* random_chain.h: random sharding problems with repeated segments. */
#pragma once

#include <string.h>

#include "solver/chain/chain.h"

struct chain_shape {
	uint32_t segments, copies; /* copies: at most */
	uint32_t inside, outside;  /* nodes of a segment, outside: at most */
	uint32_t strategies, edges; /* at most; edges per node */
	int forbidden;             /* percent of pairs */
	int64_t costs, usages;     /* below */
};

static inline uint32_t chain_draw(uint64_t *seed, uint64_t limit)
{
	return limit ? (uint32_t)(random_next(seed) % limit) : 0;
}

static inline int64_t chain_cost(uint64_t *seed, const struct chain_shape *shape)
{
	if (chain_draw(seed, 100) < (uint32_t)shape->forbidden)
		return SHARD_FORBIDDEN + chain_draw(seed, 5);
	return (int64_t)(random_next(seed) % (uint64_t)shape->costs) - shape->costs / 8;
}

static inline uint32_t chain_node_of(const struct shard_chain *chain, uint64_t *seed, uint32_t segment)
{
	uint32_t node;
	do {
		node = chain_draw(seed, chain->nodes);
	} while (chain->segment[node] != segment);
	return node;
}

static inline void chain_draw_edge(struct shard_chain *chain, uint64_t *seed, const struct chain_shape *shape)
{
	struct chain_edge *edge = &chain->edge[chain->edges];
	uint32_t from = chain_draw(seed, chain->nodes), segment = chain->segment[from], kind = chain_draw(seed, 8);
	*edge = (struct chain_edge) { .from = from, .table = chain->pairs };
	if (segment != NONE && kind < 6) {
		edge->to = chain_node_of(chain, seed, segment);
		edge->from_where = edge->to_where = CHAIN_EVERY;
		edge->step = kind >= 3 || edge->to == from;
	} else {
		edge->to = chain_draw(seed, chain->nodes);
		edge->from_where = segment == NONE ? CHAIN_ONLY : (uint8_t)(CHAIN_EVERY + chain_draw(seed, 3));
		edge->to_where = chain->segment[edge->to] == NONE ? CHAIN_ONLY : (uint8_t)(CHAIN_EVERY + chain_draw(seed, 3));
		if (edge->from_where == CHAIN_EVERY && edge->to_where == CHAIN_EVERY)
			edge->to_where = (uint8_t)(CHAIN_FIRST + chain_draw(seed, 2));
	}
	uint32_t rows = chain->first[from + 1] - chain->first[from],
			 columns = chain->first[edge->to + 1] - chain->first[edge->to];
	bool sum = chain_draw(seed, 4) == 0, near = chain_draw(seed, 2), alike = chain_draw(seed, 3) == 0;
	int64_t *pair = chain->pair + chain->pairs;
	for (uint32_t p = 0; p < rows; p++)
		for (uint32_t q = 0; q < columns; q++)
			pair[p * columns + q] = sum ? 3 * (int64_t)p + q % 2 : near && p == q ? 0 : chain_cost(seed, shape);
	/* Strategies that differ by a constant only, seen from the other end. */
	for (uint32_t i = 0; alike && i < rows * columns; i++) {
		int64_t other = i / columns ? pair[i - columns] : i ? pair[i - 1] : SHARD_FORBIDDEN;
		if ((rows > 2 ? i / columns == 1 : i % columns == 1) && other < SHARD_FORBIDDEN)
			pair[i] = other + 2;
	}
	chain->pairs += (size_t)rows * columns;
	chain->edges++;
}

/* False when out of memory. Free its arena. The limit is left to the caller. */
static inline bool random_chain(struct shard_chain *chain, uint64_t *seed, const struct chain_shape *shape)
{
	*chain = (struct shard_chain) { .segments = shape->segments, .limit = -1 };
	uint32_t most = shape->segments * shape->inside + shape->outside + 1, edges = most * shape->edges;
	chain->segment = arena_alloc(&chain->arena, most, sizeof *chain->segment);
	chain->copies = arena_alloc(&chain->arena, shape->segments, sizeof *chain->copies);
	chain->first = arena_alloc(&chain->arena, most + 1, sizeof *chain->first);
	chain->cost = arena_alloc(&chain->arena, (size_t)most * shape->strategies, sizeof *chain->cost);
	chain->usage = arena_alloc(&chain->arena, (size_t)most * shape->strategies, sizeof *chain->usage);
	chain->edge = arena_alloc(&chain->arena, edges, sizeof *chain->edge);
	chain->pair = arena_alloc(&chain->arena, (size_t)edges * shape->strategies * shape->strategies, sizeof *chain->pair);
	if (!chain->segment || !chain->copies || !chain->first || !chain->cost || !chain->usage || !chain->edge ||
		!chain->pair)
		return false;
	for (uint32_t i = 0; i < shape->segments; i++) {
		chain->copies[i] = 1 + chain_draw(seed, shape->copies);
		for (uint32_t count = 1 + chain_draw(seed, shape->inside); count; count--)
			chain->segment[chain->nodes++] = i;
	}
	for (uint32_t count = chain_draw(seed, shape->outside + 1) + !chain->nodes; count; count--)
		chain->segment[chain->nodes++] = NONE;
	for (uint32_t node = 0; node < chain->nodes; node++) {
		chain->first[node + 1] = chain->first[node] + 1 + chain_draw(seed, shape->strategies);
		for (uint32_t i = chain->first[node]; i < chain->first[node + 1]; i++) {
			chain->cost[i] = chain_cost(seed, shape);
			chain->usage[i] = (int64_t)(random_next(seed) % (uint64_t)shape->usages);
		}
	}
	for (uint32_t count = chain_draw(seed, chain->nodes * shape->edges + 1); count; count--)
		chain_draw_edge(chain, seed, shape);
	return true;
}
