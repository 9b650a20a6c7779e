/* search.h: what the parts of the search for a chain's plan share. */
#pragma once

#include "front.h"
#include "model.h"

/* Which arcs a link's copies take. */
struct chain_path {
	uint32_t kinds, **value;   /* [kinds] values of a copy's variables */
	uint32_t *arc;             /* [length] kind */
};

/* Costs and usages here and below are without what all plans of the model have. */
struct chain_choice {
	uint32_t *core;            /* values of the core's variables */
	struct chain_path *path;   /* [links] */
	int64_t cost, usage;
	struct arena arena;
};

/* A link's trees and tables. */
struct chain_copy {
	struct chain_tree tree;
	struct chain_power *power; /* [blocks] */
	int64_t *around;           /* what is around all arcs: like the link's factor */
	int64_t *arc;              /* and around a single one: like the root of the tree */
};

struct chain_search {
	const struct chain_model *model;
	struct chain_tree core;
	struct chain_copy *copy;   /* [links] */
	struct control *control;
	int64_t limit;             /* of the usage */
	bool weighed;
	int64_t alpha, beta, weight; /* of the last weighing */
	struct arena arena;
};

/* Weighs: the least alpha * cost + beta * usage of a plan of the model goes to search->weight. O(the tables' entries).
 */
void chain_weigh(struct chain_search *search, int64_t alpha, int64_t beta);
/* What is around every bucket of every tree, as far as it is part of a plan of at most most weight. least:
 * min-marginals of all variables, of the core and of each link; NULL: not wanted. */
void chain_weigh_around(struct chain_search *search, int64_t most, int64_t ***least);
/* A plan of the last weighing's weight. */
enum status chain_decode(const struct chain_search *search, struct chain_choice *choice);
/* By elimination with points: of everything that weighs at most most, what costs least within the limit, below below.
 * INFEASIBLE: there is nothing. LIMIT: too many points, no choice. */
enum status chain_exact(struct chain_search *search, int64_t most, int64_t below, struct chain_choice *choice);
/* Fills choice (as a plan's) with as many inner copies of a segment as over has them as fit, all else as under, which
 * fits. BAD_INPUT: forbidden pairs meet, or it is above the limit. */
enum status chain_splice(const struct shard_chain *chain, const struct chain_plan *under, const uint32_t *over,
	uint32_t segment, uint32_t *choice, int64_t *cost, int64_t *usage);
void chain_choice_free(struct chain_choice *choice);
/* Cost and usage of a choice. */
void chain_choice_sum(const struct chain_model *model, struct chain_choice *choice);
