/* cheap.c: dives in one order after another; the first that is good enough will do. */
#include "steps.h"

/* Names say by what buffers are sorted (layout_sort()); load: the most that is alive in their life. A tight
 * dive takes first what is alive where the arena would reach highest. */
const struct layout_recipe layout_dives[LAYOUT_DIVES] = {
	{ "EW", "tight dive by start", true },
	{ "TAW", "dive by load and area", false },
	{ "AWT", "dive by area", false },
	{ "OTA", "tight dive by overlaps", true },
	{ "AWT", "tight dive by area", true },
	{ "ZTW", "dive by size", false },
	{ "TWA", "dive by load and life", false },
	{ "TWA", "tight dive by load and life", true },
	{ "OTA", "dive by overlaps", false },
};
#define MANY 100000        /* buffers */
#define DIVE_TICKS UINT64_C(1000000000) /* no more dives after so many */

struct cheap {
	const struct layout_model *model;
	uint32_t *order;
	int64_t *trial, *offset, *height;
};

static enum status try(struct cheap *cheap, const struct layout_recipe *recipe, bool *better, struct control *control)
{
	const struct layout_model *model = cheap->model;
	int64_t height = 0;
	enum status status = layout_sort(model, recipe->keys, cheap->order);
	THEN(status, layout_dive(model, cheap->order, recipe->critical, *cheap->height, cheap->trial, &height, control));
	*better = status == OK && height < *cheap->height;
	if (*better) {
		COPY(cheap->offset, cheap->trial, model->n);
		*cheap->height = height;
	}
	return status;
}

static enum status cheap_try_all(
	struct cheap *cheap, int64_t enough, const struct layout_recipe **dive, const char **name, struct control *control)
{
	const struct layout_model *model = cheap->model;
	bool plain = !model->pins && !model->gapped, better;
	uint64_t start = control->ticks;
	enum status status = OK;
	for (size_t i = 0; i < LAYOUT_DIVES && status == OK && *cheap->height > enough
		&& control->ticks - start < DIVE_TICKS; i++) {
		/* Of many buffers there are few dives: two that differ come first. */
		const struct layout_recipe *recipe = &layout_dives[model->n > MANY && (i == 1 || i == 3) ? 4 - i : i];
		if (recipe->critical && !plain)
			continue;
		status = try(cheap, recipe, &better, control);
		if (better) {
			*dive = recipe;
			*name = recipe->name;
		}
	}
	return status;
}

enum status layout_cheap(const struct layout_model *model, int64_t enough, int64_t *offset, int64_t *height,
			 const struct layout_recipe **dive, const char **name, struct control *control)
{
	struct cheap cheap = { .model = model, .offset = offset, .height = height };
	OWN(arena) arena = { 0 };
	NEED(ROOMS(&arena, model->n, cheap.order, cheap.trial));
	return cheap_try_all(&cheap, enough, dive, name, control);
}
