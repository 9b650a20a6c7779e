/* update.h: the ops of an optimizer's weight update. */
#pragma once

#include "build.h"

#define OPTIMIZERS(X) X(NONE, "none") X(SGD, "sgd") X(MOMENTUM, "momentum") X(ADAM, "adam") X(ADAMW, \
	"adamw") X(ADAFACTOR, "adafactor") \
	X(RMSPROP, "rmsprop") X(ADAGRAD, "adagrad")
#define X(id, name) OPTIMIZER_##id,
enum optimizer { OPTIMIZERS(X) OPTIMIZER_COUNT };
#undef X
extern const char *const optimizer_names[OPTIMIZER_COUNT];

/* How PyTorch updates parameters: one by one, lists of them by each op (foreach), or lists by one op (fused). */
enum update_way { UPDATE_EACH, UPDATE_FOREACH, UPDATE_FUSED, UPDATE_WAYS };

struct update_options {
	enum optimizer optimizer;
	/* Parameters below 32 bits are updated through copies in f32 that the optimizer keeps; their gradients become f32. */
	bool master;
	/* Moments are kept in 16 bits (bf16) whatever is updated; the copies in f32 stay. */
	bool narrow_moments;
	/* Dynamic loss scaling: all gradients are checked and unscaled before the first update. */
	bool loss_scaling;
	/* Gradients are added to buffers that live from step to step: the step is one of several microbatches. */
	bool accumulate;
};

/* What the update reads for a parameter whose gradient is complete: the gradient itself, its copy in f32, or the
 * buffer that it was added to. Written with the build's phase and module. */
uint32_t update_gradient(
	struct build *build, const struct update_options *options, uint32_t parameter, uint32_t gradient);

/* Checks every gradient for overflow and unscales it in place: gradient[i] is changed. Returns the flag. */
uint32_t update_unscale(struct build *build, const uint32_t *parameter, uint32_t *gradient, uint32_t count);

/* Writes the updates of all parameters from what update_gradient() returned: the state tensors that an optimizer
 * keeps from step to step (kind optimizer, in the dtype of what is updated unless narrow_moments) and the ops that
 * write the parameters in place. gradient[i] is changed. OPTIMIZER_NONE makes the gradients outputs of the step
 * instead. No temporary is held longer than it is needed, and steps aren't counted: eager_update.h has what PyTorch
 * does. adafactor after Shazeer and Stern (2018), section 4: factored second moment of matrices, no first moment.
 * O(count). */
void update_all(struct build *build, const struct update_options *options, const uint32_t *parameter,
	uint32_t *gradient, uint32_t count);
