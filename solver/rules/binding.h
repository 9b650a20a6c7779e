/* binding.h: how the binders fill a struct binding. Not for its users. All return false (NONE) when out of memory. */
#pragma once

#include "rules.h"

bool binding_begin(struct binding *binding, uint32_t operands, uint32_t tensors);
/* Tensor by tensor, in order: their dims, still without parts. */
bool binding_tensor(struct binding *binding, uint32_t tensor, int dims, const int64_t *shape);
uint32_t binding_new_factor(struct binding *binding, int64_t size, uint8_t marks);
/* Appends a factor to a dim. A dim's factors must be appended one after the other. factor NONE gives false. */
bool binding_append(struct binding *binding, uint32_t dim, uint32_t factor);
bool binding_link(struct binding *binding, enum link_kind kind, uint32_t from, uint32_t to);
/* The dim gets the factors of another one. */
bool binding_same(struct binding *binding, uint32_t dim, uint32_t model);

static inline uint32_t binding_dims(const struct binding *binding, uint32_t tensor)
{
	return binding->dim_start[tensor + 1] - binding->dim_start[tensor];
}
