/* growth.h: what a sample more adds to tensors and ops, as captures of a step at different batches tell. */
#pragma once

#include "graph.h"

/* The graph from which other batches are made without rules; NULL: there is none. */
const struct graph *growth_base(const struct graph *graph);
/* The step as captured at a batch, or what it is made of: growth_base(). NULL where that is. */
const struct graph *growth_nearest(const struct graph *graph, int64_t batch);
/* The workspace of an op at a batch: on the lines through what was measured, which goes on at both ends; -1: that is
 * known at one batch at most. O(measurements). */
int64_t growth_workspace(const struct op *op, int64_t batch);

/* Copies for an arena; NULL when out of memory. */
const int64_t *growth_copy(struct arena *arena, const struct tensor *of, const int64_t *grows);
const struct op_growth *growth_copy_op(struct arena *arena, const struct op_growth *grows);

/* All of it, joined to a hash. */
uint64_t growth_hash(const struct graph *graph, uint64_t hash);

/* The arguments of an op at `more` samples more; texts that stay are lent. NULL when out of memory. O(length). */
const struct arguments *growth_arguments(struct arena *arena, const struct op *op, int64_t more);
