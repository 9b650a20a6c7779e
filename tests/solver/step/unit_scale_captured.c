/* unit_scale_captured.c: another batch of a step that was captured at two. */
#include <string.h>

#include "solver/step/scale.h"
#include "tests/common/native_text.h"
#include "tests/common/support.h"

#define TENSOR(id, bytes, dtype, shape, kind, more) \
	"{\"k\":\"tensor\",\"id\":\"" id "\",\"bytes\":" #bytes ",\"dtype\":\"" dtype "\",\"shape\":" shape \
	",\"kind\":\"" kind "\"" more "}\n"
#define GROWS(members) ",\"per_sample\":{" members "}"
/* Positions [1, 4] that are no batch; similarities of all pairs of samples; a flat view; memory of which shapes say
 * nothing; what a sample takes away. */
#define STEP \
	"{\"k\":\"graph\",\"v\":1,\"name\":\"step\",\"batch\":2,\"batches\":[2,3]}\n" \
	TENSOR("x", 32, "f32", "[2,4]", "input", GROWS("\"shape\":[1,0]")) \
	TENSOR("positions", 16, "f32", "[1,4]", "activation", "") \
	TENSOR("sum", 32, "f32", "[2,4]", "activation", GROWS("\"shape\":[1,0]")) \
	TENSOR("flat", 32, "f32", "[8]", "activation", ",\"alias\":\"sum\"" GROWS("\"shape\":[4]")) \
	TENSOR("pairs", 16, "f32", "[2,2]", "activation", GROWS("\"shape\":[1,1]")) \
	TENSOR("kept", 100, "u8", "[1]", "output", GROWS("\"bytes\":30")) \
	TENSOR("left", 28, "f32", "[7]", "output", GROWS("\"shape\":[-2]")) \
	"{\"k\":\"op\",\"id\":\"a\",\"op\":\"aten.arange.default\",\"in\":[],\"out\":[\"positions\"],\"args\":[4]}\n" \
	"{\"k\":\"op\",\"id\":\"b\",\"op\":\"aten.add.Tensor\",\"in\":[\"x\",\"positions\"],\"out\":[\"sum\"],\"flops\":8" GROWS("\"flops\":4") "}\n" \
	"{\"k\":\"op\",\"id\":\"c\",\"op\":\"aten.view.default\",\"in\":[\"sum\"],\"out\":[\"flat\"],\"flops\":0,\"args\":[{\"t\":\"sum\"},[8],2.0]" \
		GROWS("\"arguments\":[[0,4],[1,1]]") "}\n" \
	"{\"k\":\"op\",\"id\":\"d\",\"op\":\"my.pairs\",\"in\":[\"sum\"],\"out\":[\"pairs\"],\"flops\":32,\"workspace\":64" GROWS("\"flops\":40") "}\n" \
	"{\"k\":\"op\",\"id\":\"e\",\"op\":\"my.keep\",\"in\":[\"pairs\",\"flat\"],\"out\":[\"kept\",\"left\"],\"flops\":1}\n" \
	"{\"k\":\"end\",\"tensors\":7,\"ops\":5}\n"

static struct graph *step(void)
{
	struct error error;
	struct graph *graph = graph_of_text(STEP, sizeof STEP - 1, &error);
	cr_assert_not_null(graph, "%s", error.text);
	return graph;
}

static enum status scale(
	const struct graph *graph, int64_t batch, struct scale_report *report, struct graph **scaled, struct error *error)
{
	OWN(rules) *rules = rules_new();
	*scaled = NULL;
	return rules ? graph_scale_captured(graph, rules, batch, report, scaled, error) : NO_MEMORY;
}

static int64_t bytes(const struct graph *graph, const char *name)
{
	return graph->tensor[graph_find_tensor(graph, name)].bytes;
}

Test(scale_captured, every_size_grows_by_what_a_sample_adds)
{
	struct scale_report report;
	struct error error = { 0 };
	struct graph *made;
	OWN(graph) *graph = step();
	cr_assert_eq(scale(graph, 5, &report, &made, &error), OK, "%s", error.text);
	OWN(graph) *scaled = made;
	cr_expect_eq(bytes(scaled, "x"), 80);
	cr_expect_eq(bytes(scaled, "positions"), 16);
	cr_expect_eq(bytes(scaled, "flat"), 80);
	cr_expect_eq(bytes(scaled, "pairs"), 100);
	cr_expect_eq(bytes(scaled, "kept"), 190);
	cr_expect_eq(bytes(scaled, "left"), 4);
	cr_expect_eq(scaled->op[1].flops, 20);
	cr_expect_eq(scaled->op[3].flops, 152);        /* no rule: by a constant */
	cr_expect_eq(scaled->op[3].workspace, 160);    /* like its operand */
	cr_expect_eq(report.workspaces, 1);
	cr_expect_str_eq(scaled->op[2].arguments->value[3].text, "20");
	cr_expect_str_eq(scaled->op[2].arguments->value[4].text, "5.0");
	cr_expect_eq(scaled->about.batch, 5);
	cr_expect_eq(scaled->line[0], 0);              /* it was captured nowhere */
	for (uint32_t t = 0; t < scaled->tensors; t++)
		cr_expect_null(scaled->tensor[t].grows);
}

Test(scale_captured, products_of_all_pairs_have_the_rules_flops)
{
	static const char text[] = "{\"k\":\"graph\",\"v\":1,\"name\":\"clip\",\"batch\":2,\"batches\":[2,3]}\n" TENSOR(
		"a", 32, "f32", "[2,4]", "input", GROWS("\"shape\":[1,0]"))
		TENSOR("b", 32, "f32", "[4,2]", "input", GROWS("\"shape\":[0,1]")) TENSOR("ab", 16, "f32", "[2,2]", "output",
			GROWS("\"shape\":[1,1]")) "{\"k\":\"op\",\"id\":\"m\",\"op\":\"aten.mm.default\",\"in\":[\"a\",\"b\"],"
									  "\"out\":[\"ab\"],\"flops\":32" GROWS("\"flops\":40") "}\n"
																							"{\"k\":\"end\"}\n";
	struct scale_report report;
	struct error error = { 0 };
	OWN(graph) *graph = graph_of_text(text, sizeof text - 1, &error);
	struct graph *made;
	cr_assert_eq(scale(graph, 8, &report, &made, &error), OK, "%s", error.text);
	OWN(graph) *scaled = made;
	cr_expect_eq(scaled->op[0].flops, 2 * 8 * 8 * 4);
}

Test(scale_captured, sizes_that_would_be_absurd_are_refused)
{
	struct scale_report report;
	struct error error = { 0 };
	struct graph *scaled;
	OWN(graph) *graph = step();
	cr_expect_eq(scale(graph, 6, &report, &scaled, &error), BAD_INPUT);   /* 7 - 4 * 2 elements */
	cr_expect(strstr(error.text, "left"), "%s", error.text);
	cr_expect_eq(scale(graph, INT64_MAX, &report, &scaled, &error), BAD_INPUT);
	cr_expect_eq(scale(graph, BYTES_MAX, &report, &scaled, &error), BAD_INPUT);
	cr_expect_eq(scale(graph, 0, &report, &scaled, &error), BAD_INPUT);
}

#define SMALL(head) "{\"k\":\"graph\",\"v\":1,\"name\":\"step\"," head "}\n" \
	TENSOR("x", 4096, "f32", "[1024,1]", "input", GROWS("\"shape\":[512,0]")) \
	"{\"k\":\"op\",\"id\":\"conv\",\"op\":\"my.conv\",\"in\":[\"x\"],\"out\":[],\"workspace\":100,\"workspace_at\":[[2,100],[3,110],[8,1010]]}\n" \
	"{\"k\":\"end\"}\n"
#define ALONE "{\"k\":\"graph\",\"v\":1,\"name\":\"step\",\"batch\":1}\n" TENSOR("x", 2048, "f32", "[512,1]", \
	"input", "") \
	"{\"k\":\"op\",\"id\":\"other\",\"op\":\"my.other\",\"in\":[\"x\"],\"out\":[],\"workspace\":7}\n{\"k\":\"end\"}\n"

/* What one sample comes to: its first op, bytes of x, and whether that is beyond what was captured. */
static void one_sample(const char *text, const char *op, bool extended)
{
	struct scale_report report;
	struct error error = { 0 };
	OWN(graph) *graph = graph_of_text(text, strlen(text), &error);
	cr_assert_not_null(graph, "%s", error.text);
	struct graph *made;
	cr_assert_eq(scale(graph, 1, &report, &made, &error), OK, "%s", error.text);
	OWN(graph) *scaled = made;
	cr_expect_str_eq(scaled->op[0].name, op);
	cr_expect_eq(bytes(scaled, "x"), 2048);
	cr_expect_eq(scaled->about.batch, 1);
	cr_expect_eq(report.extended, extended);
}

Test(scale_captured, one_sample_is_its_capture_or_on_the_line_or_refused)
{
	one_sample(SMALL("\"batch\":2,\"batches\":[2,3]") ALONE, "other", false);
	one_sample(SMALL("\"batch\":2,\"batches\":[1,2,3]"), "conv", false);
	one_sample(SMALL("\"batch\":2,\"batches\":[2,3]"), "conv", true);
	static const char refused[] = SMALL("\"batch\":2,\"batches\":[2,3],\"one_sample\":\"one value a channel\"");
	struct scale_report report;
	struct error error = { 0 };
	struct graph *scaled;
	OWN(graph) *graph = graph_of_text(refused, sizeof refused - 1, &error);
	cr_expect_eq(scale(graph, 1, &report, &scaled, &error), BAD_INPUT);
	cr_expect(strstr(error.text, "one value a channel"), "%s", error.text);
	cr_assert_eq(scale(graph, 4, &report, &scaled, &error), OK);
	graph_release(scaled);
}

Test(scale_captured, workspace_is_on_the_lines_through_what_was_measured)
{
	static const struct {
		int64_t batch, bytes;
	} expected[] = { { 1, 90 }, { 2, 100 }, { 3, 110 }, { 4, 290 }, { 8, 1010 }, { 9, 1190 } };
	static const char text[] = SMALL("\"batch\":2,\"batches\":[2,3]");
	struct scale_report report;
	struct error error = { 0 };
	OWN(graph) *graph = graph_of_text(text, sizeof text - 1, &error);
	cr_assert_not_null(graph, "%s", error.text);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		struct graph *made;
		cr_assert_eq(scale(graph, expected[i].batch, &report, &made, &error), OK, "%s", error.text);
		cr_expect_eq(made->op[0].workspace, expected[i].bytes);
		cr_expect_eq(report.workspaces, 0);
		graph_release(made);
	}
}

Test(scale_captured, every_allocation_may_fail)
{
	OWN(graph) *graph = step();
	EACH_REFUSAL(refused) {
		struct scale_report report;
		struct error error = { 0 };
		struct graph *scaled;
		refused.status = scale(graph, 5, &report, &scaled, &error);
		graph_release(scaled);
	}
}
