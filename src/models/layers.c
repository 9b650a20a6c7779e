/* layers.c: the layers that the built-in models are made of. */
#include <stdarg.h>

#include "layers.h"

size_t layer_enter(struct model *model, const char *format, ...)
{
	size_t length = strlen(model->path), at = length;
	if (length > 0 && length + 1 < sizeof model->path)
		model->path[at++] = '.';
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(model->path + at, sizeof model->path - at, format, arguments);
	va_end(arguments);
	model->build.module = model->path;
	return length;
}

void layer_leave(struct model *model, size_t length)
{
	model->path[length] = '\0';
}

static uint32_t layers_leaf(struct model *model, const char *word, enum kind kind, enum dtype dtype, struct shape shape)
{
	return build_leaf(&model->build, PRINTED(320, "%s%s%s", model->path, *model->path ? "." : "", word), kind, dtype,
		shape);
}

uint32_t layer_parameter(struct model *model, const char *word, struct shape shape)
{
	return layers_leaf(model, word, KIND_PARAMETER, DTYPE_F32, shape);
}

uint32_t layer_buffer(struct model *model, const char *word, enum dtype dtype, struct shape shape)
{
	return layers_leaf(model, word, KIND_BUFFER, dtype, shape);
}

uint32_t layer_input(struct model *model, const char *name, enum dtype dtype, struct shape shape)
{
	return build_leaf(&model->build, name, KIND_INPUT, dtype, shape);
}

/* ---- one op ---- */

uint32_t layer_map(struct model *model, const char *type, uint32_t x)
{
	return build_map(&model->build, type, IN(x));
}

uint32_t layer_view(struct model *model, uint32_t x, struct shape shape)
{
	return build_reshape(&model->build, "aten.view.default", x, shape);
}

/* The wider operand first: its shape is the result's. */
static uint32_t layers_broadcast(struct model *model, const char *type, uint32_t a, uint32_t b)
{
	struct shape left = build_shape(&model->build, a), right = build_shape(&model->build, b);
	build_op(&model->build, type, IN(a, b));
	bool wider = shape_elements(&right) > shape_elements(&left) || right.dims > left.dims;
	return build_output(&model->build, build_dtype(&model->build, a), wider ? right : left);
}

uint32_t layer_add(struct model *model, uint32_t a, uint32_t b)
{
	return layers_broadcast(model, "aten.add.Tensor", a, b);
}

uint32_t layer_multiply(struct model *model, uint32_t a, uint32_t b)
{
	return layers_broadcast(model, "aten.mul.Tensor", a, b);
}

uint32_t layer_dropout(struct model *model, uint32_t x)
{
	if (!model->config.dropout)
		return x;
	struct shape shape = build_shape(&model->build, x);
	uint32_t kept = build_map(&model->build, "aten.native_dropout.default", IN(x));
	build_output(&model->build, DTYPE_BOOL, shape);
	return kept;
}

/* ---- linear layers, norms, tables ---- */

/* [.., width] -> [rows, width]. */
static uint32_t as_matrix(struct model *model, uint32_t x)
{
	struct shape shape = build_shape(&model->build, x);
	int64_t width = shape.dims ? shape.dim[shape.dims - 1] : 1;
	if (shape.dims == 2 || width == 0)
		return x;
	return layer_view(model, x, SHAPE(shape_elements(&shape) / width, width));
}

/* x [.., in] by weight [out, in]: rows flattened for the product, as PyTorch does. */
static uint32_t layers_product(struct model *model, uint32_t x, uint32_t weight, uint32_t bias)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x), matrix = build_shape(build, weight);
	uint32_t turned = build_reshape(build, "aten.t.default", weight, SHAPE(matrix.dim[1], matrix.dim[0]));
	uint32_t rows = as_matrix(model, x);
	build_op(build, bias == NONE ? "aten.mm.default" : "aten.addmm.default", IN(bias, rows, turned));
	uint32_t result = build_output(build, build_dtype(build, x), SHAPE(build_shape(build, rows).dim[0], matrix.dim[0]));
	if (shape.dims == 2 || shape.dims == 0)
		return result;
	shape.dim[shape.dims - 1] = matrix.dim[0];
	return build_reshape(build, bias == NONE ? "aten._unsafe_view.default" : "aten.view.default", result, shape);
}

uint32_t layer_linear(struct model *model, const char *name, uint32_t x, int64_t out, bool bias)
{
	size_t length = layer_enter(model, "%s", name);
	struct shape shape = build_shape(&model->build, x);
	int64_t in = shape.dims ? shape.dim[shape.dims - 1] : 1;
	uint32_t weight = layer_parameter(model, "weight", SHAPE(out, in));
	uint32_t offset = bias ? layer_parameter(model, "bias", SHAPE(out)) : NONE;
	uint32_t result = layers_product(model, x, weight, offset);
	layer_leave(model, length);
	return result;
}

uint32_t layer_linear_tied(struct model *model, uint32_t x, uint32_t weight, uint32_t bias)
{
	return layers_product(model, x, weight, bias);
}

uint32_t layer_embedding(
	struct model *model, const char *name, int64_t rows, int64_t width, uint32_t ids, uint32_t *weight)
{
	size_t length = layer_enter(model, "%s", name);
	uint32_t table = layer_parameter(model, "weight", SHAPE(rows, width));
	struct shape shape = build_shape(&model->build, ids);
	shape.dim[shape.dims++] = width;
	build_op(&model->build, "aten.embedding.default", IN(table, ids));
	uint32_t result = build_output(&model->build, DTYPE_F32, shape);
	layer_leave(model, length);
	if (weight)
		*weight = table;
	return result;
}

uint32_t layer_norm(struct model *model, const char *name, uint32_t x)
{
	size_t length = layer_enter(model, "%s", name);
	struct shape shape = build_shape(&model->build, x), statistics = shape;
	int64_t width = shape.dims ? shape.dim[shape.dims - 1] : 1;
	uint32_t scale = layer_parameter(model, "weight", SHAPE(width)), shift = layer_parameter(model, "bias", SHAPE(width));
	if (shape.dims)
		statistics.dim[shape.dims - 1] = 1;
	uint32_t result = build_map(&model->build, "aten.native_layer_norm.default", IN(x, scale, shift));
	build_output(&model->build, DTYPE_F32, statistics);
	build_output(&model->build, DTYPE_F32, statistics);
	layer_leave(model, length);
	return result;
}

uint32_t layer_rms_norm(struct model *model, const char *name, uint32_t x)
{
	size_t length = layer_enter(model, "%s", name);
	struct shape shape = build_shape(&model->build, x), statistics = shape;
	uint32_t weight = layer_parameter(model, "weight", SHAPE(shape.dims ? shape.dim[shape.dims - 1] : 1));
	if (shape.dims)
		statistics.dim[shape.dims - 1] = 1;
	uint32_t result = build_map(&model->build, "aten._fused_rms_norm.default", IN(x, weight));
	build_output(&model->build, DTYPE_F32, statistics);
	layer_leave(model, length);
	return result;
}

uint32_t layer_activation(struct model *model, uint32_t x)
{
	if (model->config.activation == ACTIVATION_RELU)
		return layer_map(model, "aten.relu.default", x);
	if (model->config.activation == ACTIVATION_GELU)
		return layer_map(model, "aten.gelu.default", x);
	/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), as GPT-2's code writes it */
	uint32_t half = layer_map(model, "aten.mul.Tensor", x);
	uint32_t cube = layer_map(model, "aten.pow.Tensor_Scalar", x);
	cube = layer_map(model, "aten.mul.Tensor", cube);
	uint32_t inner = layer_map(model, "aten.mul.Tensor", layer_add(model, x, cube));
	uint32_t outer = layer_map(model, "aten.add.Tensor", layer_map(model, "aten.tanh.default", inner));
	return layer_multiply(model, half, outer);
}

uint32_t layer_gated(struct model *model, const char *name, uint32_t x, int64_t width)
{
	size_t length = layer_enter(model, "%s", name);
	uint32_t gate = layer_linear(model, "gate_proj", x, width, false), gated;
	if (model->config.fused) {
		gated = build_map(&model->build, "tidemark.swiglu", IN(gate, layer_linear(model, "up_proj", x, width, false)));
	} else {
		gate = layer_map(model, "aten.silu.default", gate);
		gated = layer_multiply(model, gate, layer_linear(model, "up_proj", x, width, false));
	}
	uint32_t result = layer_linear(model, "down_proj", gated, model->config.hidden, false);
	layer_leave(model, length);
	return result;
}

/* ---- attention ---- */

uint32_t layer_split_heads(struct model *model, uint32_t x, int64_t heads)
{
	struct shape shape = build_shape(&model->build, x);
	int64_t batch = shape.dim[0], rows = shape.dim[1], width = shape.dim[2] / heads;
	uint32_t parts = layer_view(model, x, SHAPE(batch, rows, heads, width));
	return build_reshape(&model->build, "aten.permute.default", parts, SHAPE(batch, heads, rows, width));
}

/* [b, heads, r, c] -> [b * heads, r, c]: a view of contiguous memory or of a batch of one, else a copy. */
static uint32_t heads_as_batch(struct model *model, uint32_t x, bool contiguous)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x), flat = SHAPE(shape.dim[0] * shape.dim[1], shape.dim[2], shape.dim[3]);
	x = build_reshape(build, "aten.expand.default", x, shape);
	if (contiguous || shape.dim[0] == 1)
		return build_reshape(build, "aten._reshape_alias.default", x, flat);
	return build_reshape(build, "aten._unsafe_view.default", layer_map(model, "aten.clone.default", x), flat);
}

static uint32_t batched_product(struct model *model, uint32_t a, uint32_t b)
{
	struct shape left = build_shape(&model->build, a), right = build_shape(&model->build, b);
	build_op(&model->build, "aten.bmm.default", IN(a, b));
	return build_output(&model->build, build_dtype(&model->build, a), SHAPE(left.dim[0], left.dim[1], right.dim[2]));
}

/* [b, heads, s, d] -> [b, s, heads * d], a copy. */
static uint32_t join_heads(struct model *model, uint32_t x)
{
	struct shape shape = build_shape(&model->build, x);
	int64_t batch = shape.dim[0], heads = shape.dim[1], rows = shape.dim[2], width = shape.dim[3];
	x = build_reshape(&model->build, "aten.permute.default", x, SHAPE(batch, rows, heads, width));
	return layer_view(model, layer_map(model, "aten.clone.default", x), SHAPE(batch, rows, heads * width));
}

uint32_t layer_attention(struct model *model, uint32_t q, uint32_t k, uint32_t v, uint32_t mask, bool scaled)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, q), keys = build_shape(build, k);
	int64_t batch = shape.dim[0], heads = shape.dim[1], rows = shape.dim[2], width = shape.dim[3], columns = keys.dim[2];
	uint32_t turned = build_reshape(build, "aten.transpose.int", k, SHAPE(batch, heads, width, columns));
	uint32_t left = heads_as_batch(model, q, false), right = heads_as_batch(model, turned, false);
	uint32_t scores = batched_product(model, left, right);
	scores = build_reshape(build, "aten._unsafe_view.default", scores, SHAPE(batch, heads, rows, columns));
	if (scaled)
		scores = layer_map(model, "aten.div.Tensor", scores);
	if (mask != NONE && build_dtype(build, mask) == DTYPE_BOOL)
		scores = build_map(build, "aten.masked_fill.Scalar", IN(scores, mask));
	else if (mask != NONE)
		scores = layer_add(model, scores, mask);
	uint32_t weights = layer_dropout(model, layer_map(model, "aten._softmax.default", scores));
	weights = heads_as_batch(model, weights, true);
	uint32_t context = batched_product(model, weights, heads_as_batch(model, v, false));
	context = build_reshape(
		build, "aten._unsafe_view.default", context, SHAPE(batch, heads, rows, build_shape(build, v).dim[3]));
	return join_heads(model, context);
}

uint32_t layer_flash_attention(struct model *model, uint32_t q, uint32_t k, uint32_t v, bool causal)
{
	struct shape shape = build_shape(&model->build, q);
	shape.dim[3] = build_shape(&model->build, v).dim[3];
	build_op(&model->build, "aten._scaled_dot_product_flash_attention.default", IN(q, k, v));
	uint32_t context = build_output(&model->build, build_dtype(&model->build, q), shape);
	build_output(&model->build, DTYPE_F32, SHAPE(shape.dim[0], shape.dim[1], shape.dim[2]));
	if (causal)
		build_share(&model->build, 1, 2);
	struct shape rows = SHAPE(shape.dim[0], shape.dim[2], shape.dim[1], shape.dim[3]);
	context = build_reshape(&model->build, "aten.permute.default", context, rows);
	return layer_view(model, context, SHAPE(shape.dim[0], shape.dim[2], shape.dim[1] * shape.dim[3]));
}

uint32_t layer_rotary(struct model *model, uint32_t x, uint32_t cosine, uint32_t sine)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x), half = shape;
	half.dim[3] = shape.dim[3] / 2;
	uint32_t straight = layer_multiply(model, x, cosine);
	uint32_t first = build_reshape(build, "aten.slice.Tensor", x, half);
	uint32_t second = build_reshape(build, "aten.slice.Tensor", x, half);
	second = layer_map(model, "aten.neg.default", second);
	build_op(build, "aten.cat.default", IN(second, first));
	uint32_t turned = build_output(build, build_dtype(build, x), shape);
	return layer_add(model, straight, layer_multiply(model, turned, sine));
}

uint32_t layer_slice_last(struct model *model, uint32_t x, int64_t width)
{
	struct shape shape = build_shape(&model->build, x);
	if (shape.dims)
		shape.dim[shape.dims - 1] = width;
	return build_reshape(&model->build, "aten.slice.Tensor", x, shape);
}

uint32_t layer_join_last(struct model *model, uint32_t left, uint32_t right)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, left), more = build_shape(build, right);
	if (shape.dims && more.dims)
		shape.dim[shape.dims - 1] += more.dim[more.dims - 1];
	build_op(build, "aten.cat.default", IN(left, right));
	return build_output(build, build_dtype(build, left), shape);
}

/* ---- losses ---- */

uint32_t layer_cross_entropy(struct model *model, uint32_t logits, uint32_t labels)
{
	struct build *build = &model->build;
	uint32_t likelihood = layer_map(model, "aten._log_softmax.default", logits);
	build_op(build, "aten.nll_loss_forward.default", IN(likelihood, labels));
	uint32_t loss = build_output(build, DTYPE_F32, SCALAR);
	build_kind(build, loss, KIND_OUTPUT);
	build_output(build, DTYPE_F32, SCALAR);
	return loss;
}

uint32_t layer_next_token_loss(struct model *model, uint32_t logits, uint32_t labels)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, logits);
	int64_t batch = shape.dim[0], rows = shape.dim[1] - 1, classes = shape.dim[2];
	uint32_t all = build_reshape(build, "aten.slice.Tensor", logits, shape);
	uint32_t shifted = build_reshape(build, "aten.slice.Tensor", all, SHAPE(batch, rows, classes));
	shifted = build_reshape(build, "aten.slice.Tensor", shifted, SHAPE(batch, rows, classes));
	uint32_t targets = build_reshape(build, "aten.slice.Tensor", labels, SHAPE(batch, rows + 1));
	targets = build_reshape(build, "aten.slice.Tensor", targets, SHAPE(batch, rows));
	if (batch > 1) {
		shifted = layer_map(model, "aten.clone.default", shifted);
		targets = layer_map(model, "aten.clone.default", targets);
	}
	return layer_cross_entropy(model, layer_view(model, shifted, SHAPE(batch * rows, classes)), layer_view(model, targets,
		SHAPE(batch * rows)));
}
