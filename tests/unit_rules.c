/* unit_rules.c: the operator rules: parsing, binding to shapes, and their soundness: every rule executed
 * numerically, sharded along each of its factors against dense.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "solver/rules.h"
#include "support.h"

Test(rules, every_built_in_rule_parses)
{
	struct rules *rules = rules_new();
	cr_assert(rules);
	const struct rule *const tables[] = { rules_aten, rules_onnx };
	for (int i = 0; i < 2; i++)
		for (const struct rule *rule = tables[i]; rule->type; rule++) {
			struct error error = { 0 };
			cr_assert_eq(rules_add(rules, rule, &error), OK, "%s: %s", rule->type, error.text);
			cr_assert_str_eq(rules_find(rules, rule->type)->factors, rule->factors, "%s is there twice", rule->type);
		}
	rules_free(rules);
}

Test(rules, an_overload_and_the_mark_of_in_place_ops_are_no_part_of_the_name)
{
	struct rules *rules = rules_new();
	cr_assert_str_eq(rules_find(rules, "aten.add_.Tensor")->type, "aten.add");
	cr_assert_str_eq(rules_find(rules, "aten.sum.dim_IntList")->type, "aten.sum");
	cr_assert_str_eq(rules_find(rules, "aten._softmax.default")->type, "aten._softmax");
	cr_assert_null(rules_find(rules, "aten.add_nothing.Tensor"));
	rules_free(rules);
}

Test(rules, a_bad_factor_string_is_refused_with_its_place)
{
	static const char *const bad[] = { "m k+", "m k+, -> m n ->", "(a b -> a", "() -> a", "9 -> a", "@nonsense", "a b$ -> a" };
	struct rules *rules = rules_new();
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct rule rule = { "my.op", bad[i], COST_ELEMENT, "", "", NULL };
		struct error error = { 0 };
		cr_assert_eq(rules_add(rules, &rule, &error), BAD_INPUT, "\"%s\" was taken", bad[i]);
		cr_assert(error.text[0], "\"%s\" has no message", bad[i]);
	}
	rules_free(rules);
}
