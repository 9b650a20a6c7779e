/* deepseek.c: DeepSeek-V2 and V3 (arXiv 2405.04434, 2412.19437; deepseek-ai's modeling_deepseek.py): multi-head latent attention,
 * first layers dense, then a mixture of many small experts beside shared ones.
 *
 * Kernels as Megatron-LM trains them: keys, values and queries are written out for attention in one kernel, experts' products
 * are grouped, scores weigh the experts' inner activations. Multi-token prediction is left out.
 */
#include "layers.h"

static uint32_t last_dim_slice(struct model *model, uint32_t x, int64_t width)
{
	struct shape shape = build_shape(&model->build, x);
	shape.dim[shape.dims - 1] = width;
	return build_reshape(&model->build, "aten.slice.Tensor", x, shape);
}

static uint32_t joined(struct model *model, uint32_t left, uint32_t right)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, left);
	shape.dim[shape.dims - 1] += build_shape(build, right).dim[shape.dims - 1];
	build_op(build, "aten.cat.default", IN(left, right));
	return build_output(build, build_dtype(build, left), shape);
}

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
	uint32_t turned = layer_rotary(model, last_dim_slice(model, q, config->rope_width), cosine, sine);
	return joined(model, last_dim_slice(model, q, config->head_width), turned);
}

/* Keys and values come from one latent vector of a token; the part of the keys with positions is the same for all heads. */
static uint32_t latent_attention(struct model *model, uint32_t x, uint32_t cosine, uint32_t sine)
{
	struct build *build = &model->build;
	const struct model_config *config = &model->config;
	size_t length = layer_enter(model, "self_attn");
	uint32_t q = queries(model, x, cosine, sine);
	uint32_t latent = layer_linear(model, "kv_a_proj_with_mqa", x, config->kv_rank + config->rope_width, false);
	uint32_t position = layer_split_heads(model, last_dim_slice(model, latent, config->rope_width), 1);
	latent = layer_rms_norm(model, "kv_a_layernorm", last_dim_slice(model, latent, config->kv_rank));
	uint32_t both = layer_linear(model, "kv_b_proj", latent, config->heads * (config->head_width + config->value_width), false);
	both = layer_split_heads(model, both, config->heads);
	position = layer_rotary(model, position, cosine, sine);
	position = build_reshape(build, "aten.expand.default", position, SHAPE(config->batch, config->heads, config->seq, config->rope_width));
	uint32_t k = joined(model, last_dim_slice(model, both, config->head_width), position);
	uint32_t v = layer_map(model, "aten.clone.default", last_dim_slice(model, both, config->value_width));
	uint32_t result = layer_causal(model, q, k, v);
	layer_leave(model, length);
	return result;
}

/* stack [experts, slots, in] by experts' weights [experts, in, out]. */
static uint32_t grouped_linear(struct model *model, const char *name, uint32_t stack, int64_t out)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, stack);
	uint32_t weight = layer_parameter(model, name, SHAPE(shape.dim[0], shape.dim[2], out));
	build_op(build, "aten.bmm.default", IN(stack, weight));
	return build_output(build, build_dtype(build, stack), SHAPE(shape.dim[0], shape.dim[1], out));
}

/* An expert has room for its fair share of every sample's tokens (Megatron-LM's --moe-pad-expert-input-to-capacity with a factor of 1). */
static uint32_t routed_experts(struct model *model, uint32_t x)
{
	struct build *build = &model->build;
	const struct model_config *config = &model->config;
	int64_t tokens = config->batch * config->seq, count = config->experts;
	int64_t slots = config->batch * ((config->seq * config->top_k + count - 1) / count);
	uint32_t flat = layer_view(model, x, SHAPE(tokens, config->hidden));
	uint32_t scores = layer_linear(model, "gate", flat, count, false);
	scores = layer_map(model, config->sigmoid_scores ? "aten.sigmoid.default" : "aten._softmax.default", scores);
	build_op(build, "tidemark.dispatch_scored", IN(flat, scores));
	uint32_t stack = build_output(build, build_dtype(build, x), SHAPE(count, slots, config->hidden));
	uint32_t weights = build_output(build, build_dtype(build, x), SHAPE(count, slots, 1));
	size_t length = layer_enter(model, "experts");
	uint32_t gate = grouped_linear(model, "gate_proj", stack, config->expert_ffn);
	uint32_t up = grouped_linear(model, "up_proj", stack, config->expert_ffn);
	stack = grouped_linear(model, "down_proj", build_map(build, "tidemark.swiglu_scaled", IN(gate, up, weights)), config->hidden);
	layer_leave(model, length);
	build_op(build, "tidemark.combine_plain", IN(stack, scores));
	uint32_t result = build_output(build, build_dtype(build, x), SHAPE(tokens, config->hidden));
	return layer_view(model, result, SHAPE(config->batch, config->seq, config->hidden));
}

static uint32_t mixture(struct model *model, uint32_t x)
{
	const struct model_config *config = &model->config;
	size_t length = layer_enter(model, "mlp");
	uint32_t result = routed_experts(model, x);
	if (config->shared_experts > 0)
		result = layer_add(model, result, layer_gated(model, "shared_experts", x, config->shared_experts * config->expert_ffn));
	layer_leave(model, length);
	return result;
}

static uint32_t feed_forward(struct model *model, uint32_t x, int64_t layer)
{
	return layer < model->config.dense_layers ? layer_gated(model, "mlp", x, model->config.ffn) : mixture(model, x);
}

void model_deepseek(struct model *model)
{
	layer_rotary_decoder(model, model->config.rope_width, latent_attention, feed_forward);
}
