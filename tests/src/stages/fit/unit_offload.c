/* unit_offload.c: recomputation with storages in the host's memory. */
#include <criterion/criterion.h>

#include "src/decide/planner.h"
#include "src/plan/verdict.h"
#include "solver/step/recompute.h"
#include "src/scenario/knobs.h"
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

/* Live bytes by another way than the planner's: of each storage from its first op to its last, op by op. */
static int64_t live_at_most(const struct plan *plan, int64_t *states)
{
	const struct graph *graph = plan->graph;
	int64_t most = 0;
	*states = 0;
	for (uint32_t p = 0; p < graph->ops; p++) {
		int64_t live = 0, here = 0;
		for (uint32_t s = 0; s < graph->storages; s++) {
			uint32_t first = graph->ops, last = 0;
			FOR_ITEMS(user, &graph->users, s) {
				first = SMALLER(first, plan->ordered->position[user]);
				last = LARGER(last, plan->ordered->position[user]);
			}
			uint32_t allocator = graph->storage[s].allocator;
			bool fetched = allocator != NONE && graph->op[allocator].added == ADDED_FETCH;
			if (graph->storage[s].live_out)
				last = graph->ops;
			if (allocator == NONE && (graph->storage[s].persistent || first < graph->ops))
				first = 0;
			live += first <= p && p <= last ? graph->storage[s].bytes : 0;
			here += fetched && first <= p && p <= last ? graph->storage[s].bytes : 0;
		}
		most = LARGER(live, most);
		*states = LARGER(here, *states);
	}
	return most;
}

/* What the host keeps isn't counted, but for what is updated just then; a link as fast as memory costs next to nothing,
 * a slower one never less. */
Test(offload, states_are_on_the_device_while_they_are_updated)
{
	struct error error = { 0 };
	OWN(graph) *graph = graph_open("samples/mobilenet_v2_b1_adam.jsonl.gz", NULL, &error);
	cr_assert_not_null(graph, "%s", error.text);
	OWN(plan) *kept = plan_with(graph, (const char *const[]){ "alignment=1" }, 1);
	int64_t state = 0, largest = 0, states, before = kept->speed.time;
	for (uint32_t s = 0; s < graph->storages; s++)
		if (graph->storage[s].kind == KIND_OPTIMIZER && graph->storage[s].bytes >= HOST_STATE_BYTES) {
			state += graph->storage[s].bytes;
			largest = LARGER(graph->storage[s].bytes, largest);
		}
	static const char *const link[] = { "host_bandwidth=3000GB/s", "host_bandwidth=100GB/s", "host_bandwidth=25GB/s",
		"host_bandwidth=5GB/s" };
	for (int i = 0; i < 4; i++) {
		OWN(plan) *plan = plan_with(graph, (const char *const[]){ "alignment=1", "offload=states", link[i] }, 3);
		int64_t time = plan->speed.time;
		cr_assert_eq(live_at_most(plan, &states), plan->ordered->result.peak);
		cr_assert_eq(plan->ordered->graph->persistent_bytes, kept->graph->persistent_bytes - state);
		cr_assert_leq(states, 8 * largest);
		cr_assert_leq(plan->ordered->result.peak, kept->ordered->result.peak - state + states);
		cr_assert_geq(time, before, "%s", link[i]);
		cr_assert_geq(time, (int64_t)((double)state * 1e3 / (const double[]){ 3000, 100, 25, 5 }[i]), "%s", link[i]);
		before = time;
	}
	OWN(plan) *fast = plan_with(graph, (const char *const[]){ "offload=states", "host_bandwidth=3000GB/s" }, 2);
	cr_assert_leq((double)fast->speed.time, 1.3 * (double)kept->speed.time);
}
