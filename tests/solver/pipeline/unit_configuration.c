/* unit_configuration.c: whole configurations against published formulas and tables, played schedules and brute force.
 */

#include <string.h>

#include "solver/pipeline/configuration.h"
#include "solver/shard/find.h"
#include "src/models/models.h"
#include "src/scenario/devices.h"
#include "tests/common/support.h"

#define GIB 1073741824.0
#define BLOCKS_MAX 1024

/* ---- a model's repeated layer, from its graph ------------------------------------------------ */

struct layers {
	struct block_cost cost[BLOCKS_MAX];
	uint32_t blocks;
	struct machine machine;
};

/* One axis of the mesh splits along roles; batch and seq 0: the model's own. */
static void cost_split(const char *name, int64_t batch, int64_t seq, enum recompute recompute, const char *axis,
	uint32_t size, const struct axis_roles *roles, struct layers *layers)
{
	struct model_config config = model_find(name)->config;
	struct model_training training = { .precision = PRECISION_MIXED, .optimizer = OPTIMIZER_ADAM, .recompute = recompute };
	uint32_t copies = (uint32_t)config.layers, first, length, period;
	struct error error;
	config.layers = 3;
	config.dense_layers = 0;
	config.fused = true;
	config.batch = batch ? batch : config.batch;
	config.seq = seq ? seq : config.seq;
	layers->machine = device_preset(DEVICE_A100_80).machine;
	OWN(graph) *graph = model_step(name, &config, &training, &error);
	struct rules *rules = test_rules();
	OWN(arena) arena = { 0 };
	OWN(units) units;
	OWN(blocks) blocks;
	struct block_work work;
	OWN(sharding) sharding;
	struct mesh mesh = { 0 };
	mesh_add_axis(&mesh, axis, size, 1, 8, &layers->machine);
	cr_assert_eq(units_find(graph, rules, &units), OK);
	cr_assert_eq(blocks_find(graph, &blocks), OK);
	cr_assert_eq(block_work_find(graph, &blocks, rules, &arena, &work), OK);
	cr_assert_eq(split_by_roles(&units, &mesh, roles, &sharding), OK);
	HELD struct block_cost *cost = mem_alloc(blocks.blocks, sizeof *cost);
	cr_assert_eq(block_costs_find(&units, &sharding, &blocks, &work, &layers->machine, cost), OK);
	cr_assert(blocks_period(&blocks, &first, &length, &period));
	layers->blocks = copies * period;
	for (uint32_t b = 0; b < layers->blocks; b++)
		layers->cost[b] = cost[first + period + b % period];
}

static void cost_layers(const char *name, enum recompute recompute, uint32_t tp, bool sp, struct layers *layers)
{
	cost_split(name, 0, 0, recompute, "tp", tp, sp ? &roles_tensor_sp : &roles_tensor, layers);
}

/* Of the first rank or of the last. */
static void rank_memory_of(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, const uint32_t *first, uint32_t rank, struct rank_memory *memory)
{
	struct config_result result;
	cr_assert(rank == 0 || rank + 1 == config->pp);
	cr_assert_eq(config_evaluate(model, config, overheads, first, EVALUATE_MEMORY, &result), OK);
	*memory = rank == 0 ? result.first : result.last;
}

/* Korthikanti et al., arXiv 2205.05198, figures 1 and 7: the first stage's layers. */
Test(configuration, memory_of_korthikantis_models_is_exact)
{
	static const struct { const char *model; uint32_t pp, chunks, microbatches; double state, activations[5]; } rows[] = {
		{ "megatron-22b", 1, 1, 1, 45.5625, { 59.25, 39.5625, 29.25, 9.5625, 4.5 } },
		{ "gpt3-175b", 8, 3, 64, 45.5625, { 66.84375, 41.4140625, 37.78125, 12.3515625, 5.8125 } },
		{ "megatron-530b", 35, 3, 280, 31.640625, { 114.0234375, 66.513671875, 70.5859375, 23.076171875, 10.859375 } },
		{ "megatron-1t", 64, 1, 512, 32.958984375, { 131.25, 76.5625, 81.25, 26.5625, 12.5 } },
	};
	static const struct {
		enum recompute recompute;
		bool sp;
	} modes[5] = { { RECOMPUTE_NONE, false }, { RECOMPUTE_NONE, true }, { RECOMPUTE_SELECTIVE, false },
		{ RECOMPUTE_SELECTIVE, true }, { RECOMPUTE_FULL, false } };
	static struct layers layers;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int mode = 0; mode < 5; mode++) {
			uint32_t first[BLOCKS_MAX];
			struct rank_memory memory;
			struct config config = { .dp = 1,
				.tp = 8,
				.pp = rows[i].pp,
				.cp = 1,
				.ep = 1,
				.chunks = rows[i].chunks,
				.microbatch = 1,
				.microbatches = rows[i].microbatches,
				.schedule = rows[i].chunks > 1 ? SCHEDULE_INTERLEAVED : SCHEDULE_1F1B };
			cost_layers(rows[i].model, modes[mode].recompute, 8, modes[mode].sp, &layers);
			struct config_model model = { .blocks = layers.blocks,
				.cost = layers.cost,
				.machine = &layers.machine,
				.devices_per_node = 8,
				.limit = -1 };
			struct overheads none = { 0 };
			cr_assert_eq(config_cut(&model, &config, &none, first), OK);
			rank_memory_of(&model, &config, &none, first, 0, &memory);
			double state = (double)(memory.parameters + memory.gradients + memory.optimizer) / GIB,
				   activations = (double)memory.activations / GIB;
			cr_expect_float_eq(state, rows[i].state, 1e-9, "%s: %.9f GiB of state", rows[i].model, state);
			cr_expect_float_eq(activations, rows[i].activations[mode], 1e-9, "%s %d: %.9f GiB of activations",
				rows[i].model, mode, activations);
		}
}

/* Rajbhandari et al., arXiv 1910.02054, figure 1: 7.5 billion parameters, 64 devices. */
Test(configuration, zero_stages_are_exact)
{
	static const double gigabytes[4] = { 120, 31.40625, 16.640625, 1.875 };
	struct block_cost cost = { .shared_with = NONE, .states = { .parameter = { [3] = INT64_C(15000000000) },
		.gradient = { [3] = INT64_C(15000000000) }, .optimizer = { [3] = INT64_C(90000000000) } } };
	struct machine machine = device_preset(DEVICE_V100_32).machine;
	struct config_model model = { .blocks = 1, .cost = &cost, .machine = &machine, .devices_per_node = 16, .limit = -1 };
	uint32_t first[2] = { 0, 1 };
	for (uint8_t zero = 0; zero < 4; zero++) {
		struct config config = { .dp = 64, .tp = 1, .pp = 1, .cp = 1, .ep = 1, .chunks = 1, .microbatches = 1, .zero = zero };
		struct overheads none = { 0 };
		struct rank_memory memory;
		rank_memory_of(&model, &config, &none, first, 0, &memory);
		cr_expect_float_eq(
			(double)memory.total / 1e9, gigabytes[zero], 1e-6, "ZeRO-%d: %.6f GB", zero, (double)memory.total / 1e9);
	}
	/* hybrid sharding: four groups of 16 that hold copies; without shards there is nothing to copy */
	struct config hybrid = {
		.dp = 64, .tp = 1, .pp = 1, .cp = 1, .ep = 1, .chunks = 1, .microbatches = 1, .zero = 3, .replicate = 4
	};
	struct overheads nothing = { 0 }, buffers = { .communication = 1 };
	struct rank_memory copied;
	rank_memory_of(&model, &hybrid, &nothing, first, 0, &copied);
	cr_expect_eq(copied.total, INT64_C(120000000000) / 16);
	rank_memory_of(&model, &hybrid, &buffers, first, 0, &copied);
	cr_expect_eq(copied.communication, 2, "with those that share states, and with their copies");
	hybrid.zero = 0;
	rank_memory_of(&model, &hybrid, &nothing, first, 0, &copied);
	cr_expect_eq(copied.total, INT64_C(120000000000));
	/* experts are not shared by the expert axis, dense parameters are */
	struct config config = { .dp = 4, .tp = 1, .pp = 1, .cp = 2, .ep = 8, .chunks = 1, .microbatches = 1, .zero = 1 };
	struct overheads none = { 0 };
	struct rank_memory memory;
	rank_memory_of(&model, &config, &none, first, 0, &memory);
	cr_expect_eq(memory.optimizer, INT64_C(90000000000) / 64 + (INT64_C(90000000000) % 64 > 0));
	cost.states.optimizer[WHOLE_ON_CONTEXT] = cost.states.optimizer[3];
	cost.states.optimizer[3] = 0;
	rank_memory_of(&model, &config, &none, first, 0, &memory);
	cr_expect_eq(memory.optimizer, INT64_C(90000000000) / 8);
}

/* fully_shard on four devices, of four layers between an embedding and a head that all weigh the same. The fullest
 * moment is when the second layer goes back: its parameters and the first one's, flat, and the root's are whole; of
 * gradients the head's, the third layer's, flat, and the shards of two layers; and the activations of three blocks. */
Test(configuration, layers_that_gather_at_once_hold_flat_tensors)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct block_cost cost[6];
	for (int b = 0; b < 6; b++)
		cost[b] = (struct block_cost){ .saved = 300, .whole = 1500, .made = 1000, .shared_with = NONE,
			.forward_reads.bytes[3] = 1000, .backward_reads.bytes[3] = 1000,
			.states = { .parameter[3] = 1000, .gradient[3] = 2000, .uncast[3] = 1000, .optimizer[3] = 6000 } };
	struct config_model model = { .blocks = 6, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1,
		.layer = 1, .layers = 4, .period = 1 };
	struct config config = { .dp = 4, .tp = 1, .pp = 1, .cp = 1, .ep = 1, .chunks = 1, .microbatch = 1,
		.microbatches = 1, .zero = 3 };
	struct rank_memory memory;
	rank_memory_of(&model, &config, &overheads_all, (uint32_t[]){ 0, 6 }, 0, &memory);
	cr_expect_eq(memory.parameters, 6 * 500, "shards of the wide ones alone: %lld", (long long)memory.parameters);
	cr_expect_eq(memory.optimizer, 6 * (1500 - 500));
	cr_expect_eq(memory.activations, 3 * 300, "%lld", (long long)memory.activations);
	cr_expect_eq(memory.transient, 1500);
	cr_expect_eq(memory.gradients, 1000 + 2000 + 2 * 500, "%lld", (long long)memory.gradients);
	cr_expect_eq(memory.gathered, 2 * 1000 + 1000 + 1000 + 2 * (INT64_C(20) << 20), "%lld", (long long)memory.gathered);
	config.microbatches = 2;
	rank_memory_of(&model, &config, &overheads_all, (uint32_t[]){ 0, 6 }, 0, &memory);
	cr_expect_eq(memory.gathered, 1000);
}

/* Every overhead changes the sum by what it says, and nothing else. */
Test(configuration, overheads_are_what_they_say)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct block_cost cost[4];
	uint32_t first[5];
	struct rank_memory bare, memory;
	for (int b = 0; b < 4; b++)
		cost[b] = (struct block_cost){ .forward = 10,
			.backward = 20,
			.saved = 50000,
			.saved_small = 2000,
			.both.most = { { 0 }, { 70000 } },
			.input.most = { { 0 }, { 50000 } },
			.matrices = b % 2 ? 3000 : 9000,
			.shared_with = NONE,
			.forward_reads = { .bytes = { [3] = 40000 } },
			.backward_reads = { .bytes = { [3] = 90000 } },
			.states = { .parameter = { [3] = 40000 }, .gradient = { [3] = 80000 }, .optimizer = { [3] = 240000 } },
			.vectors = { .parameter = { [3] = 400 }, .gradient = { [3] = 800 }, .optimizer = { [3] = 2400 } } };
	struct config_model model = { .blocks = 4, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1 };
	struct config config = { .dp = 2,
		.tp = 2,
		.pp = 1,
		.cp = 1,
		.ep = 1,
		.chunks = 1,
		.microbatch = 1,
		.microbatches = 4,
		.schedule = SCHEDULE_1F1B };
	struct overheads none = { .vectors = true, .small = true };
	cr_assert_eq(config_cut(&model, &config, &none, first), OK);
	rank_memory_of(&model, &config, &none, first, 0, &bare);
	cr_expect_eq(bare.total, 4 * (40000 + 80000 + 240000) + 4 * 50000);
	cr_expect_eq(bare.overhead, 0);
#define WITH(expected, part, ...) do { \
		struct overheads overheads = { .vectors = true, .small = true, __VA_ARGS__ }; \
		rank_memory_of(&model, &config, &overheads, first, 0, &memory); \
		cr_expect_eq(memory.total - bare.total, expected, #part ": %lld", (long long)(memory.total - bare.total)); \
		cr_expect_eq(memory.part - bare.part, expected, #part); \
	} while (0)
	WITH(12345, context, .context = 12345);
	WITH(2 * 500, communication, .communication = 500);   /* dp and tp */
	WITH(2 * 7000, buckets, .bucket = 7000);
	WITH(4 * 80000, buckets, .bucket = 1 << 30);          /* never more than the gradients */
	WITH(777, workspace, .workspace = 777);
	WITH(12000, cached, .cached = true);                  /* of each shape one */
	WITH(70000, transient, .transient = true);
	rank_memory_of(&model, &config,
		&(struct overheads){ .vectors = true, .small = true, .transient = true, .cached = true }, first, 0, &memory);
	cr_expect(memory.transient - bare.transient == 50000 && memory.cached == 12000,
		"weight gradients are not made beside what is kept for them: %lld", (long long)memory.transient);
	WITH((4 * 50000) / 1000 * 60, fragmentation, .fragmentation = 60);
	rank_memory_of(&model, &config, &(struct overheads) { .vectors = true }, first, 0, &memory);
	cr_expect_eq(bare.total - memory.total, 4 * 2000);
	rank_memory_of(&model, &config, &(struct overheads) { .small = true }, first, 0, &memory);
	cr_expect_eq(bare.total - memory.total, 4 * (400 + 800 + 2400));
	config.dp = 1;                                        /* nobody to reduce gradients with, one group less */
	WITH(0, buckets, .bucket = 7000);
	WITH(500, communication, .communication = 500);
	config.dp = 2;
	config.zero = 3;
	config.microbatches = 1;
	rank_memory_of(&model, &config, &none, first, 0, &bare);
	WITH(90000, gathered,
		.gathered = true); /* one block is computed while the next is gathered, in the pass that reads more */
}

/* Every device keeps its part of the sequence, and gathers keys and values: as many bytes as a ring passes on. */
Test(configuration, context_parallelism_at_a_long_sequence)
{
	static struct layers whole, split;
	int64_t seq = 131072, kv = 2 * 8 * 128 * seq * 2;
	cost_split("llama3-8b", 1, seq, RECOMPUTE_NONE, "cp", 1, &roles_context, &whole);
	cost_split("llama3-8b", 1, seq, RECOMPUTE_NONE, "cp", 8, &roles_context, &split);
	struct mesh_axis axis = { .size = 8, .near_size = 8, .near = split.machine.near, .far = split.machine.far };
	int64_t gather = collective_time(&axis, COLLECTIVE_ALL_GATHER, kv / 2);
	for (uint32_t b = 0; b < 2; b++) {
		cr_expect_eq(split.cost[b].saved * 8, whole.cost[b].saved, "block %u: %lld of %lld", b,
			(long long)split.cost[b].saved, (long long)whole.cost[b].saved);
		cr_expect_eq(split.cost[b].send * 8, whole.cost[b].send);
		cr_expect_float_eq((double)split.cost[b].flops * 8, (double)whole.cost[b].flops, 1e-3 * (double)whole.cost[b].flops);
		for (int c = 0; c < STATE_CLASSES; c++)
			cr_expect_eq(split.cost[b].states.parameter[c], whole.cost[b].states.parameter[c]);
	}
	/* forward: keys and values once; backward: again, and their gradients are scattered */
	int64_t link = split.cost[0].carried[0] + split.cost[1].carried[0],
			back = split.cost[0].carried[1] + split.cost[1].carried[1];
	cr_expect_eq(link, 2 * gather, "%lld instead of %lld", (long long)link, (long long)(2 * gather));
	cr_expect_eq(back, 4 * gather, "%lld instead of %lld", (long long)back, (long long)(4 * gather));
	cr_expect_eq(whole.cost[0].carried[0] + whole.cost[1].carried[0], 0);
}

/* Korthikanti et al., figure 5: a sequence-parallel half of a layer gathers its input once, for as many products as
 * there are, and scatters its result; backward it gathers the gradient and, for the weights' gradients, the input
 * again, and scatters. */
Test(configuration, products_of_one_tensor_gather_it_once)
{
	static struct layers split;
	cost_split("llama3-8b", 1, 4096, RECOMPUTE_NONE, "tp", 8, &roles_tensor_sp, &split);
	struct mesh_axis axis = { .size = 8, .near_size = 8, .near = split.machine.near, .far = split.machine.far };
	int64_t gather = collective_time(&axis, COLLECTIVE_ALL_GATHER, INT64_C(4096) * 4096 * 2);
	for (uint32_t b = 0; b < 2; b++) {
		cr_expect_eq(split.cost[b].carried[0], 2 * gather, "%lld, not %lld", (long long)split.cost[b].carried[0],
			(long long)(2 * gather));
		cr_expect_eq(split.cost[b].carried[1], 3 * gather, "%lld, not %lld", (long long)split.cost[b].carried[1],
			(long long)(3 * gather));
	}
}

/* Experts are shared out, all other parameters whole; tokens travel to their experts and back, in both passes. */
Test(configuration, expert_parallelism_of_a_mixture)
{
	static struct layers whole, split;
	cost_split("moe", 8, 0, RECOMPUTE_NONE, "ep", 1, &roles_experts, &whole);
	cost_split("moe", 8, 0, RECOMPUTE_NONE, "ep", 8, &roles_experts, &split);
	int64_t dense = 0, experts = 0, before = 0, link[2] = { 0, 0 };
	for (uint32_t b = 0; b < 2; b++) {
		dense += split.cost[b].states.parameter[WHOLE_ON_CONTEXT | WHOLE_ON_EXPERTS];
		experts += split.cost[b].states.parameter[WHOLE_ON_CONTEXT];
		before += whole.cost[b].states.parameter[WHOLE_ON_CONTEXT | WHOLE_ON_EXPERTS];
		link[0] += split.cost[b].carried[0];
		link[1] += split.cost[b].carried[1];
	}
	cr_expect_eq(dense + 8 * experts, before);
	cr_expect_eq(experts, INT64_C(2) * 2 * 768 * 3072 * 8 / 8, "%lld", (long long)experts);
	cr_expect_gt(link[0], 0);
	cr_expect_eq(link[1], link[0]);
}

/* DeepSeek-V3: what a layer keeps for every token, and who holds which experts. */
Test(configuration, latent_attention_and_shared_experts_tensor_by_tensor)
{
	static struct layers whole, split;
	const struct model_config *c = &model_find("deepseek-v3")->config;
	int64_t seq = 4096, h = c->hidden, heads = c->heads, head = c->head_width + c->rope_width,
			latent = c->kv_rank + c->rope_width;
	cost_split("deepseek-v3", 8, seq, RECOMPUTE_NONE, "ep", 1, &roles_experts, &whole);
	cost_split("deepseek-v3", 8, seq, RECOMPUTE_NONE, "ep", 8, &roles_experts, &split);
	/* two bytes each: norms keep what they read (and a number of four bytes), products what they read, attention its
	 * operands, result and a number for every head */
	int64_t attention = 2 * (2 * h + 2 * c->q_rank + latent + c->kv_rank + heads * (2 * head + 2 * c->value_width)) +
		3 * 4 + 4 * heads;
	int64_t routed = 2 * c->top_k * (h + 3 * c->expert_ffn + 1), shared = 2 * 3 * c->shared_experts * c->expert_ffn;
	int64_t mixture = 2 * 2 * h + 4 + 2 * c->experts + routed + shared;
	cr_expect_eq(split.cost[0].saved, seq * attention, "%lld, not %lld", (long long)split.cost[0].saved,
		(long long)(seq * attention));
	cr_expect_eq(split.cost[1].saved, seq * mixture, "%lld, not %lld", (long long)split.cost[1].saved,
		(long long)(seq * mixture));
	cr_expect_eq(split.cost[1].states.parameter[WHOLE_ON_CONTEXT] * 8, 2 * 3 * h * c->expert_ffn * c->experts);
	cr_expect_eq(split.cost[1].states.parameter[WHOLE_ON_CONTEXT | WHOLE_ON_EXPERTS],
		2 * (h * c->experts + 3 * h * c->expert_ffn * c->shared_experts + h));
	for (uint32_t b = 0; b < 2; b++) {
		cr_expect_eq(split.cost[b].saved * 8, whole.cost[b].saved);
		cr_expect_float_eq((double)split.cost[b].flops * 8, (double)whole.cost[b].flops, 1e-4 * (double)whole.cost[b].flops);
		/* one gradient of every shape: of one expert, and of the products beside them */
		cr_expect_eq(split.cost[b].matrices, whole.cost[b].matrices);
	}
	cr_expect_eq(split.cost[1].matrices, 2 * (h * c->experts + 3 * h * c->expert_ffn * (1 + c->shared_experts)), "%lld",
		(long long)split.cost[1].matrices);
	/* tokens go to their experts and back, with their scores */
	struct mesh_axis axis = { .size = 8, .near_size = 8, .near = split.machine.near, .far = split.machine.far };
	int64_t there = collective_time(&axis, COLLECTIVE_ALL_TO_ALL, 8 * seq * c->top_k * h * 2),
			scores = collective_time(&axis, COLLECTIVE_ALL_TO_ALL, 8 * seq * c->top_k * 2);
	cr_expect_eq(split.cost[1].carried[0], 2 * there + scores, "%lld, not %lld",
		(long long)split.cost[1].carried[0], (long long)(2 * there + scores));
	cr_expect_eq(split.cost[1].carried[1], 2 * there + scores, "%lld, not %lld",
		(long long)split.cost[1].carried[1], (long long)(2 * there + scores));
	cr_expect_eq(split.cost[0].carried[0] + split.cost[0].carried[1], 0);
}

/* ---- pipelines ------------------------------------------------------------------------------- */

Test(configuration, activations_in_flight_are_those_of_played_schedules)
{
	for (uint32_t p = 2; p <= 6; p++)
		for (uint32_t v = 1; v <= 4; v++)
			for (uint32_t m = p; m <= 4 * p; m += p)
				for (int schedule = 0; schedule < SCHEDULE_COUNT; schedule++) {
					int64_t forward[24], backward[24], send[24] = { 0 };
					struct error error;
					struct pipeline_plan plan;
					if ((v > 1) != (schedule == SCHEDULE_INTERLEAVED) || schedule_split((enum schedule)schedule))
						continue;
					for (uint32_t k = 0; k < p * v; k++) {
						forward[k] = 100;
						backward[k] = 200;
					}
					struct pipeline pipeline = { .schedule = (enum schedule)schedule,
						.ranks = p,
						.chunks = v,
						.microbatches = m,
						.forward = forward,
						.backward = backward,
						.send = send };
					cr_assert_eq(pipeline_run(&pipeline, &plan, &error), OK, "%s", error.text);
					struct config config = { .pp = p, .chunks = v, .microbatches = m, .schedule = (uint8_t)schedule };
					for (uint32_t rank = 0; rank < p; rank++) {
						uint32_t sum = 0;
						for (uint32_t c = 0; c < v; c++)
							sum += config_in_flight(&config, rank, c).weight;
						cr_expect_eq(sum, plan.in_flight[rank], "p %u v %u m %u schedule %d rank %u: %u instead of %u",
							p, v, m, schedule, rank, sum, plan.in_flight[rank]);
					}
					pipeline_free(&plan);
				}
}

/* Of schedules that split the backward pass, which fill gaps as they come: no less than with equal times, and little
 * more. */
Test(configuration, activations_in_flight_of_split_schedules_are_bounded)
{
	for (int schedule = SCHEDULE_ZB1P; schedule < SCHEDULE_COUNT; schedule++)
		for (uint32_t p = 2; p <= 8; p++)
			for (uint32_t m = schedule == SCHEDULE_DUALPIPEV ? 2 * p : 1; m <= 4 * p; m++) {
				int64_t forward[24], backward[24], send[24] = { 0 };
				uint32_t v = schedule_folded((enum schedule)schedule) ? 2 : 1;
				struct error error;
				OWN(pipeline_plan) plan;
				for (uint32_t k = 0; k < p * v; k++) {
					forward[k] = 100;
					backward[k] = 200;
				}
				struct pipeline pipeline = { .schedule = (enum schedule)schedule,
					.ranks = p,
					.chunks = v,
					.microbatches = m,
					.forward = forward,
					.backward = backward,
					.send = send };
				cr_assert_eq(pipeline_run(&pipeline, &plan, &error), OK, "%s", error.text);
				struct config config = { .pp = p, .chunks = v, .microbatches = m, .schedule = (uint8_t)schedule };
				for (uint32_t rank = 0; rank < p; rank++) {
					uint32_t sum = 0;
					for (uint32_t c = 0; c < v; c++)
						sum += config_in_flight(&config, rank, c).weight;
					cr_expect(sum >= plan.in_flight[rank] && (m < p || sum <= plan.in_flight[rank] + 2),
						"%s p %u m %u rank %u: %u, played %u", schedule_names[schedule], p, m, rank, sum,
						plan.in_flight[rank]);
				}
			}
}

/* The slowest piece of the best cut by trying all. */
static int64_t brute_cut(const int64_t *time, uint32_t blocks, uint32_t pieces)
{
	int64_t best = INT64_MAX;
	if (pieces == 1) {
		best = 0;
		for (uint32_t b = 0; b < blocks; b++)
			best += time[b];
		return best;
	}
	int64_t first = 0;
	for (uint32_t b = 0; b + pieces <= blocks; b++) {
		first += time[b];
		int64_t rest = brute_cut(time + b + 1, blocks - b - 1, pieces - 1);
		int64_t slowest = rest > first ? rest : first;
		best = slowest < best ? slowest : best;
	}
	return best;
}

Test(configuration, cuts_are_as_even_as_any)
{
	uint64_t seed = test_seed(), state = seed;
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	for (int round = 0; round < 300; round++) {
		uint32_t blocks = 1 + (uint32_t)(random_next(&state) % 9),
				 pieces = 1 + (uint32_t)(random_next(&state) % blocks), first[16];
		struct block_cost cost[16] = { { 0 } };
		int64_t time[16], slowest = 0;
		for (uint32_t b = 0; b < blocks; b++) {
			time[b] = (int64_t)(random_next(&state) % 50);
			cost[b] = (struct block_cost){
				.forward = time[b] / 3, .backward = time[b] - time[b] / 3, .saved = 1000, .shared_with = NONE
			};
		}
		struct config config = {
			.dp = 1, .tp = 1, .pp = pieces, .cp = 1, .ep = 1, .chunks = 1, .microbatches = 8, .schedule = SCHEDULE_1F1B
		};
		struct config_model model = {
			.blocks = blocks, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1
		};
		struct overheads none = { 0 };
		cr_assert_eq(config_cut(&model, &config, &none, first), OK);
		cr_assert(first[0] == 0 && first[pieces] == blocks);
		for (uint32_t k = 0; k < pieces; k++) {
			int64_t sum = 0;
			cr_assert_lt(first[k], first[k + 1], "SEED=%llu", (unsigned long long)seed);
			for (uint32_t b = first[k]; b < first[k + 1]; b++)
				sum += time[b];
			slowest = sum > slowest ? sum : slowest;
		}
		cr_assert_eq(slowest, brute_cut(time, blocks, pieces), "SEED=%llu", (unsigned long long)seed);
		/* a limit that the even cut breaks moves blocks away from the first rank, whose activations wait longest */
		model.limit = (int64_t)(random_next(&state) % 12) * 1000;
		cr_assert_eq(config_cut(&model, &config, &none, first), OK);
		bool fits = true, possible = false;
		for (uint32_t k = 0; k < pieces; k++)
			fits &= (int64_t)(first[k + 1] - first[k]) * 1000 * config_in_flight(&config, k, 0).weight <= model.limit;
		int64_t room = 0;
		for (uint32_t k = 0; k < pieces; k++) {
			int64_t most = model.limit / 1000 / config_in_flight(&config, k, 0).weight;
			possible = k == 0 ? most > 0 : possible && most > 0;
			room += most;
		}
		cr_assert_eq(fits, possible && room >= blocks, "SEED=%llu", (unsigned long long)seed);
	}
}

Test(configuration, a_step_is_the_sum_of_its_parts)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct block_cost cost[8];
	uint32_t first[9];
	struct config_result even, interleaved, exact;
	machine.near.rate = machine.far.rate = 0;
	for (int b = 0; b < 8; b++)
		cost[b] = (struct block_cost) { .forward = 1000000000, .backward = 2000000000, .shared_with = NONE };
	struct config_model model = { .blocks = 8, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1 };
	struct config config = { .dp = 1,
		.tp = 1,
		.pp = 4,
		.cp = 1,
		.ep = 1,
		.chunks = 1,
		.microbatch = 1,
		.microbatches = 8,
		.schedule = SCHEDULE_1F1B };
	struct overheads none = { 0 };
	cr_assert_eq(config_cut(&model, &config, &none, first), OK);
	cr_assert_eq(config_evaluate(&model, &config, &none, first, EVALUATE_CLOSED, &even), OK);
	cr_assert_eq(config_evaluate(&model, &config, &none, first, EVALUATE_PLAYED, &exact), OK);
	cr_expect_eq(even.time, exact.time, "%lld %lld", (long long)even.time, (long long)exact.time);
	cr_expect_eq(even.time, INT64_C(6000000000) * (8 + 3));
	cr_expect_eq(even.bubble, INT64_C(6000000000) * 3);
	config.chunks = 2;
	config.schedule = SCHEDULE_INTERLEAVED;
	cr_assert_eq(config_cut(&model, &config, &none, first), OK);
	cr_assert_eq(config_evaluate(&model, &config, &none, first, EVALUATE_CLOSED, &interleaved), OK);
	cr_assert_eq(config_evaluate(&model, &config, &none, first, EVALUATE_PLAYED, &exact), OK);
	cr_expect_eq(interleaved.time, exact.time, "%lld %lld", (long long)interleaved.time, (long long)exact.time);
	cr_expect_eq(interleaved.bubble, even.bubble / 2);
}

/* Gradients of the blocks behind wait for the update, and what is saved goes as they come. */
Test(configuration, the_fullest_moment_is_when_one_block_works)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct block_cost cost[3];
	uint32_t first[2] = { 0, 3 };
	for (int b = 0; b < 3; b++)
		cost[b] = (struct block_cost){ .saved = 1000,
			.both.most = { { b == 2 ? 50 : 300 }, { b == 2 ? 50 : 300 }, { b == 2 ? 50 : 300 } },
			.update_transient = 7,
			.shared_with = NONE,
			.states = {
				.parameter = { [3] = 400 }, .gradient = { [3] = b == 1 ? 2000 : 100 }, .optimizer = { [3] = 2400 },
				.uncast = { [3] = b == 1 ? 1900 : 100 } } }; /* the second's are cast later, on one device */
	struct config_model model = { .blocks = 3, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1 };
	struct config config = { .dp = 1, .tp = 1, .pp = 1, .cp = 1, .ep = 1, .chunks = 1, .microbatches = 1 };
	struct rank_memory memory;
	rank_memory_of(&model, &config, &overheads_all, first, 0, &memory);
	cr_expect_eq(memory.total, 3 * 2800 + 3050);            /* the last block's; one device updates as soon as it can */
	model.joint = true;
	rank_memory_of(&model, &config, &overheads_all, first, 0, &memory);
	cr_expect_eq(memory.total, 3 * 2800 + 1300 + 2000);     /* the first block's, gradients of two are there */
	cr_expect_eq(memory.gradients, 2000);
	config.dp = 8;
	config.zero = 2;
	rank_memory_of(&model, &config, &overheads_all, first, 0, &memory);
	cr_expect_eq(memory.activations + memory.transient + memory.gradients, 3050);    /* the last one's: they are cut */
	config.dp = 1;
	config.zero = 0;
	cost[0].states.gradient[3] = cost[0].states.uncast[3] = 9000;
	rank_memory_of(&model, &config, &overheads_all, first, 0, &memory);
	cr_expect_eq(memory.total, 3 * 2800 + 11000 + 7);       /* the update */
	config.microbatches = 2;
	rank_memory_of(&model, &config, &overheads_all, first, 0, &memory);
	cr_expect_eq(memory.total, 3 * 2800 + 11100 + 3050);    /* sums are there all the time */
}

/* Ranks of a pipeline that a single microbatch goes through hold no sums, either; a backward pass in two parts makes
 * gradients when its first part is done. */
Test(configuration, a_single_microbatchs_ranks_hold_no_sums)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct block_cost cost[4];
	uint32_t first[5] = { 0, 2, 4 }, folded[5] = { 0, 1, 2, 3, 4 };
	for (int b = 0; b < 4; b++)
		cost[b] = (struct block_cost){ .saved = 1000,
			.saved_weight = 600,
			.between = 40,
			.weights = 5,
			.both.most = { { 300, 300 }, { 400, 400 } },
			.input.most = { { 200, 200 }, { 200, 200 } },
			.update_transient = 7,
			.shared_with = NONE,
			.states = { .parameter = { [3] = 400 }, .gradient = { [3] = 1500 }, .optimizer = { [3] = 2400 } } };
	struct config_model model = { .blocks = 4, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1 };
	struct config config = {
		.dp = 1, .tp = 1, .pp = 2, .cp = 1, .ep = 1, .chunks = 1, .microbatches = 1, .schedule = SCHEDULE_1F1B
	};
	struct rank_memory memory;
	for (uint32_t rank = 0; rank < 2; rank++) {
		rank_memory_of(&model, &config, &overheads_all, first, rank, &memory);
		cr_expect_eq(memory.total, 2 * 2800 + 3000 + 7, "as a step of its own: the update, both blocks' gradients");
	}
	config.schedule = SCHEDULE_V_HALF;
	config.chunks = 2;
	rank_memory_of(&model, &config, &overheads_all, folded, 0, &memory);
	cr_expect_eq(memory.total, 2 * 2800 + 3000 + 7, "blocks of both pieces");
	config.microbatches = 2;
	rank_memory_of(&model, &config, &overheads_all, folded, 0, &memory);
	cr_expect_eq(memory.gradients, 3000);
}

/* Activations wait in the host as far as copies end with the passes that hide them, two blocks of them are here at a
 * time; optimizer states pass through, two blocks at a time. */
Test(configuration, what_waits_in_the_host_is_what_the_link_carries_in_time)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct block_cost cost[8];
	uint32_t first[9] = { 0, 8 };
	const int64_t gb = 1000000000;
	machine.host = (struct link) { .rate = gb };
	for (int b = 0; b < 8; b++)
		cost[b] = (struct block_cost){ .forward = INT64_C(1010000000000),
			.backward = INT64_C(2020000000000),
			.saved = gb,
			.shared_with = NONE,
			.states = { .parameter = { [3] = gb }, .optimizer = { [3] = 6 * gb } } };
	struct config_model model = { .blocks = 8, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1 };
	struct config config = { .dp = 1, .tp = 1, .pp = 1, .cp = 1, .ep = 1, .chunks = 1, .microbatches = 2 };
	struct config_result plain, result;
	cr_assert_eq(config_evaluate(&model, &config, &overheads_all, first, EVALUATE_CLOSED, &plain), OK);
	cr_expect_eq(plain.worst.activations, 8 * gb);
	config.offload = OFFLOAD_ACTIVATIONS;
	/* a second out for each but the last, which is wanted at once; half as fast, every second one; where there is
	 * little time to come back, those that the backward pass leaves time for */
	const struct {
		int64_t rate, backward;
		uint32_t away;
	} cases[] = { { gb, INT64_C(2020000000000), 7 }, { gb / 2, INT64_C(2020000000000), 3 },
		{ gb, INT64_C(505000000000), 3 }, { gb / 9, INT64_C(2020000000000), 0 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		machine.host.rate = cases[i].rate;
		for (int b = 0; b < 8; b++)
			cost[b].backward = cases[i].backward;
		cr_assert_eq(config_evaluate(&model, &config, &overheads_all, first, EVALUATE_CLOSED, &result), OK);
		cr_expect_eq(result.host, cases[i].away * gb, "case %zu: %lld", i, (long long)result.host);
		cr_expect_eq(result.worst.activations, (8 - cases[i].away + (cases[i].away > 1 ? 2 : cases[i].away)) * gb,
			"case %zu: %lld", i, (long long)result.worst.activations);
		cr_expect(cases[i].backward != INT64_C(2020000000000) || result.time == plain.time);
	}
	/* a pipeline's ranks have as many of each block in the host as are in flight */
	machine.host.rate = 100 * gb;
	config.pp = 2;
	config.schedule = SCHEDULE_1F1B;
	config.microbatches = 8;
	cr_assert_eq(config_cut(&model, &config, &overheads_all, first), OK);
	cr_assert_eq(config_evaluate(&model, &config, &overheads_all, first, EVALUATE_CLOSED, &result), OK);
	cr_expect_eq(result.host, 2 * 3 * gb);
	cr_expect_eq(result.first.activations, (2 + 2) * gb);
	config = (struct config){
		.dp = 1, .tp = 1, .pp = 1, .cp = 1, .ep = 1, .chunks = 1, .microbatches = 2, .offload = OFFLOAD_OPTIMIZER
	};
	first[1] = 8;
	machine.host.rate = 6 * gb;
	cr_assert_eq(config_evaluate(&model, &config, &overheads_all, first, EVALUATE_CLOSED, &result), OK);
	cr_expect_eq(result.host, 48 * gb);
	cr_expect_eq(result.worst.optimizer, 12 * gb);
	cr_expect_eq(result.worst.total, plain.worst.total - 36 * gb);
	cr_expect_float_eq((double)result.update * 1e-12, 8 + 1, 1e-6);
	machine.host.rate = 0;      /* a processor's memory is its own */
	config.offload = OFFLOAD_ACTIVATIONS | OFFLOAD_OPTIMIZER;
	cr_assert_eq(config_evaluate(&model, &config, &overheads_all, first, EVALUATE_CLOSED, &result), OK);
	cr_expect_eq(result.host, 0);
	cr_expect_eq(result.worst.total, plain.worst.total);
}

/* Launchers share layers out evenly; where that doesn't go, the embedding and the head count as a layer each, as in
 * Llama 3's 126 layers on 16 ranks. */
Test(configuration, even_cuts_count_the_ends_as_layers_where_layers_alone_do_not_divide)
{
	static struct block_cost cost[2 * 126 + 2];
	static uint32_t first[130];
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	for (int b = 0; b < 254; b++)
		cost[b] = (struct block_cost) { .forward = 1000, .backward = 2000, .shared_with = NONE };
	struct config_model model = { .blocks = 254,
		.cost = cost,
		.machine = &machine,
		.devices_per_node = 8,
		.limit = -1,
		.layer = 1,
		.layers = 126,
		.period = 2,
		.even = true };
	const struct {
		uint32_t pieces, least, each;
	} cases[] = { { 1, 126, 126 }, { 2, 63, 63 }, { 7, 18, 18 }, { 16, 7, 8 }, { 64, 1, 2 }, { 126, 1, 1 },
		{ 128, 0, 1 }, { 5, 0, 0 }, { 256, 0, 0 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct config config = { .dp = 1, .tp = 1, .pp = cases[i].pieces, .cp = 1, .ep = 1, .chunks = 1, .microbatches = 1 };
		enum status status = config_cut(&model, &config, &overheads_all, first);
		cr_expect_eq(status, cases[i].each ? OK : INFEASIBLE, "%u pieces", cases[i].pieces);
		for (uint32_t k = 0; status == OK && k < cases[i].pieces; k++) {
			bool end = k == 0 || k + 1 == cases[i].pieces;
			uint32_t blocks = first[k + 1] - first[k], ends = (k == 0) + (k + 1 == cases[i].pieces);
			cr_expect_eq(blocks, 2 * (end ? cases[i].least : cases[i].each) + ends, "%u pieces, piece %u: %u blocks",
				cases[i].pieces, k, blocks);
		}
	}
}

/* Of each piece the first layers run again, whole layers even where a cut divides one; what is in no layer stays as it
 * is without recomputation. */
Test(configuration, some_layers_of_every_piece_run_again)
{
	struct block_cost again[12], costs[12];
	struct block_term terms[12], kept[12], mixed[12];
	struct config_terms of = { .block = terms };
	const uint32_t cuts[][5] = { { 0, 3, 6, 9, 12 }, { 0, 5, 6, 10, 12 }, { 0, 1, 2, 11, 12 } };
	for (int b = 0; b < 12; b++) {
		again[b] = (struct block_cost) { .backward = 3, .saved = 1, .shared_with = NONE };
		costs[b] = (struct block_cost) { .backward = 2, .saved = 10, .shared_with = NONE };
		terms[b].cost = &again[b];
		kept[b].cost = &costs[b];
	}
	/* layers of two blocks: 1-2, 3-4, 5-6, 7-8, 9-10 */
	struct config_model model = { .blocks = 12, .cost = again, .terms = &of, .limit = -1, .layer = 1, .layers = 5,
		.period = 2 };
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
		for (uint32_t layers = 1; layers <= 5; layers++) {
			struct config config = { .pp = 2, .chunks = 2, .recompute_layers = layers };
			uint32_t most = 0;
			config_mix(&model, &config, cuts[i], kept, mixed);
			for (uint32_t k = 0; k < 4; k++) {
				bool seen[6] = { false };
				uint32_t count = 0;
				for (uint32_t b = cuts[i][k]; b < cuts[i][k + 1]; b++) {
					uint32_t layer = b == 0 || b == 11 ? 5 : (b - 1) / 2;
					count += layer < 5 && !seen[layer];
					seen[layer] = true;
					cr_expect_eq(mixed[b].cost->saved, layer < 5 && count <= layers ? 1 : 10,
						"cut %zu, %u layers, block %u", i, layers, b);
				}
				most = count > most ? count : most;
			}
			cr_expect_eq(config_piece_layers(&model, &config, cuts[i]), most);
		}
}

Test(configuration, failing_allocations_leave_nothing)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct block_cost cost[4];
	uint32_t first[5];
	for (int b = 0; b < 4; b++)
		cost[b] = (struct block_cost) { .forward = 10, .backward = 20, .shared_with = NONE };
	struct config_model model = { .blocks = 4, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1 };
	struct config config = {
		.dp = 1, .tp = 1, .pp = 2, .cp = 1, .ep = 1, .chunks = 1, .microbatches = 4, .schedule = SCHEDULE_1F1B
	};
	struct overheads none = { 0 };
	struct config_result result;
	EACH_REFUSAL(refused) {
		refused.status = config_cut(&model, &config, &none, first);
		if (refused.status == OK)
			refused.status = config_evaluate(&model, &config, &none, first, EVALUATE_PLAYED, &result);
	}
	struct model_config small = {
		.family = FAMILY_GPT, .layers = 2, .hidden = 8, .heads = 2, .vocab = 16, .positions = 4, .seq = 4, .batch = 1
	};
	struct error error;
	OWN(graph) *graph = model_step("small", &small, &(struct model_training) { .optimizer = OPTIMIZER_ADAM }, &error);
	struct blocks blocks;
	EACH_REFUSAL(refused) {
		refused.status = blocks_find(graph, &blocks);
		if (refused.status == OK)
			blocks_free(&blocks);
	}
	struct rules *rules = test_rules();
	OWN(units) units;
	OWN(sharding) sharding;
	struct mesh mesh = { 0 };
	mesh_add_axis(&mesh, "tp", 2, 1, 8, &machine);
	cr_assert_eq(blocks_find(graph, &blocks), OK);
	cr_assert_eq(units_find(graph, rules, &units), OK);
	cr_assert_eq(split_by_roles(&units, &mesh, &roles_tensor_sp, &sharding), OK);
	HELD struct block_cost *costs = mem_alloc(blocks.blocks, sizeof *costs);
	EACH_REFUSAL(refused) {
		OWN(arena) arena = { 0 };
		struct block_work work;
		refused.status = block_work_find(graph, &blocks, rules, &arena, &work);
		if (refused.status == OK)
			refused.status = block_costs_find(&units, &sharding, &blocks, &work, &machine, costs);
	}
	blocks_free(&blocks);
}
