/* tree.c: ROAM's layout (Shu et al., arXiv 2310.19295, section on memory layout).
 *
 * The order is cut, again and again, where the fewest bytes cross, until few buffers are left between two cuts. What
 * crosses a cut is long-lived and lies at the bottom, the longest life first. What lives between two cuts is a leaf: it
 * is laid out in the room that long-lived buffers leave, exactly, which joins the leaves: none lives with another.
 *
 * What the text leaves open, and we chose: a cut lies in the middle half of its range; the node limit; long-lived
 * buffers rest as low as they can, those of the fullest leaf first; a leaf that doesn't fit below the highest one so
 * far raises the arena by as little as an exact search of a fixed effort finds. */
#include "steps.h"

#define LEAF_MOST 40              /* node limit: buffers in a leaf */
#define LEAF_EFFORT UINT64_C(2000000)

/* Sections [first, last) that are still to be cut, and their buffers: tree->buffer[from .. to). */
struct range { uint32_t first, last, from, to; };

struct tree {
	const struct layout_model *model;
	uint32_t *buffer;          /* permuted so that every range is contiguous */
	uint32_t *oldest;          /* [n] the longest life first */
	bool *crossing;            /* stacked at the bottom */
	struct range *range;       /* stack; leaves are kept in front */
	uint32_t leaves, ranges;
	int64_t *offset;
	int64_t height;            /* of what is placed */
	struct control *control;
};

/* The cut in the middle half of a range which the fewest bytes cross; 0: none splits it. */
static uint32_t best_cut(const struct tree *tree, const struct range *range, int64_t *change)
{
	const struct layout_model *model = tree->model;
	uint32_t width = range->last - range->first, cut = 0;
	memset(change + range->first, 0, (width + 1) * sizeof *change);
	for (uint32_t i = range->from; i < range->to; i++) {
		uint32_t b = tree->buffer[i];
		if (model->last[b] - model->first[b] < 2)
			continue;
		change[model->first[b] + 1] += model->size[b];
		change[model->last[b]] -= model->size[b];
	}
	int64_t bytes = 0, least = INT64_MAX;
	for (uint32_t s = range->first + 1; s < range->last; s++) {
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
	int64_t *change = mem_alloc((size_t)model->sections + 1, sizeof *change);
	NEED(change);
	tree->range[0] = (struct range){ 0, model->sections, 0, model->n };
	tree->ranges = 1;
	enum status status = OK;
	while (tree->leaves < tree->ranges && status == OK) {
		struct range range = tree->range[tree->ranges - 1];
		uint32_t cut = range.to - range.from > LEAF_MOST ? best_cut(tree, &range, change) : 0;
		if (control_spend(tree->control, range.to - range.from + range.last - range.first))
			status = control_status(tree->control);
		if (cut) {
			layout_tree_split(tree, &range, cut, &tree->range[tree->ranges - 1], &tree->range[tree->ranges]);
			tree->ranges++;
		} else {
			/* A leaf moves to the front of the stack. */
			tree->range[tree->ranges - 1] = tree->range[tree->leaves];
			tree->range[tree->leaves++] = range;
		}
	}
	mem_free(change);
	return status;
}

/* Lays some buffers out in a range around those that are placed, lowest offset first in the order of the keys (NULL: as
 * they are given); exact:
 * as low as an exact search finds where that is above the height so far. */
static enum status layout_tree_place(struct tree *tree, const uint32_t *buffer, uint32_t n, const struct range *range,
	const char *keys, bool exact)
{
	const struct layout_model *model = tree->model;
	if (n == 0)
		return OK;
	OWN(layout_model) part = { 0 };
	HELD int64_t *offset = mem_alloc(n, sizeof *offset);
	HELD uint32_t *order = mem_alloc(n, sizeof *order);
	NEED(offset && order);
	TRY(layout_model_clip(model, buffer, n, range->first, range->last, tree->offset, &part));
	int64_t height = INT64_MAX, bound = part.max_load, scale = part.unit / model->unit, enough = tree->height / scale;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	if (keys)
		TRY(layout_sort(&part, keys, order));
	TRY(layout_dive(&part, order, false, INT64_MAX, offset, &height, tree->control));
	if (exact && height > enough)
		TRY(layout_exact(&part, enough, false, LEAF_EFFORT, offset, &height, &bound, NULL, tree->control));
	for (uint32_t i = 0; i < n; i++) {
		int64_t top = (tree->offset[buffer[i]] = offset[i] * scale) + model->size[buffer[i]];
		tree->height = top > tree->height ? top : tree->height;
	}
	return OK;
}

/* A leaf's own buffers and the long-lived ones that live with them. */
static enum status layout_tree_leaf(struct tree *tree, const struct range *range, const char *keys, uint32_t *buffer)
{
	const struct layout_model *model = tree->model;
	uint32_t n = 0;
	for (uint32_t i = 0; i < model->n; i++) {
		uint32_t b = tree->oldest[i];
		if (tree->crossing[b] && model->first[b] < range->last && model->last[b] > range->first)
			buffer[n++] = b;
	}
	for (uint32_t i = range->from; i < range->to; i++)
		if (!tree->crossing[tree->buffer[i]])
			buffer[n++] = tree->buffer[i];
	control_spend(tree->control, model->n / 8);
	return layout_tree_place(tree, buffer, n, range, keys, true);
}

static enum status layout_tree_long_lived(struct tree *tree, uint32_t *buffer)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < tree->model->n; i++)
		if (tree->crossing[tree->oldest[i]])
			buffer[n++] = tree->oldest[i];
	return layout_tree_place(tree, buffer, n, &(struct range){ 0, tree->model->sections, 0, 0 }, NULL, false);
}

/* The fullest leaf with all that lives there, then what is long-lived, then the other leaves. */
static enum status layout_tree_leaves(struct tree *tree, uint32_t *buffer)
{
	uint32_t fullest = 0;
	for (uint32_t i = 0; i < tree->leaves; i++)
		if (tree->range[i].first <= tree->model->max_section && tree->model->max_section < tree->range[i].last)
			fullest = i;
	TRY(layout_tree_leaf(tree, &tree->range[fullest], NULL, buffer));
	TRY(layout_tree_long_lived(tree, buffer));
	for (uint32_t i = 0; i < tree->leaves; i++)
		if (i != fullest)
			TRY(layout_tree_leaf(tree, &tree->range[i], "TAW", buffer));
	return OK;
}

enum status layout_tree(const struct layout_model *model, int64_t *offset, int64_t *height, struct control *control)
{
	struct tree tree = { .model = model, .offset = offset, .control = control };
	HELD uint32_t *leaf = mem_alloc(model->n, sizeof *leaf);
	tree.buffer = mem_alloc(model->n, sizeof *tree.buffer);
	tree.crossing = mem_alloc(model->n, sizeof *tree.crossing);
	tree.oldest = mem_alloc(model->n, sizeof *tree.oldest);
	tree.range = mem_alloc((size_t)model->sections + 2, sizeof *tree.range);
	enum status status = tree.buffer && tree.crossing && tree.range && tree.oldest && leaf
		? layout_sort(model, "WZ", tree.oldest) : NO_MEMORY;
	for (uint32_t b = 0; status == OK && b < model->n; b++) {
		tree.buffer[b] = b;
		offset[b] = -1;
	}
	if (status == OK)
		status = cut_into_leaves(&tree);
	if (status == OK)
		status = layout_tree_leaves(&tree, leaf);
	*height = status == OK ? tree.height : INT64_MAX;
	mem_free(tree.buffer);
	mem_free(tree.crossing);
	mem_free(tree.oldest);
	mem_free(tree.range);
	return status;
}
