/* baselines.c: states that simple strategies choose. */
#include <math.h>

#include "baselines.h"
#include "strategies.h"

/* Scores of attentions are dropped, all else that is saved is kept: recompute=selective. state: [storages]. */
static void drop_scores(const struct fit_step *step, const struct activations *activations, uint8_t *state)
{
	for (uint32_t s = 0; s < step->storages; s++) {
		bool hold = activations->attention[s] || (!step->saved[s] && !activations->anchor[s]);
		state[s] = (uint8_t)(step->droppable[s] && (hold || step->fixed[s] == FIT_DROPPED) ? FIT_HOLD : FIT_KEEP);
	}
}

enum status fit_baselines(const struct fit_step *step, const struct activations *activations, struct control *control,
	uint8_t **state, uint32_t *count)
{
	uint32_t root = (uint32_t)sqrt((double)activations->layers), every[] = { 1, 2, 3, root };
	bool *keep = mem_alloc(step->storages, sizeof *keep);
	enum status status = keep ? OK : NO_MEMORY;
	*count = 0;
	*state = status == OK ? mem_alloc((size_t)step->storages * 5, sizeof **state) : NULL;
	status = *state ? OK : NO_MEMORY;
	if (status == OK)
		drop_scores(step, activations, *state + (size_t)step->storages * (*count)++);
	for (size_t i = 0; i < sizeof every / sizeof *every && activations->layers > 0 && status == OK; i++) {
		if (every[i] == 0)
			continue;
		fit_keep_groups(step, activations, every[i], keep);
		status = fit_states_keeping(step, keep, control, *state + (size_t)step->storages * (*count)++);
	}
	mem_free(keep);
	return status;
}
