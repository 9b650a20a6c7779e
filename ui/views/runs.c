/* runs.c: every plan so far, and below how the selected one differs from the baseline, all as points, or the solver's
 * log. */
#include "devices.h"
#include "runs_plot.h"
#include "src/plan/verdict.h"

/* runs_log: how a run's order came about: best and bound over the effort. */

enum { EFFORT = 12, PEAK = 24, BOUND = 35, LOG_GAP = 45, BY = 47 };

static void runs_log_draw_bound(struct frame *frame, int y, int64_t best, int64_t bound, bool proved)
{
	char text[32];
	frame_right(frame, PEAK, y, ROLE_TEXT, bytes_text(best, text, sizeof text));
	if (bound < 0)
		return;
	frame_right(frame, BOUND, y, ROLE_BOUND, bytes_text(bound, text, sizeof text));
	frame_right(
		frame, LOG_GAP, y, proved ? ROLE_GOOD : ROLE_WARN, proved ? "proved" : gap_text(best, bound, text, sizeof text));
}

static void draw_improvement(struct frame *frame, int y, const struct improvement *improvement)
{
	char text[32];
	frame_right(frame, EFFORT, y, ROLE_FAINT, count_text(improvement->ticks, text));
	runs_log_draw_bound(frame, y, improvement->peak, improvement->bound, improvement->peak == improvement->bound);
	frame_name(frame, BY, y, frame->window.width - BY, ROLE_TEXT, improvement->winner ? improvement->winner : "");
}

/* What the bounds rest on. */
static void draw_grounds(struct frame *frame, struct rect rect, const struct plan *plan)
{
	char ground[300], text[400], bytes[32];
	snprintf(text, sizeof text, "no order is below %s: %s", bytes_text(plan_bound(plan), bytes, sizeof bytes),
		 plan_order_ground(plan, (size_t)rect.width, ground, sizeof ground));
	frame_wrapped(frame, rect, ROLE_FAINT, text);
	int used = text_rows(text, rect.width);
	snprintf(text, sizeof text, "no layout is below %s: %s",
		bytes_text(plan->laid_out->layout.proof.bound, bytes, sizeof bytes),
		plan_layout_ground(plan, ground, sizeof ground));
	frame_wrapped(frame, (struct rect){ rect.x, rect.y + used, rect.width, rect.height - used }, ROLE_FAINT, text);
}

/* A row for each improvement, the newest at the bottom, and the layout's result below them. */
static void runs_log_draw(struct frame *frame, struct rect rect, const struct plan *plan)
{
	const struct ordered *ordered = plan->ordered;
	int rows = rect.height - 2;
	uint32_t shown = rows > 0 ? (uint32_t)rows : 0,
			 first = ordered->improvements > shown ? ordered->improvements - shown : 0;
	frame_right(frame, EFFORT, rect.y, ROLE_LABEL, "ticks");
	frame_right(frame, PEAK, rect.y, ROLE_LABEL, "best");
	frame_right(frame, BOUND, rect.y, ROLE_LABEL, "bound");
	frame_right(frame, LOG_GAP, rect.y, ROLE_LABEL, "gap");
	frame_text(frame, BY, rect.y, rect.width - BY, ROLE_LABEL, "order by");
	int y = rect.y + 1;
	for (uint32_t i = first; i < ordered->improvements; i++)
		draw_improvement(frame, y++, &ordered->improvement[i]);
	if (y >= rect.y + rect.height)
		return;
	frame_right(frame, EFFORT, y, ROLE_LABEL, "layout");
	runs_log_draw_bound(
		frame, y, plan_arena(plan), plan->laid_out->layout.proof.bound, proof_closed(&plan->laid_out->layout.proof));
	frame_name(frame, BY, y, rect.width - BY, ROLE_TEXT,
		plan->laid_out->layout.strategy ? plan->laid_out->layout.strategy : "");
	draw_grounds(frame, (struct rect){ 1, y + 2, rect.width - 2, rect.y + rect.height - y - 2 }, plan);
}

enum pane { PANE_DIFFERENCES, PANE_PLOT, PANE_LOG, PANES };

struct runs {
	uint32_t selected, top, seen; /* seen: runs at the last drawing; the newest is selected when one comes */
	int page;
	enum pane pane;
	int axis_after;   /* the plot's axis, counted from work */
	bool axis_chosen; /* else it is the first that runs_plot.h names */
	uint64_t shown;   /* fingerprint of the plan on the screen at the last drawing */
	double *work;     /* [runs] of the plans up to serial */
	uint64_t serial;
	uint32_t works;
	bool flops;
};

/* On high screens the plot stands between the runs and the other panes. */
enum {
	NEEDS = 12,
	WORK = 14,
	RATE = 14,
	MFU = 8,
	KNOBS_LEAST = 48
}; /* widths of columns of wide windows; what they leave to the knobs */
enum {
	DIFFERENCE_ROWS = 9,
	PLOT_ROWS = 12,
	LIST_ROWS = 8,
	GAP = 23,
	ARENA = 33,
	STEP = 44,
	STEP_FROM = 64,
	ARENA_FROM = 56
};

static void runs_free(void *state)
{
	struct runs *runs = state;
	mem_free(runs->work);
	runs->work = NULL;
}

/* The knobs of a scenario that are not at their default: "order=list layout=bestfit"; "defaults" where all are. */
static void scenario_text(const struct scenario *scenario, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (int i = 0; i < KNOB_COUNT && used < size; i++) {
		char value[64];
		if (scenario->value[i] != knobs[i].normal)
			used += (size_t)snprintf(text + used, size - used, "%s%s=%s", used ? " " : "", knobs[i].name,
						 knob_text((enum knob_id)i, scenario->value[i], value, sizeof value));
	}
	if (scenario->pins && used < size)
		used += (size_t)snprintf(
			text + used, size - used, "%s%u pin%s", used ? " " : "", scenario->pins, scenario->pins == 1 ? "" : "s");
	if (used == 0)
		snprintf(text, size, "defaults");
}

/* In narrow windows the knobs take the place of the arena. */
static int knobs_column(const struct frame *frame, bool timed)
{
	return frame->window.width < ARENA_FROM ? GAP + 2 : timed && frame->window.width >= STEP_FROM ? STEP + 2 : ARENA + 2;
}

/* In wide windows more columns stand before the knobs: how many of what a device needs, the work of a device, tokens
 * or samples a second and device, and the MFU. */
static int more_columns(const struct frame *frame, bool timed)
{
	int room = frame->window.width - knobs_column(frame, timed) - KNOBS_LEAST;
	return room < NEEDS ? 0
		: room < NEEDS + WORK ? 1
		: room < NEEDS + WORK + RATE || !timed ? 2
		: room < NEEDS + WORK + RATE + MFU ? 3
		: 4;
}

static int more_width(int columns)
{
	return (columns > 0 ? NEEDS : 0) + (columns > 1 ? WORK : 0) + (columns > 2 ? RATE : 0) + (columns > 3 ? MFU : 0);
}

/* Where the step's time ends: a column of its own, or in narrow windows that of the gap. */
static int step_column(const struct frame *frame)
{
	return frame->window.width >= STEP_FROM ? STEP : GAP;
}

/* The axis of the plot. */
static int axis_of(const struct runs *runs, const struct model *model)
{
	return runs->axis_chosen ? runs->axis_after + AXIS_WORK : runs_plot_first_axis(model);
}

static void views_runs_draw_header(struct frame *frame, int y, const struct model *model)
{
	frame_right(frame, 4, y, ROLE_LABEL, "#");
	frame_right(frame, 14, y, ROLE_LABEL, "peak");
	bool timed = runs_plot_first_axis(model) == AXIS_TIME;
	if (!timed || step_column(frame) != GAP)
		frame_right(frame, GAP, y, ROLE_LABEL, "gap");
	if (timed)
		frame_right(frame, step_column(frame), y, ROLE_LABEL, "step");
	int knobs_at = knobs_column(frame, timed);
	if (knobs_at > ARENA)
		frame_right(frame, ARENA, y, ROLE_LABEL, "arena");
	const char *const more[] = { "needs", "work", model->plan->speed.tokens > 0 ? "tokens/s/dev" : "samples/s/dev",
		"MFU" };
	for (int i = 0; i < more_columns(frame, timed); i++)
		frame_right(frame, knobs_at - 2 + more_width(i + 1), y, ROLE_LABEL, more[i]);
	knobs_at += more_width(more_columns(frame, timed));
	frame_text(frame, knobs_at, y, frame->window.width - knobs_at, ROLE_LABEL,
		model->baseline ? "knobs (* baseline)" : "knobs");
}

static void views_runs_draw_more(
	struct frame *frame, int x, int y, const struct runs *runs, const struct plan *plan, uint32_t i, int columns)
{
	char text[32] = "-";
	if (columns > 0)
		frame_right(frame, x + more_width(1), y, ROLE_FAINT, bytes_text(plan_verdict(plan).needed, text, sizeof text));
	if (columns > 1 && runs->works > i && runs->flops)
		frame_right(frame, x + more_width(2), y, ROLE_FAINT, flops_text(runs->work[i], text, sizeof text));
	else if (columns > 1 && runs->works > i)
		frame_right(frame, x + more_width(2), y, ROLE_FAINT, (snprintf(text, sizeof text, "%.0f ops", runs->work[i]), text));
	double rate = plan_speed_rate(&plan->speed);
	if (columns > 2 && rate > 0)
		frame_right(frame, x + more_width(3), y, ROLE_FAINT,
			(snprintf(text, sizeof text, rate < 100 ? "%.4g" : "%.0f", rate), text));
	if (columns > 3 && plan->speed.mfu >= 0)
		frame_right(frame, x + more_width(4), y, ROLE_FAINT,
			(snprintf(text, sizeof text, "%.1f %%", 100 * plan->speed.mfu), text));
}

static void views_runs_draw_run(
	struct frame *frame, int y, const struct runs *runs, const struct model *model, uint32_t i, bool selected)
{
	const struct plan *plan = model->run[i];
	char text[300];
	bool on_screen = plan->fingerprint == model->plan->fingerprint;
	frame_text(frame, 0, y, 1, ROLE_KEY, on_screen ? ">" : " ");
	snprintf(text, sizeof text, "%u", i + 1);
	frame_right(frame, 4, y, ROLE_FAINT, text);
	if (model->baseline && plan->fingerprint == model->baseline->fingerprint)
		frame_text(frame, 4, y, 1, ROLE_BASELINE, "*");
	int64_t budget = plan_budget(plan);
	frame_right(frame, 14, y, budget >= 0 && plan_peak(plan) > budget ? ROLE_BAD : ROLE_TEXT,
		bytes_text(plan_peak(plan), text, sizeof text));
	bool timed = runs_plot_first_axis(model) == AXIS_TIME;
	if (!timed || step_column(frame) != GAP)
		frame_right(frame, GAP, y, plan_is_proved(plan) ? ROLE_GOOD : ROLE_WARN,
			    plan_is_proved(plan) ? "proved" : gap_text(plan_peak(plan), plan_bound(plan), text, sizeof text));
	if (timed)
		frame_right(frame, step_column(frame), y, plan->speed.time > 0 ? ROLE_TEXT : ROLE_FAINT,
			    plan->speed.time < 0 ? "-" : time_text(plan->speed.time, text, sizeof text));
	int knobs_at = knobs_column(frame, timed);
	if (knobs_at > ARENA)
		frame_right(frame, ARENA, y, proof_closed(&plan->laid_out->layout.proof) ? ROLE_GOOD : ROLE_TEXT,
			bytes_text(plan_arena(plan), text, sizeof text));
	int more = more_columns(frame, timed);
	views_runs_draw_more(frame, knobs_at - 2, y, runs, plan, i, more);
	knobs_at += more_width(more);
	if (plan_verdict(plan).guess)
		knobs_at += frame_text(frame, knobs_at, y, frame->window.width - knobs_at, ROLE_WARN, "guess: ");
	scenario_text(&plan->scenario, text, sizeof text);
	frame_name(frame, knobs_at, y, frame->window.width - knobs_at, ROLE_TEXT, text);
	if (selected)
		frame_mark(frame, (struct rect){ 0, y, frame->window.width, 1 }, MARK_REVERSE);
}

/* One amount of both plans and the change between them. */
static void views_runs_draw_amount(struct frame *frame, int y, const char *what, int64_t theirs, int64_t ours)
{
	char text[32];
	frame_text(frame, 1, y, 14, ROLE_TEXT, what);
	frame_right(frame, 27, y, ROLE_BASELINE, bytes_text(theirs, text, sizeof text));
	frame_right(frame, 39, y, ROLE_TEXT, bytes_text(ours, text, sizeof text));
	enum role role = ours < theirs ? ROLE_GOOD : ours > theirs ? ROLE_BAD : ROLE_FAINT;
	frame_right(frame, 52, y, role, change_text(ours - theirs, text, sizeof text));
}

/* The times of a step, where they are known and differ; else false. */
static bool draw_times(struct frame *frame, int y, const struct plan *theirs, const struct plan *ours)
{
	char text[32];
	if (theirs->speed.time <= 0 || ours->speed.time <= 0 ||
		(theirs->speed.time == ours->speed.time && !ours->transformed->sharded))
		return false;
	double from = (double)theirs->speed.time, to = (double)ours->speed.time;
	frame_text(frame, 1, y, 14, ROLE_TEXT, "step");
	frame_right(frame, 27, y, ROLE_BASELINE, time_text(theirs->speed.time, text, sizeof text));
	frame_right(frame, 39, y, ROLE_TEXT, time_text(ours->speed.time, text, sizeof text));
	snprintf(text, sizeof text, "%+.1f %%", from > 0 ? 100 * (to - from) / from : 0.0);
	frame_right(frame, 52, y, to < from ? ROLE_GOOD : to > from ? ROLE_BAD : ROLE_FAINT, text);
	return true;
}

/* Of a step over devices: what its order gains. Returns the rows it takes. */
static int draw_gain(struct frame *frame, int y, const struct plan *plan)
{
	char text[120];
	if (plan->transformed->sharded)
		frame_text(frame, 1, y, frame->window.width - 1, ROLE_FAINT, plan_gain_text(plan, text, sizeof text));
	return plan->transformed->sharded != NULL;
}

/* Knobs whose values come to the same change nothing. */
static void draw_knob_changes(struct frame *frame, int x, int y, int end, const struct given *given,
	const struct plan *theirs, const struct plan *ours)
{
	int left = 0;
	for (int i = 0; i < KNOB_COUNT; i++)
		left += !knob_means_same((enum knob_id)i, given, theirs, ours);
	for (int i = 0; i < KNOB_COUNT && y < end; i++) {
		char from[64], to[64];
		if (knob_means_same((enum knob_id)i, given, theirs, ours))
			continue;
		if (y + 1 == end && left > 1) {
			frame_print(frame, x, y, ROLE_FAINT, "and %d more knobs", left);
			return;
		}
		left--;
		knob_text((enum knob_id)i, theirs->scenario.value[i], from, sizeof from);
		knob_text((enum knob_id)i, ours->scenario.value[i], to, sizeof to);
		frame_print(frame, x, y++, ROLE_TEXT, "%s: %s, was %s", knobs[i].name, to, from);
	}
}

/* What at its peak only the baseline has, and only the plan, by what asked for it: the largest of each. */
static void draw_holders(struct frame *frame, struct rect rect, const struct beside *beside)
{
	static const char *const heads[2] = { "at its peak only the baseline has", "at its peak only this plan has" };
	int y = rect.y;
	char text[32];
	for (int side = 0; side < 2; side++) {
		int64_t sum = 0;
		for (uint32_t i = 0; i < beside->holders[side]; i++)
			sum += beside->holder[side][i].bytes;
		frame_print(frame, rect.x, y++, side == 0 ? ROLE_BASELINE : ROLE_LABEL, "%s %s", heads[side],
			bytes_text(sum, text, sizeof text));
		for (uint32_t i = 0; i < beside->holders[side] && i + 1 < (uint32_t)rect.height / 2; i++) {
			frame_right(frame, rect.x + 10, y, ROLE_TEXT, bytes_text(beside->holder[side][i].bytes, text, sizeof text));
			frame_name(frame, rect.x + 12, y++, rect.width - 12, ROLE_TEXT, beside->holder[side][i].place);
		}
	}
}

/* Baseline against the selected plan, or what to do to have one. */
static void draw_differences(struct frame *frame, int y, const struct model *model, uint32_t selected)
{
	const struct plan *ours = model->run[selected], *theirs = model->baseline;
	if (!theirs) {
		frame_wrapped(frame, (struct rect){ 1, y + 1, frame->window.width - 1, 3 }, ROLE_FAINT,
			      "b makes the plan on screen the baseline; then differences appear here");
		draw_gain(frame, y + 4, ours);
		return;
	}
	frame_right(frame, 27, y + 1, ROLE_LABEL, "baseline");
	char text[32];
	snprintf(text, sizeof text, "run %u", selected + 1);
	frame_right(frame, 39, y + 1, ROLE_LABEL, text);
	frame_right(frame, 52, y + 1, ROLE_LABEL, "change");
	bool beside = frame->window.width >= 84;
	int row = y + 2;
	views_runs_draw_amount(frame, row++, "peak", plan_peak(theirs), plan_peak(ours));
	if (beside) /* else the knobs need its row */
		views_runs_draw_amount(frame, row++, "bound", plan_bound(theirs), plan_bound(ours));
	views_runs_draw_amount(frame, row++, "arena", plan_arena(theirs), plan_arena(ours));
	views_runs_draw_amount(frame, row++, "persistent", theirs->ordered->problem.base, ours->ordered->problem.base);
	views_runs_draw_amount(frame, row++, "needs", plan_verdict(theirs).needed, plan_verdict(ours).needed);
	row += draw_times(frame, row, theirs, ours);
	row += draw_gain(frame, row, ours);
	if (model->beside && ours->serial == model->plan->serial) {
		if (beside)
			draw_holders(frame, (struct rect){ 56, y + 1, frame->window.width - 56, DIFFERENCE_ROWS - 1 }, model->beside);
		return;
	}
	draw_knob_changes(frame, beside ? 56 : 1, beside ? y + 2 : row, y + DIFFERENCE_ROWS, &model->given, theirs, ours);
}

/* The work of every run is summed once. */
static bool views_runs_find_work(struct runs *runs, const struct model *model)
{
	uint64_t newest = model->runs ? model->run[model->runs - 1]->serial : 0;
	if (runs->work && runs->works == model->runs && runs->serial == newest)
		return true;
	double *work = mem_resize(runs->work, model->runs ? model->runs : 1, sizeof *work);
	if (!work)
		return false;
	runs->work = work;
	runs->works = model->runs;
	runs->serial = newest;
	runs->flops = runs_work(model, work);
	return true;
}

static void views_runs_draw_pane(
	struct frame *frame, struct rect rect, struct runs *runs, const struct model *model, enum pane pane)
{
	frame_repeat(frame, 0, rect.y, frame->window.width, GLYPH_HORIZONTAL, ROLE_LINE);
	struct rect inside = { 0, rect.y + 1, rect.width, rect.height - 1 };
	if (pane == PANE_DIFFERENCES)
		draw_differences(frame, rect.y, model, runs->selected);
	else if (pane == PANE_LOG)
		runs_log_draw(frame, inside, model->run[runs->selected]);
	else if (views_runs_find_work(runs, model))
		runs_plot_draw(frame, inside, model, axis_of(runs, model), runs->work, runs->flops, runs->selected);
}

static void runs_draw(void *state, struct model *model, struct frame *frame)
{
	struct runs *runs = state;
	int width = frame->window.width, height = frame->window.height,
		below = height >= DIFFERENCE_ROWS + 5 ? DIFFERENCE_ROWS : 0;
	bool both = height >= LIST_ROWS + PLOT_ROWS + DIFFERENCE_ROWS, alone = runs->pane == PANE_PLOT && !both;
	int plot = both ? PLOT_ROWS + (height - LIST_ROWS - PLOT_ROWS - DIFFERENCE_ROWS) / 2 : 0;
	if (below && (alone || runs->pane == PANE_LOG))
		below = height - 1 - plot - LIST_ROWS / 2 > below ? height - 1 - plot - LIST_ROWS / 2 : below;
	runs->page = height - 1 - below - plot;
	if (runs->seen != model->runs)
		runs->selected = model->runs ? model->runs - 1 : 0;
	for (uint32_t i = 0; i < model->runs && runs->shown != model->plan->fingerprint; i++)
		if (model->run[i]->fingerprint == model->plan->fingerprint)
			runs->selected = i; /* undo and redo go back to a run that is there */
	runs->seen = model->runs;
	runs->shown = model->plan->fingerprint;
	if (more_columns(frame, runs_plot_first_axis(model) == AXIS_TIME) > 1)
		views_runs_find_work(runs, model);
	views_runs_draw_header(frame, 0, model);
	runs->top = scroll_to(runs->top, runs->selected, model->runs, runs->page);
	for (int i = 0; i < runs->page && runs->top + (uint32_t)i < model->runs; i++)
		views_runs_draw_run(frame, 1 + i, runs, model, runs->top + (uint32_t)i, runs->top + (uint32_t)i == runs->selected);
	if (!model->runs)
		return;
	if (plot)
		views_runs_draw_pane(frame, (struct rect){ 0, height - below - plot, width, plot }, runs, model, PANE_PLOT);
	enum pane pane = both && runs->pane == PANE_PLOT ? PANE_DIFFERENCES : runs->pane;
	if (below)
		views_runs_draw_pane(frame, (struct rect){ 0, height - below, width, below }, runs, model, pane);
}

/* Enter turns all knobs to those of the selected run, in one step. */
static void request_scenario(const struct runs *runs, struct model *model)
{
	const struct scenario *scenario = &model->run[runs->selected]->scenario;
	char line[sizeof model->request] = "set", value[64];
	size_t used = strlen(line);
	bool any = false;
	for (int i = 0; i < KNOB_COUNT && used < sizeof line; i++)
		if (scenario->value[i] != model->scenario->value[i]) {
			any = true;
			used += (size_t)snprintf(line + used, sizeof line - used, " %s=%s", knobs[i].name,
				knob_text((enum knob_id)i, scenario->value[i], value, sizeof value));
		}
	if (any)
		view_request(model, false, "%s", line);
	else
		view_say(model, "this run has the knobs that are set now");
}

static bool runs_command(void *state, struct model *model, enum command_id command)
{
	static const char *const panes[PANES] = { "the differences", "the plot", "the solver's log" };
	struct runs *runs = state;
	if (command == COMMAND_PART || command == COMMAND_PART_BACK) {
		runs->pane = (runs->pane + (command == COMMAND_PART ? 1 : PANES - 1)) % PANES;
		view_say(model, "below: %s", panes[runs->pane]);
		return true;
	}
	if (command == COMMAND_SORT) {
		int axis = runs_plot_next_axis(model, axis_of(runs, model));
		runs->axis_after = axis - AXIS_WORK;
		runs->axis_chosen = true;
		runs->pane = PANE_PLOT;
		view_say(model, "the plot is over %s", runs_plot_axis_name(axis));
		return true;
	}
	if (command == COMMAND_CLICK) {
		uint32_t row = runs->top + (uint32_t)(model->click_y - 1);
		if (model->click_y >= 1 && model->click_y <= runs->page && row < model->runs)
			runs->selected = row;
		return true;
	}
	if (command == COMMAND_ACTIVATE && runs->selected < model->runs) {
		request_scenario(runs, model);
		return true;
	}
	return row_command(command, &runs->selected, model->runs, runs->page) || view_command(model, command);
}

const struct view_ops view_runs = { "Runs", IN_RUNS, sizeof(struct runs), runs_draw, runs_command, runs_free, NULL };
