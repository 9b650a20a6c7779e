/* growth_members.c: members of records that say how a step grows with its batch. */
#include <string.h>

#include "growth_members.h"

int64_t record_grown(const struct value *record, int64_t batch, struct keys *known)
{
	const struct value *list = value_member(record, "batches"), *first = value_item(list, 0), *other = value_item(list, 1);
	if (value_items(list, VALUE_LIST) != 2 || batch < 1 || value_integer(first) != batch || value_integer(other) <= batch || value_integer(other) > BYTES_MAX)
		return 0;
	keys_add(known, "batches");
	return value_integer(other);
}

static bool number(const struct value *value, int64_t *number)
{
	*number = value_integer(value);
	return value_is(value, VALUE_INTEGER) && *number <= BYTES_MAX && *number >= -BYTES_MAX;
}

const int64_t *record_tensor_growth(const struct value *record, const struct tensor *tensor, int64_t by[DIMS_MAX + 1], struct keys *known)
{
	const struct value *growth = value_member(record, "per_sample"), *shape = value_member(growth, "shape"), *bytes = value_member(growth, "bytes");
	bool fine = value_is(growth, VALUE_OBJECT) && growth->items == (uint32_t)(shape != NULL) + (bytes != NULL)
		&& (!shape || (value_is(shape, VALUE_LIST) && tensor->shape && shape->items == tensor->dims));
	memset(by, 0, (DIMS_MAX + 1) * sizeof *by);
	int d = 0;
	for EACH_INSIDE(extent, fine ? shape : NULL)
		fine = number(extent, &by[d++]) && fine;
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
static bool read_numbers(const struct value *list, uint32_t places, struct number_growth *grows)
{
	int64_t place, least = 0;
	for EACH_INSIDE(pair, list) {
		if (value_items(pair, VALUE_LIST) != 2 || !number(value_item(pair, 0), &place) || !number(value_item(pair, 1), &grows->by) || place < least || place >= places)
			return false;
		grows++->place = (uint32_t)place;
		least = place + 1;
	}
	return true;
}

enum status record_op_growth(struct arena *arena, const struct value *record, const struct arguments *arguments, const struct op_growth **grows, struct keys *known)
{
	const struct value *growth = value_member(record, "per_sample"), *flops = value_member(growth, "flops"), *list = value_member(growth, "arguments");
	if (!value_is(growth, VALUE_OBJECT) || growth->items != (uint32_t)(flops != NULL) + (list != NULL) || (list && !value_is(list, VALUE_LIST)))
		return OK;
	struct op_growth *made = arena_alloc(arena, 1, sizeof *made);
	struct number_growth *place = arena_alloc(arena, value_items(list, VALUE_LIST), sizeof *place);
	NEED(made && place);
	*made = (struct op_growth){ .number = place, .numbers = value_items(list, VALUE_LIST) };
	if ((flops && !number(flops, &made->flops)) || !read_numbers(list, count_numbers(arguments), place))
		return OK;
	*grows = made;
	keys_add(known, "per_sample");
	return OK;
}
