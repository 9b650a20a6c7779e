/* fullest.h: what a rank holds of gradients that aren't added up: of a single microbatch, which updates read as soon as
 * they can.
 *
 * The fullest of the moments when a block works, and of the update (Rajbhandari et al., arXiv 1910.02054, for what is
 * cut). */
#pragma once

#include "configuration.h"

/* A share of bytes that so many devices cut, rounded up. */
static inline int64_t config_share(int64_t bytes, uint32_t devices)
{
	return (bytes + devices - 1) / devices;
}

/* Parameters lie in shards and are gathered to be read. */
bool config_gathers(const struct config *config);

/* Gradients of weights are a part of the backward pass of their own. */
bool config_splits(const struct config *config);

/* The most bytes that a block works with in its backward pass, beside what is saved. */
int64_t config_working(const struct block_cost *cost, const struct config *config, const struct overheads *overheads);

/* Of a rank whose activations and transient bytes are known: sets these and gradients to what they are at the fullest
 * moment, late and early to what the memory asks of gradients. first: as in config_rank_memory(). O(blocks x different
 * sizes of what an update takes). */
void fullest_moment(const struct config_model *model, const struct config *config, const struct overheads *overheads,
	const uint32_t *first, uint32_t rank, struct rank_memory *memory);
