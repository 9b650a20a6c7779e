/* ranks_scheduled.h: executes ranks' graphs in the order of a played schedule: every slot runs the ops of its pass for
 * its microbatch, each microbatch in memory of its own. An op that needs what another pass makes must find it there.
 * For tests. */
#pragma once

#include "ranks.h"

struct scheduled {
	struct rank_run *run;
	struct device **device;          /* [ranks][microbatches] */
	bool ***done;                    /* [ranks][microbatches][ops] */
	uint32_t **step;                 /* [ranks][ops] in the run's joint order */
	bool *reduced;                   /* [steps] */
	const struct pipeline_slot *slot;
	uint32_t rank;                   /* of the slot */
	uint32_t ran[PASS_COUNT];        /* ops of a pass of their own */
};

/* What persists and sums are the same for all microbatches. */
static inline void share_memory(
	struct rank_run *run, const struct graph *graph, struct device *first, struct device *other)
{
	for (int aliases = 0; aliases < 2; aliases++)
		for (uint32_t t = 0; t < graph->tensors; t++) {
			const struct tensor *tensor = &graph->tensor[t];
			if (tensor->writer != NONE || (tensor->alias != NONE) != aliases || other->cell[t].of == NONE)
				continue;
			if (!aliases && tensor->kind != KIND_INPUT)
				other->cell[t].memory = first->cell[t].memory;
			else if (aliases)
				same_memory(&run->lock, &other->cell[t], &other->cell[graph->storage[tensor->storage].root]);
		}
}

static inline void set_up_scheduled(struct scheduled *scheduled)
{
	struct rank_run *run = scheduled->run;
	struct arena *arena = &run->lock.arena;
	scheduled->device = arena_alloc(arena, run->ranks, sizeof *scheduled->device);
	scheduled->done = arena_alloc(arena, run->ranks, sizeof *scheduled->done);
	scheduled->step = arena_alloc(arena, run->ranks, sizeof *scheduled->step);
	scheduled->reduced = arena_alloc(arena, run->steps, sizeof *scheduled->reduced);
	for (uint32_t r = 0; r < run->ranks; r++) {
		scheduled->step[r] = arena_alloc(arena, run->graph[r]->ops, sizeof **scheduled->step);
		scheduled->device[r] = arena_alloc(arena, run->microbatches, sizeof **scheduled->device);
		scheduled->done[r] = arena_alloc(arena, run->microbatches, sizeof **scheduled->done);
		for (uint32_t m = 0; m < run->microbatches; m++) {
			scheduled->done[r][m] = arena_alloc(arena, run->graph[r]->ops, sizeof ***scheduled->done);
			set_up_rank(run, run->graph[r], &scheduled->device[r][m]);
			if (m > 0)
				share_memory(run, run->graph[r], &scheduled->device[r][0], &scheduled->device[r][m]);
			next_inputs(run, run->graph[r], &scheduled->device[r][m], m);
		}
	}
	for (uint32_t step = 0; step < run->steps; step++)
		scheduled->step[run->rank[step]][run->op[step]] = step;
}

/* Whether a slot's pass runs an op of the whole step; what every rank makes for itself may run in any. */
static inline bool belongs(const struct pipeline_cut *cut, uint32_t of, const struct pipeline_slot *slot)
{
	bool backward = cut->side[of] == SIDE_BACKWARD;
	if (cut->piece[of] != slot->piece || cut->side[of] == SIDE_UPDATE)
		return false;
	switch (slot->pass) {
	case PASS_FORWARD: return !backward;
	case PASS_BACKWARD: return backward;
	case PASS_INPUT: return backward && !cut->weight[of];
	default: return backward && cut->weight[of];
	}
}

static inline bool misses(struct scheduled *scheduled, uint32_t rank, uint32_t id)
{
	const struct pipeline_slot *slot = scheduled->slot;
	struct rank_run *run = scheduled->run;
	snprintf(run->why, sizeof run->why,
		"rank %u, piece %u, %s pass of microbatch %u needs %s of rank %u, which has not run", scheduled->rank,
		slot->piece, pass_names[slot->pass], slot->microbatch, run->graph[rank]->op[id].name, rank);
	return false;
}

/* Runs an op for the slot's microbatch with what it needs; false where that is of another pass and has not run. */
static inline bool perform(struct scheduled *scheduled, uint32_t rank, uint32_t id)
{
	struct rank_run *run = scheduled->run;
	const struct graph *graph = run->graph[rank];
	uint32_t m = scheduled->slot->microbatch, of = graph_find_op(run->lock.whole, graph->op[id].name), from = 0, send;
	bool *done = scheduled->done[rank][m];
	if (done[id])
		return true;
	if (of != NONE && !run->cut->anywhere[of]) {
		if (rank != scheduled->rank || !belongs(run->cut, of, scheduled->slot))
			return misses(scheduled, rank, id);
		scheduled->ran[scheduled->slot->pass]++;
	}
	FOR_ROW(i, &graph->pred, id)
		if (!perform(scheduled, rank, graph->pred.item[i]))
			return false;
	send = sender(run, rank, id, &from);
	if (send != NONE && !perform(scheduled, from, send))
		return false;
	done[id] = true;
	for (uint32_t r = 0; r < run->ranks; r++)
		run->device[r] = scheduled->device[r][m];
	return step_rank(run, scheduled->step[rank][id], scheduled->reduced);
}

/* All that a slot's pass runs, and sums of the gradients that it made. */
static inline bool run_slot(struct scheduled *scheduled)
{
	struct rank_run *run = scheduled->run;
	const struct graph *graph = run->graph[scheduled->rank];
	const bool *done = scheduled->done[scheduled->rank][scheduled->slot->microbatch];
	for (uint32_t id = 0; id < graph->ops; id++) {
		uint32_t of = graph_find_op(run->lock.whole, graph->op[id].name);
		bool own = of != NONE && !run->cut->anywhere[of] && belongs(run->cut, of, scheduled->slot),
			 ready = !own && of == NONE && !run->late[scheduled->rank][id];
		FOR_ROW(i, &graph->pred, id)
			ready = ready && done[graph->pred.item[i]];
		ready = ready && graph->op[id].phase != PHASE_COMMUNICATION;    /* a sum */
		if ((own || ready) && !perform(scheduled, scheduled->rank, id))
			return false;
	}
	return true;
}

/* What is left of a microbatch is for nobody, or for the update: no pass has it. */
static inline bool run_rest(struct scheduled *scheduled)
{
	struct rank_run *run = scheduled->run;
	for (uint32_t m = 0; m < run->microbatches; m++) {
		struct pipeline_slot none = { .piece = NONE, .microbatch = m };
		scheduled->slot = &none;
		for (uint32_t r = 0; r < run->ranks; r++)
			for (uint32_t id = 0; id < run->graph[r]->ops; id++)
				if (!run->late[r][id] && !perform(scheduled, r, id))
					return false;
	}
	return true;
}

/* Slots in order of their beginning; a slot's weight gradients behind its gradients of inputs. */
static inline bool run_schedule(struct scheduled *scheduled, const struct pipeline_plan *plan)
{
	struct rank_run *run = scheduled->run;
	uint32_t *next = arena_alloc(&run->lock.arena, run->ranks, sizeof *next);
	for (uint32_t left = run->ranks * plan->slots; left > 0; left--) {
		uint32_t first = NONE;
		for (uint32_t r = 0; r < run->ranks; r++)
			if (next[r] < plan->slots &&
				(first == NONE ||
					plan->slot[r * plan->slots + next[r]].end < plan->slot[first * plan->slots + next[first]].end))
				first = r;
		scheduled->rank = first;
		scheduled->slot = &plan->slot[first * plan->slots + next[first]++];
		if (!run_slot(scheduled))
			return false;
	}
	return run_rest(scheduled);
}

/* True: in the schedule's order the ranks get the same numbers. Free with ranks_free(). ran[PASS_COUNT]: ops run in
 * passes of each kind. */
static inline bool ranks_run_scheduled(struct rank_run *run, const struct units *units, const struct sharding *sharding,
	const struct pipeline_cut *cut, struct graph **graph, const struct pipeline_plan *plan, uint32_t microbatches,
	const struct rules *rules, uint32_t *ran)
{
	struct scheduled scheduled = { .run = run };
	*run = (struct rank_run) { .cut = cut, .ranks = cut->ranks, .microbatches = microbatches, .graph = graph };
	run->lock = (struct lockstep){
		.units = units, .sharding = sharding, .whole = cut->graph, .local = cut->graph, .rules = rules, .devices = 1
	};
	run->lock.apart = arena_alloc(&run->lock.arena, 1, 1);
	run->device = arena_alloc(&run->lock.arena, run->ranks, sizeof *run->device);
	set_up_rank(run, cut->graph, &run->lock.dense);
	if (!order_jointly(run))
		return false;
	find_late(run);
	set_up_scheduled(&scheduled);
	if (!run_dense(run) || !run_schedule(&scheduled, plan))
		return false;
	memcpy(ran, scheduled.ran, sizeof scheduled.ran);
	for (uint32_t r = 0; r < run->ranks; r++)
		run->device[r] = scheduled.device[r][run->microbatches - 1];
	for (uint32_t step = 0; step < run->steps; step++)
		if (run->late[run->rank[step]][run->op[step]] && !step_rank(run, step, scheduled.reduced))
			return false;
	return same_states(run);
}
