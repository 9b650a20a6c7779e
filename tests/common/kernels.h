/* kernels.h: what operators compute, or something with the dependencies of what they compute, on small dense arrays. For
 * tests/solver/rules/unit_soundness.c, which splits them. */
#ifndef TIDEMARK_TESTS_COMMON_KERNELS_H
#define TIDEMARK_TESTS_COMMON_KERNELS_H

#include <math.h>
#include <string.h>

#include "solver/rules/rules.h"

#define ELEMENTS 2048
#define TENSORS 10

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
	int64_t m = a->shape[a->dims - 2], k = a->shape[a->dims - 1], n = b->shape[b->dims - 1], batch = count(c) / (m * n);
	for (int64_t i = 0; i < count(c) && call->operands == 3; i++)
		c->value[i] = call->tensor[0].value[broadcast_index(c, i, &call->tensor[0])];
	for (int64_t i = 0; i < batch; i++)
		product(call, a->value + i * m * k, b->value + (b->dims == 2 ? 0 : i * k * n), c->value + i * m * n, m, k, n);
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
		result(call, 1)->value[row / queries * result(call, 1)->shape[2] + row % queries] = log(sum);
	}
}

/* ---- along the last dim, and norms ----------------------------------------------------------------------------- */

/* Any function of whole rows, elementwise in the rest: softmax, norms, sorting. Each result element mixes its row;
 * smaller results take one number per row, or (last) the sums over rows. */
static void by_row(const struct call *call)
{
	const struct array *x = call->tensor;
	int64_t width = x->shape[x->dims - 1], rows = count(x) / width;
	for (int r = 0; r < call->results; r++) {
		struct array *y = result(call, r);
		bool per_column = y->dims == 1 && x->dims > 1;
		int64_t wide = y->dims > 0 ? y->shape[y->dims - 1] : 1;
		for (int64_t i = 0; i < rows * wide; i++) {
			double sum = 0;
			for (int64_t j = 0; j < width; j++)
				for (int t = 0; t < call->operands; t++) {
					const struct array *a = &call->tensor[t];
					int64_t own = a->shape[a->dims - 1], row = a->dims > 1 ? i / wide : 0;
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
				if (call->tensor[t].dims == 1)
					factor += call->tensor[t].value[channel];
			if (y->dims == x->dims)
				y->value[i] = x->value[i] * all * factor;
			else if (y->dims == 1)
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

/* Classes are dim 1; a sample may have places: samples x classes x places, with labels samples x places. */
static void nll_loss(const struct call *call)
{
	const struct array *x = call->tensor;
	int64_t classes = x->shape[1], places = count(&call->tensor[1]) / x->shape[0];
	double samples = (double)count(&call->whole[1]);
	for (int64_t i = 0; i < x->shape[0] * places; i++) {
		int64_t label = label_here(call, 0, 1, i);
		if (label < 0)
			continue;
		result(call, 0)->value[0] -= x->value[(i / places * classes + label) * places + i % places] / samples;
		if (call->results > 1)
			result(call, 1)->value[0] += 1;
	}
}

static void nll_loss_backward(const struct call *call)
{
	const struct array *x = &call->tensor[1];
	int64_t classes = x->shape[1], places = count(&call->tensor[2]) / x->shape[0];
	for (int64_t i = 0; i < x->shape[0] * places; i++) {
		int64_t label = label_here(call, 1, 2, i);
		if (label >= 0)
			result(call, 0)->value[(i / places * classes + label) * places + i % places] = -call->tensor[0].value[0] / (double)count(&call->whole[2]);
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

/* ---- whole samples ----------------------------------------------------------------------------------------------------------- */

/* Any function of all that lies under one index of dim 0, as of operand 0; what lacks that dim is added up over it. */
static void by_first(const struct call *call)
{
	int64_t first = call->tensor[0].shape[0], whole_first = call->whole[0].shape[0];
	for (int r = 0; r < call->results; r++) {
		struct array *y = result(call, r);
		bool sums = y->dims == 0 || call->whole[call->operands + r].shape[0] != whole_first;
		int64_t size = count(y) / (sums ? 1 : first);
		for (int64_t i = 0; i < first * size; i++)
			for (int t = 0; t < call->operands; t++) {
				const struct array *x = &call->tensor[t];
				bool has = x->dims > 0 && call->whole[t].shape[0] == whole_first;
				int64_t under = count(x) / (has ? first : 1);
				for (int64_t j = 0; j < under; j++)
					y->value[sums ? i % size : i] += sin(x->value[(has ? i / size * under : 0) + j] * (double)(i % size + t + 1));
			}
	}
}

/* Any function of all that lies under one (sample, channel); of two tensors, the one of fewer channels says which. */
static void by_channel_of_fewer(const struct call *call)
{
	const struct array *x = call->tensor;
	struct array *y = result(call, 0);
	int64_t groups = x->shape[0] * (x->shape[1] < y->shape[1] ? x->shape[1] : y->shape[1]), from = count(x) / groups, to = count(y) / groups;
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < from; j++)
			y->value[i] += sin(x->value[i / to * from + j] * (double)(i % to + 1));
}

/* The input [b, c, h, w] is looked up at b's places [b, y, x, 2]. */
static void grid_sample(const struct call *call)
{
	const struct array *x = call->tensor, *grid = x + 1;
	struct array *y = result(call, 0);
	int64_t size = x->shape[2] * x->shape[3], places = y->shape[2] * y->shape[3];
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < size; j++)
			y->value[i] += x->value[i / places * size + j] * cos(grid->value[(i / places / x->shape[1] * places + i % places) * 2] + (double)j);
}

static void grid_sample_backward(const struct call *call)
{
	const struct array *g = call->tensor, *x = g + 1, *grid = g + 2;
	int64_t size = x->shape[2] * x->shape[3], places = g->shape[2] * g->shape[3];
	for (int64_t i = 0; i < count(g); i++)
		for (int64_t j = 0; j < size; j++) {
			int64_t place = (i / places / x->shape[1] * places + i % places) * 2;
			result(call, 0)->value[i / places * size + j] += g->value[i] * cos(grid->value[place] + (double)j);
			for (int e = 0; e < 2; e++)
				result(call, 1)->value[place + e] += g->value[i] * x->value[i / places * size + j] * sin(grid->value[place + e] + (double)j);
		}
}

/* Each row has an expert by its number: [t, k] of [e, k, n]; the first and the last operand aren't split by rows or experts. */
static void grouped_product(const struct call *call)
{
	const struct array *x = call->tensor, *w = x + 1;
	struct array *y = result(call, 0);
	int64_t k = x->shape[1], n = w->shape[2];
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < k; j++)
			y->value[i] += x->value[i / n * k + j] * w->value[(i / n % w->shape[0] * k + j) * n + i % n];
}

/* Sample n of [t, n, c]: any function of all its times and classes, of its own labels and of numbers [n]. */
static void by_second(const struct call *call)
{
	const struct array *times = &call->tensor[call->operands == 2 ? 0 : 1];
	int64_t samples = times->shape[1], classes = times->shape[2];
	for (int64_t n = 0; n < samples; n++) {
		double all = 0;
		for (int64_t i = 0; i < times->shape[0] * classes; i++)
			all += sin(times->value[(i / classes * samples + n) * classes + i % classes] * (double)(i + 1));
		for (int t = 0; t < call->operands; t++)
			for (int64_t i = 0; &call->tensor[t] != times && i < count(&call->tensor[t]) / samples; i++)
				all += cos(call->tensor[t].value[n * (count(&call->tensor[t]) / samples) + i] + (double)i);
		for (int r = 0; r < call->results; r++) {
			struct array *y = result(call, r);
			int64_t size = count(y) / samples;
			bool second = call->operands > 2;   /* the gradient: [t, n, c] again */
			for (int64_t i = 0; i < size; i++)
				y->value[second ? (i / classes * samples + n) * classes + i % classes : n * size + i] = all * (double)(i + 1);
		}
	}
}

/* Any function of equal blocks of operand 0 and the result, the smaller of them in blocks of one element. */
static void by_blocks(const struct call *call)
{
	const struct array *x = call->tensor;
	struct array *y = result(call, 0);
	int64_t blocks = count(x) < count(y) ? count(x) : count(y), from = count(x) / blocks, to = count(y) / blocks;
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < from; j++)
			y->value[i] += sin(x->value[i / to * from + j] * (double)(i % to + 1));
}

/* The same, in as many blocks as the tensor of fewer dims has rows. */
static void by_lead(const struct call *call)
{
	const struct array *x = call->tensor, *flat = x->dims < result(call, 0)->dims ? x : result(call, 0);
	struct array *y = result(call, 0);
	int64_t blocks = count(flat) / flat->shape[flat->dims - 1], from = count(x) / blocks, to = count(y) / blocks;
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < from; j++)
			y->value[i] += sin(x->value[i / to * from + j] * (double)(i % to + 1));
}

/* Any function of one column of operand 0; results of one dim come from the operands of one dim. */
static void by_column(const struct call *call)
{
	const struct array *x = call->tensor;
	int64_t width = x->shape[1];
	for (int r = 0; r < call->results; r++)
		for (int64_t i = 0; i < count(result(call, r)); i++) {
			for (int64_t j = 0; j < x->shape[0] && result(call, r)->dims == 2; j++)
				result(call, r)->value[i] += sin(x->value[j * width + i % width] * (double)(i / width + 1));
			for (int t = 1; t < call->operands; t++)
				result(call, r)->value[i] += cos(call->tensor[t].value[0]);
		}
}

/* Each channel times what its numbers say. */
static void by_affine(const struct call *call)
{
	const struct array *x = call->tensor;
	int64_t space = count(x) / x->shape[0] / x->shape[1];
	for (int64_t i = 0; i < count(x); i++)
		for (int t = 1; t < call->operands; t++)
			result(call, 0)->value[i] += x->value[i] * cos(call->tensor[t].value[i / space % x->shape[1]]);
}

static void distances(const struct call *call)
{
	const struct array *a = call->tensor, *b = a + 1;
	int64_t n = a->shape[1], m = b->shape[1], k = a->shape[2];
	for (int64_t i = 0; i < count(result(call, 0)); i++)
		for (int64_t j = 0; j < k; j++)
			result(call, 0)->value[i] += fabs(a->value[(i / m) * k + j] - b->value[(i / m / n * m + i % m) * k + j]);
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
		if (y->dims < x->dims) { /* the generator drops the first dims */
			as.dims = x->dims;
			for (int d = 0; d < x->dims; d++)
				as.shape[d] = d < x->dims - y->dims ? 1 : y->shape[d - (x->dims - y->dims)];
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
		for (int d = y->dims - 1; d >= 0; d--) {
			int64_t at = rest % y->shape[d], step = 1;
			rest /= y->shape[d];
			int from = 0;
			while (whole_x->shape[from] != whole_y->shape[d])
				from++;
			for (int e = from + 1; e < x->dims; e++)
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
		int64_t length = part->dims == 3 ? part->shape[1] : 1;
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

#endif
