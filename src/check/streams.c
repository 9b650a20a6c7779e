/* streams.c: bytes alive by time, summed over the starts and ends of what a step does. */

#include "state.h"

struct change { int64_t when, bytes; };

struct summing {
	const struct graph *graph;
	const uint32_t *order;
	const struct step_model *model;
	const struct step_time *time;
	int64_t *begin, *end;  /* [ops] by position: when what it needs is there, and when what it alone needed may go */
	struct change *change; /* [2 * (storages + ops)] */
	size_t changes;
	struct arena arena;
};

struct life storage_life(const struct graph *graph, const uint32_t *position, uint32_t s)
{
	const struct storage *storage = &graph->storage[s];
	if (storage->bytes == 0 || (!storage->live_out && csr_length(&graph->users, s) == 0))
		return (struct life){ NONE, NONE };
	struct life life = { .first = storage->allocator == NONE || storage->persistent ? 0 : position[storage->allocator] };
	life.last = storage->live_out ? graph->ops ? graph->ops - 1 : 0 : life.first;
	FOR_ITEMS(user, &graph->users, s)
		if (position[user] > life.last)
			life.last = position[user];
	return life;
}

/* Where computation stands still: a wait, and a copy that lets go of the memory itself. */
static bool stands_still(const struct graph *graph, uint32_t op)
{
	bool waited = false;
	FOR_ITEMS(after, &graph->succ, op)
		waited |= graph->op[after].added == ADDED_OFFLOAD_WAIT;
	return graph->op[op].added == ADDED_OFFLOAD_WAIT || (graph->op[op].added == ADDED_OFFLOAD && !waited);
}

static int64_t streams_end_of(const struct summing *summing, uint32_t op)
{
	return summing->time->start[op] + summing->model->time[op];
}

/* Computation's clock along the order. */
static void find_clock(struct summing *summing)
{
	int64_t now = 0;
	FOR(p, summing->graph->ops) {
		uint32_t op = summing->order[p];
		bool computes = summing->model->stream[op] == 0 && summing->model->time[op] > 0;
		summing->begin[p] = computes ? summing->time->start[op] : now;
		if (computes || (stands_still(summing->graph, op) && streams_end_of(summing, op) > now))
			now = streams_end_of(summing, op);
		summing->end[p] = now;
	}
}

static void streams_add(struct summing *summing, int64_t from, int64_t until, int64_t bytes)
{
	if (from >= until || bytes == 0)
		return;
	summing->change[summing->changes++] = (struct change){ from, bytes };
	summing->change[summing->changes++] = (struct change){ until, -bytes };
}

static void streams_add_storage(struct summing *summing, const uint32_t *position, uint32_t s, int64_t bytes)
{
	const struct graph *graph = summing->graph;
	struct life life = storage_life(graph, position, s);
	if (life.first == NONE || graph->ops == 0)
		return;
	int64_t from = life.first == 0 ? 0 : summing->begin[life.first],
			until = life.last == graph->ops - 1 ? summing->time->total : summing->end[life.last];
	FOR_ITEMS(op, &graph->users, s) {
		if (graph->op[op].added != ADDED_OFFLOAD && graph->op[op].added != ADDED_FETCH)
			continue;
		from = SMALLER(summing->time->start[op], from);
		until = streams_end_of(summing, op) > until ? streams_end_of(summing, op) : until;
	}
	streams_add(summing, from, until, bytes);
}

/* At one time what goes comes first. */
COMPARATOR(streams_by_time, struct change, COMPARE(a->when, b->when, COMPARE(a->bytes, b->bytes, 0)))

int64_t peak_by_time(const struct graph *graph, const uint32_t *order, const uint32_t *position, const int64_t *bytes,
	bool workspace, int64_t alignment, const struct step_model *model, const struct step_time *time)
{
	struct summing summing = { .graph = graph, .order = order, .model = model, .time = time };
	int64_t now = 0, peak = 0;
	bool fine = ROOMS(&summing.arena, graph->ops, summing.begin, summing.end) &&
		ROOM(&summing.arena, summing.change, 2 * ((size_t)graph->storages + graph->ops));
	if (fine)
		find_clock(&summing);
	FOR_WHILE(s, graph->storages, fine)
		streams_add_storage(&summing, position, s, bytes[s]);
	FOR_WHILE(op, graph->ops, fine && workspace)
		if (model->stream[op] == 0)
			streams_add(&summing, time->start[op], streams_end_of(&summing, op), align_up(graph->op[op].workspace, alignment));
	if (fine && summing.changes > 0)
		qsort(summing.change, summing.changes, sizeof *summing.change, streams_by_time);
	FOR_SIZE(i, summing.changes) {
		now += summing.change[i].bytes;
		peak = LARGER(now, peak);
	}
	arena_free(&summing.arena);
	return fine ? peak : -1;
}

enum status check_streams(struct check *check)
{
	const struct graph *graph = check->graph;
	bool copies = false;
	FOR(op, graph->ops)
		copies |= graph->op[op].added == ADDED_OFFLOAD;
	if (!copies || check->pipelined || (!check->sharded && scenario_shards(&check->scenario)))
		return OK;
	struct memory_rules rules = scenario_memory_rules(&check->scenario);
	struct plan_time *time = plan_time_of(graph, check->order, check->sharded, &check->scenario, check->rules);
	int64_t peak = time
		? peak_by_time(graph, check->order, check->position, check->bytes, rules.workspace, rules.alignment,
			  &time->model, &time->time)
			: -1;
	plan_time_free(time);
	if (peak < 0)
		return fail_memory(check->error);
	if (peak > check->peak)
		return check_wrong(check, "while copies to and from the host run, %lld bytes are alive, above the peak of %lld",
			(long long)peak, (long long)check->peak);
	check_passed(check, "memory by time: what copies to and from the host read and write is alive until they end");
	return OK;
}
