/* tree.c: ROAM's layout (Shu et al., arXiv 2310.19295, section on memory layout).
 *
 * The order is cut, again and again, where the fewest bytes cross, until few buffers are left between two cuts. What
 * crosses a cut is long-lived: it is stacked at the bottom, longest life first. What lives between two cuts is a leaf,
 * solved by itself, exactly, and stands on top of the long-lived buffers of its segment. */
#include "steps.h"

#define LEAF_MOST 48               /* buffers in a leaf */
#define ILP_MOST 8                 /* buffers that the integer program takes */
#define LEAF_EFFORT UINT64_C(2000000)

/* Sections [first, last) that are still to be cut, and their buffers: tree->buffer[from .. to). */
struct range { uint32_t first, last, from, to; };

struct tree {
	const struct layout_model *model;
	uint32_t *buffer;          /* permuted so that every range is contiguous */
	bool *crossing;            /* stacked at the bottom */
	struct range *range;       /* stack; leaves are kept in front */
	uint32_t leaves, ranges;
	int64_t *offset;
	int64_t *ground;           /* [sections] top of the long-lived buffers */
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

/* The long-lived buffers as a model of their own, by first fit, longest life first. */
static enum status stack_crossing(struct tree *tree)
{
	const struct layout_model *model = tree->model;
	OWN(layout_model) part = { 0 };
	uint32_t *buffer = mem_alloc(model->n, sizeof *buffer), n = 0;
	for (uint32_t b = 0; buffer && b < model->n; b++)
		if (tree->crossing[b])
			buffer[n++] = b;
	int64_t *offset = mem_alloc(n, sizeof *offset), height;
	HELD uint32_t *order = mem_alloc(n, sizeof *order);
	enum status status = buffer && offset && order ? layout_model_part(model, buffer, n, 0, model->sections, &part)
		: NO_MEMORY;
	if (status == OK && n)
		status = layout_sort(&part, "WZ", order);
	if (status == OK && n)
		status = layout_fit(&part, order, false, INT64_MAX, offset, &height, tree->control);
	for (uint32_t i = 0; i < n && status == OK; i++) {
		uint32_t b = buffer[i];
		tree->offset[b] = offset[i] * (part.unit / model->unit);
		for (uint32_t s = model->first[b]; s < model->last[b]; s++)
			if (tree->offset[b] + model->size[b] > tree->ground[s])
				tree->ground[s] = tree->offset[b] + model->size[b];
	}
	mem_free(buffer);
	mem_free(offset);
	return status;
}

/* The smallest layout of a leaf: a dive, then the integer program or the exact search where the dive is above the load.
 */
static enum status layout_tree_solve_leaf(
	struct tree *tree, const struct layout_model *part, int64_t *offset, uint32_t *order)
{
	int64_t height = INT64_MAX, bound = part->max_load;
	enum status status = layout_sort(part, "TAW", order);
	if (status == OK)
		status = layout_dive(part, order, false, INT64_MAX, offset, &height, tree->control);
	if (status != OK || height <= bound)
		return status;
	if (part->n <= ILP_MOST && !part->aligned)
		return layout_ilp(part, offset, tree->control);
	return layout_exact(part, bound, false, LEAF_EFFORT, offset, &height, &bound, NULL, tree->control);
}

static enum status place_leaf(struct tree *tree, const struct range *range)
{
	const struct layout_model *model = tree->model;
	uint32_t *buffer = tree->buffer + range->from, n = 0;
	for (uint32_t i = range->from; i < range->to; i++) {
		if (tree->crossing[tree->buffer[i]])
			continue;
		uint32_t swap = buffer[n];
		buffer[n++] = tree->buffer[i];
		tree->buffer[i] = swap;
	}
	if (n == 0)
		return OK;
	OWN(layout_model) part = { 0 };
	int64_t *offset = mem_alloc(n, sizeof *offset), ground = 0;
	HELD uint32_t *order = mem_alloc(n, sizeof *order);
	enum status status = offset && order ? layout_model_part(model, buffer, n, range->first, range->last, &part)
		: NO_MEMORY;
	if (status == OK)
		status = layout_tree_solve_leaf(tree, &part, offset, order);
	for (uint32_t i = 0; i < n && status == OK; i++)
		for (uint32_t s = model->first[buffer[i]]; s < model->last[buffer[i]]; s++)
			ground = tree->ground[s] > ground ? tree->ground[s] : ground;
	for (uint32_t i = 0; i < n && status == OK; i++)
		ground = align_up(ground, model->alignment[buffer[i]]);
	for (uint32_t i = 0; i < n && status == OK; i++)
		tree->offset[buffer[i]] = ground + offset[i] * (part.unit / model->unit);
	mem_free(offset);
	return status;
}

enum status layout_tree(const struct layout_model *model, int64_t *offset, int64_t *height, struct control *control)
{
	struct tree tree = { .model = model, .offset = offset, .control = control };
	tree.buffer = mem_alloc(model->n, sizeof *tree.buffer);
	tree.crossing = mem_alloc(model->n, sizeof *tree.crossing);
	tree.range = mem_alloc((size_t)model->sections + 2, sizeof *tree.range);
	tree.ground = mem_alloc(model->sections, sizeof *tree.ground);
	enum status status = tree.buffer && tree.crossing && tree.range && tree.ground ? OK : NO_MEMORY;
	for (uint32_t b = 0; status == OK && b < model->n; b++)
		tree.buffer[b] = b;
	if (status == OK)
		status = cut_into_leaves(&tree);
	if (status == OK)
		status = stack_crossing(&tree);
	for (uint32_t i = 0; status == OK && i < tree.leaves; i++)
		status = place_leaf(&tree, &tree.range[i]);
	*height = status == OK ? layout_model_height(model, offset) : INT64_MAX;
	mem_free(tree.buffer);
	mem_free(tree.crossing);
	mem_free(tree.range);
	mem_free(tree.ground);
	return status;
}
