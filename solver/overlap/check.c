/* check.c: a bound on a step's time from its stations, worked out anew: shares no code with step_bound.c. */
#include "step_bound.h"

struct checking {
	const struct step_model *model;
	const struct step_bound *claimed;
	struct error *error;
	int64_t *earliest;         /* [ops] */
	int64_t *
		after; /* [ops] from the begin of an op to that of the station's, its own time included; < 0: it isn't before */
};

/* By the model's sequence backwards: the longest way from each op's begin to the station's begin. */
static void overlap_check_measure(struct checking *checking, uint32_t station)
{
	const struct step_model *model = checking->model;
	FOR(op, model->ops)
		checking->after[op] = station == NONE ? model->time[op] : -1;
	if (station != NONE)
		checking->after[station] = 0;
	FOR_DOWN(p, model->ops) {
		uint32_t op = model->sequence[p];
		if (checking->after[op] < 0)
			continue;
		FOR_ITEMS(before, &model->pred, op)
			if (checking->after[op] + model->time[before] > checking->after[before])
				checking->after[before] = checking->after[op] + model->time[before];
	}
}

/* The station's own claim; -1 where its set is empty. */
static int64_t claim_of(struct checking *checking, const struct step_station *station)
{
	const struct step_model *model = checking->model;
	int64_t sum = 0;
	overlap_check_measure(checking, station->op);
	FOR(op, model->ops)
		if (op != station->op && checking->after[op] >= 0 && model->stream[op] == station->stream && model->time[op] > 0
			&& checking->earliest[op] >= station->head && checking->after[op] - model->time[op] >= station->tail)
			sum += model->time[op];
	return sum > 0 ? station->head + sum + station->tail : -1;
}

static enum status overlap_check_run(struct checking *checking)
{
	const struct step_model *model = checking->model;
	const struct step_bound *claimed = checking->claimed;
	int64_t end = 0;
	uint32_t next = 0;
	FOR(p, model->ops) {
		uint32_t op = model->sequence[p];
		FOR_ITEMS(before, &model->pred, op) {
			int64_t ends = checking->earliest[before] + model->time[before];
			checking->earliest[op] = LARGER(ends, checking->earliest[op]);
		}
		if (next < claimed->stations && claimed->station[next].op == op) {
			int64_t claim = claim_of(checking, &claimed->station[next]);
			if (claim < 0)
				return refuse(checking->error, "the time bound's station %u has no ops", next);
			checking->earliest[op] = LARGER(claim, checking->earliest[op]);
			next++;
		}
		end = LARGER(checking->earliest[op] + model->time[op], end);
	}
	if (next < claimed->stations && claimed->station[next].op == NONE) {
		int64_t claim = claim_of(checking, &claimed->station[next++]);
		end = LARGER(claim, end);
	}
	if (next != claimed->stations)
		return refuse(checking->error, "the time bound's station %u is at no op that follows the one before", next);
	if (claimed->bound != end)
		return refuse(checking->error, "the time bound is claimed to be %lld ps; its stations give %lld",
			(long long)claimed->bound, (long long)end);
	return OK;
}

enum status step_bound_check(const struct step_model *model, const struct step_bound *bound, struct error *error)
{
	struct checking checking = { .model = model, .claimed = bound, .error = error };
	OWN(arena) arena = { 0 };
	return ROOMS(&arena, model->ops, checking.earliest,
		checking.after) ? overlap_check_run(&checking) : fail_memory(error);
}
