/* growth_members.c: members of records that say how a step grows with its batch. */
#include <string.h>

#include "growth_members.h"

int64_t record_grown(const json_t *record, int64_t batch, struct keys *known)
{
	const json_t *list = json_object_get(record, "batches"), *first = json_array_get(list, 0), *other = json_array_get(list, 1);
	if (json_array_size(list) != 2 || batch < 1 || json_integer_value(first) != batch || json_integer_value(other) <= batch || json_integer_value(other) > BYTES_MAX)
		return 0;
	keys_add(known, "batches");
	return json_integer_value(other);
}

static bool number(const json_t *value, int64_t *number)
{
	*number = json_integer_value(value);
	return json_is_integer(value) && *number <= BYTES_MAX && *number >= -BYTES_MAX;
}

const int64_t *record_tensor_growth(const json_t *record, const struct tensor *tensor, int64_t by[DIMS_MAX + 1], struct keys *known)
{
	const json_t *growth = json_object_get(record, "per_sample"), *shape = json_object_get(growth, "shape"), *bytes = json_object_get(growth, "bytes");
	bool fine = json_is_object(growth) && json_object_size(growth) == (size_t)(shape != NULL) + (bytes != NULL)
		&& (!shape || (json_is_array(shape) && tensor->shape && json_array_size(shape) == tensor->dims));
	memset(by, 0, (DIMS_MAX + 1) * sizeof *by);
	for (size_t d = 0; fine && d < json_array_size(shape); d++)
		fine = number(json_array_get(shape, d), &by[d]);
	if (!fine || (bytes && !number(bytes, &by[tensor->dims])))
		return NULL;
	keys_add(known, "per_sample");
	return by;
}

static uint32_t count_numbers(const struct arguments *arguments)
{
	uint32_t count = 0;
	for (uint32_t i = 0; arguments && i < arguments->values; i++)
		count += arguments->value[i].kind == ARGUMENT_NUMBER;
	return count;
}

/* Pairs of a place and a number, places ascending. */
static bool read_numbers(const json_t *list, uint32_t places, struct number_growth *grows)
{
	int64_t place, least = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *pair = json_array_get(list, i);
		if (json_array_size(pair) != 2 || !number(json_array_get(pair, 0), &place) || !number(json_array_get(pair, 1), &grows[i].by) || place < least || place >= places)
			return false;
		grows[i].place = (uint32_t)place;
		least = place + 1;
	}
	return true;
}

enum status record_op_growth(struct arena *arena, const json_t *record, const struct arguments *arguments, const struct op_growth **grows, struct keys *known)
{
	const json_t *growth = json_object_get(record, "per_sample"), *flops = json_object_get(growth, "flops"), *list = json_object_get(growth, "arguments");
	if (!json_is_object(growth) || json_object_size(growth) != (size_t)(flops != NULL) + (list != NULL) || (list && !json_is_array(list)))
		return OK;
	struct op_growth *made = arena_alloc(arena, 1, sizeof *made);
	struct number_growth *place = arena_alloc(arena, json_array_size(list), sizeof *place);
	NEED(made && place);
	*made = (struct op_growth){ .number = place, .numbers = (uint32_t)json_array_size(list) };
	if ((flops && !number(flops, &made->flops)) || !read_numbers(list, count_numbers(arguments), place))
		return OK;
	*grows = made;
	keys_add(known, "per_sample");
	return OK;
}
