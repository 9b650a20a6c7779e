/* unit_passes.c: passes of microbatches and ranks on streams: one clock with a step in one pass. */
#include <stdio.h>

#include "src/decide/planner.h"
#include "src/stages/pipeline/times.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

static struct graph *passes_graph(const char *name, int64_t layers)
{
	struct model_config config = { .layers = layers, .hidden = 256, .heads = 8, .vocab = 512, .seq = 128, .batch = 4 };
	return step_of_config(name, sized_model(name, config),
		(struct model_training){ .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_MIXED });
}

/* In program order, without effort. */
static struct plan *passes_plan(const char *name, const char *words)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	struct error error = { 0 };
	char text[200], *next = text;
	OWN(graph) *graph = passes_graph(name, 4);
	scenario_init(&scenario);
	snprintf(text, sizeof text, "order=program order_effort=0 layout_effort=0 %s", words);
	for (char *word; (word = strsep(&next, " "));)
		cr_assert_eq(scenario_set(&scenario, word, &error), OK, "%s", error.text);
	struct plan *plan = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s: %s", words, error.text);
	return plan;
}

/* Each further microbatch takes the same, and without any the step is the one that is simulated as one pass. */
Test(passes, a_step_of_one_microbatch_is_the_step_in_one_pass)
{
	static const struct { const char *model, *words; int batch; } rows[] = {
		{ "gpt2", "devices=8 tp=8 strategy=megatron", 1 },
		{ "gpt2", "devices=8 dp=8 strategy=data", 8 },
		{ "llama3-8b", "devices=8 dp=8 strategy=zero zero=1", 8 },
		{ "llama3-8b", "devices=8 dp=8 strategy=zero zero=3", 8 },
		{ "llama3-8b", "devices=8 tp=4 dp=2 strategy=megatron zero=1", 2 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		int64_t time[4] = { 0 };
		for (int m = 1; m <= 3; m++) {
			char words[160];
			snprintf(words, sizeof words, "%s microbatches=%d batch=%d", rows[i].words, m, m * rows[i].batch);
			OWN(plan) *plan = passes_plan(rows[i].model, words);
			cr_assert_eq(m > 1, plan->transformed->pipelined != NULL);
			time[m] = plan_step_time(plan);
		}
		cr_expect_gt(time[1], 0);
		cr_expect_eq(time[2] - time[1], time[3] - time[2], "%s, %s: 1, 2 and 3 microbatches take %lld, %lld, %lld ps",
			rows[i].model, rows[i].words, (long long)time[1], (long long)time[2], (long long)time[3]);
	}
}

/* When the first op of a pass or of a later one computes. */
static int64_t passes_begin(const struct rank_clock *clock, uint32_t pass)
{
	int64_t begin = pass == 0 ? 0 : clock->time.total;
	for (uint32_t op = 0; op < clock->model.ops; op++)
		if (clock->model.stream[op] == 0 && clock->model.time[op] > 0 && clock->segment[clock->model.of[op]] >= pass &&
			clock->time.start[op] < begin)
			begin = clock->time.start[op];
	return begin;
}

static void expect_passes(const struct rank_clock *clock)
{
	struct pass_time pass[12];
	int64_t sum = 0, computed = 0;
	struct error error = { 0 };
	cr_assert_leq(clock->pieces, 4);
	rank_passes(clock, pass);
	cr_expect_eq(step_time_check(&clock->model, &clock->time, &error), OK, "%s", error.text);
	for (uint32_t k = 0; k < 3 * clock->pieces; k++) {
		cr_expect_eq(pass[k].time, passes_begin(clock, k + 1) - passes_begin(clock, k), "pass %u", k);
		cr_expect(pass[k].waits >= 0 && pass[k].waits <= pass[k].time);
		sum += pass[k].time;
		computed += pass[k].time - pass[k].waits;
	}
	cr_expect_eq(sum, clock->time.total);
	cr_expect_eq(computed, clock->time.busy[0]);
}

/* Of every rank, by another way; ranks that do the same work have the same passes. */
Test(passes, a_pass_lasts_until_the_next_one_computes)
{
	static const char *const words[] = {
		"devices=8 pp=4 microbatches=8 batch=16 strategy=zero zero=2",
		"devices=8 pp=4 tp=2 microbatches=4 batch=4 strategy=megatron schedule=zb1p",
		"devices=4 pp=2 tp=2 microbatches=4 batch=4 strategy=megatron schedule=zbv",
		"devices=4 pp=2 dp=2 microbatches=4 batch=8 strategy=zero zero=3 schedule=interleaved chunks=2",
	};
	OWN(rules) *rules = rules_new();
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		OWN(plan) *plan = passes_plan("gpt2", words[i]);
		const struct pipelined *pipelined = plan->transformed->pipelined;
		OWN(arena) arena = { 0 };
		struct step_costs costs;
		cr_assert_eq(plan_costs_find(pipelined->device, plan->transformed->sharded, &plan->scenario, rules, &arena, &costs), OK);
		for (uint32_t r = 0; r < pipelined->ranks; r++) {
			OWN(rank_clock) clock = { 0 };
			cr_assert_eq(rank_clock_find(&pipelined->cut, &costs, r, false, &clock, &clock), OK);
			expect_passes(&clock);
			for (uint32_t k = 0; k < pipelined->ranks * pipelined->chunks; k++)
				if (piece_rank(k, pipelined->ranks, pipelined->folded) == r)
					clock.time.total -= pipelined->piece[k].forward + pipelined->piece[k].backward;
			cr_expect_eq(clock.time.total, 0, "%s: rank %u", words[i], r);
		}
		cr_expect_eq(plan_step_time(plan), pipelined->timing.time + pipelined->exposed + pipelined->update);
	}
}
