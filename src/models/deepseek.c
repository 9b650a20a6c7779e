/* deepseek.c: DeepSeek-V2 and V3 (arXiv 2405.04434, 2412.19437; deepseek-ai's modeling_deepseek.py): multi-head latent
 * attention, first layers dense, then a mixture of many small experts beside shared ones.
 *
 * Kernels as Megatron-LM trains them: keys, values and queries are written out for attention in one kernel, experts'
 * products are grouped, scores weigh the experts' inner activations. Multi-token prediction: decoder.c. */
#include "layers.h"

/* Queries [b, heads, s, head + rope], through a low rank where the model has one. */
static uint32_t queries(struct model *model, uint32_t x, uint32_t cosine, uint32_t sine)
{
	const struct model_config *config = &model->config;
	int64_t width = config->heads * (config->head_width + config->rope_width);
	if (config->q_rank > 0) {
		x = layer_rms_norm(model, "q_a_layernorm", layer_linear(model, "q_a_proj", x, config->q_rank, false));
		x = layer_linear(model, "q_b_proj", x, width, false);
	} else {
		x = layer_linear(model, "q_proj", x, width, false);
	}
	uint32_t q = layer_split_heads(model, x, config->heads);
	uint32_t turned = layer_rotary(model, layer_slice_last(model, q, config->rope_width), cosine, sine);
	return layer_join_last(model, layer_slice_last(model, q, config->head_width), turned);
}

/* Keys and values come from one latent vector of a token; the part of the keys with positions is the same for all
 * heads. */
static uint32_t latent_attention(struct model *model, uint32_t x, uint32_t cosine, uint32_t sine)
{
	struct build *build = &model->build;
	const struct model_config *config = &model->config;
	size_t length = layer_enter(model, "self_attn");
	uint32_t q = queries(model, x, cosine, sine);
	uint32_t latent = layer_linear(model, "kv_a_proj_with_mqa", x, config->kv_rank + config->rope_width, false);
	uint32_t position = layer_split_heads(model, layer_slice_last(model, latent, config->rope_width), 1);
	latent = layer_rms_norm(model, "kv_a_layernorm", layer_slice_last(model, latent, config->kv_rank));
	uint32_t both = layer_linear(
		model, "kv_b_proj", latent, config->heads * (config->head_width + config->value_width), false);
	both = layer_split_heads(model, both, config->heads);
	position = layer_rotary(model, position, cosine, sine);
	position = build_reshape(
		build, "aten.expand.default", position, SHAPE(config->batch, config->heads, config->seq, config->rope_width));
	uint32_t k = layer_join_last(model, layer_slice_last(model, both, config->head_width), position);
	uint32_t v = layer_map(model, "aten.clone.default", layer_slice_last(model, both, config->value_width));
	uint32_t result = decoder_causal(model, q, k, v);
	layer_leave(model, length);
	return result;
}

static uint32_t deepseek_mixture(struct model *model, uint32_t x)
{
	const struct model_config *config = &model->config;
	size_t length = layer_enter(model, "mlp");
	uint32_t result = experts_routed(model, x);
	if (config->shared_experts > 0)
		result = layer_add(
			model, result, layer_gated(model, "shared_experts", x, config->shared_experts * config->expert_ffn));
	layer_leave(model, length);
	return result;
}

static uint32_t deepseek_feed_forward(struct model *model, uint32_t x, int64_t layer)
{
	return experts_in(&model->config, layer) ? deepseek_mixture(model, x)
		: layer_gated(model, "mlp", x, model->config.ffn);
}

void model_deepseek(struct model *model)
{
	decoder_rotary(model, model->config.rope_width, latent_attention, deepseek_feed_forward);
}
