/* schedules.h: the named schedules as orders of passes. */
#pragma once

#include "pipeline.h"

/* Fills slot[ranks * slots] with the passes of a named schedule, in order; slots of one rank. Where gradients of
 * weights fill gaps, which are left depends on the pipeline's times. OK or NO_MEMORY. */
enum status schedule_list(const struct pipeline *pipeline, uint32_t slots, struct pipeline_slot *slot);

/* What a piece has in flight when its rank holds the most pieces, without playing: for a model of memory. O(1). */
struct in_flight schedule_in_flight(
	enum schedule schedule, uint32_t ranks, uint32_t chunks, uint32_t microbatches, uint32_t rank, uint32_t chunk);
