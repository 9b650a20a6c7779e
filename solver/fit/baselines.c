/* baselines.c: states that simple strategies choose. */
#include <math.h>
#include <string.h>

#include "baselines.h"

static void fix(const struct fit_step *step, uint8_t *state)
{
	for (uint32_t s = 0; s < step->storages; s++)
		state[s] = (uint8_t)(!step->droppable[s] ? FIT_KEEP : step->fixed[s] == FIT_DROPPED ? FIT_HOLD : state[s]);
}

/* What crosses between groups of `every` layers is kept, and what lies outside of layers; all else is held. With every = 1 it is recompute=full;
 * with the square root of the layers, Chen et al. 2016. state: [storages]. O(step). */
static void keep_boundaries(const struct fit_step *step, const struct activations *activations, uint32_t every, uint8_t *state)
{
	for (uint32_t s = 0; s < step->storages; s++) {
		uint32_t maker = step->graph->storage[s].allocator, group = maker == NONE ? NONE : activations_group(activations, maker, every);
		state[s] = group == NONE ? FIT_KEEP : FIT_HOLD;
		FOR_ROW(i, &step->graph->users, s) {
			uint32_t user = step->graph->users.item[i];
			if (step->forward[user] && activations_group(activations, user, every) != group)
				state[s] = FIT_KEEP;
		}
	}
	fix(step, state);
}

/* Scores of attentions are dropped, all else that is saved is kept: recompute=selective. As the former. */
static void drop_scores(const struct fit_step *step, const struct activations *activations, uint8_t *state)
{
	for (uint32_t s = 0; s < step->storages; s++)
		state[s] = activations->attention[s] || (!step->saved[s] && !activations->anchor[s]) ? FIT_HOLD : FIT_KEEP;
	fix(step, state);
}

enum status fit_baselines(const struct fit_step *step, const struct activations *activations, uint8_t **state, uint32_t *count)
{
	uint32_t root = (uint32_t)sqrt((double)activations->layers), every[] = { 1, 2, 3, root };
	*count = 0;
	*state = mem_alloc((size_t)step->storages * 5, sizeof **state);
	NEED(*state);
	drop_scores(step, activations, *state);
	*count = 1;
	for (size_t i = 0; i < sizeof every / sizeof *every && activations->layers > 0; i++)
		if (every[i] > 0)
			keep_boundaries(step, activations, every[i], *state + (size_t)step->storages * (*count)++);
	return OK;
}
