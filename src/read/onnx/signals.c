/* signals.c: shapes of what resamples images and takes signals apart. */
#include "shapes.h"

/* X [batch, channels, ...], grid [batch, ..., coordinates] -> [batch, channels, ...] of the grid. */
void infer_grid_sample(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *grid = infer_operand(infer, 1);
	if (!a || !grid || a->dims < 3 || grid->dims != a->dims)
		return;
	struct onnx_shape made = *a;
	for (int i = 2; i < a->dims; i++)
		made.dim[i] = grid->dim[i - 1];
	infer_result(infer, 0, &made, a->dtype);
}

/* theta [batch, n, n + 1], size [batch, channels, ...] -> [batch, ..., n]. */
void infer_affine_grid(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *size = infer_integers(infer, 1);
	if (!a || !size || a->dims != 3 || size->values < 4 || size->values > 5)
		return;
	struct onnx_shape made = { .dims = (uint8_t)size->values };
	made.dim[0] = size->value[0];
	FOR_FROM(i, 2, size->values)
		if ((made.dim[i - 1] = size->value[i]) < 0)
			return;
	made.dim[made.dims - 1] = a->dim[1];
	infer_result(infer, 0, &made, a->dtype);
}

/* X [batch, channels, height, width], regions [n, 4] -> [n, channels, output_height, output_width]. */
void infer_roi_align(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *regions = infer_operand(infer, 1);
	int64_t height = onnx_int(infer->node->body, "output_height", 1),
			width = onnx_int(infer->node->body, "output_width", 1);
	if (!a || !regions || a->dims != 4 || regions->dims != 2 || height < 1 || width < 1)
		return;
	struct onnx_shape made = { .dims = 4, .dim = { regions->dim[0], a->dim[1], height, width } };
	infer_result(infer, 0, &made, a->dtype);
}

/* The integer of an operand, or what is said where it is left out; -1: not known. */
static int64_t signals_number(const struct infer *infer, uint32_t i, int64_t otherwise)
{
	const struct onnx_shape *a = infer_has(infer, i) ? infer_integers(infer, i) : NULL;
	return !infer_has(infer, i) ? otherwise : a && a->values == 1 ? a->value[0] : -1;
}

/* signal [batch, length, ...], step, window, frame length -> [batch, frames, frequencies, 2]. */
void infer_stft(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *window = infer_has(infer, 2) ? infer_operand(infer, 2) : NULL;
	int64_t step = signals_number(infer, 1, -1),
			frame = signals_number(infer, 3, window && window->dims == 1 ? window->dim[0] : -1);
	if (!a || a->dims < 2 || step < 1 || frame < 1 || frame > a->dim[1])
		return;
	int64_t frequencies = onnx_int(infer->node->body, "onesided", 1) ? frame / 2 + 1 : frame;
	struct onnx_shape made = { .dims = 4, .dim = { a->dim[0], (a->dim[1] - frame) / step + 1, frequencies, 2 } };
	infer_result(infer, 0, &made, a->dtype);
}

/* input [..., length, ..., 1 or 2] -> as long as dft_length says along the axis, half of it where it is one-sided, and
 * complex. */
void infer_dft(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	bool sided = onnx_int(infer->node->body, "onesided", 0) != 0, back = onnx_int(infer->node->body, "inverse", 0) != 0;
	int64_t said = infer_has(infer, 2) ? signals_number(infer, 2, -2)
		: onnx_int(infer->node->body, "axis", infer->node->ins > 1 ? 1 : -2);
	int axis = a ? infer_axis(said, a->dims) : -1;
	int64_t length = axis < 0 ? -1 : signals_number(infer, 1, sided && back ? 2 * (a->dim[axis] - 1) : a->dim[axis]);
	bool whole = a && a->dims > 1 && !sided && !infer_has(infer, 1); /* whatever the axis is */
	if (!whole && (axis < 0 || length < 1 || axis == a->dims - 1))
		return;
	struct onnx_shape made = *a;
	if (!whole)
		made.dim[axis] = sided && !back ? length / 2 + 1 : length;
	made.dim[made.dims - 1] = sided && back ? 1 : 2;
	infer_result(infer, 0, &made, a->dtype);
}

/* A window of so many numbers. */
void infer_window(struct infer *infer)
{
	int64_t length = signals_number(infer, 0, -1);
	int dtype = onnx_dtype((uint64_t)onnx_int(infer->node->body, "output_datatype", 1));
	struct onnx_shape made = { .dims = 1, .dim = { length } };
	if (length >= 0 && dtype >= 0)
		infer_result(infer, 0, &made, dtype);
}
