/* scale_values.h: the new extents of all factors and dims. */
#pragma once

#include "scale.h"

struct scale_values {
	int64_t *value;        /* [factors] */
	int64_t *shape;        /* [dims] new extents, by factors->dim_start */
	bool *changed;         /* [tensors] */
	uint32_t capacities;   /* factors that are taken for an expert's slots */
	uint32_t reserves;     /* recurrent layers whose reserve is scaled like their operand, since its form isn't known */
	struct arena arena;
};

/* BAD_INPUT with the reason as graph_scale(). Free the arena also on failure. */
enum status scale_values_find(const struct graph *graph, const struct rules *rules, const struct factors *factors,
	const struct scale_request *request, struct scale_values *values, struct error *error);

/* scale_flat: another batch of a graph whose shapes are flat: the batch multiplies whole tensors. */

/* No tensor has more than one dim, and operators are there that no rule reads so. O(tensors + issues). */
bool scale_flat(const struct graph *graph, const struct factors *factors);
/* Samples of the graph as it is; 0: it has no batch. A flat graph has what its first line says, else one. O(tensors +
 * factors). */
int64_t scale_given_batch(const struct graph *graph, const struct factors *factors);
/* Shapes of a flat graph with another batch. BAD_INPUT: too large, or not made of samples. Free the arena also on
 * failure. O(size). */
enum status scale_flat_values(const struct graph *graph, const struct factors *factors, int64_t batch,
	struct scale_values *values, struct error *error);

/* scale_held: what a framework holds while a module runs, where a graph at another batch copies it. */

/* The arguments of a module are held by who called it until it returns, also where all that the module reads of them is
 * a copy. The last op of that call, for an op of `graph` whose first operand is copied before it; NONE: nothing holds
 * it longer, or no framework ran this graph op by op (it has no releases). O(ops of the call). */
uint32_t scale_held_until(const struct graph *graph, uint32_t op);

/* scale_reserve: what a layer of a recurrent network keeps for its backward pass beside its results. */

/* Bytes that oneDNN's LSTM layer in f32 keeps on a CPU, for so many times, samples, features and hidden units.
 * INT64_MAX where that is too much to count. */
int64_t lstm_reserve(const int64_t size[4]);
