/* windows.c: the smallest arena where buffers have windows.
 *
 * With windows a buffer may stand beside, above or inside another one's bounding box, so there is no order of offsets to search
 * through. For each pair that overlaps in time the differences of the two offsets that make pieces collide are a few open
 * intervals. A node of the search has chosen for some pairs between which of these intervals the difference lies: bounds on
 * differences, whose least solution (alignment and pins included) is found by raising offsets until nothing changes. If no pair
 * collides in it, it is the lowest layout of the node; else a colliding pair is decided next. Depth-first, with an
 * explicit stack; exhausted, the best layout is the smallest one.
 */
#include "steps.h"

/* Differences offset[a] - offset[b] strictly between are collisions. */
struct interval { int64_t above, below; };

struct pair {
	uint32_t a, b;
	uint32_t interval, intervals;
};

/* offset[to] >= offset[from] + distance */
struct bound { uint32_t from, to; int64_t distance; };

struct frame {
	uint32_t pair, region;     /* the region tried last: below interval 0, between 0 and 1, ... */
	uint32_t bounds;           /* before the pair was decided */
};

struct windows {
	const struct layout_model *model;
	struct pair *pair;
	uint32_t pairs;
	struct interval *interval;
	uint32_t intervals;
	size_t interval_room;
	struct bound *bound;       /* [2 * pairs] */
	uint32_t bounds;
	struct frame *frame;       /* [pairs + 1] */
	int64_t *offset;           /* [(pairs + 1) * n] the least solution of each frame */
	int64_t *best, best_height;
	struct control *control;
};

/* ---- pairs ------------------------------------------------------------------------------------------ */

static int compare_intervals(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;
	return a->above < b->above ? -1 : a->above > b->above;
}

static enum status add_interval(struct windows *windows, int64_t above, int64_t below)
{
	NEED(mem_reserve(&windows->interval, &windows->interval_room, windows->intervals + 1, sizeof *windows->interval));
	windows->interval[windows->intervals++] = (struct interval){ above, below };
	return OK;
}

/* The collisions of two buffers, merged; none where they never meet. */
static enum status add_pair(struct windows *windows, uint32_t a, uint32_t b)
{
	const struct layout_model *model = windows->model;
	uint32_t first = windows->intervals, kept = first;
	for (uint32_t j = model->span_start[a]; j < model->span_start[a + 1]; j++) {
		for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1]; k++) {
			const struct span *s = &model->span[j], *t = &model->span[k];
			if (s->first < t->last && t->first < s->last && add_interval(windows, t->from - s->to, t->to - s->from) != OK)
				return NO_MEMORY;
		}
	}
	if (windows->intervals == first)
		return OK;
	qsort(windows->interval + first, windows->intervals - first, sizeof *windows->interval, compare_intervals);
	for (uint32_t i = first + 1; i < windows->intervals; i++) {
		struct interval *last = &windows->interval[kept];
		if (windows->interval[i].above >= last->below)
			windows->interval[++kept] = windows->interval[i];
		else if (windows->interval[i].below > last->below)
			last->below = windows->interval[i].below;
	}
	windows->intervals = kept + 1;
	windows->pair[windows->pairs++] = (struct pair){ a, b, first, kept + 1 - first };
	return OK;
}

static enum status set_up(struct windows *windows)
{
	uint32_t n = windows->model->n;
	windows->pair = mem_alloc((size_t)n * (n - 1) / 2, sizeof *windows->pair);
	NEED(windows->pair);
	for (uint32_t b = 0; b < n; b++)
		for (uint32_t a = 0; a < b; a++)
			NEED(add_pair(windows, a, b) == OK);
	windows->bound = mem_alloc((size_t)windows->pairs * 2, sizeof *windows->bound);
	windows->frame = mem_alloc((size_t)windows->pairs + 1, sizeof *windows->frame);
	windows->offset = mem_alloc(((size_t)windows->pairs + 1) * n, sizeof *windows->offset);
	return windows->bound && windows->frame && windows->offset ? OK : NO_MEMORY;
}

/* ---- nodes -------------------------------------------------------------------------------------------- */

/* Raises offsets to the least ones that keep all bounds; false when a pin or the best height is passed. */
static bool propagate(const struct windows *windows, int64_t *offset)
{
	const struct layout_model *model = windows->model;
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < windows->bounds; i++) {
			const struct bound *bound = &windows->bound[i];
			int64_t least = offset[bound->from] + bound->distance;
			if (least <= offset[bound->to])
				continue;
			if (model->fixed[bound->to] >= 0)
				return false;
			offset[bound->to] = align_up(least, model->alignment[bound->to]);
			if (offset[bound->to] + model->size[bound->to] >= windows->best_height)
				return false;
			changed = true;
		}
		control_spend(windows->control, windows->bounds);
	}
	return true;
}

/* How deep a pair's pieces are in each other, 0: not at all. */
static int64_t collision(const struct windows *windows, const struct pair *pair, const int64_t *offset)
{
	int64_t difference = offset[pair->a] - offset[pair->b];
	for (uint32_t i = pair->interval; i < pair->interval + pair->intervals; i++) {
		const struct interval *interval = &windows->interval[i];
		if (interval->above < difference && difference < interval->below) {
			int64_t up = interval->below - difference, down = difference - interval->above;
			return up < down ? up : down;
		}
	}
	return 0;
}

/* The pair that collides most, NONE: it is a layout. */
static uint32_t worst_pair(const struct windows *windows, const int64_t *offset)
{
	uint32_t worst = NONE;
	int64_t most = 0;
	for (uint32_t i = 0; i < windows->pairs; i++) {
		int64_t depth = collision(windows, &windows->pair[i], offset);
		if (depth > most) {
			most = depth;
			worst = i;
		}
	}
	control_spend(windows->control, windows->pairs);
	return worst;
}

/* The frame's pair goes into its next region; false when there is none or it cannot be. offset: the child's. */
static bool decide(struct windows *windows, struct frame *frame, const int64_t *before, int64_t *offset)
{
	const struct pair *pair = &windows->pair[frame->pair];
	const struct interval *interval = windows->interval + pair->interval;
	uint32_t region = frame->region;
	windows->bounds = frame->bounds;
	if (region > 0)
		windows->bound[windows->bounds++] = (struct bound){ pair->b, pair->a, interval[region - 1].below };
	if (region < pair->intervals)
		windows->bound[windows->bounds++] = (struct bound){ pair->a, pair->b, -interval[region].above };
	memcpy(offset, before, windows->model->n * sizeof *offset);
	return propagate(windows, offset);
}

static void search(struct windows *windows, int64_t enough)
{
	const struct layout_model *model = windows->model;
	uint32_t n = model->n, depth = 0;
	bool descend = true;
	for (uint32_t b = 0; b < n; b++)
		windows->offset[b] = model->fixed[b] > 0 ? model->fixed[b] : 0;
	while (windows->best_height > enough && control_status(windows->control) == OK) {
		struct frame *frame = &windows->frame[depth];
		int64_t *offset = windows->offset + (size_t)depth * n;
		if (descend) {
			*frame = (struct frame){ worst_pair(windows, offset), 0, windows->bounds };
			if (frame->pair == NONE) {
				int64_t height = layout_model_height(model, offset);
				if (height < windows->best_height) {
					windows->best_height = height;
					memcpy(windows->best, offset, n * sizeof *offset);
				}
			}
		}
		if (frame->pair == NONE || frame->region > windows->pair[frame->pair].intervals) {
			if (depth == 0)
				return;
			depth--;
			windows->frame[depth].region++;
			descend = false;
			continue;
		}
		descend = decide(windows, frame, offset, offset + n);
		if (descend)
			depth++;
		else
			frame->region++;
	}
}

enum status layout_windows(const struct layout_model *model, int64_t enough, uint64_t effort, int64_t *offset, int64_t *height,
			   int64_t *bound, struct control *control)
{
	struct control own = control_part(control, effort);
	struct windows windows = { .model = model, .best = offset, .best_height = *height, .control = &own };
	enum status status = set_up(&windows);
	if (status == OK) {
		search(&windows, enough);
		*height = windows.best_height;
		if (control_status(&own) == OK && windows.best_height > enough)
			*bound = windows.best_height;
	}
	control_spend(control, own.ticks);
	mem_free(windows.pair);
	mem_free(windows.interval);
	mem_free(windows.bound);
	mem_free(windows.frame);
	mem_free(windows.offset);
	return status == OK ? control_status(control) : status;
}
