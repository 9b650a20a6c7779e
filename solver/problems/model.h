/* model.h: a sharding problem reduced for the dual and the primal algorithms, in floating point.
 *
 * Left are strategies that arc consistency keeps, one node for all problem nodes that follow each other (its members),
 * one edge for all edges between two nodes, no edge whose costs are a sum of two nodes' costs, and memory rows at the
 * moments whose live sets no other live set contains ("slots"). */
#pragma once

#include "problems.h"

struct shard_group { uint32_t low, high, edge; }; /* one problem edge between nodes low < high */

/* One of the problem's nodes that a node here stands for. */
struct shard_member {
	uint32_t node;
	uint32_t base; /* its part of original: as many as the node here has strategies */
};

/* A stretch of slots at which the same members of a node are alive: those of a node are disjoint and ascending. */
struct shard_piece {
	uint32_t begin, end; /* slots */
	uint32_t base;       /* its part of use */
};

struct shard_model {
	const struct shard_problem *problem;
	uint32_t nodes, edges, slots;
	uint32_t *first;        /* [nodes + 1] node -> its first strategy here */
	double *unary;          /* strategy -> cost of all members */
	uint32_t *member_start; /* [nodes + 1] a node's members, what is followed before what follows */
	struct shard_member *member;
	uint32_t *member_of;   /* [problem nodes] */
	uint32_t *node_of;     /* [problem nodes] */
	uint32_t *original;    /* [base + strategy] a member's strategy among the problem's strategies of its node */
	uint32_t *piece_start; /* [nodes + 1] memory of a node; pieces of no bytes are left out */
	struct shard_piece *piece;
	double *use;           /* [base + strategy] bytes of all members that are alive in a piece */
	double *weight;        /* strategy -> sum of its bytes over slots: which of two is lighter */
	uint32_t most_pieces;  /* of a node */
	int64_t *moment;       /* [slots] */
	uint32_t *tail, *head; /* [edges] tail < head */
	size_t *table;         /* [edges] costs: tail's strategies x head's, then the same transposed, at pair + table */
	double *pair;
	struct csr incident; /* node -> edges */
	size_t *into_tail, *into_head; /* [edges] places of the messages to the two ends */
	size_t messages;
	struct shard_group
		*group; /* [groups] the problem's edges, those between the same two problem nodes next to each other */
	uint32_t groups;
	uint32_t
		*bundle; /* [bundles] groups that join different nodes here, those between the same two next to each other */
	uint32_t bundles;
	uint32_t *reduced; /* [bundles] edge here at the first of its kind, NONE elsewhere and where costs were a sum */
	uint32_t widest; /* the most strategies of a node */
	double limit;
	double penalty; /* of a forbidden pair */
	size_t pair_count, pair_room;
	struct arena arena;
};

/* INFEASIBLE: forbidden pairs leave a node no strategy. CANCELLED. Free the model in any case. */
enum status shard_model_build(struct shard_model *model, const struct shard_problem *problem,
	const struct control *control, struct error *error);
void shard_model_free(struct shard_model *model);

/* Where bundle i ends: the next one that joins other nodes. */
uint32_t shard_bundle_end(const struct shard_model *model, uint32_t i);
/* The summed costs of bundles [begin, end), which join the same two nodes, lower's kept strategies x higher's, into
 * sum. */
void shard_model_sum(const struct shard_model *model, uint32_t begin, uint32_t end, double *sum);
/* The two nodes here that a bundle joins, the lower first. */
void shard_bundle_ends(const struct shard_model *model, uint32_t i, uint32_t *low, uint32_t *high);
/* A strategy of a problem node, given its node's strategy here. */
static inline uint32_t shard_original(const struct shard_model *model, uint32_t problem_node, uint32_t p)
{
	return model->original[model->member[model->member_of[problem_node]].base + p];
}
#define FOR_PIECES(m, model, of) \
	for (const struct shard_piece *m = (model)->piece + (model)->piece_start[of]; \
		m < (model)->piece + (model)->piece_start[(of) + 1]; m++)
#define FOR_MEMBERS(m, model, of) \
	for (const struct shard_member *m = (model)->member + (model)->member_start[of]; \
		m < (model)->member + (model)->member_start[(of) + 1]; m++)

static inline uint32_t shard_width(const struct shard_model *model, uint32_t node)
{
	return model->first[node + 1] - model->first[node];
}
/* The end of an edge that is not node. */
static inline uint32_t shard_other(const struct shard_model *model, uint32_t edge, uint32_t node)
{
	return model->tail[edge] == node ? model->head[edge] : model->tail[edge];
}
/* Costs of an edge for each strategy of node: rows are the strategies of the other end. */
static inline const double *shard_rows(const struct shard_model *model, uint32_t edge, uint32_t node)
{
	size_t size = (size_t)shard_width(model, model->tail[edge]) * shard_width(model, model->head[edge]);
	return model->pair + model->table[edge] + (model->head[edge] == node ? 0 : size);
}
/* Place of the message over an edge to node. */
static inline size_t shard_into(const struct shard_model *model, uint32_t edge, uint32_t node)
{
	return model->head[edge] == node ? model->into_head[edge] : model->into_tail[edge];
}

/* merge: nodes that follow each other are one decision.
 *
 * Where an edge allows every strategy of one end exactly one partner at the other, the two choose together (operators
 * that keep their operand's placement). Clusters of such nodes are found along breadth-first trees. */

struct shard_merge {
	uint32_t clusters;
	uint32_t *cluster; /* [nodes] numbered by their lowest nodes */
	uint32_t *member;  /* [strategies] the cluster's strategy that this one is part of; valid where alive */
	uint32_t
		*up; /* [nodes] the first of the groups of edges to the node that it follows; NONE: the first of its cluster */
	uint32_t *order; /* [nodes] a cluster after another, what is followed before what follows */
};

/* Where the run of parallel edges that begins at i ends. */
uint32_t shard_group_end(const struct shard_group *group, uint32_t groups, uint32_t i);
/* Do all of them allow strategy p of the lower node beside q of the higher one? */
bool shard_group_allows(const struct shard_problem *problem, const struct shard_group *group, uint32_t groups,
	uint32_t i, uint32_t p, uint32_t q);

/* Clusters of a problem whose edges between different nodes are in group, parallel ones next to each other; alive:
 * strategies that are left. Strategies that an edge inside a cluster forbids are killed: then *again is set, and
 * pruning and merging have to be done anew. Results live in arena. OK or NO_MEMORY. O(pairs of strategies). */
enum status shard_merge_find(const struct shard_problem *problem, const struct shard_group *group, uint32_t groups,
	bool *alive, struct arena *arena, struct shard_merge *merge, bool *again);
