/* group_pins.h: contiguous groups: `pin tensor A behind B`. */
#pragma once

#include "src/scenario/scenario.h"
#include "solver/graph/graph.h"
#include "solver/layout/layout.h"

/* behind [n] from the pins: the buffer behind which each lies; itself: the first of a row; NONE: in none. NULL without
 * any. buffer: storage -> buffer, or NONE: not looked at. INFEASIBLE: the pins contradict each other; error names the
 * tensors. Tensors that the graph lacks, on other pipeline ranks, are left out. O(pins^2). */
enum status group_pins(const struct graph *graph, const struct scenario *scenario, const uint32_t *buffer, uint32_t n,
	struct arena *arena, uint32_t **behind, struct error *error);

/* What lies in a row is one block, which takes its memory as long as any of it is live. */
struct group_blocks {
	struct buffers buffers;    /* a row, or a buffer that is in none */
	uint32_t *block;           /* [n] by buffer */
	int64_t *from;             /* [n] its offset within the block */
};

/* In the arena; sizes are whole multiples of the alignment. INFEASIBLE: two pinned offsets don't lie as the row does;
 * NO_MEMORY. O(n). */
enum status group_join(const struct buffers *buffers, const uint32_t *behind, struct arena *arena,
	struct group_blocks *blocks, struct error *error);
