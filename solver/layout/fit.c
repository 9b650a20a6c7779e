/* fit.c: first fit and best fit.
 *
 * Buffers are placed one after another in the order given, pinned ones first. Placed pieces are kept by address, so that
 * one pass over them finds the holes: as in TensorFlow Lite's arena planner, but for pieces with windows of their own. A
 * buffer with one piece sees holes directly; one with several collects the offsets that its pieces forbid.
 */
#include "steps.h"

struct placed { int64_t from, to; uint32_t first, last; };

/* Offsets strictly between are taken. */
struct taken { int64_t above, below; };

struct fit {
	const struct layout_model *model;
	bool tightest;
	struct placed *placed;   /* by from */
	uint32_t count;
	struct taken *taken;     /* scratch */
	size_t taken_count, taken_room;
};

static void insert(struct fit *fit, struct placed piece)
{
	uint32_t low = 0, high = fit->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (fit->placed[middle].from <= piece.from)
			low = middle + 1;
		else
			high = middle;
	}
	memmove(fit->placed + low + 1, fit->placed + low, (fit->count - low) * sizeof *fit->placed);
	fit->placed[low] = piece;
	fit->count++;
}

static void put(struct fit *fit, uint32_t buffer, int64_t offset)
{
	for (uint32_t k = fit->model->span_start[buffer]; k < fit->model->span_start[buffer + 1]; k++) {
		const struct span *span = &fit->model->span[k];
		insert(fit, (struct placed){ offset + span->from, offset + span->to, span->first, span->last });
	}
}

/* The best offset so far among the holes seen. */
struct choice { int64_t offset, slack; };

/* A hole of `room` above `offset` (INT64_MAX: open above). True when the search is over. */
static bool consider(const struct fit *fit, struct choice *choice, int64_t offset, int64_t room, int64_t size)
{
	if (room < size)
		return false;
	if (room - size < choice->slack || choice->offset < 0)
		*choice = (struct choice){ offset, room - size };
	return !fit->tightest;
}

static int64_t find_hole(const struct fit *fit, uint32_t buffer)
{
	const struct layout_model *model = fit->model;
	const struct span *span = &model->span[model->span_start[buffer]];
	int64_t size = model->size[buffer], alignment = model->alignment[buffer], bottom = 0;
	struct choice choice = { -1, 0 };
	for (uint32_t i = 0; i < fit->count; i++) {
		const struct placed *placed = &fit->placed[i];
		if (placed->last <= span->first || span->last <= placed->first || placed->to <= bottom)
			continue;
		if (consider(fit, &choice, bottom, placed->from - bottom, size))
			return choice.offset;
		bottom = align_up(placed->to, alignment);
	}
	consider(fit, &choice, bottom, INT64_MAX, size);
	return choice.offset;
}

static int compare_taken(const void *left, const void *right)
{
	const struct taken *a = left, *b = right;
	return a->above < b->above ? -1 : a->above > b->above;
}

/* The offsets that one placed piece forbids. */
static bool add_taken(struct fit *fit, struct taken taken)
{
	if (!mem_reserve(&fit->taken, &fit->taken_room, fit->taken_count + 1, sizeof *fit->taken))
		return false;
	fit->taken[fit->taken_count++] = taken;
	return true;
}

/* -1 when out of memory. */
static int64_t find_hole_of_pieces(struct fit *fit, uint32_t buffer)
{
	const struct layout_model *model = fit->model;
	fit->taken_count = 0;
	for (uint32_t k = model->span_start[buffer]; k < model->span_start[buffer + 1]; k++) {
		const struct span *span = &model->span[k];
		for (uint32_t i = 0; i < fit->count; i++) {
			const struct placed *placed = &fit->placed[i];
			if (placed->first < span->last && span->first < placed->last && placed->to > span->from
			    && !add_taken(fit, (struct taken){ placed->from - span->to, placed->to - span->from }))
				return -1;
		}
	}
	size_t count = fit->taken_count;
	if (count > 1)
		qsort(fit->taken, count, sizeof *fit->taken, compare_taken);
	int64_t bottom = 0, alignment = model->alignment[buffer];
	struct choice choice = { -1, 0 };
	for (size_t i = 0; i < count; i++) {
		if (fit->taken[i].below <= bottom)
			continue;
		/* In terms of offsets the buffer is a point: a hole is what is free from bottom up to `above`. */
		if (consider(fit, &choice, bottom, fit->taken[i].above - bottom, 0))
			return choice.offset;
		bottom = align_up(fit->taken[i].below, alignment);
	}
	consider(fit, &choice, bottom, INT64_MAX, 0);
	return choice.offset;
}

static enum status set_up(struct fit *fit, const struct layout_model *model)
{
	fit->placed = mem_alloc(model->span_start[model->n], sizeof *fit->placed);
	return fit->placed ? OK : NO_MEMORY;
}

static bool one_full_piece(const struct layout_model *model, uint32_t buffer)
{
	uint32_t k = model->span_start[buffer];
	return model->span_start[buffer + 1] == k + 1 && model->span[k].from == 0 && model->span[k].to == model->size[buffer];
}

enum status layout_fit(const struct layout_model *model, const uint32_t *order, bool tightest, int64_t limit, int64_t *offset,
		       int64_t *height, struct control *control)
{
	struct fit fit = { .model = model, .tightest = tightest };
	enum status status = set_up(&fit, model);
	*height = 0;
	for (uint32_t b = 0; status == OK && b < model->n; b++) {
		if (model->fixed[b] >= 0) {
			offset[b] = model->fixed[b];
			put(&fit, b, offset[b]);
		}
	}
	for (uint32_t i = 0; status == OK && i < model->n; i++) {
		uint32_t b = order[i];
		if (model->fixed[b] < 0) {
			offset[b] = one_full_piece(model, b) ? find_hole(&fit, b) : find_hole_of_pieces(&fit, b);
			if (offset[b] < 0)
				status = NO_MEMORY;
			else
				put(&fit, b, offset[b]);
		}
		if (offset[b] + model->size[b] > *height)
			*height = offset[b] + model->size[b];
		if (*height >= limit) {
			*height = INT64_MAX;
			break;
		}
		if (control_spend(control, 1 + fit.count / 8) && status == OK)
			status = control_status(control);
	}
	mem_free(fit.placed);
	mem_free(fit.taken);
	return status;
}
