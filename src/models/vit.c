/* vit.c: vision transformers as torchvision writes them. */
#include "layers.h"

/* [b, s, h] -> [b, s, h]; queries, keys and values from one product, rows led by the position, as
 * nn.MultiheadAttention. */
static uint32_t vit_self_attention(struct model *model, uint32_t x)
{
	struct build *build = &model->build;
	const struct model_config *config = &model->config;
	struct shape shape = build_shape(build, x);
	size_t length = layer_enter(model, "self_attention");
	uint32_t all = layer_linear(model, "in_proj", x, 3 * config->hidden, config->qkv_bias), part[3];
	build_op(build, "aten.split.Tensor", IN(all));
	FOR_INT(i, 3)
		part[i] = build_view(build, all, shape);
	FOR_INT(i, 3)
		part[i] = layer_split_heads(model, layer_map(model, "aten.clone.default", part[i]), config->heads);
	part[0] = layer_map(model, "aten.div.Tensor", part[0]);
	uint32_t context = config->flash ? layer_flash_attention(model, part[0], part[1], part[2], false)
		: layer_attention(model, part[0], part[1], part[2], NONE, false);
	uint32_t result = layer_linear(model, "out_proj", context, config->hidden, true);
	layer_leave(model, length);
	return result;
}

static uint32_t vit_encoder_layer(struct model *model, uint32_t x)
{
	const struct model_config *config = &model->config;
	x = layer_add(model, x, layer_dropout(model, vit_self_attention(model, layer_norm(model, "ln_1", x))));
	uint32_t inner = layer_norm(model, "ln_2", x);
	size_t length = layer_enter(model, "mlp");
	inner = layer_dropout(model, layer_activation(model, layer_linear(model, "0", inner, config->ffn, true)));
	inner = layer_dropout(model, layer_linear(model, "3", inner, config->hidden, true));
	layer_leave(model, length);
	return layer_add(model, x, inner);
}

/* Images to rows of patches, with the class token in front. */
static uint32_t patches(struct model *model)
{
	struct build *build = &model->build;
	const struct model_config *config = &model->config;
	int64_t batch = config->batch, side = config->image / config->patch, width = config->hidden,
			channels = config->channels ? config->channels : 3;
	uint32_t image = layer_input(model, "x", DTYPE_F32, SHAPE(batch, channels, config->image, config->image));
	uint32_t token = layer_parameter(model, "class_token", SHAPE(1, 1, width));
	size_t length = layer_enter(model, "conv_proj");
	uint32_t weight = layer_parameter(model, "weight", SHAPE(width, channels, config->patch, config->patch));
	build_op(build, "aten.convolution.default", IN(image, weight, layer_parameter(model, "bias", SHAPE(width))));
	uint32_t x = build_output(build, DTYPE_F32, SHAPE(batch, width, side, side));
	layer_leave(model, length);
	x = build_reshape(build, "aten._reshape_alias.default", x, SHAPE(batch, width, side * side));
	x = build_reshape(build, "aten.permute.default", x, SHAPE(batch, side * side, width));
	token = build_reshape(build, "aten.expand.default", token, SHAPE(batch, 1, width));
	build_op(build, "aten.cat.default", IN(token, x));
	return build_output(build, DTYPE_F32, SHAPE(batch, side * side + 1, width));
}

void model_vit(struct model *model)
{
	struct build *build = &model->build;
	const struct model_config *config = &model->config;
	uint32_t labels = layer_input(model, "y", DTYPE_I64, SHAPE(config->batch));
	uint32_t x = patches(model);
	struct shape shape = build_shape(build, x);
	size_t whole = layer_enter(model, "encoder");
	x = layer_dropout(
		model, layer_add(model, x, layer_parameter(model, "pos_embedding", SHAPE(1, shape.dim[1], config->hidden))));
	for (int64_t layer = 0; layer < config->layers && build->status == OK; layer++) {
		size_t length = layer_enter(model, "layers.encoder_layer_%d", (int)layer);
		x = vit_encoder_layer(model, x);
		layer_leave(model, length);
	}
	x = layer_norm(model, "ln", x);
	layer_leave(model, whole);
	x = build_reshape(build, "aten.slice.Tensor", x, build_shape(build, x));
	x = build_reshape(build, "aten.select.int", x, SHAPE(config->batch, config->hidden));
	layer_cross_entropy(model, layer_linear(model, "heads.head", x, config->classes, true), labels);
}
