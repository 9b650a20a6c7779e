/* gpt.c: decoder-only transformers: GPT-2 as Hugging Face writes it, Megatron's GPT with fused masks,
 * and the same with a mixture of experts for the feed-forward layer. */

#include "layers.h"

/* The causal mask of one layer: what must not be seen, from the layer's own table of the visible. */
static uint32_t causal_mask(struct model *model)
{
	struct build *build = &model->build;
	int64_t rows = model->config.positions, seq = model->config.seq;
	uint32_t mask = layer_buffer(model, "bias", DTYPE_BOOL, SHAPE(1, 1, rows, rows));
	mask = build_reshape(build, "aten.slice.Tensor", mask, SHAPE(1, 1, seq, rows));
	mask = build_reshape(build, "aten.slice.Tensor", mask, SHAPE(1, 1, seq, seq));
	return layer_map(model, "aten.bitwise_not.default", mask);
}

static uint32_t gpt_self_attention(struct model *model, uint32_t x)
{
	struct build *build = &model->build;
	int64_t hidden = model->config.hidden, heads = model->config.heads;
	size_t length = layer_enter(model, "attn");
	struct shape third = build_shape(build, x);
	uint32_t all = layer_linear(model, "c_attn", x, 3 * hidden, true), part[3];
	build_op(build, "aten.split.Tensor", IN(all));
	FOR_INT(i, 3)
		part[i] = build_view(build, all, third);
	FOR_INT(i, 3)
		part[i] = layer_split_heads(model, part[i], heads);
	uint32_t context;
	if (model->config.flash)
		context = layer_flash_attention(model, part[0], part[1], part[2], true);
	else
		context = layer_attention(
			model, part[0], part[1], part[2], model->config.fused_mask ? NONE : causal_mask(model), true);
	uint32_t result = layer_dropout(model, layer_linear(model, "c_proj", context, hidden, true));
	layer_leave(model, length);
	return result;
}

static uint32_t gpt_feed_forward(struct model *model, uint32_t x)
{
	size_t length = layer_enter(model, "mlp");
	uint32_t inner = layer_activation(model, layer_linear(model, "c_fc", x, model->config.ffn, true));
	uint32_t result = layer_dropout(model, layer_linear(model, "c_proj", inner, model->config.hidden, true));
	layer_leave(model, length);
	return result;
}

/* Tokens are routed to the slots of their experts, worked on expert by expert, and weighted together again. An
 * expert has room for its share of the tokens; more are dropped (GShard's capacity factor). */
static uint32_t experts(struct model *model, uint32_t x)
{
	struct build *build = &model->build;
	const struct model_config *config = &model->config;
	int64_t tokens = config->batch * config->seq, count = config->experts;
	int64_t slots = experts_share(config, tokens);
	size_t length = layer_enter(model, "moe");
	uint32_t flat = layer_view(model, x, SHAPE(tokens, config->hidden));
	uint32_t gate = layer_map(model, "aten._softmax.default", layer_linear(model, "gate", flat, count, false));
	build_op(build, "tidemark.dispatch", IN(flat, gate));
	uint32_t slotted = build_output(build, DTYPE_F32, SHAPE(count, slots, config->hidden));
	size_t inside = layer_enter(model, "experts");
	uint32_t up = layer_parameter(model, "up", SHAPE(count, config->hidden, config->ffn));
	uint32_t down = layer_parameter(model, "down", SHAPE(count, config->ffn, config->hidden));
	build_op(build, "tidemark.grouped_mm", IN(slotted, up));
	uint32_t inner = layer_activation(model, build_output(build, DTYPE_F32, SHAPE(count, slots, config->ffn)));
	build_op(build, "tidemark.grouped_mm", IN(inner, down));
	uint32_t worked = build_output(build, DTYPE_F32, SHAPE(count, slots, config->hidden));
	layer_leave(model, inside);
	build_op(build, "tidemark.combine", IN(worked, gate));
	uint32_t result = build_output(build, DTYPE_F32, SHAPE(tokens, config->hidden));
	result = layer_dropout(model, layer_view(model, result, SHAPE(config->batch, config->seq, config->hidden)));
	layer_leave(model, length);
	return result;
}

static void decoder(struct model *model, uint32_t (*inner)(struct model *model, uint32_t x))
{
	const struct model_config *config = &model->config;
	uint32_t ids = layer_input(model, "ids", DTYPE_I64, SHAPE(config->batch, config->seq)), table;
	uint32_t labels = layer_input(model, "labels", DTYPE_I64, SHAPE(config->batch, config->seq));
	build_op(&model->build, "aten.arange.default", NULL, 0);
	uint32_t position = build_output(&model->build, DTYPE_I64, SHAPE(config->seq));
	uint32_t x = layer_embedding(model, "wte", config->vocab, config->hidden, ids, &table);
	x = layer_dropout(
		model, layer_add(model, x, layer_embedding(model, "wpe", config->positions, config->hidden, position, NULL)));
	for (int64_t layer = 0; layer < config->layers && model->build.status == OK; layer++) {
		size_t length = layer_enter(model, "h.%d", (int)layer);
		x = layer_add(model, x, gpt_self_attention(model, layer_norm(model, "ln_1", x)));
		x = layer_add(model, x, inner(model, layer_norm(model, "ln_2", x)));
		layer_leave(model, length);
	}
	x = layer_norm(model, "ln_f", x);
	uint32_t logits = config->tied ? layer_linear_tied(model, x, table, NONE)
		: layer_linear(model, "lm_head", x, config->vocab, false);
	layer_next_token_loss(model, logits, labels);
}

void model_gpt(struct model *model)
{
	decoder(model, gpt_feed_forward);
}

void model_moe(struct model *model)
{
	decoder(model, experts);
}
