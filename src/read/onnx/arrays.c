/* arrays.c: sizes of ONNX ops that work element by element, cut, join and turn arrays, and the small integers behind
 * sizes that are computed in the graph. */

#include "shapes.h"

/* ---- element by element ---- */

/* All operands, from the first on, broadcast. */
static bool broadcast_all(struct infer *infer, uint32_t first, struct onnx_shape *made)
{
	if (first >= infer->node->ins || !infer_operand(infer, first))
		return false;
	*made = *infer_operand(infer, first);
	FOR(i, infer->node->ins)
		if (i != first && (!infer_operand(infer, i) || !infer_widen(made, infer_operand(infer, i))))
			return false;
	return true;
}

/* Comparisons, and operators of truth, whose operands are 0 or 1; -1: none of them. */
static int arrays_compare(const char *op, int64_t a, int64_t b)
{
	const struct { const char *op; bool truth; } all[] = {
		{ "Equal", a == b },
		{ "Less", a < b },
		{ "Greater", a > b },
		{ "LessOrEqual", a <= b },
		{ "GreaterOrEqual", a >= b },
		{ "And", a && b },
		{ "Or", a || b },
		{ "Xor", !a != !b },
	};
	FOR(i, COUNT_OF(all))
		if (strcmp(op, all[i].op) == 0)
			return all[i].truth;
	return -1;
}

static bool calculate(const char *op, int64_t a, int64_t b, int64_t *sum)
{
	if (strcmp(op, "Add") == 0)
		return !__builtin_add_overflow(a, b, sum);
	if (strcmp(op, "Sub") == 0)
		return !__builtin_sub_overflow(a, b, sum);
	if (strcmp(op, "Mul") == 0)
		return !__builtin_mul_overflow(a, b, sum);
	bool divides = strcmp(op, "Div") == 0, rest = strcmp(op, "Mod") == 0;
	if (divides || rest) {
		if (b == 0 || b == -1)
			return b == -1 && !__builtin_mul_overflow(divides ? a : 0, -1, sum);
		*sum = divides ? a / b : a % b;
		return divides || (a >= 0 && b > 0); /* of which sign the rest is an attribute says */
	}
	int truth = arrays_compare(op, a, b);
	*sum = truth >= 0 ? truth : strcmp(op, "Max") == 0 ? (a > b ? a : b) : (a < b ? a : b);
	return truth >= 0 || strcmp(op, "Max") == 0 || strcmp(op, "Min") == 0;
}

/* Small integers: one operand as long as the result, the other one too, or a single number. */
static void calculate_all(struct infer *infer)
{
	const struct onnx_shape *a = infer_integers(infer, 0), *b = infer_integers(infer, 1);
	if (!a || !b || infer->node->ins != 2 || (a->values != b->values && a->values != 1 && b->values != 1))
		return;
	uint32_t count = LARGER(a->values, b->values);
	int64_t sum[ONNX_VALUES_MOST];
	FOR(i, count)
		if (!calculate(infer->node->op, a->value[a->values == 1 ? 0 : i], b->value[b->values == 1 ? 0 : i], &sum[i]))
			return;
	int64_t *value = infer_result_values(infer, count);
	if (value)
		memcpy(value, sum, count * sizeof *sum);
}

/* Floating-point numbers, as sizes are scaled by them. */
static void scale_all(struct infer *infer)
{
	const struct onnx_shape *a = infer_reals(infer, 0), *b = infer_reals(infer, 1);
	const char *op = infer->node->op;
	if (!a || !b || infer->node->ins != 2 || (a->values != b->values && a->values != 1 && b->values != 1) ||
		(strcmp(op, "Mul") != 0 && strcmp(op, "Div") != 0))
		return;
	uint32_t count = LARGER(a->values, b->values);
	double *real = infer_result_reals(infer, count);
	for (uint32_t i = 0; real && i < count; i++) {
		double left = a->real[a->values == 1 ? 0 : i], right = b->real[b->values == 1 ? 0 : i];
		real[i] = strcmp(op, "Mul") == 0 ? left * right : right > 0 ? left / right : 0;
	}
}

void infer_elementwise(struct infer *infer)
{
	struct onnx_shape made;
	if (broadcast_all(infer, 0, &made)) {
		infer_result(infer, 0, &made, made.dtype);
		calculate_all(infer);
		scale_all(infer);
	}
}

void infer_comparison(struct infer *infer)
{
	struct onnx_shape made;
	if (broadcast_all(infer, 0, &made)) {
		infer_result(infer, 0, &made, DTYPE_BOOL);
		calculate_all(infer);
	}
}

void infer_where(struct infer *infer)
{
	struct onnx_shape made;
	const struct onnx_shape *condition = infer_integers(infer, 0), *a = infer_integers(infer, 1),
							*b = infer_integers(infer, 2);
	if (!broadcast_all(infer, 1, &made))
		return;
	infer_result(infer, 0, &made, made.dtype);
	int64_t *value = condition && a && b && condition->values == a->values && a->values == b->values
		? infer_result_values(infer, a->values)
		: NULL;
	for (uint32_t i = 0; value && i < a->values; i++)
		value[i] = condition->value[i] ? a->value[i] : b->value[i];
}

static void copy_values(struct infer *infer)
{
	const struct onnx_shape *from = infer_integers(infer, 0);
	int64_t *value = from ? infer_result_values(infer, from->values) : NULL;
	if (value)
		COPY(value, from->value, from->values);
	const struct onnx_shape *given = infer_reals(infer, 0);
	double *real = given ? infer_result_reals(infer, given->values) : NULL;
	if (real)
		COPY(real, given->real, given->values);
}

/* Down to whole numbers. */
void infer_whole(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *given = infer_reals(infer, 0);
	if (!a)
		return;
	infer_result(infer, 0, a, a->dtype);
	double *real = given ? infer_result_reals(infer, given->values) : NULL;
	for (uint32_t i = 0; real && i < given->values; i++)
		real[i] = given->real[i] >= 0 && given->real[i] < 1e15 ? (double)(int64_t)given->real[i] : given->real[i];
}

/* The first result like the first operand; of dropout the mask behind it. */
void infer_same(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	if (!a)
		return;
	infer_result(infer, 0, a, a->dtype);
	if (strcmp(infer->node->op, "Dropout") == 0)
		infer_result(infer, 1, a, DTYPE_BOOL);
	if (strcmp(infer->node->op, "Identity") == 0)
		copy_values(infer);
}

void infer_truth(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0),
							*known = strcmp(infer->node->op, "Not") == 0 ? infer_integers(infer, 0) : NULL;
	if (a)
		infer_result(infer, 0, a, DTYPE_BOOL);
	int64_t *value = known ? infer_result_values(infer, known->values) : NULL;
	for (uint32_t i = 0; value && i < known->values; i++)
		value[i] = !known->value[i];
}

/* The same bits as another type of that width: no number is known any more. */
void infer_bit_cast(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int dtype = onnx_dtype((uint64_t)onnx_int(infer->node->body, "to", 0));
	if (a && dtype >= 0)
		infer_result(infer, 0, a, dtype);
}

void infer_cast(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *like = infer_operand(infer, 1);
	int dtype = like ? like->dtype : onnx_dtype((uint64_t)onnx_int(infer->node->body, "to", 0));
	if (!a || dtype < 0)
		return;
	infer_result(infer, 0, a, dtype);
	bool integer = dtype == DTYPE_I64 || dtype == DTYPE_I32 || dtype == DTYPE_BOOL;
	const struct onnx_shape *whole_ones = infer_integers(infer, 0), *given = infer_reals(infer, 0);
	if (integer && whole_ones)
		copy_values(infer);
	int64_t *value = integer && given ? infer_result_values(infer, given->values) : NULL;
	for (uint32_t i = 0; value && i < given->values; i++)
		value[i] = given->real[i] > -1e15 && given->real[i] < 1e15 ? (int64_t)given->real[i] : -1;
	double *real = !integer && whole_ones ? infer_result_reals(infer, whole_ones->values) : NULL;
	for (uint32_t i = 0; real && i < whole_ones->values; i++)
		real[i] = (double)whole_ones->value[i];
}

/* ---- shapes as values ---- */

void infer_shape_op(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	if (!a)
		return;
	int64_t from = onnx_int(infer->node->body, "start", 0), to = onnx_int(infer->node->body, "end", a->dims);
	from += from < 0 ? a->dims : 0;
	to += to < 0 ? a->dims : 0;
	from = from < 0 ? 0 : from > a->dims ? a->dims : from;
	to = to > a->dims ? a->dims : to < from ? from : to;
	struct onnx_shape made = { .dims = 1, .dim = { to - from } };
	infer_result(infer, 0, &made, DTYPE_I64);
	int64_t *value = infer_result_values(infer, (uint32_t)(to - from));
	for (int64_t i = from; value && i < to; i++)
		value[i - from] = a->dim[i];
}

void infer_size_op(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int64_t elements;
	if (!a || !infer_product(a->dim, a->dims, &elements))
		return;
	infer_result(infer, 0, &(struct onnx_shape){ 0 }, DTYPE_I64);
	int64_t *value = infer_result_values(infer, 1);
	if (value)
		value[0] = elements;
}

/* value 5, value_int, value_ints, value_float, value_floats */
void infer_constant(struct infer *infer)
{
	struct onnx_shape made = { 0 };
	struct wire attribute, node = infer->node->body;
	struct wire_field field;
	int64_t list[ONNX_VALUES_MOST];
	int count = onnx_ints(node, "value_ints", list, ONNX_VALUES_MOST);
	if (onnx_attribute(node, "value", &attribute)) {
		while (wire_next(&attribute, &field))
			if (field.number == 5 && field.type == 2)
				infer->failed |= onnx_tensor(field.body, &made, NULL, infer->arena) == NO_MEMORY;
		if (!made.known || !made.typed)
			return;
	} else if (count >= 0 || onnx_attribute(node, "value_int", &attribute)) {
		made.dtype = DTYPE_I64;
		made.dims = count >= 0;
		made.dim[0] = count;
		list[0] = count >= 0 ? list[0] : onnx_int(node, "value_int", 0);
	} else if (onnx_attribute(node, "value_float", &attribute)) {
		made.dtype = DTYPE_F32;
	} else {
		return;
	}
	infer_result(infer, 0, &made, made.dtype);
	if (made.value || made.real) {
		infer->shape[infer->node->out[0]].value = made.value;
		infer->shape[infer->node->out[0]].real = made.real;
		infer->shape[infer->node->out[0]].values = made.values;
	} else if (made.dtype == DTYPE_I64 && !made.known) {
		int64_t *value = infer_result_values(infer, made.dims ? (uint32_t)count : 1);
		if (value)
			COPY(value, list, (made.dims ? (size_t)count : 1));
	}
}

/* The dims that an operand's integers say; false where they aren't known. */
static bool arrays_dims_of(const struct infer *infer, uint32_t i, struct onnx_shape *made)
{
	const struct onnx_shape *given = infer_integers(infer, i);
	if (!given || given->values > DIMS_MAX)
		return false;
	made->dims = (uint8_t)given->values;
	FOR(k, given->values)
		if ((made->dim[k] = given->value[k]) < 0)
			return false;
	return true;
}

void infer_constant_of_shape(struct infer *infer)
{
	struct onnx_shape made = { 0 }, fill = { .dtype = DTYPE_F32, .typed = true };
	struct wire attribute;
	struct wire_field field;
	int64_t elements;
	if (!arrays_dims_of(infer, 0, &made))
		return;
	if (onnx_attribute(infer->node->body, "value", &attribute))
		while (wire_next(&attribute, &field))
			if (field.number == 5 && field.type == 2)
				infer->failed |= onnx_tensor(field.body, &fill, NULL, infer->arena) == NO_MEMORY;
	infer_result(infer, 0, &made, fill.typed ? fill.dtype : -1);
	int64_t *value = infer_product(made.dim, made.dims, &elements) && elements <= ONNX_VALUES_MOST && fill.value &&
			fill.values == 1
		? infer_result_values(infer, (uint32_t)elements)
		: NULL;
	for (int64_t i = 0; value && i < elements; i++)
		value[i] = fill.value[0];
}

void infer_range(struct infer *infer)
{
	const struct onnx_shape *from = infer_integers(infer, 0), *to = infer_integers(infer, 1),
							*by = infer_integers(infer, 2);
	int64_t span, count;
	if (!from || !to || !by || from->values != 1 || to->values != 1 || by->values != 1 || by->value[0] == 0 ||
		__builtin_sub_overflow(to->value[0], from->value[0], &span) || by->value[0] == INT64_MIN || span == INT64_MIN)
		return;
	count = span / by->value[0] + (span % by->value[0] != 0 && (span > 0) == (by->value[0] > 0));
	struct onnx_shape made = { .dims = 1, .dim = { count > 0 ? count : 0 } };
	infer_result(infer, 0, &made, from->dtype);
	int64_t *value = made.dim[0] <= ONNX_VALUES_MOST ? infer_result_values(infer, (uint32_t)made.dim[0]) : NULL;
	for (int64_t i = 0; value && i < made.dim[0]; i++)
		value[i] = from->value[0] + i * by->value[0];
}

/* ---- other shapes of the same elements ---- */

void infer_reshape(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int64_t list[DIMS_MAX], elements, rest = 1;
	int count = infer_list(infer, "shape", 1, list, DIMS_MAX), open = -1;
	bool keeps_zero = onnx_int(infer->node->body, "allowzero", 0) != 0;
	struct onnx_shape made = { .dims = (uint8_t)LARGER(count, 0) };
	if (!a || count < 0 || !infer_product(a->dim, a->dims, &elements))
		return;
	FOR_INT(i, count) {
		if (list[i] == -1 && open >= 0)
			return;
		open = list[i] == -1 ? i : open;
		made.dim[i] = list[i] == 0 && !keeps_zero ? (i < a->dims ? a->dim[i] : -1) : list[i];
		if (i != open && (made.dim[i] < 0 || __builtin_mul_overflow(rest, made.dim[i], &rest)))
			return;
	}
	if (open >= 0 && rest == 0)
		return;
	if (open >= 0)
		made.dim[open] = elements / rest;
	infer_result(infer, 0, &made, a->dtype);
	copy_values(infer);
}

void infer_flatten(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	if (!a)
		return;
	int64_t axis = onnx_int(infer->node->body, "axis", 1);
	axis += axis < 0 ? a->dims : 0;
	struct onnx_shape made = { .dims = 2 };
	if (axis >= 0 && axis <= a->dims && infer_product(a->dim, (int)axis, &made.dim[0]) &&
		infer_product(a->dim + axis, a->dims - (int)axis, &made.dim[1]))
		infer_result(infer, 0, &made, a->dtype);
}

void infer_squeeze(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int64_t axes[DIMS_MAX];
	int count = infer_list(infer, "axes", 1, axes, DIMS_MAX);
	bool leave[DIMS_MAX] = { false };
	struct onnx_shape made = { 0 };
	if (!a || count == -1)
		return;
	FOR_INT(i, count) {
		int axis = infer_axis(axes[i], a->dims);
		if (axis < 0)
			return;
		leave[axis] = true;
	}
	FOR_INT(i, a->dims)
		if (count == -2 ? a->dim[i] != 1 : !leave[i])
			made.dim[made.dims++] = a->dim[i];
	infer_result(infer, 0, &made, a->dtype);
	copy_values(infer);
}

void infer_unsqueeze(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int64_t axes[DIMS_MAX];
	int count = infer_list(infer, "axes", 1, axes, DIMS_MAX), from = 0;
	bool new[DIMS_MAX] = { false };
	struct onnx_shape made = { 0 };
	if (!a || count < 0 || a->dims + count > DIMS_MAX)
		return;
	made.dims = (uint8_t)(a->dims + count);
	FOR_INT(i, count) {
		int axis = infer_axis(axes[i], made.dims);
		if (axis < 0 || new[axis])
			return;
		new[axis] = true;
	}
	FOR_INT(i, made.dims)
		made.dim[i] = new[i] ? 1 : a->dim[from++];
	infer_result(infer, 0, &made, a->dtype);
	copy_values(infer);
}

void infer_transpose(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int64_t perm[DIMS_MAX];
	int count = onnx_ints(infer->node->body, "perm", perm, DIMS_MAX);
	if (!a || (count >= 0 && count != a->dims))
		return;
	struct onnx_shape made = { .dims = a->dims };
	int64_t stride[DIMS_MAX], turned[DIMS_MAX];
	infer_strides(a, stride);
	FOR_INT(i, a->dims) {
		int from = count < 0 ? a->dims - 1 - i : infer_axis(perm[i], a->dims);
		if (from < 0)
			return;
		made.dim[i] = a->dim[from];
		turned[i] = stride[from];
	}
	infer_result(infer, 0, &made, a->dtype);
	infer_pick(infer, &made, 0, turned);
}

void infer_expand(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	struct onnx_shape made = { 0 };
	if (!a || !arrays_dims_of(infer, 1, &made) || !infer_widen(&made, a))
		return;
	infer_result(infer, 0, &made, a->dtype);
	const struct onnx_shape *one = infer_integers(infer, 0);
	int64_t elements,
		*value = one && one->values == 1 && infer_product(made.dim, made.dims, &elements) &&
			elements <= ONNX_VALUES_MOST
		? infer_result_values(infer, (uint32_t)elements)
		: NULL;
	for (int64_t i = 0; value && i < elements; i++)
		value[i] = one->value[0];
}

void infer_tile(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *times = infer_integers(infer, 1);
	if (!a || !times || times->values != a->dims)
		return;
	struct onnx_shape made = *a;
	FOR_INT(i, a->dims)
		if (times->value[i] < 0 || __builtin_mul_overflow(made.dim[i], times->value[i], &made.dim[i]))
			return;
	infer_result(infer, 0, &made, a->dtype);
}

/* ---- parts and joins ---- */

void infer_gather(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *at = infer_operand(infer, 1);
	int axis = a ? infer_axis(onnx_int(infer->node->body, "axis", 0), a->dims) : -1;
	struct onnx_shape made = { 0 };
	if (!a || !at || axis < 0 || a->dims - 1 + at->dims > DIMS_MAX)
		return;
	FOR_INT(i, axis)
		made.dim[made.dims++] = a->dim[i];
	FOR_INT(i, at->dims)
		made.dim[made.dims++] = at->dim[i];
	for (int i = axis + 1; i < a->dims; i++)
		made.dim[made.dims++] = a->dim[i];
	infer_result(infer, 0, &made, a->dtype);
	if (!infer_integers(infer, 0) || !infer_integers(infer, 1) || a->dims != 1)
		return;
	int64_t *value = infer_result_values(infer, at->values);
	for (uint32_t i = 0; value && i < at->values; i++) {
		int64_t index = at->value[i] + (at->value[i] < 0 ? (int64_t)a->values : 0);
		value[i] = index >= 0 && index < (int64_t)a->values ? a->value[index] : 0;
	}
}

void infer_like_indices(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *at = infer_operand(infer, 1);
	if (a && at)
		infer_result(infer, 0, at, a->dtype);
}

void infer_gather_nd(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0), *at = infer_operand(infer, 1);
	int64_t batch = onnx_int(infer->node->body, "batch_dims", 0);
	struct onnx_shape made = { 0 };
	if (!a || !at || at->dims < 1 || batch < 0 || batch > a->dims)
		return;
	int64_t last = at->dim[at->dims - 1];
	if (last < 0 || last > a->dims - batch || at->dims - 1 + a->dims - last - batch > DIMS_MAX)
		return;
	for (int i = 0; i + 1 < at->dims; i++)
		made.dim[made.dims++] = at->dim[i];
	for (int64_t i = batch + last; i < a->dims; i++)
		made.dim[made.dims++] = a->dim[i];
	infer_result(infer, 0, &made, a->dtype);
}

/* One axis from start to end by a step, as Python slices. */
static int64_t slice_dim(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *from)
{
	int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
	start += start < 0 && start > -dim - 1 ? dim : 0;
	end += end < 0 && end > -dim - 1 ? dim : 0;
	start = start < low ? (step > 0 ? 0 : start < 0 ? 0 : start) : start > high ? high : start;
	end = end < low ? low : end > dim ? dim : end;
	*from = start;
	int64_t span = step > 0 ? end - start : start - end, by = step > 0 ? step : step == INT64_MIN ? INT64_MAX : -step;
	return span <= 0 ? 0 : (span - 1) / by + 1;
}

void infer_slice(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int64_t start[DIMS_MAX], end[DIMS_MAX], axes[DIMS_MAX], step[DIMS_MAX], from = 0;
	int count = infer_list(infer, "starts", 1, start, DIMS_MAX), ends = infer_list(infer, "ends", 2, end, DIMS_MAX);
	int named = infer_list(infer, "axes", 3, axes, DIMS_MAX), steps = infer_list(infer, "steps", 4, step, DIMS_MAX);
	if (!a || count < 0 || ends != count || named == -1 || steps == -1 || (named >= 0 && named != count) ||
		(steps >= 0 && steps != count))
		return;
	struct onnx_shape made = *a;
	int64_t stride[DIMS_MAX], base = 0;
	infer_strides(a, stride);
	FOR_INT(i, count) {
		int axis = infer_axis(named >= 0 ? axes[i] : i, a->dims);
		step[i] = steps >= 0 ? step[i] : 1;
		if (axis < 0 || step[i] == 0)
			return;
		made.dim[axis] = slice_dim(a->dim[axis], start[i], end[i], step[i], &from);
		if (!infer_integers(infer, 0) || a->values == 0)
			continue;
		base += from * stride[axis];
		stride[axis] *= made.dim[axis] > 1 ? step[i] : 0;
	}
	infer_result(infer, 0, &made, a->dtype);
	infer_pick(infer, &made, base, stride);
}

static void join_reals(struct infer *infer, uint32_t count)
{
	double *real = infer_result_reals(infer, count);
	for (uint32_t i = 0; real && i < infer->node->ins; i++) {
		COPY(real, infer_operand(infer, i)->real, infer_operand(infer, i)->values);
		real += infer_operand(infer, i)->values;
	}
}

void infer_concat(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int axis = a ? infer_axis(onnx_int(infer->node->body, "axis", 1), a->dims) : -1;
	struct onnx_shape made;
	uint32_t count = 0;
	if (!a || axis < 0)
		return;
	made = *a;
	bool values = a->dims == 1, floating = a->dims == 1 && a->real;
	FOR(i, infer->node->ins) {
		const struct onnx_shape *b = infer_operand(infer, i);
		if (!b || b->dims != a->dims || (i > 0 && __builtin_add_overflow(made.dim[axis], b->dim[axis], &made.dim[axis])))
			return;
		values = values && (floating ? infer_reals(infer, i) != NULL : infer_integers(infer, i) != NULL);
		count += values && count <= ONNX_VALUES_MOST ? b->values : 0;
	}
	infer_result(infer, 0, &made, a->dtype);
	if (!values || count > ONNX_VALUES_MOST)
		return;
	if (floating)
		join_reals(infer, count);
	int64_t *value = floating ? NULL : infer_result_values(infer, count);
	for (uint32_t i = 0; value && i < infer->node->ins; i++) {
		COPY(value, infer_operand(infer, i)->value, infer_operand(infer, i)->values);
		value += infer_operand(infer, i)->values;
	}
}

void infer_split(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int64_t part[ONNX_VALUES_MOST], outs = onnx_int(infer->node->body, "num_outputs", infer->node->outs);
	int count = infer_list(infer, "split", 1, part, ONNX_VALUES_MOST),
		axis = a ? infer_axis(onnx_int(infer->node->body, "axis", 0), a->dims) : -1;
	if (!a || axis < 0 || count == -1 || outs <= 0 || (count >= 0 && count < (int64_t)infer->node->outs))
		return;
	int64_t each = a->dim[axis] / outs + (a->dim[axis] % outs != 0), left = a->dim[axis];
	FOR(i, infer->node->outs) {
		struct onnx_shape made = *a;
		made.dim[axis] = count >= 0 ? part[i] : each < left ? each : left;
		if (made.dim[axis] < 0 || made.dim[axis] > left)
			return;
		left -= made.dim[axis];
		infer_result(infer, i, &made, a->dtype);
	}
}

void infer_pad(struct infer *infer)
{
	const struct onnx_shape *a = infer_operand(infer, 0);
	int64_t pads[2 * DIMS_MAX], axes[DIMS_MAX];
	int count = infer_list(infer, "pads", 1, pads, 2 * DIMS_MAX),
		named = infer_has(infer, 3) ? infer_list(infer, "axes", 3, axes, DIMS_MAX) : -2;
	if (!a || count < 0 || named == -1 || count != 2 * (named >= 0 ? named : a->dims))
		return;
	struct onnx_shape made = *a;
	FOR_INT(i, count / 2) {
		int axis = infer_axis(named >= 0 ? axes[i] : i, a->dims);
		if (axis < 0 || __builtin_add_overflow(made.dim[axis], pads[i], &made.dim[axis]) ||
			__builtin_add_overflow(made.dim[axis], pads[i + count / 2], &made.dim[axis]) || made.dim[axis] < 0)
			return;
	}
	infer_result(infer, 0, &made, a->dtype);
}
