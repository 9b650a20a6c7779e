/* few_layers.c: plans of a few equal layers, drawn out to all of them. */
#include "decide.h"
#include "src/scenario/knobs.h"
#include "src/stages/shard/stage.h"

#define SEGMENTS_MOST 3    /* kinds of layers that are cut down */
#define MANY 24            /* a kind with fewer layers stays whole */
#define FEWEST 4           /* layers of a kind in the smallest plan, at least */
#define PART 64            /* the larger plan has such a part of a kind's layers: errors are drawn out */
#define SAVES 6            /* all plans together have at most a sixth of the step's ops, else they would save little */

struct few {
	struct shortened shortened;
	struct shared_units *shared;
};

struct few_layers {
	const struct shared_units *whole;
	uint32_t count;            /* few[0] has the fewest layers; each other one has more of one kind */
	uint32_t fewest[SEGMENTS_MOST + 1],
		most[SEGMENTS_MOST + 1]; /* of the kind that few[i] has twice as many of: layers in few[0], and all */
	struct few few[SEGMENTS_MOST + 1];
};

/* ---- cutting down ---- */

/* Whether plans of the scenario are alike but for their number of layers. Pins name what may be left out; cuts between
 * ranks and what recomputation takes change with the layers. */
static bool grows_by_layers(const struct scenario *scenario)
{
	return scenario->pins == 0 && !scenario_cuts(scenario) && scenario->value[K_recompute] != RECOMPUTE_AUTO &&
		scenario->value[K_recompute] != RECOMPUTE_KEPT;
}

/* Layers in the smallest plan; the next one has twice as many. */
static uint32_t fewest_of(const struct fold_segment *segment)
{
	uint32_t part = segment->copies / PART / 2;
	return LARGER(part, FEWEST);
}

static bool is_deep(const struct fold_segment *segment)
{
	return segment->copies >= MANY;
}

static uint64_t ops_of(const struct shared_units *shared, const uint32_t *copies)
{
	uint64_t ops = shared->graph->ops;
	FOR(s, shared->fold.segments)
		ops -= (uint64_t)(shared->fold.segment[s].copies - copies[s]) * shared->fold.segment[s].ops;
	return ops;
}

static enum status add_few(struct few_layers *layers, const struct planning *planning, const uint32_t *copies)
{
	struct few *few = &layers->few[layers->count];
	enum status status = graph_shorten(
		layers->whole->graph, &layers->whole->fold, copies, &few->shortened, planning->error);
	layers->count++;
	few->shared = status == OK ? shared_units_find(planning->stage, few->shortened.graph) : NULL;
	return status == OK && !few->shared ? fail_memory(planning->error) : status;
}

static enum status cut_down(struct few_layers *layers, const struct planning *planning, uint32_t *copies)
{
	const struct fold *fold = &layers->whole->fold;
	uint64_t ops = 0;
	uint32_t deep = 0;
	FOR(s, fold->segments) {
		copies[s] = is_deep(&fold->segment[s]) ? fewest_of(&fold->segment[s]) : fold->segment[s].copies;
		deep += is_deep(&fold->segment[s]);
	}
	if (deep == 0 || deep > SEGMENTS_MOST)
		return INFEASIBLE;
	ops = (deep + 1) * ops_of(layers->whole, copies);
	FOR(s, fold->segments)
		ops += is_deep(&fold->segment[s]) ? (uint64_t)copies[s] * fold->segment[s].ops : 0;
	if (ops > layers->whole->graph->ops / SAVES)
		return INFEASIBLE;
	enum status status = add_few(layers, planning, copies);
	for (uint32_t s = 0; s < fold->segments && status == OK; s++)
		if (is_deep(&fold->segment[s])) {
			layers->fewest[layers->count] = copies[s];
			layers->most[layers->count] = fold->segment[s].copies;
			copies[s] *= 2;
			status = add_few(layers, planning, copies);
			copies[s] /= 2;
		}
	return status;
}

enum status few_layers_new(
	const struct planning *planning, const struct shared_units *shared, struct few_layers **layers)
{
	*layers = NULL;
	if (!shared->folded || shared->fold.segments == 0 || !grows_by_layers(planning->scenario))
		return OK;
	struct few_layers *MAKE(made, 1);
	uint32_t *MAKE(copies, shared->fold.segments);
	enum status status = made && copies ? OK : fail_memory(planning->error);
	if (status == OK) {
		made->whole = shared;
		status = cut_down(made, planning, copies);
	}
	mem_free(copies);
	if (status == OK) {
		*layers = made;
		return OK;
	}
	few_layers_free(made);
	return status == INFEASIBLE || status == BAD_INPUT ? error_set(planning->error, OK) : status;
}

void few_layers_free(struct few_layers *layers)
{
	for (uint32_t i = 0; layers && i < layers->count; i++) {
		shared_units_release(layers->few[i].shared);
		shortened_free(&layers->few[i].shortened);
	}
	mem_free(layers);
}

/* ---- plans of few layers ---- */

static struct sharded *shard_few(
	const struct few_layers *layers, const struct few *few, const struct planning *planning, const struct sharding *of)
{
	struct sharding sharding;
	struct shard_clock clock;
	enum status status = sharding_shorten(&few->shared->units, &few->shortened, &layers->whole->units, of, &sharding);
	if (status != OK) {
		fail(planning->error, status, "%s",
			status == NO_MEMORY ? status_text(status) : "layers that are left out are split along something else");
		return NULL;
	}
	status = shard_clock_open(planning->stage, &few->shared->units, planning->scenario, &clock);
	struct sharded *sharded = status == OK ? sharded_of(few->shared, &sharding, &clock, planning->error) : NULL;
	if (status != OK) {
		sharding_free(&sharding);
		fail_status(planning->error, status);
	}
	shard_clock_close(&clock);
	if (sharded)
		sharded->key = shard_key_of(sharded, planning->scenario);
	return sharded;
}

/* Plans of one sharding, of each number of layers. */
struct few_plans {
	const struct few_layers *layers;
	const struct planning *planning;
	struct control control;    /* what it reports of itself nobody is told */
	struct stage_context stage;
	struct scenario scenario;  /* the cap is what the layers that are left out leave of it; the rest is lent */
	struct plan *plan[SEGMENTS_MOST + 1];
};

static struct planning planning_of(struct few_plans *few, uint32_t which)
{
	few->scenario = *few->planning->scenario;
	few->control = *few->planning->stage->control;
	few->stage = *few->planning->stage;
	few->control.report = NULL;
	few->stage.control = &few->control;
	few->stage.witness = NULL;
	return (struct planning) { &few->stage, few->layers->few[which].shared->graph, &few->scenario, few->planning->error };
}

/* By heuristics, in the order of the least peak. */
static enum status plan_few(struct few_plans *few, uint32_t which, const struct sharding *sharding)
{
	struct planning planning = planning_of(few, which);
	struct plan_wish wish = { .margin = MARGIN_NO_CAP };
	struct sharded *sharded = shard_few(few->layers, &few->layers->few[which], few->planning, sharding);
	struct transformed *transformed = sharded
		? stage_transform_sharded(&few->stage, sharded, &few->scenario, &wish, planning.error)
		: NULL;
	few->plan[which] = transformed ? plan_transformed(&planning, transformed, &wish, true) : NULL;
	transformed_release(transformed);
	sharded_release(sharded);
	few->planning->stage->control->ticks = few->control.ticks;
	return few->plan[which] ? few->plan[which]->limited ? error_set(planning.error, CANCELLED) : OK
		: planning.error->status;
}

/* In an order for time. needs: of all layers in the order of the least peak. */
static enum status plan_few_faster(struct few_plans *few, uint32_t which, int64_t needs)
{
	struct planning planning = planning_of(few, which);
	int64_t budget = scenario_budget(&few->scenario), room = budget - needs;
	if (budget >= 0) {
		few->scenario.value[K_memory] = plan_needs(few->plan[which]) + room;
		few->scenario.value[K_reserve] = 0;
	}
	struct shortlist list = { .goal = { GOAL_FASTEST, scenario_budget(&few->scenario) } };
	plan_fast(&planning, few->plan[which], true, &list);
	few->plan[which] = plan_retain(shortlist_leader(&list));   /* the fastest, of all numbers of layers alike */
	shortlist_drop(&list);
	few->planning->stage->control->ticks = few->control.ticks;
	return planning.error->status == OK && few->plan[which]->limited ? error_set(planning.error, CANCELLED)
		: planning.error->status;
}

/* ---- drawing out ---- */

/* What a value comes to with all layers of the kind that few[i] has twice as many of as few[0]: beside that in few[0].
 */
static int64_t few_layers_grown(const struct few_layers *layers, uint32_t i, int64_t few, int64_t more)
{
	int64_t fewest = layers->fewest[i], rest = layers->most[i] - fewest;
	return (more - few) / fewest * rest + (more - few) % fewest * rest / fewest;
}

/* The highest live bytes with all layers: at each op that all plans have, which are ends of the step and of its rows of
 * layers. Between them it lies between. */
static int64_t few_layers_peak_of(const struct few_layers *layers, struct plan *const *plan)
{
	int64_t peak = -1;
	FOR(op, plan[0]->graph->ops) {
		int64_t few = plan[0]->ordered->live[plan[0]->ordered->position[op]], live = few;
		bool everywhere = true;
		for (uint32_t i = 1; i < layers->count && everywhere; i++) {
			uint32_t other = graph_find_op(plan[i]->graph, plan[0]->graph->op[op].name);
			everywhere = other != NONE;
			live += everywhere ? few_layers_grown(layers, i, few, plan[i]->ordered->live[plan[i]->ordered->position[other]]) : 0;
		}
		peak = everywhere && live > peak ? live : peak;
	}
	return peak;
}

static void draw_out(const struct few_plans *few, struct foretold *foretold)
{
	const struct few_layers *layers = few->layers;
	struct plan *const *plan = few->plan;
	struct verdict first = plan_verdict(plan[0]);
	int64_t beside = first.part[PART_AHEAD] + first.part[PART_BUFFERS], holes = first.part[PART_HOLES];
	foretold->time = plan_step_time(plan[0]);
	foretold->needs = few_layers_peak_of(layers, plan) + beside;
	FOR_FROM(i, 1, layers->count) {
		struct verdict more = plan_verdict(plan[i]);
		foretold->time += few_layers_grown(layers, i, plan_step_time(plan[0]), plan_step_time(plan[i]));
		foretold->needs += few_layers_grown(
			layers, i, beside, more.part[PART_AHEAD] + more.part[PART_BUFFERS]);
		holes = larger_of(holes, more.part[PART_HOLES]);
	}
	foretold->needs += holes;   /* of pages and of what is beside each other: they don't grow as layers do */
}

enum status few_layers_foretell(const struct few_layers *layers, const struct planning *planning,
	const struct sharding *sharding, struct foretold *foretold)
{
	struct few_plans few = { .layers = layers, .planning = planning };
	int64_t budget = scenario_budget(planning->scenario);
	enum status status = error_set(planning->error, OK);
	for (uint32_t i = 0; i < layers->count && status == OK; i++)
		status = plan_few(&few, i, sharding);
	if (status == OK)
		draw_out(&few, foretold);
	if (status == OK && scenario_seeks_time(planning->scenario) && few.plan[0]->time &&
		(budget < 0 || foretold->needs <= budget)) {
		for (uint32_t i = 0; i < layers->count && status == OK; i++)
			status = plan_few_faster(&few, i, foretold->needs);
		if (status == OK)
			draw_out(&few, foretold);
	}
	FOR(i, layers->count)
		plan_release(few.plan[i]);
	return status == BAD_INPUT ? INFEASIBLE : status;
}
