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
	FOR_FROM(i, first, ordered->improvements)
		draw_improvement(frame, y++, &ordered->improvement[i]);
	if (y >= rect.y + rect.height)
		return;
	frame_right(frame, EFFORT, y, ROLE_LABEL, "layout");
	runs_log_draw_bound(
		frame, y, plan_arena(plan), plan->laid_out->layout.proof.bound, proof_closed(&plan->laid_out->layout.proof));
	frame_name(frame, BY, y, rect.width - BY, ROLE_TEXT,
		plan->laid_out->layout.strategy ? plan->laid_out->layout.strategy : "");
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
enum { DIFFERENCE_ROWS = 9, PLOT_ROWS = 12, LIST_ROWS = 8, HEAD_ROWS = 2 };

/* Figures of a run, in the order in which they stand; in narrow windows the first go first. */
enum figure { RUN_RATE, RUN_VERDICT, RUN_STEP, RUN_NEEDS, RUN_FIGURES };
enum { NUMBER = 5, FIGURE = 11 };

static void runs_free(void *state)
{
	struct runs *runs = state;
	mem_free(runs->work);
	runs->work = NULL;
}

static bool runs_same(int knob, const struct given *given, const struct plan *one, const struct plan *other)
{
	return one->scenario.value[knob] == other->scenario.value[knob] ||
		knob_means_same((enum knob_id)knob, given, one, other);
}

static bool runs_varies(const struct model *model, int knob)
{
	FOR_FROM(i, 1, model->runs)
		if (!runs_same(knob, &model->given, model->run[0], model->run[i]))
			return true;
	return false;
}

static char *runs_knob_text(const struct plan *plan, int knob, char text[64])
{
	return knob_text((enum knob_id)knob, plan->scenario.value[knob], text, 64);
}

/* Knobs of which runs have several values, each as wide as its widest. Returns how many, *room what they take. */
static int runs_columns(const struct model *model, int knob[KNOB_COUNT], int width[KNOB_COUNT], int *room)
{
	int columns = 0;
	*room = 0;
	for (int k = 0; k < KNOB_COUNT; k++) {
		if (!runs_varies(model, k))
			continue;
		char text[64];
		width[columns] = text_cells(knobs[k].name);
		FOR(i, model->runs) {
			int cells = text_cells(runs_knob_text(model->run[i], k, text));
			width[columns] = cells > width[columns] ? cells : width[columns];
		}
		*room += width[columns] + 2;
		knob[columns++] = k;
	}
	return columns;
}

/* What all runs have in common, beside the defaults. */
static void runs_draw_common(struct frame *frame, const struct model *model)
{
	char text[600] = "", value[64];
	size_t used = 0;
	for (int k = 0; k < KNOB_COUNT && used < sizeof text; k++)
		if (model->runs && model->run[0]->scenario.value[k] != knobs[k].normal && !runs_varies(model, k))
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%s", used ? " " : "", knobs[k].name,
				runs_knob_text(model->run[0], k, value));
	int x = 1 + frame_text(frame, 1, 0, 8, ROLE_LABEL, "common ");
	frame_words(frame, x, 0, frame->window.width - x, ROLE_FAINT, used ? text : "the defaults");
}

static const char *runs_figure(enum figure figure, const struct plan *plan, enum role *role, char text[32])
{
	static const char *const words[] = { "-", "FITS", "FITS*", "AS PLANNED", "NO", "NO" };
	struct verdict verdict = plan_verdict(plan);
	double rate = plan_speed_rate(&plan->speed) * plan->speed.devices;
	*role = ROLE_TEXT;
	switch (figure) {
	case RUN_RATE: return rate > 0 ? count_text((uint64_t)(rate + 0.5), text) : "-";
	case RUN_STEP: return plan->speed.time > 0 ? time_text(plan->speed.time, text, 32) : "-";
	case RUN_VERDICT:
		*role = verdict.guess || verdict.fits == FITS_EXPANDABLE ? ROLE_WARN : fits_runs(verdict.fits) ? ROLE_GOOD : ROLE_BAD;
		snprintf(text, 32, "%s%s", words[verdict.fits], verdict.guess ? "?" : "");
		return text;
	default: return bytes_text(verdict.needed, text, 32);
	}
}

/* The axis of the plot. */
static int axis_of(const struct runs *runs, const struct model *model)
{
	return runs->axis_chosen ? runs->axis_after + AXIS_WORK : runs_plot_first_axis(model);
}

/* A run's row, or the titles where plan is NULL: figures, then the knobs that vary. */
static void runs_draw_row(struct frame *frame, int y, const struct model *model, const struct plan *plan)
{
	const char *const names[RUN_FIGURES] = { model->plan->speed.tokens > 0 ? "tokens/s" : "samples/s", "verdict", "step",
		"needs" };
	int knob[KNOB_COUNT], width[KNOB_COUNT], room, x = NUMBER, columns = runs_columns(model, knob, width, &room);
	char text[64];
	for (int i = 0; i < RUN_FIGURES; i++) {
		enum role role = ROLE_LABEL;
		if (i < RUN_NEEDS && NUMBER + (RUN_FIGURES - i) * FIGURE + room > frame->window.width)
			continue;
		const char *word = plan ? runs_figure((enum figure)i, plan, &role, text) : names[i];
		frame_right(frame, x += FIGURE, y, role, word);
	}
	for (int i = 0; i < columns; i++, x += width[i - 1] + 2)
		frame_text(frame, x + 2, y, width[i], plan ? ROLE_TEXT : ROLE_LABEL,
			plan ? runs_knob_text(plan, knob[i], text) : knobs[knob[i]].name);
}

static void runs_draw_run(struct frame *frame, int y, const struct model *model, uint32_t i, bool selected)
{
	const struct plan *plan = model->run[i];
	char text[16];
	if (plan->fingerprint == model->plan->fingerprint)
		frame_text(frame, 0, y, 1, ROLE_KEY, ">");
	if (model->baseline && plan->fingerprint == model->baseline->fingerprint)
		frame_text(frame, 1, y, 1, ROLE_BASELINE, "b");
	PRINT_TO(text, "%u", i + 1);
	frame_right(frame, NUMBER, y, ROLE_FAINT, text);
	runs_draw_row(frame, y, model, plan);
	if (selected)
		frame_mark(frame, (struct rect){ 0, y, frame->window.width, 1 }, MARK_REVERSE);
}

/* One amount of both plans and the change between them. */
static void runs_draw_amount(struct frame *frame, int y, const char *what, int64_t theirs, int64_t ours)
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
	PRINT_TO(text, "%+.1f %%", from > 0 ? 100 * (to - from) / from : 0.0);
	frame_right(frame, 52, y, to < from ? ROLE_GOOD : to > from ? ROLE_BAD : ROLE_FAINT, text);
	return true;
}

/* Knobs whose values come to the same change nothing. */
static void draw_knob_changes(struct frame *frame, int x, int y, int end, const struct given *given,
	const struct plan *theirs, const struct plan *ours)
{
	int left = 0;
	for (int i = 0; i < KNOB_COUNT; i++)
		left += !runs_same(i, given, theirs, ours);
	for (int i = 0; i < KNOB_COUNT && y < end; i++) {
		char from[64], to[64];
		if (runs_same(i, given, theirs, ours))
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
		FOR(i, beside->holders[side])
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
		return;
	}
	frame_right(frame, 27, y + 1, ROLE_LABEL, "baseline");
	char text[32];
	PRINT_TO(text, "run %u", selected + 1);
	frame_right(frame, 39, y + 1, ROLE_LABEL, text);
	frame_right(frame, 52, y + 1, ROLE_LABEL, "change");
	bool beside = frame->window.width >= 84;
	int row = y + 2;
	struct verdict from = plan_verdict(theirs), to = plan_verdict(ours);
	runs_draw_amount(frame, row++, "needs", from.needed, to.needed);
	for (int part = 0; part < LEDGER_PARTS && row < y + DIFFERENCE_ROWS - 2; part++)
		if (from.part[part] != to.part[part])
			runs_draw_amount(frame, row++, ledger[part].key, from.part[part], to.part[part]);
	row += draw_times(frame, row, theirs, ours);
	if (model->beside && ours->serial == model->plan->serial) {
		if (beside)
			draw_holders(frame, (struct rect){ 56, y + 1, frame->window.width - 56, DIFFERENCE_ROWS - 1 }, model->beside);
		return;
	}
	draw_knob_changes(frame, beside ? 56 : 1, beside ? y + 2 : row, y + DIFFERENCE_ROWS, &model->given, theirs, ours);
}

/* The work of every run is summed once. */
static bool runs_find_work(struct runs *runs, const struct model *model)
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

static void runs_draw_pane(
	struct frame *frame, struct rect rect, struct runs *runs, const struct model *model, enum pane pane)
{
	frame_repeat(frame, 0, rect.y, frame->window.width, GLYPH_HORIZONTAL, ROLE_LINE);
	struct rect inside = { 0, rect.y + 1, rect.width, rect.height - 1 };
	if (pane == PANE_DIFFERENCES)
		draw_differences(frame, rect.y, model, runs->selected);
	else if (pane == PANE_LOG)
		runs_log_draw(frame, inside, model->run[runs->selected]);
	else if (runs_find_work(runs, model))
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
	runs->page = height - HEAD_ROWS - below - plot;
	for (int i = 0; model->missed[i] && runs->page > 3; i++)
		frame_name(frame, NUMBER + 2, HEAD_ROWS + --runs->page, width - NUMBER - 2, ROLE_FAINT, model->missed[i]);
	if (runs->seen != model->runs)
		runs->selected = model->runs ? model->runs - 1 : 0;
	for (uint32_t i = 0; i < model->runs && runs->shown != model->plan->fingerprint; i++)
		if (model->run[i]->fingerprint == model->plan->fingerprint)
			runs->selected = i; /* undo and redo go back to a run that is there */
	runs->seen = model->runs;
	runs->shown = model->plan->fingerprint;
	runs_draw_common(frame, model);
	runs_draw_row(frame, 1, model, NULL);
	runs->top = scroll_to(runs->top, runs->selected, model->runs, runs->page);
	for (int i = 0; i < runs->page && runs->top + (uint32_t)i < model->runs; i++)
		runs_draw_run(
			frame, HEAD_ROWS + i, model, runs->top + (uint32_t)i, runs->top + (uint32_t)i == runs->selected);
	if (!model->runs)
		return;
	if (plot)
		runs_draw_pane(frame, (struct rect){ 0, height - below - plot, width, plot }, runs, model, PANE_PLOT);
	enum pane pane = both && runs->pane == PANE_PLOT ? PANE_DIFFERENCES : runs->pane;
	if (below)
		runs_draw_pane(frame, (struct rect){ 0, height - below, width, below }, runs, model, pane);
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
		uint32_t row = runs->top + (uint32_t)(model->click_y - HEAD_ROWS);
		if (model->click_y >= HEAD_ROWS && model->click_y < runs->page + HEAD_ROWS && row < model->runs)
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
