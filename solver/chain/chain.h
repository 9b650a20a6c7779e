/* chain.h: sharding problems with repeated segments, solved without unfolding them.
 *
 * A node has strategies, each with a cost and a usage of memory. An edge has a cost for each pair of strategies of its
 * two ends. A node of a segment stands for `copies` equal layers; each copy gets a strategy of its own. Wanted is the
 * least sum of costs for which the sum of usages is at most `limit`.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     chain    the problem, its plan, the run over prices
 *     reduce   forbidden strategies go
 *     classes  strategies that look alike from outside
 *     model    the problem as factor graphs
 *     order    in which order variables go
 *     tree     elimination and its pass
 *     power    min-plus powers: walks of a given length
 *     weigh    a price put on the model, and the plan of least weight
 *     splice   a plan between two, from both
 *     search   what the parts share
 *     runs     copies as few runs: a problem of fixed size
 *     rough    chains too wide for elimination
 *     bound    checks the bound of a price, all copies written out
 *     check    checks a plan, all copies written out */
#pragma once

#include "solver/problems/problems.h"

/* Which copies of the segment an edge's end stands for. An end outside all segments is ONLY. */
enum chain_where { CHAIN_ONLY, CHAIN_EVERY, CHAIN_FIRST, CHAIN_LAST };

struct chain_edge {
	uint32_t from, to; /* nodes */
	/* Both EVERY and of one segment: the same copy, or with step, from in one copy and to in the next.
	 * ONLY, FIRST or LAST with EVERY: each copy has such an edge. FIRST, LAST: of that copy alone. */
	uint8_t from_where, to_where;
	bool step;
	size_t table; /* costs at pair + table: rows strategies of from, columns strategies of to */
};

struct shard_chain {
	uint32_t nodes, edges, segments;
	uint32_t *segment;     /* [nodes] NONE: outside */
	uint32_t *copies;      /* [segments] */
	uint32_t *first;       /* [nodes + 1] node -> its first strategy */
	int64_t *cost, *usage; /* [first[nodes]] of one copy; cost SHARD_FORBIDDEN or more: not allowed */
	struct chain_edge *edge;
	int64_t *pair; size_t pairs;
	int64_t limit;      /* of the sum of usages; < 0: none */
	struct arena arena; /* owns all of it */
};

static inline uint32_t chain_copies(const struct shard_chain *chain, uint32_t node)
{
	return chain->segment[node] == NONE ? 1 : chain->copies[chain->segment[node]];
}

static inline uint32_t chain_strategies(const struct shard_chain *chain, uint32_t node)
{
	return chain->first[node + 1] - chain->first[node];
}

/* How many edges an edge stands for. */
static inline int64_t chain_times(const struct shard_chain *chain, const struct chain_edge *edge)
{
	uint32_t node = edge->from_where == CHAIN_EVERY ? edge->from : edge->to;
	bool every = edge->from_where == CHAIN_EVERY || edge->to_where == CHAIN_EVERY;
	return every ? (int64_t)chain_copies(chain, node) - edge->step : 1;
}

/* How a bound comes about: elimination at the best price of memory; every choice tried; the local polytope with
 * multipliers of the limit; the least of each node by itself. */
enum { CHAIN_EXACT, CHAIN_SEARCH, CHAIN_POLYTOPE, CHAIN_LEAST, CHAIN_BOUNDS };
extern const char *const chain_bound_names[CHAIN_BOUNDS];

struct chain_plan {
	/* Strategy of every copy: choice[start[node] + copy]; outside nodes have one copy. */
	size_t *start;    /* [nodes + 1] */
	uint32_t *choice; /* NULL where there is none */
	int64_t cost, usage;
	int64_t bound; /* no choice within the limit costs less */
	bool proved;
	/* A price of usage, beta / alpha: it alone shows that no choice costs less than priced, see shard_chain_bound().
	 * alpha 0: none. */
	int64_t alpha, beta, priced;
	const char *bound_kind; /* one of chain_bound_names */
	uint32_t states;        /* between copies, of the largest model */
	struct arena arena;
};

/* No sum of the magnitudes of allowed costs, nor of usages, over all copies may exceed this. */
#define CHAIN_COST_MAX (INT64_C(1) << 55)

/* Checks sizes, ranges, sums and the ends of edges. BAD_INPUT names the node or edge in *error. O(size). */
enum status shard_chain_valid(const struct shard_chain *chain, struct error *error);

/* OK: optimal (proved). INFEASIBLE: nothing fits the limit: the least usage is then in plan->usage, -1 where forbidden
 * pairs leave nothing at all. LIMIT, CANCELLED: the best so far; choice is NULL where tables would be too large. Time
 * independent of copies where segments' boundaries are narrow. Deterministic. */
enum status shard_chain_solve(const struct shard_chain *chain, uint64_t effort, struct control *control,
	struct chain_plan *plan, struct error *error);
/* For chains that shard_chain_solve() gives up. A local search gives all inner copies of a segment one choice; a
 * Lagrangian bound holds for all choices. The time doesn't depend on the number of copies. OK: proved. LIMIT,
 * CANCELLED: the best so far; choice is NULL where none was found, bound_kind where there is no bound. INFEASIBLE:
 * proved; usage is -1. A bound alone may bring no plan. Deterministic. */
enum chain_wants { CHAIN_PLAN, CHAIN_BOTH, CHAIN_BOUND };
enum status shard_chain_rough(const struct shard_chain *chain, uint64_t effort, enum chain_wants wants,
	struct control *control, struct chain_plan *plan, struct error *error);
/* The better of two plans of one chain, into plan: the first may have no choice, the price is the other one's.
 * OK: proved. */
enum status chain_plan_join(struct chain_plan *plan, struct chain_plan *other);
void chain_plan_free(struct chain_plan *plan);
#define chain_plan_drop chain_plan_free
/* Sums a plan's cost and usage anew, straight from the definition above. BAD_INPUT: forbidden, or above the limit. */
enum status shard_chain_evaluate(
	const struct shard_chain *chain, const struct chain_plan *plan, int64_t *cost, int64_t *usage, struct error *error);
/* The bound that a price beta / alpha gives, rounded up to a whole cost. Every copy is written out, and a plain
 * elimination in integers solves it; that shares no code with the solver's. BAD_INPUT: not a price of this chain.
 * LIMIT: the chain is too large for it. O(copies * elimination of one). */
enum status shard_chain_bound(
	const struct shard_chain *chain, int64_t alpha, int64_t beta, int64_t *bound, struct error *error);
