/* binding.c: the container that holds an op's factors; it grows and is used again from op to op. */
#include "form.h"

bool binding_begin(struct binding *binding, uint32_t operands, uint32_t tensors)
{
	binding->operands = operands;
	binding->tensors = tensors;
	binding->factors = binding->parts = binding->links = 0;
	binding->ambiguous = false;
	binding->addends = 0;
	if (!GROWN(binding->dim_start, binding->room_tensors, tensors + 1))
		return false;
	binding->dim_start[0] = 0;
	return true;
}

bool binding_tensor(struct binding *binding, uint32_t tensor, int dims, const int64_t *shape)
{
	uint32_t start = binding->dim_start[tensor], end = start + (uint32_t)dims;
	if (!GROWN(binding->dim, binding->room_dims, end))
		return false;
	binding->dim_start[tensor + 1] = end;
	FOR_FROM(i, start, end)
		binding->dim[i] = (struct binding_dim) { .size = shape ? shape[i - start] : -1 };
	return true;
}

uint32_t binding_new_factor(struct binding *binding, int64_t size, uint8_t marks)
{
	if (!GROWN(binding->factor, binding->room_factors, binding->factors + 1))
		return NONE;
	binding->factor[binding->factors] = (struct binding_factor) { size, marks };
	return binding->factors++;
}

bool binding_append(struct binding *binding, uint32_t dim, uint32_t factor)
{
	if (factor == NONE || !GROWN(binding->part, binding->room_parts, binding->parts + 1))
		return false;
	struct binding_dim *end = &binding->dim[dim];
	if (end->count == 0)
		end->first = binding->parts;
	end->count++;
	binding->part[binding->parts++] = factor;
	return true;
}

bool binding_link(struct binding *binding, enum link_kind kind, uint32_t from, uint32_t to)
{
	if (!GROWN(binding->link, binding->room_links, binding->links + 1))
		return false;
	binding->link[binding->links++] = (struct binding_link) { kind, from, to };
	return true;
}

bool binding_same(struct binding *binding, uint32_t dim, uint32_t model)
{
	const struct binding_dim from = binding->dim[model];
	FOR(i, from.count)
		if (!binding_append(binding, dim, binding->part[from.first + i]))
			return false;
	return true;
}

void binding_free(struct binding *binding)
{
	mem_free(binding->dim_start);
	mem_free(binding->dim);
	mem_free(binding->part);
	mem_free(binding->factor);
	mem_free(binding->link);
	*binding = (struct binding) { 0 };
}
