/* step.c: a training step as recomputation sees it. */

#include "step.h"

uint32_t recompute_version(const struct recompute_step *step, uint32_t storage, uint32_t op)
{
	uint32_t version = 0;
	FOR_ITEMS(writer, &step->writers, storage)
		version += writer < op;
	return version;
}

/* A result of the pass that stays to the end: the loss. */
static bool is_output(const struct graph *graph, uint32_t tensor)
{
	const struct storage *storage = &graph->storage[graph->tensor[tensor].storage];
	return storage->live_out && !storage->persistent && storage->allocator != NONE &&
		graph->op[storage->allocator].phase == PHASE_FORWARD;
}

static bool reads_output(const struct graph *graph, uint32_t op)
{
	FOR_ITEMS(read, &graph->reads, op)
		if (is_output(graph, read))
			return true;
	return false;
}

/* Counted to the pass, and reads nothing of it but the loss and what is made of that: the gradient of the loss, say. */
static bool reads_output_alone(const struct graph *graph, const bool *late, uint32_t op)
{
	bool some = false;
	FOR_ITEMS(tensor, &graph->reads, op) {
		uint32_t writer = graph->tensor[tensor].writer;
		bool behind = is_output(graph, tensor) || (writer != NONE && late[writer]);
		if (!behind && !graph_home(graph, tensor)->persistent)
			return false;
		some |= behind;
	}
	return some;
}

/* The tensor that is the op's mask, where its product can be computed again from that: nothing writes over it. */
static uint32_t recompute_step_mask_of(const struct graph *graph, uint32_t traits, uint32_t op)
{
	const uint32_t *result = &graph->writes.item[graph->writes.start[op]];
	if (!(traits & TRAIT_MASKED) || graph_operands(graph, op) != 1 || graph_results(graph, op) != 2 ||
		graph_pairs(graph, op) != 0 || graph->tensor[result[0]].alias != NONE ||
		graph->tensor[result[1]].alias != NONE)
		return NONE;
	uint32_t storage = graph->tensor[result[1]].storage;
	FOR_ITEMS(user, &graph->users, storage)
		if (graph_writes_in_place(graph, user, storage))
			return NONE;
	return result[1];
}

/* What depends on the loss: ops of the backward pass, and those before it that read nothing else. Whether the former
 * are any. */
static bool recompute_step_find_late(const struct graph *graph, bool *late)
{
	bool any = false;
	FOR(op, graph->ops) {
		if (graph->op[op].phase == PHASE_FORWARD) {
			late[op] |= reads_output_alone(graph, late, op);
			continue;
		}
		late[op] |= reads_output(graph, op);
		FOR_ITEMS(item, &graph->pred, op)
			late[op] |= late[item];
		any |= late[op] && graph->op[op].phase == PHASE_BACKWARD;
	}
	return any;
}

enum status recompute_early_ops(const struct graph *graph, bool *forward)
{
	bool *MAKE(late, graph->ops);
	NEED(late);
	uint32_t first = 0;
	while (first < graph->ops && graph->op[first].phase != PHASE_BACKWARD)
		first++;
	if (!recompute_step_find_late(graph, late) &&
		first < graph->ops) { /* nothing says what the loss is: the first op after the pass */
		late[first] = true;
		recompute_step_find_late(graph, late);
	}
	FOR(op, graph->ops)
		forward[op] = graph->op[op].phase == PHASE_FORWARD || (graph->op[op].phase == PHASE_BACKWARD && !late[op]);
	mem_free(late);
	return OK;
}

/* ---- pairs that become rows ---- */

struct rows {
	uint32_t *row, *item, count;
	size_t row_room, item_room;
	bool failed;
};

static void recompute_step_add(struct rows *rows, uint32_t row, uint32_t item)
{
	rows->failed = rows->failed || !GROWN(rows->row, rows->row_room, rows->count + 1)
		|| !GROWN(rows->item, rows->item_room, rows->count + 1);
	if (rows->failed)
		return;
	rows->row[rows->count] = row;
	rows->item[rows->count++] = item;
}

/* Frees the pairs. */
static bool recompute_step_finish(struct recompute_step *step, struct rows *rows, uint32_t count, struct csr *result)
{
	bool fine = !rows->failed && csr_of_pairs(&step->arena, count, rows->count, rows->row, rows->item, result) == OK;
	if (fine)
		csr_unique(result, count);
	mem_free(rows->row);
	mem_free(rows->item);
	*rows = (struct rows){ 0 };
	return fine;
}

/* ---- what ops do with storages ---- */

static bool recompute_step_allocate(const struct recompute_input *input, struct recompute_step *step)
{
	struct arena *arena = &step->arena;
	const struct graph *graph = input->graph;
	*step = (struct recompute_step){ .graph = graph,
		.ops = graph->ops,
		.storages = graph->storages,
		.alignment = input->alignment,
		.layers = RECOMPUTE_DEEP,
		.copies = input->copies,
		.flush = input->flush };
	return ROOMS(arena, graph->ops, step->time, step->workspace, step->forward, step->view, step->random, step->mask,
		step->norm, step->brings, step->brought) && ROOMS(arena, graph->storages, step->bytes, step->droppable,
		step->saved, step->fixed, step->outer);
}

/* What a fetch fetches: the storage that was offloaded. */
static void note_fetch(struct recompute_step *step, uint32_t op)
{
	const struct graph *graph = step->graph;
	step->brings[op] = step->brought[op] = NONE;
	if (graph->op[op].added != ADDED_FETCH || graph_operands(graph, op) == 0 || graph_results(graph, op) == 0)
		return;
	uint32_t writer = graph->tensor[graph_operand(graph, op, 0)].writer;
	if (writer == NONE || graph->op[writer].added != ADDED_OFFLOAD || graph_operands(graph, writer) == 0)
		return;
	step->brings[op] = graph->tensor[graph_operand(graph, writer, 0)].storage;
	step->brought[op] = graph->tensor[graph_result(graph, op, 0)].storage;
}

static void note_ops(const struct recompute_input *input, struct recompute_step *step)
{
	const struct graph *graph = step->graph;
	FOR(op, graph->ops) {
		step->forward[op] = input->forward ? input->forward[op] : graph->op[op].phase == PHASE_FORWARD;
		step->view[op] = graph_is_view(graph, op);
		note_fetch(step, op);
		uint32_t mask = input->random == RECOMPUTE_RANDOM_MASK ? recompute_step_mask_of(graph, input->traits[op], op) : NONE;
		step->mask[op] = mask == NONE ? NONE : graph->tensor[mask].storage;
		step->random[op] = (input->traits[op] & TRAIT_RANDOM) && mask == NONE;
		step->norm[op] = input->traits[op] & TRAIT_STATISTICS;
		step->time[op] = step->view[op] ? 0 : input->time[op];
		step->workspace[op] = input->workspace ? align_up(graph->op[op].workspace, input->alignment) : 0;
		step->total += step->time[op];
		step->forward_time += step->forward[op] ? step->time[op] : 0;
	}
	FOR(s, graph->storages) {
		int64_t bytes = align_up(graph->storage[s].bytes, input->alignment);
		step->bytes[s] = graph->storage[s].persistent ? 0 : bytes;
		step->persistent += graph->storage[s].persistent ? bytes : 0;
	}
}

/* ---- what can be dropped ---- */

/* Only ops of the forward pass write it, and what is in it goes away. */
static void mark_droppable(const struct recompute_input *input, struct recompute_step *step)
{
	const struct graph *graph = step->graph;
	FOR(s, graph->storages) {
		const struct storage *storage = &graph->storage[s];
		step->droppable[s] = storage->allocator != NONE && step->forward[storage->allocator] && !storage->persistent &&
			!storage->live_out && !(input->fixed && input->fixed[s] == RECOMPUTE_SAVED);
	}
	FOR(op, graph->ops) {
		bool many = graph_results(graph, op) > RECOMPUTE_RESULTS;
		bool stays = (input->random != RECOMPUTE_RANDOM_STATE && step->random[op]) || (many && !step->view[op]);
		FOR_SPAN(i, graph->inplace_start, op)
			if (!step->forward[op])
				step->droppable[graph->tensor[graph->inplace[i].in].storage] = false;
		FOR_ITEMS(written, &graph->writes, op)
			if (stays || graph->tensor[written].storage == step->mask[op])
				step->droppable[graph->tensor[written].storage] = false;
	}
}

/* The last forward op that writes a storage in place, or NONE. */
static bool find_last_writers(const struct recompute_step *step, uint32_t *last)
{
	const struct graph *graph = step->graph;
	bool any = false;
	FOR(s, graph->storages)
		last[s] = NONE;
	FOR(op, graph->ops)
		for (uint32_t i = graph->inplace_start[op]; step->forward[op] && i < graph->inplace_start[op + 1]; i++) {
			last[graph->tensor[graph->inplace[i].in].storage] = op;
			any = true;
		}
	return any;
}

/* Running statistics that a norm brings up to date: what it computes does not depend on them. It does on its weights.
 */
static bool is_statistics(const struct recompute_step *step, uint32_t op, uint32_t storage)
{
	const struct storage *of = &step->graph->storage[storage];
	return step->norm[op] && of->persistent &&
		(of->kind == KIND_BUFFER || graph_writes_in_place(step->graph, op, storage));
}

/* A forward op gives the same results again: what it reads is as it was, or can be made so; what it changes beside can
 * be made anew too. */
static bool repeatable(const struct recompute_step *step, const uint32_t *last, uint32_t op)
{
	const struct graph *graph = step->graph;
	FOR_ITEMS(storage, &graph->touches, op) {
		if (step->droppable[storage] || is_statistics(step, op, storage) || last[storage] == NONE ||
			graph->storage[storage].allocator == op)
			continue;
		if (last[storage] > op || graph_writes_in_place(graph, op, storage))
			return false;
	}
	return true;
}

/* What an op writes that can't be repeated stays; until nothing changes. */
static bool recompute_step_settle(struct recompute_step *step)
{
	const struct graph *graph = step->graph;
	uint32_t *MAKE(last, graph->storages);
	if (!last)
		return false;
	bool any = find_last_writers(step, last);
	for (bool changed = any; changed;) {
		changed = false;
		FOR(op, graph->ops) {
			if (!step->forward[op] || step->view[op] || repeatable(step, last, op))
				continue;
			FOR_ITEMS(storage, &graph->touches, op) {
				bool writes = graph->storage[storage].allocator == op || graph_writes_in_place(graph, op, storage);
				changed |= writes && step->droppable[storage];
				step->droppable[storage] = step->droppable[storage] && !writes;
			}
		}
	}
	mem_free(last);
	return true;
}

/* ---- the rows ---- */

/* What no forward op touches and none brings back. */
static void recompute_step_find_outer(struct recompute_step *step)
{
	const struct graph *graph = step->graph;
	FOR(s, graph->storages)
		step->outer[s] = true;
	FOR(op, graph->ops)
		FOR_ITEMS(touched, &graph->touches, op)
			step->outer[touched] &= !step->forward[op];
	FOR(op, graph->ops)
		if (step->brought[op] != NONE)
			step->outer[step->brought[op]] = false;
}

static bool find_touches(struct recompute_step *step)
{
	const struct graph *graph = step->graph;
	struct rows touches = { 0 }, makes = { 0 }, writers = { 0 }, changes = { 0 }, inner = { 0 }, inner_makes = { 0 };
	recompute_step_find_outer(step);
	FOR(op, graph->ops)
		FOR_ITEMS(storage, &graph->touches, op) {
			bool makes_it = graph->storage[storage].allocator == op, drops = step->droppable[storage];
			bool changes_it = drops && !makes_it && graph_writes_in_place(graph, op, storage);
			bool counts = step->bytes[storage] > 0 || drops;
			if (counts)
				recompute_step_add(makes_it ? &makes : &touches, op, storage);
			if (counts && !step->outer[storage])
				recompute_step_add(makes_it ? &inner_makes : &inner, op, storage);
			if (changes_it)
				recompute_step_add(&changes, op, storage);
			if (drops && (makes_it || changes_it))
				recompute_step_add(&writers, storage, op);
		}
	bool fine = recompute_step_finish(step, &touches, graph->ops, &step->touches);
	fine = recompute_step_finish(step, &makes, graph->ops, &step->makes) && fine;
	fine = recompute_step_finish(step, &changes, graph->ops, &step->changes) && fine;
	fine = recompute_step_finish(step, &inner, graph->ops, &step->inner) && fine;
	fine = recompute_step_finish(step, &inner_makes, graph->ops, &step->inner_makes) && fine;
	return recompute_step_finish(step, &writers, graph->storages, &step->writers) && fine;
}

static bool find_reads(struct recompute_step *step)
{
	const struct graph *graph = step->graph;
	struct rows reads = { 0 }, readers = { 0 }, steady = { 0 }, overwrites = { 0 };
	FOR(op, graph->ops) {
		FOR_ITEMS(storage, &graph->touches, op) {
			bool drops = step->droppable[storage];
			if (graph->storage[storage].allocator == op || step->view[op])
				continue;
			if (drops)
				recompute_step_add(&reads, op, storage);
			if (drops && !step->forward[op])
				recompute_step_add(&readers, storage, op);
			if (!drops && step->forward[op] && !is_statistics(step, op, storage))
				recompute_step_add(&steady, op, storage);
			if (!step->forward[op] && graph_writes_in_place(graph, op, storage))
				recompute_step_add(&overwrites, op, storage);
			step->saved[storage] |= drops && !step->forward[op];
		}
	}
	bool fine = recompute_step_finish(step, &reads, graph->ops, &step->reads);
	fine = recompute_step_finish(step, &readers, graph->storages, &step->readers) && fine;
	fine = recompute_step_finish(step, &steady, graph->ops, &step->steady) && fine;
	return recompute_step_finish(step, &overwrites, graph->ops, &step->overwrites) && fine;
}

/* Readers of a version that is overwritten. */
static bool find_before(struct recompute_step *step)
{
	struct rows before = { 0 };
	FOR(op, step->ops)
		FOR_ITEMS(storage, &step->reads, op) {
			FOR_ITEMS(writer, &step->writers, storage) {
				if (step->forward[op] && writer > op) {
					recompute_step_add(&before, writer, op);
					break;
				}
			}
		}
	step->in_place = before.count > 0;
	ROOM(&step->arena, step->read_version, step->reads.start[step->ops]);
	FOR_WHILE(op, step->ops, step->read_version)
		FOR_ROW(i, &step->reads, op)
			step->read_version[i] = step->forward[op] ? recompute_version(step, step->reads.item[i], op)
				: csr_length(&step->writers, step->reads.item[i]);
	before.failed |= !step->read_version;
	return recompute_step_finish(step, &before, step->ops, &step->before);
}

/* Copies of what is there whatever is kept. */
static bool count_copied(struct recompute_step *step)
{
	if (!step->copies)
		return true;
	if (!ROOM(&step->arena, step->copied_late, step->storages))
		return false;
	FOR(s, step->storages) {
		bool late = false;
		FOR_ITEMS(op, &step->graph->users, s)
			late |= !step->forward[op] && !step->view[op] && step->graph->storage[s].allocator != op;
		step->copied_late[s] = late && !step->droppable[s];
		step->copied += step->copied_late[s] ? step->copies[s] : 0;
	}
	return true;
}

enum status recompute_step_find(const struct recompute_input *input, struct recompute_step *step)
{
	NEED(recompute_step_allocate(input, step));
	note_ops(input, step);
	mark_droppable(input, step);
	NEED(recompute_step_settle(step) && find_touches(step) && find_reads(step) && find_before(step) && count_copied(step));
	FOR(s, step->storages)
		step->fixed[s] = input->fixed && step->droppable[s] ? input->fixed[s] : RECOMPUTE_FREE;
	return OK;
}

void recompute_step_free(struct recompute_step *step)
{
	arena_free(&step->arena);
}
