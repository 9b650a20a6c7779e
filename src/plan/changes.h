/* changes.h: two plans of a step, op by op: what a device sends, and what memory it takes, around each op. */
#pragma once

#include "plan.h"

/* An op of the input: [0] in one plan, [1] in the other. Collectives count for the op that wrote what they move, or
 * else reads it first. */
struct plan_change {
	const char *op;             /* a name of one of the plans' graphs */
	int64_t sent[2];            /* bytes that a device sends, inside the op, too */
	int64_t made[2];            /* bytes of the storages that the op, and collectives on its results, allocate */
};

/* The ops that differ, those that differ most in what is sent first, then in memory. OK or NO_MEMORY. O(size log size).
 */
enum status plan_changes(const struct plan *before, const struct plan *after, struct arena *arena,
	struct plan_change **change, uint32_t *count);
