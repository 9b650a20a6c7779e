/* times.c: passes of ranks on streams. */
#include "solver/base/sort.h"
#include "times.h"

/* The number of an op's pass on its rank; the update is the last. */
static uint32_t times_segment(const struct pipeline_cut *cut, uint32_t op)
{
	uint32_t piece = cut->piece[op] / cut->ranks, pieces = cut->pieces / cut->ranks;
	return cut->side[op] == SIDE_UPDATE ? 3 * pieces
		: cut->side[op] == SIDE_FORWARD ? piece
		: pieces + 2 * (pieces - 1 - piece) + cut->weight[op];
}

/* The last op of a backward pass that an all-reduce of gradients waits for, where it waits for no other: sums over
 * microbatches are complete then. NONE: it is none of these. */
static uint32_t times_maker(const struct pipeline_cut *cut, uint32_t op)
{
	const struct graph *graph = cut->graph;
	const struct collective *said = graph->op[op].collective;
	uint32_t maker = NONE;
	if (!said || said->kind != COLLECTIVE_ALL_REDUCE || cut->side[op] != SIDE_UPDATE)
		return NONE;
	FOR_ITEMS(before, &graph->pred, op) {
		if (cut->side[before] != SIDE_BACKWARD)
			return NONE;
		maker = maker == NONE || before > maker ? before : maker;
	}
	return maker;
}

/* Pass by pass, and within a pass in program order, as far as dependencies allow that; whole gradients are reduced when
 * they are made, as in a step of one pass. */
static enum status times_order(const struct pipeline_cut *cut, struct arena *scratch, struct rank_clock *clock)
{
	const struct graph *graph = cut->graph;
	struct order_heap ready;
	uint32_t *missing = arena_alloc(scratch, graph->ops, sizeof *missing), at = 0;
	TRY(order_heap_init(&ready, graph->ops, scratch));
	NEED(missing && ROOMS(&clock->arena, graph->ops, clock->segment, clock->order));
	FOR(op, graph->ops) {
		clock->segment[op] = times_segment(cut, op);
		if ((missing[op] = csr_length(&graph->pred, op)) == 0)
			order_heap_put(&ready, op, clock->segment[op], op);
	}
	for (uint32_t op; (op = order_heap_top(&ready)) != NONE; clock->order[at++] = op) {
		order_heap_remove(&ready, op);
		FOR_ITEMS(next, &graph->succ, op) {
			uint32_t maker = --missing[next] == 0 ? times_maker(cut, next) : NONE,
					 as = maker == NONE ? next : maker;
			if (missing[next] == 0)
				order_heap_put(&ready, next, clock->segment[as], as);
		}
	}
	return OK;
}

/* What other ranks do takes no time here. */
static void times_leave_out(const struct pipeline_cut *cut, const struct step_costs *all, uint32_t rank, bool updates,
	struct step_costs *costs, bool *apart)
{
	FOR(op, cut->graph->ops) {
		bool in = cut_rank(cut, op) == rank && (updates || cut->side[op] != SIDE_UPDATE);
		apart[op] = !in && all->time[op] > 0;
		costs->time[op] = in ? all->time[op] : 0;
		for (size_t i = (size_t)op * all->axes; i < ((size_t)op + 1) * all->axes; i++)
			costs->inside[i] = in ? all->inside[i] : 0;
	}
	costs->apart = apart;
}

enum status rank_clock_find(const struct pipeline_cut *cut, const struct step_costs *costs, uint32_t rank, bool updates,
	struct rank_clock *first, struct rank_clock *clock)
{
	const struct graph *graph = cut->graph;
	OWN(arena) scratch = { 0 };
	struct step_costs own = *costs;
	bool *apart;
	clock->pieces = cut->pieces / cut->ranks;
	NEED(ROOMS(&scratch, graph->ops, apart, own.time) &&
		ROOM(&scratch, own.inside, (size_t)graph->ops * costs->axes));
	times_leave_out(cut, costs, rank, updates, &own, apart);
	if (!first->order)
		TRY(times_order(cut, &scratch, first));
	clock->segment = first->segment;
	clock->order = first->order;
	TRY(step_model_build(graph, clock->order, &own, &clock->model));
	return step_time_find(&clock->model, &clock->time);
}

void rank_clock_free(struct rank_clock *clock)
{
	step_time_free(&clock->time);
	step_model_free(&clock->model);
	arena_free(&clock->arena);
	*clock = (struct rank_clock) { 0 };
}

void rank_passes(const struct rank_clock *clock, struct pass_time *pass)
{
	const struct step_model *model = &clock->model;
	uint32_t passes = 3 * clock->pieces, latest = 0;
	FOR(k, passes)
		pass[k] = (struct pass_time) { .time = INT64_MAX };
	FOR(i, model->ops) {
		uint32_t op = model->sequence[i], own = clock->segment[model->of[op]];
		if (model->stream[op] != 0 || model->time[op] == 0)
			continue;
		latest = LARGER(own, latest);
		pass[latest].waits -= model->time[op];
		pass[latest].time = SMALLER(clock->time.start[op], pass[latest].time);
	}
	int64_t end = clock->time.total;
	FOR_DOWN(k, passes) {    /* from when it begins to how long it takes */
		int64_t begin = k == 0 ? 0 : pass[k].time < end ? pass[k].time : end;
		pass[k].time = end - begin;
		pass[k].waits += pass[k].time;
		end = begin;
	}
}

uint64_t rank_work(const struct pipeline_cut *cut, const struct step_costs *costs, uint32_t rank)
{
	const struct graph *graph = cut->graph;
	uint64_t hash = 0;
	FOR(op, graph->ops) {
		if (cut_rank(cut, op) != rank)
			continue;
		hash = hash_join(hash, (uint64_t)costs->time[op] << 4 | costs->stream[op]);
		hash = hash_join(hash, times_segment(cut, op));
		for (size_t i = (size_t)op * costs->axes; i < ((size_t)op + 1) * costs->axes; i++)
			hash = hash_join(hash, (uint64_t)costs->inside[i]);
		FOR_ITEMS(before, &graph->pred, op)
			hash = cut_rank(cut, before) == rank ? hash_join(hash, op - before) : hash;
	}
	return hash;
}

enum status plan_rank_shares(const struct graph *graph, const struct sharded *sharded,
	const struct pipelined *pipelined, uint32_t rank, const struct scenario *scenario, const struct rules *rules,
	struct step_shares *shares)
{
	int64_t passes = 0, computed;
	*shares = (struct step_shares) { .total = pipelined->time };
	enum status status = plan_step_shares(graph, sharded, pipelined->microbatches, scenario, rules, shares, &computed);
	const struct pipeline_slot *slot = pipelined->timing.slot + (size_t)rank * pipelined->timing.slots;
	FOR(i, pipelined->timing.slots)    /* passes beside each other take less than both */
		passes += slot[i].end - slot[i].begin;
	shares->time[STEP_WAITING][STEP_LINK] = pipelined->rank[rank].exposed + (passes > computed ? passes - computed : 0);
	shares->time[STEP_WAITING][STEP_RANKS] = shares->total - shares->computed - shares->time[STEP_WAITING][STEP_LINK];
	return status;
}
