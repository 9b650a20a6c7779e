/* update_groups.c: which ops of a training step update which parameter, from which gradient.
 *
 * An op's rows are the tensors that it combines with each other: one row of all, or, of an op on lists, one for each
 * place of the lists. */
#include <stdio.h>

#include "update.h"

struct rows {
	uint32_t *tensor; /* [count][width] */
	uint32_t count, width;
	bool lists;
};

bool update_op(const struct graph *graph, uint32_t op)
{
	return graph->op[op].phase == PHASE_UPDATE && !op_releases(&graph->op[op]);
}

/* ---- rows ---- */

static void take_row_of_all(const struct graph *graph, uint32_t op, struct rows *rows)
{
	rows->count = 1;
	rows->width = 0;
	FOR_ITEMS(read, &graph->reads, op)
		rows->tensor[rows->width++] = read;
	FOR_ITEMS(written, &graph->writes, op)
		rows->tensor[rows->width++] = written;
	FOR_SPAN(i, graph->inplace_start, op)
		rows->tensor[rows->width++] = graph->inplace[i].in;
}

/* The room that the rows of an op take at most. */
static uint32_t rows_room(const struct graph *graph, uint32_t op)
{
	return 2 *
		(graph_operands(graph, op) + graph_results(graph, op) + graph_pairs(graph, op)) +
		2;
}

/* column: as large as rows->tensor. */
static void update_groups_take_rows(const struct graph *graph, uint32_t op, struct rows *rows, uint32_t *column)
{
	const struct arguments *arguments = graph->op[op].arguments;
	uint32_t room = rows_room(graph, op), count = arguments_tensors(arguments, graph, 0, column, room), columns = 0;
	rows->lists = count > 0;
	if (!count) {
		take_row_of_all(graph, op, rows);
		return;
	}
	bool makes = graph_results(graph, op) == count;
	/* First column after column, then turned. */
	for (uint32_t item = 0; arguments_item(arguments, item) && (columns + 1) * (uint64_t)count <= room; item++)
		columns += arguments_tensors(arguments, graph, item, column + (size_t)columns * count, count) == count;
	if (makes && (columns + 1) * (uint64_t)count <= room)
		memcpy(column + (size_t)columns++ * count, graph->writes.item + graph->writes.start[op], count * sizeof *column);
	rows->count = count;
	rows->width = columns;
	FOR(i, count)
		FOR(j, columns)
			rows->tensor[i * columns + j] = column[j * count + i];
}

/* ---- what hangs together ---- */

/* "layer.weight.exp_avg" is of the parameter "layer.weight". */
static bool is_state_of_parameter(const struct graph *graph, uint32_t storage, uint32_t *parameter)
{
	const char *name = graph->tensor[graph->storage[storage].root].name, *dot = strrchr(name, '.');
	char owner[512];
	if (!dot || dot == name || (size_t)(dot - name) >= sizeof owner)
		return false;
	PRINT_TO(owner, "%.*s", (int)(dot - name), name);
	uint32_t found = graph_find_tensor(graph, owner);
	*parameter = found == NONE ? NONE : graph->tensor[found].storage;
	return found != NONE && graph->storage[*parameter].kind == KIND_PARAMETER;
}

/* A table that parameters share, say. */
static bool is_only_read(const struct graph *graph, uint32_t storage)
{
	FOR_ITEMS(user, &graph->users, storage)
		FOR_SPAN(i, graph->inplace_start, user)
			if (graph->tensor[graph->inplace[i].in].storage == storage)
				return false;
	return graph->storage[storage].allocator == NONE;
}

/* A storage that doesn't tie the ops that touch it together: a gradient, an input, or a scalar that all may share
 * (step count, learning rate, overflow flag). PyTorch's own optimizers make none that parameters share. */
static bool is_outside(const struct graph *graph, bool eager, uint32_t storage)
{
	const struct storage *record = &graph->storage[storage];
	uint32_t allocator = graph->tensor[record->root].writer, parameter;
	if (record->kind == KIND_PARAMETER)
		return false;
	if (record->kind == KIND_OPTIMIZER && is_only_read(graph, storage))
		return true;
	if (record->kind == KIND_OPTIMIZER || (allocator != NONE && update_op(graph, allocator)))
		return record->bytes <= 8 && !(eager && record->kind != KIND_OPTIMIZER) &&
			!(record->kind == KIND_OPTIMIZER && is_state_of_parameter(graph, storage, &parameter));
	return true;
}

/* Whether a storage that stays over the step is a parameter's gradient: the backward pass adds to it. */
static bool backward_adds(const struct graph *graph, uint32_t storage)
{
	FOR_ITEMS(member, &graph->members, storage) {
		uint32_t writer = graph->tensor[member].writer;
		if (writer != NONE && graph->op[writer].phase == PHASE_BACKWARD)
			return true;
	}
	return false;
}

static bool update_groups_is_gradient(const struct update_groups *groups, uint32_t tensor)
{
	const struct graph *graph = groups->step;
	uint32_t storage = graph->tensor[tensor].storage, allocator = graph->tensor[graph->storage[storage].root].writer;
	return groups->outside[storage] && graph->tensor[tensor].bytes > 8 &&
		(allocator == NONE || !update_op(graph, allocator)) &&
		(!graph->storage[storage].persistent || backward_adds(graph, storage));
}

static void update_groups_join(struct update_groups *groups, uint32_t a, uint32_t b)
{
	groups->leader[set_root(groups->leader, a)] = set_root(groups->leader, b);
}

static void update_groups_join_row(struct update_groups *groups, const uint32_t *tensor, uint32_t width)
{
	uint32_t first = NONE;
	FOR(i, width) {
		uint32_t storage = groups->step->tensor[tensor[i]].storage;
		if (groups->outside[storage])
			continue;
		if (first != NONE)
			update_groups_join(groups, storage, first);
		first = storage;
	}
}

/* ---- what an op says of its group ---- */

/* The group that a row belongs to; NULL: none. */
static struct update_group *group_of_row(const struct update_groups *groups, const uint32_t *tensor, uint32_t width)
{
	FOR(i, width) {
		uint32_t storage = groups->step->tensor[tensor[i]].storage;
		if (!groups->outside[storage]) {
			uint32_t index = groups->group_of[set_root(groups->leader, storage)];
			return index == NONE ? NULL : &groups->group[index];
		}
	}
	return NULL;
}

/* Begins the group of a row that writes a parameter. */
static enum status note_parameter(
	struct update_groups *groups, uint32_t op, const struct rows *rows, const uint32_t *tensor, struct error *error)
{
	const struct graph *graph = groups->step;
	FOR(i, rows->width) {
		uint32_t storage = graph->tensor[tensor[i]].storage, root = graph->storage[storage].root;
		if (graph->storage[storage].kind != KIND_PARAMETER || !graph_writes_in_place(graph, op, storage))
			continue;
		uint32_t *index = &groups->group_of[set_root(groups->leader, storage)];
		if (*index == NONE) {
			*index = groups->groups++;
			/* A fused op writes more than its first list. */
			bool fused = graph_pairs(graph, op) > rows->count;
			groups->group[*index] = (struct update_group){ .parameter = root, .gradient = NONE, .first = NONE,
				.way = !rows->lists ? UPDATE_EACH : fused ? UPDATE_FUSED : UPDATE_FOREACH, .call = rows->lists ? op : NONE };
		}
		struct update_group *group = &groups->group[*index];
		if (group->parameter != root)
			return refuse(error, "the update can't be replaced: it changes \"%.100s\" and \"%.100s\" together",
				graph->tensor[group->parameter].name, graph->tensor[root].name);
		group->weight_writes++;
		break;
	}
	return OK;
}

/* The tensor as it was before the groups' ops: names that their in-place writes gave it are followed back. */
static uint32_t before_update(const struct update_groups *groups, uint32_t tensor)
{
	const struct graph *graph = groups->step;
	uint32_t writer = graph->tensor[tensor].writer;
	while (writer != NONE && groups->updates[writer]) {
		uint32_t before = graph_written_over(graph, writer, tensor);
		if (before == NONE)
			return graph_home(graph, tensor)->root;
		tensor = before;
		writer = graph->tensor[tensor].writer;
	}
	return tensor;
}

static enum status update_groups_note_gradient(
	struct update_groups *groups, uint32_t op, const uint32_t *row, uint32_t width, struct error *error)
{
	const struct graph *graph = groups->step;
	struct update_group *group = group_of_row(groups, row, width);
	if (!group)
		return OK;
	group->divides |= (rules_traits(groups->rules, graph->op[op].type) & TRAIT_DIVIDES) != 0;
	if (group->first == NONE)
		group->first = op;
	FOR(i, width) {
		uint32_t storage = graph->tensor[row[i]].storage, writer = graph->tensor[row[i]].writer;
		/* One of a single element is not told from a scalar by its size: take what there is of the backward pass. */
		bool small = group->gradient == NONE && graph->tensor[row[i]].bytes <= 8 && groups->outside[storage] &&
			writer != NONE && graph->op[writer].phase == PHASE_BACKWARD &&
			graph->tensor[row[i]].bytes == graph->tensor[group->parameter].bytes;
		if (writer == op || !(small || update_groups_is_gradient(groups, row[i])))
			continue;
		uint32_t tensor = before_update(groups, row[i]);
		if (group->gradient != NONE && group->gradient != tensor &&
			graph->tensor[tensor].storage != graph->tensor[group->gradient].storage)
			return refuse(error,
				"the update can't be replaced: it reads \"%.100s\" and \"%.100s\", only one of which can be the "
				"gradient",
				graph->tensor[group->gradient].name, graph->tensor[tensor].name);
		if (group->gradient == NONE)
			group->gradient = tensor;
	}
	return OK;
}

/* ---- all of them ---- */

enum pass { PASS_JOIN, PASS_PARAMETERS, PASS_MEMBERS, PASS_GRADIENTS };

static enum status pass_over(
	struct update_groups *groups, enum pass pass, struct rows *rows, uint32_t *column, struct error *error)
{
	FOR(op, groups->step->ops) {
		if (!update_op(groups->step, op))
			continue;
		update_groups_take_rows(groups->step, op, rows, column);
		FOR(i, rows->count) {
			const uint32_t *row = rows->tensor + (size_t)i * rows->width;
			if (pass == PASS_JOIN)
				update_groups_join_row(groups, row, rows->width);
			else if (pass == PASS_PARAMETERS)
				TRY(note_parameter(groups, op, rows, row, error));
			else if (pass == PASS_MEMBERS)
				groups->updates[op] |= group_of_row(groups, row, rows->width) != NULL;
			else
				TRY(update_groups_note_gradient(groups, op, row, rows->width, error));
		}
	}
	return OK;
}

static bool update_groups_prepare(struct update_groups *groups, struct rows *rows, uint32_t **column)
{
	const struct graph *graph = groups->step;
	uint32_t room = 1, parameter;
	if (!(ROOMS(&groups->arena, graph->storages, groups->outside, groups->leader, groups->group_of, groups->group) &&
		ROOM(&groups->arena, groups->updates, graph->ops)))
		return false;
	FOR(op, graph->ops) {
		groups->eager |= op_releases(&graph->op[op]);
		if (update_op(graph, op) && rows_room(graph, op) > room)
			room = rows_room(graph, op);
	}
	FOR(s, graph->storages) {
		groups->outside[s] = is_outside(graph, groups->eager, s);
		groups->leader[s] = s;
		groups->group_of[s] = NONE;
	}
	FOR(s, graph->storages)
		if (graph->storage[s].kind == KIND_OPTIMIZER && is_state_of_parameter(graph, s, &parameter))
			update_groups_join(groups, s, parameter);
	return ROOMS(&groups->arena, room, rows->tensor, *column);
}

/* Adafactor of torch.optim keeps these. */
static bool is_of_adafactor(const struct graph *graph, const struct update_group *group)
{
	static const char *const word[] = { "variance", "row_var" };
	char name[1024];
	bool found = false;
	FOR(i, COUNT_OF(word)) {
		PRINT_TO(name, "%.512s.%s", graph->tensor[group->parameter].name, word[i]);
		found |= graph_find_tensor(graph, name) != NONE;
	}
	return found && group->way == UPDATE_FOREACH;
}

static uint32_t call_end(const struct update_groups *groups, uint32_t begin)
{
	uint32_t end = begin + 1;
	while (end < groups->groups && groups->group[end].call == groups->group[begin].call)
		end++;
	return end;
}

/* Adafactor has lists of parameters of one dim and of others, as no other optimizer has: two that follow each other are
 * one call, in the order of its parameters. Lists of two groups of parameters aren't told from these, but by weight
 * decay in one of them alone. */
static void join_calls(struct update_groups *groups)
{
	const struct graph *graph = groups->step;
	for (uint32_t i = 0, end; i < groups->groups; i = end) {
		end = call_end(groups, i);
		const struct update_group *one = &groups->group[i], *other = &groups->group[end];
		if (end == groups->groups || !is_of_adafactor(graph, one) || !is_of_adafactor(graph, other) ||
			one->weight_writes != other->weight_writes)
			continue;
		const struct tensor *a = &graph->tensor[one->parameter], *b = &graph->tensor[other->parameter];
		if (a->dtype != b->dtype || (a->dims > 1) == (b->dims > 1))
			continue;
		uint32_t call = one->call, first = one->first;
		end = call_end(groups, end);
		FOR_FROM(j, i, end) {
			struct update_group group = groups->group[j];
			group.call = call;
			group.first = first;
			uint32_t place = j;
			for (; place > i && groups->group[place - 1].parameter > group.parameter; place--)
				groups->group[place] = groups->group[place - 1];
			groups->group[place] = group;
		}
	}
	FOR(i, groups->groups)
		groups->group_of[set_root(groups->leader, graph->tensor[groups->group[i].parameter].storage)] = i;
}

static void update_groups_count_states(struct update_groups *groups)
{
	const struct graph *graph = groups->step;
	FOR(s, graph->storages) {
		uint32_t index = groups->group_of[set_root(groups->leader, s)];
		if (index == NONE || graph->storage[s].kind != KIND_OPTIMIZER)
			continue;
		struct update_group *group = &groups->group[index];
		bool counter = graph->storage[s].bytes <= 8 && graph->storage[s].bytes != graph->tensor[group->parameter].bytes;
		group->states += !counter;
		group->counters += counter;
		group->state_bytes += counter ? 0 : graph->storage[s].bytes;
	}
}

/* The parameter whose gradient a tensor says it is, or NONE. */
static uint32_t said_gradient_of(const struct graph *step, uint32_t tensor)
{
	const char *name = step->tensor[tensor].gradient_of;
	uint32_t found = name ? graph_find_tensor(step, name) : NONE;
	return found != NONE && graph_home(step, found)->kind == KIND_PARAMETER
		? graph_home(step, found)->root
		: NONE;
}

/* Gradients that the step leaves, in the order of their parameters. */
static void take_marked(struct update_groups *groups)
{
	const struct graph *step = groups->step;
	uint32_t *gradient = groups->group_of; /* by storage: no group has used it */
	FOR(t, step->tensors) {
		uint32_t parameter = said_gradient_of(step, t);
		if (parameter != NONE)
			gradient[step->tensor[parameter].storage] = t;
	}
	FOR(s, step->storages)
		if (gradient[s] != NONE)
			groups->group[groups->groups++] = (struct update_group){ .parameter = step->storage[s].root,
				.gradient = gradient[s],
				.first = NONE,
				.way = UPDATE_EACH,
				.call = NONE };
	groups->marked = groups->groups > 0;
	groups->eager |= groups->marked;
}

enum status update_groups_find(
	const struct graph *step, const struct rules *rules, struct update_groups *groups, struct error *error)
{
	struct rows rows;
	uint32_t *column;
	*groups = (struct update_groups){ .step = step, .rules = rules };
	if (!update_groups_prepare(groups, &rows, &column))
		return fail_memory(error);
	for (enum pass pass = PASS_JOIN; pass <= PASS_GRADIENTS; pass++)
		TRY(pass_over(groups, pass, &rows, column, error));
	if (!groups->groups)
		take_marked(groups);
	if (!groups->marked) {
		join_calls(groups);
		update_groups_count_states(groups);
	}
	return OK;
}

void update_groups_free(struct update_groups *groups)
{
	arena_free(&groups->arena);
}

/* ---- whose update it is ---- */

/* Whether the parameter has just the state that the optimizer keeps, by its names. */
static bool has_states_of(const struct graph *step, const struct update_group *group, enum optimizer optimizer)
{
	const char *const *word = eager_update_states(optimizer), *parameter = step->tensor[group->parameter].name;
	uint32_t states = 0;
	char name[1024];
	for (; word[states]; states++) {
		PRINT_TO(name, "%.512s.%s", parameter, word[states]);
		uint32_t tensor = graph_find_tensor(step, name);
		if (tensor == NONE || step->tensor[tensor].bytes != step->tensor[group->parameter].bytes)
			return false;
	}
	return states == group->states && group->counters <= eager_update_counts(optimizer);
}

enum optimizer update_group_optimizer(const struct graph *step, const struct update_group *group)
{
	int64_t bytes = step->tensor[group->parameter].bytes;
	if (has_states_of(step, group, OPTIMIZER_RMSPROP))
		return OPTIMIZER_RMSPROP;
	if (has_states_of(step, group, OPTIMIZER_ADAGRAD))
		return OPTIMIZER_ADAGRAD;
	if (has_states_of(step, group, OPTIMIZER_LION))
		return OPTIMIZER_LION;
	if (group->states == 4 && !group->divides)
		return OPTIMIZER_ADAMW8BIT;
	if (group->way == UPDATE_FUSED && has_states_of(step, group, OPTIMIZER_ADAM))
		return OPTIMIZER_ADAM;
	if (group->divides && group->states >= 2 && group->state_bytes >= 2 * bytes && group->counters <= 1)
		return group->weight_writes > 1 ? OPTIMIZER_ADAMW : OPTIMIZER_ADAM;
	if (group->divides)
		return OPTIMIZER_COUNT;
	if (group->states == 0)
		return OPTIMIZER_SGD;
	if (group->states == 1 && group->state_bytes == bytes)
		return group->weight_writes > 1 ? OPTIMIZER_MUON : OPTIMIZER_MOMENTUM;
	return group->states == 2 && group->state_bytes < bytes ? OPTIMIZER_ADAFACTOR : OPTIMIZER_COUNT;
}
