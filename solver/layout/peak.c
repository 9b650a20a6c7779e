/* peak.c: the fullest stretch of time first, then outwards.
 *
 * A layout is as low as the load only if it has no holes where the load is full; everywhere else there is room to
 * spare. So the window of time in which the load is nearly full is laid out by itself: what lives in it counts as far
 * as it does. Then come the times before and after: what crosses the window's ends stays where it is, the rest is
 * placed around it. The more the window holds the harder it is, and the easier are its sides: several windows are
 * tried. */
#include "steps.h"

/* A window reaches from the first to the last section that is as full as that, in parts of the height wanted. */
static const double shares[] = { 0.8, 0.97, 0.99, 0.95, 0.9, 0.999, 0.7, 0.5, 0.85 };
#define SHARES (COUNT_OF(shares))
#define SEARCH_MOST 4096   /* buffers of a window, for the exact search */
#define MANY 50000         /* buffers */
#define WINDOWS 64         /* windows, at most */

struct peak {
	const struct layout_model *model;
	int64_t enough;
	int64_t target;            /* within which the layout that is being made can still be */
	int64_t *offset;           /* [n] -1: not placed yet */
	uint32_t *buffer;          /* [n] scratch */
	struct control *control;
};

struct stretch { uint32_t first, last; };

/* The windows of a share: one, or one for each time that the load is as full, where those are few and far apart. */
static uint32_t find_windows(const struct peak *peak, double share, bool apart, struct stretch *window)
{
	const struct layout_model *model = peak->model;
	double full = share * (double)peak->enough;
	uint32_t count = 0, near = apart ? model->sections / WINDOWS : model->sections;
	FOR(s, model->sections) {
		if ((double)model->load[s] < full)
			continue;
		if (count == 0 || s - window[count - 1].last > near)
			window[count++] = (struct stretch){ s, s + 1 };
		window[count - 1].last = s + 1;
	}
	return count;
}

/* The layout of a part, exact where it is small and effort > 0; its height, in units of the whole. */
static enum status peak_solve_part(
	struct peak *peak, const struct layout_model *part, uint64_t effort, int64_t *offset, int64_t *height)
{
	const struct layout_recipe *dive;
	const char *name;
	int64_t scale = part->unit / peak->model->unit, bound = part->max_load, enough = peak->target / scale;
	*height = INT64_MAX;
	TRY(layout_cheap(part, enough, offset, height, &dive, &name, peak->control));
	if (*height > enough && effort > 0 && part->n <= SEARCH_MOST)
		TRY(layout_exact(part, enough, true, effort, offset, height, &bound, NULL, peak->control));
	*height = *height < INT64_MAX ? *height * scale : INT64_MAX;
	return OK;
}

/* Places what lives in sections [first, last) and is not placed yet around what is; what is placed counts from section
 * `since` on, the first that the former may live in. What is higher than the target raises it. */
static enum status peak_place(struct peak *peak, uint32_t since, uint32_t first, uint32_t last, uint64_t effort)
{
	const struct layout_model *model = peak->model;
	OWN(layout_model) part = { 0 };
	int64_t height;
	uint32_t n = 0;
	FOR(b, model->n)
		if (model->first[b] < last && (peak->offset[b] < 0 ? first : since) < model->last[b])
			peak->buffer[n++] = b;
	control_spend(peak->control, model->n);
	if (n == 0 || first == last)
		return OK;
	TRY(layout_model_clip(model, peak->buffer, n, since, last, peak->offset, &part));
	HELD int64_t *MAKE(offset, n);
	NEED(offset);
	TRY(peak_solve_part(peak, &part, effort, offset, &height));
	FOR(i, n)
		peak->offset[peak->buffer[i]] = offset[i] * (part.unit / model->unit);
	if (height > peak->target)
		peak->target = height;
	return OK;
}

/* A layout in peak->offset, if it may be lower than `height`: *found. */
static enum status peak_try_window(
	struct peak *peak, double share, bool apart, uint64_t effort, int64_t height, bool *found)
{
	struct stretch window[WINDOWS + 1];
	uint32_t count = find_windows(peak, share, apart, window);
	peak->target = peak->enough;
	*found = count > (apart ? 1 : 0);
	FOR_WHILE(b, peak->model->n, *found)
		peak->offset[b] = -1;
	FOR_WHILE(i, count, *found) {
		TRY(peak_place(peak, i ? window[i - 1].last : window[i].first, window[i].first, window[i].last, effort));
		*found = peak->target < height;
	}
	for (uint32_t i = 0; i <= count && *found; i++) {
		uint32_t first = i ? window[i - 1].last : 0;
		TRY(peak_place(peak, first, first, i < count ? window[i].first : peak->model->sections, 0));
	}
	return OK;
}

/* One window after another, cheaply where effort is 0. */
static enum status try_windows(struct peak *peak, uint64_t effort, int64_t *offset, int64_t *height)
{
	const struct layout_model *model = peak->model;
	enum status status = OK;
	for (size_t i = 0; i < 2 * SHARES && status == OK && *height > peak->enough; i++) {
		bool found;
		/* What is most of very many buffers is no easier than all of them. */
		if (i > 0 && i % 2 == 0 && model->n > MANY)
			continue;
		status = peak_try_window(peak, shares[i / 2], i % 2, effort / SHARES / 4, *height, &found);
		if (status != OK || !found)
			continue;
		int64_t reached = layout_model_height(model, peak->offset);
		if (reached < *height) {
			COPY(offset, peak->offset, model->n);
			*height = reached;
		}
	}
	return status;
}

enum status layout_peak(const struct layout_model *model, int64_t enough, uint64_t effort, int64_t *offset,
	int64_t *height, struct control *control)
{
	struct control own = control_part(control, effort);
	struct peak peak = { .model = model, .enough = enough, .control = &own };
	MAKE(peak.offset, model->n);
	MAKE(peak.buffer, model->n);
	enum status status = peak.offset && peak.buffer ? OK : NO_MEMORY;
	THEN(status, try_windows(&peak, 0, offset, height));
	if (status == OK && *height > enough && own.ticks < own.limit)
		status = try_windows(&peak, own.limit - own.ticks, offset, height);
	control_spend(control, own.ticks);
	mem_free(peak.offset);
	mem_free(peak.buffer);
	return status == LIMIT ? control_status(control) : status;
}
