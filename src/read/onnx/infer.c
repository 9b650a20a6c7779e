/* infer.c: operands and results of an ONNX node, with the small numbers that are followed. */

#include "shapes.h"

/* An operand whose shape and type are known, NULL where there is none. */
const struct onnx_shape *infer_operand(const struct infer *infer, uint32_t i)
{
	const struct onnx_node *node = infer->node;
	const struct onnx_shape *shape = i < node->ins && node->in[i] != NONE ? &infer->shape[node->in[i]] : NULL;
	for (uint8_t k = 0; shape && shape->known && k < shape->dims; k++)
		if (shape->dim[k] < 0)
			return NULL;
	return shape && shape->known && shape->typed ? shape : NULL;
}

bool infer_has(const struct infer *infer, uint32_t i)
{
	return i < infer->node->ins && infer->node->in[i] != NONE;
}

bool infer_product(const int64_t *dim, int count, int64_t *elements)
{
	*elements = 1;
	FOR_INT(i, count)
		if (dim[i] < 0 || __builtin_mul_overflow(*elements, dim[i], elements))
			return false;
	return true;
}

/* The integers of an operand; NULL where they aren't known, or aren't as many as its shape says. */
const struct onnx_shape *infer_integers(const struct infer *infer, uint32_t i)
{
	const struct onnx_shape *shape = infer_operand(infer, i);
	int64_t elements;
	return shape && shape->value && infer_product(shape->dim, shape->dims, &elements) &&
			elements == (int64_t)shape->values
		? shape
		: NULL;
}

/* A result gets a shape; one that has one keeps it, and gets what else is known. dtype -1: as it is. */
void infer_result(struct infer *infer, uint32_t i, const struct onnx_shape *made, int dtype)
{
	const struct onnx_node *node = infer->node;
	struct onnx_shape *shape = i < node->outs && node->out[i] != NONE ? &infer->shape[node->out[i]] : NULL;
	if (!shape)
		return;
	if (!shape->known) {
		memcpy(shape->dim, made->dim, sizeof made->dim);
		shape->dims = made->dims;
		shape->known = shape->inferred = true;
	}
	if (!shape->typed && dtype >= 0) {
		shape->dtype = (uint8_t)dtype;
		shape->typed = true;
	}
}

/* The integers of the first result, where they fit; its shape is known by now. */
int64_t *infer_result_values(struct infer *infer, uint32_t count)
{
	const struct onnx_node *node = infer->node;
	if (node->outs < 1 || node->out[0] == NONE || count > ONNX_VALUES_MOST)
		return NULL;
	int64_t *value = arena_alloc(infer->arena, (size_t)count + 1, sizeof *value);
	infer->failed |= !value;
	if (value) {
		infer->shape[node->out[0]].value = value;
		infer->shape[node->out[0]].values = count;
	}
	return value;
}

/* The floating-point numbers of an operand, likewise, and of the first result. */
const struct onnx_shape *infer_reals(const struct infer *infer, uint32_t i)
{
	const struct onnx_shape *shape = infer_operand(infer, i);
	int64_t elements;
	return shape && shape->real && infer_product(shape->dim, shape->dims, &elements) &&
			elements == (int64_t)shape->values
		? shape
		: NULL;
}

double *infer_result_reals(struct infer *infer, uint32_t count)
{
	const struct onnx_node *node = infer->node;
	if (node->outs < 1 || node->out[0] == NONE)
		return NULL;
	double *real = arena_alloc(infer->arena, (size_t)count + 1, sizeof *real);
	infer->failed |= !real;
	if (real) {
		infer->shape[infer->node->out[0]].real = real;
		infer->shape[infer->node->out[0]].values = count;
	}
	return real;
}

/* Small integers in another order: the result's element at c is the operand's at base + sum of c[i] * stride[i], which
 * must lie inside. */
void infer_pick(struct infer *infer, const struct onnx_shape *made, int64_t base, const int64_t *stride)
{
	const struct onnx_shape *from = infer_integers(infer, 0);
	int64_t elements, at[DIMS_MAX] = { 0 };
	int64_t *value = from && infer_product(made->dim, made->dims, &elements) && elements <= ONNX_VALUES_MOST
		? infer_result_values(infer, (uint32_t)elements)
		: NULL;
	for (int64_t i = 0; value && i < elements; i++) {
		int64_t place = base;
		FOR_INT(k, made->dims)
			place += at[k] * stride[k];
		value[i] = place >= 0 && place < (int64_t)from->values ? from->value[place] : 0;
		for (int k = made->dims - 1; k >= 0 && ++at[k] == made->dim[k]; k--)
			at[k] = 0;
	}
}

/* How far apart neighbours along each dim lie; of a shape with few elements. */
void infer_strides(const struct onnx_shape *shape, int64_t *stride)
{
	int64_t step = 1;
	for (int i = shape->dims - 1; i >= 0; i--) {
		stride[i] = step;
		step *= shape->dim[i] >= 0 && shape->dim[i] <= ONNX_VALUES_MOST && step <= ONNX_VALUES_MOST ? shape->dim[i] : 0;
	}
}

/* An axis counted from the end where it is negative; -1 where there is none. */
int infer_axis(int64_t axis, int dims)
{
	axis += axis < 0 ? dims : 0;
	return axis >= 0 && axis < dims ? (int)axis : -1;
}

/* Integers of an attribute, or of an operand in later opsets; -1: not known, -2: neither is there. */
int infer_list(const struct infer *infer, const char *name, uint32_t i, int64_t *list, int most)
{
	int count = onnx_ints(infer->node->body, name, list, most);
	if (count >= 0)
		return count;
	if (!infer_has(infer, i))
		return -2;
	const struct onnx_shape *given = infer_integers(infer, i);
	if (!given || given->values > (uint32_t)most)
		return -1;
	COPY(list, given->value, given->values);
	return (int)given->values;
}

bool infer_widen(struct onnx_shape *made, const struct onnx_shape *b)
{
	struct onnx_shape a = *made;
	made->dims = LARGER(a.dims, b->dims);
	for (int i = 1; i <= made->dims; i++) {
		int64_t one = i <= a.dims ? a.dim[a.dims - i] : 1, two = i <= b->dims ? b->dim[b->dims - i] : 1;
		if (one != two && one != 1 && two != 1)
			return false;
		made->dim[made->dims - i] = one == 1 ? two : one;
	}
	return true;
}
