/* boxes.c: buffers that fit together without waste are joined into boxes.
 *
 * Buckets and boxes are the means of the approximation algorithms (Buchsbaum et al., SIAM J. Comput. 33, 2004), which
 * round sizes up to fill them. Here nothing is rounded: only exact fits are joined, as they abound where memory is
 * handed from one buffer to the next of the same size, and where a memory has been cut up to be filled. Near the
 * capacity the room that the load leaves free is part of the puzzle: it is guessed from the steps of the load and
 * joined like buffers. */
#include "steps.h"

/* ---- boxes ---- */

static enum status boxes_add(struct layout_boxes *boxes, struct box box)
{
	NEED(GROWN(boxes->box, boxes->room, boxes->count + 1));
	boxes->box[boxes->count++] = box;
	return OK;
}

static enum status boxes_join(struct layout_boxes *boxes, uint32_t left, uint32_t right, bool stacked)
{
	struct box *a = &boxes->box[left], *b = &boxes->box[right];
	a->joined = b->joined = true;
	return boxes_add(boxes,
		(struct box){ .first = a->first,
			.last = b->last,
			.size = stacked ? a->size + b->size : a->size,
			.left = left,
			.right = right,
			.stacked = stacked,
			.real = a->real || b->real });
}

/* ---- free room ---- */

/* Room that has opened and not closed yet. */
struct open { uint32_t first; int64_t size; };

static enum status close_room(struct layout_boxes *boxes, struct open *open, uint32_t last, int64_t size)
{
	enum status status = boxes_add(
		boxes, (struct box){ .first = open->first, .last = last, .size = size, .left = NONE, .right = NONE });
	open->size -= size;
	return status;
}

#define PAIRS_MOST 64      /* open rooms among which pairs are looked for */

/* Closes `size` of what is open: one room of just that size, two that make it up, else the latest. */
static enum status close_rooms(
	struct layout_boxes *boxes, struct open *open, uint32_t count, uint32_t last, int64_t size)
{
	FOR_DOWN(i, count)
		if (open[i].size == size)
			return close_room(boxes, &open[i], last, size);
	for (uint32_t i = count, least = count > PAIRS_MOST ? count - PAIRS_MOST : 0; i-- > least;)
		for (uint32_t j = i; j-- > least;)
			if (open[i].size && open[j].size && open[i].size + open[j].size == size)
				return close_room(boxes, &open[i], last, open[i].size) == OK
					? close_room(boxes, &open[j], last, open[j].size) : NO_MEMORY;
	enum status status = OK;
	for (uint32_t i = count; i-- > 0 && size > 0 && status == OK;) {
		int64_t part = SMALLER(open[i].size, size);
		if (part > 0)
			status = close_room(boxes, &open[i], last, part);
		size -= part;
	}
	return status;
}

/* What the load leaves free below the capacity, as boxes. */
static enum status add_rooms(struct layout_boxes *boxes, const struct layout_model *model, int64_t capacity)
{
	HELD struct open *MAKE(open, (size_t)model->sections + 1);
	uint32_t count = 0;
	int64_t before = 0;
	enum status status = open ? OK : NO_MEMORY;
	for (uint32_t s = 0; s <= model->sections && status == OK; s++) {
		int64_t room = s < model->sections ? capacity - model->load[s] : 0;
		if (room > before)
			open[count++] = (struct open){ s, room - before };
		else if (room < before)
			status = close_rooms(boxes, open, count, s, before - room);
		while (count > 0 && open[count - 1].size == 0)
			count--;
		before = room;
	}
	return status;
}

/* ---- joining ---- */

/* A box where it starts, sorted by two keys. */
struct start { uint32_t first; int64_t key; uint64_t tie; uint32_t box; };

COMPARATOR(compare_starts, struct start, COMPARE(a->first, b->first, COMPARE(a->key, b->key, COMPARE(a->tie, b->tie,
	COMPARE(a->box, b->box, 0)))))

/* The outermost boxes by start and by end, or by size. Returns how many. */
static uint32_t list_starts(const struct layout_boxes *boxes, uint32_t variant, bool by_end, struct start *start)
{
	uint32_t count = 0;
	FOR(i, boxes->count) {
		const struct box *box = &boxes->box[i];
		if (!box->joined)
			start[count++] = (struct start){ box->first, by_end ? box->last : box->size,
							 variant ? hash_mix((uint64_t)variant << 32 | i) : i, i };
	}
	SORT(start, count, compare_starts);
	return count;
}

/* Stacks boxes with the same life. */
static enum status boxes_stack(struct layout_boxes *boxes, struct start *start)
{
	uint32_t count = list_starts(boxes, 0, true, start);
	FOR_FROM(i, 1, count) {
		if (start[i].first != start[i - 1].first || start[i].key != start[i - 1].key)
			continue;
		TRY(boxes_join(boxes, start[i - 1].box, start[i].box, true));
		start[i].box = boxes->count - 1;
	}
	return OK;
}

/* The first box that starts at a section with a size. */
static uint32_t find_start(const struct start *start, uint32_t count, uint32_t first, int64_t size)
{
	uint32_t low = 0, high = count;
	BISECT(low, high, middle,
		start[middle].first < first || (start[middle].first == first && start[middle].key < size));
	return low;
}

#define STAGES 4
#define REFUSED 128        /* of so many numbers the first STAGES */

/* Joins boxes that end with ones that start there and are as high. Variants leave some for a later stage, when other
 * partners may have come up, and odd ones refuse a few for good: not all that fit together belong together. *waiting:
 * there are such as are left. */
static enum status hand_over(
	struct layout_boxes *boxes, uint32_t variant, uint32_t stage, struct start *start, bool *waiting)
{
	uint32_t count = list_starts(boxes, variant, false, start), before = boxes->count;
	enum status status = OK;
	*waiting = false;
	FOR_WHILE(i, before, status == OK) {
		uint32_t last = boxes->box[i].last;
		int64_t size = boxes->box[i].size;
		for (uint32_t j = find_start(start, count, last, size);
			j < count && start[j].first == last && start[j].key == size; j++) {
			uint32_t next = start[j].box;
			if (boxes->box[i].joined || boxes->box[next].joined)
				continue;
			uint64_t chance = hash_join(variant, hash_join(i, next));
			if (variant && chance % STAGES > stage)
				*waiting = true;
			else if (variant % 2 == 0 || chance % REFUSED >= STAGES)
				status = boxes_join(boxes, i, next, false);
			break;
		}
	}
	return status;
}

static enum status join_all(struct layout_boxes *boxes, uint32_t variant)
{
	HELD struct start *MAKE(start, boxes->count);
	NEED(start);
	bool waiting = true;
	for (uint32_t stage = 0; waiting; stage++) {
		for (uint32_t before = 0; before != boxes->count;) {
			before = boxes->count;
			TRY(boxes_stack(boxes, start));
			TRY(hand_over(boxes, variant, stage, start, &waiting));
		}
	}
	return OK;
}

/* ---- the joined model ---- */

static enum status build_model(struct layout_boxes *boxes, const struct layout_model *model)
{
	uint32_t n = 0;
	MAKE(boxes->top, boxes->count);
	struct buffers buffers = { .lower = mem_alloc(boxes->count, sizeof *buffers.lower),
				   .upper = mem_alloc(boxes->count, sizeof *buffers.upper),
				   .size = mem_alloc(boxes->count, sizeof *buffers.size) };
	enum status status = boxes->top && buffers.lower && buffers.upper && buffers.size ? OK : NO_MEMORY;
	FOR_WHILE(i, boxes->count, status == OK) {
		const struct box *box = &boxes->box[i];
		if (box->joined || !box->real)
			continue;
		boxes->top[n] = i;
		buffers.lower[n] = model->time[box->first];
		buffers.upper[n] = box->last < model->sections ? model->time[box->last] : model->time[model->sections - 1] + 1;
		buffers.size[n++] = box->size;
	}
	buffers.n = n;
	THEN(status, layout_model_build(&buffers, 1, &boxes->model, NULL));
	boxes->scale = boxes->model.unit;
	mem_free(buffers.lower);
	mem_free(buffers.upper);
	mem_free(buffers.size);
	return status;
}

enum status layout_boxes_build(
	const struct layout_model *model, int64_t capacity, uint32_t variant, struct layout_boxes *boxes)
{
	*boxes = (struct layout_boxes){ .n = model->n };
	FOR(b, model->n)
		TRY(boxes_add(boxes,
			(struct box){ .first = model->first[b],
				.last = model->last[b],
				.size = model->size[b],
				.left = NONE,
				.right = NONE,
				.real = true }));
	/* What holds without a guess comes first. */
	TRY(join_all(boxes, variant));
	if (capacity > 0)
		TRY(add_rooms(boxes, model, capacity));
	if (capacity > 0)
		TRY(join_all(boxes, variant));
	return build_model(boxes, model);
}

void layout_boxes_free(struct layout_boxes *boxes)
{
	mem_free(boxes->box);
	mem_free(boxes->top);
	layout_model_free(&boxes->model);
	*boxes = (struct layout_boxes){ 0 };
}

enum status layout_boxes_unpack(const struct layout_boxes *boxes, const int64_t *coarse, int64_t *offset)
{
	HELD int64_t *MAKE(bottom, boxes->count);
	NEED(bottom);
	FOR(b, boxes->model.n)
		bottom[boxes->top[boxes->model.origin[b]]] = coarse[b] * boxes->scale;
	for (uint32_t i = boxes->count; i-- > boxes->n;) {
		const struct box *box = &boxes->box[i];
		if (box->left == NONE)
			continue;
		bottom[box->left] = bottom[i];
		bottom[box->right] = bottom[i] + (box->stacked ? boxes->box[box->left].size : 0);
	}
	COPY(offset, bottom, boxes->n);
	return OK;
}
