/* unit_exposed.c: which collectives hide behind which passes, in configurations: reductions of gradients, gathers of
 * parameters. */

#include <string.h>

#include "solver/pipeline/configuration.h"
#include "solver/shard/find.h"
#include "src/models/models.h"
#include "src/scenario/devices.h"
#include "tests/common/support.h"

/* Block by block: what reduces a block's gradients runs beside the next block's pass. */
Test(exposed, gradients_are_reduced_behind_the_blocks_before)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct block_cost cost[4];
	uint32_t first[2] = { 0, 4 };
	for (int b = 0; b < 4; b++)
		cost[b] = (struct block_cost){ .forward = 100000000000,
			.backward = 200000000000,
			.shared_with = NONE,
			.parameters = { [3] = 1 },
			.forward_reads = { { [3] = INT64_C(500000000) }, { [3] = 1 } },
			.backward_reads = { { [3] = INT64_C(500000000) }, { [3] = 1 } },
			.states = { .parameter = { [3] = INT64_C(500000000) }, .gradient = { [3] = INT64_C(1000000000) } } };
	struct config_model model = { .blocks = 4, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1 };
	machine.near.rate = machine.far.rate = INT64_C(5000000000);
	/* a block's gradients take 0.175 s to scatter, 0.35 s to reduce; its parameters 0.0875 s to gather. 0: reductions
	 * follow each other from the end of the first backward pass on; 1: all scatters before the update, 2: the last one,
	 * and four gathers of what was updated; 3: the first gather, the last scatter, and the last two gathers that find the links busy: 0.1 s of
	 * forward pass hide one, then 0.2625 s of links stand against 0.2 s of computation */
	double expected[3] = { 0.2 + 4 * 0.35 - 0.8, 4 * 0.175 + 4 * 0.0875, 0.175 + 4 * 0.0875 };
	for (uint8_t zero = 0; zero < 4; zero++) {
		struct config config = { .dp = 8, .tp = 1, .pp = 1, .cp = 1, .ep = 1, .chunks = 1, .microbatches = 1, .zero = zero };
		struct config_result result;
		cr_assert_eq(config_evaluate(&model, &config, &overheads_all, first, EVALUATE_CLOSED, &result), OK);
		double exposed = (double)result.exposed * 1e-12;
		if (zero < 3)
			cr_expect_float_eq(exposed, expected[zero], 0.001, "stage %d: %.4f s", zero, exposed);
		else
			cr_expect(exposed >= 0.0875 + 0.175 - 1e-3 && exposed <= 8 * 0.0875 + 4 * 0.175, "stage 3: %.4f s", exposed);
	}
}

static int64_t exposed_of(const struct config_model *model, const struct config *config, const uint32_t *first)
{
	struct config_result result;
	cr_assert_eq(config_evaluate(model, config, &overheads_all, first, EVALUATE_CLOSED, &result), OK);
	return result.exposed;
}

/* Experts that are whole over the context axis have the expert axis between that and the data axis: two devices of it
 * share a node, wherever the experts are. */
Test(exposed, experts_are_reduced_within_the_node_that_their_context_axis_is_in)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct block_cost cost = { .shared_with = NONE,
		.parameters = { [WHOLE_ON_CONTEXT] = 1 },
		.states = { .gradient = { [WHOLE_ON_CONTEXT] = INT64_C(1000000000) } } };
	struct config_model model = { .blocks = 1, .cost = &cost, .machine = &machine, .devices_per_node = 8, .limit = -1 };
	struct config alone = { .dp = 1, .tp = 4, .pp = 1, .cp = 2, .ep = 1, .chunks = 1, .microbatches = 2 },
				  spread = alone, far = alone;
	uint32_t first[2] = { 0, 1 };
	spread.ep = 4;
	far.tp = 8;
	int64_t near = exposed_of(&model, &alone, first);
	cr_expect_gt(near, 0);
	cr_expect_eq(exposed_of(&model, &spread, first), near);
	cr_expect_gt(exposed_of(&model, &far, first), near);
	spread.dp = 2;    /* two nodes: as if both axes lay beside each other */
	alone.dp = 2;
	cr_expect_eq(exposed_of(&model, &spread, first),
		exposed_of(&model, &alone, first));
}

/* What one piece of a rank reduces runs beside the passes of its others, too. */
Test(exposed, all_pieces_of_a_rank_hide_what_one_of_them_reduces)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct block_cost cost[4] = { { .shared_with = NONE, .backward = INT64_C(1000000000000) }, { .shared_with = NONE },
		{ .shared_with = NONE }, { .shared_with = NONE } };
	struct config_model model = { .blocks = 4, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1 };
	struct config config = {
		.dp = 2, .tp = 1, .pp = 2, .cp = 1, .ep = 1, .chunks = 2, .microbatches = 4, .schedule = SCHEDULE_ZBV, .zero = 3
	};
	uint32_t first[5] = { 0, 1, 2, 3, 4 };
	cost[3].parameters[3] = 1;
	cost[3].states.gradient[3] = INT64_C(1000000000);
	cr_expect_eq(
		exposed_of(&model, &config, first), 0, "the first and the last piece");
	cost[2].backward = cost[0].backward;
	cost[0].backward = 0;
	cr_expect_gt(exposed_of(&model, &config, first), 0, "the other rank's");
}

/* Batch norm over a sharded batch: sums and squares of all channels, once a pass. */
Test(exposed, data_axes_reduce_sums_of_channels_inside_of_ops)
{
	struct model_config config = model_find("resnet50")->config;
	config.batch = 4;
	struct error error = { 0 };
	struct model_training training = { .optimizer = OPTIMIZER_ADAM };
	OWN(graph) *graph = model_step("resnet50", &config, &training, &error);
	OWN(units) units;
	OWN(blocks) blocks;
	OWN(sharding) sharding;
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct mesh mesh = { 0 };
	mesh_add_axis(&mesh, "tp", 1, 1, 8, &machine);
	cr_assert_eq(units_find(graph, test_rules(), &units), OK);
	cr_assert_eq(blocks_find(graph, &blocks), OK);
	cr_assert_eq(split_by_roles(&units, &mesh, &roles_tensor, &sharding), OK);
	HELD struct block_cost *cost = mem_alloc(blocks.blocks, sizeof *cost);
	across_find(&units, &sharding, &blocks, cost);
	int64_t channels = 0, bytes[2] = { 0 }, time[2] = { 0 };
	uint32_t norms = 0, count[2] = { 0 };
	for (uint32_t op = 0; op < graph->ops; op++)
		if (strcmp(graph->op[op].type, "aten.native_batch_norm.default") == 0) {
			norms++;
			channels += graph->tensor[graph->reads.item[graph->reads.start[op]]].shape[1];
		}
	struct config_model model = {
		.blocks = blocks.blocks, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1
	};
	struct config of = { .dp = 8, .tp = 1, .pp = 1, .cp = 1, .ep = 1, .chunks = 1, .microbatches = 3 };
	for (uint32_t b = 0; b < blocks.blocks; b++) {
		cost[b].shared_with = NONE;
		for (int side = 0; side < 2; side++) {
			bytes[side] += cost[b].across[side].bytes;
			count[side] += cost[b].across[side].count;
			time[side] += across_time(&model, &of, &cost[b], side);
		}
	}
	for (int side = 0; side < 2; side++) {
		cr_expect_eq(count[side], norms);
		cr_expect_eq(bytes[side], 2 * channels * 4);
		cr_expect_gt(time[side], 0);
	}
	uint32_t first[2] = { 0, blocks.blocks };
	struct config_result result;
	cr_assert_eq(config_evaluate(&model, &of, &overheads_all, first, EVALUATE_CLOSED, &result), OK);
	cr_expect_eq(result.time, 3 * (time[0] + time[1]));
	cr_expect_eq(result.link, result.time);
	of.dp = 1;
	cr_assert_eq(config_evaluate(&model, &of, &overheads_all, first, EVALUATE_CLOSED, &result), OK);
	cr_expect_eq(result.time, 0);
}

/* Megatron's overlap_param_gather: what the update before made is gathered behind the first forward pass. */
Test(exposed, updated_parameters_are_gathered_behind_what_the_overheads_say)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct block_cost cost[4];
	uint32_t first[2] = { 0, 4 };
	for (int b = 0; b < 4; b++)
		cost[b] = (struct block_cost){ .forward = 50000000000,
			.backward = 200000000000,
			.shared_with = NONE,
			.parameters = { [3] = 1 },
			.states = { .parameter = { [3] = INT64_C(500000000) }, .gradient = { [3] = INT64_C(1000000000) } } };
	struct config_model model = { .blocks = 4, .cost = cost, .machine = &machine, .devices_per_node = 8, .limit = -1 };
	machine.near.rate = machine.far.rate = INT64_C(5000000000);
	for (uint32_t microbatches = 1; microbatches <= 4; microbatches += 3)
		for (uint8_t zero = 0; zero < 4; zero++) {
			struct config config = {
				.dp = 8, .tp = 1, .pp = 1, .cp = 1, .ep = 1, .chunks = 1, .microbatches = microbatches, .zero = zero
			};
			struct overheads overheads = overheads_all;
			struct config_result behind, plain;
			cr_assert_eq(config_evaluate(&model, &config, &overheads, first, EVALUATE_CLOSED, &plain), OK);
			overheads.updated = 500;
			cr_assert_eq(config_evaluate(&model, &config, &overheads, first, EVALUATE_CLOSED, &behind), OK);
			/* four gathers of 0.0875 s, 0.2 s of forward pass; copies have nothing to gather, nor have shards */
			double hidden = zero == 1 || zero == 2 ? 0.1 : 0;
			cr_expect_float_eq((double)(plain.exposed - behind.exposed) * 1e-12, hidden, 1e-6,
				"stage %d, %u microbatches", zero, microbatches);
			overheads.updated = 1000000;
			cr_assert_eq(config_evaluate(&model, &config, &overheads, first, EVALUATE_CLOSED, &behind), OK);
			cr_expect_float_eq((double)(plain.exposed - behind.exposed) * 1e-12, hidden > 0 ? 4 * 0.0875 : 0, 1e-3,
				"stage %d, %u microbatches", zero, microbatches);
		}
}

/* Loss scaling: updates wait for all gradients, and what one has made is gathered beside the next; else reductions run
 * beside updates, too. */
Test(exposed, updates_that_wait_for_all_gradients_hide_their_gathers)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	uint32_t first[2] = { 0, 4 };
	machine.near.rate = machine.far.rate = INT64_C(5000000000);
	for (uint32_t microbatches = 1; microbatches <= 4; microbatches += 3)
		for (int64_t update = 50000000000; update <= 100000000000; update += 50000000000) {
			struct block_cost cost[4];
			for (int b = 0; b < 4; b++) {
				cost[b] = (struct block_cost){ .forward = 50000000000,
					.backward = 200000000000,
					.shared_with = NONE,
					.parameters = { [3] = 1 },
					.states = {
						.parameter = { [3] = INT64_C(500000000) }, .gradient = { [3] = INT64_C(1000000000) } } };
				for (int i = 0; i < UPDATE_SHARES; i++)
					cost[b].update[3][i] = update;
			}
			struct config_model apart = { .blocks = 4,
				.cost = cost,
				.machine = &machine,
				.devices_per_node = 8,
				.limit = -1 },
								joint = apart;
			struct config config = {
				.dp = 8, .tp = 1, .pp = 1, .cp = 1, .ep = 1, .chunks = 1, .microbatches = microbatches, .zero = 1
			};
			struct config_result before, beside;
			joint.joint = true;
			cr_assert_eq(config_evaluate(&apart, &config, &overheads_all, first, EVALUATE_CLOSED, &before), OK);
			cr_assert_eq(config_evaluate(&joint, &config, &overheads_all, first, EVALUATE_CLOSED, &beside), OK);
			/* four scatters of 0.175 s, four gathers of 0.0875 s, four updates of 0.05 or 0.1 s */
			double updates = 4e-12 * (double)update;
			cr_expect_float_eq((double)before.exposed * 1e-12, 0.7 + 0.35 - updates, 2e-3);
			cr_expect_float_eq((double)beside.exposed * 1e-12, 0.7 + (updates < 0.35 ? 0.35 - updates : 0), 2e-3);
		}
}

/* Stage 2 sends what stage 1 does, in every microbatch. One block, whose gradients nothing is beside. */
Test(exposed, zero_stages_hide_their_traffic_once)
{
	struct block_cost cost = { .forward = 400000000000,
		.backward = 800000000000,
		.shared_with = NONE,
		.parameters = { [3] = 1 },
		.forward_reads = { { [3] = INT64_C(2000000000) }, { [3] = 1 } },
		.backward_reads = { { [3] = INT64_C(2000000000) }, { [3] = 1 } },
		.states = { .parameter = { [3] = INT64_C(2000000000) },
			.gradient = { [3] = INT64_C(4000000000) },
			.optimizer = { [3] = INT64_C(12000000000) } } };
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	struct config_model model = { .blocks = 1, .cost = &cost, .machine = &machine, .devices_per_node = 8, .limit = -1 };
	uint32_t first[2] = { 0, 1 };
	machine.near.rate = machine.far.rate = INT64_C(5000000000);
	for (uint32_t microbatches = 2; microbatches <= 5; microbatches += 3) {
		struct config_result stage[4];
		for (uint8_t zero = 0; zero < 4; zero++) {
			struct config config = {
				.dp = 8, .tp = 1, .pp = 1, .cp = 1, .ep = 1, .chunks = 1, .microbatches = microbatches, .zero = zero
			};
			cr_assert_eq(config_evaluate(&model, &config, &overheads_all, first, EVALUATE_CLOSED, &stage[zero]), OK);
		}
		/* 0.7 s scatter 4 GB over a ring of 8, 0.35 s gather 2 GB; a forward pass hides the backward one's gather */
		double scatter = 0.7, gather = 0.35, each[4] = { 0, 0, scatter, gather + scatter };
		double once[4] = { 2 * scatter, scatter + gather, gather, 0 };
		for (int zero = 0; zero < 4; zero++)
			cr_expect_float_eq((double)stage[zero].exposed * 1e-12, once[zero] + microbatches * each[zero], 0.002,
				"stage %d: %.4f s", zero, (double)stage[zero].exposed * 1e-12);
		cr_expect(stage[2].exposed >= stage[1].exposed);
	}
}
