/* unit_sharding.c: strategies that search: published objectives, what experts found, folded against written out, memory
 * against time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/shard/device_graph.h"
#include "solver/cost/op_time.h"
#include "solver/shard/find.h"
#include "src/scenario/devices.h"
#include "src/models/models.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"
#include "tests/common/strategy_names.h"

/* Where no mesh has a sharding, the least is the largest number there is. */
Test(sharding, slack_of_any_number)
{
	cr_assert_eq(sharding_slack(INT64_MAX, 0), INT64_MAX);
	cr_assert_eq(sharding_slack(INT64_MAX, 50), INT64_MAX);
	cr_assert_eq(sharding_slack(2000, 0), 2002);
	cr_assert_eq(sharding_slack(2050, 50), 3075);
}

/* ---- Alpa's objectives ----------------------------------------------------------------------- */

/* A multilayer perceptron: layers of h x h weights over b x h inputs, mean squared error, plain descent. */
static struct graph *perceptron(int64_t batch, int64_t hidden, uint32_t layers, bool bias)
{
	struct build build = { .draft = draft_new(), .phase = PHASE_FORWARD };
	struct shape shape = SHAPE(batch, hidden), square = SHAPE(hidden, hidden);
	uint32_t input[16], weight[16], bent[16], x = build_leaf(&build, "x", KIND_INPUT, DTYPE_F32, shape),
											  y = build_leaf(&build, "y", KIND_INPUT, DTYPE_F32, shape);
	for (uint32_t i = 0; i < layers; i++) {
		char name[20];
		snprintf(name, sizeof name, "w%u", i);
		weight[i] = build_leaf(&build, name, KIND_PARAMETER, DTYPE_F32, square);
		snprintf(name, sizeof name, "b%u", i);
		bent[i] = bias ? build_leaf(&build, name, KIND_PARAMETER, DTYPE_F32, SHAPE(hidden)) : NONE;
		input[i] = x;
		if (bias)
			build_op(&build, "aten.addmm.default", IN(bent[i], x, weight[i]));
		else
			build_op(&build, "aten.mm.default", IN(x, weight[i]));
		x = build_output(&build, DTYPE_F32, shape);
	}
	x = build_map(&build, "aten.sub.Tensor", IN(x, y));
	build.phase = PHASE_BACKWARD;
	for (uint32_t i = layers; i-- > 0;) {
		uint32_t gradient[2] = { NONE, NONE },
				 turned = build_reshape(&build, "aten.t.default", input[i], SHAPE(hidden, batch));
		build_op(&build, "aten.mm.default", IN(turned, x));
		gradient[0] = build_output(&build, DTYPE_F32, square);
		if (bias) {
			build_op(&build, "aten.sum.dim_IntList", IN(x));
			gradient[1] = build_output(&build, DTYPE_F32, SHAPE(hidden));
		}
		if (i > 0) {
			uint32_t back = build_reshape(&build, "aten.t.default", weight[i], square);
			build_op(&build, "aten.mm.default", IN(x, back));
			x = build_output(&build, DTYPE_F32, shape);
		}
		build.phase = PHASE_UPDATE;
		build_map_inplace(&build, "aten.add_.Tensor", IN(weight[i], gradient[0]));
		if (bias)
			build_map_inplace(&build, "aten.add_.Tensor", IN(bent[i], gradient[1]));
		build.phase = PHASE_BACKWARD;
	}
	build_finish(&build);
	struct error error = { 0 };
	struct graph *graph = build.status == OK ? graph_build(build.draft, &error) : NULL;
	cr_assert(graph, "%s", error.text);
	draft_free(build.draft);
	return graph;
}

/* Only communication costs, and products of matrices may not be repeated: every axis splits them. The batch is for axis
 * 0 alone, as in Alpa. */
static int64_t no_repetition(
	const void *context, const struct units *units, const struct mesh *mesh, uint32_t op, struct split split)
{
	const int64_t *batch = context;
	bool product = strstr(units->graph->op[op].type, "mm");
	for (uint32_t a = 0; a < mesh->axes; a++)
		if (product && mesh->axis[a].size > 1 && split.on[a] < 0)
			return SHARD_FORBIDDEN;
	if (mesh->axis[0].size > 1 && mesh->axis[1].size > 1 && split.on[1] >= 0
		&& units->unit[units->unit_start[op] + (uint32_t)split.on[1]].size == *batch)
		return SHARD_FORBIDDEN;
	return 0;
}

static struct mesh plain_mesh(uint32_t first, uint32_t second, int64_t ratio)
{
	struct mesh mesh = { .axes = 2, .padding = true };
	for (uint32_t a = 0; a < 2; a++) {
		struct link link = { 0,
			(a == 1 ? ratio : 1) * INT64_C(1000000000) }; /* nanosecond a byte: sums are far above ties */
		mesh.axis[a] = (struct mesh_axis){ .name = "a",
			.size = a == 0 ? first : second,
			.near_size = a == 0 ? first : second,
			.near = link,
			.far = link };
	}
	return mesh;
}

/* All-reduce of so many bytes over an axis, in nanoseconds. */
static double reduce(double bytes, uint32_t members, double beta)
{
	return 2.0 * (members - 1) / members * bytes * beta;
}

static double objective(struct graph *graph, struct mesh mesh, const struct placement_pin *pin, uint32_t pins)
{
	struct rules *rules = test_rules();
	OWN(units) units;
	OWN(sharding) sharding;
	OWN(sharding_report) report;
	struct control control = { 0 };
	struct error error = { 0 };
	int64_t batch = graph->tensor[graph_find_tensor(graph, "x")].shape[0];
	cr_assert_eq(units_find(graph, rules, &units), OK);
	struct sharding_options options = { .strategy = STRATEGY_AUTO,
		.memory = -1,
		.exposed = 100,
		.clock = { no_repetition, &batch },
		.pin = pin,
		.pins = pins,
		.effort = UINT64_C(4000000000) };
	cr_assert_eq(sharding_find(&units, &mesh, &options, &control, &sharding, &report, &error), OK, "%s", error.text);
	double found = (double)report.cost.total / 1000;
	graph_release(graph);
	return found;
}

static void near(double found, double expected)
{
	cr_assert(found > 0.999 * expected && found < 1.001 * expected, "found %.1f, published %.1f", found, expected);
}

Test(sharding, alpa_objectives_on_one_axis)
{
	const double square = 128 * 128 * 4, wide = 128 * 1024 * 4;
	near(objective(perceptron(1024, 128, 2, false), plain_mesh(4, 1, 1), NULL, 0), 2 * reduce(square, 4, 1));
	near(objective(perceptron(1024, 128, 2, false), plain_mesh(1, 4, 1), NULL, 0), 2 * reduce(square, 4, 1));
	near(objective(perceptron(128, 1024, 2, false), plain_mesh(4, 1, 1), NULL, 0), reduce(wide, 4, 1));
	near(objective(perceptron(1024, 128, 12, false), plain_mesh(4, 1, 1), NULL, 0), 12 * reduce(square, 4, 1));
	near(objective(perceptron(128, 1024, 12, false), plain_mesh(4, 1, 1), NULL, 0), 11 * reduce(wide, 4, 1));
	near(objective(perceptron(1024, 128, 2, true), plain_mesh(4, 1, 1), NULL, 0),
		2 * reduce(square, 4, 1) + 2 * reduce(128 * 4, 4, 1));
	near(objective(perceptron(128, 1024, 2, true), plain_mesh(4, 1, 1), NULL, 0), reduce(wide, 4, 1));
}

Test(sharding, alpa_objectives_on_two_axes)
{
	static const uint32_t shapes[][2] = { { 4, 8 }, { 8, 4 }, { 3, 4 } };  /* 3 cuts 1024 samples into 342, 342 and 340 */
	for (int i = 0; i < 3; i++) {
		uint32_t m0 = shapes[i][0], m1 = shapes[i][1];
		struct mesh mesh = plain_mesh(m0, m1, 100);
		double weights = reduce(128.0 * 128 * 4 / m1, m0, 1), tokens = reduce(1024.0 * 128 * 4 / m0, m1, 0.01);
		near(objective(perceptron(1024, 128, 2, false), mesh, NULL, 0), 2 * weights + tokens);
		/* Published, and so in Alpa's space (tests/solver/problems/unit_alpa.c): the last bias is reduced whole over
		 * the slow axis. Here each member of the fast axis reduces a piece, then they gather. */
		double published = 2 * weights + tokens + reduce(128 * 4, m0, 1) + reduce(128.0 * 4 / m1, m0, 1);
		double pieces = reduce(128.0 * 4 / m1, m0, 1) + (m1 - 1.0) / m1 * 128 * 4 * 0.01,
			   found = objective(perceptron(1024, 128, 2, true), mesh, NULL, 0);
		near(found, published - reduce(128 * 4, m0, 1) + pieces);
		cr_assert_lt(found, published);
		near(objective(perceptron(1024, 128, 12, false), mesh, NULL, 0), 12 * weights + 11 * tokens);
	}
}

Test(sharding, alpa_data_parallelism_by_force)
{
	struct graph *graph = perceptron(128, 1024, 2, false);
	struct placement_pin pin[32];
	uint32_t pins = 0;
	for (uint32_t t = 0; t < graph->tensors; t++)  /* samples are split wherever there are any */
		for (uint8_t d = 0; d < graph->tensor[t].dims; d++)
			if (graph->tensor[t].shape[d] == 128)
				pin[pins++] = (struct placement_pin) { t, 0, (int8_t)d };
	for (uint32_t t = 0; t < graph->tensors; t++) {  /* so gradients of weights are sums over them */
		uint32_t writer = graph->tensor[t].writer;
		if (writer != NONE && graph->op[writer].phase == PHASE_BACKWARD && graph->tensor[t].shape[0] == 1024 &&
			graph->tensor[t].shape[1] == 1024 && strstr(graph->op[writer].type, "mm"))
			pin[pins++] = (struct placement_pin) { t, 0, PLACE_PARTIAL };
	}
	near(objective(graph, plain_mesh(4, 1, 1), pin, pins), 2 * reduce(1024.0 * 1024 * 4, 4, 1));
}

/* ---- built-in models ------------------------------------------------------------------------- */

struct setting {
	struct graph *graph;
	struct rules *rules;
	struct units units;
	struct mesh mesh;
	struct axis_roles roles[MESH_AXES];
	struct device_preset preset;
	struct op_times times;
	struct fold fold;
	struct sharding_options options;
};

static void open_model(struct setting *setting, const char *name, uint32_t layers, int64_t batch, int64_t seq,
	int64_t hidden, uint32_t dp, uint32_t tp)
{
	struct model_config config = model_find(name)->config;
	config.layers = layers;
	config.batch = batch;
	if (seq > 0)
		config.seq = config.positions = seq;
	if (hidden > 0) {
		config.hidden = hidden;
		config.heads = hidden / 64;
	}
	config.vocab = 50304;
	*setting = (struct setting) { .rules = rules_new(), .preset = device_preset(DEVICE_NONE) };
	setting->graph = step_of_config(name, config, (struct model_training){ .optimizer = OPTIMIZER_ADAM });
	cr_assert_eq(units_find(setting->graph, setting->rules, &setting->units), OK);
	struct {
		const char *name;
		uint32_t size, inside;
		const struct axis_roles *roles;
	} axis[2] = { { "dp", dp, tp, &roles_data }, { "tp", tp, 1, &roles_tensor_sp } };
	for (int i = 0; i < 2; i++)
		if (axis[i].size > 1) {
			setting->roles[setting->mesh.axes] = *axis[i].roles;
			mesh_add_axis(&setting->mesh, axis[i].name, axis[i].size, axis[i].inside, 8, &setting->preset.machine);
		}
	cr_assert_eq(op_times_find(&setting->units, setting->rules, &setting->preset.machine, &setting->times), OK);
	cr_assert_eq(fold_find(setting->graph, units_label, &setting->units, 2, &setting->fold), OK);
	setting->options = (struct sharding_options){ .strategy = STRATEGY_AUTO,
		.roles = setting->roles,
		.memory = -1,
		.exposed = 100,
		.clock = op_times_clock(&setting->times),
		.fold = &setting->fold };
}

static void setting_drop(struct setting *setting)
{
	fold_free(&setting->fold);
	op_times_free(&setting->times);
	units_free(&setting->units);
	rules_free(setting->rules);
	graph_release(setting->graph);
}

static enum status find(
	struct setting *setting, enum shard_strategy strategy, struct sharding *sharding, struct sharding_report *report)
{
	struct control control = { 0 };
	struct error error = { 0 };
	setting->options.strategy = strategy;
	enum status status = sharding_find(
		&setting->units, &setting->mesh, &setting->options, &control, sharding, report, &error);
	cr_assert(status == OK || status == INFEASIBLE, "%s: %d %s", strategy_names[strategy], (int)status, error.text);
	return status;
}

static struct sharding_cost cost_of(struct setting *setting, enum shard_strategy strategy)
{
	OWN(sharding) sharding;
	OWN(sharding_report) report;
	cr_assert_eq(find(setting, strategy, &sharding, &report), OK);
	struct sharding_cost cost = report.cost;
	return cost;
}

/* The role of the unit that a module's first product of matrices is split along. */
static uint8_t role_of(const struct setting *setting, const struct sharding *sharding, const char *module)
{
	const struct units *units = &setting->units;
	for (uint32_t op = 0; op < setting->graph->ops; op++)
		if (strcmp(setting->graph->op[op].module, module) == 0 && strstr(setting->graph->op[op].type, "mm")) {
			int8_t unit = sharding->split[op].on[0];
			return unit < 0 ? ROLE_NONE : units->unit[units->unit_start[op] + (uint32_t)unit].role;
		}
	return ROLE_NONE;
}

/* What auto splits the first product of matrices of each module along, beside an expert's sharding; norms: the role of
 * those of a module, forward. It is proved the fastest, so never slower than the expert's. */
struct expected { const char *module; uint8_t role; };

static void rediscover(
	struct setting *setting, const struct expected *expected, size_t modules, const char *norms, uint8_t role)
{
	OWN(sharding) sharding;
	OWN(sharding_report) report;
	cr_assert_eq(find(setting, STRATEGY_AUTO, &sharding, &report), OK);
	cr_assert(proof_closed(&report.proof));
	for (size_t i = 0; i < modules; i++)
		cr_assert_eq(role_of(setting, &sharding, expected[i].module), expected[i].role, "%s is split along %s",
			expected[i].module, factor_role_names[role_of(setting, &sharding, expected[i].module)]);
	for (uint32_t op = 0; op < setting->graph->ops; op++)
		if (strcmp(setting->graph->op[op].module, norms) == 0 && setting->graph->op[op].phase == PHASE_FORWARD) {
			int8_t unit = sharding.split[op].on[0];
			cr_assert(unit >= 0 && setting->units.unit[setting->units.unit_start[op] + (uint32_t)unit].role == role);
		}
	struct sharding_cost expert = cost_of(setting, STRATEGY_MEGATRON);
	cr_assert_leq(report.cost.total, expert.total);
	printf("auto %.2f ms, the expert's %.2f ms\n", (double)report.cost.total / 1e9, (double)expert.total / 1e9);
	setting_drop(setting);
}

/* Where one sample leaves nothing for data parallelism and weights outweigh activations: columns, then rows, and the
 * sequence between. */
static void rediscover_megatron(int64_t hidden)
{
	static const struct expected gpt[] = { { "h.1.attn.c_attn", ROLE_HEADS }, { "h.1.attn.c_proj", ROLE_HEADS },
		{ "h.1.mlp.c_fc", ROLE_FFN }, { "h.1.mlp.c_proj", ROLE_FFN } };
	struct setting setting;
	open_model(&setting, "gpt", 4, 1, 2048, hidden, 1, 4);
	rediscover(&setting, gpt, sizeof gpt / sizeof *gpt, "h.1.ln_2", ROLE_SEQUENCE);
}

Test(sharding, megatron_is_rediscovered_small) { rediscover_megatron(1024); }
Test(sharding, megatron_is_rediscovered_large) { rediscover_megatron(2048); }

static void rediscover_megatron_in_llama(int64_t hidden)
{
	static const struct expected llama[] = { { "layers.1.self_attn.q_proj", ROLE_HEADS },
		{ "layers.1.self_attn.o_proj", ROLE_HEADS }, { "layers.1.mlp.gate_proj", ROLE_FFN },
		{ "layers.1.mlp.up_proj", ROLE_FFN }, { "layers.1.mlp.down_proj", ROLE_FFN }, { "lm_head", ROLE_VOCABULARY } };
	struct setting setting;
	open_model(&setting, "llama", 3, 1, 2048, hidden, 1, 4);
	rediscover(&setting, llama, sizeof llama / sizeof *llama, "layers.1.post_attention_layernorm", ROLE_SEQUENCE);
}

Test(sharding, megatron_is_rediscovered_in_llama_small) { rediscover_megatron_in_llama(1024); }
Test(sharding, megatron_is_rediscovered_in_llama_large) { rediscover_megatron_in_llama(2048); }

/* Where there are samples for every device, and experts: each device has its samples, and some of the experts (GShard,
 * arXiv 2006.16668). */
static void rediscover_experts(int64_t seq)
{
	static const struct expected moe[] = { { "h.1.attn.c_attn", ROLE_BATCH }, { "h.1.attn.c_proj", ROLE_BATCH },
		{ "h.1.moe.gate", ROLE_BATCH }, { "h.1.moe.experts", ROLE_EXPERTS } };
	struct setting setting;
	open_model(&setting, "moe", 2, 4, seq, 512, 1, 4);
	setting.roles[0] = roles_experts;
	rediscover(&setting, moe, sizeof moe / sizeof *moe, "h.1.ln_2", ROLE_BATCH);
}

Test(sharding, experts_are_rediscovered_small) { rediscover_experts(512); }
Test(sharding, experts_are_rediscovered_large) { rediscover_experts(2048); }

/* Where activations outweigh weights, and memory is short: the batch is split, and so are parameters and states. */
static void rediscover_fsdp(int64_t hidden)
{
	OWN(setting) setting;
	OWN(sharding) sharding;
	OWN(sharding_report) report;
	open_model(&setting, "gpt", 3, 8, 1024, hidden, 4, 1);
	cr_assert_eq(find(&setting, STRATEGY_MINRED, &sharding, &report), OK);
	cr_assert_eq(role_of(&setting, &sharding, "h.1.mlp.c_fc"), ROLE_BATCH);
	cr_assert_eq(role_of(&setting, &sharding, "h.1.attn.c_attn"), ROLE_BATCH);
	uint32_t weight = graph_find_tensor(setting.graph, "h.1.mlp.c_fc.weight");
	cr_assert(weight != NONE && sharding.produced[weight].on[0] >= 0);
	cr_assert_leq(report.cost.usage, sharding_slack(report.least_usage, 0));
}

Test(sharding, fsdp_is_rediscovered_small) { rediscover_fsdp(512); }
Test(sharding, fsdp_is_rediscovered_large) { rediscover_fsdp(1024); }

#define NEAR 200 /* within a memory limit a plan and its bound are less than so small a part from each other */

/* What a search finds, which it proves but for what a limit leaves open; folded ops as expected. */
static int64_t searched_objective(
	struct setting *setting, const struct fold *fold, int64_t memory, int64_t *bound, int64_t *usage)
{
	OWN(sharding) sharding;
	OWN(sharding_report) report;
	setting->options.fold = fold;
	setting->options.memory = memory;
	cr_assert_eq(find(setting, STRATEGY_AUTO, &sharding, &report), OK);
	bool near = report.proof.value - report.proof.bound < report.proof.value / NEAR;
	cr_assert((memory < 0 ? proof_closed(&report.proof) : near) && (report.folded > 0) == (fold != NULL),
		"%s memory %ld: %ld, bound %ld by %s, %u folded", fold ? "folded" : "written out", (long)memory,
		(long)report.proof.value, (long)report.proof.bound, report.proof.by, report.folded);
	cr_assert(memory < 0 || report.cost.usage <= memory);
	*usage = report.cost.usage;
	*bound = report.proof.bound;
	return report.proof.value;
}

static int64_t least_usage(struct setting *setting)
{
	OWN(sharding) sharding;
	OWN(sharding_report) report;
	setting->options.memory = 0;
	cr_assert_eq(find(setting, STRATEGY_AUTO, &sharding, &report), INFEASIBLE);
	int64_t least = report.cost.usage;
	return least;
}

Test(sharding, folded_is_as_good_as_written_out)
{
	for (uint32_t layers = 2; layers <= test_rounds(3, 6); layers++) {
		OWN(setting) setting;
		int64_t usage, other, bound, other_bound;
		open_model(&setting, "gpt", layers, 4, 128, 256, 1, 4);
		int64_t folded = searched_objective(&setting, &setting.fold, -1, &bound, &usage),
				written = searched_objective(&setting, NULL, -1, &other_bound, &other);
		cr_assert_eq(folded, written, "%u layers: %ld folded, %ld written out", layers, (long)folded, (long)written);
		/* Some layers must do with less than the fastest takes. */
		int64_t least = least_usage(&setting), cap = least + (usage - least) / 2;
		folded = searched_objective(&setting, &setting.fold, cap, &bound, &usage);
		written = searched_objective(&setting, NULL, cap, &other_bound, &other);
		cr_assert(bound <= written && other_bound <= folded && labs(folded - written) < folded / NEAR,
			"%u layers within %ld bytes: %ld folded, %ld written out", layers, (long)cap, (long)folded, (long)written);
	}
}

Test(sharding, plans_over_two_axes_have_a_bound)
{
	OWN(setting) setting;
	open_model(&setting, "gpt", 1, 16, 64, 128, 2, 4);
	int64_t usage = 0;
	for (int capped = 0; capped < (int)test_rounds(1, 2); capped++) {
		OWN(sharding) sharding;
		OWN(sharding_report) report;
		setting.options.memory = capped ? usage - usage / 20 : -1;
		enum status status = find(&setting, STRATEGY_AUTO, &sharding, &report);
		cr_assert_eq(status, OK);
		cr_assert(report.proof.bound > 0 && report.proof.bound <= report.proof.value);
		cr_assert_lt((double)(report.proof.value - report.proof.bound), 0.05 * (double)report.proof.value);
		cr_assert(!capped || report.cost.usage <= setting.options.memory);
		cr_assert(capped || report.cost.total < cost_of(&setting, STRATEGY_MEGATRON).total);
		cr_assert(capped ||
			report.proof.bound <= cost_of(&setting, STRATEGY_DATA).total + cost_of(&setting, STRATEGY_DATA).ties);
		usage = report.cost.usage;
	}
}

/* A query's weight has the extents of an output's, but its heads are rows, not columns: cut alike they would fall
 * apart. */
Test(sharding, copies_of_a_segment_can_be_split_alike)
{
	OWN(setting) setting;
	OWN(sharding) sharding;
	OWN(sharding_report) report;
	struct error error = { 0 };
	open_model(&setting, "llama", 1, 4, 128, 1024, 1, 8);
	const struct units *units = &setting.units;
	for (uint32_t s = 0; s < setting.fold.segments; s++) {
		const struct fold_segment *segment = &setting.fold.segment[s];
		for (uint32_t i = 0; i < segment->copies * segment->ops; i++) {
			uint32_t first = segment->op[i % segment->ops], op = segment->op[i];
			cr_assert_eq(unit_count(units, op), unit_count(units, first));
			for (uint32_t u = 0; u < unit_count(units, op); u++)
				cr_assert_eq(units->unit[units->unit_start[op] + u].size,
					units->unit[units->unit_start[first] + u].size, "%s and %s", setting.graph->op[op].name,
					setting.graph->op[first].name);
		}
	}
	cr_assert_eq(find(&setting, STRATEGY_MINRED, &sharding, &report), OK);
	OWN(graph) *device = device_graph_build(units, &sharding, 0, &error);
	cr_assert_not_null(device, "%s", error.text);
	cr_assert_eq(device_graph_check(units, &sharding, setting.rules, device, &error), OK, "%s", error.text);
}

Test(sharding, the_network_counts_what_the_sharding_takes)
{
	OWN(setting) setting;
	struct sharding sharding;
	struct sharding_report report;
	open_model(&setting, "llama", 2, 4, 256, 512, 1, 4);
	setting.options.effort = 40000000;
	cr_assert_eq(find(&setting, STRATEGY_AUTO, &sharding, &report), OK);
	cr_assert_leq(report.cost.total, report.proof.value);
	int64_t fastest = report.cost.usage, time = report.cost.total;
	sharding_free(&sharding);
	sharding_report_free(&report);
	setting.options.memory = fastest - fastest / 20;
	if (find(&setting, STRATEGY_AUTO, &sharding, &report) == OK) {
		cr_assert_leq(report.cost.usage, setting.options.memory);
		cr_assert_geq(report.cost.total + report.cost.total / 10000, time);
	}
	sharding_free(&sharding);
	sharding_report_free(&report);
}

/* ---- dominated strategies, by the definition ------------------------------------------------- */

/* What t pays more than s on an edge at the most, in one copy of their node; INT64_MAX: t may not where s may,
 * INT64_MIN: s goes with nothing. */
static int64_t most_more(
	const struct shard_chain *chain, const bool *gone, const struct chain_edge *edge, bool from, uint32_t t, uint32_t s)
{
	uint32_t other = from ? edge->to : edge->from, columns = chain->first[edge->to + 1] - chain->first[edge->to];
	int64_t most = INT64_MIN;
	for (uint32_t i = 0; i < chain->first[other + 1] - chain->first[other]; i++) {
		int64_t of_s = chain->pair[edge->table + (from ? s * columns + i : i * columns + s)];
		int64_t of_t = chain->pair[edge->table + (from ? t * columns + i : i * columns + t)];
		if (!gone[chain->first[other] + i] && of_s < SHARD_FORBIDDEN)
			most = of_t >= SHARD_FORBIDDEN || most == INT64_MAX ? INT64_MAX : of_t - of_s > most ? of_t - of_s : most;
	}
	return most;
}

static bool dominates(const struct shard_chain *chain, const bool *gone, uint32_t node, uint32_t t, uint32_t s)
{
	int64_t more = chain->cost[chain->first[node] + t] - chain->cost[chain->first[node] + s];
	if (chain->usage[chain->first[node] + t] > chain->usage[chain->first[node] + s])
		return false;
	for (uint32_t e = 0; e < 2 * chain->edges; e++) {
		const struct chain_edge *edge = &chain->edge[e / 2];
		bool from = e % 2 == 0;
		uint8_t own = from ? edge->from_where : edge->to_where, far = from ? edge->to_where : edge->from_where;
		if ((from ? edge->from : edge->to) != node)
			continue;
		int64_t most = edge->from == edge->to && !edge->step ? INT64_MAX : most_more(chain, gone, edge, from, t, s);
		if (most == INT64_MAX)
			return false;
		if ((edge->step || own == CHAIN_FIRST || own == CHAIN_LAST) && most < 0)
			most = 0;
		if (most == INT64_MIN)
			return true;
		more += most *
			(own != CHAIN_EVERY && far == CHAIN_EVERY ? chain->copies[chain->segment[from ? edge->to : edge->from]]
			: 1);
	}
	return more <= 0;
}

static uint32_t drop_slowly(const struct shard_chain *chain, bool *gone)
{
	uint32_t dropped = 0, before = NONE;
	for (int round = 0; round < 4 && before != dropped; round++) {
		before = dropped;
		for (uint32_t node = 0; node < chain->nodes; node++)
			for (uint32_t s = chain->first[node]; s < chain->first[node + 1]; s++)
				for (uint32_t t = chain->first[node]; t < chain->first[node + 1] && !gone[s]; t++)
					if (t != s && !gone[t] && dominates(chain, gone, node, t - chain->first[node], s - chain->first[node])) {
						gone[s] = true;
						dropped++;
					}
	}
	return dropped;
}

static void compare_pruning(const char *model, uint32_t dp, uint32_t tp, bool strict)
{
	OWN(setting) setting;
	OWN(network) slow, fast;
	struct error error;
	open_model(&setting, model, test_rounds(3, 5), 8, 128, 0, dp, tp);
	struct network_options options = { .free = 3,
		.fold = &setting.fold,
		.clock = setting.options.clock,
		.exposed = 50,
		.narrow = true,
		.strict = strict };
	cr_assert_eq(network_build(&setting.units, &setting.mesh, &options, &slow, &error), OK);
	cr_assert_eq(network_build(&setting.units, &setting.mesh, &options, &fast, &error), OK);
	bool *gone = calloc(slow.chain.first[slow.chain.nodes], sizeof *gone);
	uint32_t dropped = drop_slowly(&slow.chain, gone), kept = 0;
	cr_assert_eq(network_prune(&fast, NULL), OK);
	cr_assert(dropped > 0 && fast.dropped == dropped, "%s: %u dropped, not %u", model, fast.dropped, dropped);
	for (uint32_t i = 0; i < slow.chain.first[slow.chain.nodes]; i++)
		if (!gone[i]) {
			cr_assert(fast.chain.cost[kept] == slow.chain.cost[i] && split_equal(fast.choice[kept].split, slow.choice[i].split)
				&& placement_equal(fast.choice[kept].placement, slow.choice[i].placement));
			kept++;
		}
	free(gone);
}

Test(sharding, what_is_pruned_is_dominated)
{
	static const struct {
		const char *model;
		uint32_t dp, tp;
	} cases[] = { { "gpt", 1, 8 }, { "llama", 4, 1 }, { "moe", 1, 4 }, { "gpt", 2, 4 } };
	for (size_t i = 0; i < test_rounds(3, sizeof cases / sizeof *cases); i++)
		for (int strict = 0; strict < 2; strict++)
			compare_pruning(cases[i].model, cases[i].dp, cases[i].tp, strict);
}

/* What a sum remembers of other shardings, and of other meshes, changes nothing; computation and what is kept, summed
 * anew. */
Test(sharding, one_sum_for_many_shardings)
{
	static const struct axis_roles *const all[] = { &roles_data, &roles_tensor, &roles_tensor_sp, &roles_context };
	OWN(setting) setting;
	uint64_t seed = test_seed(), random = seed;
	open_model(&setting, "gpt", 3, 4, 128, 0, 2, 2);
	const struct units *units = &setting.units;
	struct op_clock clock = setting.options.clock;
	struct sharding_sum *sum = sharding_sum_new(units, clock, 40, 1);
	for (int round = 0; round < 40; round++) {
		struct mesh mesh = setting.mesh;
		OWN(sharding) sharding;
		struct sharding_cost cost, anew;
		struct axis_roles roles[MESH_AXES];
		for (uint32_t a = 0; a < mesh.axes; a++) {
			mesh.axis[a].size = 2u << random_next(&random) % 2;
			mesh.axis[a].near_size = 1;
			roles[a] = *all[random_next(&random) % 4];
			roles[a].zero = (uint8_t)(random_next(&random) % 4);
		}
		cr_assert_eq(split_by_roles(units, &mesh, roles, &sharding), OK);
		cr_assert_eq(sharding_sum_cost(sum, &sharding, &cost), OK);
		cr_assert_eq(sharding_cost(units, &sharding, clock, 40, 1, &anew), OK);
		cr_assert_eq(memcmp(&cost, &anew, sizeof cost), 0, "SEED=%lu round %d", (unsigned long)seed, round);
		for (uint32_t op = 0; op < units->graph->ops; op++)
			cost.compute -= clock.takes(clock.context, units, &mesh, op, sharding.split[op]);
		for (uint32_t t = 0; t < units->graph->tensors; t++)
			if (units->graph->tensor[t].writer == NONE && units->graph->tensor[t].alias == NONE)
				cost.kept -= placement_bytes(units, &mesh, t, sharding.produced[t]);
		cr_assert(cost.compute == 0 && cost.kept == 0, "SEED=%lu round %d: %lld ps, %lld bytes too many",
			(unsigned long)seed, round, (long long)cost.compute, (long long)cost.kept);
	}
	sharding_sum_free(sum);
}

Test(sharding, least_redundancy_is_never_behind_megatron)
{
	OWN(setting) setting;
	struct sharding sharding;
	struct sharding_report report;
	open_model(&setting, "gpt", 2, 4, 256, 512, 1, 4);
	setting.options.effort = 40000000;
	struct sharding_cost megatron = cost_of(&setting, STRATEGY_MEGATRON);
	setting.options.memory = megatron.usage;
	cr_assert_eq(find(&setting, STRATEGY_AUTO, &sharding, &report), OK);
	cr_assert(report.cost.usage <= megatron.usage && report.cost.total <= megatron.total);
	sharding_free(&sharding);
	sharding_report_free(&report);
	setting.options.memory = -1;
	struct sharding_cost proved = cost_of(&setting, STRATEGY_MINRED);
	cr_assert_leq(proved.usage, megatron.usage);
	setting.options.unproved = true; /* the bound changes nothing */
	struct sharding_cost unproved = cost_of(&setting, STRATEGY_MINRED);
	cr_assert(unproved.usage == proved.usage && unproved.total == proved.total);
}

Test(sharding, tap_tries_every_pattern_of_unique_weights)
{
	OWN(setting) setting;
	OWN(sharding) sharding;
	OWN(sharding_report) report;
	open_model(&setting, "gpt", 4, 1, 512, 1024, 1, 4);
	cr_assert_eq(find(&setting, STRATEGY_TAP, &sharding, &report), OK);
	uint32_t layer = 0, chosen = 0;
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; i < report.candidates; i++)
		if (strncmp(report.candidate[i].text, "4 x ", 4) == 0) {
			layer++;
			chosen += report.candidate[i].chosen;
			least = report.candidate[i].cost < least ? report.candidate[i].cost : least;
			cr_assert(!report.candidate[i].chosen ||
				strstr(report.candidate[i].text, "c_fc.weight rows, c_proj.weight columns"));
		}
	cr_assert_eq(layer, 81);
	cr_assert_eq(chosen, 1);
	for (uint32_t i = 0; i < report.candidates; i++)
		cr_assert(!report.candidate[i].chosen || strncmp(report.candidate[i].text, "4 x ", 4) != 0 ||
			report.candidate[i].cost == least);
}
