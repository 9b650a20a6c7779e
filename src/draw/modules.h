/* modules.h: the tree of modules that the ops' paths span, with equal siblings in a row folded into the first. */
#pragma once

#include "solver/graph/graph.h"

struct module {
	const char *path, *name;   /* "h.0.attn", "attn"; both "" at the root */
	uint32_t parent;           /* NONE at the root */
	uint32_t depth;            /* 0 at the root */
	uint32_t first, next;      /* child, sibling, in program order; NONE: there is none */
	uint32_t normal;           /* the module that stands for this one: itself, or the same place in the first of a row */
	uint32_t repeats;          /* of the row that it is the first of; 1 where there is none */
	uint32_t last_of_row;      /* the last module of that row */
	uint64_t signature;        /* equal for modules of equal ops */
	uint32_t nodes; /* of the picture, of itself and of parts that are not told apart; written by what gathers them */
	bool own;                  /* it has ops beside those of its parts */
};

struct modules {
	struct module *module;     /* [count]; module 0 is the root; parents come before their children */
	uint32_t count;
	uint32_t *of_op;           /* op -> module; a parameter's update belongs to the module that has the parameter */
};

/* fold: look for rows; else each module stands for itself. O(ops x depth). */
enum status modules_of_graph(const struct graph *graph, bool fold, struct arena *arena, struct modules *modules);

/* True when two modules lie in different members of one row: one stands for the other's place or they stand side by
 * side. */
bool modules_repeat(const struct modules *modules, uint32_t a, uint32_t b);
