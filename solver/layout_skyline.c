/* layout_skyline.c: lowest segment first, in the manner of LLFB (Sekiyama, Imai, Negishi, Raymond:
 * "Profile-guided memory optimization for deep neural networks", arXiv 1804.10001).
 *
 * The skyline is a list of segments of sections with one height. The lowest segment, leftmost among equals, takes the
 * first buffer in order that lives within it; where there is none, it is filled up to the lower of its walls.
 */
#include "layout_steps.h"

struct segment { uint32_t first, last; int64_t height; };

struct skyline {
	const struct layout_model *model;
	struct segment *segment;
	uint32_t count;
	bool *placed;
};

static uint32_t lowest(const struct skyline *skyline)
{
	uint32_t low = 0;
	for (uint32_t i = 1; i < skyline->count; i++)
		if (skyline->segment[i].height < skyline->segment[low].height)
			low = i;
	return low;
}

/* Equal neighbours become one. */
static void join_around(struct skyline *skyline, uint32_t i)
{
	struct segment *segment = skyline->segment;
	uint32_t from = i > 0 && segment[i - 1].height == segment[i].height ? i - 1 : i;
	uint32_t to = i + 1 < skyline->count && segment[i + 1].height == segment[i].height ? i + 1 : i;
	if (from == to)
		return;
	segment[from].last = segment[to].last;
	memmove(segment + from + 1, segment + to + 1, (skyline->count - to - 1) * sizeof *segment);
	skyline->count -= to - from;
}

static void fill_up(struct skyline *skyline, uint32_t i)
{
	int64_t left = i > 0 ? skyline->segment[i - 1].height : INT64_MAX;
	int64_t right = i + 1 < skyline->count ? skyline->segment[i + 1].height : INT64_MAX;
	skyline->segment[i].height = left < right ? left : right;
	join_around(skyline, i);
}

/* Puts the buffer on its segment, which falls into up to three. */
static void put(struct skyline *skyline, uint32_t i, uint32_t buffer, int64_t top)
{
	struct segment old = skyline->segment[i], pieces[3];
	uint32_t first = skyline->model->first[buffer], last = skyline->model->last[buffer], count = 0, middle;
	if (old.first < first)
		pieces[count++] = (struct segment){ old.first, first, old.height };
	middle = i + count;
	pieces[count++] = (struct segment){ first, last, top };
	if (last < old.last)
		pieces[count++] = (struct segment){ last, old.last, old.height };
	memmove(skyline->segment + i + count, skyline->segment + i + 1, (skyline->count - i - 1) * sizeof old);
	memcpy(skyline->segment + i, pieces, count * sizeof old);
	skyline->count += count - 1;
	join_around(skyline, middle);
}

static uint32_t first_that_fits(const struct skyline *skyline, const uint32_t *order, const struct segment *segment)
{
	const struct layout_model *model = skyline->model;
	for (uint32_t k = 0; k < model->n; k++) {
		uint32_t b = order[k];
		if (!skyline->placed[b] && model->first[b] >= segment->first && model->last[b] <= segment->last)
			return b;
	}
	return NONE;
}

enum status layout_skyline(const struct layout_model *model, const uint32_t *order, int64_t *offset, int64_t *height,
			   struct control *control)
{
	struct skyline skyline = { .model = model, .count = 1 };
	skyline.segment = mem_alloc((size_t)model->n * 2 + 3, sizeof *skyline.segment);
	skyline.placed = mem_alloc(model->n, sizeof *skyline.placed);
	enum status status = skyline.segment && skyline.placed ? OK : NO_MEMORY;
	if (status == OK)
		skyline.segment[0] = (struct segment){ 0, model->sections, 0 };
	for (uint32_t left = model->n; left > 0 && status == OK;) {
		uint32_t i = lowest(&skyline);
		uint32_t b = first_that_fits(&skyline, order, &skyline.segment[i]);
		if (control_spend(control, 1 + (skyline.count + model->n) / 16))
			status = control_status(control);
		if (b == NONE) {
			fill_up(&skyline, i);
			continue;
		}
		offset[b] = align_up(skyline.segment[i].height, model->alignment[b]);
		skyline.placed[b] = true;
		put(&skyline, i, b, offset[b] + model->size[b]);
		left--;
	}
	*height = status == OK ? layout_model_height(model, offset) : INT64_MAX;
	mem_free(skyline.segment);
	mem_free(skyline.placed);
	return status;
}
