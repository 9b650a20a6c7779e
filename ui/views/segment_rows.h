/* segment_rows.h: ROAM's segments among the rows of the Order view: a rule above each segment's first op. Without
 * segments every row is an op's. */
#pragma once

#include "ui/screen/frame.h"
#include "src/plan/plan.h"

/* The row of the op at a position. O(log segments), as the next two. */
uint32_t segment_row(const struct order_roam *roam, uint32_t position);
/* The segment whose rule stands in the row, or NONE where an op does. *position: of that op, or of the segment's first.
 */
uint32_t segment_row_of_rule(const struct order_roam *roam, uint32_t row, uint32_t *position);
/* The segment that a position belongs to, or NONE. */
uint32_t segment_at(const struct order_roam *roam, uint32_t position);
/* The segment that the op at a position ends as its waist, or NONE. */
uint32_t segment_of_waist(const struct order_roam *roam, uint32_t op, uint32_t position);

/* A segment's rule: number, phase, ops, peak, how its leaves were solved, the waist that ends it. */
void segment_rule_draw(struct frame *frame, int y, const struct plan *plan, uint32_t segment);
/* What ROAM decided about the op at a position, in one line: which branch it belongs to, where that could run and why
 * it runs where it does; or that it is a waist or another op of the main path. */
void segment_choice_draw(struct frame *frame, int y, const struct plan *plan, uint32_t op, uint32_t position);
