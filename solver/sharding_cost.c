/* sharding_cost.c: sums a sharding's cost tensor by tensor; shares nothing with the network but the definition. */
#include <string.h>

#include "reshard_memo.h"
#include "sharding_cost.h"

#define NEEDS_MAX 20

struct summing {
	const struct units *units;
	const struct graph *graph;
	const struct sharding *sharding;
	uint32_t exposed;
	struct csr readers;
	bool *late;                /* [ops] of the backward pass, or a forward view that it reads */
	struct sharding_cost *cost;
	struct reshard_memo memo;
	struct need *need;         /* [NEEDS_MAX] scratch */
	const struct reshard **way, **best;
};

int64_t placement_redundant(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement)
{
	int64_t bytes = placement_bytes(units, mesh, tensor, placement);
	uint32_t copies = placement_copies(mesh, placement);
	return bytes - bytes / copies;
}

bool sharding_hides(const struct graph *graph, uint32_t tensor, const struct csr *readers)
{
	const struct storage *storage = &graph->storage[graph->tensor[tensor].storage];
	if (storage->persistent)
		return storage->kind == KIND_PARAMETER;
	uint32_t writer = graph->tensor[tensor].writer;
	for (uint32_t i = readers->start[tensor]; writer != NONE && graph->op[writer].phase == PHASE_BACKWARD && i < readers->start[tensor + 1]; i++)
		if (graph->op[readers->item[i]].phase == PHASE_UPDATE)
			return true;
	return false;
}

static void find_late(struct summing *summing)
{
	const struct graph *graph = summing->graph;
	for (uint32_t op = graph->ops; op-- > 0;) {
		summing->late[op] = graph->op[op].phase == PHASE_BACKWARD;
		if (graph->inplace_start[op] != graph->inplace_start[op + 1])
			continue;
		FOR_ROW(i, &graph->writes, op)
			if (graph->tensor[graph->writes.item[i]].alias != NONE)
				FOR_ROW(j, &summing->readers, graph->writes.item[i])
					summing->late[op] |= summing->late[summing->readers.item[j]];
	}
}

static void stay(struct summing *summing, int64_t *sum, uint32_t tensor, struct placement placement)
{
	int64_t bytes = placement_bytes(summing->units, &summing->sharding->mesh, tensor, placement);
	*sum += bytes;
	summing->cost->usage += bytes;
	summing->cost->ties += sharding_tie(bytes);
	summing->cost->redundant += placement_redundant(summing->units, &summing->sharding->mesh, tensor, placement);
}

/* Adds a resharding's collectives; the exposed part of its time counts. */
static void pay(struct summing *summing, const struct reshard *reshard, bool hidden)
{
	struct sharding_cost *cost = summing->cost;
	for (uint32_t i = 0; i < reshard->moves; i++) {
		const struct reshard_move *step = &reshard->move[i];
		cost->axis_time[step->axis] += step->time;
		cost->axis_bytes[step->axis] += collective_bytes(&summing->sharding->mesh.axis[step->axis], step->collective, step->bytes);
	}
	cost->communication += hidden ? reshard->time * summing->exposed / 100 : reshard->time;
}

/* A place that readers need: of one phase where it is gathered anew for each. */
struct need {
	struct placement at;
	uint8_t phases, only;      /* of its readers; the phase that it is for, or ANY */
	bool early, late;
	const struct reshard *way; /* from where the tensor is written */
};
#define ANY UINT8_MAX

static bool gathered_per_phase(const struct summing *summing, uint32_t tensor, const struct reshard *way)
{
	bool persistent = summing->graph->storage[summing->graph->tensor[tensor].storage].persistent;
	for (uint32_t i = 0; i < way->moves; i++)
		if (way->move[i].collective == COLLECTIVE_ALL_GATHER && (!persistent || summing->sharding->regather_axes >> way->move[i].axis & 1))
			return true;
	return false;
}

/* The places that a tensor's readers need besides the one where it is. */
static enum status find_needs(struct summing *summing, uint32_t tensor, struct need need[NEEDS_MAX], uint32_t *needs)
{
	const struct graph *graph = summing->graph;
	const struct sharding *sharding = summing->sharding;
	*needs = 0;
	FOR_ROW(i, &summing->readers, tensor) {
		uint32_t op = summing->readers.item[i];
		uint8_t phase = graph->op[op].phase;
		FOR_ROW(j, &graph->reads, op) {
			if (graph->reads.item[j] != tensor || placement_equal(sharding->needed[j], sharding->produced[tensor]))
				continue;
			uint32_t n = 0;
			while (n < *needs && !(placement_equal(need[n].at, sharding->needed[j]) && (need[n].only == ANY || need[n].only == phase)))
				n++;
			if (n == NEEDS_MAX)
				return INFEASIBLE;
			if (n == *needs) {
				need[n] = (struct need) { .at = sharding->needed[j] };
				enum status status = reshard_memo_find(&summing->memo, tensor, sharding->produced[tensor], need[n].at, &need[n].way);
				if (status != OK)
					return status;
				need[n].only = gathered_per_phase(summing, tensor, need[n].way) ? phase : ANY;
				++*needs;
			}
			need[n].phases |= (uint8_t)(1 << phase);
			need[n].early |= phase == PHASE_FORWARD;
			need[n].late |= summing->late[op];
		}
	}
	return OK;
}

static bool serves(const struct need *from, const struct need *to)
{
	return from != to && (from->only == ANY || to->phases == 1 << from->only);
}

/* The time of all needs where one of them (NONE: none) may be the source of others. */
static enum status time_with(struct summing *summing, uint32_t tensor, const struct need *need, uint32_t needs, uint32_t hub, int64_t *time,
	const struct reshard **way)
{
	*time = 0;
	for (uint32_t n = 0; n < needs; n++) {
		way[n] = need[n].way;
		if (hub != NONE && serves(&need[hub], &need[n])) {
			const struct reshard *other;
			enum status status = reshard_memo_find(&summing->memo, tensor, need[hub].at, need[n].at, &other);
			if (status == NO_MEMORY)
				return status;
			if (status == OK && other->time < way[n]->time)
				way[n] = other;
		}
		*time += way[n]->time;
	}
	return OK;
}

/* A tensor's way to its readers: once to each place, from where it is written or from one of the places. */
static enum status sum_tensor(struct summing *summing, uint32_t tensor)
{
	const struct graph *graph = summing->graph;
	struct need *need = summing->need;
	const struct reshard **way = summing->way, **best = summing->best;
	uint32_t needs, hubs;
	int64_t least = INT64_MAX;
	enum status status = find_needs(summing, tensor, need, &needs);
	hubs = needs > 1 ? needs : 0;
	for (uint32_t hub = 0; hub <= hubs && status == OK; hub++) {
		int64_t time;
		status = time_with(summing, tensor, need, needs, hub < hubs ? hub : NONE, &time, way);
		if (status == OK && time < least) {
			least = time;
			memcpy(best, way, needs * sizeof *best);
		}
	}
	for (uint32_t n = 0; n < needs && status == OK; n++) {
		pay(summing, best[n], sharding_hides(graph, tensor, &summing->readers));
		if (need[n].early && need[n].late)
			stay(summing, &summing->cost->saved, tensor, need[n].at);
	}
	return status;
}

/* The last in-place write to a kept tensor: back to where it is kept. */
static enum status sum_return(struct summing *summing, uint32_t root)
{
	const struct graph *graph = summing->graph;
	uint32_t storage = graph->tensor[root].storage, last = NONE, slot = 0;
	FOR_ROW(i, &graph->users, storage) {
		uint32_t op = graph->users.item[i];
		for (uint32_t j = graph->inplace_start[op]; j < graph->inplace_start[op + 1]; j++)
			if (graph->tensor[graph->inplace[j].in].storage == storage && graph->inplace[j].out != NONE) {
				last = graph->inplace[j].out;
				slot = op;
			}
	}
	if (last == NONE || graph->tensor[last].writer != slot)
		return OK;
	const struct reshard *way;
	enum status status = reshard_memo_find(&summing->memo, last, summing->sharding->produced[last], summing->sharding->produced[root], &way);
	if (status == OK)
		pay(summing, way, false);
	return status;
}

static bool has_user(const struct graph *graph, uint32_t storage, enum phase phase)
{
	FOR_ROW(i, &graph->users, storage)
		if (graph->op[graph->users.item[i]].phase == phase)
			return true;
	return false;
}

/* What stays of a storage. */
static void sum_storage(struct summing *summing, uint32_t storage)
{
	const struct graph *graph = summing->graph;
	const struct storage *of = &graph->storage[storage];
	if (of->allocator == NONE) {
		stay(summing, &summing->cost->kept, of->root, summing->sharding->produced[of->root]);
	} else if (!of->persistent && of->phase == PHASE_FORWARD && has_user(graph, storage, PHASE_BACKWARD)) {
		stay(summing, &summing->cost->saved, of->root, summing->sharding->produced[of->root]);
	} else if (!of->persistent && of->phase == PHASE_BACKWARD && has_user(graph, storage, PHASE_UPDATE)) {
		uint32_t i = graph->users.start[storage];
		while (graph->op[graph->users.item[i]].phase != PHASE_UPDATE)
			i++;
		FOR_ROW(j, &graph->reads, graph->users.item[i])
			if (graph->tensor[graph->reads.item[j]].storage == storage) {
				stay(summing, &summing->cost->gradients, graph->reads.item[j], summing->sharding->needed[j]);
				break;
			}
	}
}

enum status sharding_cost(const struct units *units, const struct sharding *sharding, struct op_clock clock, uint32_t exposed,
	struct sharding_cost *cost)
{
	const struct graph *graph = units->graph;
	struct arena arena = { 0 };
	struct summing summing = { .units = units, .graph = graph, .sharding = sharding, .exposed = exposed, .cost = cost };
	*cost = (struct sharding_cost) { 0 };
	summing.late = arena_alloc(&arena, graph->ops, sizeof *summing.late);
	summing.need = arena_alloc(&arena, NEEDS_MAX, sizeof *summing.need);
	summing.way = arena_alloc(&arena, NEEDS_MAX, sizeof *summing.way);
	summing.best = arena_alloc(&arena, NEEDS_MAX, sizeof *summing.best);
	enum status status = reshard_memo_begin(&summing.memo, units, &sharding->mesh);
	if (!summing.late || !summing.need || !summing.way || !summing.best)
		status = NO_MEMORY;
	if (status == OK)
		status = csr_transpose(&arena, &graph->reads, graph->ops, graph->tensors, &summing.readers);
	if (status == OK) {
		csr_unique(&summing.readers, graph->tensors);
		find_late(&summing);
	}
	for (uint32_t t = 0; t < graph->tensors && status == OK; t++) {
		status = sum_tensor(&summing, t);
		if (status == OK && graph->tensor[t].writer == NONE && graph->tensor[t].alias == NONE && kind_persistent(graph->tensor[t].kind))
			status = sum_return(&summing, t);
	}
	for (uint32_t s = 0; s < graph->storages && status == OK; s++)
		sum_storage(&summing, s);
	for (uint32_t op = 0; op < graph->ops && status == OK; op++)
		cost->compute += clock.takes(clock.context, units, &sharding->mesh, op, sharding->split[op]);
	cost->total = cost->compute + cost->communication;
	reshard_memo_end(&summing.memo);
	arena_free(&arena);
	return status;
}
