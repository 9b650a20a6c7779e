/* curve.h: the memory timeline: live bytes over the order, stacked by category. */
#pragma once

#include "view.h"

/* Draws the curve of the model's zoom into the rectangle of the current window: labels at the left where it is wide
 * enough, the axis with peak, cursor and the selected storage's life in the last row. Each column shows the position
 * with the most live bytes among those it stands for: short peaks never vanish. floor_hidden: start the axis at the
 * persistent bytes. */
void curve_draw(struct frame *frame, struct rect rect, const struct model *model, bool floor_hidden);
/* The position under a column of the curve's rectangle in a window of that width, or NONE. */
uint32_t curve_position(const struct model *model, int width, int x);
