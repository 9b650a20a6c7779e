/* primal.h: choices: decoded from messages, improved by induced forests, brought and kept within the memory limit. */
#pragma once

#include "dual.h"

struct shard_slack;
struct candidate { double value, weight; uint32_t strategy; }; /* a strategy while a node is polished */

/* A choice that is being improved, and what improving needs. Strategies are counted as the model does, from 0 per node.
 */
struct shard_primal {
	const struct shard_model *model;
	const struct control *control; /* asked whether to go on between two forests */
	uint32_t *choice, *best; /* [nodes]; best of a walk */
	double *load;            /* [slots] bytes of the choice, kept by shard_primal_load() */
	uint64_t random;
	uint32_t *shuffled; /* [nodes] */
	double *value;      /* strategy -> cost of the node's subtree, or of the node in its surroundings */
	/* the induced forest */
	uint32_t *root, *parent, *order; /* union-find; edge to the parent or NONE; nodes, parents first */
	bool *inside;
	uint32_t *answer; /* [messages] best strategy below, for each one of the parent */
	/* memory */
	double *pressure, *before, *priced; /* multipliers while repairing, and prices that follow from them */
	struct shard_slack *slack;
	struct candidate *candidate; /* [widest] scratch */
	double *room; /* [most_pieces] scratch */
	struct arena arena;
};

enum status shard_primal_begin(
	struct shard_primal *primal, const struct shard_model *model, const struct control *control);
void shard_primal_free(struct shard_primal *primal);

/* The cost of the choice, penalties of forbidden pairs included. O(edges). */
double shard_primal_cost(const struct shard_primal *primal);
/* Fills load; the peak. O(nodes + slots). */
double shard_primal_load(struct shard_primal *primal);
/* Costs of a node's strategies with its neighbours' choices fixed, into value (a row of the node's width). */
void shard_primal_surround(const struct shard_primal *primal, const double *cost, uint32_t node, double *value);

/* A choice, node by node, from the dual's priced costs and messages (Kolmogorov 2006, section 5). O(strategies +
 * messages). */
void shard_primal_decode(struct shard_primal *primal, const struct shard_dual *dual);
/* The best choice of the nodes of a random maximal induced forest, all others fixed; never dearer in cost[strategy].
 * O(pairs of strategies). */
void shard_primal_forest(struct shard_primal *primal, const double *cost);

/* The same for the forest that order lists (count nodes, parents first), with parent and inside. */
void shard_primal_solve(struct shard_primal *primal, const double *cost, uint32_t count);

/* Raises the price of memory where it is short until the choice is within the limit, or a number of rounds is over;
 * forests move the choice. multiplier: where prices begin. True: within the limit. */
bool shard_primal_repair(struct shard_primal *primal, const double *multiplier, uint32_t rounds);
/* Lets single nodes move to cheaper strategies that fit. The choice must be within the limit, and stays so. */
void shard_primal_polish(struct shard_primal *primal);
/* Moves the slack as a node goes from one strategy to another. */
void shard_primal_move(struct shard_primal *primal, uint32_t node, uint32_t from, uint32_t to);

/* slack: free bytes per slot, under changes of ranges and questions for the least in a range. */

/* In blocks: a range touches each block whole, by one number, or in part. Both operations O(sqrt(slots)). */
struct shard_slack;

struct shard_slack *shard_slack_new(struct arena *arena, uint32_t slots);
/* Sets every slot to limit - load. */
void shard_slack_set(struct shard_slack *slack, const double *load, double limit);
void shard_slack_add(struct shard_slack *slack, uint32_t begin, uint32_t end, double bytes);
/* HUGE_VAL for an empty range. */
double shard_slack_least(const struct shard_slack *slack, uint32_t begin, uint32_t end);

/* Fisher and Yates's shuffle. */
void shard_shuffle(uint32_t *item, uint32_t count, uint64_t *random);
