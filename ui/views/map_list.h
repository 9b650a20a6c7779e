/* map_list.h: beside a wide address map: what lies at the cursor's op, highest address first, with the holes between.
 */
#pragma once

#include "view.h"

struct map_list {
	uint32_t top;          /* the first row shown */
	int x, rows;           /* in the view, and rows below the title, when it was drawn last; rows 0: it wasn't */
};

/* The columns that the list takes of so many; 0 where the map needs all. */
int map_list_width(int width);
/* persistent_hidden: what lives through the whole step has no row. O(storages). */
void map_list_draw(
	struct frame *frame, struct rect rect, struct map_list *list, const struct model *model, bool persistent_hidden);
/* The storage on a row of the view, or NONE. O(storages). */
uint32_t map_list_at(const struct map_list *list, const struct model *model, bool persistent_hidden, int y);
