/* optimizer.c: replacing the update phase of a training step.
 *
 * Update ops hang together by the storages that they share, gradients left out: a group updates one parameter. The
 * gradient is what the group reads of the backward pass.
 */
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "optimizer.h"

struct group {
	uint32_t parameter, gradient;  /* tensors of the step */
	uint32_t states;               /* state tensors with more than one element */
	int64_t state_bytes;
	uint32_t weight_writes;        /* ops that write the parameter */
	bool divides;                  /* has an addcdiv_: Adam's last op */
};

struct analysis {
	const struct graph *step;
	const struct rules *rules;
	struct arena arena;
	uint32_t *leader;      /* [storages] union-find over the storages of the update */
	uint32_t *group_of;    /* [storages] of a leader: its group, or NONE */
	struct group *group;
	uint32_t groups;
};

static uint32_t leader(struct analysis *analysis, uint32_t storage)
{
	uint32_t *up = analysis->leader;
	while (up[storage] != storage)
		storage = up[storage] = up[up[storage]];
	return storage;
}

/* Releases stand wherever something else happens: they update nothing. */
static bool is_update(const struct graph *graph, uint32_t op)
{
	return graph->op[op].phase == PHASE_UPDATE && !op_releases(&graph->op[op]);
}

static bool goes_with_update(const struct graph *graph, uint32_t op)
{
	return graph->op[op].phase == PHASE_UPDATE;
}

/* A storage that doesn't tie the ops that touch it together: a gradient, an input, or a scalar that all may share
 * (step count, learning rate, overflow flag). */
static bool is_outside(const struct graph *graph, uint32_t storage)
{
	const struct storage *record = &graph->storage[storage];
	uint32_t allocator = graph->tensor[record->root].writer;
	if (record->kind == KIND_PARAMETER)
		return false;
	if (record->kind == KIND_OPTIMIZER || (allocator != NONE && is_update(graph, allocator)))
		return record->bytes <= 8;
	return true;
}

static bool is_gradient(const struct graph *graph, uint32_t tensor)
{
	uint32_t storage = graph->tensor[tensor].storage, allocator = graph->tensor[graph->storage[storage].root].writer;
	return is_outside(graph, storage) && !graph->storage[storage].persistent && graph->tensor[tensor].bytes > 8 &&
		(allocator == NONE || !is_update(graph, allocator));
}

/* The tensor as the backward pass left it: names that in-place ops of the update gave it are followed back. */
static uint32_t before_update(const struct graph *graph, uint32_t tensor)
{
	uint32_t writer = graph->tensor[tensor].writer;
	while (writer != NONE && is_update(graph, writer)) {
		uint32_t before = NONE;
		for (uint32_t i = graph->inplace_start[writer]; i < graph->inplace_start[writer + 1]; i++)
			if (graph->inplace[i].out == tensor)
				before = graph->inplace[i].in;
		if (before == NONE)
			return graph->storage[graph->tensor[tensor].storage].root;
		tensor = before;
		writer = graph->tensor[tensor].writer;
	}
	return tensor;
}

static void join_storages(struct analysis *analysis)
{
	const struct graph *graph = analysis->step;
	for (uint32_t s = 0; s < graph->storages; s++)
		analysis->leader[s] = s;
	for (uint32_t op = 0; op < graph->ops; op++) {
		uint32_t first = NONE;
		if (!is_update(graph, op))
			continue;
		FOR_ROW(i, &graph->touches, op) {
			uint32_t storage = graph->touches.item[i];
			if (is_outside(graph, storage))
				continue;
			if (first != NONE)
				analysis->leader[leader(analysis, storage)] = leader(analysis, first);
			first = storage;
		}
	}
}

/* The group of an update op, begun with its first op; NULL when out of memory or where the op touches nothing of its own. */
static struct group *group_of(struct analysis *analysis, uint32_t op)
{
	const struct graph *graph = analysis->step;
	FOR_ROW(i, &graph->touches, op) {
		uint32_t storage = graph->touches.item[i];
		if (is_outside(graph, storage))
			continue;
		uint32_t top = leader(analysis, storage);
		if (analysis->group_of[top] == NONE) {
			analysis->group_of[top] = analysis->groups;
			analysis->group[analysis->groups++] = (struct group){ .parameter = NONE, .gradient = NONE };
		}
		return &analysis->group[analysis->group_of[top]];
	}
	return NULL;
}

static bool writes_storage(const struct graph *graph, uint32_t op, uint32_t storage)
{
	for (uint32_t i = graph->inplace_start[op]; i < graph->inplace_start[op + 1]; i++)
		if (graph->tensor[graph->inplace[i].in].storage == storage)
			return true;
	return false;
}

/* What an update op says of its group. */
static enum status note_op(struct analysis *analysis, struct group *group, uint32_t op, struct error *error)
{
	const struct graph *graph = analysis->step;
	group->divides |= (rules_traits(analysis->rules, graph->op[op].type) & TRAIT_DIVIDES) != 0;
	FOR_ROW(i, &graph->touches, op) {
		uint32_t storage = graph->touches.item[i], root = graph->storage[storage].root;
		if (graph->storage[storage].kind != KIND_PARAMETER || !writes_storage(graph, op, storage))
			continue;
		if (group->parameter != NONE && group->parameter != root)
			return fail(error, BAD_INPUT, "the update can't be replaced: it changes \"%.100s\" and \"%.100s\" together",
				graph->tensor[group->parameter].name, graph->tensor[root].name);
		group->parameter = root;
		group->weight_writes++;
	}
	FOR_ROW(i, &graph->reads, op) {
		if (!is_gradient(graph, graph->reads.item[i]))
			continue;
		uint32_t tensor = before_update(graph, graph->reads.item[i]);
		if (group->gradient != NONE && group->gradient != tensor)
			return fail(error, BAD_INPUT, "the update can't be replaced: it reads \"%.100s\" and \"%.100s\", only one of which can be the gradient",
				graph->tensor[group->gradient].name, graph->tensor[tensor].name);
		group->gradient = tensor;
	}
	return OK;
}

/* A gradient of one element is not told from a scalar by its size: take what the update reads of the backward pass. */
static void find_small_gradient(struct analysis *analysis, struct group *group)
{
	const struct graph *graph = analysis->step;
	uint32_t top = leader(analysis, graph->tensor[group->parameter].storage);
	for (uint32_t op = 0; op < graph->ops && group->gradient == NONE; op++) {
		if (!is_update(graph, op))
			continue;
		bool ours = false;
		FOR_ROW(i, &graph->touches, op)
			ours |= !is_outside(graph, graph->touches.item[i]) && leader(analysis, graph->touches.item[i]) == top;
		FOR_ROW(i, &graph->reads, op) {
			uint32_t tensor = graph->reads.item[i], writer = graph->tensor[tensor].writer;
			if (ours && writer != NONE && graph->op[writer].phase == PHASE_BACKWARD &&
			    graph->tensor[tensor].bytes == graph->tensor[group->parameter].bytes)
				group->gradient = tensor;
		}
	}
}

/* Update ops that work on gradients and belong to no parameter: clipping, say. Loss scaling's check is written anew. */
static enum status check_strays(const struct analysis *analysis, const struct group *group, uint32_t op,
	struct error *error)
{
	const struct graph *graph = analysis->step;
	if ((group && group->parameter != NONE) || (rules_traits(analysis->rules, graph->op[op].type) & TRAIT_UNSCALES))
		return OK;
	FOR_ROW(i, &graph->reads, op)
		if (is_gradient(graph, graph->reads.item[i]))
			return fail(error, BAD_INPUT, "the update can't be replaced: \"%.100s\" works on gradients but updates no parameter",
				graph->op[op].name);
	return OK;
}

static enum status find_groups(struct analysis *analysis, struct error *error)
{
	const struct graph *graph = analysis->step;
	analysis->leader = arena_alloc(&analysis->arena, graph->storages, sizeof *analysis->leader);
	analysis->group_of = arena_alloc(&analysis->arena, graph->storages, sizeof *analysis->group_of);
	analysis->group = arena_alloc(&analysis->arena, graph->storages, sizeof *analysis->group);
	if (!analysis->leader || !analysis->group_of || !analysis->group)
		return fail_memory(error);
	for (uint32_t s = 0; s < graph->storages; s++)
		analysis->group_of[s] = NONE;
	join_storages(analysis);
	for (uint32_t op = 0; op < graph->ops; op++) {
		struct group *group = is_update(graph, op) ? group_of(analysis, op) : NULL;
		enum status status = group ? note_op(analysis, group, op, error) : OK;
		if (status != OK)
			return status;
	}
	for (uint32_t op = 0; op < graph->ops; op++) {
		enum status status = is_update(graph, op) ? check_strays(analysis, group_of(analysis, op), op, error) : OK;
		if (status != OK)
			return status;
	}
	for (uint32_t s = 0; s < graph->storages; s++) {
		uint32_t index = analysis->group_of[leader(analysis, s)];
		if (index != NONE && graph->storage[s].kind == KIND_OPTIMIZER && graph->storage[s].bytes > 8) {
			analysis->group[index].states++;
			analysis->group[index].state_bytes += graph->storage[s].bytes;
		}
	}
	return OK;
}

/* The optimizer that a group's state and ops belong to. */
static enum optimizer optimizer_of_group(const struct graph *step, const struct group *group)
{
	int64_t bytes = step->tensor[group->parameter].bytes;
	if (group->divides && group->states >= 2 && group->state_bytes >= 2 * bytes)
		return group->weight_writes > 1 ? OPTIMIZER_ADAMW : OPTIMIZER_ADAM;
	if (group->divides)
		return OPTIMIZER_COUNT;
	if (group->states == 0)
		return OPTIMIZER_SGD;
	if (group->states == 1 && group->state_bytes == bytes)
		return OPTIMIZER_MOMENTUM;
	return group->states == 2 && group->state_bytes < bytes ? OPTIMIZER_ADAFACTOR : OPTIMIZER_COUNT;
}

/* That of the largest parameter: small ones may have state that doesn't tell. */
static enum optimizer known_optimizer(const struct analysis *analysis)
{
	const struct group *largest = NULL;
	for (uint32_t i = 0; i < analysis->groups; i++) {
		const struct group *group = &analysis->group[i];
		if (group->parameter != NONE && (!largest ||
		    analysis->step->tensor[group->parameter].bytes > analysis->step->tensor[largest->parameter].bytes))
			largest = group;
	}
	return largest ? optimizer_of_group(analysis->step, largest) : OPTIMIZER_NONE;
}

enum optimizer optimizer_of(const struct graph *step, const struct rules *rules)
{
	struct analysis analysis = { .step = step, .rules = rules };
	struct error error = { 0 };
	enum optimizer optimizer = find_groups(&analysis, &error) == OK ? known_optimizer(&analysis) : OPTIMIZER_COUNT;
	arena_free(&analysis.arena);
	return optimizer;
}

/* ---- the step without its update ---------------------------------------------------------------------- */

/* Ops and tensors of the other phases; what only the update touches is left out. */
static struct graph *without_update(const struct graph *step, struct error *error)
{
	struct arena arena = { 0 };
	struct build build = { .draft = draft_new(), .op = NONE };
	uint32_t *tensor = arena_alloc(&arena, step->tensors, sizeof *tensor), *op = arena_alloc(&arena, step->ops, sizeof *op);
	struct graph *result = NULL;
	enum status status = build.draft && tensor && op ? OK : NO_MEMORY;
	for (uint32_t t = 0; t < step->tensors && status == OK; t++) {
		const struct tensor *record = &step->tensor[t];
		uint32_t writer = record->writer;
		bool dropped = (writer != NONE && is_update(step, writer)) || step->storage[record->storage].kind == KIND_OPTIMIZER;
		tensor[t] = dropped ? NONE : draft_tensor(build.draft, record);
		status = dropped || tensor[t] != NONE ? OK : NO_MEMORY;
	}
	for (uint32_t t = 0; t < step->tensors && status == OK; t++)
		if (tensor[t] != NONE && step->tensor[t].alias != NONE)
			draft_tensor_at(build.draft, tensor[t])->alias = tensor[step->storage[step->tensor[t].storage].root];
	for (uint32_t i = 0; i < step->ops && status == OK; i++) {
		op[i] = goes_with_update(step, i) ? NONE : build_copy_op(&build, step, i, tensor);
		status = build.status;
	}
	if (status == OK) {
		build_copy_control(&build, step, op);
		status = build.status != OK ? build.status : draft_describe(build.draft, step->name, step->source, step->extra, &step->about);
	}
	if (status == OK)
		result = graph_build(build.draft, error);
	else
		fail(error, status, "out of memory");
	draft_free(build.draft);
	arena_free(&arena);
	return result;
}

/* ---- the new update --------------------------------------------------------------------------------------- */

/* The ops of a graph with the gradient of each group taken to where the update reads it, then the updates. */
static void write_update(struct build *build, const struct graph *graph, const struct update_options *options,
	const uint32_t *parameter, uint32_t *gradient, uint32_t count, uint32_t *identity, uint32_t *group_at, uint32_t *op)
{
	for (uint32_t t = 0; t < graph->tensors && build->status == OK; t++) {
		identity[t] = draft_tensor(build->draft, &graph->tensor[t]);
		group_at[t] = NONE;
		if (identity[t] == NONE)
			build->status = NO_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++)
		group_at[gradient[i]] = i;
	for (uint32_t i = 0; i < graph->ops && build->status == OK; i++) {
		op[i] = build_copy_op(build, graph, i, identity);
		build->phase = graph->op[i].phase;
		build->module = graph->op[i].module;
		build->src = graph->op[i].src;
		FOR_ROW(j, &graph->writes, i) {
			uint32_t group = group_at[graph->writes.item[j]];
			if (group != NONE)
				gradient[group] = update_gradient(build, options, parameter[group], gradient[group]);
		}
	}
	build_copy_control(build, graph, op);
	build->phase = PHASE_UPDATE;
	update_all(build, options, parameter, gradient, count);
}

/* Whether the step keeps gradients longer than their update needs them: until zero_grad(). */
static bool keeps_gradients(const struct graph *step)
{
	for (uint32_t op = 0; op < step->ops; op++)
		if (op_releases(&step->op[op]) && goes_with_update(step, op) && is_gradient(step, step->reads.item[step->reads.start[op]]))
			return true;
	return false;
}

static void release_gradients(struct build *build, const uint32_t *gradient, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		build_op(build, RELEASE_TYPE, IN(gradient[i]));
}

static struct graph *with_update(const struct graph *graph, const struct analysis *analysis,
	const struct update_options *options,
	struct error *error)
{
	struct arena arena = { 0 };
	struct build build = { .draft = draft_new(), .source = graph, .rules = analysis->rules, .op = NONE };
	uint32_t *parameter = arena_alloc(&arena, analysis->groups, sizeof *parameter);
	uint32_t *gradient = arena_alloc(&arena, analysis->groups, sizeof *gradient), count = 0;
	uint32_t *kept = arena_alloc(&arena, analysis->groups, sizeof *kept);
	uint32_t *identity = arena_alloc(&arena, graph->tensors, sizeof *identity);
	uint32_t *group_at = arena_alloc(&arena, graph->tensors, sizeof *group_at), *op = arena_alloc(&arena, graph->ops,
		sizeof *op);
	struct graph *result = NULL;
	enum status status = build.draft && parameter && gradient && kept && identity && group_at && op ? OK : NO_MEMORY;
	for (uint32_t i = 0; i < analysis->groups && status == OK; i++) {
		const struct group *group = &analysis->group[i];
		if (group->parameter == NONE)
			continue;
		parameter[count] = graph_find_tensor(graph, analysis->step->tensor[group->parameter].name);
		gradient[count++] = graph_find_tensor(graph, analysis->step->tensor[group->gradient].name);
	}
	if (status == OK) {
		memcpy(kept, gradient, count * sizeof *kept);
		write_update(&build, graph, options, parameter, gradient, count, identity, group_at, op);
		if (keeps_gradients(analysis->step))
			release_gradients(&build, kept, count);
		build_finish(&build);
		status = build.status != OK ? build.status : draft_describe(build.draft, graph->name, graph->source, graph->extra, &graph->about);
	}
	if (status == OK)
		result = graph_build(build.draft, error);
	else
		fail(error, status, status == BAD_INPUT ? "a tensor of the update is too large" : "out of memory");
	draft_free(build.draft);
	arena_free(&arena);
	return result;
}

static enum status check_groups(struct analysis *analysis, const struct optimizer_change *change, enum optimizer *optimizer,
	struct error *error)
{
	uint32_t parameters = 0;
	*optimizer = change->same_optimizer ? known_optimizer(analysis) : change->update.optimizer;
	for (uint32_t i = 0; i < analysis->groups; i++) {
		struct group *group = &analysis->group[i];
		if (group->parameter == NONE)
			continue;
		parameters++;
		if (group->gradient == NONE)
			find_small_gradient(analysis, group);
		if (group->gradient == NONE)
			return fail(error, BAD_INPUT, "the update can't be replaced: the gradient of \"%.200s\" can't be told",
				analysis->step->tensor[group->parameter].name);
	}
	if (!parameters)
		return fail(error, BAD_INPUT, "the update can't be replaced: the graph has no update ops that write a parameter");
	if (*optimizer == OPTIMIZER_COUNT)
		return fail(error, BAD_INPUT, "the step's own optimizer isn't known: set optimizer to say which one to use");
	return OK;
}

/* What the step does besides its optimizer: parameters below 32 bits are written from copies that it keeps, and gradients are unscaled. */
static void keep_practice(const struct graph *step, const struct rules *rules, struct update_options *update)
{
	for (uint32_t op = 0; op < step->ops; op++) {
		update->loss_scaling |= (rules_traits(rules, step->op[op].type) & TRAIT_UNSCALES) != 0;
		for (uint32_t i = step->inplace_start[op]; i < step->inplace_start[op + 1]; i++) {
			const struct tensor *written = &step->tensor[step->inplace[i].in];
			if (step->storage[written->storage].kind != KIND_PARAMETER || dtype_bits[written->dtype] >= 32)
				continue;
			FOR_ROW(j, &step->reads, op) {
				const struct tensor *read = &step->tensor[step->reads.item[j]];
				update->master |= step->storage[read->storage].kind == KIND_OPTIMIZER && read->dtype == DTYPE_F32 && csr_length(&step->reads, op) == 2
					&& read->dims == written->dims && read->bytes * dtype_bits[written->dtype] == written->bytes * 32;
			}
		}
	}
}

struct graph *optimizer_replace(const struct graph *step, const struct rules *rules, const struct optimizer_change *change,
	struct error *error)
{
	struct analysis analysis = { .step = step, .rules = rules };
	struct update_options update = change->update;
	struct graph *graph = NULL;
	if (change->precision == PRECISION_GIVEN)
		keep_practice(step, rules, &update);
	enum status status = find_groups(&analysis, error);
	if (status == OK)
		status = check_groups(&analysis, change, &update.optimizer, error);
	if (error_set(error, status) == OK)
		graph = without_update(step, error);
	if (graph && change->precision != PRECISION_GIVEN) {
		struct graph *converted = precision_apply(graph, rules, change->precision, error);
		graph_release(graph);
		graph = converted;
	}
	if (graph) {
		struct graph *result = with_update(graph, &analysis, &update, error);
		graph_release(graph);
		graph = result;
	}
	arena_free(&analysis.arena);
	return graph;
}
