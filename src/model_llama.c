/* model_llama.c: decoder-only transformers with RMSNorm, rotary positions, grouped queries and SwiGLU. */
#include "model_layers.h"

/* x cos + rotate(x) sin, with the halves of each head exchanged and one negated by rotate. */
static uint32_t rotary(struct model *model, uint32_t x, uint32_t cosine, uint32_t sine)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x), half = shape;
	half.dim[3] = shape.dim[3] / 2;
	uint32_t straight = layer_multiply(model, x, cosine);
	uint32_t first = build_reshape(build, "aten.slice.Tensor", x, half);
	uint32_t second = build_reshape(build, "aten.slice.Tensor", x, half);
	second = layer_map(model, "aten.neg.default", second);
	build_op(build, "aten.cat.default", IN(second, first));
	uint32_t turned = build_output(build, build_dtype(build, x), shape);
	return layer_add(model, straight, layer_multiply(model, turned, sine));
}

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
	q = rotary(model, q, cosine, sine);
	k = repeat_heads(model, rotary(model, k, cosine, sine));
	v = repeat_heads(model, v);
	uint32_t context = config->flash ? layer_flash_attention(model, q, k, v) : layer_attention(model, q, k, v, NONE, true);
	uint32_t result = layer_linear(model, "o_proj", context, config->hidden, false);
	layer_leave(model, length);
	return result;
}

static uint32_t feed_forward(struct model *model, uint32_t x)
{
	size_t length = layer_enter(model, "mlp");
	uint32_t gate = layer_linear(model, "gate_proj", x, model->config.ffn, false), inner;
	if (model->config.fused) {
		inner = build_map(&model->build, "tidemark.swiglu", IN(gate, layer_linear(model, "up_proj", x, model->config.ffn, false)));
	} else {
		gate = layer_map(model, "aten.silu.default", gate);
		inner = layer_multiply(model, gate, layer_linear(model, "up_proj", x, model->config.ffn, false));
	}
	uint32_t result = layer_linear(model, "down_proj", inner, model->config.hidden, false);
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
		x = layer_add(model, x, feed_forward(model, layer_rms_norm(model, "post_attention_layernorm", x)));
		layer_leave(model, length);
	}
	x = layer_rms_norm(model, "norm", x);
	uint32_t logits = config->tied ? layer_linear_tied(model, x, table) : layer_linear(model, "lm_head", x, config->vocab, false);
	if (config->fused) {
		logits = layer_view(model, logits, SHAPE(config->batch * config->seq, config->vocab));
		build_op(&model->build, "tidemark.cross_entropy", IN(logits, layer_view(model, labels, SHAPE(config->batch * config->seq))));
		build_kind(&model->build, build_output(&model->build, DTYPE_F32, SCALAR), KIND_OUTPUT);
	} else {
		layer_next_token_loss(model, logits, labels);
	}
}
