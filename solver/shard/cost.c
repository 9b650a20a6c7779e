/* cost.c: sums a sharding's cost tensor by tensor; shares nothing with the network but the definition. */

#include "cost.h"

#define NEEDS_MAX 20

enum { KEPT, SAVED, GRADIENT, TOTALS };

/* A storage of which something stays: a tensor of it, as it is written, or as the op of a read of it has it. */
struct staying { uint32_t tensor, read; uint8_t as; };

/* The last that was asked of a class: copies of a layer mostly lie alike. */
struct known_bytes { struct placement at; bool known; int64_t bytes, redundant; };
struct known_time { struct split split; bool known; int64_t time; };

struct sharding_sum {
	const struct units *units;
	const struct graph *graph;
	const struct sharding *sharding;
	struct mesh mesh;          /* of the sharding before */
	struct op_clock clock;
	uint32_t exposed, microbatches;
	/* of the graph alone */
	uint8_t *phase;            /* [ops] */
	bool *late;                /* [ops] of the backward pass, or a forward view that it reads */
	struct staying *staying;   /* what stays of every storage, if anything does */
	/* Kept tensors that are written in place: what that leaves, where it goes back to, and the read (in graph->reads)
	 * that it lies as, or NONE. */
	struct returning { uint32_t last, home, read; bool once; } *returning;
	uint32_t stayings, returnings;
	/* of a sharding */
	bool *moved;               /* [tensors] some reader needs it elsewhere */
	struct known_bytes *bytes; /* [tensor classes] */
	struct known_time *time;   /* [op classes] */
	struct sharding_cost *cost;
	int64_t once;              /* of transfers in no class */
	struct reshard_memo memo;
	struct need *need;         /* [NEEDS_MAX] scratch */
	const struct reshard **way, **best;
	struct arena arena;
};

int64_t placement_redundant(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement)
{
	int64_t bytes = placement_bytes(units, mesh, tensor, placement);
	uint32_t copies = placement_copies(mesh, placement);
	return bytes - bytes / copies;
}

#define CASTS_MOST 3   /* ops between a gradient and its update: a transposed view, a cast, a scale */

/* Whether nothing but updates waits for what an op of the backward pass makes of a gradient: a cast, or a view. A sum
 * of several gradients waits for the last of them, which may be made at the very end of the pass. */
static bool leads_to_update(const struct graph *graph, uint32_t op, const struct csr *readers, int most)
{
	bool leads = graph->op[op].phase == PHASE_BACKWARD && most > 0 && graph_operands(graph, op) == 1 &&
		graph_pairs(graph, op) == 0;
	FOR_ITEMS(written, &graph->writes, op)
		FOR_ITEMS(reader, readers, written)
			leads = leads &&
				(graph->op[reader].phase == PHASE_UPDATE ||
					leads_to_update(graph, reader, readers, most - 1));
	return leads;
}

bool sharding_hides(const struct graph *graph, uint32_t tensor, const struct csr *readers, bool late_casts)
{
	const struct storage *storage = &graph->storage[graph->tensor[tensor].storage];
	if (storage->persistent)
		return storage->kind == KIND_PARAMETER;
	uint32_t writer = graph->tensor[tensor].writer;
	bool gradient = writer != NONE && graph->op[writer].phase == PHASE_BACKWARD, any = false, all = gradient;
	for (uint32_t i = readers->start[tensor]; gradient && i < readers->start[tensor + 1]; i++) {
		bool update = graph->op[readers->item[i]].phase == PHASE_UPDATE;
		any |= update;
		all = all && (update || (late_casts && leads_to_update(graph, readers->item[i], readers, CASTS_MOST)));
	}
	return any || (all && readers->start[tensor] < readers->start[tensor + 1]);
}

/* ---- of the graph alone ---- */

static void shard_cost_find_late(struct sharding_sum *sum)
{
	const struct graph *graph = sum->graph;
	const struct csr *readers = &sum->units->readers;
	FOR_DOWN(op, graph->ops) {
		sum->phase[op] = graph->op[op].phase;
		sum->late[op] = sum->phase[op] == PHASE_BACKWARD;
		if (graph_pairs(graph, op) != 0)
			continue;
		FOR_ITEMS(written, &graph->writes, op)
			if (graph->tensor[written].alias != NONE)
				FOR_ITEMS(reader, readers, written)
					sum->late[op] |= sum->late[reader];
	}
}

/* The last in-place write to a kept tensor: what it leaves goes back to where the tensor is kept, or where it leaves an
 * operand under its own name, to where that lies. False: there is none, or it writes where that lies. */
static bool last_left(const struct graph *graph, uint32_t root, struct returning *back)
{
	uint32_t storage = graph->tensor[root].storage;
	*back = (struct returning) { NONE, root, NONE, false };
	FOR_ITEMS(op, &graph->users, storage) {
		FOR_SPAN(j, graph->inplace_start, op) {
			const struct inplace *pair = &graph->inplace[j];
			if (graph->tensor[pair->in].storage != storage)
				continue;
			bool once = graph->op[op].phase == PHASE_UPDATE;
			*back = (struct returning) { pair->out, root, NONE, once };
			for (uint32_t k = graph->reads.start[op + 1]; pair->out == NONE && k-- > graph->reads.start[op];)
				if (graph->reads.item[k] == pair->in)
					*back = (struct returning) { pair->in, pair->in, k, once };
		}
	}
	return back->last != NONE;
}

static void find_returning(struct sharding_sum *sum)
{
	const struct graph *graph = sum->graph;
	FOR(s, graph->storages) {
		uint32_t root = graph->storage[s].root;
		bool kept = graph->tensor[root].writer == NONE && kind_persistent(graph->tensor[root].kind);
		if (kept && last_left(graph, root, &sum->returning[sum->returnings]))
			sum->returnings++;
	}
}

/* The first op of a phase that uses a storage, or NONE. */
static uint32_t first_user(const struct sharding_sum *sum, uint32_t storage, enum phase phase)
{
	const struct csr *users = &sum->graph->users;
	FOR_ITEMS(user, users, storage)
		if (sum->phase[user] == phase)
			return user;
	return NONE;
}

static void add_staying(struct sharding_sum *sum, uint32_t tensor, uint32_t read, uint8_t as)
{
	sum->staying[sum->stayings++] = (struct staying) { tensor, read, as };
}

static void find_staying(struct sharding_sum *sum)
{
	const struct graph *graph = sum->graph;
	FOR(s, graph->storages) {
		const struct storage *of = &graph->storage[s];
		if (of->allocator == NONE)
			add_staying(sum, of->root, NONE, KEPT);
		else if (!of->persistent && of->phase == PHASE_FORWARD && first_user(sum, s, PHASE_BACKWARD) != NONE)
			add_staying(sum, of->root, NONE, SAVED);
		uint32_t update = !of->persistent && of->allocator != NONE && of->phase == PHASE_BACKWARD
			? first_user(sum, s, PHASE_UPDATE)
			: NONE;
		for (uint32_t j = update == NONE ? 0 : graph->reads.start[update];
			update != NONE && j < graph->reads.start[update + 1]; j++)
			if (graph->tensor[graph->reads.item[j]].storage == s) {
				add_staying(sum, graph->reads.item[j], j, GRADIENT);
				break;
			}
	}
}

/* ---- sums ---- */

static int64_t stay(struct sharding_sum *sum, uint32_t tensor, struct placement placement)
{
	struct known_bytes *known = &sum->bytes[sum->units->tensor_class[tensor]];
	if (!known->known || !placement_equal(known->at, placement))
		*known = (struct known_bytes) { placement, true, placement_bytes(sum->units, &sum->mesh, tensor, placement),
			placement_redundant(sum->units, &sum->mesh, tensor, placement) };
	sum->cost->usage += known->bytes;
	sum->cost->ties += sharding_tie(known->bytes);
	sum->cost->redundant += known->redundant;
	return known->bytes;
}

/* How many moves every microbatch makes. */
static uint32_t shard_cost_early_moves(const struct reshard *way, uint8_t each_axes)
{
	uint32_t early = 0;
	FOR(i, way->moves) {
		bool scatters = way->move[i].collective == COLLECTIVE_REDUCE_SCATTER;
		if (way->move[i].collective == COLLECTIVE_ALL_REDUCE || (scatters && !(each_axes >> way->move[i].axis & 1)))
			break;
		if (scatters)
			early = i + 1;
	}
	return early;
}

int64_t sharding_share(
	const struct reshard *way, uint32_t microbatches, bool for_update, uint8_t each_axes, int64_t on[MESH_AXES])
{
	int64_t once[MESH_AXES] = { 0 }, sum = 0;
	bool shares = microbatches > 1 && for_update;
	uint32_t early = shares ? shard_cost_early_moves(way, each_axes) : way->moves;
	CLEAR(on, MESH_AXES);
	FOR(i, way->moves)
		(i < early ? on : once)[way->move[i].axis] += way->move[i].time;
	FOR_INT(a, MESH_AXES) {
		on[a] += shares ? once[a] / microbatches : 0;
		sum += on[a];
	}
	return sum;
}

static int64_t shard_cost_share(const struct sharding_sum *sum, const struct reshard *way, bool for_update)
{
	int64_t on[MESH_AXES];
	return sharding_share(way, sum->microbatches, for_update, sum->sharding->each_axes, on);
}

/* What a resharding is for: computation of a phase that waits for it, unless other computation may hide it. */
struct purpose { bool hidden, hidden_late; enum hiding hiding; uint8_t phase; bool for_update; };

/* Adds time over an axis. */
static void add_time(const struct sharding_sum *sum, struct transfers *transfers, uint32_t axis, int64_t time,
	const struct purpose *purpose, bool hidden)
{
	if (hidden) {
		transfers->hidden[purpose->hiding][axis] += time;
		transfers->least[purpose->hiding] += time * sum->exposed / 100;
	} else if (purpose->phase == PHASE_FORWARD) {
		transfers->waited[HIDING_FORWARD][axis] += time;
	} else if (purpose->phase == PHASE_BACKWARD) {
		int64_t late = sharding_late(time, sum->microbatches);
		transfers->waited[HIDING_BACKWARD][axis] += time - late;
		transfers->waited[HIDING_LATE][axis] += late;
	}
}

/* Adds a resharding's collectives. */
static void pay(struct sharding_sum *sum, const struct reshard *reshard, struct purpose purpose)
{
	struct sharding_cost *cost = sum->cost;
	int64_t on[MESH_AXES];
	FOR(i, reshard->moves) {
		const struct reshard_move *step = &reshard->move[i];
		cost->axis_bytes[step->axis] += collective_bytes(&sum->mesh.axis[step->axis], step->collective, step->bytes);
	}
	sharding_share(reshard, sum->microbatches, purpose.for_update, sum->sharding->each_axes, on);
	FOR(a, sum->mesh.axes) {
		add_time(sum, &cost->together, a, on[a], &purpose, purpose.hidden);
		add_time(sum, &cost->apart, a, on[a], &purpose, purpose.hidden_late);
		sum->once += !purpose.hidden && purpose.phase == PHASE_UPDATE ? on[a] : 0;
	}
}

/* Over all axes. */
static int64_t shard_cost_axes_of(const int64_t on[MESH_AXES])
{
	int64_t sum = 0;
	FOR_INT(a, MESH_AXES)
		sum += on[a];
	return sum;
}

/* Of a class, beyond its computation: everything one after the other, or the collectives over an axis. */
static int64_t shard_cost_beyond(const struct sharding_cost *cost, int k, int axis)
{
	const struct transfers *apart = &cost->apart;
	return axis == SERIAL ? shard_cost_axes_of(apart->waited[k]) + apart->least[k]
		: apart->waited[k][axis] + apart->hidden[k][axis] - cost->hiding[k];
}

int sharding_longest(const struct sharding_cost *cost, int k, bool summed)
{
	int longest = SERIAL;
	if (summed)
		return shard_cost_axes_of(cost->together.hidden[k]) - cost->hiding[k] > cost->together.least[k] ? 0 : SERIAL;
	FOR_INT(a, MESH_AXES)
		longest = shard_cost_beyond(cost, k, a) > shard_cost_beyond(cost, k, longest) ? a : longest;
	return longest;
}

static void sum_hidden(struct sharding_cost *cost, int64_t once)
{
	const struct transfers *together = &cost->together;
	cost->communication = once;
	cost->summed = cost->compute + once;
	FOR_INT(k, HIDINGS) {
		bool serial = sharding_longest(cost, k, true) == SERIAL;
		cost->communication += shard_cost_beyond(cost, k, sharding_longest(cost, k, false));
		cost->summed += shard_cost_axes_of(together->waited[k]) +
			(serial ? together->least[k] : shard_cost_axes_of(together->hidden[k]) - cost->hiding[k]);
	}
	cost->total = cost->compute + cost->communication;
}

/* A place that readers need: of one phase where it is gathered anew for each. */
struct need {
	struct placement at;
	uint8_t phases, only;      /* of its readers; the phase that it is for, or ANY */
	bool early, late;
	const struct reshard *way; /* from where the tensor is written */
};
#define ANY UINT8_MAX

/* The places that a tensor's readers need besides the one where it is. */
static enum status shard_cost_find_needs(
	struct sharding_sum *sum, uint32_t tensor, struct need need[NEEDS_MAX], uint32_t *needs)
{
	const struct graph *graph = sum->graph;
	const struct sharding *sharding = sum->sharding;
	*needs = 0;
	FOR_ITEMS(op, &sum->units->readers, tensor) {
		uint8_t phase = sum->phase[op];
		FOR_ROW(j, &graph->reads, op) {
			if (graph->reads.item[j] != tensor || placement_equal(sharding->needed[j], sharding->produced[tensor]))
				continue;
			uint32_t n = 0;
			while (n < *needs &&
				!(placement_equal(need[n].at, sharding->needed[j]) && (need[n].only == ANY || need[n].only == phase)))
				n++;
			if (n == NEEDS_MAX)
				return INFEASIBLE;
			if (n == *needs) {
				need[n] = (struct need) { .at = sharding->needed[j] };
				TRY(reshard_memo_find(&sum->memo, tensor, sharding->produced[tensor], need[n].at, &need[n].way));
				need[n].only = reshard_gathers_anew(sum->graph, sum->sharding, tensor, need[n].way) ? phase : ANY;
				++*needs;
			}
			need[n].phases |= (uint8_t)(1 << phase);
			need[n].early |= phase == PHASE_FORWARD;
			need[n].late |= sum->late[op];
		}
	}
	return OK;
}

static bool for_update(const struct need *need)
{
	return need->phases == 1 << PHASE_UPDATE;
}

static struct purpose purpose_of(const struct sharding_sum *sum, uint32_t tensor, const struct need *need)
{
	const struct csr *readers = &sum->units->readers;
	bool hidden = sharding_hides(sum->graph, tensor, readers, false),
		 late = hidden || (sum->clock.late_casts && sharding_hides(sum->graph, tensor, readers, true));
	uint8_t phase = need->early ? PHASE_FORWARD : need->phases >> PHASE_BACKWARD & 1 ? PHASE_BACKWARD : PHASE_UPDATE;
	return (struct purpose){ hidden, late, sharding_hiding(need->early, for_update(need), sum->microbatches), phase,
		for_update(need) };
}

static bool shard_cost_serves(const struct need *from, const struct need *to)
{
	return from != to && (from->only == ANY || to->phases == 1 << from->only);
}

/* The time of all needs where one of them (NONE: none) may be the source of others. */
static enum status time_with(struct sharding_sum *sum, uint32_t tensor, const struct need *need, uint32_t needs,
	uint32_t hub, int64_t *time, const struct reshard **way)
{
	*time = 0;
	FOR(n, needs) {
		way[n] = need[n].way;
		if (hub != NONE && shard_cost_serves(&need[hub], &need[n])) {
			const struct reshard *other;
			enum status status = reshard_memo_find(&sum->memo, tensor, need[hub].at, need[n].at, &other);
			if (status == NO_MEMORY)
				return status;
			if (status == OK &&
				shard_cost_share(sum, other, for_update(&need[n])) <
					shard_cost_share(sum, way[n], for_update(&need[n])))
				way[n] = other;
		}
		*time += shard_cost_share(sum, way[n], for_update(&need[n]));
	}
	return OK;
}

/* A tensor's way to its readers: once to each place, from where it is written or from one of the places. */
static enum status sum_tensor(struct sharding_sum *sum, uint32_t tensor)
{
	struct need *need = sum->need;
	const struct reshard **way = sum->way, **best = sum->best;
	uint32_t needs, hubs;
	int64_t least = INT64_MAX;
	TRY(shard_cost_find_needs(sum, tensor, need, &needs));
	hubs = needs > 1 ? needs : 0;
	for (uint32_t hub = 0; hub <= hubs; hub++) {
		int64_t time;
		TRY(time_with(sum, tensor, need, needs, hub < hubs ? hub : NONE, &time, way));
		if (time < least) {
			least = time;
			COPY(best, way, needs);
		}
	}
	FOR(n, needs) {
		pay(sum, best[n], purpose_of(sum, tensor, &need[n]));
		if (need[n].early && need[n].late)
			sum->cost->saved += stay(sum, tensor, need[n].at);
	}
	return OK;
}

/* Tensors that a reader needs elsewhere than where they are. */
static void find_moved(struct sharding_sum *sum)
{
	const struct csr *reads = &sum->graph->reads;
	const struct sharding *sharding = sum->sharding;
	CLEAR(sum->moved, sum->graph->tensors);
	FOR(i, reads->start[sum->graph->ops])
		if (!placement_equal(sharding->needed[i], sharding->produced[reads->item[i]]))
			sum->moved[reads->item[i]] = true;
}

static enum status sum_moved(struct sharding_sum *sum)
{
	find_moved(sum);
	FOR(t, sum->graph->tensors)
		if (sum->moved[t])
			TRY(sum_tensor(sum, t));
	FOR(i, sum->returnings) {
		const struct reshard *way;
		const struct returning *back = &sum->returning[i];
		struct placement from = back->read == NONE ? sum->sharding->produced[back->last] : sum->sharding->needed[back->read];
		TRY(reshard_memo_find(&sum->memo, back->last, from, sum->sharding->produced[back->home], &way));
		pay(sum, way, (struct purpose) { .phase = PHASE_UPDATE, .for_update = back->once });
	}
	return OK;
}

/* Where it stays: of several microbatches the sum of a gradient as it is written, but over axes where every microbatch
 * scatters its own. */
static struct placement place_of_staying(const struct sharding_sum *sum, const struct staying *of)
{
	const struct sharding *sharding = sum->sharding;
	struct placement at = of->read == NONE ? sharding->produced[of->tensor] : sharding->needed[of->read];
	if (of->as != GRADIENT || sum->microbatches < 2)
		return at;
	struct placement written = sharding->produced[of->tensor];
	FOR(a, sharding->mesh.axes)
		if (!(sharding->each_axes >> a & 1))
			at.on[a] = written.on[a];
	return at;
}

static void sum_staying(struct sharding_sum *sum)
{
	int64_t total[TOTALS] = { 0 };
	FOR(i, sum->stayings) {
		const struct staying *of = &sum->staying[i];
		total[of->as] += stay(sum, of->tensor, place_of_staying(sum, of));
	}
	sum->cost->kept += total[KEPT];
	sum->cost->saved += total[SAVED];
	sum->cost->gradients += total[GRADIENT];
}

static void sum_time(struct sharding_sum *sum)
{
	const struct split *split = sum->sharding->split;
	FOR(op, sum->graph->ops) {
		struct known_time *known = &sum->time[sum->units->op_class[op]];
		if (!known->known || !split_equal(known->split, split[op]))
			*known = (struct known_time){ split[op], true,
				sum->clock.takes(sum->clock.context, sum->units, &sum->mesh, op, split[op]) };
		int64_t late = sharding_late(known->time, sum->microbatches);
		sum->cost->compute += sum->phase[op] == PHASE_UPDATE ? known->time / sum->microbatches : known->time;
		if (sum->phase[op] == PHASE_FORWARD) {
			sum->cost->hiding[HIDING_FORWARD] += known->time;
		} else if (sum->phase[op] == PHASE_BACKWARD) {
			sum->cost->hiding[HIDING_BACKWARD] += known->time - late;
			sum->cost->hiding[HIDING_LATE] += late;
		}
	}
}

static enum status shard_cost_begin(struct sharding_sum *sum)
{
	const struct units *units = sum->units;
	const struct graph *graph = units->graph;
	NEED(ROOMS(&sum->arena, graph->ops, sum->phase, sum->late) && ROOMS(&sum->arena, graph->storages, sum->staying,
		sum->returning) && ROOM(&sum->arena, sum->moved, graph->tensors) &&
		ROOM(&sum->arena, sum->bytes, units->tensor_classes) && ROOM(&sum->arena, sum->time, units->op_classes) &&
		ROOMS(&sum->arena, NEEDS_MAX, sum->need, sum->way, sum->best));
	shard_cost_find_late(sum);
	find_returning(sum);
	find_staying(sum);
	return reshard_memo_begin(&sum->memo, units, &sum->mesh);
}

struct sharding_sum *sharding_sum_new(
	const struct units *units, struct op_clock clock, uint32_t exposed, uint32_t microbatches)
{
	struct sharding_sum *MAKE(sum, 1);
	if (!sum)
		return NULL;
	*sum = (struct sharding_sum) { .units = units, .graph = units->graph, .clock = clock, .exposed = exposed,
		.microbatches = microbatches > 1 ? microbatches : 1 };
	if (shard_cost_begin(sum) == OK)
		return sum;
	sharding_sum_free(sum);
	return NULL;
}

void sharding_sum_free(struct sharding_sum *sum)
{
	if (!sum)
		return;
	reshard_memo_end(&sum->memo);
	arena_free(&sum->arena);
	mem_free(sum);
}

/* What is remembered is of one mesh. */
static enum status turn_to(struct sharding_sum *sum, const struct mesh *mesh)
{
	if (sum->memo.known && mesh_equal(&sum->mesh, mesh))
		return OK;
	sum->mesh = *mesh;
	CLEAR(sum->bytes, sum->units->tensor_classes);
	CLEAR(sum->time, sum->units->op_classes);
	reshard_memo_end(&sum->memo);
	return reshard_memo_begin(&sum->memo, sum->units, &sum->mesh);
}

enum status sharding_sum_cost(struct sharding_sum *sum, const struct sharding *sharding, struct sharding_cost *cost)
{
	*cost = (struct sharding_cost) { 0 };
	sum->sharding = sharding;
	sum->cost = cost;
	sum->once = 0;
	TRY(turn_to(sum, &sharding->mesh));
	TRY(sum_moved(sum));
	sum_staying(sum);
	sum_time(sum);
	sum_hidden(cost, sum->once);
	return OK;
}

enum status sharding_cost(const struct units *units, const struct sharding *sharding, struct op_clock clock,
	uint32_t exposed, uint32_t microbatches, struct sharding_cost *cost)
{
	struct sharding_sum *sum = sharding_sum_new(units, clock, exposed, microbatches);
	enum status status = sum ? sharding_sum_cost(sum, sharding, cost) : NO_MEMORY;
	sharding_sum_free(sum);
	return status;
}
