/* base_order.h: orders of a step's ops that recomputation is decided along, and what they say of every storage. */
#pragma once

#include "step.h"

struct fit_base {
	const struct fit_step *step;
	uint32_t *order, *position; /* [ops] */
	uint64_t fingerprint;      /* of the order */
	/* Of droppable storages, positions in the order; NONE: there is none. */
	uint32_t *made, *last_forward; /* [storages] */
	uint32_t *first_read, *last_read; /* [storages] by ops after the pass */
	uint32_t *overwritten;     /* [storages] the first position after the pass that writes it in place; NONE: none does */
	/* A kept storage is charged for the positions from..until, inclusive, and for nothing where from > until. */
	uint32_t *from, *until;
	uint32_t window;           /* positions that the backward pass of a layer takes, about: FIT_LATE stays over no more */
	bool *dominated; /* [storages] what its readers make takes no more bytes and less time: never worth keeping for
						itself */
	int64_t *fixed;            /* [ops] bytes at each position whatever is kept, persistent ones included */
	/* What ops of the pass never touch comes and goes as the order says. Ops that touch nothing else are passed over by
	 * a replay. */
	uint32_t *active, actives; /* positions of the other ops, ascending */
	int64_t *outer;            /* [ops] bytes at each position of what the pass never touches, and workspace */
	int64_t *outer_before;     /* [ops] of it between the op before and this one */
	int64_t *gap; /* [actives] most outer bytes at positions behind the active one and before the next, 0 where there
					 are none */
	uint32_t *gap_at;          /* [actives] that position */
	struct csr read_at;        /* droppable storage -> positions of its readers after the pass, ascending */
	struct arena arena;
};

/* Of any order [ops]; it is copied. Where it is not topological, what an op needs moves before it. Views move down to
 * right before the first op that needs them. OK or NO_MEMORY. O(step). Free with fit_base_free(), also after NO_MEMORY.
 */
enum status fit_base_of(const struct fit_step *step, const uint32_t *order, struct fit_base *base);
void fit_base_free(struct fit_base *base);
#define fit_base_drop fit_base_free

/* The program order with every update as soon as what it needs is there. casts: gradients are cast to a wider type
 * right before their updates alone, as where all are checked together before the first update. order: [ops]. OK;
 * INFEASIBLE: nothing is cast so; NO_MEMORY. O(arcs log ops). */
enum status fit_order_early(const struct fit_step *step, bool casts, uint32_t *order);
