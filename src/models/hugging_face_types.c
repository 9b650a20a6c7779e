/* hugging_face_types.c: the table of Hugging Face's model types, with the defaults of transformers 5. */
#include <string.h>

#include "hugging_face_types.h"

#define SIZE(key, field, normal) { key, offsetof(struct model_config, field), normal, HF_REQUIRED }
#define SIZE_OR_NULL(key, field, normal) { key, offsetof(struct model_config, field), normal, HF_FOLLOWS }
#define SIZE_TOO(key, field) { key, offsetof(struct model_config, field), HF_KEEP, HF_REQUIRED }
#define SWITCH(key, field, normal) { key, offsetof(struct model_config, field), normal, false }
#define CAP(key, field, normal) { key, offsetof(struct model_config, field), normal, true }

/* ---- GPT-2, GPT-NeoX, Phi -------------------------------------------------------------------- */

static const struct hf_size gpt2_sizes[] = {
	SIZE("n_layer", layers, 12),
	SIZE("n_embd", hidden, 768),
	SIZE("n_head", heads, 12),
	SIZE_OR_NULL("n_inner", ffn, HF_FOLLOWS),
	SIZE("vocab_size", vocab, 50257),
	SIZE("n_positions", positions, 1024),
	{ 0 },
};
static const struct hf_setting gpt2_settings[] = {
	{ "add_cross_attention", "false" },
	{ "scale_attn_by_inverse_layer_idx", "false" },
	{ "reorder_and_upcast_attn", "false" },
	{ "scale_attn_weights", "true" },
	{ "pruned_heads", "{}" },
	{ 0 },
};

#define DECODER_SIZES(count, width, head_count, inner, words) SIZE("num_hidden_layers", layers, count), \
	SIZE("hidden_size", hidden, width), \
	SIZE("num_attention_heads", heads, head_count), SIZE("intermediate_size", ffn, inner), SIZE("vocab_size", vocab, words)
#define GROUPED(groups, head) \
	SIZE_OR_NULL("num_key_value_heads", kv_heads, groups), SIZE_OR_NULL("head_dim", head_width, head)
#define BIASES(normal) SWITCH("attention_bias", qkv_bias, normal), SWITCH("attention_bias", o_bias, normal)
#define NO_DROPOUT { "attention_dropout", "0" }
#define ALL_ROTARY { "partial_rotary_factor", "1" }, { "rope_parameters.partial_rotary_factor", "1" }

static const struct hf_size neox_sizes[] = { DECODER_SIZES(44, 6144, 64, 24576, 50432), { 0 } };
static const struct hf_switch neox_switches[] = { BIASES(true), { 0 } };
static const struct hf_setting neox_settings[] = { { "is_decoder", "false" }, { 0 } };
static const struct hf_size phi_sizes[] = { DECODER_SIZES(24, 2048, 32, 8192, 51200), GROUPED(HF_FOLLOWS, HF_FOLLOWS),
	{ 0 } };
static const struct hf_switch phi_switches[] = { SWITCH("qk_layernorm", qk_norms, false), { 0 } };
static const struct hf_size phi3_sizes[] = { DECODER_SIZES(32, 3072, 32, 8192, 32064), GROUPED(HF_FOLLOWS, HF_FOLLOWS),
	{ 0 } };
static const struct hf_setting phi3_settings[] = { { "attention_bias", "false" }, { "mlp_bias", "false" }, { 0 } };
static const struct hf_setting no_settings[] = { { 0 } };
static const struct hf_switch no_switches[] = { { 0 } };

/* ---- Llama, Mistral, Qwen, Mixtral, Gemma ---------------------------------------------------- */

static const struct hf_size llama_sizes[] = { DECODER_SIZES(32, 4096, 32, 11008, 32000),
	GROUPED(HF_FOLLOWS, HF_FOLLOWS), { 0 } };
static const struct hf_size mistral_sizes[] = { DECODER_SIZES(32, 4096, 32, 14336, 32000), GROUPED(8, HF_FOLLOWS),
	{ 0 } };
static const struct hf_size qwen2_sizes[] = { DECODER_SIZES(32, 4096, 32, 22016, 151936), GROUPED(32, HF_FOLLOWS),
	{ 0 } };
static const struct hf_size qwen3_sizes[] = { DECODER_SIZES(32, 4096, 32, 22016, 151936), GROUPED(32, 128), { 0 } };
static const struct hf_switch llama_switches[] = { BIASES(false), SWITCH("mlp_bias", mlp_bias, false), { 0 } };
static const struct hf_switch attention_switches[] = { BIASES(false), { 0 } };
static const struct hf_setting llama_settings[] = { NO_DROPOUT, ALL_ROTARY, { "pretraining_tp", "1" }, { 0 } };
static const struct hf_setting mistral_settings[] = { NO_DROPOUT, ALL_ROTARY, { "attention_bias", "false" },
	{ "mlp_bias", "false" }, { 0 } };
static const struct hf_setting rotary_settings[] = { NO_DROPOUT, ALL_ROTARY, { 0 } };

#define ROUTED(count, chosen, width) \
	SIZE("num_local_experts", experts, count), SIZE_TOO("num_experts", experts), \
		SIZE("num_experts_per_tok", top_k, chosen), width
static const struct hf_size mixtral_sizes[] = {
	DECODER_SIZES(32, 4096, 32, 14336, 32000),
	GROUPED(8, HF_FOLLOWS),
	ROUTED(8, 2, SIZE("intermediate_size", expert_ffn, 14336)),
	{ 0 },
};
static const struct hf_size qwen2_moe_sizes[] = {
	DECODER_SIZES(24, 2048, 16, 5632, 151936),
	GROUPED(16, HF_FOLLOWS),
	SIZE("num_experts", experts, 60),
	SIZE("num_experts_per_tok", top_k, 4),
	SIZE("moe_intermediate_size", expert_ffn, 1408),
	SIZE("shared_expert_intermediate_size", shared_ffn, 5632),
	SIZE("decoder_sparse_step", sparse_step, 1),
	{ 0 },
};
static const struct hf_size qwen3_moe_sizes[] = {
	DECODER_SIZES(24, 2048, 32, 6144, 151936),
	GROUPED(4, HF_FOLLOWS),
	ROUTED(128, 8, SIZE("moe_intermediate_size", expert_ffn, 768)),
	SIZE("decoder_sparse_step", sparse_step, 1),
	{ 0 },
};
static const struct hf_switch qwen2_moe_switches[] = { SWITCH("qkv_bias", qkv_bias, true), { 0 } };
static const struct hf_setting mixture_settings[] = { NO_DROPOUT, ALL_ROTARY, { "hidden_act", "\"silu\"" },
	{ "router_jitter_noise", "0" }, { 0 } };

static const struct hf_size gemma_sizes[] = { DECODER_SIZES(28, 3072, 16, 24576, 256000), GROUPED(16, 256), { 0 } };
static const struct hf_size gemma2_sizes[] = { DECODER_SIZES(26, 2304, 8, 9216, 256000), GROUPED(4, 256), { 0 } };
static const struct hf_size gemma3_sizes[] = { DECODER_SIZES(26, 2304, 8, 9216, 262208), GROUPED(4, 256), { 0 } };
static const struct hf_switch gemma2_switches[] = { BIASES(false), CAP("attn_logit_softcapping", score_cap, true),
	CAP("final_logit_softcapping", final_cap, true), { 0 } };
static const struct hf_switch gemma3_switches[] = { BIASES(false), CAP("attn_logit_softcapping", score_cap, false),
	CAP("final_logit_softcapping", final_cap, false), { 0 } };

/* ---- kin of Llama ---------------------------------------------------------------------------- */

static const struct hf_size olmo_sizes[] = { DECODER_SIZES(32, 4096, 32, 11008, 50304), GROUPED(HF_FOLLOWS, HF_FOLLOWS),
	{ 0 } };
static const struct hf_size olmoe_sizes[] = { DECODER_SIZES(16, 2048, 16, 2048, 50304), GROUPED(HF_FOLLOWS, HF_FOLLOWS),
	ROUTED(64, 8, SIZE("intermediate_size", expert_ffn, 2048)), { 0 } };
static const struct hf_size granitemoe_sizes[] = { DECODER_SIZES(32, 4096, 32, 11008, 32000),
	GROUPED(HF_FOLLOWS, HF_FOLLOWS), ROUTED(8, 2, SIZE("intermediate_size", expert_ffn, 11008)), { 0 } };
static const struct hf_size phimoe_sizes[] = { DECODER_SIZES(32, 4096, 32, 6400, 32064), GROUPED(8, HF_FOLLOWS),
	ROUTED(16, 2, SIZE("intermediate_size", expert_ffn, 6400)), { 0 } };
static const struct hf_size gpt_oss_sizes[] = { DECODER_SIZES(36, 2880, 64, 2880, 201088), GROUPED(8, 64),
	ROUTED(128, 4, SIZE("intermediate_size", expert_ffn, 2880)), { 0 } };
static const struct hf_size cohere_sizes[] = { DECODER_SIZES(40, 8192, 64, 22528, 256000),
	GROUPED(HF_FOLLOWS, HF_FOLLOWS), { 0 } };
static const struct hf_size cohere2_sizes[] = { DECODER_SIZES(40, 8192, 64, 22528, 256000), GROUPED(HF_FOLLOWS, 128),
	{ 0 } };
static const struct hf_size starcoder2_sizes[] = { DECODER_SIZES(30, 3072, 24, 12288, 49152), GROUPED(2, HF_FOLLOWS),
	{ 0 } };
static const struct hf_size stablelm_sizes[] = { DECODER_SIZES(32, 2560, 32, 6912, 50304),
	GROUPED(HF_FOLLOWS, HF_FOLLOWS), { 0 } };
static const struct hf_size glm_sizes[] = { DECODER_SIZES(40, 4096, 32, 13696, 151552), GROUPED(2, 128), { 0 } };
static const struct hf_size smollm3_sizes[] = { DECODER_SIZES(36, 2048, 16, 11008, 128256), GROUPED(4, HF_FOLLOWS),
	{ 0 } };
static const struct hf_size ministral3_sizes[] = { DECODER_SIZES(34, 4096, 32, 14336, 131072), GROUPED(8, 128), { 0 } };
static const struct hf_size seed_oss_sizes[] = { DECODER_SIZES(64, 4096, 80, 27648, 155136), GROUPED(8, 128), { 0 } };
static const struct hf_size helium_sizes[] = { DECODER_SIZES(24, 2560, 20, 7040, 48000), GROUPED(20, 128), { 0 } };
static const struct hf_size ernie_sizes[] = { DECODER_SIZES(18, 1024, 16, 3072, 103424), GROUPED(2, 128), { 0 } };
static const struct hf_size hunyuan_sizes[] = { DECODER_SIZES(32, 4096, 32, 11008, 290943),
	GROUPED(HF_FOLLOWS, HF_FOLLOWS), { 0 } };
static const struct hf_size exaone4_sizes[] = { DECODER_SIZES(32, 4096, 32, 16384, 102400), GROUPED(32, HF_FOLLOWS),
	{ 0 } };
static const struct hf_switch use_bias_switches[] = { SWITCH("use_bias", qkv_bias, false),
	SWITCH("use_bias", o_bias, false), SWITCH("use_bias", mlp_bias, false), { 0 } };
static const struct hf_switch ernie_moe_switches[] = { SWITCH("use_bias", qkv_bias, false),
	SWITCH("use_bias", o_bias, false), SWITCH("use_bias", mlp_bias, false), SWITCH("use_bias", head_bias, false),
	{ 0 } };
static const struct hf_switch starcoder2_switches[] = { SWITCH("use_bias", qkv_bias, true),
	SWITCH("use_bias", o_bias, true), SWITCH("use_bias", mlp_bias, true), { 0 } };
static const struct hf_switch stablelm_switches[] = { SWITCH("use_qkv_bias", qkv_bias, false), { 0 } };
static const struct hf_switch glm_switches[] = { SWITCH("attention_bias", qkv_bias, true), { 0 } };
static const struct hf_switch helium_switches[] = { SWITCH("attention_bias", qkv_bias, false),
	SWITCH("mlp_bias", mlp_bias, false), { 0 } };
static const struct hf_switch seed_oss_switches[] = { SWITCH("attention_bias", qkv_bias, true),
	SWITCH("attention_out_bias", o_bias, false), SWITCH("mlp_bias", mlp_bias, false), { 0 } };
static const struct hf_switch phimoe_switches[] = { BIASES(false), SWITCH("lm_head_bias", head_bias, false), { 0 } };
static const struct hf_switch gpt_oss_switches[] = { BIASES(true), { 0 } };
static const struct hf_setting part_rotary_settings[] = { NO_DROPOUT, { 0 } };
static const struct hf_setting cohere_settings[] = { NO_DROPOUT, ALL_ROTARY, { "use_qk_norm", "false" }, { 0 } };
static const struct hf_setting stablelm_settings[] = { { "qk_layernorm", "false" },
	{ "use_parallel_residual", "false" }, { 0 } };
static const struct hf_setting olmo_settings[] = { NO_DROPOUT, ALL_ROTARY, { "clip_qkv", "null" }, { 0 } };

static const struct hf_size arcee_sizes[] = { DECODER_SIZES(32, 2560, 32, 18432, 32000),
	GROUPED(HF_FOLLOWS, HF_FOLLOWS), { 0 } };
static const struct hf_size cwm_sizes[] = { DECODER_SIZES(64, 6144, 48, 21504, 128256), GROUPED(8, 128), { 0 } };
static const struct hf_size jais2_sizes[] = { DECODER_SIZES(32, 3328, 26, 26624, 150272), GROUPED(HF_FOLLOWS, 128),
	{ 0 } };
static const struct hf_size nemotron_sizes[] = { DECODER_SIZES(32, 6144, 48, 24576, 256000),
	GROUPED(HF_FOLLOWS, HF_FOLLOWS), { 0 } };
static const struct hf_switch jais2_switches[] = { BIASES(true), SWITCH("mlp_bias", mlp_bias, true), { 0 } };
static const struct hf_setting gptj_settings[] = { { 0 } };
static const struct hf_size gptj_sizes[] = { SIZE("n_layer", layers, 28), SIZE("n_embd", hidden, 4096),
	SIZE("n_head", heads, 16), SIZE_OR_NULL("n_inner", ffn, HF_FOLLOWS), SIZE("vocab_size", vocab, 50400),
	SIZE("rotary_dim", rope_width, 64), { 0 } };
static const struct hf_size opt_sizes[] = { SIZE("num_hidden_layers", layers, 12), SIZE("hidden_size", hidden, 768),
	SIZE("num_attention_heads", heads, 12), SIZE("ffn_dim", ffn, 3072), SIZE("vocab_size", vocab, 50272),
	SIZE("max_position_embeddings", positions, 2048), { 0 } };
static const struct hf_setting opt_settings[] = { { "do_layer_norm_before", "true" }, { "enable_bias", "true" },
	{ "layer_norm_elementwise_affine", "true" }, { "_remove_final_layer_norm", "false" }, { 0 } };

/* ---- grouped queries, and experts beside a shared one ---------------------------------------- */

#define BESIDE(count, chosen, width, shared) SIZE("n_routed_experts", experts, count), SIZE("num_experts_per_tok", \
	top_k, chosen), \
	SIZE("moe_intermediate_size", expert_ffn, width), SIZE("n_shared_experts", shared_experts, shared)
#define AHEAD SIZE_OR_NULL("num_nextn_predict_layers", mtp_layers, 0)
static const struct hf_size glm4_moe_sizes[] = { DECODER_SIZES(46, 4096, 96, 10944, 151552), GROUPED(8, HF_FOLLOWS),
	BESIDE(128, 8, 1408, 1), SIZE("first_k_dense_replace", dense_layers, 1), AHEAD, { 0 } };
static const struct hf_size dots1_sizes[] = { DECODER_SIZES(62, 4096, 32, 10944, 152064),
	GROUPED(HF_FOLLOWS, HF_FOLLOWS), BESIDE(HF_REQUIRED, HF_REQUIRED, 1408, HF_REQUIRED),
	SIZE("first_k_dense_replace", dense_layers, 0), { 0 } };
static const struct hf_size solar_open_sizes[] = { DECODER_SIZES(48, 4096, 64, 10240, 196608), GROUPED(8, 128),
	BESIDE(128, 8, 1280, 1), { 0 } };
static const struct hf_size exaone_moe_sizes[] = { DECODER_SIZES(32, 4096, 32, 16384, 102400), GROUPED(32, HF_FOLLOWS),
	SIZE("num_experts", experts, 64), SIZE("num_experts_per_tok", top_k, 8),
	SIZE("moe_intermediate_size", expert_ffn, 1024), SIZE("num_shared_experts", shared_experts, 1),
	SIZE("first_k_dense_replace", dense_layers, 1), { 0 } };
static const struct hf_size minimax_m2_sizes[] = { DECODER_SIZES(62, 3072, 48, 1536, 200064), GROUPED(8, 128),
	ROUTED(256, 8, SIZE("intermediate_size", expert_ffn, 1536)), { 0 } };
static const struct hf_size mellum_sizes[] = { DECODER_SIZES(28, 2304, 32, 7168, 98304), GROUPED(4, 128),
	ROUTED(64, 8, SIZE("moe_intermediate_size", expert_ffn, 896)), { 0 } };
static const struct hf_size flex_olmo_sizes[] = { DECODER_SIZES(32, 4096, 32, 11008, 100352),
	GROUPED(HF_FOLLOWS, HF_FOLLOWS), ROUTED(7, 5, SIZE("intermediate_size", expert_ffn, 11008)), { 0 } };
static const struct hf_size granitemoeshared_sizes[] = { DECODER_SIZES(32, 4096, 32, 11008, 32000),
	GROUPED(HF_FOLLOWS, HF_FOLLOWS), ROUTED(8, 2, SIZE("intermediate_size", expert_ffn, 11008)),
	SIZE("shared_intermediate_size", shared_ffn, 0), { 0 } };
static const struct hf_size ernie_moe_sizes[] = { DECODER_SIZES(28, 2560, 20, 12288, 103424), GROUPED(4, HF_FOLLOWS),
	SIZE("moe_num_experts", experts, 64), SIZE("moe_k", top_k, 6), SIZE("moe_intermediate_size", expert_ffn, 1536),
	SIZE("moe_num_shared_experts", shared_experts, 2), SIZE("moe_layer_start_index", dense_layers, 1),
	SIZE("moe_layer_interval", sparse_step, 1), { 0 } };
static const struct hf_size llama4_sizes[] = { DECODER_SIZES(48, 5120, 40, 8192, 202048), GROUPED(8, 128),
	ROUTED(16, 1, SIZE("intermediate_size", expert_ffn, 8192)), SIZE("intermediate_size", shared_ffn, 8192),
	SIZE("intermediate_size_mlp", ffn, 16384), SIZE("interleave_moe_layer_step", sparse_step, 1), { 0 } };
static const struct hf_switch glm4_moe_switches[] = { SWITCH("attention_bias", qkv_bias, false),
	SWITCH("use_qk_norm", qk_norms, false), { 0 } };
static const struct hf_switch glm_switches_off[] = { SWITCH("attention_bias", qkv_bias, false), { 0 } };
static const struct hf_switch llama4_switches[] = { BIASES(false), { 0 } };
static const struct hf_setting beside_settings[] = { NO_DROPOUT, { "hidden_act", "\"silu\"" }, { 0 } };

/* ---- DeepSeek -------------------------------------------------------------------------------- */

#define LATENT_SIZES SIZE("kv_lora_rank", kv_rank, 512), SIZE_OR_NULL("q_lora_rank", q_rank, 1536), \
	SIZE("qk_nope_head_dim", head_width, 128), \
	SIZE("qk_rope_head_dim", rope_width, 64), SIZE("v_head_dim", value_width, 128)
static const struct hf_size deepseek_v2_sizes[] = {
	DECODER_SIZES(32, 4096, 32, 11008, 102400),
	LATENT_SIZES,
	SIZE("first_k_dense_replace", dense_layers, 0),
	SIZE("n_routed_experts", experts, 64),
	SIZE("num_experts_per_tok", top_k, HF_REQUIRED),
	SIZE("n_shared_experts", shared_experts, 2),
	SIZE("moe_intermediate_size", expert_ffn, 1407),
	{ 0 },
};
static const struct hf_size deepseek_v3_sizes[] = {
	DECODER_SIZES(61, 7168, 128, 18432, 129280),
	LATENT_SIZES,
	SIZE("first_k_dense_replace", dense_layers, 3),
	SIZE("n_routed_experts", experts, 256),
	SIZE("num_experts_per_tok", top_k, 8),
	SIZE("n_shared_experts", shared_experts, 1),
	SIZE("moe_intermediate_size", expert_ffn, 2048),
	AHEAD,
	{ 0 },
};
static const struct hf_setting deepseek_v2_settings[] = { { "hidden_act", "\"silu\"" }, NO_DROPOUT, ALL_ROTARY,
	{ "pretraining_tp", "1" }, { "mlp_bias", "false" }, { "scoring_func", "\"softmax\"" }, { 0 } };
static const struct hf_setting deepseek_v3_settings[] = { { "hidden_act", "\"silu\"" }, NO_DROPOUT, ALL_ROTARY,
	{ "pretraining_tp", "1" }, { "scoring_func", "\"sigmoid\"" }, { 0 } };

static const struct hf_size youtu_sizes[] = { DECODER_SIZES(32, 2048, 16, 6144, 128256), LATENT_SIZES, { 0 } };
static const struct hf_setting youtu_settings[] = { { "hidden_act", "\"silu\"" }, NO_DROPOUT, ALL_ROTARY, { 0 } };

/* ---- encoders -------------------------------------------------------------------------------- */

static const struct hf_size bert_sizes[] = {
	SIZE("num_hidden_layers", layers, 12),
	SIZE("hidden_size", hidden, 768),
	SIZE("num_attention_heads", heads, 12),
	SIZE("intermediate_size", ffn, 3072),
	SIZE("vocab_size", vocab, 30522),
	SIZE("max_position_embeddings", positions, 512),
	SIZE("type_vocab_size", types, 2),
	{ 0 },
};
static const struct hf_setting bert_settings[] = {
	{ "is_decoder", "false" },
	{ "add_cross_attention", "false" },
	{ "tie_word_embeddings", "true" },
	{ "position_embedding_type", "\"absolute\"" },
	{ "pruned_heads", "{}" },
	{ 0 },
};
static const struct hf_size roberta_sizes[] = {
	SIZE("num_hidden_layers", layers, 12),
	SIZE("hidden_size", hidden, 768),
	SIZE("num_attention_heads", heads, 12),
	SIZE("intermediate_size", ffn, 3072),
	SIZE("vocab_size", vocab, 50265),
	SIZE("max_position_embeddings", positions, 512),
	SIZE("type_vocab_size", types, 2),
	{ 0 },
};
static const struct hf_size vit_sizes[] = {
	SIZE("num_hidden_layers", layers, 12),
	SIZE("hidden_size", hidden, 768),
	SIZE("num_attention_heads", heads, 12),
	SIZE("intermediate_size", ffn, 3072),
	SIZE("image_size", image, 224),
	SIZE("patch_size", patch, 16),
	SIZE("num_channels", channels, 3),
	{ 0 },
};
static const struct hf_switch vit_switches[] = { SWITCH("qkv_bias", qkv_bias, true), { 0 } };
static const struct hf_setting vit_settings[] = { { "hidden_dropout_prob", "0" },
	{ "attention_probs_dropout_prob", "0" }, { "pruned_heads", "{}" }, { 0 } };
static const struct hf_size t5_sizes[] = {
	SIZE("num_layers", layers, 6),
	SIZE("d_model", hidden, 512),
	SIZE("num_heads", heads, 8),
	SIZE("d_kv", head_width, 64),
	SIZE("d_ff", ffn, 2048),
	SIZE("vocab_size", vocab, 32128),
	SIZE("relative_attention_num_buckets", buckets, 32),
	SIZE_OR_NULL("num_decoder_layers", decoder_layers, HF_FOLLOWS),
	{ 0 },
};
static const struct hf_size distilbert_sizes[] = { SIZE("n_layers", layers, 6), SIZE("dim", hidden, 768),
	SIZE("n_heads", heads, 12), SIZE("hidden_dim", ffn, 3072), SIZE("vocab_size", vocab, 30522),
	SIZE("max_position_embeddings", positions, 512), { 0 } };
static const struct hf_setting distilbert_settings[] = { { "tie_word_embeddings", "true" },
	{ "sinusoidal_pos_embds", "false" }, { 0 } };
static const struct hf_size mt5_sizes[] = {
	SIZE("num_layers", layers, 8),
	SIZE("d_model", hidden, 512),
	SIZE("num_heads", heads, 6),
	SIZE("d_kv", head_width, 64),
	SIZE("d_ff", ffn, 1024),
	SIZE("vocab_size", vocab, 250112),
	SIZE("relative_attention_num_buckets", buckets, 32),
	SIZE_OR_NULL("num_decoder_layers", decoder_layers, HF_FOLLOWS),
	{ 0 },
};
static const struct hf_setting t5_settings[] = { { "is_encoder_decoder", "true" }, { "is_decoder", "false" }, { 0 } };

/* ---- the table ------------------------------------------------------------------------------- */

#define LLAMA(...) .base = { .family = FAMILY_LLAMA, .flash = true, __VA_ARGS__ }
#define TO(normal) .positions = "max_position_embeddings", .positions_normal = normal
#define WINDOW(normal) .window = "sliding_window", .window_normal = normal
#define SILU .activation = "hidden_act", .activation_normal = "silu"
#define GELU(key) .activation = key, .activation_normal = "gelu_pytorch_tanh"
#define LATENT(sigmoid) .base = { .family = FAMILY_DEEPSEEK, .flash = true, .sigmoid_scores = sigmoid }
#define GEMMA3 TO(131072), WINDOW(4096), GELU("hidden_activation"), .tied = true, .sizes = gemma3_sizes, \
	.switches = gemma3_switches, .settings = rotary_settings, \
	LLAMA(.gelu_gate = true, .scaled_embedding = true, .residual = RESIDUAL_SANDWICH, .qk_norms = true)
#define CAPACITY \
	"every expert gets its fair share of the tokens (a capacity factor of 1); the load-balancing loss is left out"
#define FURTHER \
	"; modules that predict further tokens (num_nextn_predict_layers) are there, as they are trained; the library's " \
	"class leaves them out"
#define PACKED "queries, keys and values are three products where the library writes one"

#define BERT_LIKE(rows) .base = { .family = FAMILY_BERT }, .tied = true, .activation = "hidden_act", \
	.activation_normal = "gelu", .sizes = rows, \
	.switches = no_switches, .settings = bert_settings, .dropped = true, .dropouts = { "hidden_dropout_prob", \
		"attention_probs_dropout_prob" }
#define MULTIPLIED "products of residuals, scores and logits by a constant are left out"
#define TURNED "every layer turns its queries and keys, also those that the library leaves without positions"

const struct hf_type hf_types[] = {
	{ .name = "gpt2",
		.architecture = "GPT2LMHeadModel",
		.base = { .family = FAMILY_GPT },
		.tied = true,
		.activation = "activation_function",
		.activation_normal = "gelu_new",
		.sizes = gpt2_sizes,
		.switches = no_switches,
		.settings = gpt2_settings,
		.dropped = true,
		.dropouts = { "resid_pdrop", "embd_pdrop", "attn_pdrop" } },
	{ .name = "llama",
		.architecture = "LlamaForCausalLM",
		LLAMA(),
		TO(2048),
		SILU,
		.sizes = llama_sizes,
		.switches = llama_switches,
		.settings = llama_settings },
	{ .name = "mistral",
		.architecture = "MistralForCausalLM",
		LLAMA(),
		TO(131072),
		WINDOW(4096),
		SILU,
		.sizes = mistral_sizes,
		.switches = no_switches,
		.settings = mistral_settings },
	{ .name = "mixtral",
		.architecture = "MixtralForCausalLM",
		LLAMA(),
		TO(131072),
		WINDOW(HF_FOLLOWS),
		.sizes = mixtral_sizes,
		.switches = no_switches,
		.settings = mixture_settings,
		.assumed = CAPACITY },
	{ .name = "qwen2",
		.architecture = "Qwen2ForCausalLM",
		LLAMA(.qkv_bias = true),
		TO(32768),
		WINDOW(HF_FOLLOWS),
		.window_asked = true,
		SILU,
		.sizes = qwen2_sizes,
		.switches = no_switches,
		.settings = rotary_settings },
	{ .name = "qwen2_moe",
		.architecture = "Qwen2MoeForCausalLM",
		LLAMA(),
		TO(32768),
		WINDOW(HF_FOLLOWS),
		.window_asked = true,
		.sizes = qwen2_moe_sizes,
		.switches = qwen2_moe_switches,
		.settings = mixture_settings,
		.assumed = CAPACITY },
	{ .name = "qwen3",
		.architecture = "Qwen3ForCausalLM",
		LLAMA(.qk_norms = true),
		TO(32768),
		WINDOW(HF_FOLLOWS),
		.window_asked = true,
		SILU,
		.sizes = qwen3_sizes,
		.switches = attention_switches,
		.settings = rotary_settings },
	{ .name = "qwen3_moe",
		.architecture = "Qwen3MoeForCausalLM",
		LLAMA(.qk_norms = true),
		TO(32768),
		WINDOW(HF_FOLLOWS),
		.window_asked = true,
		.sizes = qwen3_moe_sizes,
		.switches = attention_switches,
		.settings = mixture_settings,
		.assumed = CAPACITY },
	{ .name = "gemma",
		.architecture = "GemmaForCausalLM",
		LLAMA(.gelu_gate = true, .scaled_embedding = true),
		TO(8192),
		GELU("hidden_act"),
		.tied = true,
		.sizes = gemma_sizes,
		.switches = attention_switches,
		.settings = rotary_settings },
	{ .name = "gemma2",
		.architecture = "Gemma2ForCausalLM",
		LLAMA(.gelu_gate = true, .scaled_embedding = true, .residual = RESIDUAL_SANDWICH),
		TO(8192),
		WINDOW(4096),
		GELU("hidden_activation"),
		.tied = true,
		.sizes = gemma2_sizes,
		.switches = gemma2_switches,
		.settings = rotary_settings },
	{ .name = "gemma3_text", .architecture = "Gemma3ForCausalLM", GEMMA3 },
	{ .name = "gemma3",
		.inner = "text_config",
		.assumed = "the text model alone: images and their encoder are left out",
		.architecture = "Gemma3ForConditionalGeneration",
		GEMMA3 },
	{ .name = "phi",
		.architecture = "PhiForCausalLM",
		LLAMA(.qkv_bias = true, .o_bias = true, .mlp_bias = true, .head_bias = true, .layer_norms = true, .plain = true,
			.residual = RESIDUAL_PARALLEL_NORM),
		TO(2048),
		.activation = "hidden_act",
		.activation_normal = "gelu_new",
		.rotary_normal = 0.5,
		.sizes = phi_sizes,
		.switches = phi_switches,
		.settings = no_settings,
		.dropouts = { "resid_pdrop", "embd_pdrop", "attention_dropout" } },
	{ .name = "phi3",
		.architecture = "Phi3ForCausalLM",
		LLAMA(),
		TO(4096),
		WINDOW(HF_FOLLOWS),
		SILU,
		.rotary_normal = 1,
		.sizes = phi3_sizes,
		.switches = no_switches,
		.settings = phi3_settings,
		.dropouts = { "resid_pdrop", "embd_pdrop", "attention_dropout" },
		.assumed = PACKED ", gate and up two" },
	{ .name = "gpt_neox",
		.architecture = "GPTNeoXForCausalLM",
		LLAMA(.mlp_bias = true, .layer_norms = true, .plain = true, .residual = RESIDUAL_PARALLEL),
		TO(2048),
		.activation = "hidden_act",
		.activation_normal = "gelu",
		.rotary_normal = 0.25,
		.sizes = neox_sizes,
		.switches = neox_switches,
		.settings = neox_settings,
		.dropouts = { "hidden_dropout", "attention_dropout" },
		.assumed = PACKED },
	{ .name = "olmo",
		.architecture = "OlmoForCausalLM",
		LLAMA(.layer_norms = true, .norms_without_weight = true),
		TO(2048),
		SILU,
		.sizes = olmo_sizes,
		.switches = attention_switches,
		.settings = olmo_settings },
	{ .name = "olmo2",
		.architecture = "Olmo2ForCausalLM",
		LLAMA(.whole_qk_norms = true, .residual = RESIDUAL_BEHIND),
		TO(2048),
		SILU,
		.sizes = olmo_sizes,
		.switches = attention_switches,
		.settings = rotary_settings },
	{ .name = "olmo3",
		.architecture = "Olmo3ForCausalLM",
		LLAMA(.whole_qk_norms = true, .residual = RESIDUAL_BEHIND),
		TO(2048),
		WINDOW(4096),
		SILU,
		.sizes = olmo_sizes,
		.switches = attention_switches,
		.settings = rotary_settings },
	{ .name = "olmoe",
		.architecture = "OlmoeForCausalLM",
		LLAMA(.whole_qk_norms = true),
		TO(4096),
		.sizes = olmoe_sizes,
		.switches = attention_switches,
		.settings = mixture_settings,
		.assumed = CAPACITY },
	{ .name = "granite",
		.architecture = "GraniteForCausalLM",
		LLAMA(.scaled_embedding = true),
		TO(2048),
		SILU,
		.sizes = llama_sizes,
		.switches = llama_switches,
		.settings = rotary_settings,
		.assumed = MULTIPLIED },
	{ .name = "granitemoe",
		.architecture = "GraniteMoeForCausalLM",
		LLAMA(.scaled_embedding = true),
		TO(2048),
		.sizes = granitemoe_sizes,
		.switches = attention_switches,
		.settings = mixture_settings,
		.assumed = CAPACITY "; " MULTIPLIED },
	{ .name = "cohere",
		.architecture = "CohereForCausalLM",
		LLAMA(.layer_norms = true, .norms_without_bias = true, .residual = RESIDUAL_PARALLEL_NORM),
		TO(8192),
		SILU,
		.tied = true,
		.sizes = cohere_sizes,
		.switches = attention_switches,
		.settings = cohere_settings,
		.assumed = MULTIPLIED },
	{ .name = "cohere2",
		.architecture = "Cohere2ForCausalLM",
		LLAMA(.layer_norms = true, .norms_without_bias = true, .residual = RESIDUAL_PARALLEL_NORM),
		TO(8192),
		WINDOW(4096),
		SILU,
		.tied = true,
		.sizes = cohere2_sizes,
		.switches = attention_switches,
		.settings = cohere_settings,
		.assumed = MULTIPLIED "; " TURNED },
	{ .name = "starcoder2",
		.architecture = "Starcoder2ForCausalLM",
		LLAMA(.layer_norms = true, .plain = true),
		TO(4096),
		WINDOW(HF_FOLLOWS),
		GELU("hidden_act"),
		.tied = true,
		.sizes = starcoder2_sizes,
		.switches = starcoder2_switches,
		.settings = no_settings,
		.dropouts = { "residual_dropout", "embedding_dropout", "attention_dropout" } },
	{ .name = "stablelm",
		.architecture = "StableLmForCausalLM",
		LLAMA(.layer_norms = true),
		TO(4096),
		SILU,
		.rotary_normal = 0.25,
		.sizes = stablelm_sizes,
		.switches = stablelm_switches,
		.settings = stablelm_settings,
		.dropouts = { "hidden_dropout", "attention_dropout" } },
	{ .name = "glm",
		.architecture = "GlmForCausalLM",
		LLAMA(.qkv_bias = true),
		TO(131072),
		SILU,
		.rotary_normal = 0.5,
		.sizes = glm_sizes,
		.switches = glm_switches,
		.settings = part_rotary_settings,
		.assumed = "gate and up are two products where the library writes one" },
	{ .name = "glm4",
		.architecture = "Glm4ForCausalLM",
		LLAMA(.qkv_bias = true, .residual = RESIDUAL_SANDWICH),
		TO(131072),
		SILU,
		.rotary_normal = 0.5,
		.sizes = glm_sizes,
		.switches = glm_switches,
		.settings = part_rotary_settings,
		.assumed = "gate and up are two products where the library writes one" },
	{ .name = "smollm3",
		.architecture = "SmolLM3ForCausalLM",
		LLAMA(),
		TO(32768),
		WINDOW(HF_FOLLOWS),
		.window_asked = true,
		SILU,
		.tied = true,
		.sizes = smollm3_sizes,
		.switches = llama_switches,
		.settings = rotary_settings,
		.assumed = TURNED },
	{ .name = "ministral",
		.architecture = "MinistralForCausalLM",
		LLAMA(),
		TO(131072),
		WINDOW(4096),
		SILU,
		.sizes = mistral_sizes,
		.switches = no_switches,
		.settings = mistral_settings },
	{ .name = "ministral3",
		.architecture = "Ministral3ForCausalLM",
		LLAMA(),
		TO(262144),
		WINDOW(HF_FOLLOWS),
		SILU,
		.sizes = ministral3_sizes,
		.switches = no_switches,
		.settings = mistral_settings },
	{ .name = "seed_oss",
		.architecture = "SeedOssForCausalLM",
		LLAMA(),
		TO(524288),
		SILU,
		.sizes = seed_oss_sizes,
		.switches = seed_oss_switches,
		.settings = no_settings,
		.dropped = true,
		.dropouts = { "residual_dropout", "attention_dropout" } },
	{ .name = "helium",
		.architecture = "HeliumForCausalLM",
		LLAMA(),
		TO(4096),
		SILU,
		.sizes = helium_sizes,
		.switches = helium_switches,
		.settings = rotary_settings,
		.heads_fill = true },
	{ .name = "ernie4_5",
		.architecture = "Ernie4_5ForCausalLM",
		LLAMA(),
		TO(131072),
		SILU,
		.tied = true,
		.sizes = ernie_sizes,
		.switches = use_bias_switches,
		.settings = rotary_settings },
	{ .name = "hunyuan_v1_dense",
		.architecture = "HunYuanDenseV1ForCausalLM",
		LLAMA(.qk_norms = true),
		TO(2048),
		SILU,
		.sizes = hunyuan_sizes,
		.switches = attention_switches,
		.settings = rotary_settings },
	{ .name = "exaone4",
		.architecture = "Exaone4ForCausalLM",
		LLAMA(.qk_norms = true, .residual = RESIDUAL_BEHIND),
		TO(2048),
		WINDOW(4096),
		SILU,
		.sizes = exaone4_sizes,
		.switches = no_switches,
		.settings = rotary_settings,
		.assumed = TURNED },
	{ .name = "phimoe",
		.architecture = "PhimoeForCausalLM",
		LLAMA(.layer_norms = true),
		TO(131072),
		WINDOW(HF_FOLLOWS),
		.sizes = phimoe_sizes,
		.switches = phimoe_switches,
		.settings = rotary_settings,
		.assumed = CAPACITY },
	{ .name = "gpt_oss",
		.architecture = "GptOssForCausalLM",
		LLAMA(.expert_bias = true, .sinks = true),
		TO(131072),
		WINDOW(128),
		.sizes = gpt_oss_sizes,
		.switches = gpt_oss_switches,
		.settings = rotary_settings,
		.assumed = CAPACITY "; a head's sink is one number that its results are multiplied by, a kernel of its own" },
	{ .name = "arcee",
		.architecture = "ArceeForCausalLM",
		LLAMA(.plain = true),
		TO(4096),
		.activation = "hidden_act",
		.activation_normal = "relu2",
		.sizes = arcee_sizes,
		.switches = llama_switches,
		.settings = rotary_settings },
	{ .name = "cwm",
		.architecture = "CwmForCausalLM",
		LLAMA(),
		TO(131072),
		WINDOW(8192),
		SILU,
		.sizes = cwm_sizes,
		.switches = no_switches,
		.settings = mistral_settings },
	{ .name = "jais2",
		.architecture = "Jais2ForCausalLM",
		LLAMA(.plain = true, .layer_norms = true),
		TO(8192),
		.activation = "hidden_act",
		.activation_normal = "relu2",
		.sizes = jais2_sizes,
		.switches = jais2_switches,
		.settings = rotary_settings },
	{ .name = "nemotron",
		.architecture = "NemotronForCausalLM",
		LLAMA(.plain = true, .layer_norms = true),
		TO(4096),
		.activation = "hidden_act",
		.activation_normal = "relu2",
		.rotary_normal = 0.5,
		.sizes = nemotron_sizes,
		.switches = llama_switches,
		.settings = part_rotary_settings },
	{ .name = "gptj",
		.architecture = "GPTJForCausalLM",
		LLAMA(.mlp_bias = true, .head_bias = true, .layer_norms = true, .plain = true,
			.residual = RESIDUAL_PARALLEL_NORM),
		.positions = "n_positions",
		.positions_normal = 2048,
		.activation = "activation_function",
		.activation_normal = "gelu_new",
		.sizes = gptj_sizes,
		.switches = no_switches,
		.settings = gptj_settings,
		.dropouts = { "resid_pdrop", "embd_pdrop", "attn_pdrop" } },
	{ .name = "codegen",
		.architecture = "CodeGenForCausalLM",
		LLAMA(.mlp_bias = true, .head_bias = true, .layer_norms = true, .plain = true,
			.residual = RESIDUAL_PARALLEL_NORM),
		.positions = "n_positions",
		.positions_normal = 2048,
		.activation = "activation_function",
		.activation_normal = "gelu_new",
		.sizes = gptj_sizes,
		.switches = no_switches,
		.settings = gptj_settings,
		.dropouts = { "resid_pdrop", "embd_pdrop", "attn_pdrop" },
		.assumed = PACKED },
	{ .name = "opt",
		.architecture = "OPTForCausalLM",
		.base = { .family = FAMILY_GPT },
		.tied = true,
		.more_positions = 2,
		.activation = "activation_function",
		.activation_normal = "relu",
		.sizes = opt_sizes,
		.switches = no_switches,
		.settings = opt_settings,
		.dropped = true,
		.dropouts = { "dropout" },
		.assumed = "queries, keys and values are one product where the library writes three" },
	{ .name = "vaultgemma",
		.architecture = "VaultGemmaForCausalLM",
		LLAMA(.gelu_gate = true, .scaled_embedding = true),
		TO(8192),
		WINDOW(4096),
		GELU("hidden_activation"),
		.tied = true,
		.sizes = gemma2_sizes,
		.switches = gemma2_switches,
		.settings = rotary_settings },
	{ .name = "glm4_moe",
		.architecture = "Glm4MoeForCausalLM",
		LLAMA(.sigmoid_scores = true, .shared_plain = true),
		TO(131072),
		.rotary_normal = 0.5,
		.sizes = glm4_moe_sizes,
		.switches = glm4_moe_switches,
		.settings = beside_settings,
		.assumed = CAPACITY FURTHER },
	{ .name = "dots1",
		.architecture = "Dots1ForCausalLM",
		LLAMA(.qk_norms = true, .sigmoid_scores = true, .shared_plain = true),
		TO(2048),
		WINDOW(4096),
		.sizes = dots1_sizes,
		.switches = attention_switches,
		.settings = beside_settings,
		.assumed = CAPACITY },
	{ .name = "solar_open",
		.architecture = "SolarOpenForCausalLM",
		LLAMA(.sigmoid_scores = true, .shared_plain = true),
		TO(131072),
		.sizes = solar_open_sizes,
		.switches = glm_switches_off,
		.settings = beside_settings,
		.assumed = CAPACITY },
	{ .name = "exaone_moe",
		.architecture = "ExaoneMoeForCausalLM",
		LLAMA(.qk_norms = true, .sigmoid_scores = true, .shared_plain = true),
		TO(2048),
		WINDOW(4096),
		.sizes = exaone_moe_sizes,
		.switches = no_switches,
		.settings = beside_settings,
		.assumed = CAPACITY "; " TURNED },
	{ .name = "minimax_m2",
		.architecture = "MiniMaxM2ForCausalLM",
		LLAMA(.whole_qk_norms = true, .sigmoid_scores = true),
		TO(196608),
		.rotary_normal = 1,
		.sizes = minimax_m2_sizes,
		.switches = no_switches,
		.settings = beside_settings,
		.assumed = CAPACITY },
	{ .name = "mellum",
		.architecture = "MellumForCausalLM",
		LLAMA(.qk_norms = true),
		TO(131072),
		WINDOW(1024),
		.sizes = mellum_sizes,
		.switches = attention_switches,
		.settings = beside_settings,
		.assumed = CAPACITY },
	{ .name = "flex_olmo",
		.architecture = "FlexOlmoForCausalLM",
		LLAMA(.whole_qk_norms = true, .residual = RESIDUAL_BEHIND),
		TO(4096),
		.sizes = flex_olmo_sizes,
		.switches = attention_switches,
		.settings = beside_settings,
		.assumed = CAPACITY },
	{ .name = "granitemoeshared",
		.architecture = "GraniteMoeSharedForCausalLM",
		LLAMA(.scaled_embedding = true, .shared_plain = true),
		TO(2048),
		.sizes = granitemoeshared_sizes,
		.switches = attention_switches,
		.settings = mixture_settings,
		.assumed = CAPACITY "; " MULTIPLIED },
	{ .name = "ernie4_5_moe",
		.architecture = "Ernie4_5_MoeForCausalLM",
		LLAMA(.shared_plain = true, .router_offset = true),
		TO(131072),
		.tied = true,
		.sizes = ernie_moe_sizes,
		.switches = ernie_moe_switches,
		.settings = beside_settings,
		.assumed = CAPACITY "; what is added to the router's scores counts as trained" },
	{ .name = "llama4_text",
		.architecture = "Llama4ForCausalLM",
		LLAMA(.sigmoid_scores = true, .shared_plain = true),
		TO(131072),
		.sizes = llama4_sizes,
		.switches = llama4_switches,
		.settings = beside_settings,
		.assumed = CAPACITY "; norms of queries and keys, which have no weights here, are left out; " TURNED },
	{ .name = "youtu",
		.architecture = "YoutuForCausalLM",
		LATENT(false),
		TO(131072),
		.tied = true,
		.sizes = youtu_sizes,
		.switches = attention_switches,
		.settings = youtu_settings },
	{ .name = "deepseek_v2",
		.architecture = "DeepseekV2ForCausalLM",
		LATENT(false),
		TO(2048),
		.sizes = deepseek_v2_sizes,
		.switches = attention_switches,
		.settings = deepseek_v2_settings,
		.assumed = CAPACITY },
	{ .name = "deepseek_v3",
		.architecture = "DeepseekV3ForCausalLM",
		LATENT(true),
		TO(4096),
		.sizes = deepseek_v3_sizes,
		.switches = attention_switches,
		.settings = deepseek_v3_settings,
		.assumed = CAPACITY FURTHER },
	{ .name = "bert",
		.architecture = "BertForMaskedLM",
		.base = { .family = FAMILY_BERT },
		.tied = true,
		.activation = "hidden_act",
		.activation_normal = "gelu",
		.sizes = bert_sizes,
		.switches = no_switches,
		.settings = bert_settings,
		.dropped = true,
		.dropouts = { "hidden_dropout_prob", "attention_probs_dropout_prob" } },
	{ .name = "roberta", .architecture = "RobertaForMaskedLM", BERT_LIKE(roberta_sizes) },
	{ .name = "xlm-roberta", .architecture = "XLMRobertaForMaskedLM", BERT_LIKE(bert_sizes) },
	{ .name = "camembert", .architecture = "CamembertForMaskedLM", BERT_LIKE(bert_sizes) },
	{ .name = "data2vec-text", .architecture = "Data2VecTextForMaskedLM", BERT_LIKE(bert_sizes) },
	{ .name = "distilbert",
		.architecture = "DistilBertForMaskedLM",
		.base = { .family = FAMILY_BERT, .untyped = true },
		.tied = true,
		.activation = "activation",
		.activation_normal = "gelu",
		.sizes = distilbert_sizes,
		.switches = no_switches,
		.settings = distilbert_settings,
		.dropped = true,
		.dropouts = { "dropout", "attention_dropout" } },
	{ .name = "vit",
		.architecture = "ViTForImageClassification",
		.base = { .family = FAMILY_VIT },
		.activation = "hidden_act",
		.activation_normal = "gelu",
		.sizes = vit_sizes,
		.switches = vit_switches,
		.settings = vit_settings },
	{ .name = "t5",
		.architecture = "T5ForConditionalGeneration",
		.base = { .family = FAMILY_T5, .activation = ACTIVATION_RELU },
		.tied = true,
		.positions = "n_positions",
		.positions_normal = 512,
		.sizes = t5_sizes,
		.switches = no_switches,
		.settings = t5_settings,
		.dropped = true,
		.dropouts = { "dropout_rate" } },
	{ .name = "mt5",
		.architecture = "MT5ForConditionalGeneration",
		.base = { .family = FAMILY_T5, .activation = ACTIVATION_TANH, .gated = true },
		.positions = "n_positions",
		.positions_normal = 512,
		.sizes = mt5_sizes,
		.switches = no_switches,
		.settings = t5_settings,
		.dropped = true,
		.dropouts = { "dropout_rate" } },
	{ .name = "umt5",
		.architecture = "UMT5ForConditionalGeneration",
		.base = { .family = FAMILY_T5, .activation = ACTIVATION_TANH, .gated = true, .layer_bias = true },
		.positions = "n_positions",
		.positions_normal = 512,
		.sizes = mt5_sizes,
		.switches = no_switches,
		.settings = t5_settings,
		.dropped = true,
		.dropouts = { "dropout_rate" } },
	{ 0 },
};

/* A star stands for any text, at one end of the word. */
bool hf_harmless(const char *key)
{
	static const char *const words[] = { "_*", "*_token_id", "*_token_index", "initializer_*", "*_eps", "*_epsilon",
		"summary_*", "rope_*", "router_*", "output_*", "id2label", "label2id", "torch_dtype", "dtype",
		"transformers_version", "use_cache", "return_dict*", "task_specific_params", "problem_type", "architectures",
		"model_type", "auto_map", "tokenizer_class", "is_encoder_decoder", "is_decoder", "chunk_size_feed_forward",
		"max_window_layers", "use_sliding_window", "sliding_window", "sliding_window_pattern", "layer_types",
		"query_pre_attn_scalar", "original_max_position_embeddings", "max_position_embeddings", "norm_topk_prob",
		"classifier_*", "n_ctx", "n_positions", "tie_word_embeddings", "relative_attention_max_distance",
		"gradient_checkpointing", "pooler_*", "encoder_stride", "dense_act_fn", "is_gated_act", "scale_decoder_outputs",
		"feed_forward_proj", "decoder_start_token_id", "mm_tokens_per_image", "vision_config", "cache_implementation",
		"num_nextn_predict_layers", "n_group", "topk_group", "topk_method", "routed_scaling_factor", "scoring_func",
		"aux_loss_alpha", "seq_aux", "ep_size", "num_key_value_heads", "head_dim", "qk_head_dim", "moe_layer_freq",
		"no_rope_*", "*_multiplier", "logits_scaling", "logit_scale", "clip_qkv", "swiglu_*", "mtp_*", "use_mtp",
		"num_labels", "finetuning_task", "rotary_emb_base", "use_bidirectional_attention", "mlp_only_layers",
		"mlp_layer_types", "moe_layer_end_index", "moe_layers", "word_embed_proj_dim", "init_std", "rotary",
		"scale_attn_weights", "quantization_config", "text_config", "use_parallel_residual", "rotary_pct",
		"partial_rotary_factor", "hidden_act", "hidden_activation", "directionality", "position_embedding_type",
		"prefix", "bos_token", "eos_token", "unk_token", "pad_token", "torchscript", "use_bfloat16", "pruned_heads",
		"attn_implementation", "max_length", "min_length" };
	size_t length = strlen(key);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t size = strlen(words[i]);
		if (words[i][0] == '*' ? length >= size - 1 && strcmp(key + length - (size - 1), words[i] + 1) == 0
			: words[i][size - 1] == '*' ? strncmp(key, words[i], size - 1) == 0 : strcmp(key, words[i]) == 0)
			return true;
	}
	return false;
}
