/* shard_chain_model.h: a chain reduced, as factor graphs: one of a segment's copies, and one of everything else.
 *
 * The first and the last copy of a segment belong to everything else ("core"): only what is between them is a power. A state stands
 * between two copies: it holds a cover of the step edges, some of their tails in the copy before and some heads in the one after.
 */
#ifndef TIDEMARK_SHARD_CHAIN_MODEL_H
#define TIDEMARK_SHARD_CHAIN_MODEL_H

#include "shard_chain.h"
#include "shard_chain_power.h"
#include "shard_chain_tree.h"

/* Costs of an edge between kept strategies. */
struct chain_table {
	uint32_t rows, columns;
	int64_t *pair;             /* CHAIN_BLOCKED: forbidden */
	bool separable;            /* then pair = row + column, and both may be blocked */
	int64_t *row, *column;
};

/* Copies 1 .. copies - 2 of a segment of three copies at least: a walk of that many arcs from state to state. */
struct chain_link {
	uint32_t segment, length;
	uint32_t tails, *tail, heads, *head; /* nodes whose strategies make a state, tails first */
	uint32_t outs, *out;       /* variables of the core that every copy sees: their values make a block */
	uint32_t states, blocks;
	uint32_t factor;           /* of the core: blocks x states before the first arc x states after the last one */
	struct chain_graph graph;  /* one copy: kept are out, the state before, the state after */
	uint32_t *var;             /* [nodes] */
	uint32_t *before, *after;  /* [nodes] variables of a tail in the copy before, of a head in the one after */
	uint32_t *shared;          /* [vars of the core] variable here of a core's variable */
};

enum { AT_FIRST, AT_LAST, AT_SECOND, AT_BEFORE_LAST, PLACES };

struct chain_model {
	const struct shard_chain *chain;
	uint32_t *first, *original; /* [nodes + 1], [first[nodes]]: kept strategies */
	int64_t *cost, *usage;     /* [first[nodes]] */
	struct chain_table *table; /* [edges] */
	struct chain_graph core;
	uint32_t *var[PLACES];     /* [nodes] variables of the core, NONE: none. AT_FIRST: outside nodes as well */
	uint32_t links;
	struct chain_link *link;
	int64_t costs, usages;     /* no sum exceeds these in magnitude */
	int64_t base_cost, base_usage; /* what all plans have, left out of everything else here */
	struct arena arena;
};

/* wanted [strategies of the chain]: those that plans may have; NULL: all.
 * INFEASIBLE: forbidden pairs leave a node no strategy. LIMIT: a state has too many values. Free the model in any case. */
enum status chain_model_build(struct chain_model *model, const struct shard_chain *chain, const bool *wanted, struct control *control,
	struct error *error);
void chain_model_free(struct chain_model *model);
/* The strategies that are worth considering: those wanted that have partners over every edge.
 * Fills first, original, cost, usage, table and what all plans have. */
enum status chain_model_reduce(struct chain_model *model, const bool *wanted, struct control *control, struct error *error);

static inline uint32_t chain_width(const struct chain_model *model, uint32_t node)
{
	return model->first[node + 1] - model->first[node];
}
static inline uint32_t chain_copies(const struct shard_chain *chain, uint32_t node)
{
	return chain->segment[node] == NONE ? 1 : chain->copies[chain->segment[node]];
}

#endif
