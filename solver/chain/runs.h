/* runs.h: a chain written out as a problem whose size doesn't depend on the copies: a node stands for a run of copies.
 *
 * The first and the last copies are runs of one; the inner copies of a segment are few runs, and all copies of a run
 * get the same choice. A sum over the choices of such a problem is one of the chain, so its plans are plans of the
 * chain. For bounds the steps from copy to copy are cut: where they lead to the next copy, they lead to twins of its
 * nodes, and prices ("potentials") are paid at a node and refunded at its twin, or the other way round. All potentials
 * in a sum over copies cancel, so the least of the cut problem is never more than that of the chain. */
#pragma once

#include "chain.h"

enum chain_steps {
	STEPS_ALIKE,               /* steps within a run join the run with itself */
	STEPS_TIED, /* steps lead to twins; of inner runs those are tied to the nodes, at a finite price, by a third node */
	STEPS_CUT /* steps lead to twins */
};

struct chain_runs {
	struct shard_problem problem;
	size_t *start;             /* [nodes + 1] a chain node's runs are problem nodes from here on */
	uint32_t *begin;           /* [start[nodes]] first copy of a run */
	uint32_t *tie;             /* [nodes] STEPS_TIED: the third node of its twin, NONE: it has none */
	bool whole;                /* every run is a single copy, and no step is cut: it is the chain written out */
	struct arena arena;
};

/* inner: runs that a segment's inner copies are cut into, each half as long as the one before; 1 for STEPS_TIED and
 * STEPS_CUT. potential: by strategy of the chain, for STEPS_CUT; NULL: all 0. LIMIT: the problem would have more pairs
 * than pairs_most. NO_MEMORY. Free it in any case. O(its size). */
enum status chain_runs_write(const struct shard_chain *chain, enum chain_steps steps, uint32_t inner,
	const int64_t *potential, size_t pairs_most, struct chain_runs *runs);
void chain_runs_free(struct chain_runs *runs);
