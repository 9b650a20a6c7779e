/* resnet.c: residual networks as torchvision writes them. */

#include "layers.h"

/* Convolution, batch norm and, where wanted, a rectifier in place. name and norm: the module names of the first two. */
static uint32_t convolve(struct model *model, const char *name, const char *norm, uint32_t x, int64_t out,
	int64_t kernel, int64_t stride)
{
	struct build *build = &model->build;
	struct shape s = build_shape(build, x);
	int64_t padding = 2 * (kernel / 2);
	int64_t height = (s.dim[2] + padding - kernel) / stride + 1, width = (s.dim[3] + padding - kernel) / stride + 1;
	size_t length = layer_enter(model, "%s", name);
	build_op(build, "aten.convolution.default",
		IN(x, layer_parameter(model, "weight", SHAPE(out, s.dim[1], kernel, kernel))));
	x = build_output(build, DTYPE_F32, SHAPE(s.dim[0], out, height, width));
	layer_leave(model, length);
	length = layer_enter(model, "%s", norm);
	uint32_t weight = layer_parameter(model, "weight", SHAPE(out)), bias = layer_parameter(model, "bias", SHAPE(out));
	uint32_t mean = layer_buffer(model, "running_mean", DTYPE_F32, SHAPE(out)),
			 variance = layer_buffer(model, "running_var", DTYPE_F32, SHAPE(out));
	build_map_inplace(build, "aten.add_.Tensor", IN(layer_buffer(model, "num_batches_tracked", DTYPE_I64, SCALAR)));
	x = build_map(build, "aten.native_batch_norm.default", IN(x, weight, bias, mean, variance));
	build_output(build, DTYPE_F32, SHAPE(out));
	build_output(build, DTYPE_F32, SHAPE(out));
	build_touch(build, mean);
	build_touch(build, variance);
	layer_leave(model, length);
	return x;
}

static uint32_t rectify(struct model *model, uint32_t x)
{
	size_t length = layer_enter(model, "relu");
	x = build_map_inplace(&model->build, "aten.relu_.default", IN(x));
	layer_leave(model, length);
	return x;
}

/* Two convolutions of 3x3, or 1x1, 3x3, 1x1 around a narrower middle. */
static uint32_t resnet_block(struct model *model, uint32_t x, int64_t width, int64_t stride, bool bottleneck)
{
	struct build *build = &model->build;
	int64_t out = bottleneck ? 4 * width : width;
	uint32_t identity = x, y;
	bool reshaped = stride != 1 || build_shape(build, x).dim[1] != out;
	if (bottleneck) {
		y = rectify(model, convolve(model, "conv1", "bn1", x, width, 1, 1));
		y = rectify(model, convolve(model, "conv2", "bn2", y, width, 3, stride));
		y = convolve(model, "conv3", "bn3", y, out, 1, 1);
	} else {
		y = rectify(model, convolve(model, "conv1", "bn1", x, width, 3, stride));
		y = convolve(model, "conv2", "bn2", y, out, 3, 1);
	}
	if (reshaped)
		identity = convolve(model, "downsample.0", "downsample.1", x, out, 1, stride);
	y = build_map_inplace(build, "aten.add_.Tensor", IN(y, identity));
	return rectify(model, y);
}

/* Blocks per stage of the published depths. */
static const struct { int depth, blocks[4]; bool bottleneck; } depths[] = {
	{ 18, { 2, 2, 2, 2 }, false }, { 34, { 3, 4, 6, 3 }, false }, { 50, { 3, 4, 6, 3 }, true },
	{ 101, { 3, 4, 23, 3 }, true }, { 152, { 3, 8, 36, 3 }, true },
};

void model_resnet(struct model *model)
{
	struct build *build = &model->build;
	const struct model_config *config = &model->config;
	uint32_t x = layer_input(model, "x", DTYPE_F32, SHAPE(config->batch, 3, config->image, config->image));
	uint32_t labels = layer_input(model, "y", DTYPE_I64, SHAPE(config->batch));
	size_t row = 0;
	while (row + 1 < COUNT_OF(depths) && depths[row].depth != config->depth)
		row++;
	x = rectify(model, convolve(model, "conv1", "bn1", x, config->hidden, 7, 2));
	struct shape s = build_shape(build, x);
	struct shape pooled = SHAPE(s.dim[0], s.dim[1], (s.dim[2] - 1) / 2 + 1, (s.dim[3] - 1) / 2 + 1);
	size_t length = layer_enter(model, "maxpool");
	build_op(build, "aten.max_pool2d_with_indices.default", IN(x));
	x = build_output(build, DTYPE_F32, pooled);
	build_output(build, DTYPE_I64, pooled);
	layer_leave(model, length);
	FOR_INT(stage, 4)
		for (int i = 0; i < depths[row].blocks[stage] && build->status == OK; i++) {
			length = layer_enter(model, "layer%d.%d", stage + 1, i);
			x = resnet_block(model, x, config->hidden << stage, stage > 0 && i == 0 ? 2 : 1, depths[row].bottleneck);
			layer_leave(model, length);
		}
	s = build_shape(build, x);
	length = layer_enter(model, "avgpool");
	x = build_to_shape(build, "aten.mean.dim", x, SHAPE(s.dim[0], s.dim[1], 1, 1));
	layer_leave(model, length);
	x = layer_view(model, x, SHAPE(s.dim[0], s.dim[1]));
	layer_cross_entropy(model, layer_linear(model, "fc", x, config->classes, true), labels);
}
