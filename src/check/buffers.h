/* buffers.h: the independent, slow checker of what `tidemark layout` wrote: offsets of any buffers.
 *
 * It takes the file of the buffers and the places that the result gives them, and shares no code with the solvers:
 * every pair that is alive together is compared, and sums are made anew. */
#pragma once

#include "src/read/problems/buffers_csv.h"

/* Where a result puts each buffer. */
struct buffers_places {
	const int64_t *offset;     /* [n] */
	int64_t alignment;         /* >= 1 */
	bool simulated; /* by an allocator that rounds sizes in its own way: offsets need not be multiples of the alignment
					 */
};

/* What the places come to: the highest byte; the most that is live at one step. */
struct buffers_sums { int64_t arena, load; };

/* Everything lies where it may: pins, alignments, no overlap. OK with *sums; INFEASIBLE with the culprits by their ids;
 * NO_MEMORY. O(n log n + pairs alive together). */
enum status buffers_check(
	const struct buffers_csv *csv, const struct buffers_places *places, struct buffers_sums *sums, struct error *error);
