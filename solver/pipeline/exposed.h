/* exposed.h: collectives that bring parameters and reduce gradients, and what of them computation doesn't hide.
 *
 * ZeRO (Rajbhandari et al., arXiv 1910.02054) over the devices that share states; buckets reduced beside the backward
 * pass (Li et al., VLDB 2020). */
#pragma once

#include "configuration.h"

/* Devices that cut the states of a class of parameters: all that share them, or a group's where groups hold copies. */
uint32_t config_shards(const struct config *config, uint32_t class);

/* An axis of so many devices outside of others. */
struct mesh_axis config_axis(const struct config_model *model, uint32_t size, uint32_t inside);

/* Gradients are added up over microbatches. Those of a single one wait for nothing but what their updates wait for. */
bool config_sums_gradients(const struct config *config);

/* A step is timed pass by pass, as pipeline ranks and microbatches are: nothing is gathered ahead of the op that reads
 * it. */
bool config_by_passes(const struct config *config);

/* Where updates wait for all gradients, bytes of a block's that are made only then, as what they are made of takes less
 * than what would wait of them: of small batches. */
int64_t config_late_gradients(const struct config *config, const struct block_cost *cost, uint32_t class);

/* What reducing a rank's gradients and gathering its parameters takes beyond what computation of all of its pieces
 * hides: gradients once a step behind one backward pass, or behind that of every microbatch; parameters behind the pass
 * that reads them. Those that an update has made are gathered behind nothing, or behind the share of the next step's
 * first forward pass that the overheads say; where updates wait for all gradients of a single pass, behind what the
 * rest of the update takes, too. Nothing hides what reduces gradients that the memory asks to be made late; at ZeRO's
 * stage 1 gradients are reduced before the update, with nothing but updates beside them, where the memory doesn't ask
 * for it earlier. */
int64_t config_exposed_time(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, int64_t update, const struct rank_memory *memory, const uint32_t *first,
	uint32_t rank);
