/* reshard.c: Dijkstra over the placements of one tensor. */

#include "reshard.h"
#include "solver/base/sort.h"

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
	int64_t own[MESH_AXES * CANDIDATES_MAX];
	int64_t *takes; /* [states][axes * candidates] what moves take, < 0: there is none; NULL: found when needed */
	bool *known;                       /* [states] takes has those from here */
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

static uint32_t reshard_state_of(const struct way *way, struct placement placement)
{
	uint32_t state = 0;
	FOR_DOWN(a, way->mesh->axes) {
		uint32_t i = 0;
		while (way->candidate[i] != placement.on[a])
			i++;
		state = state * way->candidates + i;
	}
	return state;
}

/* ---- moves ---- */

/* True where a later axis cuts the same part: the pieces of this axis are not contiguous then. */
static bool cut_later(const struct way *way, struct placement placement, uint32_t axis, int8_t on)
{
	for (uint32_t a = axis + 1; on >= 0 && a < way->mesh->axes; a++)
		if (placement.on[a] == on)
			return true;
	return false;
}

static int64_t reshard_bytes_at(const struct way *way, struct placement placement)
{
	return placement_bytes(way->units, way->mesh, way->tensor, placement);
}

/* The move from a placement of so many bytes to value on an axis; false where there is none. */
static bool move_to(
	const struct way *way, struct placement from, int64_t bytes, uint32_t a, int8_t value, struct reshard_move *move)
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
		move->collective = COLLECTIVE_SLICE;
	} else if (value == PLACE_WHOLE) {
		move->collective = COLLECTIVE_ALL_GATHER;
	} else if (value >= 0) {
		move->collective = COLLECTIVE_ALL_TO_ALL;
	} else {
		return false;
	}
	if (move->collective != COLLECTIVE_SLICE)
		move->bytes = collective_of(axis, move->collective, bytes,
			move->collective == COLLECTIVE_ALL_REDUCE ? bytes : reshard_bytes_at(way, move->to));
	move->time = collective_time(axis, move->collective, move->bytes);
	return true;
}

/* What the moves from a state take. */
static const int64_t *moves_from(struct way *way, uint32_t at, struct placement placement)
{
	uint32_t row = way->mesh->axes * way->candidates;
	int64_t *takes = way->takes ? way->takes + (size_t)at * row : way->own;
	if (way->takes && way->known[at])
		return takes;
	int64_t bytes = reshard_bytes_at(way, placement);
	for (uint32_t a = 0, i = 0; a < way->mesh->axes; a++)
		for (uint32_t v = 0; v < way->candidates; v++, i++) {
			struct reshard_move move;
			takes[i] = move_to(way, placement, bytes, a, way->candidate[v], &move) ? move.time : -1;
		}
	if (way->takes)
		way->known[at] = true;
	return takes;
}

/* Looks at all moves from a state. Summands come of a whole tensor only where they are wanted. */
static void reshard_expand(struct way *way, uint32_t at)
{
	const struct state *from = &way->state[at];
	struct placement placement = placement_of(way, at);
	const int64_t *takes = moves_from(way, at, placement);
	uint32_t step = 1;
	for (uint32_t a = 0; a < way->mesh->axes; a++, step *= way->candidates) {
		uint32_t digit = at / step % way->candidates;
		FOR(v, way->candidates) {
			uint32_t next = at + (v - digit) * step;
			struct state *state = &way->state[next];
			int64_t move = takes[a * way->candidates + v];
			if (move < 0 || state->done || from->moves >= RESHARD_MOVES
				|| (placement.on[a] == PLACE_WHOLE && way->candidate[v] == PLACE_PARTIAL && way->to.on[a] != PLACE_PARTIAL))
				continue;
			int64_t time = from->time + move;
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
	reshard->sent = 0;
	reshard->moves = last->moves;
	reshard->time = last->time;
	for (uint32_t i = last->moves, at = target; i-- > 0; at = way->state[at].previous) {
		struct reshard_move *move = &reshard->move[i];
		struct placement from = placement_of(way, way->state[at].previous), to = placement_of(way, at);
		uint32_t a = 0;
		while (from.on[a] == to.on[a])
			a++;
		move_to(way, from, reshard_bytes_at(way, from), a, to.on[a], move);
		reshard->sent += collective_bytes(&way->mesh->axis[a], move->collective, move->bytes);
	}
}

/* ---- the search ---- */

static bool reshard_add_candidate(struct way *way, int8_t value)
{
	FOR(i, way->candidates)
		if (way->candidate[i] == value)
			return true;
	if (way->candidates == CANDIDATES_MAX)
		return false;
	way->candidate[way->candidates++] = value;
	return true;
}

static uint32_t reshard_count_states(const struct way *way)
{
	uint32_t states = 1;
	FOR(a, way->mesh->axes)
		states *= way->candidates;
	return states;
}

/* What an axis may hold on the way: any part. False where the placements of all are too many. */
static bool take_all_parts(struct way *way)
{
	uint32_t parts = way->units->part_start[way->tensor + 1] - way->units->part_start[way->tensor];
	bool fits = parts + 2 <= CANDIDATES_MAX;
	FOR_WHILE(i, parts, fits)
		reshard_add_candidate(way, (int8_t)i);
	reshard_add_candidate(way, PLACE_WHOLE);
	reshard_add_candidate(way, PLACE_PARTIAL);
	way->states = reshard_count_states(way);
	return fits && way->states <= STATES_WHOLE;
}

static void find_candidates(struct way *way, struct placement from)
{
	if (take_all_parts(way))
		return;
	way->candidates = 0;
	FOR(a, way->mesh->axes) {
		reshard_add_candidate(way, from.on[a]);
		reshard_add_candidate(way, way->to.on[a]);
	}
	reshard_add_candidate(way, PLACE_WHOLE);
	way->states = reshard_count_states(way);
}

static bool possible(const struct way *way, struct placement from)
{
	FOR(a, way->mesh->axes)
		if (from.on[a] >= 0 && way->to.on[a] == PLACE_PARTIAL)
			return false;
	return placement_divides(way->units, way->mesh, way->tensor, from) &&
		placement_divides(way->units, way->mesh, way->tensor, way->to);
}

/* From a state to a target, or NONE: to all. */
static void reshard_search(struct way *way, uint32_t start, uint32_t target)
{
	way->state[start].reached = true;
	order_heap_put(&way->queue, start, 0, 0);
	for (uint32_t at = start; at != NONE && at != target; at = order_heap_top(&way->queue)) {
		order_heap_remove(&way->queue, at);
		way->state[at].done = true;
		reshard_expand(way, at);
	}
}

/* Searches, with states in an arena. */
static enum status reshard_search_in(struct way *way, uint32_t start, uint32_t target, struct arena *states)
{
	OWN(arena) arena = { 0 };
	TRY(order_heap_init(&way->queue, way->states, &arena));
	way->found = 0;
	NEED(ROOM(states, way->state, way->states));
	reshard_search(way, start, target);
	return OK;
}

static enum status written(struct way *way, uint32_t target, struct reshard *reshard)
{
	if (!way->state[target].reached)
		return INFEASIBLE;
	write_down(way, target, reshard);
	return OK;
}

static bool is_there(const struct mesh *mesh, struct placement from, struct placement to)
{
	bool same = true;
	FOR(a, mesh->axes)
		same = same && from.on[a] == to.on[a];
	return same;
}

enum status reshard_find(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement from,
	struct placement to, struct reshard *reshard)
{
	struct way way = { .units = units, .mesh = mesh, .tensor = tensor, .to = to };
	reshard->moves = 0;
	reshard->time = reshard->sent = 0;
	if (is_there(mesh, from, to))
		return OK;
	if (graph_in_host(units->graph, tensor) || !possible(&way, from))
		return INFEASIBLE;
	find_candidates(&way, from);
	OWN(arena) arena = { 0 };
	uint32_t target = reshard_state_of(&way, to);
	TRY(reshard_search_in(&way, reshard_state_of(&way, from), target, &arena));
	return written(&way, target, reshard);
}

/* ---- many of one tensor ---- */

/* All ways from a placement to those that are summands on certain axes: another search is needed only for other axes.
 */
struct tree { bool asked; struct state *state; };

struct reshard_map {
	struct way way;
	struct arena *arena;
	struct tree **tree;              /* [states][axes of the target that are summands, bit by bit]; NULL: not asked for */
	int8_t digit[CANDIDATES_MAX];    /* of a value on an axis, from PLACE_PARTIAL on */
};

enum status reshard_map_new(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct arena *arena, struct reshard_map **map)
{
	struct reshard_map *MAKE_IN(arena, made, 1);
	*map = NULL;
	NEED(made);
	*made = (struct reshard_map) { .way = { .units = units, .mesh = mesh, .tensor = tensor }, .arena = arena };
	struct way *way = &made->way;
	if (!take_all_parts(way))
		return OK;
	ROOM(arena, way->takes, (size_t)way->states * mesh->axes * way->candidates);
	ROOM(arena, way->known, way->states);
	made->tree = arena_alloc(arena, way->states, sizeof(struct tree *));
	NEED(way->takes && way->known && made->tree);
	FOR(i, way->candidates)
		made->digit[way->candidate[i] - PLACE_PARTIAL] = (int8_t)i;
	*map = made;
	return OK;
}

uint32_t reshard_map_states(const struct reshard_map *map)
{
	return map->way.states;
}

uint32_t reshard_map_state(const struct reshard_map *map, struct placement placement)
{
	uint32_t state = 0;
	FOR_DOWN(a, map->way.mesh->axes) {
		uint32_t value = (uint32_t)(placement.on[a] - PLACE_PARTIAL);
		if (value >= map->way.candidates)
			return NONE;
		state = state * map->way.candidates + (uint32_t)map->digit[value];
	}
	return state;
}

/* The tree from a state for targets like this one. Who asks once needs a single way, so the whole tree is found for the
 * second one. */
static enum status reshard_look(struct reshard_map *map, uint32_t start, uint32_t target, struct arena *arena)
{
	struct way *way = &map->way;
	uint32_t summands = 0;
	FOR(a, way->mesh->axes)
		summands |= (uint32_t)(way->to.on[a] == PLACE_PARTIAL) << a;
	if (!map->tree[start] &&
		!ROOM(map->arena, map->tree[start], (size_t)1 << way->mesh->axes))
		return NO_MEMORY;
	struct tree *tree = &map->tree[start][summands];
	if (tree->state) {
		way->state = tree->state;
		return OK;
	}
	TRY(reshard_search_in(way, start, tree->asked ? NONE : target, tree->asked ? map->arena : arena));
	if (tree->asked)
		tree->state = way->state;
	tree->asked = true;
	return OK;
}

static enum status map_find(
	struct reshard_map *map, struct placement from, struct placement to, struct reshard *reshard)
{
	struct way *way = &map->way;
	reshard->moves = 0;
	reshard->time = reshard->sent = 0;
	way->to = to;
	if (is_there(way->mesh, from, to))
		return OK;
	if (graph_in_host(way->units->graph, way->tensor) || !possible(way, from))
		return INFEASIBLE;
	OWN(arena) arena = { 0 };
	uint32_t target = reshard_state_of(way, to);
	TRY(reshard_look(map, reshard_state_of(way, from), target, &arena));
	return written(way, target, reshard);
}

/* ---- shards become summands ---- */

/* A way of two: by way of where the shards are whole. */
static struct placement reshard_middle_of(const struct mesh *mesh, struct placement from, struct placement to)
{
	struct placement middle = to;
	FOR(a, mesh->axes)
		if (from.on[a] >= 0 && to.on[a] == PLACE_PARTIAL)
			middle.on[a] = PLACE_WHOLE;
	return middle;
}

static enum status reshard_join(struct reshard *reshard, const struct reshard *rest)
{
	if (reshard->moves + rest->moves > RESHARD_MOVES)
		return INFEASIBLE;
	FOR(i, rest->moves)
		reshard->move[reshard->moves++] = rest->move[i];
	reshard->time += rest->time;
	reshard->sent += rest->sent;
	return OK;
}

enum status reshard_any(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement from,
	struct placement to, struct reshard *reshard)
{
	enum status status = reshard_find(units, mesh, tensor, from, to, reshard);
	if (status != INFEASIBLE)
		return status;
	struct placement middle = reshard_middle_of(mesh, from, to);
	struct reshard rest;
	status = placement_equal(middle, to) ? INFEASIBLE : reshard_find(units, mesh, tensor, from, middle, reshard);
	THEN(status, reshard_find(units, mesh, tensor, middle, to, &rest));
	return status == OK ? reshard_join(reshard, &rest) : status;
}

enum status reshard_map_any(
	struct reshard_map *map, struct placement from, struct placement to, struct reshard *reshard)
{
	enum status status = map_find(map, from, to, reshard);
	if (status != INFEASIBLE)
		return status;
	struct placement middle = reshard_middle_of(map->way.mesh, from, to);
	struct reshard rest;
	status = placement_equal(middle, to) ? INFEASIBLE : map_find(map, from, middle, reshard);
	THEN(status, map_find(map, middle, to, &rest));
	return status == OK ? reshard_join(reshard, &rest) : status;
}

bool reshard_gathers_anew(
	const struct graph *graph, const struct sharding *sharding, uint32_t tensor, const struct reshard *way)
{
	FOR(i, way->moves)
		if (way->move[i].collective == COLLECTIVE_ALL_GATHER &&
			(!graph_home(graph, tensor)->persistent || sharding->regather_axes >> way->move[i].axis & 1))
			return true;
	return false;
}
