/* fit_most.c: the largest batch or sequence that fits, and the devices on which a step does. */

#include "fit_list.h"
#include "src/scenario/device_figures.h"
#include "src/scenario/knobs.h"

/* ---- the most ---- */

struct bracket {
	struct planner *planner;
	struct graph *graph;
	struct scenario scenario;
	int knob;
	int64_t by;
	struct fit_most *most;
};

/* *fits, and what the plan comes to, or why there is none. */
static enum status try_value(struct bracket *bracket, int64_t value, bool *fits)
{
	struct fit_most *most = bracket->most;
	struct fit_came came = { 0 };
	struct error why = { 0 };
	bracket->scenario.value[bracket->knob] = value;
	most->plans++;
	enum status status = fit_plan(bracket->planner, bracket->graph, &bracket->scenario, &came, &why);
	if (status == CANCELLED)
		return status;
	*fits = status == OK && came.needs <= most->budget;
	if (*fits) {
		most->most = value;
		most->came = came;
	} else {
		most->next = value;
		most->after = came;
		most->after.needs = status == OK ? came.needs : -1;
		PRINT_TO(most->reason, "%s", status == OK ? "" : why.text);
	}
	return status == BAD_INPUT || status == INFEASIBLE ? OK : status;
}

/* Cuts where needs on a line meet the cap, each time on the same side by at least twice as much. */
static enum status fit_most_narrow(struct bracket *bracket)
{
	const struct fit_most *most = bracket->most;
	int64_t steps, least = 1;
	bool fits = false;
	while (most->next > 0 && (steps = (most->next - most->most) / bracket->by) > 1) {
		int64_t step = steps / 2;
		if (most->most > 0 && most->after.needs >= 0)
			step = (int64_t)((double)steps * (double)(most->budget - most->came.needs) /
				(double)(most->after.needs - most->came.needs));
		step = fits ? larger_of(step, least) : SMALLER(step, steps - least);
		bool before = fits;
		TRY(try_value(bracket, most->most + larger_of(1, SMALLER(step, steps - 1)) * bracket->by, &fits));
		least = fits == before ? 2 * least : 1;
	}
	return OK;
}

enum status fit_most_find(struct planner *planner, struct graph *graph, const struct scenario *given, int knob,
	int64_t by, struct fit_most *most, struct error *error)
{
	struct bracket bracket = { .planner = planner, .graph = graph, .knob = knob, .by = by, .most = most };
	bool fits = true;
	*most = (struct fit_most){ .budget = scenario_device_memory(given) };
	if (scenario_copy(&bracket.scenario, given) != OK)
		return fail_memory(error);
	enum status status = OK;
	for (int64_t value = by; status == OK && fits && value <= knobs[knob].maximum; value *= 4) {
		status = try_value(&bracket, value, &fits);
		fits |= value == by && most->after.needs < 0;
	}
	status = status == OK ? fit_most_narrow(&bracket) : status;
	scenario_done(&bracket.scenario);
	most->limited = status == CANCELLED && most->most > 0;
	if (status != OK && !most->limited)
		return fail_status(error, status);
	if (most->most == 0 && most->after.needs < 0)
		return refuse(error, "%s", most->reason);
	return most->most == 0 ? INFEASIBLE : OK;
}

/* ---- devices ---- */

COMPARATOR(compare_devices, struct fit_device, COMPARE(a->memory, b->memory,
	COMPARE(b->came.step, a->came.step, COMPARE(a->device, b->device, 0))))

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
	enum status status = scenario_by_data_sheets(&scenario, error);
	for (int preset = 0; preset < DEVICE_COUNT && status == OK; preset++) {
		scenario_put(&scenario, K_device, preset);
		int64_t memory = scenario_device_memory(&scenario);
		if (preset == DEVICE_NONE || memory < 0)
			continue;
		struct fit_device *row = &device[(*devices)++];
		*row = (struct fit_device){ .device = (uint32_t)preset, .memory = memory,
			.deviation = device_deviation(&scenario) };
		device_deviation_text(&scenario, row->within);
		status = fit_plan(planner, graph, &scenario, &row->came, error);
		row->planned = status == OK;
		if (status == OK) {
			row->fits = row->came.needs <= memory;
			planned++;
		} else if (status == BAD_INPUT || status == INFEASIBLE) {
			status = OK;
		}
	}
	scenario_done(&scenario);
	TRY(status);
	qsort(device, *devices, sizeof *device, compare_devices);
	return planned > 0 ? error_set(error, OK) : error->status;
}
