/* reshard.c: Dijkstra over the placements of one tensor. */
#include <string.h>

#include "solver/base/heap.h"
#include "reshard.h"

#define STATES_WHOLE 1024   /* up to here all parts are looked at, above only those that the two ends shard */
#define CANDIDATES_MAX 32

/* A placement on the way: reached at this time and after so many moves. */
struct state { int64_t time; uint32_t previous; uint8_t moves; bool reached, done; };

struct way {
	const struct units *units;
	const struct mesh *mesh;
	uint32_t tensor, candidates, states, found;
	int8_t candidate[CANDIDATES_MAX];  /* values on an axis: parts, then R and P */
	struct placement to;
	struct state *state;
	struct order_heap queue;           /* of states: by time, then moves, then the order in which they were found */
};

static struct placement placement_of(const struct way *way, uint32_t state)
{
	struct placement placement = way->to;
	for (uint32_t a = 0; a < way->mesh->axes; a++, state /= way->candidates)
		placement.on[a] = way->candidate[state % way->candidates];
	return placement;
}

static uint32_t state_of(const struct way *way, struct placement placement)
{
	uint32_t state = 0;
	for (uint32_t a = way->mesh->axes; a-- > 0;) {
		uint32_t i = 0;
		while (way->candidate[i] != placement.on[a])
			i++;
		state = state * way->candidates + i;
	}
	return state;
}

/* ---- moves ---------------------------------------------------------------------------------------------------- */

/* True where a later axis cuts the same part: the pieces of this axis are not contiguous then. */
static bool cut_later(const struct way *way, struct placement placement, uint32_t axis, int8_t on)
{
	for (uint32_t a = axis + 1; on >= 0 && a < way->mesh->axes; a++)
		if (placement.on[a] == on)
			return true;
	return false;
}

static int64_t bytes_at(const struct way *way, struct placement placement)
{
	return placement_bytes(way->units, way->mesh, way->tensor, placement);
}

/* The move from a placement of so many bytes to value on an axis; false where there is none. */
static bool move_to(const struct way *way, struct placement from, int64_t bytes, uint32_t a, int8_t value, struct reshard_move *move)
{
	const struct mesh_axis *axis = &way->mesh->axis[a];
	int8_t old = from.on[a];
	if (old == value || axis->size < 2 || cut_later(way, from, a, old) || cut_later(way, from, a, value))
		return false;
	*move = (struct reshard_move) { .axis = (uint8_t)a, .to = from };
	move->to.on[a] = value;
	if (value >= 0 && !placement_divides(way->units, way->mesh, way->tensor, move->to))
		return false;
	if (old == PLACE_PARTIAL) {
		move->collective = value >= 0 ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE;
	} else if (old == PLACE_WHOLE) {
		if (value == PLACE_PARTIAL && way->to.on[a] != PLACE_PARTIAL)
			return false;
		move->collective = COLLECTIVE_SLICE;
	} else if (value == PLACE_WHOLE) {
		move->collective = COLLECTIVE_ALL_GATHER;
	} else if (value >= 0) {
		move->collective = COLLECTIVE_ALL_TO_ALL;
	} else {
		return false;
	}
	if (move->collective != COLLECTIVE_SLICE)
		move->bytes = collective_of(axis, move->collective, bytes, move->collective == COLLECTIVE_ALL_REDUCE ? bytes : bytes_at(way, move->to));
	move->time = collective_time(axis, move->collective, move->bytes);
	return true;
}

/* Looks at all moves from a state. */
static void expand(struct way *way, uint32_t at)
{
	const struct state *from = &way->state[at];
	struct placement placement = placement_of(way, at);
	int64_t bytes = bytes_at(way, placement);
	uint32_t step = 1;
	for (uint32_t a = 0; a < way->mesh->axes; a++, step *= way->candidates) {
		uint32_t digit = at / step % way->candidates;
		for (uint32_t v = 0; v < way->candidates; v++) {
			uint32_t next = at + (v - digit) * step;
			struct state *state = &way->state[next];
			struct reshard_move move;
			if (state->done || from->moves >= RESHARD_MOVES || !move_to(way, placement, bytes, a, way->candidate[v], &move))
				continue;
			int64_t time = from->time + move.time;
			if (state->reached && (time > state->time || (time == state->time && from->moves + 1 >= state->moves)))
				continue;
			*state = (struct state) { time, at, (uint8_t)(from->moves + 1), true, false };
			order_heap_put(&way->queue, next, time, ((int64_t)state->moves << 32) + way->found++);
		}
	}
}

static void write_down(const struct way *way, uint32_t target, struct reshard *reshard)
{
	const struct state *last = &way->state[target];
	reshard->moves = last->moves;
	reshard->time = last->time;
	for (uint32_t i = last->moves, at = target; i-- > 0; at = way->state[at].previous) {
		struct reshard_move *move = &reshard->move[i];
		struct placement from = placement_of(way, way->state[at].previous), to = placement_of(way, at);
		uint32_t a = 0;
		while (from.on[a] == to.on[a])
			a++;
		move_to(way, from, bytes_at(way, from), a, to.on[a], move);
		reshard->sent += collective_bytes(&way->mesh->axis[a], move->collective, move->bytes);
	}
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

static bool add_candidate(struct way *way, int8_t value)
{
	for (uint32_t i = 0; i < way->candidates; i++)
		if (way->candidate[i] == value)
			return true;
	if (way->candidates == CANDIDATES_MAX)
		return false;
	way->candidate[way->candidates++] = value;
	return true;
}

static uint32_t count_states(const struct way *way)
{
	uint32_t states = 1;
	for (uint32_t a = 0; a < way->mesh->axes; a++)
		states *= way->candidates;
	return states;
}

/* What an axis may hold on the way: any part, where the placements of all are few. */
static void find_candidates(struct way *way, struct placement from)
{
	uint32_t parts = way->units->part_start[way->tensor + 1] - way->units->part_start[way->tensor];
	bool fits = parts + 2 <= CANDIDATES_MAX;
	for (uint32_t i = 0; i < parts && fits; i++)
		add_candidate(way, (int8_t)i);
	add_candidate(way, PLACE_WHOLE);
	add_candidate(way, PLACE_PARTIAL);
	way->states = count_states(way);
	if (fits && way->states <= STATES_WHOLE)
		return;
	way->candidates = 0;
	for (uint32_t a = 0; a < way->mesh->axes; a++) {
		add_candidate(way, from.on[a]);
		add_candidate(way, way->to.on[a]);
	}
	add_candidate(way, PLACE_WHOLE);
	way->states = count_states(way);
}

static bool possible(const struct way *way, struct placement from)
{
	for (uint32_t a = 0; a < way->mesh->axes; a++)
		if (from.on[a] >= 0 && way->to.on[a] == PLACE_PARTIAL)
			return false;
	return placement_divides(way->units, way->mesh, way->tensor, from) && placement_divides(way->units, way->mesh, way->tensor, way->to);
}

static enum status search(struct way *way, uint32_t start, uint32_t target, struct reshard *reshard)
{
	way->state[start].reached = true;
	order_heap_put(&way->queue, start, 0, 0);
	for (uint32_t at = start; at != NONE && at != target; at = order_heap_top(&way->queue)) {
		order_heap_remove(&way->queue, at);
		way->state[at].done = true;
		expand(way, at);
	}
	if (!way->state[target].reached)
		return INFEASIBLE;
	write_down(way, target, reshard);
	return OK;
}

enum status reshard_find(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement from, struct placement to,
	struct reshard *reshard)
{
	struct way way = { .units = units, .mesh = mesh, .tensor = tensor, .to = to };
	bool same = true;
	reshard->moves = 0;
	reshard->time = reshard->sent = 0;
	for (uint32_t a = 0; a < mesh->axes; a++)
		same = same && from.on[a] == to.on[a];
	if (same)
		return OK;
	if (graph_in_host(units->graph, tensor) || !possible(&way, from))
		return INFEASIBLE;
	find_candidates(&way, from);
	struct arena arena = { 0 };
	enum status status = order_heap_init(&way.queue, way.states, &arena);
	if (status == OK && !(way.state = arena_alloc(&arena, way.states, sizeof *way.state)))
		status = NO_MEMORY;
	if (status == OK)
		status = search(&way, state_of(&way, from), state_of(&way, to), reshard);
	arena_free(&arena);
	return status;
}

enum status reshard_any(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement from, struct placement to,
	struct reshard *reshard)
{
	enum status status = reshard_find(units, mesh, tensor, from, to, reshard);
	struct placement middle = to;
	struct reshard rest;
	if (status != INFEASIBLE)
		return status;
	for (uint32_t a = 0; a < mesh->axes; a++)
		if (from.on[a] >= 0 && to.on[a] == PLACE_PARTIAL)
			middle.on[a] = PLACE_WHOLE;
	status = placement_equal(middle, to) ? INFEASIBLE : reshard_find(units, mesh, tensor, from, middle, reshard);
	if (status == OK)
		status = reshard_find(units, mesh, tensor, middle, to, &rest);
	if (status == OK && reshard->moves + rest.moves > RESHARD_MOVES)
		status = INFEASIBLE;
	for (uint32_t i = 0; status == OK && i < rest.moves; i++)
		reshard->move[reshard->moves++] = rest.move[i];
	if (status == OK) {
		reshard->time += rest.time;
		reshard->sent += rest.sent;
	}
	return status;
}
