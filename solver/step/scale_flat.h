/* scale_flat.h: another batch of a graph whose shapes are flat: the batch multiplies whole tensors. */
#pragma once

#include "scale_values.h"

/* No tensor has more than one dim, and operators are there that no rule reads so. O(tensors + issues). */
bool scale_flat(const struct graph *graph, const struct factors *factors);
/* Samples of the graph as it is; 0: it has no batch. A flat graph has what its first line says, else one. O(tensors +
 * factors). */
int64_t scale_given_batch(const struct graph *graph, const struct factors *factors);
/* Shapes of a flat graph with another batch. BAD_INPUT: too large, or not made of samples. Free the arena also on
 * failure. O(size). */
enum status scale_flat_values(const struct graph *graph, const struct factors *factors, int64_t batch,
	struct scale_values *values, struct error *error);
