/* chunks.h: a step whose loss runs in chunks, held against the one that it was made of. */
#pragma once

#include "solver/rules/rules.h"
#include "state.h"

/* Every op that runs in chunks does so once for each, on the same chunk of each operand that is cut and on the whole of
 * the others; parts of a result add up to its elements and are joined in order, sums have a term from every chunk; all
 * other ops read what they read before. How the chunks' losses are weighed is not looked at. INFEASIBLE with the op,
 * NO_MEMORY. O(graph). */
enum status chunks_check(
	struct check *check, const struct rules *rules, const struct graph *before, const struct graph *after);
