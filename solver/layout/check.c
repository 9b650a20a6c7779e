/* check.c: is a layout what it says? Independent of the solvers.
 *
 * Pieces are taken by ascending address. All that came before lies lower, so a piece is free of overlap iff no top
 * within its life is above its bottom: a range maximum over the steps.
 */
#include "layout.h"

struct rectangle { int64_t lower, upper, bottom, top; uint32_t buffer; };

/* Maxima of a node of the tree over the steps: over its whole range, and of anything within it. */
struct tops { int64_t over, within; };

struct check {
	const struct buffers *buffers;
	int64_t alignment;
	struct rectangle *rectangle;
	uint32_t count;
	int64_t *step;         /* the distinct steps at which pieces start or end, ascending */
	uint32_t steps;
	uint32_t *rank;        /* [last step - first + 1] of each step that is one of them, its number; NULL where they lie far apart */
	struct tops *node;
};

static int compare_bottoms(const void *left, const void *right)
{
	const struct rectangle *a = left, *b = right;
	if (a->bottom != b->bottom)
		return a->bottom < b->bottom ? -1 : 1;
	return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

static int compare_steps(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;
	return *a < *b ? -1 : *a > *b;
}

static int64_t rounded(const struct check *check, uint32_t i)
{
	return align_up(check->buffers->size[i], check->alignment);
}

/* Calls for each piece of positive size, the sizes rounded up; returns how many. rectangle may be NULL. */
static uint32_t list_rectangles(const struct check *check, const int64_t *offset, struct rectangle *rectangle)
{
	const struct buffers *buffers = check->buffers;
	uint32_t count = 0;
	for (uint32_t i = 0; i < buffers->n; i++) {
		if (buffers->size[i] == 0)
			continue;
		uint32_t first = buffers->piece_start ? buffers->piece_start[i] : 0;
		uint32_t last = buffers->piece_start ? buffers->piece_start[i + 1] : 0;
		for (uint32_t k = first; k < last; k++, count++) {
			const struct piece *piece = &buffers->piece[k];
			if (rectangle)
				rectangle[count] = (struct rectangle){ piece->lower, piece->upper,
					offset[i] + piece->from / check->alignment * check->alignment,
					offset[i] + align_up(piece->to, check->alignment), i };
		}
		if (first == last) {
			if (rectangle)
				rectangle[count] = (struct rectangle){ buffers->lower[i], buffers->upper[i], offset[i],
					offset[i] + rounded(check, i), i };
			count++;
		}
	}
	return count;
}

#define RANGE_MOST 8    /* times as long as there are steps: so much of a table may be empty */

/* A table finds millions of steps sooner than a search does. */
static enum status rank_steps(struct check *check)
{
	uint64_t range = check->steps ? (uint64_t)check->step[check->steps - 1] - (uint64_t)check->step[0] : UINT64_MAX;
	if (range >= (uint64_t)check->steps * RANGE_MOST)
		return OK;
	NEED(check->rank = mem_alloc((size_t)range + 1, sizeof *check->rank));
	for (uint32_t i = 0; i < check->steps; i++)
		check->rank[check->step[i] - check->step[0]] = i;
	return OK;
}

static uint32_t step_index(const struct check *check, int64_t step)
{
	if (check->rank)
		return check->rank[step - check->step[0]];
	const int64_t *found = bsearch(&step, check->step, check->steps, sizeof step, compare_steps);
	return (uint32_t)(found - check->step);
}

static enum status prepare(struct check *check, const int64_t *offset)
{
	check->count = list_rectangles(check, offset, NULL);
	check->rectangle = mem_alloc(check->count, sizeof *check->rectangle);
	check->step = mem_alloc((size_t)check->count * 2, sizeof *check->step);
	NEED(check->rectangle && check->step);
	list_rectangles(check, offset, check->rectangle);
	for (uint32_t i = 0; i < check->count; i++) {
		check->step[2 * i] = check->rectangle[i].lower;
		check->step[2 * i + 1] = check->rectangle[i].upper;
	}
	qsort(check->step, (size_t)check->count * 2, sizeof *check->step, compare_steps);
	for (uint32_t i = 0; i < check->count * 2; i++)
		if (check->steps == 0 || check->step[check->steps - 1] != check->step[i])
			check->step[check->steps++] = check->step[i];
	qsort(check->rectangle, check->count, sizeof *check->rectangle, compare_bottoms);
	check->node = mem_alloc((size_t)check->steps * 2 + 2, sizeof *check->node);
	return check->node ? rank_steps(check) : NO_MEMORY;
}

/* The highest top between two steps; nodes of the tree are steps + i for the leaves and v / 2 for parents. */
static int64_t highest(const struct check *check, uint32_t first, uint32_t last)
{
	int64_t top = 0;
	for (uint32_t l = first + check->steps, r = last + check->steps; l < r; l /= 2, r /= 2) {
		if (l & 1)
			top = larger_of(top, check->node[l++].within);
		if (r & 1)
			top = larger_of(top, check->node[--r].within);
	}
	/* What covers an ancestor covers the leaf. */
	for (uint32_t v = first + check->steps; v > 0; v /= 2)
		top = larger_of(top, check->node[v].over);
	for (uint32_t v = last - 1 + check->steps; v > 0; v /= 2)
		top = larger_of(top, check->node[v].over);
	return top;
}

static void cover(struct check *check, uint32_t first, uint32_t last, int64_t top)
{
	for (uint32_t l = first + check->steps, r = last + check->steps; l < r; l /= 2, r /= 2) {
		if (l & 1) {
			check->node[l].over = larger_of(check->node[l].over, top);
			check->node[l].within = larger_of(check->node[l].within, top);
			l++;
		}
		if (r & 1) {
			r--;
			check->node[r].over = larger_of(check->node[r].over, top);
			check->node[r].within = larger_of(check->node[r].within, top);
		}
	}
	for (uint32_t v = (first + check->steps) / 2; v > 0; v /= 2)
		check->node[v].within = larger_of(check->node[v].within, top);
	for (uint32_t v = (last - 1 + check->steps) / 2; v > 0; v /= 2)
		check->node[v].within = larger_of(check->node[v].within, top);
}

static enum status report_overlap(const struct check *check, uint32_t number, struct error *error)
{
	const struct rectangle *b = &check->rectangle[number];
	for (uint32_t i = 0; i < number; i++) {
		const struct rectangle *a = &check->rectangle[i];
		if (a->buffer != b->buffer && a->lower < b->upper && b->lower < a->upper && a->top > b->bottom)
			return fail(error, BAD_INPUT, "buffers %u and %u overlap at step %lld", a->buffer, b->buffer,
				    (long long)larger_of(a->lower, b->lower));
	}
	return fail(error, BAD_INPUT, "pieces of buffer %u overlap each other", b->buffer);
}

static enum status check_overlaps(struct check *check, struct error *error)
{
	for (uint32_t i = 0; i < check->count; i++) {
		const struct rectangle *rectangle = &check->rectangle[i];
		uint32_t first = step_index(check, rectangle->lower), last = step_index(check, rectangle->upper);
		if (highest(check, first, last) > rectangle->bottom)
			return report_overlap(check, i, error);
		cover(check, first, last, rectangle->top);
	}
	return OK;
}

static enum status check_offsets(const struct check *check, const struct layout *layout, struct error *error)
{
	const struct buffers *buffers = check->buffers;
	int64_t top = 0;
	for (uint32_t i = 0; i < buffers->n; i++) {
		int64_t offset = layout->offset[i];
		if (offset < 0 || offset > BYTES_MAX)
			return fail(error, BAD_INPUT, "buffer %u: offset %lld", i, (long long)offset);
		if (buffers->size[i] == 0)
			continue;
		if (offset % check->alignment || (buffers->alignment && offset % buffers->alignment[i]))
			return fail(error, BAD_INPUT, "buffer %u: offset %lld is not aligned", i, (long long)offset);
		if (buffers->fixed && buffers->fixed[i] >= 0 && offset != buffers->fixed[i])
			return fail(error, BAD_INPUT, "buffer %u: offset %lld, but it is pinned to %lld", i, (long long)offset,
				    (long long)buffers->fixed[i]);
		top = larger_of(top, offset + rounded(check, i));
	}
	if (layout->arena < top)
		return fail(error, BAD_INPUT, "the arena has %lld bytes, but byte %lld is in use", (long long)layout->arena,
			    (long long)top - 1);
	if (layout->proof.bound > top)
		return fail(error, BAD_INPUT, "the bound %lld is above the highest byte in use", (long long)layout->proof.bound);
	if (proof_closed(&layout->proof) && layout->proof.value != layout->arena)
		return fail(error, BAD_INPUT, "the proof is of another arena");
	return OK;
}

/* Sum of what is alive at the moment. */
static int64_t alive(const struct check *check, int64_t moment)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < check->count; i++)
		if (check->rectangle[i].lower <= moment && moment < check->rectangle[i].upper)
			sum += check->rectangle[i].top - check->rectangle[i].bottom;
	return sum;
}

#define CORE_NODES 20000   /* enough for a core of a dozen buffers or two */

static enum status check_core(const struct check *check, const struct layout *layout, struct error *error)
{
	for (uint32_t i = 0; i < layout->core_count; i++)
		if (layout->core[i] >= check->buffers->n || (i > 0 && layout->core[i] <= layout->core[i - 1]))
			return fail(error, BAD_INPUT, "the core of the bound is no ascending list of buffers");
	enum status status = layout_check_core(check->buffers, layout->core, layout->core_count, check->alignment, layout->proof.bound - 1,
					       CORE_NODES);
	if (status == OK)
		return fail(error, BAD_INPUT, "the core of the bound %lld fits below it", (long long)layout->proof.bound);
	return status == NO_MEMORY ? status : OK;
}

static enum status check_bound(const struct check *check, const struct layout *layout, struct error *error)
{
	const struct buffers *buffers = check->buffers;
	if (check->count && alive(check, layout->moment) != layout->load)
		return fail(error, BAD_INPUT, "what is alive at step %lld sums up to %lld, not to the load %lld",
			    (long long)layout->moment, (long long)alive(check, layout->moment), (long long)layout->load);
	if (layout->ground == LAYOUT_PROOF_LOAD && layout->proof.bound != layout->load)
		return fail(error, BAD_INPUT, "the bound %lld is not the load %lld", (long long)layout->proof.bound, (long long)layout->load);
	if (layout->ground == LAYOUT_PROOF_BUFFER) {
		uint32_t i = layout->core_count == 1 ? layout->core[0] : NONE;
		if (i >= buffers->n)
			return fail(error, BAD_INPUT, "the bound names no buffer");
		int64_t fixed = buffers->fixed && buffers->fixed[i] >= 0 ? buffers->fixed[i] : 0;
		if (fixed + rounded(check, i) != layout->proof.bound)
			return fail(error, BAD_INPUT, "buffer %u does not reach the bound %lld", i, (long long)layout->proof.bound);
	}
	if (layout->ground == LAYOUT_PROOF_MOMENT) {
		int64_t needed = layout_check_moment(buffers, check->alignment, layout->witness);
		if (needed < layout->proof.bound)
			return needed < 0 ? NO_MEMORY : fail(error, BAD_INPUT, "what is alive at step %lld needs %lld bytes, not the bound %lld",
							     (long long)layout->witness, (long long)needed, (long long)layout->proof.bound);
	}
	return layout->ground == LAYOUT_PROOF_SEARCH ? check_core(check, layout, error) : OK;
}

enum status layout_check(const struct buffers *buffers, int64_t alignment, const struct layout *layout, struct error *error)
{
	struct check check = { .buffers = buffers, .alignment = alignment };
	enum status status = prepare(&check, layout->offset);
	THEN(status, check_offsets(&check, layout, error));
	THEN(status, check_overlaps(&check, error));
	THEN(status, check_bound(&check, layout, error));
	mem_free(check.rectangle);
	mem_free(check.step);
	mem_free(check.rank);
	mem_free(check.node);
	return status;
}
