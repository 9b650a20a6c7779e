/* host_states.c: optimizer state that lives in the host's memory, and is on the device while its update runs. */
#include <stdlib.h>

#include "recompute.h"
#include "train.h"

/* State that only updates touch, by positions of the order: from its first to its last user. Those whose spans meet
 * come and go together. */
struct span { uint32_t storage, first, last; };

struct host_states {
	const struct graph *graph;
	bool *goes;                /* [storages] */
	uint32_t *order;           /* [ops] in which they are written */
	struct build build;
	struct span *span;         /* [count] by their first users */
	uint32_t count;
	uint32_t *group;           /* [groups + 1] the first span of each */
	uint32_t groups;
	uint32_t *tensor;          /* [tensors] what ops read it as */
	uint32_t *op;              /* [ops] */
	uint32_t *newest;          /* [storages] the draft's newest name of one that is here */
	uint32_t *host;            /* [count] the copies out */
	uint32_t held;             /* of the draft's last ops so many come before the next */
	struct arena *arena;
};

/* Written in place, or only read, so that it is the same storage in the next step. */
static bool host_states_may_go(const struct graph *graph, uint32_t s)
{
	const struct storage *storage = &graph->storage[s];
	const struct tensor *root = &graph->tensor[storage->root];
	bool goes = storage->kind == KIND_OPTIMIZER && storage->persistent && root->writer == NONE && root->shape &&
		storage->bytes >= HOST_STATE_BYTES && csr_length(&graph->users, s) > 0;
	FOR_ITEMS(user, &graph->users, s)
		goes &= graph->op[user].phase == PHASE_UPDATE;
	FOR_ITEMS(member, &graph->members, s)
		goes &= member == storage->root || graph->tensor[member].writer != NONE;
	return goes;
}

/* ---- when updates run ---- */

/* Ops by their moments: of an update of state when the last is there that its group waits for, of the rest as before;
 * none before what it needs. */
struct moment { uint32_t at, group, was; };

COMPARATOR(host_states_by_moment, struct moment, COMPARE(a->at, b->at, COMPARE(a->group, b->group, COMPARE(a->was,
	b->was, 0))))

/* State, and what updates make of it before they are done. */
static bool host_states_joins(const struct host_states *states, uint32_t s)
{
	const struct graph *graph = states->graph;
	uint32_t allocator = graph->storage[s].allocator;
	return states->goes[s] || (graph->storage[s].bytes >= HOST_STATE_BYTES && allocator != NONE &&
		graph->op[allocator].phase == PHASE_UPDATE);
}

/* group [ops]: of each op of an update of state, from 1; 0: it is none. What an op touches together is of one group. */
static bool host_states_group(const struct host_states *states, uint32_t *group)
{
	const struct graph *graph = states->graph;
	HELD uint32_t *MAKE(of, graph->storages);   /* union-find */
	HELD bool *MAKE(holds, graph->storages);    /* [roots] state */
	FOR_WHILE(s, graph->storages, of)
		of[s] = s;
	FOR_WHILE(op, graph->ops, of) {
		uint32_t first = NONE;
		FOR_ITEMS(touched, &graph->touches, op) {
			if (!host_states_joins(states, touched))
				continue;
			uint32_t s = set_root(of, touched);
			first = first == NONE ? s : first;
			of[LARGER(s, first)] = SMALLER(s, first);
			first = SMALLER(s, first);
		}
		group[op] = first == NONE ? 0 : 1 + first;
	}
	FOR_WHILE(s, graph->storages, of && holds)
		holds[set_root(of, s)] |= states->goes[s];
	FOR_WHILE(op, graph->ops, of && holds) {
		uint32_t root = group[op] > 0 ? set_root(of, group[op] - 1) : NONE;
		group[op] = root != NONE && holds[root] ? 1 + root : 0;
	}
	return of && holds;
}

/* State waits for the last that its updates need: what needs nothing but it runs then. */
static bool host_states_order(struct host_states *states, const uint32_t *order)
{
	const struct graph *graph = states->graph;
	struct arena *arena = states->arena;
	struct moment *moment;
	uint32_t *group, *position, *ready;
	if (!(ROOMS(arena, graph->ops, moment, group, position) && ROOM(arena, ready, graph->storages + 1u) &&
		host_states_group(states, group)))
		return false;
	FOR(i, graph->ops)
		position[order[i]] = i;
	FOR(op, graph->ops)
		FOR_ITEMS(before, &graph->pred, op)
			if (group[op] > 0 && group[before] != group[op])
				ready[group[op]] = LARGER(position[before], ready[group[op]]);
	FOR(i, graph->ops) {
		uint32_t op = order[i];
		moment[op] = (struct moment){ group[op] > 0 ? ready[group[op]] : i, group[op], i };
		FOR_ITEMS(before, &graph->pred, op) {
			struct moment other = { moment[before].at, moment[before].group, i };
			moment[op] = host_states_by_moment(&other, &moment[op]) > 0 ? other : moment[op];
		}
	}
	SORT(moment, graph->ops, host_states_by_moment);
	FOR(i, graph->ops)
		states->order[i] = order[moment[i].was];
	return true;
}

/* ---- what comes and goes together ---- */

COMPARATOR(host_states_by_first, struct span, COMPARE(a->first, b->first, COMPARE(a->storage, b->storage, 0)))

static bool host_states_collect(struct host_states *states, const uint32_t *order, int64_t room)
{
	const struct graph *graph = states->graph;
	struct arena *arena = states->arena;
	uint32_t *position, until = 0;
	if (!(ROOMS(arena, graph->storages, states->goes, states->span) &&
		ROOMS(arena, graph->ops, states->order, position) && ROOM(arena, states->group, graph->storages + 1u)))
		return false;
	FOR(s, graph->storages) {
		states->goes[s] = host_states_may_go(graph, s) && graph->storage[s].bytes <= room;
		room -= states->goes[s] ? graph->storage[s].bytes : 0;
	}
	if (!host_states_order(states, order))
		return false;
	FOR(i, graph->ops)
		position[states->order[i]] = i;
	FOR(s, graph->storages) {
		struct span span = { s, graph->ops, 0 };
		FOR_ITEMS(user, &graph->users, s) {
			span.first = SMALLER(position[user], span.first);
			span.last = LARGER(position[user], span.last);
		}
		if (states->goes[s])
			states->span[states->count++] = span;
	}
	SORT(states->span, states->count, host_states_by_first);
	FOR(i, states->count) {
		if (i == 0 || states->span[i].first > until)
			states->group[states->groups++] = i;
		until = LARGER(states->span[i].last, until);
	}
	states->group[states->groups] = states->count;
	return true;
}

/* ---- copies ---- */

/* A copy of a tensor on the other side, which takes no bytes of the device where that is the host. */
static uint32_t host_states_copy(struct host_states *states, uint32_t s, enum added added, uint32_t from, int64_t bytes)
{
	struct build *build = &states->build;
	const struct tensor *root = &states->graph->tensor[states->graph->storage[s].root];
	build->phase = PHASE_COMMUNICATION;
	build->module = states->graph->op[csr_at(&states->graph->users, s, 0)].module;
	build_op(build, added_types[added], IN(from));
	uint32_t to = build_output(build, root->dtype, build_shape(build, states->tensor[states->graph->storage[s].root]));
	if (to != NONE)
		draft_tensor_at(build->draft, to)->bytes = bytes;
	return to;
}

/* The last op begun stays behind that one, and before the next that is copied. */
static void host_states_hold(struct host_states *states, uint32_t after)
{
	struct build *build = &states->build;
	if (after != NONE)
		THEN(build->status, draft_after(build->draft, build->op, after));
	states->held++;
}

static void host_states_fetch(struct host_states *states, uint32_t group, uint32_t after)
{
	const struct graph *graph = states->graph;
	FOR_FROM(i, states->group[group], states->group[group + 1]) {
		uint32_t s = states->span[i].storage, root = graph->storage[s].root, host = states->tensor[root],
				 to = host_states_copy(states, s, ADDED_FETCH, host, graph->storage[s].bytes);
		host_states_hold(states, after);
		if (states->build.status != OK)
			return;
		struct tensor *away = draft_tensor_at(states->build.draft, host);
		away->bytes = 0;
		away->has_bytes = away->replaced = true;
		states->tensor[root] = states->newest[s] = to;
		FOR_ITEMS(member, &graph->members, s)
			if (graph->tensor[member].alias == root)
				draft_tensor_at(states->build.draft, states->tensor[member])->alias = to;
	}
}

static void host_states_send(struct host_states *states, uint32_t group)
{
	FOR_FROM(i, states->group[group], states->group[group + 1]) {
		uint32_t s = states->span[i].storage;
		states->host[i] = host_states_copy(states, s, ADDED_OFFLOAD, states->newest[s], 0);
		if (states->host[i] != NONE)
			build_kind(&states->build, states->host[i], KIND_OUTPUT);
	}
}

/* The copies of a group are out: its memory is free. */
static void host_states_let_go(struct host_states *states, uint32_t group, uint32_t after)
{
	FOR_FROM(i, states->group[group], states->group[group + 1]) {
		states->build.phase = PHASE_COMMUNICATION;
		build_op(&states->build, added_types[ADDED_OFFLOAD_WAIT],
			IN(states->newest[states->span[i].storage], states->host[i]));
		host_states_hold(states, after);
	}
}

static void host_states_copy_op(struct host_states *states, uint32_t op)
{
	const struct graph *graph = states->graph;
	struct build *build = &states->build;
	bool renamed = false;
	uint32_t copy = states->op[op] = build_copy_op(build, graph, op, states->tensor);
	for (; states->held > 0 && build->status == OK; states->held--)
		build->status = draft_after(build->draft, copy, copy - states->held);
	FOR_ITEMS(touched, &graph->touches, op)
		renamed |= states->newest[touched] != NONE;
	FOR_SPAN(i, graph->inplace_start, op) {
		struct inplace pair = graph->inplace[i];
		uint32_t s = graph->tensor[pair.in].storage;
		states->newest[s] = pair.out != NONE && states->newest[s] != NONE ? states->tensor[pair.out] : states->newest[s];
	}
	if (renamed) /* the state that it reads is here by another name */
		build_rename_by(build, states->arena, graph, op, copy, states->tensor);
}

static int64_t host_states_bytes(const struct host_states *states, uint32_t from, uint32_t until)
{
	int64_t bytes = 0;
	FOR_FROM(i, states->group[from], states->group[until])
		bytes += states->graph->storage[states->span[i].storage].bytes;
	return bytes;
}

/* Copies around an update: some groups come while others leave, so that the link is busy both ways. */
struct flight {
	uint32_t group, come, gone; /* the next to be updated, to be fetched, to be let go of */
	int64_t most;               /* bytes that come, or leave, unless one group is more */
	uint32_t before;            /* the last op behind which copies may be */
};

static void host_states_begin(struct host_states *states, struct flight *flight)
{
	uint32_t k = flight->group;
	while (flight->gone + 1 < k && host_states_bytes(states, flight->gone, k) > flight->most)
		host_states_let_go(states, flight->gone++, flight->before);
	while (flight->come < states->groups && (flight->come <= k + 1 ||
		host_states_bytes(states, k + 1, flight->come + 1) <= flight->most))
		host_states_fetch(states, flight->come++, flight->before);
}

static void host_states_run(struct host_states *states)
{
	const struct graph *graph = states->graph;
	struct flight flight = { .most = 2 * host_states_bytes(states, 0, states->groups) / states->groups, .before = NONE };
	uint32_t end = 0;
	FOR_WHILE(i, graph->ops, states->build.status == OK) {
		uint32_t op = states->order[i], first = states->group[flight.group];
		bool more = flight.group < states->groups;
		if (more && states->span[first].first == i) {
			host_states_begin(states, &flight);
			FOR_FROM(k, first, states->group[flight.group + 1])
				end = LARGER(states->span[k].last, end);
		}
		host_states_copy_op(states, op);
		if (more && states->span[first].first <= i && end == i) {
			flight.before = states->op[op];
			host_states_send(states, flight.group++);
		} else if (flight.group == 0 && !graph_is_view(graph, op)) {
			flight.before = states->op[op];
		}
	}
	while (flight.gone < flight.group && states->build.status == OK)
		host_states_let_go(states, flight.gone++, flight.before);
}

static enum status host_states_write(struct host_states *states)
{
	const struct graph *graph = states->graph;
	states->build.source = graph;
	NEED(build_copy_begin(&states->build, graph, states->arena, &states->tensor, &states->op) &&
		ROOM(states->arena, states->newest, graph->storages) && ROOM(states->arena, states->host, states->count));
	FILL_NONE(states->newest, graph->storages);
	build_copy_tensors(&states->build, graph, states->tensor);
	host_states_run(states);
	build_copy_control(&states->build, graph, states->op);
	return states->build.status;
}

struct graph *offload_states(
	struct graph *step, const uint32_t *order, int64_t room, uint32_t *states, int64_t *bytes, struct error *error)
{
	OWN(arena) arena = { 0 };
	struct host_states work = { .graph = step, .arena = &arena };
	enum status status = host_states_collect(&work, order, room) ? OK : NO_MEMORY;
	*states = work.count;
	*bytes = 0;
	FOR(i, work.count)
		*bytes += step->storage[work.span[i].storage].bytes;
	if (status == OK && work.count == 0)
		return graph_retain(step);
	THEN(status, host_states_write(&work));
	work.build.status = status;
	return build_like(&work.build, step, error);
}
