/* max_flow.c: maximum flow by Dinic's blocking flows between labelled sets of nodes.
 *
 * Sources have flow to give without end, sinks need it without end; nothing flows through either. */
#include <string.h>

#include "max_flow.h"

enum status flow_init(struct max_flow *flow, uint32_t nodes, uint32_t pairs)
{
	*flow = (struct max_flow) { .nodes = nodes, .room = 2 * pairs };
	struct arena *arena = &flow->arena;
	bool fine = ROOMS(arena, flow->room, flow->to, flow->capacity, flow->residual) &&
		ROOMS(arena, nodes, flow->supply, flow->distance, flow->next, flow->queue, flow->path, flow->borders,
		flow->reached);
	return fine ? OK : NO_MEMORY;
}

void flow_free(struct max_flow *flow)
{
	arena_free(&flow->arena);
}

uint32_t flow_add(struct max_flow *flow, uint32_t from, uint32_t to, int64_t capacity, int64_t reverse)
{
	uint32_t arc = flow->arcs;
	flow->to[arc] = to;
	flow->to[arc + 1] = from;
	flow->capacity[arc] = flow->residual[arc] = capacity;
	flow->capacity[arc + 1] = flow->residual[arc + 1] = reverse;
	flow->arcs += 2;
	return arc;
}

enum status flow_ready(struct max_flow *flow)
{
	struct csr *leaving = &flow->leaving;
	NEED(ROOM(&flow->arena, leaving->start, (size_t)flow->nodes + 2) && ROOM(&flow->arena, leaving->item, flow->arcs));
	/* As in csr_of_pairs(): counts stand two rows further. */
	uint32_t *next = leaving->start + 1;
	FOR(arc, flow->arcs)
		next[flow_from(flow, arc) + 1]++;
	FOR(node, flow->nodes)
		next[node + 1] += next[node];
	FOR(arc, flow->arcs)
		leaving->item[next[flow_from(flow, arc)]++] = arc;
	return OK;
}

/* ---- moving flow from supply to need ---- */

/* Flow passes only through nodes that are free, or through none: terminals give and take. */
struct pass {
	struct max_flow *flow;
	const uint8_t *side;
	struct control *control;
};

/* Distances to the nearest needing node. True when a supplying node reaches one. */
static bool measure_distances(const struct pass *pass)
{
	struct max_flow *flow = pass->flow;
	const uint32_t *needing = flow->borders;
	bool found = false;
	uint32_t head = 0, tail = 0;
	FILL_NONE(flow->distance, flow->nodes);
	FOR(i, flow->border_nodes)
		if (flow->supply[needing[i]] < 0) {
			flow->distance[needing[i]] = 0;
			flow->queue[tail++] = needing[i];
		}
	while (head < tail) {
		uint32_t node = flow->queue[head++];
		FOR_ITEMS(arc, &flow->leaving, node) {
			uint32_t back = arc ^ 1, before = flow_from(flow, back);
			if (flow->residual[back] == 0 || flow->distance[before] != NONE)
				continue;
			if (pass->side[before] != FLOW_FREE && flow->supply[before] <= 0)
				continue;
			flow->distance[before] = flow->distance[node] + 1;
			found |= flow->supply[before] > 0;
			/* Nothing flows through a terminal. */
			if (pass->side[before] == FLOW_FREE)
				flow->queue[tail++] = before;
		}
	}
	return found;
}

/* The next arc of node that leads one step nearer to need, or NONE. */
static uint32_t arc_nearer(struct max_flow *flow, uint32_t node)
{
	for (; flow->next[node] < flow->leaving.start[node + 1]; flow->next[node]++) {
		uint32_t arc = flow->leaving.item[flow->next[node]], to = flow->to[arc];
		if (flow->residual[arc] > 0 && flow->supply[to] < FLOW_UNLIMITED && flow->distance[to] != NONE &&
			flow->distance[to] + 1 == flow->distance[node])
			return arc;
	}
	return NONE;
}

/* Pushes along path, from `node` on to its last arc's end. Returns how many arcs at its start stay usable. */
static uint32_t push_path(struct max_flow *flow, uint32_t node, uint32_t length)
{
	uint32_t end = flow->to[flow->path[length - 1]], kept = length;
	int64_t amount = smaller_of(flow->supply[node], -flow->supply[end]);
	FOR(i, length)
		amount = smaller_of(amount, flow->residual[flow->path[i]]);
	FOR_DOWN(i, length) {
		flow->residual[flow->path[i]] -= amount;
		flow->residual[flow->path[i] ^ 1] += amount;
		if (flow->residual[flow->path[i]] == 0)
			kept = i;
	}
	/* Terminals have no end of supply or need. */
	if (flow->supply[node] < FLOW_UNLIMITED)
		flow->supply[node] -= amount;
	if (flow->supply[end] > -FLOW_UNLIMITED)
		flow->supply[end] += amount;
	return flow->supply[end] == 0 && kept == length ? length - 1 : kept;
}

/* Sends what node can give along shortest paths. Returns the number of arcs looked at, roughly. */
static uint64_t drain(struct max_flow *flow, uint32_t node)
{
	uint32_t length = 0;
	uint64_t steps = 0;
	while (flow->supply[node] > 0) {
		uint32_t at = length ? flow->to[flow->path[length - 1]] : node;
		steps++;
		if (length > 0 && flow->supply[at] < 0 && flow->distance[at] == 0) {
			length = push_path(flow, node, length);
			continue;
		}
		uint32_t arc = arc_nearer(flow, at);
		if (arc != NONE) {
			flow->path[length++] = arc;
		} else if (length == 0) {
			break;
		} else {
			flow->distance[at] = NONE;
			length--;
		}
	}
	return steps;
}

/* Moves flow from supplying to needing nodes until no path is left. */
static enum status max_flow_settle(const struct pass *pass)
{
	struct max_flow *flow = pass->flow;
	const uint32_t *giving = flow->borders;
	while (measure_distances(pass)) {
		uint64_t ticks = flow->arcs / 8;
		COPY(flow->next, flow->leaving.start, flow->nodes);
		FOR(i, flow->border_nodes)
			if (flow->supply[giving[i]] > 0 && flow->distance[giving[i]] != NONE && flow->distance[giving[i]] > 0)
				ticks += drain(flow, giving[i]);
		if (control_spend(pass->control, ticks))
			return control_status(pass->control);
	}
	return OK;
}

/* No flow, and the nodes at a border between sides: only they can give or need, the terminals without end. */
static void max_flow_prepare(struct max_flow *flow, const uint8_t *side)
{
	COPY(flow->residual, flow->capacity, flow->arcs);
	CLEAR(flow->supply, flow->nodes);
	CLEAR(flow->reached, flow->nodes);
	for (uint32_t arc = 0; arc < flow->arcs; arc += 2) {
		uint32_t from = flow_from(flow, arc), to = flow->to[arc];
		if (side[from] != side[to])
			flow->reached[from] = flow->reached[to] = true;
	}
	flow->border_nodes = 0;
	FOR(node, flow->nodes)
		if (flow->reached[node]) {
			flow->borders[flow->border_nodes++] = node;
			flow->supply[node] = FLOW_UNLIMITED * ((side[node] == FLOW_SOURCE) - (side[node] == FLOW_SINK));
		}
}

/* ---- the cut ---- */

static void mark_reached(struct max_flow *flow, const uint8_t *side)
{
	uint32_t head = 0, tail = 0;
	FOR(node, flow->nodes)
		flow->reached[node] = side[node] == FLOW_SOURCE;
	FOR(i, flow->border_nodes)
		if (side[flow->borders[i]] == FLOW_SOURCE)
			flow->queue[tail++] = flow->borders[i];
	while (head < tail) {
		uint32_t node = flow->queue[head++];
		FOR_ITEMS(arc, &flow->leaving, node) {
			uint32_t to = flow->to[arc];
			if (flow->residual[arc] > 0 && !flow->reached[to] && side[to] == FLOW_FREE) {
				flow->reached[to] = true;
				flow->queue[tail++] = to;
			}
		}
	}
}

static int64_t value_into_sinks(const struct max_flow *flow, const uint8_t *side)
{
	int64_t value = 0;
	for (uint32_t arc = 0; arc < flow->arcs; arc += 2)
		value += flow_on(flow, arc) * ((side[flow->to[arc]] == FLOW_SINK) - (side[flow_from(flow, arc)] == FLOW_SINK));
	return value;
}

enum status flow_maximise(struct max_flow *flow, const uint8_t *side, struct control *control, int64_t *value)
{
	struct pass pass = { flow, side, control };
	max_flow_prepare(flow, side);
	enum status status = max_flow_settle(&pass);
	if (status != OK) {
		/* An unfinished flow says nothing: none is better. */
		COPY(flow->residual, flow->capacity, flow->arcs);
		*value = 0;
		return status;
	}
	mark_reached(flow, side);
	*value = value_into_sinks(flow, side);
	return OK;
}

/* Makes node one of those that give or need, and says whether it wasn't yet. */
static bool add_border(struct max_flow *flow, uint32_t node)
{
	FOR(i, flow->border_nodes)
		if (flow->borders[i] == node)
			return false;
	flow->borders[flow->border_nodes++] = node;
	return true;
}

enum status flow_force(struct max_flow *flow, uint8_t *side, uint32_t node, enum flow_side as, int64_t limit,
	const int64_t *kept, struct control *control, int64_t *more)
{
	struct pass pass = { flow, side, control };
	bool added = add_border(flow, node);
	side[node] = (uint8_t)as;
	flow->supply[node] = as == FLOW_SOURCE ? limit : -limit;
	enum status status = max_flow_settle(&pass);
	*more = limit - (as == FLOW_SOURCE ? flow->supply[node] : -flow->supply[node]);
	flow->supply[node] = 0;
	side[node] = FLOW_FREE;
	flow->border_nodes -= added;
	if (*more > 0)
		COPY(flow->residual, kept, flow->arcs);
	return status;
}
