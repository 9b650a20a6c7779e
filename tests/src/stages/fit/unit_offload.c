/* unit_offload.c: recomputation with storages in the host's memory. */
#include <criterion/criterion.h>

#include "src/decide/planner.h"
#include "src/plan/verdict.h"
#include "src/stages/fit/stage.h"
#include "tests/common/fit_step.h"

static struct plan *plan_with(struct graph *graph, const char *const *setting, size_t settings)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	struct error error = { 0 };
	scenario_init(&scenario);
	scenario.value[K_allocator] = ALLOCATOR_PLAN;
	for (size_t i = 0; i < settings; i++)
		cr_assert_eq(scenario_set(&scenario, setting[i], &error), OK, "%s", error.text);
	struct plan *plan = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s", error.text);
	return plan;
}

/* Memory is fullest somewhat behind the forward pass, at the loss: what is copied until there counts, and the room that
 * it leaves is used. */
Test(offload, copies_last_until_memory_is_fullest)
{
	static const char *const setting[] = { "recompute=auto", "offload=on", "host_bandwidth=10GB/s", "memory=1864800000" };
	struct error error = { 0 };
	OWN(graph) *graph = graph_open("samples/bert_base_b1_s512_adam.jsonl.gz", NULL, &error);
	cr_assert_not_null(graph, "%s", error.text);
	OWN(plan) *plan = plan_with(graph, setting, sizeof setting / sizeof *setting);
	const struct fitted *fitted = plan->transformed->fitted;
	cr_assert_leq(plan_needs(plan), 1864800000);
	cr_assert_gt(fitted->away, 0);
	cr_assert_leq(fitted->extra - fitted->bound, fitted->total / 2000, "%g %% above the bound",
		100 * (double)(fitted->extra - fitted->bound) / (double)fitted->total);
	uint32_t behind = 0;
	bool backward = false;
	for (uint32_t op = 0; op < plan->graph->ops; op++) {
		backward |= plan->graph->op[op].phase == PHASE_BACKWARD;
		behind += backward && plan->graph->op[op].added == ADDED_OFFLOAD_WAIT;
	}
	cr_assert_gt(behind, 0);
}
