/* unit_pipeline_models.c: pipelines of whole models against published memory, and against what a search of
 * configurations says. */
#include <math.h>
#include <stdio.h>

#include "src/configs/config_search.h"
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"
#include "src/plan/host_pool.h"
#include "src/models/models.h"
#include "src/decide/planner.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

#define GIB 1073741824.0

static struct graph *model_graph(const char *name, int64_t layers, int64_t batch, bool fused, enum recompute recompute)
{
	struct model_config config = sized_model(name, (struct model_config){ .layers = layers, .batch = batch });
	config.vocab = (config.vocab + 127) / 128 * 128;
	config.fused = fused;
	return step_of_config(name, config,
		(struct model_training){ .precision = PRECISION_MIXED, .optimizer = OPTIMIZER_ADAM, .recompute = recompute });
}

static void set(struct scenario *scenario, const char *const *words)
{
	struct error error = { 0 };
	for (; *words; words++)
		cr_assert_eq(scenario_set(scenario, *words, &error), OK, "%s", error.text);
}

/* The pipeline stage's result; a new reference. */
static struct pipelined *pipeline_of(struct graph *graph, const struct scenario *scenario)
{
	struct control control = { 0 };
	OWN(rules) *rules = rules_new();
	struct stage_context stage = { .store = store_new(), .control = &control, .rules = rules };
	struct error error = { 0 };
	struct transformed *transformed = stage_transform(&stage, graph, scenario, &(struct plan_wish) { 0 }, true, &error);
	cr_assert_not_null(transformed, "%s", error.text);
	struct pipelined *pipelined = pipelined_retain(transformed->pipelined);
	transformed_release(transformed);
	store_free(stage.store);
	return pipelined;
}

/* Korthikanti et al., arXiv 2205.05198, figure 1, through whole plans: what the ranks hold of activations, and of
 * parameters, gradients and optimizer. Ranks of layers alone, to a few statistics of norms (2 per row of a layer, of 34
 * and more per element); the first and the last rank have embedding and output layer beside theirs. */
Test(pipeline_models, memory_of_korthikantis_models_through_whole_plans)
{
	static const struct {
		const char *model, *words[12];
		int64_t layers, all;
		enum recompute recompute;
		uint32_t pp, chunks;
		double state, activations;
	} rows[] = {
		{ "gpt3-175b",
			{ "devices=64", "pp=8", "tp=8", "strategy=megatron", "sp=on", "batch=64", "microbatches=64",
				"schedule=interleaved", "chunks=3", NULL },
			96, 96, RECOMPUTE_SELECTIVE, 8, 3, 45.5625, 12.3515625 },
		{ "megatron-1t",
			{ "devices=64", "pp=8", "tp=8", "strategy=megatron", "sp=on", "batch=64", "microbatches=64", NULL }, 16,
			128, RECOMPUTE_NONE, 8, 1, 32.958984375, 76.5625 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		OWN(graph) *graph = model_graph(rows[i].model, rows[i].layers, 1, true, rows[i].recompute);
		OWN(scenario) scenario;
		scenario_init(&scenario);
		set(&scenario, rows[i].words);
		struct pipelined *pipelined = pipeline_of(graph, &scenario);
		uint32_t p = rows[i].pp, v = rows[i].chunks;
		/* published: the first stage's, whose L / p layers have p and, interleaved, (p - 1) / v more microbatches in
		 * flight; of 64 stages of 2 layers these are 8 */
		double layer = rows[i].activations / (double)rows[i].all * (v > 1 ? (double)p * v / (p * v + p - 1.0) : 1.0);
		for (uint32_t r = 0; r < p; r++) {
			const struct pipeline_rank *rank = &pipelined->rank[r];
			double pieces = v > 1 ? (v - 1.0) * p + 2.0 * (p - r - 1) + 1 : p - (double)r;
			double expected = layer * (double)rows[i].layers / (p * v) * pieces;
			double kept = (double)rank->kept / GIB,
				   states = (double)(rank->parameters + rank->optimizer + rank->gradients) / GIB;
			bool middle = r > 0 && r + 1 < p;
			cr_expect(kept >= expected * (1 - 1e-9) && kept <= expected * (middle ? 1.0002 : 1.07),
				"%s rank %u: %.6f GiB in flight, published %.6f", rows[i].model, r, kept, expected);
			cr_expect(states >= rows[i].state && states <= rows[i].state * (middle ? 1.01 : 1.12),
				"%s rank %u: %.6f GiB of state, published %.6f", rows[i].model, r, states, rows[i].state);
			cr_expect_geq(rank->peak, rank->kept + rank->parameters + rank->optimizer);
		}
		pipelined_release(pipelined);
	}
}

/* The most that waits in the host at once, in program order. */
static int64_t host_load(const struct graph *graph)
{
	HELD uint32_t *position = mem_alloc(graph->ops, sizeof *position);
	struct host_pool pool;
	for (uint32_t op = 0; op < graph->ops; op++)
		position[op] = op;
	cr_assert_eq(host_pool_make(graph, position, 1, &pool), OK);
	int64_t load = pool.load;
	host_pool_free(&pool);
	return load;
}

/* What is offloaded waits in the host's memory, in no copy here, but in one there for every microbatch; its copies take
 * time beside computation, from when there is something to copy. */
Test(pipeline_models, offloaded_activations_are_not_in_flight)
{
	static const char *const words[] = { "devices=2", "pp=2", "batch=4", "microbatches=4", NULL };
	OWN(graph) *graph = model_graph("gpt2", 2, 1, true, RECOMPUTE_NONE);
	OWN(scenario) scenario;
	struct error error = { 0 };
	scenario_init(&scenario);
	set(&scenario, words);
	struct pipelined *before = pipeline_of(graph, &scenario);
	const struct graph *first = before->rank[0].graph;
	uint32_t largest = NONE;
	for (uint32_t t = 0; t < first->tensors; t++) {
		const char *name = first->tensor[t].name, *end = strstr(name, ".in_flight");
		if (end && (largest == NONE || first->tensor[t].bytes > first->tensor[largest].bytes))
			largest = t;
	}
	cr_assert_neq(largest, NONE);
	char pin[200];
	snprintf(pin, sizeof pin, "offload %.*s",
		(int)(strstr(first->tensor[largest].name, ".in_flight") - first->tensor[largest].name),
		first->tensor[largest].name);
	cr_assert_eq(scenario_pin(&scenario, pin, &error), OK, "%s", error.text);
	struct pipelined *after = pipeline_of(graph, &scenario);
	cr_expect_eq(before->rank[0].kept - after->rank[0].kept, 2 * first->tensor[largest].bytes,
		"%s: two microbatches in flight, %lld of %lld bytes", pin,
		(long long)(before->rank[0].kept - after->rank[0].kept), (long long)first->tensor[largest].bytes);
	cr_expect_lt(after->rank[0].peak, before->rank[0].peak);
	cr_expect_eq(host_load(after->rank[0].graph), 2 * first->tensor[largest].bytes);
	struct machine machine;
	machine = scenario.machine;
	int64_t copied = machine_host_time(&machine, first->tensor[largest].bytes);
	cr_expect(after->forward[0] >= copied && after->forward[0] >= before->forward[0] &&
			after->forward[0] <= before->forward[0] + copied, "%lld", (long long)after->forward[0]);
	machine.host.rate /= 2;
	cr_expect_gt(machine_host_time(&machine, first->tensor[largest].bytes), copied);
	pipelined_release(before);
	pipelined_release(after);
}

/* ---- a search's figures ---------------------------------------------------------------------- */

struct asked { const char *name; int64_t layers; };

static struct graph *asked_step(
	void *context, int64_t batch, enum recompute recompute, bool *guess, struct error *error)
{
	const struct asked *asked = context;
	*guess = false;
	error_set(error, OK);
	return model_graph(asked->name, asked->layers, batch, true, recompute);
}

struct agreeing { const char *words[12]; struct config config; };

static void compare(const struct agreeing *row, const char *what, double ours, double theirs, double tolerance)
{
	cr_expect(fabs(ours - theirs) <= tolerance * theirs, "%s, tp %u, pp %u: %s: %.6g, by the search %.6g",
		schedule_names[row->config.schedule], row->config.tp, row->config.pp, what, ours, theirs);
}

/* The plan's time and bytes beside the search's estimate. */
static void expect_agreement(const struct agreeing *row, struct asked *asked)
{
	struct config_request request = { .step = asked_step, .context = asked, .devices_per_node = 8 };
	OWN(scenario) scenario;
	struct config_result result;
	struct error error = { 0 };
	scenario_init(&scenario);
	set(&scenario, row->words);
	request.devices = (uint32_t)scenario.value[K_devices];
	request.overheads = overheads_all;
	request.machine = scenario.machine;
	struct config_case *opened = config_case_open(&request, &row->config, &error);
	cr_assert_not_null(opened, "%s", error.text);
	cr_assert_eq(config_case_evaluate(opened, &request.machine, &overheads_all, &result), OK);
	config_case_free(opened);
	OWN(graph) *graph = model_graph(asked->name, asked->layers, 1, true, (enum recompute)row->config.recompute);
	struct pipelined *pipelined = pipeline_of(graph, &scenario);
	const struct pipeline_rank *first = &pipelined->rank[0], *last = &pipelined->rank[pipelined->ranks - 1];
	compare(row, "step", (double)pipelined->time, (double)result.time, 0.03);
	if (!schedule_split(
			(enum schedule)row->config.schedule)) /* else gradients that wait are partly among what is short-lived */
		compare(row, "the first rank's activations", (double)first->kept, (double)result.first.activations, 0.02);
	compare(row, "the fullest rank", (double)pipelined->rank[pipelined->reported].peak, (double)result.worst.total, 0.03);
	compare(row, "the first rank's states", (double)(first->parameters + first->optimizer + first->gradients),
		(double)(result.first.parameters + result.first.optimizer + result.first.gradients), 0.01);
	compare(row, "the last rank's states", (double)(last->parameters + last->optimizer + last->gradients),
		(double)(result.last.parameters + result.last.optimizer + result.last.gradients), 0.01);
	pipelined_release(pipelined);
}

Test(pipeline_models, plans_agree_with_the_search)
{
	static const struct agreeing rows[] = {
		{ { "devices=4", "device=a100-80gb", "pp=4", "batch=8", "microbatches=8", NULL },
			{ .dp = 1,
				.tp = 1,
				.pp = 4,
				.cp = 1,
				.ep = 1,
				.microbatch = 1,
				.microbatches = 8,
				.chunks = 1,
				.schedule = SCHEDULE_1F1B } },
		{ { "devices=8", "device=a100-80gb", "pp=4", "tp=2", "strategy=megatron", "sp=off", "batch=8", "microbatches=8",
			  "schedule=gpipe", NULL },
			{ .dp = 1,
				.tp = 2,
				.pp = 4,
				.cp = 1,
				.ep = 1,
				.microbatch = 1,
				.microbatches = 8,
				.chunks = 1,
				.schedule = SCHEDULE_GPIPE } },
		{ { "devices=8", "device=a100-80gb", "pp=2", "dp=2", "tp=2", "strategy=megatron", "sp=on", "batch=16",
			  "microbatches=4", "zero=1", NULL },
			{ .dp = 2,
				.tp = 2,
				.pp = 2,
				.cp = 1,
				.ep = 1,
				.sp = 1,
				.zero = 1,
				.microbatch = 2,
				.microbatches = 4,
				.chunks = 1,
				.schedule = SCHEDULE_1F1B } },
		{ { "devices=2", "device=a100-80gb", "pp=2", "batch=4", "microbatches=4", "schedule=interleaved", "chunks=2",
			  NULL },
			{ .dp = 1,
				.tp = 1,
				.pp = 2,
				.cp = 1,
				.ep = 1,
				.microbatch = 1,
				.microbatches = 4,
				.chunks = 2,
				.schedule = SCHEDULE_INTERLEAVED } },
		/* cuts are between layers that run again, gradients of weights wait with what they read */
		{ { "devices=2", "device=a100-80gb", "pp=2", "batch=8", "microbatches=8", "schedule=zbv", "chunks=2", NULL },
			{ .dp = 1,
				.tp = 1,
				.pp = 2,
				.cp = 1,
				.ep = 1,
				.microbatch = 1,
				.microbatches = 8,
				.chunks = 2,
				.schedule = SCHEDULE_ZBV,
				.recompute = RECOMPUTE_FULL } },
		{ { "devices=4", "device=a100-80gb", "pp=4", "batch=8", "microbatches=8", "schedule=v-half", "chunks=2", NULL },
			{ .dp = 1,
				.tp = 1,
				.pp = 4,
				.cp = 1,
				.ep = 1,
				.microbatch = 1,
				.microbatches = 8,
				.chunks = 2,
				.schedule = SCHEDULE_V_HALF } },
	};
	struct asked asked = { "gpt2-medium", 8 };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_agreement(&rows[i], &asked);
}

/* What both parts of a backward pass gather stays whole between them. */
Test(pipeline_models, plans_agree_with_the_search_where_gathered_gradients_wait)
{
	static const struct agreeing rows[] = {
		{ { "devices=16", "device=a100-80gb", "pp=2", "tp=8", "strategy=megatron", "sp=on", "batch=8", "microbatches=8",
			  "schedule=zb2p", NULL },
			{ .dp = 1,
				.tp = 8,
				.pp = 2,
				.cp = 1,
				.ep = 1,
				.sp = 1,
				.microbatch = 1,
				.microbatches = 8,
				.chunks = 1,
				.schedule = SCHEDULE_ZB2P } },
		{ { "devices=32", "device=a100-80gb", "pp=4", "tp=8", "strategy=megatron", "sp=on", "batch=8", "microbatches=8",
			  "schedule=zb1p", NULL },
			{ .dp = 1,
				.tp = 8,
				.pp = 4,
				.cp = 1,
				.ep = 1,
				.sp = 1,
				.microbatch = 1,
				.microbatches = 8,
				.chunks = 1,
				.schedule = SCHEDULE_ZB1P } },
	};
	struct asked asked = { "llama3-8b", 16 };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		expect_agreement(&rows[i], &asked);
}

/* Where products hide all collectives inside layers, gradients of weights hide the sums of gradients of inputs: two a
 * layer and one for the logits, of a rank's rows; a backward pass in two parts waits for these. */
Test(pipeline_models, sums_of_gradients_of_inputs_are_waited_for_where_backward_passes_are_split)
{
	struct asked asked = { "llama3-8b", 8 };
	struct model_config model = model_find(asked.name)->config;
	struct config_request request = { .step = asked_step,
		.context = &asked,
		.devices_per_node = 8,
		.devices = 32,
		.even = true,
		.machine = device_preset(DEVICE_A100_80).machine };
	struct mesh_axis tensor = { .size = 8, .near_size = 8, .near = request.machine.near, .far = request.machine.far };
	int64_t sum = collective_time(&tensor, COLLECTIVE_REDUCE_SCATTER, model.seq * model.hidden * 2);
	static const enum schedule names[] = { SCHEDULE_1F1B, SCHEDULE_ZB1P };
	int64_t link[2][2];
	for (int split = 0; split < 2; split++)
		for (uint32_t hidden = 0; hidden < 2; hidden++) {
			struct config config = { .dp = 1,
				.tp = 8,
				.pp = 4,
				.cp = 1,
				.ep = 1,
				.sp = 1,
				.microbatch = 1,
				.microbatches = 8,
				.chunks = 1,
				.schedule = (uint8_t)names[split] };
			struct error error = { 0 };
			struct config_result result;
			request.overheads = overheads_all;
			request.overheads.inside = 1000 * hidden;
			struct config_case *opened = config_case_open(&request, &config, &error);
			cr_assert_not_null(opened, "%s", error.text);
			cr_assert_eq(config_case_evaluate(opened, &request.machine, &request.overheads, &result), OK);
			config_case_free(opened);
			link[split][hidden] = result.link;
		}
	cr_expect_eq(link[0][0], link[1][0], "nothing is hidden");
	cr_expect_lt(link[0][1], link[0][0] / 100);
	int64_t waits = link[1][1] - link[0][1], due = 8 * (2 * 8 / 4 + 1) * sum;
	cr_expect(waits > due / 1000 * 999 && waits < due / 1000 * 1001, "%lld ps, %lld", (long long)waits, (long long)due);
}
