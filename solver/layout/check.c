/* check.c: is a layout what it says? Independent of the solvers.
 *
 * Pieces come and go in the order of time. Those that are there lie apart, so a new one is free of overlap iff it is
 * apart from the nearest one below and the nearest one above. Pieces are numbered by their bottoms, so that these two
 * are the nearest numbers in a set. */
#include "layout.h"
#include "solver/base/sort.h"

struct rectangle { int64_t lower, upper, bottom, top; uint32_t buffer; };

#define LEVELS 6    /* 64 to the sixth is more than there are numbers */

/* A set of numbers: a bit each, in words, and level by level a bit for each word below that isn't empty. */
struct numbers { uint64_t *word[LEVELS]; int levels; };

struct check {
	const struct buffers *buffers;
	int64_t alignment;
	struct rectangle *rectangle;   /* [count] */
	uint32_t count;
	struct keyed *by_bottom;       /* [count] rectangles by their bottoms */
	uint32_t *number;              /* [count] of rectangles: where they stand in by_bottom */
	struct numbers here;           /* those that are alive */
};

static int64_t layout_check_rounded(const struct check *check, uint32_t i)
{
	return align_up(check->buffers->size[i], check->alignment);
}

/* Calls for each piece of positive size, the sizes rounded up; returns how many. rectangle may be NULL. */
static uint32_t list_rectangles(const struct check *check, const int64_t *offset, struct rectangle *rectangle)
{
	const struct buffers *buffers = check->buffers;
	uint32_t count = 0;
	FOR(i, buffers->n) {
		if (buffers->size[i] == 0)
			continue;
		uint32_t first = buffers->piece_start ? buffers->piece_start[i] : 0;
		uint32_t last = buffers->piece_start ? buffers->piece_start[i + 1] : 0;
		for (uint32_t k = first; k < last; k++, count++) {
			const struct piece *piece = &buffers->piece[k];
			if (rectangle)
				rectangle[count] = (struct rectangle){ piece->lower, piece->upper, offset[i],
					offset[i] + layout_check_rounded(check, i), i };
		}
		if (first == last) {
			if (rectangle)
				rectangle[count] = (struct rectangle){ buffers->lower[i], buffers->upper[i], offset[i],
					offset[i] + layout_check_rounded(check, i), i };
			count++;
		}
	}
	return count;
}

static enum status layout_check_prepare(struct check *check, const int64_t *offset)
{
	check->count = list_rectangles(check, offset, NULL);
	MAKE(check->rectangle, check->count);
	MAKE(check->by_bottom, check->count);
	MAKE(check->number, check->count);
	NEED(check->rectangle && check->by_bottom && check->number);
	list_rectangles(check, offset, check->rectangle);
	FOR(i, check->count)
		check->by_bottom[i] = (struct keyed){ check->rectangle[i].bottom, i, 0 };
	NEED(sort_keyed(check->by_bottom, check->count));
	FOR(i, check->count)
		check->number[check->by_bottom[i].item] = i;
	return OK;
}

/* ---- the set of those that are alive ---- */

static bool numbers_make(struct numbers *numbers, uint32_t count)
{
	size_t words = count;
	do {
		words = words / 64 + 1;
		if (!(numbers->word[numbers->levels++] = mem_alloc(words, sizeof **numbers->word)))
			return false;
	} while (words > 1);
	return true;
}

static void numbers_free(struct numbers *numbers)
{
	FOR_INT(level, numbers->levels)
		mem_free(numbers->word[level]);
}

static void layout_check_put(struct numbers *numbers, uint32_t number)
{
	for (int level = 0; level < numbers->levels; level++, number /= 64)
		numbers->word[level][number / 64] |= UINT64_C(1) << number % 64;
}

static void layout_check_take_out(struct numbers *numbers, uint32_t number)
{
	for (int level = 0; level < numbers->levels; level++, number /= 64)
		if (numbers->word[level][number / 64] &= ~(UINT64_C(1) << number % 64))
			return;
}

/* The nearest number below (or above) in the set, NONE where there is none. */
static uint32_t nearest(const struct numbers *numbers, uint32_t number, bool below)
{
	for (int level = 0; level < numbers->levels; level++, number /= 64) {
		uint64_t bit = UINT64_C(1) << number % 64;
		uint64_t word = numbers->word[level][number / 64] & (below ? bit - 1 : ~(bit - 1) & ~bit);
		number -= number % 64;
		while (word) {
			number += (uint32_t)(below ? 63 - __builtin_clzll(word) : __builtin_ctzll(word));
			if (level-- == 0)
				return number;
			word = numbers->word[level][number];
			number *= 64;
		}
	}
	return NONE;
}

/* ---- overlaps ---- */

static const struct rectangle *numbered(const struct check *check, uint32_t number)
{
	return &check->rectangle[check->by_bottom[number].item];
}

static enum status report_overlap(const struct rectangle *a, const struct rectangle *b, struct error *error)
{
	if (a->buffer == b->buffer)
		return refuse(error, "pieces of buffer %u overlap each other", b->buffer);
	return refuse(error, "buffers %u and %u overlap at step %lld", a->buffer, b->buffer,
		(long long)larger_of(a->lower, b->lower));
}

static enum status layout_check_come(struct check *check, uint32_t i, struct error *error)
{
	const struct rectangle *rectangle = &check->rectangle[i];
	uint32_t number = check->number[i], below = nearest(&check->here, number, true),
			 above = nearest(&check->here, number, false);
	if (below != NONE && numbered(check, below)->top > rectangle->bottom)
		return report_overlap(numbered(check, below), rectangle, error);
	if (above != NONE && numbered(check, above)->bottom < rectangle->top)
		return report_overlap(rectangle, numbered(check, above), error);
	layout_check_put(&check->here, number);
	return OK;
}

/* Pieces that live at all, by the steps at which they start or end. */
static struct keyed *list_pieces(const struct check *check, bool ends, uint32_t *count)
{
	struct keyed *MAKE(list, check->count);
	*count = 0;
	FOR_WHILE(i, check->count, list)
		if (check->rectangle[i].lower < check->rectangle[i].upper)
			list[(*count)++] = (struct keyed){ ends ? check->rectangle[i].upper : check->rectangle[i].lower, i, 0 };
	if (list && sort_keyed(list, *count))
		return list;
	mem_free(list);
	return NULL;
}

/* What ends at a step goes before what starts there comes. */
static enum status check_overlaps(struct check *check, struct error *error)
{
	uint32_t count = 0;
	HELD struct keyed *start = list_pieces(check, false, &count);
	HELD struct keyed *end = list_pieces(check, true, &count);
	enum status status = start && end && numbers_make(&check->here, check->count) ? OK : NO_MEMORY;
	for (uint32_t s = 0, e = 0; s < count && status == OK;) {
		if (end[e].key <= start[s].key)
			layout_check_take_out(&check->here, check->number[end[e++].item]);
		else
			status = layout_check_come(check, start[s++].item, error);
	}
	numbers_free(&check->here);
	return status;
}

/* ---- what the layout says ---- */

static enum status check_offsets(const struct check *check, const struct layout *layout, struct error *error)
{
	const struct buffers *buffers = check->buffers;
	int64_t top = 0;
	FOR(i, buffers->n) {
		int64_t offset = layout->offset[i];
		if (offset < 0 || offset > BYTES_MAX)
			return refuse(error, "buffer %u: offset %lld", i, (long long)offset);
		if (buffers->size[i] == 0)
			continue;
		if (offset % check->alignment || (buffers->alignment && offset % buffers->alignment[i]))
			return refuse(error, "buffer %u: offset %lld is not aligned", i, (long long)offset);
		if (buffers->fixed && buffers->fixed[i] >= 0 && offset != buffers->fixed[i])
			return refuse(error, "buffer %u: offset %lld, but it is pinned to %lld", i, (long long)offset,
				    (long long)buffers->fixed[i]);
		top = larger_of(top, offset + layout_check_rounded(check, i));
	}
	if (layout->arena < top)
		return refuse(error, "the arena has %lld bytes, but byte %lld is in use", (long long)layout->arena,
			    (long long)top - 1);
	if (layout->proof.bound > top)
		return refuse(error, "the bound %lld is above the highest byte in use", (long long)layout->proof.bound);
	if (proof_closed(&layout->proof) && layout->proof.value != layout->arena)
		return refuse(error, "the proof is of another arena");
	return OK;
}

/* Sum of what is alive at the moment. */
static int64_t alive(const struct check *check, int64_t moment)
{
	int64_t sum = 0;
	FOR(i, check->count)
		if (check->rectangle[i].lower <= moment && moment < check->rectangle[i].upper)
			sum += check->rectangle[i].top - check->rectangle[i].bottom;
	return sum;
}

#define CORE_NODES 20000   /* enough for a core of a dozen buffers or two */

static enum status check_core(const struct check *check, const struct layout *layout, struct error *error)
{
	FOR(i, layout->core_count)
		if (layout->core[i] >= check->buffers->n || (i > 0 && layout->core[i] <= layout->core[i - 1]))
			return refuse(error, "the core of the bound is not an ascending list of buffers");
	enum status status = layout_check_core(
		check->buffers, layout->core, layout->core_count, check->alignment, layout->proof.bound - 1, CORE_NODES);
	if (status == OK)
		return refuse(error, "the core of the bound %lld fits below it", (long long)layout->proof.bound);
	return status == NO_MEMORY ? status : OK;
}

static enum status layout_check_bound(const struct check *check, const struct layout *layout, struct error *error)
{
	const struct buffers *buffers = check->buffers;
	if (check->count && alive(check, layout->moment) != layout->load)
		return refuse(error, "what is alive at step %lld sums up to %lld, not to the load %lld",
			    (long long)layout->moment, (long long)alive(check, layout->moment), (long long)layout->load);
	if (layout->ground == LAYOUT_PROOF_LOAD && layout->proof.bound != layout->load)
		return refuse(error, "the bound %lld is not the load %lld", (long long)layout->proof.bound,
			(long long)layout->load);
	if (layout->ground == LAYOUT_PROOF_BUFFER) {
		uint32_t i = layout->core_count == 1 ? layout->core[0] : NONE;
		if (i >= buffers->n)
			return refuse(error, "the bound names no buffer");
		int64_t fixed = buffers->fixed && buffers->fixed[i] >= 0 ? buffers->fixed[i] : 0;
		if (fixed + layout_check_rounded(check, i) != layout->proof.bound)
			return refuse(error, "buffer %u does not reach the bound %lld", i, (long long)layout->proof.bound);
	}
	if (layout->ground == LAYOUT_PROOF_MOMENT) {
		int64_t needed = layout_check_moment(buffers, check->alignment, layout->witness);
		if (needed < layout->proof.bound)
			return needed < 0
				? NO_MEMORY
				: refuse(error, "what is alive at step %lld needs %lld bytes, not the bound %lld",
					  (long long)layout->witness, (long long)needed, (long long)layout->proof.bound);
	}
	return layout->ground == LAYOUT_PROOF_SEARCH ? check_core(check, layout, error) : OK;
}

enum status layout_check(
	const struct buffers *buffers, int64_t alignment, const struct layout *layout, struct error *error)
{
	struct check check = { .buffers = buffers, .alignment = alignment };
	enum status status = layout_check_prepare(&check, layout->offset);
	THEN(status, check_offsets(&check, layout, error));
	THEN(status, check_overlaps(&check, error));
	THEN(status, layout_check_bound(&check, layout, error));
	mem_free(check.rectangle);
	mem_free(check.by_bottom);
	mem_free(check.number);
	return status;
}
