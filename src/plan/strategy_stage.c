/* strategy_stage.c: recomputation by published strategies. */
#include <string.h>

#include "solver/fit/apply.h"
#include "solver/fit/strategies.h"
#include "src/scenario/scenario.h"
#include "strategy_stage.h"

static void mark_types(const struct graph *graph, const struct recompute_options *options, bool *again)
{
	for (uint32_t op = 0; op < graph->ops; op++)
		for (uint32_t i = 0; i < options->types; i++)
			again[op] |= type_is_named(graph->op[op].type, options->type[i]);
}

/* What a strategy after RECOMPUTE_AUTO keeps of a step: keep [storages]. */
static enum status strategy_keep(struct stage_context *stage, const struct fit_step *step, const struct activations *activations,
	const struct recompute_options *options, bool *keep, struct error *error)
{
	enum status status = OK;
	if (options->mode == RECOMPUTE_KNAPSACK) {
		status = fit_keep_knapsack(step, activations, stage->rules, &options->number, 1, stage->control, keep);
	} else if (options->mode == RECOMPUTE_OPS) {
		bool *again = mem_alloc(step->ops, sizeof *again);
		if (again) {
			mark_types(step->graph, options, again);
			fit_keep_but(step, again, keep);
		}
		status = again ? OK : NO_MEMORY;
		mem_free(again);
	} else {
		bool root = options->mode == RECOMPUTE_SQRT;
		fit_keep_groups(step, activations, root ? fit_root_of_layers(activations) : (uint32_t)options->number, keep);
	}
	return status == OK ? OK : fail(error, status, status == NO_MEMORY ? "out of memory" : "stopped");
}

/* States along the program order, as a graph. */
static struct graph *play(const struct fit_step *step, struct control *control, const bool *keep, struct error *error)
{
	struct fit_base base = { 0 };
	struct fit_replay replay = { 0 };
	struct graph *graph = NULL;
	uint8_t *state = mem_alloc(step->storages, sizeof *state);
	uint32_t *order = mem_alloc(step->ops, sizeof *order);
	enum status status = state && order ? fit_states_keeping(step, keep, control, state) : NO_MEMORY;
	for (uint32_t op = 0; op < step->ops && status == OK; op++)
		order[op] = op;
	status = status == OK ? fit_base_of(step, order, &base) : status;
	status = status == OK ? fit_replay_new(step, &replay) : status;
	status = status == OK ? fit_play_all(&replay, &base, state) : status;
	if (status != OK)
		fail(error, status, status == NO_MEMORY ? "out of memory" : "stopped");
	else if (!replay.valid)
		fail(error, BAD_INPUT, "what this strategy computes again reads memory that is overwritten before; recompute=auto finds another way");
	else
		graph = fit_apply(&replay, state, error);
	fit_replay_free(&replay);
	fit_base_free(&base);
	mem_free(state);
	mem_free(order);
	return graph;
}

struct graph *strategy_apply(struct stage_context *stage, const struct fit_input *input, const struct activations *activations,
	const struct recompute_options *options, struct error *error)
{
	struct fit_step step;
	struct graph *graph = NULL;
	bool *keep = mem_alloc(input->graph->storages, sizeof *keep);
	enum status status = fit_step_find(input, &step);
	if (status != OK || !keep)
		fail_memory(error);
	else if (strategy_keep(stage, &step, activations, options, keep, error) == OK)
		graph = play(&step, stage->control, keep, error);
	fit_step_free(&step);
	mem_free(keep);
	return graph;
}
