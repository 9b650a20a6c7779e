/* choose.h: which of several plans is better: the one place that compares them, and the candidates that it asks for. */
#ifndef TIDEMARK_PLAN_CHOOSE_H
#define TIDEMARK_PLAN_CHOOSE_H

#include "assemble.h"

/* What is sought: the fastest plan within limit bytes, or the smallest; where nothing is within the limit, the smallest. */
struct goal {
	enum { GOAL_SMALLEST, GOAL_FASTEST } of;
	int64_t limit;              /* of the arena; < 0: none */
};

/* Whether plan a is to be preferred: by planned memory and by the time of the step as planned, nothing else. Of equals neither is. */
bool plan_better(const struct goal *goal, const struct plan *a, const struct plan *b);

/* The best plan of a scenario: what a first pass finds, rounds that fit choices to the memory cap, rivals of a sharding. A new reference, or NULL with
 * the error's status. Cancelled with a plan at hand: that, limited. */
struct plan *choose_plan(const struct planning *planning);

#endif
