/* dual.h: the Lagrangian dual: multipliers of the memory rows, messages over the edges. */
#pragma once

#include "model.h"

struct shard_dual {
	const struct shard_model *model;
	double *multiplier;   /* [slots] cost per byte, >= 0 */
	double *before;       /* [slots + 1] sums of multipliers, kept by shard_dual_price() */
	double *priced;       /* strategy -> its cost with its usage priced, kept likewise */
	double *message;      /* [messages] */
	double *total, *give; /* [widest] scratch */
	double bound;         /* after the last shard_dual_pass(): below every choice within the limit */
	struct arena arena;
};

enum status shard_dual_begin(struct shard_dual *dual, const struct shard_model *model);
void shard_dual_free(struct shard_dual *dual);

/* Prices usages by the multipliers. O(strategies). */
void shard_dual_price(const struct shard_model *model, const double *multiplier, double *before, double *priced);

/* A forward and a backward pass of sequential tree-reweighted message passing (Kolmogorov, "Convergent tree-reweighted
 * message passing for energy minimization", 2006, section 4.3); the bound never falls while multipliers stay. Where
 * part is not NULL, [messages], the backward pass leaves there the division of costs that proves its bound. O(pairs of
 * strategies). */
void shard_dual_pass(struct shard_dual *dual, double *part);

/* The bound as a certificate, rounded to integers. */
enum status shard_round(
	struct shard_dual *dual, const struct shard_problem *problem, struct shard_certificate *certificate);
