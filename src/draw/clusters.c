/* clusters.c: boxes of the picture, one below the other. */
#include "groups.h"

#define BOX_LEAST  4u  /* nodes of a layer that get a box */
#define STEPS_LEAST 5u /* of fewer a staircase is none */

bool cluster_is(const struct drawing *drawing, uint32_t module)
{
	const struct module *it = &drawing->modules.module[module];
	if (it->repeats > 1 && it->nodes >= BOX_LEAST)
		return true;
	if (it->depth == 0 || it->depth >= drawing->depth || it->first == NONE)
		return false;
	const struct module *part = &drawing->modules.module[it->first];
	return part->repeats == 1 || drawing->modules.module[part->last_of_row].next != NONE || it->own;
}

uint32_t cluster_of(const struct drawing *drawing, uint32_t module)
{
	while (module != 0 && !cluster_is(drawing, module))
		module = drawing->modules.module[module].parent;
	return module;
}

bool cluster_edge_back(const struct drawing *drawing, const struct draw_edge *edge)
{
	return phase_of(drawing, edge->from) == PHASE_BACKWARD && phase_of(drawing, edge->to) == PHASE_BACKWARD;
}

/* ---- what stands above what ---- */

/* The edges as they are drawn, and the pairs so far: chains from each node. */
struct drawn {
	const struct drawing *drawing;
	uint32_t *first, *next, *to, links; /* [nodes], [room], [room] */
	uint32_t *list, *seen, round;       /* [nodes] of a walk */
	struct cluster_pair *pair;
	uint32_t pairs, steps, room; /* steps: pairs where the forward pass goes on; room: of links */
};

static void clusters_add_link(struct drawn *drawn, uint32_t above, uint32_t below)
{
	drawn->to[drawn->links] = below;
	drawn->next[drawn->links] = drawn->first[above];
	drawn->first[above] = drawn->links++;
}

static bool is_below(struct drawn *drawn, uint32_t above, uint32_t node)
{
	uint32_t count = 0;
	drawn->list[count++] = above;
	drawn->seen[above] = ++drawn->round;
	while (count > 0) {
		uint32_t at = drawn->list[--count];
		if (at == node)
			return true;
		for (uint32_t i = drawn->first[at]; i != NONE; i = drawn->next[i])
			if (drawn->seen[drawn->to[i]] != drawn->round) {
				drawn->seen[drawn->to[i]] = drawn->round;
				drawn->list[count++] = drawn->to[i];
			}
	}
	return false;
}

static bool is_in(const struct drawing *drawing, uint32_t node, uint32_t cluster)
{
	const struct module *module = drawing->modules.module;
	uint32_t at = drawing->node[node].module;
	while (module[at].depth > module[cluster].depth)
		at = module[at].parent;
	return at == cluster;
}

/* The outermost cluster that holds one node and not the other; the root where there is none. */
static uint32_t clusters_left_behind(const struct drawing *drawing, uint32_t from, uint32_t to)
{
	uint32_t outermost = 0;
	for (uint32_t at = cluster_of(drawing, drawing->node[from].module); at != 0;
		at = cluster_of(drawing, drawing->modules.module[at].parent))
		if (!is_in(drawing, to, at))
			outermost = at;
	return outermost;
}

static bool ends_in(const struct drawn *drawn, uint32_t node, uint32_t cluster)
{
	for (uint32_t i = drawn->first[node]; i != NONE; i = drawn->next[i])
		if (is_in(drawn->drawing, drawn->to[i], cluster))
			return false;
	return true;
}

/* Whether the forward pass doesn't go on from a node within its cluster. */
static bool is_last(const struct drawn *drawn, uint32_t node, uint32_t cluster)
{
	for (uint32_t i = drawn->first[node]; i != NONE; i = drawn->next[i])
		if (phase_of(drawn->drawing, drawn->to[i]) == PHASE_FORWARD && is_in(drawn->drawing, drawn->to[i], cluster))
			return false;
	return true;
}

/* Where a pass goes on from a cluster to a node: the ends of that phase in the cluster stand above that node. */
static void put_below(struct drawn *drawn, uint32_t cluster, uint32_t node, enum phase phase)
{
	FOR_WHILE(i, drawn->drawing->nodes, drawn->links < drawn->room) {
		if (phase_of(drawn->drawing, i) != phase || !is_in(drawn->drawing, i, cluster)
			|| !(phase == PHASE_FORWARD ? is_last(drawn, i, cluster) : ends_in(drawn, i, cluster)))
			continue;
		if (is_below(drawn, i, node) ||
			is_below(drawn, node, i)) /* recomputed ops may stand below what a later box computes */
			continue;
		drawn->pair[drawn->pairs++] = (struct cluster_pair){ i, node };
		clusters_add_link(drawn, i, node);
	}
}

static void clusters_find_pairs(struct drawn *drawn)
{
	const struct drawing *drawing = drawn->drawing;
	FOR(i, drawing->nodes)
		drawn->first[i] = NONE;
	FOR(i, drawing->edges) {
		const struct draw_edge *edge = &drawing->edge[i];
		bool back = cluster_edge_back(drawing, edge);
		clusters_add_link(drawn, back ? edge->to : edge->from, back ? edge->from : edge->to);
	}
	FOR(i, drawing->edges) {
		const struct draw_edge *edge = &drawing->edge[i];
		bool back = cluster_edge_back(drawing, edge);
		if (!back && (phase_of(drawing, edge->from) != PHASE_FORWARD || phase_of(drawing, edge->to) != PHASE_FORWARD))
			continue;
		uint32_t above = back ? edge->to : edge->from, below = back ? edge->from : edge->to,
				 cluster = clusters_left_behind(drawing, above, below);
		uint32_t before = drawn->pairs;
		if (cluster != 0)
			put_below(drawn, cluster, below, PHASE_BACKWARD);
		if (cluster != 0 && back)
			put_below(drawn, cluster, below, PHASE_FORWARD);
		drawn->steps += back ? 0 : drawn->pairs - before;
	}
}

enum status cluster_stack(const struct drawing *drawing, struct cluster_pair **pair, uint32_t *pairs)
{
	uint32_t room = drawing->edges + 4 * drawing->nodes;
	struct drawn drawn = { .drawing = drawing, .room = room };
	struct arena arena = { 0 };
	ROOM(&arena, drawn.first, drawing->nodes);
	ROOM(&arena, drawn.list, drawing->nodes);
	ROOM(&arena, drawn.seen, drawing->nodes);
	ROOM(&arena, drawn.next, room);
	ROOM(&arena, drawn.to, room);
	MAKE(drawn.pair, 4 * drawing->nodes + 1);
	bool enough = drawn.first && drawn.list && drawn.seen && drawn.next && drawn.to && drawn.pair;
	if (enough)
		clusters_find_pairs(&drawn);
	arena_free(&arena);
	*pair = drawn.pair;
	*pairs = drawn.steps < STEPS_LEAST ? 0 : drawn.pairs;
	return enough ? OK : NO_MEMORY;
}
