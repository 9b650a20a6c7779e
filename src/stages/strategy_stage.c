/* strategy_stage.c: recomputation by published strategies. */
#include "solver/fit/apply.h"
#include "solver/fit/strategies.h"
#include "rerun_names.h"
#include "strategy_stage.h"

/* keep [storages]: all but what named types, modules and words of Megatron's make. */
static enum status keep_but_named(const struct stage_context *stage, const struct fit_step *step,
	const struct activations *activations, const struct recompute_options *options, bool *keep)
{
	HELD bool *drop = mem_alloc(step->storages, sizeof *drop);
	enum status status = drop ? OK : NO_MEMORY;
	for (uint32_t i = 0; i < options->types && status == OK; i++)
		status = rerun_named(step->graph, stage->rules, activations, options->type[i], drop);
	for (uint32_t s = 0; s < step->storages && status == OK; s++)
		keep[s] = !drop[s];
	return status;
}

/* What a strategy after RECOMPUTE_AUTO keeps of a step: keep [storages]. */
static enum status strategy_keep(struct stage_context *stage, const struct fit_step *step,
	const struct activations *activations, const struct recompute_options *options, bool *keep, struct error *error)
{
	enum status status = OK;
	if (options->mode == RECOMPUTE_KNAPSACK) {
		status = fit_keep_knapsack(step, activations, stage->rules, &options->number, 1, stage->control, keep);
	} else if (options->mode == RECOMPUTE_OPS) {
		status = keep_but_named(stage, step, activations, options, keep);
	} else if (options->mode == RECOMPUTE_EVERY) {
		fit_keep_every(step, activations, (uint32_t)options->number, keep);
	} else {
		bool root = options->mode == RECOMPUTE_SQRT;
		fit_keep_groups(step, activations, root ? fit_root_of_layers(activations) : (uint32_t)options->number, keep);
	}
	return fail_status(error, status);
}

/* States along the program order, as a graph. */
static struct graph *strategy_stage_play(
	const struct fit_step *step, struct control *control, const bool *keep, struct error *error)
{
	struct fit_base base = { 0 };
	OWN(fit_replay) replay = { 0 };
	struct graph *graph = NULL;
	HELD uint8_t *state = mem_alloc(step->storages, sizeof *state);
	HELD uint32_t *order = mem_alloc(step->ops, sizeof *order);
	enum status status = state && order ? fit_states_keeping(step, keep, control, state) : NO_MEMORY;
	for (uint32_t op = 0; op < step->ops && status == OK; op++)
		order[op] = op;
	status = status == OK ? fit_base_of(step, order, &base) : status;
	status = status == OK ? fit_replay_new(step, &replay) : status;
	status = status == OK ? fit_play_all(&replay, &base, state) : status;
	if (status != OK)
		fail_status(error, status);
	else if (!replay.valid)
		fail(error, BAD_INPUT,
			"what this strategy computes again reads memory that is overwritten before; recompute=auto finds another "
			"way");
	else
		graph = fit_apply(&replay, state, error);
	fit_base_free(&base);
	return graph;
}

struct graph *strategy_apply(struct stage_context *stage, const struct fit_input *input,
	const struct activations *activations, const struct recompute_options *options, struct error *error)
{
	OWN(fit_step) step;
	struct graph *graph = NULL;
	HELD bool *keep = mem_alloc(input->graph->storages, sizeof *keep);
	enum status status = fit_step_find(input, &step);
	if (status != OK || !keep)
		fail_memory(error);
	else if (strategy_keep(stage, &step, activations, options, keep, error) == OK)
		graph = strategy_stage_play(&step, stage->control, keep, error);
	return graph;
}
