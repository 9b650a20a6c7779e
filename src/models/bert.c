/* bert.c: encoder-only transformers with a masked-language head. */
#include "layers.h"

/* 1 for tokens, 0 for padding -> 0 and a large negative number, to be added to the scores. */
static uint32_t padding_mask(struct model *model)
{
	struct build *build = &model->build;
	int64_t batch = model->config.batch, seq = model->config.seq;
	uint32_t mask = layer_input(model, "attention_mask", DTYPE_F32, SHAPE(batch, seq));
	mask = build_reshape(build, "aten.unsqueeze.default", mask, SHAPE(batch, 1, seq));
	mask = build_reshape(build, "aten.unsqueeze.default", mask, SHAPE(batch, 1, 1, seq));
	return layer_map(model, "aten.mul.Tensor", layer_map(model, "aten.rsub.Scalar", mask));
}

static uint32_t bert_encoder_layer(struct model *model, uint32_t x, uint32_t mask)
{
	const struct model_config *config = &model->config;
	size_t length = layer_enter(model, "attention");
	uint32_t q = layer_split_heads(model, layer_linear(model, "query", x, config->hidden, true), config->heads);
	uint32_t k = layer_split_heads(model, layer_linear(model, "key", x, config->hidden, true), config->heads);
	uint32_t v = layer_split_heads(model, layer_linear(model, "value", x, config->hidden, true), config->heads);
	uint32_t context = config->flash ? layer_flash_attention(model, q, k, v, false)
		: layer_attention(model, q, k, v, mask, true);
	uint32_t seen = layer_dropout(model, layer_linear(model, "output", context, config->hidden, true));
	x = layer_norm(model, "norm", layer_add(model, seen, x));
	layer_leave(model, length);
	length = layer_enter(model, "mlp");
	uint32_t inner = layer_activation(model, layer_linear(model, "intermediate", x, config->ffn, true));
	uint32_t worked = layer_dropout(model, layer_linear(model, "output", inner, config->hidden, true));
	x = layer_norm(model, "norm", layer_add(model, worked, x));
	layer_leave(model, length);
	return x;
}

static uint32_t embeddings(struct model *model, uint32_t ids, uint32_t *table)
{
	const struct model_config *config = &model->config;
	uint32_t types = layer_input(model, "types", DTYPE_I64, SHAPE(config->batch, config->seq));
	size_t length = layer_enter(model, "embeddings");
	uint32_t x = layer_embedding(model, "word", config->vocab, config->hidden, ids, table);
	x = layer_add(
		model, x, layer_embedding(model, "type", config->types ? config->types : 2, config->hidden, types, NULL));
	build_op(&model->build, "aten.arange.default", NULL, 0);
	uint32_t position = build_output(&model->build, DTYPE_I64, SHAPE(config->seq));
	x = layer_add(model, x, layer_embedding(model, "position", config->positions, config->hidden, position, NULL));
	x = layer_dropout(model, layer_norm(model, "norm", x));
	layer_leave(model, length);
	return x;
}

void model_bert(struct model *model)
{
	const struct model_config *config = &model->config;
	int64_t rows = config->batch * config->seq;
	uint32_t ids = layer_input(model, "ids", DTYPE_I64, SHAPE(config->batch, config->seq)), table;
	uint32_t labels = layer_input(model, "labels", DTYPE_I64, SHAPE(config->batch, config->seq));
	uint32_t mask = config->flash ? NONE : padding_mask(model);
	uint32_t x = embeddings(model, ids, &table);
	for (int64_t layer = 0; layer < config->layers && model->build.status == OK; layer++) {
		size_t length = layer_enter(model, "layer.%d", (int)layer);
		x = bert_encoder_layer(model, x, mask);
		layer_leave(model, length);
	}
	size_t length = layer_enter(model, "head");
	x = layer_norm(model, "norm", layer_activation(model, layer_linear(model, "dense", x, config->hidden, true)));
	uint32_t bias = layer_parameter(model, "bias", SHAPE(config->vocab));
	uint32_t logits = layer_add(model, layer_linear_tied(model, x, table, NONE), bias);
	layer_leave(model, length);
	layer_cross_entropy(
		model, layer_view(model, logits, SHAPE(rows, config->vocab)), layer_view(model, labels, SHAPE(rows)));
}
