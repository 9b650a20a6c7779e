/* interpreter.h: executes ops on small tensors of numbers, whole or in pieces. For tests.
 *
 * Attributes that graphs don't record (where a slice begins, which way dims are permuted) follow from the whole op and
 * its name, so that every device takes the same. */
#pragma once

#include "array_kernels.h"

/* ---- structure: where elements come from ----------------------------------------------------- */

/* The dim of operand 0 that carries the same factors as a dim of a result, or -1. back: the other way round. */
static inline int same_dim(const struct call *call, int result, int dim, bool back)
{
	const struct binding *b = call->binding;
	uint32_t t = back ? 0 : (uint32_t)(call->operands + result), of = back ? (uint32_t)(call->operands + result) : 0;
	const struct binding_dim *at = &b->dim[b->dim_start[t] + (uint32_t)dim];
	for (uint32_t d = b->dim_start[of]; d < b->dim_start[of + 1]; d++)
		if (at->count > 0 && b->dim[d].count == at->count && b->part[b->dim[d].first] == b->part[at->first] &&
			b->dim[d].size == at->size)
			return (int)(d - b->dim_start[of]);
	return -1;
}

/* What leaves one out leaves out the last, as losses of the next token do, so that another op may do so for it. */
static inline int64_t offset_of(const struct call *call, int64_t whole, int64_t part)
{
	return whole > part + 1 ? (int64_t)(op_seed(call) % (uint64_t)(whole - part + 1)) : 0;
}

/* Where result r's element comes from in `large`, of which it is one piece: sliced, selected, split. first: begin of
 * the piece. */
static inline int64_t cut_place(const struct call *call, const struct array *small, int64_t element,
	const struct array *large, int dropped, int joint, int64_t first)
{
	int64_t at[DIMS_MAX], from[DIMS_MAX];
	unravel(small, element, at);
	for (int d = 0, e = 0; d < large->dims; d++) {
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
	for (int d = 0; d < large->dims && large->dims == small->dims + 1; d++) {
		bool fits = wanted < 0 || large->whole[d] == wanted;
		for (int i = 0; i < small->dims; i++)
			fits &= small->whole[i] == large->whole[i + (i >= d)];
		dropped = fits ? d : dropped;
	}
	return dropped;
}

/* The dim along which pieces add up to the whole. */
static inline int joint_dim(const struct array *large, const struct array *piece, int pieces)
{
	for (int d = 0; d < large->dims; d++) {
		int64_t sum = 0;
		bool fits = true;
		for (int p = 0; p < pieces; p++) {
			for (int i = 0; i < large->dims; i++)
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
		int dropped = unbind ? dropped_dim(x, y, call->results)
			: strcmp(factors, "@select") == 0 ? dropped_dim(x, y, -1)
			: -1;
		int joint = split ? joint_dim(x, call->out, call->results) : -1;
		bool permute = strcmp(factors, "@permute") == 0 || factors[0] == 'm', expand = strcmp(factors, "@expand") == 0;
		bool flat = strcmp(factors, "@reshape") == 0 || strcmp(factors, "... -> ...") == 0;
		if (!split && !unbind && dropped < 0 && !permute && !expand && !flat && strcmp(factors, "@slice") != 0)
			return false;
		for (int64_t i = 0; i < y->count; i++) {
			int64_t at[DIMS_MAX], from[DIMS_MAX] = { 0 }, place = i;
			unravel(y, i, at);
			for (int d = 0; permute && d < y->dims; d++)
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
	for (int d = 0; d < x->dims; d++)
		if (same_dim(call, 0, d, true) < 0)
			whole *= (double)x->whole[d];
	for (int64_t i = 0; i < x->count; i++) {
		int64_t at[DIMS_MAX], to[DIMS_MAX] = { 0 };
		unravel(x, i, at);
		for (int d = 0; d < x->dims; d++)
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

/* ---- all ------------------------------------------------------------------------------------- */

static const struct { const char *types; void (*run)(const struct call *call);
} interpreted[] = {
	{ " aten.mm aten.bmm aten.addmm aten.baddbmm aten.matmul tidemark.grouped_mm ", run_product },
	{ " aten.linear ", run_linear },
	{ " aten.convolution ", run_convolution },
	{ " aten.convolution_backward ", run_convolution_backward },
	{ " aten._scaled_dot_product_flash_attention ", run_attention },
	{ " aten._scaled_dot_product_flash_attention_backward ", run_attention_backward },
	{ " aten._softmax aten._log_softmax ", run_softmax },
	{ " aten._softmax_backward_data aten._log_softmax_backward_data ", run_softmax_backward },
	{ " aten.native_layer_norm aten._fused_rms_norm ", run_norm },
	{ " aten.native_layer_norm_backward aten._fused_rms_norm_backward ", run_norm_backward },
	{ " aten.native_batch_norm aten.native_batch_norm_backward ", run_batch_norm },
	{ " aten.cumsum ", run_cumsum },
	{ " aten.embedding ", run_embedding },
	{ " aten.embedding_dense_backward ", run_embedding_backward },
	{ " aten.index_select aten.index ", run_gather_rows },
	{ " tidemark.cross_entropy ", run_cross_entropy },
	{ " tidemark.cross_entropy_backward ", run_cross_entropy_backward },
	{ " aten.nll_loss_forward ", run_nll_loss },
	{ " aten.nll_loss_backward ", run_nll_loss_backward },
	{ " aten.mse_loss aten.smooth_l1_loss ", run_mean_loss },
	{ " aten.mse_loss_backward aten.smooth_l1_loss_backward ", run_mean_loss_backward },
	{ " tidemark.dispatch ", run_dispatch },
	{ " tidemark.combine ", run_combine },
	{ " tidemark.dispatch_backward ", run_dispatch_backward },
	{ " tidemark.combine_backward ", run_combine_backward },
	{ " tidemark.dispatch_scored ", run_dispatch_scored },
	{ " tidemark.dispatch_scored_backward ", run_dispatch_scored_backward },
	{ " tidemark.combine_plain ", run_combine_plain },
	{ " tidemark.combine_plain_backward ", run_combine_plain_backward },
	{ " tidemark.swiglu_scaled ", run_swiglu_scaled },
	{ " tidemark.swiglu_scaled_backward ", run_swiglu_scaled_backward },
	{ " aten.max_pool2d_with_indices aten.max_pool2d_with_indices_backward aten.avg_pool2d ", run_pool },
	{ " @pad @place ", run_pad },
	{ " @cat @stack ", run_join },
	{ " @expand ", run_repeat },
	{ " @reduce+ @reduce^ @reduce^2 ", run_reduce },
	{ " @source ", run_source },
	{ " aten.clone aten.contiguous aten._to_copy ", run_copy },
	{ " ...* ", run_elementwise },
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
	const char *structure = call->rule &&
			(call->rule->factors[0] == '@' || strcmp(call->rule->factors, "...* -> ...*") == 0)
		? call->rule->factors
		: "-";
	size_t length = structure[0] == '@' ? strlen(structure) : 4;
	char word[20];
	snprintf(word, sizeof word, "%.*s", (int)length, structure);
	for (size_t i = 0; i < sizeof interpreted / sizeof *interpreted && call->binding; i++)
		if (listed(interpreted[i].types, call->rule->type, strlen(call->rule->type)) ||
			listed(interpreted[i].types, word, strlen(word))) {
			interpreted[i].run(call);
			return true;
		}
	if (call->split)
		return false;
	run_unknown(call);
	return true;
}
