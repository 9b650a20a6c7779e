/* strategy_stage.h: recomputation by published strategies. */
#pragma once

#include "solver/fit/step.h"
#include "solver/step/recompute.h"
#include "stages.h"

/* The input's step in which all else runs again, along its program order. A new reference, or NULL with *error. */
struct graph *strategy_apply(struct stage_context *stage, const struct fit_input *input,
	const struct activations *activations, const struct recompute_options *options, struct error *error);
