/* prospects.c: which candidate is planned next. */
#include <float.h>

#include "choose.h"

/* By so many thousandths a candidate may seem to be behind and is planned all the same. */
enum { NEEDS_NEAR = 10, TIME_NEAR = 10 };
#define MISSES_MOST 2      /* after so many plans in a row that were not better the rest is left */

static double smaller_part(double least, int64_t came, int64_t said)
{
	double part = said > 0 ? (double)came / (double)said : 1;
	return part < least ? part : least;
}

static void prospects_learn(struct prospects *prospects, const struct foretold *said, const struct foretold *came)
{
	prospects->needs_off = smaller_part(prospects->needs_off, came->needs, said->needs);
	prospects->time_off = smaller_part(prospects->time_off, came->time, said->time);
}

enum status prospects_begin(struct prospects *prospects, const struct few_layers *layers,
	const struct planning *planning, const struct plan *best)
{
	struct foretold said;
	prospects->best = plan_came_to(best);
	prospects->needs_off = prospects->time_off = DBL_MAX;
	TRY(few_layers_foretell(layers, planning, &best->sharded->sharding, &said));
	prospects_learn(prospects, &said, &prospects->best);
	return OK;
}

enum status prospects_add(struct prospects *prospects, const struct few_layers *layers, const struct planning *planning,
	const struct prospect *prospect)
{
	struct prospect *next = &prospects->prospect[prospects->count];
	*next = *prospect;
	next->open = true;
	prospects->count++;
	return few_layers_foretell(layers, planning, prospect->sharding, &next->comes_to);
}

/* The best that it may come to. */
static struct foretold hopes(const struct prospects *prospects, const struct prospect *prospect)
{
	return (struct foretold){ (int64_t)((double)prospect->comes_to.needs * prospects->needs_off * (1000 - NEEDS_NEAR) /
								  1000),
		(int64_t)((double)prospect->comes_to.time * prospects->time_off * (1000 - TIME_NEAR) / 1000) };
}

uint32_t prospects_next(const struct prospects *prospects, const struct goal *goal)
{
	uint32_t next = NONE;
	FOR(i, prospects->count) {
		const struct prospect *prospect = &prospects->prospect[i];
		struct foretold hope = hopes(prospects, prospect);
		if (!prospect->open || !foretold_better(goal, &hope, &prospects->best) ||
			(prospects->misses >= MISSES_MOST && !prospect->promised))
			continue;
		if (next == NONE || foretold_better(goal, &prospect->comes_to, &prospects->prospect[next].comes_to))
			next = i;
	}
	return next;
}

void prospects_planned(struct prospects *prospects, uint32_t which, const struct foretold *came_to, bool better)
{
	if (came_to)
		prospects_learn(prospects, &prospects->prospect[which].comes_to, came_to);
	if (better)
		prospects->best = *came_to;
	prospects->prospect[which].open = false;
	prospects->prospect[which].comes_to = came_to ? *came_to : (struct foretold) { INT64_MAX, INT64_MAX };
	prospects->misses = better ? 0 : prospects->misses + 1;
}
