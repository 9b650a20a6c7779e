/* decoder.c: decoders with rotary positions: norms, residual connections, a language model's head. */
#include "layers.h"

uint32_t decoder_norm(struct model *model, const char *name, uint32_t x)
{
	const struct model_config *config = &model->config;
	if (config->layer_norms && (config->norms_without_bias || config->norms_without_weight))
		return layer_norm_without(model, name, x, !config->norms_without_weight);
	return config->layer_norms ? layer_norm(model, name, x) : layer_rms_norm(model, name, x);
}

/* A sink takes part of every softmax of its head: its share is a sigmoid of the sink less the row's log-sum-exp. Here one number a head weighs the results. */
static uint32_t sunk(struct model *model, uint32_t context)
{
	const struct model_config *config = &model->config;
	struct shape shape = build_shape(&model->build, context);
	int64_t width = shape.dim[2] / config->heads;
	uint32_t sinks = layer_view(model, layer_parameter(model, "sinks", SHAPE(config->heads)), SHAPE(1, 1, config->heads, 1));
	uint32_t heads = layer_view(model, context, SHAPE(shape.dim[0], shape.dim[1], config->heads, width));
	return layer_view(model, layer_multiply(model, heads, layer_map(model, "aten.sigmoid.default", sinks)), shape);
}

uint32_t decoder_causal(struct model *model, uint32_t q, uint32_t k, uint32_t v)
{
	const struct model_config *config = &model->config;
	uint32_t context = config->flash ? layer_flash_attention(model, q, k, v, true) : layer_attention(model, q, k, v, NONE, true);
	if (config->sinks)
		context = sunk(model, context);
	return layer_linear(model, "o_proj", context, config->hidden, config->o_bias);
}

/* The end of a language model: norm, projection to the vocabulary (table, where tied), loss; fused as the configuration has it. */
static void language_head(struct model *model, uint32_t x, uint32_t labels, uint32_t table)
{
	const struct model_config *config = &model->config;
	x = decoder_norm(model, "norm", x);
	uint32_t logits = config->tied ? layer_linear_tied(model, x, table) : layer_linear(model, "lm_head", x, config->vocab, config->head_bias);
	if (config->tied && config->head_bias)
		logits = layer_add(model, logits, layer_parameter(model, "lm_head.bias", SHAPE(config->vocab)));
	if (config->final_cap)
		logits = layer_capped(model, logits);
	if (!config->fused && !config->eager_loss) {
		layer_next_token_loss(model, logits, labels);
		return;
	}
	logits = layer_view(model, logits, SHAPE(config->batch * config->seq, config->vocab));
	labels = layer_view(model, labels, SHAPE(config->batch * config->seq));
	if (config->eager_loss) {
		layer_cross_entropy(model, logits, labels);
	} else {
		build_op(&model->build, "tidemark.cross_entropy", IN(logits, labels));
		build_kind(&model->build, build_output(&model->build, DTYPE_F32, SCALAR), KIND_OUTPUT);
	}
}

struct halves {
	decoder_attends *attention;
	decoder_feeds *feed;
	uint32_t cosine, sine;
};

static uint32_t attended(struct model *model, const struct halves *halves, uint32_t x)
{
	return layer_dropout(model, halves->attention(model, x, halves->cosine, halves->sine));
}

static uint32_t fed(struct model *model, const struct halves *halves, uint32_t x, int64_t layer)
{
	return layer_dropout(model, halves->feed(model, x, layer));
}

static uint32_t parallel_layer(struct model *model, const struct halves *halves, uint32_t x, int64_t layer)
{
	uint32_t first = decoder_norm(model, "input_layernorm", x), seen = attended(model, halves, first);
	uint32_t second = model->config.residual == RESIDUAL_PARALLEL_NORM ? first : decoder_norm(model, "post_attention_layernorm", x);
	return layer_add(model, layer_add(model, fed(model, halves, second, layer), seen), x);
}

static uint32_t sandwich_layer(struct model *model, const struct halves *halves, uint32_t x, int64_t layer)
{
	uint32_t seen = attended(model, halves, decoder_norm(model, "input_layernorm", x));
	x = layer_add(model, x, decoder_norm(model, "post_attention_layernorm", seen));
	uint32_t worked = fed(model, halves, decoder_norm(model, "pre_feedforward_layernorm", x), layer);
	return layer_add(model, x, decoder_norm(model, "post_feedforward_layernorm", worked));
}

static uint32_t behind_layer(struct model *model, const struct halves *halves, uint32_t x, int64_t layer)
{
	x = layer_add(model, x, decoder_norm(model, "post_attention_layernorm", attended(model, halves, x)));
	return layer_add(model, x, decoder_norm(model, "post_feedforward_layernorm", fed(model, halves, x, layer)));
}

static uint32_t plain_layer(struct model *model, const struct halves *halves, uint32_t x, int64_t layer)
{
	x = layer_add(model, x, attended(model, halves, decoder_norm(model, "input_layernorm", x)));
	return layer_add(model, x, fed(model, halves, decoder_norm(model, "post_attention_layernorm", x), layer));
}

void decoder_rotary(struct model *model, int64_t width, decoder_attends *attention, decoder_feeds *feed)
{
	static uint32_t (*const layers[])(struct model *model, const struct halves *halves, uint32_t x, int64_t layer) = {
		[RESIDUAL_ONE_AFTER_THE_OTHER] = plain_layer, [RESIDUAL_PARALLEL] = parallel_layer, [RESIDUAL_PARALLEL_NORM] = parallel_layer,
		[RESIDUAL_BEHIND] = behind_layer, [RESIDUAL_SANDWICH] = sandwich_layer,
	};
	const struct model_config *config = &model->config;
	uint32_t ids = layer_input(model, "ids", DTYPE_I64, SHAPE(config->batch, config->seq)), table;
	uint32_t labels = layer_input(model, "labels", DTYPE_I64, SHAPE(config->batch, config->seq));
	struct halves halves = { .attention = attention, .feed = feed };
	halves.cosine = layer_buffer(model, "rotary.cos", DTYPE_F32, SHAPE(1, 1, config->seq, width));
	halves.sine = layer_buffer(model, "rotary.sin", DTYPE_F32, SHAPE(1, 1, config->seq, width));
	uint32_t x = layer_embedding(model, "embed_tokens", config->vocab, config->hidden, ids, &table);
	if (config->scaled_embedding)
		x = layer_map(model, "aten.mul.Tensor", x);
	x = layer_dropout(model, x);
	for (int64_t layer = 0; layer < config->layers && model->build.status == OK; layer++) {
		size_t length = layer_enter(model, "layers.%d", (int)layer);
		x = layers[config->residual](model, &halves, x, layer);
		layer_leave(model, length);
	}
	language_head(model, x, labels, table);
}
