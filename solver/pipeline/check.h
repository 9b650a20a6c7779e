/* check.h: verifies the graphs of pipeline ranks and a schedule, by their own words: nothing here knows how they were
 * made. */
#pragma once

#include "solver/rules/rules.h"
#include "pipeline.h"

/* Every op of the device's graph runs on some rank, and reads what it reads there: a tensor of that name, one that was
 * sent, the sum of its microbatches, or a part of a sum over ranks that is reduced before the update. What is received
 * was sent, with as many bytes. No two ranks wait for each other. An op that runs on several ranks computes the same on
 * each. An activation that a backward op reads has as many copies as the rank holds microbatches at once; they wait
 * until a flush, and no forward or backward op comes after that. in_flight[ranks]: the most microbatches that a piece
 * of the rank holds at once, for the piece with the fewest and for the one with the most. INFEASIBLE says what is
 * wrong; NO_MEMORY. O(size * ranks). */
struct held { uint32_t least, most; };
enum status pipeline_check_ranks(const struct graph *device, const struct rules *rules, struct graph *const *rank,
	uint32_t ranks, uint32_t microbatches, const struct held *in_flight, struct error *error);

/* Plays a schedule anew, from its definition or, where it has one, its order, as often as it takes for nothing to move:
 * the time until the last rank is done. -1: a pass is missing, there twice, or before what it needs; it never ends; or
 * out of memory. in_flight[ranks] as above; where backward passes are split, at least 1. counts[pieces], where not
 * NULL: what is in flight when a rank holds the most pieces. O(slots^2). */
int64_t pipeline_check_time(const struct pipeline *pipeline, struct held *in_flight, struct in_flight *counts);
