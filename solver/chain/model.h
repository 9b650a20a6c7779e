/* model.h: a chain reduced, as factor graphs: one of a segment's copies, and one of everything else.
 *
 * The first and the last copy of a segment belong to everything else, the "core". Only the copies between them are a
 * power. A state stands between two copies and holds what the edges between these see of their tails in the copy
 * before. */
#pragma once

#include "chain.h"
#include "tree.h"

/* power: least weights of walks of a given length, by min-plus powers of a matrix.
 *
 * Squaring and multiplying keeps O(log length) matrices; going back through them gives a walk.
 * O(states^3 log length). */

struct chain_power {
	uint32_t states, length, squares, products;
	int64_t **square; /* [squares] the 2^i-th power; square[0] is the matrix */
	int64_t **product; /* [products] of the squares of the length's bits, lowest first; the last one is the result */
	uint32_t *bit;     /* [products] */
};

/* length 1 at least. */
enum status chain_power_begin(struct chain_power *power, uint32_t states, uint32_t length, struct arena *arena);
/* After filling square[0]; the result is product[products - 1]. */
void chain_power_run(struct chain_power *power, struct control *control);
/* The states on a best walk, state[0 .. length]. */
void chain_power_walk(const struct chain_power *power, uint32_t from, uint32_t to, uint32_t *state);

/* Costs of an edge between kept strategies: pair + row + column, any of them may be CHAIN_BLOCKED: forbidden. */
struct chain_table {
	uint32_t rows, columns;
	int64_t *pair, *row, *column;
	bool separable; /* pair is zero */
};

/* Strategies of a node by what the other ends of some edges see of them: those of a class have equal pairs there. */
struct chain_classes {
	uint32_t count;
	uint32_t *of;    /* [strategies], the first of a class below the first of the next */
	uint32_t *first; /* [count] */
};

/* What an end of a segment's copy, or a variable of the core, is to others: classes of its strategies. */
struct chain_side { uint32_t node; struct chain_classes classes; };

static inline struct chain_side *chain_side_of(struct chain_side *side, uint32_t sides, uint32_t node)
{
	FOR(i, sides)
		if (side[i].node == node)
			return &side[i];
	return NULL;
}

struct chain_out {
	uint32_t var, class_var; /* of the core: a node's, and its class's */
	struct chain_classes classes;
};

/* Copies 1 .. copies - 2 of a segment of three copies at least: a walk of that many arcs from state to state. */
struct chain_link {
	uint32_t segment, length;
	uint32_t tails;
	struct chain_side *tail; /* nodes whose classes, as the copy after sees them, make a state */
	uint32_t outs;
	struct chain_out *out; /* what every copy sees of the core: their values make a block */
	uint32_t states, blocks;
	uint32_t factor;          /* of the core: blocks x states before the first arc x states after the last one */
	struct chain_graph graph; /* one copy: kept are out, the state before, the state after */
	uint32_t *var;            /* [nodes] */
};

enum { AT_FIRST, AT_LAST, AT_BEFORE_LAST, PLACES };

struct chain_model {
	const struct shard_chain *chain;
	uint32_t *first, *original; /* [nodes + 1], [first[nodes]]: kept strategies */
	int64_t *cost, *usage; /* [first[nodes]] */
	struct chain_table *table; /* [edges] */
	struct chain_graph core;
	uint32_t *var[PLACES]; /* [nodes] variables of the core, NONE: none. AT_FIRST: outside nodes as well */
	uint32_t links;
	struct chain_link *link;
	int64_t costs, usages; /* no sum exceeds these in magnitude */
	int64_t base_cost, base_usage; /* what all plans have, left out of everything else here */
	struct arena arena;
};

/* INFEASIBLE: a node has no allowed strategy. LIMIT: a state has too many values. Free the model in any case.
 */
enum status chain_model_build(struct chain_model *model, const struct shard_chain *chain, struct error *error);
void chain_model_free(struct chain_model *model);
/* Fills first, original, cost, usage, table and what all plans have. */
enum status chain_model_reduce(struct chain_model *model, struct error *error);

/* Finds what states are made of: fills states and tails. LIMIT: too many values. OK or NO_MEMORY besides. */
enum status chain_state_choose(struct chain_model *model, struct chain_link *link);
/* All in one class, of so many strategies; then those apart whose rows or columns of a table differ. OK or NO_MEMORY.
 */
enum status chain_classes_begin(struct chain_classes *classes, uint32_t strategies, struct arena *arena);
enum status chain_classes_split(struct chain_classes *classes, const struct chain_table *table, bool columns);
/* The pairs of a table with one strategy of each class only; NULL: all of them. The table's own where that is all.
 * NULL: out of memory. */
int64_t *chain_classes_pair(const struct chain_table *table, const struct chain_classes *rows,
	const struct chain_classes *columns, struct arena *arena);

static inline uint32_t chain_width(const struct chain_model *model, uint32_t node)
{
	return model->first[node + 1] - model->first[node];
}
