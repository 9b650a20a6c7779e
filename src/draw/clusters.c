/* clusters.c: boxes of the picture, one below the other. */
#include "clusters.h"

#define BOX_LEAST  4u   /* nodes of a layer that get a box */
#define PAIRS_LEAST 5u  /* of fewer boxes a staircase is none */

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

static enum phase phase_of(const struct drawing *drawing, uint32_t node)
{
	return drawing->graph->op[drawing->node[node].first].phase;
}

bool cluster_edge_back(const struct drawing *drawing, const struct draw_edge *edge)
{
	return phase_of(drawing, edge->from) == PHASE_BACKWARD && phase_of(drawing, edge->to) == PHASE_BACKWARD;
}

/* ---- what stands above what -------------------------------------------------------------------------------- */

/* The edges as they are drawn, and the pairs so far: chains from each node. */
struct drawn {
	const struct drawing *drawing;
	uint32_t *first, *next, *to, links;   /* [nodes], [room], [room] */
	uint32_t *list, *seen, round;         /* [nodes] of a walk */
	struct cluster_pair *pair;
	uint32_t pairs, room;                 /* room: of links */
	bool against;                         /* a pair goes against the edges */
};

static void add_link(struct drawn *drawn, uint32_t above, uint32_t below)
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
static uint32_t left_behind(const struct drawing *drawing, uint32_t from, uint32_t to)
{
	uint32_t outermost = 0;
	for (uint32_t at = cluster_of(drawing, drawing->node[from].module); at != 0; at = cluster_of(drawing, drawing->modules.module[at].parent))
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

/* Where the forward pass goes on from a cluster to a node: the ends of the cluster's backward pass stand above that node. */
static void put_below(struct drawn *drawn, uint32_t cluster, uint32_t node)
{
	for (uint32_t i = 0; i < drawn->drawing->nodes && drawn->links < drawn->room && !drawn->against; i++) {
		if (phase_of(drawn->drawing, i) != PHASE_BACKWARD || !is_in(drawn->drawing, i, cluster) || !ends_in(drawn, i, cluster))
			continue;
		bool there = false;
		for (uint32_t k = 0; k < drawn->pairs && !there; k++)
			there = drawn->pair[k].above == i && drawn->pair[k].below == node;
		if (there)
			continue;
		drawn->against = is_below(drawn, node, i);
		drawn->pair[drawn->pairs++] = (struct cluster_pair){ i, node };
		add_link(drawn, i, node);
	}
}

static void find_pairs(struct drawn *drawn)
{
	const struct drawing *drawing = drawn->drawing;
	for (uint32_t i = 0; i < drawing->nodes; i++)
		drawn->first[i] = NONE;
	for (uint32_t i = 0; i < drawing->edges; i++) {
		const struct draw_edge *edge = &drawing->edge[i];
		bool back = cluster_edge_back(drawing, edge);
		add_link(drawn, back ? edge->to : edge->from, back ? edge->from : edge->to);
	}
	for (uint32_t i = 0; i < drawing->edges && !drawn->against; i++) {
		const struct draw_edge *edge = &drawing->edge[i];
		if (phase_of(drawing, edge->from) != PHASE_FORWARD || phase_of(drawing, edge->to) != PHASE_FORWARD)
			continue;
		uint32_t cluster = left_behind(drawing, edge->from, edge->to);
		if (cluster != 0)
			put_below(drawn, cluster, edge->to);
	}
}

enum status cluster_stack(const struct drawing *drawing, struct cluster_pair **pair, uint32_t *pairs)
{
	uint32_t room = drawing->edges + 4 * drawing->nodes;
	struct drawn drawn = { .drawing = drawing, .room = room };
	struct arena arena = { 0 };
	drawn.first = arena_alloc(&arena, drawing->nodes, sizeof *drawn.first);
	drawn.list = arena_alloc(&arena, drawing->nodes, sizeof *drawn.list);
	drawn.seen = arena_alloc(&arena, drawing->nodes, sizeof *drawn.seen);
	drawn.next = arena_alloc(&arena, room, sizeof *drawn.next);
	drawn.to = arena_alloc(&arena, room, sizeof *drawn.to);
	drawn.pair = mem_alloc(4 * drawing->nodes + 1, sizeof *drawn.pair);
	bool enough = drawn.first && drawn.list && drawn.seen && drawn.next && drawn.to && drawn.pair;
	if (enough)
		find_pairs(&drawn);
	arena_free(&arena);
	*pair = drawn.pair;
	*pairs = drawn.against || drawn.pairs < PAIRS_LEAST ? 0 : drawn.pairs;
	return enough ? OK : NO_MEMORY;
}
