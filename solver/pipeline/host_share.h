/* host_share.h: what of a configuration waits in the host's memory: saved activations, as far as the link carries them
 * in time, and optimizer states. */
#pragma once

#include "configuration.h"

/* The block up to which a piece's activations wait in the host: copies out end with the piece's forward pass, in the
 * order in which they are saved; those back, in the other order, begin with its backward pass and each ends before its
 * block's. begin: none. O(blocks). */
uint32_t host_away_until(const struct config_model *model, const struct config *config, uint32_t begin, uint32_t end);

/* Takes out of a rank's memory what waits in the host. Of what is away two blocks are here at a time, one in use and
 * one on its way. at_most[pieces]: as played, or NULL: by the schedule's definition. */
void host_send_away(const struct config_model *model, const struct config *config, const uint32_t *first, uint32_t rank,
	const struct in_flight *at_most, struct rank_memory *memory);

/* An update that passes states through the device, a block's after the other's: its own time, or the link's, which
 * carries the first ones in before and the last ones out behind. */
int64_t host_streamed_update(
	const struct config_model *model, const struct config *config, int64_t update, uint32_t begin, uint32_t end);
