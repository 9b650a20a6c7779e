/* why.h: why a tensor lies as it does: what each other placement on an axis would cost, if nothing else changed. */
#pragma once

#include "sharded.h"

#define PLACE_CHOICES 26

struct place_choice {
	int8_t on;                  /* on the axis that is asked about */
	bool chosen;
	bool possible;              /* else its pieces would not be equal, or no collectives lead there */
	int64_t bytes;              /* of one device */
	int64_t time, sent;         /* of the collectives around the tensor: picoseconds, bytes that each device sends */
};

/* The places that a tensor of the sharded graph may have on an axis: first the chosen one, then R and the others by
 * time. An op that can be split to write it so is taken to be split; else its result is brought there. Returns how
 * many. O(places * readers). */
uint32_t sharded_choices(
	const struct sharded *sharded, uint32_t tensor, uint32_t axis, struct place_choice choice[PLACE_CHOICES]);
