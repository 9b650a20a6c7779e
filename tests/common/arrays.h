/* arrays.h: small tensors of numbers, whole or in pieces, and one op on them. For tests.
 *
 * Elements know where they lie in the whole tensor: tables, random numbers and losses need it. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solver/rules/rules.h"

/* A tensor or a piece of it, row-major. index[d][i]: where the piece's i-th index of dim d lies in the whole. */
struct array {
	int dims;
	int64_t shape[DIMS_MAX], whole[DIMS_MAX], count;
	double *value;
	int32_t *index[DIMS_MAX];
};

/* One op: graph and binding are the whole op's. A view's results aren't values but elements of operand 0:
 * from[result][i]. */
struct call {
	const struct graph *graph;
	uint32_t op;
	const struct rule *rule;
	const struct binding *binding;   /* NULL: the rule doesn't fit */
	int operands, results;
	struct array *in, *out;
	int32_t **from;
	bool split;                      /* on some axis */
};

static inline double hash_unit(uint64_t hash)
{
	return (double)(hash_mix(hash) >> 11) / (double)(UINT64_C(1) << 53);
}

/* The place of an element of a piece in the whole tensor. */
static inline int64_t whole_place(const struct array *array, int64_t element)
{
	int64_t place = 0, step = 1;
	for (int d = array->dims - 1; d >= 0; d--) {
		place += array->index[d][element % array->shape[d]] * step;
		element /= array->shape[d];
		step *= array->whole[d];
	}
	return place;
}

static inline void unravel(const struct array *array, int64_t element, int64_t *at)
{
	for (int d = array->dims - 1; d >= 0; d--) {
		at[d] = element % array->shape[d];
		element /= array->shape[d];
	}
}

static inline int64_t ravel(const struct array *array, const int64_t *at)
{
	int64_t place = 0;
	for (int d = 0; d < array->dims; d++)
		place = place * array->shape[d] + at[d];
	return place;
}

/* The element of `to` that broadcasts to an element of `from`. */
static inline int64_t broadcast_place(const struct array *from, int64_t element, const struct array *to)
{
	int64_t place = 0, step = 1;
	for (int d = from->dims - 1, e = to->dims - 1; e >= 0; d--, e--) {
		int64_t at = d >= 0 ? element % from->shape[d] : 0;
		element /= d >= 0 ? from->shape[d] : 1;
		place += to->shape[e] == 1 ? 0 : at * step;
		step *= to->shape[e];
	}
	return place;
}

static inline uint64_t op_seed(const struct call *call)
{
	return text_hash(call->graph->op[call->op].name);
}

/* The rank-th random number of an element of a whole result. */
static inline double random_at(const struct call *call, int result, int64_t element)
{
	return hash_unit(op_seed(call) + (uint64_t)whole_place(&call->out[result], element) * 31);
}
