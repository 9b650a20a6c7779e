/* unit_rules.c: the operator rules: parsing, binding to shapes, and their soundness: every rule executed
 * numerically, sharded along each of its factors against dense. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/rules/rules.h"
#include "src/read/input.h"
#include "tests/common/support.h"

Test(rules, every_built_in_rule_parses_and_is_there_once)
{
	OWN(rules) *rules = rules_new();
	cr_assert(rules);
	const struct rule *const tables[] = { rules_aten, rules_onnx, rules_plain };
	uint32_t named = 0;
	for (int i = 0; i < 3; i++)
		for (const struct rule *row = tables[i]; row->type; row++)
			for (const char *at = row->type; at; at = strchr(at + 1, ' '))
				named++;
	cr_assert_gt(named, 700);
	cr_assert_null(rules_at(rules, named), "fewer are named");
	cr_assert(rules_at(rules, named - 1), "an operator is there twice");
	for (uint32_t i = 0; i < named; i++)
		cr_assert_eq(rules_find(rules, rules_at(rules, i)->type), rules_at(rules, i));
	const struct rule *sine = rules_find(rules, "aten.cos");
	cr_assert_str_eq(sine->type, "aten.cos");
	cr_assert_str_eq(sine->saved, "i0");
	cr_assert_str_eq(rules_find(rules, "matmul_backward")->gradients, "");
}

Test(rules, an_overload_and_the_mark_of_in_place_ops_are_no_part_of_the_name)
{
	struct rules *rules = test_rules();
	cr_assert_str_eq(rules_find(rules, "aten.add_.Tensor")->type, "aten.add");
	cr_assert_str_eq(rules_find(rules, "aten.sum.dim_IntList")->type, "aten.sum");
	cr_assert_str_eq(rules_find(rules, "aten._softmax.default")->type, "aten._softmax");
	cr_assert_null(rules_find(rules, "aten.add_nothing.Tensor"));
}

Test(rules, a_bad_factor_string_is_refused_with_its_place)
{
	static const char *const bad[] = { "m k+", "m k+, -> m n ->", "(a b -> a", "() -> a", "9 -> a", "@nonsense",
		"a b$ -> a" };
	OWN(rules) *rules = rules_new();
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct rule rule = { .type = "my.op", COST_ELEMENT, bad[i] };
		struct error error = { 0 };
		cr_assert_eq(rules_add(rules, &rule, &error), BAD_INPUT, "\"%s\" was taken", bad[i]);
		cr_assert(error.text[0], "\"%s\" has no message", bad[i]);
	}
}

/* A row is multiplied by its own group's matrix alone; where groups are a dim of both operands, every row is of one. */
Test(rules, grouped_products_count_each_row_once)
{
	static const struct { int dims[4]; int64_t shape[4][3]; uint32_t operands; int64_t flops; } cases[] = {
		{ { 2, 3, 1, 2 }, { { 64, 16 }, { 8, 16, 32 }, { 8 }, { 64, 32 } }, 3, 2 * 64 * 16 * 32 },
		{ { 2, 2, 1, 3 }, { { 16, 64 }, { 64, 32 }, { 8 }, { 8, 16, 32 } }, 3, 2 * 64 * 16 * 32 },
		{ { 3, 3, 3 }, { { 8, 5, 16 }, { 8, 16, 32 }, { 8, 5, 32 } }, 2, 2 * 8 * 5 * 16 * 32 },
	};
	const struct rule *rule = rules_find(test_rules(), "aten._grouped_mm");
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		struct rule_tensor tensor[4];
		struct binding binding = { 0 };
		struct error error = { 0 };
		for (uint32_t t = 0; t <= cases[c].operands; t++)
			tensor[t] = (struct rule_tensor) { cases[c].shape[t], cases[c].dims[t] };
		cr_assert_eq(rule_bind(rule, tensor, cases[c].operands, 1, false, &binding, &error), OK, "%s", error.text);
		cr_expect_eq(rule_flops(rule, &binding), cases[c].flops, "%zu: %ld", c, (long)rule_flops(rule, &binding));
		binding_free(&binding);
	}
}

/* ---- the captured samples -------------------------------------------------------------------- */

static const char *const samples[] = { "alexnet_b1_adam", "mobilenet_v2_b1_adam", "vit_b_16_b1_adam",
	"bert_base_b1_s512_adam", "gpt2_b1_s1024_adam", "gpt2_xl_b1_s1024_adam" };

static void check_sample(const struct rules *rules, const char *path)
{
	struct error error = { 0 };
	OWN(graph) *graph = graph_open(path, NULL, &error);
	cr_assert(graph, "%s: %s", path, error.text);
	struct binding binding = { 0 };
	for (uint32_t op = 0; op < graph->ops; op++) {
		const struct rule *rule = rules_find(rules, graph->op[op].type);
		cr_assert(rule, "%s: no rule for %s", path, graph->op[op].type);
		cr_assert_eq(rule_bind_op(rule, graph, op, &binding, &error), OK, "%s: %s: %s", path, graph->op[op].name, error.text);
		for (uint32_t dim = 0; dim < binding.dim_start[binding.tensors]; dim++) {
			int64_t product = 1;
			for (uint32_t i = 0; i < binding.dim[dim].count; i++)
				product *= binding.factor[binding.part[binding.dim[dim].first + i]].size;
			cr_assert_eq(product, binding.dim[dim].size, "%s: %s: the factors don't make the dim", path, graph->op[op].name);
		}
		cr_assert_eq(rule_flops(rule, &binding), graph->op[op].flops, "%s: %s: %ld FLOPs by rule, %ld recorded", path,
			graph->op[op].name, (long)rule_flops(rule, &binding), (long)graph->op[op].flops);
	}
	binding_free(&binding);
}

Test(rules, all_ops_of_the_captured_steps_have_rules_that_give_the_recorded_flops)
{
	struct rules *rules = test_rules();
	const char *extra = getenv("GRAPH");
	if (extra) {
		check_sample(rules, extra);
	} else {
		for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
			char path[100];
			snprintf(path, sizeof path, "samples/%s.jsonl.gz", samples[i]);
			check_sample(rules, path);
		}
	}
}
