/* moves.c: shardings found by moves, each judged by a plan.
 *
 * Searches of shardings limit what stays. On steps of a few ops most of an arena comes and goes, and many shardings
 * have the same estimate and keep the same: which of them keeps a cap is seen in plans alone. So single decisions are
 * changed, as long as that helps. */
#include "decide.h"

#define MOVE_WORK 36000         /* ops of all plans */
#define MOVE_PLANS 64           /* a start is not worth fewer */
#define MOVE_STORE (16 << 20)   /* bytes of results of trials that are kept */

/* An op's split, where a tensor that nothing writes is kept, or the axes of a kind of transfer. */
struct decision {
	enum { DECIDES_SPLIT, DECIDES_KEPT, DECIDES_LATE, DECIDES_EACH, DECIDES_REGATHER } of;
	uint32_t id, options;
};

struct climb {
	struct planning planning;   /* with a store of its own */
	struct stage_context stage;
	const struct units *units;
	const struct plan *from;
	struct sharding at;
	int64_t needs, time;        /* what it comes to */
	bool slower;                /* a step that takes longer than this one, yet less than the best, is fine */
	int64_t best;               /* picoseconds of the best plan that keeps the cap; INT64_MAX: none */
	int64_t budget;
	struct decision *decision;
	uint32_t decisions;
	int64_t work;               /* ops of plans that are left */
	struct shard_moves *moves;
};

/* ---- decisions ---- */

static uint32_t moves_power(uint32_t base, uint32_t exponent)
{
	uint32_t result = 1;
	FOR(i, exponent)
		result *= base;
	return result;
}

/* Every axis has whole, each unit or part, and (linear ops) partial. */
static uint32_t wide(const struct units *units, const struct decision *decision)
{
	uint32_t t = decision->id;
	return decision->of == DECIDES_SPLIT ? unit_count(units, t) + 1 + (units->linear[t] != LINEAR_NOT)
		: units->part_start[t + 1] - units->part_start[t] + 1;
}

static void add_decision(struct climb *climb, struct decision decision)
{
	uint32_t axes = climb->at.mesh.axes;
	decision.options = decision.of >= DECIDES_LATE ? axes : moves_power(wide(climb->units, &decision), axes);
	if (decision.options > 1 || decision.of >= DECIDES_LATE)
		climb->decision[climb->decisions++] = decision;
}

/* In program order, what an op reads first right before it. */
static enum status find_decisions(struct climb *climb, struct arena *arena)
{
	const struct graph *graph = climb->units->graph;
	bool *seen;
	NEED(ROOM(arena, seen, graph->tensors) && ROOM(arena, climb->decision, graph->ops + graph->tensors + 3));
	CLEAR(seen, graph->tensors);
	FOR(op, graph->ops) {
		FOR_ITEMS(t, &graph->reads, op) {
			if (!seen[t] && graph->tensor[t].writer == NONE && graph->tensor[t].alias == NONE)
				add_decision(climb, (struct decision){ DECIDES_KEPT, t, 0 });
			seen[t] = true;
		}
		add_decision(climb, (struct decision){ DECIDES_SPLIT, op, 0 });
	}
	for (int of = DECIDES_LATE; of <= DECIDES_REGATHER; of++)
		add_decision(climb, (struct decision){ of, 0, 0 });
	return OK;
}

/* What an op writes in place stays where it is. */
static bool keeps_place(const struct units *units, const struct sharding *sharding, uint32_t op)
{
	const struct graph *graph = units->graph;
	FOR_SPAN(p, graph->inplace_start, op)
		FOR_ROW(i, &graph->reads, op)
			if (graph->inplace[p].out != NONE && graph->reads.item[i] == graph->inplace[p].in &&
				!placements_coincide(units, &sharding->mesh, graph->inplace[p].in, sharding->needed[i],
					graph->inplace[p].out, sharding->produced[graph->inplace[p].out]))
				return false;
	return true;
}

/* Changes a decision to its option of that number; false where it can't be, or where it is that already. */
static bool moves_decide(const struct units *units, struct sharding *sharding, const struct decision *decision,
	uint32_t option)
{
	uint32_t axes = sharding->mesh.axes, base = decision->of >= DECIDES_LATE ? 0 : wide(units, decision), t = decision->id;
	uint8_t *bits[] = { [DECIDES_LATE] = &sharding->late_axes,
		[DECIDES_EACH] = &sharding->each_axes,
		[DECIDES_REGATHER] = &sharding->regather_axes };
	if (decision->of >= DECIDES_LATE) {
		*bits[decision->of] ^= (uint8_t)(1u << option);
		return true;
	}
	int8_t none = decision->of == DECIDES_KEPT ? PLACE_WHOLE : UNIT_NONE, on[MESH_AXES];
	memset(on, none, sizeof on);
	for (uint32_t a = 0; a < axes; a++, option /= base) {
		uint32_t value = option % base;
		on[a] = value == 0 ? none : (int8_t)(value - 1);
		if (decision->of == DECIDES_SPLIT && value > unit_count(units, t))
			on[a] = UNIT_PARTIAL;
	}
	if (decision->of == DECIDES_KEPT) {
		struct placement placement;
		memcpy(placement.on, on, sizeof placement.on);
		if (memcmp(sharding->produced[t].on, on, sizeof on) == 0 ||
			!placement_divides(units, &sharding->mesh, t, placement))
			return false;
		sharding->produced[t] = placement;
		return true;
	}
	struct split split;
	memcpy(split.on, on, sizeof split.on);
	if (memcmp(sharding->split[t].on, on, sizeof on) == 0 || !split_divides(units, &sharding->mesh, t, split))
		return false;
	sharding_set(sharding, units, t, split);
	return keeps_place(units, sharding, t);
}

/* ---- moves ---- */

/* The quick plan of a sharding, or NULL. */
static struct plan *plan_of(struct climb *climb, const struct sharding *sharding)
{
	struct plan_wish wish = { .margin = MARGIN_NO_CAP, .first = climb->from->sharded, .told = sharding };
	error_set(climb->planning.error, OK);
	struct plan *plan = plan_once(&climb->planning, &wish, true);
	climb->work -= climb->from->graph->ops;
	climb->moves->plans++;
	return plan;
}

static bool ends(const struct climb *climb)
{
	enum status status = climb->planning.error->status;
	return climb->work <= 0 || status == NO_MEMORY || status == CANCELLED;
}

/* Goes on from a sharding, which it takes over, where it is better. */
static bool moves_take(struct climb *climb, struct sharding *sharding)
{
	struct plan *plan = plan_of(climb, sharding);
	int64_t needs = plan ? plan_needs(plan) : 0, time = plan ? plan_step_time(plan) : 0;
	bool keeps = plan && needs <= climb->budget, faster = plan && time < climb->best;
	bool better = faster && (climb->slower || time <= climb->time) &&
		(keeps || needs < climb->needs || (needs == climb->needs && time < climb->time));
	plan_release(plan);
	if (better && keeps) {
		sharding_free(&climb->moves->found);
		climb->moves->from = climb->from;
		climb->best = time;
		if (sharding_copy(climb->units, sharding, &climb->moves->found) != OK)
			fail_memory(climb->planning.error);
	}
	if (better) {    /* what comes next has to be better than this */
		climb->needs = needs;
		climb->time = time;
		sharding_free(&climb->at);
		climb->at = *sharding;
	} else {
		sharding_free(sharding);
	}
	return better;
}

/* Every option of every decision. Whether one counts. */
static bool try_singles(struct climb *climb)
{
	bool any = false;
	FOR(i, climb->decisions)
		FOR_WHILE(k, climb->decision[i].options, !ends(climb)) {
			struct sharding next;
			if (sharding_copy(climb->units, &climb->at, &next) != OK) {
				fail_memory(climb->planning.error);
				return any;
			}
			if (moves_decide(climb->units, &next, &climb->decision[i], k))
				any |= moves_take(climb, &next);
			else
				sharding_free(&next);
		}
	return any;
}

/* ---- climbs ---- */

/* From climb->at on, first without losing time, until no move counts. */
static enum status climb_on(struct climb *climb)
{
	OWN(arena) arena = { 0 };
	climb->decisions = 0;
	TRY(find_decisions(climb, &arena));
	for (climb->slower = false; !ends(climb);) {
		bool any = try_singles(climb);
		if (!any && climb->slower)
			break;
		climb->slower = !any;
	}
	return climb->planning.error->status == NO_MEMORY ? NO_MEMORY : OK;
}

/* From a plan, or (whole) from what every device of its mesh holds and runs alike. */
static enum status moves_climb_from(struct climb *climb, const struct plan *start, bool whole)
{
	const struct sharded *sharded = start->sharded;
	struct sharding next;
	climb->from = start;
	climb->units = &sharded->shared->units;
	climb->needs = whole ? INT64_MAX : plan_needs(start);
	climb->time = whole ? INT64_MAX : plan_step_time(start);
	enum status status = sharding_copy(climb->units, &sharded->sharding, &climb->at);
	if (status == OK && whole && (status = sharding_new(climb->units, &sharded->sharding.mesh, &next)) == OK) {
		next.late_sums = climb->at.late_sums;
		climb->slower = true;
		whole = moves_take(climb, &next);
		status = whole ? climb_on(climb) : OK;
	} else if (status == OK) {
		status = climb_on(climb);
	}
	sharding_free(&climb->at);
	return status;
}

enum status moves_find(const struct planning *planning, const struct plan *const *start, uint32_t starts,
	const struct plan *best, struct shard_moves *moves)
{
	struct climb climb = {
		.planning = *planning, .stage = *planning->stage, .budget = scenario_budget(planning->scenario), .moves = moves
	};
	enum status status = OK;
	*moves = (struct shard_moves){ .from = NULL };
	climb.best = plan_needs(best) <= climb.budget ? plan_step_time(best) : INT64_MAX;
	climb.planning.stage = &climb.stage;
	climb.stage.store = store_new();
	NEEDED(planning->error, climb.stage.store);
	store_begin(climb.stage.store, MOVE_STORE, planning->stage->control->cancel);
	for (uint32_t i = 0; i <= starts && status == OK && planning->error->status != CANCELLED; i++) {
		const struct plan *from = start[i % starts];
		bool small = MOVE_WORK / (starts + 1) / (from->graph->ops + 1) >= MOVE_PLANS;
		climb.work = MOVE_WORK / (starts + 1);
		moves->left_out |= !small;
		if (small && (i == starts || from == best || plan_step_time(from) < climb.best))
			status = moves_climb_from(&climb, from, i == starts);
	}
	store_free(climb.stage.store);
	if (status != OK)
		return fail_memory(planning->error);
	if (planning->error->status != CANCELLED)
		error_set(planning->error, OK);
	return planning->error->status;
}
