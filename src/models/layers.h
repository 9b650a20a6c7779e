/* layers.h: the layers that the built-in models are made of.
 *
 * Each writes aten ops as PyTorch's eager mode runs them, with module paths, so that folding, drawing and
 * scaling treat a built-in model like a captured one. All are no-ops after the first failure (build.status). */
#pragma once

#include "models.h"
#include "src/base/words.h"

struct model {
	struct model_config config;
	struct build build;
	char path[256]; /* the module that is being written: "h.3.attn" */
};

/* Enters a submodule; leave() takes what enter() returned. */
size_t layer_enter(struct model *model, const char *format, ...) __attribute__((format(printf, 2, 3)));
void layer_leave(struct model *model, size_t length);

/* A tensor of the current module, named path.word. */
uint32_t layer_parameter(struct model *model, const char *word, struct shape shape);
uint32_t layer_buffer(struct model *model, const char *word, enum dtype dtype, struct shape shape);
/* An input of the step. */
uint32_t layer_input(struct model *model, const char *name, enum dtype dtype, struct shape shape);

/* x [.., in] -> [.., out] with parameters name.weight [out, in] and, where bias, name.bias. */
uint32_t layer_linear(struct model *model, const char *name, uint32_t x, int64_t out, bool bias);
/* x [.., in] -> [.., out] with a weight [out, in] and, unless NONE, a bias that exist already (tied embeddings). */
uint32_t layer_linear_tied(struct model *model, uint32_t x, uint32_t weight, uint32_t bias);
/* One tensor times another one, broadcast. */
uint32_t layer_multiply(struct model *model, uint32_t a, uint32_t b);
uint32_t layer_embedding(struct model *model, const char *name, int64_t rows, int64_t width, uint32_t ids,
	uint32_t *weight);
uint32_t layer_norm(struct model *model, const char *name, uint32_t x);
uint32_t layer_rms_norm(struct model *model, const char *name, uint32_t x);
uint32_t layer_dropout(struct model *model, uint32_t x);
uint32_t layer_add(struct model *model, uint32_t a, uint32_t b);
uint32_t layer_map(struct model *model, const char *type, uint32_t x);
uint32_t layer_view(struct model *model, uint32_t x, struct shape shape);
/* The feed-forward layer's non-linearity as the configuration has it: gelu, its tanh form written out, or relu. */
uint32_t layer_activation(struct model *model, uint32_t x);

/* [b, s, heads * d] -> [b, heads, s, d], a view. */
uint32_t layer_split_heads(struct model *model, uint32_t x, int64_t heads);
/* Scaled dot products of queries, keys and values [b, heads, s, d], as ops that keep the scores. mask: what is filled
 * (bool) or added, or NONE; scaled: divide the scores by sqrt(d). Values may have a width of their own. Returns [b, s,
 * heads * width]. */
uint32_t layer_attention(struct model *model, uint32_t q, uint32_t k, uint32_t v, uint32_t mask, bool scaled);
/* The same as one kernel that keeps no scores; a causal one skips the half of them that its mask hides. */
uint32_t layer_flash_attention(struct model *model, uint32_t q, uint32_t k, uint32_t v, bool causal);

/* Rotary positions: x cos + rotate(x) sin, with the halves of each head exchanged and one negated by rotate. x [b,
 * heads, s, d]. */
uint32_t layer_rotary(struct model *model, uint32_t x, uint32_t cosine, uint32_t sine);
/* down(silu(gate x) up x) in a submodule of that name. */
uint32_t layer_gated(struct model *model, const char *name, uint32_t x, int64_t inner);

/* The mean negative log-likelihood of labels under logits [rows, classes]: the step's output, returned. */
uint32_t layer_cross_entropy(struct model *model, uint32_t logits, uint32_t labels);
/* The loss of next-token prediction: logits [b, s, vocab] shifted by one against labels [b, s]. */
uint32_t layer_next_token_loss(struct model *model, uint32_t logits, uint32_t labels);

/* Slices of the last dim, a view, and two tensors joined along it. */
uint32_t layer_slice_last(struct model *model, uint32_t x, int64_t width);
uint32_t layer_join_last(struct model *model, uint32_t left, uint32_t right);

/* decoder.c: causal attention, in one kernel where the configuration says so, and its output projection. */
uint32_t decoder_causal(struct model *model, uint32_t q, uint32_t k, uint32_t v);
/* A decoder with rotary positions of that width: layers of attention and feed-forward, a language model's head. */
typedef uint32_t decoder_attends(struct model *model, uint32_t x, uint32_t cosine, uint32_t sine);
typedef uint32_t decoder_feeds(struct model *model, uint32_t x, int64_t layer);
void decoder_rotary(struct model *model, int64_t width, decoder_attends *attention, decoder_feeds *feed);

/* experts.c: a router and its experts: [b, s, h] -> [b, s, h], in the current module. */
uint32_t experts_routed(struct model *model, uint32_t x);
/* Of so many tokens, how many an expert has room for. */
int64_t experts_share(const struct model_config *config, int64_t tokens);
/* Whether a layer has experts; else its feed-forward layer is a plain one. */
bool experts_in(const struct model_config *config, int64_t layer);

/* The families: each writes the forward pass of model->config. */
void model_gpt(struct model *model);
void model_llama(struct model *model);
void model_bert(struct model *model);
void model_t5(struct model *model);
void model_vit(struct model *model);
void model_resnet(struct model *model);
void model_moe(struct model *model);
void model_deepseek(struct model *model);
void model_dlrm(struct model *model);
