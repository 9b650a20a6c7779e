/* replayable.c: what to write anew in the backward pass, what of it can be, and what that costs. */
#include "replay.h"

/* ---- choosing ---- */

void recompute_choose(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options, bool *drop)
{
	FOR(s, step->storages) {
		uint32_t allocator = allocator_of(step, s), layer = allocator == NONE ? NONE : activations->layer[allocator];
		bool held = options->mode == RECOMPUTE_PRODUCTS && allocator != NONE && activations->kept_product[allocator];
		bool full = options->mode == RECOMPUTE_FULL || (options->mode == RECOMPUTE_PRODUCTS && !held);
		activations->held[s] = held;
		FOR(i, options->layers)
			full |= layer == options->layer[i];
		drop[s] = activations->saved[s] && ((full && layer != NONE && !activations->anchor[s]) ||
			(options->mode == RECOMPUTE_SELECTIVE && activations->attention[s]));
	}
	FOR(i, options->residents)
		drop[storage_of(step, options->resident[i])] = false;
	FOR(i, options->offloads)
		drop[storage_of(step, options->offload[i])] = false;
}

/* ---- what can be run again ---- */

static void find_overwrites(struct replay *replay)
{
	const struct graph *graph = replay->graph;
	FOR(s, graph->storages)
		replay->overwrite[s] = NONE;
	FOR(op, graph->ops)
		FOR_SPAN(i, graph->inplace_start, op)
			if (is_forward(graph, op))
				replay->overwrite[storage_of(graph, graph->inplace[i].in)] = op;
}

/* An op can run again when everything it reads still has the value it had, or is written anew as well. */
static bool op_replayable(const struct replay *replay, uint32_t op)
{
	const struct graph *graph = replay->graph;
	FOR_ITEMS(read, &graph->reads, op) {
		uint32_t storage = storage_of(graph, read), over = replay->overwrite[storage];
		if (over != NONE && over >= op && !replay->anew[storage] && !graph->storage[storage].persistent)
			return false;
	}
	return true;
}

/* An op that reads what is overwritten later runs again at its turn only where its own results are saved
 * (push_before_overwrite): else it might run after the overwriting. */
static bool reads_in_time(const struct replay *replay, uint32_t op, uint32_t storage)
{
	const struct graph *graph = replay->graph;
	FOR_ITEMS(write, &graph->writes, op) {
		uint32_t written = storage_of(graph, write);
		if (written != storage && replay->anew[written] && !replay->activations->saved[written])
			return false;
	}
	return true;
}

/* All that fills a storage can run again. */
static bool storage_replayable(const struct replay *replay, uint32_t storage)
{
	const struct graph *graph = replay->graph;
	FOR_ITEMS(member, &graph->members, storage) {
		uint32_t writer = graph->tensor[member].writer;
		if (is_forward(graph, writer) && !op_replayable(replay, writer))
			return false;
	}
	if (replay->overwrite[storage] == NONE)
		return true;
	FOR_ITEMS(user, &graph->users, storage) {
		if (user > replay->overwrite[storage] || !is_forward(graph, user))
			continue;
		if (graph_writes_in_place(graph, user, storage) ? !op_replayable(replay, user)
			: !reads_in_time(replay, user, storage))
			return false;
	}
	return true;
}

/* Storages that are not kept, less those that can't be written anew. Each round only shrinks the set. */
static void replayable_settle(struct replay *replay, const bool *drop)
{
	const struct graph *graph = replay->graph;
	const struct activations *activations = replay->activations;
	FOR(s, graph->storages)
		replay->anew[s] = is_forward(graph, allocator_of(graph, s)) && !graph->storage[s].live_out &&
			!activations->anchor[s] && !activations->held[s] && (activations->saved[s] ? drop && drop[s] : true);
	FOR_WHILE(s, graph->storages, drop)
		replay->anew[s] |= drop[s] && activations->saved[s];
	for (bool changed = true; changed;) {
		changed = false;
		FOR(s, graph->storages) {
			bool fine = replay->anew[s] && storage_replayable(replay, s);
			changed |= fine != replay->anew[s];
			replay->anew[s] = fine;
		}
	}
}

bool replay_sets(struct replay *replay, const bool *drop)
{
	const struct graph *graph = replay->graph;
	if (!ROOMS(&replay->arena, graph->storages, replay->anew, replay->overwrite))
		return false;
	find_overwrites(replay);
	replayable_settle(replay, drop);
	return true;
}

static void replayable_charge(const struct replay *replay, struct recompute_cost *cost, struct recompute_cost *by_layer,
	uint32_t op, int64_t flops, int64_t bytes)
{
	uint32_t layer = replay->activations->layer[op];
	cost->flops = sum_or_most(cost->flops, flops);
	cost->bytes += bytes;
	if (by_layer && layer != NONE) {
		by_layer[layer].flops = sum_or_most(by_layer[layer].flops, flops);
		by_layer[layer].bytes += bytes;
	}
}

/* From the last op to the first: an op runs again when something it writes is read after the pass or by an op
 * that runs again. */
static void charge_flops(const struct replay *replay, bool *demanded, bool *demanded_storage,
	struct recompute_cost *cost, struct recompute_cost *by_layer)
{
	const struct graph *graph = replay->graph;
	FOR_DOWN(op, graph->ops) {
		bool again = !is_forward(graph, op) && !op_releases(&graph->op[op]);
		FOR_ITEMS(written, &graph->writes, op)
			again |= demanded[written];
		FOR_SPAN(i, graph->inplace_start, op)
			again |= is_forward(graph, op) && demanded_storage[storage_of(graph, graph->inplace[i].in)];
		if (again && is_forward(graph, op))
			replayable_charge(replay, cost, by_layer, op, replay->activations->flops[op], 0);
		FOR_ITEMS(item, &graph->reads, op)
			if (again && replay->anew[storage_of(graph, item)])
				demanded[item] = demanded_storage[storage_of(graph, item)] = true;
	}
}

enum status recompute_cost(const struct graph *step, const struct activations *activations, const bool *drop,
	struct recompute_cost *cost, struct recompute_cost *by_layer, struct error *error)
{
	struct replay replay = { .graph = step, .activations = activations };
	bool *MAKE_IN(&replay.arena, demanded, step->tensors);
	bool *MAKE_IN(&replay.arena, demanded_storage, step->storages);
	*cost = (struct recompute_cost){ 0 };
	FOR_WHILE(i, activations->layers, by_layer)
		by_layer[i] = (struct recompute_cost){ 0 };
	if (!demanded || !demanded_storage || !replay_sets(&replay, drop)) {
		arena_free(&replay.arena);
		return fail_memory(error);
	}
	charge_flops(&replay, demanded, demanded_storage, cost, by_layer);
	FOR(s, step->storages)
		if (drop[s] && activations->saved[s] && replay.anew[s])
			replayable_charge(&replay, cost, by_layer, allocator_of(step, s), 0, step->storage[s].bytes);
	arena_free(&replay.arena);
	return OK;
}
