/* figure.c: axes, areas and boxes on a canvas. */
#include <inttypes.h>
#include <math.h>

#include "figure.h"

#define PLOT        162.0 /* points: the height of a plot */
#define TOP         30.0
#define RIGHT       10.0
#define PHASE_ROOM      10.0 /* the room of phases' names above the highest point */
#define BARE        28.0 /* from the plot to the paper's end, without a legend */
#define TICK        32.0 /* between numbers of the lower axis, at least */
#define POINTS_MOST 2000u
#define BOX_LEAST   0.02 /* points */
#define EDGED       2.0  /* points: an edge would swallow what is smaller */
#define TICKS       6    /* steps of the upright axis, at most */
#define BETWEEN     12.0 /* points: frames side by side */
#define SEGMENT     4.0  /* points: the height of a segment's box */
#define ALARM       "#D55E00"
#define HOST        2 /* of curve_colours */
#define STREAM      11.0 /* points: a stream's row */
#define STREAMS_ROOM 30.0 /* from the plot to the streams: its axis */

/* The plot's scales. */
struct axes {
	struct canvas canvas;
	double left, span;   /* where the plot begins; its width */
	double steps, bytes; /* at the right and upper end */
	int64_t *at;         /* [ops + 1] picoseconds when positions begin; NULL: the axis is of their numbers */
	const struct plan_time *time; /* of which that is */
	uint32_t ops;
	double below;        /* points that streams take below the axis */
	int64_t unit, limit; /* limit: of memory; -1: none is drawn */
	int64_t host;        /* the most that waits in the host's memory */
	const char *set; /* knobs */
	const char *along; /* what the lower axis counts */
	const char *unit_name;
};

int64_t axis_unit(int64_t bytes, const char **name)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	int64_t unit = 1;
	int i = 0;
	for (; i < 5 && bytes / unit >= 1024; i++)
		unit *= 1024;
	*name = names[i];
	return unit;
}

double axis_step(double range, int most)
{
	static const double factors[] = { 1, 2, 5, 10 };
	double power = range > 0 ? pow(10, floor(log10(range / most))) : 1;
	int i = 0;
	while (i < 3 && power * factors[i] * most < range)
		i++;
	return power * factors[i];
}

int64_t axis_time_unit(int64_t picoseconds, const char **name)
{
	static const char *const names[] = { "s", "ms", "us" };
	int64_t unit = PICOSECONDS;
	int i = 0;
	for (; i < 2 && picoseconds < unit; i++)
		unit /= 1000;
	*name = names[i];
	return unit;
}

static const struct canvas_line axis_grid = { "#DDDDDD", 0.5, false };

void axis_below(struct canvas *canvas, double left, double span, double y, double high, double least, double most,
	double finest, const char *label)
{
	double step = fmax(finest, axis_step(most - least, (int)(span / TICK)));
	for (double value = ceil(least / step) * step; value <= most * 1.0001; value += step) {
		double x = left + span * (value - least) / (most - least);
		if (finest > 0 && value < most && left + span - x < 0.9 * TICK) /* it gives way to the last one */
			continue;
		if (high > 0)
			canvas_stroke(canvas, x, y - high, x, y + 3, &axis_grid);
		canvas_label(canvas, x, y + SMALL + 3, ANCHOR_MIDDLE, PRINTED(64, "%.10g", value));
	}
	if (finest > 0 && fmod(most, step) > 0)
		canvas_label(canvas, left + span, y + SMALL + 3, ANCHOR_END, PRINTED(64, "%.10g", most));
	canvas_label(canvas, left + span / 2, y + 2 * SMALL + 6, ANCHOR_MIDDLE, label);
}

void axis_beside(struct canvas *canvas, double left, double span, double top, double high, double least, double most,
	int steps)
{
	double step = axis_step(most - least, steps);
	for (double value = ceil(least / step) * step; value <= most * 1.0001; value += step) {
		double y = top + high * (1 - (value - least) / (most - least));
		if (y < top + SMALL) /* where the axis has its unit */
			break;
		canvas_stroke(canvas, left, y, left + span, y, &axis_grid);
		canvas_label(canvas, left - 4, y + SMALL / 3, ANCHOR_END, PRINTED(64, "%g", value));
	}
}

double axis_margin(double least, double most, double step, double size)
{
	double widest = 0;
	for (double value = ceil(least / step) * step; value <= most * 1.0001; value += step)
		widest = fmax(widest, canvas_text_width(size, PRINTED(64, "%g", value)));
	return EDGE + widest + 5;
}

static double figure_x_of(const struct axes *axes, double step)
{
	uint32_t whole = (uint32_t)step;
	double at = !axes->at ? step : whole >= axes->ops ? axes->steps
		: (double)axes->at[whole] + (step - whole) * (double)(axes->at[whole + 1] - axes->at[whole]);
	return axes->left + axes->span * at / axes->steps;
}

static double figure_y_of(const struct axes *axes, double bytes)
{
	return TOP + PLOT * (1 - bytes / axes->bytes);
}

char *figure_subject(const struct plan *plan, char *text, size_t size)
{
	if (plan->pipelined)
		snprintf(text, size, "%.150s, rank %u of %u", plan->input->name, plan->rank, plan->pipelined->ranks);
	else
		snprintf(text, size, "%s", plan->input->name);
	return text;
}

/* "NAME: peak 4.26 GiB (N B)": on narrow paper without the bytes, then with less of the name; the value stays whole. */
static void figure_draw_title(struct axes *axes, const char *name, const char *what, int64_t bytes)
{
	char value[100], cut[CANVAS_CUT];
	double room = axes->canvas.paper.width - EDGE - 2;
	PRINT_TO(value, ": %s %s (%" PRId64 " B)", what, BYTES(bytes), bytes);
	if (canvas_text_width(BOLD, name) + canvas_text_width(BOLD, value) > room)
		*strstr(value, " (") = '\0';
	canvas_title(&axes->canvas, EDGE, TOP - 16, PRINTED(CANVAS_CUT + 100, "%s%s",
		canvas_cut(BOLD, room - canvas_text_width(BOLD, value), name, cut), value));
}

static void figure_draw_axes(struct axes *axes, const char *label)
{
	axis_beside(&axes->canvas, axes->left, axes->span, TOP, PLOT, 0, axes->bytes / (double)axes->unit, TICKS);
	const char *unit = "";
	double one = axes->at ? (double)axis_time_unit((int64_t)axes->steps, &unit) : 1;
	axis_below(&axes->canvas, axes->left, axes->span, TOP + PLOT, 0, 0, axes->steps / one, !axes->at,
		PRINTED(64, axes->at ? "time [%s]" : "%s", axes->at ? unit : axes->along));
	canvas_label(&axes->canvas, EDGE, TOP - 5, ANCHOR_START, PRINTED(64, "%s [%s]", label, axes->unit_name));
}

/* The scales; then what is drawn can be measured. */
static void begin_axes(struct axes *axes, uint32_t ops, struct canvas_paper paper, int64_t bytes, int64_t limit)
{
	axes->limit = limit;
	axes->host = 0;
	axes->set = "";
	axes->along = "position in the order";
	bytes = LARGER(limit, bytes);
	axes->ops = ops;
	axes->steps = ops ? ops : 1;
	axes->at = NULL;
	axes->time = NULL;
	axes->below = 0;
	axes->bytes = bytes > 0 ? (double)bytes * PLOT / (PLOT - PHASE_ROOM - 5) : 1;
	axes->unit = axis_unit(bytes, &axes->unit_name);
	double top = axes->bytes / (double)axes->unit;
	axes->left = axis_margin(0, top, axis_step(top, TICKS), SMALL);
	axes->span = paper.width - axes->left - RIGHT;
}

/* Streams that do nothing have no row. False where memory is out. */
static bool figure_over_time(struct axes *axes, const struct plan *plan, const struct plan_time *time)
{
	double width = axes->left + axes->span + RIGHT;
	if (!time || !plan->graph->ops)
		return true;
	MAKE(axes->at, (size_t)axes->ops + 1);
	if (!axes->at)
		return false;
	axes->time = time;
	axes->steps = (double)time->time.total;
	axes->below = STREAMS_ROOM - 20;
	plan_time_places(time, plan->ordered->result.order, axes->ops, axes->at);
	FOR(s, time->model.streams) {
		axes->below += time->time.busy[s] > 0 ? STREAM : 0;
		axes->left = fmax(axes->left, EDGE + 5 + canvas_text_width(SMALL, plan_time_stream(plan->sharded, s)));
	}
	axes->span = width - axes->left - RIGHT;
	return true;
}

static const char *figure_phase_colour(int phase)
{
	return phase == PHASE_FORWARD ? "#0072B2" : phase == PHASE_BACKWARD
		? pipeline_colours[PART_BACKWARD] : phase == PHASE_UPDATE ? "#888888" : pipeline_colours[PART_WEIGHT];
}

/* What a stream does, a box for ops of a phase that follow each other closer than can be seen. */
static void figure_draw_stream(struct axes *axes, const struct plan *plan, uint32_t stream, double y)
{
	const struct step_model *model = &axes->time->model;
	double scale = axes->span / axes->steps, begin = 0, end = 0;
	int phase = -1;
	for (uint32_t i = 0; i <= model->ops; i++) {
		uint32_t op = i < model->ops ? model->sequence[i] : 0;
		if (i < model->ops && (model->stream[op] != stream || model->time[op] == 0))
			continue;
		double from = (double)axes->time->time.start[op] * scale, to = from + (double)model->time[op] * scale;
		int of = i < model->ops ? (int)plan->graph->op[model->of[op]].phase : -1;
		if (of == phase && from >= begin && from - end < 0.3) {
			end = to;
			continue;
		}
		if (phase >= 0 && end - begin >= BOX_LEAST)
			canvas_box(&axes->canvas, axes->left + begin, y, end - begin, STREAM - 3, figure_phase_colour(phase), NULL,
				phase_names[phase]);
		phase = of;
		begin = from;
		end = to;
	}
}

/* The device's streams below the plot, on its axis. */
static void figure_draw_streams(struct axes *axes, const struct plan *plan)
{
	double y = TOP + PLOT + STREAMS_ROOM;
	for (uint32_t s = 0; axes->time && s < axes->time->model.streams; s++) {
		if (axes->time->time.busy[s] <= 0)
			continue;
		canvas_label(&axes->canvas, axes->left - 4, y + STREAM - 5, ANCHOR_END, plan_time_stream(plan->sharded, s));
		figure_draw_stream(axes, plan, s, y);
		y += STREAM;
	}
}

/* Where the run of the phase at begin ends; what moves data belongs to the run that it is in. */
static uint32_t figure_phase_end(const struct plan *plan, uint32_t begin, int *phase)
{
	*phase = PHASE_COMMUNICATION;
	for (; begin < plan->graph->ops; begin++) {
		int next = plan->graph->op[plan->ordered->result.order[begin]].phase;
		if (next != *phase && next != PHASE_COMMUNICATION && *phase != PHASE_COMMUNICATION)
			break;
		*phase = next == PHASE_COMMUNICATION ? *phase : next;
	}
	return begin;
}

/* Phases as bands at the upper end of the plot. Runs without room for their names share one, "backward, update". */
static void figure_draw_phases(struct axes *axes, const struct plan *plan)
{
	const struct canvas_line line = { "#888888", 0.5, false };
	for (uint32_t begin = 0, end, bands = 0; begin < plan->graph->ops; begin = end) {
		bool in[PHASE_COUNT] = { false }, wide = false;
		char text[100] = "";
		for (end = begin; !wide && end < plan->graph->ops; ) {
			int phase;
			uint32_t next = figure_phase_end(plan, end, &phase);
			wide = figure_x_of(axes, next) - figure_x_of(axes, end) >
				canvas_text_width(CANVAS_SMALL, phase_names[phase]) + 4;
			if (wide && end > begin)
				break;
			if (!in[phase])
				snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? ", " : "", phase_names[phase]);
			in[phase] = true;
			end = next;
		}
		double x = figure_x_of(axes, begin), room = figure_x_of(axes, end) - x;
		canvas_box(&axes->canvas, x, TOP, room, PHASE_ROOM, bands++ % 2 ? "#FFFFFF" : "#F0F0F0", NULL, text);
		if (begin > 0)
			canvas_stroke(&axes->canvas, x, TOP, x, TOP + PLOT, &line);
		if (room > canvas_text_width(CANVAS_SMALL, text) + 4)
			canvas_text(&axes->canvas, x + 2, TOP + PHASE_ROOM - 3, CANVAS_SMALL, ANCHOR_START, false, INK, text);
	}
}

/* Above what is drawn, which would hide half of it. */
static void draw_frame(struct axes *axes)
{
	const struct canvas_line frame = { INK, 0.75, false };
	canvas_box(&axes->canvas, axes->left, TOP, axes->span, PLOT, NULL, &frame, NULL);
}

/* Boxes and names below the plot, and the note below them. */
static void figure_draw_legend(struct axes *axes, const bool there[GROUP_COUNT], const char *note)
{
	struct canvas_key key[GROUP_COUNT + 2 + PHASE_COUNT];
	int keys = 0;
	char limit[60], host[60];
	FOR_INT(group, GROUP_COUNT)
		if (there[group])
			key[keys++] = (struct canvas_key){ group_colours[group], group_names[group], SIGN_BOX };
	PRINT_TO(limit, "memory limit %s", BYTES(axes->limit));
	if (axes->limit >= 0)
		key[keys++] = (struct canvas_key){ INK, limit, SIGN_LINE };
	PRINT_TO(host, "host memory, at most %s", BYTES(axes->host));
	if (axes->host)
		key[keys++] = (struct canvas_key){ curve_colours[HOST], host, SIGN_LINE };
	for (int phase = 0; phase < PHASE_COUNT && axes->time; phase++)
		if (phase != PHASE_COMMUNICATION || axes->below > 2 * STREAM)
			key[keys++] = (struct canvas_key){ figure_phase_colour(phase), phase_names[phase], SIGN_BOX };
	canvas_legend(&axes->canvas, axes->left, axes->span, key, keys);
	canvas_note(&axes->canvas, axes->left, axes->span, note);
	canvas_note(&axes->canvas, axes->left, axes->span, axes->set);
}

static enum status figure_open_axes(struct axes *axes, struct canvas_paper paper, struct error *error)
{
	return canvas_open(&axes->canvas, paper, TOP + PLOT + BARE + axes->below) == OK ? OK : fail_memory(error);
}

/* ---- the timeline ---- */

struct thinned {
	int64_t (*group)[GROUP_COUNT];
	uint32_t keep[POINTS_MOST], count;
	struct canvas_point point[4 * POINTS_MOST];
};

/* The area between the sums below a group and with it; each position is one step wide. */
const char *const curve_colours[CURVES_MOST] = { "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9",
	"#222222" };

/* A staircase: each position is one step wide. */
static void figure_draw_curve(
	struct axes *axes, const struct curve *curve, uint32_t number, struct thinned *thinned)
{
	const struct canvas_line line = { curve_colours[number % CURVES_MOST], 1.2, number % 2 == 1 };
	size_t points = 0;
	thinned->count = timeline_thin(curve->live, curve->ops, POINTS_MOST, thinned->keep);
	FOR(k, thinned->count) {
		uint32_t position = thinned->keep[k], next = k + 1 < thinned->count ? thinned->keep[k + 1] : curve->ops;
		double y = figure_y_of(axes, (double)curve->live[position]);
		thinned->point[points++] = (struct canvas_point){ figure_x_of(axes, position), y };
		thinned->point[points++] = (struct canvas_point){ figure_x_of(axes, next), y };
	}
	canvas_path(&axes->canvas, thinned->point, points, NULL, &line);
	double x = figure_x_of(axes, curve->peak_position + 0.5), y = figure_y_of(axes, (double)curve->peak);
	canvas_box(&axes->canvas, x - 2, y - 2, 4, 4, line.colour, NULL, curve->name);
}

static void draw_area(struct axes *axes, struct thinned *thinned, int group)
{
	size_t points = 0;
	FOR(i, 2 * thinned->count) {
		bool back = i >= thinned->count;
		uint32_t k = back ? 2 * thinned->count - 1 - i : i, position = thinned->keep[k];
		uint32_t next = k + 1 < thinned->count ? thinned->keep[k + 1] : axes->ops;
		int64_t sum = 0;
		for (int below = 0; below < group + !back; below++)
			sum += thinned->group[position][below];
		double y = figure_y_of(axes, (double)sum);
		thinned->point[points++] = (struct canvas_point){ figure_x_of(axes, back ? next : position), y };
		thinned->point[points++] = (struct canvas_point){ figure_x_of(axes, back ? position : next), y };
	}
	canvas_path(&axes->canvas, thinned->point, points, group_colours[group], NULL);
}

static void figure_draw_level(struct axes *axes, int64_t bytes, const char *colour, bool dashed)
{
	const struct canvas_line line = { colour, 1, dashed };
	double y = figure_y_of(axes, (double)bytes);
	canvas_stroke(&axes->canvas, axes->left, y, axes->left + axes->span, y, &line);
}

static void figure_draw_limit(struct axes *axes)
{
	if (axes->limit >= 0)
		figure_draw_level(axes, axes->limit, INK, false);
}

static void figure_draw_peak(struct axes *axes, const struct plan *plan)
{
	if (plan->ordered->peak_position == NONE)
		return;
	double x = figure_x_of(axes, plan->ordered->peak_position + 0.5),
		   y = figure_y_of(axes, (double)plan_peak(plan));
	/* Above the ops that make it, which it must not cover. */
	canvas_path(&axes->canvas, (struct canvas_point[]){ { x - 3, y - 5 }, { x + 3, y - 5 }, { x, y } }, 3, INK, NULL);
	if (plan_bound(plan) > 0)
		figure_draw_level(axes, plan_bound(plan), INK, true);
}

/* ROAM's segments as boxes at the bottom, grey where they were halved, and a tick above them where a branch begins. */
static void figure_draw_segments(struct axes *axes, const struct plan *plan)
{
	const struct order_roam *roam = &plan->ordered->result.roam;
	const struct canvas_line edge = { INK, 0.3, false }, tick = { INK, 0.4, false };
	double y = figure_y_of(axes, 0) - SEGMENT;
	FOR(i, roam->segments) {
		const struct order_segment *segment = &roam->segment[i];
		double x = figure_x_of(axes, segment->first), width = figure_x_of(axes, segment->last + 1.0) - x;
		canvas_box(&axes->canvas, x, y, width, SEGMENT, segment->exact ? "#FFFFFF" : "#888888", width > 1 ? &edge : NULL,
			NULL);
	}
	double last = -1;
	for (uint32_t at = 0; roam->segments && at < plan->graph->ops; at++) {
		uint32_t op = plan->ordered->result.order[at], branch = roam->branch_of[op];
		double x = figure_x_of(axes, at + 0.5);
		if (branch == NONE || roam->branch[branch].op != op || x < last + 0.5)
			continue;
		canvas_stroke(&axes->canvas, x, y - 1, x, y - SEGMENT, &tick);
		last = x;
	}
}

/* Where the peak is, and what the dashed line says; "" of a graph without ops. */
static void timeline_note(const struct plan *plan, char *note, size_t size)
{
	const struct ordered *ordered = plan->ordered;
	if (ordered->peak_position == NONE)
		return;
	const struct op *peak = &plan->graph->op[ordered->result.order[ordered->peak_position]];
	struct words words = { note, size, 0 };
	words_add(&words, "peak at position %u: %.60s%s%.60s%s%.40s", ordered->peak_position, peak->name,
		peak->src ? " at " : "", peak->src ? words_of_place(peak->src) : "", peak->part ? " in part " : "",
		peak->part ? peak->part : "");
	if (plan_bound(plan) > 0)
		words_add(&words, "; dashed: no order needs less than %s%s",
			BYTES(plan_bound(plan)), plan_is_proved(plan) ? " (reached)" : "");
	if (ordered->result.roam.segments)
		words_add(&words, "; at the bottom: %u segments, grey: halved; ticks: %u branches",
			ordered->result.roam.segments, ordered->result.roam.branches);
}

/* Bytes that wait in the host's memory at each position, in curve->live. */
static enum status figure_host(const struct plan *plan, struct curve *curve)
{
	struct host_pool pool = { 0 };
	enum status status = host_pool_make(plan->graph, plan->ordered->position, 1, &pool);
	FOR_WHILE(i, pool.n, status == OK)
		FOR_FROM(at, pool.buffer[i].first, pool.buffer[i].last + 1)
			if ((curve->live[at] += pool.buffer[i].bytes) > curve->peak) {
				curve->peak = curve->live[at];
				curve->peak_position = at;
			}
	host_pool_free(&pool);
	return status;
}

enum status figure_timeline(const struct plan *plan, const struct plan_time *time, const char *set,
	struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct axes axes;
	struct curve host = { .name = "host memory", .ops = plan->graph->ops };
	HELD struct thinned *MAKE(thinned, 1);
	HELD int64_t *MAKE(live, host.ops + 1);
	host.live = live;
	enum status status = thinned && live && (thinned->group = timeline_groups(plan)) && figure_host(plan, &host) == OK
		? OK
		: fail_memory(error);
	bool there[GROUP_COUNT] = { false };
	char note[300] = "", name[CANVAS_CUT];
	FOR_WHILE(i, plan->graph->ops, status == OK)
		FOR_INT(group, GROUP_COUNT)
			there[group] |= thinned->group[i][group] > 0;
	timeline_note(plan, note, sizeof note);
	begin_axes(&axes, plan->graph->ops, paper, LARGER(host.peak, plan_peak(plan)),
		timeline_limit(plan, plan_peak(plan)));
	axes.set = set;
	axes.host = host.peak;
	THEN(status, figure_over_time(&axes, plan, time) ? OK : fail_memory(error));
	THEN(status, figure_open_axes(&axes, paper, error));
	if (status == OK) {
		thinned->count = timeline_thin(plan->ordered->live, plan->graph->ops, POINTS_MOST, thinned->keep);
		figure_draw_title(&axes, figure_subject(plan, name, sizeof name), "peak", plan_peak(plan));
		figure_draw_axes(&axes, "live memory");
		figure_draw_streams(&axes, plan);
		figure_draw_phases(&axes, plan);
		FOR_INT(group, GROUP_COUNT)
			if (there[group])
				draw_area(&axes, thinned, group);
		if (host.peak)
			figure_draw_curve(&axes, &host, HOST, thinned);
		figure_draw_segments(&axes, plan);
		draw_frame(&axes);
		figure_draw_limit(&axes);
		figure_draw_peak(&axes, plan);
		figure_draw_legend(&axes, there, note);
		status = canvas_close(&axes.canvas, stream, error);
	}
	if (thinned)
		mem_free(thinned->group);
	mem_free(axes.at);
	return status;
}

/* ---- the address map ---- */

struct box { double x, y, width, height; };

/* Where an item of the layout stands that is there; false where its box can't be seen. */
static bool box_of(const struct axes *axes, const struct plan *plan, uint32_t item, struct box *box)
{
	box->x = figure_x_of(axes, plan->laid_out->first[item]);
	box->width = figure_x_of(axes, plan->laid_out->last[item] + 1.0) - box->x;
	box->y = figure_y_of(axes, (double)(plan->laid_out->offset[item] + plan->laid_out->bytes[item]));
	box->height = figure_y_of(axes, (double)plan->laid_out->offset[item]) - box->y;
	return box->width >= BOX_LEAST && box->height >= BOX_LEAST;
}

/* A box, with its name where that has room. */
static void figure_draw_box(struct axes *axes, struct box box, int group, const char *name)
{
	const struct canvas_line edge = { "#888888", 0.2, false }; /* holes are white */
	bool dark = group == GROUP_GRADIENT || group == GROUP_WORKSPACE;
	canvas_box(&axes->canvas, box.x, box.y, box.width, box.height, group_colours[group],
		box.width > EDGED && box.height > EDGED ? &edge : NULL, name);
	if (box.height > CANVAS_SMALL + 2 && canvas_text_width(CANVAS_SMALL, name) + 4 < box.width)
		canvas_text(&axes->canvas, box.x + 2, box.y + box.height / 2 + CANVAS_SMALL / 3, CANVAS_SMALL, ANCHOR_START, false,
			dark ? "#FFFFFF" : INK, name);
}

static void draw_boxes(struct axes *axes, const struct plan *plan)
{
	struct box box;
	FOR(item, plan->laid_out->items)
		if (plan->laid_out->first[item] != NONE && box_of(axes, plan, item, &box))
			figure_draw_box(axes, box, (int)group_of_kind(item_kind(plan, item)), item_name(plan, item));
}

/* What ends the arena where holes make it higher than the peak: below it there was no room. */
static bool figure_is_on_top(const struct plan *plan, uint32_t item)
{
	const struct laid_out *laid_out = plan->laid_out;
	return plan_arena(plan) > plan_peak(plan) && laid_out->first[item] != NONE &&
		laid_out->offset[item] + laid_out->bytes[item] == plan_arena(plan);
}

enum status figure_map(const struct plan *plan, const struct plan_time *time, const char *set,
	struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct axes axes;
	bool there[GROUP_COUNT] = { false };
	uint32_t small = 0;
	char note[100] = "";
	struct box box;
	begin_axes(&axes, plan->graph->ops, paper, plan_arena(plan), timeline_limit(plan, plan_arena(plan)));
	axes.set = set;
	NEEDED(error, figure_over_time(&axes, plan, time));
	HELD int64_t *at = axes.at;      /* which goes with this block */
	(void)at;
	FOR(item, plan->laid_out->items)
		if (plan->laid_out->first[item] != NONE) {
			there[group_of_kind(item_kind(plan, item))] = true;
			small += !box_of(&axes, plan, item, &box);
		}
	struct words words = { note, sizeof note, 0 };
	if (small)
		words_add(&words, "%u buffer%s too small to see", small, small == 1 ? " is" : "s are");
	if (plan_arena(plan) > plan_peak(plan))
		words_add(&words, "%soutlined: what fits nowhere lower", small ? "; " : "");
	TRY(figure_open_axes(&axes, paper, error));
	figure_draw_title(&axes, figure_subject(plan, TEXT(CANVAS_CUT)), "arena", plan_arena(plan));
	figure_draw_axes(&axes, "address");
	figure_draw_streams(&axes, plan);
	figure_draw_phases(&axes, plan);
	draw_boxes(&axes, plan);
	FOR(item, plan->laid_out->items)
		if (figure_is_on_top(plan, item) && box_of(&axes, plan, item, &box))
			canvas_box(&axes.canvas, box.x, box.y, box.width, box.height, NULL, &(struct canvas_line){ INK, 1.2, false }, NULL);
	draw_frame(&axes);
	figure_draw_limit(&axes);
	figure_draw_level(&axes, plan_arena(plan), ALARM, false);
	figure_draw_legend(&axes, there, note);
	return canvas_close(&axes.canvas, stream, error);
}

/* ---- buffers of files ---- */

enum status figure_boxes(const struct boxes *boxes, struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct axes axes;
	int64_t arena = 0;
	FOR(i, boxes->boxes)
		arena = LARGER(boxes->box[i].offset + boxes->box[i].bytes, arena);
	begin_axes(&axes, 0, paper, arena, -1);
	axes.steps = fmax(boxes->end, 1);
	axes.along = boxes->time;
	TRY(figure_open_axes(&axes, paper, error));
	figure_draw_title(&axes, boxes->name, "arena", arena);
	figure_draw_axes(&axes, "address");
	FOR(i, boxes->boxes) {
		const struct address_box *box = &boxes->box[i];
		double x = axes.left + axes.span * box->first / axes.steps, wide = axes.span * (box->end - box->first) / axes.steps,
			   y = figure_y_of(&axes, (double)(box->offset + box->bytes)), high = figure_y_of(&axes, (double)box->offset) - y;
		if (wide >= BOX_LEAST && high >= BOX_LEAST)
			figure_draw_box(&axes, (struct box){ x, y, wide, high }, box->group, box->name);
	}
	draw_frame(&axes);
	figure_draw_level(&axes, arena, ALARM, false);
	return canvas_close(&axes.canvas, stream, error);
}

/* ---- several plans ---- */

/* Names with their peaks, below the plot. */
static void draw_names(struct axes *axes, const struct curve *curve, uint32_t curves)
{
	struct canvas_key key[CURVES_MOST];
	char name[CURVES_MOST][CANVAS_CUT + 40], peak[40], cut[CANVAS_CUT];
	FOR(i, curves) {
		PRINT_TO(peak, ": %s", BYTES(curve[i].peak));
		PRINT_TO(name[i], "%s%s",
			canvas_cut(SMALL, axes->span - 16 - canvas_text_width(SMALL, peak), curve[i].name, cut), peak);
		key[i] = (struct canvas_key){ curve_colours[i], name[i], i % 2 ? SIGN_DASHES : SIGN_LINE };
	}
	canvas_legend(&axes->canvas, axes->left, axes->span, key, (int)curves);
}

const char *curves_title(const struct curve *curve, uint32_t curves, double width, char title[CANVAS_CUT])
{
	char count[32], cut[CANVAS_CUT];
	bool same = *curve[0].graph;
	FOR_FROM(i, 1, curves)
		same &= text_is(curve[i].graph, curve[0].graph);
	if (curves == 1)
		return canvas_cut(BOLD, width - EDGE - 2, *curve->graph ? curve->graph : "1 plan", title);
	PRINT_TO(count, "%s%u plans", same ? ": " : "", curves);
	double room = width - EDGE - 2 - canvas_text_width(BOLD, count);
	snprintf(title, CANVAS_CUT, "%s%s", same ? canvas_cut(BOLD, room, curve[0].graph, cut) : "", count);
	return title;
}

enum status figure_curves(
	const struct curve *curve, uint32_t curves, struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct axes axes;
	char title[CANVAS_CUT];
	HELD struct thinned *MAKE(thinned, 1);
	uint32_t ops = 0;
	int64_t most = 0;
	FOR(i, curves) {
		ops = LARGER(curve[i].ops, ops);
		most = LARGER(curve[i].peak, most);
	}
	begin_axes(&axes, ops, paper, most, -1);
	TRY(thinned ? figure_open_axes(&axes, paper, error) : fail_memory(error));
	canvas_title(&axes.canvas, EDGE, TOP - 16, curves_title(curve, curves, paper.width, title));
	figure_draw_axes(&axes, "live memory");
	FOR(i, curves)
		figure_draw_curve(&axes, &curve[i], i, thinned);
	draw_frame(&axes);
	draw_names(&axes, curve, curves);
	return canvas_close(&axes.canvas, stream, error);
}

/* ---- side by side ---- */

enum status figure_pair(
	const struct curve *curve, uint32_t curves, struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct axes axes;
	static const char *const letters = "abcd"; /* of an array gcc 12 dies under sanitizers */
	char title[CANVAS_CUT];
	bool there[GROUP_COUNT] = { false };
	int64_t most = 0;
	HELD struct thinned *MAKE(thinned, 1);
	FOR(i, curves)
		most = LARGER(curve[i].peak, most);
	begin_axes(&axes, 0, paper, most, -1);
	TRY(thinned ? figure_open_axes(&axes, paper, error) : fail_memory(error));
	canvas_title(&axes.canvas, EDGE, TOP - 16, curves_title(curve, curves, paper.width, title));
	const double left = axes.left, wide = axes.span, span = (wide - BETWEEN * (curves - 1)) / curves;
	char names[PAIR_MOST * CANVAS_CUT] = "";
	struct words note = { names, sizeof names, 0 };
	bool roomy = true;
	FOR(i, curves)
		roomy &= canvas_text_width(SMALL, curve[i].name) + canvas_text_width(SMALL, ": 99.9 MiB") < span - 4;
	FOR_WHILE(i, curves, !roomy)
		words_add(&note, "%c: %s; ", letters[i], curve[i].name);
	words_add(&note, "dashed line: the peak");
	canvas_label(&axes.canvas, EDGE, TOP - 5, ANCHOR_START,
		PRINTED(CANVAS_CUT + 40, "live memory [%s]", axes.unit_name));
	FOR(i, curves) {
		axes.left = left + (span + BETWEEN) * i;
		axes.span = span;
		axes.ops = curve[i].ops;
		axes.steps = curve[i].ops;
		thinned->group = curve[i].group;
		thinned->count = timeline_thin(curve[i].live, curve[i].ops, POINTS_MOST, thinned->keep);
		if (i == 0)
			axis_beside(&axes.canvas, left, wide, TOP, PLOT, 0, axes.bytes / (double)axes.unit, TICKS);
		if (i > 0)
			canvas_box(&axes.canvas, axes.left - BETWEEN + 0.4, TOP, BETWEEN - 0.8, PLOT + 1, "#FFFFFF", NULL, NULL);
		axis_below(&axes.canvas, axes.left, span, TOP + PLOT, 0, 0, axes.steps, 1, axes.along);
		FOR_INT(group, GROUP_COUNT) {
			bool here = false;
			FOR_WHILE(k, curve[i].ops, !here)
				here = curve[i].group[k][group] > 0;
			there[group] |= here;
			if (here)
				draw_area(&axes, thinned, group);
		}
		draw_frame(&axes);
		figure_draw_level(&axes, curve[i].peak, INK, true);
		canvas_label(&axes.canvas, axes.left + 3, TOP + PHASE_ROOM - 2, ANCHOR_START,
			PRINTED(CANVAS_CUT + 40, "%.*s: %s", roomy ? CANVAS_CUT - 1 : 1, roomy ? curve[i].name : &letters[i],
			BYTES(curve[i].peak)));
	}
	axes.left = left;
	axes.span = wide;
	figure_draw_legend(&axes, there, names);
	return canvas_close(&axes.canvas, stream, error);
}
