/* llama.c: decoder-only transformers with RMSNorm, rotary positions, grouped queries and SwiGLU. */
#include "layers.h"

/* [b, kv, s, d] -> [b, heads, s, d]: every head of keys or values serves a group of queries. */
static uint32_t repeat_heads(struct model *model, uint32_t x)
{
	struct build *build = &model->build;
	struct shape s = build_shape(build, x);
	int64_t groups = model->config.heads / model->config.kv_heads;
	if (groups == 1 || (model->config.fused && model->config.flash))
		return x;
	x = build_reshape(build, "aten.unsqueeze.default", x, SHAPE(s.dim[0], s.dim[1], 1, s.dim[2], s.dim[3]));
	x = build_reshape(build, "aten.expand.default", x, SHAPE(s.dim[0], s.dim[1], groups, s.dim[2], s.dim[3]));
	x = layer_map(model, "aten.clone.default", x);
	return build_reshape(build, "aten._unsafe_view.default", x, SHAPE(s.dim[0], s.dim[1] * groups, s.dim[2], s.dim[3]));
}

static uint32_t self_attention(struct model *model, uint32_t x, uint32_t cosine, uint32_t sine)
{
	const struct model_config *config = &model->config;
	int64_t width = config->head_width;
	bool bias = config->qkv_bias;
	size_t length = layer_enter(model, "self_attn");
	uint32_t q = layer_split_heads(model, layer_linear(model, "q_proj", x, config->heads * width, bias), config->heads);
	uint32_t k = layer_split_heads(model, layer_linear(model, "k_proj", x, config->kv_heads * width, bias), config->kv_heads);
	uint32_t v = layer_split_heads(model, layer_linear(model, "v_proj", x, config->kv_heads * width, bias), config->kv_heads);
	q = layer_rotary(model, q, cosine, sine);
	k = repeat_heads(model, layer_rotary(model, k, cosine, sine));
	v = repeat_heads(model, v);
	uint32_t result = layer_causal(model, q, k, v);
	layer_leave(model, length);
	return result;
}

static uint32_t feed_forward(struct model *model, uint32_t x, int64_t layer)
{
	(void)layer;
	return layer_gated(model, "mlp", x, model->config.ffn);
}

void model_llama(struct model *model)
{
	layer_rotary_decoder(model, model->config.head_width, self_attention, feed_forward);
}
