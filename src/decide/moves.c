/* moves.c: shardings found by moves, each judged by a plan.
 *
 * Searches of shardings limit what stays. On steps of a few ops most of an arena comes and goes, and many shardings
 * have the same estimate and keep the same: which of them keeps a cap is seen in plans alone. So single decisions are
 * changed, then pairs of them (hill climbing with two neighbourhoods; Hansen and Mladenovic, EJOR 130, 2001). */
#include <stdlib.h>

#include "decide.h"
#include "src/stages/shard/stage.h"

#define MOVE_WORK 36000         /* ops of all plans */
#define MOVE_PLANS 64           /* a start is not worth fewer */
#define SPACE_MOST 40000        /* shardings whose estimates are all looked at */
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
	bool *moved;                /* [tensors] */
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

/* In program order, what an op reads first right before it: pairs of neighbours come first. */
static enum status find_decisions(struct climb *climb, struct arena *arena)
{
	const struct graph *graph = climb->units->graph;
	bool *seen;
	NEED(ROOM(arena, seen, graph->tensors) && ROOM(arena, climb->decision, graph->ops + graph->tensors + 3) &&
		ROOM(arena, climb->moved, graph->tensors));
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

/* Changes a decision to its option of that number; false where it can't be, or (another) where it is that already. */
static bool moves_decide(const struct units *units, struct sharding *sharding, const struct decision *decision,
	uint32_t option, bool another)
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
		if ((another && memcmp(sharding->produced[t].on, on, sizeof on) == 0) ||
			!placement_divides(units, &sharding->mesh, t, placement))
			return false;
		sharding->produced[t] = placement;
		return true;
	}
	struct split split;
	memcpy(split.on, on, sizeof split.on);
	if ((another && memcmp(sharding->split[t].on, on, sizeof on) == 0) || !split_divides(units, &sharding->mesh, t, split))
		return false;
	sharding_set(sharding, units, t, split);
	return keeps_place(units, sharding, t);
}

/* ---- waves: what reads a tensor that lies otherwise follows it ---- */

static void mark_written(const struct graph *graph, uint32_t op, bool *moved)
{
	FOR_ITEMS(written, &graph->writes, op)
		moved[written] = true;
}

/* The split of an op that takes its first moved operand as it lies, axis by axis. */
static struct split split_after(
	const struct units *units, const struct sharding *sharding, uint32_t op, const bool *moved)
{
	const struct graph *graph = units->graph;
	struct split split = sharding->split[op];
	FOR(a, sharding->mesh.axes) {
		uint32_t k = 0, taken = NONE;
		FOR_ITEMS(read, &graph->reads, op) {
			int8_t place = sharding->produced[read].on[a];
			for (uint32_t unit = 0;
				moved[read] && place >= 0 && taken == NONE && unit < unit_count(units, op); unit++)
				taken = units_place(units, op, (int8_t)unit, k) == place ? unit : NONE;
			k++;
		}
		split.on[a] = taken == NONE ? split.on[a] : (int8_t)taken;
	}
	return split;
}

/* What an op needs of tensors that nothing writes and that haven't moved: there they are kept from now on. */
static void keep_as_read(const struct units *units, struct sharding *sharding, uint32_t op, bool *moved)
{
	const struct graph *graph = units->graph;
	FOR_ROW(i, &graph->reads, op) {
		uint32_t t = graph->reads.item[i];
		bool partial = false;
		FOR(a, sharding->mesh.axes)
			partial |= sharding->needed[i].on[a] == PLACE_PARTIAL;
		if (graph->tensor[t].writer != NONE || graph->tensor[t].alias != NONE || moved[t] || partial)
			continue;
		moved[t] |= memcmp(sharding->produced[t].on, sharding->needed[i].on, sizeof sharding->needed[i].on) != 0;
		sharding->produced[t] = sharding->needed[i];
	}
}

/* From a decision that was changed on, in program order. moved [tensors]. */
static void moves_follow(
	const struct units *units, struct sharding *sharding, const struct decision *decision, bool *moved)
{
	const struct graph *graph = units->graph;
	CLEAR(moved, graph->tensors);
	if (decision->of == DECIDES_KEPT)
		moved[decision->id] = true;
	else
		mark_written(graph, decision->id, moved);
	FOR(op, graph->ops) {
		struct split before = sharding->split[op], split = split_after(units, sharding, op, moved);
		if (memcmp(&before, &split, sizeof split) == 0 || !split_divides(units, &sharding->mesh, op, split))
			continue;
		sharding_set(sharding, units, op, split);
		if (keeps_place(units, sharding, op)) {
			mark_written(graph, op, moved);
			keep_as_read(units, sharding, op, moved);
		} else {
			sharding_set(sharding, units, op, before);
		}
	}
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

/* Tries every option of a decision, together with one of another where there is one. */
static bool try_options(struct climb *climb, const struct decision *first, const struct decision *second)
{
	bool any = false;
	FOR(i, first->options)
		for (uint32_t k = 0; k < (second ? second->options : 1) && !ends(climb); k++) {
			struct sharding next;
			if (sharding_copy(climb->units, &climb->at, &next) != OK) {
				fail_memory(climb->planning.error);
				return any;
			}
			if (moves_decide(climb->units, &next, first, i, true) &&
				(!second || moves_decide(climb->units, &next, second, k, true)))
				any |= moves_take(climb, &next);
			else
				sharding_free(&next);
		}
	return any;
}

/* Every option of a decision, with what follows. */
static bool try_waves(struct climb *climb)
{
	bool any = false;
	FOR(i, climb->decisions) {
		const struct decision *decision = &climb->decision[i];
		for (uint32_t k = 0; k < decision->options && decision->of < DECIDES_LATE && !ends(climb); k++) {
			struct sharding next;
			if (sharding_copy(climb->units, &climb->at, &next) != OK) {
				fail_memory(climb->planning.error);
				return any;
			}
			if (moves_decide(climb->units, &next, decision, k, true)) {
				moves_follow(climb->units, &next, decision, climb->moved);
				any |= moves_take(climb, &next);
			} else {
				sharding_free(&next);
			}
		}
	}
	return any;
}

static bool try_singles(struct climb *climb)
{
	bool any = false;
	FOR(i, climb->decisions)
		any |= try_options(climb, &climb->decision[i], NULL);
	return any;
}

/* The nearest ones first; until one counts. */
static bool try_pairs(struct climb *climb)
{
	bool any = false;
	for (uint32_t far = 1; far < climb->decisions && !any; far++)
		for (uint32_t i = 0; i + far < climb->decisions && !any && !ends(climb); i++)
			any = try_options(climb, &climb->decision[i], &climb->decision[i + far]);
	return any;
}

/* ---- small spaces: all shardings by estimate ---- */

struct estimated { int64_t cost; uint32_t code; };

static int moves_by_estimate(const void *left, const void *right)
{
	const struct estimated *a = left, *b = right;
	return a->cost != b->cost ? (a->cost < b->cost ? -1 : 1) : a->code < b->code ? -1 : a->code > b->code;
}

/* The sharding of a number; false where a decision can't be as it says. */
static bool moves_decode(const struct climb *climb, uint32_t code, struct sharding *sharding)
{
	bool fits = true;
	for (uint32_t i = 0; i < climb->decisions && fits; i++) {
		const struct decision *decision = &climb->decision[i];
		if (decision->of >= DECIDES_LATE)
			continue;
		fits = moves_decide(climb->units, sharding, decision, code % decision->options, false);
		code /= decision->options;
	}
	return fits;
}

/* Estimates of all shardings of a space. */
static enum status estimate_all(struct climb *climb, struct sharding *scratch, struct sharding_sum *sum, uint32_t size,
	struct estimated *estimated, uint32_t *count)
{
	enum status status = OK;
	for (uint32_t code = 0; code < size && status != NO_MEMORY; code++) {
		struct sharding_cost cost;
		status = moves_decode(climb, code, scratch) ? sharding_sum_cost(sum, scratch, &cost) : INFEASIBLE;
		if (status == OK)
			estimated[(*count)++] = (struct estimated){ cost.summed, code };
	}
	return status == NO_MEMORY ? NO_MEMORY : OK;
}

/* Plans the shardings of the least estimates, as many as half of the work allows. Nothing where the space is too large.
 */
static void search_through(struct climb *climb, struct arena *arena)
{
	uint64_t size = 1;
	for (uint32_t i = 0; i < climb->decisions && size <= SPACE_MOST; i++)
		size *= climb->decision[i].of < DECIDES_LATE ? climb->decision[i].options : 1;
	if (size > SPACE_MOST)
		return;
	int64_t rest = climb->work / 2;
	struct shard_clock clock;
	OWN(sharding) scratch;
	struct sharding_sum *sum = NULL;
	struct estimated *estimated = arena_alloc(arena, size, sizeof *estimated);
	uint32_t count = 0;
	enum status status = shard_clock_open(&climb->stage, climb->units, climb->planning.scenario, &clock),
				copied = sharding_copy(climb->units, &climb->at, &scratch);
	if (status == OK && copied == OK && estimated &&
		(sum = sharding_sum_new(climb->units, clock.clock, SHARD_EXPOSED, clock.microbatches)))
		status = estimate_all(climb, &scratch, sum, (uint32_t)size, estimated, &count);
	qsort(estimated, count, sizeof *estimated, moves_by_estimate);
	climb->slower = true;
	for (uint32_t i = 0; i < count && climb->work > rest && !ends(climb); i++) {
		struct sharding next;
		if (sharding_copy(climb->units, &climb->at, &next) != OK ||
			!moves_decode(climb, estimated[i].code, &next) || !moves_take(climb, &next))
			sharding_free(&next);
	}
	if (status != OK || copied != OK || !sum)
		fail_memory(climb->planning.error);
	sharding_sum_free(sum);
	shard_clock_close(&clock);
}

/* ---- climbs ---- */

/* From climb->at on, first without losing time, until no move counts. */
static enum status climb_on(struct climb *climb)
{
	OWN(arena) arena = { 0 };
	climb->decisions = 0;
	TRY(find_decisions(climb, &arena));
	search_through(climb, &arena);
	for (climb->slower = false; !ends(climb);) {
		bool any = try_singles(climb) || try_waves(climb) || try_pairs(climb);
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
	if (!climb.stage.store)
		return fail_memory(planning->error);
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
