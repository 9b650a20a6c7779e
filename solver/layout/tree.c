/* tree.c: ROAM's layout (Shu et al., arXiv 2310.19295, section on memory layout).
 *
 * The order is cut, again and again, where the fewest bytes cross, until few buffers are left between two cuts. What
 * crosses a cut is long-lived and goes to the bottom. What lives between two cuts is a leaf: it is laid out in the room
 * that long-lived buffers leave, exactly, which joins the leaves: none lives with another. A layout above the load is
 * repaired: all that lives in the leaf where it is highest is laid out first, then with what lives beside it, and more.
 *
 * What the text leaves open, and we chose: a cut lies in the middle half of its range; the node limit; long-lived
 * buffers rest as low as they can, with leaves' buffers already there: by the fullest time that they see, or by longest
 * life, which is what LLFB does with all buffers; a leaf that reaches higher than others is solved by exact search of a
 * fixed effort; so many rounds of repair, of which the best counts. */
#include "steps.h"

#define LEAF_MOST 20              /* node limit: buffers in a leaf */
#define LEAF_EFFORT UINT64_C(2000000)
#define ROUNDS 6

/* Sections [first, last) that are still to be cut, and their buffers: tree->buffer[from .. to). */
struct range { uint32_t first, last, from, to; };

struct tree {
	const struct layout_model *model;
	uint32_t *buffer;          /* permuted so that every range is contiguous */
	uint32_t *oldest;          /* [n] which goes first */
	bool *crossing;            /* long-lived */
	struct range *range;       /* stack; leaves are kept in front */
	uint32_t leaves, ranges;
	int64_t *offset, *was;     /* [n] -1: not placed */
	int64_t height;            /* within which leaves are as low as they need to be */
	int64_t reached;           /* by what was placed last */
	struct control *control;
};

/* The cut in the middle half of a range which the fewest bytes cross; 0: none splits it. */
static uint32_t best_cut(const struct tree *tree, const struct range *range, int64_t *change)
{
	const struct layout_model *model = tree->model;
	uint32_t width = range->last - range->first, cut = 0;
	memset(change + range->first, 0, (width + 1) * sizeof *change);
	FOR_FROM(i, range->from, range->to) {
		uint32_t b = tree->buffer[i];
		if (model->last[b] - model->first[b] < 2)
			continue;
		change[model->first[b] + 1] += model->size[b];
		change[model->last[b]] -= model->size[b];
	}
	int64_t bytes = 0, least = INT64_MAX;
	FOR_FROM(s, range->first + 1, range->last) {
		bytes += change[s];
		bool central = s - range->first >= width / 4 && range->last - s >= width / 4;
		if (central && bytes < least) {
			least = bytes;
			cut = s;
		}
	}
	return cut;
}

/* Parts a range's buffers into left, crossing and right, in place; crossing ones end up between the two. */
static void layout_tree_split(
	struct tree *tree, const struct range *range, uint32_t cut, struct range *left, struct range *right)
{
	const struct layout_model *model = tree->model;
	uint32_t low = range->from, high = range->to;
	for (uint32_t i = low; i < high;) {
		uint32_t b = tree->buffer[i], other;
		if (model->last[b] <= cut) {
			other = low++;
			tree->buffer[i++] = tree->buffer[other];
		} else if (model->first[b] >= cut) {
			other = --high;
			tree->buffer[i] = tree->buffer[other];
		} else {
			tree->crossing[b] = true;
			i++;
			continue;
		}
		tree->buffer[other] = b;
	}
	*left = (struct range){ range->first, cut, range->from, low };
	*right = (struct range){ cut, range->last, high, range->to };
}

static enum status cut_into_leaves(struct tree *tree)
{
	const struct layout_model *model = tree->model;
	HELD int64_t *MAKE(change, (size_t)model->sections + 1);
	NEED(change);
	tree->range[0] = (struct range){ 0, model->sections, 0, model->n };
	tree->ranges = 1;
	while (tree->leaves < tree->ranges) {
		struct range range = tree->range[tree->ranges - 1];
		uint32_t cut = range.to - range.from > LEAF_MOST ? best_cut(tree, &range, change) : 0;
		if (control_spend(tree->control, range.to - range.from + range.last - range.first))
			TRY(control_status(tree->control));
		if (cut) {
			layout_tree_split(tree, &range, cut, &tree->range[tree->ranges - 1], &tree->range[tree->ranges]);
			tree->ranges++;
		} else {
			/* A leaf moves to the front of the stack. */
			tree->range[tree->ranges - 1] = tree->range[tree->leaves];
			tree->range[tree->leaves++] = range;
		}
	}
	return OK;
}

/* Lays out what isn't placed of some buffers of a range around what is: lowest offset first in their order, or as low
 * as an exact search finds where that is above the height so far. */
static enum status layout_tree_place(
	struct tree *tree, const uint32_t *buffer, uint32_t n, const struct range *range, bool exact)
{
	const struct layout_model *model = tree->model;
	OWN(layout_model) part = { 0 };
	HELD int64_t *MAKE(offset, n);
	HELD uint32_t *MAKE(order, n);
	NEED(offset && order);
	TRY(layout_model_clip(model, buffer, n, range->first, range->last, tree->offset, &part));
	int64_t height = INT64_MAX, bound = part.max_load, scale = part.unit / model->unit, enough = tree->height / scale;
	FOR(i, n)
		order[i] = i;
	TRY(layout_dive(&part, order, false, INT64_MAX, offset, &height, tree->control));
	if (exact && height > enough)
		TRY(layout_exact(&part, enough, false, LEAF_EFFORT, offset, &height, &bound, NULL, tree->control));
	FOR(i, n)
		tree->offset[buffer[i]] = offset[i] * scale;
	tree->reached = height * scale;
	return OK;
}

/* A leaf's own buffers anew, unless they are within the height, or what isn't placed at a time that is no leaf. */
static enum status layout_tree_leaf(struct tree *tree, const struct range *range, uint32_t *buffer)
{
	const struct layout_model *model = tree->model;
	uint32_t n = 0;
	int64_t top = range->from < range->to ? 0 : INT64_MAX;
	FOR_FROM(i, range->from, range->to) {
		uint32_t b = tree->buffer[i];
		top = tree->crossing[b] ? top : larger_of(top, tree->offset[b] + model->size[b]);
	}
	if (top <= tree->height || range->first == range->last)
		return OK;
	control_spend(tree->control, model->n / 8);
	FOR(i, model->n) {
		uint32_t b = tree->oldest[i];
		if (model->first[b] >= range->last || model->last[b] <= range->first)
			continue;
		buffer[n++] = b;
		tree->was[b] = tree->offset[b];
		tree->offset[b] = tree->crossing[b] ? tree->offset[b] : -1;
	}
	TRY(layout_tree_place(tree, buffer, n, range, true));
	FOR_WHILE(i, n, tree->reached > top)
		tree->offset[buffer[i]] = tree->was[buffer[i]];
	tree->height = larger_of(tree->height, smaller_of(tree->reached, top));
	return OK;
}

/* All that lives at the first time, everything else by keys, then what leaves alone have. */
static enum status layout_tree_round(struct tree *tree, const struct range *first, const char *keys, uint32_t *buffer)
{
	const struct layout_model *model = tree->model;
	TRY(layout_sort(model, keys, tree->oldest));
	FOR(b, model->n)
		tree->offset[b] = -1;
	tree->height = 0;
	TRY(layout_tree_leaf(tree, first, buffer));
	TRY(layout_tree_place(tree, tree->oldest, model->n, &(struct range){ 0, model->sections, 0, 0 }, false));
	FOR(b, model->n)
		if (tree->crossing[b])
			tree->height = larger_of(tree->height, tree->offset[b] + model->size[b]);
	FOR(i, tree->leaves)
		TRY(layout_tree_leaf(tree, &tree->range[i], buffer));
	return OK;
}

/* The leaf where the layout is as high as that, and as many times its length beside it. */
static struct range layout_tree_highest(const struct tree *tree, int64_t height, uint32_t times)
{
	const struct layout_model *model = tree->model;
	const struct range *leaf = tree->range;
	uint32_t b = 0;
	while (tree->offset[b] + model->size[b] < height)
		b++;
	while (leaf->last <= model->first[b] || leaf->first >= model->last[b])
		leaf++;
	uint32_t beside = times * (leaf->last - leaf->first);
	return (struct range){ leaf->first > beside ? leaf->first - beside : 0,
		SMALLER(leaf->last + beside, model->sections), 0, 0 };
}

static enum status layout_tree_rounds(struct tree *tree, uint32_t *buffer, int64_t *offset, int64_t *height)
{
	struct range first = { 0, 0, 0, 0 };
	for (int round = 0; round < ROUNDS && *height > tree->model->max_load; round++) {
		TRY(layout_tree_round(tree, &first, round ? "WZ" : "TW", buffer));
		int64_t reached = layout_model_height(tree->model, tree->offset);
		if (round > 0)
			first = layout_tree_highest(tree, reached, (1u << (round - 1)) - 1);
		if (reached >= *height)
			continue;
		*height = reached;
		COPY(offset, tree->offset, tree->model->n);
	}
	return OK;
}

enum status layout_tree(const struct layout_model *model, int64_t *offset, int64_t *height, struct control *control)
{
	uint32_t n = model->n, *leaf;
	OWN(arena) arena = { 0 };
	struct tree tree = { .model = model, .control = control };
	NEED(ROOMS(&arena, n, tree.buffer, tree.oldest, tree.crossing, tree.offset, tree.was, leaf) &&
		ROOM(&arena, tree.range, (size_t)model->sections + 2));
	FOR(b, n)
		tree.buffer[b] = b;
	*height = INT64_MAX;
	TRY(cut_into_leaves(&tree));
	return layout_tree_rounds(&tree, leaf, offset, height);
}
