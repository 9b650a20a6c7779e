/* unit_volumes.c: what experts' shardings send, collective by collective, against the formulas that were published for
 * them.
 *
 * Formulas are of a model's sizes alone: nothing here knows how a sharding is made. Each counts what one device sends,
 * with rings: (n - 1) / n of what is gathered or scattered, twice that of what is all-reduced, (n - 1) / n^2 of what is
 * exchanged by all-to-all. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/shard/device_graph.h"
#include "solver/shard/find.h"
#include "solver/step/train.h"
#include "src/models/models.h"
#include "src/read/input.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

/* A Llama in f32, sizes as formulas call them. */
enum { L = 3, B = 8, S = 32, H = 64, HEADS = 8, KV = 4, WIDTH = H / HEADS, FFN = 96, V = 160, N = 4, BYTES = 4 };
#define LAYER_WEIGHTS (2 * H * H + 2 * H * KV * WIDTH + 3 * H * FFN)
#define WEIGHTS ((int64_t)L * (LAYER_WEIGHTS + 2 * H) + H + 2 * H * V)
#define ACTIVATION ((int64_t)B * S * H * BYTES)
#define LABELS ((int64_t)B * S * 8)
#define LOSS (2 * 4)                     /* at most: a number, which devices add up */

struct volumes { int64_t bytes[COLLECTIVE_COUNT], count[COLLECTIVE_COUNT]; };
static char what[100] = "llama";        /* is looked at */

static struct graph *llama(bool fused)
{
	struct model_config config = sized_model("llama",
		(struct model_config){ .layers = L,
			.batch = B,
			.seq = S,
			.hidden = H,
			.heads = HEADS,
			.kv_heads = KV,
			.head_width = WIDTH,
			.ffn = FFN,
			.vocab = V });
	config.flash = true;
	config.fused = fused;
	return step_of_config("llama", config, (struct model_training){ .optimizer = OPTIMIZER_ADAM });
}

static bool is_attention(const struct rules *rules, const struct graph *graph, uint32_t op)
{
	const struct rule *rule = rules_find(rules, graph->op[op].type);
	return rule && (rule->cost == COST_ATTENTION || rule->cost == COST_ATTENTION_BACKWARD);
}

static void split_along(const struct units *units, struct sharding *sharding, uint32_t op, enum factor_role role)
{
	for (uint32_t u = 0; u < unit_count(units, op); u++)
		if (units->unit[units->unit_start[op] + u].role == role) {
			struct split split = sharding->split[op];
			split.on[0] = (int8_t)u;
			sharding_set(sharding, units, op, split);
			return;
		}
}

/* DeepSpeed-Ulysses (Jacobs et al., arXiv 2309.14509): sequences are cut, but heads where attention runs; so gradients
 * of keys and values are no partial sums there. */
static void give_heads(const struct rules *rules, const struct units *units, struct sharding *sharding)
{
	const struct graph *graph = units->graph;
	for (uint32_t op = 0; op < graph->ops; op++)
		if (is_attention(rules, graph, op))
			split_along(units, sharding, op, ROLE_HEADS);
		else if (sharding->split[op].on[0] == UNIT_PARTIAL &&
			sharding->produced[graph->reads.item[graph->reads.start[op]]].on[0] != PLACE_PARTIAL)
			split_along(units, sharding, op, ROLE_SEQUENCE);
}

/* What a device's graph sends over one axis of N devices. */
static struct volumes sent_by(struct graph *step, const struct axis_roles *roles, uint8_t zero, bool ulysses)
{
	struct rules *rules = test_rules();
	struct error error = { 0 };
	struct axis_roles role[MESH_AXES] = { *roles };
	struct mesh mesh = { .axes = 1, .padding = true,
		.axis = { { .name = "dp", .size = N, .near_size = N, .near = { 2000000, INT64_C(100000000000) } } } };
	OWN(graph) *form = graph_device_form(step, rules, &error),
			   *graph = form ? graph_share_views(form, rules, &error) : NULL;
	cr_assert_not_null(graph, "%s", error.text);
	OWN(units) units;
	OWN(sharding) sharding;
	struct volumes volumes = { 0 };
	role[0].zero = zero;
	mesh.axis[0].far = mesh.axis[0].near;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	cr_assert_eq(split_by_roles(&units, &mesh, role, &sharding), OK);
	if (ulysses)
		give_heads(rules, &units, &sharding);
	OWN(graph) *device = device_graph_build(&units, &sharding, 0, &error);
	cr_assert_not_null(device, "%s", error.text);
	cr_assert_eq(device_graph_check(&units, &sharding, rules, device, &error), OK, "%s", error.text);
	for (uint32_t op = 0; op < device->ops; op++) {
		const struct collective *said = device->op[op].collective;
		if (said && said->moved > 0 && said->kind < COLLECTIVE_COUNT) {
			volumes.bytes[said->kind] += said->moved;
			volumes.count[said->kind]++;
		}
	}
	return volumes;
}

static struct volumes send(const struct axis_roles *roles, uint8_t zero, bool ulysses)
{
	OWN(graph) *step = llama(true);
	return sent_by(step, roles, zero, ulysses);
}

static int64_t ring(int64_t bytes)
{
	return bytes * (N - 1) / N;
}

static void expect(const struct volumes *volumes, enum collective_kind kind, int64_t bytes, int64_t more)
{
	cr_expect(volumes->bytes[kind] >= bytes && volumes->bytes[kind] <= bytes + more, "%s, %s: %ld bytes, published %ld",
		what, collective_names[kind], (long)volumes->bytes[kind], (long)bytes);
}

/* Shoeybi et al., arXiv 1909.08053, section 3: two all-reduces a layer and pass; the embedding's result and the
 * gradient of the last norm's besides. */
Test(volumes, megatron)
{
	struct volumes volumes = send(&roles_tensor, 0, false);
	expect(&volumes, COLLECTIVE_ALL_REDUCE, 2 * ring(ACTIVATION) * (4 * L + 2), 2 * LOSS);
	expect(&volumes, COLLECTIVE_ALL_GATHER, 0, 0);
	expect(&volumes, COLLECTIVE_REDUCE_SCATTER, 0, 0);
	expect(&volumes, COLLECTIVE_ALL_TO_ALL, 0, 0);
}

/* Korthikanti et al., arXiv 2205.05198, section 4.2.2: an all-gather and a reduce-scatter in place of each all-reduce,
 * and the input of the two column-parallel products gathered again for their weights: 6 and 4 a layer. Gradients of
 * norms' weights are summed over the devices. Labels, which every device needs, are gathered too: 8 bytes a token. */
Test(volumes, megatron_with_sequence_parallelism)
{
	struct volumes volumes = send(&roles_tensor_sp, 0, false);
	expect(&volumes, COLLECTIVE_ALL_GATHER, ring(ACTIVATION) * (6 * L + 3), ring(LABELS));
	expect(&volumes, COLLECTIVE_REDUCE_SCATTER, ring(ACTIVATION) * (4 * L + 2), 0);
	expect(&volumes, COLLECTIVE_ALL_REDUCE, 2 * ring(H * BYTES) * (2 * L + 1), 2 * LOSS);
	cr_expect_eq(volumes.count[COLLECTIVE_ALL_GATHER], 6 * L + 3 + 1);
	cr_expect_eq(volumes.count[COLLECTIVE_REDUCE_SCATTER], 4 * L + 2);
}

/* Rajbhandari et al., arXiv 1910.02054, section 7: 2 psi without ZeRO and in stages 1 and 2, 3 psi in stage 3. The
 * table of the embedding has no part in the backward pass. */
Test(volumes, zero_stages)
{
	struct volumes none = send(&roles_data, 0, false), first = send(&roles_data, 1, false),
				   second = send(&roles_data, 2, false), third = send(&roles_data, 3, false);
	expect(&none, COLLECTIVE_ALL_REDUCE, 2 * ring(WEIGHTS * BYTES), 2 * LOSS);
	expect(&none, COLLECTIVE_ALL_GATHER, 0, 0);
	for (int stage = 1; stage <= 2; stage++) {
		struct volumes *volumes = stage == 1 ? &first : &second;
		expect(volumes, COLLECTIVE_REDUCE_SCATTER, ring(WEIGHTS * BYTES), 0);
		expect(volumes, COLLECTIVE_ALL_GATHER, ring(WEIGHTS * BYTES), 0);
		expect(volumes, COLLECTIVE_ALL_REDUCE, 0, 2 * LOSS);
	}
	expect(&third, COLLECTIVE_REDUCE_SCATTER, ring(WEIGHTS * BYTES), 0);
	expect(&third, COLLECTIVE_ALL_GATHER, ring(2 * WEIGHTS * BYTES - (int64_t)V * H * BYTES), 0);
	expect(&third, COLLECTIVE_ALL_REDUCE, 0, 2 * LOSS);
}

/* Liu, Zaharia, Abbeel, arXiv 2310.01889: keys and values go round once in the forward pass; in the backward pass they
 * do so again, and their gradients. With grouped queries those are the groups' own heads. Gradients of weights are
 * summed as with data parallelism. */
Test(volumes, ring_attention)
{
	struct volumes volumes = send(&roles_context, 0, false);
	int64_t keys = (int64_t)B * S * KV * WIDTH * BYTES;
	expect(&volumes, COLLECTIVE_ALL_GATHER, ring(keys) * 4 * L, 0);
	expect(&volumes, COLLECTIVE_REDUCE_SCATTER, ring(keys) * 2 * L, 0);
	expect(&volumes, COLLECTIVE_ALL_REDUCE, 2 * ring(WEIGHTS * BYTES), 2 * LOSS);
}

/* Jacobs et al., arXiv 2309.14509, section 3.2: queries, keys, values and the result are exchanged in the forward pass,
 * their gradients in the backward pass. */
Test(volumes, ulysses)
{
	struct volumes volumes = send(&roles_context, 0, true);
	int64_t queries = (int64_t)B * S * HEADS * WIDTH * BYTES, keys = (int64_t)B * S * KV * WIDTH * BYTES;
	expect(&volumes, COLLECTIVE_ALL_TO_ALL, 2 * L * (2 * queries + 2 * keys) * (N - 1) / (N * N), 0);
	expect(&volumes, COLLECTIVE_ALL_GATHER, 0, 0);
	expect(&volumes, COLLECTIVE_ALL_REDUCE, 2 * ring(WEIGHTS * BYTES), 2 * LOSS);
}

/* ---- depths 1 to 8, other families ----------------------------------------------------------- */

/* Bytes of all parameters, and of those that the backward pass computes with: views compute nothing. */
static void count_parameters(const struct graph *graph, int64_t *all, int64_t *backward)
{
	bool *computes = calloc(graph->storages, sizeof *computes);
	*all = *backward = 0;
	for (uint32_t op = 0; op < graph->ops; op++) {
		bool view = csr_length(&graph->writes, op) == 0 ||
			graph->tensor[graph->writes.item[graph->writes.start[op]]].alias != NONE;
		for (uint32_t i = graph->reads.start[op];
			!view && graph->op[op].phase == PHASE_BACKWARD && i < graph->reads.start[op + 1]; i++)
			computes[graph->tensor[graph->reads.item[i]].storage] = true;
	}
	for (uint32_t s = 0; s < graph->storages; s++)
		if (graph->storage[s].kind == KIND_PARAMETER && graph->storage[s].allocator == NONE) {
			*all += graph->storage[s].bytes;
			*backward += computes[s] ? graph->storage[s].bytes : 0;
		}
	free(computes);
}

/* norms: bytes of parameters of batch norms, whose gradients SyncBatchNorm has added up when it is done. */
static void expect_data_parallel(struct graph *step, int64_t norms)
{
	int64_t all, backward;
	count_parameters(step, &all, &backward);
	struct volumes none = sent_by(step, &roles_data, 0, false);
	expect(&none, COLLECTIVE_ALL_REDUCE, 2 * ring(all - norms), 4 * LOSS);
	expect(&none, COLLECTIVE_ALL_GATHER, 0, 0);
	expect(&none, COLLECTIVE_ALL_TO_ALL, 0, 0);
	for (uint8_t stage = 1; stage <= 3; stage++) {
		struct volumes volumes = sent_by(step, &roles_data, stage, false);
		expect(&volumes, COLLECTIVE_REDUCE_SCATTER, ring(all - norms), 0);
		expect(&volumes, COLLECTIVE_ALL_GATHER, ring(stage == 3 ? all + backward : all), 0);
		expect(&volumes, COLLECTIVE_ALL_REDUCE, 0, 4 * LOSS);
		expect(&volumes, COLLECTIVE_ALL_TO_ALL, 0, 0);
	}
}

/* Losses over a cut vocabulary add up a maximum and two sums for each token, or make their own. */
static void expect_megatron(struct graph *step, int64_t reduced, int64_t activation, int64_t tokens)
{
	struct volumes volumes = sent_by(step, &roles_tensor, 0, false);
	expect(&volumes, COLLECTIVE_ALL_REDUCE, 2 * ring(activation) * reduced, 2 * LOSS + 6 * tokens * BYTES);
	expect(&volumes, COLLECTIVE_ALL_GATHER, 0, 0);
	expect(&volumes, COLLECTIVE_REDUCE_SCATTER, 0, 0);
	expect(&volumes, COLLECTIVE_ALL_TO_ALL, 0, 0);
}

/* The same reductions as a gather and a scatter each, where gathered inputs of column-parallel products are gathered
 * again for their weights' gradients. */
static void expect_sequence_parallel(
	struct graph *step, int64_t reduced, int64_t gathered, int64_t activation, int64_t tokens)
{
	struct volumes volumes = sent_by(step, &roles_tensor_sp, 0, false);
	expect(&volumes, COLLECTIVE_REDUCE_SCATTER, ring(activation) * reduced, 0);
	expect(&volumes, COLLECTIVE_ALL_GATHER, ring(activation) * gathered, ring(3 * tokens * 8));
	expect(&volumes, COLLECTIVE_ALL_TO_ALL, 0, 0);
}

static const struct { const char *name; struct model_config sizes;
} families[] = {
	{ "gpt", { .heads = HEADS, .positions = S } },
	{ "llama", { .heads = HEADS, .kv_heads = KV, .head_width = WIDTH, .ffn = FFN } },
	{ "bert", { .heads = HEADS, .positions = S } },
	{ "t5", { .heads = HEADS, .head_width = WIDTH, .ffn = FFN } },
};

/* What is all-reduced beside a layer's four: the embedding's result and the gradient of what the vocabulary's
 * projection reads. T5 has three blocks in a layer of the decoder, two embeddings, and the gradient of the encoder's
 * result. */
static int64_t reductions(size_t family, int layers)
{
	return family == 3 ? 4 * layers + 6 * layers + 4 : 4 * layers + 2;
}

/* Inputs of column-parallel products that are gathered again: queries, keys and values are one's, the encoder's result
 * all its readers'; and the output projection's. */
static int64_t gathered_again(size_t family, int layers)
{
	return family == 3 ? 2 * layers + 3 * layers + 2 : 2 * layers + 1;
}

static struct graph *family_step(size_t family, int layers, bool flash)
{
	struct model_config sizes = families[family].sizes;
	sizes.layers = layers;
	sizes.batch = B;
	sizes.seq = S;
	sizes.hidden = H;
	sizes.vocab = V;
	struct model_config config = sized_model(families[family].name, sizes);
	config.flash = flash;
	config.dropout = false;
	snprintf(what, sizeof what, "%s of %d layers%s", families[family].name, layers, flash ? ", flash" : "");
	return step_of_config(families[family].name, config, (struct model_training){ .optimizer = OPTIMIZER_ADAM });
}

Test(volumes, of_transformers_are_those_published_at_every_depth)
{
	for (size_t f = 0; f < sizeof families / sizeof *families; f++)
		for (int layers = 1; layers <= 8; layers += test_rounds(layers == 1 ? 1 : 3, 1)) {
			OWN(graph) *step = family_step(f, layers, layers % 2 == 0);
			expect_data_parallel(step, 0);
			expect_megatron(step, reductions(f, layers), ACTIVATION, B * S);
			expect_sequence_parallel(
				step, reductions(f, layers), reductions(f, layers) + gathered_again(f, layers), ACTIVATION, B * S);
		}
}

/* PyTorch's own steps, as captured: gradients are added up in place, the residual's first, weights are transposed
 * twice, and what is let go of late says so. Depth 2, 32 wide, 8 samples of 16 tokens. */
Test(volumes, of_captured_transformers_are_those_published)
{
	static const char *const names[] = { "gpt2", "llama", "bert", "t5" };
	for (size_t f = 0; f < 4; f++) {
		struct error error = { 0 };
		char path[100];
		snprintf(path, sizeof path, "tests/solver/shard/captured/%s.jsonl.gz", names[f]);
		snprintf(what, sizeof what, "captured %s", names[f]);
		OWN(graph) *step = graph_open(path, NULL, &error);
		cr_assert_not_null(step, "%s", error.text);
		expect_data_parallel(step, 0);
		expect_megatron(step, reductions(f, 2), 8 * 16 * 32 * BYTES, 8 * 16);
	}
}

/* ---- stacks of products ---------------------------------------------------------------------- */

enum { ROWS = 64, WIDE = 48, INNER = 96 };

/* Products, two to a layer, with what an activation makes in between. residual: each layer is added to what it read. */
static struct graph *stack_step(int layers, bool residual, int inner, int wide)
{
	struct build build = { .draft = draft_new(), .phase = PHASE_FORWARD, .rules = test_rules() };
	struct error error = { 0 };
	uint32_t x = build_leaf(&build, "x", KIND_INPUT, DTYPE_F32, SHAPE(ROWS, wide)),
			 target = build_leaf(&build, "target", KIND_INPUT, DTYPE_F32, SHAPE(ROWS, wide));
	for (int i = 0; i < layers; i++) {
		char up[20], down[20];
		snprintf(up, sizeof up, "up.%d", i);
		snprintf(down, sizeof down, "down.%d", i);
		uint32_t a = build_leaf(&build, up, KIND_PARAMETER, DTYPE_F32, SHAPE(wide, inner)),
				 b = build_leaf(&build, down, KIND_PARAMETER, DTYPE_F32, SHAPE(inner, wide));
		uint32_t made = build_to_shape(&build, "aten.mm.default", x, SHAPE(ROWS, inner));
		build_read(&build, a);
		made = build_map(&build, "aten.gelu.default", IN(made));
		made = build_to_shape(&build, "aten.mm.default", made, SHAPE(ROWS, wide));
		build_read(&build, b);
		x = residual ? build_map(&build, "aten.add.Tensor", IN(made, x)) : made;
	}
	build_op(&build, "aten.mse_loss.default", IN(x, target));
	build_kind(&build, build_output(&build, DTYPE_F32, SCALAR), KIND_OUTPUT);
	build_finish(&build);
	cr_assert_eq(build.status, OK);
	OWN(graph) *forward = graph_build(build.draft, &error);
	cr_assert_not_null(forward, "%s", error.text);
	draft_free(build.draft);
	struct graph *step = train_step(
		forward, &(struct train_options){ .rules = test_rules(), .update = { .optimizer = OPTIMIZER_SGD } }, &error);
	cr_assert_not_null(step, "%s", error.text);
	snprintf(what, sizeof what, "%d layers of products%s, %d and %d wide", layers, residual ? " with residuals" : "",
		wide, inner);
	return step;
}

/* Shoeybi et al., section 3: columns, then rows. One sum for a layer's result, one for the gradient of what it reads,
 * but for the input's. */
Test(volumes, of_stacks_of_products_are_megatrons_at_every_depth)
{
	for (int layers = 1; layers <= 8; layers++)
		for (int kind = 0; kind < 6; kind++) {
			int inner = kind / 2 == 0 ? INNER : kind / 2 == 1 ? WIDE : WIDE / 2;
			OWN(graph) *step = stack_step(layers, kind % 2, inner, WIDE);
			expect_data_parallel(step, 0);
			expect_megatron(step, 2 * layers - 1, ROWS * WIDE * BYTES, 0);
		}
}

/* Megatron cuts the classifier: the gradient of what it reads is summed up. */
Test(volumes, of_convolutional_networks_are_those_published)
{
	static const char *const names[] = { "resnet18", "resnet50" };
	for (size_t i = 0; i < 2; i++) {
		struct model_config config = sized_model(
			names[i], (struct model_config){ .batch = B, .image = 32, .hidden = 16, .classes = 40 });
		OWN(graph) *step = step_of_config(names[i], config, (struct model_training){ .optimizer = OPTIMIZER_SGD });
		int64_t norms = 0, width = 0;
		snprintf(what, sizeof what, "%s", names[i]);
		for (uint32_t t = 0; t < step->tensors; t++) {
			const struct tensor *tensor = &step->tensor[t];
			const char *dot = strrchr(tensor->name, '.');
			norms += dot && strcmp(dot, ".running_mean") == 0 && tensor->writer == NONE ? 2 * tensor->bytes : 0;
			if (tensor->kind == KIND_PARAMETER && tensor->dims == 2 && tensor->writer == NONE)
				width = tensor->shape[1];
		}
		cr_assert(norms > 0 && width > 0);
		expect_data_parallel(step, norms);
		expect_megatron(step, 1, B * width * BYTES, B);
	}
}
