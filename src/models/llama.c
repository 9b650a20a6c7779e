/* llama.c: decoder-only transformers with rotary positions as Llama has them, and mixtures of experts of that kind.
 *
 * Where a library writes queries, keys and values (or gate and up) as one product, they are written apart here: the
 * same parameters and FLOPs, and heads can be split over devices. */
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

/* Positions turn the first part of every head, or all of it. */
static uint32_t turned(struct model *model, uint32_t x, uint32_t cosine, uint32_t sine)
{
	const struct model_config *config = &model->config;
	if (config->rope_width == config->head_width)
		return layer_rotary(model, x, cosine, sine);
	uint32_t rest = layer_slice_last(model, x, config->head_width - config->rope_width);
	return layer_join_last(model, layer_rotary(model, layer_slice_last(model, x, config->rope_width), cosine, sine), rest);
}

static uint32_t heads_of(struct model *model, const char *name, uint32_t x, int64_t heads)
{
	return layer_split_heads(model, layer_linear(model, name, x, heads * model->config.head_width, false), heads);
}

static uint32_t llama_self_attention(struct model *model, uint32_t x, uint32_t cosine, uint32_t sine)
{
	const struct model_config *config = &model->config;
	size_t length = layer_enter(model, "self_attn");
	uint32_t q = heads_of(model, "q_proj", x, config->heads);
	uint32_t k = heads_of(model, "k_proj", x, config->kv_heads);
	uint32_t v = heads_of(model, "v_proj", x, config->kv_heads);
	q = turned(model, q, cosine, sine);
	k = repeat_heads(model, turned(model, k, cosine, sine));
	v = repeat_heads(model, v);
	uint32_t result = decoder_causal(model, q, k, v);
	layer_leave(model, length);
	return result;
}

/* Experts, and one beside them that every token goes to, by a gate of one number a token. */
static uint32_t llama_mixture(struct model *model, uint32_t x)
{
	const struct model_config *config = &model->config;
	size_t length = layer_enter(model, "mlp");
	uint32_t result = experts_routed(model, x);
	if (config->shared_ffn > 0) {
		uint32_t gate = layer_map(model, "aten.sigmoid.default", layer_linear(model, "shared_expert_gate", x, 1, false));
		result = layer_add(
			model, result, layer_multiply(model, layer_gated(model, "shared_expert", x, config->shared_ffn), gate));
	}
	layer_leave(model, length);
	return result;
}

static uint32_t llama_feed_forward(struct model *model, uint32_t x, int64_t layer)
{
	return experts_in(&model->config, layer) ? llama_mixture(model, x)
		: layer_gated(model, "mlp", x, model->config.ffn);
}

void model_llama(struct model *model)
{
	decoder_rotary(model, model->config.rope_width, llama_self_attention, llama_feed_forward);
}
