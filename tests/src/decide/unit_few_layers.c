/* unit_few_layers.c: what few layers foretell, held against whole plans; choices by it, against choices by whole plans.
 */
#include <math.h>
#include <stdlib.h>

#include "src/decide/decide.h"
#include "src/decide/planner.h"
#include "src/plan/verdict.h"
#include "src/scenario/knobs.h"
#include "src/stages/shard/stage.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

static struct graph *deep_step(const char *name, int64_t layers)
{
	return step_of_sizes(name,
		(struct model_config){ .layers = layers, .hidden = 64, .heads = 4, .kv_heads = 2, .seq = 32, .vocab = 128 });
}

static void set(struct scenario *scenario, const char *const *words)
{
	struct error error = { 0 };
	scenario_init(scenario);
	for (; *words; words++)
		cr_assert_eq(scenario_set(scenario, *words, &error), OK, "%s", error.text);
}

static double off(int64_t ours, int64_t theirs)
{
	return (double)ours / (double)theirs - 1;
}

/* Of a plan's own sharding. */
static void expect_foretold(struct planner *planner, struct graph *graph, const char *const *words, const char *name)
{
	struct scenario scenario;
	struct error error = { 0 };
	struct few_layers *layers;
	struct foretold foretold;
	set(&scenario, words);
	struct plan *plan = planner_run(planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s", error.text);
	struct stage_context stage = { .store = planner->store, .control = &planner->control, .rules = planner->rules };
	struct planning planning = { &stage, graph, &scenario, &error };
	cr_assert_eq(few_layers_new(&planning, plan->transformed->sharded->shared, &layers), OK);
	cr_assert_not_null(layers, "%s has layers that stand for all", name);
	cr_assert_eq(
		few_layers_foretell(layers, &planning, &plan->transformed->sharded->sharding, &foretold), OK, "%s", error.text);
	/* Heuristics' orders of least memory hide other transfers than complete ones do; the program's are the same. */
	bool same = scenario.value[K_order] != ORDER_BEST;
	cr_expect(fabs(off(foretold.time, plan_step_time(plan))) < (same ? 0.001 : 0.1),
		"%s, %s: %lld ps foretold, %lld planned", name, words[0], (long long)foretold.time,
		(long long)plan_step_time(plan));
	cr_expect(off(foretold.needs, plan_needs(plan)) < 0.04 && off(foretold.needs, plan_needs(plan)) > -0.02,
		"%s, %s: %lld B foretold, %lld planned", name, words[0], (long long)foretold.needs,
		(long long)plan_needs(plan));
	few_layers_free(layers);
	plan_release(plan);
	scenario_done(&scenario);
}

Test(few_layers, foretell_what_all_come_to)
{
	static const char *const names[] = { "gpt", "llama3-8b" };
	static const char *const scenarios[][5] = {
		{ "strategy=tap", "devices=4", "batch=8", "order=program", NULL },
		{ "strategy=tap", "devices=4", "batch=8", "order=best", NULL },
		{ "strategy=minred", "devices=4", "batch=8", "order=best", NULL },
		{ "strategy=tap", "devices=4", "batch=8", "microbatches=2", NULL },
	};
	for (size_t i = 0; i < test_rounds(1, sizeof names / sizeof *names); i++) {
		struct planner planner = { .store = store_new() };
		struct graph *graph = deep_step(names[i], 100);
		for (size_t k = 0; k < sizeof scenarios / sizeof *scenarios; k += test_rounds(2, 1))
			expect_foretold(&planner, graph, scenarios[k], names[i]);
		graph_release(graph);
		planner_done(&planner);
	}
}

/* auto, which chooses by what few layers foretell: no strategy is faster than its plan, and the plan checks. */
Test(few_layers, choices_keep_their_promises)
{
	static const char *const strategies[] = { "strategy=data", "strategy=megatron", "strategy=zero", "strategy=tap" };
	struct planner planner = { .store = store_new() };
	struct graph *graph = deep_step("gpt", 100);
	struct scenario scenario;
	struct error error = { 0 };
	set(&scenario, (const char *const[]) { "strategy=auto", "devices=4", "batch=8", "order=program", NULL });
	struct plan *plan = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s", error.text);
	cr_expect_gt(plan->foretold, 0);
	scenario_done(&scenario);
	for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i += test_rounds(2, 1)) {
		set(&scenario, (const char *const[]) { strategies[i], "devices=4", "batch=8", "order=program", NULL });
		struct plan *other = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
		cr_assert_not_null(other, "%s", error.text);
		cr_expect_leq(plan_step_time(plan), plan_step_time(other) + plan_step_time(other) / 100, "%s", strategies[i]);
		plan_release(other);
		scenario_done(&scenario);
	}
	char *text = plan_text(plan);
	cr_expect_eq(check_plan_text(graph, text, &error), OK, "%s", error.text);
	free(text);
	plan_release(plan);
	graph_release(graph);
	planner_done(&planner);
}

/* Pins may name what is left out, and few layers are not few of a shallow step. */
Test(few_layers, none_where_they_would_not_do)
{
	for (int pinned = 0; pinned < 2; pinned++) {
		struct planner planner = { .store = store_new() };
		struct graph *graph = deep_step("gpt", pinned ? 100 : 12);
		struct scenario scenario;
		struct error error = { 0 };
		set(&scenario, (const char *const[]) { "strategy=auto", "devices=4", "batch=8", "order=program", NULL });
		if (pinned)
			cr_assert_eq(scenario_pin(&scenario, "keep h.50.attn.c_attn.weight resident", &error), OK, "%s", error.text);
		struct plan *plan = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
		cr_assert_not_null(plan, "%s", error.text);
		cr_expect(plan->compared > 1 && plan->foretold == 0);
		plan_release(plan);
		scenario_done(&scenario);
		graph_release(graph);
		planner_done(&planner);
	}
}

/* auto on a shallow step: what experts write and what searches find on other meshes, each planned. */
Test(few_layers, rivals_of_shallow_steps_are_planned_whole)
{
	struct planner planner = { .store = store_new() };
	struct graph *graph = deep_step("gpt", 3);
	struct scenario scenario;
	struct error error = { 0 };
	set(&scenario, (const char *const[]) { "strategy=auto", "devices=8", "batch=8", NULL });
	struct plan *plan = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s", error.text);
	cr_expect_geq(plan->compared, plan->transformed->sharded->rivals + 7, "%u shardings were compared", plan->compared);
	plan_release(plan);
	scenario_done(&scenario);
	graph_release(graph);
	planner_done(&planner);
}
