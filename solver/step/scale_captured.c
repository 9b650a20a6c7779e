/* scale_captured.c: another batch of a step that was captured at several.
 *
 * Captures with the same ops differ in numbers that grow with the batch, and how much a sample adds is known. Where two
 * extents of a tensor grow (similarities of all pairs of samples), each of them does so by a constant; its bytes
 * follow. One sample may be a capture of its own, as PyTorch runs other ops there. */

#include "scale.h"
#include "solver/graph/growth.h"

struct growing {
	const struct graph *from;
	const struct rules *rules;
	int64_t more;   /* samples */
	int64_t *shape; /* new extents of all tensors, by `start` */
	uint32_t *start;
	struct scale_report *report;
	struct error *error;
	struct binding old, new;
	struct arena arena;
	struct draft *draft;
};

static int64_t scale_captured_elements_of(const int64_t *shape, uint32_t dims)
{
	int64_t elements = 1;
	FOR(d, dims)
		if (__builtin_mul_overflow(elements, shape[d], &elements) || elements > BYTES_MAX / 32)
			return -1;
	return elements;
}

/* A size at so many samples more; -1: absurd. */
static int64_t scale_captured_grow(const struct growing *growing, int64_t size, int64_t by)
{
	int64_t more;
	bool absurd = __builtin_mul_overflow(by, growing->more, &more) || __builtin_add_overflow(size, more, &size) ||
		size < 0 || size > BYTES_MAX;
	return absurd ? -1 : size;
}

static enum status scale_captured_find_shapes(struct growing *growing)
{
	const struct graph *from = growing->from;
	size_t dims = 0;
	FOR(t, from->tensors)
		dims += from->tensor[t].dims;
	if (!(ROOM(&growing->arena, growing->start, from->tensors) && ROOM(&growing->arena, growing->shape, dims)))
		return fail_memory(growing->error);
	for (uint32_t t = 0, at = 0; t < from->tensors; t++) {
		const struct tensor *tensor = &from->tensor[t];
		int64_t *shape = growing->shape + at;
		growing->start[t] = at;
		at += tensor->dims;
		bool fine = true;
		for (int d = 0; d < tensor->dims && tensor->shape; d++)
			fine &= (shape[d] = tensor->grows ? scale_captured_grow(growing, tensor->shape[d], tensor->grows[d])
			: tensor->shape[d]) >= 0;
		if (!fine || (tensor->shape && scale_captured_elements_of(shape, tensor->dims) < 0))
			return refuse(growing->error, "tensor %s would be too large", tensor->name);
	}
	return OK;
}

/* Bytes follow from the shape, where they did before, or grow by as much as the file says. */
static int64_t scale_captured_new_bytes(const struct growing *growing, uint32_t t)
{
	const struct tensor *tensor = &growing->from->tensor[t];
	int64_t bits = dtype_bits[tensor->dtype];
	int64_t before = tensor->shape ? scale_captured_elements_of(tensor->shape, tensor->dims) : -1;
	if (before >= 0 && bits > 0 && tensor->bytes == (before * bits + 7) / 8)
		return (scale_captured_elements_of(growing->shape + growing->start[t], tensor->dims) * bits + 7) / 8;
	if (!tensor->grows || tensor->grows[tensor->dims])
		return tensor->grows ? scale_captured_grow(growing, tensor->bytes, tensor->grows[tensor->dims]) : tensor->bytes;
	return scale_ratio(
		tensor->bytes, scale_captured_elements_of(growing->shape + growing->start[t], tensor->dims), before);
}

/* What a recurrent layer keeps lies in pages, and so doesn't grow by a constant. */
static void find_reserves(struct growing *growing, uint32_t op)
{
	const struct graph *from = growing->from;
	const struct rule *rule = rules_find(growing->rules, from->op[op].type);
	if (!rule || rule->cost != COST_RECURRENCE || graph_operands(from, op) == 0 || graph_results(from, op) == 0)
		return;
	uint32_t x = graph_operand(from, op, 0), y = graph_result(from, op, 0);
	if (from->tensor[x].dims != 3 || from->tensor[y].dims != 3)
		return;
	const int64_t *wide = growing->shape + growing->start[x];
	const int64_t before[4] = { from->tensor[x].shape[0], from->tensor[x].shape[1], from->tensor[x].shape[2],
		from->tensor[y].shape[2] };
	const int64_t after[4] = { wide[0], wide[1], wide[2], growing->shape[growing->start[y] + 2] };
	FOR_ITEMS(kept, &from->writes, op) {
		const struct tensor *tensor = &from->tensor[kept];
		if (tensor->dtype != DTYPE_U8 || tensor->dims != 1 || memcmp(before, after, sizeof before) == 0)
			continue;
		if (lstm_reserve(before) == tensor->bytes)
			growing->shape[growing->start[kept]] = lstm_reserve(after);
		else
			growing->report->reserves++;
	}
}

static enum status scale_captured_write_tensors(struct growing *growing)
{
	FOR(t, growing->from->tensors) {
		struct tensor tensor = growing->from->tensor[t];
		tensor.bytes = scale_captured_new_bytes(growing, t);
		if (tensor.shape)
			tensor.shape = growing->shape + growing->start[t];
		if (tensor.bytes < 0 || tensor.bytes > BYTES_MAX)
			return refuse(growing->error, "tensor %s would be too large", tensor.name);
		if (draft_tensor(growing->draft, &tensor) == NONE)
			return fail_memory(growing->error);
	}
	return OK;
}

/* ---- ops ---- */

static enum status scale_captured_bind_new(
	struct growing *growing, const struct rule *rule, uint32_t op, struct error *why)
{
	const struct csr *sides[] = { &growing->from->reads, &growing->from->writes };
	uint32_t operands = csr_length(sides[0], op), results = csr_length(sides[1], op), count = 0;
	HELD struct rule_tensor *MAKE(tensor, operands + (size_t)results);
	NEED(tensor);
	FOR_INT(s, 2)
		FOR_ITEMS(item, sides[s], op)
			tensor[count++] = (struct rule_tensor){ growing->shape + growing->start[item],
				growing->from->tensor[item].dims };
	return rule_bind(rule, tensor, operands, results, false, &growing->new, why);
}

/* By the rule where the op has one that fits at both sizes: products of pairs of samples don't grow by a constant. */
static enum status scale_captured_find_flops(struct growing *growing, uint32_t op, int64_t *flops)
{
	const struct op *from = &growing->from->op[op];
	const struct rule *rule = rules_find(growing->rules, from->type);
	struct error why = { 0 };
	*flops = from->flops;
	if (!from->grows || from->flops < 0)
		return OK;
	*flops = scale_captured_grow(growing, from->flops, from->grows->flops);
	*flops = *flops < 0 ? BYTES_MAX : *flops;
	enum status status = rule && !(rule->traits & TRAIT_OPAQUE)
		? rule_bind_op(rule, growing->from, op, &growing->old, &why)
		: BAD_INPUT;
	THEN(status, scale_captured_bind_new(growing, rule, op, &why));
	if (status == OK && rule_flops(rule, &growing->old) == from->flops)
		*flops = rule_flops(rule, &growing->new);
	return status == BAD_INPUT ? OK : status;
}

/* As measured; where that was done at one batch alone, like its first operand. */
static int64_t new_workspace(struct growing *growing, uint32_t op)
{
	const struct graph *from = growing->from;
	uint32_t first = graph_operands(from, op) > 0 ? graph_operand(from, op, 0) : NONE;
	int64_t workspace = from->op[op].workspace;
	int64_t measured = growth_workspace(&from->op[op], from->about.batch + growing->more);
	if (growing->more == 0 || measured >= 0)
		return growing->more == 0 ? workspace : measured;
	if (workspace <= 0 || first == NONE || from->tensor[first].bytes <= 0 || !from->tensor[first].grows)
		return workspace;
	growing->report->workspaces++;
	int64_t grown = scale_ratio(workspace, scale_captured_new_bytes(growing, first), from->tensor[first].bytes);
	return SMALLER(grown, BYTES_MAX);
}

static enum status scale_captured_write_op(struct growing *growing, uint32_t id)
{
	const struct graph *from = growing->from;
	struct op op = from->op[id];
	TRY(scale_captured_find_flops(growing, id, &op.flops));
	op.workspace = new_workspace(growing, id);
	op.has_workspace |= op.workspace > 0;
	if (op.arguments && op.grows && op.grows->numbers > 0 &&
		!(op.arguments = growth_arguments(&growing->arena, &op, growing->more)))
		return NO_MEMORY;
	NEED(draft_copy_op(growing->draft, &op, from, id, NULL) != NONE);
	FOR_ITEMS(item, &from->after, id)
		TRY(draft_after(growing->draft, id, item));
	return OK;
}

/* given: the graph as it was read, whose step this is. */
static enum status scale_captured_write_graph(struct growing *growing, const struct graph *given)
{
	const struct graph *from = growing->from;
	struct about about = given->about;
	about.batch = from->about.batch + growing->more;
	growing->draft = draft_new();
	enum status status = growing->draft
		? draft_describe(growing->draft, given->name, given->source, given->extra, &about)
		: NO_MEMORY;
	THEN(status, scale_captured_write_tensors(growing));
	FOR(op, from->ops)
		THEN(status, scale_captured_write_op(growing, op));
	return status == NO_MEMORY ? fail_memory(growing->error) : status;
}

enum status graph_scale_captured(const struct graph *graph, const struct rules *rules, int64_t batch,
	struct scale_report *report, struct graph **scaled, struct error *error)
{
	const struct graph *from = growth_nearest(graph, batch);
	struct growing growing = {
		.from = from, .rules = rules, .more = batch - from->about.batch, .report = report, .error = error
	};
	bool beyond = batch == 1 && growing.more != 0 && from->line[0] > 1;
	*report = (struct scale_report){ .first_copy = NONE, .first_once = NONE, .captured = true, .extended = beyond };
	*scaled = NULL;
	if (batch < 1 || batch > BYTES_MAX)
		return refuse(error, "a batch of %lld", (long long)batch);
	if (beyond && graph->about.one_sample)
		return refuse(error, "a step of one sample can't be captured: %.300s", graph->about.one_sample);
	enum status status = scale_captured_find_shapes(&growing);
	FOR_WHILE(op, from->ops, status == OK)
		find_reserves(&growing, op);
	THEN(status, scale_captured_write_graph(&growing, graph));
	if (status == OK)
		*scaled = graph_build(growing.draft, error);
	draft_free(growing.draft);
	arena_free(&growing.arena);
	binding_free(&growing.old);
	binding_free(&growing.new);
	return status != OK || *scaled ? status : error->status;
}
