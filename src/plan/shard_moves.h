/* shard_moves.h: shardings found by moves, each judged by a plan: where estimates of what stays say too little of the
 * arena. */
#pragma once

#include "assemble.h"

/* What moves are made of and where they led. */
struct shard_moves {
	struct sharding found;      /* no split: nothing better */
	const struct plan *from;    /* the start that it comes from */
	uint32_t plans;             /* made by heuristics alone */
	bool left_out;              /* some start's plans are too dear */
};

/* From each start (plans without a pipeline over ranks, of one graph) ops and tensors that nothing writes are split
 * otherwise, one or two of them at a time; each sharding gets an order and a layout by heuristics. From a start above
 * the cap a move counts that takes less memory and less time than the best plan; from any, one that keeps the cap in
 * less time. best: the best plan so far. Nothing on graphs whose plans are too dear: the ops of all plans are bounded;
 * moves->left_out says so. OK, NO_MEMORY, CANCELLED. Free moves->found in any case. */
enum status shard_moves_find(const struct planning *planning, const struct plan *const *start, uint32_t starts,
	const struct plan *best, struct shard_moves *moves);
