/* check.h: verifies the graphs of pipeline ranks and a schedule, by their own words: nothing here knows how they were made. */
#ifndef TIDEMARK_PIPELINE_CHECK_H
#define TIDEMARK_PIPELINE_CHECK_H

#include "solver/rules/rules.h"
#include "pipeline.h"

/* Every op of the device's graph runs on some rank, and reads what it reads there: a tensor of that name, one that was sent, the sum of its
 * microbatches, or a part of a sum over ranks that is reduced before the update. What is received was sent, with as many bytes; ranks can't
 * wait for each other. Ops that are not of one rank alone compute the same on each. An activation that a backward op reads waits in as many copies
 * as the rank has of it at once, until a flush that no forward or backward op comes behind. in_flight[ranks]: the most microbatches of
 * one of the rank's pieces held at once, for the piece with the fewest and for the one with the most. INFEASIBLE with what is wrong; NO_MEMORY. O(size * ranks). */
struct held { uint32_t least, most; };
enum status pipeline_check_ranks(const struct graph *device, const struct rules *rules, struct graph *const *rank, uint32_t ranks,
	uint32_t microbatches, const struct held *in_flight, struct error *error);

/* Plays a schedule anew from its definition, slot after slot as often as it takes for nothing to move: the time until the last rank is done. -1: it never
 * ends, or out of memory. in_flight[ranks] as above. O(slots^2). */
int64_t pipeline_check_time(const struct pipeline *pipeline, struct held *in_flight);

#endif
