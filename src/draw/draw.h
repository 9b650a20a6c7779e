/* draw.h: a graph, and what a plan says of it, as a picture in DOT.
 *
 * Ops are gathered into the nodes of the picture: by module and phase, or one by one. Modules are nested
 * clusters; equal layers in a row are drawn once with their number. The backward pass is beside the
 * forward pass: its edges are written the other way round and drawn with dir=back, which also keeps `dot` from
 * taking minutes (an activation that is saved for the backward pass no longer spans the whole depth).
 * Width is bytes; what is alive at the peak, and the op that peaks, are in the colour of alarm.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     draw             the graph as a picture in DOT
 *     modules          the tree of modules, equal ones folded
 *     groups           ops gathered into nodes
 *     clusters         boxes around modules, one below the other
 *     coordinates      places of nodes, where `dot` would need minutes
 *     placement_colours  colours by placement
 *     tikz             what LaTeX sources have in common
 *     canvas           SVG, PDF, PNG and TikZ
 *     labels           names beside points
 *     figure           timeline and map
 *     sweep_file       what sweep, search and fit wrote, as a table
 *     figure_sweep     what a sweep found
 *     figure_slowdown  time over memory
 *     figure_pipeline  a schedule
 *     figure_gap       the gap over the solver's time
 *     figure_roofline  ops below the roofs of their chip
 *     figure_bars      what plans need, a step's time
 *     device_grid      devices in their nodes */
#pragma once

#include "src/plan/plan.h"

#define DRAW_LAYOUT_MOST 1000u /* nodes; dot's time grows with the cube: above, write positions */

enum draw_detail {
	DRAW_AUTOMATIC, /* ops where they are few, else modules, in as many levels as fit */
	DRAW_MODULES,
	DRAW_OPS
};

struct draw_options {
	enum draw_detail detail;
	bool unfold;        /* draw every layer of a row of equal ones */
	bool alive;         /* only ops that make or use what is alive at the peak; needs a plan */
	const char *around; /* only what is near this op or tensor; NULL: all */
	uint32_t hops;      /* how near: dependencies in either direction */
	bool positions;     /* write coordinates of our own for every node */
	uint32_t fold;      /* half as many levels of modules fewer, without any a box a phase; odd: names alone, collectives
						 * with what they wait for, all updates in one */
	double width;       /* points, at most, and then at most a page high; 0: as it needs */
};

/* What the words of --view mean: "graph", "ops", "layers" (unfolded), "alive", "around:NAME" or
 * "around:NAME:HOPS". The name is kept as a pointer into buffer. BAD_INPUT for anything else. */
enum status draw_options_of(
	const char *view, char *buffer, size_t size, struct draw_options *options, struct error *error);

/* Writes the picture of the graph. plan: its plan, or NULL: then nothing is said of the peak. *nodes (may be NULL) is
 * how many nodes it has. BAD_INPUT when the op or tensor isn't there. O(graph + pairs of neighbouring nodes). */
enum status draw_write(const struct graph *graph, const struct plan *plan, const struct draw_options *options,
	FILE *stream, uint32_t *nodes, struct error *error);
