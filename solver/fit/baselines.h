/* baselines.h: states that simple strategies choose, to begin with and to compare with. */
#pragma once

#include "step.h"
#include "solver/step/recompute.h"

/* Several of them, one behind the other: state [*count * storages], which the caller frees with mem_free() in any case.
 * OK, NO_MEMORY or CANCELLED. Some four cuts. */
enum status fit_baselines(const struct fit_step *step, const struct activations *activations, struct control *control,
	uint8_t **state, uint32_t *count);
