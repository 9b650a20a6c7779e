/* spill.h: which pool each unit goes to, if only loads count. For this folder only.
 *
 * A unit is what goes to a pool together: a buffer or a group. Its pick is its place in its list of pools.
 */
#pragma once

#include "solver/base/base.h"

struct spill_span { uint32_t first, last; int64_t bytes; }; /* sections [first, last) */

/* These units don't fit into the pool together. */
struct spill_cut { uint32_t pool, first, count; };

struct spill {
	uint32_t units, pools, sections;
	uint32_t *span_start;      /* [units + 1] */
	struct spill_span *span;
	struct csr candidates;     /* unit -> pools, at least one */
	int64_t *cost;             /* [units] of one pick */
	int64_t *capacity;         /* [pools] in the spans' bytes; INT64_MAX: none */
	struct spill_cut *cut;
	uint32_t cuts;
	size_t cut_room;
	uint32_t *cut_unit;
	size_t cut_units, cut_unit_room;
};

static inline uint32_t spill_pool(const struct spill *spill, const uint32_t *pick, uint32_t unit)
{
	return spill->candidates.item[spill->candidates.start[unit] + pick[unit]];
}

static inline bool spill_last(const struct spill *spill, const uint32_t *pick, uint32_t unit)
{
	return pick[unit] + 1 == csr_length(&spill->candidates, unit);
}

/* The cost of the picks. */
int64_t spill_cost(const struct spill *spill, const uint32_t *pick);

/* Raises picks until the units in the pool load no section above the limit: local ratio, then back with what is not needed.
 * INFEASIBLE: those that can't move are too much, at *section with *bytes. O(spans) for each unit that moves. */
enum status spill_relieve(const struct spill *spill, uint32_t pool, int64_t limit, uint32_t *pick, uint32_t *section, int64_t *bytes);

/* No picks that keep all capacities cost less: the duals of what would have to leave each pool if units started there only where
 * they like best. *bound. O(spans) for each of them. */
enum status spill_bound(const struct spill *spill, int64_t *bound);

/* The cheapest picks that keep capacities and cuts, by GLPK: OK with picks and *bound, which no such picks cost less than. LIMIT: none
 * was found, or it is too large to try; *bound is left alone. INFEASIBLE. */
enum status spill_program(const struct spill *spill, uint32_t *pick, int64_t *bound, struct control *control);

enum status spill_add_cut(struct spill *spill, uint32_t pool, const uint32_t *unit, uint32_t count);
