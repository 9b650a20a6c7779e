/* strategy_stage.c: recomputation by published strategies. */
#include <string.h>

#include "solver/fit/apply.h"
#include "solver/fit/strategies.h"
#include "src/scenario/scenario.h"
#include "strategy_stage.h"

/* What is in modules of that name runs again, but for what other modules read of it: as a checkpoint around each of them. outside [storages] is the caller's room. */
static void mark_modules(const struct graph *graph, const char *name, bool *outside, bool *again)
{
	memset(outside, 0, graph->storages * sizeof *outside);
	for (uint32_t op = 0; op < graph->ops; op++)
		if (graph->op[op].phase == PHASE_FORWARD && !module_is_named(graph->op[op].module, name))
			FOR_ROW(i, &graph->reads, op)
				outside[graph->tensor[graph->reads.item[i]].storage] = true;
	for (uint32_t op = 0; op < graph->ops; op++) {
		bool inside = graph->op[op].phase == PHASE_FORWARD && module_is_named(graph->op[op].module, name);
		FOR_ROW(i, &graph->writes, op)
			inside &= !outside[graph->tensor[graph->writes.item[i]].storage];
		again[op] |= inside;
	}
}

/* keep [storages]: all but what named types, modules and groups of Megatron's make. */
static enum status keep_but_named(const struct fit_step *step, const struct activations *activations, const struct recompute_options *options, bool *keep)
{
	const struct graph *graph = step->graph;
	bool *again = mem_alloc(step->ops, sizeof *again), *outside = mem_alloc(graph->storages, sizeof *outside), scores = false;
	enum status status = again && outside ? OK : NO_MEMORY;
	for (uint32_t i = 0; i < options->types && status == OK; i++) {
		scores |= strcmp(options->type[i], RERUN_ATTENTION) == 0;
		for (uint32_t op = 0; op < graph->ops; op++)
			again[op] |= op_is_named(&graph->op[op], options->type[i]);
		mark_modules(graph, options->type[i], outside, again);
	}
	if (status == OK)
		fit_keep_but(step, again, keep);
	for (uint32_t s = 0; s < step->storages && status == OK && scores; s++)
		keep[s] &= !activations->attention[s];
	mem_free(outside);
	mem_free(again);
	return status;
}

/* What a strategy after RECOMPUTE_AUTO keeps of a step: keep [storages]. */
static enum status strategy_keep(struct stage_context *stage, const struct fit_step *step, const struct activations *activations,
	const struct recompute_options *options, bool *keep, struct error *error)
{
	enum status status = OK;
	if (options->mode == RECOMPUTE_KNAPSACK) {
		status = fit_keep_knapsack(step, activations, stage->rules, &options->number, 1, stage->control, keep);
	} else if (options->mode == RECOMPUTE_OPS) {
		status = keep_but_named(step, activations, options, keep);
	} else if (options->mode == RECOMPUTE_EVERY) {
		fit_keep_every(step, activations, (uint32_t)options->number, keep);
	} else {
		bool root = options->mode == RECOMPUTE_SQRT;
		fit_keep_groups(step, activations, root ? fit_root_of_layers(activations) : (uint32_t)options->number, keep);
	}
	return fail_status(error, status);
}

/* States along the program order, as a graph. */
static struct graph *play(const struct fit_step *step, struct control *control, const bool *keep, struct error *error)
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
		fail(error, BAD_INPUT, "what this strategy computes again reads memory that is overwritten before; recompute=auto finds another way");
	else
		graph = fit_apply(&replay, state, error);
	fit_base_free(&base);
	return graph;
}

struct graph *strategy_apply(struct stage_context *stage, const struct fit_input *input, const struct activations *activations,
	const struct recompute_options *options, struct error *error)
{
	OWN(fit_step) step;
	struct graph *graph = NULL;
	HELD bool *keep = mem_alloc(input->graph->storages, sizeof *keep);
	enum status status = fit_step_find(input, &step);
	if (status != OK || !keep)
		fail_memory(error);
	else if (strategy_keep(stage, &step, activations, options, keep, error) == OK)
		graph = play(&step, stage->control, keep, error);
	return graph;
}
