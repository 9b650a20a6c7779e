/* unit_device_plans.c: what the sharding strategies find computes the dense result, and moves the bytes that they
 * counted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/lockstep.h"
#include "tests/common/model_steps.h"
#include "tests/common/random_model.h"
#include "solver/shard/find.h"
#include "src/models/models.h"
#include "tests/common/support.h"
#include "tests/common/strategy_names.h"

/* An op's share of a picosecond for each floating-point operation, and of its start. */
static int64_t op_time(
	const void *context, const struct units *units, const struct mesh *mesh, uint32_t op, struct split split)
{
	int64_t time = units->graph->op[op].flops > 0 ? units->graph->op[op].flops : 100;
	(void)context;
	for (uint32_t a = 0; a < mesh->axes; a++)
		time = split.on[a] >= 0 ? time / mesh->axis[a].size : time;
	return time + 1000;
}

static struct mesh square_mesh(uint32_t first, uint32_t second, int64_t rate)
{
	struct mesh mesh = { .axes = second > 1 ? 2 : 1,
		.axis = { { .name = "dp", .size = first, .near_size = first },
			{ .name = "tp", .size = second, .near_size = second } } };
	for (int a = 0; a < 2; a++)
		mesh.axis[a].near = mesh.axis[a].far = (struct link) { 100, rate };
	return mesh;
}

static int64_t bytes_moved(const struct graph *local)
{
	int64_t sum = 0;
	for (uint32_t op = 0; op < local->ops; op++)
		if (local->op[op].collective)
			sum += local->op[op].collective->moved;
	return sum;
}

struct tally { uint32_t plans, split, same_traffic; };

static void find_and_run(const struct units *units, const struct mesh *mesh, const struct rules *rules,
	enum shard_strategy strategy, const char *what, struct tally *tally)
{
	struct axis_roles roles[MESH_AXES] = { roles_data, roles_tensor_sp };
	struct sharding_options options = { .strategy = strategy,
		.roles = roles,
		.memory = -1,
		.slack = strategy == STRATEGY_MINRED ? 5 : 0,
		.exposed = 100,
		.clock = { .takes = op_time },
		.effort = 200000 };
	struct control control = { 0 };
	struct sharding sharding;
	struct sharding_report report;
	struct error error = { 0 };
	struct lockstep run;
	enum status status = sharding_find(units, mesh, &options, &control, &sharding, &report, &error);
	if (status == INFEASIBLE &&
		strategy == STRATEGY_TAP) {   /* as published: every pattern of some op meets another that it doesn't fit */
		sharding_report_free(&report);
		sharding_free(&sharding);
		return;
	}
	cr_assert_eq(status, OK, "%s: status %d, %s", what, status, error.text);
	OWN(graph) *local = device_graph_build(units, &sharding, 0, &error);
	cr_assert_not_null(local, "%s: %s", what, error.text);
	cr_assert_eq(device_graph_check(units, &sharding, rules, local, &error), OK, "%s: %s", what, error.text);
	bool same = lockstep_run(&run, units, &sharding, local, rules);
	cr_assert(same, "%s: %s", what, run.why);
	tally->plans++;
	tally->split += run.ops_split;
	int64_t counted = 0;
	for (uint32_t a = 0; a < mesh->axes; a++)
		counted += report.cost.axis_bytes[a];
	tally->same_traffic += counted == bytes_moved(local);
	lockstep_free(&run);
	sharding_report_free(&report);
	sharding_free(&sharding);
}

Test(device_plans, plans_of_random_steps_compute_the_dense_result)
{
	struct rules *rules = test_rules();
	uint64_t seed = test_seed();
	struct tally tally = { 0 };
	for (uint32_t round = 0; round < 24; round++) {
		uint64_t random = seed + round;
		OWN(graph) *graph = random_step(&random, 2 + round % 6, rules);
		/* two axes take the searches long on more than a few ops */
		struct mesh mesh = square_mesh(2 + 2 * (round % 2), graph->ops <= 12 && round % 4 == 1 ? 2 : 1,
			round % 4 < 2 ? INT64_C(100000000000000) : INT64_C(1000000000000));
		OWN(units) units;
		cr_assert_eq(units_find(graph, rules, &units), OK);
		for (enum shard_strategy strategy = STRATEGY_TAP; strategy < STRATEGY_COUNT; strategy++) {
			char what[80];
			snprintf(what, sizeof what, "SEED=%lu round %u, %s", (unsigned long)seed, round, strategy_names[strategy]);
			find_and_run(&units, &mesh, rules, strategy, what, &tally);
		}
	}
	/* Now and then a tensor has readers in many places, and takes another way than the sum's. */
	cr_expect_geq(tally.same_traffic * 10, tally.plans * 9, "SEED=%lu: %u of %u", (unsigned long)seed,
		tally.same_traffic, tally.plans);
	cr_expect_gt(tally.split, tally.plans);
}

Test(device_plans, plans_of_tiny_models_compute_the_dense_result)
{
	static const struct { const char *name; struct model_config size; } tiny[] = {
		{ "gpt", { .layers = 1, .hidden = 8, .heads = 2, .vocab = 16, .positions = 8, .seq = 4, .batch = 4 } },
		{ "moe",
			{ .layers = 1,
				.hidden = 8,
				.heads = 2,
				.vocab = 16,
				.positions = 8,
				.seq = 4,
				.batch = 4,
				.experts = 4,
				.top_k = 2 } },
		{ "llama",
			{ .layers = 1,
				.hidden = 8,
				.heads = 4,
				.kv_heads = 2,
				.head_width = 2,
				.ffn = 12,
				.vocab = 16,
				.seq = 4,
				.batch = 1 } },
		{ "t5",
			{ .layers = 1, .hidden = 8, .heads = 2, .head_width = 4, .ffn = 12, .vocab = 16, .seq = 4, .batch = 3 } },
		{ "vit", { .layers = 1, .hidden = 8, .heads = 2, .image = 32, .patch = 16, .classes = 4, .batch = 2 } },
		{ "bert", { .layers = 1, .hidden = 15, .heads = 5, .vocab = 17, .positions = 7, .seq = 5, .batch = 3 } },
		{ "dlrm", { .layers = 1, .hidden = 3, .experts = 3, .vocab = 11, .classes = 4, .batch = 5 } },
		{ "deepseek",
			{ .layers = 2,
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
				.batch = 2,
				.mtp_layers = 1 } },
	};
	struct rules *rules = test_rules();
	struct tally tally = { 0 };
	for (size_t m = 0; m < sizeof tiny / sizeof *tiny; m++) {
		struct model_config config = sized_model(tiny[m].name, tiny[m].size);
		struct model_training training = { .optimizer = OPTIMIZER_ADAM };
		config.ffn = tiny[m].size.ffn;
		OWN(graph) *graph = step_of_config(tiny[m].name, config, training);
		OWN(units) units;
		cr_assert_eq(units_find(graph, rules, &units), OK);
		for (enum shard_strategy strategy = STRATEGY_TAP; strategy < STRATEGY_COUNT; strategy++) {
			struct mesh mesh = square_mesh(2 + 2 * (uint32_t)(m % 2), 1, INT64_C(10000000000000));
			char what[80];
			snprintf(what, sizeof what, "%s, %s", tiny[m].name, strategy_names[strategy]);
			find_and_run(&units, &mesh, rules, strategy, what, &tally);
		}
	}
	cr_expect_geq(tally.same_traffic, tally.plans, "%u of %u", tally.same_traffic, tally.plans);
}
