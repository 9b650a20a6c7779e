/* buffers.h: the independent, slow checker of what `tidemark layout` wrote: offsets of any buffers, in one memory or in several.
 *
 * It takes the file of the buffers and the places that the result gives them, and shares no code with the solvers: every pair that is alive together is
 * compared, and sums are made anew. */
#pragma once

#include "src/read/problems/buffers_csv.h"

/* Where a result puts each buffer. */
struct buffers_places {
	const int64_t *offset;     /* [n] */
	const uint32_t *pool;      /* [n] or NULL: all in one memory */
	const uint32_t *donor;     /* [n] whose place a buffer has taken, NONE: nobody's; NULL: nobody has */
	int64_t alignment;         /* >= 1 */
	bool simulated;            /* by an allocator that rounds sizes in its own way: offsets need not be multiples of the alignment */
};

/* What the places come to. */
struct buffers_sums {
	struct { uint32_t buffers; int64_t arena, load; } pool[POOLS_MOST];   /* the highest byte; the most that is alive at one step */
	int64_t spill_cost, spilled;   /* steps down the lists times what a step costs; bytes that are not where they like best */
};

/* Everything lies where it may: pools, groups, pins, alignments, places taken, no overlap. OK with *sums; INFEASIBLE with the culprits by their ids; NO_MEMORY.
 * O(n log n + pairs alive together). */
enum status buffers_check(const struct buffers_csv *csv, const struct buffers_places *places, struct buffers_sums *sums, struct error *error);

/* Whether no choice of pools whose loads keep the capacities [pools] (0: none) costs less than the bound, by trying all. OK: it is so. LIMIT: there are too many
 * to try, or loads alone don't show it. NO_MEMORY. */
enum status buffers_check_spill_bound(const struct buffers_csv *csv, const int64_t *capacity, int64_t alignment, int64_t bound);
