/* train.h: a training step from a forward graph: backward pass and weight update by rules.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     build           writes ops into a draft with few words
 *     train           a training step from a forward graph
 *     gradient        the backward ops of one forward op
 *     update          the ops of a weight update
 *     eager_update    ... as PyTorch's optimizers run them
 *     update_groups   which ops update which parameter
 *     optimizer       another optimizer on a step that has one
 *     precision       another number format
 *     scale           another batch or sequence length
 *     scale_reserve   what recurrent layers keep for their backward pass
 *     scale_captured  another batch of a step that was captured at two
 *     scale_values    how far a new batch or sequence reaches
 *     scale_flat      another batch where shapes are flat
 *     scale_held      what is held while a module runs that copies it
 *     activations     what the backward pass needs of a layer
 *     argument_form   arguments of new ops
 *     replayable      what can be computed again, and what that costs
 *     replay          a step while it is written with copies
 *     recompute       computes again in the backward pass; offloads
 *     late_reruns     what runs again, not before the backward pass comes there
 *     late_casts      gradients cast where they are read
 *     float8          matrix products with 8-bit operands
 *     loss_region     the ops that touch tensors as large as a loss's logits
 *     loss_chunks     ... in chunks of the tokens
 *     grouped_heads   attention over groups of queries without copies of heads
 *     device_form     a step as devices share it: sums of products' gradients first
 *     shared_views    one view instead of several that are the same */
#pragma once

#include "gradient.h"
#include "update.h"

struct train_options {
	const struct rules *rules;
	enum gradient_policy policy;
	struct update_options update;
};

/* True when the graph has ops of phase backward or update: it needs no training step made. */
bool train_has_step(const struct graph *graph);

/* The training step of a forward graph: its ops in their order, then the backward ops in reverse, then the updates in
 * the order of the parameters. Gradients start at the tensors of kind output, or where there are none at
 * what no op reads; they flow to the floating-point parameters, and are added up where a tensor has several
 * readers. Three rules beyond the single op's:
 *   need      an operand is kept only where a derivative that is needed reads it;
 *   in place  an op that overwrites an operand that its derivative reads keeps a copy of it;
 *   storage   what is kept is a storage, once, and nothing extra where it is persistent anyway.
 * The result is memory-faithful and says in `extra` that it was synthesised, and which ops had no rule.
 * NULL with *status and *error: BAD_INPUT when no parameter gets a gradient. O(graph log rules). */
struct graph *train_step(const struct graph *forward, const struct train_options *options, struct error *error);

/* The forward part of a training step: its forward ops without the copies that only backward ops read, their tensors,
 * inputs, parameters, buffers and constants. */
struct graph *train_forward_part(const struct graph *step, const struct rules *rules, struct error *error);
