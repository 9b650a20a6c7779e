/* devices.c: how the step is split: the mesh, what each device holds at its peak against the cap, and below that one
 * part after the other: memory by category, collectives, placements with their reasons, what was searched, differences
 * from the baseline. */
#include "devices.h"
#include "src/plan/verdict.h"
#include "gantt.h"

enum { LABELS = 10, AMOUNT = 9, BAR_MIN = 8, NARROW = 60 };

struct devices {
	enum device_part part;
	uint32_t top; /* of the candidates */
	struct place_list places;
	struct change_list changes;
	struct gantt gantt;
	struct config_rows configs;
	struct way_rows ways;
	struct figure_rows figures;
	int tabs, width; /* their row, and the window's width, when it was drawn last */
	uint32_t device; /* under the mesh's cursor */
};

/* The full width of a bar stands for the cap, or for the peak where there is none or it is lower. */
static int64_t full_scale(const struct plan *plan)
{
	int64_t budget = plan_budget(plan), scale = plan_peak(plan) > plan_arena(plan) ? plan_peak(plan) : plan_arena(plan);
	if (budget > scale)
		scale = budget;
	return scale > 0 ? scale : 1;
}

static int cells_of(int64_t bytes, int64_t scale, int width)
{
	return (int)((double)bytes / (double)scale * width + 0.5);
}

/* The categories alive at the peak, one after another. */
static void views_devices_draw_bar(struct frame *frame, int x, int y, int width, const struct model *model)
{
	const struct plan *plan = model->plan;
	const int64_t *category = &model->index->category[(size_t)plan->ordered->peak_position * CATEGORIES];
	int64_t scale = full_scale(plan), sum = 0;
	for (int i = 0; i < CATEGORIES; i++) {
		int from = cells_of(sum, scale, width), to = cells_of(sum += category[i], scale, width);
		for (int column = from; column < to; column++)
			frame_cell(frame, x + column, y, frame->mono ? (uint32_t)category_letters[i] : ' ', role_of_category(i, 0),
				   frame->mono ? ROLE_TEXT : role_of_category(i, 0));
	}
	for (int column = cells_of(sum, scale, width); column < width; column++)
		frame_glyph(frame, x + column, y, GLYPH_DOT, ROLE_FAINT);
	int64_t budget = plan_budget(plan);
	if (budget >= 0 && budget < scale)
		frame_glyph(frame, x + cells_of(budget, scale, width), y, GLYPH_VERTICAL, ROLE_BUDGET);
}

/* Below the bar, or further to the left where it would not fit. */
static void draw_verdict(struct frame *frame, int x, int y, const struct plan *plan)
{
	struct verdict verdict = plan_verdict(plan);
	char text[VERDICT_TEXT];
	verdict_plan_text(&verdict, text, sizeof text);
	if (!fits_runs(verdict.fits))
		snprintf(text + strlen(text), sizeof text - strlen(text), ": F finds what fits");
	int width = frame->window.width, room = width - 1 - text_cells(text);
	frame_text(frame, x < room ? x : room > 1 ? room : 1, y, width, verdict.fits == FITS_YES ? ROLE_GOOD : ROLE_BAD, text);
}

static const char no_cap[] = "no cap; :set memory=80GiB gives one";

/* One bar stands for all devices: they run the same graph. */
static int draw_devices(struct frame *frame, int y, const struct model *model)
{
	const struct plan *plan = model->plan;
	int width = frame->window.width, bar = width - LABELS - AMOUNT - 3;
	int64_t devices = plan->transformed->sharded ? mesh_devices(&plan->transformed->sharded->sharding.mesh)
		: plan->scenario.value[K_devices];
	char text[64];
	if (plan->transformed->pipelined && plan->transformed->pipelined->ranks > 1)
		frame_print(frame, 1, y, ROLE_TEXT, "rank %u of %u", plan->rank, plan->transformed->pipelined->ranks);
	else if (devices > 1)
		frame_print(frame, 1, y, ROLE_TEXT, "each of %lld", (long long)devices);
	else
		frame_text(frame, 1, y, LABELS, ROLE_TEXT, "device 0");
	int x = LABELS + (plan->transformed->pipelined && plan->transformed->pipelined->ranks > 1 ? 5 : devices > 1 ? 3 : 0);
	if (bar >= BAR_MIN)
		views_devices_draw_bar(frame, x, y, bar - (x - LABELS), model);
	frame_right(frame, width - 1, y, ROLE_TITLE, bytes_text(plan_peak(plan), text, sizeof text));
	if (plan_budget(plan) >= 0)
		draw_verdict(frame, x, y + 1, plan);
	else
		frame_words(frame, width - x < text_cells(no_cap) ? 1 : x, y + 1, width - 1, ROLE_FAINT, no_cap);
	return y + 2;
}

/* "8 devices  dp 2 x tp 4  by megatron" and what the step costs; parts that don't fit are left out. */
static void views_devices_draw_title(struct frame *frame, const struct plan *plan)
{
	char text[96], word[64], amount[32];
	int x = 1, end = frame->window.width - 1;
	long long devices = plan->scenario.value[K_devices];
	snprintf(text, sizeof text, "%lld device%s, %s%s", devices, devices == 1 ? "" : "s",
		end < NARROW && plan->transformed->sharded ? "" : "strategy ",
		knob_text(K_strategy, plan->scenario.value[K_strategy], word, sizeof word));
	x += frame_text(frame, x, 0, end, ROLE_TITLE, text);
	if (!plan->transformed->sharded)
		return;
	const struct sharded *sharded = plan->transformed->sharded;
	const struct mesh *mesh = &sharded->sharding.mesh;
	char pipeline[24] = "";
	if (plan->transformed->pipelined && plan->transformed->pipelined->ranks > 1)
		snprintf(pipeline, sizeof pipeline, "pp %u%s", plan->transformed->pipelined->ranks, mesh->axes ? " x " : "");
	snprintf(text, sizeof text, "%s%s", pipeline, mesh->axes || !*pipeline ? mesh_text(mesh, amount, sizeof amount) : "");
	frame_part(frame, &x, 0, end, ROLE_TEXT, text);
	snprintf(text, sizeof text, "step %s", time_text(plan_step_time(plan), amount, sizeof amount));
	frame_part(frame, &x, 0, end, ROLE_TEXT, text);
	if (plan->time && plan->time->bound.bound > 0) {
		snprintf(text, sizeof text, "any order %s or more", time_text(plan->time->bound.bound, amount, sizeof amount));
		frame_part(frame, &x, 0, end, ROLE_TEXT, text);
	}
	snprintf(text, sizeof text, "sends %s", bytes_text(plan->traffic.bytes, amount, sizeof amount));
	frame_part(frame, &x, 0, end, ROLE_TEXT, text);
	snprintf(text, sizeof text, "extra copies %s", bytes_text(sharded->cost.redundant, amount, sizeof amount));
	frame_part(frame, &x, 0, end, ROLE_TEXT, text);
}

/* ---- parts ---- */

#define X(id, name) name,
static const char *const part_names[PART_COUNT] = { DEVICE_PARTS(X) };
#undef X

/* The tabs that fit, from *first on; at[i] is where tab i begins, and their end. Those before the one that is shown
 * give way to it. */
static int place_tabs(int width, enum device_part part, int *first, int at[PART_COUNT + 1])
{
	int wanted = 1, last;
	for (int i = 0; i <= (int)part; i++)
		wanted += text_cells(part_names[i]) + 3;
	for (*first = 0; *first < (int)part && wanted > width; (*first)++)
		wanted -= text_cells(part_names[*first]) + 3;
	at[*first] = 1;
	for (last = *first; last < PART_COUNT && at[last] + text_cells(part_names[last]) < width; last++)
		at[last + 1] = at[last] + text_cells(part_names[last]) + 3;
	return last;
}

static void draw_tabs(struct frame *frame, int y, enum device_part part)
{
	int at[PART_COUNT + 1], first, end = place_tabs(frame->window.width, part, &first, at);
	frame_repeat(frame, 0, y, frame->window.width, GLYPH_HORIZONTAL, ROLE_LINE);
	for (int i = first; i < end; i++)
		frame_print(frame, at[i], y, i == (int)part ? ROLE_TAB_ACTIVE : ROLE_TAB, " %s ", part_names[i]);
	if (first > 0)
		frame_glyph(frame, 0, y, GLYPH_DECREASE, ROLE_TAB);
	if (end < PART_COUNT)
		frame_glyph(frame, frame->window.width - 1, y, GLYPH_INCREASE, ROLE_TAB);
}

/* What the model of whole configurations says, or why it says nothing. */
static void draw_outlook(struct frame *frame, struct devices *view, const struct model *model, enum device_part part)
{
	const struct outlook *outlook = model->outlook;
	struct rect all = { 0, 0, frame->window.width, frame->window.height };
	if (!outlook) {
		char text[600] = "a moment: the schedule is being worked out";
		if (model->outlook_problem && *model->outlook_problem)
			snprintf(text, sizeof text, "there is no schedule: %s", model->outlook_problem);
		frame_wrapped(frame, (struct rect){ 1, 0, all.width - 1, 4 }, ROLE_FAINT, text);
		return;
	}
	gantt_take(&view->gantt, &outlook->timetable, outlook->fingerprint);
	view->gantt.passes = model->plan->scenario.value[K_accumulation];
	view->gantt.step = model->plan->speed.time;
	if (part == PART_SCHEDULE)
		gantt_draw(frame, all, &view->gantt, &outlook->timetable, outlook->machine.memory);
	else
		gantt_draw_memory(frame, all, &view->gantt, &outlook->timetable, outlook->machine.memory);
}

static void views_devices_draw_memory(struct frame *frame, const struct model *model)
{
	const struct plan *plan = model->plan;
	struct rect window = frame->window;
	frame_window(frame, (struct rect){ window.x, window.y, devices_draw_beside(frame, model), window.height });
	int rows = devices_draw_memory(frame, model);
	if (*plan->notes)
		rows = devices_draw_notes(frame, rows + 1, plan);
	if (!plan->transformed->sharded)
		frame_wrapped(frame, (struct rect){ 1, rows + 1, frame->window.width - 1, 6 }, ROLE_FAINT,
			plan->scenario.value[K_devices] == 1
				? "the whole step runs on this device: nothing is communicated; :set devices=8 and :set strategy=auto "
				  "split it"
				: "every device runs the whole step: nothing is communicated; :set strategy=auto splits it");
	frame_window(frame, window);
}

static void draw_part(struct frame *frame, struct devices *view, struct model *model, enum device_part part)
{
	const struct plan *plan = model->plan;
	if (part == PART_MEMORY) {
		views_devices_draw_memory(frame, model);
	} else if (part == PART_SCHEDULE || part == PART_RANKS) {
		draw_outlook(frame, view, model, part);
	} else if (part == PART_MESH) {
		mesh_draw(frame, &view->device, model);
	} else if (part == PART_FIGURES) {
		figures_draw(frame, &view->figures, model);
	} else if (part == PART_CONFIGS) {
		configs_draw(frame, &view->configs, model);
	} else if (part == PART_FIT) {
		ways_draw(frame, &view->ways, model);
	} else if (part == PART_CHANGES) {
		changes_draw(frame, &view->changes, model);
	} else if (!plan->transformed->sharded) {
		frame_wrapped(frame, (struct rect){ 1, 0, frame->window.width - 1, 2 }, ROLE_FAINT,
			"the step is not split: set devices and strategy");
	} else if (part == PART_TRAFFIC) {
		devices_draw_traffic(frame, model);
	} else if (part == PART_SEARCH) {
		devices_draw_search(frame, model, &view->top);
	} else {
		places_draw(frame, &view->places, model);
	}
}

static void devices_draw(void *state, struct model *model, struct frame *frame)
{
	struct devices *view = state;
	struct rect window = frame->window;
	if (model->plan->graph->ops == 0)
		return;
	views_devices_draw_title(frame, model->plan);
	int y = draw_devices(frame, 1, model);
	if (y + 2 >= window.height)
		return;
	draw_tabs(frame, y, view->part);
	view->tabs = y;
	view->width = window.width;
	frame_window(frame, (struct rect){ window.x, window.y + y + 1, window.width, window.height - y - 1 });
	draw_part(frame, view, model, view->part);
	frame_window(frame, window);
}

/* A tab, a slot, a configuration. */
static void views_devices_click(struct devices *view, const struct model *model)
{
	int at[PART_COUNT + 1], first, end = place_tabs(view->width, view->part, &first, at),
								   y = model->click_y - view->tabs - 1;
	for (int i = first; i < end && y == -1; i++)
		if (model->click_x >= at[i] && model->click_x < at[i + 1] - 1) {
			view->part = (enum device_part)i;
			return;
		}
	if (y >= 0 && (view->part == PART_SCHEDULE || view->part == PART_RANKS) && model->outlook)
		gantt_click(&view->gantt, &model->outlook->timetable, model->click_x, y);
	else if (y >= 0 && view->part == PART_CONFIGS)
		configs_click(&view->configs, y);
	else if (y >= 0 && view->part == PART_FIT)
		ways_click(&view->ways, model, y);
	else if (y >= 0 && view->part == PART_FIGURES)
		figures_click(&view->figures, model, y);
}

static bool devices_command(void *state, struct model *model, enum command_id command)
{
	struct devices *view = state;
	if (command == COMMAND_PART || command == COMMAND_PART_BACK) {
		view->part = (enum device_part)((view->part + (command == COMMAND_PART ? 1 : PART_COUNT - 1)) % PART_COUNT);
		return true;
	}
	if ((view->part == PART_SCHEDULE || view->part == PART_RANKS) && model->outlook &&
		gantt_command(&view->gantt, &model->outlook->timetable, command))
		return true;
	if (command == COMMAND_CLICK) {
		views_devices_click(view, model);
		return true;
	}
	if (command == COMMAND_CONFIGURE) {
		view->part = PART_CONFIGS;
		return true;
	}
	if (command == COMMAND_FIT) {
		view->part = PART_FIT;
		view->ways = (struct way_rows){ 0 };
		return true;
	}
	if (view->part == PART_FIT && ways_command(&view->ways, model, command))
		return true;
	if (view->part == PART_CONFIGS && configs_command(&view->configs, model, command))
		return true;
	if (view->part == PART_FIGURES && figures_command(&view->figures, model, command))
		return true;
	if (view->part == PART_MESH && mesh_command(&view->device, model, command))
		return true;
	if (view->part == PART_PLACES && model->plan->transformed->sharded && places_command(&view->places, model, command))
		return true;
	if (view->part == PART_SEARCH && model->plan->transformed->sharded &&
		row_command(command, &view->top, model->plan->transformed->sharded->candidates, 10))
		return true;
	if (view->part == PART_CHANGES && row_command(command, &view->changes.top, view->changes.rows, view->changes.page))
		return true;
	return view_command(model, command);
}

static void devices_free(void *state)
{
	places_free(&((struct devices *)state)->places);
	changes_free(&((struct devices *)state)->changes);
	configs_free(&((struct devices *)state)->configs);
}

const struct view_ops view_devices = { "Devices", IN_DEVICES, sizeof(struct devices), devices_draw, devices_command,
	devices_free, NULL };
