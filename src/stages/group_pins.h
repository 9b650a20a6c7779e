/* group_pins.h: contiguous groups: `pin tensor A behind B`. */
#pragma once

#include "src/scenario/scenario.h"
#include "solver/graph/graph.h"

/* behind [n] by buffer, as struct layout_links has it, from the pins; NULL without any. buffer: storage -> buffer, or NONE: not looked
 * at. INFEASIBLE: the pins contradict each other; error names the tensors. Tensors that the graph lacks, on other pipeline
 * ranks, are left out. O(pins^2). */
enum status group_pins(const struct graph *graph, const struct scenario *scenario, const uint32_t *buffer, uint32_t n, struct arena *arena,
		       uint32_t **behind, struct error *error);
