/* unit_models.c: built-in models against captured ones and published figures. */
#include <string.h>

#include "src/read/input.h"
#include "src/models/models.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

static int64_t bytes_of_kind(const struct graph *graph, enum kind kind)
{
	int64_t bytes = 0;
	for (uint32_t s = 0; s < graph->storages; s++)
		if (graph->storage[s].kind == kind)
			bytes += graph->storage[s].bytes;
	return bytes;
}

static const struct model_training adam = { .optimizer = OPTIMIZER_ADAM };

Test(models, built_in_models_agree_with_captured_ones)
{
	static const struct { const char *name, *sample; } pairs[] = {
		{ "gpt2", "samples/gpt2_b1_s1024_adam.jsonl.gz" }, { "gpt2-xl", "samples/gpt2_xl_b1_s1024_adam.jsonl.gz" },
		{ "bert-base", "samples/bert_base_b1_s512_adam.jsonl.gz" }, { "vit-b-16", "samples/vit_b_16_b1_adam.jsonl.gz" },
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct error error = { 0 };
		OWN(graph) *captured = graph_open(pairs[i].sample, NULL, &error);
		cr_assert_not_null(captured, "%s", error.text);
		OWN(graph) *built = step_of_config(pairs[i].name, model_find(pairs[i].name)->config, adam);
		cr_assert_eq(bytes_of_kind(built, KIND_PARAMETER), bytes_of_kind(captured, KIND_PARAMETER), "%s: parameters",
			pairs[i].name);
		cr_assert_eq(
			bytes_of_kind(built, KIND_OPTIMIZER), bytes_of_kind(captured, KIND_OPTIMIZER), "%s: state", pairs[i].name);
		int64_t peak = program_peak(built), truth = program_peak(captured);
		cr_assert_leq(llabs(peak - truth) * 100, truth, "%s: peak %ld, captured %ld", pairs[i].name, (long)peak, (long)truth);
	}
}

Test(models, presets_have_their_published_numbers_of_parameters)
{
	static const struct { const char *name; double millions; } published[] = {
		{ "gpt2-medium", 354.8 },
		{ "gpt2-large", 774.0 },
		{ "llama3-8b", 8030.3 },
		{ "llama3-70b", 70553.7 },
		{ "bert-large", 335.2 },
		{ "t5-large", 737.7 },
		{ "t5-3b", 2851.6 },
		{ "t5-11b", 11307.3 },
		{ "vit-l-16", 304.3 },
		{ "vit-h-14", 632.0 },
		{ "resnet18", 11.69 },
		{ "resnet34", 21.80 },
		{ "resnet50", 25.56 },
		{ "resnet101", 44.55 },
		{ "resnet152", 60.19 },
	};
	static const struct model_training forward = { .forward_only = true };
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		OWN(graph) *graph = step_of_config(published[i].name, model_find(published[i].name)->config, forward);
		double millions = (double)bytes_of_kind(graph, KIND_PARAMETER) / 4e6;
		cr_assert_float_eq(millions, published[i].millions, 0.001 * published[i].millions, "%s: %.2f million",
			published[i].name, millions);
	}
}

/* The parameters of deepseek-ai's published configurations (15.7, 236 and 671 billion), to the last; V3's corrections
 * of routing scores, which no gradient reaches, left out. Beside these its module for multi-token prediction, 11.6
 * billion: with copies of the table and of the head, as in the published file, 684.5 billion in all
 * (deepseek-ai/DeepSeek-V3: 671 of the main model, 14 of the module). */
Test(models, deepseek_has_the_parameters_of_its_published_configurations)
{
	static const struct {
		const char *name;
		int64_t parameters;
	} published[] = { { "deepseek-v2-lite", INT64_C(15706484224) }, { "deepseek-v2", INT64_C(235741434880) },
		{ "deepseek-v3", INT64_C(671026404352) } };
	static const struct model_training forward = { .forward_only = true };
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		const struct model_config *c = &model_find(published[i].name)->config;
		OWN(graph) *graph = step_of_config(published[i].name, *c, forward);
		int64_t head = c->head_width + c->rope_width, latent = c->kv_rank + c->rope_width, flops = 0;
		int64_t queries = c->q_rank ? c->q_rank * (c->hidden + 1 + c->heads * head) : c->hidden * c->heads * head;
		int64_t attention = queries + c->hidden * latent + c->kv_rank * (1 + c->heads * (c->head_width + c->value_width))
			+ c->heads * c->value_width * c->hidden;
		int64_t mixture = c->experts * c->hidden + 3 * c->hidden * c->expert_ffn * (c->experts + c->shared_experts);
		int64_t module = attention + 2 * c->hidden + mixture + 2 * c->hidden * c->hidden + 3 * c->hidden;
		int64_t sum = c->layers * (attention + 2 * c->hidden) + c->dense_layers * 3 * c->hidden * c->ffn +
			(c->layers - c->dense_layers) * mixture + 2 * c->vocab * c->hidden + c->hidden;
		cr_expect_eq(sum, published[i].parameters, "%s: %lld", published[i].name, (long long)sum);
		sum += c->mtp_layers * module;
		cr_expect_eq(c->mtp_layers, strcmp(published[i].name, "deepseek-v3") == 0);
		cr_expect(c->mtp_layers == 0 || (sum + 2 * c->vocab * c->hidden) / 1000000000 == 684);
		cr_expect_eq(bytes_of_kind(graph, KIND_PARAMETER), 4 * sum, "%s: %lld", published[i].name,
			(long long)bytes_of_kind(graph, KIND_PARAMETER) / 4);
		/* scores are as wide as queries, what is made of them as wide as values; a causal mask hides half of both */
		for (uint32_t op = 0; op < graph->ops && !flops; op++)
			flops = strstr(graph->op[op].type, "flash_attention") ? graph->op[op].flops : 0;
		cr_expect_eq(flops, c->heads * c->seq * c->seq * (head + c->value_width));
	}
}

Test(models, every_preset_trains_in_every_precision_without_an_op_that_has_no_rule)
{
	for (const struct model_preset *preset = model_presets; preset->name; preset++)
		for (enum precision precision = (preset - model_presets) % test_rounds(PRECISION_COUNT, 1);
			precision < PRECISION_COUNT; precision += test_rounds(PRECISION_COUNT, 1)) {
			struct model_config config = preset->config;
			config.layers = config.layers > 2 ? 2 : config.layers;
			struct model_training training = { .optimizer = OPTIMIZER_ADAMW, .precision = precision };
			OWN(graph) *step = step_of_config(preset->name, config, training);
			cr_assert_eq(step->about.opaques, 0, "%s: %s", preset->name, step->about.opaques ? step->about.opaque[0] : "");
			cr_assert_not_null(step->about.synthesised);
			cr_assert_eq(step->repaired, 0);
		}
}

static uint32_t ops_of(const struct graph *graph, const char *type)
{
	uint32_t count = 0;
	for (uint32_t op = 0; op < graph->ops; op++)
		count += strcmp(graph->op[op].type, type) == 0;
	return count;
}

/* Where layers alone are compiled, the loss is the library's: log-softmax and both gradients of it lie side by side in
 * fp32. Labels are shifted, so no logits are copied. */
Test(models, the_loss_may_stay_eager_where_layers_are_compiled)
{
	const struct model_config layers = { .family = FAMILY_LLAMA,
		.layers = 2,
		.hidden = 64,
		.heads = 4,
		.kv_heads = 2,
		.ffn = 96,
		.vocab = 8192,
		.seq = 256,
		.batch = 2,
		.flash = true };
	const struct model_training mixed = { .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_MIXED };
	for (int fused = 0; fused <= 1; fused++) {
		struct model_config config = layers;
		config.fused = fused;
		OWN(graph) *plain = step_of_config("llama", config, mixed);
		config.eager_loss = true;
		OWN(graph) *eager = step_of_config("llama", config, mixed);
		int64_t logits = INT64_C(2) * 256 * 8192 * 4;
		cr_expect_eq(ops_of(eager, "tidemark.swiglu"), fused ? 2 : 0);
		cr_expect_eq(ops_of(eager, "aten._log_softmax.default"), 1);
		cr_expect_eq(ops_of(eager, "tidemark.cross_entropy"), 0);
		cr_expect_eq(bytes_of_kind(eager, KIND_PARAMETER), bytes_of_kind(plain, KIND_PARAMETER));
		if (fused)
			cr_expect_geq(program_peak(eager) - program_peak(plain), 2 * logits - logits / 2, "%ld",
				(long)(program_peak(eager) - program_peak(plain)));
		else
			cr_expect_lt(ops_of(eager, "aten.slice.Tensor"), ops_of(plain, "aten.slice.Tensor"));
	}
}

Test(models, sizes_that_do_not_fit_are_refused)
{
	struct model_config config = model_find("gpt2")->config;
	struct error error = { 0 };
	config.heads = 7;
	cr_assert_null(model_build("gpt2", &config, &error));
	cr_assert_eq(error.status, BAD_INPUT);
	cr_assert(strstr(error.text, "not a multiple"));
	config = model_find("gpt2")->config;
	config.batch = config.seq = 1 << 20;
	cr_assert_null(model_build("gpt2", &config, &error));
	cr_assert_eq(error.status, BAD_INPUT);
	cr_assert_null(model_find("no such model"));
}

Test(models, every_failed_allocation_is_reported_and_nothing_leaks)
{
	struct model_config config = { .family = FAMILY_MOE, .layers = 1, .hidden = 8, .heads = 2, .vocab = 11, .seq = 4,
		.batch = 2,
		.experts = 2, .top_k = 1, .dropout = true };
	struct model_training training = { .optimizer = OPTIMIZER_ADAFACTOR, .precision = PRECISION_MIXED,
		.recompute = RECOMPUTE_FULL };
	EACH_REFUSAL(refused) {
		struct error error = { 0 };
		OWN(graph) *step = model_step("moe", &config, &training, &error);
		refused.status = step ? OK : error.status;
		cr_assert(step || refused.status == NO_MEMORY, "%s", error.text);
	}
}

/* ---- Korthikanti et al. 2022: "Reducing activation recomputation in large transformer models" --- */

/* The paper's accounting of a device in the first pipeline stage, on a step's graph:
 *   activations of the layers, without the statistics of norms (the paper neglects what is small against s b h);
 *   split over the tensor-parallel ranks where Megatron splits them: behind the column-parallel layers up to the
 *   row-parallel ones; with sequence parallelism everywhere;
 *   layers / stages of them, for as many microbatches as there are stages, more with interleaving. */
struct device {
	int tensor, stages, interleaved;
	bool sequence, full;
};

static bool of_layer(const struct graph *graph, uint32_t op)
{
	return op != NONE && strncmp(graph->op[op].module, "h.", 2) == 0;
}

/* Which tensors are split: from the outputs of c_attn and c_fc on, until c_proj sums them up. */
static bool *split_tensors(const struct graph *graph)
{
	bool *split = mem_alloc(graph->tensors, sizeof *split);
	for (uint32_t op = 0; op < graph->ops; op++) {
		const char *module = graph->op[op].module, *type = graph->op[op].type;
		bool product = strncmp(type, "aten.addmm", 10) == 0, any = false;
		FOR_ROW(i, &graph->reads, op)
			any |= split[graph->reads.item[i]];
		if (product && (text_ends(module, ".c_attn") || text_ends(module, ".c_fc")))
			any = true;
		if (product && text_ends(module, ".c_proj"))
			any = false;
		FOR_ROW(i, &graph->writes, op)
			split[graph->writes.item[i]] = any;
	}
	return split;
}

static double activation_bytes(const struct graph *graph, const struct device *device)
{
	bool *split = split_tensors(graph);
	double bytes = 0;
	for (uint32_t s = 0; s < graph->storages; s++) {
		uint32_t root = graph->storage[s].root, writer = graph->tensor[root].writer;
		bool saved = false;
		if (!of_layer(graph, writer) || graph->op[writer].phase != PHASE_FORWARD || graph->tensor[root].dtype == DTYPE_F32)
			continue;
		FOR_ROW(i, &graph->users, s)
			saved |= graph->op[graph->users.item[i]].phase != PHASE_FORWARD;
		bool parts = !device->full && (device->sequence || split[root]);
		if (saved)
			bytes += (double)graph->storage[s].bytes / (parts ? device->tensor : 1);
	}
	mem_free(split);
	double stages = device->stages;
	/* layers / stages of them, in flight for as many microbatches as there are stages */
	return bytes * (device->interleaved > 1 ? 1 + (stages - 1) / (stages * device->interleaved) : 1);
}

/* Matrices of the layers: 16-bit weights, f32 gradients, masters and both moments. */
static double state_bytes(const struct graph *graph, const struct device *device)
{
	double bytes = 0;
	for (uint32_t s = 0; s < graph->storages; s++) {
		const struct tensor *root = &graph->tensor[graph->storage[s].root];
		bool state = (root->kind == KIND_PARAMETER || root->kind == KIND_OPTIMIZER) && strncmp(root->name, "h.", 2) == 0;
		bool gradient = root->dtype == DTYPE_F32 && graph->storage[s].phase == PHASE_BACKWARD &&
			of_layer(graph, root->writer) && strncmp(graph->op[root->writer].type, "aten._to_copy", 13) == 0;
		if ((state || gradient) && root->dims == 2)
			bytes += (double)graph->storage[s].bytes;
	}
	return bytes / device->tensor / device->stages;
}

enum mode { NO_SAVING, SEQUENCE, SELECTIVE, BOTH, FULL, MODES };

/* Figure 1's bytes in GiB (0: not printed there) and figure 7's percentages of the first row. */
static const struct published {
	const char *model;
	struct device device;
	double state, activations[MODES], percent[MODES];
} published[] = {
	{ "megatron-22b", { .tensor = 8, .stages = 1, .interleaved = 1 }, 45.5625, { 59.25, 0, 0, 9.5625, 0 },
		{ 100, 66.84, 49.42, 16.18, 7.64 } },
	{ "gpt3-175b", { .tensor = 8, .stages = 8, .interleaved = 3 }, 45.5625, { 66.84375, 0, 0, 12.3515625, 0 },
		{ 100, 62.04, 56.53, 18.49, 8.71 } },
	{ "megatron-530b", { .tensor = 8, .stages = 35, .interleaved = 3 }, 31.640625,
		{ 114.0234375, 0, 0, 23.076171875, 0 }, { 100, 58.31, 62.04, 20.27, 9.42 } },
	{ "megatron-1t", { .tensor = 8, .stages = 64, .interleaved = 1 }, 32.958984375, { 131.25, 0, 0, 26.5625, 0 },
		{ 100, 58.31, 62.04, 20.27, 9.42 } },
};

Test(models, korthikanti_published_memory_is_reproduced_from_generated_graphs)
{
	static const enum recompute recompute[MODES] = { [SELECTIVE] = RECOMPUTE_SELECTIVE, [BOTH] = RECOMPUTE_SELECTIVE,
		[FULL] = RECOMPUTE_FULL };
	const double gib = 1 << 30;
	for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
		const struct published *row = &published[i];
		double none = 0;
		/* Of the two largest, built with a hundred layers, the quick tests look at one mode. */
		for (enum mode mode = 0; mode < (i < 2 ? MODES : test_rounds(1, MODES)); mode++) {
			struct model_training training = { .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_MIXED,
				.recompute = recompute[mode] };
			OWN(graph) *step = step_of_config(row->model, model_find(row->model)->config, training);
			struct device device = row->device;
			device.sequence = mode == SEQUENCE || mode == BOTH;
			device.full = mode == FULL;
			double activations = activation_bytes(step, &device) / gib, state = state_bytes(step, &device) / gib;
			none = mode == NO_SAVING ? activations : none;
			cr_assert_float_eq(state, row->state, 1e-6, "%s: state %.6f GiB, published %.6f", row->model, state, row->state);
			if (row->activations[mode] > 0)
				cr_assert_float_eq(activations, row->activations[mode], 1e-6, "%s, mode %d: %.6f GiB, published %.6f",
					row->model, (int)mode, activations, row->activations[mode]);
			double percent = 100 * activations / none;
			cr_assert_float_eq(percent, row->percent[mode], 0.2, "%s, mode %d: %.2f %%, published %.2f", row->model,
				(int)mode, percent, row->percent[mode]);
		}
	}
}

/* The room of experts is the busiest one's load: stacks of slots grow with it, and nothing else does. */
Test(models, experts_have_room_for_the_busiest_one)
{
	const char *const names[] = { "moe", "deepseek" };
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct model_config sizes = { .layers = 1, .hidden = 32, .heads = 2, .head_width = 16, .rope_width = 8,
			.value_width = 16, .q_rank = 8, .kv_rank = 8, .ffn = 64, .expert_ffn = 32, .experts = 8, .top_k = 2, .vocab = 64,
			.seq = 64, .batch = 1 };
		struct model_config even = sized_model(names[i], sizes), uneven = even;
		even.dense_layers = uneven.dense_layers = 0;
		uneven.capacity = 400;
		OWN(graph) *fair = step_of_config(names[i], even, (struct model_training){ .optimizer = OPTIMIZER_ADAM });
		OWN(graph) *skewed = step_of_config(names[i], uneven, (struct model_training){ .optimizer = OPTIMIZER_ADAM });
		uint32_t stacks = 0;
		cr_assert_eq(fair->tensors, skewed->tensors);
		FOR(t, fair->tensors) {
			const struct tensor *one = &fair->tensor[t], *other = &skewed->tensor[t];
			bool stack = one->dims == 3 && one->shape[0] == 8 && (one->shape[1] == 16 || one->shape[2] == 16) &&
				one->kind != KIND_PARAMETER;
			cr_assert(other->bytes == one->bytes || (stack && other->bytes == 4 * one->bytes), "%s: %s", names[i], one->name);
			stacks += other->bytes == 4 * one->bytes;
		}
		cr_assert_gt(stacks, 4);
		cr_assert_eq(skewed->persistent_bytes, fair->persistent_bytes);
		cr_assert_gt(program_peak(skewed), program_peak(fair));
	}
}
