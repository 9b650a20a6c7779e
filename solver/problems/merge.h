/* merge.h: nodes that follow each other are one decision.
 *
 * Where an edge allows every strategy of one end exactly one partner at the other, the two choose together (operators
 * that keep their operand's placement). Clusters of such nodes are found along breadth-first trees. */
#pragma once

#include "model.h"

struct shard_merge {
	uint32_t clusters;
	uint32_t *cluster;         /* [nodes] numbered by their lowest nodes */
	uint32_t *member;          /* [strategies] the cluster's strategy that this one is part of; valid where alive */
	uint32_t
		*up; /* [nodes] the first of the groups of edges to the node that it follows; NONE: the first of its cluster */
	uint32_t *order;           /* [nodes] a cluster after another, what is followed before what follows */
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
