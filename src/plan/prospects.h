/* prospects.h: candidates of a choice whose plans are foretold before any is made: which is planned next, and when
 * enough are.
 *
 * The most promising one is planned first. What plans come to beside what was foretold of them is held against all
 * others: none is taken to come off better than the best of these did. */
#pragma once

#include "choose.h"
#include "few_layers.h"

struct prospect {
	struct plan_wish wish;             /* that asks for it */
	const struct sharding *sharding;   /* lent */
	struct foretold comes_to;          /* foretold; once it is planned, the plan's */
	bool open;                         /* not planned yet, nor known to come to nothing */
	bool promised; /* a strategy's own, which nothing but its plan may rule out while it has a chance */
};
#define PROSPECTS_MOST (SHARD_RIVALS + 1)

struct prospects {
	struct prospect prospect[PROSPECTS_MOST];
	uint32_t count, misses;            /* misses: plans in a row that were not better than the best */
	struct foretold best;              /* what the best plan so far comes to */
	double needs_off, time_off;        /* of all plans so far, the least of: what it came to / what was foretold of it */
};

/* Foretells the best plan so far. As few_layers_foretell(). */
enum status prospects_begin(struct prospects *prospects, const struct few_layers *layers,
	const struct planning *planning, const struct plan *best);

/* Foretells one more. As few_layers_foretell(). */
enum status prospects_add(struct prospects *prospects, const struct few_layers *layers, const struct planning *planning,
	const struct prospect *prospect);
/* The one to be planned next, or NONE where no other has a chance against the best so far. */
uint32_t prospects_next(const struct prospects *prospects, const struct goal *goal);
/* It was planned: what its plan comes to, NULL where there is none. better: it is the best so far. */
void prospects_planned(struct prospects *prospects, uint32_t which, const struct foretold *came_to, bool better);
