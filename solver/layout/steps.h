/* steps.h: the algorithms that layout.c puts together. For this folder only.
 *
 * Those that place every buffer once write offset [n] in units and *height, the highest unit in use. They give up with
 * *height = INT64_MAX as soon as the height reaches limit. LIMIT and CANCELLED leave offset undefined. */
#pragma once

#include "model.h"

#define STEP_TICKS 96      /* of one move of a dive or a skyline */

/* Lowest offset first; order: turn -> buffer, see layout_sort(). O((n + moves) log sections), O(n + sections) memory.
 * critical: see layout_skyline(); without effect where there are pins or gaps. */
enum status layout_dive(const struct layout_model *model, const uint32_t *order, bool critical, int64_t limit,
	int64_t *offset, int64_t *height, struct control *control);

/* In the order given, each into the lowest hole, or into the tightest. Knows pins and alignment. O(n * placed pieces),
 * but the lowest hole is often found early. */
enum status layout_fit(const struct layout_model *model, const uint32_t *order, bool tightest, int64_t limit,
	int64_t *offset, int64_t *height, struct control *control);

/* Into the lowest segment of the skyline goes the first buffer in order that fits between its walls; where none does
 * the segment is filled up to its lower wall (Sekiyama et al., arXiv 1804.10001). Gives what the dive gives, without
 * its moves. critical: of what fits, what is alive where the segment would reach highest comes first. For models
 * without pins and gaps. O(n log^2 n) or so. */
enum status layout_skyline(const struct layout_model *model, const uint32_t *order, bool critical, int64_t limit,
	int64_t *offset, int64_t *height, struct control *control);

/* In the order of time, each into the lowest hole that there is then. For models without pins, alignments and gaps. O(n
 * log alive), O(n) memory. */
enum status layout_online(const struct layout_model *model, int64_t *offset);

/* Offsets in bytes as the buffers' hints have them. A buffer without one, with one that isn't aligned, or where another
 * lies that is alive with it and began no later, goes into the lowest hole; *moved says how many. For buffers without
 * pieces and pins. O(n (log n + alive) + n moved). */
enum status layout_given(
	const struct buffers *buffers, int64_t alignment, struct control *control, int64_t *offset, uint32_t *moved);

/* An order of buffers to dive or fit in. */
struct layout_recipe { const char *keys, *name; bool critical; };

/* The dives, the most promising first. */
#define LAYOUT_DIVES 9
extern const struct layout_recipe layout_dives[LAYOUT_DIVES];

/* Improves a layout of `height` (INT64_MAX: none yet) by dives, one after another until a layout is within enough.
 * *dive: the best dive's recipe, *name: what found the layout; neither is written to where nothing did. Of a million
 * buffers it is only the first few dives. */
enum status layout_cheap(const struct layout_model *model, int64_t enough, int64_t *offset, int64_t *height,
			 const struct layout_recipe **dive, const char **name, struct control *control);

/* Improves a layout of `height` until it is within `enough` or `effort` ticks are spent, from the fullest sections
 * outwards: a window around them is laid out by itself, what lives before and after it around what crosses its ends,
 * which stays in place; window after window, each less full at its ends than the one before. For models without pins
 * and gaps. */
enum status layout_peak(const struct layout_model *model, int64_t enough, uint64_t effort, int64_t *offset,
	int64_t *height, struct control *control);

/* Improves a layout of `height`, the dive's in this order, by moving what sticks out of `enough` forward in the order,
 * until a layout is within `enough` or `effort` ticks are spent; a dive each time. OK also when the effort was not
 * enough. */
enum status layout_wheel(const struct layout_model *model, const uint32_t *order, bool critical, int64_t enough,
	uint64_t effort, uint64_t seed, int64_t *offset, int64_t *height, struct control *control);

/* The highest bound that what is alive in one section gives where buffers are pinned or aligned, and that section;
 * *bound 0: none. O(n) for each section that is looked at, the fullest first, and for sums of sizes. */
enum status layout_moment_bound(const struct layout_model *model, int64_t *bound, uint32_t *section);

/* Buffers of a model that alone do not fit. */
struct layout_core {
	uint32_t *buffer;          /* [n of the model], the first `count` in use, ascending */
	uint32_t count;
	bool irreducible;          /* without any one of them the others fit */
};

/* Improves a layout of `height` by exact search until it is within `enough`, is known to be the smallest, or `effort`
 * ticks are spent. bound: no layout is lower; it rises as the search proves it. decide: stop once it is above `enough`,
 * too. core: where the bound has risen, buffers that need it; NULL: not asked for. OK also when the effort was not
 * enough. */
enum status layout_exact(const struct layout_model *model, int64_t enough, bool decide, uint64_t effort,
	int64_t *offset, int64_t *height, int64_t *bound, struct layout_core *core, struct control *control);

/* Looks for buffers that alone do not fit the capacity, among the largest ones of one stretch of time after another.
 * INFEASIBLE: core has them. LIMIT: none found; nodes: what a search through all buffers would be given. core->buffer
 * is overwritten. */
enum status layout_core_find(const struct layout_model *model, int64_t capacity, uint64_t nodes,
	struct layout_core *core, struct control *control);

/* Drops buffers from the core as long as what is left does not fit. OK; LIMIT: stopped by control before that was all.
 */
enum status layout_core_shrink(const struct layout_model *model, int64_t capacity, uint64_t nodes,
	struct layout_core *core, struct control *control);

/* The fewest and largest of those that are alive at the fullest section that together exceed the capacity, which the
 * load does. */
enum status layout_core_of_load(const struct layout_model *model, int64_t capacity, struct layout_core *core);

/* ROAM's tree: what crosses a cut of the order at the bottom, what lives between two cuts apart. For models without
 * pins and gaps. O(n log n) but for the leaves, each of which is solved exactly as far as a small effort goes. */
enum status layout_tree(const struct layout_model *model, int64_t *offset, int64_t *height, struct control *control);

/* A control for a step that may spend `effort` ticks, and no more than the whole run has left. Its ticks are to be
 * added to the whole's afterwards. */
static inline struct control control_part(const struct control *control, uint64_t effort)
{
	struct control part = { .cancel = control->cancel, .limit = effort };
	if (control->limit && control->limit - control->ticks < effort)
		part.limit = control->limit > control->ticks ? control->limit - control->ticks : 1;
	return part;
}
