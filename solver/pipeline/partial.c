/* partial.c: which layers of a piece run again. */
#include "configuration.h"

static bool in_layers(const struct config_model *model, uint32_t block)
{
	return block >= model->layer && block < model->layer + model->layers * model->period;
}

/* The number of a block's layer among those of the piece that begins there. */
static uint32_t layer_in_piece(const struct config_model *model, uint32_t begin, uint32_t block)
{
	uint32_t from = LARGER(begin, model->layer);
	return (block - model->layer) / model->period - (from - model->layer) / model->period;
}

uint32_t config_piece_layers(const struct config_model *model, const struct config *config, const uint32_t *first)
{
	uint32_t most = 0;
	FOR(k, config->pp * config->chunks)
		FOR_SPAN(b, first, k)
			if (in_layers(model, b) && layer_in_piece(model, first[k], b) >= most)
				most = layer_in_piece(model, first[k], b) + 1;
	return most;
}

void config_mix(const struct config_model *model, const struct config *config, const uint32_t *first,
	const struct block_term *kept, struct block_term *mixed)
{
	FOR(k, config->pp * config->chunks)
		FOR_SPAN(b, first, k) {
			bool again = in_layers(model, b) && layer_in_piece(model, first[k], b) < config->recompute_layers;
			mixed[b] = again ? model->terms->block[b] : kept[b];
		}
}
