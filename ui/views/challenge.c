/* challenge.c: after every step the rest is ordered as well as possible, with a small effort: that tells what a step
 * has cost, and is where hints come from. */
#include "order_rows.h"
#include "src/scenario/knobs.h"

/* Ticks for ordering the rest: below a frame's time, and far more than most graphs of this size need. */
#define EFFORT UINT64_C(2000000)

/* An order made to its end stays to be compared with the next one. */
static void challenge_keep(struct challenge *challenge)
{
	if (challenge->done == 0 || challenge->done < challenge->problem.ops)
		return;
	challenge->last_ops = challenge->done;
	challenge->last_graph = challenge->graph;
	memcpy(challenge->last, challenge->schedule.live, challenge->done * sizeof *challenge->last);
}

void challenge_end(struct challenge *challenge)
{
	challenge_keep(challenge);
	schedule_free(&challenge->schedule);
	problem_free(&challenge->problem);
	scenario_done(&challenge->scenario);
	mem_free(challenge->candidate);
	struct challenge fresh = { .last_ops = challenge->last_ops, .last_graph = challenge->last_graph };
	memcpy(fresh.last, challenge->last, sizeof fresh.last);
	*challenge = fresh;
}

bool challenge_played(const struct challenge *challenge, const struct model *model)
{
	static const enum knob_id used[] = { K_alignment, K_workspace, K_in_place };
	bool same = challenge->on && challenge->graph == model->plan->graph->fingerprint &&
		challenge->scenario.pins == model->plan->scenario.pins;
	FOR(i, COUNT_OF(used))
		same = same && challenge->scenario.value[used[i]] == model->plan->scenario.value[used[i]];
	return same;
}

bool challenge_on(struct challenge *challenge, const struct model *model)
{
	bool played = challenge_played(challenge, model);
	if (challenge->on && !played)
		challenge_end(challenge);
	return played;
}

/* ---- what can still be reached ---- */

/* The problem in which the ops that ran keep their places: each is pinned before the next, the last before all others.
 */
static enum status rest_problem(const struct challenge *challenge, const struct model *model, struct problem *problem)
{
	const struct order_schedule *schedule = &challenge->schedule;
	const struct scenario *scenario = &challenge->scenario;
	const struct graph *graph = model->plan->graph;
	struct order_pin *MAKE(pin, (size_t)challenge->problem.ops + scenario->pins);
	struct error error;
	uint32_t pins = 0;
	NEED(pin);
	FOR(i, scenario->pins)
		if (scenario->pin[i].kind == PIN_ORDER)
			pin[pins++] = (struct order_pin){ graph_find_op(graph, scenario->pin[i].a),
				graph_find_op(graph, scenario->pin[i].b) };
	for (uint32_t i = 1; i < challenge->problem.ops && challenge->done > 0; i++)
		pin[pins++] = (struct order_pin){ schedule->order[i < challenge->done ? i - 1 : challenge->done - 1],
			schedule->order[i] };
	struct memory_rules rules = scenario_memory_rules(scenario);
	rules.pin = pin;
	rules.pins = pins;
	enum status status = problem_of_graph(graph, &rules, problem, &error);
	mem_free(pin);
	return status;
}

/* Orders the rest. What ran stays; the schedule's order changes behind it. */
static enum status solve_rest(struct challenge *challenge, const struct model *model)
{
	struct problem problem;
	struct order_result result = { 0 };
	struct control control = { 0 };
	TRY(rest_problem(challenge, model, &problem));
	struct order_options options = { .strategy = ORDER_BEST, .ticks = EFFORT };
	enum status status = order_solve(&problem, &options, &control, &result);
	if (result.order && status != NO_MEMORY) {
		for (uint32_t i = challenge->done; i < problem.ops && status != NO_MEMORY; i++)
			status = schedule_run(&challenge->schedule, i, result.order[i]);
		challenge->reachable = result.peak;
		challenge->bound = result.proof.bound;
	}
	order_result_free(&result);
	problem_free(&problem);
	return status == NO_MEMORY ? status : OK;
}

/* What can still be reached after each op that could run. */
static enum status weigh_candidates(struct challenge *challenge, const struct model *model)
{
	FOR(i, challenge->candidates) {
		struct problem problem;
		struct order_result result = { 0 };
		struct control control = { 0 };
		struct order_options options = { .strategy = ORDER_BEST, .ticks = EFFORT / challenge->candidates };
		TRY(schedule_run(&challenge->schedule, challenge->done++, challenge->candidate[i].op));
		enum status status = rest_problem(challenge, model, &problem);
		challenge->done--;
		TRY(status);
		status = order_solve(&problem, &options, &control, &result);
		challenge->candidate[i].best = result.order ? result.peak : 0;
		order_result_free(&result);
		problem_free(&problem);
		TRY(status == NO_MEMORY ? status : OK);
	}
	return solve_rest(challenge, model);
}

/* After a step: what ran, what could run next. The first candidate is selected. */
static bool challenge_look(struct challenge *challenge, struct model *model)
{
	const struct order_schedule *schedule = &challenge->schedule;
	challenge->peak = 0;
	FOR(i, challenge->done)
		if (schedule->live[i] > challenge->peak)
			challenge->peak = schedule->live[i];
	challenge->hinted = false;
	challenge->selected = 0;
	if (solve_rest(challenge, model) != OK) {
		challenge_end(challenge);
		view_say(model, "%s", status_text(NO_MEMORY));
		return false;
	}
	challenge->candidates = challenge->done < challenge->problem.ops
		? schedule_ready(schedule, challenge->done, challenge->candidate)
		: 0;
	if (challenge->done)
		model_go(model, model->plan->ordered->position[schedule->order[challenge->done - 1]]);
	return true;
}

/* ---- playing ---- */

static void challenge_begin(struct challenge *challenge, struct model *model)
{
	const struct plan *plan = model->plan;
	struct error error;
	bool scored = challenge->scored;
	challenge_end(challenge);
	challenge->scored = scored;
	if (plan->graph->ops > CHALLENGE_MOST) {
		view_say(model, "the challenge is for graphs of up to %u ops: try samples/diamond.jsonl", CHALLENGE_MOST);
		return;
	}
	enum status status = scenario_copy(&challenge->scenario, &plan->scenario);
	THEN(status, scenario_problem(plan->graph, &plan->scenario, &challenge->problem, &error));
	THEN(status, schedule_of(&challenge->problem, plan->ordered->result.order, &challenge->schedule));
	MAKE(challenge->candidate, plan->graph->ops);
	if (status != OK || !challenge->candidate) {
		challenge_end(challenge);
		view_say(model, "%s", status_text(NO_MEMORY));
		return;
	}
	challenge->on = true;
	challenge->scored = scored;
	challenge->begun = model->clock;
	challenge->ended = -1;
	challenge->graph = plan->graph->fingerprint;
	if (!challenge_look(challenge, model))
		return;
	bool plan_wins = plan_peak(plan) < challenge->reachable;
	challenge->optimum = plan_wins ? plan_peak(plan) : challenge->reachable;
	challenge->optimum_proved = (plan_bound(plan) > 0 && challenge->optimum <= challenge->bound) ||
		(plan_wins && plan_is_proved(plan));
	view_say(model, "arrows choose, Enter runs, u takes back, i hints, y ends");
}

static void run_selected(struct challenge *challenge, struct model *model)
{
	if (challenge->done == challenge->problem.ops)
		return;
	int64_t before = challenge->reachable;
	if (schedule_run(&challenge->schedule, challenge->done, challenge->candidate[challenge->selected].op) != OK)
		return;
	challenge->done++;
	if (challenge->done == challenge->problem.ops)
		challenge->ended = model->clock;
	bool played = challenge_look(challenge, model), worse = played && challenge->reachable > before;
	if (worse && !challenge->lost) {
		challenge->lost = challenge->done;
		challenge->lost_to = challenge->reachable;
	}
	if (worse && challenge->done < challenge->problem.ops && !challenge->scored)
		view_say(model, "from here the best you can reach is %s, before it was %s",
			BYTES(challenge->reachable), BYTES(before));
}

static void challenge_take_back(struct challenge *challenge, struct model *model)
{
	if (challenge->done == 0) {
		view_say(model, "nothing has run yet");
		return;
	}
	challenge_keep(challenge);
	uint32_t op = challenge->schedule.order[--challenge->done];
	challenge->undone++;
	challenge->ended = -1;
	if (challenge->lost > challenge->done)
		challenge->lost = 0;
	if (!challenge_look(challenge, model))
		return;
	FOR(i, challenge->candidates)
		if (challenge->candidate[i].op == op)
			challenge->selected = i;
}

static void hint(struct challenge *challenge, struct model *model)
{
	if (weigh_candidates(challenge, model) != OK) {
		challenge_end(challenge);
		view_say(model, "%s", status_text(NO_MEMORY));
		return;
	}
	FOR(i, challenge->candidates)
		if (challenge->candidate[i].op == challenge->schedule.order[challenge->done])
			challenge->selected = i;
	challenge->hints += !challenge->hinted && challenge->candidates > 0;
	challenge->hinted = challenge->candidates > 0;
}

bool challenge_command(struct challenge *challenge, struct model *model, enum command_id command)
{
	switch (command) {
	case COMMAND_END:
	case COMMAND_CHALLENGE:
		if (challenge->on) {
			challenge_end(challenge);
			view_say(model, "the challenge is over; this is the plan again");
		} else
			challenge_begin(challenge, model);
		break;
	case COMMAND_ACTIVATE:
	case COMMAND_RUN_OP:
	case COMMAND_RIGHT: run_selected(challenge, model); break;
	case COMMAND_UNDO:
	case COMMAND_STEP_BACK:
	case COMMAND_LEFT: challenge_take_back(challenge, model); break;
	case COMMAND_HINT: hint(challenge, model); break;
	case COMMAND_SCORE:
		challenge->scored = !challenge->scored;
		model->ticks = challenge->scored;
		break;
	case COMMAND_CLICK:
		if (model->click_y >= challenge->first_row && model->click_y - challenge->first_row < (int)challenge->candidates)
			challenge->selected = (uint32_t)(model->click_y - challenge->first_row);
		break;
	case COMMAND_EARLIER:
	case COMMAND_LATER: view_say(model, "u takes the last op back; y ends the challenge"); break;
	default: return row_command(command, &challenge->selected, challenge->candidates, 5);
	}
	return true;
}

/* ---- drawing ---- */

/* 1000 for an order as good as the best known; what is above costs its share, a hint 50, an op taken back 20. */
static int score_of(const struct challenge *challenge)
{
	int64_t peak = challenge->done == challenge->problem.ops ? challenge->peak : challenge->reachable;
	double share = peak > 0 ? (double)challenge->optimum / (double)peak : 1;
	int score = (int)(1000 * share) - 50 * (int)challenge->hints - 20 * (int)challenge->undone;
	return LARGER(score, 0);
}

static void draw_score(struct frame *frame, const struct challenge *challenge)
{
	int x = 0, width = frame->window.width;
	frame_part(frame, &x, 0, width, ROLE_LABEL, "%u of %u ops", challenge->done, challenge->problem.ops);
	frame_part(frame, &x, 0, width, ROLE_TITLE, "your peak %s", BYTES(challenge->peak));
	bool lost = challenge->reachable > challenge->optimum;
	if (challenge->done < challenge->problem.ops && !challenge->scored)
		frame_part(frame, &x, 0, width, lost ? ROLE_WARN : ROLE_GOOD,
			"reachable %s", BYTES(challenge->reachable));
}

enum { CURVE = 6, CURVES_LEAST = 16, EIGHTHS = 8 };   /* the column of curves, and the rows from which they are drawn */

/* Live bytes of some ops, of so many, as a row of blocks. */
static void challenge_draw_curve(
	struct frame *frame, int y, const char *name, const int64_t *live, uint32_t ops, uint32_t all, int64_t scale)
{
	int wide = SMALLER((int)all, frame->window.width - CURVE);
	frame_text(frame, 0, y, CURVE - 1, ROLE_LABEL, name);
	FOR_INT(x, wide) {
		uint32_t from = (uint32_t)((uint64_t)x * all / (uint32_t)wide), to = (uint32_t)((x + 1ull) * all / (uint32_t)wide);
		int64_t most = 0;
		for (uint32_t i = from; i < to && i < ops; i++)
			most = LARGER(live[i], most);
		int high = scale > 0 ? (int)((double)most / (double)scale * EIGHTHS + 0.5) : 0;
		if (most > 0)
			frame_cell(frame, CURVE + x, y, (frame->mono || frame->ascii ? '0' : 0x2580) + (uint32_t)LARGER(high, 1),
				most == scale ? ROLE_TITLE : ROLE_TEXT, ROLE_TEXT);
	}
}

/* What has run so far, above the last order made to its end. */
static int challenge_draw_curves(struct frame *frame, int y, const struct challenge *challenge)
{
	int64_t scale = challenge->peak;
	bool last = challenge->last_ops > 0 && challenge->last_graph == challenge->graph;
	for (uint32_t i = 0; last && i < challenge->last_ops; i++)
		scale = LARGER(challenge->last[i], scale);
	challenge_draw_curve(frame, y, "now", challenge->schedule.live, challenge->done, challenge->problem.ops, scale);
	if (last)
		challenge_draw_curve(frame, y + 1, "last", challenge->last, challenge->last_ops, challenge->last_ops, scale);
	return last ? 2 : 1;
}

/* At the right end of a line across. */
static void challenge_draw_time(
	struct frame *frame, const struct challenge *challenge, const struct model *model, int y)
{
	int64_t seconds = (challenge->ended >= 0 ? challenge->ended : model->clock) - challenge->begun;
	frame_right(frame, frame->window.width - 2, y, ROLE_TITLE,
		PRINTED(64, " score %d, %d:%02d ", score_of(challenge), (int)(seconds / 60), (int)(seconds % 60)));
}

/* "; lost at op 1, `right`: from there 83.0 MiB" */
static char *lost_text(const struct challenge *challenge, const struct model *model, char *text, size_t size)
{
	text[0] = '\0';
	if (challenge->lost)
		snprintf(text, size, "; lost at op %u, `%.40s`: from there %s", challenge->lost - 1,
			model->plan->graph->op[challenge->schedule.order[challenge->lost - 1]].name,
			BYTES(challenge->lost_to));
	return text;
}

static void draw_result(
	struct frame *frame, struct rect rect, const struct challenge *challenge, const struct model *model)
{
	char text[200], hints[32];
	int64_t difference = challenge->peak - challenge->optimum;
	PRINT_TO(hints, "%u hint%s", challenge->hints, challenge->hints == 1 ? "" : "s");
	const char *best = BYTES(challenge->optimum);
	PRINT_TO(text, "your order: peak %s; %s: %s", BYTES(challenge->peak),
		 challenge->optimum_proved ? "the optimum" : "the best known", best);
	int used = text_cells(text) > rect.width ? 2 : 1;
	frame_wrapped(frame, (struct rect){ 0, rect.y, rect.width, used }, ROLE_TITLE, text);
	if (difference > 0)
		PRINT_TO(text, "%s, %.1f %% more, with %s%s. u goes back, y ends",
			CHANGE(difference),
			challenge->optimum > 0 ? 100.0 * (double)difference / (double)challenge->optimum : 0.0, hints,
			lost_text(challenge, model, TEXT(120)));
	else
		PRINT_TO(text, "%s, with %s. y ends", difference < 0 ? "better than any known" :
			 challenge->optimum_proved ? "nobody does better" : "as good as any known", hints);
	frame_wrapped(frame, (struct rect){ 0, rect.y + used, rect.width, rect.height - used },
		difference > 0 ? ROLE_WARN : ROLE_GOOD, text);
}

/* The ops that can run, and what speaks for the selected one. */
static void challenge_draw_choice(
	struct frame *frame, struct rect rect, struct challenge *challenge, const struct model *model)
{
	const struct order_schedule *schedule = &challenge->schedule;
	int rows = rect.height - 3;
	frame_repeat(frame, 0, rect.y, rect.width, GLYPH_HORIZONTAL, ROLE_LINE);
	if (challenge->scored)
		challenge_draw_time(frame, challenge, model, rect.y);
	if (challenge->done == challenge->problem.ops) {
		draw_result(frame, (struct rect){ 0, rect.y + 1, rect.width, rect.height - 1 }, challenge, model);
		return;
	}
	const struct candidate *selected = &challenge->candidate[challenge->selected];
	bool best = challenge->hinted && selected->op == schedule->order[challenge->done];
	frame_print(frame, 0, rect.y + 1, best ? ROLE_GOOD : ROLE_FAINT, "%s%s", best ? "hint: " : "this op: ",
		    schedule_why(schedule, challenge->candidate, challenge->candidates, challenge->selected, best));
	struct details details;
	order_candidates_title(
		frame, rect.y + 2, model, challenge->candidates, challenge->hinted ? "best after" : "leaves", &details);
	int64_t before = challenge->hinted ? challenge->reachable : schedule_before(schedule, challenge->done);
	uint32_t top = scroll_to(0, challenge->selected, challenge->candidates, rows);
	challenge->first_row = rect.y + 3 - (int)top;
	for (int i = 0; i < rows && top + (uint32_t)i < challenge->candidates; i++)
		order_candidate_draw(frame, rect.y + 3 + i, model, &challenge->candidate[top + (uint32_t)i], before,
			top + (uint32_t)i == challenge->selected, &details);
}

void challenge_draw(struct challenge *challenge, const struct model *model, struct frame *frame)
{
	static const struct order_roam no_segments = { 0 };
	int width = frame->window.width, height = frame->window.height, pane = height / 2;
	challenge->rows.schedule = &challenge->schedule;
	challenge->rows.roam = &no_segments;
	challenge->rows.ran = challenge->rows.listed = challenge->done;
	draw_score(frame, challenge);
	int top = 1 + (challenge->done && height >= CURVES_LEAST ? challenge_draw_curves(frame, 1, challenge) : 0);
	if (challenge->done)
		order_rows_draw(frame, (struct rect){ 0, top, width, height - top - pane }, &challenge->rows, model);
	else
		frame_wrapped(frame, (struct rect){ 0, 2, width, 2 }, ROLE_FAINT,
			"nothing has run yet: run the ops so that the peak stays low");
	challenge_draw_choice(frame, (struct rect){ 0, height - pane, width, pane }, challenge, model);
}
