/* figure_pipeline.c: slots as boxes, bytes as lines. */
#include <math.h>

#include "figure.h"

#define RIGHT       10.0
#define TOP         30.0
#define TICKS       4   /* steps of the memory axis, at most */
#define MEMORY_HIGH 90.0
#define GAP         34.0 /* between both plots: the time axis */
#define BOTTOM      6.0 /* from the memory plot to the end of what is drawn */
#define SLOT_LEAST  1.6  /* points: narrower slots are summed */
#define COLUMNS     800
#define LINES_MOST  12u /* of memory, beside the worst rank's */
#define GREY        "#AAAAAA"
#define ALARM       "#D55E00"

/* Okabe and Ito's, as in the other figures: forward passes make activations, backward passes gradients. */
const char *const pipeline_colours[PIPELINE_PARTS] = { "#56B4E9", "#E69F00", "#009E73", "#CCCCCC" };
const char *const pipeline_names[PIPELINE_PARTS] = { "forward", "backward", "weight gradients", "gradients, update" };

/* ---- boxes ---- */

typedef void box_function(void *context, double x, double y, double width, double height, enum pipeline_part part,
	const struct pipeline_slot *slot);

/* The columns of a rank in which slots are too short to be seen. */
static void sum_boxes(const struct timetable *timetable, uint32_t rank, double least, box_function *box, void *context)
{
	uint32_t columns = (uint32_t)(1 / least);
	double whole = (double)timetable->time;
	FOR(c, columns) {
		int64_t from = (int64_t)(whole * c / columns), to = (int64_t)(whole * (c + 1) / columns), share[PASS_COUNT];
		timetable_shares(timetable, rank, from, to, share);
		const int64_t parts[] = { share[PASS_FORWARD], share[PASS_BACKWARD] + share[PASS_INPUT], share[PASS_WEIGHT] };
		double below = 0;
		for (int part = PART_FORWARD; part <= PART_WEIGHT; part++) {
			double high = (double)parts[part] / (double)(to - from);
			below += high;
			if (high > 0)
				box(context, (double)c / columns, rank + 1 - below, 1.0 / columns, high, (enum pipeline_part)part, NULL);
		}
	}
}

static bool too_short(const struct timetable *timetable, double least)
{
	double busy = 0, slots = (double)timetable->slots * timetable->ranks;
	FOR(rank, timetable->ranks)
		busy += (double)timetable->busy[rank];
	return busy / slots < least * (double)timetable->time;
}

static const enum pipeline_part part_of_pass[PASS_COUNT] = { [PASS_FORWARD] = PART_FORWARD,
	[PASS_BACKWARD] = PART_BACKWARD,
	[PASS_INPUT] = PART_BACKWARD,
	[PASS_WEIGHT] = PART_WEIGHT };

/* Calls box for everything that is drawn, in units of a rank's row (from the top) and of a share of the time (0 to 1).
 * Slots of at least `least` of the time are boxes of their own, with slot; shorter ones are summed: a column of that
 * width shows from below which share of its time goes forward, then which goes backward, then which makes gradients of
 * weights alone. */
static void pipeline_boxes(const struct timetable *timetable, double least, box_function *box, void *context)
{
	double whole = timetable->time > 0 ? (double)timetable->time : 1;
	bool sums = too_short(timetable, least);
	FOR(rank, timetable->ranks) {
		if (sums)
			sum_boxes(timetable, rank, least, box, context);
		for (uint32_t i = 0; !sums && i < timetable->slots; i++) {
			const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
			box(context, (double)slot->begin / whole, rank, (double)(slot->end - slot->begin) / whole, 1,
				part_of_pass[slot->pass], slot);
		}
		double after = (double)(timetable->time - timetable->pipeline_time) / whole;
		if (after > 0)
			box(context, 1 - after, rank, after, 1, PART_UPDATE, NULL);
	}
}

/* ---- the schedule ---- */

#define CHUNKS 8u /* of a rank, that are told apart here; what is behind counts as the last */

struct figure {
	struct canvas canvas;
	const struct timetable *timetable;
	double left, span, top; /* where the plots begin; their width; upper edge of the ranks */
	bool measuring;         /* finds only what is there */
	bool numbered;          /* some slot has its microbatch's number */
	uint32_t rank;          /* whose slots `numbers` is of */
	double numbers[PIPELINE_PARTS][CHUNKS]; /* size of the numbers in a part's slots of a chunk; 0: some have no room,
											   so none has one */
	double row; /* height of a rank */
	double memory_top, bytes;/* the lower plot's upper edge, and what it stands for */
	int64_t limit;
	bool there[PIPELINE_PARTS];
};

static uint32_t figure_pipeline_chunk(const struct figure *figure, const struct pipeline_slot *slot)
{
	return slot->piece / (figure->timetable->ranks ? figure->timetable->ranks : 1);
}

/* Every other chunk of a rank is lighter. */
static const char *figure_pipeline_shade(const char *colour, uint32_t chunk, char text[8])
{
	unsigned value = (unsigned)strtoul(colour + 1, NULL, 16);
	if (chunk % 2)
		value = (value >> 1 & 0x7F7F7F) + 0x808080;
	snprintf(text, 8, "#%06X", value);
	return text;
}

static double *number_size(struct figure *figure, const struct pipeline_slot *slot)
{
	uint32_t chunk = figure_pipeline_chunk(figure, slot);
	return &figure->numbers[part_of_pass[slot->pass]][chunk < CHUNKS ? chunk : CHUNKS - 1];
}

/* A rank's slots of a part, in one chunk, have numbers if all have room: the reader needn't guess which are left out.
 * Another chunk has other layers, and other widths. */
static void size_numbers(struct figure *figure, uint32_t rank, double high)
{
	const struct timetable *timetable = figure->timetable;
	char number[16];
	figure->rank = rank;
	FOR_INT(part, PIPELINE_PARTS)
		FOR(chunk, CHUNKS)
			figure->numbers[part][chunk] = high < CANVAS_SMALL ? 0 : high < SMALL + 2 ? CANVAS_SMALL : SMALL;
	FOR(i, timetable->slots) {
		const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
		double wide = figure->span * (double)(slot->end - slot->begin) /
			(double)(timetable->time > 0 ? timetable->time : 1),
			   *size = number_size(figure, slot);
		PRINT_TO(number, "%u", slot->microbatch);
		while (*size >= CANVAS_SMALL && wide < canvas_text_width(*size, number) + 1)
			*size -= 1;
		*size = *size < CANVAS_SMALL ? 0 : *size;
	}
}

static void figure_pipeline_draw_box(void *context, double x, double y, double width, double height,
	enum pipeline_part part, const struct pipeline_slot *slot)
{
	struct figure *figure = context;
	const struct canvas_line edge = { "#FFFFFF", 0.4, false };
	double span = figure->span, left = figure->left + span * x, wide = span * width,
		   top = figure->top + figure->row * y + 0.1 * figure->row;
	double high = figure->row * height * 0.8;
	char colour[8];
	figure->there[part] = true;
	if (!slot)
		top = figure->top + figure->row * ((double)(int)y + 0.1 + 0.8 * (y - (double)(int)y));
	if (slot && figure->rank != (uint32_t)y)
		size_numbers(figure, (uint32_t)y, high);
	double size = slot ? *number_size(figure, slot) : 0;
	figure->numbered |= size > 0;
	if (figure->measuring)
		return;
	canvas_box(&figure->canvas, left, top, wide, high,
		figure_pipeline_shade(pipeline_colours[part], slot ? figure_pipeline_chunk(figure, slot) : 0, colour),
		slot && wide > 3 ? &edge : NULL, NULL);
	if (size <= 0)
		return;
	canvas_text(&figure->canvas, left + wide / 2, top + high / 2 + size * 0.35, size, ANCHOR_MIDDLE, false, INK,
		PRINTED(16, "%u", slot->microbatch));
}

static void draw_ranks(struct figure *figure)
{
	uint32_t every = 1;
	while (figure->row * every < SMALL + 1)
		every *= 2;
	canvas_label(&figure->canvas, EDGE, figure->top - 3, ANCHOR_START, "rank");
	for (uint32_t rank = 0; rank < figure->timetable->ranks; rank += every)
		canvas_label(&figure->canvas, figure->left - 4, figure->top + figure->row * (rank + 0.5) + SMALL / 3,
			ANCHOR_END, PRINTED(64, "%u", rank));
	pipeline_boxes(figure->timetable, SLOT_LEAST / figure->span, figure_pipeline_draw_box, figure);
}

static void figure_pipeline_draw_time(struct figure *figure, double y)
{
	const char *name;
	double unit = (double)axis_time_unit(figure->timetable->time, &name);
	axis_below(&figure->canvas, figure->left, figure->span, y, 0, 0, (double)figure->timetable->time / unit, 0,
		PRINTED(64, "time [%s]", name));
}

static void figure_pipeline_draw_legend(struct figure *figure)
{
	struct canvas_key key[PIPELINE_PARTS];
	int keys = 0;
	FOR_INT(part, PIPELINE_PARTS)
		if (figure->there[part])
			key[keys++] = (struct canvas_key){ pipeline_colours[part], pipeline_names[part], SIGN_BOX };
	canvas_legend(&figure->canvas, figure->left, figure->span, key, keys);
	if (figure->timetable->chunks > 1)
		canvas_note(&figure->canvas, figure->left, figure->span, "lighter: a rank's second chunk, fourth, ...");
	if (figure->numbered)
		canvas_note(&figure->canvas, figure->left, figure->span, "numbers: microbatches");
}

/* In one row or in two: the graph's name, ": ", and the rest. */
static void pipeline_title(const struct timetable *timetable, const char *name, char *text, size_t size)
{
	const char *unit_name;
	int64_t unit = axis_time_unit(timetable->time, &unit_name);
	char chunks[32] = "";
	if (timetable->chunks > 1)
		PRINT_TO(chunks, " with %u chunks", timetable->chunks);
	snprintf(text, size, "%.80s: %s on %u rank%s%s, %u microbatch%s, bubble %.1f %%, %.4g %s", name,
		schedule_names[timetable->schedule], timetable->ranks, timetable->ranks == 1 ? "" : "s", chunks,
		timetable->microbatches, timetable->microbatches == 1 ? "" : "es", timetable_bubble(timetable) / 10.0,
		(double)timetable->time / (double)unit, unit_name);
}

/* Behind the graph's name, which may have colons, too. */
static char *title_rest(char *text)
{
	char *rest = strstr(text, ": ");
	for (char *next = rest; next; next = strstr(next + 2, ": "))
		rest = next;
	return rest;
}

/* How many rows the title takes below the graph's name: none where it fits beside it. */
static int title_rows(char *text, double width)
{
	const char *rest = title_rest(text);
	return canvas_text_width(BOLD, text) <= width - 2 * EDGE || !rest
		? 0
		: canvas_rows(NULL, 0, 0, width - 2 * EDGE, rest + 2);
}

static void figure_pipeline_draw_title(struct figure *figure, char *text)
{
	char *rest = title_rest(text);
	if (figure->canvas.paper.untitled)
		return;
	if (figure->top > TOP && rest) {
		*rest = '\0';
		canvas_rows(&figure->canvas, EDGE, TOP - 3, figure->canvas.paper.width - 2 * EDGE, rest + 2);
	}
	canvas_title(&figure->canvas, EDGE, TOP - 15, text);
}

/* ---- memory ---- */

static double figure_pipeline_y_of(const struct figure *figure, double bytes)
{
	return figure->memory_top + MEMORY_HIGH * (1 - bytes / figure->bytes);
}

static void draw_bytes(struct figure *figure, uint32_t rank, const struct canvas_line *line)
{
	struct canvas_point point[2 * COLUMNS];
	double span = figure->span, whole = (double)figure->timetable->time;
	FOR_INT(c, COLUMNS) {
		int64_t from = (int64_t)(whole * c / COLUMNS), to = (int64_t)(whole * (c + 1) / COLUMNS);
		double y = figure_pipeline_y_of(
			figure, (double)timetable_most(figure->timetable, rank, from, to > from ? to : from + 1));
		point[2 * c] = (struct canvas_point){ figure->left + span * c / COLUMNS, y };
		point[2 * c + 1] = (struct canvas_point){ figure->left + span * (c + 1) / COLUMNS, y };
	}
	canvas_path(&figure->canvas, point, 2 * COLUMNS, NULL, line);
}

/* Each of a few ranks has a colour; of many, only the one with the most memory. */
static const char *worst_colour(const struct timetable *timetable)
{
	return timetable->ranks <= CURVES_MOST ? curve_colours[timetable->worst] : ALARM;
}

/* What the lines of memory are, with every rank's peak. */
static void draw_rank_names(struct figure *figure)
{
	const struct timetable *timetable = figure->timetable;
	struct canvas_key key[CURVES_MOST];
	char name[CURVES_MOST][64];
	int keys = 0;
	if (timetable->ranks <= CURVES_MOST)
		FOR(rank, timetable->ranks) {
			PRINT_TO(name[keys], "rank %u: %s", rank,
				BYTES(timetable_peak(timetable, rank)));
			key[keys] = (struct canvas_key){ curve_colours[rank], name[keys],
				rank % 2 == 1 && rank != timetable->worst ? SIGN_DASHES : SIGN_LINE };
			keys++;
		}
	if (keys == 0) {
		PRINT_TO(name[0], "rank %u, with the most memory", timetable->worst);
		key[keys++] = (struct canvas_key){ ALARM, name[0], SIGN_LINE };
		key[keys++] = (struct canvas_key){ GREY, "the others", SIGN_LINE };
	}
	canvas_legend(&figure->canvas, figure->left, figure->span, key, keys);
}

static void figure_pipeline_draw_limit(struct figure *figure)
{
	const struct canvas_line line = { INK, 1, true };
	if (figure->limit < 0 || (double)figure->limit > figure->bytes)
		return;
	double y = figure_pipeline_y_of(figure, (double)figure->limit);
	canvas_stroke(&figure->canvas, figure->left, y, figure->left + figure->span, y, &line);
	canvas_text(&figure->canvas, figure->left + figure->span - 3, y - 2, CANVAS_SMALL, ANCHOR_END, false, INK,
		PRINTED(64, "limit %s", BYTES(figure->limit)));
}

static void figure_pipeline_draw_peak(struct figure *figure)
{
	const struct timetable *timetable = figure->timetable;
	const struct pipeline_slot *slot = timetable_slot(timetable, timetable->worst, timetable->peak[timetable->worst]);
	double x = figure->left + figure->span * (double)slot->begin / (double)(timetable->time ? timetable->time : 1);
	double y = figure_pipeline_y_of(figure, (double)timetable_peak(timetable, timetable->worst));
	bool right = x > figure->left + figure->span * 0.7;
	canvas_box(&figure->canvas, x - 2, y - 2, 4, 4, worst_colour(timetable), NULL, NULL);
	canvas_text(&figure->canvas, right ? x - 4 : x + 4, y - 3, SMALL, right ? ANCHOR_END : ANCHOR_START, false,
		worst_colour(timetable), PRINTED(100, "rank %u: %s", timetable->worst,
		BYTES(timetable_peak(timetable, timetable->worst))));
}

static void figure_pipeline_draw_memory(struct figure *figure)
{
	const struct canvas_line frame = { INK, 0.75, false }, thin = { GREY, 0.6, false };
	const char *name;
	int64_t unit = axis_unit((int64_t)figure->bytes, &name);
	char text[64];
	axis_beside(&figure->canvas, figure->left, figure->span, figure->memory_top, MEMORY_HIGH, 0,
		figure->bytes / (double)unit, TICKS);
	uint32_t ranks = figure->timetable->ranks, every = ranks <= CURVES_MOST ? 1 : (ranks + LINES_MOST - 1) / LINES_MOST;
	for (uint32_t rank = 0; rank < ranks; rank += every) {
		const struct canvas_line own = { curve_colours[rank % CURVES_MOST], 1.0, rank % 2 == 1 };
		if (rank != figure->timetable->worst)
			draw_bytes(figure, rank, ranks <= CURVES_MOST ? &own : &thin);
	}
	const struct canvas_line thick = { worst_colour(figure->timetable), 1.6, false };
	draw_bytes(figure, figure->timetable->worst, &thick);
	canvas_box(&figure->canvas, figure->left, figure->memory_top, figure->span, MEMORY_HIGH, NULL, &frame, NULL);
	figure_pipeline_draw_limit(figure);
	figure_pipeline_draw_peak(figure);
	int used = PRINT_TO(text, "memory of a device [%s], by rank", name);
	if (every > 1)
		snprintf(text + used, sizeof text - (size_t)used, ", 1 in %u", every);
	canvas_label(&figure->canvas, EDGE, figure->memory_top - 4, ANCHOR_START, text);
}

/* Both plots begin where the numbers of ranks and of memory leave room. */
static void place_plots(struct figure *figure, double width)
{
	const char *name;
	double top = figure->bytes / (double)axis_unit((int64_t)figure->bytes, &name), ranks = figure->timetable->ranks;
	figure->left = fmax(axis_margin(0, top, axis_step(top, TICKS), SMALL), axis_margin(ranks, ranks, 1, SMALL));
	figure->span = width - figure->left - RIGHT;
}

enum status figure_pipeline(const struct timetable *timetable, const char *name, int64_t limit,
	struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct figure figure = { .timetable = timetable, .limit = limit, .measuring = true, .rank = NONE };
	int64_t most = timetable_peak(timetable, timetable->worst);
	char title[300];
	pipeline_title(timetable, name, title, sizeof title);
	figure.top = TOP + (paper.untitled ? 0 : LEADING * title_rows(title, paper.width));
	figure.row = SMALLER(320.0 / timetable->ranks, 18);
	double rows = figure.top + figure.row * timetable->ranks;
	figure.memory_top = rows + GAP + 8;
	figure.bytes = 1.15 * (double)(limit > most && limit < 2 * most ? limit : most > 0 ? most : 1);
	place_plots(&figure, paper.width);
	pipeline_boxes(timetable, SLOT_LEAST / figure.span, figure_pipeline_draw_box, &figure);
	figure.measuring = false;
	figure.rank = NONE;
	if (canvas_open(&figure.canvas, paper, figure.memory_top + MEMORY_HIGH + BOTTOM) != OK)
		return fail_memory(error);
	figure_pipeline_draw_title(&figure, title);
	draw_ranks(&figure);
	figure_pipeline_draw_time(&figure, rows);
	figure_pipeline_draw_memory(&figure);
	figure_pipeline_draw_legend(&figure);
	draw_rank_names(&figure);
	return canvas_close(&figure.canvas, stream, error);
}
