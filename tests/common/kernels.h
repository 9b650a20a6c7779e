/* kernels.h: what operators compute, or something with the dependencies of what they compute, on small dense arrays.
 * For tests/solver/rules/unit_soundness.c, which splits them. */
#pragma once

#include "contractions.h"

/* ---- along the last dim, and norms ----------------------------------------------------------- */

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
			int64_t local_groups = per_sample ? (call->results > 1 ? call->tensor[call->operands + 1].shape[1] : groups)
				: channels;
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
					result(call, r)->value[i] += sin(
						call->tensor[t].value[head * (count(&call->tensor[t]) / heads) + j] +
						(double)(r == 0 ? 0 : i % size));
			if (r == 0)
				result(call, r)->value[i] *= g->value[i / width * wide + i % width % wide];
		}
}

/* ---- losses and tables ----------------------------------------------------------------------- */

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
			result(call, 0)->value[(i / places * classes + label) * places + i % places] = -call->tensor[0].value[0] /
				(double)count(&call->whole[2]);
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
		result(call, 0)->value[0] += (row_sum(x, i) - x->value[i * x->shape[1] + label_here(call, 0, 1, i)]) /
			(double)call->whole[0].shape[0];
}

static void cross_entropy_backward(const struct call *call)
{
	const struct array *x = &call->tensor[1];
	for (int64_t i = 0; i < count(x); i++) {
		int64_t row = i / x->shape[1], label = label_here(call, 1, 2, row);
		result(call, 0)->value[i] = call->tensor[0].value[0] *
			(exp(x->value[i] - row_sum(x, row)) - (i % x->shape[1] == label)) / (double)call->whole[1].shape[0];
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

/* Adds rows into a table: embedding_dense_backward(grad, index), index_put(table, index, values) and, where the mask is
 * even, _unsafe_masked_index_put_accumulate(table, mask, index, values). */
static void scatter_rows(const struct call *call)
{
	const struct array *values = &call->tensor[call->operands > 2 ? call->operands - 1 : 0],
					   *index = &call->tensor[call->operands == 4 ? 2 : 1];
	const struct array *mask = call->operands == 4 ? &call->tensor[1] : NULL;
	struct array *table = result(call, 0);
	int64_t width = table->shape[1], rows = call->whole[call->operands].shape[0];
	if (call->operands > 2)
		memcpy(table->value, call->tensor[0].value, sizeof table->value);
	for (int64_t i = 0; i < count(index); i++) {
		int64_t row = (int64_t)index->value[i] % rows - first_row(call, call->operands);
		for (int64_t d = 0;
			d < width && row >= 0 && row < table->shape[0] && (!mask || (int64_t)mask->value[i] % 2 == 0); d++)
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

/* The first index of one dim of operand 0 replaced by operand 1: of the first dim that operand 1 lacks. */
static void select_scatter(const struct call *call)
{
	const struct array *data = call->tensor, *part = data + 1;
	int dim = 0;
	int64_t inner = 1;
	while (dim < part->dims && call->whole[0].shape[dim] == call->whole[1].shape[dim])
		dim++;
	for (int d = dim + 1; d < data->dims; d++)
		inner *= data->shape[d];
	for (int64_t i = 0; i < count(data); i++) {
		bool replaced = i / inner % data->shape[dim] == 0;
		result(call, 0)->value[i] = replaced ? part->value[i / inner / data->shape[dim] * inner + i % inner] : data->value[i];
	}
}

/* ---- whole samples --------------------------------------------------------------------------- */

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

/* Elements under one sample and one index of the dims before it, where samples are dim 1 of [t, n, x] and dim 0 of [n,
 * x]; 0 for what has no samples. */
static int64_t under_sample(const struct array *whole, int64_t samples)
{
	bool has = whole->dims == 3 || (whole->dims == 2 && whole->shape[0] == samples);
	return has ? whole->shape[whole->dims - 1] : 0;
}

/* Any function of all that lies under one sample, as of operand 0: [t, n, x]; what lacks samples is added up over them.
 */
static void by_sample_in_time(const struct call *call)
{
	int64_t samples = call->tensor[0].shape[1], whole = call->whole[0].shape[1];
	for (int64_t n = 0; n < samples; n++) {
		double all = 0;
		for (int t = 0; t < call->operands + call->results; t++) {
			struct array *x = t < call->operands ? &call->tensor[t] : result(call, t - call->operands);
			int64_t under = under_sample(&call->whole[t], whole);
			for (int64_t i = 0; i < count(x); i++) {
				double place = (double)(under ? i / (under * samples) * under + i % under + t + 1 : i + t + 1);
				if (under && i / under % samples != n)
					continue;
				if (t < call->operands)
					all += sin(x->value[i] * place);
				else
					x->value[i] += all * place;
			}
		}
	}
}

/* Any function of all that lies under one (sample, channel); of two tensors, the one of fewer channels says which. */
static void by_channel_of_fewer(const struct call *call)
{
	const struct array *x = call->tensor;
	struct array *y = result(call, 0);
	int64_t groups = x->shape[0] * (x->shape[1] < y->shape[1] ? x->shape[1] : y->shape[1]), from = count(x) / groups,
			to = count(y) / groups;
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < from; j++)
			y->value[i] += sin(x->value[i / to * from + j] * (double)(i % to + 1));
}

/* The input [b, c, h, w] is looked up at b's places [b, y, x, 2]; or with one dim of space more. */
static void grid_sample(const struct call *call)
{
	const struct array *x = call->tensor, *grid = x + 1;
	struct array *y = result(call, 0);
	int64_t planes = x->shape[0] * x->shape[1], size = count(x) / planes, places = count(y) / planes,
			e = grid->shape[grid->dims - 1];
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t j = 0; j < size; j++)
			y->value[i] += x->value[i / places * size + j] *
				cos(grid->value[(i / places / x->shape[1] * places + i % places) * e] + (double)j);
}

static void grid_sample_backward(const struct call *call)
{
	const struct array *g = call->tensor, *x = g + 1, *grid = g + 2;
	int64_t planes = x->shape[0] * x->shape[1], size = count(x) / planes, places = count(g) / planes,
			width = grid->shape[grid->dims - 1];
	for (int64_t i = 0; i < count(g); i++)
		for (int64_t j = 0; j < size; j++) {
			int64_t place = (i / places / x->shape[1] * places + i % places) * width;
			result(call, 0)->value[i / places * size + j] += g->value[i] * cos(grid->value[place] + (double)j);
			for (int e = 0; e < width; e++)
				result(call, 1)->value[place + e] += g->value[i] * x->value[i / places * size + j] *
					sin(grid->value[place + e] + (double)j);
		}
}

/* Each row has an expert by its number: [t, k] of [e, k, n]; the first and the last operand aren't split by rows or
 * experts. */
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

/* Any function of what windows along dim 2 of four are cut from, [b c n x] to [b c l x k], or back. */
static void by_windows(const struct call *call)
{
	const struct array *x = call->tensor;
	struct array *y = result(call, 0);
	const struct array *cut = x->dims > y->dims ? x : y, *flat = x->dims > y->dims ? y : x;
	int64_t rows = flat->shape[2], width = flat->shape[3], windows = cut->shape[2], size = cut->shape[4];
	for (int64_t i = 0; i < count(flat); i++)
		for (int64_t j = 0; j < windows * size; j++) {
			int64_t lead = i / (rows * width), at = ((lead * windows + j / size) * width + i % width) * size + j % size;
			if (cut == y)
				y->value[at] += sin(x->value[i] * (double)(i / width % rows + 1)) * (double)(j + 1);
			else
				y->value[i] += sin(x->value[at] * (double)(j + 1)) * (double)(i / width % rows + 1);
		}
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

/* Elements of a table, as if it were flat, by numbers. */
static void gather_flat(const struct call *call)
{
	for (int64_t i = 0; i < count(result(call, 0)); i++)
		result(call, 0)->value[i] = call->tensor[0].value[(int64_t)call->tensor[1].value[i] % count(&call->tensor[0])];
}

/* Sequences [t, n, h] one after the other: each feature for itself; and as many numbers as there are times. */
static void by_features(const struct call *call)
{
	const struct array *x = call->tensor;
	for (int64_t i = 0; i < count(x); i++)
		result(call, 0)->value[i] = x->value[i] * 2;
	for (int64_t i = 0; i < x->shape[0]; i++)
		result(call, 1)->value[i] = (double)call->whole[0].shape[1];
}

/* Any function of one column of all operands of two dims, and of what the others hold; a result of one dim sums over
 * columns. */
static void by_columns(const struct call *call)
{
	int64_t width = call->tensor[0].shape[1];
	double column[8] = { 0 }, others = 0;
	for (int t = 0; t < call->operands; t++)
		for (int64_t i = 0; i < count(&call->tensor[t]); i++) {
			double value = sin(call->tensor[t].value[i] + (double)(call->tensor[t].dims == 2 ? i / width + t : i));
			*(call->tensor[t].dims == 2 ? &column[i % width] : &others) += value;
		}
	struct array *y = result(call, 0);
	for (int64_t i = 0; i < count(y); i++)
		for (int64_t c = 0; c < width; c++)
			if (y->dims == 1 || c == i % width)
				y->value[i] += column[c] * (others + 2) * (double)((y->dims == 1 ? i : i / width) + 1);
}

/* Each element by the numbers of its channel, which is in the first dim as long as they are. */
static void by_scales(const struct call *call)
{
	const struct array *x = call->tensor;
	int channel = call->whole[0].shape[0] == call->whole[1].shape[0] ? 0 : 1;
	int64_t inner = count(x) / x->shape[0] / (channel ? x->shape[1] : 1);
	for (int r = 0; r < call->results; r++)
		for (int64_t i = 0; i < count(x); i++)
			for (int t = 1; t < call->operands; t++)
				result(call, r)->value[i] += x->value[i] * cos(call->tensor[t].value[i / inner % x->shape[channel]] + r);
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

/* ---- pooling, reductions, elementwise -------------------------------------------------------- */

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

/* Of operands of the result's size. */
static void by_element(const struct call *call)
{
	struct array *y = result(call, 0);
	for (int64_t i = 0; i < count(y); i++)
		for (int t = 0; t < call->operands && count(&call->tensor[t]) == count(y); t++)
			y->value[i] += sin((double)(t + 1) * call->tensor[t].value[i]);
}

/* ---- views: what result element comes from which operand element ----------------------------- */

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
