/* panel.c: the control panel. Lines are the groups' titles and the knobs; below them stands what the selected
 * knob does, or why it can't be turned, and what its neighbouring values gave where a run so far has them. */
#include "panel.h"

#include "src/session/worker.h"

enum { HELP_ROWS = 7, EFFECT_WIDE = 34 };

/* The groups as they stand in the panel: what is turned most comes first. Groups that are not named here follow. */
static const char *const first_groups[] = { "order", "layout", "training", "devices", "parallelism" };

static uint32_t rank_of(const char *group)
{
	uint32_t rank = 0;
	while (rank < sizeof first_groups / sizeof *first_groups && strcmp(group, first_groups[rank]) != 0)
		rank++;
	return rank;
}

/* The knob at a place of the panel: by group, within a group as in the table. */
static enum knob_id knob_at(uint32_t place)
{
	for (uint32_t rank = 0; rank <= sizeof first_groups / sizeof *first_groups; rank++)
		for (uint32_t i = 0; i < KNOB_COUNT; i++)
			if (rank_of(knobs[i].group) == rank && place-- == 0)
				return (enum knob_id)i;
	return (enum knob_id)0;
}

static bool begins_group(uint32_t place)
{
	return place == 0 || strcmp(knobs[knob_at(place)].group, knobs[knob_at(place - 1)].group) != 0;
}

/* The line of the panel on which a place's knob stands: one per knob, and one per group's title. */
static uint32_t line_of(uint32_t place)
{
	uint32_t line = 0;
	for (uint32_t i = 0; i <= place; i++)
		line += 1 + begins_group(i);
	return line - 1;
}

static void draw_knob(struct frame *frame, struct rect rect, int y, const struct model *model, enum knob_id knob, bool selected)
{
	char value[64];
	int64_t wanted = model->scenario->value[knob];
	enum role role = wanted != knobs[knob].normal ? ROLE_TITLE : ROLE_TEXT;
	knob_text(knob, wanted, value, sizeof value);
	int width = text_cells(value), right = rect.x + rect.width;
	frame_text(frame, rect.x + 1, y, rect.width - width - 5, role, knobs[knob].name);
	frame_right(frame, right - 2, y, role, value);
	frame_glyph(frame, right - 3 - width - 1, y, GLYPH_DECREASE, ROLE_KEY);
	frame_glyph(frame, right - 1, y, GLYPH_INCREASE, ROLE_KEY);
	if (selected)
		frame_mark(frame, (struct rect){ rect.x, y, rect.width, 1 }, MARK_REVERSE);
}

/* ---- what a step would do, from the runs so far ------------------------------------------------------- */

/* Effort rises by itself in the background, and the store changes no result. */
static bool matters(enum knob_id knob)
{
	return knob != K_order_effort && knob != K_layout_effort && knob != K_store;
}

static bool same_pins(const struct scenario *one, const struct scenario *other)
{
	char a[512], b[512];
	if (one->pins != other->pins)
		return false;
	for (uint32_t i = 0; i < one->pins; i++)
		if (strcmp(pin_text(&one->pin[i], a, sizeof a), pin_text(&other->pin[i], b, sizeof b)) != 0)
			return false;
	return true;
}

/* The newest run of what is asked for with that value of the knob, or NULL. */
static const struct plan *known_run(const struct model *model, enum knob_id knob, int64_t value)
{
	for (uint32_t i = model->runs; i-- > 0; ) {
		const struct scenario *scenario = &model->run[i]->scenario;
		bool same = scenario->value[knob] == value && same_pins(scenario, model->scenario);
		for (int k = 0; k < KNOB_COUNT && same; k++)
			same = k == (int)knob || !matters((enum knob_id)k) || scenario->value[k] == model->scenario->value[k];
		if (same)
			return model->run[i];
	}
	return NULL;
}

bool panel_asks(const struct panel *panel, const struct model *model, int direction, enum knob_id *knob, int64_t *value)
{
	*knob = knob_at(panel->selected);
	*value = knob_step(*knob, model->scenario->value[*knob], direction);
	return model->plan && !model->status.stale && matters(*knob) && *value != model->scenario->value[*knob] &&
	       !known_run(model, *knob, *value);
}

/* What the knob's next value came to in a run, or would come to. False where that is unknown. */
static bool find_effect(const struct model *model, enum knob_id knob, int64_t value, int direction, struct preview *effect)
{
	const struct plan *run = known_run(model, knob, value);
	const struct preview *preview = run ? NULL : model->preview[direction > 0];
	if (run)
		*effect = (struct preview){ .known = true, .exact = true, .peak_bytes = plan_peak(run), .arena_bytes = plan_arena(run),
					    .time = plan_step_time(run) };
	else if (preview && preview->known)
		*effect = *preview;
	return run || (preview && preview->known);
}

/* "+6.0 %" of time against the plan on screen, "" where nothing is known of it. */
static const char *time_change(const struct model *model, const struct preview *effect, char *text, size_t size)
{
	int64_t now = plan_step_time(model->plan);
	text[0] = '\0';
	if (effect->time > 0 && now > 0)
		snprintf(text, size, "%+.1f %%", 100.0 * ((double)effect->time / (double)now - 1));
	return text;
}

/* "about -1.27 GiB, +6.0 % time" against the plan on screen; the time where both have one and the row has room. */
static void effect_text(const struct model *model, const struct preview *effect, bool wide, char *text, size_t size)
{
	const struct plan *plan = model->plan;
	int64_t peak = effect->peak_bytes - plan_peak(plan), arena = effect->arena_bytes - plan_arena(plan), main = peak ? peak : arena;
	char change[32], time[32];
	int used = snprintf(text, size, "%s%s%s", effect->exact ? "" : wide ? "about " : "~ ", peak || !arena ? "" : "arena ",
			    main ? change_text(main, change, sizeof change) : "the same");
	if (wide && *time_change(model, effect, time, sizeof time))
		snprintf(text + used, size - (size_t)used, ", %s time", time);
}

/* "> full  ~ -1.27 GiB", or nothing; in narrow panels the time has a row of its own. Returns the rows that it took. The amount is never cut; the
 * word before it may be. */
static int draw_effect(struct frame *frame, struct rect rect, const struct model *model, enum knob_id knob, int direction)
{
	int64_t now = model->scenario->value[knob], value = knob_step(knob, now, direction);
	struct preview effect = { 0 };
	if (rect.height < 1 || value == now || model->status.stale || !model->plan || !find_effect(model, knob, value, direction, &effect))
		return 0;
	char word[64], text[64], time[32];
	bool wide = rect.width >= EFFECT_WIDE;
	int64_t change = effect.peak_bytes - plan_peak(model->plan);
	if (change == 0)
		change = effect.arena_bytes - plan_arena(model->plan);
	effect_text(model, &effect, wide, text, sizeof text);
	frame_glyph(frame, rect.x, rect.y, direction > 0 ? GLYPH_INCREASE : GLYPH_DECREASE, ROLE_KEY);
	frame_name(frame, rect.x + 2, rect.y, rect.width - 3 - text_cells(text), ROLE_TEXT, knob_text(knob, value, word, sizeof word));
	frame_right(frame, rect.x + rect.width, rect.y, change < 0 ? ROLE_GOOD : change > 0 ? ROLE_BAD : ROLE_FAINT, text);
	if (wide || rect.height < 2 || !*time_change(model, &effect, time, sizeof time))
		return 1;
	snprintf(text, sizeof text, "%s step time", time);
	frame_right(frame, rect.x + rect.width, rect.y + 1, ROLE_FAINT, text);
	return 2;
}

static void draw_help(struct frame *frame, struct rect rect, const struct model *model, enum knob_id knob)
{
	frame_repeat(frame, rect.x, rect.y, rect.width, GLYPH_HORIZONTAL, ROLE_LINE);
	struct rect inside = { rect.x + 1, rect.y + 1, rect.width - 1, rect.height - 1 };
	int64_t now = model->scenario->value[knob];
	int first = knob_step(knob, now, -1) == knob_step(knob, now, 1) ? 1 : -1;   /* a switch has one other value */
	for (int direction = first; direction <= 1; direction += 2) {
		int rows = draw_effect(frame, inside, model, knob, direction);
		inside.y += rows;
		inside.height -= rows;
	}
	frame_wrapped(frame, inside, ROLE_FAINT, knobs[knob].help);
}

void panel_draw(struct panel *panel, const struct model *model, bool has_keys, struct frame *frame)
{
	int width = frame->window.width, height = frame->window.height;
	int help = height >= HELP_ROWS + 6 ? HELP_ROWS : 0;
	for (int y = 0; y < height; y++)
		frame_glyph(frame, 0, y, GLYPH_VERTICAL, ROLE_LINE);
	struct rect inside = { 1, 0, width - 1, height - help };
	uint32_t lines = line_of(KNOB_COUNT - 1) + 1;
	panel->page = inside.height;
	panel->width = width;
	/* A group's first knob brings the title along. */
	panel->top = scroll_to(panel->top, line_of(panel->selected) - begins_group(panel->selected), lines, inside.height);
	panel->top = scroll_to(panel->top, line_of(panel->selected), lines, inside.height);
	for (uint32_t i = 0; i < KNOB_COUNT; i++) {
		int y = (int)line_of(i) - (int)panel->top;
		if (begins_group(i) && y - 1 >= 0 && y - 1 < inside.height)
			frame_text(frame, inside.x + 1, y - 1, inside.width - 1, ROLE_LABEL, knobs[knob_at(i)].group);
		if (y >= 0 && y < inside.height)
			draw_knob(frame, inside, y, model, knob_at(i), has_keys && i == panel->selected);
	}
	if (help)
		draw_help(frame, (struct rect){ 1, height - help, width - 1, help }, model, knob_at(panel->selected));
}

bool panel_command(struct panel *panel, struct model *model, enum command_id command)
{
	enum knob_id knob = knob_at(panel->selected);
	int64_t value = model->scenario->value[knob];
	char text[64];
	switch (command) {
	case COMMAND_LEFT:
	case COMMAND_RIGHT:
		view_request(model, false, "set %s=%s", knobs[knob].name,
			     knob_text(knob, knob_step(knob, value, command == COMMAND_RIGHT ? 1 : -1), text, sizeof text));
		return true;
	case COMMAND_ACTIVATE:
		if (knobs[knob].type == KNOB_SWITCH)
			view_request(model, false, "set %s=%s", knobs[knob].name, knob_text(knob, !value, text, sizeof text));
		else
			view_request(model, true, "set %s=", knobs[knob].name);
		return true;
	default:
		return row_command(command, &panel->selected, KNOB_COUNT, panel->page);
	}
}

void panel_click(struct panel *panel, struct model *model, int x, int y)
{
	char value[64];
	if (y < 0 || y >= panel->page)
		return;
	for (uint32_t i = 0; i < KNOB_COUNT; i++) {
		if (line_of(i) != panel->top + (uint32_t)y)
			continue;
		panel->selected = i;
		int cells = text_cells(knob_text(knob_at(i), model->scenario->value[knob_at(i)], value, sizeof value));
		if (x >= panel->width - 2)
			panel_command(panel, model, COMMAND_RIGHT);
		else if (x >= panel->width - 5 - cells && x < panel->width - 2 - cells)
			panel_command(panel, model, COMMAND_LEFT);
	}
}
