/* fit_step.h: training steps, and what fitting them takes. For tests. */
#pragma once

#include <criterion/criterion.h>
#include <string.h>

#include "solver/cost/op_time.h"
#include "solver/recompute/apply.h"
#include "solver/recompute/check.h"
#include "solver/recompute/recompute.h"
#include "src/models/models.h"
#include "src/read/input.h"
#include "src/scenario/devices.h"
#include "model_steps.h"
#include "support.h"

static inline struct graph *fit_model(const char *name, int64_t layers)
{
	return step_of_sizes(name, (struct model_config){ .layers = layers, .batch = 2 });
}

/* Times of an A100's roofline. Free with recompute_input_drop(). */
static inline struct recompute_input recompute_input_of(const struct graph *graph)
{
	struct machine machine = device_preset(DEVICE_NONE).machine;
	OWN(rules) *rules = rules_new();
	int64_t *time = mem_alloc(graph->ops, sizeof *time);
	uint32_t *traits = mem_alloc(graph->ops, sizeof *traits);
	for (uint32_t op = 0; op < graph->ops; op++) {
		enum machine_limit limit;
		cr_assert_eq(op_local_time(graph, rules, &machine, op, false, &time[op], &limit), OK);
		traits[op] = rules_traits(rules, graph->op[op].type);
	}
	return (struct recompute_input){ .graph = graph, .time = time, .traits = traits, .alignment = 1, .workspace = true };
}

static inline void recompute_input_drop(struct recompute_input *input)
{
	mem_free((void *)(uintptr_t)input->time);
	mem_free((void *)(uintptr_t)input->traits);
}

/* Program order's peak with workspace. */
static inline int64_t whole_program_peak(const struct graph *graph)
{
	const struct memory_rules rules = { .alignment = 1, .workspace = true };
	OWN(problem) problem;
	struct error error;
	cr_assert_eq(problem_of_graph(graph, &rules, &problem, &error), OK);
	int64_t peak = problem_peak(&problem, problem.program, NULL, NULL);
	return peak;
}

/* States at random: a few of many, or most; again now and then. */
static inline void random_states(const struct recompute_step *step, uint64_t *random, uint8_t *state)
{
	uint64_t some = 1 + random_next(random) % 8;
	for (uint32_t s = 0; s < step->storages; s++) {
		bool drop = step->droppable[s] && (step->saved[s] ? random_next(random) % 8 < some : random_next(random) % 8 != 0);
		state[s] = (uint8_t)(!drop ? RECOMPUTE_KEEP : RECOMPUTE_HOLD + random_next(random) % (RECOMPUTE_STATES - RECOMPUTE_HOLD));
	}
}
