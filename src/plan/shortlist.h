/* shortlist.h: which of several plans is taken: the one place that compares them.
 *
 * Of plans at most a thousandth slower than the fastest the one that needs least memory is taken. "As fast" is no
 * order (a as fast as b, b as c, yet c not as a): so what may still be taken is kept until all are known. */
#pragma once

#include "plan.h"

/* Bytes as plan_needs() counts them, and picoseconds of a step; INT64_MAX: unknown. Of a plan, or foretold. */
struct foretold { int64_t needs, time; };

/* What is sought: the fastest plan within limit bytes, or the smallest; where nothing is within the limit, the
 * smallest. */
struct goal {
	enum { GOAL_SMALLEST, GOAL_FASTEST } of;
	int64_t limit;              /* of what a plan needs (verdict.h); < 0: none */
};

/* Whether a is to be tried before b: by memory and by the time of the step, nothing else. Of equals neither is. */
bool foretold_better(const struct goal *goal, const struct foretold *a, const struct foretold *b);
struct foretold plan_came_to(const struct plan *plan);

/* Plans that may be taken: within the limit none that another one beats in time and memory, or by more than a
 * thousandth of the time; while none is within it, the smallest. Which one is taken doesn't depend on the order in
 * which they came, but for equal ones: the first. */
struct shortlist {
	struct goal goal;
	uint32_t plans;
	struct plan *plan[32];      /* owned; more than any search finds */
};

/* Takes the plan over; NULL: nothing happens. */
void shortlist_add(struct shortlist *list, struct plan *plan);
/* The fastest within the limit, or else the smallest: what others have to beat. Lent; NULL: the list is empty. */
struct plan *shortlist_leader(const struct shortlist *list);
/* The one that is taken, or NULL; the list is empty then. */
struct plan *shortlist_take(struct shortlist *list);
void shortlist_drop(struct shortlist *list);
/* The one of two plans, either of which may be NULL, that is taken within a limit; gives back the other. */
struct plan *better_of(int64_t limit, struct plan *first, struct plan *second);
