/* unit_soundness.c: the operator rules against arithmetic. Every rule's operator is executed on small random
 * tensors, whole and split in two along each factor of its rule: the parts must give the whole.
 *
 * Results that carry the factor are put together; results that lack it are sums of the parts if the rule calls the
 * factor reduced (+), else every part must give the whole result. Factors that are needed in full (^), never sharded
 * (!) or windows (~) and what they move over are not split.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solver/rules.h"
#include "support.h"

#define ELEMENTS 2048
#define TENSORS 10

struct array {
	int rank;
	int64_t shape[RANK_MAX];
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
	for (int d = 0; d < array->rank; d++)
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
	for (int d = from->rank - 1, e = to->rank - 1; e >= 0; d--, e--) {
		int64_t at = index % from->shape[d];
		index /= from->shape[d];
		place += to->shape[e] == 1 ? 0 : at * step;
		step *= to->shape[e];
	}
	return place;
}

/* ---- contractions ------------------------------------------------------------------------------------------- */

static void product(const struct call *call, const double *a, const double *b, double *c, int64_t m, int64_t k, int64_t n)
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
	int64_t m = a->shape[a->rank - 2], k = a->shape[a->rank - 1], n = b->shape[b->rank - 1], batch = count(c) / (m * n);
	for (int64_t i = 0; i < count(c) && call->operands == 3; i++)
		c->value[i] = call->tensor[0].value[broadcast_index(c, i, &call->tensor[0])];
	for (int64_t i = 0; i < batch; i++)
		product(call, a->value + i * m * k, b->value + (b->rank == 2 ? 0 : i * k * n), c->value + i * m * n, m, k, n);
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
	const struct array *a = call->tensor, *b = a + 1;
	product(call, a->value, b->value, result(call, 0)->value, a->rank == 2 ? a->shape[0] : 1, b->shape[0], 1);
}

/* Stride 1, no padding, any groups. Visits all triples (input, weight, output) that belong together. */
static void each_tap(const struct array *x, const struct array *w, const struct array *y,
	void (*visit)(void *context, int64_t input, int64_t weight, int64_t output), void *context)
{
	int64_t groups = x->shape[1] / w->shape[1], per_group = w->shape[0] / groups;
	for (int64_t o = 0; o < count(y); o++) {
		int64_t column = o % y->shape[3], row = o / y->shape[3] % y->shape[2];
		int64_t channel = o / (y->shape[3] * y->shape[2]) % y->shape[1], sample = o / (y->shape[3] * y->shape[2] * y->shape[1]);
		for (int64_t c = 0; c < w->shape[1]; c++)
			for (int64_t i = 0; i < w->shape[2] * w->shape[3]; i++) {
				int64_t from = channel / per_group * w->shape[1] + c;
				int64_t input = ((sample * x->shape[1] + from) * x->shape[2] + row + i / w->shape[3]) * x->shape[3] + column + i % w->shape[3];
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

static void transposed_convolution(const struct call *call)
{
	struct array *y = result(call, 0);
	for (int64_t i = 0; i < count(y); i++)
		y->value[i] = call->tensor[2].value[i / (y->shape[2] * y->shape[3]) % y->shape[1]];
	struct taps taps = { call->tensor[0].value, call->tensor[1].value, y->value, 2, 1, 0 };
	each_tap(y, &call->tensor[1], &call->tensor[0], add_tap, &taps);
}

/* x[t, b, i], weights [d, p, i] and [d, p, h]; each step adds to a state that all later ones see. */
static void recurrence(const struct call *call)
{
	const struct array *x = call->tensor, *w = x + 1, *r = x + 2;
	struct array *y = result(call, 0);
	int64_t batch = x->shape[1], width = x->shape[2], hidden = r->shape[2], directions = w->shape[0];
	for (int64_t i = 0; i < count(y); i++) {
		int64_t h = i % hidden, b = i / hidden % batch, d = i / hidden / batch % directions, t = i / hidden / batch / directions;
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
			y->value[(token % experts * slots + slot) * width + i % width] += x->value[i] * call->tensor[1].value[token * experts];
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
			result(call, 0)->value[token * width + i % width] += score->value[token * experts + i / width % experts] * g->value[i];
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
			result(call, 1)->value[token * experts + i / width % experts] += i % width == 0 ? seen * weight->value[i / width] : 0;
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

static void attention(const struct call *call)
{
	const struct array *q = call->tensor, *k = q + 1, *v = q + 2;
	int64_t queries = q->shape[2], keys = k->shape[2], width = q->shape[3], wide = v->shape[3], group = q->shape[1] / k->shape[1];
	for (int64_t row = 0; row < q->shape[0] * q->shape[1] * queries; row++) {
		const double *keys_at = k->value + row / queries / group * keys * width, *values = v->value + row / queries / group * keys * wide;
		double weight[16], sum = 0;
		for (int64_t j = 0; j < keys; j++) {
			double dot = 0;
			for (int64_t d = 0; d < width; d++)
				dot += q->value[row * width + d] * keys_at[j * width + d];
			sum += weight[j] = exp(dot);
		}
		for (int64_t j = 0; j < keys; j++)
			for (int64_t d = 0; d < wide; d++)
				result(call, 0)->value[row * wide + d] += weight[j] / sum * values[j * wide + d];
		result(call, 1)->value[row] = log(sum);
	}
}

/* ---- along the last dim, and norms ----------------------------------------------------------------------------- */

/* Any function of whole rows, elementwise in the rest: softmax, norms, sorting. Each result element mixes its row;
 * smaller results take one number per row, or (last) the sums over rows. */
static void by_row(const struct call *call)
{
	const struct array *x = call->tensor;
	int64_t width = x->shape[x->rank - 1], rows = count(x) / width;
	for (int r = 0; r < call->results; r++) {
		struct array *y = result(call, r);
		bool per_column = y->rank == 1 && x->rank > 1;
		int64_t wide = y->rank > 0 ? y->shape[y->rank - 1] : 1;
		for (int64_t i = 0; i < rows * wide; i++) {
			double sum = 0;
			for (int64_t j = 0; j < width; j++)
				for (int t = 0; t < call->operands; t++) {
					const struct array *a = &call->tensor[t];
					int64_t own = a->shape[a->rank - 1], row = a->rank > 1 ? i / wide : 0;
					sum += sin((double)(j + 1) * a->value[row * own + j % own] + (double)(i % wide));
				}
			if (per_column)
				y->value[i % wide] += sum;
			else
				y->value[i] = sum;
		}
	}
}

/* Normalises over all but one dim (the channels) or over groups of channels: any function of all elements that share
 * a channel (group). Results without channels per sample get one number each. */
static void by_channel(const struct call *call, bool per_sample)
{
	const struct array *x = call->tensor;
	int64_t channels = x->shape[1], space = count(x) / channels / x->shape[0];
	for (int r = 0; r < call->results; r++) {
		struct array *y = result(call, r);
		for (int64_t i = 0; i < count(x); i++) {
			int64_t sample = i / space / channels, channel = i / space % channels;
			int64_t groups = per_sample ? call->whole[call->operands + 1].shape[1] : channels;
			int64_t local_groups = per_sample ? (call->results > 1 ? call->tensor[call->operands + 1].shape[1] : groups) : channels;
			int64_t group = channel / (channels / local_groups);
			double all = 0;
			for (int64_t j = 0; j < count(x); j++)
				if (j / space % channels / (channels / local_groups) == group && (!per_sample || j / space / channels == sample))
					all += x->value[j] * x->value[j];
			double factor = 1;
			for (int t = 1; t < call->operands; t++)
				if (call->tensor[t].rank == 1)
					factor += call->tensor[t].value[channel];
			if (y->rank == x->rank)
				y->value[i] = x->value[i] * all * factor;
			else if (y->rank == 1)
				y->value[channel] = all;
			else
				y->value[sample * local_groups + group] = all;
		}
	}
}

static void batch_norm(const struct call *call)
{
	by_channel(call, false);
}

static void group_norm(const struct call *call)
{
	by_channel(call, true);
}

/* Any function of all elements of a sample (and of its channels, where they are alone). */
static void by_sample(const struct call *call)
{
	const struct array *x = call->tensor;
	int64_t size = count(x) / x->shape[0];
	for (int64_t i = 0; i < count(x); i++) {
		double all = 0;
		for (int64_t j = 0; j < size; j++)
			all += sin(x->value[i / size * size + j] * (double)(j + 1));
		result(call, 0)->value[i] = x->value[i] * all + call->tensor[1].value[i % size * x->shape[1] / size];
	}
}

static void instance_norm(const struct call *call)
{
	const struct array *x = call->tensor;
	int64_t size = x->shape[2] * x->shape[3];
	for (int64_t i = 0; i < count(x); i++) {
		double all = 0;
		for (int64_t j = 0; j < size; j++)
			all += x->value[i / size * size + j];
		result(call, 0)->value[i] = x->value[i] * all + call->tensor[1].value[i / size % x->shape[1]];
	}
}

/* Per group sums of gradient times input, per channel sums over samples and space. */
static void group_norm_backward(const struct call *call)
{
	const struct array *g = call->tensor, *x = g + 1, *mean = g + 2;
	int64_t space = g->shape[2] * g->shape[3], size = count(g) / count(mean);
	for (int64_t i = 0; i < count(g); i++) {
		double all = 0;
		for (int64_t j = 0; j < size; j++)
			all += g->value[i / size * size + j] * x->value[i / size * size + j];
		result(call, 0)->value[i] = all * mean->value[i / size] * call->tensor[3].value[i / size];
		result(call, 1)->value[i / space % g->shape[1]] += g->value[i] * x->value[i];
		result(call, 2)->value[i / space % g->shape[1]] += g->value[i];
	}
}

/* Each result mixes everything of its (sample, head of keys). */
static void attention_backward(const struct call *call)
{
	const struct array *g = call->tensor, *k = g + 2;
	int64_t width = k->shape[3], wide = g->shape[3], heads = k->shape[0] * k->shape[1], group = g->shape[1] / k->shape[1];
	for (int r = 0; r < call->results; r++)
		for (int64_t i = 0; i < count(result(call, r)); i++) {
			int64_t size = count(result(call, r)) / heads / (r == 0 ? group : 1), head = i / size / (r == 0 ? group : 1);
			for (int t = r == 0 ? 2 : 0; t < (r == 0 ? 4 : 2); t++)
				for (int64_t j = 0; j < count(&call->tensor[t]) / heads; j++)
					result(call, r)->value[i] += sin(call->tensor[t].value[head * (count(&call->tensor[t]) / heads) + j] + (double)(r == 0 ? 0 : i % size));
			if (r == 0)
				result(call, r)->value[i] *= g->value[i / width * wide + i % width % wide];
		}
}

/* ---- losses and tables --------------------------------------------------------------------------------------------- */

/* The class that a sample's label names, among the classes that are here; -1: it is elsewhere. */
static int64_t label_here(const struct call *call, int classes, int labels, int64_t sample)
{
	int64_t here = call->tensor[classes].shape[1], all = call->whole[classes].shape[1];
	int64_t label = (int64_t)call->tensor[labels].value[sample] % all - (here < all ? call->half * here : 0);
	return label >= 0 && label < here ? label : -1;
}

static void nll_loss(const struct call *call)
{
	const struct array *x = call->tensor;
	double samples = (double)call->whole[0].shape[0];
	for (int64_t i = 0; i < x->shape[0]; i++) {
		int64_t label = label_here(call, 0, 1, i);
		if (label < 0)
			continue;
		result(call, 0)->value[0] -= x->value[i * x->shape[1] + label] / samples;
		if (call->results > 1)
			result(call, 1)->value[0] += 1;
	}
}

static void nll_loss_backward(const struct call *call)
{
	const struct array *x = &call->tensor[1];
	for (int64_t i = 0; i < x->shape[0]; i++) {
		int64_t label = label_here(call, 1, 2, i);
		if (label >= 0)
			result(call, 0)->value[i * x->shape[1] + label] = -call->tensor[0].value[0] / (double)call->whole[1].shape[0];
	}
}

/* The logarithm of a row's sum of exponentials. */
static double row_sum(const struct array *x, int64_t row)
{
	double sum = 0;
	for (int64_t j = 0; j < x->shape[1]; j++)
		sum += exp(x->value[row * x->shape[1] + j]);
	return log(sum);
}

static void cross_entropy(const struct call *call)
{
	const struct array *x = call->tensor;
	for (int64_t i = 0; i < x->shape[0]; i++)
		result(call, 0)->value[0] += (row_sum(x, i) - x->value[i * x->shape[1] + label_here(call, 0, 1, i)]) / (double)call->whole[0].shape[0];
}

static void cross_entropy_backward(const struct call *call)
{
	const struct array *x = &call->tensor[1];
	for (int64_t i = 0; i < count(x); i++) {
		int64_t row = i / x->shape[1], label = label_here(call, 1, 2, row);
		result(call, 0)->value[i] = call->tensor[0].value[0] * (exp(x->value[i] - row_sum(x, row)) - (i % x->shape[1] == label)) / (double)call->whole[1].shape[0];
	}
}

static void mean_loss(const struct call *call)
{
	const struct array *a = call->tensor, *b = a + 1;
	for (int64_t i = 0; i < count(a); i++)
		result(call, 0)->value[0] += fabs(a->value[i] - b->value[i]) / (double)count(&call->whole[0]);
}

static void mean_loss_backward(const struct call *call)
{
	const struct array *a = &call->tensor[1], *b = a + 1;
	for (int64_t i = 0; i < count(a); i++)
		result(call, 0)->value[i] = call->tensor[0].value[0] * (a->value[i] - b->value[i]);
}

/* The part of a table that is here: rows below `first` and from `first + rows` on are elsewhere. */
static int64_t first_row(const struct call *call, int tensor)
{
	int64_t rows = call->tensor[tensor].shape[0];
	return rows < call->whole[tensor].shape[0] ? call->half * rows : 0;
}

static void embedding(const struct call *call)
{
	const struct array *table = call->tensor, *index = table + 1;
	int64_t width = table->shape[1], rows = call->whole[0].shape[0];
	for (int64_t i = 0; i < count(index); i++) {
		int64_t row = (int64_t)index->value[i] % rows - first_row(call, 0);
		for (int64_t d = 0; d < width && row >= 0 && row < table->shape[0]; d++)
			result(call, 0)->value[i * width + d] = table->value[row * width + d];
	}
}

/* Adds rows into a table: embedding_dense_backward(grad, index) and index_put(table, index, values). */
static void scatter_rows(const struct call *call)
{
	const struct array *values = &call->tensor[call->operands == 3 ? 2 : 0], *index = &call->tensor[1];
	struct array *table = result(call, 0);
	int64_t width = table->shape[1], rows = call->whole[call->operands].shape[0];
	if (call->operands == 3)
		memcpy(table->value, call->tensor[0].value, sizeof table->value);
	for (int64_t i = 0; i < count(index); i++) {
		int64_t row = (int64_t)index->value[i] % rows - first_row(call, call->operands);
		for (int64_t d = 0; d < width && row >= 0 && row < table->shape[0]; d++)
			table->value[row * width + d] += values->value[i * width + d];
	}
}

static void gather_rows(const struct call *call)
{
	const struct array *data = call->tensor, *index = data + 1;
	int64_t width = data->shape[1];
	for (int64_t i = 0; i < count(index) * width; i++)
		result(call, 0)->value[i] = data->value[(int64_t)index->value[i / width] % data->shape[0] * width + i % width];
}

/* ---- pooling, reductions, elementwise ------------------------------------------------------------------------------------ */

/* Any function of a window 2 x 2, forwards or backwards: the planes (sample, channel) are independent. */
static void by_plane(const struct call *call)
{
	const struct array *x = call->tensor;
	int64_t size = x->shape[2] * x->shape[3];
	for (int r = 0; r < call->results; r++) {
		struct array *y = result(call, r);
		for (int64_t i = 0; i < count(y); i++) {
			int64_t plane = i / (y->shape[2] * y->shape[3]);
			for (int64_t j = 0; j < size; j++)
				y->value[i] += sin(x->value[plane * size + j] * (double)(i % (y->shape[2] * y->shape[3]) + 1));
		}
	}
}

/* Sums, or means over the whole op's extents, to the result's shape: dims that are missing or 1 are summed. */
static void reduce(const struct call *call)
{
	const struct array *x = call->tensor;
	struct array *y = result(call, 0);
	for (int64_t i = 0; i < count(x); i++) {
		struct array as = *y;
		if (y->rank < x->rank) { /* the generator drops the first dims */
			as.rank = x->rank;
			for (int d = 0; d < x->rank; d++)
				as.shape[d] = d < x->rank - y->rank ? 1 : y->shape[d - (x->rank - y->rank)];
		}
		y->value[broadcast_index(x, i, &as)] += x->value[i] / (double)count(&call->whole[0]);
	}
}

static void elementwise(const struct call *call)
{
	for (int r = 0; r < call->results; r++) {
		struct array *y = result(call, r);
		for (int64_t i = 0; i < count(y); i++)
			for (int t = 0; t < call->operands; t++)
				y->value[i] += sin((double)(t + r + 1) * call->tensor[t].value[broadcast_index(y, i, &call->tensor[t])]);
	}
}

/* ---- views: what result element comes from which operand element ------------------------------------------------------------ */

static void copy(const struct call *call)
{
	memcpy(result(call, 0)->value, call->tensor[0].value, sizeof call->tensor[0].value);
}

/* Extents are all different, so that they say which dim went where. */
static void permute(const struct call *call)
{
	const struct array *x = call->tensor, *whole_x = call->whole, *whole_y = &call->whole[1];
	struct array *y = result(call, 0);
	for (int64_t i = 0; i < count(y); i++) {
		int64_t rest = i, place = 0;
		for (int d = y->rank - 1; d >= 0; d--) {
			int64_t at = rest % y->shape[d], step = 1;
			rest /= y->shape[d];
			int from = 0;
			while (whole_x->shape[from] != whole_y->shape[d])
				from++;
			for (int e = from + 1; e < x->rank; e++)
				step *= x->shape[e];
			place += at * step;
		}
		y->value[i] = x->value[place];
	}
}

static void expand(const struct call *call)
{
	struct array *y = result(call, 0);
	for (int64_t i = 0; i < count(y); i++)
		y->value[i] = call->tensor[0].value[broadcast_index(y, i, &call->tensor[0])];
}

/* Slicing, selecting, splitting, joining, padding along dim 1 of [a, n, b]; index 0 where one is selected. */
static void along_dim(const struct call *call, int wide, int first, int end, bool to_wide)
{
	struct array *all = &call->tensor[wide];
	int64_t offset = 0, inner = all->shape[2];
	for (int t = first; t < end; t++) {
		struct array *part = &call->tensor[t];
		int64_t length = part->rank == 3 ? part->shape[1] : 1;
		for (int64_t i = 0; i < count(part); i++) {
			int64_t place = (i / inner / length * all->shape[1] + offset + i / inner % length) * inner + i % inner;
			if (to_wide)
				all->value[place] = part->value[i];
			else
				part->value[i] = all->value[place];
		}
		offset += length;
	}
}

static void cut(const struct call *call)
{
	along_dim(call, 0, call->operands, call->operands + call->results, false);
}

static void join(const struct call *call)
{
	along_dim(call, call->operands, 0, call->operands, true);
}

/* ---- cases --------------------------------------------------------------------------------------------------------------------- */

/* The shapes of a case: digits are extents, blanks separate tensors, "-" is a scalar; operands before '>'. Extents are
 * even where their factor can be split. */
struct soundness_case { const char *types, *shapes; void (*execute)(const struct call *call); };

static const struct soundness_case cases[] = {
	{ "aten.mm", "46 62 > 42", mm }, { "aten.bmm aten.matmul onnx.MatMul", "246 268 > 248", mm }, { "aten.matmul onnx.MatMul", "246 68 > 248", mm },
	{ "aten.addmm", "2 46 62 > 42", mm }, { "aten.addmm", "42 46 62 > 42", mm }, { "aten.baddbmm", "248 246 268 > 248", mm },
	{ "aten.linear", "246 86 8 > 248", linear }, { "aten.linear", "246 86 > 248", linear }, { "onnx.Gemm", "46 86 8 > 48", linear },
	{ "aten.mv", "46 6 > 4", vector_product }, { "aten.dot", "6 6 > -", vector_product },
	{ "aten.convolution onnx.Conv", "2444 6422 6 > 2633", convolution }, { "aten.convolution onnx.Conv", "2444 8222 8 > 2833", convolution },
	{ "aten.convolution onnx.Conv", "2443 4122 4 > 2432", convolution }, { "aten.convolution_backward", "2633 2444 6422 > 2444 6422 6", convolution_backward },
	{ "aten.convolution_backward", "2833 2444 8222 > 2444 8222 8", convolution_backward },
	{ "onnx.ConvTranspose", "2422 4622 6 > 2633", transposed_convolution }, { "onnx.LSTM onnx.GRU", "345 285 286 > 3246", recurrence },
	{ "tidemark.dispatch", "68 64 > 428", dispatch }, { "tidemark.combine", "428 64 > 68", combine },
	{ "tidemark.dispatch_backward", "428 64 > 68 64", dispatch_backward }, { "tidemark.combine_backward", "68 428 64 > 428 64", combine_backward },
	{ "aten._scaled_dot_product_flash_attention", "2446 2486 2486 > 2446 244", attention },
	{ "aten._scaled_dot_product_flash_attention_backward", "2446 2446 2486 2486 2446 244 > 2446 2486 2486", attention_backward },
	{ "tidemark.dispatch_scored", "68 64 > 428 421", dispatch_scored }, { "tidemark.combine_plain", "428 64 > 68", combine_plain },
	{ "tidemark.dispatch_scored_backward", "428 421 64 > 68 64", dispatch_scored_backward },
	{ "tidemark.combine_plain_backward", "68 64 > 428", combine_plain_backward },
	{ "tidemark.swiglu_scaled", "428 428 421 > 428", swiglu_scaled },
	{ "tidemark.swiglu_scaled_backward", "428 428 428 421 > 428 428 421", swiglu_scaled_backward },
	{ "aten._scaled_dot_product_flash_attention", "2446 2486 2482 > 2442 244", attention },
	{ "aten._scaled_dot_product_flash_attention_backward", "2442 2446 2486 2482 2442 244 > 2446 2486 2482", attention_backward },
	{ "aten._scaled_dot_product_flash_attention", "2446 2286 2286 > 2446 244", attention },
	{ "aten._scaled_dot_product_flash_attention_backward", "2446 2446 2286 2286 2446 244 > 2446 2286 2286", attention_backward },
	{ "aten.native_group_norm_backward", "2644 2644 22 22 6 > 2644 6 6", group_norm_backward },
	{ "aten.native_layer_norm", "246 6 6 > 246 241 241", by_row }, { "onnx.LayerNormalization", "246 6 6 > 246", by_row },
	{ "aten.native_layer_norm_backward", "246 246 241 241 6 6 > 246 6 6", by_row }, { "aten._fused_rms_norm", "246 6 > 246 241", by_row },
	{ "onnx.RMSNormalization", "246 6 > 246", by_row }, { "aten._fused_rms_norm_backward", "246 246 241 6 > 246 6", by_row },
	{ "aten._softmax aten._log_softmax aten.cumsum onnx.Softmax onnx.LogSoftmax onnx.CumSum", "246 > 246", by_row },
	{ "aten._softmax_backward_data aten._log_softmax_backward_data", "246 246 > 246", by_row }, { "aten.glu", "246 > 243", by_row },
	{ "aten.glu_backward", "243 246 > 246", by_row }, { "aten.topk", "246 > 243 243", by_row }, { "onnx.TopK", "246 > 243 243", by_row },
	{ "aten.sort", "246 > 246 246", by_row }, { "aten.scatter", "246 243 243 > 246", by_row }, { "aten.gather", "46 43 > 43", by_row },
	{ "aten.native_batch_norm", "2444 4 4 4 4 > 2444 4 4", batch_norm }, { "onnx.BatchNormalization", "2444 4 4 4 4 > 2444", batch_norm },
	{ "aten.native_batch_norm_backward", "2444 2444 4 4 4 4 4 > 2444 4 4", batch_norm },
	{ "aten.native_group_norm", "2644 6 6 > 2644 22 22", group_norm },
	{ "aten.nll_loss_forward", "46 4 > - -", nll_loss }, { "aten.cross_entropy_loss onnx.NegativeLogLikelihoodLoss onnx.SoftmaxCrossEntropyLoss", "46 4 > -", nll_loss },
	{ "aten.nll_loss_backward", "- 46 4 - > 46", nll_loss_backward },
	{ "tidemark.cross_entropy", "46 4 > -", cross_entropy }, { "tidemark.cross_entropy_backward", "- 46 4 > 46", cross_entropy_backward },
	{ "aten.mse_loss aten.smooth_l1_loss aten.binary_cross_entropy_with_logits", "46 46 > -", mean_loss },
	{ "aten.mse_loss_backward aten.smooth_l1_loss_backward aten.binary_cross_entropy_with_logits_backward", "- 46 46 > 46", mean_loss_backward },
	{ "aten.embedding", "86 24 > 246", embedding }, { "aten.embedding_dense_backward", "246 24 > 86", scatter_rows },
	{ "aten.index_put", "86 4 46 > 86", scatter_rows }, { "aten.index aten.index_select onnx.Gather", "86 24 > 246", gather_rows },
	{ "aten.max_pool2d_with_indices", "2444 > 2422 2422", by_plane }, { "onnx.MaxPool onnx.AveragePool aten.avg_pool2d aten._adaptive_avg_pool2d", "2444 > 2422", by_plane },
	{ "aten.max_pool2d_with_indices_backward", "2422 2444 2422 > 2444", by_plane },
	{ "aten.avg_pool2d_backward aten._adaptive_avg_pool2d_backward", "2422 2444 > 2444", by_plane },
	{ "aten.upsample_nearest2d onnx.Resize", "2422 > 2444", by_plane }, { "aten.upsample_nearest2d_backward", "2444 > 2422", by_plane },
	{ "onnx.InstanceNormalization", "2644 6 6 > 2644", instance_norm }, { "onnx.GroupNormalization", "2644 6 6 > 2644", by_sample },
	{ "@reduce+", "246 > 146", reduce }, { "@reduce+", "246 > 6", reduce }, { "@reduce+", "246 > 241", reduce },
	{ "@reduce^", "246 > 146", reduce }, { "@reduce^", "246 > 6", reduce },
	{ "...* -> ...*", "246 246 > 246", elementwise }, { "...* -> ...*", "246 46 6 > 246 246", elementwise }, { "...* -> ...*", "216 46 - > 246", elementwise },
	{ "... -> ...", "246 > 246", copy }, { "..., ?, ? -> ..., ?...", "246 - > 246", elementwise }, { "..., ? -> ...", "246 > 246", copy },
	{ "@reshape", "246 > 86", copy }, { "@reshape", "86 > 246", copy }, { "@reshape", "246 > 2146", copy },
	{ "m n -> n m | m -> m", "46 > 64", permute },
	{ "@permute", "246 > 264", permute }, { "@permute", "2468 > 8246", permute }, { "@expand", "216 > 246", expand }, { "@expand", "46 > 246", expand },
	{ "@slice", "286 > 246", cut }, { "@select", "286 > 26", cut }, { "@split", "286 > 246 226 226", cut }, { "@unbind", "236 > 26 26 26", cut },
	{ "@pad", "246 > 286", join }, { "@place", "26 > 286", join }, { "@cat", "246 226 > 266", join }, { "@stack", "26 26 26 > 236", join },
};

/* ---- the machinery ------------------------------------------------------------------------------------------------------------------ */

static struct array whole[TENSORS], part[TENSORS], joined[TENSORS];

static void read_shapes(const char *text, int *operands, int *tensors)
{
	*operands = *tensors = 0;
	for (; *text; text++) {
		if (*text == ' ')
			continue;
		if (*text == '>') {
			*operands = *tensors;
			continue;
		}
		struct array *array = &whole[(*tensors)++];
		*array = (struct array) { 0 };
		for (; *text && *text != ' '; text++)
			if (*text != '-')
				array->shape[array->rank++] = *text - '0';
		text -= *text == '\0';
	}
}

static int64_t part_size(const struct binding *binding, uint32_t factor, uint32_t split)
{
	int64_t size = binding->factor[factor].size;
	return factor == split ? size / 2 : size;
}

/* Where an element of one half lies in the whole tensor. */
static int64_t place_in_whole(const struct binding *binding, uint32_t tensor, uint32_t split, int half, int64_t index)
{
	int64_t place = 0, step = 1;
	for (uint32_t dim = binding->dim_start[tensor + 1]; dim-- > binding->dim_start[tensor];)
		for (uint32_t i = binding->dim[dim].count; i-- > 0;) {
			uint32_t factor = binding->part[binding->dim[dim].first + i];
			int64_t size = part_size(binding, factor, split), at = index % size;
			index /= size;
			place += (at + (factor == split ? half * size : 0)) * step;
			step *= binding->factor[factor].size;
		}
	return place;
}

static bool carries(const struct binding *binding, uint32_t tensor, uint32_t factor)
{
	for (uint32_t dim = binding->dim_start[tensor]; dim < binding->dim_start[tensor + 1]; dim++)
		for (uint32_t i = 0; i < binding->dim[dim].count; i++)
			if (binding->part[binding->dim[dim].first + i] == factor)
				return true;
	return false;
}

/* Shapes of all tensors and values of the operands for one half. */
static void take_half(const struct binding *binding, uint32_t split, int half)
{
	for (uint32_t t = 0; t < binding->tensors; t++) {
		part[t] = (struct array) { .rank = whole[t].rank };
		for (int d = 0; d < whole[t].rank; d++) {
			const struct binding_dim *dim = &binding->dim[binding->dim_start[t] + (uint32_t)d];
			part[t].shape[d] = whole[t].shape[d];
			for (uint32_t i = 0; i < dim->count; i++)
				if (binding->part[dim->first + i] == split)
					part[t].shape[d] /= 2;
		}
		bool added_elsewhere = half == 1 && binding->addends >> t & 1 && !carries(binding, t, split)
			&& binding->factor[split].marks & FACTOR_REDUCED;
		for (int64_t i = 0; t < binding->operands && !added_elsewhere && i < count(&part[t]); i++)
			part[t].value[i] = whole[t].value[place_in_whole(binding, t, split, half, i)];
	}
}

static void check_split(const struct rule *rule, const struct soundness_case *at, const struct binding *binding, uint32_t split)
{
	struct call call = { (int)binding->operands, (int)(binding->tensors - binding->operands), 0, part, whole };
	memset(joined, 0, sizeof joined);
	for (int half = 0; half < 2; half++) {
		take_half(binding, split, half);
		call.half = half;
		at->execute(&call);
		for (uint32_t t = binding->operands; t < binding->tensors; t++)
			for (int64_t i = 0; i < count(&part[t]); i++) {
				bool shard = carries(binding, t, split), sum = binding->factor[split].marks & FACTOR_REDUCED;
				if (!shard && !sum)
					cr_assert_float_eq(part[t].value[i], whole[t].value[i], 1e-9, "%s \"%s\" [%s]: result %u differs without factor %u",
						rule->type, rule->factors, at->shapes, t - binding->operands, split);
				joined[t].value[shard ? place_in_whole(binding, t, split, half, i) : i] += part[t].value[i] / (shard || sum ? 1 : 2);
			}
	}
	for (uint32_t t = binding->operands; t < binding->tensors; t++)
		for (int64_t i = 0; i < count(&whole[t]); i++)
			cr_assert_float_eq(joined[t].value[i], whole[t].value[i], 1e-9, "%s \"%s\" [%s]: result %u split along factor %u isn't the whole",
				rule->type, rule->factors, at->shapes, t - binding->operands, split);
}

static bool can_split(const struct binding *binding, uint32_t factor)
{
	const struct binding_factor *at = &binding->factor[factor];
	bool fine = at->size % 2 == 0 && at->size > 0 && !(at->marks & (FACTOR_WHOLE | FACTOR_FORBIDDEN | FACTOR_WINDOW | FACTOR_UNIT));
	for (uint32_t i = 0; i < binding->links; i++)
		fine &= binding->link[i].kind != LINK_WINDOW || binding->link[i].to != factor;
	return fine;
}

/* Kernels' widths: y~k has the factor k, which is no window itself; splitting it isn't sharding. */
static bool is_kernel(const struct rule *rule, const struct binding *binding, uint32_t factor)
{
	bool convolution_rule = strstr(rule->factors, "~k");
	uint32_t weight = strstr(rule->type, "backward") ? 2 : 1;
	return convolution_rule && carries(binding, weight, factor) && !carries(binding, 0, factor)
		&& !(carries(binding, binding->tensors - 1, factor));
}

static uint32_t check_case(const struct rule *rule, const struct soundness_case *at, uint64_t *state)
{
	int operands, tensors;
	read_shapes(at->shapes, &operands, &tensors);
	struct rule_tensor tensor[TENSORS];
	for (int t = 0; t < tensors; t++) {
		tensor[t] = (struct rule_tensor) { whole[t].shape, whole[t].rank };
		for (int64_t i = 0; t < operands && i < count(&whole[t]); i++)
			whole[t].value[i] = (double)(random_next(state) % 1000) / 100;
	}
	struct binding binding = { 0 };
	struct error error = { 0 };
	enum status status = rule_bind(rule, tensor, (uint32_t)operands, (uint32_t)(tensors - operands), false, &binding, &error);
	cr_assert_eq(status, OK, "%s [%s]: %s", rule->type, at->shapes, error.text);
	struct call call = { operands, tensors - operands, 0, whole, whole };
	at->execute(&call);
	uint32_t checked = 0;
	for (uint32_t factor = 0; factor < binding.factors; factor++)
		if (can_split(&binding, factor) && !is_kernel(rule, &binding, factor)) {
			check_split(rule, at, &binding, factor);
			checked++;
		}
	binding_free(&binding);
	return checked;
}

static bool is_case_of(const struct soundness_case *at, const struct rule *rule)
{
	if (!at->execute)
		return false;
	if (!strchr(at->types, '.') || at->types[0] == '.' || at->types[0] == '@')
		return strcmp(at->types, rule->factors) == 0;
	const char *found = strstr(at->types, rule->type);
	return found && (found[strlen(rule->type)] == ' ' || found[strlen(rule->type)] == '\0');
}

Test(soundness, sharded_ops_give_what_the_whole_op_gives)
{
	struct rules *rules = rules_new();
	uint64_t seed = test_seed(), state = seed;
	uint32_t splits = 0, ops = 0, bare = 0;
	const struct rule *const tables[] = { rules_aten, rules_onnx };
	for (int table = 0; table < 2; table++)
		for (const struct rule *rule = tables[table]; rule->type; rule++) {
			uint32_t found = 0;
			for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
				if (is_case_of(&cases[i], rule)) {
					splits += check_case(rules_find(rules, rule->type), &cases[i], &state);
					found++;
				}
			bool nothing = strcmp(rule->factors, "@opaque") == 0 || strcmp(rule->factors, "@source") == 0;
			if (found == 0 && !nothing) {
				fprintf(stderr, "%s has no case\n", rule->type);
				bare++;
			}
			ops += found > 0;
		}
	cr_assert_gt(splits, 200, "seed %lu: only %u splits were checked", seed, splits);
	cr_assert_leq(bare, 0, "%u rules of %u were never executed", bare, ops + bare);
	rules_free(rules);
}
