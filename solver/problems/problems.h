/* problems.h: choosing one strategy per node at the least total cost within a memory limit (the IOPDDL problem).
 *
 * Every node has strategies, each with a cost and a memory usage, and a half-open live interval; every edge has a cost
 * for each pair of its ends' strategies. The choice minimises the sum of costs while the usage of the nodes that are
 * alive at a moment never exceeds the limit. The bound is a Lagrangian one; its multipliers, rounded to integers, are
 * a certificate that check.c verifies without the solver.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     problems  the problem, its solution, the run
 *     problem   checks a problem before anything else
 *     merge     nodes that follow each other become one
 *     model     the problem reduced, in floating point
 *     dual      prices of memory and messages over edges (TRW-S)
 *     primal    choices from messages; moves along forests
 *     repair    brings a choice within the memory limit
 *     slack     free bytes over time
 *     round     the dual rounded to an integer certificate
 *     check     sums a choice, checks a bound in integers */
#pragma once

#include "solver/base/base.h"

/* A cost from here on forbids a strategy or a pair of strategies. */
#define SHARD_FORBIDDEN INT64_C(100000000000000000)
/* No sum of allowed costs may exceed this in magnitude. */
#define SHARD_COST_MAX (INT64_C(1) << 61)

struct shard_problem {
	char *name; /* may be NULL */
	uint32_t nodes, edges;
	uint32_t *first;       /* [nodes + 1] node -> its first strategy */
	int64_t *cost, *usage; /* [first[nodes]] of a strategy; usage in bytes */
	int64_t *begin, *end;  /* [nodes] alive from begin to before end; never where begin >= end */
	uint32_t *from, *to;   /* [edges] */
	size_t *table;         /* [edges + 1] edge -> its costs, one row per strategy of from, one column per one of to */
	int64_t *pair;         /* [table[edges]] */
	int64_t limit;         /* bytes at any moment; < 0: none */
};

static inline uint32_t shard_strategies(const struct shard_problem *problem, uint32_t node)
{
	return problem->first[node + 1] - problem->first[node];
}

/* Looks at sizes, ranges and sums. BAD_INPUT with the node or edge in *error. O(size). */
enum status shard_problem_valid(const struct shard_problem *problem, struct error *error);
void shard_problem_free(struct shard_problem *problem);
#define shard_problem_drop shard_problem_free

/* Lagrange multipliers of the memory rows, and messages that move costs between edges and nodes, in units of 2^-shift
 * cost. They are about the merged problem: strategies without a partner over some edge are left out; nodes at the ends
 * of an edge that leaves every strategy exactly one partner are one node, known by its lowest member and that member's
 * strategies; edges between the same two nodes count as one, under the first of them, which alone has messages. */
struct shard_certificate {
	unsigned shift;
	uint32_t moments;
	int64_t *moment;     /* [moments] ascending */
	int64_t *multiplier; /* [moments] per byte over the limit, >= 0 */
	size_t
		*start; /* [edges + 1] edge -> its messages: to the strategies of from's node's lowest member, then of to's */
	int64_t *message; /* [start[edges]] */
};
void shard_certificate_free(struct shard_certificate *certificate);

struct shard_plan {
	uint32_t *choice;   /* [nodes] strategy of a node; NULL where none was found */
	int64_t cost, peak; /* of the choice */
	int64_t bound;      /* no choice within the limit costs less; verified by shard_bound() */
	bool proved;        /* cost == bound */
	bool searched;      /* the bound rests on an exhausted search, not on the certificate */
	struct shard_certificate certificate;
};
void shard_plan_free(struct shard_plan *plan);
#define shard_plan_drop shard_plan_free

struct shard_primal;
struct shard_options {
	uint64_t effort; /* ticks to improve for; about 2e8 a second */
	uint32_t passes; /* of messages before the first choice, as long as they raise the bound; 0: a few */
	double gap;      /* near enough: between cost and bound, relative; 0: only a proof is */
	bool unbounded;  /* the plan's bound isn't wanted, its certificate is */
	/* NULL: none. Makes a choice within the limit cheaper, for so long: tests/common/shard_walk.h has one. */
	void (*walk)(struct shard_primal *primal, const double *priced, uint64_t ticks);
};
#define SHARD_EFFORT_DEFAULT UINT64_C(6000000000)

/* Solves as well as effort allows. OK: done or proved. LIMIT: effort is spent. CANCELLED. In these cases the plan holds
 * the best so far (choice may be NULL). INFEASIBLE: proved to have no solution. BAD_INPUT, NO_MEMORY. Free the plan in
 * any case. Deterministic. Memory O(size of the problem). */
enum status shard_solve(const struct shard_problem *problem, const struct shard_options *options,
	struct control *control, struct shard_plan *plan, struct error *error);

/* ---- checking: shares no code with the solver ---- */

/* Sums a choice's costs and finds its peak. BAD_INPUT: a forbidden strategy or pair, or more than the limit. */
enum status shard_evaluate(const struct shard_problem *problem, const uint32_t *choice, int64_t *cost, int64_t *peak,
	struct error *error);
/* The bound that a certificate proves, in integers, rounded up to a whole cost. INFEASIBLE: forbidden pairs alone leave
 * no solution. BAD_INPUT: not a certificate of this problem. CANCELLED. O(size of the problem) a round of arc
 * consistency. */
enum status shard_bound(const struct shard_problem *problem, const struct shard_certificate *certificate,
	const struct control *control, int64_t *bound, struct error *error);
