/* update.h: the ops of an optimizer's weight update. */
#pragma once

#include "build.h"

#define OPTIMIZERS(X) X(NONE, "none") X(SGD, "sgd") X(MOMENTUM, "momentum") X(ADAM, "adam") X(ADAMW, \
	"adamw") X(ADAFACTOR, "adafactor") \
	X(RMSPROP, "rmsprop") X(ADAGRAD, "adagrad") X(LION, "lion") X(MUON, "muon") X(ADAMW8BIT, "adamw8bit")
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
	/* Updates as PyTorch runs them (eager_update_all), and gradients until zero_grad() behind the last. */
	bool held;
};

/* Whether a parameter is updated through a copy in f32. */
static inline bool update_has_master(
	const struct build *build, const struct update_options *options, uint32_t parameter)
{
	return options->master && dtype_bits[build_dtype(build, parameter)] < 32;
}

/* What the update reads for a parameter whose gradient is complete: the gradient itself, its copy in f32, or the
 * buffer that it was added to. Written with the build's phase and module. */
uint32_t update_gradient(
	struct build *build, const struct update_options *options, uint32_t parameter, uint32_t gradient);

/* Checks every gradient for overflow and unscales it in place: gradient[i] is changed. Returns the flag. */
uint32_t update_unscale(struct build *build, const uint32_t *parameter, uint32_t *gradient, uint32_t count);

/* Writes the updates of all parameters from what update_gradient() returned: the state tensors that an optimizer
 * keeps from step to step (kind optimizer, in the dtype of what is updated unless narrow_moments) and the ops that
 * write the parameters in place. gradient[i] is changed. OPTIMIZER_NONE makes the gradients outputs of the step
 * instead. No temporary is held longer than it is needed, and steps aren't counted: update.h has what PyTorch
 * does. adafactor after Shazeer and Stern (2018), section 4: factored second moment of matrices, no first moment.
 * muon as torch.optim.Muon runs it, for matrices in layers; all else is AdamW's. adamw8bit as bitsandbytes keeps it:
 * moments of 8 bits with a maximum in f32 for each 256, of parameters below 4096 numbers in f32. O(count). */
void update_all(struct build *build, const struct update_options *options, const uint32_t *parameter,
	uint32_t *gradient, uint32_t count);

/* update_groups: which ops of a training step update which parameter, from which gradient. */

struct update_group {
	uint32_t parameter, gradient; /* tensors of the step; the gradient as the update first reads it, or NONE */
	uint32_t states;              /* state tensors with more than one element */
	uint32_t counters;            /* and with one */
	int64_t state_bytes;
	uint32_t weight_writes; /* ops that write the parameter */
	bool divides;           /* has an addcdiv_: Adam's last op */
	enum update_way way;
	uint32_t first; /* its first op */
	uint32_t call;  /* UPDATE_EACH: the group's number; else the op that updates it together with others */
};

struct update_groups {
	const struct graph *step;
	const struct rules *rules;
	struct arena arena;
	bool eager; /* the step says where PyTorch lets go of memory: it is one that PyTorch ran */
	bool marked; /* there is no update: the groups are of gradients that the step leaves, as its tensors say
					(gradient_of) */
	bool *outside;              /* [storages] doesn't tie the ops that touch it together */
	uint32_t *leader;           /* [storages] union-find over the storages of the update */
	uint32_t *group_of;         /* [storages] of a leader: its group, or NONE */
	bool *updates;              /* [ops] belongs to a group */
	struct update_group *group; /* those of parameters, by their first op */
	uint32_t groups;
};

/* A step without an update, whose tensors say that they are gradients, has a group without ops for each of these.
 * Finds the groups: update ops hang together by the storages that they share, gradients left out; of ops on lists
 * (foreach, fused), those at the same place of the lists hang together. BAD_INPUT where an update mixes several
 * parameters or its gradient can't be told. Free with update_groups_free() in any case. O(graph). */
enum status update_groups_find(
	const struct graph *step, const struct rules *rules, struct update_groups *groups, struct error *error);
void update_groups_free(struct update_groups *groups);

/* An op of the phase update that works: releases stand wherever something else happens. */
bool update_op(const struct graph *graph, uint32_t op);

/* The optimizer of a group: OPTIMIZER_COUNT where it is none that is known. */
enum optimizer update_group_optimizer(const struct graph *step, const struct update_group *group);

/* eager_update: weight updates op by op as PyTorch's optimizers run them. */

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

/* argument_form: arguments of new ops, from a form. */

/* What the letters of a form stand for: the i-th of `count` tensors of a letter, NULL where there is none. lists: the
 * op works on lists. */
struct argument_names {
	const char *(*name)(const void *context, char letter, uint32_t i);
	const void *context;
	bool lists;
	uint32_t count;
};

/* The arguments that a form says: positional ones, '|', then 'KEYWORD':VALUE, all with commas between. A value is "@x",
 * the tensor of the letter x, with lists the list of its tensors (of one alone in capitals); "#v", the number v, with
 * lists as often as there are tensors; "[]"; true, false, or a number. Names are lent, other texts are in the arena.
 * NULL when out of memory. */
const struct arguments *arguments_make(struct arena *arena, const char *form, const struct argument_names *names);

/* The same with results: a name, a list of names, or nothing where there are none. NULL when out of memory. */
const struct arguments *arguments_with_result(
	struct arena *arena, const struct arguments *arguments, const char *const *name, uint32_t names, bool list);
