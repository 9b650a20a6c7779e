/* planned.h: scenarios from words, and plans of them. */
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "src/decide/planner.h"
#include "src/scenario/knobs.h"

/* Knobs as words, "devices=4 strategy=data", then pins, each behind a ';'. */
static inline void scenario_add(struct scenario *scenario, const char *words)
{
	char text[300], *save, *word;
	struct error error = { 0 };
	snprintf(text, sizeof text, "%s", words);
	char *pins = strchr(text, ';');
	if (pins)
		*pins++ = '\0';
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		cr_assert_eq(scenario_set(scenario, word, &error), OK, "%s", error.text);
	for (word = pins ? strtok_r(pins, ";", &save) : NULL; word; word = strtok_r(NULL, ";", &save))
		cr_assert_eq(scenario_pin(scenario, word, &error), OK, "%s", error.text);
}

/* A scenario of these words alone, without effort for order and layout, at the plan's own addresses: the pages of
 * PyTorch's allocator are larger than most steps here. */
static inline void scenario_of(const char *words, struct scenario *scenario)
{
	scenario_init(scenario);
	scenario->value[K_effort] = 0;
	scenario->value[K_allocator] = ALLOCATOR_PLAN;
	scenario_add(scenario, words);
}

static inline struct plan *plan_with(struct planner *planner, struct graph *graph, const struct scenario *scenario)
{
	struct error error = { 0 };
	struct plan *plan = planner_run(planner, graph, scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s", error.text);
	return plan;
}

/* The plan of such a scenario. */
static inline struct plan *plan_of_words(struct planner *planner, struct graph *graph, const char *words)
{
	OWN(scenario) scenario;
	scenario_of(words, &scenario);
	struct plan *plan = plan_with(planner, graph, &scenario);
	return plan;
}
