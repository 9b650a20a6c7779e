/* precision.h: the number format of parameters and activations. */
#pragma once

#include "solver/rules/rules.h"

/* In the order of the knob's words. MIXED: f16 with losses and statistics in f32; its updates go through f32 copies of
 * the parameters and its loss is scaled (struct update_options; Micikevicius et al. 2018). BF16 and FP16: all of it,
 * optimizer state included. AUTOCAST: see autocast_apply(). */
#define PRECISIONS(X) \
	X(GIVEN, "given") X(FP32, "fp32") X(BF16, "bf16") X(FP16, "fp16") X(MIXED, "mixed") X(AUTOCAST, "autocast")
#define X(id, name) PRECISION_##id,
enum precision { PRECISIONS(X) PRECISION_COUNT, PRECISION_WIDE_LOSS = PRECISION_COUNT };
#undef X
extern const char *const precision_names[PRECISION_COUNT];

/* The graph with its floating-point tensors of 16 and 32 bits in another format; casts are inserted where MIXED
 * computes in f32 (losses); WIDE_LOSS is bf16 with that, as transformers' language models run. Statistics of norms
 * stay f32, and so do buffers that ops write (running statistics).
 * For forward graphs and for steps without update ops: state of an optimizer is not converted.
 * NULL with *status and *error: BAD_INPUT where a tensor's dtype is unknown. O(graph). */
struct graph *precision_apply(
	const struct graph *graph, const struct rules *rules, enum precision precision, struct error *error);

/* autocast: the step with the casts of torch.autocast("cuda", dtype=torch.bfloat16): ops of
 * its lists (rules_autocast()) read bf16 or f32, others take the format of what they read. A trained parameter is cast
 * once, what else products read is each time; gradients have the format of the tensors that they are of. NULL with
 * *error: BAD_INPUT where no parameter is in f32, or a product computes in 16 bits already. O(graph), nearly: each
 * backward op looks at the readers of what was saved. */
struct graph *autocast_apply(const struct graph *graph, const struct rules *rules, struct error *error);
