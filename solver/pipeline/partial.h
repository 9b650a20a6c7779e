/* partial.h: recomputation of some layers of every pipeline piece (Megatron's recompute_method block). */
#pragma once

#include "configuration.h"

/* The most layers that a piece has blocks of. */
uint32_t config_piece_layers(const struct config_model *model, const struct config *config, const uint32_t *first);

/* Costs of blocks into mixed[blocks]: of the model, in which all layers run again, where they are of the first
 * config->recompute_layers layers of a piece; else those of the same blocks that keep their activations. O(blocks). */
void config_mix(const struct config_model *model, const struct config *config, const uint32_t *first,
	const struct block_cost *kept, struct block_cost *mixed);
