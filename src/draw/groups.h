/* groups.h: ops gathered into the nodes of a picture, and what flows between them. */
#pragma once

#include "draw.h"
#include "modules.h"

struct draw_node {
	uint32_t module;         /* of modules; one that stands for itself */
	uint32_t first;          /* its first op in program order */
	uint32_t main;           /* its op that makes most bytes: it gives the node its type */
	uint32_t ops;            /* in one layer of a row */
	int64_t bytes;           /* of storages that its ops allocate and that come and go, in one layer */
	int64_t alive;           /* of what its ops made and is alive at the peak, in all layers */
	bool peak;               /* the op at the peak is one of its ops */
	bool centre;             /* the op that the picture is around is */
};

struct draw_edge {
	uint32_t from, to;       /* nodes */
	uint32_t tensor;         /* the largest, NONE for a control dependency */
	uint32_t storages;
	int64_t bytes;           /* of all of them, in one layer */
	bool alive;              /* some are alive at the peak */
};

struct drawing {
	const struct graph *graph;
	const struct plan *plan;
	struct modules modules;
	struct draw_node *node;
	struct draw_edge *edge;
	uint32_t nodes, edges, selected;   /* selected: ops */
	uint32_t collectives;    /* nodes of them */
	uint32_t depth;          /* modules below this depth are not told apart */
	bool ops;                /* every node is one op */
	uint32_t *node_of;       /* op -> node, NONE: not in the picture */
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
