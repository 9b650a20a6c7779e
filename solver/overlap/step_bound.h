/* step_bound.h: picoseconds that no order of a step goes below, with a certificate.
 *
 * Each stream does one thing at a time. Of a set of ops on one stream none begins before the longest way to it, its
 * head; what follows each takes at least its tail. So min head + sum of times + min tail is a bound on the whole
 * (Jackson's preemptive schedule has the set for which it is greatest: Carlier and Pinson, "An algorithm for solving
 * the job-shop problem", 1989). The same holds of what must be done before an op: at ops along the longest way, from
 * the first to the last, the bound of all their ancestors raises their own head, and with it the heads behind. */
#pragma once

#include "solver/cost/step_time.h"

/* The ops of a stream whose head is at least `head` and whose tail, up to the begin of `op`, is at least `tail`: op
 * begins no earlier than head + their sum + tail. op NONE: the end of the step. */
struct step_station {
	uint32_t op, stream;
	int64_t head, tail;        /* picoseconds */
};

struct step_bound {
	int64_t bound;             /* picoseconds */
	uint32_t stations; /* by the ops' places in the model's sequence, the end last; it may be missing: the longest way
						  is the bound */
	struct step_station *station;
};

#define STATIONS_MOST 64u

/* Of the model's dependencies, streams and times; its order and releases don't matter, and neither does memory. OK or
 * NO_MEMORY; free it in any case. O(stations * ops log ops). */
enum status step_bound_find(const struct step_model *model, struct step_bound *bound);
void step_bound_free(struct step_bound *bound);
#define step_bound_drop step_bound_free

/* Works the bound out again from the stations, without the solver. BAD_INPUT says which doesn't hold; NO_MEMORY.
 * O(stations * (ops + dependencies)). */
enum status step_bound_check(const struct step_model *model, const struct step_bound *bound, struct error *error);
