/* eager_update.h: weight updates op by op as PyTorch's optimizers run them. */
#pragma once

#include "update.h"

/* What a parameter's update works on. call: those that PyTorch updates by the same ops have the same number and follow
 * each other (UPDATE_EACH: every parameter its own). */
struct eager_parameter {
	uint32_t parameter, gradient;
	uint32_t call;
	enum update_way way;
};

/* Whether the sequence of an optimizer is known here. */
bool eager_update_known(enum optimizer optimizer);
/* The names of the tensors that it keeps of each parameter, NULL behind the last; the counter of steps isn't among
 * them. */
const char *const *eager_update_states(enum optimizer optimizer);
/* Whether it counts its steps in a tensor of its own. */
bool eager_update_counts(enum optimizer optimizer);

/* Writes the updates of all parameters as torch.optim runs them: one by one, by _foreach_ ops or by a fused one, with
 * the counters of steps, and with temporaries as long as its functions hold them. An optimizer without a fused form is
 * run by _foreach_ ops. O(count). */
void eager_update_all(
	struct build *build, const struct update_options *options, const struct eager_parameter *parameter, uint32_t count);

/* A parameter that no update writes: the state that some optimizers (Adagrad) keep of it all the same. */
void eager_update_idle(struct build *build, const struct update_options *options, uint32_t parameter);
