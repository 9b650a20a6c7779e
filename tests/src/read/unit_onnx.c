/* unit_onnx.c: ONNX models: sizes known, inferred and missing; what is refused. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "src/read/onnx.h"
#include "tests/common/named.h"
#include "tests/common/support.h"

static struct graph *read_model(const char *name, const char *dim, struct error *error)
{
	static char data[1 << 16];
	char path[100];
	snprintf(path, sizeof path, "tests/corpus/onnx/%s.onnx", name);
	FILE *stream = fopen(path, "rb");
	cr_assert(stream, "%s", path);
	size_t size = fread(data, 1, sizeof data, stream);
	fclose(stream);
	return onnx_read(data, size, &dim, dim ? 1 : 0, error);
}

Test(onnx, a_symbolic_size_is_missing_until_it_is_given)
{
	struct error error = { 0 };
	struct graph *without = read_model("mlp", NULL, &error), *with = read_model("mlp", "batch=2", &error);
	cr_assert(without && with, "%s", error.text);
	cr_expect_eq(without->ops, 5);
	cr_expect_eq(without->about.intake.missing, 4, "x and what follows from it, but y, which follows from f");
	cr_expect(strstr(without->about.intake.advice, "--dim batch="), "%s", without->about.intake.advice);
	cr_expect_eq(with->about.intake.inferred, 4, "the product, the sum, Relu and Softmax");
	cr_expect_eq(tensor_named(with, "s")->bytes, 2 * 8 * 4);
	cr_expect_eq(with->about.intake.missing, 0);
	cr_expect_eq(tensor_named(with, "y")->bytes, 16 * 4);
	graph_release(without);
	graph_release(with);
	cr_assert_eq(memory_blocks(), 0);
}

Test(onnx, weights_are_parameters_and_views_share_memory)
{
	struct error error = { 0 };
	struct graph *graph = read_model("mlp", "batch=2", &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(tensor_named(graph, "w")->kind, KIND_PARAMETER);
	cr_expect_eq(tensor_named(graph, "w")->bytes, 4 * 8 * 4);
	cr_expect_eq(tensor_named(graph, "b")->bytes, 8 * 4, "of a weight in another file, which is not opened");
	cr_expect_eq(tensor_named(graph, "to")->kind, KIND_CONSTANT);
	cr_expect_eq(tensor_named(graph, "x")->kind, KIND_INPUT);
	cr_expect_eq(tensor_named(graph, "y")->kind, KIND_OUTPUT);
	cr_expect_eq(tensor_named(graph, "f")->storage, tensor_named(graph, "r")->storage);
	graph_release(graph);
}

Test(onnx, graphs_inside_of_ops_are_said)
{
	struct error error = { 0 };
	struct graph *graph = read_model("loop", NULL, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect(strstr(graph->about.intake.assumed, "not opened"), "%s", graph->about.intake.assumed);
	graph_release(graph);
}

Test(onnx, what_is_wrong_is_said)
{
	static const struct { const char *name, *text; } cases[] = { { "twice", "made twice" }, { "huge", "overflows" }, { "truncated", "truncated" }, { "cycle", "after it is read" },
		{ "varint", "truncated or broken" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct error error = { 0 };
		struct graph *graph = read_model(cases[i].name, NULL, &error);
		cr_expect_null(graph, "%s", cases[i].name);
		cr_expect_eq(error.status, BAD_INPUT);
		cr_expect(strstr(error.text, cases[i].text), "%s: %s", cases[i].name, error.text);
		graph_release(graph);
	}
	cr_assert_eq(memory_blocks(), 0);
}
