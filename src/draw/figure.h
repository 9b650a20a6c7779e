/* figure.h: the memory timeline and the address map of a plan, as figures of a paper's width. */
#pragma once

#include "canvas.h"
#include "src/plan/plan.h"

/* Live bytes over the order, stacked by group, with the peak and the proved bound. */
enum status figure_timeline(const struct plan *plan, struct canvas_paper paper, FILE *stream, struct error *error);
/* Every buffer as a box: steps by addresses. Boxes below a fiftieth of a point are left out; their number is said. */
enum status figure_map(const struct plan *plan, struct canvas_paper paper, FILE *stream, struct error *error);

/* A plan's live bytes, as its file has them. */
struct curve {
	char name[200], graph[200];
	int64_t *live;            /* [ops] in the plan's order, without what ops need while they run */
	uint32_t ops, peak_position;
	int64_t peak;             /* the highest of them */
};
#define CURVES_MOST 7u
/* Lines' colours: Okabe and Ito's, the darkest first. */
extern const char *const curve_colours[CURVES_MOST];
/* Several plans' live bytes over their orders, a line each. curves: 1 to CURVES_MOST. */
enum status figure_curves(
	const struct curve *curve, uint32_t curves, struct canvas_paper paper, FILE *stream, struct error *error);

/* ---- shared with captions and the sources for other plotters ---- */

/* Where the peak is, and what the dashed line says; "" of a graph without ops. */
void timeline_note(const struct plan *plan, char *note, size_t size);

/* The largest power of 1024 that is not above bytes, and its name. */
int64_t axis_unit(int64_t bytes, const char **name);
/* 1, 2 or 5 times a power of ten: at most `most` steps of it make up range. */
double axis_step(double range, int most);
/* The room that the numbers of an upright axis (least to most, every step, of that size) take with the paper's edge:
 * where the plot begins, in points. */
double axis_margin(double least, double most, double step, double size);
