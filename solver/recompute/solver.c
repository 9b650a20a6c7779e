/* solver.c: what caps share: a step, its networks, its orders, the moments of its bound. */

#include "recompute.h"

#define MOMENTS 10      /* most moments of either kind that the bound looks at */
#define OTHER_MOMENTS 4 /* most that are not of the backward pass: near a floor the update decides */
#define FEW_OPS 200     /* of the backward pass: then every third is looked at as well */

bool recompute_add_base(struct recompute_solver *solver, const uint32_t *order)
{
	if (solver->bases == RECOMPUTE_BASES)
		recompute_base_free(&solver->base[--solver->bases]);
	return recompute_base_of(&solver->step, order, &solver->base[solver->bases++]) == OK;
}

static int64_t most_fixed(const struct recompute_base *base)
{
	int64_t most = 0;
	FOR(i, base->step->ops)
		most = LARGER(base->fixed[i], most);
	return most;
}

/* Updates early; with gradients cast late, where what is there whatever is kept is less then. */
static bool add_early(struct recompute_solver *solver)
{
	struct recompute_base late;
	if (recompute_order_early(&solver->step, false, solver->order) != OK || !recompute_add_base(solver, solver->order))
		return false;
	enum status status = recompute_order_early(&solver->step, true, solver->order);
	if (status != OK)
		return status == INFEASIBLE;
	bool fine = recompute_base_of(&solver->step, solver->order, &late) == OK,
		 better = fine && most_fixed(&late) < most_fixed(&solver->base[0]);
	recompute_base_free(better ? &solver->base[0] : &late);
	if (better)
		solver->base[0] = late;
	return fine;
}

static bool add_own_bases(struct recompute_solver *solver)
{
	if (!add_early(solver))
		return false;
	FOR(op, solver->step.ops)
		solver->order[op] = op;
	return recompute_add_base(solver, solver->order);
}

/* The ops after the pass at which a profile is fullest, into list; each once: of the backward pass, or of what else
 * there is (updates, collectives). */
static uint32_t add_fullest(const struct recompute_solver *solver, const int64_t *profile, bool backward, uint32_t most,
	uint32_t *list, uint32_t count)
{
	const struct recompute_base *base = &solver->base[0];
	FOR(k, most) {
		uint32_t best = NONE;
		FOR(i, solver->step.ops) {
			enum phase phase = solver->step.graph->op[base->order[i]].phase;
			bool listed = phase == PHASE_FORWARD || (phase == PHASE_BACKWARD) != backward || solver->step.view[base->order[i]];
			FOR_WHILE(j, count, !listed)
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

static enum status find_bounds(const struct recompute_input *input, struct recompute_solver *solver)
{
	const struct recompute_step *step = &solver->step;
	uint32_t *MAKE(list, step->ops + 2u * MOMENTS + OTHER_MOMENTS), count = 0, late = 0;
	HELD uint8_t *MAKE(keep, step->storages);
	enum status status = list && keep ? recompute_play(&solver->replay, &solver->base[0], keep) : NO_MEMORY;
	if (status == OK) {
		count = add_fullest(solver, solver->replay.profile, true, MOMENTS, list, 0);
		count = add_fullest(solver, solver->base[0].fixed, true, MOMENTS, list, count);
		count = add_fullest(solver, solver->base[0].fixed, false, OTHER_MOMENTS, list, count);
		FOR(op, step->ops)
			late += step->graph->op[op].phase == PHASE_BACKWARD && !step->view[op];
		for (uint32_t op = 0, n = 0; op < step->ops && late < FEW_OPS; op++) {
			bool listed = step->graph->op[op].phase != PHASE_BACKWARD || step->view[op] || n++ % 3 != 0;
			FOR_WHILE(j, count, !listed)
				listed = list[j] == op;
			if (!listed)
				list[count++] = op;
		}
		status = recompute_bounds_new(input, list, count, &solver->bounds);
	}
	mem_free(list);
	return status;
}

enum status recompute_solver_begin(const struct recompute_input *input, struct recompute_solver *solver)
{
	memset(solver, 0, sizeof *solver);
	enum status status = recompute_step_find(input, &solver->step);
	status = ROOM(&solver->arena, solver->order, input->graph->ops) ? status : NO_MEMORY;
	status = status == OK ? recompute_network_new(&solver->step, false, &solver->network) : status;
	status = status == OK ? recompute_replay_new(&solver->step, &solver->replay) : status;
	status = status == OK ? recompute_search_new(&solver->step, &solver->network, &solver->replay, NULL, &solver->search)
		: status;
	if (status == OK && solver->search.fold.most > RECOMPUTE_DEEP)
		solver->step.layers = solver->search.fold.most;
	return status == OK && !add_own_bases(solver) ? NO_MEMORY : status;
}

enum status recompute_solver_new(const struct recompute_input *input, struct recompute_solver *solver)
{
	TRY(recompute_solver_begin(input, solver));
	return find_bounds(input, solver);
}

void recompute_solver_free(struct recompute_solver *solver)
{
	FOR(i, solver->bases)
		recompute_base_free(&solver->base[i]);
	recompute_bounds_free(&solver->bounds);
	recompute_search_free(&solver->search);
	recompute_replay_free(&solver->replay);
	recompute_network_free(&solver->network);
	recompute_step_free(&solver->step);
	arena_free(&solver->arena);
}
