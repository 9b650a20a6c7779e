/* times.h: the passes of a pipeline's ranks, simulated on the streams of one device as a step in one pass is.
 *
 * A rank runs the passes of one microbatch one behind the other, in the order of the device's graph: forward through
 * its pieces, and back. A pass begins with its first op that computes, the last one ends with the last collective. The
 * update runs behind the last microbatch; gradients that are reduced once a step are reduced beside its backward pass.
 */
#pragma once

#include "pipelined.h"
#include "src/stages/fit/plan_time.h"

/* One pass of one piece: picoseconds, and those of them in which nothing is computed. */
struct pass_time { int64_t time, waits; };

/* A rank's passes, and perhaps its update. */
struct rank_clock {
	struct step_model model;
	struct step_time time;
	uint32_t pieces;           /* of the rank */
	uint32_t *segment, *order; /* [ops of the device's graph] the pass that an op belongs to, see rank_passes(); and ops
								  as they are simulated: in the arena, or the first clock's */
	struct arena arena;
};

/* Simulates a rank of a cut graph whose ops take costs. first: of another rank of the
 * cut, whose order this one has; or clock, or zeros, which get it. OK or NO_MEMORY; free both in any case, first last.
 * O(size log size). */
enum status rank_clock_find(const struct pipeline_cut *cut, const struct step_costs *costs, uint32_t rank, bool updates,
	struct rank_clock *first, struct rank_clock *clock);
void rank_clock_free(struct rank_clock *clock);
#define rank_clock_drop rank_clock_free

/* The passes of a simulation without update, into pass[3 * pieces]: forward by piece from the first on, then backward
 * from the last on, each behind the other: the gradients of inputs, and those of weights where the cut splits them off.
 * They add up to the simulation's total. O(size). */
void rank_passes(const struct rank_clock *clock, struct pass_time *pass);
static inline uint32_t backward_at(const struct rank_clock *clock, uint32_t piece)
{
	return clock->pieces + 2 * (clock->pieces - 1 - piece);
}

/* A number that is equal where ranks do the same; updates included. O(size). */
uint64_t rank_work(const struct pipeline_cut *cut, const struct step_costs *costs, uint32_t rank);

/* Where the step of a pipeline's rank goes, whose graph is one microbatch and the update: what it computes in all
 * microbatches, what it waits for collectives in its passes and of its gradients, and for other ranks. OK or NO_MEMORY.
 * O(size). */
enum status plan_rank_shares(const struct graph *graph, const struct sharded *sharded,
	const struct pipelined *pipelined, uint32_t rank, const struct scenario *scenario, const struct rules *rules,
	struct step_shares *shares);
