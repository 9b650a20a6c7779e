/* across.h: what ops reduce inside over the data axis, which a search's costs of blocks don't split: sums of channels
 * (batch norm over a sharded batch, as PyTorch's SyncBatchNorm).
 *
 * A plan's sharding has that axis, so that its ops' times count the same all-reduces. */
#pragma once

#include "configuration.h"

/* Of all blocks the all-reduces that a batch cut over one more axis takes, into cost[]. O(ops). */
void across_find(
	const struct units *units, const struct sharding *sharding, const struct blocks *blocks, struct block_cost *cost);

/* Picoseconds of these in a block's forward or backward pass. */
int64_t across_time(
	const struct config_model *model, const struct config *config, const struct block_cost *cost, bool backward);

static inline int64_t forward_time(
	const struct config_model *model, const struct config *config, const struct block_cost *cost)
{
	return cost->forward + across_time(model, config, cost, false);
}
