/* fit.c: what makes the step fit its memory limit: changes of knobs, each of them planned, in groups by what they do to
 * the run. Its second part is extra time over memory. */
#include "devices.h"
#include "runs_plot.h"
#include "src/plan/verdict.h"

enum { NEEDS = 10, OVER = 11, EXTRA = 10, RATE = 11, RATE_FROM = 64, NEEDS_FROM = 56, TITLES = 3, HELD_FROM = 12 };

/* Groups by what a change does, in the order in which they are shown. */
enum fit_group { GROUP_SAME, GROUP_NUMBERS, GROUP_DEVICES, GROUPS };
static const char *const group_names[GROUPS] = { "SAME RESULTS, THIS GPU", "OTHER NUMBERS, THIS GPU", "MORE DEVICES" };

struct fit_view {
	bool curve; /* the second part is shown */
	uint32_t selected, top; /* in the order of the groups */
	int page, first_row, held; /* held: rows above the parts */
	struct slowdown_pane pane;
};

static enum fit_group fit_group_of(const struct fit_way *way)
{
	return way->meaning == FIT_MEANING_SPREAD ? GROUP_DEVICES
		: way->meaning == FIT_MEANING_RUN ? GROUP_NUMBERS
		: GROUP_SAME;
}

/* The list's entry in a place of the groups' order; NONE behind the last. */
static uint32_t fit_at(const struct model *model, uint32_t place)
{
	const struct fit_list *list = &model->ways->list;
	for (int group = 0; group < GROUPS; group++)
		FOR(i, list->ways)
			if ((int)fit_group_of(&list->way[i]) == group && place-- == 0)
				return i;
	return NONE;
}

static uint32_t fit_count(const struct model *model)
{
	return model->ways ? model->ways->list.ways : 0;
}

static void fit_draw_way(
	struct frame *frame, int y, const struct model *model, const struct fit_way *way, bool selected)
{
	const struct fit_list *list = &model->ways->list;
	bool rates = frame->window.width >= RATE_FROM;
	int right = frame->window.width - 1;
	char text[64], count[32];
	enum role role = !way->planned ? ROLE_FAINT : way->fits ? ROLE_GOOD : ROLE_TEXT;
	if (rates && way->planned && way->came.tokens)
		frame_right(frame, right, y, role, count_text((uint64_t)(way->came.rate + 0.5), count));
	right -= rates ? RATE : 0;
	if (way->planned) {
		PRINT_TO(text, "%+.1f %%",
			list->base.step > 0 ? 100 * (double)way->extra / (double)list->base.step : 0.0);
		frame_right(frame, right, y, way->extra > 0 ? ROLE_WARN : ROLE_TEXT, text);
	} else
		frame_right(frame, right, y, ROLE_FAINT, way->above ? "never" : "refused");
	right -= EXTRA;
	if (way->planned && way->fits)
		frame_right(frame, right, y, *way->reason ? ROLE_WARN : ROLE_GOOD, *way->reason ? "fits?" : "fits");
	else if (way->planned || way->above) {
		PRINT_TO(text, "+%s", bytes_text(way->came.needs - list->budget, count, sizeof count));
		frame_right(frame, right, y, way->planned ? ROLE_BAD : ROLE_FAINT, text);
	}
	right -= OVER;
	if ((way->planned || way->above) && frame->window.width >= NEEDS_FROM)
		frame_right(frame, right, y, role, bytes_text(way->came.needs, text, sizeof text));
	right -= frame->window.width >= NEEDS_FROM ? NEEDS : 0;
	bool program = strncmp(way->set, FIT_PROGRAM, strlen(FIT_PROGRAM)) == 0;
	frame_name(frame, 3, y, right - 3, role, way->set + (program ? strlen(FIT_PROGRAM) : 0));
	if (selected) {
		frame_glyph(frame, 1, y, GLYPH_INCREASE, ROLE_KEY);
		frame_mark(frame, (struct rect){ 0, y, frame->window.width, 1 }, MARK_REVERSE);
	}
}

static void fit_draw_header(struct frame *frame, int y)
{
	bool rates = frame->window.width >= RATE_FROM;
	int right = frame->window.width - 1;
	if (rates)
		frame_right(frame, right, y, ROLE_LABEL, "tokens/s");
	right -= rates ? RATE : 0;
	frame_right(frame, right, y, ROLE_LABEL, "time");
	frame_right(frame, right -= EXTRA, y, ROLE_LABEL, "over by");
	right -= OVER;
	if (frame->window.width >= NEEDS_FROM)
		frame_right(frame, right, y, ROLE_LABEL, "needs");
	frame_text(frame, 3, y, 6, ROLE_LABEL, "change");
}

/* Parts, and how far the list is. */
static void fit_draw_title(struct frame *frame, const struct fit_view *view, const struct model *model)
{
	const struct ways *ways = model->ways;
	char text[160], bytes[32];
	int width = frame->window.width;
	frame_repeat(frame, 0, 0, width, GLYPH_HORIZONTAL, ROLE_LINE);
	frame_text(frame, 1, 0, 9, view->curve ? ROLE_TAB : ROLE_TAB_ACTIVE, " changes ");
	frame_text(frame, 12, 0, 7, view->curve ? ROLE_TAB_ACTIVE : ROLE_TAB, " curve ");
	if (!ways || ways->list.ways == 0)
		return;
	bool older = ways->fingerprint != model->plan->fingerprint;
	PRINT_TO(text, " %s%u of %u fit %s%s ", older ? "old figures: " : "", ways->list.fitting,
		ways->list.ways + ways->list.useless,
		bytes_text(ways->list.budget, bytes, sizeof bytes),
		ways->finding ? ", planning" : older ? ": f plans again" : "");
	if (text_cells(text) < width - 20)
		frame_right(frame, width - 1, 0, ways->finding || older ? ROLE_WARN : ROLE_LABEL, text);
}

/* What the selected change means, or why it can't be, and the proof that recomputation can't do it. */
static void fit_foot_text(const struct fit_list *list, const struct fit_way *way, char text[1000])
{
	struct words words = { text, 1000, 0 };
	if (way->planned)
		words_add(&words, "%s: %s. %s%sEnter applies it. ", fit_meaning_texts[way->meaning], way->how, way->reason,
			*way->reason ? ". " : "");
	else
		words_add(&words, "%s. ", way->reason);
	if (*list->proof.op)
		words_add(&words, "No recomputation and no order helps: what %s alone reads and writes, "
			"with what must be there, is too much: %s. %s", list->proof.op, list->proof.holds, list->proof.advice);
}

/* In place of the list. */
static const char *fit_nothing_text(const struct model *model)
{
	const struct ways *ways = model->ways;
	return ways && ways->finding ? "planning changes of recomputation, precision, optimizer, batch, sequence; Esc stops"
		: ways && *ways->error.text ? ways->error.text
		: ways && ways->list.fits ? "the step fits as it is; S ranks the ways to use more devices"
		: plan_budget(model->plan) < 0 ? "no limit set: f sets one, and plans what makes the step fit"
		: "f plans changes that make the step fit, and ranks them by the time that they add";
}

static void fit_draw_list(struct frame *frame, struct fit_view *view, const struct model *model)
{
	const struct fit_list *list = &model->ways->list;
	char text[1000];
	view->selected = view->selected < list->ways ? view->selected : list->ways - 1;
	fit_foot_text(list, &list->way[fit_at(model, view->selected)], text);
	int width = frame->window.width, height = frame->window.height, rows = text_rows(text, width - 2),
		most = height < 9 ? 0 : height / 2, foot = rows < most ? rows + 1 : most, y = 2, end = height - foot,
		last = GROUPS;
	view->page = end - 2 - TITLES > 1 ? end - 2 - TITLES : 1;
	view->top = scroll_to(view->top, view->selected, list->ways, view->page);
	fit_draw_header(frame, 1);
	view->first_row = y;
	for (uint32_t place = view->top; place < list->ways && y < end; place++) {
		const struct fit_way *way = &list->way[fit_at(model, place)];
		if ((int)fit_group_of(way) != last && y + 1 < end)
			frame_text(frame, 1, y++, frame->window.width, ROLE_LABEL, group_names[last = (int)fit_group_of(way)]);
		fit_draw_way(frame, y++, model, way, place == view->selected);
	}
	if (y < end && last != GROUP_DEVICES && model->plan->scenario.value[K_devices] == 1)
		frame_text(frame, 1, y, frame->window.width, ROLE_LABEL, "MORE DEVICES   D: two of them   S: every way to use more");
	if (foot)
		frame_repeat(frame, 0, end, width, GLYPH_HORIZONTAL, ROLE_LINE);
	frame_wrapped(frame, (struct rect){ 1, end + 1, width - 2, foot - 1 }, ROLE_FAINT, text);
}

/* The largest parts of what the step needs. */
static void fit_draw_held(struct frame *frame, const struct plan *plan)
{
	struct verdict verdict = plan_verdict(plan);
	char text[64], bytes[32];
	bool more = true;
	int x = 0;
	while (more) {
		int most = 0;
		for (int part = 1; part < LEDGER_PARTS; part++)
			most = verdict.part[part] > verdict.part[most] ? part : most;
		PRINT_TO(text, "%s%s %s", x ? "" : "held by ", ledger[most].key,
			bytes_text(verdict.part[most], bytes, sizeof bytes));
		more = verdict.part[most] > verdict.needed / 100 &&
			frame_part(frame, &x, 0, frame->window.width, ROLE_TEXT, "%s", text);
		verdict.part[most] = 0;
	}
}

static void fit_draw(void *state, struct model *model, struct frame *frame)
{
	struct fit_view *view = state;
	struct rect window = frame->window;
	view->held = window.height >= HELD_FROM;
	if (view->held) {
		fit_draw_held(frame, model->plan);
		window = (struct rect){ window.x, window.y + 1, window.width, window.height - 1 };
		frame_window(frame, window);
	}
	fit_draw_title(frame, view, model);
	if (view->curve)
		slowdown_draw(frame, (struct rect){ 0, 1, window.width, window.height - 1 }, &view->pane, model);
	else if (fit_count(model) == 0)
		frame_wrapped(frame, (struct rect){ 1, 1, window.width - 1, 4 }, ROLE_FAINT, fit_nothing_text(model));
	else
		fit_draw_list(frame, view, model);
}

/* The place whose row is at y: titles stand between them. */
static void fit_click(struct fit_view *view, const struct model *model, int y)
{
	int row = view->first_row, last = GROUPS;
	for (uint32_t place = view->top; place < fit_count(model) && row <= y; place++) {
		enum fit_group group = fit_group_of(&model->ways->list.way[fit_at(model, place)]);
		row += (int)group != last;
		last = (int)group;
		if (row++ == y)
			view->selected = place;
	}
}

static bool fit_run(void *state, struct model *model, enum command_id command)
{
	struct fit_view *view = state;
	if (command == COMMAND_PART || command == COMMAND_PART_BACK || command == COMMAND_CURVE) {
		view->curve = command == COMMAND_CURVE || !view->curve;
		if (view->curve && command != COMMAND_CURVE)
			view_request(model, false, "curve");
		return true;
	}
	if (command == COMMAND_FIT)
		*view = (struct fit_view){ .selected = 0 };
	if (view->curve || fit_count(model) == 0)
		return view->curve && slowdown_command(&view->pane, model, command);
	const struct fit_way *way = &model->ways->list.way[fit_at(model, view->selected)];
	if (command == COMMAND_CLICK)
		fit_click(view, model, model->click_y - view->held);
	else if (command == COMMAND_ACTIVATE && !way->planned)
		view_say(model, "%s", way->reason);
	else if (command == COMMAND_ACTIVATE)
		view_request(model, false, "set %s", way->set);
	else
		return row_command(command, &view->selected, fit_count(model), view->page);
	return true;
}

const struct view_ops view_fit = { "Fit", IN_FIT, sizeof(struct fit_view), fit_draw, fit_run, NULL, NULL };
