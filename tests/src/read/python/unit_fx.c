/* unit_fx.c: graphs that torch.compile logs: what is found, and how forward and backward become one step. */
#include <stdio.h>

#include "src/read/dot_child.h"
#include "src/read/input.h"
#include "tests/common/named.h"
#include "tests/common/support.h"

/* dim: of the read options, separated by blanks; NULL: none. */
static struct graph *step_of_text(
	const char *text, size_t size, uint32_t wanted, const char *dim, struct error *error)
{
	struct read_options options = { .graph = wanted };
	for (; dim && *dim; dim += strcspn(dim, " "), dim += *dim == ' ')
		snprintf(options.dim[options.dims++], sizeof *options.dim, "%.*s", (int)strcspn(dim, " "), dim);
	return python_child_graph(&(struct python_job){ .name = "fx", .data = text, .size = size, .options = &options }, error);
}

static struct graph *step_of(const char *path, uint32_t wanted, const char *dim, struct error *error)
{
	static char text[1 << 17];
	FILE *stream = fopen(path, "rb");
	cr_assert(stream, "%s", path);
	size_t size = fread(text, 1, sizeof text, stream);
	fclose(stream);
	return step_of_text(text, size, wanted, dim, error);
}

#define STEP_OF(text) step_of_text(text, strlen(text), 0, NULL, &error)

static void check_step(const char *path)
{
	struct error error = { 0 };
	OWN(graph) *graph = step_of(path, 0, NULL, &error);
	cr_assert(graph, "%s: %s", path, error.text);
	cr_expect_eq(graph->ops, 6 + 1 + 5, "%s: the forward graph, the gradient of its result, the backward graph", path);
	cr_expect_eq(graph->repaired, 0);
	cr_expect_eq(tensor_named(graph, "primals_1")->kind, KIND_PARAMETER);
	cr_expect_eq(tensor_named(graph, "primals_2")->kind, KIND_INPUT);
	cr_expect_eq(tensor_named(graph, "relu")->bytes, 2 * 8 * 4);
	cr_expect_eq(tensor_named(graph, "permute")->storage, tensor_named(graph, "primals_1")->storage, "a view");
	cr_expect_eq(tensor_named(graph, "getitem_1")->storage, tensor_named(graph, "mm")->storage,
		"a view of one of several results");
	cr_expect_eq(op_named(graph, "mm")->phase, PHASE_FORWARD);
	cr_expect_str_eq(op_named(graph, "mm")->src, "model.py:6 in forward");
	cr_expect_eq(op_named(graph, "mm.bw")->phase, PHASE_BACKWARD, "a name that both graphs have");
	cr_expect_eq(tensor_named(graph, "mm.bw")->kind, KIND_OUTPUT, "the parameter's gradient");
	cr_expect_eq(tensor_named(graph, "relu")->kind, KIND_ACTIVATION, "what is saved is not kept to the end");
	cr_assert(op_named(graph, "all_reduce")->collective);
	cr_expect_eq(op_named(graph, "all_reduce")->collective->kind, COLLECTIVE_ALL_GATHER);
	cr_expect_eq(op_named(graph, "all_reduce")->collective->size, 4);
	cr_expect_eq(tensor_named(graph, "wait")->storage, tensor_named(graph, "all_reduce")->storage);
}

Test(fx, logs_and_traces_give_the_same_step)
{
	check_step("tests/corpus/fx/step.log");
	check_step("tests/corpus/fx/step.trace");
}

Test(fx, a_file_of_one_graph_is_a_step)
{
	struct error error = { 0 };
	OWN(graph) *graph = step_of("tests/corpus/fx/readable.py", 0, NULL, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(graph->ops, 1 + 5);
	cr_expect_eq(op_named(graph, "mm")->phase, PHASE_BACKWARD);
}

Test(fx, symbolic_sizes_are_missing_until_they_are_given)
{
	struct error error = { 0 };
	OWN(graph) *without = step_of("tests/corpus/fx/symbols.py", 0, NULL, &error),
			   *with = step_of("tests/corpus/fx/symbols.py", 0, "s0=8", &error);
	cr_assert(without && with, "%s", error.text);
	cr_expect_gt(without->about.intake.missing, 0);
	cr_expect_eq(tensor_named(without, "relu")->bytes, 0);
	cr_expect_eq(with->about.intake.missing, 0);
	cr_expect_eq(tensor_named(with, "relu")->bytes, 8 * 8 * 4);
}

/* What a log says of its symbols is of one compilation; what the caller gives goes before. */
Test(fx, a_log_says_what_its_symbols_were)
{
	static const char text[] =
		"V1123 13:25:09.0 2 torch/x.py:6075] {\"create_symbol\": {\"symbol\": \"s7\", \"val\": \"6\", \"vr\": \"\"}, "
		"\"frame_id\": 1, \"frame_compile_id\": 0}\n"
		"V1123 13:25:09.0 2 torch/x.py:6075] {\"create_symbol\": {\"symbol\": \"s9\", \"val\": \"j0\"}, \"frame_id\": "
		"0, \"frame_compile_id\": 0}\n"
		"I1123 13:25:09.0 2 torch/x.py:6075] [0/0] create_symbol s7 = 5 for L['x'].size()[0] [2, int_oo]\n"
		"I1123 13:25:10.0 2 torch/y.py:18] [0/0] [__aot_graphs]  ===== Forward graph with no backward =====\n"
		"def forward(self, x_1: \"f32[s7, 4][4, 1]cpu\"):\n    add: \"f32[s7, 4][4, 1]cpu\" = "
		"torch.ops.aten.add.Tensor(x_1, 1)\n    return (add,)\n";
	for (uint32_t given = 0; given < 2; given++) {
		struct error error = { 0 };
		OWN(graph) *graph = step_of_text(text, strlen(text), 0, given ? "s7=9" : NULL, &error);
		cr_assert(graph, "%s", error.text);
		cr_expect_null(graph->about.intake.graphs, "one graph");
		cr_expect_eq(tensor_named(graph, "x_1")->shape[0], given ? 9 : 5);
		cr_expect(strstr(graph->about.intake.assumed, "when it was compiled: s7=5;"));
	}
}

Test(fx, what_is_wrong_is_said)
{
	static const struct { const char *path; uint32_t wanted; const char *text; } cases[] = {
		{ "truncated.log", 0, "truncated" },
		{ "huge.py", 0, "overflows" },
		{ "twice.py", 0, "a second value" },
		{ "step.log", 2, "it has 1 step" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[100];
		struct error error = { 0 };
		snprintf(path, sizeof path, "tests/corpus/fx/%s", cases[i].path);
		OWN(graph) *graph = step_of(path, cases[i].wanted, NULL, &error);
		cr_expect_null(graph, "%s", path);
		cr_expect_eq(error.status, BAD_INPUT);
		cr_expect(strstr(error.text, cases[i].text), "%s: %s", path, error.text);
	}
}

Test(fx, a_folder_says_by_its_names_what_belongs_together)
{
	struct error error = { 0 };
	struct read_options options = { 0 };
	struct graph *graph = graph_open("tests/corpus/fx_folder", &options, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(graph->ops, 3 + 1 + 4, "the forward graph, the gradient of its result, the backward graph; no branch");
	cr_expect_str_eq(graph->about.intake.version, "[model__0] forward and backward");
	cr_expect_eq(tensor_named(graph, "primals_1")->kind, KIND_PARAMETER);
	cr_expect_str_eq(op_named(graph, "mm")->src, "model.py:6 in forward");
	graph_release(graph);
	options.graph = 2;
	graph = graph_open("tests/corpus/fx_folder/", &options, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(graph->ops, 1);
	graph_release(graph);
	options.graph = 3;
	cr_expect_null(graph_open("tests/corpus/fx_folder", &options, &error));
	cr_expect_eq(error.status, BAD_INPUT);
	cr_expect_null(graph_open("tests/corpus/onnx", NULL, &error), "a folder without graphs");
	cr_expect_eq(error.status, BAD_INPUT);
}

Test(fx, placements_of_dtensors_need_the_mesh)
{
	struct error error = { 0 };
	struct graph *graph = graph_open("tests/corpus/fx/dtensor.py", NULL, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(tensor_named(graph, "mm")->bytes, 6 * 8 * 4, "whole, as long as nobody says the mesh");
	cr_expect_null(tensor_named(graph, "mm")->places);
	cr_expect(strstr(graph->about.intake.advice, "--dim mesh0"));
	graph_release(graph);
	graph = graph_open(
		"tests/corpus/fx/dtensor.py", &(struct read_options){ .dims = 2, .dim = { "mesh0=4", "mesh1=2" } }, &error);
	cr_assert(graph, "%s", error.text);
	const struct tensor *mm = tensor_named(graph, "mm"), *sum = tensor_named(graph, "sum_1");
	cr_expect_eq(mm->bytes, 2 * 4 * 4, "6 rows over 4 devices are 2");
	cr_assert(mm->places && sum->places);
	cr_expect(mm->places->on[0].dim == 0 && mm->places->on[1].dim == 1);
	cr_expect(sum->places->on[0].dim == PLACE_PARTIAL && sum->places->on[1].dim == PLACE_PARTIAL);
	cr_expect_eq(tensor_named(graph, "primals_1")->places->on[0].dim, PLACE_WHOLE);
	cr_expect_eq(graph->about.axis[0].size, 4);
	graph_release(graph);
}

/* As PyTorch writes them: the size of a group is in all-gathers, as a list in all-to-alls, and nowhere in
 * all-reduces. */
Test(fx, collectives_have_the_size_of_their_group)
{
	static const char text[] =
		"TRACED GRAPH\n ===== Forward graph 0 =====\n class GraphModule(torch.nn.Module):\n"
		"    def forward(self, primals_1: \"f32[64, 32][32, 1]cpu\", primals_2: \"DTensor(f32[64, 32][32, 1]cpu, "
		"S(0)R)\"):\n"
		"        a2a: \"f32[64, 32][32, 1]cpu\" = torch.ops._c10d_functional.all_to_all_single.default(primals_1, [16, "
		"16, 16, 16], [16, 16, 16, 16], '521')\n"
		"        w: \"f32[64, 32][32, 1]cpu\" = torch.ops._c10d_functional.wait_tensor.default(a2a);  a2a = None\n"
		"        ar: \"f32[64, 32][32, 1]cpu\" = torch.ops._c10d_functional.all_reduce.default(w, 'sum', '521');  w = "
		"None\n"
		"        ag: \"f32[512, 32][32, 1]cpu\" = torch.ops._c10d_functional.all_gather_into_tensor.default(ar, 8, "
		"'0')\n"
		"        rd: \"DTensor(f32[64, 32][32, 1]cpu, RR)\" = torch.ops.prim.redistribute.default(primals_2)\n        "
		"return (ag, rd)\n";
	static const struct {
		const char *op, *type;
		uint32_t size;
	} expected[] = { { "a2a", "comm.all_to_all", 4 }, { "ar", "comm.all_reduce", 4 }, { "ag", "comm.all_gather", 8 },
		{ "rd", "comm.all_gather", 8 } };
	struct error error = { 0 };
	OWN(graph) *graph = step_of_text(text, sizeof text - 1, 0, "mesh0=8 mesh1=2", &error);
	cr_assert(graph, "%s", error.text);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		const struct op *op = op_named(graph, expected[i].op);
		cr_expect_str_eq(op->type, expected[i].type);
		cr_expect(op->collective && op->collective->size == expected[i].size, "%s", expected[i].op);
	}
	cr_expect_eq(tensor_named(graph, "w")->storage, tensor_named(graph, "a2a")->storage);
}

/* What no collective of a group says is asked for; and DTensors of one graph say nothing of another. */
Test(fx, a_groups_size_that_nobody_says_is_asked_for)
{
	static const char text[] =
		"TRACED GRAPH\n ===== Forward graph 0 =====\n"
		"def forward(self, primals_1: \"DTensor(f32[64, 32][32, 1]cpu, S(0))\"):\n    neg: \"DTensor(f32[64, 32][32, "
		"1]cpu, S(0))\" = torch.ops.aten.neg.default(primals_1)\n    return (neg,)\n"
		"TRACED GRAPH\n ===== Forward graph 1 =====\ndef forward(self, primals_1: \"f32[64, 32][32, 1]cpu\"):\n"
		"    # File: model.py:6 in forward, code: x = \"File: y\"\n"
		"    a: \"f32[64, 32][32, 1]cpu\" = torch.ops._c10d_functional.all_reduce.default(primals_1, 'sum', '5')\n"
		"    # Backward of forward node: File: model.py:7 in forward, code: b\n    b: \"f32[64, 32][32, 1]cpu\" = "
		"torch.ops.aten.neg.default(a)\n"
		"    # recompute: MUST_SAVE Backward of forward node: File: lib.py:8 in g, code: c\n    c: \"f32[64, 32][32, "
		"1]cpu\" = torch.ops.aten.neg.default(b)\n"
		"    # by File\n    d: \"f32[64, 32][32, 1]cpu\" = torch.ops.aten.neg.default(c)\n    return (d,)\n";
	for (uint32_t given = 0; given < 2; given++) {
		struct error error = { 0 };
		OWN(graph) *graph = step_of_text(text, sizeof text - 1, 2, given ? "group5=4" : NULL, &error);
		cr_assert(graph, "%s", error.text);
		cr_expect_eq(op_named(graph, "a")->collective->size, given ? 4 : 0);
		cr_expect_eq(graph->about.axes ? graph->about.axis[0].size : 1, given ? 4 : 1);
		const char *advice = graph->about.intake.advice;
		cr_expect(given ? !advice : strstr(advice, "1 collective isn't in the log: --dim group5=8") != NULL, "%s", advice);
		cr_expect_str_eq(op_named(graph, "a")->src, "model.py:6 in forward");
		cr_expect_str_eq(op_named(graph, "b")->src, "model.py:7 in forward", "as from PyTorch 2.14 on");
		cr_expect_str_eq(op_named(graph, "c")->src, "lib.py:8 in g");
		cr_expect_str_eq(op_named(graph, "d")->src, "lib.py:8 in g");
	}
}

/* What print(torch.export.export(...)) writes: a module in a module, whose inputs' names say what they are. */
Test(fx, a_printed_exported_program_is_a_graph)
{
	struct error error = { 0 };
	OWN(graph) *graph = step_of("tests/corpus/fx/exported.txt", 0, NULL, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(graph->ops, 2, "a branch's graph is none of its own");
	cr_expect_eq(tensor_named(graph, "p_w")->kind, KIND_PARAMETER);
	cr_expect_eq(tensor_named(graph, "b_mean")->kind, KIND_BUFFER);
	cr_expect_eq(tensor_named(graph, "x")->kind, KIND_INPUT);
	cr_expect_eq(tensor_named(graph, "mm")->bytes, 64);
}

/* Graphs without a partner: an optimizer's step, a backward pass of compiled autograd, both passes in one. */
Test(fx, a_graph_alone_is_of_the_phase_that_it_shows)
{
	static const struct { const char *text, *version; bool told; enum phase phase; } cases[] = {
		{ "===== Forward graph 0 =====\ndef forward(self, arg0_1: \"f32[4][1]cpu\", arg1_1: \"f32[4][1]cpu\"):\n    "
		  "op: \"f32[4][1]cpu\" = torch.ops.aten.sub.Tensor(arg0_1, arg1_1);  arg1_1 = None\n"
		  "    copy_: \"f32[4][1]cpu\" = torch.ops.aten.copy_.default(arg0_1, op);  arg0_1 = op = copy_ = None\n    "
		  "return ()\n",
			"update only", true, PHASE_UPDATE },
		{ "V1124 01:30:19.470000 1 a.py:4] [!0/2/0] [__aot_graphs] ===== Forward graph 1 =====\ndef forward(self, "
		  "arg0_1: \"f32[4][1]cpu\"):\n"
		  "    op: \"f32[4][1]cpu\" = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None\n    return (op,)\n",
			"[!0/2/0] backward only", true, PHASE_BACKWARD },
		{ "V1124 01:30:19.470000 1 a.py:4] {\"aot_inference_graph\": {}, \"compiled_autograd_id\": 0, \"frame_id\": 2, "
		  "\"frame_compile_id\": 0}\n\tdef forward(self, arg0_1: \"f32[4][1]cpu\"):\n"
		  "\t    op: \"f32[4][1]cpu\" = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None\n\t    return (op,)\n",
			"[!0/2/0] backward only", true, PHASE_BACKWARD },
		{ "def forward(self, arg0_1: \"f32[4][1]cpu\", arg1_1: \"f32[4][1]cpu\"):\n    op: \"f32[4][1]cpu\" = "
		  "torch.ops.aten.threshold_backward.default(arg0_1, arg1_1, 0);  arg0_1 = arg1_1 = None\n"
		  "    return (op,)\n",
			"forward and backward in one", false, PHASE_FORWARD },
		{ "def forward(self, arg0_1: \"f32[4][1]cpu\"):\n    op: \"f32[4][1]cpu\" = "
		  "torch.ops.aten.neg.default(arg0_1);  arg0_1 = None\n    return (op,)\n",
			"inference", true, PHASE_FORWARD },
		/* A file of TORCH_COMPILE_DEBUG names no compilation. */
		{ "def forward(self, arg0_1: \"f32[4]\"):\n    # File: <eval_with_key>.11:23 in forward, code: mul = "
		  "torch__dynamo_compiled_autograd_ops_MulBackward0([getitem], [True])\n"
		  "    op: \"f32[4]\" = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None\n    return (op,)\n",
			"backward only", true, PHASE_BACKWARD },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct error error = { 0 };
		OWN(graph) *graph = step_of_text(cases[i].text, strlen(cases[i].text), 0, NULL, &error);
		cr_assert(graph, "case %zu: %s", i, error.text);
		cr_expect_str_eq(graph->about.intake.version, cases[i].version);
		cr_expect_eq(op_named(graph, "op")->has_phase, cases[i].told, "case %zu", i);
		cr_expect_eq(op_named(graph, "op")->phase, cases[i].phase, "case %zu", i);
	}
}

/* torch.func's gradients stand in the graph of what calls them; of a gradient within a gradient, what lies between them
 * is what the outer one differentiates. */
Test(fx, gradients_of_torch_func_are_backward)
{
#define GRADIENT \
	"    # File: /torch/_functorch/eager_transforms.py:1518 in grad_and_value_impl, code: flat_grad_input = " \
	"_autograd_grad(\n"
#define USER "    # File: step.py:6 in step, code: g = grad(loss)(w)\n"
#define OP(name, read) "    " name ": \"f32[4][1]cpu\" = torch.ops.aten.neg.default(" read ")\n"
	struct error error = { 0 };
	struct graph *graph = STEP_OF(
		"def forward(self, w: \"f32[4][1]cpu\"):\n" USER OP("loss", "w") GRADIENT OP("inner", "loss") USER OP(
			"between", "inner") GRADIENT OP("outer", "between") USER OP("update",
			"outer") "    # No stacktrace found for following nodes\n" OP("other", "w") "    return (update, other)\n");
	static const struct {
		const char *op;
		enum phase phase;
	} phases[] = { { "loss", PHASE_FORWARD }, { "inner", PHASE_BACKWARD }, { "between", PHASE_FORWARD },
		{ "outer", PHASE_BACKWARD }, { "update", PHASE_UPDATE }, { "other", PHASE_FORWARD } };
	cr_assert(graph, "%s", error.text);
	cr_expect_str_eq(graph->about.intake.version, "forward and backward in one");
	for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
		cr_expect(op_named(graph, phases[i].op)->has_phase && op_named(graph, phases[i].op)->phase == phases[i].phase,
			"%s", phases[i].op);
	graph_release(graph);
}

/* A dtype that is new, or more dims than are kept: it would count as no tensor at all. */
Test(fx, a_tensor_of_a_strange_type_has_no_known_size)
{
	struct error error = { 0 };
	struct graph *graph = STEP_OF(
		"def forward(self, a: \"f6e3m2[4][1]cpu\", b: \"f32[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
		"8][8]cpu\", c: \"f4e2m1fn_x2[16][1]cpu\", s: \"Sym(s0)\"):\n"
		"    op: \"f32[4][1]cpu\" = torch.ops.aten.cat.default([a, b, c])\n    return (op,)\n");
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(graph->tensors, 4);
	cr_expect_eq(graph->about.intake.missing, 2);
	cr_expect_eq(tensor_named(graph, "c")->bytes, 16, "two of four bits in each element");
	graph_release(graph);
}

/* What a compilation had come to when it failed is in a trace, too. It ran nowhere. */
/* PyTorch's kernel fills 64 bytes and then makes one number of them in the same memory, which a program holds as its
 * loss. A number that is only saved is freed after its last use. */
Test(fx, a_loss_is_held_with_the_memory_of_its_kernel)
{
	static const char text[] =
		"===== Forward graph 0 =====\ndef forward(self, primals_1: \"f32[16][1]cpu\", primals_2: \"f32[16][1]cpu\"):\n"
		"    mul: \"f32[16][1]cpu\" = torch.ops.aten.mul.Tensor(primals_1, 2);  primals_1 = None\n    %s: "
		"\"f32[][]cpu\" = torch.ops.aten.%s.default(mul, primals_2)\n"
		"    sum_1: \"f32[][]cpu\" = torch.ops.aten.sum.default(mul)\n    return (%s, mul, primals_2, sum_1)\n"
		"===== Backward graph 0 =====\ndef forward(self, mul: \"f32[16][1]cpu\", primals_2: \"f32[16][1]cpu\", sum_1: "
		"\"f32[][]cpu\", tangents_1: \"f32[][]cpu\"):\n"
		"    back: \"f32[16][1]cpu\" = torch.ops.aten.mul.Tensor(mul, tangents_1);  mul = tangents_1 = None\n    "
		"back_1: \"f32[16][1]cpu\" = torch.ops.aten.mul.Tensor(back, sum_1);  back = sum_1 = None\n"
		"    return (back_1, None)\n";
	static const struct {
		const char *op;
		int64_t bytes;
	} cases[] = { { "mse_loss", 64 }, { "smooth_l1_loss", 64 }, { "mse_loss_like", 4 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char filled[1500];
		struct error error = { 0 };
		snprintf(filled, sizeof filled, text, cases[i].op, cases[i].op, cases[i].op);
		OWN(graph) *graph = step_of_text(filled, strlen(filled), 0, NULL, &error);
		cr_assert(graph, "%s: %s", cases[i].op, error.text);
		cr_expect_eq(tensor_named(graph, cases[i].op)->bytes, cases[i].bytes, "%s", cases[i].op);
		cr_expect_eq(tensor_named(graph, cases[i].op)->kind, KIND_OUTPUT, "%s", cases[i].op);
		cr_expect_eq(tensor_named(graph, "sum_1")->kind, KIND_ACTIVATION);
	}
}

Test(fx, a_graph_that_was_given_up_is_none)
{
	struct error error = { 0 };
	cr_expect_null(STEP_OF("V1124 01:29:57.536000 1 a.py:3] {\"artifact\": {\"name\": \"make_fx_fail_partial\"}, "
								"\"frame_id\": 0, \"frame_compile_id\": 0}\n"
								"\tdef forward(self, arg0_1: \"f32[4][1]cpu\"):\n\t    op: \"f32[4][1]cpu\" = "
								"torch.ops.aten.neg.default(arg0_1);  arg0_1 = None\n"
								"V1124 01:29:57.536000 1 a.py:3] {\"artifact\": {\"name\": \"make_fx_fail_partial\"}, "
								"\"frame_id\": 0, \"frame_compile_id\": 0}\n"
								"\tdef forward(self, tangents_1: \"f32[4][1]cpu\"):\n\t    op: \"f32[4][1]cpu\" = "
								"torch.ops.aten.neg.default(tangents_1);  tangents_1 = None\n"
								"V1124 01:29:57.536000 1 a.py:3] {\"chromium_event\": {}}\n"));
	cr_expect(strstr(error.text, "it has no graph of torch.compile"), "%s", error.text);
}
