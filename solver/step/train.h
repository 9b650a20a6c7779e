/* train.h: a training step from a forward graph: backward pass and weight update by rules.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     build           writes ops into a draft with few words
 *     train           a training step from a forward graph
 *     adapters        small trained matrices beside frozen weights
 *     gradient        the backward ops of one forward op
 *     update          the ops of a weight update
 *     eager_update    ... as PyTorch's optimizers run them
 *     update_groups   which ops update which parameter
 *     optimizer       another optimizer on a step that has one
 *     precision       another number format
 *     autocast        ... as torch.autocast casts
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
 *     host_states     optimizer state that waits in the host's memory
 *     late_reruns     what runs again, not before the backward pass comes there
 *     late_casts      gradients cast where they are read
 *     float8          matrix products with 8-bit operands
 *     loss_region     the ops that touch tensors as large as a loss's logits
 *     loss_chunks     ... in chunks of the tokens
 *     grouped_heads   attention over groups of queries without copies of heads
 *     device_form     a step as devices share it: sums of products' gradients first
 *     shared_views    one view instead of several that are the same */
#pragma once

#include "update.h"

/* gradient: the backward ops of one forward op, as automatic differentiation by reverse accumulation writes them. */

/* What the backward pass keeps of the forward pass. */
enum gradient_policy {
	GRADIENT_EAGER, /* what PyTorch's autograd saves, tensors whose values nobody needs included */
	GRADIENT_IDEAL  /* only what the derivatives need */
};

/* One forward op with the gradients of its results. Ids are the draft's. */
struct gradient {
	struct build *build;
	const struct rules *rules;
	const char *type; /* "aten.addmm.default" */
	const uint32_t *in, *out;
	uint32_t ins, outs;
	const bool *needs;    /* [ins] a gradient of this input is wanted */
	const uint32_t *from; /* [outs] gradients that arrived, NONE where none did */
	uint32_t *to;         /* [ins] gradients of the inputs: filled where needed, NONE elsewhere */
	enum gradient_policy policy;
	int64_t done, whole; /* FLOPs of the forward op, and by its rule; 0: nobody says */
};

/* False for ops through which no gradient passes: comparisons, integer results. Ops without a rule pass one. O(1). */
bool gradient_passes(const struct rules *rules, const char *type);

/* True when the derivative reads the value of operand 0: an in-place op must keep a copy of it.
 * needed[i]: operand i, of count, needs a gradient. */
bool gradient_keeps_input(const struct rules *rules, const char *type, const bool *needed, uint32_t count);

/* Writes the backward ops of one op with build->phase and module as they are set. A gradient is
 * shape-faithful: each has its input's shape, reductions of broadcast dims included. Derivatives follow
 * PyTorch's derivatives.yaml. An op without a rule is opaque: one backward op that reads all it could. */
void gradient_expand(const struct gradient *gradient);

struct train_options {
	const struct rules *rules;
	enum gradient_policy policy;
	struct update_options update;
	bool adapters; /* they alone are trained */
	const struct graph *like; /* a step: what its update doesn't write is frozen; NULL: nothing is */
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

/* adapters: small trained matrices beside frozen weights. */

/* X(id, name): number format of the frozen weights; from NF4 on those of linear layers, the rest is bf16. */
#define ADAPTER_BASES(X) X(BF16, "bf16") X(FP32, "fp32") X(NF4, "nf4") X(INT8, "int8") X(FP8, "fp8")
#define X(id, name) BASE_##id,
enum adapter_base { ADAPTER_BASES(X) BASE_COUNT };
#undef X

struct adapter_options {
	int64_t rank;
	bool attention; /* linear layers whose module's path says attention, else all; never the output layer, the last */
	enum adapter_base base;
};

/* A forward graph with LoRA's adapters (Hu et al. 2021) beside its linear layers, as peft writes them without dropout:
 * A [rank, in] and B [out, rank] in f32; the input is cast to that, the result scaled, added to the layer's and cast
 * back. pack: instead, a step of such a graph with the layers' weights in fewer bits. Those of 4 are kept as
 * bitsandbytes keeps them with double quantisation (Dettmers et al. 2023): two to a byte, a scale of 8 bits for each
 * 64, one in f32 for 256 of these; those of 8 have a scale in f32 for each row. Each op that reads one has it unpacked
 * for itself. NULL with *error: BAD_INPUT, no linear layer. O(graph). */
struct graph *adapters_apply(const struct graph *graph, const struct rules *rules,
	const struct adapter_options *options, bool pack, struct error *error);
/* Whether a module is peft's, which casts what adapters read to their own type. */
bool adapters_of_peft(const struct graph *graph);
/* Whether a tensor's name is that of an adapter. */
bool adapter_name(const char *name);

/* device_form: a step in the form in which devices share it. */

/* The same step with three changes, which make devices send what frameworks send. A sum of gradients adds up what
 * products with parameters make first: devices that hold heads or columns have a summand of each of these, and reduce
 * their sum once (Shoeybi et al., arXiv 1909.08053, section 3: one operator before queries, keys and values), where
 * autograd's order, the residual's gradient first, would have them reduced one by one. A view of a parameter that the
 * forward pass uses under another name, too (an embedding that is the output projection as well), is made again for the
 * backward pass: one gather in each pass is there for all. And what a framework lets go of late is read under the name
 * that was computed with last, which devices have made whole; summands that wait longer are let go of after their sum.
 * A new reference, to the graph itself where there is nothing to change. NULL with *error: out of memory. O(graph). */
struct graph *graph_device_form(struct graph *graph, const struct rules *rules, struct error *error);

/* float8: matrix products of layers with 8-bit operands, everything else as it is. */

/* The step in which products of layers (by module path, see activations_find()) read 8-bit copies of their 16- or
 * 32-bit operands: e4m3, in the backward pass e5m2 for what is neither a parameter nor kept from the forward pass
 * (Micikevicius et al. 2022, arXiv 2209.05433). Operands are cast right before their first reader, once for each pass;
 * what is saved for the backward pass stays in its own format, as float8 linear layers of torchao keep it. Experts'
 * grouped products are matrices, too (Transformer Engine's GroupedLinear, DeepGEMM). Products that are stacked (bmm)
 * and attention stay, and so does the projection to the vocabulary, which lies outside of the layers. Scales are
 * numbers and not in the graph. *changed: products. A new reference, to the graph itself where there are none. NULL
 * with *error: out of memory. O(graph). */
struct graph *float8_apply(struct graph *graph, const struct rules *rules, uint32_t *changed, struct error *error);

/* grouped_heads: attention over groups of queries without copies of the keys' and values' heads. */

/* A graph whose attention kernels read keys and values with the groups' own heads, where they read copies of these, one
 * for each query of a group
 * ([b, k, t, d] viewed as [b, k, 1, t, d], expanded to [b, k, g, t, d], copied, and viewed as [b, k g, t, d]); their
 * backward kernels write the gradients so, in place of sums over the groups. Kernels do that themselves (Ainslie et
 * al., arXiv 2305.13245; FlashAttention-2, arXiv 2307.08691, section 3.1.2), and what is sent between devices that
 * share a sequence is then g times smaller. Whatever doesn't look just like this stays. A new reference, to the graph
 * itself where there is nothing to do. NULL with *error: out of memory. O(graph), nearly. */
struct graph *graph_group_heads(struct graph *graph, const struct rules *rules, struct error *error);

/* late_casts: casts of gradients to a wider format, put off until something reads them. */

/* The graph with casts that graph_widens_gradient() knows right before the first op that reads them, so that a gradient
 * is summed over devices in its narrow format while the backward pass goes on. of_update: they belong to the update
 * then, so that microbatches add up gradients in the narrow format, and the sums are cast once. moved: how many; 0: the
 * graph itself. A new reference, or NULL: NO_MEMORY. O(size). */
struct graph *late_casts(struct graph *graph, bool of_update, uint32_t *moved, struct error *error);

/* late_reruns: what runs again waits for the backward pass to come there. */

/* The graph with a control edge to every op that runs again from the last op before it, in program order, that doesn't:
 * an order that takes ops as soon as they are ready would run it in the forward pass and keep its result all the same.
 * Program order stays valid. A new reference, the graph itself where nothing runs again; or NULL: NO_MEMORY. O(size).
 */
struct graph *late_reruns(struct graph *graph, struct error *error);

/* shared_views: one view instead of several that are the same. */

/* A graph whose ops read the first of all views that are the same: of one tensor, by one operator, in one phase, of one
 * shape. Frameworks make such views for each linear layer that reads a norm's result (queries, keys, values; gate and
 * up): what is gathered for one of them is there for all, as a framework that shards the norm's result gathers it
 * (Korthikanti et al., arXiv 2205.05198, section 4.2.2). The other views are left out; they take no memory and no time.
 * Views whose shapes don't say all of them (slices have offsets), and those of memory that is written in place, stay as
 * they are. A new reference, to the graph itself where there are none. NULL with *error: out of memory. O(graph),
 * nearly. */
struct graph *graph_share_views(struct graph *graph, const struct rules *rules, struct error *error);
