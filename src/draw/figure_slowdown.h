/* figure_slowdown.h: extra time over memory as a figure of a paper's width. */
#pragma once

#include "figure.h"
#include "src/plan/slowdown.h"

#define SLOWDOWN_NOTHING  "#E4E4E4"   /* where nothing fits */
/* Okabe and Ito's: lines of plans, marks of strategies, of those that fill a knapsack. */
#define SLOWDOWN_PLAN     "#0072B2"
#define SLOWDOWN_STRATEGY "#D55E00"
#define SLOWDOWN_KNAPSACK "#009E73"

/* The bound as an area that no plan reaches, plans as a line, strategies as marks with their words, the plan itself as
 * a cross. */
enum status figure_slowdown(const struct plan *plan, const struct slowdown *slowdown, struct canvas_paper paper,
	FILE *stream, struct error *error);

/* Percent of the step at the upper end of the axis: all plans, and strategies not far above them. */
double slowdown_top(const struct slowdown *slowdown);
