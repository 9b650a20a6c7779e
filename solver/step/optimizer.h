/* optimizer.h: another optimizer, another precision, or gradient accumulation on a step that has its own. */
#pragma once

#include "precision.h"
#include "update.h"

struct optimizer_change {
	bool same_optimizer; /* keep the kind of optimizer that the step has; update.optimizer is ignored */
	struct update_options update;
	enum precision precision; /* PRECISION_GIVEN: as it is */
};

/* The optimizer of a training step, told from its update ops and their state: OPTIMIZER_NONE where the step has no
 * update, OPTIMIZER_COUNT where it is none that is known. O(graph). */
enum optimizer optimizer_of(const struct graph *step, const struct rules *rules);

/* The step with its update phase replaced: the ops of phase update and the state that only they touch are
 * dropped, forward and backward ops stay as they are but for the precision, and update_all() writes new updates in the
 * order of the old ones. Where the precision stays, copies of parameters in f32 and loss scaling that the step has
 * stay, too. NULL with *status and *error, BAD_INPUT with the reason where that can't be done honestly: an update that
 * mixes several parameters (clipping, fused optimizers), gradients that can't be told, an optimizer that isn't known
 * where it is to be kept. O(graph). */
struct graph *optimizer_replace(
	const struct graph *step, const struct rules *rules, const struct optimizer_change *change, struct error *error);
