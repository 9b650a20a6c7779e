/* search.h: closes the gap of small problems by an exhaustive search. */
#pragma once

#include "dual.h"

/* Looks for the cheapest choice within the limit that is cheaper than *cost, by depth-first branch and bound over the
 * reparametrised costs that dual left (see shard_dual_pass(); its part is computed here). Where there is one, choice
 * and *cost become it. OK: exhausted, *cost is optimal. LIMIT: as many branches were tried as allowed. CANCELLED,
 * NO_MEMORY. */
enum status shard_search(
	struct shard_dual *dual, uint64_t branches, struct control *control, uint32_t *choice, double *cost);
