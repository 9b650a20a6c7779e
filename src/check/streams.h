/* streams.h: the memory of a step whose streams are played: what is alive by time, not by place in the order. */
#pragma once

#include "state.h"
#include "solver/cost/step_time.h"

/* Positions, inclusive, at which a storage is alive; NONE: never. position [ops]. O(its users). */
struct life { uint32_t first, last; };
struct life storage_life(const struct graph *graph, const uint32_t *position, uint32_t storage);

/* The most bytes alive at any moment of a simulated step. Memory comes and goes with computation, in the order; where
 * the host's link reads or writes a storage, that storage is alive as long as the copy takes, too. Computation's own
 * time stands still at a wait for a copy. order, position [ops]; bytes [storages]. -1 when out of memory. O(size log
 * size). */
int64_t peak_by_time(const struct graph *graph, const uint32_t *order, const uint32_t *position, const int64_t *bytes,
	bool workspace, int64_t alignment, const struct step_model *model, const struct step_time *time);

/* With copies to the host: no moment of the step as simulated holds more than the peak that the plan says. */
enum status check_streams(struct check *check);
