/* experts.c: mixtures of experts: a router, products of all experts at once, scores that weigh the experts' inner
 * activations. */
#include "layers.h"

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
	int64_t step = config->sparse_step > 0 ? config->sparse_step : 1;
	return config->experts > 0 && layer >= config->dense_layers && (layer + 1) % step == 0;
}

int64_t experts_share(const struct model_config *config, int64_t tokens)
{
	int64_t parts = 100 * config->experts;
	return (tokens * config->top_k * (config->capacity ? config->capacity : 100) + parts - 1) / parts;
}

/* An expert has room for its fair share of every sample's tokens (Megatron-LM's --moe-pad-expert-input-to-capacity with
 * a factor of 1). */
uint32_t experts_routed(struct model *model, uint32_t x)
{
	struct build *build = &model->build;
	const struct model_config *config = &model->config;
	int64_t tokens = config->batch * config->seq, count = config->experts;
	int64_t slots = config->batch * experts_share(config, config->seq);
	uint32_t flat = layer_view(model, x, SHAPE(tokens, config->hidden));
	uint32_t scores = layer_linear(model, "gate", flat, count, false);
	scores = layer_map(model, config->sigmoid_scores ? "aten.sigmoid.default" : "aten._softmax.default", scores);
	build_op(build, "tidemark.dispatch_scored", IN(flat, scores));
	uint32_t stack = build_output(build, build_dtype(build, x), SHAPE(count, slots, config->hidden));
	uint32_t weights = build_output(build, build_dtype(build, x), SHAPE(count, slots, 1));
	size_t length = layer_enter(model, "experts");
	uint32_t gate = grouped_linear(model, "gate_proj", stack, config->expert_ffn);
	uint32_t up = grouped_linear(model, "up_proj", stack, config->expert_ffn);
	stack = grouped_linear(
		model, "down_proj", build_map(build, "tidemark.swiglu_scaled", IN(gate, up, weights)), config->hidden);
	layer_leave(model, length);
	build_op(build, "tidemark.combine_plain", IN(stack, scores));
	uint32_t result = build_output(build, build_dtype(build, x), SHAPE(tokens, config->hidden));
	return layer_view(model, result, SHAPE(config->batch, config->seq, config->hidden));
}
