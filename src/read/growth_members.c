/* growth_members.c: members of records that say how a step grows with its batch. */

#include "record.h"

static bool growth_members_number(const struct value *value, int64_t least, int64_t *number)
{
	*number = value_integer(value);
	return value_is(value, VALUE_INTEGER) && *number <= BYTES_MAX && *number >= least;
}

enum status record_line(const struct value *record, int64_t batch, int64_t line[LINE_BATCHES], struct keys *known)
{
	const struct value *list = value_member(record, "batches");
	uint32_t count = value_items(list, VALUE_LIST);
	bool own = false;
	CLEAR(line, LINE_BATCHES);
	if (!list)
		return OK;
	bool fine = count >= 2 && count <= LINE_BATCHES;
	FOR_WHILE(i, count, fine) {
		fine = growth_members_number(value_item(list, i), i > 0 ? line[i - 1] + 1 : 1, &line[i]);
		own |= line[i] == batch;
	}
	keys_add(known, "batches");
	return fine && own ? OK : BAD_INPUT;
}

enum status record_tensor_growth(const struct value *record, const struct tensor *tensor, int64_t by[DIMS_MAX + 1],
	const int64_t **grows, struct keys *known)
{
	const struct value *growth = value_member(record, "per_sample");
	const struct value *shape = value_member(growth, "shape"), *bytes = value_member(growth, "bytes");
	if (!growth)
		return OK;
	bool fine = value_is(growth, VALUE_OBJECT) && growth->items == (uint32_t)(shape != NULL) + (bytes != NULL)
		&& (!shape || (value_is(shape, VALUE_LIST) && tensor->shape && shape->items == tensor->dims));
	CLEAR(by, (DIMS_MAX + 1));
	int d = 0;
	for EACH_INSIDE(extent, fine ? shape : NULL)
		fine = growth_members_number(extent, -BYTES_MAX, &by[d++]) && fine;
	fine = fine && (!bytes || growth_members_number(bytes, -BYTES_MAX, &by[tensor->dims]));
	*grows = by;
	keys_add(known, "per_sample");
	return fine ? OK : BAD_INPUT;
}

static uint32_t count_numbers(const struct arguments *arguments)
{
	uint32_t count = 0;
	for (uint32_t i = 0; arguments && i < arguments->values; i++)
		count += arguments->value[i].kind == ARGUMENT_NUMBER;
	return count;
}

/* A pair of numbers, the first one at least as large as *least, which then is one above it. */
static bool growth_members_read_pair(const struct value *pair, int64_t *least, int64_t *first, int64_t *second)
{
	bool fine = value_items(pair, VALUE_LIST) == 2 && growth_members_number(value_item(pair, 0), *least, first)
		&& growth_members_number(value_item(pair, 1), -BYTES_MAX, second);
	*least = *first + 1;
	return fine;
}

/* Pairs of a place and a number, places ascending. */
static bool growth_members_read_numbers(const struct value *list, uint32_t places, struct number_growth *grows)
{
	int64_t place, least = 0;
	for EACH_INSIDE(pair, list) {
		if (!growth_members_read_pair(pair, &least, &place, &grows->by) || place >= places)
			return false;
		grows++->place = (uint32_t)place;
	}
	return true;
}

/* Pairs of a batch and bytes, batches ascending, the step's own with the op's workspace among them. */
static bool growth_members_read_workspace(
	const struct value *list, const struct op *op, int64_t batch, struct workspace_at *at)
{
	int64_t least = 1;
	bool own = false;
	for EACH_INSIDE(pair, list) {
		if (!growth_members_read_pair(pair, &least, &at->batch, &at->bytes) || at->bytes < 0)
			return false;
		own |= at->batch == batch && at->bytes == op->workspace;
		at++;
	}
	return own;
}

enum status record_op_growth(struct arena *arena, const struct value *record, const struct op *op, int64_t batch,
	const struct op_growth **grows, struct keys *known)
{
	const struct value *growth = value_member(record, "per_sample"), *workspace = value_member(record, "workspace_at");
	const struct value *flops = value_member(growth, "flops"), *list = value_member(growth, "arguments");
	uint32_t numbers = value_items(list, VALUE_LIST), workspaces = value_items(workspace, VALUE_LIST);
	if (!growth && !workspace)
		return OK;
	if (growth && (!value_is(growth, VALUE_OBJECT) || growth->items != (uint32_t)(flops != NULL) + (list != NULL)
		|| (list && !value_is(list, VALUE_LIST))))
		return BAD_INPUT;
	struct op_growth *made;
	struct number_growth *place;
	struct workspace_at *at;
	NEED(ROOM(arena, made, 1) && ROOM(arena, place, numbers) && ROOM(arena, at, workspaces));
	*made = (struct op_growth){ .number = place, .numbers = numbers, .workspace = at, .workspaces = workspaces };
	*grows = made;
	keys_add(known, "per_sample");
	keys_add(known, "workspace_at");
	bool fine = (!flops || growth_members_number(flops, -BYTES_MAX, &made->flops))
		&& growth_members_read_numbers(list, count_numbers(op->arguments), place);
	return fine && (!workspace || (workspaces >= 2 && growth_members_read_workspace(workspace, op, batch, at)))
		? OK
		: BAD_INPUT;
}
