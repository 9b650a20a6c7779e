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
	size_t length = layer_enter(model, "self_attn");
	uint32_t q = layer_split_heads(model, layer_linear(model, "q_proj", x, config->heads * width, false), config->heads);
	uint32_t k = layer_split_heads(model, layer_linear(model, "k_proj", x, config->kv_heads * width, false), config->kv_heads);
	uint32_t v = layer_split_heads(model, layer_linear(model, "v_proj", x, config->kv_heads * width, false), config->kv_heads);
	q = layer_rotary(model, q, cosine, sine);
	k = repeat_heads(model, layer_rotary(model, k, cosine, sine));
	v = repeat_heads(model, v);
	uint32_t context = config->flash ? layer_flash_attention(model, q, k, v) : layer_attention(model, q, k, v, NONE, true);
	uint32_t result = layer_linear(model, "o_proj", context, config->hidden, false);
	layer_leave(model, length);
	return result;
}

void model_llama(struct model *model)
{
	const struct model_config *config = &model->config;
	uint32_t ids = layer_input(model, "ids", DTYPE_I64, SHAPE(config->batch, config->seq)), table;
	uint32_t labels = layer_input(model, "labels", DTYPE_I64, SHAPE(config->batch, config->seq));
	uint32_t cosine = layer_buffer(model, "rotary.cos", DTYPE_F32, SHAPE(1, 1, config->seq, config->head_width));
	uint32_t sine = layer_buffer(model, "rotary.sin", DTYPE_F32, SHAPE(1, 1, config->seq, config->head_width));
	uint32_t x = layer_embedding(model, "embed_tokens", config->vocab, config->hidden, ids, &table);
	for (int64_t layer = 0; layer < config->layers && model->build.status == OK; layer++) {
		size_t length = layer_enter(model, "layers.%d", (int)layer);
		x = layer_add(model, x, self_attention(model, layer_rms_norm(model, "input_layernorm", x), cosine, sine));
		x = layer_add(model, x, layer_gated(model, "mlp", layer_rms_norm(model, "post_attention_layernorm", x), config->ffn));
		layer_leave(model, length);
	}
	layer_language_head(model, x, labels, table);
}
