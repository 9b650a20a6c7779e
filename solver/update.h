/* update.h: the ops of an optimizer's weight update. */
#ifndef TIDEMARK_UPDATE_H
#define TIDEMARK_UPDATE_H

#include "build.h"

#define OPTIMIZERS(X) X(NONE, "none") X(SGD, "sgd") X(MOMENTUM, "momentum") X(ADAM, "adam") X(ADAMW, "adamw") X(ADAFACTOR, "adafactor")
#define X(id, name) OPTIMIZER_##id,
enum optimizer { OPTIMIZERS(X) OPTIMIZER_COUNT };
#undef X
extern const char *const optimizer_names[OPTIMIZER_COUNT];

struct update {
	enum optimizer optimizer;
	bool master;              /* update a copy in f32 that is kept, then copy it to the parameter; the gradient is f32 */
	uint32_t found_inf;       /* the flag of dynamic loss scaling that the update reads, or NONE */
	uint32_t parameter, gradient;
};

/* Writes the ops that update one parameter in place from its gradient, and the state tensors that they keep
 * from step to step (kind optimizer, in the dtype of what is updated). OPTIMIZER_NONE writes nothing.
 * Sequences as in PyTorch's single-tensor optimizers; adafactor after Shazeer and Stern (2018), section 4:
 * factored second moment of matrices, no first moment. */
void update_write(struct build *build, const struct update *update);

#endif
