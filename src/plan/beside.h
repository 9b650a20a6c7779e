/* beside.h: two plans laid over each other, whatever they were read from: a memory snapshot of a step that ran and the
 * captured step as planned, two snapshots, a step as two compilers have it. Their graphs share no names, so time is
 * matched by phases, and memory by sizes. */
#pragma once

#include "plan.h"

/* What allocators round sizes to: buffers that come to the same are held to be equal. */
#define BESIDE_ALIGNMENT 512

/* What asked for memory: a place in the source, else a module, else what the tensors are. */
struct beside_holder { const char *place; int64_t bytes; uint32_t buffers; };

/* A stretch of both steps: forward ops, backward ops up to the last one, and what is behind it. first == end: the step
 * has none. */
enum beside_part { BESIDE_FORWARD, BESIDE_BACKWARD, BESIDE_UPDATE, BESIDE_PARTS };
struct beside_stretch {
	uint32_t first[2], end[2];    /* positions */
	int64_t peak[2];              /* the highest in it; -1 where it is empty */
};

/* [0] is the one plan, [1] the other. Of several steps in a trace the one with the peak is taken. The peaks' difference
 * is that of what only one of them holds, plus that of the pairs, of workspaces, and of the rest: peak = sum of holders
 * + paired + workspace + rest. */
struct beside {
	struct beside_stretch part[BESIDE_PARTS];
	bool
		phases; /* both have backward ops: else the steps are matched by their share alone, and lie in the first part */
	uint32_t steps[2];            /* in the order */
	uint32_t peak_position[2];
	int64_t peak[2];
	int64_t paired[2], workspace[2], rest[2]; /* paired: of buffers alive at both peaks, each with one of equal rounded
												 size in the other; rest: rounding */
	uint32_t pairs;
	struct beside_holder *holder[2];   /* of what has no pair, the largest first */
	uint32_t holders[2];
	struct arena arena;
};

/* Pairs are found first among buffers of equal size and place, then among those of equal size. Free with beside_free(),
 * after an error too. OK or NO_MEMORY. O(ops + storages log storages). */
enum status beside_make(const struct plan *one, const struct plan *other, struct beside *beside);
void beside_free(struct beside *beside);

/* The other plan's position that stands where a position of the side's does: shares of the same stretch. A position
 * before or behind the step goes to its beginning or last position. O(1). */
uint32_t beside_position(const struct beside *beside, int side, uint32_t position);
