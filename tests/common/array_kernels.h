/* array_kernels.h: what ops compute, each on whole arrays or on pieces of them: products, norms, tables, losses,
 * experts, element by element. For tests. */
#pragma once

#include "arrays.h"

/* ---- products -------------------------------------------------------------------------------- */

static inline void run_product(const struct call *call)
{
	const struct array *a = &call->in[call->operands - 2], *b = a + 1;
	struct array *c = call->out;
	int64_t n = c->shape[c->dims - 1], m = a->dims > 1 ? c->shape[c->dims - 2] : 1, k = a->shape[a->dims - 1];
	for (int64_t i = 0; i < c->count; i++) {
		int64_t batch = i / (m * n);
		const double *left = a->value + (batch * m + i / n % m) * k,
					 *right = b->value + (b->dims > 2 ? batch * k * n : 0) + i % n;
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
			int64_t column = o % y->shape[3], row = o / y->shape[3] % y->shape[2],
					filter = o / (y->shape[3] * y->shape[2]) % y->shape[1];
			int64_t sample = o / (y->shape[3] * y->shape[2] * y->shape[1]), dx = w->index[3][i % w->shape[3]],
					dy = w->index[2][i / w->shape[3] % w->shape[2]];
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

/* Results are any of the gradients of input, weight and bias; their shapes tell which. The weight is read for the
 * input's alone. */
static inline void run_convolution_backward(const struct call *call)
{
	const struct array *g = call->in, *x = g + 1, *w = g + 2;
	for (int r = 0; r < call->results; r++) {
		struct array *out = &call->out[r];
		bool to_input = out->dims == 4 && r == 0 && call->operands > 2 &&
			memcmp(out->whole, x->whole, 4 * sizeof *x->whole) == 0;
		if (out->dims == 4)
			convolve(to_input ? out : x, to_input ? w : out, g, to_input ? 1 : 2);
		for (int64_t i = 0; i < g->count && out->dims == 1; i++)
			out->value[i / (g->shape[2] * g->shape[3]) % g->shape[1]] += g->value[i];
	}
}

/* The head of keys and values that a head of queries, counted over all samples, goes with: several share one. */
static inline int64_t key_head(const struct array *q, const struct array *k, int64_t head)
{
	int64_t heads = q->shape[1], groups = heads / k->shape[1];
	return head / heads * k->shape[1] + head % heads / groups;
}

static inline void run_attention(const struct call *call)
{
	const struct array *q = call->in, *k = q + 1, *v = q + 2;
	int64_t queries = q->shape[2], keys = k->shape[2], width = q->shape[3], wide = v->shape[3];
	for (int64_t row = 0; row < q->count / width; row++) {
		int64_t head = key_head(q, k, row / queries);
		const double *keys_at = k->value + head * keys * width, *values = v->value + head * keys * wide;
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
			int64_t key = (key_head(q, k, row / queries) * keys + j) * width, value = key / width * wide;
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

/* ---- along the last dim; norms --------------------------------------------------------------- */

static inline void run_softmax(const struct call *call)
{
	bool logarithm = strstr(call->rule->type, "log");
	const struct array *x = call->in;
	int64_t width = x->shape[x->dims - 1];
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
	int64_t width = g->shape[g->dims - 1];
	for (int64_t row = 0; row < g->count; row += width) {
		double sum = 0;
		for (int64_t i = 0; i < width; i++)
			sum += logarithm ? g->value[row + i] : g->value[row + i] * y->value[row + i];
		for (int64_t i = 0; i < width; i++)
			call->out->value[row + i] = logarithm ? g->value[row + i] - exp(y->value[row + i]) * sum
			: y->value[row + i] * (g->value[row + i] - sum);
	}
}

static inline void run_cumsum(const struct call *call)
{
	int64_t width = call->in->shape[call->in->dims - 1];
	for (int64_t i = 0; i < call->in->count; i++)
		call->out->value[i] = call->in->value[i] + (i % width ? call->out->value[i - 1] : 0);
}

/* x, weight, bias -> y, mean, 1 / deviation; without bias and mean for RMS norms. */
static inline void run_norm(const struct call *call)
{
	const struct array *x = call->in;
	bool rms = strstr(call->rule->type, "rms");
	int64_t width = x->shape[x->dims - 1];
	for (int64_t row = 0; row < x->count / width; row++) {
		double mean = 0, square = 0;
		for (int64_t i = 0; i < width; i++)
			mean += rms ? 0 : x->value[row * width + i] / (double)width;
		for (int64_t i = 0; i < width; i++)
			square += pow(x->value[row * width + i] - mean, 2) / (double)width;
		for (int64_t i = 0; i < width; i++)
			call->out->value[row * width + i] = (x->value[row * width + i] - mean) / sqrt(square + 0.1) *
					(call->operands > 1 ? call->in[1].value[i] : 1) +
				(call->operands > 2 ? call->in[2].value[i] : 0);
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
	int64_t width = g->shape[g->dims - 1];
	bool rms = strstr(call->rule->type, "rms");
	int column = 0;
	for (int r = 0; r < call->results; r++) {
		struct array *out = &call->out[r];
		bool rows = out->dims == g->dims && (out->dims > 1 || r == 0);
		for (int64_t row = 0; row < g->count / width; row++) {
			double mean = rms ? 0 : call->in[2].value[row], scale = call->in[rms ? 2 : 3].value[row], sum = 0, product = 0;
			for (int64_t i = 0; i < width; i++) {
				sum += g->value[row * width + i];
				product += g->value[row * width + i] * (x->value[row * width + i] - mean) * scale;
			}
			for (int64_t i = 0; i < width; i++) {
				double normal = (x->value[row * width + i] - mean) * scale;
				if (rows)
					out->value[row * width + i] = scale *
						(g->value[row * width + i] - (rms ? 0 : sum) / (double)width -
							normal * product / (double)width);
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
			factor += call->in[t].dims == 1 ? sin(call->in[t].value[c]) : 0;
		for (int r = 0; r < call->results; r++)
			if (call->out[r].dims == 1)
				call->out[r].value[c] = mean * (r + 1) + factor;
			else
				for (int64_t i = 0; i < x->count; i++)
					if (i / space % channels == c)
						for (int t = 0; t < call->operands; t++)
							call->out[r].value[i] += call->in[t].dims == x->dims ? (call->in[t].value[i] - mean) * 0.3 * factor : 0;
	}
}

/* ---- tables and losses ----------------------------------------------------------------------- */

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
	for (bool fits = false; axis < data->dims && !fits; axis += !fits) {
		fits = true;
		for (int i = 0; i < out->dims; i++)
			fits &= out->whole[i] ==
				(i < axis ? data->whole[i]
				: i < axis + index->dims ? index->whole[i - axis]
				: data->whole[i - index->dims + 1]);
	}
	for (int64_t i = 0; i < out->count; i++) {
		int64_t at[DIMS_MAX], from[DIMS_MAX] = { 0 }, lookup[DIMS_MAX] = { 0 };
		unravel(out, i, at);
		for (int d = 0; d < index->dims; d++)
			lookup[d] = at[axis + d];
		for (int d = 0; d < data->dims; d++)
			from[d] = d < axis ? at[d]
				: d > axis ? at[d + index->dims - 1]
				: (int64_t)index->value[ravel(index, lookup)] % data->whole[axis];
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
	const struct array *out = call->out,
					   *label = &call->in[call->operands -
						   2];   /* before it the logits, which it needn't read, behind it the weights' sum */
	for (int64_t i = 0; i < out->shape[0]; i++) {
		int64_t at = local_index(out, 1, (int64_t)label->value[i] % out->whole[1]);
		if (at >= 0)
			out->value[i * out->shape[1] + at] = -call->in[0].value[0] / call->in[call->operands - 1].value[0];
	}
}

/* The logarithm of a row's sum of exponentials. */
static inline double row_logarithm(const struct array *x, int64_t row)
{
	double sum = 0;
	for (int64_t i = 0; i < x->shape[1]; i++)
		sum += exp(x->value[row * x->shape[1] + i]);
	return log(sum);
}

/* Logits and labels, all classes at hand. */
static inline void run_cross_entropy(const struct call *call)
{
	const struct array *x = call->in, *label = x + 1;
	for (int64_t i = 0; i < x->shape[0]; i++)
		call->out->value[0] += (row_logarithm(x, i) -
								   x->value[i * x->shape[1] + (int64_t)label->value[i] % x->shape[1]]) /
			(double)x->whole[0];
}

static inline void run_cross_entropy_backward(const struct call *call)
{
	const struct array *x = &call->in[1], *label = x + 1;
	for (int64_t i = 0; i < x->count; i++) {
		int64_t row = i / x->shape[1], at = (int64_t)label->value[row] % x->shape[1];
		call->out->value[i] = call->in[0].value[0] *
			(exp(x->value[i] - row_logarithm(x, row)) - (i % x->shape[1] == at)) / (double)x->whole[0];
	}
}

static inline void run_mean_loss(const struct call *call)
{
	double whole = 1;
	for (int d = 0; d < call->in->dims; d++)
		whole *= (double)call->in->whole[d];
	for (int64_t i = 0; i < call->in->count; i++) {
		double loss = pow(call->in[0].value[i] - call->in[1].value[i], 2);
		if (call->out->dims > 0)
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

/* Tokens [t, h] with scores [t, e] fill slots [e, c, h]: token t goes to expert t mod e, to the slot that is as far
 * along the slots as it is along the tokens. Slots and tokens are cut alike, so every device has its tokens' slots.
 * forward: into slots, else back. A score of NULL is 1. */
static inline void route(
	const struct array *token, const struct array *slotted, const struct array *score, bool forward)
{
	int64_t width = token->shape[1];
	for (int64_t i = 0; i < token->shape[0]; i++) {
		int64_t whole = token->index[0][i], expert = local_index(slotted, 0, whole % slotted->whole[0]);
		int64_t slot = local_index(slotted, 1, whole * slotted->whole[1] / token->whole[0]);
		double weight = score && expert >= 0
			? score->value[i * score->shape[1] + local_index(score, 1, whole % slotted->whole[0])]
			: 1;
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
		int64_t whole = score->index[0][i / score->shape[1]],
				expert = local_index(slotted, 0, score->index[1][i % score->shape[1]]);
		int64_t slot = local_index(slotted, 1, whole * slotted->whole[1] / score->whole[0]);
		for (int64_t d = 0; d < width && expert >= 0 && slot >= 0; d++)
			score->value[i] += slotted->value[(expert * slotted->shape[1] + slot) * width + d] *
				(token ? token->value[i / score->shape[1] * width + d] : 1);
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

/* ---- element by element ---------------------------------------------------------------------- */

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
	if (strcmp(name, "ne") == 0 && n == 1)   /* labels that count */
		return x[0] != -100;
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
	bool random = is_random(name),
		 constant = strstr(name, "_like") || strcmp(name, "zero") == 0 || strcmp(name, "fill") == 0;
	bool by_number = strcmp(name, "div") == 0 && call->operands == 2 && call->in[1].dims == 0;
	for (int r = 0; r < call->results; r++)
		for (int64_t i = 0; i < call->out[r].count; i++) {
			double x[8] = { 0 };
			for (int t = 0; t < call->operands && t < 8; t++)
				x[t] = call->in[t].value[broadcast_place(&call->out[r], i, &call->in[t])];
			if (random)
				call->out[r].value[i] = r == 1 ? random_at(call, 0, i) > 0.3 : x[0] * (random_at(call, r, i) > 0.3);
			else if (strcmp(name, "_masked_scale") == 0)
				call->out[r].value[i] = x[0] * x[1];
			else if (by_number && fabs(x[1]) > 0.5)
				call->out[r].value[i] = x[0] / x[1];
			else
				call->out[r].value[i] = constant ? name[0] == 'o' : element(name, r, x, call->operands);
		}
}

static inline void run_source(const struct call *call)
{
	bool numbers = strstr(call->rule->type, "arange"), ones = strstr(call->rule->type, "ones"),
		 noise = strstr(call->rule->type, "rand");
	for (int64_t i = 0; i < call->out->count; i++)
		call->out->value[i] = numbers ? (double)whole_place(call->out, i) : noise ? random_at(call, 0, i) : ones;
}

static inline void run_copy(const struct call *call)
{
	memcpy(call->out->value, call->in->value, (size_t)call->out->count * sizeof(double));
}
