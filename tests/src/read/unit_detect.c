/* unit_detect.c: what an input is. */
#include <criterion/criterion.h>

#include "src/read/detect.h"

#define EXPECT(text, kind) \
	cr_expect_eq(input_detect(text, sizeof text - 1), kind, "%s is a %s", #text, \
		input_kind_name(input_detect(text, sizeof text - 1)))

Test(detect, knows_texts_by_their_first_words)
{
	EXPECT("", INPUT_EMPTY);
	EXPECT("\xef\xbb\xbf \r\n\t", INPUT_EMPTY);
	EXPECT("{\"k\":\"graph\",\"v\":1}\n{\"k\":\"end\"}\n", INPUT_NATIVE);
	EXPECT(" { \"v\" : 1, \"k\" : \"graph\" }\n", INPUT_NATIVE);
	EXPECT("{\"tidemark\": 1, \"graph\": {", INPUT_PLAN);
	EXPECT("{\"schema\":3}", INPUT_JSON);
	EXPECT("{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\"}", INPUT_CONFIG);
	EXPECT("0F0,0F1,,0B0\n,1F0,1B0,1F1\n", INPUT_SCHEDULE);
	EXPECT(",,,(0F4;1B2)OVERLAP_F_B\n", INPUT_SCHEDULE);
	EXPECT("0F", INPUT_UNKNOWN);
	EXPECT("0F0x", INPUT_UNKNOWN);
	EXPECT("digraph{a->b}", INPUT_DOT);
	EXPECT("\xef\xbb\xbfStrict DiGraph \"x\" {", INPUT_DOT);
	EXPECT("/* a\n * b */ // c\n# d\ngraph {}", INPUT_DOT);
	EXPECT("graphics are nice", INPUT_UNKNOWN);
	EXPECT("/* digraph {", INPUT_UNKNOWN);
	EXPECT("id,lower,upper,size\n0,1,2,3\n", INPUT_MINIMALLOC);
	EXPECT("lower,upper,size,id", INPUT_MINIMALLOC);
	EXPECT("HloModule jit_step, entry_computation_layout=", INPUT_HLO_TEXT);
	EXPECT("module @jit_step attributes {", INPUT_MLIR);
	EXPECT("#loc = loc(unknown)", INPUT_MLIR);
	EXPECT("#loc = loc(unknown)\nmodule @jit_step attributes {mhlo.num_partitions = 1 : i32} {", INPUT_STABLEHLO);
	EXPECT("I1122 16:50 1 torch/_functorch/x.py:1] [0/0] [__aot_graphs]  ===== Forward graph 0 =====\n", INPUT_FX);
	EXPECT("{\n  \"nodes\": [\n    {\n      \"name\": \"op0\",\n      \"buffer_names\": [", INPUT_INDUCTOR);
	EXPECT("{\"mesh\": {\"shape\": [8]}, \"nodes\": [{\"name\": \"a\", \"op\": \"placeholder\", \"placement\": \"R\"",
		INPUT_AUTOPARALLEL);
	EXPECT("class GraphModule(torch.nn.Module):\n    def forward(self):\n", INPUT_FX);
	EXPECT("class <lambda>(torch.nn.Module):\n    def forward(self, arg0_1: \"f32[8]\"):\n", INPUT_FX);
	EXPECT("hello", INPUT_UNKNOWN);
	EXPECT("{\"schemaVersion\":1,\"traceEvents\":[", INPUT_TRACE);
	EXPECT("[{\"ph\": \"X\"", INPUT_JSON);
	EXPECT("[]", INPUT_JSON);
	EXPECT("{\"train_batch_size\": 32, \"zero_optimization\": {\"stage\": 3}}", INPUT_SETTINGS);
	EXPECT("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n",
		INPUT_SETTINGS);
	EXPECT("# torchtitan\n[job]\ndump_folder = \"./outputs\"\n", INPUT_SETTINGS);
	EXPECT("---\n- name: x\n  value: y\n", INPUT_SETTINGS);
	EXPECT("lower case: a sentence\n", INPUT_UNKNOWN);
	EXPECT("a line\nkey: value\n", INPUT_UNKNOWN);
	EXPECT("INFO: x\nINFO: y\nINFO: z\n", INPUT_UNKNOWN);
	EXPECT(
		"Traceback (most recent call last):\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n",
		INPUT_MESSAGE);
	EXPECT("jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 bytes.",
		INPUT_MESSAGE);
	EXPECT("[rank0]: Traceback\n  File \"torch/_dynamo/eval_frame.py\"\n"
		"[rank0]: torch.OutOfMemoryError: CUDA", INPUT_MESSAGE);
	EXPECT("ResourceExhaustedError: OOM when allocating tensor with shape[32,1024]", INPUT_MESSAGE);
	EXPECT("{\"metadata\": {\"total_size\": 16060522496}, \"weight_map\": {", INPUT_WEIGHTS);
	EXPECT("<!DOCTYPE html><html>", INPUT_DOCUMENT);
	EXPECT("import torch\nmodel = f()\n", INPUT_PYTHON);
	EXPECT("#!/usr/bin/env python3\n", INPUT_PYTHON);
}

Test(detect, knows_binaries_by_their_first_bytes)
{
	EXPECT("PK\003\004\024\0\0\0", INPUT_ZIP);
	EXPECT("\060\0\0\0ET12\070", INPUT_EXECUTORCH);
	EXPECT("\x0a\x20\x08\x01\x12\x10/host:python-tracer", INPUT_HLO);
	EXPECT("[[-1, 1, 37888, 7], [-1, 1, 512, 7]]", INPUT_TIMELINE);
	EXPECT("{\"nodes\": [], \"arg_nodes\": [0]}", INPUT_TVM);
	EXPECT("// RUN: opt\n\nfunc.func @main() {", INPUT_MLIR);
	EXPECT("# Copyright of mine\n\n\"\"\"What it does.\"\"\"\nimport torch\n", INPUT_PYTHON);
	EXPECT("PK\003\004\024\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\020\0\0\0net/models/model.json", INPUT_EXPORTED);
	EXPECT("\x80\x02}q\0(X\x08", INPUT_PICKLE);
	EXPECT("(dp0\nVsegments\np1\n(lp2\ns", INPUT_OLD_PICKLE);
	EXPECT("}q\0(X\x08\0\0\0segmentsq\x01]q\x02", INPUT_OLD_PICKLE);
	EXPECT("(dp", INPUT_UNKNOWN);
	EXPECT("\x80\x04\x95\0\0\0\0\0\0\0\0}\x94(\x8c\x08segments\x94]", INPUT_SNAPSHOT);
	EXPECT("\x80\x02}(X\x0d\0\0\0device_traces](", INPUT_SNAPSHOT);
	EXPECT("\x1c\0\0\0TFL3\x14\0", INPUT_TFLITE);
	EXPECT("\x08\x07\x12\x07pytorch\x1a\x06" "1.13.0:\xda\xbe\x03\x0aI\x12\x15/se/C", INPUT_ONNX);
	EXPECT("\x08\x09\x42\x04\x0a\0\x10\x0d", INPUT_ONNX);
	EXPECT("\x0a\x0cjit_train__1\x12\x04main\x1a\xff\x01\x0a", INPUT_HLO);
	EXPECT("\x0a\x80\x40\x0a\x0cjit_train__1\x12\x04main\x1a\xff\x01\x0a", INPUT_HLO);
	EXPECT("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", INPUT_UNKNOWN);
	EXPECT("\0\0\0\0", INPUT_UNKNOWN);
	EXPECT("\x89PNG\r\n\x1a\n", INPUT_DOCUMENT);
	EXPECT("PAR1\x15\x04", INPUT_DOCUMENT);
	EXPECT("\x08\x01\x12\x06\x0a\x04\x0a\x02\x08\x01", INPUT_UNKNOWN); /* TensorFlow's SavedModel */
	EXPECT("SQLite format 3\0", INPUT_DATABASE);
	EXPECT("\x89HDF\r\n\x1a\n\0", INPUT_WEIGHTS);
	EXPECT("{\"device_traces\": [[]]}", INPUT_SNAPSHOT);
	EXPECT("GGUF\x03\0\0\0", INPUT_WEIGHTS);
	EXPECT("\x40\0\0\0\0\0\0\0{\"__metadata__\":{", INPUT_WEIGHTS);
	EXPECT("\x1f\x8b\x08\0", INPUT_PACKED);
	EXPECT("\x28\xb5\x2f\xfd\x04", INPUT_PACKED);
	EXPECT("\xff\xfeh\0e\0", INPUT_UTF16);
}

Test(detect, never_reads_past_the_end)
{
	static const char *const whole[] = { "\x0a\x80\x40\x0a\x0cjit_train__1\x12\x04main\x1a\xff",
		"\x08\x07\x12\x07pytorch\x1a\x06"
		"1.13",
		"/* x */ strict digraph" };
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		for (size_t size = 0; size <= strlen(whole[i]); size++) {
			char *copy = malloc(size + 1);   /* the sanitizer watches its end */
			memcpy(copy + 1, whole[i], size);
			input_detect(copy + 1, size);
			free(copy);
		}
}

#define X(id, name, what) INPUT_##id,
Test(detect, has_advice_for_all_but_graphs)
{
	static const enum input_kind graphs[] = { GRAPH_KINDS(X) };
	for (int kind = 0; kind < INPUT_KIND_COUNT; kind++) {
		bool graph = false;
		for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
			graph |= (int)graphs[i] == kind;
		cr_expect_eq(input_kind_advice((enum input_kind)kind) == NULL, graph, "%s", input_kind_name((enum input_kind)kind));
	}
}
#undef X
