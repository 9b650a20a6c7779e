/* draw_place.c: rows by depth in the folded graph (backward edges count the other way round), columns by phase. */
#include "draw_place.h"

#define ROW    46.0
#define COLUMN 190.0

/* The edges as they are drawn: what runs within the backward pass is turned round. */
static uint32_t folded_links(const struct drawing *drawing, uint32_t *from, uint32_t *to)
{
	const struct op *op = drawing->graph->op;
	uint32_t count = 0;
	for (uint32_t i = 0; i < drawing->edges; i++) {
		const struct draw_edge *edge = &drawing->edge[i];
		bool back = op[drawing->node[edge->from].first].phase == PHASE_BACKWARD && op[drawing->node[edge->to].first].phase == PHASE_BACKWARD;
		from[count] = back ? edge->to : edge->from;
		to[count++] = back ? edge->from : edge->to;
	}
	return count;
}

/* The longest path to each node; nodes on cycles keep what they have when they are given up. */
static void find_depths(const struct csr *succ, uint32_t nodes, uint32_t *waiting, uint32_t *queue, uint32_t *depth)
{
	uint32_t count = 0, begin = 0;
	for (uint32_t node = 0; node < nodes; node++)
		FOR_ROW(i, succ, node)
			waiting[succ->item[i]]++;
	for (uint32_t node = 0; node < nodes; node++)
		if (!waiting[node])
			queue[count++] = node;
	for (uint32_t spare = 0; begin < nodes; ) {
		if (begin == count) {   /* only cycles are left: go on with the first node of one */
			while (!waiting[spare])
				spare++;
			waiting[spare] = 0;
			queue[count++] = spare;
		}
		uint32_t node = queue[begin++];
		FOR_ROW(i, succ, node) {
			uint32_t next = succ->item[i];
			if (!waiting[next])
				continue;
			if (depth[next] < depth[node] + 1)
				depth[next] = depth[node] + 1;
			if (--waiting[next] == 0)
				queue[count++] = next;
		}
	}
}

/* Nodes of one depth and phase stand side by side. */
static void place_nodes(const struct drawing *drawing, const uint32_t *depth, uint32_t *taken, struct draw_place *place)
{
	uint32_t widest[PHASE_COUNT] = { 0 };
	double left[PHASE_COUNT] = { 0 };
	for (uint32_t node = 0; node < drawing->nodes; node++) {
		enum phase phase = drawing->graph->op[drawing->node[node].first].phase;
		uint32_t *count = &taken[depth[node] * PHASE_COUNT + phase];
		place[node] = (struct draw_place){ *count * COLUMN, -ROW * depth[node] };
		if (++*count > widest[phase])
			widest[phase] = *count;
	}
	static const enum phase columns[] = { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_COMMUNICATION };
	for (int i = 1; i < PHASE_COUNT; i++)
		left[columns[i]] = left[columns[i - 1]] + COLUMN * widest[columns[i - 1]];
	for (uint32_t node = 0; node < drawing->nodes; node++)
		place[node].x += left[drawing->graph->op[drawing->node[node].first].phase];
}

struct draw_place *draw_places(const struct drawing *drawing)
{
	struct arena scratch = { 0 };
	uint32_t nodes = drawing->nodes;
	struct draw_place *place = mem_alloc(nodes, sizeof *place);
	uint32_t *from = arena_alloc(&scratch, drawing->edges, sizeof *from);
	uint32_t *to = arena_alloc(&scratch, drawing->edges, sizeof *to);
	uint32_t *waiting = arena_alloc(&scratch, nodes, sizeof *waiting);
	uint32_t *queue = arena_alloc(&scratch, nodes, sizeof *queue);
	uint32_t *depth = arena_alloc(&scratch, nodes, sizeof *depth);
	uint32_t *taken = arena_alloc(&scratch, (size_t)(nodes + 1) * PHASE_COUNT, sizeof *taken);
	struct csr succ;
	bool made = place && from && to && waiting && queue && depth && taken &&
		csr_of_pairs(&scratch, nodes, folded_links(drawing, from, to), from, to, &succ) == OK;
	if (made) {
		find_depths(&succ, nodes, waiting, queue, depth);
		place_nodes(drawing, depth, taken, place);
	} else {
		mem_free(place);
		place = NULL;
	}
	arena_free(&scratch);
	return place;
}
