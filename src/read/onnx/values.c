/* values.c: attributes of ONNX nodes (AttributeProto: name 1, i 3, s 4, t 5, ints 8) and TensorProtos. */

#include "shapes.h"

bool onnx_attribute(struct wire node, const char *name, struct wire *attribute)
{
	struct wire_field field, inner;
	size_t length = strlen(name);
	while (wire_next(&node, &field)) {
		struct wire body = field.body;
		while (field.number == 5 && field.type == 2 && wire_next(&body, &inner))
			if (inner.number == 1 && inner.type == 2 && wire_size(inner.body) == length &&
				memcmp(inner.body.at, name, length) == 0) {
				*attribute = field.body;
				return true;
			}
	}
	return false;
}

int64_t onnx_int(struct wire node, const char *name, int64_t normal)
{
	struct wire attribute;
	struct wire_field field;
	if (onnx_attribute(node, name, &attribute))
		while (wire_next(&attribute, &field))
			if (field.number == 3 && field.type == 0)
				return (int64_t)field.value;
	return normal;
}

bool onnx_word(struct wire node, const char *name, const char *word)
{
	struct wire attribute;
	struct wire_field field;
	if (onnx_attribute(node, name, &attribute))
		while (wire_next(&attribute, &field))
			if (field.number == 4 && field.type == 2)
				return wire_size(field.body) == strlen(word) && memcmp(field.body.at, word, strlen(word)) == 0;
	return false;
}

int onnx_ints(struct wire node, const char *name, int64_t *list, int most)
{
	struct wire attribute;
	struct wire_field field;
	int count = 0;
	if (!onnx_attribute(node, name, &attribute))
		return -1;
	while (wire_next(&attribute, &field)) {
		struct wire body = field.body;
		uint64_t value = field.value;
		bool more = field.number == 8 &&
			(field.type == 0 || (field.type == 2 && wire_size(body) && wire_integer(&body, &value)));
		while (more) {
			if (count == most)
				return -1;
			list[count++] = (int64_t)value;
			more = field.type == 2 && wire_size(body) && wire_integer(&body, &value);
		}
	}
	return count;
}

/* ---- TensorProto ---- */

int onnx_dtype(uint64_t type)
{
	static const int8_t dtypes[] = { -1, DTYPE_F32, DTYPE_U8, DTYPE_I8, DTYPE_U16, DTYPE_I16, DTYPE_I32, DTYPE_I64, -1,
		DTYPE_BOOL, DTYPE_F16, DTYPE_F64, DTYPE_U32, DTYPE_U64, DTYPE_C64, DTYPE_C128, DTYPE_BF16, DTYPE_F8E4M3,
		DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_F8E5M2, DTYPE_U4, DTYPE_I4, DTYPE_U4,
		DTYPE_U8 }; /* the last two are floating-point numbers of 4 bits, and exponents of 8 */
	return type < sizeof dtypes ? dtypes[type] : -1;
}

struct numbers {
	struct wire raw, packed; /* raw_data 9; float_data 4, int32_data 5, int64_data 7 where packed */
	int64_t loose[ONNX_VALUES_MOST]; /* the same one by one */
	uint32_t count;
	bool outside; /* data_location 14: in another file */
};

static void take_numbers(struct wire body, struct numbers *numbers)
{
	struct wire_field field;
	while (wire_next(&body, &field)) {
		if (field.number == 9 && field.type == 2)
			numbers->raw = field.body;
		else if ((field.number == 4 || field.number == 5 || field.number == 7) && field.type == 2)
			numbers->packed = field.body;
		else if ((field.number == 5 || field.number == 7 || field.number == 4) && numbers->count < ONNX_VALUES_MOST)
			numbers->loose[numbers->count++] = (int64_t)field.value;
		else if (field.number == 14 && field.type == 0 && field.value == 1)
			numbers->outside = true;
	}
}

/* Whole numbers of up to eight bytes, little endian, with their sign. */
static bool raw_integers(struct wire raw, uint32_t bytes, uint32_t count, int64_t *value)
{
	if (wire_size(raw) != (size_t)bytes * count)
		return false;
	FOR(i, count) {
		uint64_t sum = 0;
		FOR(k, bytes)
			sum |= (uint64_t)raw.at[i * bytes + k] << (8 * k);
		value[i] = bytes == 4 ? (int32_t)(uint32_t)sum : (int64_t)sum;
	}
	return true;
}

static bool packed_integers(struct wire packed, uint32_t count, int64_t *value)
{
	uint64_t one;
	FOR(i, count) {
		if (!wire_integer(&packed, &one))
			return false;
		value[i] = (int64_t)one;
	}
	return true;
}

static enum status keep_numbers(struct wire body, struct onnx_shape *shape, uint32_t count, struct arena *arena)
{
	struct numbers numbers = { 0 };
	bool real = shape->dtype == DTYPE_F32;
	uint32_t bytes = shape->dtype == DTYPE_I64 ? 8 : shape->dtype == DTYPE_BOOL ? 1 : 4;
	int64_t *value;
	double *reals;
	NEED(ROOM(arena, value, (size_t)count + 1) && ROOM(arena, reals, (size_t)count + 1));
	take_numbers(body, &numbers);
	struct wire raw = numbers.raw.at ? numbers.raw : real ? numbers.packed : numbers.raw;
	if (numbers.outside ||
		(raw.at ? !raw_integers(raw, bytes, count, value)
		: numbers.packed.at ? !packed_integers(numbers.packed, count, value)
		: numbers.count != count))
		return OK;
	if (!raw.at && !numbers.packed.at)
		COPY(value, numbers.loose, count);
	for (uint32_t i = 0; i < count && real; i++) {
		uint32_t bits = (uint32_t)value[i];
		float number;
		memcpy(&number, &bits, sizeof number);
		reals[i] = (double)number;
	}
	shape->values = count;
	shape->value = real ? NULL : value;
	shape->real = real ? reals : NULL;
	return OK;
}

enum status onnx_tensor(struct wire body, struct onnx_shape *shape, struct wire *name, struct arena *arena)
{
	struct wire_field field;
	struct wire again = body;
	int64_t *dim = NULL;
	size_t count = 0, room = 0;
	int dtype = -1;
	enum status status = OK;
	while (status == OK && wire_next(&again, &field)) {
		if (field.number == 1 && (field.type == 0 || field.type == 2) &&
			!wire_integers(&field, &dim, &count, &room, DIMS_MAX))
			status = BAD_INPUT;
		else if (field.number == 2 && field.type == 0)
			dtype = onnx_dtype(field.value);
		else if (field.number == 8 && field.type == 2 && name)
			*name = field.body;
	}
	int64_t elements = 1;
	shape->known = true;
	shape->typed = dtype >= 0;
	shape->dtype = dtype >= 0 ? (uint8_t)dtype : 0;
	shape->dims = (uint8_t)(status == OK ? count : 0);
	for (size_t i = 0; i < count && status == OK; i++) {
		shape->dim[i] = dim[i];
		elements = dim[i] < 0 || dim[i] > ONNX_VALUES_MOST || elements > ONNX_VALUES_MOST ? ONNX_VALUES_MOST + 1
			: elements * dim[i];
	}
	mem_free(dim);
	bool followed = dtype == DTYPE_I64 || dtype == DTYPE_I32 || dtype == DTYPE_BOOL || dtype == DTYPE_F32;
	return status == OK && followed && elements <= ONNX_VALUES_MOST
		? keep_numbers(body, shape, (uint32_t)elements, arena)
		: status;
}
