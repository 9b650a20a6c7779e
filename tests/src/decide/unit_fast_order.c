/* unit_fast_order.c: order=fast in whole plans: never slower, within the cap, with a bound that the checker believes.
 */
#include <stdlib.h>
#include <string.h>

#include "src/decide/planner.h"
#include "src/plan/verdict.h"
#include "src/read/input.h"
#include "src/models/models.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"
#include "src/scenario/knobs.h"

static struct plan *plan_with(
	struct planner *planner, struct graph *graph, const char *const *words, const char *order, int64_t cap)
{
	OWN(scenario) scenario;
	struct error error = { 0 };
	char word[40];
	scenario_init(&scenario);
	scenario.value[K_allocator] = ALLOCATOR_PLAN;
	for (; *words; words++)
		cr_assert_eq(scenario_set(&scenario, *words, &error), OK, "%s", error.text);
	cr_assert_eq(scenario_set(&scenario, order, &error), OK, "%s", error.text);
	snprintf(word, sizeof word, "memory=%lld", (long long)cap);
	if (cap > 0)
		cr_assert_eq(scenario_set(&scenario, word, &error), OK, "%s", error.text);
	struct plan *plan = planner_run(planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s", error.text);
	return plan;
}

static void expect_checked(const struct graph *graph, const struct plan *plan)
{
	struct error error = { 0 };
	char *text = plan_text(plan);
	cr_expect_eq(check_plan_text(graph, text, &error), OK, "%s", error.text);
	cr_assert_not_null(strstr(text, "\"step_bound\""));
	free(text);
}

Test(fast_order, never_slower_and_within_the_cap)
{
	static const char *const splits[][4] = {
		{ "devices=4", "batch=32", "strategy=data", NULL },
		{ "devices=4", "batch=32", "strategy=megatron", NULL },
		{ "devices=4", "batch=32", "strategy=zero", NULL },
	};
	struct error error;
	OWN(graph) *graph = graph_open("samples/alexnet_b1_adam.jsonl.gz", NULL, &error);
	for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
		OWN(planner) planner = { .store = store_new() };
		struct plan *best = plan_with(&planner, graph, splits[i], "order=best", 0),
					*fast = plan_with(&planner, graph, splits[i], "order=fast", 0);
		int64_t free_time = plan_step_time(fast);
		cr_expect_leq(free_time, plan_step_time(best));
		cr_expect_leq(fast->time->bound.bound, free_time);
		cr_expect_lt((double)free_time, 1.07 * (double)fast->time->bound.bound, "split %zu: %lld ps, bound %lld", i,
			(long long)free_time, (long long)fast->time->bound.bound);
		expect_checked(graph, fast);
		plan_release(fast);
		struct plan *program = plan_with(&planner, graph, splits[i], "order=program", 0);
		fast = plan_with(&planner, graph, splits[i], "order=fast", plan_needs(program));
		cr_expect(plan_needs(fast) <= plan_needs(program) && plan_step_time(fast) <= plan_step_time(program),
			"split %zu: within the program's memory", i);
		plan_release(fast);
		plan_release(program);
		for (int percent = 0; percent <= 4; percent += 2) {
			int64_t cap = plan_needs(best) + plan_needs(best) / 100 * percent;
			fast = plan_with(&planner, graph, splits[i], "order=fast", cap);
			cr_expect_leq(plan_needs(fast), cap, "split %zu, %d %%", i, percent);
			cr_expect(plan_step_time(fast) >= free_time && plan_step_time(fast) <= plan_step_time(best),
				"split %zu, %d %%", i, percent);
			expect_checked(graph, fast);
			plan_release(fast);
		}
		plan_release(best);
	}
}

/* What keeps a cap keeps a larger one: more memory makes no step slower. */
Test(fast_order, more_memory_is_no_slower)
{
	static const char *const split[] = { "devices=8", "device=a100-80gb", "strategy=zero", "zero=3", NULL };
	struct planner planner = { .store = store_new() };
	struct graph *graph = step_of_sizes("llama3-8b", (struct model_config) { .layers = 1, .seq = 4096, .batch = 8 });
	struct plan *best = plan_with(&planner, graph, split, "order=best", 0);
	int64_t least = INT64_MAX;
	for (int percent = 0; percent <= 8; percent += 2) {
		struct plan *fast = plan_with(
			&planner, graph, split, "order=fast", plan_needs(best) + plan_needs(best) / 100 * percent);
		cr_expect_leq(plan_step_time(fast), least, "%d %% more: %lld ps, %lld with less", percent,
			(long long)plan_step_time(fast), (long long)least);
		least = plan_step_time(fast) < least ? plan_step_time(fast) : least;
		plan_release(fast);
	}
	plan_release(best);
	graph_release(graph);
	planner_done(&planner);
}

/* On one device nothing runs beside computation: the order of the least peak stays. */
Test(fast_order, one_device_keeps_the_least_peak)
{
	static const char *const alone[] = { NULL };
	struct error error;
	OWN(graph) *graph = graph_open("samples/diamond.jsonl", NULL, &error);
	OWN(planner) planner = { .store = store_new() };
	OWN(plan) *best = plan_with(&planner, graph, alone, "order=best", 0),
			  *fast = plan_with(&planner, graph, alone, "order=fast", 0);
	cr_expect_eq(plan_peak(best), plan_peak(fast));
}

/* auto seeks the least time: no strategy is faster within the same cap, in the order that it gets by default, nor in
 * one for time. */
Test(fast_order, auto_is_no_slower_than_strategies)
{
	static const char *const splits[][3] = { { "devices=4", "strategy=data", NULL },
		{ "devices=4", "strategy=megatron", NULL }, { "devices=4", "strategy=zero", NULL },
		{ "devices=4", "strategy=tap", NULL }, { "devices=4", "strategy=minred", NULL } };
	static const char *const automatic[] = { "devices=4", "strategy=auto", NULL };
	OWN(graph) *graph = step_of_sizes("gpt", (struct model_config){ .layers = 1, .batch = 8, .seq = 32 });
	OWN(planner) planner = { .store = store_new() };
	OWN(plan) *least = plan_with(
		&planner, graph, (const char *const[]){ "devices=4", "strategy=minred", NULL }, "order=best", 0);
	int64_t caps[] = { 0, plan_needs(least) + plan_needs(least) / 10 };
	uint32_t faster = 0;
	for (size_t c = 0; c < sizeof caps / sizeof *caps; c++) {
		OWN(plan) *plan = plan_with(&planner, graph, automatic, "order=auto", caps[c]),
				  *fast = plan_with(&planner, graph, automatic, "order=fast", caps[c]);
		expect_checked(graph, plan);
		expect_checked(graph, fast);
		cr_expect_leq(plan_step_time(fast), plan_step_time(plan), "auto, cap %lld", (long long)caps[c]);
		for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
			OWN(plan) *other = plan_with(&planner, graph, splits[i], "order=fast", caps[c]),
					  *slow = plan_with(&planner, graph, splits[i], "order=auto", caps[c]);
			const struct plan *const ours[] = { plan, fast }, *const theirs[] = { slow, other };
			for (int k = 0; k < 2; k++)
				cr_expect((caps[c] > 0 && plan_needs(theirs[k]) > caps[c]) ||
						plan_step_time(ours[k]) <= plan_step_time(theirs[k]),
					"%s, cap %lld: %lld ps, auto %lld", splits[i][1], (long long)caps[c],
					(long long)plan_step_time(theirs[k]), (long long)plan_step_time(ours[k]));
			faster += plan_step_time(other) < plan_step_time(slow);
		}
	}
	cr_assert(faster > 0);
}
