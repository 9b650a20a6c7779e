/* choose.h: which of several plans is better: the one place that compares them, and the candidates that it asks for. */
#pragma once

#include "assemble.h"
#include "few_layers.h"

/* What is sought: the fastest plan within limit bytes, or the smallest; where nothing is within the limit, the
 * smallest. */
struct goal {
	enum { GOAL_SMALLEST, GOAL_FASTEST } of;
	int64_t limit;              /* of what a plan needs (verdict.h); < 0: none */
};

/* Whether a is to be preferred: by memory and by the time of the step, nothing else. Of equals neither is. */
bool foretold_better(const struct goal *goal, const struct foretold *a, const struct foretold *b);
/* The same of planned memory and time. Gives back the worse of two plans, returns the better one, the first where they
 * are equal. Either may be NULL. */
struct plan *better_of(const struct goal *goal, struct plan *first, struct plan *second);

/* What the first pass of choose_plan() wishes. */
struct plan_wish first_wish(const struct scenario *scenario);

/* The best plan of a scenario whose schedule is named: what a first pass finds, rounds that fit choices to the memory
 * cap, rivals of a sharding. rival: a plan of another schedule, which spares candidates that can't be better than it,
 * or NULL. A new reference, or NULL with the error's status. Cancelled with a plan at hand: that, limited. */
struct plan *choose_plan(const struct planning *planning, const struct plan *rival);
/* The same by heuristics alone, without rivals. */
struct plan *choose_quickly(const struct planning *planning);
