/* unit_speed.c: how fast steps are: tokens, samples, and the share of the peak, against sums of their own. */
#include <criterion/criterion.h>
#include <math.h>

#include "src/plan/planner.h"
#include "src/read/input.h"
#include "src/scenario/devices.h"
#include "tests/common/support.h"

static struct plan *plan_of(struct planner *planner, struct graph *graph, const char *const *settings)
{
	struct scenario scenario;
	struct error error = { 0 };
	scenario_init(&scenario);
	for (; *settings; settings++)
		cr_assert_eq(scenario_set(&scenario, *settings, &error), OK, "%s", error.text);
	struct plan *plan = planner_run(planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s", error.text);
	scenario_done(&scenario);
	return plan;
}

/* FLOPs of products by their names, in the graph as read. */
static int64_t products(const struct graph *graph)
{
	int64_t sum = 0;
	for (uint32_t op = 0; op < graph->ops; op++)
		if (strstr(graph->op[op].type, "mm"))
			sum += graph->op[op].flops;
	return sum;
}

Test(speed, tokens_and_the_share_of_the_peak_follow_from_the_step)
{
	static const char *const alone[] = { "order=program", NULL }, *const again[] = { "order=program", "recompute=full", NULL },
		*const split[] = { "order=program", "devices=4", "strategy=megatron", "dp=4", "batch=8", NULL },
		*const piped[] = { "order=program", "devices=4", "strategy=megatron", "pp=2", "dp=2", "batch=8", "microbatches=2", NULL };
	struct error error = { 0 };
	struct planner planner = { .store = store_new() };
	struct graph *graph = graph_open("samples/gpt2_b1_s1024_adam.jsonl.gz", NULL, &error);
	cr_assert_not_null(graph, "%s", error.text);
	struct plan *plan = plan_of(&planner, graph, alone);
	double peak = (double)device_preset(DEVICE_A100_80).machine.matrix_rate[FORMAT_F32];
	int64_t flops = products(graph);
	cr_expect_eq(plan->speed.tokens, 1024);
	cr_expect_eq(plan->speed.samples, 1);
	cr_expect_eq(plan->speed.model_flops, flops);
	cr_expect(fabs(plan->speed.mfu - (double)flops / peak / ((double)plan->speed.time * 1e-12)) < 1e-9, "%g", plan->speed.mfu);
	cr_expect(fabs(plan_speed_rate(&plan->speed) * (double)plan->speed.time * 1e-12 - 1024) < 1e-6);
	struct plan *full = plan_of(&planner, graph, again);
	cr_expect_eq(full->speed.model_flops, flops, "what runs again is no work of the model");
	cr_expect_gt(full->speed.time, plan->speed.time);
	plan_release(full);
	const char *const *const parts[] = { split, piped };
	for (int i = 0; i < 2; i++) {
		struct plan *part = plan_of(&planner, graph, parts[i]);
		cr_expect_eq(part->speed.devices, 4);
		cr_expect_eq(part->speed.tokens, 8 * 1024);
		cr_expect_eq(part->speed.model_flops, 8 * flops);
		cr_expect(part->speed.mfu > 0 && part->speed.mfu < 1);
		cr_expect_eq(part->speed.time, plan_step_time(part));
		plan_release(part);
	}
	plan_release(plan);
	graph_release(graph);
	planner_done(&planner);
	cr_assert_eq(memory_blocks(), 0);
}

Test(speed, images_are_samples)
{
	static const char *const alone[] = { "order=program", NULL };
	struct error error = { 0 };
	struct planner planner = { .store = store_new() };
	struct graph *graph = graph_open("samples/vit_b_16_b1_adam.jsonl.gz", NULL, &error);
	cr_assert_not_null(graph, "%s", error.text);
	struct plan *plan = plan_of(&planner, graph, alone);
	cr_expect_eq(plan->speed.tokens, 0);
	cr_expect_eq(plan->speed.samples, 1);
	plan_release(plan);
	graph_release(graph);
	planner_done(&planner);
	cr_assert_eq(memory_blocks(), 0);
}
