/* models.h: built-in models: the forward pass of a family at any size, and presets of published models.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     models    presets, and building one
 *     open      opens a graph for a command
 *     layers    layers that models are made of
 *     decoder   decoders with rotary positions: what llama's and DeepSeek's have in common
 *     experts   mixtures of experts with weights of their own for every token
 *     step      a training step of a model
 *     hugging_face  config.json of Hugging Face models, by a reader in Python
 *     bert      encoders
 *     gpt       decoders, GPT-2, Megatron's GPT, mixtures of experts
 *     llama     llama's decoders and their kin: Mistral, Qwen, Mixtral, Gemma, Phi, GPT-NeoX
 *     deepseek  DeepSeek-V2 and V3
 *     t5        encoder and decoder
 *     vit       vision transformers
 *     resnet    residual networks
 *     dlrm      recommendation models */
#pragma once

#include "solver/step/precision.h"
#include "solver/step/recompute.h"
#include "solver/step/train.h"

/* X(id, name, help) */
#define MODEL_FAMILIES(X) \
	X(GPT, "gpt", "decoder-only transformer, learned positions") \
	X(LLAMA, "llama", "decoder-only transformer: RMSNorm, rotary positions, grouped queries, SwiGLU") \
	X(BERT, "bert", "encoder-only transformer with a masked-language head") \
	X(T5, "t5", "encoder-decoder transformer with relative positions") \
	X(VIT, "vit", "vision transformer") \
	X(RESNET, "resnet", "residual convolutional network") \
	X(MOE, "moe", "decoder-only transformer with a mixture of experts in every layer") \
	X(DEEPSEEK, "deepseek", "decoder-only transformer with latent attention, shared experts and many routed ones") \
	X(DLRM, "dlrm", "recommendation model: embedding tables, interactions, a wide classifier")
#define X(id, name, help) FAMILY_##id,
enum model_family { MODEL_FAMILIES(X) FAMILY_COUNT };
#undef X

enum model_activation { ACTIVATION_GELU, ACTIVATION_TANH, ACTIVATION_RELU };

/* X(field, least value, largest value, help): the sizes that `tidemark model` takes. 0 in a configuration: not used by
 * the family, or what follows from the others (ffn = 4 hidden, kv_heads = heads, head_width = hidden / heads). */
#define MODEL_SIZES(X) \
	X(layers, 1, 1 << 20, "layers (of the encoder and of the decoder in t5; of the top network in dlrm)") \
	X(hidden, 1, 1 << 20, "width of the model") \
	X(heads, 1, 1 << 20, "attention heads") \
	X(kv_heads, 1, 1 << 20, "heads of keys and values (llama)") \
	X(head_width, 1, 1 << 20, "width of a head where it isn't hidden / heads") \
	X(ffn, 1, 1 << 20, "width of the feed-forward layer") \
	X(vocab, 2, 1 << 30, "vocabulary, or rows of an embedding table") \
	X(classes, 2, 1 << 30, "classes (vit, resnet, dlrm)") \
	X(positions, 1, 1 << 20, "learned positions") \
	X(seq, 2, 1 << 20, "sequence length") \
	X(batch, 1, 1 << 20, "samples per step") \
	X(experts, 1, 1 << 20, "experts of a layer (moe, deepseek, llama), embedding tables (dlrm)") \
	X(top_k, 1, 1 << 20, "experts that a token goes to (moe, deepseek, llama)") \
	X(expert_ffn, 1, 1 << 20, "width of an expert's feed-forward layer (deepseek, llama)") \
	X(shared_experts, 0, 1 << 20, "experts that every token goes to (deepseek, llama)") \
	X(shared_ffn, 0, 1 << 20, "width of an expert with a gate of its own that every token goes to (llama)") \
	X(dense_layers, 0, 1 << 20, "first layers without experts (deepseek, llama)") \
	X(sparse_step, 1, 1 << 20, "experts in every n-th layer (llama)") \
	X(q_rank, 0, 1 << 20, "rank of the queries' projection, 0 for a full one (deepseek)") \
	X(kv_rank, 1, 1 << 20, "width of the latent vector of keys and values (deepseek)") \
	X(router_nodes, 0, 1 << 10, "nodes on which a token's experts are at most, 0: any number (deepseek, llama)") \
	X(mtp_layers, 0, 64, "modules that predict tokens behind the next one (deepseek, llama)") \
	X(rope_width, 2, 1 << 20, "part of a head with positions (deepseek, llama)") \
	X(value_width, 1, 1 << 20, "width of a head's values (deepseek)") \
	X(image, 32, 1 << 20, "height and width of images") \
	X(patch, 1, 1 << 20, "height and width of patches (vit)") \
	X(channels, 1, 1 << 20, "channels of images (vit)") \
	X(types, 1, 1 << 20, "kinds of segments (bert)") \
	X(buckets, 1, 1 << 20, "distances with a learned bias (t5)") \
	X(decoder_layers, 1, 1 << 20, "layers of the decoder where they aren't as many as the encoder's (t5)") \
	X(capacity, 1, 1 << 20, "load of the busiest expert in percent of an even share (100): each has room for as much") \
	X(lora, 1, 1 << 16, "rank of adapters beside frozen weights, as peft trains them") \
	X(target, 0, 1, "with lora: which linear layers have them, all or those of attention; never the output layer") \
	X(base, 0, BASE_COUNT - 1, "with lora: the frozen weights, bf16, fp32, nf4, int8 or fp8 (those of linear layers, " \
		"one unpacked at a time)")

struct model_config {
	enum model_family family;
	enum model_activation activation;
	bool dropout, tied; /* dropout layers; output projection shares the embedding */
	bool flash;         /* attention as one kernel that keeps no scores */
	bool fused; /* llama, deepseek: grouped queries without copies, SwiGLU and loss in one kernel each, labels shifted
				   beforehand */
	bool eager_loss; /* llama, deepseek: the loss op by op whatever the kernels are, labels shifted beforehand: where
						layers alone are compiled (torchtitan) */
	bool sigmoid_scores; /* deepseek, llama: scores of experts are sigmoids, else a softmax */
	bool qkv_bias; /* vit: queries, keys and values have biases */
	struct hugging_face *from;       /* a config.json, of no family here; NULL. Lent */
	bool adapters; /* target or base was asked for */
	const char *dtype;               /* of its parameters, where it isn't fp32: "bf16", "f16"; NULL. A constant */
	const char *assumed;             /* what had to be assumed there, a line each; NULL. Lent */
	bool fused_mask;              /* causal mask inside the softmax kernel: no mask tensors */
	int depth;                    /* resnet: 18, 34, 50, 101, 152 */
#define X(field, least, most, help) int64_t field;
	MODEL_SIZES(X)
#undef X
};

struct model_preset {
	const char *name, *help;
	struct model_config config;
};
/* The presets, up to one without a name; a family's own name is its default size. */
extern const struct model_preset model_presets[];

/* The preset of that name, gpt2_xl as gpt2-xl, up to a colon, or NULL. */
const struct model_preset *model_find(const char *name);
/* Other sizes, behind the name: "llama:layers=12:seq=4096", and flash, dropout, fused and eager_loss of 0 or 1.
 * BAD_INPUT: a word that is none. */
enum status model_sizes(struct model_config *config, const char *name, struct error *error);
/* One of them, a number, or a word, as of target=attention. BAD_INPUT: *error says what is expected. */
enum status model_size(struct model_config *config, const char *size, const char *text, struct error *error);

/* The forward graph of a configuration. NULL with *status and *error: BAD_INPUT for sizes that don't fit together
 * (hidden not a multiple of heads, ...), NO_MEMORY. O(ops). */
struct graph *model_build(const char *name, const struct model_config *config, struct error *error);

/* How a built-in model is trained. */
struct model_training {
	bool forward_only;
	enum gradient_policy policy;
	enum optimizer optimizer;
	enum precision precision;
	enum recompute recompute; /* not auto */
	bool accumulate;
	bool narrow_moments;  /* the optimizer's, in bf16 */
	bool float8;          /* float8_apply() */
	uint32_t loss_chunks; /* loss_chunks_apply(); 0 or 1: the loss is whole */
};

/* What `model` and `search` share where nothing else is asked for: mixed precision, Adam, nothing computed again;
 * grouped queries, SwiGLU and loss in kernels of their own; of a config.json the library's own ops. */
extern const struct model_training model_training_default;
/* eager_loss: of a model whose kernels can be fused. */
void model_config_default(struct model_config *config, bool eager_loss);

/* The training step of a configuration: forward graph, precision, train_step(), loss in chunks, recomputation. Errors
 * as theirs. */
struct graph *model_step(const char *name, const struct model_config *config, const struct model_training *training,
	struct error *error);

/* The command: tidemark model NAME [--layers N] ... [-o FILE]. Returns the exit status. */
int model_command(int argc, char **argv);
