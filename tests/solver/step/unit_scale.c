/* unit_scale.c: captured steps at other batch sizes and sequence lengths. */
#include <stdio.h>
#include <string.h>

#include "solver/step/scale.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

static enum status try_scale(const struct graph *graph, int64_t batch, int64_t sequence, struct scale_report *report,
	struct graph **scaled, struct error *error)
{
	OWN(rules) *rules = rules_new();
	struct factors factors;
	*scaled = NULL;
	enum status status = rules ? factors_find(graph, rules, &factors) : NO_MEMORY;
	if (status == OK) {
		struct scale_request request = { batch, sequence };
		status = graph_scale(graph, rules, &factors, &request, report, scaled, error);
		factors_free(&factors);
	}
	return status;
}

static struct graph *scale(const struct graph *graph, int64_t batch, int64_t sequence, struct scale_report *report)
{
	struct graph *scaled;
	struct error error = { 0 };
	cr_assert_eq(try_scale(graph, batch, sequence, report, &scaled, &error), OK, "%s: %s", graph->name, error.text);
	return scaled;
}

/* ---- against PyTorch ------------------------------------------------------------------------- */

/* Program-order peaks of PyTorch's own captures of the same models at these sizes. */
static const struct {
	const char *sample;
	int64_t batch, sequence, peak;
	uint32_t ops, copies, sums, unfused;
} captured[] = {
	{ "alexnet_b1_adam", 32, 0, 1137997444, 201, 0, 0, 0 },
	{ "mobilenet_v2_b1_adam", 32, 0, 2565889828, 1723, 0, 0, 0 },
	{ "vit_b_16_b1_adam", 32, 0, 5602219908, 2582, 24, 2, 12 },
	{ "bert_base_b1_s512_adam", 32, 128, 6052310716, 3586, 60, 0, 0 },
	{ "gpt2_b1_s1024_adam", 0, 128, 2312400900, 2989, 0, 0, 0 },
	{ "gpt2_xl_b1_s1024_adam", 32, 0, 688310634372, 11931, 194, 0, 0 },
};

Test(scale, samples_at_another_size_have_the_peak_that_pytorch_has_there)
{
	for (size_t i = 0; i < sizeof captured / sizeof *captured; i++) {
		struct scale_report report;
		OWN(graph) *graph = open_sample(captured[i].sample);
		OWN(graph) *scaled = scale(graph, captured[i].batch, captured[i].sequence, &report);
		cr_expect_eq(program_peak(scaled), captured[i].peak, "%s", captured[i].sample);
		cr_expect_eq(scaled->ops, captured[i].ops, "%s: %u ops", captured[i].sample, scaled->ops);
		cr_expect_eq(report.copies, captured[i].copies, "%s: %u copies", captured[i].sample, report.copies);
		cr_expect_eq(report.unfused, captured[i].unfused, "%s: %u unfused", captured[i].sample, report.unfused);
		cr_expect_eq(report.sums, captured[i].sums, "%s: %u sums", captured[i].sample, report.sums);
	}
}

/* ---- properties ------------------------------------------------------------------------------ */

static void check_same(const struct graph *a, const struct graph *b, const char *what)
{
	cr_assert_eq(a->ops, b->ops, "%s: %u and %u ops", what, a->ops, b->ops);
	cr_assert_eq(a->tensors, b->tensors, "%s: %u and %u tensors", what, a->tensors, b->tensors);
	for (uint32_t op = 0; op < a->ops; op++) {
		cr_assert_str_eq(a->op[op].type, b->op[op].type, "%s: op %s", what, a->op[op].name);
		cr_assert_eq(a->op[op].flops, b->op[op].flops, "%s: FLOPs of %s", what, a->op[op].name);
	}
	for (uint32_t t = 0; t < a->tensors; t++) {
		uint32_t other = graph_find_tensor(b, a->tensor[t].name);
		cr_assert_neq(other, NONE, "%s: tensor %s is missing", what, a->tensor[t].name);
		cr_assert_eq(a->tensor[t].bytes, b->tensor[other].bytes, "%s: bytes of %s", what, a->tensor[t].name);
		for (int d = 0; d < a->tensor[t].dims; d++)
			cr_assert_eq(a->tensor[t].shape[d], b->tensor[other].shape[d], "%s: shape of %s", what, a->tensor[t].name);
	}
	cr_assert_eq(program_peak(a), program_peak(b), "%s", what);
}

Test(scale, in_two_steps_is_the_same_as_in_one)
{
	static const struct {
		const char *sample;
		int64_t sequence;
	} cases[] = { { "alexnet_b1_adam", 0 }, { "mobilenet_v2_b1_adam", 0 }, { "vit_b_16_b1_adam", 0 },
		{ "bert_base_b1_s512_adam", 384 }, { "gpt2_b1_s1024_adam", 512 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct scale_report report;
		OWN(graph) *graph = open_sample(cases[i].sample);
		OWN(graph) *once = scale(graph, 24, cases[i].sequence, &report);
		OWN(graph) *half = scale(graph, 6, 0, &report), *twice = scale(half, 24, cases[i].sequence, &report);
		check_same(once, twice, cases[i].sample);
		cr_assert_eq(report.copies + report.sums, 0, "%s: copies at the second step", cases[i].sample);
	}
}

Test(scale, to_the_size_it_has_changes_nothing)
{
	struct scale_report report;
	OWN(graph) *graph = open_sample("gpt2_b1_s1024_adam"), *same = scale(graph, 1, 1024, &report);
	check_same(graph, same, "gpt2");
	cr_assert_eq(report.copies + report.sums + report.workspaces, 0);
}

static uint32_t count_type(const struct graph *graph, const char *type)
{
	uint32_t found = 0;
	for (uint32_t op = 0; op < graph->ops; op++)
		found += strncmp(graph->op[op].type, type, strlen(type)) == 0;
	return found;
}

/* ATen makes a view where a reshape drops or adds nothing but dims of 1, whatever the strides. */
Test(scale, a_reshape_of_one_sample_copies_nothing)
{
	struct scale_report report;
	OWN(graph) *graph = open_sample("bert_base_b1_s512_adam"), *many = scale(graph, 4, 0, &report),
			   *one = scale(many, 1, 0, &report);
	uint32_t copies = count_type(graph, "aten.clone"), views = count_type(one, "aten.alias");
	cr_expect_gt(count_type(many, "aten.clone"), copies);
	cr_expect_eq(count_type(one, "aten.clone"), copies, "%u, %u", count_type(one, "aten.clone"), copies);
	cr_expect_eq(views, count_type(many, "aten.clone") - copies);
	for (uint32_t op = 0; op < one->ops; op++)
		if (strcmp(one->op[op].type, "aten.alias.default") == 0)
			cr_expect_neq(one->tensor[one->writes.item[one->writes.start[op]]].alias, NONE);
}

/* ---- refusals -------------------------------------------------------------------------------- */

Test(scale, what_cannot_be_scaled_is_refused_with_the_reason)
{
	static const struct { const char *sample; int64_t batch, sequence; const char *reason; } cases[] = {
		{ "alexnet_b1_adam", 0, 64, "no input of the graph has a sequence dim" },
		{ "gpt2_b1_s1024_adam", 0, 2048, "the position table wpe.weight" },
		{ "bert_base_b1_s512_adam", 0, 513, "the position table" },
		{ "alexnet_b1_adam", INT64_C(1) << 50, 0, "too large" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct graph *graph = open_sample(cases[i].sample), *scaled;
		struct scale_report report;
		struct error error = { 0 };
		cr_assert_eq(try_scale(graph, cases[i].batch, cases[i].sequence, &report, &scaled, &error), BAD_INPUT, "%s",
			cases[i].sample);
		cr_assert_null(scaled);
		cr_assert(strstr(error.text, cases[i].reason), "%s: \"%s\"", cases[i].sample, error.text);
		graph_release(graph);
	}
}

/* in[1, 4] -> type -> out[1, 4], out a view of it if view */
static struct graph *small_graph(const char *type)
{
	static const int64_t shape[2] = { 1, 4 };
	OWN(draft) *draft = draft_new();
	struct tensor tensor = { .name = "in",
		.shape = shape,
		.dims = 2,
		.bytes = 16,
		.alias = NONE,
		.kind = KIND_INPUT,
		.dtype = DTYPE_F32,
		.has_shape = true,
		.has_dtype = true };
	uint32_t in = draft_tensor(draft, &tensor);
	tensor.name = "out";
	tensor.kind = KIND_OUTPUT;
	uint32_t out = draft_tensor(draft, &tensor);
	struct op op = { .name = "op", .type = type, .module = "", .flops = 4, .workspace = 100, .has_workspace = true };
	uint32_t id = draft_op(draft, &op);
	draft_read(draft, id, in);
	draft_write(draft, id, out);
	struct error error = { 0 };
	struct graph *graph = graph_build(draft, &error);
	cr_assert(graph, "%s", error.text);
	return graph;
}

Test(scale, an_op_without_a_rule_is_never_guessed)
{
	struct graph *graph = small_graph("my.secret"), *scaled;
	struct scale_report report;
	struct error error = { 0 };
	cr_assert_eq(try_scale(graph, 8, 0, &report, &scaled, &error), BAD_INPUT);
	cr_assert(strstr(error.text, "no rule for my.secret"), "%s", error.text);
	graph_release(graph);
}

struct made_op { const char *name, *type; enum phase phase; int in[2], out; };   /* in: -1: nothing */

/* The graph of a draft's tensors and these ops, of which one has arguments; ends the draft. */
static struct graph *graph_with_arguments(struct draft *draft, const uint32_t *id, const struct made_op *ops,
	size_t count, size_t which, const struct arguments *arguments)
{
	for (const struct made_op *made = ops; made < ops + count; made++) {
		struct op op = { .name = made->name, .type = made->type, .module = "", .phase = made->phase, .has_phase = true };
		uint32_t number = draft_op(draft, &op);
		for (int j = 0; j < 2; j++)
			if (made->in[j] >= 0)
				draft_read(draft, number, id[made->in[j]]);
		draft_write(draft, number, id[made->out]);
		if (arguments && made == ops + which)
			draft_op_arguments(draft, number, arguments);
	}
	struct error error = { 0 };
	struct graph *graph = graph_build(draft, &error);
	cr_assert(graph, "%s", error.text);
	draft_free(draft);
	return graph;
}

static struct graph *graph_of_ops(struct draft *draft, const uint32_t *id, const struct made_op *ops, size_t count)
{
	return graph_with_arguments(draft, id, ops, count, 0, NULL);
}

/* A mask [1, 4] made from nothing that meets the batch, and one [1, 1, 4] that got its 1 by a view. */
Test(scale, a_mask_that_is_made_for_the_batch_grows_with_it)
{
	const int64_t two[] = { 1, 4 }, one[] = { 4 };
	struct draft *draft = draft_new();
	struct tensor tensor = {
		.name = "x", .bytes = 16, .dtype = DTYPE_F32, .shape = two, .dims = 2, .kind = KIND_INPUT, .alias = NONE
	};
	uint32_t id[6];
	const char *names[] = { "x", "mask", "same", "view", "masked", "out" };
	for (int i = 0; i < 6; i++) {
		tensor.name = names[i];
		tensor.kind = i == 0 ? KIND_INPUT : i == 5 ? KIND_OUTPUT : KIND_TEMPORARY;
		tensor.shape = i == 2 ? one : two;
		tensor.dims = i == 2 ? 1 : 2;
		tensor.alias = i == 3 ? id[2] : NONE;
		id[i] = draft_tensor(draft, &tensor);
	}
	const struct made_op ops[] = { { "mask", "aten.ones.default", PHASE_FORWARD, { -1, -1 }, 1 },
		{ "same", "aten.ones.default", PHASE_FORWARD, { -1, -1 }, 2 },
		{ "view", "aten.view.default", PHASE_FORWARD, { 2, -1 }, 3 },
		{ "masked", "aten.mul.Tensor", PHASE_FORWARD, { 0, 1 }, 4 },
		{ "out", "aten.mul.Tensor", PHASE_FORWARD, { 4, 3 }, 5 } };
	OWN(graph) *graph = graph_of_ops(draft, id, ops, sizeof ops / sizeof *ops);
	struct scale_report report;
	OWN(graph) *scaled = scale(graph, 8, 0, &report);
	cr_assert_eq(scaled->tensor[id[1]].bytes, 128);
	cr_assert_eq(scaled->tensor[id[2]].bytes, 16);
	cr_assert_eq(scaled->tensor[id[3]].bytes, 16);
	cr_assert_eq(scaled->tensor[id[5]].bytes, 128);
}

/* Token types are zeros [1, 4], no positions; what was empty at first is joined along the dim that the argument names;
 * a permuted tensor of batch 1 that is viewed in two ways is copied twice. */
Test(scale, token_types_caches_and_two_views_of_one_tensor)
{
	static const int64_t shape[][3] = { { 1, 4, 4 }, { 2, 4 }, { 1, 4 }, { 1, 4, 4 }, { 0 }, { 1, 4, 4 }, { 4, 1, 4 },
		{ 4, 4 }, { 16 }, { 1, 4, 4 } };
	static const uint8_t dims[] = { 3, 2, 2, 3, 1, 3, 3, 2, 1, 3 };
	static const char *const names[] = { "x", "table", "types", "typed", "empty", "cache", "turned", "rows", "row",
		"out" };
	static const uint8_t kinds[] = { KIND_INPUT, KIND_PARAMETER, KIND_TEMPORARY, KIND_ACTIVATION, KIND_CONSTANT,
		KIND_ACTIVATION, KIND_ACTIVATION, KIND_ACTIVATION, KIND_ACTIVATION, KIND_OUTPUT };
	const struct made_op ops[] = { { "types", "aten.zeros.default", PHASE_FORWARD, { -1, -1 }, 2 },
		{ "typed", "aten.embedding.default", PHASE_FORWARD, { 1, 2 }, 3 },
		{ "cache", "aten.cat.default", PHASE_FORWARD, { 4, 0 }, 5 },
		{ "turned", "aten.transpose.int", PHASE_FORWARD, { 5, -1 }, 6 },
		{ "rows", "aten.view.default", PHASE_FORWARD, { 6, -1 }, 7 },
		{ "row", "aten.view.default", PHASE_FORWARD, { 6, -1 }, 8 },
		{ "out", "aten.add.Tensor", PHASE_FORWARD, { 3, 5 }, 9 } };
	struct draft *draft = draft_new();
	uint32_t id[10];
	for (int i = 0; i < 10; i++) {
		struct tensor tensor = { .name = names[i],
			.dtype = DTYPE_F32,
			.shape = shape[i],
			.dims = dims[i],
			.kind = kinds[i],
			.alias = i >= 6 && i < 9 ? id[5] : NONE,
			.bytes = 4 };
		for (int d = 0; d < dims[i]; d++)
			tensor.bytes *= shape[i][d];
		id[i] = draft_tensor(draft, &tensor);
	}
	struct argument value[] = { { .key = "args", .kind = ARGUMENT_LIST, .within = 4 },
		{ .kind = ARGUMENT_LIST, .within = 2 }, { .kind = ARGUMENT_TENSOR, .text = "empty" },
		{ .kind = ARGUMENT_TENSOR, .text = "x" }, { .kind = ARGUMENT_NUMBER, .text = "1" } };
	const struct arguments arguments = { value, 5 };
	OWN(graph) *graph = graph_with_arguments(draft, id, ops, sizeof ops / sizeof *ops, 2, &arguments);
	struct scale_report report;
	OWN(graph) *scaled = scale(graph, 8, 0, &report);
	cr_assert_eq(report.copies, 2);
	cr_assert_eq(scaled->tensor[id[2]].bytes, 128);
	cr_assert_eq(scaled->tensor[id[5]].bytes, 512);
}

/* An op of a module, with up to three operands: -1: nothing. */
struct layer_op { const char *name, *type, *module; int in[3], out; };
struct layer_tensor {
	const char *name;
	int64_t shape[4];
	uint8_t dims, kind;
	int of;
};   /* of: the tensor that it is a view of, -1: none */

static struct graph *graph_of_layers(
	const struct layer_tensor *tensors, int count, const struct layer_op *ops, int op_count)
{
	OWN(draft) *draft = draft_new();
	for (int t = 0; t < count; t++) {
		struct tensor tensor = { .name = tensors[t].name,
			.shape = tensors[t].shape,
			.dims = tensors[t].dims,
			.kind = tensors[t].kind,
			.dtype = DTYPE_F32,
			.bytes = 4,
			.alias = tensors[t].of < 0 ? NONE : (uint32_t)tensors[t].of,
			.has_shape = true,
			.has_dtype = true };
		for (int d = 0; d < tensor.dims; d++)
			tensor.bytes *= tensor.shape[d];
		draft_tensor(draft, &tensor);
	}
	for (int i = 0; i < op_count; i++) {
		struct op op = { .name = ops[i].name,
			.type = ops[i].type,
			.module = ops[i].module,
			.phase = PHASE_FORWARD,
			.has_phase = true,
			.has_module = true };
		uint32_t number = draft_op(draft, &op);
		for (int j = 0; j < 3; j++)
			if (ops[i].in[j] >= 0)
				draft_read(draft, number, (uint32_t)ops[i].in[j]);
		if (ops[i].out >= 0)
			draft_write(draft, number, (uint32_t)ops[i].out);
	}
	struct error error = { 0 };
	struct graph *graph = graph_build(draft, &error);
	cr_assert(graph, "%s", error.text);
	return graph;
}

/* Channels that lie innermost stay there through a pool: what is turned back is viewed without a copy. */
Test(scale, a_pool_keeps_channels_innermost)
{
	static const struct layer_tensor tensors[] = { { "x", { 1, 4, 6, 3 }, 4, KIND_INPUT, -1 },
		{ "turned", { 1, 3, 4, 6 }, 4, KIND_INPUT, 0 }, { "pooled", { 1, 3, 2, 3 }, 4, KIND_ACTIVATION, -1 },
		{ "back", { 1, 2, 3, 3 }, 4, KIND_ACTIVATION, 2 }, { "rows", { 6, 3 }, 2, KIND_ACTIVATION, 2 },
		{ "out", { 6, 3 }, 2, KIND_OUTPUT, -1 } };
	static const struct layer_op ops[] = { { "turned", "aten.permute.default", "", { 0, -1, -1 }, 1 },
		{ "pooled", "aten.avg_pool2d.default", "", { 1, -1, -1 }, 2 },
		{ "back", "aten.permute.default", "", { 2, -1, -1 }, 3 }, { "rows", "aten.view.default", "", { 3, -1, -1 }, 4 },
		{ "out", "aten.relu.default", "", { 4, -1, -1 }, 5 } };
	struct scale_report report;
	OWN(graph) *graph = graph_of_layers(tensors, 6, ops, 5), *scaled = scale(graph, 8, 0, &report);
	cr_assert_eq(scaled->tensor[5].bytes, 8 * 6 * 3 * 4);
	cr_assert_eq(report.copies, 0);
}

/* A table is repeated for each sample; a view folds samples and planes into one dim, where the batch's extent 1 has no
 * dim of its own. */
Test(scale, a_table_repeated_for_each_sample_grows_with_them)
{
	static const struct layer_tensor tensors[] = { { "x", { 1, 4, 6, 8 }, 4, KIND_INPUT, -1 },
		{ "rows", { 4, 6, 8 }, 3, KIND_INPUT, 0 }, { "table", { 8, 5 }, 2, KIND_PARAMETER, -1 },
		{ "wide", { 1, 4, 8, 5 }, 4, KIND_PARAMETER, 2 }, { "planes", { 4, 8, 5 }, 3, KIND_PARAMETER, 2 },
		{ "out", { 4, 6, 5 }, 3, KIND_OUTPUT, -1 } };
	static const struct layer_op ops[] = { { "rows", "aten.view.default", "", { 0, -1, -1 }, 1 },
		{ "wide", "aten.expand.default", "", { 2, -1, -1 }, 3 },
		{ "planes", "aten.view.default", "", { 3, -1, -1 }, 4 }, { "out", "aten.bmm.default", "", { 1, 4, -1 }, 5 } };
	struct scale_report report;
	struct graph *graph = graph_of_layers(tensors, 6, ops, 4), *scaled = scale(graph, 8, 0, &report);
	cr_assert_eq(scaled->tensor[4].shape[0], 32);
	cr_assert_eq(scaled->tensor[5].bytes, 32 * 6 * 5 * 4);
	cr_assert_eq(report.copies, 0);
	graph_release(graph);
	graph_release(scaled);
}

/* A linear layer reads a turned tensor: at batch 8 it copies it, is a product and an addition, and its caller holds the
 * tensor until the layer returns. */
Test(scale, what_a_layer_copies_is_held_until_the_layer_returns)
{
	static const struct layer_tensor tensors[] = { { "x", { 1, 6, 4 }, 3, KIND_INPUT, -1 },
		{ "made", { 1, 6, 4 }, 3, KIND_ACTIVATION, -1 }, { "turned", { 1, 4, 6 }, 3, KIND_ACTIVATION, 1 },
		{ "rows", { 4, 6 }, 2, KIND_ACTIVATION, 1 }, { "weight", { 6, 5 }, 2, KIND_PARAMETER, -1 },
		{ "bias", { 5 }, 1, KIND_PARAMETER, -1 }, { "scores", { 4, 5 }, 2, KIND_ACTIVATION, -1 },
		{ "bent", { 4, 5 }, 2, KIND_ACTIVATION, -1 }, { "out", { 4, 5 }, 2, KIND_OUTPUT, -1 } };
	static const struct layer_op ops[] = { { "made", "aten.relu.default", "net.first", { 0, -1, -1 }, 1 },
		{ "turned", "aten.transpose.int", "net", { 1, -1, -1 }, 2 },
		{ "rows", "aten.view.default", "net.layer", { 2, -1, -1 }, 3 },
		{ "scores", "aten.addmm.default", "net.layer", { 5, 3, 4 }, 6 },
		{ "bent", "aten.relu.default", "net.layer.bend", { 6, -1, -1 }, 7 },
		{ "out", "aten.relu.default", "net", { 7, -1, -1 }, 8 },
		{ "release", RELEASE_TYPE, "net", { 7, -1, -1 }, -1 } };
	static const char *const expected[] = { "made", "turned", "rows.copy", "rows", "scores.product", "scores", "bent",
		"rows.release", "out", "release" };
	struct scale_report report;
	OWN(graph) *graph = graph_of_layers(tensors, 9, ops, 7), *scaled = scale(graph, 8, 0, &report);
	cr_assert_eq(scaled->ops, 10);
	for (uint32_t op = 0; op < 10; op++)
		cr_expect_str_eq(scaled->op[op].name, expected[op]);
	cr_assert_str_eq(scaled->op[4].type, "aten.mm.default");
	cr_assert_str_eq(scaled->op[5].type, "aten.add.Tensor");
	uint32_t released = scaled->reads.item[scaled->reads.start[7]];
	cr_assert_str_eq(scaled->tensor[scaled->storage[scaled->tensor[released].storage].root].name, "made");
	cr_assert_eq(scaled->tensor[graph_find_tensor(scaled, "scores.product")].bytes, 8 * 4 * 5 * 4);
	cr_assert_eq(report.unfused, 1);
	cr_assert_eq(report.left_behind, 1);
}

Test(scale, workspace_grows_with_the_operand_and_is_reported_as_an_estimate)
{
	struct scale_report report;
	OWN(graph) *graph = small_graph("aten.relu.default"), *scaled = scale(graph, 8, 0, &report);
	cr_assert_eq(scaled->op[0].workspace, 800);
	cr_assert_eq(scaled->op[0].flops, 32);
	cr_assert_eq(report.workspaces, 1);
}

/* The backward pass of a mean() over x [1, 4] to the power of 2, behind the lengths of sequences. */
Test(scale, the_gradient_of_a_mean_grows_with_the_batch)
{
	static const struct {
		const char *name;
		int64_t shape[2];
		int dims;
	} of[] = { { "lengths", { 9 }, 1 }, { "x", { 1, 4 }, 2 }, { "mean", { 0 }, 0 }, { "one", { 0 }, 0 },
		{ "same", { 1, 4 }, 2 }, { "share", { 1, 4 }, 2 }, { "gradient", { 1, 4 }, 2 } };
	const struct made_op ops[] = { { "mean", "aten.mean.default", PHASE_FORWARD, { 1, -1 }, 2 },
		{ "one", "aten.ones_like.default", PHASE_FORWARD, { 2, -1 }, 3 },
		{ "same", "aten.expand.default", PHASE_BACKWARD, { 3, -1 }, 4 },
		{ "share", "aten.div.Scalar", PHASE_BACKWARD, { 4, -1 }, 5 },
		{ "gradient", "aten.mul.Tensor", PHASE_BACKWARD, { 5, 1 }, 6 } };
	struct draft *draft = draft_new();
	uint32_t id[7];
	for (int t = 0; t < 7; t++) {
		int64_t bytes = of[t].dims == 2 ? 16 : of[t].dims == 1 ? 36 : 4;
		struct tensor tensor = { .name = of[t].name,
			.bytes = bytes,
			.dtype = t == 0 ? DTYPE_I32 : DTYPE_F32,
			.shape = of[t].shape,
			.dims = (uint8_t)of[t].dims,
			.kind = t < 2 ? KIND_INPUT : KIND_TEMPORARY,
			.alias = t == 4 ? id[3] : NONE,
			.has_shape = true,
			.has_dtype = true };
		id[t] = draft_tensor(draft, &tensor);
	}
	OWN(graph) *graph = graph_of_ops(draft, id, ops, sizeof ops / sizeof *ops);
	struct scale_report report;
	OWN(graph) *scaled = scale(graph, 8, 0, &report);
	cr_assert_eq(scaled->tensor[id[0]].bytes, 36);
	cr_assert_eq(scaled->tensor[id[1]].bytes, 128);
	cr_assert_eq(scaled->tensor[id[5]].bytes, 128);
	cr_assert_eq(scaled->tensor[id[6]].bytes, 128);
}

/* Whether a program makes positions [1, 4] for each sample isn't in a graph at batch 1; at batch 2 it is. */
Test(scale, what_is_made_once_at_batch_1_is_told)
{
	for (int64_t batch = 1; batch <= 2; batch++) {
		const int64_t shape[][2] = { { batch, 4 }, { 4 }, { 1, 4 }, { batch, 4 } };
		static const uint8_t dims[] = { 2, 1, 2, 2 };
		static const char *const names[] = { "x", "positions", "row", "sum" };
		const struct made_op ops[] = { { "positions", "aten.arange.default", PHASE_FORWARD, { -1, -1 }, 1 },
			{ "row", "aten.unsqueeze.default", PHASE_FORWARD, { 1, -1 }, 2 },
			{ "sum", "aten.add.Tensor", PHASE_FORWARD, { 0, 2 }, 3 } };
		struct draft *draft = draft_new();
		uint32_t id[4];
		for (int t = 0; t < 4; t++) {
			struct tensor tensor = { .name = names[t],
				.bytes = t == 1 || t == 2 ? 16 : 16 * batch,
				.dtype = DTYPE_F32,
				.shape = shape[t],
				.dims = dims[t],
				.kind = t == 0 ? KIND_INPUT
				: t == 3 ? KIND_OUTPUT
				: KIND_TEMPORARY,
				.alias = t == 2 ? id[1] : NONE,
				.has_shape = true,
				.has_dtype = true };
			id[t] = draft_tensor(draft, &tensor);
		}
		OWN(graph) *graph = graph_of_ops(draft, id, ops, sizeof ops / sizeof *ops);
		struct scale_report report;
		OWN(graph) *scaled = scale(graph, 8, 0, &report);
		cr_expect_eq(scaled->tensor[id[1]].bytes, 16);
		cr_expect_eq(scaled->tensor[id[3]].bytes, 128);
		cr_expect_eq(report.once, batch == 1, "batch %d: %u", (int)batch, report.once);
		cr_expect_eq(report.first_once, batch == 1 ? id[2] : NONE);
	}
}

Test(scale, the_reserve_of_a_recurrent_layer_is_computed_anew)
{
	/* PyTorch's own captures: samples, bytes; 5 times, 6 features, 4 hidden units */
	static const int64_t made[][2] = { { 1, 28672 }, { 8, 40960 }, { 64, 212992 } };
	for (int i = 0; i < 3; i++)
		cr_expect_eq(lstm_reserve((int64_t[]){ 5, made[i][0], 6, 4 }), made[i][1]);
	cr_expect_eq(lstm_reserve((int64_t[]){ 1, INT64_MAX, 6, 4 }), INT64_MAX);
	for (int known = 0; known < 2; known++) {
		struct draft *draft = draft_new();
		struct op op = { .name = "layer", .type = "aten.mkldnn_rnn_layer.default", .flops = 100 };
		static const struct { const char *name; int64_t shape[3]; int dims; enum kind kind;
		} of[] = { { "x", { 5, 1, 6 }, 3, KIND_ACTIVATION }, { "w", { 16, 6 }, 2, KIND_PARAMETER },
			{ "u", { 16, 4 }, 2, KIND_PARAMETER }, { "b", { 16 }, 1, KIND_PARAMETER },
			{ "c", { 16 }, 1, KIND_PARAMETER }, { "h", { 1, 4 }, 2, KIND_INPUT }, { "s", { 1, 4 }, 2, KIND_INPUT },
			{ "y", { 5, 1, 4 }, 3, KIND_ACTIVATION }, { "hy", { 1, 4 }, 2, KIND_ACTIVATION },
			{ "sy", { 1, 4 }, 2, KIND_ACTIVATION }, { "kept", { 0 }, 1, KIND_ACTIVATION },
			{ "data", { 1, 5, 6 }, 3, KIND_INPUT } };
		uint32_t id[12];
		for (int t = 11; t >= 0; t--) {
			int64_t elements = 1, shape[3];
			for (int d = 0; d < of[t].dims; d++)
				elements *= shape[d] = t == 10 ? (known ? made[0][1] : 1000) : of[t].shape[d];
			struct tensor tensor = { .name = of[t].name,
				.bytes = t == 10 ? elements : 4 * elements,
				.alias = t == 0 ? id[11] : NONE,
				.kind = of[t].kind,
				.dims = (uint8_t)of[t].dims,
				.shape = shape,
				.dtype = t == 10 ? DTYPE_U8 : DTYPE_F32,
				.has_shape = true,
				.has_dtype = true };
			id[t] = draft_tensor(draft, &tensor);
		}
		struct op swap = { .name = "swap", .type = "aten.transpose.int" };
		uint32_t number = draft_op(draft, &swap);
		draft_read(draft, number, id[11]);
		draft_write(draft, number, id[0]);
		number = draft_op(draft, &op);
		for (int t = 0; t < 11; t++)
			(t < 7 ? draft_read : draft_write)(draft, number, id[t]);
		struct error error = { 0 };
		OWN(graph) *graph = graph_build(draft, &error);
		cr_assert(graph, "%s", error.text);
		draft_free(draft);
		struct scale_report report;
		OWN(graph) *scaled = scale(graph, 8, 0, &report);
		cr_expect_eq(scaled->tensor[id[10]].bytes, known ? made[1][1] : 8000);
		cr_expect_eq(report.reserves, !known);
		cr_expect_eq(scaled->op[1].flops, 800);
	}
}

/* A mixture's slots are a share of the tokens: the step at another batch is the one that is built at it. */
Test(scale, slots_of_experts_grow_with_the_tokens)
{
	static const char *const names[] = { "moe", "deepseek-v2", "deepseek-v3" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct model_config sizes = {
			.layers = 4, .hidden = 64, .heads = 4, .seq = 32, .experts = 8, .top_k = 2, .batch = 6
		};
		struct graph *graph = step_of_sizes(names[i], sizes), *scaled, *built;
		struct scale_report report;
		for (sizes.batch = 2; sizes.batch <= 10; sizes.batch += 8) {
			built = step_of_sizes(names[i], sizes);
			scaled = scale(graph, sizes.batch, 0, &report);
			cr_expect_eq(report.capacities, 0);
			cr_assert_eq(scaled->tensors, built->tensors);
			for (uint32_t t = 0; t < built->tensors; t++)
				cr_expect_eq(scaled->tensor[graph_find_tensor(scaled, built->tensor[t].name)].bytes,
					built->tensor[t].bytes, "%s, batch %ld: %s", names[i], (long)sizes.batch, built->tensor[t].name);
			graph_release(built);
			graph_release(scaled);
		}
		graph_release(graph);
	}
}

Test(scale, every_failed_allocation_is_reported_and_nothing_leaks)
{
	OWN(graph) *graph = open_sample("alexnet_b1_adam");
	EACH_REFUSAL(refused) {
		OWN(graph) *scaled;
		struct scale_report report;
		struct error error = { 0 };
		refused.status = try_scale(graph, 32, 0, &report, &scaled, &error);
	}
}
