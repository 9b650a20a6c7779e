/* shard_model.h: a sharding problem reduced for the dual and the primal algorithms, in floating point.
 *
 * Left are strategies that arc consistency keeps, one edge for all edges between two nodes, no edge whose costs are a sum of
 * two nodes' costs, and memory rows at the moments whose live sets no other live set contains ("slots").
 */
#ifndef TIDEMARK_SHARD_MODEL_H
#define TIDEMARK_SHARD_MODEL_H

#include "shard.h"

struct shard_group { uint32_t low, high, edge; };   /* one problem edge between low < high */

struct shard_model {
	const struct shard_problem *problem;
	uint32_t nodes, edges, slots;
	uint32_t *first;           /* [nodes + 1] node -> its first strategy here */
	uint32_t *original;        /* strategy -> its number among the problem's strategies of the node */
	double *unary, *use;       /* strategy -> cost, bytes (0 where the node is never alive) */
	uint32_t *begin, *end;     /* [nodes] slots at which the node is alive */
	int64_t *moment;           /* [slots] */
	uint32_t *tail, *head;     /* [edges] tail < head */
	uint32_t *source;          /* [edges] the first problem edge between the two */
	size_t *table;             /* [edges] costs: tail's strategies x head's, then the same transposed, at pair + table */
	double *pair;
	struct csr incident;       /* node -> edges */
	size_t *into_tail, *into_head; /* [edges] places of the messages to the two ends */
	size_t messages;
	struct shard_group *group; /* [groups] the problem's edges, those between the same two nodes next to each other */
	uint32_t groups;
	uint32_t *reduced;         /* [groups] edge here at the first of its kind, NONE elsewhere and where costs were a sum */
	uint32_t widest;           /* the most strategies of a node */
	double limit;
	double penalty;            /* of a forbidden pair */
	size_t pair_count, pair_room;
	struct arena arena;
};

/* INFEASIBLE: forbidden pairs leave a node no strategy. Free the model in any case. */
enum status shard_model_build(struct shard_model *model, const struct shard_problem *problem, struct error *error);
void shard_model_free(struct shard_model *model);

/* The summed costs of the group that begins at i, tail's kept strategies x head's, into sum; returns the next group. */
uint32_t shard_model_sum(const struct shard_model *model, uint32_t i, double *sum);

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

#endif
