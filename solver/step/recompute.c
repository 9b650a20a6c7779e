/* recompute.c: computing activations again in the backward pass instead of keeping them; offloading them.
 *
 * A storage that is neither kept nor persistent is written anew by copies of its forward ops right before its first
 * reader after the forward pass. What the copies read is either kept or written anew as well: forward storages that no
 * later op reads are always written anew, unless they cross layers, where the recursion ends. What ops write into a
 * storage in place, under whatever name of it, is written again too, and in the same order around its readers. */
#include <stdio.h>

#include "replay.h"

/* ---- running again ---- */

/* Just another name: its op changes nothing. */
static bool step_recompute_is_view(const struct graph *graph, uint32_t tensor)
{
	uint32_t writer = graph->tensor[tensor].writer;
	return graph->tensor[tensor].alias != NONE && writer != NONE && graph_written_over(graph, writer, tensor) == NONE;
}

static bool step_recompute_kept(const struct replay *replay, uint32_t tensor)
{
	uint32_t storage = storage_of(replay->graph, tensor);
	return !replay->anew[storage] && !(replay->back[storage] && step_recompute_is_view(replay->graph, tensor));
}

static bool wanted_anew(const struct replay *replay, uint32_t tensor)
{
	uint32_t writer = replay->graph->tensor[tensor].writer;
	return is_forward(replay->graph, writer) && !replay->done[writer] && !step_recompute_kept(replay, tensor);
}

/* An op that makes nothing but other names. */
static bool names_only(const struct graph *graph, uint32_t op)
{
	bool only = graph_results(graph, op) > 0;
	FOR_ITEMS(written, &graph->writes, op)
		only &= step_recompute_is_view(graph, written);
	return only;
}

/* A copy of a tensor, called NAME.again; a view of what its root has become. */
static uint32_t again_tensor(struct replay *replay, uint32_t tensor)
{
	const struct graph *graph = replay->graph;
	struct tensor record = graph->tensor[tensor];
	char name[600];
	PRINT_TO(name, "%.500s.again", record.name);
	for (int n = 2; draft_find_tensor(replay->build.draft, name) != NONE || graph_find_tensor(graph, name) != NONE; n++)
		PRINT_TO(name, "%.500s.again%d", record.name, n);
	record.name = name;
	if (record.alias != NONE)
		record.alias = replay->tensor[graph->storage[record.storage].root];
	return build_add_tensor(&replay->build, &record);
}

/* A persistent tensor that an op writes into without giving it a new name: running statistics. A copy leaves it alone.
 */
static bool step_recompute_only_updated(const struct graph *graph, uint32_t op, uint32_t tensor)
{
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph->inplace[i].in == tensor && graph->inplace[i].out == NONE)
			return graph->storage[storage_of(graph, tensor)].persistent;
	return false;
}

/* What an op's arguments are called: in its copy, or (made NONE) in the op itself, which reads what is there now. */
struct naming {
	const struct replay *replay;
	uint32_t op;
	bool copy;
};

static const char *step_recompute_new_name(const void *context, uint32_t tensor, bool result)
{
	const struct naming *naming = context;
	const struct replay *replay = naming->replay;
	uint32_t id = result && naming->copy ? replay->made[tensor]
		: result ? replay->original[tensor]
		: replay->tensor[tensor];
	if (id == NONE || (naming->copy && !result && step_recompute_only_updated(replay->graph, naming->op, tensor)))
		return NULL;
	return draft_tensor_at(replay->build.draft, id)->name;
}

/* The arguments of an op of the draft, which stands for op, by their new names. */
static void step_recompute_rename_arguments(struct replay *replay, uint32_t draft_op, uint32_t op, bool copy)
{
	struct naming naming = { replay, op, copy };
	struct renaming renaming = { step_recompute_new_name, &naming };
	build_rename(&replay->build, &replay->arena, replay->graph, op, draft_op, &renaming);
}

static uint32_t again_op(struct replay *replay, uint32_t op)
{
	struct op record = replay->graph->op[op];
	char name[600];
	PRINT_TO(name, "%.500s.again", record.name);
	for (int n = 2; draft_find_op(replay->build.draft, name) != NONE || graph_find_op(replay->graph, name) != NONE; n++)
		PRINT_TO(name, "%.500s.again%d", record.name, n);
	record.of = record.name;
	record.name = name;
	record.recomputed = true;
	record.phase = PHASE_BACKWARD;
	record.has_phase = true;
	return build_add_op(&replay->build, &record);
}

/* One result of a copy. */
static bool step_recompute_write_again(struct replay *replay, uint32_t op, uint32_t copy, uint32_t tensor)
{
	const struct graph *graph = replay->graph;
	struct draft *draft = replay->build.draft;
	uint32_t over = graph_written_over(graph, op, tensor), in = over == NONE ? NONE : replay->tensor[over];
	bool stays = step_recompute_kept(replay, tensor);
	replay->made[tensor] = NONE;
	if (stays && graph->tensor[tensor].alias != NONE)
		return true;
	uint32_t id = replay->made[tensor] = again_tensor(replay, tensor);
	if (!stays)
		replay->tensor[tensor] = id;
	return id != NONE && draft_write(draft, copy, id) == OK && (in == NONE || draft_inplace(draft, copy, id, in) == OK);
}

/* Writes the copy of one forward op. Results whose storage is kept get a new tensor too, which dies at once; writes
 * over persistent storages are left out, they happened already. */
static void step_recompute_run_again(struct replay *replay, uint32_t op)
{
	const struct graph *graph = replay->graph;
	struct draft *draft = replay->build.draft;
	uint32_t copy = again_op(replay, op);
	replay->done[op] = true;
	bool fine = copy != NONE;
	FOR_ITEMS(read, &graph->reads, op)
		if (!step_recompute_only_updated(graph, op, read))
			fine = fine && draft_read(draft, copy, replay->tensor[read]) == OK;
	FOR_ITEMS(written, &graph->writes, op)
		fine = fine && step_recompute_write_again(replay, op, copy, written);
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph->inplace[i].out == NONE && replay->anew[storage_of(graph, graph->inplace[i].in)])
			fine = fine && draft_inplace(draft, copy, NONE, replay->tensor[graph->inplace[i].in]) == OK;
	THEN(replay->build.status, fine ? OK : NO_MEMORY);
	step_recompute_rename_arguments(replay, copy, op, true);
}

/* ---- offloading ---- */

static bool writes_storage(const struct graph *graph, uint32_t op, uint32_t storage)
{
	return allocator_of(graph, storage) == op || graph_writes_in_place(graph, op, storage);
}

static void note_offloads(struct replay *replay, const uint32_t *offload, uint32_t offloads)
{
	const struct graph *graph = replay->graph;
	FOR(s, graph->storages)
		replay->leaves[s] = replay->host[s] = NONE;
	FOR(i, offloads) {
		uint32_t storage = storage_of(graph, offload[i]), last = NONE;
		FOR_ITEMS(user, &graph->users, storage)
			if (is_forward(graph, user) &&
				(!replay->window[storage] || writes_storage(graph, user, storage)))
				last = user;
		if (replay->activations->saved[storage] || replay->window[storage])
			replay->leaves[storage] = last;
	}
}

static uint32_t step_recompute_move(
	struct replay *replay, uint32_t storage, const char *type, uint32_t from, int64_t bytes)
{
	struct build *build = &replay->build;
	uint32_t root = replay->graph->storage[storage].root;
	build->phase = PHASE_COMMUNICATION;
	build->module = replay->graph->op[replay->leaves[storage]].module;
	build->src = replay->graph->op[replay->leaves[storage]].src;
	build_op(build, type, IN(from));
	uint32_t to = build_output(build, replay->graph->tensor[root].dtype, build_shape(build, replay->original[root]));
	if (to != NONE)
		draft_tensor_at(build->draft, to)->bytes = bytes;
	return to;
}

/* After the last forward reader: the copy in the host, which takes no bytes of the device. */
static void offload_storage(struct replay *replay, uint32_t storage)
{
	replay->host[storage] = step_recompute_move(
		replay, storage, added_types[ADDED_OFFLOAD], replay->original[replay->graph->storage[storage].root], 0);
}

/* What is put between two ops of the step stays there: behind the last op before it that computes, before the next. */
static void pin(struct replay *replay, uint32_t op)
{
	const struct graph *graph = replay->graph;
	uint32_t before = op;
	while (before > 0 && (replay->op[before - 1] == NONE || names_only(graph, before - 1)))
		before--;
	if (before > 0)
		THEN(replay->build.status, draft_after(replay->build.draft, replay->build.op, replay->op[before - 1]));
	replay->pinned[replay->pins++] = replay->build.op;
}

/* The copy is out: from here on the memory is free. */
static void let_go(struct replay *replay, uint32_t storage, uint32_t op)
{
	struct build *build = &replay->build;
	if (replay->host[storage] == NONE)
		return;
	build->phase = PHASE_COMMUNICATION;
	build->module = replay->graph->op[replay->leaves[storage]].module;
	build_op(build, added_types[ADDED_OFFLOAD_WAIT],
		IN(replay->original[replay->graph->storage[storage].root], replay->host[storage]));
	pin(replay, op);
}

/* Memory to come back to. */
static uint32_t make_buffer(struct replay *replay, uint32_t storage, uint32_t op)
{
	struct build *build = &replay->build;
	uint32_t root = replay->graph->storage[storage].root;
	build->phase = PHASE_COMMUNICATION;
	build->module = replay->graph->op[replay->leaves[storage]].module;
	build_op(build, added_types[ADDED_FETCH_BUFFER], NULL, 0);
	uint32_t buffer = build_output(build, replay->graph->tensor[root].dtype, build_shape(build, replay->original[root]));
	if (buffer != NONE)
		draft_tensor_at(build->draft, buffer)->bytes = replay->graph->tensor[root].bytes;
	pin(replay, op);
	return buffer;
}

/* Before the first reader after the pass: its way back. Views of it are made anew for their readers; what an op wrote
 * in place is another name of what was fetched. */
static void fetch_storage(struct replay *replay, uint32_t storage, uint32_t buffer)
{
	struct build *build = &replay->build;
	const struct graph *graph = replay->graph;
	uint32_t root = graph->storage[storage].root;
	if (buffer == NONE) {
		replay->tensor[root] = step_recompute_move(
			replay, storage, added_types[ADDED_FETCH], replay->host[storage], graph->tensor[root].bytes);
	} else {
		build_op(build, added_types[ADDED_FETCH], IN(replay->host[storage], buffer));
		replay->tensor[root] = build_inplace(build, buffer);
		if (replay->tensor[root] != NONE)
			draft_tensor_at(build->draft, replay->tensor[root])->bytes = graph->tensor[root].bytes;
	}
	replay->host[storage] = NONE;
	replay->back[storage] = true;
	FOR_ITEMS(member, &graph->members, storage) {
		if (member == root || step_recompute_is_view(graph, member) ||
			!is_forward(graph, graph->tensor[member].writer) || build->status != OK)
			continue;
		uint32_t name = again_tensor(replay, member);
		THEN(build->status, draft_write(build->draft, build->op, name));
		replay->tensor[member] = name;
	}
}

/* ---- what is read after the pass ---- */

/* Readers of what an in-place op is about to overwrite, whose own results are written anew, must run before it. */
static void push_before_overwrite(struct replay *replay, uint32_t op, uint32_t *depth, uint32_t capacity)
{
	const struct graph *graph = replay->graph;
	FOR_SPAN(i, graph->inplace_start, op) {
		uint32_t storage = storage_of(graph, graph->inplace[i].in);
		if (!replay->anew[storage])
			continue;
		FOR_ITEMS(user, &graph->users, storage) {
			bool needed = false;
			if (user >= op || !is_forward(graph, user) || replay->done[user])
				continue;
			FOR_ITEMS(write, &graph->writes, user)
				needed |= wanted_anew(replay, write) &&
					replay->activations->saved[storage_of(graph, write)];
			if (needed && *depth < capacity)
				replay->stack[(*depth)++] = user;
		}
	}
}

static void step_recompute_bring_back(struct replay *replay, uint32_t tensor)
{
	if (replay->host[storage_of(replay->graph, tensor)] != NONE && replay->build.status == OK)
		fetch_storage(replay, storage_of(replay->graph, tensor), NONE);
}

/* What windows have before an op. */
static void open_and_close(struct replay *replay, uint32_t op)
{
	if (!replay->pinned)
		return;
	FOR_ITEMS(item, &replay->gone, op)
		let_go(replay, item, op);
	FOR_ITEMS(each, &replay->come, op)
		if (replay->host[each] != NONE && replay->build.status == OK)
			fetch_storage(replay, each, make_buffer(replay, each, op));
}

static void keep_pins(struct replay *replay, uint32_t op)
{
	for (; replay->pins > 0 && replay->op[op] != NONE; replay->pins--)
		THEN(replay->build.status, draft_after(replay->build.draft, replay->op[op], replay->pinned[replay->pins - 1]));
}

/* What must run before an op reads a tensor that is written anew: the op that writes it, and the last one before the
 * reader (NONE: after the pass) that fills its storage in place, under whatever name. */
static void push_writers(struct replay *replay, uint32_t tensor, uint32_t reader, uint32_t *depth, uint32_t capacity)
{
	const struct graph *graph = replay->graph;
	uint32_t storage = storage_of(graph, tensor), fill = NONE;
	if (wanted_anew(replay, tensor) && *depth < capacity)
		replay->stack[(*depth)++] = graph->tensor[tensor].writer;
	if (!replay->anew[storage] || replay->overwrite[storage] == NONE)
		return;
	FOR_ITEMS(user, &graph->users, storage)
		if (user < reader && is_forward(graph, user) && graph_writes_in_place(graph, user, storage))
			fill = user;
	if (fill != NONE && !replay->done[fill] && *depth < capacity)
		replay->stack[(*depth)++] = fill;
}

/* Writes a tensor anew with all that it needs. An op pushes others once, before it runs again: those that it reads from
 * and those that read what it overwrites, which the stack has room for. */
static void write_anew(struct replay *replay, uint32_t tensor, uint32_t capacity)
{
	const struct graph *graph = replay->graph;
	uint32_t depth = 0;
	step_recompute_bring_back(replay, tensor);
	push_writers(replay, tensor, NONE, &depth, capacity);
	while (depth > 0 && replay->build.status == OK) {
		uint32_t op = replay->stack[depth - 1], before = depth;
		if (replay->done[op]) {
			depth--;
			continue;
		}
		FOR_ITEMS(item, &graph->reads, op) {
			step_recompute_bring_back(replay, item);
			push_writers(replay, item, op, &depth, capacity);
		}
		FOR_SPAN(i, graph->inplace_start, op)
			push_writers(replay, graph->inplace[i].in, op, &depth, capacity);
		if (depth == before)
			push_before_overwrite(replay, op, &depth, capacity);
		if (depth == before) {
			step_recompute_run_again(replay, op);
			depth--;
		}
	}
}

/* ---- the whole ---- */

/* A release of what isn't kept until then any more: it has run again, or is away. What nothing runs again for stays, as
 * a result that the program keeps, or the state that a checkpoint saves. */
static bool releases_early(const struct replay *replay, uint32_t op)
{
	FOR_ITEMS(read, &replay->graph->reads, op) {
		uint32_t storage = storage_of(replay->graph, read);
		if ((replay->anew[storage] && replay->done[allocator_of(replay->graph, storage)]) ||
			replay->leaves[storage] != NONE)
			return true;
	}
	return false;
}

/* A later op: with what it reads written anew or fetched before it. Its views follow their roots. */
static void later_op(struct replay *replay, uint32_t op, uint32_t capacity)
{
	const struct graph *graph = replay->graph;
	bool renamed = false;
	bool release = op_releases(&graph->op[op]);
	if (release && releases_early(replay, op)) {
		replay->op[op] = NONE;
		return;
	}
	FOR_ITEMS(read, &graph->reads, op)
		if (!release)
			write_anew(replay, read, capacity);
	FOR_ITEMS(tensor, &graph->writes, op) {
		uint32_t root = graph->storage[storage_of(graph, tensor)].root;
		if (graph->tensor[tensor].alias != NONE && replay->build.status == OK &&
			replay->tensor[root] != replay->original[root])
			draft_tensor_at(replay->build.draft, replay->original[tensor])->alias = replay->tensor[root];
	}
	replay->op[op] = build_copy_op(&replay->build, graph, op, replay->tensor);
	FOR_ITEMS(item, &graph->reads, op)
		renamed |= replay->tensor[item] != replay->original[item];
	if (renamed)
		step_recompute_rename_arguments(replay, replay->op[op], op, false);
}

/* The windows by storage, and by the ops where they begin and end. */
static bool step_recompute_note_windows(struct replay *replay, const struct offload_window *window, uint32_t windows)
{
	struct arena *arena = &replay->arena;
	uint32_t ops = replay->graph->ops, *row, *item = NULL;
	bool fine = ROOMS(arena, windows, row, item) && ROOM(arena, replay->window, replay->graph->storages) &&
		(windows == 0 || ROOM(arena, replay->pinned, 2 * (size_t)windows));
	FOR_WHILE(i, windows, fine) {
		replay->window[window[i].storage] = &window[i];
		row[i] = window[i].gone;
		item[i] = window[i].storage;
	}
	fine = fine && (windows == 0 || csr_of_pairs(arena, ops, windows, row, item, &replay->gone) == OK);
	FOR_WHILE(i, windows, fine)
		row[i] = window[i].back;
	return fine && (windows == 0 || csr_of_pairs(arena, ops, windows, row, item, &replay->come) == OK);
}

static enum status step_recompute_prepare(
	struct replay *replay, const uint32_t *offload, uint32_t offloads, const bool *drop, uint32_t capacity)
{
	const struct graph *graph = replay->graph;
	struct arena *arena = &replay->arena;
	replay->build.source = graph;
	NEED(build_copy_begin(&replay->build, graph, arena, &replay->tensor, &replay->op) &&
		ROOMS(arena, graph->storages, replay->leaves, replay->host, replay->back) &&
		ROOMS(arena, graph->tensors, replay->original, replay->made) && ROOM(arena, replay->done, graph->ops) &&
		ROOM(arena, replay->stack, capacity) && replay_sets(replay, drop));
	note_offloads(replay, offload, offloads);
	build_copy_tensors(&replay->build, graph, replay->original);
	COPY(replay->tensor, replay->original, graph->tensors);
	return replay->build.status;
}

static enum status step_recompute_run(struct replay *replay, const bool *drop, const uint32_t *offload,
	uint32_t offloads, const struct offload_window *window, uint32_t windows)
{
	const struct graph *graph = replay->graph;
	uint32_t capacity = 2 * (graph->reads.start[graph->ops] + graph->inplace_start[graph->ops]) + graph->ops + 1;
	FOR(i, graph->inplace_start[graph->ops])
		capacity += csr_length(&graph->users, storage_of(graph, graph->inplace[i].in));
	NEED(step_recompute_note_windows(replay, window, windows));
	TRY(step_recompute_prepare(replay, offload, offloads, drop, capacity));
	FOR(op, graph->ops) {
		open_and_close(replay, op);
		if (is_forward(graph, op))
			replay->op[op] = build_copy_op(&replay->build, graph, op, replay->original);
		else
			later_op(replay, op, capacity);
		keep_pins(replay, op);
		FOR_ITEMS(touched, &graph->touches, op)
			if (replay->leaves[touched] == op && replay->build.status == OK)
				offload_storage(replay, touched);
		TRY(replay->build.status);
	}
	build_copy_control(&replay->build, graph, replay->op);
	return replay->build.status;
}

static struct graph *step_recompute_apply(const struct graph *step, const struct activations *activations,
	const bool *drop, const uint32_t *offload, uint32_t offloads, const struct offload_window *window, uint32_t windows,
	struct error *error)
{
	struct replay replay = { .graph = step, .activations = activations };
	replay.build.status = step_recompute_run(&replay, drop, offload, offloads, window, windows);
	struct graph *result = build_like(&replay.build, step, error);
	arena_free(&replay.arena);
	return result;
}

struct graph *recompute_apply(const struct graph *step, const struct activations *activations, const bool *drop,
	const uint32_t *offload, uint32_t offloads, struct error *error)
{
	return step_recompute_apply(step, activations, drop, offload, offloads, NULL, 0, error);
}

struct graph *offload_apply(const struct graph *step, const struct activations *activations,
	const struct offload_window *window, uint32_t windows, struct error *error)
{
	HELD uint32_t *MAKE(root, windows);
	FOR_WHILE(i, windows, root)
		root[i] = step->storage[window[i].storage].root;
	return root ? step_recompute_apply(step, activations, NULL, root, windows, window, windows, error)
		: (fail_memory(error), NULL);
}
