/* groups.h: ops gathered into the nodes of a picture, and what flows between them. */
#pragma once

#include "draw.h"

/* modules: the tree of modules that the ops' paths span, with equal siblings in a row folded into the first. */

struct module {
	const char *path, *name; /* "h.0.attn", "attn"; both "" at the root */
	uint32_t parent;         /* NONE at the root */
	uint32_t depth;          /* 0 at the root */
	uint32_t first, next;    /* child, sibling, in program order; NONE: there is none */
	uint32_t normal;         /* the module that stands for this one: itself, or the same place in the first of a row */
	uint32_t repeats;        /* of the row that it is the first of; 1 where there is none */
	uint32_t last_of_row;    /* the last module of that row */
	uint64_t signature;      /* equal for modules of equal ops */
	uint32_t nodes; /* of the picture, of itself and of parts that are not told apart; written by what gathers them */
	bool own; /* it has ops beside those of its parts */
};

struct modules {
	struct module *module; /* [count]; module 0 is the root; parents come before their children */
	uint32_t count;
	uint32_t *of_op; /* op -> module; a parameter's update belongs to the module that has the parameter */
};

/* fold: look for rows; else each module stands for itself. O(ops x depth). */
enum status modules_of_graph(const struct graph *graph, bool fold, struct arena *arena, struct modules *modules);

/* True when two modules lie in different members of one row: one stands for the other's place or they stand side by
 * side. */
bool modules_repeat(const struct modules *modules, uint32_t a, uint32_t b);

struct draw_node {
	uint32_t module; /* of modules; one that stands for itself */
	uint32_t first;  /* its first op in program order */
	uint32_t main;   /* its op that makes most bytes: it gives the node its type */
	uint32_t ops;    /* in one layer of a row */
	int64_t bytes;   /* of storages that its ops allocate and that come and go, in one layer */
	int64_t alive;   /* of what its ops made and is alive at the peak, in all layers */
	bool peak;       /* the op at the peak is one of its ops */
	bool centre;     /* the op that the picture is around is */
};

struct draw_edge {
	uint32_t from, to; /* nodes */
	uint32_t tensor;   /* the largest, NONE for a control dependency */
	uint32_t storages;
	int64_t bytes; /* of all of them, in one layer */
	bool alive;    /* some are alive at the peak */
};

struct drawing {
	const struct graph *graph;
	const struct plan *plan;
	struct modules modules;
	struct draw_node *node;
	struct draw_edge *edge;
	uint32_t nodes, edges, selected; /* selected: ops */
	uint32_t collectives; /* nodes of them */
	uint32_t depth;       /* modules below this depth are not told apart */
	bool ops;             /* every node is one op */
	bool terse;           /* draw_options.fold is odd */
	uint32_t *node_of;    /* op -> node, NONE: not in the picture */
	struct arena arena;
};

/* Chooses the ops and gathers them. Free with drawing_free() in any case. */
enum status drawing_make(const struct graph *graph, const struct plan *plan, const struct draw_options *options,
	struct drawing *drawing, struct error *error);
void drawing_free(struct drawing *drawing);
#define drawing_drop drawing_free

static inline enum phase phase_of(const struct drawing *drawing, uint32_t node)
{
	return drawing->graph->op[drawing->node[node].first].phase;
}

/* clusters: which modules are boxes of the picture, and which boxes stand above which. */

/* Modules with parts that are told apart are clusters, but not those that hold nothing but one row of layers. So is a
 * layer of several nodes. */
bool cluster_is(const struct drawing *drawing, uint32_t module);
/* The innermost cluster that holds a module; the root, 0, where none does. */
uint32_t cluster_of(const struct drawing *drawing, uint32_t module);

/* A node that has to stand above another one. */
struct cluster_pair { uint32_t above, below; };

/* For `dot`: pairs of nodes that put the boxes of a long chain below each other. Left alone, a box whose backward pass
 * ends a row below where the next box begins shares that row with it, so that each box is beside the one before: a
 * staircase. Pairs that would go against the edges are left out (the backward pass of a box needs what a later one
 * computes: recomputation). 0 pairs where the chain is short. *pair: free with mem_free(). NO_MEMORY. O(edges between
 * boxes x edges). */
enum status cluster_stack(const struct drawing *drawing, struct cluster_pair **pair, uint32_t *pairs);

/* Whether an edge is drawn from its head to its tail: within the backward pass, which is beside the forward pass.
 */
bool cluster_edge_back(const struct drawing *drawing, const struct draw_edge *edge);

/* coordinates: coordinates of our own, for pictures that `dot` would need minutes for. */

struct draw_place { double x, y; }; /* points, y upwards */

/* Time runs downwards. Forward nodes stand left, one below the other; a backward node stands to the right of the
 * forward node that it mirrors, update nodes right of it. NULL when out of memory, else [nodes]; mem_free() it. O(nodes
 * + edges). */
struct draw_place *draw_places(const struct drawing *drawing);

/* placement_colours: colours of a drawing's nodes by where their results lie on the mesh. */

#define PLACEMENT_COLOURS 7

struct placement_colours {
	uint32_t count; /* placements that have a colour of their own; the rarer share the last */
	bool more;
	char text[PLACEMENT_COLOURS][48];
};

/* The placements of a drawing's nodes, most frequent first; none where the step is not split. */
void placement_colours_find(const struct drawing *drawing, struct placement_colours *colours);
/* The area's colour of a node, or NULL: a collective, or nothing is known of it. */
const char *placement_colour(
	const struct drawing *drawing, const struct placement_colours *colours, const struct draw_node *node);
const char *placement_area(uint32_t i);
/* "[S(0), R]" of a node's main result, "" where nothing is known. Returns text. */
char *placement_of_node(const struct drawing *drawing, const struct draw_node *node, char *text, size_t size);
