/* values.h: a step and what a stage made of it, run beside each other on symbols. */
#pragma once

#include "solver/rules/rules.h"
#include "state.h"

/* How the step that was made may differ, besides copies of ops that run again, and copies to the host and back. */
enum values_allowed {
	VALUES_CASTS = 1,       /* new casts: a value counts as the same in another format */
	VALUES_COPIES = 2,      /* new copies of a tensor, and sums over a dim that was 1 */
	VALUES_TWINS = 4,       /* a view that another one equals is left out */
	VALUES_UPDATES = 8,     /* other ops of the update phase */
	VALUES_GRADIENTS = 16,  /* ... and of the backward pass; copies that only it read may be gone */
	VALUES_SUMS = 32,       /* new additions in place: gradients of several microbatches */
	VALUES_REGROUPED =
		128, /* sums of gradients in another order, twins of views that are new, and releases that are gone */
	VALUES_SEPARATE = 64    /* what was written in place is memory of its own, and older names hold what they held */
};

/* A storage holds a symbol. What an op makes are symbols of the op, by its name, and of what it reads, in which version
 * and through which views. Every op of `before` must be in `after`, of the same type, and read the same symbols; every
 * copy those of the op that it repeats; a new op must be one that is allowed. Nothing here is shared with the stages.
 * INFEASIBLE with the op, NO_MEMORY. O(graph). */
enum status values_check(struct check *check, const struct rules *rules, const struct graph *before,
	const struct graph *after, unsigned allowed);
