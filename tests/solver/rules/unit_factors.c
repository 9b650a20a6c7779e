/* unit_factors.c: factor propagation, on captured steps and on small graphs, and rules from a file. */
#include <stdio.h>
#include <string.h>

#include "solver/rules/factors.h"
#include "src/read/rules_file.h"
#include "tests/common/native_text.h"
#include "tests/common/support.h"

/* A tensor's dims in words: "batch*sequence,hidden"; a number where there is no name. */
static const char *describe(const struct factors *factors, uint32_t tensor, char text[200])
{
	size_t at = 0;
	text[0] = '\0';
	for (uint32_t d = factors->dim_start[tensor]; d < factors->dim_start[tensor + 1]; d++) {
		const char *whole = factors_name_of(factors, &factors->dim[d]);
		at += (size_t)snprintf(text + at, 200 - at, "%s%s", d > factors->dim_start[tensor] ? "," : "", whole);
		for (uint32_t i = 0; i < factors->dim[d].count && !*whole; i++) {
			const struct factor *factor = &factors->factor[factors->part[factors->dim[d].first + i]];
			at += (size_t)snprintf(text + at, 200 - at, "%s%s", i > 0 ? "*" : "", factor_role_names[factor->role]);
			if (factor->role == ROLE_NONE)
				at += (size_t)snprintf(text + at, 200 - at, "%ld", (long)factor->size);
		}
		if (factors->dim[d].count == 0)
			at += (size_t)snprintf(text + at, 200 - at, "1");
	}
	return text;
}

static void check_dims(const char *sample, const char *const (*expected)[2], size_t count)
{
	OWN(graph) *graph = open_sample(sample);
	struct rules *rules = test_rules();
	OWN(factors) factors;
	cr_assert_eq(factors_find(graph, rules, &factors), OK);
	for (size_t i = 0; i < count; i++) {
		char text[200];
		uint32_t tensor = NONE;
		for (uint32_t t = 0; t < graph->tensors && tensor == NONE; t++)
			if (strncmp(graph->tensor[t].name, expected[i][0], strlen(expected[i][0])) == 0)
				tensor = t;
		cr_assert_neq(tensor, NONE, "%s: no tensor %s", sample, expected[i][0]);
		describe(&factors, tensor, text);
		cr_expect_str_eq(text, expected[i][1], "%s: %s is %s", sample, expected[i][0], text);
	}
	for (uint32_t i = 0; i < factors.issues; i++)
		cr_expect_neq(factors.issue[i].kind, ISSUE_OPAQUE, "%s: %s", sample, graph->op[factors.issue[i].op].type);
}

#define CHECK_DIMS(sample, ...) do { \
	static const char *const expected[][2] = { __VA_ARGS__ }; \
	check_dims(sample, expected, sizeof expected / sizeof *expected); \
} while (0)

Test(factors, a_transformer_has_batch_sequence_heads_hidden_ffn_and_vocabulary)
{
	CHECK_DIMS("gpt2_b1_s1024_adam", { "ids#", "batch,sequence" }, { "wte.weight#", "vocabulary,hidden" },
		{ "wpe.weight#", "positions,hidden" }, { "arange_0#", "sequence" },
		{ "permute_0#", "batch,heads,sequence,head size" }, { "_softmax_0#", "batch,heads,sequence,sequence" },
		{ "addmm_0#", "batch*sequence,2304" }, { "addmm_2#", "batch*sequence,ffn" },
		{ "addmm_3#", "batch*sequence,hidden" });
	CHECK_DIMS("bert_base_b1_s512_adam", { "bmm_0#", "batch*heads,sequence,sequence" },
		{ "embedding_0#", "batch,sequence,hidden" });
}

Test(factors, a_batch_of_one_is_followed_through_sequence_first_attention)
{
	CHECK_DIMS("vit_b_16_b1_adam", { "x#", "batch,channels,space,space" }, { "addmm_0#", "197*batch,2304" },
		{ "bmm_0#", "batch*heads,197,197" }, { "class_token#", "1,1,channels" });
}

Test(factors, a_convolutional_network_has_batch_channels_and_space)
{
	CHECK_DIMS("alexnet_b1_adam", { "convolution_0#", "batch,channels,space,space" }, { "addmm_0#", "batch,ffn" },
		{ "addmm_1#", "batch,4096" });
}

#define INPUT(id, shape, more) \
	"{\"k\":\"tensor\",\"id\":\"" id "\",\"bytes\":8192,\"dtype\":\"f32\",\"shape\":" shape ",\"kind\":\"input\"" more \
	"}\n"
#define FILE_OF(head, tensors) "{\"k\":\"graph\",\"v\":1,\"name\":\"rows\"" head "}\n" tensors "{\"k\":\"end\"}\n"

Test(factors, samples_are_as_many_as_the_file_says_and_where_it_says)
{
	static const struct { const char *text, *x, *y; } graph_of[] = {
		{ FILE_OF("", INPUT("x", "[1024,8]", "") INPUT("y", "[2]", "")), "batch,8", "2" },
		{ FILE_OF(",\"batch\":2", INPUT("x", "[1024,8]", "") INPUT("y", "[2]", "")), "batch*512,8", "batch" },
		{ FILE_OF(",\"batch\":2", INPUT("x", "[5,2,8]", "") INPUT("y", "[3,8]", "")), "5,batch,8", "3,8" },
		{ FILE_OF(",\"batch\":1", INPUT("x", "[512,8]", "") INPUT("y", "[1,8]", "")), "batch*512,8", "batch,8" },
		{ FILE_OF(",\"batch\":3", INPUT("x", "[1024,8]", "") INPUT("y", "[2]", "")), "batch,8",
			"2" },      /* no dim is of so many */
		{ FILE_OF(",\"batch\":8,\"mesh\":{\"dp\":4},\"rank\":0", INPUT("x", "[2,8,4]", "") INPUT("y", "[2]", "")),
			"batch,8,4", "batch" },
		{ FILE_OF(",\"batch\":2,\"batches\":[2,3]",
			  INPUT("x", "[2,2,8]", ",\"per_sample\":{\"shape\":[0,1,0]}") INPUT("y", "[2,8]", "")),
			"2,batch,8", "2,8" },
	};
	struct rules *rules = test_rules();
	for (size_t i = 0; i < sizeof graph_of / sizeof *graph_of; i++) {
		struct error error = { 0 };
		char text[200];
		OWN(graph) *graph = graph_of_text(graph_of[i].text, strlen(graph_of[i].text), &error);
		cr_assert(graph, "%s", error.text);
		OWN(factors) factors;
		cr_assert_eq(factors_find(graph, rules, &factors), OK);
		cr_expect_str_eq(describe(&factors, 0, text), graph_of[i].x, "case %zu: %s", i, text);
		cr_expect_str_eq(describe(&factors, 1, text), graph_of[i].y, "case %zu: %s", i, text);
	}
}

/* Windows and tokens are as many, heads and parts too: only the arguments say which dim goes where. */
Test(factors, a_permutation_among_equal_extents_is_that_of_the_arguments)
{
	static const char text[] =
		"{\"k\":\"graph\",\"v\":1,\"name\":\"windows\"}\n{\"k\":\"tensor\",\"id\":\"x\",\"bytes\":768,\"dtype\":"
		"\"f32\",\"shape\":[4,4,3,3,2],\"kind\":\"input\"}\n"
		"{\"k\":\"tensor\",\"id\":\"y\",\"bytes\":768,\"dtype\":\"f32\",\"shape\":[3,4,3,4,2],\"kind\":\"activation\"}"
		"\n"
		"{\"k\":\"tensor\",\"id\":\"z\",\"bytes\":768,\"dtype\":\"f32\",\"shape\":[3,4,3,4,2],\"kind\":\"output\"}\n"
		"{\"k\":\"op\",\"id\":\"p\",\"op\":\"aten.permute.default\",\"in\":[\"x\"],\"out\":[\"y\"],\"args\":[{\"t\":"
		"\"x\"},[2,0,3,1,4]]}\n"
		"{\"k\":\"op\",\"id\":\"q\",\"op\":\"aten.transpose.int\",\"in\":[\"y\"],\"out\":[\"z\"],\"args\":[{\"t\":"
		"\"y\"},-4,-2]}\n{\"k\":\"end\",\"ops\":2,\"tensors\":3}\n";
	struct error error = { 0 };
	OWN(graph) *graph = graph_of_text(text, sizeof text - 1, &error);
	cr_assert(graph, "%s", error.text);
	struct rules *rules = test_rules();
	OWN(factors) factors;
	cr_assert_eq(factors_find(graph, rules, &factors), OK);
	static const uint32_t from[2][5] = { { 2, 0, 3, 1, 4 }, { 2, 1, 3, 0, 4 } };
	for (uint32_t t = 0; t < 2; t++)
		for (uint32_t d = 0; d < 5; d++) {
			const struct factor_term *is = &factors.dim[factors.dim_start[t + 1] + d],
									 *was = &factors.dim[factors.dim_start[0] + from[t][d]];
			cr_expect_eq(factors.part[is->first], factors.part[was->first], "tensor %u, dim %u", t + 1, d);
		}
}

Test(factors, every_failed_allocation_is_reported_and_nothing_leaks)
{
	OWN(graph) *graph = open_sample("alexnet_b1_adam");
	EACH_REFUSAL(refused) {
		OWN(factors) factors = { 0 };
		OWN(rules) *rules = rules_new();
		refused.status = rules ? factors_find(graph, rules, &factors) : NO_MEMORY;
	}
}

/* ---- rules from a file ----------------------------------------------------------------------- */

Test(rules_file, a_rule_for_a_custom_op_is_found_with_all_its_columns)
{
	OWN(rules) *rules = rules_new();
	struct error error = { 0 };
	cr_assert_eq(
		rules_read_text(rules,
			"# ours\n\nmy.mlp: ... h+, h+ f -> ... f ; cost = contraction; gradients = 0 1 ; saved = i0|1 i1|0 # all\n"
			"my.view: @reshape; cost=none; backward = my.back",
			&error),
		OK, "line %u: %s", error.line, error.text);
	const struct rule *mlp = rules_find(rules, "my.mlp.default"), *view = rules_find(rules, "my.view");
	cr_assert(mlp && view);
	cr_assert_str_eq(mlp->factors, "... h+, h+ f -> ... f");
	cr_assert_str_eq(mlp->gradients, "0 1");
	cr_assert_str_eq(mlp->saved, "i0|1 i1|0");
	cr_assert_eq(mlp->cost, COST_CONTRACTION);
	cr_assert_str_eq(view->backward, "my.back");
}

Test(rules_file, a_bad_line_is_named)
{
	static const char *const bad[] = { "my.op", "my.op: a -> ", "my.op: a -> a; cost = much",
		"my.op: a -> a; colour = red", ": a -> a", "my.op: a a", "my.op: a -> a; cost" };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char text[200];
		OWN(rules) *rules = rules_new();
		struct error error = { 0 };
		snprintf(text, sizeof text, "# first\n%s\n", bad[i]);
		enum status status = rules_read_text(rules, text, &error);
		if (i == 1) {
			cr_assert_eq(status, OK, "a sum to a scalar is a rule");
		} else {
			cr_assert_eq(status, BAD_INPUT, "\"%s\" was taken", bad[i]);
			cr_assert_eq(error.line, 2, "\"%s\": line %u", bad[i], error.line);
		}
	}
}
