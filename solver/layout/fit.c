/* fit.c: first fit and best fit.
 *
 * Buffers are placed one after another in the order given, pinned ones first. Placed pieces are kept by address, so
 * that one pass over them finds the holes: as in TensorFlow Lite's arena planner, but for buffers that come and go. */
#include "steps.h"

struct placed { int64_t from, to; uint32_t first, last; };

struct fit {
	const struct layout_model *model;
	bool tightest;
	struct placed *placed;   /* by from */
	uint32_t count;
};

static void layout_fit_insert(struct fit *fit, struct placed piece)
{
	uint32_t low = 0, high = fit->count;
	BISECT(low, high, middle, fit->placed[middle].from <= piece.from);
	memmove(fit->placed + low + 1, fit->placed + low, (fit->count - low) * sizeof *fit->placed);
	fit->placed[low] = piece;
	fit->count++;
}

static void layout_fit_put(struct fit *fit, uint32_t buffer, int64_t offset)
{
	FOR_SPAN(k, fit->model->span_start, buffer) {
		const struct span *span = &fit->model->span[k];
		layout_fit_insert(fit, (struct placed){ offset, offset + fit->model->size[buffer], span->first, span->last });
	}
}

/* The best offset so far among the holes seen. */
struct choice { int64_t offset, slack; };

/* A hole of `room` above `offset` (INT64_MAX: open above). True when the search is over. */
static bool layout_fit_consider(
	const struct fit *fit, struct choice *choice, int64_t offset, int64_t room, int64_t size)
{
	if (room < size)
		return false;
	if (room - size < choice->slack || choice->offset < 0)
		*choice = (struct choice){ offset, room - size };
	return !fit->tightest;
}

/* Whether the two are live together. */
static bool layout_fit_meets(const struct layout_model *model, uint32_t buffer, const struct placed *placed)
{
	FOR_SPAN(k, model->span_start, buffer)
		if (model->span[k].first < placed->last && placed->first < model->span[k].last)
			return true;
	return false;
}

static int64_t find_hole(const struct fit *fit, uint32_t buffer)
{
	int64_t size = fit->model->size[buffer], bottom = 0;
	struct choice choice = { -1, 0 };
	FOR(i, fit->count) {
		const struct placed *placed = &fit->placed[i];
		if (placed->to <= bottom || !layout_fit_meets(fit->model, buffer, placed))
			continue;
		if (layout_fit_consider(fit, &choice, bottom, placed->from - bottom, size))
			return choice.offset;
		bottom = align_up(placed->to, fit->model->alignment[buffer]);
	}
	layout_fit_consider(fit, &choice, bottom, INT64_MAX, size);
	return choice.offset;
}

enum status layout_fit(const struct layout_model *model, const uint32_t *order, bool tightest, int64_t limit,
	int64_t *offset, int64_t *height, struct control *control)
{
	struct fit fit = { .model = model, .tightest = tightest, .placed = mem_alloc(model->span_start[model->n],
		sizeof *fit.placed) };
	enum status status = fit.placed ? OK : NO_MEMORY;
	*height = 0;
	FOR_WHILE(b, model->n, status == OK) {
		if (model->fixed[b] >= 0) {
			offset[b] = model->fixed[b];
			layout_fit_put(&fit, b, offset[b]);
		}
	}
	FOR_WHILE(i, model->n, status == OK) {
		uint32_t b = order[i];
		if (model->fixed[b] < 0) {
			offset[b] = find_hole(&fit, b);
			layout_fit_put(&fit, b, offset[b]);
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
	return status;
}
