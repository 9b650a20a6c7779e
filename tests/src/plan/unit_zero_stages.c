/* unit_zero_stages.c: what plans of each ZeRO stage hold of gradients, and how often they send them. */
#include <stdio.h>
#include <string.h>

#include "src/models/models.h"
#include "src/decide/planner.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"
#include "src/scenario/knobs.h"

enum { DEVICES = 4 };

static struct graph *model(void)
{
	return step_of_sizes("llama",
		(struct model_config){ .layers = 2,
			.hidden = 64,
			.ffn = 64,
			.vocab = 64,
			.heads = 4,
			.kv_heads = 4,
			.head_width = 16,
			.seq = 16,
			.batch = 32 });
}

/* Of a plan's graph: bytes of gradients that wait for the update, and of reductions in a microbatch's own passes and
 * behind them. */
struct held { int64_t sums, each, once; };

static struct held plan(struct planner *planner, struct graph *graph, int64_t stage, int64_t microbatches)
{
	OWN(scenario) scenario;
	struct error error = { 0 };
	struct held held = { 0 };
	bool flushed = microbatches < 2;
	scenario_init(&scenario);
	scenario.value[K_effort] = 0;
	scenario.value[K_devices] = DEVICES;
	scenario.value[K_strategy] = 1 + STRATEGY_ZERO;
	scenario.value[K_zero] = stage;
	scenario.value[K_microbatches] = microbatches;
	OWN(plan) *plan = planner_run(planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s", error.text);
	const struct graph *device = plan->transformed->graph;
	for (uint32_t t = 0; t < device->tensors; t++)
		held.sums += device->tensor[t].relation == RELATION_SUM && device->tensor[t].alias == NONE &&
				device->tensor[t].kind == KIND_GRADIENT
			? device->tensor[t].bytes
			: 0;
	for (uint32_t op = 0; op < device->ops; op++) {
		const struct collective *said = device->op[op].collective;
		flushed |= op == device->flush;
		if (said && said->kind == COLLECTIVE_REDUCE_SCATTER)
			*(flushed ? &held.once : &held.each) += said->moved;
	}
	return held;
}

/* Rajbhandari et al., arXiv 1910.02054, section 5: stage 1 keeps whole gradients, 2 and 3 a device's share. */
Test(zero_stages, sums_over_microbatches_are_whole_in_stage_1_and_shards_from_stage_2_on)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model();
	int64_t parameters = 0;
	for (uint32_t s = 0; s < graph->storages; s++)
		parameters += graph->storage[s].kind == KIND_PARAMETER ? graph->storage[s].bytes : 0;
	for (int64_t stage = 1; stage <= 3; stage++) {
		struct held held = plan(&planner, graph, stage, 4);
		cr_expect_eq(held.sums, stage == 1 ? parameters : parameters / DEVICES, "stage %ld: %ld of %ld", (long)stage,
			(long)held.sums, (long)parameters);
		cr_expect_eq(stage == 1 ? held.once : held.each, parameters / DEVICES * (DEVICES - 1), "stage %ld", (long)stage);
		cr_expect_eq(stage == 1 ? held.each : held.once, 0, "stage %ld", (long)stage);
	}
}

/* ---- hybrid sharding, what stays gathered, the format of sums -------------------------------- */

/* Bytes that a device sends of a kind over an axis, but for what is no parameter's or gradient's. */
static int64_t sent(
	struct planner *planner, struct graph *graph, const char *words, const char *axis, enum collective_kind kind)
{
	OWN(scenario) scenario;
	struct error error = { 0 };
	char text[200], *save;
	int64_t bytes = 0;
	scenario_init(&scenario);
	scenario.value[K_effort] = 0;
	scenario.value[K_devices] = DEVICES;
	scenario.value[K_strategy] = 1 + STRATEGY_ZERO;
	snprintf(text, sizeof text, "%s", words);
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		cr_assert_eq(scenario_set(&scenario, word, &error), OK, "%s", error.text);
	OWN(plan) *plan = planner_run(planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s: %s", words, error.text);
	const struct graph *device = plan->transformed->graph;
	for (uint32_t op = 0; op < device->ops; op++) {
		const struct collective *said = device->op[op].collective;
		if (said && said->kind == kind && strcmp(said->axis, axis) == 0 && said->moved > 64)
			bytes += said->moved;
	}
	return bytes;
}

/* PyTorch FSDP2: HSDP reduce-scatters gradients within a group and sums the shards over groups;
 * reshard_after_forward=False gathers once. */
Test(zero_stages, groups_hold_copies_and_what_stays_is_gathered_once)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model();
	int64_t parameters = 0, group = DEVICES / 2;
	for (uint32_t s = 0; s < graph->storages; s++)
		parameters += graph->storage[s].kind == KIND_PARAMETER ? graph->storage[s].bytes : 0;
	cr_expect_eq(
		sent(&planner, graph, "zero=3 replicate=2", "dp", COLLECTIVE_REDUCE_SCATTER), parameters / group * (group - 1));
	cr_expect_eq(sent(&planner, graph, "zero=3 replicate=2", "copies", COLLECTIVE_ALL_REDUCE), parameters / group);
	cr_expect_eq(sent(&planner, graph, "zero=3 replicate=2", "copies", COLLECTIVE_ALL_GATHER), 0);
	cr_expect_eq(sent(&planner, graph, "zero=3 reshard_after_forward=off", "dp", COLLECTIVE_ALL_GATHER),
		parameters / DEVICES * (DEVICES - 1));
	cr_expect_gt(sent(&planner, graph, "zero=3", "dp", COLLECTIVE_ALL_GATHER), parameters / DEVICES * (DEVICES - 1));
}

/* Devices that share a sequence are of the group that shares states, as in Megatron's distributed optimizer and FSDP: a
 * device holds as much of them, whichever axis it is on. */
Test(zero_stages, states_are_cut_over_samples_and_sequence_together)
{
	static const char *const words[] = { "zero=3 strategy=zero", "zero=3 strategy=megatron dp=2 cp=2",
		"zero=3 strategy=megatron dp=1 cp=4" };
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model();
	int64_t held[3];
	for (size_t w = 0; w < 3; w++) {
		OWN(scenario) scenario;
		struct error error = { 0 };
		char text[100], *save;
		scenario_init(&scenario);
		scenario.value[K_effort] = 0;
		scenario.value[K_devices] = DEVICES;
		snprintf(text, sizeof text, "%s", words[w]);
		for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
			cr_assert_eq(scenario_set(&scenario, word, &error), OK, "%s", error.text);
		OWN(plan) *plan = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
		cr_assert_not_null(plan, "%s: %s", words[w], error.text);
		const struct graph *device = plan->transformed->graph;
		held[w] = 0;
		for (uint32_t s = 0; s < device->storages; s++)
			held[w] += device->storage[s].kind == KIND_PARAMETER || device->storage[s].kind == KIND_OPTIMIZER
				? device->storage[s].bytes
				: 0;
	}
	cr_expect_eq(held[1], held[0], "%ld of %ld", (long)held[1], (long)held[0]);
	cr_expect_eq(held[2], held[0], "%ld of %ld", (long)held[2], (long)held[0]);
}
