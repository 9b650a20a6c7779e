/* baselines.h: states that simple strategies choose, to begin with and to compare with. */
#ifndef TIDEMARK_FIT_BASELINES_H
#define TIDEMARK_FIT_BASELINES_H

#include "step.h"
#include "solver/step/recompute.h"

/* What crosses between groups of `every` layers is kept, and what lies outside of layers; all else is held. With every = 1 it is recompute=full;
 * with the square root of the layers, Chen et al. 2016. state: [storages]. O(step). */
void fit_keep_boundaries(const struct fit_step *step, const struct activations *activations, uint32_t every, uint8_t *state);
/* Scores of attentions are dropped, all else that is saved is kept: recompute=selective. As the former. */
void fit_drop_scores(const struct fit_step *step, const struct activations *activations, uint8_t *state);

/* Several of them, one behind the other: state [*count * storages], which the caller frees with mem_free(). OK or NO_MEMORY. */
enum status fit_baselines(const struct fit_step *step, const struct activations *activations, uint8_t **state, uint32_t *count);

#endif
