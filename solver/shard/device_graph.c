/* device_graph.c: the graph of one device of a sharded step.
 *
 * The program is walked once. Every storage has a home, its local memory; where an op needs a tensor in another
 * placement, a chain of collectives makes a copy. Views and in-place writes may live in a copy: names alone don't tell
 * versions, so every copy knows the version that it holds. A write makes the copy that it goes to the newest one and
 * all others stale; what is stale is brought up to date, in place, just before it is read, and what persists is brought
 * home after its last use. */

#include "device_walk.h"

#define ANY_PHASE PHASE_COUNT

static void device_graph_describe(struct walk *walk)
{
	const struct graph *graph = walk->graph;
	struct about about = graph->about;
	if (mesh_devices(walk->mesh) > 1) {
		about.axes = walk->mesh->axes;
		about.device = walk->number;
		FOR(a, about.axes) {
			memcpy(about.axis[a].name, walk->mesh->axis[a].name, sizeof about.axis[a].name);
			about.axis[a].size = walk->mesh->axis[a].size;
		}
	}
	walk_stop(walk, draft_describe(walk->draft, graph->name, graph->source, graph->extra, &about));
}

/* ---- ops of the input ---- */

/* What an op reads: the draft's tensors and their holders, in the order of graph->reads. */
struct operands { uint32_t *name, *holder; };

static bool find_operands(struct walk *walk, uint32_t op, struct operands *operands)
{
	const struct graph *graph = walk->graph;
	uint32_t first = graph->reads.start[op];
	FOR_ROW(i, &graph->reads, op)
		operands->name[i - first] = walk_reach(
			walk, graph->reads.item[i], walk->sharding->needed[i], graph->op[op].phase, &operands->holder[i - first]);
	return walk->status == OK;
}

/* The operand that is a tensor, or with any, the first of its storage: its place in the row; NONE. */
static uint32_t device_graph_operand_of(const struct graph *graph, uint32_t op, uint32_t tensor, bool any)
{
	FOR_ROW(i, &graph->reads, op)
		if (graph->reads.item[i] == tensor ||
			(any && graph->tensor[graph->reads.item[i]].storage == graph->tensor[tensor].storage))
			return i - graph->reads.start[op];
	return NONE;
}

/* The operand that an op writes in place: the tensor, or all of its memory under another name; NONE. */
static uint32_t operand_written(const struct graph *graph, uint32_t op, uint32_t in)
{
	uint32_t k = device_graph_operand_of(graph, op, in, false);
	for (uint32_t i = graph->reads.start[op]; k == NONE && i < graph->reads.start[op + 1]; i++) {
		const struct tensor *other = &graph->tensor[graph->reads.item[i]], *tensor = &graph->tensor[in];
		bool alike = other->storage == tensor->storage && other->bytes == tensor->bytes &&
			other->dims == tensor->dims && other->shape && tensor->shape;
		FOR_WHILE(d, tensor->dims, alike)
			alike = other->shape[d] == tensor->shape[d];
		k = alike ? i - graph->reads.start[op] : NONE;
	}
	return k;
}

/* The memory that an op writes in place: the draft's tensor and its holder. */
static uint32_t written_operand(
	struct walk *walk, uint32_t op, const struct operands *operands, uint32_t in, uint32_t *holder)
{
	uint32_t k = operand_written(walk->graph, op, in);
	if (k != NONE) {
		*holder = operands->holder[k];
		return operands->name[k];
	}
	return walk_reach(walk, in, walk->place[in], walk->graph->op[op].phase, holder);
}

/* A result that shares an operand's memory. */
static void place_alias(struct walk *walk, uint32_t op, const struct operands *operands, uint32_t tensor)
{
	const struct graph *graph = walk->graph;
	uint32_t of = NONE, name = NONE, holder = NONE;
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph->inplace[i].out == tensor)
			of = graph->inplace[i].in;
	uint32_t k = device_graph_operand_of(graph, op, tensor, true);
	if (of != NONE) {
		name = written_operand(walk, op, operands, of, &holder);
	} else if (k != NONE) {
		name = operands->name[k];
		holder = operands->holder[k];
	} else {
		name = walk_reach(
			walk, graph->tensor[tensor].alias, walk->place[graph->tensor[tensor].alias], graph->op[op].phase, &holder);
	}
	if (walk->status != OK)
		return;
	walk->where[tensor] = holder;
	if (!walk_home(walk, holder) || walk->where[graph->tensor[tensor].alias] != holder)
		draft_tensor_at(walk->draft, tensor)->alias = name;
}

/* Marks what an op wrote in place as the newest. */
static void device_graph_note_writes(struct walk *walk, uint32_t op, const struct operands *operands)
{
	const struct graph *graph = walk->graph;
	for (uint32_t i = graph->inplace_start[op]; i < graph->inplace_start[op + 1] && walk->status == OK; i++) {
		const struct inplace *pair = &graph->inplace[i];
		uint32_t holder, k = operand_written(graph, op, pair->in), storage = graph->tensor[pair->in].storage;
		uint32_t name = written_operand(walk, op, operands, pair->in, &holder);
		struct placement at = k == NONE ? walk->place[pair->in] : walk->sharding->needed[graph->reads.start[op] + k];
		if (pair->out != NONE &&
			!placements_coincide(walk->units, walk->mesh, pair->in, at, pair->out, walk->sharding->produced[pair->out]))
			walk_stop(walk,
				refuse(walk->error, "op \"%.100s\" writes \"%.100s\" in another placement than it reads",
					graph->op[op].name, graph->tensor[pair->in].name));
		if (walk->status == OK && draft_inplace(walk->draft, walk->made[op], pair->out, name) != OK)
			walk_stop(walk, NO_MEMORY);
		bool again = false;    /* another write of this op to the same storage */
		FOR_FROM(j, graph->inplace_start[op], i)
			again |= graph->tensor[graph->inplace[j].in].storage == storage;
		if (walk->status == OK && again && walk->newest[storage] != holder)
			walk_stop(walk,
				refuse(walk->error, "op \"%.100s\" writes one storage in two placements", graph->op[op].name));
		if (walk->status != OK)
			return;
		walk->version[storage] += !again;
		walk->holder[holder].version = walk->version[storage];
		walk->newest[storage] = holder;
	}
}

static void device_graph_copy_op(struct walk *walk, uint32_t id, struct operands *operands)
{
	const struct graph *graph = walk->graph;
	walk->module = graph->op[id].module;
	if (!find_operands(walk, id, operands))
		return;
	FOR_ITEMS(written, &graph->writes, id)
		if (graph->tensor[written].alias != NONE)
			place_alias(walk, id, operands, written);
	struct op op = graph->op[id];
	op.flops = split_share(walk->units, walk->mesh, id, walk->sharding->split[id], op.flops);
	op.workspace = split_share(walk->units, walk->mesh, id, walk->sharding->split[id], op.workspace) +
		split_scratch(walk->units, walk->mesh, id, walk->sharding->split[id]);
	op.has_workspace |= op.workspace > 0;
	uint32_t made = walk->made[id] = draft_op(walk->draft, &op);
	enum status status = made == NONE ? NO_MEMORY : OK;
	FOR_ROW(i, &graph->reads, id)
		status = status == OK ? draft_read(walk->draft, made, operands->name[i - graph->reads.start[id]]) : status;
	FOR_ITEMS(write, &graph->writes, id)
		status = status == OK ? draft_write(walk->draft, made, write) : status;
	walk_stop(walk, status);
	device_graph_note_writes(walk, id, operands);
}

/* After the last op that touches a storage that stays: its home holds the latest content. */
static void finish_storages(struct walk *walk, uint32_t op)
{
	const struct graph *graph = walk->graph;
	FOR_ITEMS(storage, &graph->touches, op)
		if (graph->storage[storage].live_out && graph->users.item[graph->users.start[storage + 1] - 1] == op)
			walk_bring_up(walk, storage);
}

/* ---- the whole ---- */

static bool index_readers(struct walk *walk)
{
	const struct graph *graph = walk->graph;
	uint32_t reads = graph->reads.start[graph->ops];
	if (!(ROOM(&walk->arena, walk->read_start, graph->tensors + (size_t)2) &&
		ROOMS(&walk->arena, reads, walk->reader, walk->read)))
		return false;
	FOR(i, reads)
		walk->read_start[graph->reads.item[i] + 2]++;
	FOR(t, graph->tensors)
		walk->read_start[t + 2] += walk->read_start[t + 1];
	FOR(op, graph->ops)
		FOR_ROW(i, &graph->reads, op) {
			uint32_t at = walk->read_start[graph->reads.item[i] + 1]++;
			walk->reader[at] = op;
			walk->read[at] = i;
		}
	return true;
}

static bool device_graph_start(struct walk *walk)
{
	const struct graph *graph = walk->graph;
	walk->draft = draft_new();
	if (!(ROOMS(&walk->arena, graph->tensors, walk->name, walk->where, walk->place, walk->copies) &&
		ROOMS(&walk->arena, graph->storages, walk->version, walk->newest) &&
		ROOM(&walk->arena, walk->made, graph->ops)) ||
		!walk->draft || !index_readers(walk) || reshard_memo_begin(&walk->memo, walk->units, walk->mesh) != OK)
		return false;
	device_graph_describe(walk);
	draft_lend(walk->draft, graph);
	FOR(s, graph->storages) {
		walk_add_holder(
			walk, (struct holder){ .source = NONE, .storage = s, .base = NONE, .next = NONE, .phase = ANY_PHASE });
		walk->newest[s] = s;
	}
	FOR(t, graph->tensors) {
		walk->place[t] = walk->sharding->produced[t];
		walk->where[t] = graph->tensor[t].storage;
		walk->copies[t] = NONE;
		walk->name[t] = walk_tensor(walk, t, NULL, walk->place[t], graph->tensor[t].alias);
	}
	return walk->status == OK;
}

static void walk_ops(struct walk *walk)
{
	const struct graph *graph = walk->graph;
	uint32_t most = 0;
	FOR(op, graph->ops)
		most = graph_operands(graph, op) > most ? graph_operands(graph, op) : most;
	struct operands operands = { arena_alloc(&walk->arena, most, sizeof *operands.name),
		arena_alloc(&walk->arena, most, sizeof *operands.holder) };
	if (!operands.name || !operands.holder)
		walk_stop(walk, NO_MEMORY);
	FOR_WHILE(op, graph->ops, walk->status == OK) {
		walk->now = op;
		device_graph_copy_op(walk, op, &operands);
		walk_reduce(walk, op);
		finish_storages(walk, op);
	}
	FOR(op, graph->ops)
		FOR_ITEMS(item, &graph->after, op)
			if (walk->status == OK)
				walk_stop(walk, draft_after(walk->draft, walk->made[op], walk->made[item]));
}

struct graph *device_graph_build(
	const struct units *units, const struct sharding *sharding, uint32_t device, struct error *error)
{
	struct walk walk = { .units = units,
		.graph = units->graph,
		.sharding = sharding,
		.mesh = &sharding->mesh,
		.number = device,
		.error = error };
	struct graph *result = NULL;
	if (!device_graph_start(&walk))
		walk_stop(&walk, NO_MEMORY);
	else
		walk_ops(&walk);
	if (error_set(error, walk.status) == OK)
		result = graph_build(walk.draft, error);
	draft_free(walk.draft);
	mem_free(walk.holder);
	reshard_memo_end(&walk.memo);
	arena_free(&walk.arena);
	return result;
}
