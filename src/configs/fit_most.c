/* fit_most.c: the largest batch or sequence that fits, and the devices on which a step does. */

#include "fit_list.h"
#include "src/scenario/device_figures.h"
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"

/* ---- the most ---- */

#define FINE 128   /* sequences are told apart by so small a part */
#define NEAR 64    /* what fits and leaves no more of the cap says nothing of where needs meet it */

struct bracket {
	struct planner *planner;
	struct graph *graph;
	struct scenario scenario;
	int knob;
	struct fit_most *most;
	int64_t value, needs;   /* what fitted last and left much, or first; behind two bounds, the further */
	bool bounded;           /* the latter */
};

/* Whether a bound proves that no recomputation fits: *after is what it says. */
static enum status fit_most_prove(struct bracket *bracket, bool *above, struct fit_came *after, struct error *why)
{
	struct least least = { 0 };
	const struct scenario *scenario = &bracket->scenario;
	enum status status = scenario->value[K_recompute] == RECOMPUTE_AUTO
		? planner_least(bracket->planner, bracket->graph, scenario, &least, why) : OK;
	*above = status == OK && least.above;
	if (*above)
		after->needs = least.bytes + scenario_reserve(scenario);
	transformed_release(least.transformed);
	return status;
}

/* *fits, and what the plan comes to, or why there is none. */
static enum status try_value(struct bracket *bracket, int64_t value, bool *fits)
{
	struct fit_most *most = bracket->most;
	struct fit_came came = { 0 };
	struct error why = { 0 };
	bool above = false;
	bracket->scenario.value[bracket->knob] = value;
	most->plans++;
	enum status status = fit_most_prove(bracket, &above, &came, &why);
	if (status == OK && !above)
		status = fit_plan(bracket->planner, bracket->graph, &bracket->scenario, &came, &why);
	if (status == CANCELLED)
		return status;
	*fits = status == OK && came.needs <= most->budget;
	if (*fits) {
		if (!bracket->bounded && (most->most == 0 || came.needs < most->budget - most->budget / NEAR)) {
			bracket->value = value;
			bracket->needs = came.needs;
		}
		most->most = value;
		most->came = came;
	} else {
		if (most->proved && above) {
			bracket->value = most->next;
			bracket->needs = most->after.needs;
			bracket->bounded = true;
		}
		most->next = value;
		most->after = came;
		most->after.needs = status == OK ? came.needs : -1;
		most->proved = above;
		PRINT_TO(most->reason, "%s", status == OK ? "" : why.text);
	}
	return status == BAD_INPUT || status == INFEASIBLE ? OK : status;
}

/* Cuts where needs on a line meet the cap, each time on the same side by at least twice as much. */
static enum status fit_most_narrow(struct bracket *bracket)
{
	struct fit_most *most = bracket->most;
	int64_t steps, least = 1;
	bool fits = false;
	while (bracket->knob == K_seq && 2 * FINE * most->by <= most->most)
		most->by *= 2;
	while (most->next > 0 && (steps = (most->next - most->most) / most->by) > 1) {
		int64_t step = steps / 2;
		if (most->most > 0 && most->after.needs >= 0 && (bracket->bounded || !most->proved))
			step = (bracket->value - most->most +
				(int64_t)((double)(most->next - bracket->value) * (double)(most->budget - bracket->needs) /
					(double)(most->after.needs - bracket->needs))) / most->by;
		step = fits ? larger_of(step, least) : SMALLER(step, steps - least);
		bool before = fits;
		step = larger_of(1, SMALLER(step, steps - 1));
		TRY(try_value(bracket, (most->most / most->by + step) * most->by, &fits));
		least = fits == before ? 2 * least : 1;
	}
	return OK;
}

/* The step's own batch or sequence, in whole steps. */
static int64_t fit_most_begin(const struct bracket *bracket)
{
	const struct about *about = &bracket->graph->about;
	int64_t by = bracket->most->by, given = bracket->scenario.value[bracket->knob],
			own = given != KNOB_GIVEN ? given : bracket->knob == K_seq ? about->sequence : about->batch;
	own = own > 0 ? own : bracket->knob == K_seq ? FINE : 1;
	return larger_of(SMALLER(own, knobs[bracket->knob].maximum) / by, 1) * by;
}

/* From the step's own value up or down by four. */
static enum status fit_most_bracket(struct bracket *bracket)
{
	struct fit_most *most = bracket->most;
	int64_t first = fit_most_begin(bracket), by = most->by;
	bool fits = false;
	TRY(try_value(bracket, first, &fits));
	bool up = fits || (first == by && most->after.needs < 0);
	for (int64_t value = first; up ? value <= knobs[bracket->knob].maximum / 4 : value > by;) {
		value = up ? 4 * value : larger_of(value / 4 / by, 1) * by;
		TRY(try_value(bracket, value, &fits));
		if (up != fits)
			break;
	}
	return OK;
}

enum status fit_most_find(struct planner *planner, struct graph *graph, const struct scenario *given, int knob,
	int64_t by, struct fit_most *most, struct error *error)
{
	struct bracket bracket = { .planner = planner, .graph = graph, .knob = knob, .most = most };
	*most = (struct fit_most){ .budget = scenario_device_memory(given), .by = by };
	if (scenario_copy(&bracket.scenario, given) != OK)
		return fail_memory(error);
	planner->any = true;
	enum status status = fit_most_bracket(&bracket);
	status = status == OK ? fit_most_narrow(&bracket) : status;
	planner->any = false;
	if (status == OK && most->most > 0)
		status = try_value(&bracket, most->most, &(bool) { true });
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
