/* unit_order_auto.c: order=auto: what each strategy's plan is ordered by, so that strategies are compared like with
 * like. */
#include <stdlib.h>
#include <string.h>

#include "src/decide/planner.h"
#include "src/plan/verdict.h"
#include "tests/common/model_steps.h"
#include "tests/common/planned.h"
#include "tests/common/support.h"

static struct graph *small_step(void)
{
	return step_of_sizes("gpt", (struct model_config){ .layers = 1, .batch = 8, .seq = 32 });
}

static bool same_order(const struct plan *plan, const uint32_t *order)
{
	return memcmp(plan->ordered->result.order, order, plan->graph->ops * sizeof *order) == 0;
}

static bool is_program(const struct plan *plan)
{
	return same_order(plan, plan->ordered->problem.program);
}

Test(order_auto, one_device_has_the_order_of_the_least_peak)
{
	OWN(graph) *graph = small_step();
	OWN(planner) planner = { .store = store_new() };
	static const char *const words[] = { "", "microbatches=2", "memory=1GiB", "devices=4" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		char best[60];
		snprintf(best, sizeof best, "%s order=best", words[i]);
		OWN(plan) *plan = plan_of_words(&planner, graph, words[i]), *least = plan_of_words(&planner, graph, best);
		cr_expect(same_order(plan, least->ordered->result.order) && plan_peak(plan) <= plan->ordered->program_peak,
			"%s", words[i]);
	}
}

Test(order_auto, what_frameworks_run_is_planned_in_the_programs_order)
{
	OWN(graph) *graph = small_step();
	OWN(planner) planner = { .store = store_new() };
	static const char *const words[] = { "strategy=data", "strategy=megatron", "strategy=zero zero=3", "strategy=tap",
		"strategy=minred", "strategy=data microbatches=2", "strategy=megatron pp=2 microbatches=4",
		"strategy=data recompute=full", "strategy=zero memory=40MiB recompute=auto" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		char all[120], quick[140];
		snprintf(all, sizeof all, "devices=4 %s", words[i]);
		snprintf(quick, sizeof quick, "%s order=program", all);
		OWN(plan) *plan = plan_of_words(&planner, graph, all), *program = plan_of_words(&planner, graph, quick);
		cr_expect(is_program(plan), "%s", all);
		cr_expect(plan->graph->fingerprint == program->graph->fingerprint && plan_arena(plan) == plan_arena(program),
			"%s", all);
		cr_expect_eq(plan->program_time, plan->speed.time, "%s", all);
	}
}

/* As much memory as frameworks take is there anyway: within it the order is for time. */
Test(order_auto, auto_is_faster_within_the_programs_peak_or_the_cap)
{
	OWN(graph) *graph = small_step();
	OWN(planner) planner = { .store = store_new() };
	OWN(plan) *plan = plan_of_words(&planner, graph, "devices=4 strategy=auto"),
			  *best = plan_of_words(&planner, graph, "devices=4 strategy=auto order=best");
	cr_expect(!is_program(plan));
	cr_expect_leq(plan_peak(plan), plan->ordered->program_peak);
	cr_expect_lt(plan->speed.time, plan->program_time);
	cr_expect_leq(plan->speed.time, best->speed.time);
	char words[80];
	snprintf(words, sizeof words, "devices=4 strategy=auto memory=%lld",
		(long long)plan_needs(best) + (long long)plan_needs(best) / 50);
	OWN(plan) *capped = plan_of_words(&planner, graph, words);
	cr_expect_leq(plan_needs(capped), scenario_budget(&capped->scenario));
}

/* Both figures are in the file, and neither can be forged. */
Test(order_auto, plans_say_what_the_order_gains)
{
	OWN(graph) *graph = small_step();
	OWN(planner) planner = { .store = store_new() };
	static const char *const words[] = { "devices=4 strategy=auto", "devices=4 strategy=data order=fast",
		"devices=4 strategy=data accumulation=2 order=best", "devices=4 pp=2 strategy=data microbatches=2", "" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct error error = { 0 };
		char gain[120];
		OWN(plan) *plan = plan_of_words(&planner, graph, words[i]);
		char *text = plan_text(plan), *key = strstr(text, "\"program_step_seconds\": ");
		cr_assert_not_null(key);
		cr_expect_eq(check_plan_text(graph, text, &error), OK, "%s: %s", words[i], error.text);
		cr_expect_lt(__builtin_fabs(
						 strtod(key + strlen("\"program_step_seconds\": "), NULL) - (double)plan->program_time * 1e-12),
			1e-12);
		key[strlen("\"program_step_seconds\": ")] = '7';
		cr_expect_eq(check_plan_text(graph, text, &error), INFEASIBLE, "%s", words[i]);
		cr_expect_not_null(strstr(error.text, "program_step_seconds"), "%s", error.text);
		cr_expect_not_null(strstr(plan_gain_text(plan, gain, sizeof gain), "program order "), "%s", gain);
		free(text);
	}
}
