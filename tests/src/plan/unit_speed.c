/* unit_speed.c: how fast steps are: tokens, samples, and the share of the peak, against sums of their own. */
#include <math.h>

#include "src/decide/planner.h"
#include "src/read/input.h"
#include "src/scenario/devices.h"
#include "tests/common/support.h"

static struct plan *plan_of(struct planner *planner, struct graph *graph, const char *const *settings)
{
	OWN(scenario) scenario;
	struct error error = { 0 };
	scenario_init(&scenario);
	for (; *settings; settings++)
		cr_assert_eq(scenario_set(&scenario, *settings, &error), OK, "%s", error.text);
	struct plan *plan = planner_run(planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s", error.text);
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
	static const char *const alone[] = { "order=program", NULL },
							 *const again[] = { "order=program", "recompute=full", NULL },
							 *const split[] = { "order=program", "devices=4", "strategy=megatron", "dp=4", "batch=8",
								 NULL },
							 *const piped[] = { "order=program", "devices=4", "strategy=megatron", "pp=2", "dp=2",
								 "batch=8", "microbatches=2", NULL };
	struct error error = { 0 };
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = graph_open("samples/gpt2_b1_s1024_adam.jsonl.gz", NULL, &error);
	cr_assert_not_null(graph, "%s", error.text);
	OWN(plan) *plan = plan_of(&planner, graph, alone);
	double peak = (double)device_preset(DEVICE_A100_80).machine.matrix_rate[FORMAT_F32];
	int64_t flops = products(graph);
	cr_expect_eq(plan->speed.tokens, 1024);
	cr_expect_eq(plan->speed.samples, 1);
	cr_expect_eq(plan->speed.model_flops, flops);
	cr_expect(fabs(plan->speed.mfu - (double)flops / peak / ((double)plan->speed.time * 1e-12)) < 1e-9, "%g",
		plan->speed.mfu);
	cr_expect(fabs(plan_speed_rate(&plan->speed) * (double)plan->speed.time * 1e-12 - 1024) < 1e-6);
	struct plan *full = plan_of(&planner, graph, again);
	cr_expect_eq(full->speed.model_flops, flops, "what runs again is no work of the model");
	cr_expect_gt(full->speed.time, plan->speed.time);
	plan_release(full);
	const char *const *const parts[] = { split, piped };
	for (int i = 0; i < 2; i++) {
		OWN(plan) *part = plan_of(&planner, graph, parts[i]);
		cr_expect_eq(part->speed.devices, 4);
		cr_expect_eq(part->speed.tokens, 8 * 1024);
		cr_expect_eq(part->speed.model_flops, 8 * flops);
		cr_expect(part->speed.mfu > 0 && part->speed.mfu < 1);
		cr_expect_eq(part->speed.time, plan_step_time(part));
	}
}

/* One device without collectives is never idle: all ops of a pass so many times, and the update once. */
static int64_t work_time(struct planner *planner, const struct plan *plan, int64_t passes)
{
	const struct graph *graph = plan->graph;
	int64_t *full = mem_alloc(2 * (size_t)graph->ops, sizeof *full), sum = 0;
	cr_assert_eq(plan_op_times(graph, NULL, &plan->scenario, planner->rules, full, full + graph->ops), OK);
	for (uint32_t op = 0; op < graph->ops; op++)
		sum += graph->op[op].phase == PHASE_UPDATE ? full[op] : passes * full[op];
	mem_free(full);
	return sum;
}

static int64_t sum_of_shares(struct planner *planner, const struct plan *plan)
{
	struct step_shares shares;
	int64_t sum = 0;
	struct plan_time *time = plan_time_of(
		plan->graph, plan->ordered->result.order, plan->transformed->sharded, &plan->scenario, planner->rules);
	cr_assert_eq(
		plan_time_shares(plan->graph, plan->transformed->sharded, &plan->scenario, planner->rules, time, &shares), OK);
	for (int part = 0; part < STEP_PARTS; part++)
		for (int limit = 0; limit < STEP_LIMITS; limit++)
			sum += shares.time[part][limit];
	cr_expect_eq(shares.total, sum);
	plan_time_free(time);
	return sum;
}

Test(speed, a_step_that_accumulates_counts_every_pass)
{
	static const char *const passes[] = { "accumulation=2", "accumulation=3", "accumulation=4" };
	static const char *const kind[] = { "precision=given", "precision=mixed", "strategy=data", "strategy=zero" };
	struct error error = { 0 };
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = graph_open("samples/gpt2_b1_s1024_adam.jsonl.gz", NULL, &error);
	cr_assert_not_null(graph, "%s", error.text);
	int64_t flops = products(graph);
	for (size_t k = 0; k < sizeof kind / sizeof *kind; k++) {
		int64_t time[3], work[3];
		for (int i = 0; i < 3; i++) {
			const char *const settings[] = { "order=program", "layout=bestfit", "batch=2", kind[k],
				k < 2 ? "devices=1" : "devices=2", passes[i], NULL };
			OWN(plan) *plan = plan_of(&planner, graph, settings);
			cr_expect_eq(plan->speed.samples, 2 * (i + 2), "%s", kind[k]);
			cr_expect_eq(plan->speed.tokens, 2 * 1024 * (i + 2));
			cr_expect_eq(plan->speed.model_flops, 2 * (i + 2) * flops);
			cr_expect(plan->speed.mfu > 0 && plan->speed.mfu < 1);
			cr_expect_eq(sum_of_shares(&planner, plan), plan->speed.time);
			cr_expect_eq(plan->speed.time, k < 2 ? work_time(&planner, plan, i + 2) : plan_step_time(plan));
			time[i] = plan->speed.time;
			work[i] = plan_flops(plan);
		}
		cr_expect(time[2] - time[1] == time[1] - time[0] && 2 * (time[1] - time[0]) <= time[0],
			"%s: the step rises by a pass", kind[k]);
		cr_expect_eq(work[2] - work[1], work[1] - work[0]);
	}
}

Test(speed, images_are_samples)
{
	static const char *const alone[] = { "order=program", NULL };
	struct error error = { 0 };
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = graph_open("samples/vit_b_16_b1_adam.jsonl.gz", NULL, &error);
	cr_assert_not_null(graph, "%s", error.text);
	OWN(plan) *plan = plan_of(&planner, graph, alone);
	cr_expect_eq(plan->speed.tokens, 0);
	cr_expect_eq(plan->speed.samples, 1);
}
