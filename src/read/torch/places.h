/* places.h: placements as PyTorch's DTensor writes them. */
#pragma once

#include "solver/graph/collective.h"

/* "S(0)RP(sum)", a word for each axis of the mesh: at most that many, up to what is no such word. "_S(1, 4)" is cut in
 * blocks; of "S(1)[0]" the order of several cuts of a dim is left out. Returns how many there were. O(length). */
uint32_t places_read(const char *text, uint32_t most, struct axis_places *places);

/* The type of the op that turns one place on an axis into another, "comm.all_gather"; NULL where every device cuts its
 * own piece, or nothing changes. O(1). */
const char *place_move(struct axis_place from, struct axis_place to);
