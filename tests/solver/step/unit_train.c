/* unit_train.c: training steps by rules against captured steps, and their optimizers and precisions. */
#include <stdio.h>
#include <string.h>

#include "solver/step/optimizer.h"
#include "solver/step/train.h"
#include "src/models/models.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

static struct graph *trained(const struct graph *step, enum gradient_policy policy, enum optimizer optimizer)
{
	OWN(rules) *rules = rules_new();
	struct error error = { 0 };
	OWN(graph) *forward = train_forward_part(step, rules, &error);
	cr_assert_not_null(forward, "%s", error.text);
	cr_assert_not(train_has_step(forward));
	struct train_options options = { .rules = rules, .policy = policy, .update = { .optimizer = optimizer } };
	struct graph *again = train_step(forward, &options, &error);
	cr_assert_not_null(again, "%s", error.text);
	cr_assert(train_has_step(again));
	return again;
}

static const char *const samples[] = { "alexnet_b1_adam", "bert_base_b1_s512_adam", "gpt2_b1_s1024_adam",
	"gpt2_xl_b1_s1024_adam", "mobilenet_v2_b1_adam", "vit_b_16_b1_adam" };
enum { SAMPLES = sizeof samples / sizeof *samples };

Test(train, the_forward_part_of_a_captured_step_trains_to_the_captured_peak)
{
	for (int i = 0; i < SAMPLES; i++) {
		OWN(graph) *step = open_sample(samples[i]), *again = trained(step, GRADIENT_EAGER, OPTIMIZER_ADAM);
		int64_t truth = program_peak(step), peak = program_peak(again);
		cr_assert_leq(llabs(peak - truth) * 100, truth, "%s: peak %ld, captured %ld", samples[i], (long)peak, (long)truth);
		cr_assert_eq(again->persistent_bytes, step->persistent_bytes, "%s: persistent", samples[i]);
		OWN(graph) *ideal = trained(step, GRADIENT_IDEAL, OPTIMIZER_ADAM);
		cr_assert_leq(program_peak(ideal), peak, "%s: ideal keeps more than eager", samples[i]);
	}
}

/* ---- one op at a time ------------------------------------------------------------------------ */

static struct graph *finish(struct build *build)
{
	struct error error = { 0 };
	cr_assert_eq(build->status, OK);
	struct graph *graph = graph_build(build->draft, &error);
	cr_assert_not_null(graph, "%s", error.text);
	draft_free(build->draft);
	return graph;
}

static struct graph *step_of(struct graph *forward, const struct update_options *update)
{
	OWN(rules) *rules = rules_new();
	struct train_options options = { .rules = rules, .update = *update };
	struct error error = { 0 };
	struct graph *step = train_step(forward, &options, &error);
	cr_assert_not_null(step, "%s", error.text);
	graph_release(forward);
	return step;
}

static uint32_t op_of_type(const struct graph *graph, const char *type)
{
	for (uint32_t op = 0; op < graph->ops; op++)
		if (strcmp(graph->op[op].type, type) == 0)
			return op;
	return NONE;
}

static const struct update_options sgd = { .optimizer = OPTIMIZER_SGD };

Test(train, an_activation_in_place_keeps_a_copy_of_what_its_derivative_reads)
{
	struct build build = { .draft = draft_new(), .op = NONE };
	uint32_t x = build_leaf(&build, "x", KIND_INPUT, DTYPE_F32, SHAPE(4, 8));
	uint32_t weight = build_leaf(&build, "weight", KIND_PARAMETER, DTYPE_F32, SHAPE(8, 8));
	build_op(&build, "aten.mm.default", IN(x, weight));
	uint32_t y = build_output(&build, DTYPE_F32, SHAPE(4, 8));
	y = build_map_inplace(&build, "aten.silu_.default", IN(y));
	build_map_inplace(&build, "aten.relu_.default", IN(y));
	OWN(graph) *step = step_of(finish(&build), &sgd);
	uint32_t copy = op_of_type(step, "aten.clone.default"), silu = op_of_type(step, "aten.silu_.default");
	uint32_t backward = op_of_type(step, "aten.silu_backward.default");
	cr_assert(copy != NONE && silu != NONE && backward != NONE);
	cr_assert_lt(copy, silu);
	uint32_t kept = step->writes.item[step->writes.start[copy]];
	cr_assert_eq(step->reads.item[step->reads.start[backward] + 1], kept, "silu's backward reads the copy");
}

Test(train, an_operand_is_kept_only_where_the_other_needs_a_gradient)
{
	struct build build = { .draft = draft_new(), .op = NONE };
	uint32_t x = build_leaf(&build, "x", KIND_INPUT, DTYPE_F32, SHAPE(4, 8));
	uint32_t weight = build_leaf(&build, "weight", KIND_PARAMETER, DTYPE_F32, SHAPE(4, 8));
	uint32_t scaled = build_map(&build, "aten.exp.default", IN(x));
	uint32_t product = build_map(&build, "aten.mul.Tensor", IN(weight, scaled));
	build_to_shape(&build, "aten.sum.default", product, SCALAR);
	OWN(graph) *step = step_of(finish(&build), &sgd);
	uint32_t products = 0;
	for (uint32_t op = 0; op < step->ops; op++)
		products += step->op[op].phase == PHASE_BACKWARD && strcmp(step->op[op].type, "aten.mul.Tensor") == 0;
	cr_assert_eq(products, 1, "only the parameter's gradient is computed");
}

Test(train, gradients_of_several_readers_are_added_up)
{
	struct build build = { .draft = draft_new(), .op = NONE };
	uint32_t x = build_leaf(&build, "x", KIND_INPUT, DTYPE_F32, SHAPE(4, 8));
	uint32_t weight = build_leaf(&build, "weight", KIND_PARAMETER, DTYPE_F32, SHAPE(8, 8));
	uint32_t y = x;
	for (int i = 0; i < 3; i++) {
		build_op(&build, "aten.mm.default", IN(y, weight));
		y = build_output(&build, DTYPE_F32, SHAPE(4, 8));
	}
	OWN(graph) *step = step_of(finish(&build), &sgd);
	uint32_t sums = 0;
	for (uint32_t op = 0; op < step->ops; op++)
		sums += strcmp(step->op[op].type, "aten.add.Tensor") == 0;
	cr_assert_eq(sums, 2);
}

Test(train, onnx_operators_have_the_derivatives_of_their_aten_kin)
{
	struct build build = { .draft = draft_new(), .op = NONE };
	uint32_t x = build_leaf(&build, "x", KIND_INPUT, DTYPE_F32, SHAPE(4, 8));
	uint32_t weight = build_leaf(&build, "weight", KIND_PARAMETER, DTYPE_F32, SHAPE(8, 16));
	uint32_t bias = build_leaf(&build, "bias", KIND_PARAMETER, DTYPE_F32, SHAPE(16));
	build_op(&build, "onnx.MatMul", IN(x, weight));
	uint32_t y = build_output(&build, DTYPE_F32, SHAPE(4, 16));
	y = build_map(&build, "onnx.Add", IN(y, bias));
	y = build_map(&build, "onnx.Relu", IN(y));
	build_reshape(&build, "onnx.Reshape", y, SHAPE(64));
	OWN(graph) *step = step_of(finish(&build), &sgd);
	cr_assert_eq(step->about.opaques, 0);
	uint32_t backward = 0;
	for (uint32_t op = 0; op < step->ops; op++)
		backward += step->op[op].phase == PHASE_BACKWARD;
	/* ones, reshape, relu, the bias's sum and view, the weight's transpose and product */
	cr_assert_eq(backward, 7, "%u backward ops", backward);
}

Test(train, an_op_without_a_rule_is_opaque_and_reported)
{
	struct build build = { .draft = draft_new(), .op = NONE };
	uint32_t weight = build_leaf(&build, "weight", KIND_PARAMETER, DTYPE_F32, SHAPE(8));
	build_map(&build, "mine.strange", IN(weight));
	struct graph *step = step_of(finish(&build), &sgd);
	cr_assert_eq(step->about.opaques, 1);
	cr_assert_str_eq(step->about.opaque[0], "mine.strange");
	graph_release(step);
	build = (struct build){ .draft = draft_new(), .op = NONE };
	uint32_t x = build_leaf(&build, "x", KIND_INPUT, DTYPE_F32, SHAPE(8));
	build_map(&build, "aten.relu.default", IN(x));
	OWN(graph) *forward = finish(&build);
	OWN(rules) *rules = rules_new();
	struct train_options options = { .rules = rules, .update = sgd };
	struct error error = { 0 };
	cr_assert_null(train_step(forward, &options, &error));
	cr_assert_eq(error.status, BAD_INPUT);
}

/* ---- another optimizer or precision on a captured step --------------------------------------- */

static int64_t state_bytes(const struct graph *graph)
{
	int64_t bytes = 0;
	for (uint32_t s = 0; s < graph->storages; s++)
		bytes += graph->storage[s].kind == KIND_OPTIMIZER ? graph->storage[s].bytes : 0;
	return bytes;
}

static int64_t parameter_bytes(const struct graph *graph)
{
	int64_t bytes = 0;
	for (uint32_t s = 0; s < graph->storages; s++)
		bytes += graph->storage[s].kind == KIND_PARAMETER ? graph->storage[s].bytes : 0;
	return bytes;
}

Test(train, a_captured_optimizer_is_recognised_and_replaced_by_the_same_to_the_byte)
{
	struct rules *rules = test_rules();
	for (int i = 0; i < SAMPLES; i++) {
		OWN(graph) *step = open_sample(samples[i]);
		struct error error = { 0 };
		cr_assert_eq(optimizer_of(step, rules), OPTIMIZER_ADAM);
		struct optimizer_change change = { .same_optimizer = true };
		OWN(graph) *same = optimizer_replace(step, rules, &change, &error);
		cr_assert_not_null(same, "%s", error.text);
		cr_assert_eq(same->ops, step->ops);
		cr_assert_eq(program_peak(same), program_peak(step), "%s", samples[i]);
	}
}

/* What Muon keeps: of matrices in layers one moment, of all else, tables among them, two. */
static int64_t momenta(const struct graph *step)
{
	int64_t bytes = 0;
	FOR(t, step->tensors)
		if (step->tensor[t].kind == KIND_PARAMETER && step->tensor[t].writer == NONE && step->tensor[t].alias == NONE)
			bytes += step->tensor[t].bytes * (step->tensor[t].dims == 2 && strstr(step->tensor[t].name, "h.") ? 1 : 2);
	return bytes;
}

Test(train, optimizers_keep_the_state_that_they_are_known_for)
{
	struct rules *rules = test_rules();
	static const double states[OPTIMIZER_COUNT] = { [OPTIMIZER_SGD] = 0, [OPTIMIZER_MOMENTUM] = 1,
		[OPTIMIZER_ADAM] = 2, [OPTIMIZER_ADAMW] = 2, [OPTIMIZER_RMSPROP] = 1, [OPTIMIZER_ADAGRAD] = 1,
		[OPTIMIZER_LION] = 1, [OPTIMIZER_ADAMW8BIT] = 2. / 4 + 2. / 256 };
	OWN(graph) *step = open_sample("gpt2_b1_s1024_adam");
	struct error error = { 0 };
	for (enum optimizer optimizer = OPTIMIZER_SGD; optimizer < OPTIMIZER_COUNT; optimizer++) {
		struct optimizer_change change = { .update = { .optimizer = optimizer } };
		OWN(graph) *other = optimizer_replace(step, rules, &change, &error);
		cr_assert_not_null(other, "%s", error.text);
		double ratio = (double)state_bytes(other) / (double)parameter_bytes(other);
		if (optimizer == OPTIMIZER_ADAFACTOR)
			cr_assert(ratio > 0 && ratio < 0.01, "rows and columns only, not %f", ratio);
		else if (optimizer == OPTIMIZER_MUON)
			cr_assert_eq(state_bytes(other), momenta(other), "%ld, not %ld", (long)state_bytes(other), (long)momenta(other));
		else
			cr_assert_float_eq(ratio, states[optimizer], optimizer == OPTIMIZER_ADAMW8BIT ? 2e-3 : 1e-9, "%s: %f", optimizer_names[optimizer], ratio);
		cr_assert_eq(optimizer_of(other, rules), optimizer, "%s is recognised", optimizer_names[optimizer]);
		for (uint32_t op = 0; op < other->ops; op++)
			cr_assert(other->op[op].phase != PHASE_UPDATE || other->op[op].flops >= 0, "%s: %s has FLOPs",
				optimizer_names[optimizer], other->op[op].name);
	}
}

Test(train, mixed_precision_keeps_two_bytes_of_weight_and_twelve_of_state_per_parameter)
{
	struct rules *rules = test_rules();
	OWN(graph) *step = open_sample("gpt2_b1_s1024_adam");
	struct error error = { 0 };
	struct optimizer_change change = { .same_optimizer = true, .precision = PRECISION_MIXED,
		.update = { .master = true, .loss_scaling = true } };
	OWN(graph) *mixed = optimizer_replace(step, rules, &change, &error);
	cr_assert_not_null(mixed, "%s", error.text);
	int64_t parameters = parameter_bytes(step) / 4;
	cr_assert_eq(parameter_bytes(mixed), 2 * parameters);
	cr_assert_eq(state_bytes(mixed), 12 * parameters + 4, "master, two moments and the loss scale");
	cr_assert(program_peak(mixed) < program_peak(step));
	for (uint32_t t = 0; t < mixed->tensors; t++)
		if (strncmp(mixed->tensor[t].name, "_log_softmax_0", 14) == 0)
			cr_assert_eq(mixed->tensor[t].dtype, DTYPE_F32, "the loss is computed in f32");
	change.precision = PRECISION_BF16;
	change.update = (struct update_options){ 0 };
	OWN(graph) *half = optimizer_replace(step, rules, &change, &error);
	cr_assert_not_null(half, "%s", error.text);
	cr_assert_eq(parameter_bytes(half) + state_bytes(half), 6 * parameters);
}

/* Bytes of the optimizer's tensors whose names have that end. */
static int64_t named_state(const struct graph *step, const char *end)
{
	int64_t sum = 0;
	for (uint32_t t = 0; t < step->tensors; t++) {
		size_t length = strlen(step->tensor[t].name), ends = strlen(end);
		if (step->tensor[t].kind == KIND_OPTIMIZER && step->tensor[t].writer == NONE && length > ends &&
			strcmp(step->tensor[t].name + length - ends, end) == 0)
			sum += step->tensor[t].bytes;
	}
	return sum;
}

Test(train, moments_may_be_narrow_and_a_step_keeps_its_copies_of_the_weights)
{
	struct rules *rules = test_rules();
	struct optimizer_change change = { .same_optimizer = true, .update = { .narrow_moments = true } };
	struct error error = { 0 };
	OWN(graph) *step = step_of_config(
		"gpt", sized_model("gpt", (struct model_config){ .layers = 2 }), model_training_default);
	struct graph *narrow = optimizer_replace(step, rules, &change, &error);
	cr_assert_not_null(narrow, "%s", error.text);
	cr_expect_gt(named_state(step, ".master"), 0);
	cr_expect_eq(named_state(narrow, ".master"), named_state(step, ".master"), "the copies stay");
	cr_expect_eq(2 * named_state(narrow, ".exp_avg"), named_state(step, ".exp_avg"));
	cr_expect_eq(2 * named_state(narrow, ".exp_avg_sq"), named_state(step, ".exp_avg_sq"));
	cr_expect_neq(graph_find_tensor(narrow, "loss_scale"), NONE, "and so does the scaling of the loss");
	graph_release(narrow);
	change.update.narrow_moments = false;
	OWN(graph) *same = optimizer_replace(step, rules, &change, &error);
	cr_assert_not_null(same, "%s", error.text);
	cr_expect_eq(same->persistent_bytes, step->persistent_bytes);
}

Test(train, an_update_that_mixes_parameters_is_not_replaced)
{
	struct rules *rules = test_rules();
	struct build build = { .draft = draft_new(), .op = NONE };
	uint32_t a = build_leaf(&build, "a", KIND_PARAMETER, DTYPE_F32, SHAPE(8)),
			 b = build_leaf(&build, "b", KIND_PARAMETER, DTYPE_F32, SHAPE(8));
	build.phase = PHASE_BACKWARD;
	uint32_t da = build_map(&build, "aten.exp.default", IN(a)), db = build_map(&build, "aten.exp.default", IN(b));
	build.phase = PHASE_UPDATE;
	build_op(&build, "mine.fused_update", IN(a, b, da, db));
	build_inplace(&build, a);
	build_inplace(&build, b);
	OWN(graph) *step = finish(&build);
	struct optimizer_change change = { .update = sgd };
	struct error error = { 0 };
	cr_assert_null(optimizer_replace(step, rules, &change, &error));
	cr_assert_eq(error.status, BAD_INPUT);
	cr_assert(strstr(error.text, "can't be replaced"), "%s", error.text);
}

Test(train, every_failed_allocation_is_reported_and_nothing_leaks)
{
	struct build build = { .draft = draft_new(), .op = NONE };
	uint32_t x = build_leaf(&build, "x", KIND_INPUT, DTYPE_F32, SHAPE(4, 8));
	uint32_t weight = build_leaf(&build, "weight", KIND_PARAMETER, DTYPE_F32, SHAPE(8, 8));
	build_op(&build, "aten.mm.default", IN(x, weight));
	build_map_inplace(&build, "aten.silu_.default", IN(build_output(&build, DTYPE_F32, SHAPE(4, 8))));
	OWN(graph) *forward = finish(&build);
	OWN(rules) *rules = rules_new();
	struct train_options options = { .rules = rules, .update = { .optimizer = OPTIMIZER_ADAM } };
	struct optimizer_change change = { .same_optimizer = true, .precision = PRECISION_MIXED,
		.update = { .master = true, .loss_scaling = true, .accumulate = true } };
	EACH_REFUSAL(refused) {
		struct error error = { 0 };
		OWN(graph) *step = train_step(forward, &options, &error);
		OWN(graph) *mixed = step ? optimizer_replace(step, rules, &change, &error) : NULL;
		OWN(graph) *part = mixed ? train_forward_part(mixed, rules, &error) : NULL;
		refused.status = part ? OK : error.status;
		cr_assert(part || refused.status == NO_MEMORY, "%s", error.text);
	}
}
