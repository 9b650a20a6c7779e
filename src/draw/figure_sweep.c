/* figure_sweep.c: a sweep's scenarios as points and as lines. */
#include <float.h>
#include <math.h>

#include "figure.h"

/* plot: the axes of a plot: numbers, grid, frame and names. */

/* Where the plot stands, in points, and what its edges stand for. y begins at least_y below. */
struct plot { double left, top, wide, high, least_x, most_x, least_y, most_y; };
enum plot_unit { PLOT_BYTES, PLOT_SECONDS };

#define TICKS 6    /* steps of the upright axis, at most */

static double plot_x(const struct plot *plot, double value)
{
	double range = plot->most_x - plot->least_x;
	return plot->left + plot->wide * (range > 0 ? (value - plot->least_x) / range : 0);
}

static double plot_y(const struct plot *plot, double value)
{
	double range = plot->most_y - plot->least_y;
	return plot->top + plot->high * (1 - (range > 0 ? (value - plot->least_y) / range : 0));
}

/* How many of the axis' quantity its unit is. */
static double draw_plot_unit_of(double most, enum plot_unit unit, const char **name)
{
	if (unit == PLOT_BYTES)
		return (double)axis_unit((int64_t)most, name);
	*name = most >= 1 ? "s" : most >= 1e-3 ? "ms" : "us";
	return most >= 1 ? 1 : most >= 1e-3 ? 1e-3 : 1e-6;
}

/* left and wide: room for the upright axis' numbers on paper of that width, and `right` points beside the plot. least_y
 * and most_y are set. */
static void plot_place(struct plot *plot, double width, double right, enum plot_unit unit)
{
	const char *name;
	double one = draw_plot_unit_of(plot->most_y, unit, &name);
	plot->left = axis_margin(
		plot->least_y / one, plot->most_y / one, axis_step((plot->most_y - plot->least_y) / one, TICKS), SMALL);
	plot->wide = width - plot->left - right;
}

/* The frame, and numbers and grid of the upright axis in the largest fitting unit; label and unit stand above. */
static void plot_axes(const struct plot *plot, struct canvas *canvas, const char *label, enum plot_unit unit)
{
	const struct canvas_line frame = { INK, 0.75, false };
	const char *name;
	double one = draw_plot_unit_of(plot->most_y, unit, &name);
	axis_beside(canvas, plot->left, plot->wide, plot->top, plot->high, plot->least_y / one, plot->most_y / one, TICKS);
	canvas_box(canvas, plot->left, plot->top, plot->wide, plot->high, NULL, &frame, NULL);
	canvas_label(canvas, 4, plot->top - 4, ANCHOR_START, PRINTED(100, "%s [%s]", label, name));
}

/* Bytes along the lower axis. */
static void plot_byte_axis(const struct plot *plot, struct canvas *canvas, const char *label)
{
	const char *name;
	double one = draw_plot_unit_of(plot->most_x, PLOT_BYTES, &name);
	axis_below(canvas, plot->left, plot->wide, plot->top + plot->high, 0, plot->least_x / one, plot->most_x / one, 0,
		PRINTED(100, "%s [%s]", label, name));
}

#define RIGHT   14.0
#define TOP     30.0
#define PARETO  190.0 /* heights of plots */
#define PANEL   110.0
#define BETWEEN 24.0 /* two panels */
#define BELOW   30.0 /* from a plot to the end of its axis' name */
#define CLOSE   0.5 /* least over most: an axis from 0 would waste the plot */
#define MARK    4.0
#define ALL     "#0072B2"

struct scene {
	struct canvas canvas;
	const struct sweep_table *table;
	uint32_t axis;    /* the knob along the axis (sweep), or whose values have colours (Pareto); NONE */
	uint32_t batch;   /* the knob, where it is varied and every value is a number; NONE */
	const char *time; /* what the time is of */
};

/* ---- rows ---- */

static bool figure_sweep_is_number(const char *text)
{
	char *end;
	strtod(text, &end);
	return *text && !*end;
}

static uint32_t numbers_of(const struct sweep_knob *knob)
{
	uint32_t count = 0;
	FOR(i, knob->values)
		count += figure_sweep_is_number(knob->value[i]);
	return count;
}

/* Steps of different batches compare by samples. */
static double seconds_of(const struct scene *scene, const struct swept *row)
{
	if (scene->batch == NONE || row->seconds < 0)
		return row->seconds;
	double samples = strtod(scene->table->knob[scene->batch].value[row->value[scene->batch]], NULL);
	return samples > 0 ? row->seconds / samples : -1;
}

static void figure_sweep_look(struct scene *scene)
{
	const struct sweep_table *table = scene->table;
	scene->batch = scene->axis = NONE;
	FOR(i, table->knobs)
		if (text_is(table->knob[i].name, "batch") && table->knob[i].values > 1 &&
			numbers_of(&table->knob[i]) == table->knob[i].values)
			scene->batch = i;
	scene->time = scene->batch == NONE ? "step" : "sample";
}

/* The values of a row's knobs but of one. */
static char *others_text(const struct scene *scene, const struct swept *row, uint32_t but, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	text[0] = '\0';
	for (uint32_t i = 0; i < scene->table->knobs; i++) {
		const struct sweep_knob *knob = &scene->table->knob[i];
		const char *value = knob->value[row->value[i]];
		bool plain = !figure_sweep_is_number(value) && !text_is(value, "on") && !text_is(value, "off") &&
			!text_is(value, "auto");
		/* A change says what becomes of its results in the colour alone, a configuration nothing of what it doesn't. */
		bool silent = text_is(knob->name, "results") ||
			(text_is(scene->table->rows_are, "configuration") && text_is(value, "none"));
		if (i != but && knob->values > 1 && !silent)
			words_add(&words, "%s%s%s%s", words.at ? ", " : "", plain ? "" : knob->name, plain ? "" : " ", value);
	}
	return text;
}

/* A value in a legend or a caption: the first with its knob. */
static char *knob_value(const struct sweep_knob *knob, uint32_t value, bool first, char *text, size_t size)
{
	return printed(text, size, "%s%s%s", first ? knob->name : "", first ? ": " : "", knob->value[value]);
}

/* Filled where the plan fits its device. */
static void draw_mark(struct canvas *canvas, double x, double y, const char *colour, bool fits, const char *title)
{
	const struct canvas_line edge = { colour, 1, false };
	canvas_box(canvas, x - MARK / 2, y - MARK / 2, MARK, MARK, fits ? colour : "#FFFFFF", &edge, title);
}

static void figure_sweep_draw_title(struct scene *scene, const char *name, const char *what)
{
	char rest[100], cut[CANVAS_CUT];
	PRINT_TO(rest, ": %u %s%s, %s", scene->table->rows, scene->table->rows_are, scene->table->rows == 1 ? "" : "s", what);
	double room = scene->canvas.paper.width - EDGE - 2 - canvas_text_width(BOLD, rest);
	canvas_title(&scene->canvas, EDGE, TOP - 16, PRINTED(2 * CANVAS_CUT, "%s%s", canvas_cut(BOLD, room, name, cut),
		rest));
}

/* Names of colours, and what a hollow mark says. */
static void figure_sweep_draw_legend(
	struct scene *scene, const struct plot *plot, const struct canvas_key *key, int keys, const char *note)
{
	const struct sweep_table *table = scene->table;
	bool over = false;
	if (keys > 1)
		canvas_legend(&scene->canvas, plot->left, plot->wide, key, keys);
	FOR(i, table->rows)
		over |= table->row[i].bytes >= 0 && !table->row[i].fits;
	canvas_note(&scene->canvas, plot->left, plot->wide,
		PRINTED(200, "%s%s%s", note, *note && over ? "; " : "", over ? "hollow: over the memory of a device" : ""));
}

/* ---- time over memory ---- */

#define NAME_WIDE 150.0 /* between points that are named, along either axis */
#define NAME_HIGH 11.0

/* The knob whose values get colours: of few values the one with the most. */
static void choose_colours(struct scene *scene)
{
	uint32_t most = 1;
	FOR(i, scene->table->knobs)
		if (scene->table->knob[i].values > most && scene->table->knob[i].values <= CURVES_MOST) {
			most = scene->table->knob[i].values;
			scene->axis = i;
		}
}

static const char *figure_sweep_colour_of(const struct scene *scene, const struct swept *row)
{
	return scene->axis == NONE ? ALL : curve_colours[row->value[scene->axis]];
}

struct order { const struct swept *row; double bytes, seconds; };

COMPARATOR(by_memory, struct order,
	COMPARE(a->bytes, b->bytes, COMPARE(a->seconds, b->seconds, COMPARE(a->row, b->row, 0))))

/* The scenarios that have both, by memory. */
static uint32_t figure_sweep_sort_rows(const struct scene *scene, struct order *order)
{
	uint32_t count = 0;
	FOR(i, scene->table->rows) {
		const struct swept *row = &scene->table->row[i];
		double seconds = seconds_of(scene, row);
		if (row->bytes >= 0 && seconds >= 0)
			order[count++] = (struct order){ row, row->bytes, seconds };
	}
	qsort(order, count, sizeof *order, by_memory);
	return count;
}

/* Names the fastest of the front, and those far enough from the one before for letters. Whether it names all. */
static bool figure_sweep_name_front(
	struct scene *scene, const struct plot *plot, const struct order *order, uint32_t fastest, struct labels *labels)
{
	double best = DBL_MAX, x = -DBL_MAX, y = -DBL_MAX;
	bool all = true;
	for (uint32_t i = 0; i <= fastest; i++) {
		if (order[i].seconds >= best || !order[i].row->fits)
			continue;
		best = order[i].seconds;
		double next_x = plot_x(plot, order[i].bytes), next_y = plot_y(plot, best);
		if (i == fastest || next_x - x >= NAME_WIDE || next_y - y >= NAME_HIGH) {
			label_point(labels, &scene->canvas, next_x, next_y, CANVAS_SMALL, INK,
				others_text(scene, order[i].row, scene->axis, TEXT(200)));
			x = next_x, y = next_y;
		} else {
			all = false;
		}
	}
	return all;
}

/* Joins those that fit and are faster than all that take less memory: the front. Whether it names all. */
static bool figure_sweep_draw_front(
	struct scene *scene, const struct plot *plot, const struct order *order, uint32_t count)
{
	const struct canvas_line line = { "#888888", 0.8, true };
	struct labels labels = {
		.left = plot->left, .right = plot->left + plot->wide, .top = plot->top, .bottom = plot->top + plot->high
	};
	uint32_t fastest = NONE;
	double best = DBL_MAX, x = 0, y = 0;
	FOR(i, count) {
		label_avoid(&labels, plot_x(plot, order[i].bytes), plot_y(plot, order[i].seconds), MARK);
		if (order[i].seconds >= best || !order[i].row->fits)
			continue;
		double next_x = plot_x(plot, order[i].bytes), next_y = plot_y(plot, order[i].seconds);
		if (best < DBL_MAX) {
			canvas_path(&scene->canvas, (struct canvas_point[]){ { x, y }, { next_x, y }, { next_x, next_y } }, 3, NULL, &line);
			label_avoid_line(&labels, x, y, next_x, y);
			label_avoid_line(&labels, next_x, y, next_x, next_y);
		}
		x = next_x, y = next_y, best = order[i].seconds, fastest = i;
	}
	return fastest == NONE || figure_sweep_name_front(scene, plot, order, fastest, &labels);
}

/* Points close to each other aren't pressed into a corner by axes from 0. */
static void span_axes(const struct order *order, uint32_t count, struct plot *plot)
{
	double least_y = order[0].seconds, least_x = order[0].bytes;
	FOR(i, count) {
		plot->most_x = fmax(plot->most_x, order[i].bytes);
		plot->most_y = fmax(plot->most_y, order[i].seconds);
		least_y = fmin(least_y, order[i].seconds);
	}
	double more_x = plot->most_x > least_x ? (plot->most_x - least_x) * 0.06 : plot->most_x * 0.06 + 1,
		   more_y = plot->most_y > least_y ? (plot->most_y - least_y) * 0.08 : plot->most_y * 0.06;
	plot->least_x = fmax(0, least_x - more_x);
	plot->least_y = least_y < CLOSE * plot->most_y ? 0 : fmax(0, least_y - more_y);
	plot->most_x += more_x;
	plot->most_y += more_y;
}

static enum status draw_pareto(struct scene *scene, const char *name, struct canvas_paper paper,
	const struct order *order, uint32_t count, FILE *stream, struct error *error)
{
	struct canvas_key key[CURVES_MOST];
	struct plot plot = { .top = TOP, .high = PARETO };
	char names[CURVES_MOST][160];
	int keys = scene->axis == NONE ? 0 : (int)scene->table->knob[scene->axis].values;
	FOR_INT(i, keys) {
		key[i] = (struct canvas_key){ curve_colours[i],
			knob_value(&scene->table->knob[scene->axis], (uint32_t)i, i == 0, names[i], sizeof names[i]), SIGN_BOX };
	}
	span_axes(order, count, &plot);
	plot_place(&plot, paper.width, RIGHT, PLOT_SECONDS);
	if (canvas_open(&scene->canvas, paper, TOP + PARETO + BELOW) != OK)
		return fail_memory(error);
	figure_sweep_draw_title(scene, name, "memory and time");
	plot_axes(&plot, &scene->canvas, PRINTED(64, "time of a %s", scene->time), PLOT_SECONDS);
	plot_byte_axis(&plot, &scene->canvas, "memory of a device");
	bool all = figure_sweep_draw_front(scene, &plot, order, count);
	FOR(i, count)
		draw_mark(&scene->canvas, plot_x(&plot, order[i].bytes), plot_y(&plot, order[i].seconds),
			figure_sweep_colour_of(scene, order[i].row), order[i].row->fits,
			others_text(scene, order[i].row, NONE, TEXT(CANVAS_CUT)));
	figure_sweep_draw_legend(scene, &plot, key, keys, all ? "joined and named: none that fits has less of both"
		: "joined, some of them named: none that fits has less of both");
	return canvas_close(&scene->canvas, stream, error);
}

enum status figure_pareto(
	const struct sweep_table *table, const char *name, struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct scene scene = { .table = table };
	figure_sweep_look(&scene);
	choose_colours(&scene);
	struct order *MAKE(order, table->rows);
	NEEDED(error, order);
	uint32_t count = figure_sweep_sort_rows(&scene, order);
	enum status status = count ? draw_pareto(&scene, name, paper, order, count, stream, error)
		: refuse(error, "no scenario has a plan and a time; --view sweep draws memory alone");
	mem_free(order);
	return status;
}

/* ---- lines over a knob ---- */

/* The combination of all knobs but the axis, as a number. */
static uint64_t figure_sweep_line_of(const struct scene *scene, const struct swept *row)
{
	uint64_t line = 0;
	FOR(i, scene->table->knobs)
		line = i == scene->axis ? line : line * scene->table->knob[i].values + row->value[i];
	return line;
}

struct lines { uint64_t line[CURVES_MOST]; const struct swept *row[CURVES_MOST]; uint32_t count; };

static enum status find_lines(const struct scene *scene, struct lines *lines, struct error *error)
{
	lines->count = 0;
	FOR(i, scene->table->rows) {
		uint32_t k = 0;
		uint64_t line = figure_sweep_line_of(scene, &scene->table->row[i]);
		while (k < lines->count && lines->line[k] != line)
			k++;
		if (k == CURVES_MOST)
			return refuse(error,
				"more than %u combinations beside %s: that many lines can't be told apart; --view pareto takes any "
				"number",
				CURVES_MOST, scene->table->knob[scene->axis].name);
		if (k == lines->count) {
			lines->line[k] = line;
			lines->row[lines->count++] = &scene->table->row[i];
		}
	}
	return OK;
}

/* Values stand side by side: most are powers of two, or words. */
static double figure_sweep_place_of(const struct scene *scene, const struct plot *plot, uint32_t value)
{
	return plot->left + plot->wide * (value + 0.5) / scene->table->knob[scene->axis].values;
}

static double height_of(const struct scene *scene, const struct swept *row, bool time)
{
	return time ? seconds_of(scene, row) : row->bytes;
}

static void figure_sweep_draw_line(
	struct scene *scene, const struct plot *plot, const struct lines *lines, uint32_t k, bool time)
{
	const struct canvas_line line = { curve_colours[k], 1.2, k % 2 == 1 };
	double last_x = -1, last_y = 0;
	for (int marks = 0; marks < 2; marks++, last_x = -1)
		FOR(value, scene->table->knob[scene->axis].values) {
			const struct swept *row = NULL;
			FOR_WHILE(i, scene->table->rows, !row)
				if (scene->table->row[i].value[scene->axis] == value &&
					figure_sweep_line_of(scene, &scene->table->row[i]) == lines->line[k])
					row = &scene->table->row[i];
			double high = row ? height_of(scene, row, time) : -1, x = figure_sweep_place_of(scene, plot, value),
				   y = plot_y(plot, high);
			if (high >= 0 && marks)
				draw_mark(&scene->canvas, x, y, curve_colours[k], row->fits, others_text(scene, row, NONE, TEXT(CANVAS_CUT)));
			else if (high >= 0 && last_x >= 0)
				canvas_stroke(&scene->canvas, last_x, last_y, x, y, &line);
			last_x = high >= 0 ? x : -1; /* where there is no plan, the line is broken */
			last_y = y;
		}
}

static double figure_sweep_most_of(const struct scene *scene, bool time)
{
	double most = 0;
	FOR(i, scene->table->rows)
		most = fmax(most, 1.06 * height_of(scene, &scene->table->row[i], time));
	return most;
}

/* Both panels begin where the wider numbers of the two leave room. */
static void place_panels(const struct scene *scene, bool timed, double width, struct plot *plot)
{
	struct plot other = *plot;
	plot->most_y = figure_sweep_most_of(scene, false);
	plot_place(plot, width, RIGHT, PLOT_BYTES);
	other.most_y = figure_sweep_most_of(scene, true);
	if (timed)
		plot_place(&other, width, RIGHT, PLOT_SECONDS);
	if (timed && other.left > plot->left)
		plot->left = other.left, plot->wide = other.wide;
}

static void draw_panel(struct scene *scene, const struct lines *lines, struct plot *plot, bool time)
{
	plot->most_y = figure_sweep_most_of(scene, time);
	plot_axes(plot, &scene->canvas, PRINTED(64, "%s %s", time ? "time of a" : "memory of a",
		time ? scene->time : "device"), time ? PLOT_SECONDS : PLOT_BYTES);
	/* Dashed lines above the others: where two are equal, both are seen. */
	FOR(dashed, 2)
		for (uint32_t k = dashed; k < lines->count; k += 2)
			figure_sweep_draw_line(scene, plot, lines, k, time);
}

/* Values below the last panel; where they are many, every second one, fourth one ... */
static void draw_values(struct scene *scene, const struct plot *plot)
{
	const struct sweep_knob *knob = &scene->table->knob[scene->axis];
	double y = plot->top + plot->high + SMALL + 3, widest = 0;
	uint32_t every = 1;
	FOR(i, knob->values)
		widest = fmax(widest, canvas_text_width(SMALL, knob->value[i]) + 4);
	while (plot->wide * every / knob->values < widest && every < knob->values)
		every *= 2;
	for (uint32_t i = 0; i < knob->values; i += every)
		canvas_label(&scene->canvas, figure_sweep_place_of(scene, plot, i), y, ANCHOR_MIDDLE, knob->value[i]);
	canvas_label(&scene->canvas, plot->left + plot->wide / 2, y + SMALL + 3, ANCHOR_MIDDLE, knob->name);
}

/* What tells a line from the others. Where one knob does, the first line names it. */
static char *line_text(const struct scene *scene, const struct lines *lines, uint32_t k, char *text, size_t size)
{
	uint32_t vary = 0, knob = 0;
	FOR(i, scene->table->knobs)
		if (i != scene->axis && scene->table->knob[i].values > 1) {
			knob = i;
			vary++;
		}
	if (vary != 1)
		return others_text(scene, lines->row[k], scene->axis, text, size);
	return knob_value(&scene->table->knob[knob], lines->row[k]->value[knob], k == 0, text, size);
}

static enum status draw_sweep(struct scene *scene, const struct lines *lines, const char *name,
	struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct canvas_key key[CURVES_MOST];
	char names[CURVES_MOST][200];
	bool timed = false;
	FOR(i, scene->table->rows)
		timed |= seconds_of(scene, &scene->table->row[i]) >= 0;
	FOR(k, lines->count)
		key[k] = (struct canvas_key){ curve_colours[k], line_text(scene, lines, k, names[k], sizeof names[k]),
			k % 2 ? SIGN_DASHES : SIGN_LINE };
	struct plot plot = { .top = TOP, .high = PANEL, .most_x = 1 };
	place_panels(scene, timed, paper.width, &plot);
	double bottom = TOP + PANEL + (timed ? BETWEEN + PANEL : 0);
	if (canvas_open(&scene->canvas, paper, bottom + BELOW) != OK)
		return fail_memory(error);
	figure_sweep_draw_title(scene, name, timed ? "memory and time" : "memory");
	draw_panel(scene, lines, &plot, false);
	if (timed) {
		plot.top += PANEL + BETWEEN;
		draw_panel(scene, lines, &plot, true);
	}
	draw_values(scene, &plot);
	figure_sweep_draw_legend(scene, &plot, key, (int)lines->count, "");
	return canvas_close(&scene->canvas, stream, error);
}

/* The knob along the axis: the one with the most numbers, or values. */
static void choose_axis(struct scene *scene)
{
	FOR(i, scene->table->knobs) {
		const struct sweep_knob *knob = &scene->table->knob[i],
								*best = scene->axis == NONE ? NULL : &scene->table->knob[scene->axis];
		if (!best || numbers_of(knob) > numbers_of(best) ||
			(numbers_of(knob) == numbers_of(best) && knob->values > best->values))
			scene->axis = i;
	}
}

enum status figure_sweep(
	const struct sweep_table *table, const char *name, struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct scene scene = { .table = table };
	struct lines lines;
	figure_sweep_look(&scene);
	choose_axis(&scene);
	if (scene.axis == NONE)
		return refuse(error, "no knob is varied");
	TRY(find_lines(&scene, &lines, error));
	return draw_sweep(&scene, &lines, name, paper, stream, error);
}

/* ---- bars ---- */

enum status sweep_bars(
	const struct sweep_table *table, const char *name, struct curve *curve, uint32_t *curves, struct error *error)
{
	const struct scene scene = { .table = table };
	uint32_t graph = 0;
	bool ranked = text_is(table->rows_are, "configuration");
	char first[60] = "";
	if (ranked && table->rows > BARS_MOST)
		PRINT_TO(first, ", the first %u of %u", BARS_MOST, table->rows);
	while (graph < table->knobs && !text_is(table->knob[graph].name, "graph"))
		graph++;
	*curves = 0;
	FOR(i, table->rows) {
		const struct swept *row = &table->row[i];
		if (row->bytes < 0)
			continue;
		if (ranked && *curves == BARS_MOST)
			break;
		if (*curves == BARS_MOST)
			return refuse(error, "more than %u %ss: that many bars can't be told apart; --view pareto takes any number",
				BARS_MOST, table->rows_are);
		struct curve *next = &curve[(*curves)++];
		*next = (struct curve){ .seconds = row->seconds };
		others_text(&scene, row, graph, next->name, sizeof next->name);
		PRINT_TO(next->graph, "%.120s%s", graph < table->knobs ? table->knob[graph].value[row->value[graph]] : name, first);
		double known = 0;
		FOR_INT(part, LEDGER_PARTS)
			known += (double)(next->part[part] = (int64_t)row->part[part]);
		next->part[LEDGER_PARTS] = known > 0 ? 0 : (int64_t)row->bytes;
	}
	return *curves ? OK : refuse(error, "no %s has a plan", table->rows_are);
}
