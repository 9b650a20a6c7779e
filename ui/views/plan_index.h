/* plan_index.h: what the views look up in a plan again and again, computed once per plan. */
#pragma once

#include "ui/screen/frame.h"
#include "src/plan/plan.h"

struct plan_index {
	const struct plan *plan;
	int64_t *category;       /* [ops * CATEGORIES] live bytes by category at each position; they add up to plan->live */
	uint32_t present;        /* items of the layout, workspaces too, that are there at some time */
	uint32_t *by_bytes;      /* [present] largest first */
	uint32_t *by_offset;     /* [present] lowest first */
	bool shapes, modules, sources;   /* some tensor has dims, some op a module, a place in the program */
	struct arena arena;
};

/* OK or NO_MEMORY (an empty index). O(storages log storages + ops). The plan must outlive the index. */
enum status plan_index_build(const struct plan *plan, struct plan_index *index);
void plan_index_free(struct plan_index *index);

/* Holes between what is live at a position, below the arena's end. */
struct holes {
	uint32_t count;
	int64_t total, largest, largest_offset;
};
struct holes plan_holes(const struct plan_index *index, uint32_t position);

/* What lies next to an item of the layout in address at a position, and the free bytes between. NONE: nothing on that
 * side, and the free bytes reach the arena's end. */
struct neighbours {
	uint32_t below, above;
	int64_t hole_below, hole_above;
};
/* The item must be live at the position. O(items). */
struct neighbours plan_neighbours(const struct plan_index *index, uint32_t item, uint32_t position);

/* The position with the most live bytes among [first, last]. */
uint32_t plan_highest(const struct plan *plan, uint32_t first, uint32_t last);
/* The next local peak after (direction 1) or before (-1) a position: a position that nothing within
 * 1/100 of the step on either side surpasses. The position itself where there is none. O(ops). */
uint32_t plan_local_peak(const struct plan *plan, uint32_t position, int direction);
