/* fit.c: what makes the step fit its memory limit: changes of knobs, each of them planned, in groups by what they do to
 * the run. Its second part is extra time over memory. */

#include "runs_plot.h"

enum { FIT_CELLS = 5, RATE_CELL = 3, TITLES = 3, HELD_FROM = 12, ROWS_MOST = 64 };

/* Groups by what a change does, in the order in which they are shown. */
enum fit_group { GROUP_ROOM, GROUP_SAME, GROUP_NUMBERS, GROUP_DEVICES, GROUPS };
static const char *const group_names[GROUPS] = { "ROOM, THIS GPU", "SAME RESULTS, THIS GPU", "OTHER NUMBERS, THIS GPU",
	"MORE DEVICES" };

struct fit_view {
	bool curve, all; /* the second part is shown; what can't help, too */
	uint32_t selected, top; /* rows */
	uint32_t row[ROWS_MOST], rows; /* of the list, in the order of the groups */
	int page, first_row, held; /* held: rows above the parts */
	struct slowdown_pane pane;
	struct holders holders;
};

static enum fit_group fit_group_of(const struct fit_list *list, const struct fit_way *way)
{
	return list->fits ? GROUP_ROOM
		: way->meaning == FIT_MEANING_SPREAD ? GROUP_DEVICES
		: way->meaning == FIT_MEANING_RUN ? GROUP_NUMBERS
		: GROUP_SAME;
}

/* Of what misses by more than half nothing comes, nor of what can't be planned. */
static void fit_take_rows(struct fit_view *view, const struct model *model)
{
	const struct fit_list *list = &model->ways->list;
	view->rows = 0;
	FOR_INT(group, GROUPS)
		FOR(i, list->ways) {
			const struct fit_way *way = &list->way[i];
			bool helps = (way->planned || way->above) && way->came.needs <= list->budget / 2 * 3;
			if ((int)fit_group_of(list, way) == group && view->rows < ROWS_MOST && (helps || view->all))
				view->row[view->rows++] = i;
		}
	view->selected = view->selected < view->rows ? view->selected : view->rows ? view->rows - 1 : 0;
}

static const struct fit_way *fit_way_at(const struct fit_view *view, const struct model *model, uint32_t row)
{
	return &model->ways->list.way[view->row[row]];
}

/* A change as people call it: "recompute every layer", "mixed + recompute". Returns text. */
static char *fit_name(const char *set, char *text, size_t size)
{
	static const struct { const char *set, *name; } names[] = { { "recompute=auto", "recompute, chosen ops" },
		{ "recompute=full", "recompute every layer" }, { "recompute=every:2", "recompute, each second layer" },
		{ "recompute=selective", "recompute, attention scores" }, { "recompute=knapsack:50%", "recompute, half by PyTorch" },
		{ "offload=on", "offload" }, { "offload=states", "moments on the host" },
		{ "allocator=expandable", "expandable segments" }, { "order=auto", "another order" },
		{ "loss_chunks=8", "loss, an eighth at a time" }, { "moments=bf16", "bf16 moments" }, { "strategy=zero", "" },
		{ "strategy=megatron", "" } };
	struct words words = { text, size, 0 };
	char word[FIT_SET_SIZE];
	*text = '\0';
	for (const char *at = set; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		PRINT_TO(word, "%.*s", (int)strcspn(at, " "), at);
		const char *name = text_begins(word, "precision=") || text_begins(word, "optimizer=") ? word + 10 : word;
		FOR(i, COUNT_OF(names))
			name = text_is(word, names[i].set) ? names[i].name : name;
		bool pair = strchr(set, ' ');
		if (*name)
			words_add(&words, "%s%.*s", *text ? " + " : "", (int)strcspn(name, pair ? "," : ""), name);
	}
	for (char *at = text; (at = strchr(at, '=')); )
		*at = ' ';
	return text;
}

/* Columns from the right, as far as the window is wide enough; the name has what they leave. */
static int fit_draw_cells(struct frame *frame, int y, char text[FIT_CELLS][32], const enum role role[FIT_CELLS])
{
	static const struct { int width, from; } column[FIT_CELLS] = { { 10, 56 }, { 11, 0 }, { 9, 0 }, { 10, 64 },
		{ 10, 78 } };
	int right = frame->window.width - 1;
	for (int i = FIT_CELLS; i-- > 0; )
		if (frame->window.width >= column[i].from) {
			frame_right(frame, right, y, role[i], text[i]);
			right -= column[i].width;
		}
	return right;
}

static void fit_draw_way(
	struct frame *frame, int y, const struct model *model, const struct fit_way *way, bool selected)
{
	const struct fit_list *list = &model->ways->list;
	char text[FIT_CELLS][32] = { "" }, name[FIT_SET_SIZE];
	enum role usual = !way->planned ? ROLE_FAINT : way->fits ? ROLE_GOOD : ROLE_TEXT, role[FIT_CELLS] = { usual,
		!way->planned ? ROLE_FAINT : !way->fits ? ROLE_BAD : *way->reason ? ROLE_WARN : ROLE_GOOD,
		!way->planned ? ROLE_FAINT : way->extra > 0 ? ROLE_WARN : ROLE_TEXT, usual, ROLE_FAINT };
	const char *set = fit_set(way), *number = strstr(set, "devices=");
	double devices = number == set ? strtod(number + 8, NULL) : (double)scenario_devices(&model->plan->scenario);
	if (way->planned || way->above) {
		bytes_text(way->came.needs, text[0], sizeof *text);
		snprintf(text[1], sizeof *text, way->fits ? *way->reason ? "fits?" : "fits" : "+%s",
			BYTES(way->came.needs - list->budget));
	}
	if (!way->planned)
		snprintf(text[2], sizeof *text, way->above ? "never" : "refused");
	else {
		snprintf(text[2], sizeof *text, "%+.1f %%",
			list->base.step > 0 ? 100 * (double)way->extra / (double)list->base.step : 0.0);
		count_text((uint64_t)(way->came.rate + 0.5), text[RATE_CELL]);
		count_text((uint64_t)(way->came.rate / devices + 0.5), text[RATE_CELL + 1]);
	}
	int right = fit_draw_cells(frame, y, text, role);
	frame_name(frame, 3, y, right - 3, usual, fit_name(set, name, sizeof name));
	if (selected) {
		frame_glyph(frame, 1, y, GLYPH_INCREASE, ROLE_KEY);
		frame_select(frame, y);
	}
}

/* Parts, and how far the list is. */
static void fit_draw_title(struct frame *frame, const struct fit_view *view, const struct model *model)
{
	static const char *const judges[] = { [ALLOCATOR_PLAN] = ", as planned", [ALLOCATOR_PYTORCH] = ", in default segments",
		[ALLOCATOR_EXPANDABLE] = ", judged with expandable segments" };
	const struct ways *ways = model->ways;
	char text[160];
	int width = frame->window.width;
	frame_repeat(frame, 0, 0, width, GLYPH_HORIZONTAL, ROLE_LINE);
	frame_text(frame, 1, 0, 9, view->curve ? ROLE_TAB : ROLE_TAB_ACTIVE, " changes ");
	frame_text(frame, 12, 0, 7, view->curve ? ROLE_TAB_ACTIVE : ROLE_TAB, " curve ");
	if (!ways || ways->list.ways == 0)
		return;
	bool older = ways->fingerprint != model->plan->fingerprint;
	PRINT_TO(text, older ? " for the settings before; f plans again " : " %u fit into %s%s ",
		ways->list.fitting, BYTES(ways->list.budget),
		width < 72 ? "" : judges[plan_verdict(model->plan).allocator]);
	if (text_cells(text) < width - 20)
		frame_right(frame, width - 1, 0, older ? ROLE_WARN : ROLE_LABEL, text);
}

/* What the selected change means, or why it can't be, and the proof that recomputation can't do it. */
static void fit_foot_text(const struct fit_list *list, const struct fit_way *way, char text[1000])
{
	struct words words = { text, 1000, 0 };
	if (way->planned)
		words_add(&words, "%s: %s. In PyTorch (Y copies it): %s. %s%s", fit_set(way), fit_meaning_texts[way->meaning],
			way->how, way->reason, *way->reason ? ". " : "");
	else
		words_add(&words, "%s: %s. ", fit_set(way), way->reason);
	if (*list->proof.op)
		words_add(&words, "No recomputation and no order helps: what %s alone reads and writes, "
			"with what must be there, is too much: %s. %s", list->proof.op, list->proof.holds, list->proof.advice);
}

/* In place of the list. */
static const char *fit_nothing_text(const struct model *model)
{
	const struct ways *ways = model->ways;
	return ways && ways->job ? ways->list.fits ? "it fits; planning what batch and sequence have room"
			: "planning changes of recomputation, precision, optimizer, batch, sequence; Esc stops"
		: ways && *ways->error.text ? ways->error.text
		: ways && ways->list.fits ? "the step fits as it is; S ranks the ways to use more devices"
		: plan_budget(model->plan) < 0 ? "no limit set: f sets one, and plans what makes the step fit"
		: "f plans changes that make the step fit, and ranks them by the time that they add";
}

/* Where no change fits: which comes nearest. */
static void fit_draw_none(struct frame *frame, int y, const struct fit_list *list)
{
	const struct fit_way *least = NULL;
	FOR(i, list->ways)
		if (list->way[i].planned && (!least || list->way[i].came.needs < least->came.needs))
			least = &list->way[i];
	frame_print(frame, 1, y, ROLE_BAD, "no change fits %s%s%s%s%s",
		BYTES(list->budget), least ? "; least: " : "",
		least ? fit_name(fit_set(least), TEXT(FIT_SET_SIZE)) : "", least ? ", " : "",
		least ? BYTES(least->came.needs) : "");
}

static void fit_draw_list(struct frame *frame, struct fit_view *view, const struct model *model)
{
	char titles[FIT_CELLS][32] = { "needs", "over by", "time", "tokens/s", "a device" };
	static const enum role labels[FIT_CELLS] = { ROLE_LABEL, ROLE_LABEL, ROLE_LABEL, ROLE_LABEL, ROLE_LABEL };
	const struct fit_list *list = &model->ways->list;
	char text[1000] = "";
	if (view->rows)
		fit_foot_text(list, fit_way_at(view, model, view->selected), text);
	int width = frame->window.width, height = frame->window.height, rows = text_rows(text, width - 2),
		most = height < 9 ? 0 : height / 2, foot = rows < most ? rows + 1 : most, y = 2, end = height - foot,
		last = GROUPS;
	if (!list->base.tokens)
		snprintf(titles[RATE_CELL], sizeof *titles, "samples/s");
	fit_draw_cells(frame, 1, titles, labels);
	frame_text(frame, 3, 1, 6, ROLE_LABEL, "change");
	if (list->fitting == 0 && !model->ways->job)
		fit_draw_none(frame, y++, list);
	view->page = LARGER(end - y - TITLES, 1);
	view->top = scroll_to(view->top, view->selected, view->rows, view->page);
	view->first_row = y;
	frame->marks |= model->ways->fingerprint != model->plan->fingerprint ? MARK_DIM : 0;
	for (uint32_t row = view->top; row < view->rows && y < end; row++) {
		const struct fit_way *way = fit_way_at(view, model, row);
		int group = (int)fit_group_of(list, way);
		if (group != last && y + 1 >= end)
			break;
		if (group != last)
			frame_text(frame, 1, y++, width, ROLE_LABEL, group_names[last = group]);
		fit_draw_way(frame, y++, model, way, row == view->selected);
	}
	if (y < end && last != GROUP_DEVICES && scenario_devices(&model->plan->scenario) == 1)
		frame_text(frame, 1, y++, width, ROLE_LABEL, "MORE DEVICES   D: two of them   S: every way to use more");
	if (y < end && list->tuned)
		frame_text(
			frame, 1, y++, width, ROLE_LABEL, "OTHER TRAINING   adapters alone (LoRA): a model as NAME:lora=16:base=nf4");
	if (y < end && view->rows < list->ways)
		frame_print(frame, 1, y, ROLE_FAINT, "z: %u more that can't help", list->ways - view->rows);
	if (foot)
		frame_repeat(frame, 0, end, width, GLYPH_HORIZONTAL, ROLE_LINE);
	frame_wrapped(frame, (struct rect){ 1, end + 1, width - 2, foot - 1 }, ROLE_FAINT, text);
}

/* The largest groups of what is there at the peak. */
static void fit_draw_held(struct frame *frame, struct holders *holders, const struct plan *plan)
{
	uint32_t peak = plan->ordered->peak_position;
	char text[300] = "", unit[8] = "";
	struct words words = { text, sizeof text, 0 };
	if (peak == NONE || !holders_find(holders, plan, peak, peak, false))
		return;
	FOR(i, holders->groups) { /* a unit stands where it begins */
		char *bytes = BYTES(holders->group[i].bytes), *of = strchr(bytes, ' ');
		bool same = text_is(of, unit);
		PRINT_TO(unit, "%s", of ? of : "");
		if (same)
			*of = '\0';
		words_add(
			&words, "%s%s %s", i ? " · " : "held by ", holder_text(plan, &holders->group[i], TEXT(64)), bytes);
	}
	frame_words(frame, 0, 0, frame->window.width, ROLE_TEXT, text);
}

static void fit_draw(void *state, struct model *model, struct frame *frame)
{
	struct fit_view *view = state;
	struct rect window = frame->window;
	view->held = window.height >= HELD_FROM;
	if (view->held) {
		fit_draw_held(frame, &view->holders, model->plan);
		window = (struct rect){ window.x, window.y + 1, window.width, window.height - 1 };
		frame_window(frame, window);
	}
	fit_draw_title(frame, view, model);
	if (view->curve)
		slowdown_draw(frame, (struct rect){ 0, 1, window.width, window.height - 1 }, &view->pane, model);
	else if (!model->ways || model->ways->list.ways == 0)
		frame_wrapped(frame, (struct rect){ 1, 1, window.width - 1, 4 }, ROLE_FAINT, fit_nothing_text(model));
	else {
		fit_take_rows(view, model);
		fit_draw_list(frame, view, model);
	}
}

/* The row at y: titles stand between them. */
static void fit_click(struct fit_view *view, const struct model *model, int y)
{
	int at = view->first_row, last = GROUPS;
	for (uint32_t row = view->top; row < view->rows && at <= y; row++) {
		int group = (int)fit_group_of(&model->ways->list, fit_way_at(view, model, row));
		at += group != last;
		last = group;
		if (at++ == y)
			view->selected = row;
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
		*view = (struct fit_view){ .holders = view->holders };
	if (view->curve || !model->ways || model->ways->list.ways == 0)
		return view->curve && slowdown_command(&view->pane, model, command);
	view->all ^= command == COMMAND_BACKGROUND;
	fit_take_rows(view, model);
	if (view->rows == 0)
		return command == COMMAND_BACKGROUND;
	const struct fit_way *way = fit_way_at(view, model, view->selected);
	if (command == COMMAND_CLICK)
		fit_click(view, model, model->click_y - view->held);
	else if (command == COMMAND_ACTIVATE && !way->planned)
		view_say(model, "%s", way->reason);
	else if (command == COMMAND_ACTIVATE)
		view_request(model, false, "set %s", way->set);
	else if (command == COMMAND_COPY)
		PRINT_TO(model->copied, "%s", way->how);
	else
		return command == COMMAND_BACKGROUND || row_command(command, &view->selected, view->rows, view->page);
	return true;
}

static void fit_free(void *state)
{
	holders_free(&((struct fit_view *)state)->holders);
}

const struct view_ops view_fit = { "Fit", IN_FIT, sizeof(struct fit_view), fit_draw, fit_run, fit_free, NULL };
