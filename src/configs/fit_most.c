/* fit_most.c: the largest batch or sequence that fits, and the devices on which a step does. */
#include <stdlib.h>

#include "fit_most.h"

/* ---- one plan ------------------------------------------------------------------------------------------------------------ */

struct planned { int64_t arena, step; };

/* The plan's arena and simulated step. OK; BAD_INPUT or INFEASIBLE: there is none, *error says why; CANCELLED, NO_MEMORY. */
static enum status plan_it(struct planner *planner, struct graph *graph, const struct scenario *scenario, struct planned *planned, struct error *error)
{
	struct plan *plan = planner_run(planner, graph, scenario, PLAN_COMPLETE, error);
	if (!plan)
		return error->status;
	enum status status = plan->limited ? fail(error, CANCELLED, "cancelled") : OK;
	*planned = (struct planned){ plan_arena(plan), plan_step_time(plan) };
	if (status == OK && planned->step < 0) {
		struct plan_time *time = plan_time_of(plan->graph, plan->ordered->result.order, plan->transformed->sharded, &plan->scenario, planner->rules);
		planned->step = time ? time->whole.total : 0;
		status = time ? OK : fail_memory(error);
		plan_time_free(time);
	}
	plan_release(plan);
	return status;
}

/* ---- the most -------------------------------------------------------------------------------------------------------------- */

/* *fits, and what the plan comes to, or why there is none. What isn't OK ends the search. */
static enum status try_value(struct planner *planner, struct graph *graph, struct scenario *scenario, enum knob_id knob, int64_t value, struct fit_most *most,
	bool *fits)
{
	struct planned planned;
	struct error why = { 0 };
	scenario->value[knob] = value;
	most->plans++;
	enum status status = plan_it(planner, graph, scenario, &planned, &why);
	*fits = status == OK && planned.arena <= most->budget;
	if (*fits) {
		most->most = value;
		most->arena = planned.arena;
		most->step = planned.step;
	} else {
		most->next = value;
		most->next_arena = status == OK ? planned.arena : -1;
		snprintf(most->reason, sizeof most->reason, "%s", status == OK ? "" : why.text);
	}
	return status == BAD_INPUT || status == INFEASIBLE ? OK : status;
}

enum status fit_most_find(struct planner *planner, struct graph *graph, const struct scenario *given, enum knob_id knob, int64_t by, struct fit_most *most,
	struct error *error)
{
	struct scenario scenario;
	bool fits = true;
	*most = (struct fit_most){ .budget = scenario_budget(given) };
	NEED_IN(error, scenario_copy(&scenario, given) == OK);
	enum status status = OK;
	for (int64_t value = by; status == OK && fits && value <= knobs[knob].maximum; value *= 2)
		status = try_value(planner, graph, &scenario, knob, value, most, &fits);
	while (status == OK && most->next > 0 && most->next - most->most > by)
		status = try_value(planner, graph, &scenario, knob, most->most + (most->next - most->most) / by / 2 * by, most, &fits);
	scenario_done(&scenario);
	if (status != OK)
		return fail_status(error, status);
	if (most->most == 0 && most->next_arena < 0)
		return fail(error, BAD_INPUT, "%s", most->reason);
	return most->most == 0 ? INFEASIBLE : OK;
}

/* ---- devices ----------------------------------------------------------------------------------------------------------------- */

static int compare_devices(const void *left, const void *right)
{
	const struct fit_device *a = left, *b = right;
	if (a->memory != b->memory)
		return (a->memory > b->memory) - (a->memory < b->memory);
	return a->step != b->step ? (a->step < b->step) - (a->step > b->step) : (a->device > b->device) - (a->device < b->device);
}

enum status fit_devices_find(struct planner *planner, struct graph *graph, const struct scenario *given, struct fit_device *device, uint32_t *devices,
	struct error *error)
{
	struct scenario scenario;
	uint32_t planned = 0;
	*devices = 0;
	NEED_IN(error, scenario_copy(&scenario, given) == OK);
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
