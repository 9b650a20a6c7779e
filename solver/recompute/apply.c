/* apply.c: the step as a graph in which ops run again.
 *
 * Every storage has a current instance, numbered: 0 is that of the pass. A tensor's latest copy belongs to one
 * instance. An op that reads a tensor of a storage whose instance is another one now needs a copy of the tensor: its
 * writer has run again and made one, or it is a view, which is made anew. */
#include <stdio.h>

#include "apply.h"
#include "solver/step/build.h"

struct apply {
	const struct recompute_step *step;
	const struct graph *graph;
	const uint8_t *state;
	struct build build;
	uint32_t *tensor;   /* [tensors] the draft's tensor that stands for it now */
	uint32_t *of;       /* [tensors] the instance that it is of */
	uint32_t *original; /* [tensors] the draft's copy of the tensor itself */
	uint32_t *made;     /* [tensors] what the copy of its writer at hand writes, or NONE */
	uint32_t *instance; /* [storages] the current one */
	uint32_t *op;       /* [ops] the draft's op */
	uint32_t *saved;    /* [ops] the draft's tensor with a random op's state, or NONE */
	uint32_t *copies, *tensor_copies; /* [ops], [tensors] the numbers that the names of their last copies have */
	bool *again;        /* [ops] runs again somewhere */
	uint32_t *stack;    /* [tensors] */
	struct arena arena;
};

static uint32_t apply_storage_of(const struct apply *apply, uint32_t tensor)
{
	return apply->graph->tensor[tensor].storage;
}

static uint32_t apply_root_of(const struct apply *apply, uint32_t storage)
{
	return apply->graph->storage[storage].root;
}

static bool apply_failed(struct apply *apply, bool fine)
{
	if (!fine && apply->build.status == OK)
		apply->build.status = NO_MEMORY;
	return apply->build.status != OK;
}

/* ---- arguments ---- */

/* What an op's arguments are called: in its copy, or in the op itself, which reads what is there now. */
struct naming {
	const struct apply *apply;
	uint32_t op;
	bool copy;
};

static bool is_anew(const struct apply *apply, uint32_t storage)
{
	return apply->step->droppable[storage] && apply->state[storage] != RECOMPUTE_KEEP;
}

/* A tensor that stays and that an op writes into without giving it a new name: running statistics. A copy leaves it
 * alone. */
static bool apply_only_updated(const struct apply *apply, uint32_t op, uint32_t tensor)
{
	const struct graph *graph = apply->graph;
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph->inplace[i].in == tensor && graph->inplace[i].out == NONE)
			return !is_anew(apply, apply_storage_of(apply, tensor));
	return false;
}

static const char *apply_new_name(const void *context, uint32_t tensor, bool result)
{
	const struct naming *naming = context;
	const struct apply *apply = naming->apply;
	uint32_t id = !result ? apply->tensor[tensor] : naming->copy ? apply->made[tensor] : apply->original[tensor];
	if (id == NONE || (naming->copy && !result && apply_only_updated(apply, naming->op, tensor)))
		return NULL;
	return draft_tensor_at(apply->build.draft, id)->name;
}

/* The arguments of an op of the draft, which stands for op, by their new names. */
static void apply_rename_arguments(struct apply *apply, uint32_t draft_op, uint32_t op, bool copy)
{
	struct naming naming = { apply, op, copy };
	struct renaming renaming = { apply_new_name, &naming };
	struct op *record = apply->build.status == OK ? draft_op_at(apply->build.draft, draft_op) : NULL;
	if (!record || !record->arguments)
		return;
	const struct arguments *renamed = arguments_rename(&apply->arena, record->arguments, apply->graph, &renaming);
	apply_failed(apply, renamed && draft_op_arguments(apply->build.draft, draft_op, renamed) == OK);
}

/* ---- copies ---- */

/* The next name of a copy: NAME.again, NAME.again2, ... */
static void apply_copy_name(uint32_t *copies, const char *of, char name[600])
{
	if (++*copies == 1)
		snprintf(name, 600, "%.500s.again", of);
	else
		snprintf(name, 600, "%.500s.again%u", of, *copies);
}

/* A copy of a tensor: a view of what its root is now where it shares memory. */
static uint32_t apply_copy_tensor(struct apply *apply, uint32_t tensor)
{
	const struct graph *graph = apply->graph;
	struct draft *draft = apply->build.draft;
	struct tensor record = graph->tensor[tensor];
	char name[600];
	do
		apply_copy_name(&apply->tensor_copies[tensor], record.name, name);
	while (draft_find_tensor(draft, name) != NONE || graph_find_tensor(graph, name) != NONE);
	record.name = name;
	if (record.kind == KIND_OUTPUT) /* the step puts out the first one */
		record.kind = KIND_TEMPORARY;
	if (record.alias != NONE)
		record.alias = apply->tensor[apply_root_of(apply, record.storage)];
	uint32_t id = draft_tensor(draft, &record);
	apply_failed(apply, id != NONE);
	return id;
}

static uint32_t apply_copy_op(struct apply *apply, uint32_t op)
{
	struct op record = apply->graph->op[op];
	struct draft *draft = apply->build.draft;
	char name[600];
	do
		apply_copy_name(&apply->copies[op], record.name, name);
	while (draft_find_op(draft, name) != NONE || graph_find_op(apply->graph, name) != NONE);
	record.of = record.name;
	record.name = name;
	if (apply->step->mask[op] != NONE) {
		record.type = RECOMPUTE_MASKED_TYPE;
		record.arguments = NULL; /* those of the dropout are not its own */
	}
	record.recomputed = true;
	record.phase = record.collective ? record.phase : PHASE_BACKWARD;
	record.has_phase = true;
	uint32_t id = draft_op(draft, &record);
	apply_failed(apply, id != NONE);
	return id;
}

/* ---- views ---- */

/* The tensor is of another instance than its storage is now. */
static bool is_stale(const struct apply *apply, uint32_t tensor)
{
	return apply->of[tensor] != apply->instance[apply_storage_of(apply, tensor)];
}

static void copy_view(struct apply *apply, uint32_t op)
{
	const struct graph *graph = apply->graph;
	struct draft *draft = apply->build.draft;
	uint32_t copy = apply_copy_op(apply, op);
	bool fine = copy != NONE;
	FOR_ITEMS(read, &graph->reads, op)
		fine = fine && draft_read(draft, copy, apply->tensor[read]) == OK;
	for (uint32_t i = graph->writes.start[op]; fine && i < graph->writes.start[op + 1]; i++) {
		uint32_t tensor = graph->writes.item[i], id = apply_copy_tensor(apply, tensor);
		fine = id != NONE && draft_write(draft, copy, id) == OK;
		apply->tensor[tensor] = apply->made[tensor] = id;
		apply->of[tensor] = apply->instance[apply_storage_of(apply, tensor)];
	}
	if (!apply_failed(apply, fine))
		apply_rename_arguments(apply, copy, op, true);
}

/* Brings a tensor up to date: the views on its way from the root, first things first. What an op other than a view
 * wrote is up to date when that op has run again. */
static void apply_resolve(struct apply *apply, uint32_t tensor)
{
	const struct graph *graph = apply->graph;
	uint32_t depth = 0;
	apply->stack[depth++] = tensor;
	while (depth > 0 && apply->build.status == OK) {
		uint32_t top = apply->stack[depth - 1], writer = graph->tensor[top].writer, before = depth;
		if (!is_stale(apply, top) || writer == NONE || !apply->step->view[writer]) {
			depth--;
			continue;
		}
		FOR_ITEMS(from, &graph->reads, writer) {
			uint32_t its = graph->tensor[from].writer;
			if (is_stale(apply, from) && its != NONE && apply->step->view[its] && depth < graph->tensors)
				apply->stack[depth++] = from;
		}
		if (depth == before) {
			copy_view(apply, writer);
			depth--;
		}
	}
}

/* ---- ops ---- */

/* The generator's state before a random op's first run. */
static void save_state(struct apply *apply, uint32_t op)
{
	struct build *build = &apply->build;
	build->phase = PHASE_FORWARD;
	build->module = apply->graph->op[op].module;
	build_op(build, "tidemark.random_state", NULL, 0);
	apply->saved[op] = build_output(build, DTYPE_U64, SHAPE(RECOMPUTE_STATE_BYTES / 8));
}

/* An op's first run. What it names of storages written anew follows them. */
static void run_first(struct apply *apply, uint32_t op)
{
	const struct graph *graph = apply->graph;
	FOR_ITEMS(read, &graph->reads, op)
		apply_resolve(apply, read);
	FOR_SPAN(i, graph->inplace_start, op)
		apply_resolve(apply, graph->inplace[i].in);
	FOR_ITEMS(tensor, &graph->writes, op) {
		uint32_t storage = apply_storage_of(apply, tensor),
				 root = apply_root_of(apply, storage);
		if (apply->build.status == OK && graph->tensor[tensor].alias != NONE && apply->instance[storage] > 0)
			draft_tensor_at(apply->build.draft, apply->original[tensor])->alias = apply->tensor[root];
		apply->of[tensor] = apply->instance[storage];
	}
	if (apply->again[op] && apply->step->random[op])
		save_state(apply, op);
	apply->op[op] = build_copy_op(&apply->build, graph, op, apply->tensor);
	bool renamed = false;
	FOR_ITEMS(item, &graph->reads, op)
		renamed |= apply->tensor[item] != apply->original[item];
	if (renamed)
		apply_rename_arguments(apply, apply->op[op], op, false);
}

/* From here on what runs again finds the storage where it was fetched to. */
static void follow_fetch(struct apply *apply, uint32_t op)
{
	const struct graph *graph = apply->graph;
	uint32_t storage = apply->step->brings[op];
	apply->instance[storage]++;
	FOR_ITEMS(tensor, &graph->members, storage) {
		uint32_t writer = graph->tensor[tensor].writer;
		if (writer != NONE && apply->step->view[writer])
			continue;
		apply->tensor[tensor] = apply->tensor[graph_result(graph, op, 0)];
		apply->of[tensor] = apply->instance[storage];
	}
}

/* A result that stays is what later ops read. */
static bool result_stays(const struct apply *apply, uint32_t op, uint32_t storage, uint64_t bits)
{
	FOR_ROW(i, &apply->step->makes, op)
		if (apply->step->makes.item[i] == storage)
			return bits >> (i - apply->step->makes.start[op]) & 1;
	return is_anew(apply, storage);
}

static bool apply_write_again(struct apply *apply, uint32_t op, uint32_t copy, uint32_t tensor, uint64_t bits)
{
	const struct graph *graph = apply->graph;
	uint32_t storage = apply_storage_of(apply, tensor), in = NONE;
	bool stays = result_stays(apply, op, storage, bits), root = graph->tensor[tensor].alias == NONE;
	if (graph_written_over(graph, op, tensor) != NONE)
		in = apply->tensor[graph_written_over(graph, op, tensor)];
	apply->made[tensor] = NONE;
	if (!stays && !root)
		return true;
	if (stays && root)
		apply->instance[storage]++;
	uint32_t id = apply->made[tensor] = apply_copy_tensor(apply, tensor);
	if (id == NONE || draft_write(apply->build.draft, copy, id) != OK)
		return false;
	if (stays) {
		apply->tensor[tensor] = id;
		apply->of[tensor] = apply->instance[storage];
	}
	return in == NONE || draft_inplace(apply->build.draft, copy, id, in) == OK;
}

/* An op that runs again: persistent storages are not written a second time. */
static void apply_run_again(struct apply *apply, uint32_t op, uint64_t bits)
{
	const struct graph *graph = apply->graph;
	struct draft *draft = apply->build.draft;
	FOR_ITEMS(read, &graph->reads, op)
		apply_resolve(apply, read);
	FOR_SPAN(i, graph->inplace_start, op)
		apply_resolve(apply, graph->inplace[i].in);
	uint32_t copy = apply_copy_op(apply, op);
	bool fine = copy != NONE;
	FOR_ITEMS(item, &graph->reads, op)
		fine = fine && draft_read(draft, copy, apply->tensor[item]) == OK;
	if (fine && apply->saved[op] != NONE)
		fine = draft_read(draft, copy, apply->saved[op]) == OK;
	uint32_t mask = apply->step->mask[op] == NONE ? NONE : graph_result(graph, op, 1);
	if (fine && mask != NONE)
		fine = draft_read(draft, copy, apply->tensor[mask]) == OK;
	for (uint32_t i = graph->inplace_start[op]; fine && i < graph->inplace_start[op + 1]; i++) {
		struct inplace pair = graph->inplace[i];
		if (pair.out == NONE && is_anew(apply, apply_storage_of(apply, pair.in)))
			fine = draft_inplace(draft, copy, NONE, apply->tensor[pair.in]) == OK;
	}
	FOR_ITEMS(write, &graph->writes, op)
		fine = fine && (write == mask || apply_write_again(apply, op, copy, write, bits));
	if (!apply_failed(apply, fine))
		apply_rename_arguments(apply, copy, op, true);
}

/* ---- the whole ---- */

static bool apply_prepare(struct apply *apply)
{
	const struct graph *graph = apply->graph;
	struct arena *arena = &apply->arena;
	apply->build.draft = draft_new();
	if (!(ROOMS(arena, graph->tensors, apply->tensor, apply->of, apply->original, apply->made, apply->tensor_copies) &&
		ROOM(arena, apply->stack, graph->tensors + 1u) && ROOM(arena, apply->instance, graph->storages) &&
		ROOMS(arena, graph->ops, apply->op, apply->saved, apply->copies, apply->again) && apply->build.draft))
		return false;
	FOR(op, graph->ops)
		apply->saved[op] = NONE;
	FOR(t, graph->tensors)
		if ((apply->tensor[t] = apply->original[t] = draft_tensor(apply->build.draft, &graph->tensor[t])) == NONE)
			return false;
	return true;
}

struct graph *recompute_build(const struct recompute_replay *replay, const uint8_t *state, struct error *error)
{
	const struct recompute_step *step = replay->step;
	struct apply apply = {
		.step = step, .graph = step->graph, .state = state, .build = { .source = step->graph, .op = NONE }
	};
	struct graph *result = NULL;
	bool fine = apply_prepare(&apply);
	FOR_WHILE(i, replay->length, fine)
		apply.again[replay->run[i] / 2] |= replay->run[i] & 1;
	FOR_WHILE(i, replay->length, fine && apply.build.status == OK) {
		if (replay->run[i] & 1)
			apply_run_again(&apply, replay->run[i] / 2, replay->stays[i]);
		else
			run_first(&apply, replay->run[i] / 2);
		if (step->brings[replay->run[i] / 2] != NONE)
			follow_fetch(&apply, replay->run[i] / 2);
	}
	if (fine)
		build_copy_control(&apply.build, step->graph, apply.op);
	enum status status = fine ? apply.build.status : NO_MEMORY;
	THEN(status, draft_describe( apply.build.draft, step->graph->name, step->graph->source, step->graph->extra,
		&step->graph->about));
	if (status == OK)
		result = graph_build(apply.build.draft, error);
	else
		fail_memory(error);
	draft_free(apply.build.draft);
	arena_free(&apply.arena);
	return result;
}

enum status recompute_order_back(
	const struct recompute_step *step, const struct graph *graph, const uint32_t *order, uint32_t *back)
{
	uint32_t count = 0;
	HELD bool *MAKE(there, step->ops);
	FOR_WHILE(i, graph->ops, there) {
		uint32_t op = graph_find_op(step->graph, graph->op[order[i]].name);
		if (op != NONE && !there[op]) {
			there[op] = true;
			back[count++] = op;
		}
	}
	return count == step->ops ? OK : NO_MEMORY;
}
