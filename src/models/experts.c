/* experts.c: mixtures of experts: a router, products of all experts at once, scores that weigh the experts' inner
 * activations. */
#include "layers.h"

/* Every expert's own bias, where they have one. */
static uint32_t biased(struct model *model, const char *name, uint32_t stack)
{
	struct shape shape = build_shape(&model->build, stack);
	return model->config.expert_bias
		? layer_add(model, stack, layer_parameter(model, name, SHAPE(shape.dim[0], 1, shape.dim[2])))
		: stack;
}

/* stack [experts, slots, in] by experts' weights [experts, in, out]. */
static uint32_t grouped_linear(struct model *model, const char *name, uint32_t stack, int64_t out)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, stack);
	uint32_t weight = layer_parameter(model, name, SHAPE(shape.dim[0], shape.dim[2], out));
	build_op(build, "tidemark.grouped_mm", IN(stack, weight));
	return build_output(build, build_dtype(build, stack), SHAPE(shape.dim[0], shape.dim[1], out));
}

bool experts_in(const struct model_config *config, int64_t layer)
{
	bool dense = layer < config->dense_layers ||
		(layer < 64 * MODEL_DENSE_WORDS && config->dense[layer / 64] >> layer % 64 & 1);
	return config->experts > 0 && !dense && (layer + 1) % (config->sparse_step > 0 ? config->sparse_step : 1) == 0;
}

/* An expert has room for its fair share of every sample's tokens (Megatron-LM's --moe-pad-expert-input-to-capacity with
 * a factor of 1). */
uint32_t experts_routed(struct model *model, uint32_t x)
{
	struct build *build = &model->build;
	const struct model_config *config = &model->config;
	int64_t tokens = config->batch * config->seq, count = config->experts;
	int64_t slots = config->batch * ((config->seq * config->top_k + count - 1) / count);
	uint32_t flat = layer_view(model, x, SHAPE(tokens, config->hidden));
	uint32_t scores = layer_linear(model, "gate", flat, count, config->expert_bias);
	scores = layer_map(model, config->sigmoid_scores ? "aten.sigmoid.default" : "aten._softmax.default", scores);
	uint32_t choosing = config->router_offset
		? layer_add(model, scores, layer_parameter(model, "gate.e_score_correction_bias", SHAPE(1, count)))
		: scores;
	build_op(build, "tidemark.dispatch_scored", IN(flat, choosing));
	uint32_t stack = build_output(build, build_dtype(build, x), SHAPE(count, slots, config->hidden));
	uint32_t weights = build_output(build, build_dtype(build, x), SHAPE(count, slots, 1));
	size_t length = layer_enter(model, "experts");
	uint32_t gate = biased(model, "gate_proj_bias", grouped_linear(model, "gate_proj", stack, config->expert_ffn));
	uint32_t up = biased(model, "up_proj_bias", grouped_linear(model, "up_proj", stack, config->expert_ffn));
	stack = grouped_linear(
		model, "down_proj", build_map(build, "tidemark.swiglu_scaled", IN(gate, up, weights)), config->hidden);
	stack = biased(model, "down_proj_bias", stack);
	layer_leave(model, length);
	build_op(build, "tidemark.combine_plain", IN(stack, scores));
	uint32_t result = build_output(build, build_dtype(build, x), SHAPE(tokens, config->hidden));
	return layer_view(model, result, SHAPE(config->batch, config->seq, config->hidden));
}
