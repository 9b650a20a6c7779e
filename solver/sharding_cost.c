/* sharding_cost.c: sums a sharding's cost tensor by tensor; shares nothing with the network but the definition. */
#include <string.h>

#include "reshard_memo.h"
#include "sharding_cost.h"

#define NEEDS_MAX 20

struct sharding_sum {
	const struct units *units;
	const struct graph *graph;
	const struct sharding *sharding;
	struct op_clock clock;
	uint32_t exposed;
	struct csr readers;
	bool *late;                /* [ops] of the backward pass, or a forward view that it reads */
	struct sharding_cost *cost;
	struct reshard_memo memo;
	struct need *need;         /* [NEEDS_MAX] scratch */
	const struct reshard **way, **best;
	struct arena arena;
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

static void find_late(struct sharding_sum *sum)
{
	const struct graph *graph = sum->graph;
	for (uint32_t op = graph->ops; op-- > 0;) {
		sum->late[op] = graph->op[op].phase == PHASE_BACKWARD;
		if (graph->inplace_start[op] != graph->inplace_start[op + 1])
			continue;
		FOR_ROW(i, &graph->writes, op)
			if (graph->tensor[graph->writes.item[i]].alias != NONE)
				FOR_ROW(j, &sum->readers, graph->writes.item[i])
					sum->late[op] |= sum->late[sum->readers.item[j]];
	}
}

static void stay(struct sharding_sum *sum, int64_t *total, uint32_t tensor, struct placement placement)
{
	int64_t bytes = placement_bytes(sum->units, &sum->sharding->mesh, tensor, placement);
	*total += bytes;
	sum->cost->usage += bytes;
	sum->cost->ties += sharding_tie(bytes);
	sum->cost->redundant += placement_redundant(sum->units, &sum->sharding->mesh, tensor, placement);
}

/* Adds a resharding's collectives; the exposed part of its time counts. */
static void pay(struct sharding_sum *sum, const struct reshard *reshard, bool hidden)
{
	struct sharding_cost *cost = sum->cost;
	for (uint32_t i = 0; i < reshard->moves; i++) {
		const struct reshard_move *step = &reshard->move[i];
		cost->axis_time[step->axis] += step->time;
		cost->axis_bytes[step->axis] += collective_bytes(&sum->sharding->mesh.axis[step->axis], step->collective, step->bytes);
	}
	cost->communication += hidden ? reshard->time * sum->exposed / 100 : reshard->time;
}

/* A place that readers need: of one phase where it is gathered anew for each. */
struct need {
	struct placement at;
	uint8_t phases, only;      /* of its readers; the phase that it is for, or ANY */
	bool early, late;
	const struct reshard *way; /* from where the tensor is written */
};
#define ANY UINT8_MAX

static bool gathered_per_phase(const struct sharding_sum *sum, uint32_t tensor, const struct reshard *way)
{
	bool persistent = sum->graph->storage[sum->graph->tensor[tensor].storage].persistent;
	for (uint32_t i = 0; i < way->moves; i++)
		if (way->move[i].collective == COLLECTIVE_ALL_GATHER && (!persistent || sum->sharding->regather_axes >> way->move[i].axis & 1))
			return true;
	return false;
}

/* The places that a tensor's readers need besides the one where it is. */
static enum status find_needs(struct sharding_sum *sum, uint32_t tensor, struct need need[NEEDS_MAX], uint32_t *needs)
{
	const struct graph *graph = sum->graph;
	const struct sharding *sharding = sum->sharding;
	*needs = 0;
	FOR_ROW(i, &sum->readers, tensor) {
		uint32_t op = sum->readers.item[i];
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
				enum status status = reshard_memo_find(&sum->memo, tensor, sharding->produced[tensor], need[n].at, &need[n].way);
				if (status != OK)
					return status;
				need[n].only = gathered_per_phase(sum, tensor, need[n].way) ? phase : ANY;
				++*needs;
			}
			need[n].phases |= (uint8_t)(1 << phase);
			need[n].early |= phase == PHASE_FORWARD;
			need[n].late |= sum->late[op];
		}
	}
	return OK;
}

static bool serves(const struct need *from, const struct need *to)
{
	return from != to && (from->only == ANY || to->phases == 1 << from->only);
}

/* The time of all needs where one of them (NONE: none) may be the source of others. */
static enum status time_with(struct sharding_sum *sum, uint32_t tensor, const struct need *need, uint32_t needs, uint32_t hub, int64_t *time,
	const struct reshard **way)
{
	*time = 0;
	for (uint32_t n = 0; n < needs; n++) {
		way[n] = need[n].way;
		if (hub != NONE && serves(&need[hub], &need[n])) {
			const struct reshard *other;
			enum status status = reshard_memo_find(&sum->memo, tensor, need[hub].at, need[n].at, &other);
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
static enum status sum_tensor(struct sharding_sum *sum, uint32_t tensor)
{
	const struct graph *graph = sum->graph;
	struct need *need = sum->need;
	const struct reshard **way = sum->way, **best = sum->best;
	uint32_t needs, hubs;
	int64_t least = INT64_MAX;
	enum status status = find_needs(sum, tensor, need, &needs);
	hubs = needs > 1 ? needs : 0;
	for (uint32_t hub = 0; hub <= hubs && status == OK; hub++) {
		int64_t time;
		status = time_with(sum, tensor, need, needs, hub < hubs ? hub : NONE, &time, way);
		if (status == OK && time < least) {
			least = time;
			memcpy(best, way, needs * sizeof *best);
		}
	}
	for (uint32_t n = 0; n < needs && status == OK; n++) {
		pay(sum, best[n], sharding_hides(graph, tensor, &sum->readers));
		if (need[n].early && need[n].late)
			stay(sum, &sum->cost->saved, tensor, need[n].at);
	}
	return status;
}

/* The last in-place write to a kept tensor: back to where it is kept. */
static enum status sum_return(struct sharding_sum *sum, uint32_t root)
{
	const struct graph *graph = sum->graph;
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
	enum status status = reshard_memo_find(&sum->memo, last, sum->sharding->produced[last], sum->sharding->produced[root], &way);
	if (status == OK)
		pay(sum, way, false);
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
static void sum_storage(struct sharding_sum *sum, uint32_t storage)
{
	const struct graph *graph = sum->graph;
	const struct storage *of = &graph->storage[storage];
	if (of->allocator == NONE) {
		stay(sum, &sum->cost->kept, of->root, sum->sharding->produced[of->root]);
	} else if (!of->persistent && of->phase == PHASE_FORWARD && has_user(graph, storage, PHASE_BACKWARD)) {
		stay(sum, &sum->cost->saved, of->root, sum->sharding->produced[of->root]);
	} else if (!of->persistent && of->phase == PHASE_BACKWARD && has_user(graph, storage, PHASE_UPDATE)) {
		uint32_t i = graph->users.start[storage];
		while (graph->op[graph->users.item[i]].phase != PHASE_UPDATE)
			i++;
		FOR_ROW(j, &graph->reads, graph->users.item[i])
			if (graph->tensor[graph->reads.item[j]].storage == storage) {
				stay(sum, &sum->cost->gradients, graph->reads.item[j], sum->sharding->needed[j]);
				break;
			}
	}
}

struct sharding_sum *sharding_sum_new(const struct units *units, const struct mesh *mesh, struct op_clock clock, uint32_t exposed)
{
	const struct graph *graph = units->graph;
	struct sharding_sum *sum = mem_alloc(1, sizeof *sum);
	if (!sum)
		return NULL;
	*sum = (struct sharding_sum) { .units = units, .graph = graph, .clock = clock, .exposed = exposed };
	sum->late = arena_alloc(&sum->arena, graph->ops, sizeof *sum->late);
	sum->need = arena_alloc(&sum->arena, NEEDS_MAX, sizeof *sum->need);
	sum->way = arena_alloc(&sum->arena, NEEDS_MAX, sizeof *sum->way);
	sum->best = arena_alloc(&sum->arena, NEEDS_MAX, sizeof *sum->best);
	enum status status = reshard_memo_begin(&sum->memo, units, mesh);
	if (status != OK || !sum->late || !sum->need || !sum->way || !sum->best
		|| csr_transpose(&sum->arena, &graph->reads, graph->ops, graph->tensors, &sum->readers) != OK) {
		sharding_sum_free(sum);
		return NULL;
	}
	csr_unique(&sum->readers, graph->tensors);
	find_late(sum);
	return sum;
}

void sharding_sum_free(struct sharding_sum *sum)
{
	if (!sum)
		return;
	reshard_memo_end(&sum->memo);
	arena_free(&sum->arena);
	mem_free(sum);
}

enum status sharding_sum_cost(struct sharding_sum *sum, const struct sharding *sharding, struct sharding_cost *cost)
{
	const struct graph *graph = sum->graph;
	enum status status = OK;
	*cost = (struct sharding_cost) { 0 };
	sum->sharding = sharding;
	sum->cost = cost;
	for (uint32_t t = 0; t < graph->tensors && status == OK; t++) {
		status = sum_tensor(sum, t);
		if (status == OK && graph->tensor[t].writer == NONE && graph->tensor[t].alias == NONE && kind_persistent(graph->tensor[t].kind))
			status = sum_return(sum, t);
	}
	for (uint32_t s = 0; s < graph->storages && status == OK; s++)
		sum_storage(sum, s);
	for (uint32_t op = 0; op < graph->ops && status == OK; op++)
		cost->compute += sum->clock.takes(sum->clock.context, sum->units, &sharding->mesh, op, sharding->split[op]);
	cost->total = cost->compute + cost->communication;
	return status;
}

enum status sharding_cost(const struct units *units, const struct sharding *sharding, struct op_clock clock, uint32_t exposed,
	struct sharding_cost *cost)
{
	struct sharding_sum *sum = sharding_sum_new(units, &sharding->mesh, clock, exposed);
	enum status status = sum ? sharding_sum_cost(sum, sharding, cost) : NO_MEMORY;
	sharding_sum_free(sum);
	return status;
}
