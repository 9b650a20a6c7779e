/* coordinates.c: rows by depth in the folded graph (backward edges count the other way round), columns by phase. */
#include "groups.h"

#define ROW    46.0
#define COLUMN 190.0

/* The edges as they are drawn, into update nodes or into others: what runs within the backward pass is turned round. */
static uint32_t folded_links(const struct drawing *drawing, bool update, uint32_t *from, uint32_t *to)
{
	uint32_t count = 0;
	FOR(i, drawing->edges) {
		const struct draw_edge *edge = &drawing->edge[i];
		bool back = phase_of(drawing, edge->from) == PHASE_BACKWARD && phase_of(drawing, edge->to) == PHASE_BACKWARD;
		if ((phase_of(drawing, edge->to) == PHASE_UPDATE) != update)
			continue;
		from[count] = back ? edge->to : edge->from;
		to[count++] = back ? edge->from : edge->to;
	}
	return count;
}

/* The longest path to each node, from the depths that are there; nodes on cycles keep what they have when they are
 * given up. */
static void find_depths(const struct csr *succ, uint32_t nodes, uint32_t *waiting, uint32_t *queue, uint32_t *depth)
{
	uint32_t count = 0, begin = 0;
	CLEAR(waiting, nodes);
	FOR(node, nodes)
		FOR_ITEMS(after, succ, node)
			waiting[after]++;
	FOR(node, nodes)
		if (!waiting[node])
			queue[count++] = node;
	for (uint32_t spare = 0; begin < nodes; ) {
		if (begin == count) { /* only cycles are left: go on with the first node of one */
			while (!waiting[spare])
				spare++;
			waiting[spare] = 0;
			queue[count++] = spare;
		}
		uint32_t node = queue[begin++];
		FOR_ITEMS(next, succ, node) {
			if (!waiting[next])
				continue;
			if (depth[next] < depth[node] + 1)
				depth[next] = depth[node] + 1;
			if (--waiting[next] == 0)
				queue[count++] = next;
		}
	}
}

/* What hangs loose at the top, views of parameters and the ends of the backward pass, moves down to right above what it
 * leads to. queue: the nodes in topological order. */
static void lower_loose(
	const struct drawing *drawing, const struct csr *succ, const uint32_t *queue, bool *tight, uint32_t *depth)
{
	uint32_t nodes = drawing->nodes;
	FOR(i, nodes) {
		enum phase phase = phase_of(drawing, queue[i]);
		FOR_ITEMS(after, succ, queue[i])
			tight[after] |= tight[queue[i]] || phase != phase_of(drawing, after) || phase == PHASE_FORWARD;
	}
	for (uint32_t i = nodes; i-- > 0; ) {
		uint32_t nearest = NONE;
		FOR_ITEMS(item, succ, queue[i])
			if (depth[item] < nearest)
				nearest = depth[item];
		if (!tight[queue[i]] && nearest != NONE && nearest > depth[queue[i]])
			depth[queue[i]] = nearest - 1;
	}
}

/* Nodes of one depth and phase stand side by side. */
static void place_nodes(const struct drawing *drawing, const uint32_t *depth, uint32_t *taken, struct draw_place *place)
{
	uint32_t widest[PHASE_COUNT] = { 0 };
	double left[PHASE_COUNT] = { 0 };
	FOR(node, drawing->nodes) {
		enum phase phase = phase_of(drawing, node);
		uint32_t *count = &taken[depth[node] * PHASE_COUNT + phase];
		place[node] = (struct draw_place){ *count * COLUMN, -ROW * depth[node] };
		if (++*count > widest[phase])
			widest[phase] = *count;
	}
	static const enum phase columns[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_COMMUNICATION };
	for (int i = 1; i < PHASE_COUNT; i++)
		left[columns[i]] = left[columns[i - 1]] + COLUMN * widest[columns[i - 1]];
	FOR(node, drawing->nodes)
		place[node].x += left[phase_of(drawing, node)];
}

struct draw_place *draw_places(const struct drawing *drawing)
{
	OWN(arena) scratch = { 0 };
	uint32_t nodes = drawing->nodes;
	struct draw_place *MAKE(place, nodes);
	uint32_t *from = NULL, *to = NULL, *waiting = NULL, *queue = NULL, *depth = NULL;
	bool *tight = NULL;
	uint32_t *taken = NULL;
	bool made = ROOMS(&scratch, drawing->edges, from, to) && ROOMS(&scratch, nodes, waiting, queue, depth, tight) &&
		ROOM(&scratch, taken, (size_t)(nodes + 1) * PHASE_COUNT) && place;
	for (int update = 0; update < 2 && made; update++) { /* updates hang on the rest and don't move it */
		struct csr succ;
		made = csr_of_pairs(&scratch, nodes, folded_links(drawing, update, from, to), from, to, &succ) == OK;
		if (!made)
			break;
		find_depths(&succ, nodes, waiting, queue, depth);
		lower_loose(drawing, &succ, queue, tight, depth);
	}
	if (made) {
		place_nodes(drawing, depth, taken, place);
	} else {
		mem_free(place);
		place = NULL;
	}
	return place;
}
