/* order.c: ops down, lifetimes across, like the lanes of a commit graph; below, the decision at the cursor.
 *
 * Stepping (`.` and `,`) runs the order op by op: what has not run yet is faint, and the pane tells which ops could
 * run, what each would need and leave behind, and why the order takes this one. `J` and `K` move ops by hand.
 * Plans of order=roam have a rule above each segment and a line about the segment, or the branch, of the op at the
 * cursor. */
#include "order_rows.h"

enum { PANE_FROM = 14, MOVES = 64 };

struct order_view {
	struct order_schedule schedule;
	uint64_t serial; /* of the plan that the schedule belongs to; 0: none */
	struct candidate *candidate; /* [ops] room for the ready list */
	uint32_t *freed; /* [items] room */
	struct order_rows rows;
	struct challenge challenge;
	uint32_t moved[MOVES]; /* positions that the moves by hand exchanged with the next */
	bool stepping;
};

static void order_forget(struct order_view *view)
{
	schedule_free(&view->schedule);
	mem_free(view->candidate);
	mem_free(view->freed);
	view->candidate = NULL;
	view->freed = NULL;
	view->serial = 0;
}

static void order_free(void *state)
{
	struct order_view *view = state;
	order_forget(view);
	challenge_end(&view->challenge);
}

static bool order_prepare(struct order_view *view, const struct model *model)
{
	if (view->serial == model->plan->serial && view->candidate)
		return true;
	order_forget(view);
	MAKE(view->candidate, model->plan->graph->ops);
	MAKE(view->freed, model->plan->ordered->problem.items);
	if (view->candidate && view->freed && schedule_new(model->plan, &view->schedule) == OK) {
		view->serial = model->plan->serial;
		return true;
	}
	order_forget(view);
	return false;
}

/* ---- the decision ---- */

static void order_draw_pane(
	struct frame *frame, struct rect rect, struct order_view *view, const struct model *model)
{
	const struct order_schedule *schedule = &view->schedule;
	const struct problem *problem = schedule->problem;
	uint32_t position = schedule->position[model->op];
	uint32_t freed = schedule_freed(schedule, position, view->freed),
			 count = schedule_ready(schedule, position, view->candidate), chosen = 0;
	int y = rect.y, rows = rect.height - 5;
	frame_repeat(frame, 0, y, rect.width, GLYPH_HORIZONTAL, ROLE_LINE);
	if (model->plan->ordered->result.roam.segments) {
		segment_choice_draw(frame, ++y, model->plan, model->op, position);
		rows--;
	}
	if (model->span)
		view_draw_span(frame, y + 1, model);
	else {
		order_items_draw(frame, y + 1, model, problem, view->stepping ? "made" : "makes", ROLE_WARN,
		   problem->products.item + problem->products.start[model->op], csr_length(&problem->products, model->op));
		order_items_draw(frame, y + 2, model, problem, view->stepping ? "freed" : "frees", ROLE_GOOD, view->freed, freed);
	}
	while (chosen + 1 < count && view->candidate[chosen].op != model->op)
		chosen++;
	frame_text(frame, 0, y + 3, rect.width, ROLE_LABEL, "why");
	int x = 7 +
		frame_text(frame, 7, y + 3, rect.width - 7, ROLE_TEXT,
			schedule_why(schedule, view->candidate, count, chosen, schedule->moves == 0));
	view_source(frame, x + 2, y + 3, rect.width - x - 2, &model->plan->graph->op[model->op]);
	struct details details;
	order_candidates_title(frame, y + 4, model, count, "leaves", &details);
	uint32_t top = scroll_to(0, chosen, count, rows);
	int64_t before = schedule_before(schedule, position);
	for (int i = 0; i < rows && top + (uint32_t)i < count; i++)
		order_candidate_draw(frame, y + 5 + i, model, &view->candidate[top + (uint32_t)i], before,
			top + (uint32_t)i == chosen, &details);
}

/* What moving by hand costs. */
static void draw_hand(struct frame *frame, int y, const struct order_view *view, const struct model *model)
{
	const struct order_schedule *schedule = &view->schedule;
	int64_t difference = schedule->peak - plan_peak(model->plan);
	if (schedule->moves == 0) {
		const char *part = schedule->peak_position < model->plan->graph->ops
			? model->plan->graph->op[model->plan->ordered->result.order[schedule->peak_position]].part : NULL;
		frame_print(frame, 0, y, ROLE_LABEL, "peak %s at op %u%s%s", BYTES(schedule->peak), schedule->peak_position,
			part ? " in part " : "", part ? part : "");
		return;
	}
	int x = frame_print(frame, 0, y, ROLE_LABEL, "by hand, %u move%s: peak %s at op %u  ", schedule->moves,
		schedule->moves == 1 ? "" : "s", BYTES(schedule->peak), schedule->peak_position);
	frame_rest(frame, x, y, difference > 0 ? ROLE_BAD : difference < 0 ? ROLE_GOOD : ROLE_TEXT,
		   difference ? CHANGE(difference) : "as planned");
}

static void order_draw(void *state, struct model *model, struct frame *frame)
{
	struct order_view *view = state;
	int width = frame->window.width, height = frame->window.height;
	if (model->plan->graph->ops == 0)
		return;
	if (challenge_on(&view->challenge, model)) {
		challenge_draw(&view->challenge, model, frame);
		return;
	}
	if (!order_prepare(view, model)) {
		frame_no_memory(frame);
		return;
	}
	int pane = height >= PANE_FROM ? (height - 1) * 2 / 5 : 0;
	view->rows.schedule = &view->schedule;
	view->rows.roam = &model->plan->ordered->result.roam;
	view->rows.listed = view->schedule.problem->ops;
	view->rows.ran = view->stepping ? view->schedule.position[model->op] + 1 : view->rows.listed;
	draw_hand(frame, 0, view, model);
	order_rows_draw(frame, (struct rect){ 0, 1, width, height - 1 - pane }, &view->rows, model);
	details_titles(frame, 0, &view->rows.details, true);
	if (pane)
		order_draw_pane(frame, (struct rect){ 0, height - pane, width, pane }, view, model);
}

/* ---- commands ---- */

/* The cursor's position in the schedule, which may differ from the plan's. */
static void go(struct order_view *view, struct model *model, int64_t position)
{
	uint32_t ops = view->schedule.problem->ops;
	position = position < 0 ? 0 : position >= ops ? (int64_t)ops - 1 : position;
	model_go(model, model->plan->ordered->position[view->schedule.order[position]]);
}

static void move_by_hand(struct order_view *view, struct model *model, int direction)
{
	uint32_t position = view->schedule.position[model->op];
	if (position == (direction < 0 ? 0 : view->schedule.problem->ops - 1)) {
		view_say(model, "%s is the %s op: it can't run %s", model->plan->graph->op[model->op].name,
			direction < 0 ? "first" : "last", direction < 0 ? "earlier" : "later");
		return;
	}
	char text[sizeof model->message - 60];
	position -= direction < 0;
	if (schedule_swap(&view->schedule, position, model->plan, text, sizeof text) == OK)
		view->moved[(view->schedule.moves - 1) % MOVES] = position;
	else {
		view_say(model, "can't move: %s", text);
		return;
	}
	view_say(model, "%s. u takes it back, :pin op keeps a choice", text);
}

/* The last move by hand; of more than are kept all. False where there is none. */
static bool take_move_back(struct order_view *view, struct model *model)
{
	char text[sizeof model->message];
	uint32_t moves = view->schedule.moves;
	if (moves == 0)
		return false;
	if (moves > MOVES) {
		order_forget(view);
		view_say(model, "all moves are taken back");
	} else if (schedule_swap(&view->schedule, view->moved[moves - 1], model->plan, text, sizeof text) == OK) {
		view->schedule.moves = moves - 1;
		view_say(model, "taken back: %s", text);
	}
	return true;
}

static bool order_command(void *state, struct model *model, enum command_id command)
{
	struct order_view *view = state;
	if (model->plan->graph->ops == 0)
		return false;
	if (command == COMMAND_CHALLENGE || challenge_on(&view->challenge, model))
		return challenge_command(&view->challenge, model, command) || view_command(model, command);
	if (!order_prepare(view, model))
		return false;
	uint32_t position = view->schedule.position[model->op];
	switch (command) {
	case COMMAND_CLICK:
		if (order_rows_at(&view->rows, model->click_y - 1) != NONE)
			go(view, model, order_rows_at(&view->rows, model->click_y - 1));
		break;
	case COMMAND_RUN_OP:
	case COMMAND_STEP_BACK:
		go(view, model, position + view->stepping * (command == COMMAND_RUN_OP ? (int64_t)1 : -1));
		view->stepping = true;
		break;
	case COMMAND_ACTIVATE: view->stepping = !view->stepping; break;
	case COMMAND_EARLIER: move_by_hand(view, model, -1); break;
	case COMMAND_LATER: move_by_hand(view, model, 1); break;
	case COMMAND_UNDO: return take_move_back(view, model);
	case COMMAND_SCORE:
	case COMMAND_END:
	case COMMAND_HINT: view_say(model, "y begins the challenge: order the ops yourself"); break;
	case COMMAND_PEAK: go(view, model, view->schedule.peak_position); break;
	case COMMAND_LEFT: go(view, model, (int64_t)position - 1); break;
	case COMMAND_RIGHT: go(view, model, (int64_t)position + 1); break;
	default:
		if (!row_command(command, &position, view->schedule.problem->ops, view->rows.page))
			return view_command(model, command);
		go(view, model, position);
		return true;
	}
	return true;
}

static enum context order_context(const void *state, const struct model *model)
{
	const struct order_view *view = state;
	return model->plan && challenge_played(&view->challenge, model) ? IN_CHALLENGE : IN_ORDER;
}

const struct view_ops view_order = { "Order", IN_ORDER, sizeof(struct order_view), order_draw, order_command,
	order_free, order_context };
