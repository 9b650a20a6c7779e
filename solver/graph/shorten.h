/* shorten.h: a graph with fewer of its equal layers, to plan in the place of the long one where many plans are
 * compared.
 *
 * Of every segment of a fold the first and the last copies stay. What a copy reads from the one next to it that is left
 * out it reads from the one that takes its place: so a short step differs from the long one by whole copies, and what a
 * plan of it comes to grows by what a copy adds. */
#pragma once

#include "fold.h"

#define SHORTEN_LEAST \
	3 /* copies that stay of a segment, at least: a first one, a last one, and one with copies on both sides */

struct shortened {
	struct graph *graph;
	uint32_t *op, *tensor; /* [ops], [tensors] of graph: the same in the long one */
};

/* copies[segments]: how many of each stay, from SHORTEN_LEAST to all. INFEASIBLE: something else reads what a copy
 * makes that is left out, a norm over all gradients for one; BAD_INPUT or INFEASIBLE: what is left is no graph. Free it
 * in any case. O(graph). */
enum status graph_shorten(const struct graph *graph, const struct fold *fold, const uint32_t *copies,
	struct shortened *shortened, struct error *error);
void shortened_free(struct shortened *shortened);
