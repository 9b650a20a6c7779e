/* coordinates.h: coordinates of our own, for pictures that `dot` would need minutes for. */
#pragma once

#include "groups.h"

struct draw_place { double x, y; };   /* points, y upwards */

/* Time runs downwards. Forward nodes stand left, one below the other; a backward node stands to the right of the
 * forward node that it mirrors, update nodes right of it. NULL when out of memory, else [nodes]; mem_free() it. O(nodes
 * + edges). */
struct draw_place *draw_places(const struct drawing *drawing);
