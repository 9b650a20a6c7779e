/* exact.h: small steps exactly: every order and any number of reruns.
 *
 * Dijkstra's algorithm over states of what has run and what is in memory. An op runs first when what it depends on has
 * run, an op of the pass again as often as one likes; a storage is dropped where something else doesn't fit. A state
 * that costs as much as the best plan is left out. */
#pragma once

#include "replay.h"

#define FIT_EXACT_OPS 64       /* most ops, and most storages, of a step that is tried */

struct fit_sequence {
	uint32_t *run;             /* [length] as in struct fit_replay; the caller frees both with mem_free() */
	uint64_t *stays;           /* [length] */
	uint32_t length;
	int64_t extra, peak;       /* picoseconds, bytes */
	bool
		all; /* everything was tried: no plan is faster than this one, or than `below` where there is none (length 0) */
};

/* The fastest sequence under the cap that takes less than `below` (INT64_MAX: any), in so much effort. Steps that are
 * large, write what can be dropped in place, draw random numbers or have decisions made by a caller are not tried. OK,
 * also where nothing was found; CANCELLED, NO_MEMORY. */
enum status fit_exact(const struct fit_step *step, int64_t cap, int64_t below, uint64_t ticks, struct control *control,
	struct fit_sequence *sequence);
