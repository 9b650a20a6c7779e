/* job.h: what the strategies that search share. */
#pragma once

#include "find.h"

struct sharding_job {
	const struct units *units;
	const struct mesh *mesh;
	const struct sharding_options *options;
	struct control *control;
	struct sharding_report *report;
	struct error *error;
	struct sharding_sum *sum;
	struct reshard_memo *memo;       /* reshardings on the mesh, for all networks */
	struct sharding usual;           /* of the options' roles; empty where nothing is left out */
	uint64_t effort;                 /* of one solve */
	struct mixture mixture;          /* of the next solve */
	bool apart; /* the estimate itself is minimised, with axes side by side; else the sum over all axes */
	/* What any search of sharding_search_time() found that has the least estimate; kept where the options want it, and
	 * the mesh has several axes. Empty: nothing yet. */
	struct sharding aside;
	struct sharding_cost cost_of_aside;
	bool by_axes;                    /* as in the options, or as the strategy wants it */
	/* By axes: the search starts here alone. Else the search over several axes starts here, too, if no other start gets
	 * below the limit. May be NULL. */
	const struct sharding *start;
};

/* More than one axis of more than one device. */
static inline bool has_several_axes(const struct mesh *mesh)
{
	uint32_t count = 0;
	FOR(a, mesh->axes)
		count += mesh->axis[a].size > 1;
	return count > 1;
}

/* Begins a job, without a start; end it in any case. OK or NO_MEMORY. */
enum status sharding_job_begin(struct sharding_job *job, const struct units *units, const struct mesh *mesh,
	const struct sharding_options *options, struct control *control, struct sharding_report *report,
	struct error *error);
void sharding_job_end(struct sharding_job *job);

/* What one solve is asked for. */
struct sharding_aim {
	uint8_t free;                    /* axes that it decides */
	const struct sharding *base;     /* decides on the others */
	int64_t limit;                   /* of kept bytes; < 0: none */
	bool memory;                     /* least memory instead of least time */
	const struct placement_pin *pin; /* besides those of the options */
	uint32_t pins;
};

/* The best sharding of an aim, and its cost summed anew. INFEASIBLE: nothing fits (sharding is empty; cost->usage says
 * how much the least takes, where that is known). LIMIT, CANCELLED: as good as it got, or empty. Records what was
 * searched in the report. */
enum status sharding_solve(
	struct sharding_job *job, const struct sharding_aim *aim, struct sharding *sharding, struct sharding_cost *cost);

/* As sharding_solve() for all axes at once; where that isn't proved, then one axis after the other, from what was found
 * or what experts write by hand, until nothing gets better. The report's bound is that of all axes at once. */
enum status sharding_search(
	struct sharding_job *job, int64_t limit, bool memory, struct sharding *sharding, struct sharding_cost *cost);

/* As sharding_search() for the least time: what is minimised counts the largest of several sums for transfers that
 * computation may hide, a search minimises a mixture of them. So it is searched again with another mixture until the
 * mixture is what it is of what it finds; then that is the least. The report has the best bound and its mixture. */
enum status sharding_search_time(
	struct sharding_job *job, int64_t limit, struct sharding *sharding, struct sharding_cost *cost);

/* The same for the estimate itself, after sharding_search_time() has looked for the least sum over all axes: where
 * collectives over several axes run side by side, these are two. What it finds may be that one's sharding. Empty: the
 * options don't want it. OK, NO_MEMORY or CANCELLED. */
enum status sharding_search_apart(
	struct sharding_job *job, int64_t limit, struct sharding *sharding, struct sharding_cost *cost);

static inline bool sharding_usable(enum status status)
{
	return status == OK || status == LIMIT || status == CANCELLED;
}

static inline int64_t sharding_more_by(int64_t amount, uint32_t percent)
{
	return amount > INT64_MAX / 200 ? INT64_MAX : amount + amount / 100 * percent + amount % 100 * percent / 100;
}

/* The published searches; see tap.c and minred.c. */
enum status sharding_tap(struct sharding_job *job, struct sharding *sharding);
enum status sharding_minred(struct sharding_job *job, struct sharding *sharding);
/* minred's first program: the least bytes that stay. */
enum status sharding_least_memory(struct sharding_job *job, struct sharding *sharding, struct sharding_cost *cost);
