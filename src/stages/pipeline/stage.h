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
#include "src/stages/fit/stage.h"

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

/* fit: recompute=auto of a pipeline: every rank computes again what lets it keep the memory cap, at the least time.
 *
 * A rank holds what it keeps of a microbatch once for each microbatch in flight. So the choice is made on each rank's
 * graph of one microbatch, in which a storage that is kept costs its copies as well (struct recompute_input's copies),
 * and then applied to the device's graph, which is cut anew at the same places. The bound of the same graph holds for
 * the rank in any order of its ops: the sum over the ranks is under what runs again for a microbatch with these cuts
 * and this schedule, all microbatches treated alike. */

/* What is chosen, rank by rank. */
struct pipeline_fit {
	const struct pipelined *pipelined;  /* cut and played without recomputation */
	struct fitted *
		fitted; /* of the device's graph: times and pins; its ranks and bound are filled in when this is called first */
	int64_t *cap, most;        /* [ranks] bytes that the rank's graph may take; that any may, whatever the margin */
	bool impossible;           /* a rank can't keep its cap, proved */
};

/* The device's graph with what runs again on all ranks. A new reference, or NULL with *error. */
struct graph *pipeline_fit_graph(struct stage_context *stage, struct pipeline_fit *fit, struct error *error);
