/* unit_device_models.c: training steps of all built-in models, sharded by experts' roles and at random, compute the
 * dense result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/shard/cost.h"
#include "solver/shard/find.h"
#include "src/models/models.h"
#include "tests/common/lockstep.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

/* Models small enough to execute: sizes of the first EVEN divide by 2, of the others by nothing, and meshes may cut
 * them all the same. */
static const struct { const char *name; struct model_config size;
} tiny[] = {
	{ "gpt", { .layers = 2, .hidden = 8, .heads = 2, .vocab = 16, .positions = 8, .seq = 4, .batch = 4 } },
	{ "llama",
		{ .layers = 2,
			.hidden = 8,
			.heads = 4,
			.kv_heads = 2,
			.head_width = 2,
			.ffn = 12,
			.vocab = 16,
			.seq = 4,
			.batch = 4 } },
	{ "bert", { .layers = 2, .hidden = 8, .heads = 2, .vocab = 16, .positions = 8, .seq = 4, .batch = 4 } },
	{ "t5", { .layers = 2, .hidden = 8, .heads = 2, .head_width = 4, .ffn = 12, .vocab = 16, .seq = 4, .batch = 4 } },
	{ "vit", { .layers = 2, .hidden = 8, .heads = 2, .image = 32, .patch = 16, .classes = 4, .batch = 4 } },
	{ "moe",
		{ .layers = 2,
			.hidden = 8,
			.heads = 2,
			.vocab = 16,
			.positions = 8,
			.seq = 4,
			.batch = 4,
			.experts = 4,
			.top_k = 2 } },
	{ "dlrm", { .layers = 2, .hidden = 8, .experts = 2, .vocab = 16, .classes = 4, .batch = 4 } },
	{ "resnet18", { .hidden = 2, .image = 32, .classes = 4, .batch = 2 } },
	{ "deepseek",
		{ .layers = 3,
			.hidden = 8,
			.heads = 2,
			.head_width = 4,
			.rope_width = 2,
			.value_width = 2,
			.kv_rank = 4,
			.q_rank = 4,
			.ffn = 12,
			.expert_ffn = 4,
			.experts = 4,
			.top_k = 2,
			.shared_experts = 2,
			.vocab = 16,
			.seq = 4,
			.batch = 4 } },
	{ "gpt", { .layers = 1, .hidden = 15, .heads = 5, .vocab = 17, .positions = 7, .seq = 5, .batch = 3 } },
	{ "llama",
		{ .layers = 1,
			.hidden = 9,
			.heads = 6,
			.kv_heads = 3,
			.head_width = 2,
			.ffn = 11,
			.vocab = 13,
			.seq = 3,
			.batch = 3 } },
	{ "t5", { .layers = 1, .hidden = 9, .heads = 3, .head_width = 4, .ffn = 7, .vocab = 11, .seq = 5, .batch = 3 } },
	{ "moe",
		{ .layers = 2,
			.hidden = 9,
			.heads = 3,
			.vocab = 11,
			.positions = 5,
			.seq = 5,
			.batch = 3,
			.experts = 5,
			.top_k = 2 } },
	{ "dlrm", { .layers = 1, .hidden = 3, .experts = 3, .vocab = 11, .classes = 4, .batch = 5 } },
};
#define TINY (sizeof tiny / sizeof *tiny)
#define EVEN 9

static struct graph *tiny_step(size_t m, const struct model_training *training)
{
	struct model_config config = sized_model(tiny[m].name, tiny[m].size);
	config.ffn = tiny[m].size.ffn;
	return step_of_config(tiny[m].name, config, *training);
}

static struct lockstep execute(
	const struct units *units, const struct sharding *sharding, const struct rules *rules, const char *what)
{
	struct error error = { 0 };
	struct lockstep run;
	OWN(graph) *local = device_graph_build(units, sharding, 0, &error);
	cr_assert_not_null(local, "%s: %s", what, error.text);
	cr_assert_eq(device_graph_check(units, sharding, rules, local, &error), OK, "%s: %s", what, error.text);
	bool same = lockstep_run(&run, units, sharding, local, rules);
	cr_assert(same, "%s: %s", what, run.why);
	lockstep_free(&run);
	return run;
}

static int64_t no_time(
	const void *context, const struct units *units, const struct mesh *mesh, uint32_t op, struct split split)
{
	(void)context, (void)units, (void)mesh, (void)op, (void)split;
	return 0;
}

/* The collectives of a device's graph move as many bytes over every axis as the sum that searches minimise says. */
static void compare_traffic(const struct units *units, const struct sharding *sharding, const char *what)
{
	struct error error = { 0 };
	struct sharding_cost cost;
	int64_t moved[MESH_AXES] = { 0 };
	cr_assert_eq(sharding_cost(units, sharding, (struct op_clock) { .takes = no_time }, 100, 1, &cost), OK, "%s", what);
	OWN(graph) *local = device_graph_build(units, sharding, 0, &error);
	for (uint32_t op = 0; op < local->ops; op++)
		if (local->op[op].collective)
			moved[axis_named(&sharding->mesh, local->op[op].collective)] += local->op[op].collective->moved;
	for (uint32_t a = 0; a < sharding->mesh.axes; a++)
		cr_expect_eq(moved[a], cost.axis_bytes[a], "%s: %ld bytes over %s, not %ld", what, (long)moved[a],
			sharding->mesh.axis[a].name, (long)cost.axis_bytes[a]);
}

static struct mesh mesh_of(uint32_t first, uint32_t second)
{
	struct mesh mesh = { .axes = 2,
		.padding = true,
		.axis = { { .name = "dp", .size = first, .near_size = first },
			{ .name = "tp", .size = second, .near_size = second } } };
	for (int a = 0; a < 2; a++)
		mesh.axis[a].near = mesh.axis[a].far = (struct link) { 2000000, INT64_C(100000000000) };
	return mesh;
}

static const struct model_training trainings[] = {
	{ .optimizer = OPTIMIZER_ADAM },
	{ .optimizer = OPTIMIZER_ADAMW, .policy = GRADIENT_IDEAL, .recompute = RECOMPUTE_FULL },
	{ .optimizer = OPTIMIZER_ADAFACTOR, .accumulate = true },
	{ .optimizer = OPTIMIZER_MOMENTUM, .precision = PRECISION_MIXED },
};

Test(device_models, shardings_by_roles_compute_the_dense_result)
{
	static const struct axis_roles *const second[] = { &roles_tensor, &roles_tensor_sp, &roles_context, &roles_experts };
	struct rules *rules = test_rules();
	for (size_t m = 0; m < TINY; m++) {
		const struct model_training *training = &trainings[m % 4];
		OWN(graph) *graph = tiny_step(m, training);
		OWN(units) units;
		cr_assert_eq(units_find(graph, rules, &units), OK);
		/* Quick tests: a stage of ZeRO for each model; convolutions, which take time, have two at the most. */
		for (uint8_t zero = (uint8_t)(m % test_rounds(4, 1)); zero <= 3;
			zero = (uint8_t)(zero + (tiny[m].size.hidden < 8 || m >= EVEN ? test_rounds(4, 3) : test_rounds(4, 1)))) {
			struct mesh mesh = m >= EVEN ? mesh_of(2 + zero % 2, zero < 2 ? 4 : 2) : mesh_of(2, 2);
			struct axis_roles roles[2] = { roles_data, *second[zero] };
			OWN(sharding) sharding;
			char what[80];
			roles[0].zero = zero;
			cr_assert_eq(split_by_roles(&units, &mesh, roles, &sharding), OK);
			snprintf(what, sizeof what, "%s, zero %d", tiny[m].name, zero);
			struct lockstep run = execute(&units, &sharding, rules, what);
			compare_traffic(&units, &sharding, what);
			cr_expect_gt(run.ops_split, graph->ops / 8, "%s", what);
			cr_expect(m < EVEN || run.smaller > 0, "%s", what);
		}
	}
}

/* States of what no expert is are cut over the devices that share experts, too; experts' own over those that have the
 * same ones. */
Test(device_models, states_are_cut_over_devices_that_share_experts)
{
	struct rules *rules = test_rules();
	for (size_t m = 0; m < TINY; m++) {
		struct units units;
		if (tiny[m].size.top_k == 0)
			continue;
		OWN(graph) *graph = tiny_step(m, &trainings[m % 2]);
		cr_assert_eq(units_find(graph, rules, &units), OK);
		for (uint8_t zero = 1; zero <= 3; zero++) {
			struct mesh mesh = m >= EVEN ? mesh_of(3, 2) : mesh_of(2, 2);
			struct axis_roles roles[2] = { roles_data, roles_experts };
			OWN(sharding) sharding;
			char what[80];
			roles[0].zero = roles[1].zero = zero;
			cr_assert_eq(split_by_roles(&units, &mesh, roles, &sharding), OK);
			snprintf(what, sizeof what, "%s, zero %d over both", tiny[m].name, zero);
			execute(&units, &sharding, rules, what);
			compare_traffic(&units, &sharding, what);
			for (uint32_t i = 0; i < units.kepts && m < EVEN; i++) {
				uint32_t t = units.kept[i];
				if (graph->tensor[t].kind == KIND_OPTIMIZER && graph->tensor[t].dims > 1)
					cr_expect(sharding.produced[t].on[1] >= 0, "%s: %s", what, graph->tensor[t].name);
			}
		}
		units_free(&units);
	}
}

/* Each training with each way to split the second axis. */
Test(device_models, sums_and_graphs_agree_on_what_is_sent_whatever_the_training)
{
	static const struct axis_roles *const second[] = { &roles_tensor, &roles_tensor_sp, &roles_context, &roles_experts };
	struct rules *rules = test_rules();
	for (size_t m = 0; m < TINY; m++)
		for (size_t t = m % test_rounds(4, 1); t < sizeof trainings / sizeof *trainings; t += test_rounds(4, 1)) {
			OWN(graph) *graph = tiny_step(m, &trainings[t]);
			OWN(units) units;
			cr_assert_eq(units_find(graph, rules, &units), OK);
			for (uint8_t k = 0; k < 16; k++) {
				struct mesh mesh = k % 2 ? mesh_of(3, 4) : mesh_of(2, 2);
				struct axis_roles roles[2] = { roles_data, *second[k / 4] };
				OWN(sharding) sharding;
				char what[80];
				roles[0].zero = (uint8_t)((k + t) % 4);
				cr_assert_eq(split_by_roles(&units, &mesh, roles, &sharding), OK);
				snprintf(what, sizeof what, "%s, training %zu, way %u, zero %u", tiny[m].name, t, k, roles[0].zero);
				compare_traffic(&units, &sharding, what);
			}
		}
}

/* Statistics of a batch norm are summed over the devices; activations stay where they are. */
Test(device_models, data_parallel_convolutions_gather_no_activations)
{
	struct rules *rules = test_rules();
	struct mesh mesh = mesh_of(2, 1);
	uint32_t reduced = 0;
	size_t m = 0;
	while (strcmp(tiny[m].name, "resnet18") != 0)
		m++;
	OWN(graph) *graph = tiny_step(m, &trainings[0]);
	OWN(units) units;
	OWN(sharding) sharding;
	struct axis_roles roles[2] = { roles_data, roles_data };
	struct error error = { 0 };
	mesh.axes = 1;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	cr_assert_eq(split_by_roles(&units, &mesh, roles, &sharding), OK);
	OWN(graph) *device = device_graph_build(&units, &sharding, 0, &error);
	cr_assert_not_null(device, "%s", error.text);
	for (uint32_t op = 0; op < device->ops; op++)
		cr_assert(strncmp(device->op[op].type, "comm.", 5) != 0 || strcmp(device->op[op].type, "comm.all_reduce") == 0,
			"%s", device->op[op].name);
	for (uint32_t op = 0; op < graph->ops; op++) {
		if (!strstr(graph->op[op].type, "batch_norm"))
			continue;
		uint32_t channels = (uint32_t)graph->tensor[graph->reads.item[graph->reads.start[op]]].shape[1];
		cr_assert(sharding.split[op].on[0] >= 0, "%s", graph->op[op].name);
		cr_assert_eq(unit_inside_bytes(&units, &mesh, op, sharding.split[op], 0), 2 * 4 * (int64_t)channels, "%s",
			graph->op[op].name);
		reduced++;
	}
	cr_assert_eq(reduced, 40);
}

Test(device_models, random_shardings_compute_the_dense_result)
{
	struct rules *rules = test_rules();
	uint64_t seed = test_seed();
	for (size_t m = 0; m < TINY; m++)
		for (uint32_t round = 0; round < (tiny[m].size.hidden < 8 || m >= EVEN ? 1 : test_rounds(1, 2)); round++) {
			uint64_t random = seed + m + 100 * round;
			OWN(graph) *graph = tiny_step(m, &trainings[(m + round + 1) % 4]);
			struct mesh mesh = random_mesh(&random);
			mesh.padding |= m >= EVEN;
			OWN(units) units;
			OWN(sharding) sharding;
			char what[80];
			cr_assert_eq(units_find(graph, rules, &units), OK);
			cr_assert_eq(random_sharding(&units, &mesh, &random, &sharding), OK);
			snprintf(what, sizeof what, "%s, SEED=%lu round %u", tiny[m].name, (unsigned long)seed, round);
			execute(&units, &sharding, rules, what);
		}
}

/* ---- memory: Korthikanti et al. (arXiv 2205.05198), table 2 ---------------------------------- */

/* Bytes that the layers of a device keep between the passes: what the forward pass of a layer makes and the backward
 * pass reads, less its weights in half precision. */
static int64_t layer_activations(const struct graph *graph)
{
	uint32_t turn = 0;
	int64_t bytes = 0;
	while (graph->op[turn].phase != PHASE_BACKWARD)
		turn++;
	for (uint32_t s = 0; s < graph->storages; s++) {
		const struct storage *storage = &graph->storage[s];
		const struct tensor *root = &graph->tensor[storage->root];
		if (storage->allocator == NONE || storage->allocator > turn ||
			graph->users.item[graph->users.start[s + 1] - 1] < turn)
			continue;
		const struct op *op = &graph->op[storage->allocator];
		bool weight = strncmp(op->type, "aten.t.", 7) == 0;
		if (strncmp(op->module, "h.", 2) == 0 && !weight && root->dtype != DTYPE_F32)
			bytes += storage->bytes;
	}
	return bytes;
}

Test(device_models, activations_are_what_the_published_formulas_say)
{
	struct rules *rules = test_rules();
	struct model_config config = model_find("megatron-22b")->config;
	int64_t sbh = config.seq * config.batch * config.hidden,
			scores = 5 * config.heads * config.seq * config.batch * config.seq, t = 8;
	config.layers = 4;
	for (int mode = 0; mode < 4; mode++) {
		bool parallel = mode & 1, selective = mode & 2;
		struct model_training training = { .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_MIXED,
			.recompute = selective ? RECOMPUTE_SELECTIVE : RECOMPUTE_NONE };
		struct mesh mesh = mesh_of(1, 8);
		struct axis_roles roles[2] = { roles_data, parallel ? roles_tensor_sp : roles_tensor };
		struct error error = { 0 };
		OWN(units) units;
		OWN(sharding) sharding;
		OWN(graph) *graph = step_of_config("megatron-22b", config, training);
		cr_assert_eq(units_find(graph, rules, &units), OK);
		cr_assert_eq(split_by_roles(&units, &mesh, roles, &sharding), OK);
		OWN(graph) *local = device_graph_build(&units, &sharding, 0, &error);
		cr_assert_not_null(local, "%s", error.text);
		int64_t layer = (parallel ? 34 * sbh / t : 10 * sbh + 24 * sbh / t) + (selective ? 0 : scores / t);
		cr_expect_eq(layer_activations(local), layer * config.layers,
			"sequence parallel %d, selective %d: %ld, not %ld", parallel, selective, (long)layer_activations(local),
			(long)(layer * config.layers));
	}
}
