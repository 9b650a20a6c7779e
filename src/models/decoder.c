/* decoder.c: decoders with rotary positions: norms, residual connections, a language model's head. */

#include "layers.h"

uint32_t decoder_causal(struct model *model, uint32_t q, uint32_t k, uint32_t v)
{
	uint32_t context = model->config.flash ? layer_flash_attention(model, q, k, v, true)
		: layer_attention(model, q, k, v, NONE, true);
	return layer_linear(model, "o_proj", context, model->config.hidden, false);
}

/* What the projections to the vocabulary share: the weight is made by the first of them; NONE where there is none. */
struct vocabulary { uint32_t table, weight; };

/* Logits; the weight is the embedding's table, where tied. */
static uint32_t vocabulary_product(struct model *model, uint32_t x, struct vocabulary *vocabulary)
{
	const struct model_config *config = &model->config;
	if (config->tied)
		return layer_linear_tied(model, x, vocabulary->table, NONE);
	size_t length = layer_enter(model, "lm_head");
	if (vocabulary->weight == NONE)
		vocabulary->weight = layer_parameter(model, "weight", SHAPE(config->vocab, config->hidden));
	uint32_t logits = layer_linear_tied(model, x, vocabulary->weight, NONE);
	layer_leave(model, length);
	return logits;
}

/* The end of a language model: projection to the vocabulary, loss; fused as the configuration has it. Returns the loss.
 */
static uint32_t language_head(struct model *model, uint32_t x, uint32_t labels, struct vocabulary *vocabulary)
{
	const struct model_config *config = &model->config;
	uint32_t logits = vocabulary_product(model, x, vocabulary);
	if (!config->fused && !config->eager_loss)
		return layer_next_token_loss(model, logits, labels);
	logits = layer_view(model, logits, SHAPE(config->batch * config->seq, config->vocab));
	labels = layer_view(model, labels, SHAPE(config->batch * config->seq));
	if (config->eager_loss)
		return layer_cross_entropy(model, logits, labels);
	build_op(&model->build, "tidemark.cross_entropy", IN(logits, labels));
	uint32_t loss = build_output(&model->build, DTYPE_F32, SCALAR);
	build_kind(&model->build, loss, KIND_OUTPUT);
	return loss;
}

struct halves {
	decoder_attends *attention;
	decoder_feeds *feed;
	uint32_t cosine, sine;
};

static uint32_t decoder_layer(struct model *model, const struct halves *halves, uint32_t x, int64_t layer)
{
	uint32_t y = layer_rms_norm(model, "input_layernorm", x);
	x = layer_add(model, x, layer_dropout(model, halves->attention(model, y, halves->cosine, halves->sine)));
	y = layer_rms_norm(model, "post_attention_layernorm", x);
	return layer_add(model, x, layer_dropout(model, halves->feed(model, y, layer)));
}

/* A module that predicts one more token (DeepSeek-V3, arXiv 2412.19437, section 2.2): what the last depth made of every
 * token, and the token behind what that predicted, go through norms, a projection and a layer of the model's own kind,
 * and through a norm to the model's own vocabulary. */
static uint32_t further(struct model *model, const struct halves *halves, int64_t depth, uint32_t x,
	 uint32_t tokens, uint32_t table)
{
	const struct model_config *config = &model->config;
	size_t length = layer_enter(model, "mtp.%d", (int)depth);
	struct shape shape = build_shape(&model->build, x);
	build_op(&model->build, "aten.embedding.default", IN(table, tokens));
	uint32_t next = build_output(&model->build, build_dtype(&model->build, x), shape);
	next = layer_rms_norm(model, "enorm", next);
	x = layer_join_last(model, next, layer_rms_norm(model, "hnorm", x));
	x = layer_linear(model, "eh_proj", x, config->hidden, false);
	x = decoder_layer(model, halves, x, config->layers + depth);
	x = layer_rms_norm(model, "norm", x);
	layer_leave(model, length);
	return x;
}

/* Losses of the tokens behind the next one, averaged and weighed, are added to the loss. Labels come shifted by one
 * token more for every depth, as whoever loads them has them; where a loss shifts its labels itself, they are the
 * tokens that go in. */
static void predict_further(struct model *model, const struct halves *halves, uint32_t x, uint32_t labels,
	 struct vocabulary *vocabulary, uint32_t loss)
{
	struct build *build = &model->build;
	bool shifted = model->config.fused || model->config.eager_loss;
	uint32_t sum = NONE;
	for (int64_t depth = 0; depth < model->config.mtp_layers && build->status == OK; depth++) {
		uint32_t later = layer_input(model, PRINTED(40, "mtp.%d.labels", (int)depth), DTYPE_I64,
			SHAPE(model->config.batch, model->config.seq));
		x = further(model, halves, depth, x, shifted ? labels : later, vocabulary->table);
		uint32_t one = language_head(model, x, later, vocabulary);
		build_kind(build, one, KIND_ACTIVATION);
		sum = depth == 0 ? one : layer_add(model, sum, one);
		labels = later;
	}
	build_kind(build, loss, KIND_ACTIVATION);
	build_kind(build, layer_add(model, loss, layer_map(model, "aten.mul.Tensor", sum)), KIND_OUTPUT);
}

void decoder_rotary(struct model *model, int64_t width, decoder_attends *attention, decoder_feeds *feed)
{
	const struct model_config *config = &model->config;
	uint32_t ids = layer_input(model, "ids", DTYPE_I64, SHAPE(config->batch, config->seq));
	struct vocabulary vocabulary = { NONE, NONE };
	uint32_t labels = layer_input(model, "labels", DTYPE_I64, SHAPE(config->batch, config->seq));
	struct halves halves = { .attention = attention, .feed = feed };
	halves.cosine = layer_buffer(model, "rotary.cos", DTYPE_F32, SHAPE(1, 1, config->seq, width));
	halves.sine = layer_buffer(model, "rotary.sin", DTYPE_F32, SHAPE(1, 1, config->seq, width));
	uint32_t x = layer_embedding(model, "embed_tokens", config->vocab, config->hidden, ids, &vocabulary.table);
	x = layer_dropout(model, x);
	for (int64_t layer = 0; layer < config->layers && model->build.status == OK; layer++) {
		size_t length = layer_enter(model, "layers.%d", (int)layer);
		x = decoder_layer(model, &halves, x, layer);
		layer_leave(model, length);
	}
	x = layer_rms_norm(model, "norm", x);
	uint32_t loss = language_head(model, x, labels, &vocabulary);
	if (config->mtp_layers > 0)
		predict_further(model, &halves, x, labels, &vocabulary, loss);
}
