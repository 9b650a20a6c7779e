/* panel.c: the control panel. What people turn comes first; the rest is folded by group, but what was changed is always
 * there. Below stands what the selected knob does, or why it can't be turned, and what its neighbouring values gave
 * where a run so far has them. */
#include "app.h"

#include "src/scenario/device_figures.h"
#include "src/scenario/idle_knobs.h"
#include "src/scenario/knobs.h"
#include "src/session/worker.h"

enum {
	HELP_ROWS = 7,
	HELP_ROWS_HIGH = 12,
	HIGH = 32,
	EFFECT_WIDE = 34,
	GROUPS_MOST = 12,
	PLACES = KNOB_COUNT + GROUPS_MOST
};

/* What is turned most, in this order. */
static const enum knob_id first_knobs[] = { K_recompute, K_batch, K_seq, K_precision, K_optimizer, K_devices, K_device,
	K_strategy, K_memory };
enum { FIRST_KNOBS = COUNT_OF(first_knobs) };
/* The groups as they stand below; groups that are not named here follow. */
static const char *const first_groups[] = { "training", "devices", "parallelism", "order", "layout" };

/* ---- places: knobs and groups' titles, from top to bottom, whether folded or not ---- */

struct place {
	bool title, first; /* a group's title; one of first_knobs */
	enum knob_id knob; /* of a title: any of the group's */
	int group;
};

static bool stands_first(enum knob_id knob)
{
	FOR_INT(i, FIRST_KNOBS)
		if (first_knobs[i] == knob)
			return true;
	return false;
}

/* Adds a group: its title, and the knobs that don't stand first. */
static void panel_add_group(struct place *place, uint32_t *places, const char *name, int group)
{
	uint32_t title = (*places)++;
	FOR_INT(i, KNOB_COUNT)
		if (text_is(knobs[i].group, name) && !stands_first((enum knob_id)i)) {
			place[title] = (struct place){ .title = true, .knob = (enum knob_id)i, .group = group };
			place[(*places)++] = (struct place){ .knob = (enum knob_id)i, .group = group };
		}
	if (*places == title + 1)
		*places = title;
}

static uint32_t panel_find_places(struct place place[PLACES])
{
	const char *group[GROUPS_MOST];
	int groups = 0;
	uint32_t places = 0;
	FOR(i, COUNT_OF(first_groups))
		group[groups++] = first_groups[i];
	FOR_INT(i, KNOB_COUNT) {
		bool known = false;
		for (int g = 0; g < groups && !known; g++)
			known = text_is(group[g], knobs[i].group);
		if (!known && groups < GROUPS_MOST)
			group[groups++] = knobs[i].group;
	}
	FOR_INT(i, FIRST_KNOBS)
		place[places++] = (struct place){ .first = true, .knob = first_knobs[i] };
	FOR_INT(g, groups)
		panel_add_group(place, &places, group[g], g);
	return places;
}

static bool panel_changed(const struct model *model, enum knob_id knob)
{
	return model->scenario->value[knob] != knobs[knob].normal;
}

static bool matches(enum knob_id knob, const char *text)
{
	return text_contains(knobs[knob].name, text) || text_contains(knobs[knob].group, text) ||
		text_contains(knobs[knob].help, text) || (knobs[knob].words && text_contains(knobs[knob].words, text));
}

/* Narrowed by a search, just what matches; else titles, and knobs that no group folds away. */
static bool place_shown(const struct panel *panel, const struct model *model, const struct place *place, uint32_t i)
{
	if (*panel->narrow)
		return !place[i].title && matches(place[i].knob, panel->narrow);
	return place[i].first || place[i].title || i == panel->selected || panel_changed(model, place[i].knob) ||
		(panel->open >> place[i].group & 1);
}

/* The shown places; returns how many, *row that of the selected one. */
static uint32_t find_rows(const struct panel *panel, const struct model *model, const struct place *place,
	uint32_t places, uint32_t row[PLACES], uint32_t *selected)
{
	uint32_t rows = 0;
	*selected = 0;
	FOR(i, places)
		if (place_shown(panel, model, place, i)) {
			if (i == panel->selected)
				*selected = rows;
			row[rows++] = i;
		}
	return rows;
}

/* The selected place. */
static struct place panel_here(const struct panel *panel)
{
	struct place place[PLACES];
	uint32_t places = panel_find_places(place);
	return place[panel->selected < places ? panel->selected : 0];
}

void panel_narrow(struct panel *panel, const char *text)
{
	struct place place[PLACES];
	uint32_t places = panel_find_places(place), best = NONE;
	PRINT_TO(panel->narrow, "%s", text);
	for (int rank = 0; rank < 3 && *text && best == NONE; rank++)
		FOR_WHILE(i, places, best == NONE) {
			const char *name = knobs[place[i].knob].name;
			if (!place[i].title &&
				(rank == 0 ? text_is(name, text)
				: rank == 1 ? text_contains(name, text)
				: matches(place[i].knob, text)))
				best = i;
		}
	if (best != NONE)
		panel->selected = best;
}

/* Where a name has the text, the next of these; else the next knob whose group, help or words have it. */
bool panel_find(struct panel *panel, const char *text, int direction)
{
	struct place place[PLACES];
	uint32_t places = panel_find_places(place), found = NONE;
	bool named = false;
	for (uint32_t k = 1; k <= places && !named; k++) {
		uint32_t i = (uint32_t)((panel->selected + places + (int64_t)direction * k) % places);
		if (place[i].title || !matches(place[i].knob, text))
			continue;
		named = text_contains(knobs[place[i].knob].name, text);
		found = named || found == NONE ? i : found;
	}
	panel->selected = found == NONE ? panel->selected : found;
	return found != NONE;
}

/* ---- rows ---- */

/* The knob's value with what it comes to; the word gives way to the knob's name where the panel is narrow. */
static char *panel_value_text(const struct model *model, enum knob_id knob, int width, char *text, size_t size)
{
	return knob_came_to_text(
		knob, model->scenario, &model->given, model->plan, width - text_cells(knobs[knob].name) - 6, text, size);
}

static void draw_knob(
	struct frame *frame, struct rect rect, int y, const struct model *model, const struct place *place, bool selected)
{
	char value[64];
	enum knob_id knob = place->knob;
	enum role role = panel_changed(model, knob) ? ROLE_TITLE : ROLE_TEXT;
	int indent = place->first ? 1 : 2;
	panel_value_text(model, knob, rect.width - indent + 1, value, sizeof value);
	int width = text_cells(value), right = rect.x + rect.width;
	frame_text(frame, rect.x + indent, y, rect.width - width - 4 - indent, role, knobs[knob].name);
	frame_right(frame, right - 2, y, role, value);
	frame_glyph(frame, right - 3 - width - 1, y, GLYPH_DECREASE, ROLE_KEY);
	frame_glyph(frame, right - 1, y, GLYPH_INCREASE, ROLE_KEY);
	if (selected)
		frame_mark(frame, (struct rect){ rect.x, y, rect.width, 1 }, MARK_REVERSE);
}

static void panel_draw_title(
	struct frame *frame, struct rect rect, int y, const struct panel *panel, const struct place *place, bool selected)
{
	bool open = panel->open >> place->group & 1;
	frame_glyph(frame, rect.x, y, open ? GLYPH_UNFOLDED : GLYPH_FOLDED, ROLE_KEY);
	frame_text(frame, rect.x + 2, y, rect.width - 2, ROLE_LABEL, knobs[place->knob].group);
	if (selected)
		frame_mark(frame, (struct rect){ rect.x, y, rect.width, 1 }, MARK_REVERSE);
}

/* ---- what a step would do, from the runs so far ---- */

/* The newest run of what is asked for with that value of the knob, or NULL. */
static const struct plan *known_run(const struct model *model, enum knob_id knob, int64_t value)
{
	for (uint32_t i = model->runs; i-- > 0; ) {
		const struct scenario *scenario = &model->run[i]->scenario;
		if (scenario->value[knob] == value && scenario_alike(scenario, model->scenario, knob))
			return model->run[i];
	}
	return NULL;
}

/* Where a step would lead. */
static int64_t panel_next_value(const struct model *model, enum knob_id knob, int direction)
{
	return knob_next(knob, model->scenario, &model->given, model->plan, direction);
}

bool panel_asks(const struct panel *panel, const struct model *model, int direction, int *knob, int64_t *value)
{
	struct place place = panel_here(panel);
	*knob = place.knob;
	*value = panel_next_value(model, *knob, direction);
	return !place.title && model->plan && !model->status.stale && knob_matters(*knob) &&
		*value != model->scenario->value[*knob] && !known_run(model, *knob, *value);
}

/* What the knob's next value came to in a run, or would come to. False where that is unknown. */
static bool find_effect(
	const struct model *model, enum knob_id knob, int64_t value, int direction, struct preview *effect)
{
	const struct plan *run = known_run(model, knob, value);
	const struct preview *preview = run ? NULL : model->preview[direction > 0];
	if (run)
		*effect = (struct preview){ .known = true,
			.exact = true,
			.peak_bytes = plan_peak(run),
			.arena_bytes = plan_arena(run),
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
	int64_t peak = effect->peak_bytes - plan_peak(plan), arena = effect->arena_bytes - plan_arena(plan),
			main = peak ? peak : arena;
	char time[32];
	int used = snprintf(text, size, "%s%s%s", effect->exact ? "" : wide ? "about " : "~ ", peak || !arena ? "" : "arena ",
			    main ? CHANGE(main) : "the same");
	if (wide && *time_change(model, effect, time, sizeof time))
		snprintf(text + used, size - (size_t)used, ", %s time", time);
}

/* "> full  ~ -1.27 GiB", or nothing; in narrow panels the time has a row of its own. Returns the rows that it took. The
 * amount is never cut; the word before it may be. */
static int draw_effect(
	struct frame *frame, struct rect rect, const struct model *model, enum knob_id knob, int direction)
{
	int64_t now = model->scenario->value[knob], value = panel_next_value(model, knob, direction);
	struct preview effect = { 0 };
	if (rect.height < 1 || value == now || model->status.stale || !model->plan ||
		!find_effect(model, knob, value, direction, &effect))
		return 0;
	char text[64], time[32];
	bool wide = rect.width >= EFFECT_WIDE;
	int64_t change = effect.peak_bytes - plan_peak(model->plan);
	if (change == 0)
		change = effect.arena_bytes - plan_arena(model->plan);
	effect_text(model, &effect, wide, text, sizeof text);
	frame_glyph(frame, rect.x, rect.y, direction > 0 ? GLYPH_INCREASE : GLYPH_DECREASE, ROLE_KEY);
	frame_name(frame, rect.x + 2, rect.y, rect.width - 3 - text_cells(text), ROLE_TEXT,
		knob_text(knob, value, TEXT(64)));
	frame_right(frame, rect.x + rect.width, rect.y, change < 0 ? ROLE_GOOD : change > 0 ? ROLE_BAD : ROLE_FAINT, text);
	if (wide || rect.height < 2 || !*time_change(model, &effect, time, sizeof time))
		return 1;
	PRINT_TO(text, "%s step time", time);
	frame_right(frame, rect.x + rect.width, rect.y + 1, ROLE_FAINT, text);
	return 2;
}

/* What the present value is: a word's own line, a device's figures, the software that counts and what it was measured
 * on, where a link's rate comes from; "" where the knob's sentence says it all. */
static const char *value_help(const struct model *model, enum knob_id knob, char *text, size_t size)
{
	const struct scenario *scenario = model->scenario;
	if (knob == K_device) {
		return printed(text, size, "%s. Every figure: view 5, part device",
			device_text((enum device)scenario->value[K_device], true, TEXT(400)));
	}
	if (knob == K_software) {
		return printed(text, size, "%s: %s", device_software(scenario), device_reached_text(scenario, TEXT(400)));
	}
	return knob_word_help(knob, scenario->value[knob], text, size);
}

static void draw_help(struct frame *frame, struct rect rect, const struct model *model, const struct place *place)
{
	char text[700], value[64];
	frame_repeat(frame, rect.x, rect.y, rect.width, GLYPH_HORIZONTAL, ROLE_LINE);
	struct rect inside = { rect.x + 1, rect.y + 1, rect.width - 1, rect.height - 1 };
	if (place->title) {
		frame_wrapped(frame, inside, ROLE_FAINT, "Enter folds and unfolds these knobs; / finds one by a part of its name");
		return;
	}
	enum knob_id knob = place->knob;
	int64_t now = model->scenario->value[knob];
	int first = panel_next_value(model, knob, -1) == panel_next_value(model, knob, 1)
		? 1
		: -1; /* a switch has one other value */
	for (int direction = first; direction <= 1; direction += 2) {
		int rows = draw_effect(frame, inside, model, knob, direction);
		inside.y += rows;
		inside.height -= rows;
	}
	const char *more = value_help(model, knob, TEXT(500));
	knob_text(knob, now, value, sizeof value);
	const char *idle = model->plan && !model->status.stale ? plan_knob_idle(model->plan, knob)
		: knob_idle(model->scenario, knob);
	PRINT_TO(text, "%s%s%s%s%s%s%s%s", idle ? "No effect now: " : "", idle ? idle : "", idle ? ". " : "",
		knobs[knob].help, *more ? ". " : "", *more ? value : "", *more ? ": " : "", more);
	frame_wrapped(frame, inside, ROLE_FAINT, text);
}

void panel_draw(struct panel *panel, const struct model *model, bool has_keys, struct frame *frame)
{
	struct place place[PLACES];
	uint32_t row[PLACES], selected, places = panel_find_places(place),
									rows = find_rows(panel, model, place, places, row, &selected);
	int width = frame->window.width, height = frame->window.height;
	int help = height >= HIGH ? HELP_ROWS_HIGH : height >= HELP_ROWS + 6 ? HELP_ROWS : 0;
	FOR_INT(y, height)
		frame_glyph(frame, 0, y, GLYPH_VERTICAL, ROLE_LINE);
	struct rect inside = { 1, 0, width - 1, height - help };
	panel->page = inside.height;
	panel->width = width;
	panel->top = scroll_to(panel->top, selected, rows, inside.height);
	for (int y = 0; y < inside.height && panel->top + (uint32_t)y < rows; y++) {
		const struct place *at = &place[row[panel->top + (uint32_t)y]];
		bool marked = has_keys && panel->top + (uint32_t)y == selected;
		if (at->title)
			panel_draw_title(frame, inside, y, panel, at, marked);
		else
			draw_knob(frame, inside, y, model, at, marked);
	}
	if (rows == 0)
		frame_text(frame, inside.x + 1, 0, inside.width - 1, ROLE_FAINT, "no knob has this");
	if (help)
		draw_help(frame, (struct rect){ 1, height - help, width - 1, help }, model,
			&place[panel->selected < places ? panel->selected : 0]);
}

/* ---- commands ---- */

static void panel_turn(struct model *model, enum knob_id knob, int direction)
{
	int64_t next = panel_next_value(model, knob, direction);
	/* ZeRO without its stages is what strategy=data does. */
	bool leaves_zero = knob == K_zero && next == 0 && model->scenario->value[K_strategy] == 1 + STRATEGY_ZERO;
	view_request(model, false, "set %s=%s%s", knobs[knob].name, knob_text(knob, next, TEXT(64)),
		leaves_zero ? " strategy=data" : "");
}

static void panel_move(struct panel *panel, const struct model *model, enum command_id command)
{
	struct place place[PLACES];
	uint32_t row[PLACES], selected, rows = find_rows(panel, model, place, panel_find_places(place), row, &selected);
	row_command(command, &selected, rows, panel->page);
	if (rows)
		panel->selected = row[selected];
}

bool panel_command(struct panel *panel, struct model *model, enum command_id command)
{
	struct place place = panel_here(panel);
	enum knob_id knob = place.knob;
	uint32_t unused = 0;
	switch (command) {
	case COMMAND_GROUP: panel->open = panel->open ? 0 : ~0u; return true;
	case COMMAND_LEFT:
	case COMMAND_RIGHT:
	case COMMAND_ACTIVATE:
		if (place.title)
			panel->open = command == COMMAND_LEFT ? panel->open & ~(1u << place.group)
				: command == COMMAND_RIGHT ? panel->open | 1u << place.group
				: panel->open ^ 1u << place.group;
		else if (command != COMMAND_ACTIVATE)
			panel_turn(model, knob, command == COMMAND_RIGHT ? 1 : -1);
		else if (knobs[knob].type == KNOB_SWITCH)
			view_request(model, false, "set %s=%s", knobs[knob].name,
				knob_text(knob, !model->scenario->value[knob], TEXT(64)));
		else
			view_request(model, true, "set %s=", knobs[knob].name);
		return true;
	default:
		if (!row_command(command, &unused, 1, 1))
			return false;
		panel_move(panel, model, command);
		return true;
	}
}

void panel_click(struct panel *panel, struct model *model, int x, int y)
{
	struct place place[PLACES];
	uint32_t row[PLACES], selected, rows = find_rows(panel, model, place, panel_find_places(place), row, &selected);
	if (y < 0 || y >= panel->page || panel->top + (uint32_t)y >= rows)
		return;
	panel->selected = row[panel->top + (uint32_t)y];
	struct place at = place[panel->selected];
	int cells = at.title
		? 0
		: text_cells(panel_value_text(model, at.knob, panel->width - 1 - !at.first, TEXT(64)));
	if (at.title)
		panel_command(panel, model, COMMAND_ACTIVATE);
	else if (x >= panel->width - 2)
		panel_command(panel, model, COMMAND_RIGHT);
	else if (x >= panel->width - 5 - cells && x < panel->width - 2 - cells)
		panel_command(panel, model, COMMAND_LEFT);
}
