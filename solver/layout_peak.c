/* layout_peak.c: the fullest stretch of time first, then outwards.
 *
 * A layout is as low as the load only if it has no holes where the load is full; everywhere else there is room to spare. So
 * the window of time in which the load is nearly full is laid out by itself: what lives in it counts as far as it does. Then
 * come the times before and after: what crosses the window's ends stays where it is, the rest is placed around it. The more
 * the window holds the harder it is, and the easier are its sides: several windows are tried.
 */
#include "layout_steps.h"

/* A window reaches from the first to the last section that is as full as that, in parts of the height wanted. */
static const double shares[] = { 0.8, 0.97, 0.99, 0.95, 0.9, 0.999, 0.7, 0.5, 0.85 };
#define SHARES (sizeof shares / sizeof *shares)
#define SEARCH_MOST 4096   /* buffers of a window, for the exact search */

struct peak {
	const struct layout_model *model;
	int64_t enough;
	int64_t *offset;           /* [n] -1: not placed yet */
	uint32_t *buffer;          /* [n] scratch */
	struct control *control;
};

static void find_window(const struct peak *peak, double share, uint32_t *first, uint32_t *last)
{
	const struct layout_model *model = peak->model;
	double full = share * (double)peak->enough;
	*first = *last = model->max_section;
	for (uint32_t s = 0; s < model->sections; s++) {
		if ((double)model->load[s] < full)
			continue;
		*first = s < *first ? s : *first;
		*last = s;
	}
	++*last;
}

/* The layout of a part, exact where it is small and effort > 0. */
static enum status solve_part(struct peak *peak, const struct layout_model *part, uint64_t effort, int64_t *offset, bool *fits)
{
	const struct layout_recipe *dive;
	const char *name;
	int64_t height = INT64_MAX, bound = part->max_load, enough = peak->enough / (part->unit / peak->model->unit);
	enum status status = layout_cheap(part, enough, offset, &height, &dive, &name, peak->control);
	if (status == OK && height > enough && effort > 0 && part->n <= SEARCH_MOST)
		status = layout_exact(part, enough, true, effort, offset, &height, &bound, NULL, peak->control);
	*fits = height <= enough;
	return status;
}

/* Places what lives in sections [first, last) and is not placed yet around what is. *fits: within the height wanted. */
static enum status place(struct peak *peak, uint32_t first, uint32_t last, uint64_t effort, bool *fits)
{
	const struct layout_model *model = peak->model;
	struct layout_model part;
	uint32_t n = 0;
	for (uint32_t b = 0; b < model->n; b++)
		if (model->first[b] < last && first < model->last[b])
			peak->buffer[n++] = b;
	*fits = true;
	if (n == 0)
		return OK;
	enum status status = layout_model_clip(model, peak->buffer, n, first, last, peak->offset, &part);
	if (status != OK)
		return status;
	int64_t *offset = mem_alloc(n, sizeof *offset);
	status = offset ? solve_part(peak, &part, effort, offset, fits) : NO_MEMORY;
	for (uint32_t i = 0; i < n && status == OK; i++)
		peak->offset[peak->buffer[i]] = offset[i] * (part.unit / model->unit);
	mem_free(offset);
	layout_model_free(&part);
	return status;
}

/* A layout in peak->offset if the window itself fits: *found. */
static enum status try_window(struct peak *peak, double share, uint64_t effort, bool *found)
{
	uint32_t first, last;
	bool fits;
	for (uint32_t b = 0; b < peak->model->n; b++)
		peak->offset[b] = -1;
	find_window(peak, share, &first, &last);
	enum status status = place(peak, first, last, effort, found);
	if (status == OK && *found)
		status = place(peak, 0, first, 0, &fits);
	if (status == OK && *found)
		status = place(peak, last, peak->model->sections, 0, &fits);
	return status;
}

/* One window after another, cheaply where effort is 0. */
static enum status try_windows(struct peak *peak, uint64_t effort, int64_t *offset, int64_t *height)
{
	const struct layout_model *model = peak->model;
	enum status status = OK;
	for (size_t i = 0; i < SHARES && status == OK && *height > peak->enough; i++) {
		bool found;
		status = try_window(peak, shares[i], effort / SHARES / 2, &found);
		if (status != OK || !found)
			continue;
		int64_t reached = layout_model_height(model, peak->offset);
		if (reached > peak->enough && effort > 0)
			status = layout_region(model, peak->enough, effort / SHARES / 2, peak->offset, &reached, peak->control);
		if (status != NO_MEMORY && reached < *height) {
			memcpy(offset, peak->offset, model->n * sizeof *offset);
			*height = reached;
		}
	}
	return status;
}

enum status layout_peak(const struct layout_model *model, int64_t enough, uint64_t effort, int64_t *offset, int64_t *height,
			struct control *control)
{
	struct control own = control_part(control, effort);
	struct peak peak = { .model = model, .enough = enough, .control = &own };
	peak.offset = mem_alloc(model->n, sizeof *peak.offset);
	peak.buffer = mem_alloc(model->n, sizeof *peak.buffer);
	enum status status = peak.offset && peak.buffer ? OK : NO_MEMORY;
	if (status == OK)
		status = try_windows(&peak, 0, offset, height);
	if (status == OK && *height > enough && own.ticks < own.limit)
		status = try_windows(&peak, own.limit - own.ticks, offset, height);
	control_spend(control, own.ticks);
	mem_free(peak.offset);
	mem_free(peak.buffer);
	return status == LIMIT ? control_status(control) : status;
}
