/* fit_most.c: the largest batch or sequence that fits, and the devices on which a step does. */
#include <stdlib.h>

#include "fit_list.h"
#include "src/plan/verdict.h"

/* ---- one plan ---- */

struct planned { int64_t arena, step; char guesses[GUESSES_BYTES]; };

/* What the plan needs, with what is beside its arena, and its simulated step. OK; BAD_INPUT or INFEASIBLE: there is
 * none, *error says why; CANCELLED, NO_MEMORY. */
static enum status plan_it(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	struct planned *planned, struct error *error)
{
	struct plan *plan = planner_run(planner, graph, scenario, PLAN_COMPLETE, error);
	if (!plan)
		return error->status;
	enum status status = plan->limited ? fail(error, CANCELLED, "cancelled") : OK;
	*planned = (struct planned){ .arena = plan_needs(plan) };
	notes_guesses(plan->transformed->notes, planned->guesses);
	if (status == OK && (planned->step = fit_step_of(plan, planner->rules, error)) < 0)
		status = NO_MEMORY;
	plan_release(plan);
	return status;
}

/* ---- the most ---- */

#define STALE 2  /* probes that don't halve what is left, before the middle is tried */

#define STEEP 4  /* so many times what a line through nothing tells is no line */

/* Memory that a value needs whatever runs again: of what fits, recomputation takes as much as there is; of the smallest
 * value, and of what doesn't fit, the need tells. */
struct need { int64_t value, bytes; };

struct bracket {
	struct planner *planner;
	struct graph *graph;
	struct scenario scenario;
	enum knob_id knob;
	int64_t by;
	struct fit_most *most;
	struct need least,
		above[2]; /* of the smallest value; of the last two that don't fit, the last first; value 0: not known */
};

/* *fits, and what the plan comes to, or why there is none. What isn't OK ends the search. */
static enum status try_value(struct bracket *bracket, int64_t value, bool *fits)
{
	struct fit_most *most = bracket->most;
	struct planned planned = { 0 };
	struct error why = { 0 };
	bracket->scenario.value[bracket->knob] = value;
	most->plans++;
	enum status status = plan_it(bracket->planner, bracket->graph, &bracket->scenario, &planned, &why);
	*fits = status == OK && planned.arena <= most->budget;
	if (status == OK && value == bracket->by)
		bracket->least = (struct need){ value, planned.arena };
	if (*fits) {
		most->most = value;
		most->arena = planned.arena;
		most->step = planned.step;
		memcpy(most->guesses, planned.guesses, sizeof most->guesses);
	} else {
		most->next = value;
		most->next_arena = status == OK ? planned.arena : -1;
		memcpy(most->next_guesses, planned.guesses, sizeof most->next_guesses);
		snprintf(most->reason, sizeof most->reason, "%s", status == OK ? "" : why.text);
		bracket->above[1] = bracket->above[0];
		bracket->above[0] = status == OK ? (struct need){ value, planned.arena } : (struct need){ 0 };
	}
	return status == BAD_INPUT || status == INFEASIBLE ? OK : status;
}

/* Where a line through two needs meets the cap, a multiple of `by` between what fits and what doesn't; the middle where
 * there is no such line. */
static int64_t fit_most_next_value(const struct bracket *bracket, bool middle)
{
	const struct fit_most *most = bracket->most;
	int64_t by = bracket->by, low = most->most + by, high = most->next - by;
	const struct need *one = &bracket->above[0],
					  *other = bracket->above[1].value > 0 ? &bracket->above[1] : &bracket->least;
	int64_t value = most->most + (most->next - most->most) / by / 2 * by;
	if (middle || one->value == 0 || other->value == 0 || (one->bytes - other->bytes) / (one->value - other->value) <= 0)
		return value;
	double slope = (double)(one->bytes - other->bytes) / (double)(one->value - other->value),
		   met = (double)one->value - (double)(one->bytes - most->budget) / slope;
	value = met <= (double)low ? low : met >= (double)high ? high : (int64_t)met / by * by;
	return value < low ? low : value;
}

/* Few values between what fits and what doesn't are planned; or the middles alone. */
static enum status fit_most_narrow(struct bracket *bracket, bool middles)
{
	const struct fit_most *most = bracket->most;
	enum status status = OK;
	bool fits;
	for (int stale = 0; status == OK && most->next > 0 && most->next - most->most > bracket->by;) {
		int64_t width = most->next - most->most;
		status = try_value(bracket, fit_most_next_value(bracket, middles || stale >= STALE), &fits);
		stale = most->next - most->most > width / 2 ? stale + 1 : 0;
	}
	return status;
}

/* One more takes so much more memory that this is no line: the plan that doesn't fit isn't the least there is, and a
 * larger value may fit. */
static bool jumps(const struct bracket *bracket)
{
	const struct fit_most *most = bracket->most;
	double jump = (double)(most->next_arena - most->arena);
	return most->next > 0 && most->most > 0 && most->next_arena >= 0 && jump > (double)most->budget / 100
		&& jump > STEEP * (double)bracket->by * (double)most->next_arena / (double)most->next;
}

enum status fit_most_find(struct planner *planner, struct graph *graph, const struct scenario *given, enum knob_id knob,
	int64_t by, struct fit_most *most, struct error *error)
{
	struct bracket bracket = { .planner = planner, .graph = graph, .knob = knob, .by = by, .most = most };
	bool fits = true;
	*most = (struct fit_most){ .budget = scenario_budget(given) };
	if (scenario_copy(&bracket.scenario, given) != OK)
		return fail_memory(error);
	enum status status = OK;
	for (int64_t value = by; status == OK && fits && value <= knobs[knob].maximum; value *= 2) {
		status = try_value(&bracket, value, &fits);
		fits |= value == by && most->next_arena < 0;
	}
	int64_t top = most->next;
	if (status == OK)
		status = fit_most_narrow(&bracket, false);
	if (status == OK && jumps(&bracket)) {
		most->next = top;
		status = fit_most_narrow(&bracket, true);
	}
	scenario_done(&bracket.scenario);
	if (status != OK)
		return fail_status(error, status);
	if (most->most == 0 && most->next_arena < 0)
		return fail(error, BAD_INPUT, "%s", most->reason);
	return most->most == 0 ? INFEASIBLE : OK;
}

/* ---- devices ---- */

static int compare_devices(const void *left, const void *right)
{
	const struct fit_device *a = left, *b = right;
	if (a->memory != b->memory)
		return (a->memory > b->memory) - (a->memory < b->memory);
	return a->step != b->step ? (a->step < b->step) - (a->step > b->step)
		: (a->device > b->device) - (a->device < b->device);
}

enum status fit_devices_find(struct planner *planner, struct graph *graph, const struct scenario *given,
	struct fit_device *device, uint32_t *devices, struct error *error)
{
	struct scenario scenario;
	uint32_t planned = 0;
	*devices = 0;
	if (scenario_copy(&scenario, given) != OK)
		return fail_memory(error);
	scenario.value[K_memory] = KNOB_GIVEN;
	scenario_drop_figures(&scenario);
	for (int preset = 0; preset < DEVICE_COUNT; preset++) {
		struct planned plan;
		scenario.value[K_device] = preset;
		int64_t memory = scenario_budget(&scenario);
		if (preset == DEVICE_NONE || memory < 0)
			continue;
		enum status status = plan_it(planner, graph, &scenario, &plan, error);
		struct fit_device *row = &device[(*devices)++];
		*row = (struct fit_device){ .device = (uint32_t)preset, .memory = memory, .planned = status == OK };
		if (status == OK) {
			row->arena = plan.arena;
			row->step = plan.step;
			memcpy(row->guesses, plan.guesses, sizeof row->guesses);
			row->fits = plan.arena <= memory;
			planned++;
		} else if (status != BAD_INPUT && status != INFEASIBLE) {
			scenario_done(&scenario);
			return status;
		}
	}
	scenario_done(&scenario);
	qsort(device, *devices, sizeof *device, compare_devices);
	return planned > 0 ? error_set(error, OK) : error->status;
}
