/* shapes.c: sizes by operator (onnx/docs/Operators.md, opsets 1 to 24): products, windows, layers, and a table from an
 * op's name to a function that fills its results.
 *
 * Every size is computed with overflow checks; what can't be told stays unknown. Results get a type with their shape.
 */

#include "shapes.h"

/* ---- products, windows, sums ---- */

/* Of operands 0 and `second`; dtype -1: as the first one. */
static void matmul_of(struct infer *infer, uint32_t second, int dtype)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *b = infer_operand(infer, second);
	if (!a || !b || a->dims < 1 || b->dims < 1)
		return;
	struct onnx_shape left = *a, right = *b;
	left.dims = (uint8_t)(a->dims > 2 ? a->dims - 2 : 0);
	right.dims = (uint8_t)(b->dims > 2 ? b->dims - 2 : 0);
	if (!infer_widen(&left, &right) || left.dims + 2 > DIMS_MAX)
		return;
	if (a->dims > 1)
		left.dim[left.dims++] = a->dim[a->dims - 2];
	if (b->dims > 1)
		left.dim[left.dims++] = b->dim[b->dims - 1];
	infer_result(infer, 0, &left, dtype < 0 ? a->dtype : dtype);
}

static void shapes_matmul(struct infer *infer)
{
	matmul_of(infer, 1, -1);
}

static void gemm(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *b = infer_operand(infer, 1);
	bool turned_a = onnx_int(infer->node->body, "transA", 0) != 0,
		 turned_b = onnx_int(infer->node->body, "transB", 0) != 0;
	if (!a || !b || a->dims != 2 || b->dims != 2)
		return;
	struct onnx_shape made = { .dims = 2, .dim = { a->dim[turned_a ? 1 : 0], b->dim[turned_b ? 0 : 1] } };
	infer_result(infer, 0, &made, a->dtype);
}

/* "bij,bjk->bik": letters have the sizes that operands give them; what has dots or no arrow stays unknown. */
static void einsum(struct infer *infer)
{
	int64_t size[128];
	struct wire attribute, text = { 0 };
	struct wire_field field;
	uint32_t at = 0;
	int place = 0;
	struct onnx_shape made = { 0 };
	memset(size, -1, sizeof size);
	if (onnx_attribute(infer->node->body, "equation", &attribute))
		while (wire_next(&attribute, &field))
			text = field.number == 4 && field.type == 2 ? field.body : text;
	for (; text.at < text.end && *text.at != '-'; text.at++) {
		const struct onnx_shape *a = infer_operand(infer, at);
		if (*text.at == ',') {
			at++;
			place = 0;
		} else if (*text.at != ' ') {
			if (!a || place >= a->dims || *text.at == '.' || *text.at > 127)
				return;
			size[*text.at] = a->dim[place++];
		}
	}
	if (wire_size(text) < 2 || !infer_operand(infer, 0))
		return;
	for (text.at += 2; text.at < text.end; text.at++) {
		if (*text.at == ' ')
			continue;
		if (made.dims == DIMS_MAX || *text.at > 127 || size[*text.at] < 0)
			return;
		made.dim[made.dims++] = size[*text.at];
	}
	infer_result(infer, 0, &made, infer_operand(infer, 0)->dtype);
}

/* Strides, dilations and pads of `spatial` dims, with their normal values; false where the file's are too many. */
enum { WINDOW_MOST = 1 << 24 };
struct windows { int64_t kernel[DIMS_MAX], stride[DIMS_MAX], dilation[DIMS_MAX], pad[2 * DIMS_MAX]; };

static bool windows_of(struct wire node, int spatial, struct windows *windows)
{
	int strides = onnx_ints(node, "strides", windows->stride, DIMS_MAX),
		dilations = onnx_ints(node, "dilations", windows->dilation, DIMS_MAX);
	int pads = onnx_ints(node, "pads", windows->pad, 2 * DIMS_MAX);
	FOR_INT(i, spatial) {
		windows->stride[i] = strides == spatial ? windows->stride[i] : 1;
		windows->dilation[i] = dilations == spatial ? windows->dilation[i] : 1;
		if (windows->stride[i] < 1 || windows->dilation[i] < 1 || windows->stride[i] > WINDOW_MOST ||
			windows->dilation[i] > WINDOW_MOST)
			return false;
	}
	FOR_INT(i, 2 * spatial) {
		windows->pad[i] = pads == 2 * spatial ? windows->pad[i] : 0;
		if (windows->pad[i] < 0 || windows->pad[i] > WINDOW_MOST)
			return false;
	}
	return true;
}

/* How often a window fits. */
static int64_t slid(struct wire node, const struct windows *windows, int spatial, int i, int64_t size)
{
	int64_t stride = windows->stride[i], reach = (windows->kernel[i] - 1) * windows->dilation[i] + 1;
	if (onnx_word(node, "auto_pad", "SAME_UPPER") || onnx_word(node, "auto_pad", "SAME_LOWER"))
		return size / stride + (size % stride != 0);
	int64_t room = size + windows->pad[i] + windows->pad[i + spatial] - reach;
	bool ceil = onnx_int(node, "ceil_mode", 0) != 0;
	if (room < 0)
		return -1;
	int64_t count = (room + (ceil ? stride - 1 : 0)) / stride + 1;
	return ceil && (count - 1) * stride >= size + windows->pad[i] ? count - 1 : count;
}

/* weights: the operand that holds them; dtype -1: as the first operand. */
static void window_of(struct infer *infer, uint32_t weights, int dtype)
{
	struct wire node = infer->node->body;
	const struct onnx_shape *a = infer_operand(infer, 0), *weight = infer_operand(infer, weights);
	bool convolves = strstr(infer->node->op, "Conv") != NULL;
	struct windows windows = { 0 };
	int spatial = a ? a->dims - 2 : 0, kernels = onnx_ints(node, "kernel_shape", windows.kernel, DIMS_MAX);
	if (!a || spatial < 1 || (convolves && (!weight || weight->dims != a->dims)) ||
		(!convolves && kernels != spatial) || !windows_of(node, spatial, &windows))
		return;
	struct onnx_shape made = *a;
	made.dim[1] = convolves ? weight->dim[0] : a->dim[1];
	FOR_INT(i, spatial) {
		if (convolves)
			windows.kernel[i] = weight->dim[i + 2];
		if (windows.kernel[i] < 1 || windows.kernel[i] > WINDOW_MOST || a->dim[i + 2] < 0 || a->dim[i + 2] > INT32_MAX)
			return;
		made.dim[i + 2] = slid(node, &windows, spatial, i, a->dim[i + 2]);
		if (made.dim[i + 2] < 0)
			return;
	}
	infer_result(infer, 0, &made, dtype < 0 ? a->dtype : dtype);
	infer_result(infer, 1, &made, DTYPE_I64);
}

static void window_op(struct infer *infer)
{
	window_of(infer, 1, -1);
}

static void conv_transpose(struct infer *infer)
{
	struct wire node = infer->node->body;
	const struct onnx_shape *a = infer_operand(infer, 0), *weight = infer_operand(infer, 1);
	struct windows windows = { 0 };
	int64_t more[DIMS_MAX], given[DIMS_MAX], groups = onnx_int(node, "group", 1);
	bool same = onnx_word(node, "auto_pad", "SAME_UPPER") ||
		onnx_word(node, "auto_pad", "SAME_LOWER"); /* padded so that it is as large as strides make it */
	int spatial = a ? a->dims - 2 : 0, extra = onnx_ints(node, "output_padding", more, DIMS_MAX),
		said = onnx_ints(node, "output_shape", given, DIMS_MAX);
	if (!a || !weight || weight->dims != a->dims || spatial < 1 || !windows_of(node, spatial, &windows))
		return;
	struct onnx_shape made = *a;
	if (groups < 1 || __builtin_mul_overflow(weight->dim[1], groups, &made.dim[1]))
		return;
	FOR_INT(i, spatial) {
		int64_t kernel = weight->dim[i + 2], size = a->dim[i + 2];
		if (kernel < 1 || kernel > WINDOW_MOST || size < 1 || size > INT32_MAX)
			return;
		made.dim[i + 2] = said == spatial ? given[i]
			: same ? size * windows.stride[i]
			: (size - 1) * windows.stride[i] + (extra == spatial ? more[i] % WINDOW_MOST : 0) +
				(kernel - 1) * windows.dilation[i] + 1 - windows.pad[i] - windows.pad[i + spatial];
		if (made.dim[i + 2] < 0)
			return;
	}
	infer_result(infer, 0, &made, a->dtype);
}

static void global_pool(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	if (!a || a->dims < 3)
		return;
	struct onnx_shape made = *a;
	for (int i = 2; i < a->dims; i++)
		made.dim[i] = 1;
	infer_result(infer, 0, &made, a->dtype);
}

static void shapes_reduce(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int64_t axes[DIMS_MAX];
	struct wire node = infer->node->body;
	bool arg = strncmp(infer->node->op, "Arg", 3) == 0, keep = onnx_int(node, "keepdims", 1) != 0;
	int count = arg ? 1 : infer_list(infer, "axes", 1, axes, DIMS_MAX);
	bool summed[DIMS_MAX] = { false };
	struct onnx_shape made = { 0 };
	if (arg)
		axes[0] = onnx_int(node, "axis", 0);
	if (!a || count == -1)
		return;
	FOR_INT(i, count) {
		int axis = infer_axis(axes[i], a->dims);
		if (axis < 0)
			return;
		summed[axis] = true;
	}
	bool all = count <= 0 && !onnx_int(node, "noop_with_empty_axes", 0);
	FOR_INT(i, a->dims)
		if (keep || !(all || summed[i]))
			made.dim[made.dims++] = all || summed[i] ? 1 : a->dim[i];
	infer_result(infer, 0, &made, arg ? DTYPE_I64 : a->dtype);
}

static void top_k(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *k = infer_integers(infer, 1);
	int axis = a ? infer_axis(onnx_int(infer->node->body, "axis", -1), a->dims) : -1;
	int64_t count = k && k->values == 1 ? k->value[0] : onnx_int(infer->node->body, "k", -1);
	if (!a || axis < 0 || count < 0)
		return;
	struct onnx_shape made = *a;
	made.dim[axis] = count;
	infer_result(infer, 0, &made, a->dtype);
	infer_result(infer, 1, &made, DTYPE_I64);
}

static void one_hot(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *depth = infer_integers(infer, 1),
							*values = infer_operand(infer, 2);
	if (!a || !depth || depth->values != 1 || !values || a->dims + 1 > DIMS_MAX || depth->value[0] < 0)
		return;
	int axis = infer_axis(onnx_int(infer->node->body, "axis", -1), a->dims + 1), from = 0;
	struct onnx_shape made = { .dims = (uint8_t)(a->dims + 1) };
	if (axis < 0)
		return;
	FOR_INT(i, made.dims)
		made.dim[i] = i == axis ? depth->value[0] : a->dim[from++];
	infer_result(infer, 0, &made, values->dtype);
}

/* ---- layers ---- */

/* Statistics of batch normalization are as long as its scale; those of layer normalization have one number where it
 * sums. */
static void normalization(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *scale = infer_operand(infer, 1);
	if (!a)
		return;
	infer_result(infer, 0, a, a->dtype);
	bool batch = strcmp(infer->node->op, "BatchNormalization") == 0;
	int axis = infer_axis(onnx_int(infer->node->body, "axis", -1), a->dims);
	struct onnx_shape made = batch && scale ? *scale : *a;
	for (int i = axis; !batch && axis >= 0 && i < a->dims; i++)
		made.dim[i] = 1;
	for (uint32_t i = 1; i < infer->node->outs && (!batch || scale); i++)
		infer_result(infer, i, &made, made.dtype);
}

/* sizes, or scales; with axes those of some dims. */
static void resize(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *sizes = infer_integers(infer, 3);
	bool old = strcmp(infer->node->op, "Upsample") == 0 || infer->node->ins == 2;
	const struct onnx_shape *scales = infer_operand(infer, old ? 1 : 2);
	int64_t axes[DIMS_MAX];
	int named = onnx_ints(infer->node->body, "axes", axes, DIMS_MAX);
	uint32_t count = sizes ? sizes->values : infer_reals(infer, old ? 1 : 2) ? scales->values : 0;
	if (!a || !count || count != (uint32_t)(named >= 0 ? named : a->dims))
		return;
	struct onnx_shape made = *a;
	FOR(i, count) {
		int axis = infer_axis(named >= 0 ? axes[i] : i, a->dims);
		if (axis < 0 || (!sizes && !(scales->real[i] > 0 && scales->real[i] * (double)a->dim[axis] < 1e15)))
			return;
		made.dim[axis] = sizes ? sizes->value[i] : (int64_t)(scales->real[i] * (double)a->dim[axis]);
		if (made.dim[axis] < 0)
			return;
	}
	infer_result(infer, 0, &made, a->dtype);
}

static void depth_and_space(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int64_t block = onnx_int(infer->node->body, "blocksize", 0);
	if (!a || a->dims != 4 || block < 1 || block > 1 << 15)
		return;
	struct onnx_shape made = *a;
	bool deeper = strcmp(infer->node->op, "SpaceToDepth") == 0;
	for (int i = 1; i < 4; i++) {
		int64_t by = i == 1 ? block * block : block;
		if ((i == 1) == deeper ? __builtin_mul_overflow(made.dim[i], by, &made.dim[i]) : (made.dim[i] /= by) < 0)
			return;
	}
	infer_result(infer, 0, &made, a->dtype);
}

/* X [steps, batch, width], W [directions, gates * hidden, width] -> Y [steps, directions, batch, hidden], Y_h and Y_c
 * [directions, batch, hidden]. */
static void recurrent(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *weight = infer_operand(infer, 1),
							*again = infer_operand(infer, 2);
	if (!a || !weight || !again || a->dims != 3 || weight->dims != 3 || again->dims != 3)
		return;
	bool leading = onnx_int(infer->node->body, "layout", 0) == 1;
	int64_t directions = weight->dim[0], hidden = onnx_int(infer->node->body, "hidden_size", again->dim[2]),
			batch = a->dim[leading ? 0 : 1], steps = a->dim[leading ? 1 : 0];
	struct onnx_shape all = { .dims = 4, .dim = { steps, directions, batch, hidden } },
					  last = { .dims = 3, .dim = { directions, batch, hidden } };
	if (leading) {
		all = (struct onnx_shape){ .dims = 4, .dim = { batch, steps, directions, hidden } };
		last = (struct onnx_shape){ .dims = 3, .dim = { batch, directions, hidden } };
	}
	infer_result(infer, 0, &all, a->dtype);
	infer_result(infer, 1, &last, a->dtype);
	infer_result(infer, 2, &last, a->dtype);
}

static void shapes_loss(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *labels = infer_operand(infer, 1);
	if (!a || !labels)
		return;
	struct onnx_shape made = onnx_word(infer->node->body, "reduction", "none") ? *labels : (struct onnx_shape){ 0 };
	infer_result(infer, 0, &made, a->dtype);
	infer_result(infer, 1, a, a->dtype);
}

/* Keys and values with those from before (operands 4 and 5), [batch, groups, all rows, width], and the products of
 * queries and keys. groups 0: K and V have them as a dim. */
static void attention_cache(struct infer *infer, int64_t heads, int64_t groups)
{
	const struct onnx_shape *q = infer_operand(infer, 0);
	FOR_FROM(i, 1, 3) {
		const struct onnx_shape *a = infer_operand(infer, i), *before = infer_operand(infer, i + 3);
		if (!a || a->dims != q->dims || (infer_has(infer, i + 3) && (!before || before->dims != 4)))
			return;
		struct onnx_shape made = { .dims = 4, .dim = { a->dim[0], groups, a->dim[1], groups ? a->dim[2] / groups : 0 } };
		if (!groups)
			made = *a;
		if (before && __builtin_add_overflow(made.dim[2], before->dim[2], &made.dim[2]))
			return;
		infer_result(infer, i, &made, a->dtype);
		struct onnx_shape products = { .dims = 4, .dim = { q->dim[0], heads, q->dim[q->dims - 2], made.dim[2] } };
		if (i == 1)
			infer_result(infer, 3, &products, q->dtype);
	}
}

/* Q, K, V as [batch, heads, rows, width], or as [batch, rows, heads * width] with the heads as attributes. */
static void attention(struct infer *infer)
{
	const struct onnx_shape *q = infer_operand(infer, 0), *v = infer_operand(infer, 2);
	int64_t heads = onnx_int(infer->node->body, "q_num_heads", 1), groups = onnx_int(infer->node->body, "kv_num_heads", 1);
	if (!q || !v || q->dims != v->dims || q->dims < 3 || q->dims > 4 || heads < 1 || groups < 1)
		return;
	struct onnx_shape made = *q;
	int64_t width = v->dim[v->dims - 1];
	made.dim[q->dims - 1] = q->dims == 3 ? width / groups : width;
	if (q->dims == 3 && __builtin_mul_overflow(made.dim[2], heads, &made.dim[2]))
		return;
	infer_result(infer, 0, &made, q->dtype);
	attention_cache(infer, q->dims == 3 ? heads : q->dim[1], q->dims == 3 ? groups : 0);
}

/* Determinants of the last two dims. */
static void determinant(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	if (!a || a->dims < 2)
		return;
	struct onnx_shape made = *a;
	made.dims -= 2;
	infer_result(infer, 0, &made, a->dtype);
}

/* ---- what onnxruntime's training writes ---- */

/* The gradient of the loss, log-probabilities, labels. */
static void loss_gradient(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 1);
	if (a)
		infer_result(infer, 0, a, a->dtype);
}

/* Rate, step, weight, gradient, two moments -> step, moments, weight. */
static void shapes_adam(struct infer *infer)
{
	static const uint32_t from[] = { 1, 4, 5, 2 };
	FOR(i, 4) {
		const struct onnx_shape *a = infer_operand(infer, from[i]);
		if (a)
			infer_result(infer, i, a, a->dtype);
	}
}

/* Rate, step, all weights, all gradients, all of each state -> all new weights, all of each new state. */
static void preview_update(struct infer *infer)
{
	uint32_t outs = infer->node->outs, ins = infer->node->ins, weights = ins >= 2 + outs ? ins - 2 - outs : 0;
	for (uint32_t i = 0; i < outs && weights; i++) {
		const struct onnx_shape *a = infer_operand(infer, i < weights ? 2 + i : 2 + weights + i);
		if (a)
			infer_result(infer, i, a, a->dtype);
	}
}

/* ---- quantised numbers ---- */

/* What an operand holds, `normal` where that isn't known. */
static int shapes_dtype_of(const struct infer *infer, uint32_t i, int normal)
{
	const struct onnx_shape *shape = infer_operand(infer, i);
	return shape ? shape->dtype : normal;
}

/* x, scale, zero point: the type is the zero point's, or an attribute's. */
static void quantize(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int said = onnx_dtype((uint64_t)onnx_int(infer->node->body, "output_dtype", 0));
	if (a)
		infer_result(infer, 0, a, said >= 0 ? said : shapes_dtype_of(infer, 2, DTYPE_U8));
}

/* x, scale, zero point: the type is the scale's. */
static void dequantize(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	if (a)
		infer_result(infer, 0, a, shapes_dtype_of(infer, 1, DTYPE_F32));
}

static void quantize_dynamically(struct infer *infer)
{
	static const struct onnx_shape scalar;
	const struct onnx_shape *a = infer_operand(infer, 0);
	if (a)
		infer_result(infer, 0, a, DTYPE_U8);
	infer_result(infer, 1, &scalar, DTYPE_F32);
	infer_result(infer, 2, &scalar, DTYPE_U8);
}

/* a, scale, zero point, b, scale, zero point, and those of the result. */
static void quantized_matmul(struct infer *infer)
{
	matmul_of(infer, 3, shapes_dtype_of(infer, 7, -1));
}

static void quantized_convolution(struct infer *infer)
{
	window_of(infer, 3, shapes_dtype_of(infer, 7, -1));
}

static void quantized_pair(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *b = infer_operand(infer, 3);
	struct onnx_shape made = a ? *a : (struct onnx_shape){ 0 };
	if (a && b && infer_widen(&made, b))
		infer_result(infer, 0, &made, a->dtype);
}

static void integer_matmul(struct infer *infer)
{
	matmul_of(infer, 1, DTYPE_I32);
}

static void integer_convolution(struct infer *infer)
{
	window_of(infer, 1, DTYPE_I32);
}

/* A [.., K] by packed weights: [.., N]. */
static void packed_matmul(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int64_t wide = onnx_int(infer->node->body, "N", 0);
	if (!a || a->dims < 1 || wide < 1)
		return;
	struct onnx_shape made = *a;
	made.dim[made.dims - 1] = wide;
	infer_result(infer, 0, &made, a->dtype);
}

/* ---- the table ---- */

static const struct { const char *ops; void (*fill)(struct infer *infer);
} table[] = {
	{ " Relu LeakyRelu PRelu Elu Selu Celu Sigmoid HardSigmoid HardSwish Tanh Softplus Softsign Gelu Mish Swish "
	  "ThresholdedRelu Softmax LogSoftmax Hardmax Erf Exp Log Sqrt Reciprocal "
	  "Abs Neg Ceil Round Sign Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Clip CumSum CumProd Trilu "
	  "Identity Dropout ScatterND ScatterElements Scatter LRN Shrink "
	  "RandomNormalLike RandomUniformLike EyeLike ReverseSequence RotaryEmbedding BitwiseNot MeanVarianceNormalization "
	  "LpNormalization TensorScatter "
	  "BiasGelu FastGelu QuickGelu QLinearSigmoid QLinearLeakyRelu QLinearSoftmax ReluGrad GeluGrad FastGeluGrad "
	  "BiasGeluGrad_dX TanhGrad SigmoidGrad DropoutGrad SoftmaxGrad "
	  "SoftmaxGrad_13 LogSoftmaxGrad LogSoftmaxGrad_13 ",
		infer_same },
	{ " Add Sub Mul Div Mod Pow Max Min Sum Mean BitwiseAnd BitwiseOr BitwiseXor BitShift ", infer_elementwise },
	{ " Equal Less Greater LessOrEqual GreaterOrEqual And Or Xor ", infer_comparison },
	{ " Floor ", infer_whole },
	{ " Not IsNaN IsInf Bernoulli ", infer_truth },
	{ " Where ", infer_where },
	{ " Cast CastLike ", infer_cast },
	{ " BitCast ", infer_bit_cast },
	{ " Shape ", infer_shape_op },
	{ " Size ", infer_size_op },
	{ " Constant ", infer_constant },
	{ " ConstantOfShape ", infer_constant_of_shape },
	{ " Range ", infer_range },
	{ " Reshape ", infer_reshape },
	{ " Flatten ", infer_flatten },
	{ " Squeeze ", infer_squeeze },
	{ " Unsqueeze ", infer_unsqueeze },
	{ " Transpose ", infer_transpose },
	{ " Expand ", infer_expand },
	{ " Tile ", infer_tile },
	{ " Gather ", infer_gather },
	{ " GatherElements ", infer_like_indices },
	{ " GatherND ", infer_gather_nd },
	{ " Slice ", infer_slice },
	{ " Concat ", infer_concat },
	{ " Split ", infer_split },
	{ " Pad ", infer_pad },
	{ " MatMul ", shapes_matmul },
	{ " Gemm ", gemm },
	{ " Einsum ", einsum },
	{ " Conv DeformConv MaxPool AveragePool LpPool ", window_op },
	{ " ConvTranspose ", conv_transpose },
	{ " GlobalAveragePool GlobalMaxPool GlobalLpPool ", global_pool },
	{ " TopK ", top_k },
	{ " OneHot ", one_hot },
	{ " ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
	  "ReduceSumSquare ArgMax ArgMin ",
		shapes_reduce },
	{ " BatchNormalization LayerNormalization InstanceNormalization GroupNormalization RMSNormalization ",
		normalization },
	{ " Resize Upsample ", resize },
	{ " DepthToSpace SpaceToDepth ", depth_and_space },
	{ " LSTM GRU RNN ", recurrent },
	{ " SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss ", shapes_loss },
	{ " Attention ", attention },
	{ " QuantizeLinear ", quantize },
	{ " DequantizeLinear ", dequantize },
	{ " DynamicQuantizeLinear ", quantize_dynamically },
	{ " SoftmaxCrossEntropyLossGrad ", loss_gradient },
	{ " AdamOptimizer ", shapes_adam },
	{ " Adagrad Adam Momentum ", preview_update },
	{ " Det ", determinant },
	{ " MatMulInteger ", integer_matmul },
	{ " ConvInteger ", integer_convolution },
	{ " QLinearMatMul ", quantized_matmul },
	{ " QLinearConv ", quantized_convolution },
	{ " QLinearAdd QLinearMul ", quantized_pair },
	{ " MatMulNBits ", packed_matmul },
	{ " FusedConv ", window_op },
	{ " GridSample ", infer_grid_sample },
	{ " AffineGrid ", infer_affine_grid },
	{ " RoiAlign ", infer_roi_align },
	{ " STFT ", infer_stft },
	{ " DFT ", infer_dft },
	{ " HannWindow HammingWindow BlackmanWindow ", infer_window },
};

enum status onnx_infer(const struct onnx_node *node, struct onnx_shape *shape, struct arena *arena)
{
	struct infer infer = { .node = node, .shape = shape, .arena = arena };
	size_t length = strlen(node->op);
	FOR(i, COUNT_OF(table))
		for (const char *at = strstr(table[i].ops, node->op); at && length; at = strstr(at + 1, node->op))
			if (at > table[i].ops && at[-1] == ' ' && at[length] == ' ') {
				table[i].fill(&infer);
				return infer.failed ? NO_MEMORY : OK;
			}
	return OK;
}
