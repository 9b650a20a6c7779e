/* unit_hlo.c: modules of XLA HLO: what is read of them, and what becomes of loops, fusions and
 * donated arguments. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "solver/graph/problem.h"
#include "src/read/detect.h"
#include "src/read/hlo/hlo.h"
#include "src/read/input.h"
#include "tests/common/named.h"
#include "tests/common/support.h"

static char *load(const char *path, size_t *size)
{
	FILE *stream = fopen(path, "rb");
	cr_assert(stream, "%s", path);
	char *text = malloc(1 << 20);
	*size = fread(text, 1, 1 << 20, stream);
	fclose(stream);
	return text;
}

/* A text alone, without the assignment that lies beside it; a proto as the program reads it. */
static struct graph *read_file(const char *path, bool open, struct error *error)
{
	OWN(hlo_module) module = { 0 };
	struct graph *graph = NULL;
	size_t size;
	if (strstr(path, ".pb"))
		return graph_open(path, &(struct read_options){ .open_fusions = open }, error);
	char *text = load(path, &size);
	if (hlo_text_read(text, size, &module, error) == OK)
		graph = hlo_graph(&module, open, "HLO", error);
	free(text);
	return graph;
}

#define SMALL "tests/corpus/hlo/small.txt"

Test(hlo, a_step_has_phases_kinds_modules_and_places_in_the_source)
{
	struct error error = { 0 };
	OWN(graph) *graph = read_file(SMALL, false, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(graph->ops, 7);
	cr_expect_eq(tensor_named(graph, "params['w']")->kind, KIND_PARAMETER);
	cr_expect_eq(tensor_named(graph, "x")->kind, KIND_INPUT);
	cr_expect_eq(tensor_named(graph, "loss")->kind, KIND_OUTPUT);
	cr_expect_eq(op_named(graph, "y")->phase, PHASE_FORWARD);
	cr_expect_eq(op_named(graph, "g")->phase, PHASE_BACKWARD);
	cr_expect_eq(op_named(graph, "new")->phase, PHASE_UPDATE);
	cr_expect_str_eq(op_named(graph, "y")->module, "MLP.Dense_0");
	cr_expect_str_eq(op_named(graph, "y")->src, "model.py:6 in step", "of the user's own frame, not the library's");
	cr_expect_str_eq(op_named(graph, "g")->src, "other.py:3");
	cr_expect_eq(op_named(graph, "y")->flops, 2 * 2 * 8 * 4);
	cr_expect_eq(op_named(graph, "ar")->collective->size, 2);
	cr_expect_not(graph->about.intake.derived);
}

static struct graph *read_text(const char *text, struct error *error)
{
	OWN(hlo_module) module;
	struct graph *graph = hlo_text_read(text, strlen(text), &module, error) == OK
		? hlo_graph(&module, false, "HLO", error)
		: NULL;
	return graph;
}

static struct graph *graph_of(const char *text)
{
	struct error error = { 0 };
	struct graph *graph = read_text(text, &error);
	cr_assert(graph, "%s", error.text);
	return graph;
}

/* Before XLA's optimization functions are calls, and what is in them has the rest of the path alone. */
Test(hlo, what_is_called_is_of_the_phase_of_the_call)
{
	OWN(graph) *graph = graph_of(
		"HloModule step\n\nsilu.1 {\n  a = f32[4]{0} parameter(0)\n  ROOT mul = f32[4]{0} multiply(a, a), "
		"metadata={op_name=\"mul\"}\n}\n\n"
		"ENTRY main {\n  x = f32[4]{0} parameter(0)\n  y = f32[4]{0} call(x), to_apply=silu.1, "
		"metadata={op_name=\"jit(step)/jvp(MLP)/jit(silu)\"}\n"
		"  g = f32[4]{0} call(y), to_apply=silu.1, metadata={op_name=\"jit(step)/transpose(jvp(MLP))/jit(silu)\"}\n"
		"  ROOT n = f32[4]{0} call(g), to_apply=silu.1, metadata={op_name=\"jit(step)/jit(silu)\"}\n}\n");
	cr_expect_eq(op_named(graph, "y/mul")->phase, PHASE_FORWARD);
	cr_expect_eq(op_named(graph, "g/mul")->phase, PHASE_BACKWARD);
	cr_expect_str_eq(op_named(graph, "g/mul")->module, "MLP");
	cr_expect_eq(op_named(graph, "n/mul")->phase, PHASE_UPDATE);
	cr_expect_null(strstr(graph->about.intake.assumed, "op_name"));
	cr_expect_null(strstr(graph->about.intake.assumed, "cut over devices"));
}

Test(hlo, a_module_without_names_has_no_phases)
{
	OWN(graph) *graph = graph_of(
		"HloModule step\n\nENTRY main {\n  x = f32[4]{0} parameter(0)\n  ROOT y = f32[4]{0} multiply(x, x)\n}\n");
	cr_expect_not(op_named(graph, "y")->has_phase);
	cr_expect(strstr(graph->about.intake.assumed, "op_name"));
}

/* How many devices a module is of one of; 0 before XLA's partitioner cuts it over them. */
static uint32_t one_of(const char *text)
{
	struct error error = { 0 };
	OWN(graph) *graph = read_text(text, &error);
	cr_assert(graph, "%s: %s", text, error.text);
	bool whole = strstr(graph->about.intake.assumed, "before it is cut over 4 devices");
	uint32_t devices = graph->about.axes ? graph->about.axis[0].size : 1;
	cr_expect(!whole || devices == 1, "%s", text);
	cr_expect(
		devices == 1 || strstr(graph->about.intake.version, "of one of 4 devices"), "%s", graph->about.intake.version);
	return whole ? 0 : devices;
}

Test(hlo, a_module_is_of_one_device_of_several_or_not_cut_over_them_yet)
{
#define CUT "x = f32[4]{0} parameter(0), sharding={devices=[4]<=[4]}\n  "
#define SENT "s = f32[4]{0} all-reduce(x), replica_groups=[1,4]<=[4], use_global_device_ids=true, to_apply=add\n  "
#define ADD "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
	static const struct { const char *text; uint32_t devices; } modules[] = {
		{ "HloModule m\nENTRY main {\n  x = f32[4]{0} parameter(0)\n  ROOT y = f32[4]{0} negate(x)\n}\n", 1 },
		{ "HloModule m\nENTRY main {\n  " CUT "ROOT y = f32[4]{0} negate(x)\n}\n", 0 },
		{ "HloModule m, num_partitions=4\nENTRY main {\n  " CUT "ROOT y = f32[4]{0} negate(x)\n}\n", 0 },
		{ "HloModule m, is_scheduled=true, num_partitions=4\nENTRY main {\n  " CUT "ROOT y = f32[4]{0} negate(x)\n}\n",
			4 },
		{ "HloModule m, is_scheduled=true, replica_count=2, num_partitions=2\nENTRY main {\n  x = f32[4]{0} "
		  "parameter(0)\n  ROOT y = f32[4]{0} negate(x)\n}\n",
			4 },
		/* The partitioner leaves the arguments' shardings, and sends. */
		{ "HloModule m\n" ADD "ENTRY main {\n  " CUT SENT "ROOT y = f32[4]{0} negate(s)\n}\n", 4 },
		{ "HloModule m, num_partitions=4\n" ADD "ENTRY main {\n  " CUT SENT
		  "ROOT y = f32[4]{0} negate(s), sharding={devices=[2,2]<=[4] last_tile_dim_replicate}\n}\n",
			4 },
		{ "HloModule m\n" ADD "ENTRY main {\n  x = f32[4]{0} parameter(0)\n  " SENT "ROOT y = f32[4]{0} negate(s)\n}\n",
			4 },
		/* It names the entry so, also where nothing is sent. */
		{ "HloModule m, num_partitions=4\nENTRY main.5_spmd {\n  " CUT "ROOT y = f32[4]{0} negate(x)\n}\n", 4 },
		{ "HloModule m\nENTRY main.5_spmd {\n  " CUT "t = f32[4]{0} tanh(x), sharding={devices=[4]<=[4]}\n  "
		  "ROOT y = f32[4]{0} negate(t)\n}\n",
			4 },
		/* A shard_map sends before it; what is inside says how it is cut. */
		{ "HloModule m, num_partitions=4\n" ADD "ENTRY main {\n  " CUT
		  "i = f32[4]{0} custom-call(x), custom_call_target=\"SPMDFullToShardShape\"\n  "
		  "s = f32[4]{0} all-reduce(i), replica_groups={{0,1,2,3}}, to_apply=add\n  ROOT y = f32[4]{0} negate(s)\n}\n",
			0 },
		{ "HloModule m, num_partitions=4\n" ADD "ENTRY main {\n  " CUT
		  "t = f32[4]{0} tanh(x), sharding={devices=[2,2]<=[4]}\n  "
		  "s = f32[4]{0} all-reduce(t), replica_groups={{0,1,2,3}}, to_apply=add\n  ROOT y = f32[4]{0} negate(s)\n}\n",
			0 },
		{ "HloModule m, num_partitions=4\nENTRY main {\n  " CUT
		  "ROOT y = f32[4]{0} custom-call(x), custom_call_target=\"xla.sdy.FuncResultSharding\"\n}\n",
			0 },
		{ "HloModule m\nENTRY main {\n  x = f32[4]{0} parameter(0)\n  ROOT y = f32[4]{0} collective-permute(x), "
		  "source_target_pairs={{0,1},{1,2},{2,3},{3,0}}\n}\n",
			4 },
	};
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		cr_expect_eq(one_of(modules[i].text), modules[i].devices, "%s", modules[i].text);
}

/* As people write them for tests: comments, no header, attributes on the next lines. */
Test(hlo, computations_alone_and_attributes_on_other_lines_are_read)
{
	static const char text[] =
		"// RUN: x %s\n\n" ADD "/* a\nblock */\nall (p: f32[2,3],\n     q: f32[2,3]) -> f32[2]\n{\n  p = f32[2, 3] "
							   "parameter(0)\n  q = f32[2,3]  parameter(1)\n"
		"  d = f32[2,3] add(f32[2,3] %p,\n    q\n  )\n  z = f32[] constant(0)\n  ROOT r = f32[2]\n    reduce(d, z),\n  "
		"  dimensions={1}\n    , to_apply=\n    add\n}\n// CHECK: y\n";
	struct error error = { 0 };
	cr_expect_eq(input_detect(text, sizeof text - 1), INPUT_HLO_TEXT);
	OWN(graph) *graph = read_text(text, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_str_eq(graph->name, "module");
	cr_expect_eq(graph->ops, 2);
	cr_expect_eq(op_named(graph, "r")->flops, 6);
}

static struct graph *graph_named(const char *forward, const char *backward)
{
	char text[600];
	snprintf(text, sizeof text,
		"HloModule step\n\nENTRY main {\n  x = f32[4,4]{1,0} parameter(0)\n  y = f32[4,4]{1,0} multiply(x, x), "
		"metadata={op_name=\"%s\"}\n"
		"  ROOT g = f32[4,4]{1,0} dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
		"metadata={op_name=\"%s\"}\n}\n",
		forward, backward);
	return graph_of(text);
}

/* Before JAX 0.7 a product outside of functions with names has none of the marks. */
Test(hlo, phases_are_told_where_names_mark_them)
{
	static const struct { const char *forward, *backward; bool told; } cases[] = {
		{ "jit(step)/jit(main)/jvp(MLP)/mul", "jit(step)/jit(main)/transpose(jvp(MLP))/dot_general", true },
		{ "jit(step)/jit(main)/transpose(jvp(jit(relu)))/mul", "jit(step)/jit(main)/dot_general", false },
		{ "jit(step)/jvp()/mul", "jit(step)/transpose(jvp())/dot_general", true },
		{ "sequential/dense/mul", "gradient_tape/sequential/dense/MatMul", true },
		{ "aten__mul", "aten__mm", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		OWN(graph) *graph = graph_named(cases[i].forward, cases[i].backward);
		cr_expect_eq(op_named(graph, "g")->has_phase, cases[i].told, "case %zu", i);
		cr_expect_eq(op_named(graph, "g")->phase == PHASE_BACKWARD, cases[i].told, "case %zu", i);
		cr_expect_eq(strstr(graph->about.intake.assumed, "is not known: names of ops") == NULL, cases[i].told, "case %zu", i);
	}
}

/* What all branches give back untouched is no result; what lies in the memory of the others before they are written
 * takes none. */
Test(hlo, a_conditional_has_its_dearest_branch_beside_its_results)
{
	struct error error = { 0 };
	OWN(graph) *graph = read_file("tests/corpus/hlo/conditional.txt", false, &error);
	cr_assert(graph, "%s", error.text);
	const struct op *op = op_named(graph, "cond");
	cr_expect_eq(graph->tensors, 4);
	cr_expect_eq(op->workspace, 2 * 64 * 64 * 4 - 256 * 4,
		"the product and its transpose, but for the result's kilobyte: %ld", (long)op->workspace);
}

/* A hundred thousand results in one place: once this took seconds. */
Test(hlo, what_is_written_in_place_again_and_again_is_found_at_once)
{
	OWN(hlo_module) module;
	struct error error = { 0 };
	size_t size = 0;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &size);
	fprintf(stream, "HloModule m, is_scheduled=true\n\nENTRY main {\n  a.0 = f32[4]{0} parameter(0)\n");
	for (int i = 1; i <= 20000; i++)
		fprintf(stream, "  a.%d = f32[4]{0} add(a.%d, a.%d)\n", i, i - 1, i - 1);
	fprintf(stream, "  ROOT r = f32[4]{0} negate(a.20000)\n}\n");
	fclose(stream);
	OWN(graph) *graph = hlo_text_read(text, size, &module, &error) == OK ? hlo_graph(&module, false, "HLO", &error) : NULL;
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(graph->storages, 2);
	free(text);
}

Test(hlo, a_donated_argument_is_written_in_place)
{
	struct error error = { 0 };
	OWN(graph) *graph = read_file(SMALL, false, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(tensor_named(graph, "new")->storage, tensor_named(graph, "params['w']")->storage);
}

/* What a module needs in its own order, in bytes. */
static int64_t peak_of(const struct graph *graph)
{
	struct error error;
	struct problem problem;
	uint32_t position;
	cr_assert_eq(
		problem_of_graph(graph, &(struct memory_rules){ .alignment = 1, .workspace = true }, &problem, &error), OK);
	int64_t peak = problem_peak(&problem, problem.program, NULL, &position);
	problem_free(&problem);
	return peak;
}

static int64_t peak_of_text(const char *text)
{
	struct error error = { 0 };
	OWN(graph) *graph = read_text(text, &error);
	cr_assert(graph, "%s", error.text);
	return peak_of(graph);
}

#define DONATED "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }\nENTRY %main (w: " \
	"f32[4,4], x: f32[4,4]) -> (f32[4,4], f32[4,4]) {\n" \
	"  %w = f32[4,4]{1,0} parameter(0)\n  %x = f32[4,4]{1,0} parameter(1)\n"
#define ENDS(a, b) "  ROOT %t = (f32[4,4]{1,0}, f32[4,4]{1,0}) tuple(" a ", " b ")\n}\n"
#define ARRAY(name, rest) "  %" name " = f32[4,4]{1,0} " rest "\n"

/* Each new value goes where the last one lay, all in the argument's memory. */
Test(hlo, a_donated_argument_is_updated_again_and_again_in_its_own_memory)
{
	cr_expect_eq(peak_of_text(DONATED ARRAY("a", "subtract(%w, %x)") ARRAY("b", "subtract(%a, %x)")
						 ARRAY("c", "subtract(%b, %x)") ENDS("%c", "%c")),
		128);
	cr_expect_eq(peak_of_text(DONATED ARRAY("g", "dot(%x, %w)") ARRAY("a", "subtract(%w, %g)") ARRAY("h", "dot(%x, %a)")
						 ARRAY("b", "subtract(%a, %h)") ENDS("%b", "%b")),
		192);
}

/* Between its last use and its new value, which nothing can write over it, a donated argument's memory is free for
 * others. */
Test(hlo, a_donated_argument_is_freed_before_its_new_value_comes)
{
	static const char text[] = DONATED ARRAY("a", "dot(%w, %x)") ARRAY("b", "dot(%a, %x)") ARRAY("c", "dot(%b, %x)")
		ENDS("%c", "%x");
	struct error error = { 0 };
	OWN(graph) *graph = read_text(text, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect(tensor_named(graph, "w")->replaced && tensor_named(graph, "w")->kind == KIND_PARAMETER &&
		tensor_named(graph, "c")->kind == KIND_OUTPUT);
	cr_expect_not(tensor_named(graph, "x")->replaced, "nobody gave it away");
	cr_expect_eq(peak_of(graph), 192, "x and two of the chain");
}

Test(hlo, a_fusion_of_several_results_writes_each_over_an_operand_that_it_reads_at_its_place)
{
	static const char text[] =
		"HloModule m, is_scheduled=true\n%f (p: f32[4,4], q: f32[4,4]) -> (f32[4,4], f32[4,4]) {\n" ARRAY(
			"p", "parameter(0)") ARRAY("q", "parameter(1)") ARRAY("s", "add(%p, %q)") ARRAY("m", "multiply(%s, %q)")
			ENDS("%s", "%m") "ENTRY %main (x: f32[4,4]) -> (f32[4,4], f32[4,4]) {\n" ARRAY("x", "parameter(0)")
				ARRAY("a", "dot(%x, %x)") ARRAY(
					"b", "dot(%x, %a)") "  %two = (f32[4,4]{1,0}, f32[4,4]{1,0}) fusion(%a, %b), kind=kLoop, calls=%f\n"
										"  %y = f32[4,4]{1,0} get-tuple-element(%two), index=0\n  %z = f32[4,4]{1,0} "
										"get-tuple-element(%two), index=1\n" ENDS("%y", "%z");
	cr_expect_eq(peak_of_text(text), 192);
}

Test(hlo, what_xla_puts_in_an_operands_place_lies_there)
{
	static const char text[] =
		"HloModule m, is_scheduled=true\nENTRY %main (x: f32[4,4]) -> (f32[4,4], f32[4,4]) {\n" ARRAY(
			"x", "parameter(0)") ARRAY("a", "dot(%x, %x)")
			ARRAY("c", "custom-call(%x, %a), custom_call_target=\"gemm\", output_to_operand_aliasing={{}: (1, {})}")
				ENDS("%c", "%c");
	cr_expect_eq(peak_of_text(text), 128);
}

/* The branch reads its operand before it makes the result: they needn't be there at once. */
Test(hlo, a_branch_overwrites_an_operand_that_nobody_else_reads)
{
	static const char text[] = "HloModule m, is_scheduled=true\n%b (p: f32[4,4]) -> f32[4,4] {\n" ARRAY(
		"p", "parameter(0)") "  %r = f32[4]{0} reduce-window(%p)\n  ROOT %w = f32[4,4]{1,0} broadcast(%r), "
							 "dimensions={0}\n}\n"
							 "ENTRY %main (x: f32[4,4], i: s32[]) -> (f32[4,4], f32[4,4]) {\n" ARRAY(
								 "x", "parameter(0)") "  %i = s32[] parameter(1)\n" ARRAY("a",
								 "dot(%x, %x)") "  %c = f32[4,4]{1,0} conditional(%i, %a), "
												"branch_computations={%b}\n" ENDS("%c", "%c");
	cr_expect_eq(peak_of_text(text), 64 + 4 + 64 + 16, "the arguments, a or the result, and what is read of it");
}

/* Whether a donated argument, its copy and its new value have one memory. */
static bool copy_is_free(const char *text)
{
	struct error error = { 0 };
	OWN(graph) *graph = read_text(text, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(graph->repaired, 0);
	bool one = tensor_named(graph, "n")->storage == tensor_named(graph, "w")->storage;
	cr_expect_eq(tensor_named(graph, "w")->replaced, !one);
	return one && tensor_named(graph, "c")->storage == tensor_named(graph, "w")->storage;
}

#define COPIED(layout, read) \
	DONATED "  %c = f32[4,4]" layout " copy(%w)\n" ARRAY("y", "dot(%x, %c)") ARRAY("n", read "(%c, %y)") \
		ENDS("%n", "%y")

Test(hlo, a_copy_of_a_donated_argument_lies_where_the_argument_does)
{
	cr_expect(copy_is_free(COPIED("{1,0}", "subtract")));
	cr_expect_not(copy_is_free(COPIED("{0,1}", "subtract")), "it has another order of dims");
	cr_expect_not(copy_is_free(COPIED("{1,0:S(1)}", "subtract")), "it lies in another memory");
	cr_expect_not(copy_is_free(COPIED("{1,0}", "dot")), "the new value reads it all over");
}

/* The product goes where x lay, its reverse beside it; the sum and the counter go where the loop's state lies. */
Test(hlo, a_loop_is_one_op_with_its_bodys_peak)
{
	struct error error = { 0 };
	OWN(graph) *graph = read_file(SMALL, false, &error);
	cr_assert(graph, "%s", error.text);
	const struct op *loop = op_named(graph, "loop");
	cr_expect_eq(loop->workspace, 4 * 8 * 4);
	cr_expect_eq(loop->flops, 3 * (1 + 32 + 32));
	cr_expect_eq(graph_find_tensor(graph, "loop#2"), NONE, "what the loop doesn't change is no result of it");
	cr_expect_eq(tensor_named(graph, "loop#1")->storage, tensor_named(graph, "ar")->storage);
}

Test(hlo, open_fusions_have_an_op_for_each_instruction)
{
	struct error error = { 0 };
	OWN(graph) *closed = read_file(SMALL, false, &error), *open = read_file(SMALL, true, &error);
	cr_assert(closed && open, "%s", error.text);
	cr_expect_eq(open->ops, closed->ops + 1);
	cr_expect_neq(graph_find_op(open, "fusion/wide"), NONE);
	cr_expect_neq(graph_find_op(open, "fusion/scaled"), NONE);
}

/* The same module, as XLA writes it in both forms. */
Test(hlo, text_and_proto_give_one_graph)
{
	struct error error = { 0 };
	OWN(graph) *text = read_file("tests/corpus/hlo/scan.txt", false, &error),
			   *proto = read_file("tests/corpus/hlo/scan.hlo.pb", false, &error);
	cr_assert(text && proto, "%s", error.text);
	cr_expect_eq(text->ops, proto->ops);
	cr_expect_eq(text->fingerprint, proto->fingerprint);
	for (uint32_t i = 0; i < text->ops; i++) {
		cr_expect_str_eq(text->op[i].name, proto->op[i].name);
		cr_expect_eq(text->op[i].workspace, proto->op[i].workspace);
		cr_expect_eq(text->op[i].flops, proto->op[i].flops, "%s", text->op[i].name);
	}
	cr_expect_eq(text->about.intake.peak, 0);
	cr_expect_gt(proto->about.intake.peak, proto->persistent_bytes, "the proto has XLA's own assignment");
}

Test(hlo, what_is_wrong_is_said_with_its_line)
{
	static const struct { const char *path, *text; unsigned line; } cases[] = {
		{ "cyclic", "call themselves", 4 },
		{ "deep", "nested more than", 3 },
		{ "index", "takes a part", 4 },
		{ "size_2_63", "overflows", 3 },
		{ "truncated", "truncated", 61 },
		{ "tuples", "another shape than what it joins", 5 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[100];
		struct error error = { 0 };
		snprintf(path, sizeof path, "tests/corpus/hlo/%s.txt", cases[i].path);
		OWN(graph) *graph = read_file(path, false, &error);
		cr_expect_null(graph, "%s", path);
		cr_expect_eq(error.status, BAD_INPUT);
		cr_expect(strstr(error.text, cases[i].text), "%s: %s", path, error.text);
		cr_expect_eq(error.line, cases[i].line, "%s: line %u", path, error.line);
	}
}

/* What no printer of XLA writes: nothing is guessed in its place. */
Test(hlo, numbers_and_names_that_lead_nowhere_are_refused)
{
	static const struct { const char *text, *wrong; unsigned line; } cases[] = {
		{ "HloModule m\nENTRY e {\n  a = (f32[4]) parameter(0)\n  ROOT b = f32[4] get-tuple-element(a), "
		  "index=4294967297\n}\n",
			"is not the number of a part", 4 },
		{ "HloModule m\nENTRY e {\n  ROOT a = f32[4] parameter(4000000000)\n}\n", "beyond all parameters", 3 },
		{ "HloModule m\nf {\n  ROOT p = f32[4] parameter(0)\n}\nf {\n  ROOT q = f32[4] parameter(0)\n}\n",
			"two computations named \"f\"", 5 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct hlo_module module;
		struct error error = { 0 };
		struct graph *graph = NULL;
		if (hlo_text_read(cases[i].text, strlen(cases[i].text), &module, &error) == OK)
			graph = hlo_graph(&module, false, "HLO", &error);
		cr_expect_null(graph, "%s", cases[i].text);
		cr_expect(strstr(error.text, cases[i].wrong), "%s", error.text);
		cr_expect_eq(error.line, cases[i].line, "line %u: %s", error.line, error.text);
		graph_release(graph);
		hlo_free(&module);
	}
}

/* Each computation calls the one before it twice. */
Test(hlo, calls_that_double_come_to_an_end)
{
	OWN(hlo_module) module;
	struct error error = { 0 };
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	fputs("HloModule bomb\n%c0 (p: f32[2]) -> f32[2] {\n  ROOT %p = f32[2] parameter(0)\n}\n", stream);
	for (int i = 1; i < 38; i++)
		fprintf(stream,
			"%%c%d (p: f32[2]) -> f32[2] {\n  %%p = f32[2] parameter(0)\n  %%x = f32[2] call(%%p), to_apply=%%c%d\n  "
			"ROOT %%y = f32[2] call(%%x), to_apply=%%c%d\n}\n",
			i, i - 1, i - 1);
	fclose(stream);
	cr_assert_eq(hlo_text_read(text, size, &module, &error), OK, "%s", error.text);
	cr_expect_null(hlo_graph(&module, false, "HLO", &error));
	cr_expect(strstr(error.text, "once calls are inlined"), "%s", error.text);
	free(text);
}

/* The copy of the donated argument lies elsewhere, so that the quotient can lie in the argument until its new value
 * comes. */
static const char assigned_module[] =
	"HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }\nENTRY %main (w: f32[4,4], x: "
	"f32[4,4]) -> (f32[4,4], f32[4,4]) {\n"
	"  %w = f32[4,4]{1,0} parameter(0)\n  %x = f32[4,4]{1,0} parameter(1)\n  %c = f32[4,4]{1,0} copy(%w)\n  %s = "
	"f32[4,4]{1,0} dot(%x, %c)\n"
	"  %q = f32[4,4]{1,0} dot(%s, %x)\n  %y = f32[4,4]{1,0} dot(%x, %q)\n  %n = f32[4,4]{1,0} subtract(%c, %y)\n"
	"  ROOT %t = (f32[4,4]{1,0}, f32[4,4]{1,0}) tuple(%n, %y)\n}\n";
static const char assignment[] =
	"BufferAssignment:\nallocation 0: size 64, parameter 0, shape |f32[4,4]| at ShapeIndex {}, maybe-live-out:\n "
	"value: <1 w @0> (size=64,offset=0): f32[4,4]{1,0}\n"
	" value: <5 q @0> (size=64,offset=0): f32[4,4]{1,0}\n value: <7 n @0> (size=64,offset=0): f32[4,4]{1,0}\n"
	"allocation 1: size 64, parameter 1, shape |f32[4,4]| at ShapeIndex {}:\n value: <2 x @0> (size=64,offset=0): "
	"f32[4,4]{1,0}\n"
	"allocation 2: size 16, output shape is |(f32[4,4], f32[4,4])|, maybe-live-out:\n value: <8 t{} @0> "
	"(size=16,offset=0): (f32[4,4]{1,0}, f32[4,4]{1,0})\n"
	"allocation 3: size 192, preallocated-temp:\n value: <3 c @0> (size=64,offset=128): f32[4,4]{1,0}\n value: <4 s "
	"@0> (size=64,offset=0): f32[4,4]{1,0}\n"
	" value: <6 y @0> (size=64,offset=64): f32[4,4]{1,0}\nallocation 4: size 4, thread-local:\n value: <9 z @0> "
	"(size=4,offset=0): f32[]\n\nTotal bytes used: 400\n";

Test(hlo, xlas_own_assignment_gives_addresses)
{
	struct error error = { 0 };
	struct hlo_module module;
	cr_assert_eq(hlo_text_read(assigned_module, sizeof assigned_module - 1, &module, &error), OK, "%s", error.text);
	cr_assert_eq(hlo_assignment_text(assignment, sizeof assignment - 1, &module, &error), OK, "%s", error.text);
	cr_expect_eq(module.arguments, 128);
	cr_expect_eq(module.outputs, 16);
	cr_expect_eq(module.temporary, 192);
	OWN(graph) *graph = hlo_graph(&module, false, "HLO", &error);
	cr_assert(graph, "%s", error.text);
	hlo_free(&module);
	static const struct {
		const char *name;
		int64_t address;
	} expected[] = { { "w", 0 }, { "x", 64 }, { "s", 144 }, { "y", 208 }, { "c", 272 }, { "q", 0 }, { "n", 0 } };
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
		cr_expect_eq(tensor_named(graph, expected[i].name)->address, expected[i].address, "%s: %lld", expected[i].name,
			(long long)tensor_named(graph, expected[i].name)->address);
	cr_expect_eq(peak_of(graph), 256, "x, the copy, a result and what is in the argument's place");
}

Test(hlo, a_wrong_assignment_is_refused_with_its_line)
{
	static const char *const wrong[] = { "BufferAssignment:\nallocation 0: bytes 4\n", "BufferAssignment:\n",
		"allocation 0: size 9223372036854775808:\n", "",
		"BufferAssignment:\nallocation 0: size 1152921504606846976, preallocated-temp:\nallocation 1: size 1, "
		"preallocated-temp:\n" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct error error = { 0 };
		OWN(hlo_module) module;
		cr_assert_eq(hlo_text_read(assigned_module, sizeof assigned_module - 1, &module, &error), OK, "%s", error.text);
		cr_expect_eq(hlo_assignment_text(wrong[i], strlen(wrong[i]), &module, &error), BAD_INPUT, "%zu", i);
	}
}

Test(hlo, of_a_folder_of_dumps_the_largest_module_is_the_step)
{
	struct error error = { 0 };
	struct graph *step = graph_open("tests/corpus/hlo_folder", NULL, &error),
				 *same = read_file("tests/corpus/hlo/scan.hlo.pb", false, &error);
	cr_assert(step && same, "%s", error.text);
	cr_expect_eq(step->ops, same->ops);
	cr_expect_str_eq(step->about.intake.format, "XLA HLO proto", "it has the buffer assignment");
	cr_expect(step->about.intake.graph == 2 && strstr(step->about.intake.graphs, "module_0000.jit_init, ") &&
		strstr(step->about.intake.graphs, "\nmodule_0001.jit_step, "));
	cr_expect_null(strchr(strchr(step->about.intake.graphs, '\n') + 1, '\n'), "two modules, each once: %s",
		step->about.intake.graphs);
	graph_release(step);
	graph_release(same);
	step = graph_open("tests/corpus/hlo_folder", &(struct read_options){ .graph = 1 }, &error);
	cr_assert(step, "%s", error.text);
	cr_expect_str_eq(step->about.intake.format, "XLA HLO text");
	graph_release(step);
	cr_expect_null(graph_open("tests/corpus/hlo_folder", &(struct read_options){ .graph = 3 }, &error));
	cr_expect(error.status == BAD_INPUT && strstr(error.text, "the folder has 2 modules of XLA"), "%s", error.text);
}

/* A user's function may begin with an underscore, as a lambda does; JAX's own ones for random numbers are no step,
 * however large. */
Test(hlo, of_a_folder_of_dumps_jaxs_own_helpers_are_no_step)
{
	static const struct {
		const char *name;
		int bytes;
	} files[] = { { "module_0000.jit_broadcast_in_dim", 10 }, { "module_0001.jit__lambda", 50 },
		{ "module_0002.jit__normal", 90 }, { "module_0003.jit__threefry_seed", 95 } };
	char folder[] = "/tmp/tidemark-hlo-XXXXXX", path[200];
	cr_assert(mkdtemp(folder));
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s.cpu_after_optimizations.txt", folder, files[i].name);
		FILE *stream = fopen(path, "w");
		fprintf(stream, "%*s", files[i].bytes, "");
		fclose(stream);
	}
	struct hlo_folder found;
	struct error error = { 0 };
	cr_assert_eq(hlo_folder_find(folder, 0, &found, &error), OK, "%s", error.text);
	cr_expect(found.modules == 4 && strstr(found.path, "module_0001.jit__lambda"), "%s", found.path);
	hlo_folder_free(&found);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s.cpu_after_optimizations.txt", folder, files[i].name);
		unlink(path);
	}
	rmdir(folder);
}

/* All forms that XLA has had. */
Test(hlo, the_groups_of_a_collective_have_their_size)
{
	static const struct {
		const char *text;
		uint32_t size, devices;
	} texts[] = { { "{{0,1,2,3},{4,5,6,7}}", 4, 8 }, { "{{0,10}}", 2, 11 }, { "{}", 0, 0 },
		{ "[4,2]<=[2,4]T(1,0)", 2, 8 }, { "[8]<=[8]", 0, 0 }, { "mesh['axis_0'=8,'axis_1'=1] {'axis_0'}, x=1", 8, 8 },
		{ "mesh['a'=4,'b'=1,'c'=2], device_ids=([2,4]T(1,0)) {'c'}", 2, 8 }, { "mesh['a'=2,'b'=4] {'a','b'}", 8, 8 },
		{ "mesh['a'=8] {'a':(1)2}", 2, 8 }, { "mesh['a'=8] {}", 1, 8 },
		{ "mesh['a'=99999999999,'b'=99999999999] {'a','b'}", 0, 0 }, { "mesh['a'=8", 0, 0 }, { "", 0, 0 } };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const char *end = texts[i].text + strlen(texts[i].text), *comma = strchr(texts[i].text, ']');
		struct hlo_groups found = hlo_groups_text(
			(struct span){ texts[i].text, strncmp(texts[i].text, "mesh", 4) == 0 && comma ? comma + 1 : end }, end);
		cr_expect(found.size == texts[i].size && found.devices == texts[i].devices, "%s: %u of %u", texts[i].text,
			found.size, found.devices);
	}
}

/* The same program in both forms. */
Test(hlo, text_and_proto_say_the_same_groups)
{
	static const char *const files[] = { "tests/corpus/hlo/groups.txt", "tests/corpus/hlo/groups.hlo.pb" };
	static const struct {
		const char *op;
		uint32_t size;
	} expected[] = { { "r1", 8 }, { "r2", 2 }, { "r3", 8 }, { "r4", 2 } };
	for (size_t f = 0; f < 2; f++) {
		struct error error = { 0 };
		OWN(graph) *graph = read_file(files[f], false, &error);
		cr_assert(graph, "%s: %s", files[f], error.text);
		cr_expect_eq(graph->about.axis[0].size, 8, "%s", files[f]);
		for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
			cr_expect_eq(op_named(graph, expected[i].op)->collective->size, expected[i].size, "%s: %s", files[f],
				expected[i].op);
	}
}
