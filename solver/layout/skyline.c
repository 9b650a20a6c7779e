/* skyline.c: lowest segment first, in the manner of LLFB (Sekiyama, Imai, Negishi, Raymond:
 * "Profile-guided memory optimization for deep neural networks", arXiv 1804.10001).
 *
 * The skyline is a list of segments of sections with one height. The lowest segment takes the first buffer in order
 * that lives within it; where there is none, it is filled up to the lower of its walls. What goes into a segment
 * depends on nothing beyond its walls, so any segment between two higher ones will do: the work stays where it is until
 * a valley is full.
 *
 * The critical variant knows how high each section will reach at least: what it holds, the holes so far, and what is
 * still to come. Of what fits it prefers what is alive where the segment reaches highest, so that holes come where
 * there is room for them. */
#include "steps.h"

/* A segment is known by its first section. */
struct segment { uint32_t last, before; int64_t height; };

struct skyline {
	const struct layout_model *model;
	struct segment *segment;   /* [sections + 1] */
	struct nest nest;
	bool critical;             /* what reaches highest comes first */
	struct reach reach;
};

/* The segment after this one, or NONE. */
static uint32_t skyline_after(const struct skyline *skyline, uint32_t i)
{
	return skyline->segment[i].last < skyline->model->sections ? skyline->segment[i].last : NONE;
}

static int64_t wall(const struct skyline *skyline, uint32_t i)
{
	return i == NONE ? INT64_MAX : skyline->segment[i].height;
}

/* Sections [first, last) as a segment of its own; joins the one before where that is as high. Returns the segment. */
static uint32_t skyline_set(struct skyline *skyline, uint32_t before, uint32_t first, uint32_t last, int64_t height)
{
	struct segment *segment = skyline->segment;
	if (wall(skyline, before) == height) {
		segment[before].last = last;
		return before;
	}
	segment[first] = (struct segment){ last, before, height };
	return first;
}

/* The segment's neighbour after it is joined if it is as high, and learns of it otherwise. */
static void close(struct skyline *skyline, uint32_t i)
{
	uint32_t next = skyline_after(skyline, i);
	if (next != NONE && skyline->segment[next].height == skyline->segment[i].height) {
		skyline->segment[i].last = skyline->segment[next].last;
		next = skyline_after(skyline, i);
	}
	if (next != NONE)
		skyline->segment[next].before = i;
}

/* Puts a buffer on its segment, which falls into up to three. Returns the first of them that is left at the old height,
 * or the buffer's own. */
static uint32_t skyline_put(struct skyline *skyline, uint32_t i, uint32_t buffer, int64_t top)
{
	const struct layout_model *model = skyline->model;
	struct segment old = skyline->segment[i];
	uint32_t first = model->first[buffer], last = model->last[buffer], before = old.before;
	if (i < first)
		before = skyline_set(skyline, before, i, first, old.height);
	uint32_t middle = skyline_set(skyline, before, first, last, top), end = middle;
	if (last < old.last)
		end = skyline_set(skyline, middle, last, old.last, old.height);
	close(skyline, end);
	return i < first ? i : end;
}

/* Raises a segment to the lower of its walls. */
static uint32_t fill_up(struct skyline *skyline, uint32_t i)
{
	struct segment old = skyline->segment[i];
	int64_t left = wall(skyline, old.before), right = wall(skyline, skyline_after(skyline, i));
	int64_t height = SMALLER(left, right);
	if (skyline->critical)
		reach_add(&skyline->reach, i, old.last, height - old.height);
	uint32_t joined = skyline_set(skyline, old.before, i, old.last, height);
	close(skyline, joined);
	return joined;
}

/* From a segment downhill to one between higher walls. */
static uint32_t skyline_descend(const struct skyline *skyline, uint32_t i)
{
	for (;;) {
		uint32_t before = skyline->segment[i].before, next = skyline_after(skyline, i);
		if (wall(skyline, before) < skyline->segment[i].height)
			i = before;
		else if (wall(skyline, next) < skyline->segment[i].height)
			i = next;
		else
			return i;
	}
}

/* What goes into the segment: its best in order, or the best of those that are alive where it reaches highest. */
static uint32_t skyline_choose(const struct skyline *skyline, uint32_t i)
{
	uint32_t last = skyline->segment[i].last, turn = NONE;
	if (skyline->critical)
		turn = nest_best_over(&skyline->nest, i, last, reach_most(&skyline->reach, i, last));
	return turn != NONE ? turn : nest_best(&skyline->nest, i, last);
}

static enum status skyline_set_up(struct skyline *skyline, const struct layout_model *model, const uint32_t *order)
{
	MAKE(skyline->segment, (size_t)model->sections + 1);
	NEED(skyline->segment);
	skyline->segment[0] = (struct segment){ model->sections, NONE, 0 };
	TRY(nest_build(&skyline->nest, model, order));
	return skyline->critical ? reach_build(&skyline->reach, model) : OK;
}

enum status layout_skyline(const struct layout_model *model, const uint32_t *order, bool critical, int64_t limit,
	int64_t *offset, int64_t *height, struct control *control)
{
	struct skyline skyline = { .model = model, .critical = critical };
	enum status status = skyline_set_up(&skyline, model, order);
	*height = 0;
	for (uint32_t left = model->n, i = 0; left > 0 && status == OK && *height < limit;) {
		i = skyline_descend(&skyline, i);
		uint32_t turn = skyline_choose(&skyline, i);
		if (control_spend(control, STEP_TICKS))
			status = control_status(control);
		if (turn == NONE) {
			i = fill_up(&skyline, i);
			continue;
		}
		uint32_t b = order[turn];
		offset[b] = align_up(skyline.segment[i].height, model->alignment[b]);
		nest_remove(&skyline.nest, b);
		if (offset[b] + model->size[b] > *height)
			*height = offset[b] + model->size[b];
		i = skyline_put(&skyline, i, b, offset[b] + model->size[b]);
		left--;
	}
	if (*height >= limit)
		*height = INT64_MAX;
	reach_free(&skyline.reach);
	nest_free(&skyline.nest);
	mem_free(skyline.segment);
	return status;
}
