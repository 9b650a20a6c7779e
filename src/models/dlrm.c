/* dlrm.c: recommendation models: wide embedding tables, pairwise interactions, a classifier on top. */

#include "layers.h"

enum { DENSE_FEATURES = 13 };

static uint32_t dense_layer(struct model *model, int64_t index, uint32_t x, int64_t width)
{
	return layer_map(model, "aten.relu.default", layer_linear(model, PRINTED(32, "%d", (int)index), x, width, true));
}

/* One row of every table for every sample, below the dense features: [batch, 1 + tables, width]. */
static uint32_t joined_tables(struct model *model, uint32_t dense)
{
	const struct model_config *config = &model->config;
	uint32_t *MAKE(part, (size_t)config->experts + 1);
	if (!part) {
		model->build.status = NO_MEMORY;
		return NONE;
	}
	part[0] = dense;
	for (int64_t i = 0; i < config->experts; i++) {
		uint32_t ids = layer_input(model, PRINTED(32, "ids.%d", (int)i), DTYPE_I64, SHAPE(config->batch, 1));
		part[i + 1] = layer_embedding(model, PRINTED(32, "table.%d", (int)i), config->vocab, config->hidden, ids, NULL);
	}
	build_op(&model->build, "aten.cat.default", part, (uint32_t)config->experts + 1);
	mem_free(part);
	return build_output(&model->build, DTYPE_F32, SHAPE(config->batch, config->experts + 1, config->hidden));
}

void model_dlrm(struct model *model)
{
	struct build *build = &model->build;
	const struct model_config *config = &model->config;
	int64_t batch = config->batch, width = config->hidden, features = config->experts + 1;
	uint32_t dense = layer_input(model, "dense", DTYPE_F32, SHAPE(batch, DENSE_FEATURES));
	uint32_t labels = layer_input(model, "labels", DTYPE_I64, SHAPE(batch));
	size_t length = layer_enter(model, "bottom");
	uint32_t x = dense_layer(model, 0, dense, 4 * width);
	x = dense_layer(model, 1, x, 2 * width);
	uint32_t bottom = dense_layer(model, 2, x, width);
	layer_leave(model, length);
	uint32_t joined = joined_tables(model, layer_view(model, bottom, SHAPE(batch, 1, width)));
	uint32_t turned = build_reshape(build, "aten.transpose.int", joined, SHAPE(batch, width, features));
	build_op(build, "aten.bmm.default", IN(joined, turned));
	uint32_t pairs = layer_view(model, build_output(build, DTYPE_F32, SHAPE(batch, features, features)), SHAPE(batch,
		features * features));
	build_op(build, "aten.cat.default", IN(bottom, pairs));
	x = build_output(build, DTYPE_F32, SHAPE(batch, width + features * features));
	length = layer_enter(model, "top");
	for (int64_t i = 0; i < config->layers && build->status == OK; i++)
		x = dense_layer(model, i, x, config->ffn);
	x = layer_linear(model, "classifier", x, config->classes, true);
	layer_leave(model, length);
	layer_cross_entropy(model, x, labels);
}
