/* figure.h: the memory timeline and the address map of a plan, as figures of a paper's width. */
#pragma once

#include "canvas.h"
#include "solver/pipeline/timetable.h"
#include "src/plan/host_pool.h"
#include "src/plan/timeline.h"
#include "src/decide/slowdown.h"
#include "src/plan/verdict.h"
#include "src/read/plan_file.h"
#include "src/stages/fit/plan_time.h"

/* Live bytes over the order, stacked by group, with the peak and the proved bound; a line for what waits in the host.
 * time: drawn over it, above what the device's streams do meanwhile; NULL: over positions. set: knobs, a row of the
 * legend. */
enum status figure_timeline(const struct plan *plan, const struct plan_time *time, const char *set,
	struct canvas_paper paper, FILE *stream, struct error *error);
/* Every buffer as a box: steps by addresses. Boxes below a fiftieth of a point are left out; their number is said. */
enum status figure_map(const struct plan *plan, const struct plan_time *time, const char *set,
	struct canvas_paper paper, FILE *stream, struct error *error);

/* A plan's live bytes, as its file has them. */
struct curve {
	char name[200], graph[200];
	int64_t *live, (*group)[GROUP_COUNT]; /* [ops] in the plan's order, and what kinds have of it */
	uint32_t ops, peak_position;
	int64_t peak; /* the highest of them */
	int64_t part[LEDGER_PARTS + 1]; /* of what the step needs; the last: all of it, where its parts are unknown */
	double seconds; /* of the step; <= 0: unknown */
	struct gap_point { double seconds; int64_t peak, bound; } *gap; /* [gaps] what the orderer had by then */
	uint32_t gaps;
	double solved; /* seconds, all of its time */
};
#define CURVES_MOST 7u
#define BARS_MOST 24u
/* Lines' colours: Okabe and Ito's, the darkest first. */
extern const char *const curve_colours[CURVES_MOST];
/* Several plans' live bytes over their orders, a line each. curves: 1 to CURVES_MOST. */
enum status figure_curves(
	const struct curve *curve, uint32_t curves, struct canvas_paper paper, FILE *stream, struct error *error);

/* How far the orderers' best was above their bounds, over the logarithm of their time, a line for each curve.
 * BAD_INPUT: nothing was logged. O(points). */
enum status figure_gap(
	const struct curve *curve, uint32_t curves, struct canvas_paper paper, FILE *stream, struct error *error);

/* Buffers by address over time, without what they are for. */
struct address_box { const char *name; double first, end; int64_t offset, bytes; int group; };
struct boxes {
	const char *name, *time; /* of the picture, of the axis */
	struct address_box *box;
	uint32_t boxes;
	double end;              /* of the time */
};
enum status figure_boxes(const struct boxes *boxes, struct canvas_paper paper, FILE *stream, struct error *error);

/* The same, up to PAIR_MOST, each in a frame of its own, stacked by kind, on one scale: before and after. */
#define PAIR_MOST 4u
enum status figure_pair(
	const struct curve *curve, uint32_t curves, struct canvas_paper paper, FILE *stream, struct error *error);

/* The graph, where all are of one, and how many plans; the plans' names stand below. Returns title. */
const char *curves_title(const struct curve *curve, uint32_t curves, double width, char title[CANVAS_CUT]);

/* ---- shared with other figures and captions ---- */

/* The graph's name, and of a pipeline the rank. Returns text. */
char *figure_subject(const struct plan *plan, char *text, size_t size);

/* The largest power of 1024 that is not above bytes, and its name. */
int64_t axis_unit(int64_t bytes, const char **name);
/* 1, 2 or 5 times a power of ten: at most `most` steps of it make up range. */
double axis_step(double range, int most);
/* Numbers below a plot whose lower edge is at y, at whole steps from least to most of its unit, and what they count.
 * high: of the grid's lines above them; 0: none. finest: the smallest step of what is counted one by one, whose last
 * number ends the axis; else 0. */
void axis_below(struct canvas *canvas, double left, double span, double y, double high, double least, double most,
	double finest, const char *label);
/* Lines of the grid at whole steps, at most so many, of a plot from top on, each with its number before it. */
void axis_beside(struct canvas *canvas, double left, double span, double top, double high, double least, double most,
	int steps);
/* The largest of seconds, milliseconds, microseconds that isn't above the time, in picoseconds, and its name. */
int64_t axis_time_unit(int64_t picoseconds, const char **name);
/* The room that the numbers of an upright axis (least to most, every step, of that size) take with the paper's edge:
 * where the plot begins, in points. */
double axis_margin(double least, double most, double step, double size);

/* labels: names beside points, clear of each other. */

struct label_box { double left, right, top, bottom; };

/* The place that names may take, and what is there already. Points. */
struct labels {
	double left, right, top, bottom;
	struct label_box taken[300]; /* names and marks: nothing may lie on them */
	bool mark[300];              /* of them */
	struct { double x, y, to_x, to_y; } line[300];/* curves: names keep off them where there is room */
	int count, lines;
};

/* Keeps names off a mark of that size around (x, y). */
void label_avoid(struct labels *labels, double x, double y, double size);
/* Keeps names off a line, where they find another place near by. */
void label_avoid_line(struct labels *labels, double x, double y, double to_x, double to_y);
/* Draws a name of that size in the free place that is nearest to (x, y), right of it first; a thin line leads there
 * from afar. Nothing where all places are taken. O(places x (marks + lines)). */
void label_point(struct labels *labels, struct canvas *canvas, double x, double y, double size, const char *colour,
	const char *name);

/* figure_pipeline: a pipeline's schedule as a figure of a paper's width: ranks down, time to the right, memory of the
 * ranks below. */

/* name: of the graph. limit: bytes of a device, < 0: any. */
enum status figure_pipeline(const struct timetable *timetable, const char *name, int64_t limit,
	struct canvas_paper paper, FILE *stream, struct error *error);

/* What a box stands for. */
enum pipeline_part { PART_FORWARD, PART_BACKWARD, PART_WEIGHT, PART_UPDATE, PIPELINE_PARTS };
extern const char *const pipeline_names[PIPELINE_PARTS], *const pipeline_colours[PIPELINE_PARTS];

/* figure_bars: stacked bars, a row each. */

/* What up to BARS_MOST plans need, a bar each, stacked by part, with the time of a step; of several graphs below the
 * name of each. */
enum status figure_needs(
	const struct curve *curve, uint32_t curves, struct canvas_paper paper, FILE *stream, struct error *error);
/* Of the parts, for readers of ZeRO's paper: at the peak gradients are those of activations, too. */
extern const char *const bar_names[LEDGER_PARTS + 1];

extern const char *const time_colours[STEP_LIMITS];

/* A bar for each phase that takes time, stacked by what its ops are limited by. */
enum status figure_time(
	const struct step_shares *shares, const char *name, struct canvas_paper paper, FILE *stream, struct error *error);

/* figure_roofline: ops of a step below the roofs of their chip. */

struct roofline_op {
	const char *name;
	double intensity; /* FLOPs for each byte that it moves through the device's memory; > 0 */
	double rate;      /* FLOPs a second; > 0 */
	int64_t flops, bytes, time; /* picoseconds */
	int limit;        /* enum machine_limit */
};
struct roofline {
	struct roofline_op *op;
	uint32_t ops, others;          /* others: that have no FLOPs, or move nothing */
	double matrix, vector, memory; /* the roofs: FLOPs and bytes a second, as the data sheet says */
	const char *device; /* NULL: none is set */
	bool share; /* the step is split over devices */
};
/* BAD_INPUT without ops, NO_MEMORY. O(ops). */
enum status figure_roofline(const struct roofline *roofline, const char *name, struct canvas_paper paper, FILE *stream,
	struct error *error);

/* figure_slowdown: extra time over memory as a figure of a paper's width. */

/* The bound as an area that no plan reaches, plans as a line, strategies as marks with their words, the plan itself as
 * a cross. */
enum status figure_slowdown(const struct plan *plan, const struct slowdown *slowdown, struct canvas_paper paper,
	FILE *stream, struct error *error);

/* sweep_file: what `tidemark sweep`, search and fit wrote, as a table. */

#define SWEEP_KNOBS 12u /* that are varied */
#define SWEEP_ROWS  100000u

struct swept {
	double number;               /* of the scenario */
	uint32_t value[SWEEP_KNOBS]; /* of each varied knob: its place in sweep_knob.value */
	bool fits;                   /* status "ok" */
	double bytes;                /* the arena, of search and fit what the step needs; < 0: there is no plan */
	double seconds;              /* the simulated step; < 0: unknown */
	double part[LEDGER_PARTS];   /* of what the step needs; all 0: unknown */
};

struct sweep_knob {
	char name[64];
	char (*value)[64]; /* numbers ascending; words as the sweep has them */
	uint32_t values;
	size_t room;
};

struct sweep_table {
	const char *rows_are; /* "scenario" */
	struct sweep_knob knob[SWEEP_KNOBS];
	uint32_t knobs;
	struct swept *row; /* by their numbers, in whatever order jobs wrote them */
	uint32_t rows;
	size_t room;
};

/* Reads the lines of a sweep, or the object that search or fit wrote, plain or gz, "-" for standard input. BAD_INPUT
 * with the line: none of them, other knobs than the line before, more than fits the table. The table must be given back
 * with sweep_table_done() in any case. O(bytes * values). */
enum status sweep_file_read(const char *path, struct sweep_table *table, struct error *error);
void sweep_table_done(struct sweep_table *table);

/* figure_sweep: what a sweep found, as figures of a paper's width. */

/* Every scenario as a point: time of a step over memory; the scenarios that no other one beats in both are joined and
 * named. Where `batch` is varied, time of a sample. BAD_INPUT: no scenario has a time. O(rows log rows). */
enum status figure_pareto(
	const struct sweep_table *table, const char *name, struct canvas_paper paper, FILE *stream, struct error *error);
/* Memory and time over the values of one varied knob (the one with the most numbers), a line for each combination of
 * the others. BAD_INPUT: more lines than can be told apart. */
enum status figure_sweep(
	const struct sweep_table *table, const char *name, struct canvas_paper paper, FILE *stream, struct error *error);

/* The rows of a table as curves without points, for figure_needs(): a group for each graph, a name by what else is
 * varied. BAD_INPUT: more than BARS_MOST have a plan. */
enum status sweep_bars(
	const struct sweep_table *table, const char *name, struct curve *curve, uint32_t *curves, struct error *error);
