/* solver.c: what caps share: a step, its networks, its orders, the moments of its bound. */

#include "fit.h"

#define MOMENTS 10         /* most moments of either kind that the bound looks at */
#define OTHER_MOMENTS 4    /* most that are not of the backward pass: near a floor the update decides */
#define FEW_OPS 200        /* of the backward pass: then every third is looked at as well */

bool fit_add_base(struct fit_solver *solver, const uint32_t *order)
{
	if (solver->bases == FIT_BASES)
		fit_base_free(&solver->base[--solver->bases]);
	return fit_base_of(&solver->step, order, &solver->base[solver->bases++]) == OK;
}

static int64_t most_fixed(const struct fit_base *base)
{
	int64_t most = 0;
	for (uint32_t i = 0; i < base->step->ops; i++)
		most = base->fixed[i] > most ? base->fixed[i] : most;
	return most;
}

/* Updates early; with gradients cast late, where what is there whatever is kept is less then. */
static bool add_early(struct fit_solver *solver)
{
	struct fit_base late;
	if (fit_order_early(&solver->step, false, solver->order) != OK || !fit_add_base(solver, solver->order))
		return false;
	enum status status = fit_order_early(&solver->step, true, solver->order);
	if (status != OK)
		return status == INFEASIBLE;
	bool fine = fit_base_of(&solver->step, solver->order, &late) == OK,
		 better = fine && most_fixed(&late) < most_fixed(&solver->base[0]);
	fit_base_free(better ? &solver->base[0] : &late);
	if (better)
		solver->base[0] = late;
	return fine;
}

static bool add_own_bases(struct fit_solver *solver)
{
	if (!add_early(solver))
		return false;
	for (uint32_t op = 0; op < solver->step.ops; op++)
		solver->order[op] = op;
	return fit_add_base(solver, solver->order);
}

/* The ops after the pass at which a profile is fullest, into list; each once: of the backward pass, or of what else
 * there is (updates, collectives). */
static uint32_t add_fullest(const struct fit_solver *solver, const int64_t *profile, bool backward, uint32_t most,
	uint32_t *list, uint32_t count)
{
	const struct fit_base *base = &solver->base[0];
	for (uint32_t k = 0; k < most; k++) {
		uint32_t best = NONE;
		for (uint32_t i = 0; i < solver->step.ops; i++) {
			enum phase phase = solver->step.graph->op[base->order[i]].phase;
			bool listed = phase == PHASE_FORWARD || (phase == PHASE_BACKWARD) != backward || solver->step.view[base->order[i]];
			for (uint32_t j = 0; j < count && !listed; j++)
				listed = list[j] == base->order[i];
			if (!listed && (best == NONE || profile[i] > profile[best]))
				best = i;
		}
		if (best == NONE)
			break;
		list[count++] = base->order[best];
	}
	return count;
}

static enum status find_bounds(const struct fit_input *input, struct fit_solver *solver)
{
	const struct fit_step *step = &solver->step;
	uint32_t *list = mem_alloc(step->ops + 2u * MOMENTS + OTHER_MOMENTS, sizeof *list), count = 0, late = 0;
	HELD uint8_t *keep = mem_alloc(step->storages, sizeof *keep);
	enum status status = list && keep ? fit_play(&solver->replay, &solver->base[0], keep) : NO_MEMORY;
	if (status == OK) {
		count = add_fullest(solver, solver->replay.profile, true, MOMENTS, list, 0);
		count = add_fullest(solver, solver->base[0].fixed, true, MOMENTS, list, count);
		count = add_fullest(solver, solver->base[0].fixed, false, OTHER_MOMENTS, list, count);
		for (uint32_t op = 0; op < step->ops; op++)
			late += step->graph->op[op].phase == PHASE_BACKWARD && !step->view[op];
		for (uint32_t op = 0, n = 0; op < step->ops && late < FEW_OPS; op++) {
			bool listed = step->graph->op[op].phase != PHASE_BACKWARD || step->view[op] || n++ % 3 != 0;
			for (uint32_t j = 0; j < count && !listed; j++)
				listed = list[j] == op;
			if (!listed)
				list[count++] = op;
		}
		status = fit_bounds_new(input, list, count, &solver->bounds);
	}
	mem_free(list);
	return status;
}

enum status fit_solver_begin(const struct fit_input *input, struct fit_solver *solver)
{
	memset(solver, 0, sizeof *solver);
	enum status status = fit_step_find(input, &solver->step);
	solver->order = arena_alloc(&solver->arena, input->graph->ops, sizeof *solver->order);
	status = solver->order ? status : NO_MEMORY;
	status = status == OK ? fit_network_new(&solver->step, false, &solver->network) : status;
	status = status == OK ? fit_replay_new(&solver->step, &solver->replay) : status;
	status = status == OK ? fit_search_new(&solver->step, &solver->network, &solver->replay, NULL, &solver->search)
		: status;
	if (status == OK && solver->search.fold.most > FIT_LAYERS)
		solver->step.layers = solver->search.fold.most;
	return status == OK && !add_own_bases(solver) ? NO_MEMORY : status;
}

enum status fit_solver_new(const struct fit_input *input, struct fit_solver *solver)
{
	TRY(fit_solver_begin(input, solver));
	return find_bounds(input, solver);
}

void fit_solver_free(struct fit_solver *solver)
{
	for (uint32_t i = 0; i < solver->bases; i++)
		fit_base_free(&solver->base[i]);
	fit_bounds_free(&solver->bounds);
	fit_search_free(&solver->search);
	fit_replay_free(&solver->replay);
	fit_network_free(&solver->network);
	fit_step_free(&solver->step);
	arena_free(&solver->arena);
}
