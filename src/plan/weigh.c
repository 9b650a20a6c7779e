/* weigh.c: plans share graphs and results of stages with each other. Each is a piece with an address, counted at the
 * first plan that has it. */
#include "plan.h"
#include "src/stages/fit/stage.h"

enum { PIECES_MOST = 16 + SHARD_RIVALS };

/* Addresses that were counted: a hash table with linear probing, never full. */
struct scale {
	const void **seen;
	size_t places, bytes;
};

static void plan_weigh_add(struct scale *scale, const void *at, size_t bytes)
{
	if (!at)
		return;
	size_t i = (uintptr_t)at / 16 * UINT64_C(0x9e3779b97f4a7c15) % scale->places;
	while (scale->seen[i] && scale->seen[i] != at)
		i = (i + 1) % scale->places;
	scale->bytes += scale->seen[i] ? 0 : bytes;
	scale->seen[i] = at;
}

static void plan_weigh_add_graph(struct scale *scale, const struct graph *graph, const struct graph *input)
{
	if (graph && graph != input)
		plan_weigh_add(scale, graph, graph_bytes(graph));
}

static void add_sharded(struct scale *scale, const struct sharded *sharded, const struct graph *input)
{
	plan_weigh_add(scale, sharded, sizeof *sharded + sharded->arena.bytes + sharded->sharding.arena.bytes);
	plan_weigh_add_graph(scale, sharded->device, input);
	FOR(i, sharded->rivals)
		plan_weigh_add(scale, &sharded->rival[i], sharded->rival[i].arena.bytes);
	plan_weigh_add(scale, sharded->shared,
		sizeof *sharded->shared + sharded->shared->units.arena.bytes + sharded->shared->units.factors.arena.bytes);
	plan_weigh_add_graph(scale, sharded->shared->graph, input);
}

static void add_transformed(struct scale *scale, const struct transformed *transformed, const struct graph *input)
{
	plan_weigh_add(scale, transformed, sizeof *transformed + (transformed->notes ? strlen(transformed->notes) : 0));
	plan_weigh_add_graph(scale, transformed->graph, input);
	if (transformed->sharded)
		add_sharded(scale, transformed->sharded, input);
	if (transformed->pipelined) {
		plan_weigh_add(scale, transformed->pipelined, pipelined_bytes(transformed->pipelined));
		plan_weigh_add_graph(scale, transformed->pipelined->device, input);
	}
	if (transformed->fitted) {
		const struct fitted *fitted = transformed->fitted;
		size_t ops = fitted->step ? fitted->step->ops : 0;
		plan_weigh_add(scale, fitted, sizeof *fitted + ops * (2 * sizeof *fitted->time + sizeof *fitted->traits));
		plan_weigh_add_graph(scale, fitted->step, input);
		plan_weigh_add_graph(scale, fitted->recomputed, input);
	}
}

static void add_ordered(struct scale *scale, const struct ordered *ordered, const struct graph *input)
{
	plan_weigh_add(scale, ordered,
		sizeof *ordered + ordered->problem.arena.bytes + ordered->arena.bytes +
			ordered->problem.ops * sizeof(uint32_t) + ordered->result.certificate.arcs * sizeof(struct order_arc));
	plan_weigh_add_graph(scale, ordered->graph, input);
}

static void plan_weigh_add_plan(struct scale *scale, const struct plan *plan)
{
	const struct laid_out *laid_out = plan->laid_out;
	plan_weigh_add(
		scale, plan, sizeof *plan + (plan->by_rank ? plan->pipelined->ranks * sizeof *plan->by_rank : 0));
	plan_weigh_add_graph(scale, plan->graph, plan->input);
	add_transformed(scale, plan->transformed, plan->input);
	add_ordered(scale, plan->ordered, plan->input);
	if (plan->least)
		add_ordered(scale, plan->least, plan->input);
	plan_weigh_add(scale, laid_out, sizeof *laid_out + laid_out->arena.bytes + laid_out->items * sizeof(int64_t));
	/* A simulated step has some numbers of each op. */
	plan_weigh_add(scale, plan->time,
		plan->time ? sizeof *plan->time + plan->graph->ops * (plan->time->passes > 1 ? 16 : 8) * sizeof(int64_t) : 0);
}

uint32_t plans_within(struct plan *const *plan, uint32_t plans, size_t limit)
{
	struct scale scale = { .places = (size_t)plans * PIECES_MOST * 2 };
	MAKE(scale.seen, scale.places);
	uint32_t within = 0;
	while (scale.seen && within < plans) {
		plan_weigh_add_plan(&scale, plan[plans - 1 - within]);
		if (within > 0 && scale.bytes > limit)
			break;
		within++;
	}
	mem_free(scale.seen);
	return scale.seen ? within : plans;
}
