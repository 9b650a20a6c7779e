/* scale.c: the graph at another batch or sequence.
 *
 * New extents come from factors (scale_values.c) and are checked op by op: every rule must fit the new shapes.
 * Then the graph is written anew, with what PyTorch would add at these sizes: copies before views that strides
 * no longer allow, and sums of gradients over a batch that was 1. */
#include <stdio.h>

#include "scale.h"
#include "solver/rules/strides.h"

struct scaling {
	const struct graph *graph;
	const struct rules *rules;
	const struct factors *factors;
	const struct scale_request *request;
	struct scale_report *report;
	struct error *error;
	struct scale_values values;
	struct binding binding;
	struct arena arena;
	int64_t flat;    /* samples of a graph whose shapes are flat, before; 0: it has dims */
	bool *copied;    /* op: a clone goes before it */
	int64_t *flops;  /* op */
	uint32_t *sum;   /* tensor: its sum over the batch, which readers marked in `sums` take; NONE: none */
	bool *sums;      /* op: reads sums */
	uint32_t *alias; /* tensor: its new alias */
	uint32_t *moved; /* tensor: the clone or the sum it is a view of, NONE: where it was */
	uint32_t *clone; /* op: the clone before it, or NONE */
	bool *unfused;   /* op: a product with a bias that runs as a product and an addition */
	uint32_t *held, *next_held; /* op: the first op whose copied operand is let go of after it, and the next one; NONE */
	uint32_t *number; /* op: its new number */
	uint32_t tensors; /* given out so far, new ones included */
	struct draft *draft;
};

static bool scale_allocate(struct scaling *scaling)
{
	uint32_t ops = scaling->graph->ops, tensors = scaling->graph->tensors;
	if (!(ROOMS(&scaling->arena, ops, scaling->copied, scaling->flops, scaling->sums, scaling->number, scaling->clone,
		scaling->held, scaling->next_held, scaling->unfused) && ROOMS(&scaling->arena, tensors, scaling->sum,
		scaling->alias, scaling->moved)))
		return false;
	FILL_NONE(scaling->sum, tensors);
	FILL_NONE(scaling->moved, tensors);
	FILL_NONE(scaling->held, ops);
	return true;
}

/* ---- sizes ---- */

static int64_t count_elements(const int64_t *shape, uint32_t dims)
{
	int64_t elements = 1;
	FOR(d, dims)
		elements *= shape[d];
	return elements;
}

int64_t scale_ratio(int64_t amount, int64_t to, int64_t from)
{
	if (from <= 0 || amount <= 0)
		return amount;
	int64_t divisor = common_divisor(to, from), whole, rest;
	to /= divisor;
	from /= divisor;
	if (__builtin_mul_overflow(amount / from, to, &whole) || __builtin_mul_overflow(amount % from, to, &rest)
		|| __builtin_add_overflow(rest, from - 1, &rest) || __builtin_add_overflow(whole, rest / from, &whole))
		return INT64_MAX;
	return whole;
}

/* Bytes of a tensor of `elements` in place of its own. */
static int64_t scale_bytes_of(const struct tensor *tensor, int64_t elements)
{
	int64_t before = count_elements(tensor->shape, tensor->dims), bits = dtype_bits[tensor->dtype];
	if (bits > 0 && tensor->bytes == (before * bits + 7) / 8)
		return (elements * bits + 7) / 8;
	return scale_ratio(tensor->bytes, elements, before);
}

static const int64_t *new_shape(const struct scaling *scaling, uint32_t tensor)
{
	return scaling->values.shape + scaling->factors->dim_start[tensor];
}

/* The shape of a tensor summed over what was 1 and no longer is. */
static void summed_shape(const struct scaling *scaling, uint32_t tensor, int64_t shape[DIMS_MAX])
{
	const struct tensor *from = &scaling->graph->tensor[tensor];
	FOR_INT(d, from->dims)
		shape[d] = from->shape[d] == 1 ? 1 : new_shape(scaling, tensor)[d];
}

/* A small result may keep the storage of an operand's size (PyTorch's mse_loss): it follows that operand. */
static int64_t kept_storage(const struct scaling *scaling, uint32_t tensor)
{
	const struct graph *graph = scaling->graph;
	const struct tensor *from = &graph->tensor[tensor];
	bool oversize = from->bytes > (count_elements(from->shape, from->dims) * dtype_bits[from->dtype] + 7) / 8;
	if (from->writer != NONE && oversize)
		FOR_ITEMS(operand, &graph->reads, from->writer)
			if (graph->tensor[operand].bytes == from->bytes && scaling->values.changed[operand])
				return scale_bytes_of(
					&graph->tensor[operand], count_elements(new_shape(scaling, operand), graph->tensor[operand].dims));
	return from->bytes;
}

static int64_t scale_new_bytes(const struct scaling *scaling, uint32_t tensor)
{
	const struct tensor *from = &scaling->graph->tensor[tensor];
	if (!scaling->values.changed[tensor])
		return kept_storage(scaling, tensor);
	return scale_bytes_of(from, count_elements(new_shape(scaling, tensor), from->dims));
}

/* ---- checks ---- */

static bool touches_changed(const struct scaling *scaling, uint32_t op)
{
	const struct graph *graph = scaling->graph;
	FOR_ITEMS(read, &graph->reads, op)
		if (scaling->values.changed[read])
			return true;
	FOR_ITEMS(written, &graph->writes, op)
		if (scaling->values.changed[written])
			return true;
	return false;
}

/* Binds an op's rule to the new shapes. */
static enum status scale_bind_new(struct scaling *scaling, const struct rule *rule, uint32_t op)
{
	const struct graph *graph = scaling->graph;
	uint32_t operands = graph_operands(graph, op), results = graph_results(graph, op), at = 0;
	HELD struct rule_tensor *MAKE(tensor, operands + (size_t)results);
	HELD int64_t (*summed)[DIMS_MAX] = scaling->sums[op] ? mem_alloc(operands, sizeof *summed) : NULL;
	NEED(tensor && (!scaling->sums[op] || summed));
	FOR_ITEMS(t, &graph->reads, op) {
		tensor[at] = (struct rule_tensor) { new_shape(scaling, t), graph->tensor[t].dims };
		if (summed && scaling->sum[t] != NONE) {
			summed_shape(scaling, t, summed[at]);
			tensor[at].shape = summed[at];
		}
		at++;
	}
	FOR_ITEMS(written, &graph->writes, op)
		tensor[at++] = (struct rule_tensor){ new_shape(scaling, written),
			graph->tensor[written].dims };
	struct error reason = { 0 };
	enum status status = rule_bind(rule, tensor, operands, results, false, &scaling->binding, &reason);
	bool single = scaling->request->batch > 0 && scale_given_batch(graph, scaling->factors) == 1;
	return status != BAD_INPUT ? status
		: refuse(scaling->error, "op %s can't take the new sizes%s: %.300s", graph->op[op].name,
			single ? " (it is captured at batch 1, where PyTorch may run other ops: capture at batch 2)" : "", reason.text);
}

static enum status scale_check_op(struct scaling *scaling, uint32_t op)
{
	const struct op *from = &scaling->graph->op[op];
	const struct rule *rule = rules_find(scaling->rules, from->type);
	scaling->flops[op] = from->flops;
	if (!touches_changed(scaling, op))
		return OK;
	if (scaling->flat > 0) {
		scaling->flops[op] = scale_ratio(from->flops, scaling->request->batch, scaling->flat);
		scaling->report->workspaces += from->workspace > 0;
		return OK;
	}
	if (!rule || (rule->traits & TRAIT_OPAQUE))
		return refuse(scaling->error, "op %s: no rule for %s; --rules FILE gives it one", from->name,
			from->type);
	struct error reason = { 0 };
	enum status status = rule_bind_op(rule, scaling->graph, op, &scaling->binding, &reason);
	if (status == BAD_INPUT)
		return fail(scaling->error, status, "op %s: %.300s", from->name, reason.text);
	TRY(status);
	int64_t before = rule_flops(rule, &scaling->binding);
	status = scale_bind_new(scaling, rule, op);
	if (status == OK && from->flops >= 0)
		scaling->flops[op] = scale_ratio(from->flops, rule_flops(rule, &scaling->binding), before);
	scaling->report->workspaces += status == OK && from->workspace > 0;
	return status;
}

/* An extent that was 1 isn't any more. */
static bool grew_from_one(const struct scaling *scaling, uint32_t tensor)
{
	const struct tensor *from = &scaling->graph->tensor[tensor];
	FOR_INT(d, from->dims)
		if (from->shape[d] == 1 && new_shape(scaling, tensor)[d] != 1)
			return true;
	return false;
}

/* Gradients that must be summed over the batch before a parameter's update. */
static enum status scale_find_sums(struct scaling *scaling)
{
	const struct factors *factors = scaling->factors;
	const struct graph *graph = scaling->graph;
	FOR(i, factors->issues) {
		const struct factor_issue *issue = &factors->issue[i];
		bool sum = issue->kind == ISSUE_REDUCTION;
		if ((!sum && issue->kind != ISSUE_AMBIGUOUS) || !touches_changed(scaling, issue->op))
			continue;
		uint32_t tensor = graph_operand(graph, issue->op, issue->operand);
		if (!sum) {
			scaling->report->ambiguous++;
			continue;
		}
		if (!grew_from_one(scaling, tensor))
			continue;
		if (graph->tensor[tensor].writer == NONE)
			return refuse(scaling->error, "op %s would have to sum %s over the batch", graph->op[issue->op].name,
				graph->tensor[tensor].name);
		scaling->sums[issue->op] = true;
		scaling->sum[tensor] = 0; /* numbered by plan_tensors() */
	}
	return OK;
}

static bool reads_sum(const struct scaling *scaling, uint32_t op, uint32_t tensor)
{
	return scaling->sums[op] && scaling->sum[tensor] != NONE;
}

/* A sum is new memory: what views it needs no copy. */
static void view_sums(struct scaling *scaling)
{
	const struct graph *graph = scaling->graph;
	FOR(op, graph->ops)
		if (scaling->copied[op] && reads_sum(scaling, op, graph_operand(graph, op, 0)))
			scaling->copied[op] = false;
}

/* Whether an operand is repeated along a dim of the result that grew from 1: all other dims agree. */
static bool repeated(const struct scaling *scaling, uint32_t operand, uint32_t result)
{
	const struct tensor *of = &scaling->graph->tensor[operand], *to = &scaling->graph->tensor[result];
	const int64_t *from = new_shape(scaling, operand), *grown = new_shape(scaling, result);
	bool found = false;
	if (of->dims > to->dims || count_elements(from, of->dims) == 1)
		return false;
	for (uint32_t d = 0, at = to->dims - of->dims; d < of->dims; d++, at++) {
		if (from[d] != 1 && from[d] != grown[at])
			return false;
		found |= of->shape[d] == 1 && from[d] == 1 && to->shape[at] == 1 && grown[at] > 1;
	}
	return found;
}

/* At extent 1 a program that makes a mask for each sample and one that makes a mask for all of them leave the same
 * graph, since a tracer sees no repetition to 1. */
static bool scale_count_once(struct scaling *scaling)
{
	const struct graph *graph = scaling->graph;
	bool *seen;
	if (!ROOM(&scaling->arena, seen, graph->storages))
		return false;
	FOR(op, graph->ops)
		FOR_ITEMS(written, &graph->writes, op)
			FOR_ITEMS(t, &graph->reads, op) {
				uint32_t s = graph->tensor[t].storage, result = written;
				if (s == graph->tensor[result].storage || seen[s] || graph->storage[s].allocator == NONE ||
					!repeated(scaling, t, result))
					continue;
				seen[s] = true;
				if (scaling->report->once++ == 0)
					scaling->report->first_once = t;
			}
	return true;
}

static void count_copies(struct scaling *scaling)
{
	const struct graph *graph = scaling->graph;
	FOR_DOWN(op, graph->ops) {
		if (!scaling->copied[op])
			continue;
		scaling->report->copies++;
		scaling->report->first_copy = op;
		uint32_t result = graph_result(graph, op, 0);
		FOR_ITEMS(user, &graph->users, graph->tensor[result].storage) {
			bool linear = graph_operands(graph, user) == 3 && graph_operand(graph, user, 1) == result
				&& (rules_traits(scaling->rules, graph->op[user].type) & TRAIT_BIASED) && graph_results(graph, user) == 1;
			scaling->report->unfused += linear;
			scaling->unfused[user] |= linear;
		}
	}
}

/* Whether nothing but a copy reads an op's first operand from there on: the backward pass keeps the copy. */
static bool scale_left_behind(const struct scaling *scaling, uint32_t op)
{
	const struct graph *graph = scaling->graph;
	uint32_t storage = graph->tensor[graph_operand(graph, op, 0)].storage;
	if (graph->storage[storage].persistent || graph->op[op].phase != PHASE_FORWARD)
		return false;
	FOR_ITEMS(user, &graph->users, storage) {
		if (user <= op || op_releases(&graph->op[user]))
			continue;
		FOR_ITEMS(read, &graph->reads, user)
			if (graph->tensor[read].storage == storage && scaling->moved[read] == NONE)
				return false;
	}
	return true;
}

/* PyTorch lets go of what was copied when the program has no name for it any more, which no graph at batch 1 shows. */
static void count_left_behind(struct scaling *scaling)
{
	FOR(op, scaling->graph->ops)
		scaling->report->left_behind += scaling->copied[op] && scale_left_behind(scaling, op);
}

/* ---- writing ---- */

/* Where what is copied is let go of: each storage once. */
static void scale_find_held(struct scaling *scaling)
{
	const struct graph *graph = scaling->graph;
	FOR(op, graph->ops) {
		uint32_t until = scaling->copied[op] ? scale_held_until(graph, op) : NONE;
		if (until == NONE)
			continue;
		scaling->next_held[op] = scaling->held[until];
		scaling->held[until] = op;
	}
}

static bool same_but_ones(const struct tensor *a, const int64_t *of_a, const struct tensor *b, const int64_t *of_b)
{
	uint32_t i = 0, k = 0;
	for (;; i++, k++) {
		while (i < a->dims && of_a[i] == 1)
			i++;
		while (k < b->dims && of_b[k] == 1)
			k++;
		if (i >= a->dims || k >= b->dims || of_a[i] != of_b[k])
			return i >= a->dims && k >= b->dims;
	}
}

/* A copy of a reshape, which drops or adds nothing but dims of 1 now: ATen makes that a view of any memory. */
static bool is_needless(const struct scaling *scaling, uint32_t op)
{
	const struct graph *graph = scaling->graph;
	bool viewed = false;
	if (!text_begins(graph->op[op].type, "aten.clone") || graph_operands(graph, op) != 1)
		return false;
	uint32_t result = graph_result(graph, op, 0);
	const struct tensor *of = &graph->tensor[result];
	FOR_ITEMS(user, &graph->users, of->storage) {
		FOR_SPAN(i, graph->inplace_start, user)
			if (graph->tensor[graph->inplace[i].in].storage == of->storage)
				return false;
		if (graph_operands(graph, user) != 1 || graph_operand(graph, user, 0) != result ||
			op_releases(&graph->op[user]))
			continue;
		uint32_t view = graph_result(graph, user, 0);
		const struct tensor *to = &graph->tensor[view];
		if (!text_begins(graph->op[user].type, "aten._unsafe_view") || same_but_ones(of, of->shape, to, to->shape) ||
			!same_but_ones(of, new_shape(scaling, result), to, new_shape(scaling, view)))
			return false;
		viewed = true;
	}
	return viewed;
}

/* Numbers new tensors and ops, and finds the new aliases: views of a clone or a sum are aliases of it. */
static void plan_tensors(struct scaling *scaling)
{
	const struct graph *graph = scaling->graph;
	uint32_t number = 0;
	FOR(t, graph->tensors)
		scaling->alias[t] = graph->tensor[t].alias;
	FOR(op, graph->ops) {
		uint32_t clone = scaling->clone[op] = scaling->copied[op] ? scaling->tensors++ : NONE;
		scaling->tensors += scaling->unfused[op];
		number += scaling->copied[op] + (uint32_t)scaling->unfused[op];
		scaling->number[op] = number++;
		FOR_ITEMS(result, &graph->writes, op) {
			uint32_t root = clone;
			FOR_ITEMS(read, &graph->reads, op)
				if (root == NONE && graph->tensor[read].storage == graph->tensor[result].storage)
					root = reads_sum(scaling, op, read) ? scaling->sum[read]
						: scaling->moved[read];
			if (is_needless(scaling, op)) {
				uint32_t from = graph_operand(graph, op, 0);
				root = scaling->moved[from] != NONE ? scaling->moved[from]
					: graph->storage[graph->tensor[from].storage].root;
				scaling->alias[result] = scaling->moved[result] = root;
			} else if (root != NONE && graph->tensor[result].alias != NONE) {
				scaling->alias[result] = scaling->moved[result] = root;
			}
			if (scaling->sum[result] != NONE) {
				scaling->sum[result] = scaling->tensors++;
				number++;
			}
		}
		for (uint32_t held = scaling->held[op]; held != NONE; held = scaling->next_held[held])
			number++;
	}
}

/* "name.suffix", made unique. */
static void scale_new_name(const char *name, const char *suffix, char *text, size_t size,
	uint32_t (*find)(const struct graph *, const char *), const struct graph *graph)
{
	snprintf(text, size, "%.400s.%s", name, suffix);
	for (int i = 2; find(graph, text) != NONE; i++)
		snprintf(text, size, "%.400s.%s%d", name, suffix, i);
}

/* An op of one operand and one result, or none, that isn't in the given graph. */
static enum status scale_add_op(struct scaling *scaling, const struct op *model, const char *type, const char *suffix,
	int64_t flops, uint32_t operand, uint32_t result)
{
	char name[450];
	scale_new_name(model->name, suffix, name, sizeof name, graph_find_op, scaling->graph);
	struct op op = { .name = name,
		.type = type,
		.module = model->module,
		.src = model->src,
		.flops = flops,
		.phase = model->phase,
		.has_phase = model->has_phase,
		.has_module = model->has_module };
	uint32_t id = draft_op(scaling->draft, &op);
	NEED(id != NONE);
	TRY(draft_read(scaling->draft, id, operand));
	return result == NONE ? OK : draft_write(scaling->draft, id, result);
}

/* A tensor like `model`, named after `of`. */
static bool scale_add_tensor(
	struct scaling *scaling, uint32_t model, const char *of, const char *suffix, const int64_t *shape, uint8_t kind)
{
	const struct tensor *from = &scaling->graph->tensor[model];
	struct tensor tensor = *from;
	char name[450];
	scale_new_name(of, suffix, name, sizeof name, graph_find_tensor, scaling->graph);
	tensor.name = name;
	tensor_forget(&tensor);
	tensor.places = NULL;
	tensor.shape = shape;
	tensor.bytes = scale_bytes_of(from, count_elements(shape, from->dims));
	tensor.alias = NONE;
	tensor.kind = kind;
	return draft_tensor(scaling->draft, &tensor) != NONE;
}

/* What a product makes before its bias is added. */
static bool scale_add_product(struct scaling *scaling, uint32_t op)
{
	const struct graph *graph = scaling->graph;
	uint32_t result = graph_result(graph, op, 0);
	return scale_add_tensor(scaling, result, graph->op[op].name, "product", new_shape(scaling, result), KIND_TEMPORARY);
}

static bool scale_write_tensors(struct scaling *scaling)
{
	const struct graph *graph = scaling->graph;
	FOR(t, graph->tensors) {
		struct tensor tensor = graph->tensor[t];
		tensor.shape = new_shape(scaling, t);
		tensor.bytes = scale_new_bytes(scaling, t);
		tensor.alias = scaling->alias[t];
		if (draft_tensor(scaling->draft, &tensor) == NONE)
			return false;
	}
	FOR(op, graph->ops) {
		uint32_t operand = scaling->copied[op] ? graph_operand(graph, op, 0) : NONE;
		if (operand != NONE) {
			uint8_t kind = graph->tensor[graph_result(graph, op, 0)].kind;
			if (kind_persistent(kind))
				kind = KIND_TEMPORARY;
			if (!scale_add_tensor(scaling, operand, graph->op[op].name, "copy", new_shape(scaling, operand), kind))
				return false;
		}
		if (scaling->unfused[op] && !scale_add_product(scaling, op))
			return false;
		FOR_ITEMS(result, &graph->writes, op) {
			int64_t shape[DIMS_MAX];
			if (scaling->sum[result] == NONE)
				continue;
			summed_shape(scaling, result, shape);
			if (!scale_add_tensor(scaling, result, graph->tensor[result].name, "sum", shape, graph->tensor[result].kind))
				return false;
		}
	}
	return true;
}

/* What a release reads now: PyTorch keeps for the backward pass what it copied, where all that was read of a storage
 * since is views of the copy. */
static uint32_t released(const struct scaling *scaling, uint32_t op, uint32_t tensor)
{
	const struct graph *graph = scaling->graph;
	uint32_t storage = graph->tensor[tensor].storage, clone = NONE;
	FOR_ITEMS(user, &graph->users, storage) {
		if (user >= op || op_releases(&graph->op[user]))
			continue;
		FOR_ITEMS(item, &graph->reads, user)
			if (graph->tensor[item].storage == storage && scaling->moved[item] == NONE)
				clone = scaling->clone[user];
	}
	return clone == NONE ? tensor : clone;
}

/* What an op reads in place of a tensor. clone: that before the op. */
static uint32_t scale_operand_of(
	const struct scaling *scaling, uint32_t op, uint32_t tensor, uint32_t first, uint32_t clone)
{
	if (scaling->copied[op] && tensor == first)
		return clone;
	if (reads_sum(scaling, op, tensor))
		return scaling->sum[tensor];
	return op_releases(&scaling->graph->op[op]) ? released(scaling, op, tensor) : tensor;
}

/* A linear layer whose operand isn't contiguous, as ATen runs it: a product, and an addition of the bias, whose
 * operands are left in `reads`. */
static enum status write_product(
	struct scaling *scaling, uint32_t op, struct op *addition, uint32_t product, uint32_t reads[2])
{
	const struct graph *graph = scaling->graph;
	const uint32_t *given = graph->reads.item + graph->reads.start[op];
	uint32_t result = graph_result(graph, op, 0);
	enum status status = scale_add_op(scaling, addition, "aten.mm.default", "product", addition->flops,
		scale_operand_of(scaling, op, given[1], NONE, NONE), product);
	THEN(status, draft_read(scaling->draft, scaling->number[op] - 1, scale_operand_of(scaling, op, given[2], NONE,
		NONE)));
	reads[0] = product;
	reads[1] = scale_operand_of(scaling, op, given[0], NONE, NONE);
	addition->type = "aten.add.Tensor";
	addition->flops = count_elements(new_shape(scaling, result), graph->tensor[result].dims);
	addition->arguments = NULL;
	addition->workspace = 0;
	return status;
}

static enum status scale_write_op(struct scaling *scaling, uint32_t op, uint32_t *clone)
{
	const struct graph *graph = scaling->graph;
	struct draft *draft = scaling->draft;
	struct op copy = graph->op[op];
	uint32_t first = graph_operands(graph, op) > 0 ? graph_operand(graph, op, 0) : NONE;
	if (scaling->copied[op]) {
		int64_t elements = count_elements(new_shape(scaling, first), graph->tensor[first].dims);
		TRY(scale_add_op(scaling, &copy, "aten.clone.default", "copy", elements, first, *clone));
		if (text_begins(copy.type, "aten._reshape_alias"))
			copy.type = "aten._unsafe_view.default";
	}
	copy.flops = scaling->flops[op];
	if (is_needless(scaling, op)) {
		copy.type = "aten.alias.default";
		copy.arguments = NULL;
		copy.flops = 0;
	}
	if (copy.workspace > 0 && first != NONE && touches_changed(scaling, op))
		copy.workspace = scale_ratio(copy.workspace, scale_new_bytes(scaling, first), graph->tensor[first].bytes);
	uint32_t parts[2];
	if (scaling->unfused[op])
		TRY(write_product(scaling, op, &copy, (*clone)++, parts));
	uint32_t id = draft_op(draft, &copy);
	NEED(id != NONE);
	FOR_WHILE(i, 2, scaling->unfused[op])
		TRY(draft_read(draft, id, parts[i]));
	FOR_ITEMS(read, &graph->reads, op)
		if (!scaling->unfused[op])
			TRY(draft_read(draft, id, scale_operand_of(scaling, op, read, first, *clone)));
	*clone += scaling->copied[op];
	FOR_ITEMS(written, &graph->writes, op)
		TRY(draft_write(draft, id, written));
	FOR_SPAN(i, graph->inplace_start, op)
		TRY(draft_inplace(draft, id, graph->inplace[i].out, graph->inplace[i].in));
	FOR_ITEMS(result, &graph->writes, op) {
		if (scaling->sum[result] == NONE)
			continue;
		int64_t elements = count_elements(new_shape(scaling, result), graph->tensor[result].dims);
		TRY(scale_add_op(scaling, &graph->op[op], "aten.sum.dim_IntList", "sum", elements, result, (*clone)++));
	}
	for (uint32_t held = scaling->held[op]; held != NONE; held = scaling->next_held[held])
		TRY(scale_add_op(
			scaling, &graph->op[held], RELEASE_TYPE, "release", 0, graph_operand(graph, held, 0), NONE));
	return OK;
}

static enum status scale_write_graph(struct scaling *scaling)
{
	const struct graph *graph = scaling->graph;
	struct about about = graph->about;
	if ((about.batch > 0 || scaling->flat > 0) && scaling->request->batch > 0)
		about.batch = scaling->request->batch;
	if (about.sequence > 0 && scaling->request->sequence > 0)
		about.sequence = scaling->request->sequence;
	if (draft_describe(scaling->draft, graph->name, graph->source, graph->extra, &about) != OK ||
		!scale_write_tensors(scaling))
		return NO_MEMORY;
	uint32_t next = graph->tensors;
	FOR(op, graph->ops)
		TRY(scale_write_op(scaling, op, &next));
	FOR(op, graph->ops)
		FOR_ITEMS(item, &graph->after, op)
			TRY(draft_after(scaling->draft, scaling->number[op], scaling->number[item]));
	return OK;
}

static enum status check_shapes_known(const struct graph *graph, struct error *error)
{
	FOR(t, graph->tensors)
		if (!graph->tensor[t].shape)
			return refuse(error, "the shape of tensor %s is unknown", graph->tensor[t].name);
	return OK;
}

static enum status scale_scale(struct scaling *scaling, struct graph **scaled)
{
	const struct graph *graph = scaling->graph;
	enum status status = check_shapes_known(graph, scaling->error);
	if (scaling->request->batch > 0 && scaling->request->sequence == 0 && scale_flat(graph, scaling->factors))
		scaling->flat = scale_given_batch(graph, scaling->factors);
	THEN(status, scaling->flat > 0 ? scale_flat_values(graph, scaling->factors, scaling->request->batch,
		&scaling->values, scaling->error) : scale_values_find( graph, scaling->rules, scaling->factors,
		scaling->request, &scaling->values, scaling->error));
	THEN(status, !scale_allocate(scaling) ? NO_MEMORY : scaling->flat > 0 ? OK : scale_find_sums(scaling));
	FOR_WHILE(op, graph->ops, status == OK)
		status = scale_check_op(scaling, op);
	if (status == OK && scaling->flat == 0)
		status = strides_find_copies(
			graph, scaling->rules, scaling->factors->dim_start, scaling->values.shape, scaling->copied);
	TRY(status);
	view_sums(scaling);
	count_copies(scaling);
	FOR(t, graph->tensors)
		scaling->report->sums += scaling->sum[t] != NONE;
	if (scaling->flat == 0 && !scale_count_once(scaling))
		return NO_MEMORY;
	scaling->report->flat = scaling->flat > 0;
	scaling->report->capacities = scaling->values.capacities;
	scaling->report->reserves = scaling->values.reserves;
	scaling->tensors = graph->tensors;
	scale_find_held(scaling);
	plan_tensors(scaling);
	count_left_behind(scaling);
	scaling->draft = draft_new();
	TRY(scaling->draft ? scale_write_graph(scaling) : NO_MEMORY);
	*scaled = graph_build(scaling->draft, scaling->error);
	return *scaled ? OK : scaling->error->status;
}

enum status graph_scale(const struct graph *graph, const struct rules *rules, const struct factors *factors,
	const struct scale_request *request, struct scale_report *report, struct graph **scaled, struct error *error)
{
	struct scaling scaling = {
		.graph = graph, .rules = rules, .factors = factors, .request = request, .report = report, .error = error
	};
	*report = (struct scale_report) { .first_copy = NONE, .first_once = NONE };
	*scaled = NULL;
	enum status status = scale_scale(&scaling, scaled);
	draft_free(scaling.draft);
	arena_free(&scaling.values.arena);
	arena_free(&scaling.arena);
	binding_free(&scaling.binding);
	return status;
}
