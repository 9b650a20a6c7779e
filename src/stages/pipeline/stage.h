/* stage.h: the pipeline stage: a device's graph of a microbatch -> cuts -> the graphs of all ranks, the schedule, the
 * time of a step.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     stage     cuts the step into ranks
 *     fit       what ranks compute again to keep the cap
 *     pipelined its result
 *     times     times of ops and of ranks, as configurations count them */
#pragma once

#include "pipelined.h"
#include "src/stages/stages.h"

/* Pieces of the model that each rank has: the knob's, 2 in a V, 1 for schedules that aren't interleaved. */
uint32_t scenario_chunks(const struct scenario *scenario);

/* Layers of a step that repeat; 0: none, or no memory to find them. O(size). */
uint32_t pipeline_layers(const struct graph *step);

/* Whether schedule=auto tries so many pieces of a rank of a step with so many layers: the numbers that searches try. */
bool pipeline_tries_chunks(const struct scenario *scenario, uint32_t layers, uint32_t chunks);

/* Adds to a key what the stage depends on besides the sharding. */
void pipeline_key_add(struct key *key, const struct scenario *scenario, int64_t margin);

/* Cuts at the gaps between layers where one activation crosses, so that the slowest piece is as fast as possible among
 * the cuts whose ranks keep the memory cap less wish->margin: what the plan of an earlier round came to beyond the
 * model (0: there was none, any cut will do). options: of recompute=auto, by which every rank computes again what lets
 * it keep that cap; NULL: nothing more runs again. A new reference (its key is the caller's to set), or NULL:
 * INFEASIBLE or BAD_INPUT with the reason: fewer gaps than cuts, microbatches that the schedule can't have. */
struct pipelined *stage_pipeline(struct stage_context *stage, const struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, const struct recompute_options *options,
	struct error *error);
