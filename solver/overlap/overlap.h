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
	int64_t lead;                       /* picoseconds that another search came to; 0: none */
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

/* climb: orders for time under one limit after the other.
 *
 * What keeps a limit keeps any larger one. So limits are taken upwards, each search begins with what the one below
 * found, and where the limits lie doesn't depend on the cap: a larger cap tries all that a smaller one tries, in the
 * same way, and more. No step is slower for more memory then. */

#define CLIMB_RUNGS 16

struct overlap_climb {
	uint32_t count;
	struct overlap_result
		found[2 * CLIMB_RUNGS + 3]; /* the slowest first, no two as fast. The faster ones need more memory, as a rule */
};

/* All orders found that keep the request's limit, the cap: what is laid out may need more than its peak, and how much
 * more differs. request->ticks is the effort of all passes, request->moves that of the changes under each limit; the
 * first start is the one with the least peak. OK; INFEASIBLE where it is above the cap; CANCELLED with what was found
 * so far; NO_MEMORY. Free it in any case. */
enum status overlap_climb_orders(
	const struct overlap_request *request, struct control *control, struct overlap_climb *climb);
void overlap_climb_free(struct overlap_climb *climb);

/* pass: one pass of list scheduling under a memory limit. */

/* What all passes of a run share. */
struct overlap_terms {
	bool roomy;               /* no order is above the limit */
	const struct overlap_request *request;
	int64_t *whole;            /* [ops] picoseconds with what an op communicates itself */
	int64_t *tail;             /* [ops] picoseconds from an op's begin to the end of the step, along the longest way */
	bool *early; /* [ops] nothing but views and collectives of what is there from the start: parameters are gathered */
	int64_t *stays, *adds;     /* [ops] bytes of its results that something needs later; of all, with workspace */
	struct passing *room;      /* for one pass at a time */
	struct arena arena;
};
enum status overlap_terms_find(const struct overlap_request *request, struct overlap_terms *terms);
void overlap_terms_free(struct overlap_terms *terms);

/* How a pass chooses. */
struct overlap_rule {
	bool urgent; /* of what could run, that with the longest way to the end; else what comes first, as long as it need
					not wait */
	bool patient; /* waits for a more urgent op rather than to begin one that ends long after it could begin */
	uint32_t window;           /* places: the furthest that an op is taken forward at once */
	uint32_t gather;           /* places: the furthest that a gather of parameters is taken forward */
	uint32_t noise;            /* 1/256 of the way to the end, at random; 0: none */
	uint64_t seed;
	const char *name;
};

/* Goes along `from`, an order that keeps the limit, and takes ops forward so that computation waits less: only where
 * the peak of all that is left keeps the limit, too. So the result keeps it. release: of the model of `from`, when
 * parameters are gathered. order: [ops]. OK or NO_MEMORY. */
enum status overlap_pass(const struct overlap_terms *terms, const struct overlap_rule *rule, const uint32_t *from,
	const uint32_t *release, uint32_t *order);
