/* unit_inductor.c: Inductor's memory graphs: its peaks and its orders, as PyTorch 2.15
 * computed them on these files. python_test has what is refused. */
#include <stdio.h>
#include <string.h>

#include "solver/order/order.h"
#include "src/read/input.h"
#include "tests/common/support.h"

#define FOLDER "tests/corpus/inductor/"

static void check_order(const struct graph *graph, const struct problem *problem, enum order_strategy strategy,
	int64_t peak, const char *names)
{
	struct order_options options = { .strategy = strategy };
	struct control control = { 0 };
	OWN(order_result) result;
	char text[600] = "";
	cr_assert_eq(order_solve(problem, &options, &control, &result), OK);
	for (uint32_t i = 0; i < graph->ops; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", graph->op[result.order[i]].name);
	cr_expect_eq(result.peak, peak, "%s: %ld", order_strategy_names[strategy], (long)result.peak);
	cr_expect_str_eq(text, names, "%s", order_strategy_names[strategy]);
}

Test(inductor, peaks_and_orders_are_those_of_pytorch)
{
	static const struct { const char *file; int64_t program, peak[3]; const char *order[3]; } known[] = {
		{ FOLDER "forward.json", 133792, { 133792, 133792, 133792 }, {
			"op18_op19 op0 op2 op1 op3 op4 op5_op6_op21_op22_op7_op8_op24_op25 op9 op10 op11 op12 op13 op14_op15_op16_op17",
			"op0 op1 op2 op3 op18_op19 op4 op5_op6_op21_op22_op7_op8_op24_op25 op9 op10 op11 op12 op13 op14_op15_op16_op17",
			"op18_op19 op2 op0 op1 op4 op5_op6_op21_op22_op7_op8_op24_op25 op9 op10 op3 op11 op12 op13 op14_op15_op16_op17" } },
		{ FOLDER "backward.json", 212936, { 212936, 212936, 194240 }, {
			"op0_op1 op4 op2 op11 op5_op6 op3 op12 op13 op14 op15 op7 op8 op9 op10 op16_op17_op18 op19 op20 op21 op22",
			"op0_op1 op2 op3 op4 op5_op6 op11 op7 op12 op8 op9 op10 op13 op14 op15 op16_op17_op18 op19 op20 op21 op22",
			"op0_op1 op2 op5_op6 op7 op8 op9 op10 op11 op12 op13 op14 op15 op16_op17_op18 op19 op20 op21 op22 op4 op3" } },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct error error = { 0 };
		struct memory_rules rules = { .alignment = 1 };
		OWN(problem) problem;
		OWN(graph) *graph = graph_open(known[i].file, NULL, &error);
		cr_assert_not_null(graph, "%s", error.text);
		cr_assert_str_eq(graph->about.intake.format, "Inductor memory graph");
		cr_assert_eq(problem_of_graph(graph, &rules, &problem, &error), OK);
		cr_expect_eq(problem_peak(&problem, problem.program, NULL, &(uint32_t){ 0 }), known[i].program);
		for (int k = 0; k < 3; k++)
			check_order(graph, &problem, ORDER_INDUCTOR_LPMF + (enum order_strategy)k, known[i].peak[k], known[i].order[k]);
	}
}
