/* clusters.h: which modules are boxes of the picture, and which boxes stand above which. */
#pragma once

#include "groups.h"

/* Modules with parts that are told apart are clusters, but not those that hold nothing but one row of layers. So is a
 * layer of several nodes. */
bool cluster_is(const struct drawing *drawing, uint32_t module);
/* The innermost cluster that holds a module; the root, 0, where none does. */
uint32_t cluster_of(const struct drawing *drawing, uint32_t module);

/* A node that has to stand above another one. */
struct cluster_pair { uint32_t above, below; };

/* For `dot`: pairs of nodes that put the boxes of a long chain below each other. Left alone, a box whose backward pass
 * ends a row below where the next box begins shares that row with it, so that each box stands beside the one before: a
 * staircase. Pairs that would go against the edges are left out (the backward pass of a box needs what a later one
 * computes: recomputation). 0 pairs where the chain is short. *pair: free with mem_free(). NO_MEMORY. O(edges between
 * boxes x edges). */
enum status cluster_stack(const struct drawing *drawing, struct cluster_pair **pair, uint32_t *pairs);

/* Whether an edge is drawn from its head to its tail: within the backward pass, which stands beside the forward pass.
 */
bool cluster_edge_back(const struct drawing *drawing, const struct draw_edge *edge);
