/* unit_autoparallel.c: steps as AutoParallel writes them: local sizes, transfers where placements differ, parts of
 * results. python_test has what is refused. */
#include <string.h>

#include "src/read/dot_child.h"
#include "src/read/input.h"
#include "tests/common/named.h"
#include "tests/common/support.h"

static int64_t bytes_of(const struct graph *graph, const char *name)
{
	const struct tensor *tensor = tensor_named(graph, name);
	return tensor->bytes;
}

Test(autoparallel, the_graph_is_that_of_one_device)
{
	struct error error = { 0 };
	OWN(graph) *graph = graph_open("tests/corpus/autoparallel/step.json", NULL, &error);
	cr_assert_not_null(graph, "%s", error.text);
	cr_assert_str_eq(graph->about.intake.format, "AutoParallel JSON");
	cr_expect(graph->about.axes == 2 && graph->about.axis[1].size == 4 && strcmp(graph->about.axis[0].name, "dp") == 0);
	cr_expect_eq(bytes_of(graph, "w"), 8 * 5 * 4);
	cr_expect_eq(bytes_of(graph, "x"), 3 * 8 * 2);
	cr_expect_eq(bytes_of(graph, "mm"), 3 * 5 * 4);
	cr_expect_eq(bytes_of(graph, "mm as S(0)R"), 3 * 20 * 4);
	cr_expect_eq(bytes_of(graph, "mean"), 3 * 4);
	cr_expect_eq(bytes_of(graph, "dw"), 8 * 5 * 4, "partial sums are as large as what they add up to");
	cr_expect_eq(tensor_named(graph, "y as S(0)S(1)")->storage, tensor_named(graph, "y")->storage,
		"every device cuts its own piece");
	cr_expect_eq(tensor_named(graph, "y")->writer, tensor_named(graph, "mean")->writer, "results of one op");
	cr_expect_eq(tensor_named(graph, "dw2")->kind, KIND_OUTPUT);
	cr_expect_eq(tensor_named(graph, "w")->kind, KIND_PARAMETER);
	cr_expect_eq(graph->ops, 5 + 3, "the gathered product is shared");
	cr_expect_eq(graph->about.intake.missing, 0);
	const struct op *gather = &graph->op[tensor_named(graph, "mm as S(0)R")->writer],
					*add_up = &graph->op[tensor_named(graph, "dw as RS(1)")->writer];
	cr_expect(strcmp(gather->type, "comm.all_gather") == 0 && gather->collective->size == 4 &&
		strcmp(gather->collective->axis, "tp") == 0);
	cr_expect(strcmp(add_up->type, "comm.all_reduce") == 0 && add_up->collective->size == 2);
	cr_expect_str_eq(graph->op[tensor_named(graph, "mm")->writer].src, "model.py:7 in forward");
}

/* Of several results some may not be there. What is cut along both axes is gathered along one after the other. */
Test(autoparallel, every_axis_that_differs_has_an_op)
{
	static const char text[] =
		"{\"mesh\": {\"shape\": [2, 4], \"dim_names\": [\"dp\", \"tp\"]}, \"nodes\": ["
		"{\"name\": \"x\", \"op\": \"placeholder\", \"placement\": \"S(0)S(1)\", \"dtype\": \"float32\", \"shape\": "
		"[8, 16], \"inputs\": []},"
		"{\"name\": \"n\", \"op\": \"aten.native_layer_norm_backward.default\", \"placement\": \"(None, RR, RR)\", "
		"\"dtype\": \"float32\", \"shape\": [16],"
		" \"inputs\": [{\"name\": \"x\", \"src_placement\": \"S(0)S(1)\", \"dst_placement\": \"RR\"}]}]}";
	struct error error = { 0 };
	OWN(graph) *graph =
		python_child_graph(&(struct python_job){ .name = "autoparallel", .data = text, .size = sizeof text - 1 }, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(graph->ops, 3);
	cr_expect_eq(bytes_of(graph, "x as RR along tp"), 4 * 16 * 4);
	cr_expect_eq(bytes_of(graph, "x as RR"), 8 * 16 * 4);
	cr_expect_eq(op_named(graph, "x as RR along tp")->collective->size, 4);
	cr_expect_str_eq(op_named(graph, "x as RR")->collective->axis, "dp");
	cr_expect_null(strstr(graph->about.intake.assumed, "without a placement"));
}
