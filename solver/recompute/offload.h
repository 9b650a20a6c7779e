/* offload.h: which storages wait in the host's memory, and from when to when, so that nothing waits for a copy. */
#pragma once

#include "recompute.h"
#include "solver/step/recompute.h"

/* Windows of wanted [storages], in the order in which they were made: window [storages], *count of them. The link
 * carries one copy at a time each way, beside computation, whose times are the step's along the program order, with
 * reruns (NULL: none). Copies begin when their storage is written for the last time in the pass, those made first
 * first: they have the most time to come back. All are out when op `turn` begins (NONE: the first of the backward
 * pass), or up to `stall` picoseconds later, for which it waits. The ways back are as late as the link allows. What
 * would come back before it is away is not in the list. At most `most` windows, and what the host's memory holds. Sizes
 * below RECOMPUTE_MOVED stay. OK or NO_MEMORY. O(ops + storages * windows left out). */
#define RECOMPUTE_MOVED (1 << 16)

/* What runs again, by ops of the program order: how long before each of them, later [ops]; and before which of them a
 * storage is first read by what does, first [storages], or NONE. */
struct recompute_reruns { int64_t *later; uint32_t *first; };
/* Of states [storages] as played along base 1 of a solver, which is the program order. OK or NO_MEMORY. */
enum status recompute_reruns_of(struct recompute_solver *solver, const uint8_t *state, struct recompute_reruns *reruns);

enum status recompute_windows_find(const struct recompute_step *step, const struct recompute_link *link,
	const bool *wanted, const struct recompute_reruns *reruns, uint32_t turn, int64_t stall, uint32_t most,
	struct offload_window *window, uint32_t *count);
