/* devices.c: how the step is split: ranks and their schedule, what is sent, where tensors lie, the device's figures. */
#include "devices.h"
#include "gantt.h"

struct devices {
	enum device_part part;
	struct place_list places;
	struct gantt gantt;
	struct figure_rows figures;
};

char *devices_mesh_text(const struct plan *plan, char *text, size_t size)
{
	const struct sharded *sharded = plan->transformed->sharded;
	const struct pipelined *pipelined = plan->transformed->pipelined;
	char mesh[96] = "";
	bool ranks = pipelined && pipelined->ranks > 1, axes = sharded && (sharded->sharding.mesh.axes || !ranks);
	size_t used = ranks ? (size_t)snprintf(text, size, "pp %u%s", pipelined->ranks, axes ? " x " : "") : 0;
	snprintf(text + used, size - used, "%s", axes ? mesh_text(&sharded->sharding.mesh, mesh, sizeof mesh) : "");
	return text;
}

/* ---- parts ---- */

#define X(id, name) name,
static const char *const part_names[PART_COUNT] = { DEVICE_PARTS(X) };
#undef X

/* Where a tab begins; its end is where the next would. */
static int devices_tab_at(int part)
{
	int at = 1;
	FOR_INT(i, part)
		at += text_cells(part_names[i]) + 3;
	return at;
}

static void draw_tabs(struct frame *frame, enum device_part part)
{
	frame_repeat(frame, 0, 0, frame->window.width, GLYPH_HORIZONTAL, ROLE_LINE);
	FOR_INT(i, PART_COUNT)
		frame_print(frame, devices_tab_at(i), 0, i == (int)part ? ROLE_TAB_ACTIVE : ROLE_TAB, " %s ", part_names[i]);
}

/* The schedule, or why there is none. */
static void draw_timetable(struct frame *frame, struct devices *view, const struct model *model)
{
	const struct timetable *timetable = model->timetable;
	struct rect all = { 0, 0, frame->window.width, frame->window.height };
	if (!timetable) {
		char text[600] = "a moment: the schedule is being worked out";
		if (model->timetable_problem && *model->timetable_problem)
			PRINT_TO(text, "no schedule: %s", model->timetable_problem);
		frame_wrapped(frame, (struct rect){ 1, 0, all.width - 1, 4 }, ROLE_FAINT, text);
		return;
	}
	gantt_take(&view->gantt, timetable);
	view->gantt.passes = scenario_accumulation(&model->plan->scenario);
	view->gantt.step = model->plan->speed.time;
	view->gantt.needs = plan_verdict(model->plan).needed;
	view->gantt.planned = model->plan->rank;
	gantt_draw(frame, all, &view->gantt, timetable, scenario_budget(&model->plan->scenario));
}

/* How the placements were found, and what is proved of them. */
static void devices_draw_found(struct frame *frame, const struct plan *plan)
{
	const struct sharded *sharded = plan->transformed->sharded;
	const struct proof *proof = &plan->shown.proof;
	char text[300];
	struct words words = { text, sizeof text, 0 };
	words_add(&words, "%s", sharded->space ? "found by search" : "as experts write it by hand");
	if (proof->quantity != QUANTITY_NONE)
		words_add(&words, proof_closed(proof) ? ": least possible %s%s"
			: ": %s at most %s above the least", quantity_names[proof->quantity],
			proof_closed(proof) ? "" : gap_text(proof->value, proof->bound, TEXT(32)));
	if (plan->compared > 1)
		words_add(&words, "; the best of %u that were planned", plan->compared);
	frame_words(frame, 1, 0, frame->window.width - 1, proof_closed(proof) ? ROLE_GOOD : ROLE_LABEL, text);
}

static void draw_part(struct frame *frame, struct devices *view, struct model *model)
{
	const struct plan *plan = model->plan;
	if (view->part == PART_RANKS)
		draw_timetable(frame, view, model);
	else if (view->part == PART_FIGURES)
		figures_draw(frame, &view->figures, model);
	else if (!plan->transformed->sharded)
		frame_wrapped(frame, (struct rect){ 1, 0, frame->window.width - 1, 3 }, ROLE_FAINT,
			scenario_devices(&plan->scenario) == 1
				? "one device sends nothing. D: two; S: the best way to use eight"
				: "every device runs the whole step, nothing is sent: :fsdp splits it; S: the best way");
	else if (view->part == PART_TRAFFIC)
		devices_draw_traffic(frame, model);
	else {
		struct rect window = frame->window;
		devices_draw_found(frame, plan);
		frame_window(frame, (struct rect){ window.x, window.y + 1, window.width, window.height - 1 });
		places_draw(frame, &view->places, model);
		frame_window(frame, window);
	}
}

static void devices_draw(void *state, struct model *model, struct frame *frame)
{
	struct devices *view = state;
	struct rect window = frame->window;
	if (model->plan->graph->ops == 0)
		return;
	draw_tabs(frame, view->part);
	frame_window(frame, (struct rect){ window.x, window.y + 1, window.width, window.height - 1 });
	draw_part(frame, view, model);
	frame_window(frame, window);
}

/* A tab, a slot, a figure. */
static void devices_click(struct devices *view, const struct model *model)
{
	int y = model->click_y - 1;
	for (int i = 0; i < PART_COUNT && y == -1; i++)
		if (model->click_x >= devices_tab_at(i) && model->click_x < devices_tab_at(i + 1) - 1) {
			view->part = (enum device_part)i;
			return;
		}
	if (y >= 0 && view->part == PART_RANKS && model->timetable)
		gantt_click(&view->gantt, model->timetable, model->click_x, y);
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
	if (view->part == PART_RANKS && model->timetable && gantt_command(&view->gantt, model->timetable, command))
		return true;
	if (command == COMMAND_CLICK) {
		devices_click(view, model);
		return true;
	}
	if (view->part == PART_FIGURES && figures_command(&view->figures, model, command))
		return true;
	if (view->part == PART_PLACES && model->plan->transformed->sharded && places_command(&view->places, model, command))
		return true;
	return view_command(model, command);
}

static void devices_free(void *state)
{
	places_free(&((struct devices *)state)->places);
}

const struct view_ops view_devices = { "Devices", IN_DEVICES, sizeof(struct devices), devices_draw, devices_command,
	devices_free, NULL };
