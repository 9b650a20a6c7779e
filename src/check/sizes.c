/* sizes.c: shapes, bytes and FLOPs of a scaled step. */
#include <math.h>

#include "state.h"

struct comparison {
	struct check *check;
	const struct rules *rules;
	const struct graph *before, *after;
	int64_t batch, sequence;
	bool flat;     /* shapes don't tell samples from the rest */
	bool captured; /* what a sample adds is known */
	struct binding old, new;
};

static bool sizes_same_shape(const struct tensor *a, const struct tensor *b)
{
	bool known = a->shape && b->shape;
	return known ? a->dims == b->dims && memcmp(a->shape, b->shape, a->dims * sizeof *a->shape) == 0
		: a->shape == b->shape;
}

/* Bytes that a shape comes to; -1: not known. */
static int64_t sizes_bytes_of(const struct tensor *tensor)
{
	int64_t elements = 1, bits;
	FOR_WHILE(d, tensor->dims, tensor->shape)
		if (__builtin_mul_overflow(elements, tensor->shape[d], &elements))
			return -1;
	return !tensor->shape || __builtin_mul_overflow(elements, (int64_t)dtype_bits[tensor->dtype], &bits)
		? -1
		: (bits + 7) / 8;
}

/* An extent may be one that was asked for, or stay, or follow from these: an input's other dims stay. */
static bool is_asked(const struct comparison *comparison, int64_t old, int64_t new)
{
	const struct about *about = &comparison->before->about;
	int64_t from[2] = { about->batch, about->sequence }, to[2] = { comparison->batch, comparison->sequence };
	if (old == new || new == to[0] || new == to[1])
		return true;
	FOR_INT(i, 2) /* a multiple of it, or a few more or less: tokens, positions, labels */
		if (from[i] > 0 && to[i] > 0 && (old % from[i] == 0 ? old / from[i] * to[i] == new : old - from[i] == new - to[i]))
			return true;
	return from[0] <= 0 || from[1] <= 0 || (to[0] && to[1] && old * to[0] / from[0] * to[1] / from[1] == new);
}

static enum status compare_tensor(struct comparison *comparison, uint32_t t)
{
	const struct tensor *old = &comparison->before->tensor[t];
	uint32_t other = graph_find_tensor(comparison->after, old->name);
	if (other == NONE)
		return check_wrong(comparison->check, "tensor \"%.100s\" is gone", old->name);
	const struct tensor *new = &comparison->after->tensor[other];
	bool same = sizes_same_shape(old, new),
		 fixed = old->alias == NONE && (old->kind == KIND_PARAMETER || old->kind == KIND_OPTIMIZER);
	if (old->dtype != new->dtype || old->kind != new->kind || old->dims != new->dims)
		return check_wrong(comparison->check, "tensor \"%.100s\" has another type", old->name);
	if (fixed && (!same || old->bytes != new->bytes))
		return check_wrong(comparison->check, "\"%.100s\" depends on the batch", old->name);
	if (!same && sizes_bytes_of(old) == old->bytes && sizes_bytes_of(new) != new->bytes)
		return check_wrong(comparison->check, "tensor \"%.100s\" has other bytes than its shape", old->name);
	FOR_WHILE(d, old->dims, !same && old->kind == KIND_INPUT && !comparison->captured)
		if (!is_asked(comparison, old->shape[d], new->shape[d]))
			return check_wrong(comparison->check,
				"input \"%.100s\" has neither the samples nor the length that was asked for", old->name);
	return OK;
}

/* An op among its new shapes. Of flat ones it is enough that each is a multiple. */
static enum status sizes_compare_op(struct comparison *comparison, uint32_t op)
{
	const struct graph *before = comparison->before, *after = comparison->after;
	uint32_t other = graph_find_op(after, before->op[op].name);
	struct error why = { 0 };
	bool changed = false;
	FOR_ITEMS(written, &before->writes, op)
		changed |= !sizes_same_shape(&before->tensor[written],
			&after->tensor[graph_find_tensor(after, before->tensor[written].name)]);
	const struct rule *rule = changed && other != NONE ? rules_find(comparison->rules, after->op[other].type) : NULL;
	if (!rule || comparison->flat)
		return !changed || comparison->flat || comparison->captured
			? OK
			: check_wrong(comparison->check, "op \"%.100s\" has other sizes, but no rule", before->op[op].name);
	enum status status = rule_bind_op(rule, after, other, &comparison->new, &why);
	if (status == BAD_INPUT && comparison->captured) /* as PyTorch has it */
		return OK;
	if (status == BAD_INPUT)
		return check_wrong(
			comparison->check, "op \"%.100s\" can't have its new sizes: %.200s", before->op[op].name, why.text);
	int64_t flops = before->op[op].flops;
	if (status != OK || flops < 0 || rule_bind_op(rule, before, op, &comparison->old, &why) != OK ||
		rule_flops(rule, &comparison->old) != flops)
		return status;
	if (rule_flops(rule, &comparison->new) != after->op[other].flops)
		return check_wrong(comparison->check, "op \"%.100s\" has other FLOPs than its shapes", before->op[op].name);
	return OK;
}

enum status sizes_check(struct check *check, const struct graph *before,
	const struct graph *after, int64_t batch, int64_t sequence)
{
	struct comparison comparison = { .check = check,
		.rules = check->rules,
		.before = before,
		.after = after,
		.batch = batch,
		.sequence = sequence,
		.flat = true };
	enum status status = OK;
	FOR(t, before->tensors)
		comparison.flat &= before->tensor[t].dims <= 1;
	FOR_WHILE(t, before->tensors, status == OK)
		status = compare_tensor(&comparison, t);
	FOR_WHILE(op, before->ops, status == OK)
		status = sizes_compare_op(&comparison, op);
	if (status == OK &&
		((batch > 0 && before->about.batch > 0 && after->about.batch != batch) ||
			(sequence > 0 && before->about.sequence > 0 && after->about.sequence != sequence)))
		status = check_wrong(check, "the step is of another batch or length than was asked for");
	binding_free(&comparison.old);
	binding_free(&comparison.new);
	return status == NO_MEMORY ? fail_memory(check->error) : status;
}

/* Extents have grown by what each sample more adds; of a recurrent layer's reserve, which lies in pages, nothing is
 * known. */
static enum status compare_grown(struct comparison *comparison, uint32_t t, int64_t more)
{
	const struct tensor *old = &comparison->before->tensor[t],
						*new = &comparison->after->tensor[graph_find_tensor(comparison->after, old->name)];
	const struct rule *rule = old->writer == NONE
		? NULL
		: rules_find(comparison->rules, comparison->before->op[old->writer].type);
	bool pages = rule && rule->cost == COST_RECURRENCE && old->dtype == DTYPE_U8 && old->dims == 1;
	FOR_WHILE(d, old->dims, old->shape && !pages)
		if (new->shape[d] != old->shape[d] + more * (old->grows ? old->grows[d] : 0))
			return check_wrong(comparison->check, "tensor \"%.100s\" hasn't grown by what each sample adds", old->name);
	if (!old->grows && new->bytes != old->bytes && !pages)
		return check_wrong(
			comparison->check, "the bytes of tensor \"%.100s\" have changed, but no sample adds to them", old->name);
	return OK;
}

/* Workspace of an op that was measured at several batches: what was measured there, or on the line of the two nearest.
 */
static enum status compare_workspace(struct comparison *comparison, uint32_t op)
{
	const struct op *old = &comparison->before->op[op];
	const struct op *new = &comparison->after->op[graph_find_op(comparison->after, old->name)];
	uint32_t count = old->grows ? old->grows->workspaces : 0, above = 0;
	if (count == 0)
		return OK;
	const struct workspace_at *at = old->grows->workspace;
	while (above < count && at[above].batch < comparison->batch)
		above++;
	above = above == 0 ? 1 : above == count ? count - 1 : above;
	double share = (double)(comparison->batch - at[above - 1].batch) / (double)(at[above].batch - at[above - 1].batch);
	double is = (double)at[above - 1].bytes * (1 - share) + (double)at[above].bytes * share;
	is = is < 0 ? 0 : is > (double)BYTES_MAX ? (double)BYTES_MAX : is;
	return fabs((double)new->workspace - is) <= 1 + is * 1e-9 ? OK
		: check_wrong(comparison->check, "op \"%.100s\" has another workspace than was measured", old->name);
}

enum status sizes_check_captured(struct check *check, const struct graph *before,
	const struct graph *after, int64_t batch)
{
	struct comparison comparison = {
		.check = check, .rules = check->rules, .before = before, .after = after, .batch = batch, .captured = true
	};
	enum status status = before->ops == after->ops && before->tensors == after->tensors
		? OK
		: check_wrong(check, "the step at another batch has other ops");
	FOR_WHILE(t, before->tensors, status == OK) {
		status = compare_tensor(&comparison, t);
		THEN(status, compare_grown(&comparison, t, batch - before->about.batch));
	}
	FOR_WHILE(op, before->ops, status == OK) {
		status = sizes_compare_op(&comparison, op);
		THEN(status, compare_workspace(&comparison, op));
	}
	if (status == OK && after->about.batch != batch)
		status = check_wrong(check, "the step is of another batch than was asked for");
	binding_free(&comparison.old);
	binding_free(&comparison.new);
	return status == NO_MEMORY ? fail_memory(check->error) : status;
}
