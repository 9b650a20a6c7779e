/* interpreter.h: executes ops on small tensors of numbers, whole or in pieces. For tests.
 *
 * Attributes that graphs don't record (where a slice begins, which way dims are permuted) follow from the whole op and its name, so
 * that every device takes the same. Elements know where they lie in the whole tensor: tables, random numbers and losses need it.
 */
#ifndef TIDEMARK_TESTS_INTERPRETER_H
#define TIDEMARK_TESTS_INTERPRETER_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solver/rules.h"

/* A tensor or a piece of it, row-major. index[d][i]: where the piece's i-th index of dim d lies in the whole. */
struct array {
	int rank;
	int64_t shape[RANK_MAX], whole[RANK_MAX], count;
	double *value;
	int32_t *index[RANK_MAX];
};

/* One op: graph and binding are the whole op's. A view's results aren't values but elements of operand 0: from[result][i]. */
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

static inline uint64_t text_hash(const char *text)
{
	uint64_t hash = 7;
	for (; *text; text++)
		hash = hash_join(hash, (unsigned char)*text);
	return hash;
}

static inline double hash_unit(uint64_t hash)
{
	return (double)(hash_mix(hash) >> 11) / (double)(UINT64_C(1) << 53);
}

/* The place of an element of a piece in the whole tensor. */
static inline int64_t whole_place(const struct array *array, int64_t element)
{
	int64_t place = 0, step = 1;
	for (int d = array->rank - 1; d >= 0; d--) {
		place += array->index[d][element % array->shape[d]] * step;
		element /= array->shape[d];
		step *= array->whole[d];
	}
	return place;
}

static inline void unravel(const struct array *array, int64_t element, int64_t *at)
{
	for (int d = array->rank - 1; d >= 0; d--) {
		at[d] = element % array->shape[d];
		element /= array->shape[d];
	}
}

static inline int64_t ravel(const struct array *array, const int64_t *at)
{
	int64_t place = 0;
	for (int d = 0; d < array->rank; d++)
		place = place * array->shape[d] + at[d];
	return place;
}

/* The element of `to` that broadcasts to an element of `from`. */
static inline int64_t broadcast_place(const struct array *from, int64_t element, const struct array *to)
{
	int64_t place = 0, step = 1;
	for (int d = from->rank - 1, e = to->rank - 1; e >= 0; d--, e--) {
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

/* ---- products ---------------------------------------------------------------------------------------------------- */

static inline void run_product(const struct call *call)
{
	const struct array *a = &call->in[call->operands - 2], *b = a + 1;
	struct array *c = call->out;
	int64_t n = c->shape[c->rank - 1], m = a->rank > 1 ? c->shape[c->rank - 2] : 1, k = a->shape[a->rank - 1];
	for (int64_t i = 0; i < c->count; i++) {
		int64_t batch = i / (m * n);
		const double *left = a->value + (batch * m + i / n % m) * k, *right = b->value + (b->rank > 2 ? batch * k * n : 0) + i % n;
		c->value[i] = call->operands == 3 ? call->in[0].value[broadcast_place(c, i, &call->in[0])] : 0;
		for (int64_t x = 0; x < k; x++)
			c->value[i] += left[x] * right[x * n];
	}
}

static inline void run_linear(const struct call *call)
{
	const struct array *x = call->in, *w = x + 1;
	int64_t k = w->shape[1], n = w->shape[0];
	for (int64_t i = 0; i < call->out->count; i++) {
		call->out->value[i] = call->operands == 3 ? call->in[2].value[i % n] : 0;
		for (int64_t j = 0; j < k; j++)
			call->out->value[i] += x->value[i / n * k + j] * w->value[i % n * k + j];
	}
}

/* A convolution over a torus, so that any stride and padding have the right shape: 4 dims, one group.
 * grad: 0 output, 1 input, 2 weight. */
static inline void convolve(const struct array *x, const struct array *w, const struct array *y, int to)
{
	int64_t stride[2] = { x->shape[2] / y->shape[2], x->shape[3] / y->shape[3] };
	for (int64_t o = 0; o < y->count; o++)
		for (int64_t i = 0; i < w->count / w->shape[0]; i++) {
			int64_t column = o % y->shape[3], row = o / y->shape[3] % y->shape[2], filter = o / (y->shape[3] * y->shape[2]) % y->shape[1];
			int64_t sample = o / (y->shape[3] * y->shape[2] * y->shape[1]), dx = w->index[3][i % w->shape[3]], dy = w->index[2][i / w->shape[3] % w->shape[2]];
			int64_t channel = i / (w->shape[3] * w->shape[2]);
			int64_t input = ((sample * x->shape[1] + channel) * x->shape[2] + (row * stride[0] + dy) % x->shape[2]) * x->shape[3]
				+ (column * stride[1] + dx) % x->shape[3], weight = filter * (w->count / w->shape[0]) + i;
			if (to == 0)
				y->value[o] += x->value[input] * w->value[weight];
			else if (to == 1)
				x->value[input] += y->value[o] * w->value[weight];
			else
				w->value[weight] += y->value[o] * x->value[input];
		}
}

static inline void run_convolution(const struct call *call)
{
	struct array *y = call->out;
	for (int64_t i = 0; i < y->count && call->operands == 3; i++)
		y->value[i] = call->in[2].value[i / (y->shape[2] * y->shape[3]) % y->shape[1]];
	convolve(call->in, call->in + 1, y, 0);
}

/* Results are any of the gradients of input, weight and bias; their shapes tell which. The weight is read for the input's alone. */
static inline void run_convolution_backward(const struct call *call)
{
	const struct array *g = call->in, *x = g + 1, *w = g + 2;
	for (int r = 0; r < call->results; r++) {
		struct array *out = &call->out[r];
		bool to_input = out->rank == 4 && r == 0 && call->operands > 2 && memcmp(out->whole, x->whole, 4 * sizeof *x->whole) == 0;
		if (out->rank == 4)
			convolve(to_input ? out : x, to_input ? w : out, g, to_input ? 1 : 2);
		for (int64_t i = 0; i < g->count && out->rank == 1; i++)
			out->value[i / (g->shape[2] * g->shape[3]) % g->shape[1]] += g->value[i];
	}
}

static inline void run_attention(const struct call *call)
{
	const struct array *q = call->in, *k = q + 1, *v = q + 2;
	int64_t queries = q->shape[2], keys = k->shape[2], width = q->shape[3], wide = v->shape[3];
	for (int64_t row = 0; row < q->count / width; row++) {
		const double *keys_at = k->value + row / queries * keys * width, *values = v->value + row / queries * keys * wide;
		double sum = 0;
		for (int64_t j = 0; j < keys; j++) {
			double dot = 0;
			for (int64_t d = 0; d < width; d++)
				dot += q->value[row * width + d] * keys_at[j * width + d];
			sum += exp(dot);
			for (int64_t d = 0; d < wide; d++)
				call->out[0].value[row * wide + d] += exp(dot) * values[j * wide + d];
		}
		for (int64_t d = 0; d < wide; d++)
			call->out[0].value[row * wide + d] /= sum;
		if (call->results > 1)
			call->out[1].value[row] = log(sum);
	}
}

/* gradient, q, k, v, result, log-sum-exp -> gradients of q, k, v. */
static inline void run_attention_backward(const struct call *call)
{
	const struct array *g = call->in, *q = g + 1, *k = g + 2, *v = g + 3, *o = g + 4, *sums = g + 5;
	int64_t queries = q->shape[2], keys = k->shape[2], width = q->shape[3], wide = v->shape[3];
	for (int64_t row = 0; row < q->count / width; row++)
		for (int64_t j = 0; j < keys; j++) {
			int64_t key = (row / queries * keys + j) * width, value = key / width * wide;
			double dot = 0, passed = 0, mean = 0;
			for (int64_t d = 0; d < width; d++)
				dot += q->value[row * width + d] * k->value[key + d];
			for (int64_t d = 0; d < wide; d++) {
				passed += g->value[row * wide + d] * v->value[value + d];
				mean += g->value[row * wide + d] * o->value[row * wide + d];
			}
			double weight = exp(dot - sums->value[row]), slope = weight * (passed - mean);
			for (int64_t d = 0; d < width; d++) {
				call->out[0].value[row * width + d] += slope * k->value[key + d];
				call->out[1].value[key + d] += slope * q->value[row * width + d];
			}
			for (int64_t d = 0; d < wide; d++)
				call->out[2].value[value + d] += weight * g->value[row * wide + d];
		}
}

/* ---- along the last dim; norms ---------------------------------------------------------------------------------------- */

static inline void run_softmax(const struct call *call)
{
	bool logarithm = strstr(call->rule->type, "log");
	const struct array *x = call->in;
	int64_t width = x->shape[x->rank - 1];
	for (int64_t row = 0; row < x->count; row += width) {
		double sum = 0;
		for (int64_t i = 0; i < width; i++)
			sum += exp(x->value[row + i]);
		for (int64_t i = 0; i < width; i++)
			call->out->value[row + i] = logarithm ? x->value[row + i] - log(sum) : exp(x->value[row + i]) / sum;
	}
}

static inline void run_softmax_backward(const struct call *call)
{
	bool logarithm = strstr(call->rule->type, "log");
	const struct array *g = call->in, *y = g + 1;
	int64_t width = g->shape[g->rank - 1];
	for (int64_t row = 0; row < g->count; row += width) {
		double sum = 0;
		for (int64_t i = 0; i < width; i++)
			sum += logarithm ? g->value[row + i] : g->value[row + i] * y->value[row + i];
		for (int64_t i = 0; i < width; i++)
			call->out->value[row + i] = logarithm ? g->value[row + i] - exp(y->value[row + i]) * sum : y->value[row + i] * (g->value[row + i] - sum);
	}
}

static inline void run_cumsum(const struct call *call)
{
	int64_t width = call->in->shape[call->in->rank - 1];
	for (int64_t i = 0; i < call->in->count; i++)
		call->out->value[i] = call->in->value[i] + (i % width ? call->out->value[i - 1] : 0);
}

/* x, weight, bias -> y, mean, 1 / deviation; without bias and mean for RMS norms. */
static inline void run_norm(const struct call *call)
{
	const struct array *x = call->in;
	bool rms = strstr(call->rule->type, "rms");
	int64_t width = x->shape[x->rank - 1];
	for (int64_t row = 0; row < x->count / width; row++) {
		double mean = 0, square = 0;
		for (int64_t i = 0; i < width; i++)
			mean += rms ? 0 : x->value[row * width + i] / (double)width;
		for (int64_t i = 0; i < width; i++)
			square += pow(x->value[row * width + i] - mean, 2) / (double)width;
		for (int64_t i = 0; i < width; i++)
			call->out->value[row * width + i] = (x->value[row * width + i] - mean) / sqrt(square + 0.1) * (call->operands > 1 ? call->in[1].value[i] : 1)
				+ (call->operands > 2 ? call->in[2].value[i] : 0);
		if (!rms && call->results > 1)
			call->out[1].value[row] = mean;
		if (call->results > 1)
			call->out[call->results - 1].value[row] = 1 / sqrt(square + 0.1);
	}
}

/* gradient, x, statistics, weight, bias -> gradients of x, weight, bias. */
static inline void run_norm_backward(const struct call *call)
{
	const struct array *g = call->in, *x = g + 1;
	int64_t width = g->shape[g->rank - 1];
	bool rms = strstr(call->rule->type, "rms");
	int column = 0;
	for (int r = 0; r < call->results; r++) {
		struct array *out = &call->out[r];
		bool rows = out->rank == g->rank && (out->rank > 1 || r == 0);
		for (int64_t row = 0; row < g->count / width; row++) {
			double mean = rms ? 0 : call->in[2].value[row], scale = call->in[rms ? 2 : 3].value[row], sum = 0, product = 0;
			for (int64_t i = 0; i < width; i++) {
				sum += g->value[row * width + i];
				product += g->value[row * width + i] * (x->value[row * width + i] - mean) * scale;
			}
			for (int64_t i = 0; i < width; i++) {
				double normal = (x->value[row * width + i] - mean) * scale;
				if (rows)
					out->value[row * width + i] = scale * (g->value[row * width + i] - (rms ? 0 : sum) / (double)width - normal * product / (double)width);
				else
					out->value[i] += g->value[row * width + i] * (column == 0 ? normal : 1);
			}
		}
		column += !rows;
	}
}

/* Any function of all elements of a channel, forwards or backwards. Running statistics come last among the operands. */
static inline void run_batch_norm(const struct call *call)
{
	const struct array *x = call->in;
	int64_t channels = x->shape[1], space = x->count / channels / x->shape[0];
	for (int64_t c = 0; c < channels; c++) {
		double mean = 0, factor = 1;
		for (int64_t i = 0; i < x->count; i++)
			if (i / space % channels == c)
				mean += (x->value[i] + 0.3 * x->value[i] * x->value[i]) / (double)(x->count / channels);
		for (int t = 1; t < call->operands; t++)
			factor += call->in[t].rank == 1 ? sin(call->in[t].value[c]) : 0;
		for (int r = 0; r < call->results; r++)
			if (call->out[r].rank == 1)
				call->out[r].value[c] = mean * (r + 1) + factor;
			else
				for (int64_t i = 0; i < x->count; i++)
					if (i / space % channels == c)
						for (int t = 0; t < call->operands; t++)
							call->out[r].value[i] += call->in[t].rank == x->rank ? (call->in[t].value[i] - mean) * 0.3 * factor : 0;
	}
}

/* ---- tables and losses -------------------------------------------------------------------------------------------------- */

/* The place of a whole index in a piece's dim, or -1 where it is elsewhere. */
static inline int64_t local_index(const struct array *array, int dim, int64_t whole)
{
	int64_t near = whole - array->index[dim][0];      /* in one piece, as a rule */
	if (near >= 0 && near < array->shape[dim] && array->index[dim][near] == whole)
		return near;
	for (int64_t i = 0; i < array->shape[dim]; i++)
		if (array->index[dim][i] == whole)
			return i;
	return -1;
}

static inline void run_embedding(const struct call *call)
{
	const struct array *table = call->in, *index = table + 1;
	int64_t width = table->shape[1];
	for (int64_t i = 0; i < index->count; i++) {
		int64_t row = local_index(table, 0, (int64_t)index->value[i] % table->whole[0]);
		for (int64_t d = 0; d < width && row >= 0; d++)
			call->out->value[i * width + d] = table->value[row * width + d];
	}
}

static inline void run_embedding_backward(const struct call *call)
{
	const struct array *g = call->in, *index = g + 1;
	struct array *table = call->out;
	int64_t width = table->shape[1];
	for (int64_t i = 0; i < index->count; i++) {
		int64_t row = local_index(table, 0, (int64_t)index->value[i] % table->whole[0]);
		for (int64_t d = 0; d < width && row >= 0; d++)
			table->value[row * width + d] += g->value[i * width + d];
	}
}

/* @gather along the first dim that fits, as binding finds it. */
static inline void run_gather_rows(const struct call *call)
{
	const struct array *data = call->in, *index = data + 1;
	struct array *out = call->out;
	int axis = 0;
	for (bool fits = false; axis < data->rank && !fits; axis += !fits) {
		fits = true;
		for (int i = 0; i < out->rank; i++)
			fits &= out->whole[i] == (i < axis ? data->whole[i] : i < axis + index->rank ? index->whole[i - axis] : data->whole[i - index->rank + 1]);
	}
	for (int64_t i = 0; i < out->count; i++) {
		int64_t at[RANK_MAX], from[RANK_MAX] = { 0 }, lookup[RANK_MAX] = { 0 };
		unravel(out, i, at);
		for (int d = 0; d < index->rank; d++)
			lookup[d] = at[axis + d];
		for (int d = 0; d < data->rank; d++)
			from[d] = d < axis ? at[d] : d > axis ? at[d + index->rank - 1] : (int64_t)index->value[ravel(index, lookup)] % data->whole[axis];
		out->value[i] = data->value[ravel(data, from)];
	}
}

static inline void run_nll_loss(const struct call *call)
{
	const struct array *x = call->in, *label = x + 1;
	for (int64_t i = 0; i < x->shape[0]; i++) {
		int64_t at = local_index(x, 1, (int64_t)label->value[i] % x->whole[1]);
		call->out[0].value[0] -= at < 0 ? 0 : x->value[i * x->shape[1] + at] / (double)x->whole[0];
		if (call->results > 1)
			call->out[1].value[0] += at >= 0;
	}
}

static inline void run_nll_loss_backward(const struct call *call)
{
	const struct array *x = &call->in[1], *label = &call->in[2];
	for (int64_t i = 0; i < x->shape[0]; i++) {
		int64_t at = local_index(call->out, 1, (int64_t)label->value[i] % x->whole[1]);
		if (at >= 0)
			call->out->value[i * x->shape[1] + at] = -call->in[0].value[0] / call->in[call->operands - 1].value[0];
	}
}

static inline void run_mean_loss(const struct call *call)
{
	double whole = 1;
	for (int d = 0; d < call->in->rank; d++)
		whole *= (double)call->in->whole[d];
	for (int64_t i = 0; i < call->in->count; i++) {
		double loss = pow(call->in[0].value[i] - call->in[1].value[i], 2);
		if (call->out->rank > 0)
			call->out->value[i] = loss;
		else
			call->out->value[0] += loss / whole;
	}
}

static inline void run_mean_loss_backward(const struct call *call)
{
	const struct array *a = &call->in[1], *b = a + 1;
	for (int64_t i = 0; i < a->count; i++)
		call->out->value[i] = call->in[0].value[call->in->count > 1 ? i : 0] * (a->value[i] - b->value[i]);
}

/* Tokens [t, h] with scores [t, e] fill slots [e, c, h]: token t goes to expert t mod e, to the slot that is as far along the slots as it
 * is along the tokens. Slots and tokens are cut alike, so every device has its tokens' slots. forward: into slots, else back. A score of
 * NULL is 1. */
static inline void route(const struct array *token, const struct array *slotted, const struct array *score, bool forward)
{
	int64_t width = token->shape[1];
	for (int64_t i = 0; i < token->shape[0]; i++) {
		int64_t whole = token->index[0][i], expert = local_index(slotted, 0, whole % slotted->whole[0]);
		int64_t slot = local_index(slotted, 1, whole * slotted->whole[1] / token->whole[0]);
		double weight = score && expert >= 0 ? score->value[i * score->shape[1] + local_index(score, 1, whole % slotted->whole[0])] : 1;
		for (int64_t d = 0; d < width && expert >= 0 && slot >= 0; d++) {
			double *a = &token->value[i * width + d], *b = &slotted->value[(expert * slotted->shape[1] + slot) * width + d];
			if (forward)
				*b += weight * *a;
			else
				*a += weight * *b;
		}
	}
}

/* The gradient of scores: tokens (NULL: ones) by the slots that they fill, summed. */
static inline void route_scores(const struct array *token, const struct array *slotted, const struct array *score)
{
	int64_t width = slotted->shape[2];
	for (int64_t i = 0; i < score->count; i++) {
		int64_t whole = score->index[0][i / score->shape[1]], expert = local_index(slotted, 0, score->index[1][i % score->shape[1]]);
		int64_t slot = local_index(slotted, 1, whole * slotted->whole[1] / score->whole[0]);
		for (int64_t d = 0; d < width && expert >= 0 && slot >= 0; d++)
			score->value[i] += slotted->value[(expert * slotted->shape[1] + slot) * width + d] * (token ? token->value[i / score->shape[1] * width + d] : 1);
	}
}

static inline void run_dispatch(const struct call *call)
{
	route(&call->in[0], &call->out[0], &call->in[1], true);
}

static inline void run_combine(const struct call *call)
{
	route(&call->out[0], &call->in[0], &call->in[1], false);
}

static inline void run_dispatch_backward(const struct call *call)
{
	route(&call->out[0], &call->in[0], &call->in[1], false);
	if (call->results > 1)
		route_scores(NULL, &call->in[0], &call->out[1]);
}

static inline void run_combine_backward(const struct call *call)
{
	route(&call->in[0], &call->out[0], &call->in[2], true);
	if (call->results > 1)
		route_scores(&call->in[0], &call->in[1], &call->out[1]);
}

/* Scores [t, e] to the slots [e, c, 1] of their tokens, and gradients back. */
static inline void route_weights(const struct array *score, const struct array *slotted, bool forward)
{
	for (int64_t i = 0; i < score->shape[0]; i++) {
		int64_t whole = score->index[0][i], expert = local_index(slotted, 0, whole % slotted->whole[0]);
		int64_t slot = local_index(slotted, 1, whole * slotted->whole[1] / score->whole[0]);
		int64_t own = local_index(score, 1, whole % slotted->whole[0]);
		if (expert < 0 || slot < 0 || own < 0)
			continue;
		double *a = &score->value[i * score->shape[1] + own], *b = &slotted->value[expert * slotted->shape[1] + slot];
		*(forward ? b : a) += *(forward ? a : b);
	}
}

static inline void run_dispatch_scored(const struct call *call)
{
	route(&call->in[0], &call->out[0], NULL, true);
	route_weights(&call->in[1], &call->out[1], true);
}

static inline void run_dispatch_scored_backward(const struct call *call)
{
	route(&call->out[0], &call->in[0], NULL, false);
	if (call->results > 1)
		route_weights(&call->out[1], &call->in[1], false);
}

static inline void run_combine_plain(const struct call *call)
{
	route(&call->out[0], &call->in[0], NULL, false);
}

static inline void run_combine_plain_backward(const struct call *call)
{
	route(&call->in[0], &call->out[0], NULL, true);
}

/* silu(gate) up weight, the weight one number a row. */
static inline void run_swiglu_scaled(const struct call *call)
{
	const struct array *gate = call->in, *up = gate + 1, *weight = gate + 2;
	for (int64_t i = 0; i < gate->count; i++)
		call->out->value[i] = gate->value[i] / (1 + exp(-gate->value[i])) * up->value[i] * weight->value[i / gate->shape[2]];
}

static inline void run_swiglu_scaled_backward(const struct call *call)
{
	const struct array *g = call->in, *gate = g + 1, *up = g + 2, *weight = g + 3;
	for (int64_t i = 0; i < g->count; i++) {
		double share = 1 / (1 + exp(-gate->value[i])), w = weight->value[i / g->shape[2]];
		call->out[0].value[i] = g->value[i] * up->value[i] * w * share * (1 + gate->value[i] * (1 - share));
		call->out[1].value[i] = g->value[i] * gate->value[i] * share * w;
		call->out[2].value[i / g->shape[2]] += g->value[i] * gate->value[i] * share * up->value[i];
	}
}

/* Any function of whole planes (samples and channels are independent): pooling, forwards or backwards. */
static inline void run_pool(const struct call *call)
{
	const struct array *x = call->in;
	int64_t size = x->shape[2] * x->shape[3];
	for (int r = 0; r < call->results; r++) {
		struct array *y = &call->out[r];
		int64_t wide = y->shape[2] * y->shape[3];
		for (int64_t i = 0; i < y->count; i++)
			for (int64_t j = 0; j < size; j++)
				y->value[i] += tanh(x->value[i / wide * size + j]) * cos((double)(i % wide + j)) / (double)size;
	}
}

/* ---- element by element ---------------------------------------------------------------------------------------------------- */

static inline double sum_of(const double *x, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

/* The operators that sharding takes for linear are what they are; others are some function of their operands. */
static inline double element(const char *name, int result, const double *x, int n)
{
	double sum = 0;
	if (strcmp(name, "add") == 0)
		return sum_of(x, n) + (n == 1 ? 0.5 : 0);
	if (strcmp(name, "sub") == 0)
		return n == 1 ? x[0] - 0.5 : 2 * x[0] - sum_of(x, n);
	if (strcmp(name, "neg") == 0)
		return -x[0];
	if (strcmp(name, "mul") == 0)
		return n == 1 ? 0.8 * x[0] : x[0] * x[1] * (n > 2 ? cos(x[2]) : 1);
	if (strcmp(name, "div") == 0)
		return n == 1 ? 0.6 * x[0] : x[0] / (1 + x[1] * x[1]);
	if (strcmp(name, "copy") == 0)
		return x[n - 1];
	if (strcmp(name, "relu") == 0)
		return x[0] > 0 ? x[0] : 0;
	if (strcmp(name, "sqrt") == 0)
		return sqrt(fabs(x[0]));
	if (strcmp(name, "addcmul") == 0)
		return x[0] + 0.1 * x[1] * x[n > 2 ? 2 : 1];
	if (strcmp(name, "addcdiv") == 0)
		return x[0] - 0.1 * x[1] / (0.1 + fabs(x[2]));
	for (int i = 0; i < n; i++)
		sum += sin((double)(i + result + 1) * x[i]);
	return sum;
}

static inline bool is_random(const char *name)
{
	static const char *const names[] = { "native_dropout", "dropout", "bernoulli", "uniform", "normal", "rand_like" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static inline void run_elementwise(const struct call *call)
{
	const char *name = strchr(call->rule->type, '.') + 1;
	for (int r = 0; r < call->results; r++)
		for (int64_t i = 0; i < call->out[r].count; i++) {
			double x[8] = { 0 };
			for (int t = 0; t < call->operands && t < 8; t++)
				x[t] = call->in[t].value[broadcast_place(&call->out[r], i, &call->in[t])];
			double mask = is_random(name) ? random_at(call, r, i) > 0.3 : 1;
			call->out[r].value[i] = is_random(name) && r == 1 ? random_at(call, 0, i) > 0.3
				: is_random(name) ? x[0] * mask : strstr(name, "_like") || strcmp(name, "zero") == 0 || strcmp(name, "fill") == 0 ? name[0] == 'o'
				: element(name, r, x, call->operands);
		}
}

static inline void run_source(const struct call *call)
{
	bool numbers = strstr(call->rule->type, "arange"), ones = strstr(call->rule->type, "ones"), noise = strstr(call->rule->type, "rand");
	for (int64_t i = 0; i < call->out->count; i++)
		call->out->value[i] = numbers ? (double)whole_place(call->out, i) : noise ? random_at(call, 0, i) : ones;
}

static inline void run_copy(const struct call *call)
{
	memcpy(call->out->value, call->in->value, (size_t)call->out->count * sizeof(double));
}

/* ---- structure: where elements come from ------------------------------------------------------------------------------------ */

/* The dim of operand 0 that carries the same factors as a dim of a result, or -1. back: the other way round. */
static inline int same_dim(const struct call *call, int result, int dim, bool back)
{
	const struct binding *b = call->binding;
	uint32_t t = back ? 0 : (uint32_t)(call->operands + result), of = back ? (uint32_t)(call->operands + result) : 0;
	const struct binding_dim *at = &b->dim[b->dim_start[t] + (uint32_t)dim];
	for (uint32_t d = b->dim_start[of]; d < b->dim_start[of + 1]; d++)
		if (at->count > 0 && b->dim[d].count == at->count && b->part[b->dim[d].first] == b->part[at->first] && b->dim[d].size == at->size)
			return (int)(d - b->dim_start[of]);
	return -1;
}

static inline int64_t offset_of(const struct call *call, int64_t whole, int64_t part)
{
	return whole > part ? (int64_t)(op_seed(call) % (uint64_t)(whole - part + 1)) : 0;
}

/* Where result r's element comes from in `large`, of which it is one piece: sliced, selected, split. first: begin of the piece. */
static inline int64_t cut_place(const struct call *call, const struct array *small, int64_t element, const struct array *large, int dropped, int joint, int64_t first)
{
	int64_t at[RANK_MAX], from[RANK_MAX];
	unravel(small, element, at);
	for (int d = 0, e = 0; d < large->rank; d++) {
		if (d == dropped)
			from[d] = first >= 0 ? first : offset_of(call, large->whole[d], 1);
		else if (d == joint)
			from[d] = at[e++] + first;
		else
			from[d] = at[e] + offset_of(call, large->whole[d], small->whole[e]), e++;
	}
	return ravel(large, from);
}

static inline int dropped_dim(const struct array *large, const struct array *small, int64_t wanted)
{
	int dropped = -1;
	for (int d = 0; d < large->rank && large->rank == small->rank + 1; d++) {
		bool fits = wanted < 0 || large->whole[d] == wanted;
		for (int i = 0; i < small->rank; i++)
			fits &= small->whole[i] == large->whole[i + (i >= d)];
		dropped = fits ? d : dropped;
	}
	return dropped;
}

/* The dim along which pieces add up to the whole. */
static inline int joint_dim(const struct array *large, const struct array *piece, int pieces)
{
	for (int d = 0; d < large->rank; d++) {
		int64_t sum = 0;
		bool fits = true;
		for (int p = 0; p < pieces; p++) {
			for (int i = 0; i < large->rank; i++)
				fits &= i == d || piece[p].whole[i] == large->whole[i];
			sum += piece[p].whole[d];
		}
		if (fits && sum > 0 && large->whole[d] % sum == 0)
			return d;
	}
	return -1;
}

/* from[r][i] of every view; false where this is no view's rule. */
static inline bool run_view(const struct call *call)
{
	const char *factors = call->rule->factors;
	const struct array *x = call->in;
	int64_t first = 0;
	for (int r = 0; r < call->results; r++) {
		const struct array *y = &call->out[r];
		bool split = strcmp(factors, "@split") == 0, unbind = strcmp(factors, "@unbind") == 0;
		int dropped = unbind ? dropped_dim(x, y, call->results) : strcmp(factors, "@select") == 0 ? dropped_dim(x, y, -1) : -1;
		int joint = split ? joint_dim(x, call->out, call->results) : -1;
		bool permute = strcmp(factors, "@permute") == 0 || factors[0] == 'm', expand = strcmp(factors, "@expand") == 0;
		bool flat = strcmp(factors, "@reshape") == 0 || strcmp(factors, "... -> ...") == 0;
		if (!split && !unbind && dropped < 0 && !permute && !expand && !flat && strcmp(factors, "@slice") != 0)
			return false;
		for (int64_t i = 0; i < y->count; i++) {
			int64_t at[RANK_MAX], from[RANK_MAX] = { 0 }, place = i;
			unravel(y, i, at);
			for (int d = 0; permute && d < y->rank; d++)
				from[same_dim(call, r, d, false)] = at[d];
			if (permute)
				place = ravel(x, from);
			else if (expand)
				place = broadcast_place(y, i, x);
			else if (!flat)
				place = cut_place(call, y, i, x, dropped, joint, split ? first : unbind ? r : -1);
			call->from[r][i] = (int32_t)place;
		}
		first += split ? y->shape[joint] : 0;
	}
	return true;
}

/* @pad and @place: the operand somewhere in zeros. */
static inline void run_pad(const struct call *call)
{
	const struct array *small = call->in;
	int dropped = dropped_dim(call->out, small, -1);
	for (int64_t i = 0; i < small->count; i++)
		call->out->value[cut_place(call, small, i, call->out, dropped, -1, -1)] = small->value[i];
}

/* @cat and @stack; one operand may stand for several equal ones. */
static inline void run_join(const struct call *call)
{
	bool stack = strcmp(call->rule->factors, "@stack") == 0;
	struct array *y = call->out;
	int dropped = stack ? dropped_dim(y, call->in, call->operands > 1 ? call->operands : -1) : -1;
	int joint = stack ? -1 : joint_dim(y, call->in, call->operands);
	int64_t end = y->shape[stack ? dropped : joint];
	for (int64_t first = 0, t = 0; first < end; t++) {
		const struct array *x = &call->in[t % call->operands];
		for (int64_t i = 0; i < x->count; i++)
			y->value[cut_place(call, x, i, y, dropped, joint, first)] = x->value[i];
		first += stack ? 1 : x->shape[joint];
	}
}

static inline void run_repeat(const struct call *call)
{
	for (int64_t i = 0; i < call->out->count; i++)
		call->out->value[i] = call->in->value[broadcast_place(call->out, i, call->in)];
}

/* Sums (means over the whole extents), or a function of all that isn't linear. */
static inline void run_reduce(const struct call *call)
{
	const struct array *x = call->in;
	struct array *y = call->out;
	bool mean = strstr(call->rule->type, ".mean"), linear = strcmp(call->rule->factors, "@reduce+") == 0;
	double whole = 1;
	for (int d = 0; d < x->rank; d++)
		if (same_dim(call, 0, d, true) < 0)
			whole *= (double)x->whole[d];
	for (int64_t i = 0; i < x->count; i++) {
		int64_t at[RANK_MAX], to[RANK_MAX] = { 0 };
		unravel(x, i, at);
		for (int d = 0; d < x->rank; d++)
			if (same_dim(call, 0, d, true) >= 0)
				to[same_dim(call, 0, d, true)] = at[d];
		y->value[ravel(y, to)] += linear ? x->value[i] / (mean ? whole : 1) : sin(x->value[i]);
	}
	for (int64_t i = 0; i < y->count && !linear; i++)
		y->value[i] = cos(y->value[i]);
	for (int r = 1; r < call->results; r++)
		memcpy(call->out[r].value, y->value, (size_t)call->out[r].count * sizeof(double));
}

/* Some function of all operands, for ops that nothing is known of. */
static inline void run_unknown(const struct call *call)
{
	double sum = 0;
	for (int t = 0; t < call->operands; t++)
		for (int64_t i = 0; i < call->in[t].count; i++)
			sum += sin(call->in[t].value[i] * (double)(i % 7 + t + 1));
	for (int r = 0; r < call->results; r++)
		for (int64_t i = 0; i < call->out[r].count; i++)
			call->out[r].value[i] = cos(sum + (double)i);
}

/* ---- all ----------------------------------------------------------------------------------------------------------------------- */

static const struct { const char *types; void (*run)(const struct call *call); } interpreted[] = {
	{ " aten.mm aten.bmm aten.addmm aten.baddbmm aten.matmul ", run_product }, { " aten.linear ", run_linear },
	{ " aten.convolution ", run_convolution }, { " aten.convolution_backward ", run_convolution_backward },
	{ " aten._scaled_dot_product_flash_attention ", run_attention }, { " aten._scaled_dot_product_flash_attention_backward ", run_attention_backward },
	{ " aten._softmax aten._log_softmax ", run_softmax }, { " aten._softmax_backward_data aten._log_softmax_backward_data ", run_softmax_backward },
	{ " aten.native_layer_norm aten._fused_rms_norm ", run_norm }, { " aten.native_layer_norm_backward aten._fused_rms_norm_backward ", run_norm_backward },
	{ " aten.native_batch_norm aten.native_batch_norm_backward ", run_batch_norm }, { " aten.cumsum ", run_cumsum },
	{ " aten.embedding ", run_embedding }, { " aten.embedding_dense_backward ", run_embedding_backward }, { " aten.index_select aten.index ", run_gather_rows },
	{ " aten.nll_loss_forward ", run_nll_loss }, { " aten.nll_loss_backward ", run_nll_loss_backward },
	{ " aten.mse_loss aten.smooth_l1_loss ", run_mean_loss }, { " aten.mse_loss_backward aten.smooth_l1_loss_backward ", run_mean_loss_backward },
	{ " tidemark.dispatch ", run_dispatch }, { " tidemark.combine ", run_combine },
	{ " tidemark.dispatch_backward ", run_dispatch_backward }, { " tidemark.combine_backward ", run_combine_backward },
	{ " tidemark.dispatch_scored ", run_dispatch_scored }, { " tidemark.dispatch_scored_backward ", run_dispatch_scored_backward },
	{ " tidemark.combine_plain ", run_combine_plain }, { " tidemark.combine_plain_backward ", run_combine_plain_backward },
	{ " tidemark.swiglu_scaled ", run_swiglu_scaled }, { " tidemark.swiglu_scaled_backward ", run_swiglu_scaled_backward },
	{ " aten.max_pool2d_with_indices aten.max_pool2d_with_indices_backward aten.avg_pool2d ", run_pool },
	{ " @pad @place ", run_pad }, { " @cat @stack ", run_join }, { " @expand ", run_repeat }, { " @reduce+ @reduce^ ", run_reduce }, { " @source ", run_source },
	{ " aten.clone aten.contiguous aten._to_copy ", run_copy }, { " ...* ", run_elementwise },
};

static inline bool listed(const char *list, const char *word, size_t length)
{
	for (const char *at = list; (at = strstr(at, word)); at++)
		if (at[-1] == ' ' && at[length] == ' ')
			return true;
	return false;
}

/* Executes an op. False: it is split and nobody knows how to execute a piece of it. */
static inline bool run_op(const struct call *call)
{
	const char *structure = call->rule && (call->rule->factors[0] == '@' || strcmp(call->rule->factors, "...* -> ...*") == 0) ? call->rule->factors : "-";
	size_t length = structure[0] == '@' ? strlen(structure) : 4;
	char word[20];
	snprintf(word, sizeof word, "%.*s", (int)length, structure);
	for (size_t i = 0; i < sizeof interpreted / sizeof *interpreted && call->binding; i++)
		if (listed(interpreted[i].types, call->rule->type, strlen(call->rule->type)) || listed(interpreted[i].types, word, strlen(word))) {
			interpreted[i].run(call);
			return true;
		}
	if (call->split)
		return false;
	run_unknown(call);
	return true;
}

#endif
