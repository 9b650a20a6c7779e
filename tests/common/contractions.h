/* contractions.h: small dense arrays, the products and convolutions of operators on them. For kernels.h, which has the
 * rest of the operators. */
#pragma once

#include <math.h>
#include <string.h>

#include "solver/rules/rules.h"

#define ELEMENTS 2048
#define TENSORS 24

struct array {
	int dims;
	int64_t shape[DIMS_MAX];
	double value[ELEMENTS];
};

/* One execution: the tensors at hand, and the whole op's, from which attributes are read. */
struct call {
	int operands, results, half;
	struct array *tensor;
	const struct array *whole;
};

static int64_t count(const struct array *array)
{
	int64_t elements = 1;
	for (int d = 0; d < array->dims; d++)
		elements *= array->shape[d];
	return elements;
}

static struct array *result(const struct call *call, int i)
{
	return &call->tensor[call->operands + i];
}

/* The place of an element of `from` in an array that broadcasts to it. */
static int64_t broadcast_index(const struct array *from, int64_t index, const struct array *to)
{
	int64_t place = 0, step = 1;
	for (int d = from->dims - 1, e = to->dims - 1; e >= 0; d--, e--) {
		int64_t at = index % from->shape[d];
		index /= from->shape[d];
		place += to->shape[e] == 1 ? 0 : at * step;
		step *= to->shape[e];
	}
	return place;
}

/* ---- contractions ---------------------------------------------------------------------------- */

static void product(
	const struct call *call, const double *a, const double *b, double *c, int64_t m, int64_t k, int64_t n)
{
	(void)call;
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			for (int64_t x = 0; x < k; x++)
				c[i * n + j] += a[i * k + x] * b[x * n + j];
}

static void mm(const struct call *call)
{
	const struct array *a = &call->tensor[call->operands - 2], *b = a + 1;
	struct array *c = result(call, 0);
	int64_t m = a->shape[a->dims - 2], k = a->shape[a->dims - 1], n = b->shape[b->dims - 1], batch = count(c) / (m * n);
	for (int64_t i = 0; i < count(c) && call->operands == 3; i++)
		c->value[i] = call->tensor[0].value[broadcast_index(c, i, &call->tensor[0])];
	for (int64_t i = 0; i < batch; i++)
		product(call, a->value + i * m * k, b->value + (b->dims == 2 ? 0 : i * k * n), c->value + i * m * n, m, k, n);
}

/* An addend, and products [b, m, k] [b, k, n] summed over b. */
static void summed_products(const struct call *call)
{
	const struct array *a = &call->tensor[1], *b = a + 1;
	struct array *c = result(call, 0);
	int64_t m = a->shape[1], k = a->shape[2], n = b->shape[2];
	for (int64_t i = 0; i < count(c); i++)
		c->value[i] = call->tensor[0].value[broadcast_index(c, i, &call->tensor[0])];
	for (int64_t i = 0; i < a->shape[0]; i++)
		product(call, a->value + i * m * k, b->value + i * k * n, c->value, m, k, n);
}

/* An addend [m, n], a column [m] times a row [n]. */
static void outer_product(const struct call *call)
{
	const struct array *x = call->tensor;
	for (int64_t i = 0, n = x->shape[1]; i < count(x); i++)
		result(call, 0)->value[i] = x->value[i] + x[1].value[i / n] * x[2].value[i % n];
}

static void linear(const struct call *call)
{
	const struct array *x = call->tensor, *w = x + 1;
	struct array *y = result(call, 0);
	int64_t k = w->shape[1], n = w->shape[0];
	for (int64_t i = 0; i < count(y); i++) {
		y->value[i] = call->operands == 3 ? call->tensor[2].value[i % n] : 0;
		for (int64_t j = 0; j < k; j++)
			y->value[i] += x->value[i / n * k + j] * w->value[i % n * k + j];
	}
}

static void vector_product(const struct call *call)
{
	const struct array *a = &call->tensor[call->operands - 2], *b = a + 1;
	for (int64_t i = 0; call->operands == 3 && i < count(result(call, 0)); i++)
		result(call, 0)->value[i] = call->tensor[0].value[i % count(&call->tensor[0])];
	product(call, a->value, b->value, result(call, 0)->value, a->dims == 2 ? a->shape[0] : 1, b->shape[0], 1);
}

/* Stride 1, no padding, any groups. Visits all triples (input, weight, output) that belong together. */
static void each_tap(const struct array *x, const struct array *w, const struct array *y,
	void (*visit)(void *context, int64_t input, int64_t weight, int64_t output), void *context)
{
	int64_t groups = x->shape[1] / w->shape[1], per_group = w->shape[0] / groups;
	for (int64_t o = 0; o < count(y); o++) {
		int64_t column = o % y->shape[3], row = o / y->shape[3] % y->shape[2];
		int64_t channel = o / (y->shape[3] * y->shape[2]) % y->shape[1],
				sample = o / (y->shape[3] * y->shape[2] * y->shape[1]);
		for (int64_t c = 0; c < w->shape[1]; c++)
			for (int64_t i = 0; i < w->shape[2] * w->shape[3]; i++) {
				int64_t from = channel / per_group * w->shape[1] + c;
				int64_t input = ((sample * x->shape[1] + from) * x->shape[2] + row + i / w->shape[3]) * x->shape[3] +
					column + i % w->shape[3];
				visit(context, input, (channel * w->shape[1] + c) * w->shape[2] * w->shape[3] + i, o);
			}
	}
}

struct taps { const double *a, *b; double *sum; int a_from, b_from, to; };

static void add_tap(void *context, int64_t input, int64_t weight, int64_t output)
{
	const struct taps *taps = context;
	int64_t at[3] = { input, weight, output };
	taps->sum[at[taps->to]] += taps->a[at[taps->a_from]] * taps->b[at[taps->b_from]];
}

static void convolution(const struct call *call)
{
	struct array *y = result(call, 0);
	for (int64_t i = 0; i < count(y) && call->operands == 3; i++)
		y->value[i] = call->tensor[2].value[i / (y->shape[2] * y->shape[3]) % y->shape[1]];
	struct taps taps = { call->tensor[0].value, call->tensor[1].value, y->value, 0, 1, 2 };
	each_tap(&call->tensor[0], &call->tensor[1], y, add_tap, &taps);
}

static void convolution_backward(const struct call *call)
{
	const struct array *g = call->tensor, *x = g + 1, *w = g + 2;
	struct taps to_input = { g->value, w->value, result(call, 0)->value, 2, 1, 0 };
	struct taps to_weight = { g->value, x->value, result(call, 1)->value, 2, 0, 1 };
	each_tap(x, w, g, add_tap, &to_input);
	each_tap(x, w, g, add_tap, &to_weight);
	for (int64_t i = 0; i < count(g); i++)
		result(call, 2)->value[i / (g->shape[2] * g->shape[3]) % g->shape[1]] += g->value[i];
}

static void convolution_to_input(const struct call *call)
{
	const struct array *g = call->tensor, *x = g + 1, *w = g + 2;
	struct taps to_input = { g->value, w->value, result(call, 0)->value, 2, 1, 0 };
	each_tap(x, w, g, add_tap, &to_input);
}

static void convolution_to_weight(const struct call *call)
{
	const struct array *g = call->tensor, *x = g + 1;
	struct taps to_weight = { g->value, x->value, result(call, 0)->value, 2, 0, 1 };
	each_tap(x, result(call, 0), g, add_tap, &to_weight);
}

/* g[.. m, n] w[k, n] */
static void product_to_left(const struct call *call)
{
	const struct array *g = call->tensor, *w = g + 1;
	struct array *y = result(call, 0);
	int64_t n = w->shape[1], k = w->shape[0];
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < n; j++)
			y->value[i] += g->value[i / k * n + j] * w->value[i % k * n + j];
}

/* x[m, k] g[m, n] */
static void product_to_right(const struct call *call)
{
	const struct array *x = call->tensor, *g = x + 1;
	struct array *y = result(call, 0);
	int64_t n = g->shape[1], k = x->shape[1];
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < x->shape[0]; j++)
			y->value[i] += x->value[j * k + i / n] * g->value[j * n + i % n];
}

/* g[.. m, n] x[.. m, k] w[.. k, n]: to x, then to w. */
static void product_backward(const struct call *call)
{
	const struct array *g = call->tensor, *x = g + 1, *w = g + 2;
	struct array *dx = result(call, 0), *dw = result(call, 1);
	int64_t m = x->shape[x->dims - 2], k = x->shape[x->dims - 1], n = g->shape[g->dims - 1],
			whole = w->dims == 2 ? 0 : k * n;
	for (int64_t at = 0; at < count(g) / n * k * n; at++) {
		int64_t row = at / (k * n), of_w = row / m * whole + at % (k * n), of_g = row * n + at % n,
				of_x = row * k + at / n % k;
		dx->value[of_x] += g->value[of_g] * w->value[of_w];
		dw->value[of_w] += g->value[of_g] * x->value[of_x];
	}
}

/* g[m, n] x[m, k] */
static void product_to_weight(const struct call *call)
{
	const struct array *g = call->tensor, *x = g + 1;
	struct array *y = result(call, 0);
	int64_t n = g->shape[1], k = x->shape[1];
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < x->shape[0]; j++)
			y->value[i] += x->value[j * k + i / n] * g->value[j * n + i % n];
}

static void transposed_convolution(const struct call *call)
{
	struct array *y = result(call, 0);
	for (int64_t i = 0; i < count(y); i++)
		y->value[i] = call->tensor[2].value[i / (y->shape[2] * y->shape[3]) % y->shape[1]];
	struct taps taps = { call->tensor[0].value, call->tensor[1].value, y->value, 2, 1, 0 };
	each_tap(y, &call->tensor[1], &call->tensor[0], add_tap, &taps);
}

static void transposed_convolution_backward(const struct call *call)
{
	const struct array *g = call->tensor, *x = g + 1, *w = g + 2;
	struct taps to_input = { g->value, w->value, result(call, 0)->value, 0, 1, 2 };
	struct taps to_weight = { x->value, g->value, result(call, 1)->value, 2, 0, 1 };
	each_tap(g, w, x, add_tap, &to_input);
	each_tap(g, w, x, add_tap, &to_weight);
	for (int64_t i = 0; i < count(g); i++)
		result(call, 2)->value[i / (g->shape[2] * g->shape[3]) % g->shape[1]] += g->value[i];
}

/* x[t, b, i], weights [d, p, i] and [d, p, h]; each step adds to a state that all later ones see. */
static void recurrence(const struct call *call)
{
	const struct array *x = call->tensor, *w = x + 1, *r = x + 2;
	struct array *y = result(call, 0);
	int64_t batch = x->shape[1], width = x->shape[2], hidden = r->shape[2], directions = w->shape[0];
	for (int64_t i = 0; i < count(y); i++) {
		int64_t h = i % hidden, b = i / hidden % batch, d = i / hidden / batch % directions,
				t = i / hidden / batch / directions;
		for (int64_t j = 0; j < w->shape[1] * width; j++)
			y->value[i] += x->value[(t * batch + b) * width + j % width] * w->value[d * w->shape[1] * width + j];
		for (int64_t j = 0; j < w->shape[1]; j++)
			y->value[i] += sin(r->value[(d * w->shape[1] + j) * hidden + h]);
		if (t > 0)
			y->value[i] += y->value[i - directions * batch * hidden];
	}
}

/* tokens [t, h] and scores [t, e] to slots [e, c, h]: token t goes to expert t mod e. */
static void dispatch(const struct call *call)
{
	const struct array *x = call->tensor;
	struct array *y = result(call, 0);
	int64_t experts = y->shape[0], slots = y->shape[1], width = x->shape[1];
	int64_t all_slots = call->whole[2].shape[1], first = slots < all_slots ? call->half * slots : 0;
	for (int64_t i = 0; i < count(x); i++) {
		int64_t token = i / width, slot = token / experts % all_slots - first;
		if (slot >= 0 && slot < slots)
			y->value[(token % experts * slots + slot) * width + i % width] += x->value[i] *
				call->tensor[1].value[token * experts];
	}
}

static void combine(const struct call *call)
{
	const struct array *x = call->tensor, *score = x + 1;
	struct array *y = result(call, 0);
	int64_t experts = x->shape[0], slots = x->shape[1], width = x->shape[2];
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < experts * slots; j++)
			y->value[i] += score->value[i / width * experts + j / slots] * x->value[j * width + i % width];
}

/* Stand-ins with the dependencies of the rule: every result of its summed operands. */
static void dispatch_backward(const struct call *call)
{
	const struct array *g = call->tensor, *score = g + 1;
	int64_t experts = g->shape[0], rows = experts * g->shape[1], width = g->shape[2];
	for (int64_t token = 0; token < score->shape[0]; token++)
		for (int64_t i = 0; i < rows * width; i++) {
			result(call, 0)->value[token * width + i % width] += score->value[token * experts + i / width % experts] *
				g->value[i];
			result(call, 1)->value[token * experts + i / width % experts] += g->value[i];
		}
}

static void combine_backward(const struct call *call)
{
	const struct array *g = call->tensor, *y = g + 1, *score = g + 2;
	int64_t experts = y->shape[0], slots = y->shape[1], width = y->shape[2];
	for (int64_t token = 0; token < g->shape[0]; token++)
		for (int64_t i = 0; i < experts * slots * width; i++) {
			int64_t expert = i / width / slots;
			result(call, 0)->value[i] += score->value[token * experts + expert] * g->value[token * width + i % width];
			result(call, 1)->value[token * experts + expert] += y->value[i] * g->value[token * width + i % width];
		}
}

/* As dispatch, scores apart: [e, c, h] and [e, c, 1]. */
static void dispatch_scored(const struct call *call)
{
	const struct array *x = call->tensor, *score = x + 1;
	struct array *y = result(call, 0), *weight = result(call, 1);
	int64_t experts = y->shape[0], slots = y->shape[1], width = x->shape[1];
	int64_t all_slots = call->whole[2].shape[1], first = slots < all_slots ? call->half * slots : 0;
	for (int64_t token = 0; token < x->shape[0]; token++) {
		int64_t slot = token / experts % all_slots - first, at = token % experts * slots + slot;
		for (int64_t d = 0; d < width && slot >= 0 && slot < slots; d++)
			y->value[at * width + d] += score->value[token * experts] > 0 ? x->value[token * width + d] : 0;
		if (slot >= 0 && slot < slots)
			weight->value[at] += score->value[token * experts + token % experts];
	}
}

static void dispatch_scored_backward(const struct call *call)
{
	const struct array *g = call->tensor, *weight = g + 1, *score = g + 2;
	int64_t experts = g->shape[0], rows = experts * g->shape[1], width = g->shape[2];
	for (int64_t token = 0; token < score->shape[0]; token++)
		for (int64_t i = 0; i < rows * width; i++) {
			double seen = sin(score->value[token * experts + i / width % experts]);
			result(call, 0)->value[token * width + i % width] += seen * g->value[i];
			result(call, 1)->value[token * experts + i / width % experts] += i % width == 0
				? seen * weight->value[i / width]
				: 0;
		}
}

static void combine_plain(const struct call *call)
{
	const struct array *x = call->tensor, *score = x + 1;
	int64_t experts = x->shape[0], slots = x->shape[1], width = x->shape[2];
	struct array *y = result(call, 0);
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < experts * slots; j++)
			y->value[i] += sin(score->value[i / width * experts + j / slots]) * x->value[j * width + i % width];
}

static void combine_plain_backward(const struct call *call)
{
	const struct array *g = call->tensor, *score = g + 1;
	struct array *y = result(call, 0);
	int64_t experts = y->shape[0], slots = y->shape[1], width = y->shape[2];
	for (int64_t token = 0; token < g->shape[0]; token++)
		for (int64_t i = 0; i < experts * slots * width; i++)
			y->value[i] += sin(score->value[token * experts + i / width / slots]) * g->value[token * width + i % width];
}

static void swiglu_scaled(const struct call *call)
{
	const struct array *gate = call->tensor, *up = gate + 1, *weight = gate + 2;
	for (int64_t i = 0; i < count(gate); i++)
		result(call, 0)->value[i] = sin(gate->value[i]) * up->value[i] * weight->value[i / gate->shape[2]];
}

static void swiglu_scaled_backward(const struct call *call)
{
	const struct array *g = call->tensor, *gate = g + 1, *up = g + 2, *weight = g + 3;
	for (int64_t i = 0; i < count(g); i++) {
		double w = weight->value[i / g->shape[2]];
		result(call, 0)->value[i] = g->value[i] * cos(gate->value[i]) * up->value[i] * w;
		result(call, 1)->value[i] = g->value[i] * sin(gate->value[i]) * w;
		result(call, 2)->value[i / g->shape[2]] += g->value[i] * sin(gate->value[i]) * up->value[i];
	}
}

/* What a mask adds to a row of scores at a key; its extents of 1 are broadcast. */
static double masked(const struct array *mask, const struct array *q, int64_t row, int64_t key)
{
	int64_t at[] = { row / q->shape[2] / q->shape[1], row / q->shape[2] % q->shape[1], row % q->shape[2], key }, place = 0;
	for (int d = 0; d < 4; d++)
		place = place * mask->shape[d] + (mask->shape[d] == 1 ? 0 : at[d]);
	return mask->value[place];
}

static void attention(const struct call *call)
{
	const struct array *q = call->tensor, *k = q + 1, *v = q + 2, *mask = call->operands > 3 ? q + 3 : NULL;
	int64_t queries = q->shape[2], keys = k->shape[2], width = q->shape[3], wide = v->shape[3],
			group = q->shape[1] / k->shape[1];
	for (int64_t row = 0; row < q->shape[0] * q->shape[1] * queries; row++) {
		const double *keys_at = k->value + row / queries / group * keys * width,
					 *values = v->value + row / queries / group * keys * wide;
		double weight[16], sum = 0;
		for (int64_t j = 0; j < keys; j++) {
			double dot = 0;
			for (int64_t d = 0; d < width; d++)
				dot += q->value[row * width + d] * keys_at[j * width + d];
			sum += weight[j] = exp(dot + (mask ? masked(mask, q, row, j) : 0));
		}
		for (int64_t j = 0; j < keys; j++)
			for (int64_t d = 0; d < wide; d++)
				result(call, 0)->value[row * wide + d] += weight[j] / sum * values[j * wide + d];
		result(call, 1)->value[row / queries * result(call, 1)->shape[2] + row % queries] = log(sum);
	}
}
