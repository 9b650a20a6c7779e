/* map_marks.h: what helps to read the address map: shades that tell neighbours apart, names inside rectangles, and a
 * legend. */
#pragma once

#include "view.h"

/* What covers most of a place: an item of the layout, or NONE where most is free. */
struct tile {
	uint32_t owner;
	double most, used;     /* area of the owner, of all */
};

/* The tiles of a map: [rows * columns], row 0 at the top. halves: two rows to a cell. */
struct tiles {
	struct tile *tile;
	int rows, columns;
	bool halves;
};

/* Shades (0 or 1) of the items: where two of a kind touch, the one that is met first from the upper left keeps its own
 * and the other takes the other one. shade: [items], to be freed with mem_free(); NULL when out of memory. O(tiles +
 * items). */
uint8_t *map_shades(const struct tiles *tiles, const struct plan *plan);
/* Writes names where an item has room for them on a row of cells; ground: the role of an item's cells. */
void map_names_draw(struct frame *frame, const struct tiles *tiles, int left, int cursor, const struct plan *plan,
	enum role (*ground)(const void *context, uint32_t item),
	const void *context);
/* The categories on the map, each with its colour or letter. */
void map_legend_draw(struct frame *frame, int y, const struct tiles *tiles, const struct plan *plan);
