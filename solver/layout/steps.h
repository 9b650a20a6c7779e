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

/* A layout below `height`, within `enough` or near it, if `effort` ticks will do: the fullest times' buffers first, and
 * what has no place drives out the least, that in turn, and so on. For models without pins and gaps. A move is
 * O(k log k) of k buffers that are alive with one. */
enum status layout_eject(const struct layout_model *model, int64_t enough, uint64_t effort, int64_t *offset,
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

/* ROAM's tree: what crosses a cut of the order at the bottom, what lives between two cuts around it. For models without
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

/* attempt: a part of a layout, and the best that was found for it so far. For this folder only. */

struct attempt {
	struct layout_model part;
	int64_t *offset, *trial;
	uint32_t *order;
	int64_t height;          /* of offset; INT64_MAX: none yet */
	int64_t enough;          /* a layout this high will do */
	int64_t bound;           /* none is lower */
	struct layout_core core; /* why it is above the load */
	const char *strategy;
	const struct layout_recipe *dive; /* the best dive so far, or NULL */
};

/* Lays the part out by options->strategy until it is within `enough` or the effort is spent; offset, height and
 * strategy are the best layout's, bound and core what was proved on the way. LIMIT and CANCELLED leave what was found.
 */
enum status layout_attempt(struct attempt *attempt, const struct layout_options *options, struct control *control);

/* One layout, without limits. */
enum status layout_attempt_first(struct attempt *attempt);

/* boxes: buffers joined into boxes. For this folder only. */

/* A buffer of the model, room that may stay empty, or two boxes joined: one on the other, or one after the other at the
 * same place. */
struct box {
	uint32_t first, last;      /* sections */
	int64_t size;
	uint32_t left, right;      /* the boxes that it is joined of, or NONE */
	bool stacked;              /* right stands on left; else it comes after left */
	bool real;                 /* a buffer is in it */
	bool joined;               /* it is a part of another box */
};

struct layout_boxes {
	uint32_t n;                /* buffers of the model: boxes 0 .. n - 1 */
	uint32_t count;
	size_t room;
	struct box *box;
	uint32_t *top;             /* the outermost boxes with buffers in them */
	struct layout_model model; /* of these; model.origin indexes top */
	int64_t scale;             /* units of the joined model in one of model's */
};

/* Joins what fits together without waste, again and again: boxes with one life are stacked, and a box that ends where
 * an equally high one starts hands its place over. Layouts of what is left, usually much smaller, are layouts of the
 * whole, not the other way round. capacity > 0: what the load leaves free below it counts as boxes, too. variant:
 * another number breaks ties in another way. For models without pins, alignment and gaps. OK or NO_MEMORY. O(n log n)
 * for each of the rounds, the depth of the boxes. Free with layout_boxes_free(), after an error too. */
enum status layout_boxes_build(
	const struct layout_model *model, int64_t capacity, uint32_t variant, struct layout_boxes *boxes);
void layout_boxes_free(struct layout_boxes *boxes);

/* From offsets of boxes->model to offsets of the buffers. */
enum status layout_boxes_unpack(const struct layout_boxes *boxes, const int64_t *coarse, int64_t *offset);

/* nest: which buffer that is left lives within some sections? For this folder only. */

/* Sections are halved again and again, down to single ones: a binary tree. A buffer belongs to the lowest node that
 * holds its life. Within a node everything crosses the middle, so that one end of a life is all that most questions
 * look at. */
struct nest_pair { uint32_t turn, end; };

struct nest {
	const struct layout_model *model;
	uint32_t *turn;            /* [n] by buffer */
	uint32_t leaves; /* a power of two >= sections; section s is node leaves + s, node v has children 2 v and 2 v + 1 */
	uint32_t *best;            /* [2 leaves] lowest turn in the node and below, or NONE */
	uint32_t *start;           /* [2 leaves + 1] the node's buffers, m of them, in the arrays below */
	uint32_t *first, *last;    /* [n] ends of lives, ascending within a node */
	uint32_t *by_first, *by_last; /* [n] by buffer: its place in these */
	/* A tournament per node at 2 start: leaves m .. 2 m - 1, root 1. */
	struct nest_pair *firsts;  /* [2 n] lowest turn, lowest last section, in order of first sections */
	struct nest_pair *lasts;   /* [2 n] lowest turn, lowest ~first section, in order of last sections */
	struct arena arena;
};

/* All buffers of a model without gaps. O(n + sections), but for the sorting. */
enum status nest_build(struct nest *nest, const struct layout_model *model, const uint32_t *order);
void nest_free(struct nest *nest);

/* The lowest turn of a buffer that lives within sections [first, last), or NONE. O(log^2 n), but for the node that the
 * two ends part at, which is searched by branch and bound. */
uint32_t nest_best(const struct nest *nest, uint32_t first, uint32_t last);

/* The same of those that are alive at section `over`. */
uint32_t nest_best_over(const struct nest *nest, uint32_t first, uint32_t last, uint32_t over);

/* Takes a buffer out. O(log n). */
void nest_remove(struct nest *nest, uint32_t buffer);

/* reach: how high each section will reach at least. For this folder only.
 *
 * A section's reach is what it has in use, holes included, and what is still to come: its load and the holes so far. */

struct reach_node { int64_t most, added; };

struct reach {
	uint32_t leaves;
	struct reach_node *node;   /* a segment tree: the most below, and what was added to all below */
};

enum status reach_build(struct reach *reach, const struct layout_model *model);
void reach_free(struct reach *reach);

/* The first section of [first, last) that reaches highest. O(log sections), as all here. */
uint32_t reach_most(const struct reach *reach, uint32_t first, uint32_t last);

/* A hole of so many units in sections [first, last). */
void reach_add(struct reach *reach, uint32_t first, uint32_t last, int64_t hole);
