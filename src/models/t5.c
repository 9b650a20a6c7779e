/* t5.c: encoder-decoder transformers with relative positions and no biases. */
#include "layers.h"

/* The learned bias of every distance, for every head: [1, heads, s, s]. */
static uint32_t position_bias(struct model *model)
{
	struct build *build = &model->build;
	int64_t seq = model->config.seq, heads = model->config.heads,
			buckets = model->config.buckets ? model->config.buckets : 32;
	build_op(build, "aten.arange.default", NULL, 0);
	uint32_t distance = build_output(build, DTYPE_I64, SHAPE(seq, seq));
	uint32_t bias = layer_embedding(model, "relative_attention_bias", buckets, heads, distance, NULL);
	bias = build_reshape(build, "aten.permute.default", bias, SHAPE(heads, seq, seq));
	return build_reshape(build, "aten.unsqueeze.default", bias, SHAPE(1, heads, seq, seq));
}

/* Attention of x over context, with the residual connection. bias: NONE for attention across. */
static uint32_t attend(struct model *model, const char *name, uint32_t x, uint32_t context, uint32_t bias)
{
	const struct model_config *config = &model->config;
	int64_t inner = config->heads * config->head_width;
	size_t length = layer_enter(model, "%s", name);
	uint32_t normed = layer_rms_norm(model, "layer_norm", x);
	uint32_t source = context == NONE ? normed : context;
	uint32_t q = layer_split_heads(model, layer_linear(model, "q", normed, inner, false), config->heads);
	uint32_t k = layer_split_heads(model, layer_linear(model, "k", source, inner, false), config->heads);
	uint32_t v = layer_split_heads(model, layer_linear(model, "v", source, inner, false), config->heads);
	uint32_t seen = layer_attention(model, q, k, v, bias, false);
	uint32_t result = layer_add(model, x, layer_dropout(model, layer_linear(model, "o", seen, config->hidden, false)));
	layer_leave(model, length);
	return result;
}

static uint32_t t5_feed_forward(struct model *model, uint32_t x)
{
	size_t length = layer_enter(model, "mlp");
	uint32_t normed = layer_rms_norm(model, "layer_norm", x);
	uint32_t inner = layer_activation(model, layer_linear(model, "wi", normed, model->config.ffn, false));
	inner = layer_dropout(model, inner);
	uint32_t result = layer_add(
		model, x, layer_dropout(model, layer_linear(model, "wo", inner, model->config.hidden, false)));
	layer_leave(model, length);
	return result;
}

/* encoded: NONE in the encoder. */
static uint32_t t5_stack(struct model *model, const char *name, uint32_t x, uint32_t encoded)
{
	size_t whole = layer_enter(model, "%s", name);
	const struct model_config *config = &model->config;
	int64_t layers = encoded != NONE && config->decoder_layers ? config->decoder_layers : config->layers;
	x = layer_dropout(model, x);
	uint32_t bias = position_bias(model);
	for (int64_t layer = 0; layer < layers && model->build.status == OK; layer++) {
		size_t length = layer_enter(model, "block.%d", (int)layer);
		x = attend(model, "self_attention", x, NONE, bias);
		if (encoded != NONE)
			x = attend(model, "cross_attention", x, encoded, NONE);
		x = t5_feed_forward(model, x);
		layer_leave(model, length);
	}
	x = layer_dropout(model, layer_rms_norm(model, "final_layer_norm", x));
	layer_leave(model, whole);
	return x;
}

void model_t5(struct model *model)
{
	const struct model_config *config = &model->config;
	struct shape tokens = SHAPE(config->batch, config->seq);
	int64_t rows = config->batch * config->seq;
	uint32_t ids = layer_input(model, "ids", DTYPE_I64, tokens),
			 targets = layer_input(model, "decoder_ids", DTYPE_I64, tokens), table;
	uint32_t labels = layer_input(model, "labels", DTYPE_I64, tokens);
	uint32_t encoded = t5_stack(
		model, "encoder", layer_embedding(model, "shared", config->vocab, config->hidden, ids, &table), NONE);
	build_op(&model->build, "aten.embedding.default", IN(table, targets));
	uint32_t x = build_output(&model->build, DTYPE_F32, SHAPE(config->batch, config->seq, config->hidden));
	x = t5_stack(model, "decoder", x, encoded);
	x = layer_map(model, "aten.mul.Tensor", x);
	uint32_t logits = config->tied ? layer_linear_tied(model, x, table, NONE)
		: layer_linear(model, "lm_head", x, config->vocab, false);
	layer_cross_entropy(
		model, layer_view(model, logits, SHAPE(rows, config->vocab)), layer_view(model, labels, SHAPE(rows)));
}
