/* pipeline.h: pipeline schedules, microbatch by microbatch: when every rank does what, how long a step takes, what is in flight.
 *
 * A rank holds chunks pieces of the model; piece s (0 to ranks * chunks - 1, in data-flow order) lies on rank s % ranks and is
 * its chunk s / ranks.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     pipeline       schedules: when every rank does what
 *     timetable      a played schedule with bytes
 *     blocks         where a step can be cut
 *     block_costs    times and bytes of blocks
 *     configuration  memory and time of a whole configuration
 *     cut            which rank runs which op of a device's graph
 *     flow           what goes between ranks
 *     rank           the graph of one rank
 *     check          checks ranks' graphs and schedules
 */
#ifndef TIDEMARK_PIPELINE_PIPELINE_H
#define TIDEMARK_PIPELINE_PIPELINE_H

#include "solver/base/base.h"

/* GPipe (arXiv 1811.06965): all forward passes, then all backward ones. 1F1B (PipeDream-flush, arXiv 2006.09503): one forward, one
 * backward after a warm-up. Interleaved (Megatron, arXiv 2104.04473): 1F1B over several chunks per rank. */
#define SCHEDULES(X) X(GPIPE, "gpipe") X(1F1B, "1f1b") X(INTERLEAVED, "interleaved")
#define X(id, name) SCHEDULE_##id,
enum schedule { SCHEDULES(X) SCHEDULE_COUNT };
#undef X
extern const char *const schedule_names[SCHEDULE_COUNT];

struct pipeline {
	enum schedule schedule;
	uint32_t ranks, chunks;              /* chunks > 1: interleaved alone */
	uint32_t microbatches;
	const int64_t *forward, *backward;   /* [ranks * chunks] picoseconds of a piece for one microbatch */
	const int64_t *send;                 /* [ranks * chunks] from piece s to s + 1, and its gradient back; the last one is not used */
	bool blocking;                       /* a rank waits while it sends; else it goes on */
};

struct pipeline_slot {
	int64_t begin, end;                  /* picoseconds */
	uint32_t piece, microbatch;
	bool backward;
};

struct pipeline_plan {
	int64_t time;                        /* until the last rank is done */
	int64_t ideal;                       /* the busiest rank's work: time - ideal is the bubble */
	struct pipeline_slot *slot;          /* [ranks * 2 * chunks * microbatches], rank by rank, in order of time */
	uint32_t slots;                      /* of one rank */
	uint32_t *in_flight;                 /* [ranks] the most pieces' activations that a rank holds at once */
	uint32_t *piece_in_flight;           /* [ranks * chunks] the most microbatches of one piece held at once */
	struct arena arena;
};

/* BAD_INPUT: interleaving needs microbatches that are a multiple of ranks, and at least 2 ranks. O(slots). */
enum status pipeline_run(const struct pipeline *pipeline, struct pipeline_plan *plan, struct error *error);
void pipeline_free(struct pipeline_plan *plan);

#endif
