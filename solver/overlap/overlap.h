/* overlap.h: an order for time: what to compute while collectives run.
 *
 * A device computes one op after the other, in the plan's order, while its links work beside it
 * (solver/cost/step_time.h). An order of the least peak lets computation wait: a weight gradient runs before the
 * collective that could have run beside it, a gradient is reduced just where its update needs it. Here orders are
 * sought whose step is short and whose peak keeps a limit. "Latency hiding scheduling" elsewhere.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     overlap      an order of the least time found: starts, passes, the exact simulation as the judge
 *     pass         one pass: list scheduling that takes ops forward only where the peak keeps the limit
 *     lineup       an order that changes op by op, with its live bytes
 *     play         the step's time in such an order, many times in a row
 *     anneal       changes at random
 *     climb        orders under one limit after the other
 *     step_bound   picoseconds that no order goes below, with their certificate
 *     check        the certificate, worked out anew */
#pragma once

#include "solver/cost/step_time.h"
#include "solver/graph/problem.h"

struct overlap_request {
	const struct graph *graph;
	const struct problem *problem;      /* of the graph: lives of its storages, dependencies, pins */
	const struct step_costs *costs;
	int64_t limit;                      /* bytes that an order's peak keeps; INT64_MAX: any */
	const uint32_t *const *start;       /* [starts] orders: passes begin with the first that keeps the limit */
	uint32_t starts;
	uint64_t ticks;                     /* effort of passes; 0: OVERLAP_EFFORT */
	uint64_t moves;                     /* effort of changes at random after them; 0: none */
	int64_t bound;                      /* picoseconds: an order that takes no longer is the best there is */
	const uint32_t *known;              /* [ops] an order that keeps the limit and needs no passes; or NULL */
	bool glance;                        /* by the first way alone: a few passes, often within 3 % */
};

#define OVERLAP_EFFORT UINT64_C(150000000)
#define OVERLAP_MOVES UINT64_C(15000000)
#define OVERLAP_CHANGES_LEAST 200u

/* How many changes an effort pays in a graph of so many ops; 0: too few to bring anything. */
static inline uint64_t overlap_changes(uint64_t moves, uint32_t ops)
{
	uint64_t changes = moves / (2 * (uint64_t)ops + 1);
	return changes < OVERLAP_CHANGES_LEAST ? 0 : changes;
}

struct overlap_result {
	uint32_t *order;                    /* [ops]; NULL where no start keeps the limit */
	int64_t time;                       /* picoseconds of the simulated step */
	int64_t peak;                       /* bytes */
	const char *winner;                 /* static text: what found it */
};

/* The order of the least simulated step that was found; of equals, that of the lowest peak. Never slower than the
 * fastest start that keeps the limit. OK; INFEASIBLE where none does; CANCELLED with the best so far (or none);
 * NO_MEMORY. Free the result in any case. Each pass is O(ops * (window + ops that could run)), each change O(ops log
 * ops + dependencies). */
enum status overlap_schedule(
	const struct overlap_request *request, struct control *control, struct overlap_result *result);
void overlap_result_free(struct overlap_result *result);
