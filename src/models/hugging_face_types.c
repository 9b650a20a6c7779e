/* hugging_face_types.c: the table of Hugging Face's model types, with the defaults of transformers 5. */

#include "hugging_face.h"

#define SIZE(key, field, normal) { key, offsetof(struct model_config, field), normal, HF_REQUIRED }
#define SIZE_OR_NULL(key, field, normal) { key, offsetof(struct model_config, field), normal, HF_FOLLOWS }
#define SIZE_TOO(key, field) { key, offsetof(struct model_config, field), HF_KEEP, HF_REQUIRED }
#define SWITCH(key, field, normal) { key, offsetof(struct model_config, field), normal, false }
#define CAP(key, field, normal) { key, offsetof(struct model_config, field), normal, true }
#define SIZES(name, ...) static const struct hf_size name##_sizes[] = { __VA_ARGS__, { 0 } }
#define SWITCHES(name, ...) static const struct hf_switch name##_switches[] = { __VA_ARGS__, { 0 } }
#define SETTINGS(name, ...) static const struct hf_setting name##_settings[] = { __VA_ARGS__, { 0 } }

/* ---- GPT-2, GPT-NeoX, Phi ---- */

#define N_SIZES(count, width, head_count, words) SIZE("n_layer", layers, count), SIZE("n_embd", hidden, width), \
	SIZE("n_head", heads, head_count), SIZE_OR_NULL("n_inner", ffn, HF_FOLLOWS), SIZE("vocab_size", vocab, words)
SIZES(gpt2, N_SIZES(12, 768, 12, 50257), SIZE("n_positions", positions, 1024));
SETTINGS(gpt2, { "add_cross_attention", "false" }, { "scale_attn_by_inverse_layer_idx", "false" },
	{ "reorder_and_upcast_attn", "false" }, { "scale_attn_weights", "true" }, { "pruned_heads", "{}" });

#define BODY_SIZES(count, width, head_count) SIZE("num_hidden_layers", layers, count), \
	SIZE("hidden_size", hidden, width), SIZE("num_attention_heads", heads, head_count)
#define DECODER_SIZES(count, width, head_count, inner, words) BODY_SIZES(count, width, head_count), \
	SIZE("intermediate_size", ffn, inner), SIZE("vocab_size", vocab, words)
#define GROUPED(groups, head) \
	SIZE_OR_NULL("num_key_value_heads", kv_heads, groups), SIZE_OR_NULL("head_dim", head_width, head)
#define UNGROUPED GROUPED(HF_FOLLOWS, HF_FOLLOWS)
#define BIASES(normal) SWITCH("attention_bias", qkv_bias, normal), SWITCH("attention_bias", o_bias, normal)
#define NO_DROPOUT { "attention_dropout", "0" }
#define ALL_ROTARY { "partial_rotary_factor", "1" }, { "rope_parameters.partial_rotary_factor", "1" }

SIZES(neox, DECODER_SIZES(44, 6144, 64, 24576, 50432));
SWITCHES(neox, BIASES(true));
SETTINGS(neox, { "is_decoder", "false" });
SIZES(phi, DECODER_SIZES(24, 2048, 32, 8192, 51200), UNGROUPED);
SWITCHES(phi, SWITCH("qk_layernorm", qk_norms, false));
SIZES(phi3, DECODER_SIZES(32, 3072, 32, 8192, 32064), UNGROUPED);
SETTINGS(phi3, { "attention_bias", "false" }, { "mlp_bias", "false" });
static const struct hf_setting no_settings[] = { { 0 } };
static const struct hf_switch no_switches[] = { { 0 } };

/* ---- Llama, Mistral, Qwen, Mixtral, Gemma ---- */

SIZES(llama, DECODER_SIZES(32, 4096, 32, 11008, 32000), UNGROUPED);
SIZES(mistral, DECODER_SIZES(32, 4096, 32, 14336, 32000), GROUPED(8, HF_FOLLOWS));
SIZES(qwen2, DECODER_SIZES(32, 4096, 32, 22016, 151936), GROUPED(32, HF_FOLLOWS));
SIZES(qwen3, DECODER_SIZES(32, 4096, 32, 22016, 151936), GROUPED(32, 128));
SWITCHES(llama, BIASES(false), SWITCH("mlp_bias", mlp_bias, false));
SWITCHES(attention, BIASES(false));
SETTINGS(llama, NO_DROPOUT, ALL_ROTARY, { "pretraining_tp", "1" });
SETTINGS(mistral, NO_DROPOUT, ALL_ROTARY, { "attention_bias", "false" }, { "mlp_bias", "false" });
SETTINGS(rotary, NO_DROPOUT, ALL_ROTARY);

#define ROUTED(count, chosen, width) \
	SIZE("num_local_experts", experts, count), SIZE_TOO("num_experts", experts), \
		SIZE("num_experts_per_tok", top_k, chosen), width
SIZES(mixtral, DECODER_SIZES(32, 4096, 32, 14336, 32000), GROUPED(8, HF_FOLLOWS),
	ROUTED(8, 2, SIZE("intermediate_size", expert_ffn, 14336)));
SIZES(qwen2_moe, DECODER_SIZES(24, 2048, 16, 5632, 151936), GROUPED(16, HF_FOLLOWS), SIZE("num_experts", experts, 60),
	SIZE("num_experts_per_tok", top_k, 4), SIZE("moe_intermediate_size", expert_ffn, 1408),
	SIZE("shared_expert_intermediate_size", shared_ffn, 5632), SIZE("decoder_sparse_step", sparse_step, 1));
SIZES(qwen3_moe, DECODER_SIZES(24, 2048, 32, 6144, 151936), GROUPED(4, HF_FOLLOWS),
	ROUTED(128, 8, SIZE("moe_intermediate_size", expert_ffn, 768)), SIZE("decoder_sparse_step", sparse_step, 1));
SWITCHES(qwen2_moe, SWITCH("qkv_bias", qkv_bias, true));
SETTINGS(mixture, NO_DROPOUT, ALL_ROTARY, { "hidden_act", "\"silu\"" }, { "router_jitter_noise", "0" });

SIZES(gemma, DECODER_SIZES(28, 3072, 16, 24576, 256000), GROUPED(16, 256));
SIZES(gemma2, DECODER_SIZES(26, 2304, 8, 9216, 256000), GROUPED(4, 256));
SIZES(gemma3, DECODER_SIZES(26, 2304, 8, 9216, 262208), GROUPED(4, 256));
#define CAPS(normal) BIASES(false), CAP("attn_logit_softcapping", score_cap, normal), \
	CAP("final_logit_softcapping", final_cap, normal)
SWITCHES(gemma2, CAPS(true));
SWITCHES(gemma3, CAPS(false));

/* ---- kin of Llama ---- */

SIZES(olmo, DECODER_SIZES(32, 4096, 32, 11008, 50304), UNGROUPED);
SIZES(olmoe, DECODER_SIZES(16, 2048, 16, 2048, 50304), UNGROUPED,
	ROUTED(64, 8, SIZE("intermediate_size", expert_ffn, 2048)));
SIZES(granitemoe, DECODER_SIZES(32, 4096, 32, 11008, 32000), UNGROUPED,
	ROUTED(8, 2, SIZE("intermediate_size", expert_ffn, 11008)));
SIZES(phimoe, DECODER_SIZES(32, 4096, 32, 6400, 32064), GROUPED(8, HF_FOLLOWS),
	ROUTED(16, 2, SIZE("intermediate_size", expert_ffn, 6400)));
SIZES(gpt_oss, DECODER_SIZES(36, 2880, 64, 2880, 201088), GROUPED(8, 64),
	ROUTED(128, 4, SIZE("intermediate_size", expert_ffn, 2880)));
SIZES(cohere, DECODER_SIZES(40, 8192, 64, 22528, 256000), UNGROUPED);
SIZES(cohere2, DECODER_SIZES(40, 8192, 64, 22528, 256000), GROUPED(HF_FOLLOWS, 128));
SIZES(starcoder2, DECODER_SIZES(30, 3072, 24, 12288, 49152), GROUPED(2, HF_FOLLOWS));
SIZES(stablelm, DECODER_SIZES(32, 2560, 32, 6912, 50304), UNGROUPED);
SIZES(glm, DECODER_SIZES(40, 4096, 32, 13696, 151552), GROUPED(2, 128));
SIZES(smollm3, DECODER_SIZES(36, 2048, 16, 11008, 128256), GROUPED(4, HF_FOLLOWS));
SIZES(ministral3, DECODER_SIZES(34, 4096, 32, 14336, 131072), GROUPED(8, 128));
SIZES(seed_oss, DECODER_SIZES(64, 4096, 80, 27648, 155136), GROUPED(8, 128));
SIZES(helium, DECODER_SIZES(24, 2560, 20, 7040, 48000), GROUPED(20, 128));
SIZES(ernie, DECODER_SIZES(18, 1024, 16, 3072, 103424), GROUPED(2, 128));
SIZES(hunyuan, DECODER_SIZES(32, 4096, 32, 11008, 290943), UNGROUPED);
SIZES(exaone4, DECODER_SIZES(32, 4096, 32, 16384, 102400), GROUPED(32, HF_FOLLOWS));
#define USE_BIAS(normal) SWITCH("use_bias", qkv_bias, normal), SWITCH("use_bias", o_bias, normal), \
	SWITCH("use_bias", mlp_bias, normal)
SWITCHES(use_bias, USE_BIAS(false));
SWITCHES(ernie_moe, USE_BIAS(false), SWITCH("use_bias", head_bias, false));
SWITCHES(starcoder2, USE_BIAS(true));
SWITCHES(stablelm, SWITCH("use_qkv_bias", qkv_bias, false));
SWITCHES(glm, SWITCH("attention_bias", qkv_bias, true));
SWITCHES(helium, SWITCH("attention_bias", qkv_bias, false), SWITCH("mlp_bias", mlp_bias, false));
SWITCHES(seed_oss, SWITCH("attention_bias", qkv_bias, true), SWITCH("attention_out_bias", o_bias, false),
	SWITCH("mlp_bias", mlp_bias, false));
SWITCHES(phimoe, BIASES(false), SWITCH("lm_head_bias", head_bias, false));
SWITCHES(gpt_oss, BIASES(true));
SETTINGS(part_rotary, NO_DROPOUT);
SETTINGS(cohere, NO_DROPOUT, ALL_ROTARY, { "use_qk_norm", "false" });
SETTINGS(stablelm, { "qk_layernorm", "false" }, { "use_parallel_residual", "false" });
SETTINGS(olmo, NO_DROPOUT, ALL_ROTARY, { "clip_qkv", "null" });

SIZES(arcee, DECODER_SIZES(32, 2560, 32, 18432, 32000), UNGROUPED);
SIZES(jais2, DECODER_SIZES(32, 3328, 26, 26624, 150272), GROUPED(HF_FOLLOWS, 128));
SIZES(nemotron, DECODER_SIZES(32, 6144, 48, 24576, 256000), UNGROUPED);
SWITCHES(jais2, BIASES(true), SWITCH("mlp_bias", mlp_bias, true));
SIZES(gptj, N_SIZES(28, 4096, 16, 50400), SIZE("rotary_dim", rope_width, 64));
SIZES(opt, BODY_SIZES(12, 768, 12), SIZE("ffn_dim", ffn, 3072), SIZE("vocab_size", vocab, 50272),
	SIZE("max_position_embeddings", positions, 2048));
SETTINGS(opt, { "do_layer_norm_before", "true" }, { "enable_bias", "true" },
	{ "layer_norm_elementwise_affine", "true" }, { "_remove_final_layer_norm", "false" });

/* ---- grouped queries, and experts beside a shared one ---- */

#define BESIDE(count, chosen, width, shared) SIZE("n_routed_experts", experts, count), SIZE("num_experts_per_tok", \
	top_k, chosen), \
	SIZE("moe_intermediate_size", expert_ffn, width), SIZE("n_shared_experts", shared_experts, shared)
#define AHEAD SIZE_OR_NULL("num_nextn_predict_layers", mtp_layers, 0)
SIZES(glm4_moe, DECODER_SIZES(46, 4096, 96, 10944, 151552), GROUPED(8, HF_FOLLOWS), BESIDE(128, 8, 1408, 1),
	SIZE("first_k_dense_replace", dense_layers, 1), AHEAD);
SIZES(dots1, DECODER_SIZES(62, 4096, 32, 10944, 152064), UNGROUPED,
	BESIDE(HF_REQUIRED, HF_REQUIRED, 1408, HF_REQUIRED), SIZE("first_k_dense_replace", dense_layers, 0));
SIZES(minimax_m2, DECODER_SIZES(62, 3072, 48, 1536, 200064), GROUPED(8, 128),
	ROUTED(256, 8, SIZE("intermediate_size", expert_ffn, 1536)));
SIZES(flex_olmo, DECODER_SIZES(32, 4096, 32, 11008, 100352), UNGROUPED,
	ROUTED(7, 5, SIZE("intermediate_size", expert_ffn, 11008)));
SIZES(granitemoeshared, DECODER_SIZES(32, 4096, 32, 11008, 32000), UNGROUPED,
	ROUTED(8, 2, SIZE("intermediate_size", expert_ffn, 11008)), SIZE("shared_intermediate_size", shared_ffn, 0));
SIZES(ernie_moe, DECODER_SIZES(28, 2560, 20, 12288, 103424), GROUPED(4, HF_FOLLOWS),
	SIZE("moe_num_experts", experts, 64), SIZE("moe_k", top_k, 6), SIZE("moe_intermediate_size", expert_ffn, 1536),
	SIZE("moe_num_shared_experts", shared_experts, 2), SIZE("moe_layer_start_index", dense_layers, 1),
	SIZE("moe_layer_interval", sparse_step, 1));
SIZES(llama4, DECODER_SIZES(48, 5120, 40, 8192, 202048), GROUPED(8, 128),
	ROUTED(16, 1, SIZE("intermediate_size", expert_ffn, 8192)), SIZE("intermediate_size", shared_ffn, 8192),
	SIZE("intermediate_size_mlp", ffn, 16384), SIZE("interleave_moe_layer_step", sparse_step, 1));
SWITCHES(glm4_moe, SWITCH("attention_bias", qkv_bias, false), SWITCH("use_qk_norm", qk_norms, false));
SWITCHES(llama4, BIASES(false));
SETTINGS(beside, NO_DROPOUT, { "hidden_act", "\"silu\"" });

/* ---- DeepSeek ---- */

#define LATENT_SIZES SIZE("kv_lora_rank", kv_rank, 512), SIZE_OR_NULL("q_lora_rank", q_rank, 1536), \
	SIZE("qk_nope_head_dim", head_width, 128), \
	SIZE("qk_rope_head_dim", rope_width, 64), SIZE("v_head_dim", value_width, 128)
SIZES(deepseek_v2, DECODER_SIZES(32, 4096, 32, 11008, 102400), LATENT_SIZES,
	SIZE("first_k_dense_replace", dense_layers, 0), BESIDE(64, HF_REQUIRED, 1407, 2));
SIZES(deepseek_v3, DECODER_SIZES(61, 7168, 128, 18432, 129280), LATENT_SIZES,
	SIZE("first_k_dense_replace", dense_layers, 3), BESIDE(256, 8, 2048, 1), AHEAD);
#define LATENT_SETTINGS { "hidden_act", "\"silu\"" }, NO_DROPOUT, ALL_ROTARY, { "pretraining_tp", "1" }
SETTINGS(deepseek_v2, LATENT_SETTINGS, { "mlp_bias", "false" }, { "scoring_func", "\"softmax\"" });
SETTINGS(deepseek_v3, LATENT_SETTINGS, { "scoring_func", "\"sigmoid\"" });


/* ---- encoders ---- */

#define ENCODER_SIZES(words) DECODER_SIZES(12, 768, 12, 3072, words), \
	SIZE("max_position_embeddings", positions, 512), SIZE("type_vocab_size", types, 2)
SIZES(bert, ENCODER_SIZES(30522));
SETTINGS(bert, { "is_decoder", "false" }, { "add_cross_attention", "false" }, { "tie_word_embeddings", "true" },
	{ "position_embedding_type", "\"absolute\"" }, { "pruned_heads", "{}" });
SIZES(roberta, ENCODER_SIZES(50265));
SIZES(vit, BODY_SIZES(12, 768, 12), SIZE("intermediate_size", ffn, 3072), SIZE("image_size", image, 224),
	SIZE("patch_size", patch, 16), SIZE("num_channels", channels, 3));
SWITCHES(vit, SWITCH("qkv_bias", qkv_bias, true));
SETTINGS(vit, { "hidden_dropout_prob", "0" }, { "attention_probs_dropout_prob", "0" }, { "pruned_heads", "{}" });
#define T5_SIZES(count, head_count, inner, words) SIZE("num_layers", layers, count), SIZE("d_model", hidden, 512), \
	SIZE("num_heads", heads, head_count), SIZE("d_kv", head_width, 64), SIZE("d_ff", ffn, inner), \
	SIZE("vocab_size", vocab, words), SIZE("relative_attention_num_buckets", buckets, 32), \
	SIZE_OR_NULL("num_decoder_layers", decoder_layers, HF_FOLLOWS)
SIZES(t5, T5_SIZES(6, 8, 2048, 32128));
SIZES(distilbert, SIZE("n_layers", layers, 6), SIZE("dim", hidden, 768), SIZE("n_heads", heads, 12),
	SIZE("hidden_dim", ffn, 3072), SIZE("vocab_size", vocab, 30522), SIZE("max_position_embeddings", positions, 512));
SETTINGS(distilbert, { "tie_word_embeddings", "true" }, { "sinusoidal_pos_embds", "false" });
SIZES(mt5, T5_SIZES(8, 6, 1024, 250112));
SETTINGS(t5, { "is_encoder_decoder", "true" }, { "is_decoder", "false" });

/* ---- the table ---- */

#define READS(size, switch_, setting) \
	.sizes = size##_sizes, .switches = switch_##_switches, .settings = setting##_settings
#define LLAMA(...) .base = { .family = FAMILY_LLAMA, .flash = true, __VA_ARGS__ }
#define TO(normal) .positions = "max_position_embeddings", .positions_normal = normal
#define WINDOW(normal) .window = "sliding_window", .window_normal = normal
#define ACTS(normal) .activation = "hidden_act", .activation_normal = normal
#define SILU ACTS("silu")
#define GELU(key) .activation = key, .activation_normal = "gelu_pytorch_tanh"
#define LATENT(sigmoid) .base = { .family = FAMILY_DEEPSEEK, .flash = true, .sigmoid_scores = sigmoid }
#define GEMMA3 TO(131072), WINDOW(4096), GELU("hidden_activation"), .tied = true, READS(gemma3, gemma3, rotary), \
	LLAMA(.gelu_gate = true, .scaled_embedding = true, .residual = RESIDUAL_SANDWICH, .qk_norms = true)
#define FURTHER \
	"modules that predict further tokens (num_nextn_predict_layers) are there, as they are trained; the library's " \
	"class leaves them out"
#define PACKED "queries, keys and values are three products where the library writes one"

#define BERT_LIKE(rows) .base = { .family = FAMILY_BERT }, .tied = true, ACTS("gelu"), READS(rows, no, bert), \
	.dropped = true, .dropouts = { "hidden_dropout_prob", "attention_probs_dropout_prob" }
#define MULTIPLIED "products of residuals, scores and logits by a constant are left out"
#define TURNED "every layer turns its queries and keys, also those that the library leaves without positions"

#define GLM TO(131072), SILU, .rotary_normal = 0.5, READS(glm, glm, part_rotary), \
	.assumed = "gate and up are two products where the library writes one"
#define COHERE .layer_norms = true, .norms_without_bias = true, .residual = RESIDUAL_PARALLEL_NORM
#define PARALLEL .mlp_bias = true, .head_bias = true, .layer_norms = true, .plain = true, \
	.residual = RESIDUAL_PARALLEL_NORM
#define GPTJ .positions = "n_positions", .positions_normal = 2048, .activation = "activation_function", \
	.activation_normal = "gelu_new", READS(gptj, no, no), .dropouts = { "resid_pdrop", "embd_pdrop", "attn_pdrop" }
#define TYPE(type, class) .name = type, .architecture = class
#define CAUSAL(type, class, ...) TYPE(type, class "ForCausalLM"), LLAMA(__VA_ARGS__)

const struct hf_type hf_types[] = {
	{ TYPE("gpt2", "GPT2LMHeadModel"), .base = { .family = FAMILY_GPT }, .tied = true,
		.activation = "activation_function", .activation_normal = "gelu_new", READS(gpt2, no, gpt2), .dropped = true,
		.dropouts = { "resid_pdrop", "embd_pdrop", "attn_pdrop" } },
	{ CAUSAL("llama", "Llama",), TO(2048), SILU, READS(llama, llama, llama) },
	{ CAUSAL("mistral", "Mistral",), TO(131072), WINDOW(4096), SILU, READS(mistral, no, mistral) },
	{ CAUSAL("mixtral", "Mixtral",), TO(131072), WINDOW(HF_FOLLOWS), READS(mixtral, no, mixture) },
	{ CAUSAL("qwen2", "Qwen2", .qkv_bias = true), TO(32768), WINDOW(HF_FOLLOWS), .window_asked = true, SILU,
		READS(qwen2, no, rotary) },
	{ CAUSAL("qwen2_moe", "Qwen2Moe",), TO(32768), WINDOW(HF_FOLLOWS), .window_asked = true, READS(qwen2_moe,
		qwen2_moe, mixture) },
	{ CAUSAL("qwen3", "Qwen3", .qk_norms = true), TO(32768), WINDOW(HF_FOLLOWS), .window_asked = true, SILU,
		READS(qwen3, attention, rotary) },
	{ CAUSAL("qwen3_moe", "Qwen3Moe", .qk_norms = true), TO(32768), WINDOW(HF_FOLLOWS), .window_asked = true,
		READS(qwen3_moe, attention, mixture) },
	{ CAUSAL("gemma", "Gemma", .gelu_gate = true, .scaled_embedding = true), TO(8192), GELU("hidden_act"),
		.tied = true, READS(gemma, attention, rotary) },
	{ CAUSAL("gemma2", "Gemma2", .gelu_gate = true, .scaled_embedding = true, .residual = RESIDUAL_SANDWICH),
		TO(8192), WINDOW(4096), GELU("hidden_activation"), .tied = true, READS(gemma2, gemma2, rotary) },
	{ TYPE("gemma3_text", "Gemma3ForCausalLM"), GEMMA3 },
	{ .name = "gemma3", .inner = "text_config",
		.assumed = "the text model alone: images and their encoder are left out",
		.architecture = "Gemma3ForConditionalGeneration", GEMMA3 },
	{ CAUSAL("phi", "Phi", .qkv_bias = true, .o_bias = true, PARALLEL), TO(2048), ACTS("gelu_new"),
		.rotary_normal = 0.5, READS(phi, phi, no), .dropouts = { "resid_pdrop", "embd_pdrop", "attention_dropout" } },
	{ CAUSAL("phi3", "Phi3",), TO(4096), WINDOW(HF_FOLLOWS), SILU, .rotary_normal = 1, READS(phi3, no, phi3),
		.dropouts = { "resid_pdrop", "embd_pdrop", "attention_dropout" }, .assumed = PACKED ", gate and up two" },
	{ CAUSAL("gpt_neox", "GPTNeoX", .mlp_bias = true, .layer_norms = true, .plain = true,
		.residual = RESIDUAL_PARALLEL), TO(2048), ACTS("gelu"), .rotary_normal = 0.25, READS(neox, neox, neox),
		.dropouts = { "hidden_dropout", "attention_dropout" }, .assumed = PACKED },
	{ CAUSAL("olmo", "Olmo", .layer_norms = true, .norms_without_weight = true), TO(2048), SILU, READS(olmo,
		attention, olmo) },
	{ CAUSAL("olmo2", "Olmo2", .whole_qk_norms = true, .residual = RESIDUAL_BEHIND), TO(2048), SILU, READS(olmo,
		attention, rotary) },
	{ CAUSAL("olmo3", "Olmo3", .whole_qk_norms = true, .residual = RESIDUAL_BEHIND), TO(2048), WINDOW(4096),
		SILU, READS(olmo, attention, rotary) },
	{ CAUSAL("olmoe", "Olmoe", .whole_qk_norms = true), TO(4096), READS(olmoe, attention, mixture) },
	{ CAUSAL("granite", "Granite", .scaled_embedding = true), TO(2048), SILU, READS(llama, llama, rotary),
		.assumed = MULTIPLIED },
	{ CAUSAL("granitemoe", "GraniteMoe", .scaled_embedding = true), TO(2048), READS(granitemoe, attention,
		mixture), .assumed = MULTIPLIED },
	{ CAUSAL("cohere", "Cohere", COHERE), TO(8192), SILU, .tied = true, READS(cohere, attention, cohere),
		.assumed = MULTIPLIED },
	{ CAUSAL("cohere2", "Cohere2", COHERE), TO(8192), WINDOW(4096), SILU, .tied = true,
		READS(cohere2, attention, cohere), .assumed = MULTIPLIED "; " TURNED },
	{ CAUSAL("starcoder2", "Starcoder2", .layer_norms = true, .plain = true), TO(4096), WINDOW(HF_FOLLOWS),
		GELU("hidden_act"), .tied = true, READS(starcoder2, starcoder2, no), .dropouts = { "residual_dropout",
		"embedding_dropout", "attention_dropout" } },
	{ CAUSAL("stablelm", "StableLm", .layer_norms = true), TO(4096), SILU, .rotary_normal = 0.25, READS(stablelm,
		stablelm, stablelm), .dropouts = { "hidden_dropout", "attention_dropout" } },
	{ CAUSAL("glm", "Glm", .qkv_bias = true), GLM },
	{ CAUSAL("glm4", "Glm4", .qkv_bias = true, .residual = RESIDUAL_SANDWICH), GLM },
	{ CAUSAL("smollm3", "SmolLM3",), TO(32768), WINDOW(HF_FOLLOWS), .window_asked = true, SILU, .tied = true,
		READS(smollm3, llama, rotary), .assumed = TURNED },
	{ CAUSAL("ministral", "Ministral",), TO(131072), WINDOW(4096), SILU, READS(mistral, no, mistral) },
	{ CAUSAL("ministral3", "Ministral3",), TO(262144), WINDOW(HF_FOLLOWS), SILU, READS(ministral3, no,
		mistral) },
	{ CAUSAL("seed_oss", "SeedOss",), TO(524288), SILU, READS(seed_oss, seed_oss, no), .dropped = true,
		.dropouts = { "residual_dropout", "attention_dropout" } },
	{ CAUSAL("helium", "Helium",), TO(4096), SILU, READS(helium, helium, rotary), .heads_fill = true },
	{ CAUSAL("ernie4_5", "Ernie4_5",), TO(131072), SILU, .tied = true, READS(ernie, use_bias, rotary) },
	{ CAUSAL("hunyuan_v1_dense", "HunYuanDenseV1", .qk_norms = true), TO(2048), SILU, READS(hunyuan, attention,
		rotary) },
	{ CAUSAL("exaone4", "Exaone4", .qk_norms = true, .residual = RESIDUAL_BEHIND), TO(2048), WINDOW(4096), SILU,
		READS(exaone4, no, rotary), .assumed = TURNED },
	{ CAUSAL("phimoe", "Phimoe", .layer_norms = true), TO(131072), WINDOW(HF_FOLLOWS), READS(phimoe, phimoe,
		rotary) },
	{ CAUSAL("gpt_oss", "GptOss", .expert_bias = true, .sinks = true), TO(131072), WINDOW(128), READS(gpt_oss,
		gpt_oss, rotary),
		.assumed = "a head's sink is one number that its results are multiplied by, a kernel of its own" },
	{ CAUSAL("arcee", "Arcee", .plain = true), TO(4096), ACTS("relu2"), READS(arcee, llama, rotary) },
	{ CAUSAL("jais2", "Jais2", .plain = true, .layer_norms = true), TO(8192), ACTS("relu2"), READS(jais2, jais2,
		rotary) },
	{ CAUSAL("nemotron", "Nemotron", .plain = true, .layer_norms = true), TO(4096), ACTS("relu2"),
		.rotary_normal = 0.5, READS(nemotron, llama, part_rotary) },
	{ CAUSAL("gptj", "GPTJ", PARALLEL), GPTJ },
	{ CAUSAL("codegen", "CodeGen", PARALLEL), GPTJ, .assumed = PACKED },
	{ TYPE("opt", "OPTForCausalLM"), .base = { .family = FAMILY_GPT }, .tied = true, .more_positions = 2,
		.activation = "activation_function", .activation_normal = "relu", READS(opt, no, opt), .dropped = true,
		.dropouts = { "dropout" },
		.assumed = "queries, keys and values are one product where the library writes three" },
	{ CAUSAL("vaultgemma", "VaultGemma", .gelu_gate = true, .scaled_embedding = true), TO(8192), WINDOW(4096),
		GELU("hidden_activation"), .tied = true, READS(gemma2, gemma2, rotary) },
	{ CAUSAL("glm4_moe", "Glm4Moe", .sigmoid_scores = true, .shared_plain = true), TO(131072),
		.rotary_normal = 0.5, READS(glm4_moe, glm4_moe, beside), .assumed = FURTHER },
	{ CAUSAL("dots1", "Dots1", .qk_norms = true, .sigmoid_scores = true, .shared_plain = true), TO(2048),
		WINDOW(4096), READS(dots1, attention, beside) },
	{ CAUSAL("minimax_m2", "MiniMaxM2", .whole_qk_norms = true, .sigmoid_scores = true), TO(196608),
		.rotary_normal = 1, READS(minimax_m2, no, beside) },
	{ CAUSAL("flex_olmo", "FlexOlmo", .whole_qk_norms = true, .residual = RESIDUAL_BEHIND), TO(4096),
		READS(flex_olmo, attention, beside) },
	{ CAUSAL("granitemoeshared", "GraniteMoeShared", .scaled_embedding = true, .shared_plain = true), TO(2048),
		READS(granitemoeshared, attention, mixture), .assumed = MULTIPLIED },
	{ CAUSAL("ernie4_5_moe", "Ernie4_5_Moe", .shared_plain = true, .router_offset = true), TO(131072),
		.tied = true, READS(ernie_moe, ernie_moe, beside),
		.assumed = "what is added to the router's scores counts as trained" },
	{ CAUSAL("llama4_text", "Llama4", .sigmoid_scores = true, .shared_plain = true), TO(131072), READS(llama4,
		llama4, beside),
		.assumed = "norms of queries and keys, which have no weights here, are left out; " TURNED },
	{ TYPE("deepseek_v2", "DeepseekV2ForCausalLM"), LATENT(false), TO(2048), READS(deepseek_v2, attention, deepseek_v2) },
	{ TYPE("deepseek_v3", "DeepseekV3ForCausalLM"), LATENT(true), TO(4096), READS(deepseek_v3, attention, deepseek_v3),
		.assumed = FURTHER },
	{ TYPE("bert", "BertForMaskedLM"), BERT_LIKE(bert) },
	{ TYPE("roberta", "RobertaForMaskedLM"), BERT_LIKE(roberta) },
	{ TYPE("xlm-roberta", "XLMRobertaForMaskedLM"), BERT_LIKE(bert) },
	{ TYPE("camembert", "CamembertForMaskedLM"), BERT_LIKE(bert) },
	{ TYPE("data2vec-text", "Data2VecTextForMaskedLM"), BERT_LIKE(bert) },
	{ TYPE("distilbert", "DistilBertForMaskedLM"), .base = { .family = FAMILY_BERT, .untyped = true },
		.tied = true, .activation = "activation", .activation_normal = "gelu", READS(distilbert, no, distilbert),
		.dropped = true, .dropouts = { "dropout", "attention_dropout" } },
	{ TYPE("vit", "ViTForImageClassification"), .base = { .family = FAMILY_VIT }, ACTS("gelu"),
		READS(vit, vit, vit) },
	{ TYPE("t5", "T5ForConditionalGeneration"), .base = { .family = FAMILY_T5,
		.activation = ACTIVATION_RELU }, .tied = true, .positions = "n_positions", .positions_normal = 512, READS(t5,
		no, t5), .dropped = true, .dropouts = { "dropout_rate" } },
	{ TYPE("mt5", "MT5ForConditionalGeneration"), .base = { .family = FAMILY_T5,
		.activation = ACTIVATION_TANH, .gated = true }, .positions = "n_positions", .positions_normal = 512, READS(mt5,
		no, t5), .dropped = true, .dropouts = { "dropout_rate" } },
	{ TYPE("umt5", "UMT5ForConditionalGeneration"), .base = { .family = FAMILY_T5,
		.activation = ACTIVATION_TANH, .gated = true, .layer_bias = true }, .positions = "n_positions",
		.positions_normal = 512, READS(mt5, no, t5), .dropped = true, .dropouts = { "dropout_rate" } },
	{ 0 },
};

/* A star stands for any text, at one end of the word. */
bool hf_harmless(const char *key)
{
	static const char *const words[] = { "_*", "*_token_id", "*_token_index", "initializer_*", "*_eps", "*_epsilon",
		"summary_*", "rope_*", "router_*", "output_*", "id2label", "label2id", "transformers_version", "use_cache",
		"return_dict*", "task_specific_params", "problem_type", "architectures", "model_type", "auto_map",
		"tokenizer_class", "is_encoder_decoder", "is_decoder", "chunk_size_feed_forward", "max_window_layers",
		"use_sliding_window", "layer_types", "query_pre_attn_scalar", "norm_topk_prob", "classifier_*", "n_ctx",
		"n_positions", "tie_word_embeddings", "relative_attention_max_distance", "gradient_checkpointing", "pooler_*",
		"encoder_stride", "dense_act_fn", "is_gated_act", "scale_decoder_outputs", "feed_forward_proj",
		"decoder_start_token_id", "mm_tokens_per_image", "vision_config", "cache_implementation",
		"num_nextn_predict_layers", "n_group", "topk_group", "topk_method", "routed_scaling_factor", "scoring_func",
		"aux_loss_alpha", "seq_aux", "ep_size", "num_key_value_heads", "head_dim", "qk_head_dim", "no_rope_*",
		"*_multiplier", "logits_scaling", "logit_scale", "clip_qkv", "swiglu_*", "mtp_*", "use_mtp", "num_labels",
		"finetuning_task", "use_bidirectional_attention", "mlp_only_layers", "mlp_layer_types", "word_embed_proj_dim",
		"init_std", "scale_attn_weights", "quantization_config", "text_config", "use_parallel_residual",
		"partial_rotary_factor", "directionality", "position_embedding_type", "prefix", "torchscript", "use_bfloat16",
		"pruned_heads", "attn_implementation", "max_length", "min_length", "*_token", "moe_layer*", "sliding_window*",
		"rotary*", "*dtype", "hidden_act*", "*max_position_embeddings" };
	size_t length = strlen(key);
	FOR(i, COUNT_OF(words)) {
		size_t size = strlen(words[i]);
		if (words[i][0] == '*' ? length >= size - 1 && strcmp(key + length - (size - 1), words[i] + 1) == 0
			: words[i][size - 1] == '*' ? strncmp(key, words[i], size - 1) == 0 : strcmp(key, words[i]) == 0)
			return true;
	}
	return false;
}
