/* slowdown.h: how much longer a step takes the less memory it has: what no plan is below, plans, and where published
 * strategies lie.
 *
 * Everything is of one graph: the step before anything is computed again, or the graph of one device. The bound is a
 * cut at each of some prices of memory (solver/recompute/bound.h), each of which bounds every cap at once; so any cap
 * is answered at once. */
#pragma once

#include "planner.h"

#define SLOWDOWN_LINES 64
#define SLOWDOWN_STRATEGIES 16
#define SLOWDOWN_PLANS 12

struct slowdown_point {
	char name[24];             /* of a strategy: recompute's word; "" of plans */
	int64_t bytes, extra;      /* peak, of a strategy as a plan has it; picoseconds beyond the step */
};

struct slowdown {
	uint64_t fingerprint;      /* slowdown_fingerprint() of the plan that it was asked of */
	int64_t total;             /* picoseconds of the step with everything kept */
	int64_t most, least;       /* bytes: everything kept, as planned; below least nothing fits, proved */
	struct recompute_line line[SLOWDOWN_LINES];
	uint32_t lines;
	struct slowdown_point strategy[SLOWDOWN_STRATEGIES];
	uint32_t strategies;
	struct slowdown_point plan[SLOWDOWN_PLANS]; /* found by recompute=auto's search at less effort, most memory first */
	uint32_t plans;
};

/* Told when something new is there: the curve so far, lent for the call. */
struct slowdown_watch {
	void (*found)(void *context, const struct slowdown *slowdown);
	void *context;
};

/* Of a plan's step. The bound comes first, then strategies, then plans. watch may be NULL. OK; BAD_INPUT where it has
 * no such curve: a pipeline, a step split over devices that recomputes by a fixed strategy; CANCELLED, NO_MEMORY. Some
 * 70 cuts, a replay for each strategy, a search for each plan. */
enum status slowdown_find(const struct plan *plan, const char *rules_file, const atomic_bool *cancel,
	const struct slowdown_watch *watch, struct slowdown *slowdown, struct error *error);

/* Plans found, most memory first, each faster than all with less memory: everything kept, those of the search, the
 * strategies, and a plan of this step (NULL: none), which may have had more effort. A plan is one of every larger cap,
 * so between two of them the one with less memory holds. Returns their number. O(plans^2). */
#define SLOWDOWN_FRONT (SLOWDOWN_PLANS + SLOWDOWN_STRATEGIES + 2)
uint32_t slowdown_front(
	const struct slowdown *slowdown, const struct plan *plan, struct slowdown_point front[SLOWDOWN_FRONT]);

/* At least so much more, in picoseconds, at a cap; *price: picoseconds that a byte more is worth. -1: nothing fits.
 * O(lines). */
int64_t slowdown_bound(const struct slowdown *slowdown, int64_t cap, double *price);

/* Of everything that the curve depends on: equal for plans that differ by the cap, or by what recompute=auto chose. */
uint64_t slowdown_fingerprint(const struct plan *plan);
