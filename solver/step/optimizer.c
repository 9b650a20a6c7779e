/* optimizer.c: replacing the update phase of a training step. */

#include "optimizer.h"

/* That of the largest parameter: small ones may have state that doesn't tell. Muon leaves tables to another one. */
static enum optimizer known_optimizer(const struct update_groups *groups)
{
	const struct update_group *largest = NULL;
	FOR(i, groups->groups) {
		const struct update_group *group = &groups->group[i];
		if (!largest || groups->step->tensor[group->parameter].bytes > groups->step->tensor[largest->parameter].bytes)
			largest = group;
		if (!groups->marked && update_group_optimizer(groups->step, group) == OPTIMIZER_MUON)
			return OPTIMIZER_MUON;
	}
	return largest && !groups->marked ? update_group_optimizer(groups->step, largest) : OPTIMIZER_NONE;
}

enum optimizer optimizer_of(const struct graph *step, const struct rules *rules)
{
	struct update_groups groups;
	struct error error = { 0 };
	enum optimizer optimizer = update_groups_find(step, rules, &groups, &error) == OK ? known_optimizer(&groups)
		: OPTIMIZER_COUNT;
	update_groups_free(&groups);
	return optimizer;
}

/* ---- the step without its update ---- */

struct replacement {
	const struct update_groups *groups;
	const struct update_options *options;
	bool keeps_strays; /* ops of the phase that update no parameter stay: clipping, unscaling, zeroing */
	bool *dropped;     /* [ops] of the step */
	bool *gradient;    /* [storages] that of a group's gradient */
	uint32_t *anchor;  /* [groups] the op of the step that stays and comes next, or NONE */
	struct arena arena;
};

/* Whether an op of the step goes: it updates parameters, or marks the end of what only such ops made. */
static bool op_goes(const struct replacement *replacement, uint32_t op)
{
	const struct update_groups *groups = replacement->groups;
	const struct graph *step = groups->step;
	if (step->op[op].phase != PHASE_UPDATE)
		return false;
	if (!op_releases(&step->op[op]))
		return groups->updates[op] || !replacement->keeps_strays;
	uint32_t storage = step->tensor[graph_operand(step, op, 0)].storage,
			 allocator = step->storage[storage].allocator;
	if (allocator != NONE && step->op[allocator].phase == PHASE_UPDATE)
		return groups->updates[allocator] || !replacement->keeps_strays;
	return replacement->options->accumulate && replacement->gradient[storage];
}

/* Whether a storage goes: what only dropped ops touch, but for inputs, parameters and buffers. */
static bool storage_goes(const struct replacement *replacement, uint32_t storage)
{
	const struct graph *step = replacement->groups->step;
	enum kind kind = step->storage[storage].kind;
	bool update = kind == KIND_OPTIMIZER;
	FOR_ITEMS(user, &step->users, storage) {
		if (!replacement->dropped[user])
			return kind == KIND_OPTIMIZER && !replacement->keeps_strays;
		update = true;
	}
	return update && (kind == KIND_OPTIMIZER || kind == KIND_CONSTANT || step->storage[storage].allocator != NONE);
}

static bool prepare_replacement(struct replacement *replacement)
{
	const struct update_groups *groups = replacement->groups;
	uint32_t ops = groups->step->ops, next = NONE, group = groups->groups;
	if (!(ROOM(&replacement->arena, replacement->dropped, ops) &&
		ROOM(&replacement->arena, replacement->gradient, groups->step->storages) &&
		ROOM(&replacement->arena, replacement->anchor, groups->groups)))
		return false;
	FOR(i, groups->groups)
		replacement->gradient[groups->step->tensor[groups->group[i].gradient].storage] = true;
	for (; group > 0 && groups->group[group - 1].first == NONE; group--)
		replacement->anchor[group - 1] = NONE;
	FOR_DOWN(op, ops) {
		replacement->dropped[op] = op_goes(replacement, op);
		next = replacement->dropped[op] ? next : op;
		for (; group > 0 && groups->group[group - 1].first >= op; group--)
			replacement->anchor[group - 1] = next;
	}
	return true;
}

/* The tensor of the step that stands for another one: itself, or of a name that a dropped op gave to memory that stays,
 * the name before. NONE: it goes. */
static uint32_t kept_tensor(const struct replacement *replacement, uint32_t tensor)
{
	const struct graph *step = replacement->groups->step;
	for (uint32_t writer = step->tensor[tensor].writer; writer != NONE && replacement->dropped[writer];
		writer = step->tensor[tensor].writer) {
		uint32_t before = graph_written_over(step, writer, tensor);
		if (before == NONE)
			return NONE;
		tensor = before;
	}
	return storage_goes(replacement, step->tensor[tensor].storage) ? NONE : tensor;
}

/* What stays must not read what goes. */
static enum status optimizer_check_reads(
	const struct replacement *replacement, uint32_t op, const uint32_t *tensor, struct error *error)
{
	const struct graph *step = replacement->groups->step;
	FOR_ITEMS(item, &step->reads, op)
		if (tensor[item] == NONE)
			return refuse(error,
				"the update can't be replaced: \"%.100s\" reads \"%.100s\", which belongs to it", step->op[op].name,
				step->tensor[item].name);
	return OK;
}

/* Aliases and kinds of tensors that stay; what stands for one that doesn't. */
static void optimizer_settle_tensors(const struct replacement *replacement, struct build *build, uint32_t *tensor)
{
	const struct graph *step = replacement->groups->step;
	FOR(t, step->tensors) {
		if (tensor[t] != NONE && step->tensor[t].alias != NONE)
			draft_tensor_at(build->draft, tensor[t])->alias = tensor[graph_home(step, t)->root];
		if (replacement->groups->marked && replacement->gradient[step->tensor[t].storage] &&
			replacement->options->optimizer != OPTIMIZER_NONE)
			draft_tensor_at(build->draft, tensor[t])->kind = KIND_GRADIENT; /* the update takes what the step left */
	}
	FOR(t, step->tensors) {
		uint32_t kept = tensor[t] == NONE ? kept_tensor(replacement, t) : NONE;
		tensor[t] = kept != NONE ? tensor[kept] : tensor[t];
	}
}

/* Ops and tensors that stay; what only dropped ops touch is left out. */
static struct graph *without_update(struct replacement *replacement, struct error *error)
{
	const struct graph *step = replacement->groups->step;
	struct build build = { 0 };
	uint32_t *tensor = NULL, *op = NULL;
	enum status status = OK; /* of what stays */
	build_copy_begin(&build, step, &replacement->arena, &tensor, &op);
	FOR_WHILE(t, step->tensors, build.status == OK)
		tensor[t] = kept_tensor(replacement, t) == t ? build_add_tensor(&build, &step->tensor[t]) : NONE;
	if (build.status == OK)
		optimizer_settle_tensors(replacement, &build, tensor);
	FOR_WHILE(i, step->ops, build.status == OK && status == OK) {
		bool stays = !replacement->dropped[i];
		status = stays ? optimizer_check_reads(replacement, i, tensor, error) : OK;
		op[i] = stays && status == OK ? build_copy_op(&build, step, i, tensor) : NONE;
	}
	if (status != OK) {
		draft_free(build.draft);
		return NULL;
	}
	build_copy_control(&build, step, op);
	return build_like(&build, step, error);
}

/* ---- the new update ---- */

struct updates {
	const struct replacement *replacement;
	uint32_t count, written; /* parameters; those whose update is written */
	uint32_t *parameter, *gradient,
		*arrived; /* [count] tensors of the draft; the gradient as the backward pass made it */
	struct eager_parameter *eager;
	uint32_t *identity, *op;   /* [tensors], [ops] of the graph */
	uint32_t *group_at, *next; /* [tensors] the first group whose gradient it is, or NONE; [count] the next */
	uint32_t *before;          /* [count] the op of the graph that comes next, or how many there are */
	uint32_t late;             /* the first op of the graph that reads what updates give, or how many there are */
};

/* Whether the step keeps a group's gradient longer than its update needs it, until zero_grad(), without saying so. */
static bool is_kept(const struct replacement *replacement, uint32_t group)
{
	const struct graph *step = replacement->groups->step;
	uint32_t storage = step->tensor[replacement->groups->group[group].gradient].storage;
	if (replacement->groups->marked)
		return replacement->options->optimizer != OPTIMIZER_NONE;
	if (step->storage[storage].live_out)
		return false;
	FOR_ITEMS(user, &step->users, storage)
		if (op_releases(&step->op[user]))
			return replacement->options->accumulate;
	return replacement->groups->eager;
}

static void release_gradients(struct build *build, const struct updates *updates, uint32_t from, uint32_t count)
{
	FOR_FROM(i, from, from + count)
		if (is_kept(updates->replacement, i))
			build_op(build, RELEASE_TYPE,
				IN(updates->replacement->options->accumulate ? updates->gradient[i] : updates->arrived[i]));
}

/* The updates of so many more parameters, where the step had them. */
static void write_updates(struct build *build, struct updates *updates, uint32_t count)
{
	const struct update_groups *groups = updates->replacement->groups;
	const struct update_options *options = updates->replacement->options;
	uint32_t from = updates->written;
	build->phase = PHASE_UPDATE;
	if (options->loss_scaling && from == 0)
		update_unscale(build, updates->parameter, updates->gradient, updates->count);
	FOR_FROM(i, from, from + count)
		updates->eager[i] = (struct eager_parameter){ updates->parameter[i], updates->gradient[i],
			groups->group[i].call, groups->group[i].way };
	eager_update_all(build, options, updates->eager + from, count);
	release_gradients(build, updates, from, count);
	updates->written += count;
}

static void take_gradients(struct build *build, struct updates *updates, uint32_t tensor)
{
	for (uint32_t group = updates->group_at[tensor]; group != NONE; group = updates->next[group])
		updates->gradient[group] = update_gradient(
			build, updates->replacement->options, updates->parameter[group], updates->gradient[group]);
}

/* All updates in one, where the optimizer has no order of its own. */
static void write_together(struct build *build, struct updates *updates)
{
	build->phase = PHASE_UPDATE;
	update_all(build, updates->replacement->options, updates->parameter, updates->gradient, updates->count);
	release_gradients(build, updates, 0, updates->count);
}

static bool keeps_places(const struct replacement *replacement)
{
	return replacement->groups->eager && eager_update_known(replacement->options->optimizer);
}

/* The ops of a graph with the gradient of each group taken to where the update reads it, and the updates where they
 * were, or together. */
static void optimizer_write_step(struct build *build, const struct graph *graph, struct updates *updates)
{
	const struct replacement *replacement = updates->replacement;
	bool eager = keeps_places(replacement);
	for (uint32_t i = 0; i <= graph->ops && build->status == OK; i++) {
		uint32_t here = 0;
		if (!eager && i == updates->late && i < graph->ops)
			write_together(build, updates);
		while (eager && updates->written + here < updates->count && updates->before[updates->written + here] <= i)
			here++;
		if (here)
			write_updates(build, updates, here);
		if (i == graph->ops)
			break;
		updates->op[i] = build_copy_op(build, graph, i, updates->identity);
		build_beside(build, &graph->op[i]);
		FOR_ITEMS(written, &graph->writes, i)
			take_gradients(build, updates, written);
	}
	build_copy_control(build, graph, updates->op);
	build->phase = PHASE_UPDATE;
	FOR_WHILE(s, graph->storages, eager)
		if (graph->storage[s].kind == KIND_PARAMETER && csr_length(&graph->users, s) == 0)
			eager_update_idle(build, replacement->options, updates->identity[graph->storage[s].root]);
	if (!eager && updates->late == graph->ops)
		write_together(build, updates);
}

static bool frees_gradient(const struct graph *graph, const struct updates *updates, uint32_t op)
{
	uint32_t freed = graph->tensor[graph_operand(graph, op, 0)].storage;
	FOR(i, updates->count)
		if (graph->tensor[updates->arrived[i]].storage == freed)
			return true;
	return false;
}

/* Ops that read what the update gives, averages of parameters say, come behind it. OK, or BAD_INPUT: updates that are
 * written together can't all be before the first of them. */
static enum status find_late(const struct graph *graph, struct updates *updates, struct error *error)
{
	const struct replacement *replacement = updates->replacement;
	const struct graph *step = replacement->groups->step;
	updates->late = graph->ops;
	FOR_WHILE(op, step->ops, updates->late == graph->ops)
		FOR_ITEMS(tensor, &step->reads, op) {
			uint32_t found = NONE;
			if (!replacement->dropped[op] && graph_home(step, tensor)->kind == KIND_PARAMETER &&
				kept_tensor(replacement, tensor) != tensor)
				found = graph_find_op(graph, step->op[op].name);
			updates->late = found == NONE ? updates->late : found;
		}
	FOR_WHILE(i, updates->count, !keeps_places(replacement))
		if (updates->before[i] > updates->late)
			return refuse(error, "the update can't be replaced: \"%.100s\" reads a part of what it gives",
				graph->op[updates->late].name);
	FOR(op, updates->late) /* zero_grad() comes behind it, too */
		if (op_releases(&graph->op[op]) && graph->op[op].phase == PHASE_UPDATE && frees_gradient(graph, updates, op)) {
			bool first = true;
			FOR(i, updates->count)
				first &= updates->before[i] <= op;
			updates->late = first ? op : updates->late;
		}
	return OK;
}

static bool prepare_updates(struct updates *updates, const struct graph *graph, struct arena *arena)
{
	const struct update_groups *groups = updates->replacement->groups;
	uint32_t count = updates->count = groups->groups;
	return ROOMS(arena, count, updates->parameter, updates->gradient, updates->arrived, updates->next, updates->before,
		updates->eager) && ROOM(arena, updates->group_at, graph->tensors);
}

/* The draft's tensors are the graph's. */
static void place_updates(struct build *build, const struct graph *graph, struct updates *updates)
{
	const struct update_groups *groups = updates->replacement->groups;
	build_copy_tensors(build, graph, updates->identity);
	FILL_NONE(updates->group_at, graph->tensors);
	FOR(i, updates->count) {
		const struct update_group *group = &groups->group[i];
		uint32_t anchor = updates->replacement->anchor[i],
				 at = anchor == NONE ? NONE : graph_find_op(graph, groups->step->op[anchor].name);
		updates->before[i] = at == NONE ? graph->ops : at;
		updates->parameter[i] = graph_find_tensor(graph, groups->step->tensor[group->parameter].name);
		updates->gradient[i] = updates->arrived[i] = graph_find_tensor(
			graph, groups->step->tensor[kept_tensor(updates->replacement, group->gradient)].name);
		updates->next[i] = updates->group_at[updates->gradient[i]];
		updates->group_at[updates->gradient[i]] = i;
	}
}

static struct graph *with_update(const struct graph *graph, struct replacement *replacement, struct error *error)
{
	struct build build = { .source = graph, .rules = replacement->groups->rules };
	struct updates updates = { .replacement = replacement };
	struct arena *arena = &replacement->arena;
	if (build_copy_begin(&build, graph, arena, &updates.identity, &updates.op) &&
		prepare_updates(&updates, graph, arena)) {
		place_updates(&build, graph, &updates);
		if (find_late(graph, &updates, error) != OK) {
			draft_free(build.draft);
			return NULL;
		}
		optimizer_write_step(&build, graph, &updates);
		build_finish(&build);
	} else {
		build.status = NO_MEMORY;
	}
	return build_like(&build, graph, error);
}

/* ---- whether it can be done ---- */

/* Update ops that work on gradients and belong to no parameter: clipping, say. Loss scaling's check is written anew. */
static enum status check_strays(const struct update_groups *groups, struct error *error)
{
	const struct graph *graph = groups->step;
	FOR(op, graph->ops) {
		if (!update_op(graph, op) || groups->updates[op] ||
			(rules_traits(groups->rules, graph->op[op].type) & TRAIT_UNSCALES))
			continue;
		FOR_ITEMS(read, &graph->reads, op)
			if (graph_home(graph, read)->kind == KIND_GRADIENT)
				return refuse(error,
					"the update can't be replaced: \"%.100s\" works on gradients but updates no parameter",
					graph->op[op].name);
	}
	return OK;
}

static enum status check_groups(const struct update_groups *groups, enum optimizer optimizer, struct error *error)
{
	FOR(i, groups->groups)
		if (groups->group[i].gradient == NONE)
			return refuse(error, "the update can't be replaced: the gradient of \"%.200s\" can't be told",
				groups->step->tensor[groups->group[i].parameter].name);
	if (!groups->groups)
		return refuse(error, "the update can't be replaced: the graph has no update ops that write a parameter");
	if (optimizer == OPTIMIZER_COUNT)
		return refuse(error, "the step's own optimizer isn't known: set optimizer to say which one to use");
	return OK;
}

/* What the step does besides its optimizer: parameters below 32 bits are written from copies that it keeps, and
 * gradients are unscaled. */
static void keep_practice(
	const struct graph *step, const struct rules *rules, bool keeps_strays, struct update_options *update)
{
	FOR(op, step->ops) {
		update->loss_scaling |= !keeps_strays && (rules_traits(rules, step->op[op].type) & TRAIT_UNSCALES) != 0;
		FOR_SPAN(i, step->inplace_start, op) {
			const struct tensor *written = &step->tensor[step->inplace[i].in];
			if (step->storage[written->storage].kind != KIND_PARAMETER || dtype_bits[written->dtype] >= 32)
				continue;
			FOR_ITEMS(item, &step->reads, op) {
				const struct tensor *read = &step->tensor[item];
				update->master |= step->storage[read->storage].kind == KIND_OPTIMIZER && read->dtype == DTYPE_F32 &&
					graph_operands(step, op) == 2 && read->dims == written->dims &&
					read->bytes * dtype_bits[written->dtype] == written->bytes * 32;
			}
		}
	}
}

/* The step with its precision changed and the new update. */
static struct graph *step_optimizer_replace(
	struct replacement *replacement, enum precision precision, struct error *error)
{
	const struct rules *rules = replacement->groups->rules;
	struct graph *graph = without_update(replacement, error);
	if (graph && precision != PRECISION_GIVEN) {
		struct graph *converted = precision_apply(graph, rules, precision, error);
		graph_release(graph);
		graph = converted;
	}
	if (!graph)
		return NULL;
	struct graph *result = with_update(graph, replacement, error);
	graph_release(graph);
	return result;
}

struct graph *optimizer_replace(
	const struct graph *step, const struct rules *rules, const struct optimizer_change *change, struct error *error)
{
	struct update_groups groups;
	struct update_options update = change->update;
	struct graph *graph = NULL;
	enum status status = update_groups_find(step, rules, &groups, error);
	struct replacement replacement = {
		.groups = &groups, .options = &update, .keeps_strays = groups.eager && change->precision == PRECISION_GIVEN
	};
	if (status == OK) {
		if (change->same_optimizer)
			update.optimizer = known_optimizer(&groups);
		update.held = groups.eager;
		if (change->precision == PRECISION_GIVEN)
			keep_practice(step, rules, replacement.keeps_strays, &update);
		status = check_groups(&groups, update.optimizer, error);
	}
	if (status == OK && !replacement.keeps_strays)
		status = check_strays(&groups, error);
	if (status == OK && !prepare_replacement(&replacement))
		status = fail_memory(error);
	if (error_set(error, status) == OK)
		graph = step_optimizer_replace(&replacement, change->precision, error);
	arena_free(&replacement.arena);
	update_groups_free(&groups);
	return graph;
}
