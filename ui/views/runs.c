/* runs.c: every plan so far, and below two of them side by side, all as points, or the solver's log. */

#include "devices.h"
#include "runs_plot.h"
#include "src/scenario/knobs.h"

/* runs_log: how a run's order came about: best and bound over the effort. */

enum { EFFORT = 12, PEAK = 24, BOUND = 35, LOG_GAP = 45, BY = 47 };

static void runs_log_draw_bound(struct frame *frame, int y, int64_t best, int64_t bound, bool proved)
{
	frame_bytes(frame, PEAK, y, ROLE_TEXT, best);
	if (bound < 0)
		return;
	frame_bytes(frame, BOUND, y, ROLE_BOUND, bound);
	frame_right(
		frame, LOG_GAP, y, proved ? ROLE_GOOD : ROLE_WARN, proved ? "proved" : gap_text(best, bound, TEXT(32)));
}

static void draw_improvement(struct frame *frame, int y, const struct improvement *improvement)
{
	frame_right(frame, EFFORT, y, ROLE_FAINT, COUNT(improvement->ticks));
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

enum pane { PANE_BESIDE, PANE_PLOT, PANE_LOG, PANES };

/* What the list is sorted by, and the plot's axis. */
enum runs_sort { BY_RATE, BY_STEP, BY_NEEDS, BY_NUMBER, BYS };

struct runs {
	uint32_t selected, top, seen; /* rows; seen: runs at the last drawing; the newest is selected when one comes */
	uint32_t marked;              /* 1 + the run that others are laid beside; 0: the baseline, or the run before */
	int page;
	enum pane pane;
	enum runs_sort sort;
	uint64_t shown; /* fingerprint of the plan on the screen at the last drawing */
	uint64_t serial; /* of the newest run of these three */
	struct verdict *verdict; /* [runs] */
	struct run_point *point; /* [runs] */
	uint32_t *row;           /* [runs] sorted */
	uint32_t runs;
	struct holders holders[2]; /* of the two that are side by side */
};

/* On high screens the plot stands between the runs and the other panes. */
enum { BESIDE_ROWS = 14, PLOT_ROWS = 12, LIST_ROWS = 8, HEAD_ROWS = 2 };

/* Figures of a run, in the order in which they stand; in narrow windows the first go first. */
enum figure { RUN_RATE, RUN_EACH, RUN_STEP, RUN_VERDICT, RUN_NEEDS, RUN_FIGURES };
enum { NUMBER = 6, FIGURE = 10 };

static void runs_free(void *state)
{
	struct runs *runs = state;
	mem_free(runs->row);
	mem_free(runs->verdict);
	mem_free(runs->point);
	runs->row = NULL;
	runs->verdict = NULL;
	runs->point = NULL;
	runs->runs = 0;
	FOR_INT(side, 2)
		holders_free(&runs->holders[side]);
}

/* Tokens, or samples, of a second and all devices; 0: unknown. */
static double runs_rate(const struct plan *plan)
{
	return plan->speed.time > 0 ? plan_speed_rate(&plan->speed) * plan->speed.devices : 0;
}

/* The plot's quantity: of needs and numbers the rate, or where no run has one the step. */
static enum runs_sort runs_axis(const struct runs *runs, const struct model *model)
{
	return runs->sort == BY_STEP || runs_rate(model->plan) <= 0 ? BY_STEP : BY_RATE;
}

static bool runs_before(const struct runs *runs, const struct model *model, uint32_t a, uint32_t b)
{
	const struct plan *one = model->run[a], *other = model->run[b];
	double more = runs->sort == BY_RATE ? runs_rate(other) - runs_rate(one)
		: runs->sort == BY_STEP ? (double)(one->speed.time - other->speed.time)
		: runs->sort == BY_NEEDS ? (double)(runs->verdict[a].needed - runs->verdict[b].needed)
		: 0;
	return more != 0 ? more < 0 : a < b;
}

/* Verdicts, points and the order are found once for all runs. */
static bool runs_find(struct runs *runs, const struct model *model)
{
	uint64_t newest = model->runs ? model->run[model->runs - 1]->serial : 0;
	if (runs->row && runs->runs == model->runs && runs->serial == newest)
		return true;
	runs_free(runs);
	MAKE(runs->row, model->runs + 1);
	MAKE(runs->verdict, model->runs + 1);
	MAKE(runs->point, model->runs + 1);
	if (!runs->row || !runs->verdict || !runs->point) {
		runs_free(runs);
		return false;
	}
	runs->runs = model->runs;
	runs->serial = newest;
	enum runs_sort axis = runs_axis(runs, model);
	FOR(i, model->runs) {
		uint32_t at = i;
		runs->verdict[i] = plan_verdict(model->run[i]);
		runs->point[i] = (struct run_point){ axis == BY_RATE ? runs_rate(model->run[i]) : (double)model->run[i]->speed.time,
			(double)runs->verdict[i].needed, false };
		for (; at > 0 && runs_before(runs, model, i, runs->row[at - 1]); at--)
			runs->row[at] = runs->row[at - 1];
		runs->row[at] = i;
	}
	runs_plot_find_front(runs->point, model->runs, axis == BY_RATE);
	return true;
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
	FOR_INT(k, KNOB_COUNT) {
		if (!runs_varies(model, k))
			continue;
		char text[64];
		width[columns] = text_cells(knobs[k].name);
		FOR(i, model->runs) {
			int cells = text_cells(runs_knob_text(model->run[i], k, text));
			width[columns] = LARGER(cells, width[columns]);
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
	struct words words = { text, sizeof text, 0 };
	for (int k = 0; k < KNOB_COUNT; k++)
		if (model->runs && model->run[0]->scenario.value[k] != knobs[k].normal && !runs_varies(model, k))
			words_add(&words, "%s%s=%s", words.at ? " " : "", knobs[k].name, runs_knob_text(model->run[0], k, value));
	int x = 1 + frame_text(frame, 1, 0, 8, ROLE_LABEL, "common ");
	frame_words(frame, x, 0, frame->window.width - x, ROLE_FAINT, words.at ? text : "the defaults");
}

static const char *runs_figure(
	enum figure figure, const struct plan *plan, const struct verdict *verdict, enum role *role, char text[32])
{
	static const char *const words[] = { "-", "FITS", "FITS*", "AS PLANNED", "NO", "NO" };
	double rate = runs_rate(plan) / (figure == RUN_EACH ? plan->speed.devices : 1);
	*role = figure == RUN_EACH ? ROLE_FAINT : ROLE_TEXT;
	switch (figure) {
	case RUN_RATE:
	case RUN_EACH: return rate > 0 ? count_text((uint64_t)(rate + 0.5), text) : "-";
	case RUN_STEP: return plan->speed.time > 0 ? time_text(plan->speed.time, text, 32) : "-";
	case RUN_VERDICT:
		*role = verdict->guess || plan->limited || verdict->fits == FITS_EXPANDABLE ? ROLE_WARN
			: fits_runs(verdict->fits) ? ROLE_GOOD : ROLE_BAD;
		snprintf(text, 32, "%s%s", plan->limited ? "stopped" : words[verdict->fits], verdict->guess ? "?" : "");
		return text;
	default: return bytes_text(verdict->needed, text, 32);
	}
}

/* A run's row, or the titles where verdict is NULL: figures, then the knobs that vary. */
static void runs_draw_row(struct frame *frame, int y, const struct runs *runs, const struct model *model,
	const struct plan *plan, const struct verdict *verdict)
{
	static const enum figure sorted[BYS] = { RUN_RATE, RUN_STEP, RUN_NEEDS, RUN_FIGURES };
	const char *const names[RUN_FIGURES] = { plan->speed.tokens > 0 ? "tokens/s" : "samples/s", "a device", "step",
		"verdict", "needs" };
	int knob[KNOB_COUNT], width[KNOB_COUNT], room, x = NUMBER, columns = runs_columns(model, knob, width, &room);
	char text[64];
	FOR_INT(i, RUN_FIGURES) {
		enum role role = sorted[runs->sort] == (enum figure)i ? ROLE_KEY : ROLE_LABEL;
		if (i < RUN_NEEDS && NUMBER + (RUN_FIGURES - i) * FIGURE + room > frame->window.width)
			continue;
		const char *word = verdict ? runs_figure((enum figure)i, plan, verdict, &role, text) : names[i];
		frame_right(frame, x += FIGURE, y, role, word);
	}
	for (int i = 0; i < columns; i++, x += width[i - 1] + 2)
		frame_text(frame, x + 2, y, width[i], verdict ? ROLE_TEXT : ROLE_LABEL,
			verdict ? runs_knob_text(plan, knob[i], text) : knobs[knob[i]].name);
}

static void runs_draw_run(struct frame *frame, int y, const struct runs *runs, const struct model *model, uint32_t row)
{
	uint32_t i = runs->row[row];
	const struct plan *plan = model->run[i];
	if (plan->fingerprint == model->plan->fingerprint)
		frame_text(frame, 0, y, 1, ROLE_KEY, "*");
	if (runs->marked == i + 1)
		frame_text(frame, 1, y, 1, ROLE_KEY, "+");
	else if (model->baseline && plan->fingerprint == model->baseline->fingerprint)
		frame_text(frame, 1, y, 1, ROLE_BASELINE, "b");
	if (runs->point[i].front && model->runs > 1)
		frame_glyph(frame, 2, y, GLYPH_BULLET, ROLE_GOOD);
	frame_right(frame, NUMBER, y, ROLE_FAINT, PRINTED(16, "%u", i + 1));
	runs_draw_row(frame, y, runs, model, plan, &runs->verdict[i]);
	if (row == runs->selected)
		frame_select(frame, y);
}

/* ---- side by side ---- */

enum { THEIRS = 28, OURS = 39, CHANGE = 51, BESIDE = 54, BESIDE_FROM = 76 };

/* Hundredths of a unit of both, and the change: rounded parts add up to the whole in all three columns. */
static void runs_draw_amount(struct frame *frame, int y, const char *what, int64_t theirs, int64_t ours)
{
	frame_text(frame, 1, y, 16, ROLE_TEXT, what);
	frame_right(frame, THEIRS, y, ROLE_BASELINE, PRINTED(32, "%.2f", (double)theirs / 100));
	frame_right(frame, OURS, y, ROLE_TEXT, PRINTED(32, "%.2f", (double)ours / 100));
	frame_right(frame, CHANGE, y, ours < theirs ? ROLE_GOOD : ours > theirs ? ROLE_BAD : ROLE_FAINT,
		PRINTED(32, "%+.2f", (double)(ours - theirs) / 100));
}

/* A quantity of both in words, and the change in percent. */
static void runs_draw_ratio(struct frame *frame, int y, enum figure figure, const char *what, bool more,
	const struct plan *theirs, const struct plan *ours)
{
	double from = figure == RUN_STEP ? (double)theirs->speed.time : runs_rate(theirs),
		   to = figure == RUN_STEP ? (double)ours->speed.time : runs_rate(ours);
	char text[32];
	enum role role;
	if (from <= 0 || to <= 0)
		return;
	frame_text(frame, 1, y, 16, ROLE_TEXT, what);
	frame_right(frame, THEIRS, y, ROLE_BASELINE, runs_figure(figure, theirs, NULL, &role, text));
	frame_right(frame, OURS, y, ROLE_TEXT, runs_figure(figure, ours, NULL, &role, text));
	PRINT_TO(text, "%+.1f %%", 100 * (to - from) / from);
	frame_right(frame, CHANGE, y, from == to ? ROLE_FAINT : (to > from) == more ? ROLE_GOOD : ROLE_BAD, text);
}

static void runs_draw_holder(struct frame *frame, int x, int y, int64_t bytes, const char *name)
{
	frame_right(frame, x + 10, y, bytes < 0 ? ROLE_GOOD : ROLE_BAD, CHANGE(bytes));
	frame_words(frame, x + 12, y, frame->window.width - x - 12, ROLE_TEXT, name);
}

/* What makes the difference at the peaks, the largest first: groups, or of two files places without a pair. */
static void runs_draw_holders(struct frame *frame, struct rect rect, struct runs *runs, const struct plan *theirs,
	const struct plan *ours, const struct beside *beside)
{
	const struct plan *const plan[2] = { theirs, ours };
	struct holder_change change[CHANGES_MOST];
	char name[300], module[200];
	uint32_t changes = 0, at[2] = { 0, 0 };
	bool known = !beside;
	for (int side = 0; side < 2 && known; side++) {
		uint32_t peak = plan[side]->ordered->peak_position;
		known = peak != NONE && holders_find(&runs->holders[side], plan[side], peak, peak, false);
	}
	changes = known ? holders_compare(runs->holders, plan, change) : beside ? beside->holders[0] + beside->holders[1] : 0;
	if (changes && rect.height > 1)
		frame_text(frame, rect.x, rect.y, rect.width, ROLE_LABEL, "who holds the difference");
	FOR_WHILE(i, changes, (int)i + 1 < rect.height) {
		int y = rect.y + 1 + (int)i;
		if (beside) {
			bool side = at[0] == beside->holders[0] || (at[1] < beside->holders[1] &&
				beside->holder[1][at[1]].bytes > beside->holder[0][at[0]].bytes);
			const struct beside_holder *holder = &beside->holder[side][at[side]++];
			runs_draw_holder(frame, rect.x, y, side ? holder->bytes : -holder->bytes, holder->place);
		} else if (change[i].bytes) {
			const struct op *maker = holder_maker(change[i].plan, change[i].holder->first);
			size_t used = strlen(holder_text(change[i].plan, change[i].holder, name, 100));
			if (maker && *maker->module && change[i].holder->reason != ALIVE_PERSISTENT)
				snprintf(name + used, sizeof name - used, "  %s", holder_pattern(maker->module, module, sizeof module));
			runs_draw_holder(frame, rect.x, y, change[i].bytes, name);
		}
	}
}

/* Knobs whose values come to the same change nothing. Returns the rows. */
static int draw_knob_changes(struct frame *frame, struct rect rect, const struct given *given,
	const struct plan *theirs, const struct plan *ours)
{
	int left = 0, y = rect.y, end = rect.y + rect.height;
	char from[64], to[64];
	FOR_INT(i, KNOB_COUNT)
		left += !runs_same(i, given, theirs, ours);
	if (left == 0 || rect.height < 1)
		return 0;
	frame_text(frame, rect.x, y++, rect.width, ROLE_LABEL, "knobs that differ");
	for (int i = 0; i < KNOB_COUNT && y < end; i++) {
		if (runs_same(i, given, theirs, ours))
			continue;
		if (y + 1 == end && left > 1) {
			frame_print(frame, rect.x, y++, ROLE_FAINT, "and %d more", left);
			break;
		}
		left--;
		frame_print(frame, rect.x, y++, ROLE_TEXT, "%s  %s  %s", knobs[i].name, runs_knob_text(theirs, i, from),
			runs_knob_text(ours, i, to));
	}
	return y - rect.y;
}

/* Both sums with their parts, on narrow screens those that differ. Returns the next row, at most end. */
static int runs_draw_ledgers(struct frame *frame, int y, int end, const struct verdict *from, const struct verdict *to)
{
	bool wide = frame->window.width >= BESIDE_FROM;
	int64_t cents[2][LEDGER_PARTS + 1], largest = LARGER(from->needed, to->needed);
	char text[32];
	frame_text(frame, 1, y++, 10, ROLE_FAINT, ledger_cents(largest, from, cents[0]));
	ledger_cents(largest, to, cents[1]);
	runs_draw_amount(frame, y++, "needs", cents[0][LEDGER_PARTS], cents[1][LEDGER_PARTS]);
	for (int part = 0; part < LEDGER_PARTS && y < end; part++)
		if (wide ? cents[0][part] || cents[1][part] : cents[0][part] != cents[1][part]) {
			PRINT_TO(text, "  %s", ledger_names[part]);
			runs_draw_amount(frame, y++, text, cents[0][part], cents[1][part]);
		}
	return y;
}

/* The selected run beside the marked one, else the baseline, else the run before. */
static void runs_draw_beside(struct frame *frame, struct rect rect, struct runs *runs, const struct model *model)
{
	uint32_t run = runs->row[runs->selected], mark = runs->marked;
	mark = mark && mark != run + 1 ? mark - 1 : model->baseline ? NONE : run > 0 ? run - 1 : model->runs - 1;
	const struct plan *ours = model->run[run], *theirs = mark == NONE ? model->baseline : model->run[mark];
	struct verdict from = plan_verdict(theirs);
	int y = rect.y, end = rect.y + rect.height;
	bool wide = frame->window.width >= BESIDE_FROM;
	char text[32] = "baseline";
	if (model->runs < 2 && mark != NONE) {
		frame_text(frame, 1, y, rect.width, ROLE_FAINT, "one run. Turn a knob and the next is listed");
		return;
	}
	if (mark != NONE)
		PRINT_TO(text, "run %u", mark + 1);
	frame_right(frame, THEIRS, y, ROLE_LABEL, text);
	PRINT_TO(text, "run %u", run + 1);
	frame_right(frame, OURS, y, ROLE_LABEL, text);
	frame_right(frame, CHANGE, y, ROLE_LABEL, "change");
	y = runs_draw_ledgers(frame, y, end - 2, &from, &runs->verdict[run]);
	runs_draw_ratio(frame, y++, RUN_STEP, "step", false, theirs, ours);
	runs_draw_ratio(frame, y++, RUN_RATE, ours->speed.tokens > 0 ? "tokens/s" : "samples/s", true, theirs, ours);
	bool files = theirs == model->baseline && model->beside && ours->serial == model->plan->serial;
	struct rect right = { wide ? BESIDE : 1, wide ? rect.y : y, frame->window.width - (wide ? BESIDE : 1),
		wide ? rect.height : end - y };
	if (!files) {
		int rows = draw_knob_changes(frame, (struct rect){ right.x, right.y, right.width, wide ? right.height / 2
			: right.height }, &model->given, theirs, ours) + 1;
		right.y += rows;
		right.height -= rows;
	}
	if (wide)
		runs_draw_holders(frame, right, runs, theirs, ours, files ? model->beside : NULL);
}

static void runs_draw_pane(
	struct frame *frame, struct rect rect, struct runs *runs, const struct model *model, enum pane pane)
{
	static const char *const names[PANES] = { " side by side ", " plot ", " solver log " };
	struct rect inside = { 0, rect.y + 1, rect.width, rect.height - 1 };
	frame_repeat(frame, 0, rect.y, frame->window.width, GLYPH_HORIZONTAL, ROLE_LINE);
	for (int i = 0, x = 1; i < PANES; i++)
		x += 1 + frame_text(frame, x, rect.y, rect.width - x, i == (int)pane ? ROLE_TAB_ACTIVE : ROLE_TAB, names[i]);
	if (pane == PANE_BESIDE)
		runs_draw_beside(frame, inside, runs, model);
	else if (pane == PANE_LOG)
		runs_log_draw(frame, inside, model->run[runs->row[runs->selected]]);
	else {
		enum runs_sort axis = runs_axis(runs, model);
		struct runs_plot plot = { runs->point, model->runs, runs->row[runs->selected], axis == BY_RATE,
			axis == BY_STEP ? "step" : model->plan->speed.tokens > 0 ? "tokens/s" : "samples/s" };
		runs_plot_draw(frame, inside, &plot);
	}
}

static void runs_draw(void *state, struct model *model, struct frame *frame)
{
	struct runs *runs = state;
	int width = frame->window.width, height = frame->window.height,
		below = height >= HEAD_ROWS + LIST_ROWS ? height - HEAD_ROWS - LIST_ROWS / 2 : 0;
	bool both = height >= LIST_ROWS + PLOT_ROWS + BESIDE_ROWS;
	int plot = both ? PLOT_ROWS + (height - LIST_ROWS - PLOT_ROWS - BESIDE_ROWS) / 2 : 0;
	below = (both || runs->pane == PANE_BESIDE) && below > BESIDE_ROWS ? BESIDE_ROWS : below;
	runs->page = height - HEAD_ROWS - below - plot;
	for (int i = 0; model->missed[i] && runs->page > 3; i++)
		frame_name(frame, NUMBER + 2, HEAD_ROWS + --runs->page, width - NUMBER - 2, ROLE_FAINT, model->missed[i]);
	if (!runs_find(runs, model) || !model->runs)
		return;
	bool comes = runs->seen != model->runs || runs->shown != model->plan->fingerprint;
	FOR(i, model->runs) /* undo and redo go back to a run that is there */
		if (comes && model->run[runs->row[i]]->fingerprint == model->plan->fingerprint)
			runs->selected = i;
	runs->selected = SMALLER(runs->selected, model->runs - 1);
	runs->seen = model->runs;
	runs->shown = model->plan->fingerprint;
	runs_draw_common(frame, model);
	runs_draw_row(frame, 1, runs, model, model->plan, NULL);
	runs->top = scroll_to(runs->top, runs->selected, model->runs, runs->page);
	for (int i = 0; i < runs->page && runs->top + (uint32_t)i < model->runs; i++)
		runs_draw_run(frame, HEAD_ROWS + i, runs, model, runs->top + (uint32_t)i);
	if (plot)
		runs_draw_pane(frame, (struct rect){ 0, height - below - plot, width, plot }, runs, model, PANE_PLOT);
	if (below)
		runs_draw_pane(frame, (struct rect){ 0, height - below, width, below }, runs, model,
			both && runs->pane == PANE_PLOT ? PANE_BESIDE : runs->pane);
}

static bool runs_command(void *state, struct model *model, enum command_id command)
{
	static const char *const names[BYS] = { "tokens/s", "step", "needs", "number" };
	struct runs *runs = state;
	if (!runs_find(runs, model) || !model->runs)
		return false;
	uint32_t run = runs->row[runs->selected < model->runs ? runs->selected : 0];
	if (command == COMMAND_PART || command == COMMAND_PART_BACK)
		runs->pane = (runs->pane + (command == COMMAND_PART ? 1 : PANES - 1)) % PANES;
	else if (command == COMMAND_MARK) {
		runs->marked = runs->marked == run + 1 ? 0 : run + 1;
		runs->pane = PANE_BESIDE;
	} else if (command == COMMAND_SORT) {
		runs->sort = (runs->sort + 1) % BYS;
		runs->seen = 0; /* its run stays selected */
		runs_free(runs);
		view_say(model, "sorted by %s", names[runs->sort]);
	} else if (command == COMMAND_CLICK) {
		uint32_t row = runs->top + (uint32_t)(model->click_y - HEAD_ROWS);
		if (model->click_y >= HEAD_ROWS && model->click_y < runs->page + HEAD_ROWS && row < model->runs)
			runs->selected = row;
	} else if (command == COMMAND_ACTIVATE)
		view_request_scenario(model, &model->run[run]->scenario);
	else
		return row_command(command, &runs->selected, model->runs, runs->page) || view_command(model, command);
	return true;
}

const struct view_ops view_runs = { "Runs", IN_RUNS, sizeof(struct runs), runs_draw, runs_command, runs_free, NULL };
