/* search.h: what the parts of the search for a chain's plan share. */
#pragma once

#include "model.h"

/* Which arcs a link's copies take. */
struct chain_path {
	uint32_t kinds, **value; /* [kinds] values of a copy's variables */
	uint32_t *arc;           /* [length] kind */
};

/* Costs and usages here and below are without what all plans of the model have. */
struct chain_choice {
	uint32_t *core;          /* values of the core's variables */
	struct chain_path *path; /* [links] */
	int64_t cost, usage;
	struct arena arena;
};

/* A link's trees and tables. */
struct chain_copy {
	struct chain_tree tree;
	struct chain_power *power; /* [blocks] */
};

struct chain_search {
	const struct chain_model *model;
	struct chain_tree core;
	struct chain_copy *copy; /* [links] */
	struct control *control;
	int64_t alpha, beta, weight; /* of the last weighing */
	struct arena arena;
};

/* Weighs: the least alpha * cost + beta * usage of a plan of the model goes to search->weight. O(the tables' entries).
 */
void chain_weigh(struct chain_search *search, int64_t alpha, int64_t beta);
/* A plan of the last weighing's weight. */
enum status chain_decode(const struct chain_search *search, struct chain_choice *choice);
/* Fills choice (as a plan's) with as many inner copies of a segment as over has them as fit, all else as under, which
 * fits. BAD_INPUT: forbidden pairs meet, or it is above the limit. */
enum status chain_splice(const struct shard_chain *chain, const struct chain_plan *under, const uint32_t *over,
	uint32_t segment, uint32_t *choice, int64_t *cost, int64_t *usage);
void chain_choice_free(struct chain_choice *choice);

/* runs: a chain written out as a problem whose size doesn't depend on the copies: a node stands for a run of copies.
 *
 * The first and the last copies are runs of one; the inner copies of a segment are few runs, and all copies of a run
 * get the same choice. A sum over the choices of such a problem is one of the chain, so its plans are plans of the
 * chain. For bounds the steps from copy to copy are cut: where they lead to the next copy, they lead to twins of its
 * nodes, and prices ("potentials") are paid at a node and refunded at its twin, or the other way round. All potentials
 * in a sum over copies cancel, so the least of the cut problem is never more than that of the chain. */

enum chain_steps {
	STEPS_ALIKE, /* steps within a run join the run with itself */
	STEPS_TIED, /* steps lead to twins; of inner runs those are tied to the nodes, at a finite price, by a third node */
	STEPS_CUT /* steps lead to twins */
};

struct chain_runs {
	struct shard_problem problem;
	size_t *start;   /* [nodes + 1] a chain node's runs are problem nodes from here on */
	uint32_t *begin; /* [start[nodes]] first copy of a run */
	uint32_t *tie;   /* [nodes] STEPS_TIED: the third node of its twin, NONE: it has none */
	bool whole;      /* every run is a single copy, and no step is cut: it is the chain written out */
	struct arena arena;
};

/* inner: runs that a segment's inner copies are cut into, each half as long as the one before; 1 for STEPS_TIED and
 * STEPS_CUT. potential: by strategy of the chain, for STEPS_CUT; NULL: all 0. LIMIT: the problem would have more pairs
 * than pairs_most. NO_MEMORY. Free it in any case. O(its size). */
enum status chain_runs_write(const struct shard_chain *chain, enum chain_steps steps, uint32_t inner,
	const int64_t *potential, size_t pairs_most, struct chain_runs *runs);
void chain_runs_free(struct chain_runs *runs);
