/* unit_onnx.c: ONNX models: sizes known, inferred and missing; what is refused. */
#include <stdio.h>
#include <string.h>

#include "src/read/onnx/onnx.h"
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
	OWN(graph) *without = read_model("mlp", NULL, &error), *with = read_model("mlp", "batch=2", &error);
	cr_assert(without && with, "%s", error.text);
	cr_expect_eq(without->ops, 5);
	cr_expect_eq(without->about.intake.missing, 4, "x and what follows from it, but y, which follows from f");
	cr_expect(strstr(without->about.intake.advice, "--dim batch="), "%s", without->about.intake.advice);
	cr_expect_eq(with->about.intake.inferred, 4, "the product, the sum, Relu and Softmax");
	cr_expect_eq(tensor_named(with, "s")->bytes, 2 * 8 * 4);
	cr_expect_eq(with->about.intake.missing, 0);
	cr_expect_eq(tensor_named(with, "y")->bytes, 16 * 4);
}

Test(onnx, weights_are_parameters_and_views_share_memory)
{
	struct error error = { 0 };
	OWN(graph) *graph = read_model("mlp", "batch=2", &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_eq(tensor_named(graph, "w")->kind, KIND_PARAMETER);
	cr_expect_eq(tensor_named(graph, "w")->bytes, 4 * 8 * 4);
	cr_expect_eq(tensor_named(graph, "b")->bytes, 8 * 4, "of a weight in another file, which is not opened");
	cr_expect_eq(tensor_named(graph, "to")->kind, KIND_CONSTANT);
	cr_expect_eq(tensor_named(graph, "x")->kind, KIND_INPUT);
	cr_expect_eq(tensor_named(graph, "y")->kind, KIND_OUTPUT);
	cr_expect_eq(tensor_named(graph, "f")->storage, tensor_named(graph, "r")->storage);
}

Test(onnx, graphs_inside_of_ops_are_said)
{
	struct error error = { 0 };
	OWN(graph) *graph = read_model("loop", NULL, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect(strstr(graph->about.intake.assumed, "not opened"), "%s", graph->about.intake.assumed);
}

/* r and the weight w are read in one branch, s in a branch of the other; nothing reads t. Three ops bear one name. */
Test(onnx, an_op_reads_what_its_graphs_read_of_outside)
{
	struct error error = { 0 };
	OWN(graph) *graph = read_model("captured", NULL, &error);
	cr_assert(graph, "%s", error.text);
	cr_assert_eq(graph->ops, 4);
	cr_expect_str_eq(graph->op[1].name, "same'2");
	cr_expect_str_eq(graph->op[2].name, "same'3");
	static const struct {
		const char *name;
		uint32_t last;
	} read[] = { { "r", 3 }, { "s", 3 }, { "w", 3 }, { "t", NONE } };
	for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
		uint32_t tensor = (uint32_t)(tensor_named(graph, read[i].name) - graph->tensor), last = NONE;
		for (uint32_t op = 0; op < graph->ops; op++)
			for (uint32_t k = graph->reads.start[op]; k < graph->reads.start[op + 1]; k++)
				if (graph->reads.item[k] == tensor)
					last = op;
		cr_expect_eq(last, read[i].last, "%s", read[i].name);
	}
}

Test(onnx, what_is_wrong_is_said)
{
	static const struct {
		const char *name, *text;
	} cases[] = { { "twice", "made twice" }, { "huge", "overflows" }, { "truncated", "truncated" },
		{ "cycle", "after it is read" }, { "varint", "truncated or broken" }, { "nested", "more than 64 deep" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct error error = { 0 };
		OWN(graph) *graph = read_model(cases[i].name, NULL, &error);
		cr_expect_null(graph, "%s", cases[i].name);
		cr_expect_eq(error.status, BAD_INPUT);
		cr_expect(strstr(error.text, cases[i].text), "%s: %s", cases[i].name, error.text);
	}
}

/* What onnx.shape_inference with data_prop says of these models, but of `exp` and `stft` what a run gives (1.23 forgets
 * that one-sided is the default): windows, layers, parts, sizes that are computed in the graph. */
static const char *shape_text(const struct tensor *tensor, char *text, size_t size)
{
	*text = '\0';
	for (int k = 0; k < tensor->dims; k++)
		snprintf(text + strlen(text), size - strlen(text), "%s%ld", k ? " " : "", (long)tensor->shape[k]);
	return text;
}

/* Four conditions follow from the rank of x: two sibling branches call what is inside alike, one is in another, results
 * are made inside, given on, or weights. The fifth is an input. Beside them ops that onnx's own tests of operators
 * showed to be missing or wrong. */
Test(onnx, a_branch_whose_condition_is_known_stands_in_place_of_its_if)
{
	static const struct { const char *name, *dims; } known[] = {
		{ "inner", "6 7" },
		{ "a", "6 7" },
		{ "b", "9 7" },
		{ "w", "5 7" },
		{ "c", "3 7" },
		{ "wide", "1 2 6 6" },
		{ "last", "1 2 4" },
		{ "attended", "2 9 4 10" },
		{ "present_key", "2 3 18 8" },
		{ "present_value", "2 3 18 10" },
		{ "products", "2 9 4 18" },
		{ "cum", "3 7" },
		{ "det", "5" },
		{ "bits", "3 7" },
	};
	struct error error = { 0 };
	char text[100];
	OWN(graph) *graph = read_model("branches", NULL, &error);
	cr_assert(graph, "%s", error.text);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		cr_expect_str_eq(
			shape_text(tensor_named(graph, known[i].name), text, sizeof text), known[i].dims, "%s", known[i].name);
	cr_expect_eq(graph->about.intake.missing, 1, "d, whose condition is not known");
	cr_expect_eq(tensor_named(graph, "w")->storage, tensor_named(graph, "weight")->storage);
	cr_expect_eq(tensor_named(graph, "c")->storage, tensor_named(graph, "x")->storage);
	cr_expect_eq(tensor_named(graph, "a")->kind, KIND_OUTPUT);
	cr_expect_eq(tensor_named(graph, "bits")->dtype, DTYPE_I32);
	cr_expect_str_eq(op_named(graph, "last")->type, "onnx.LSTM", "its first result is left out");
	cr_expect(strstr(graph->about.intake.assumed, "4 conditions are known") &&
			strstr(graph->about.intake.assumed, "2 graphs inside of ops"),
		"%s", graph->about.intake.assumed);
}

Test(onnx, sizes_follow_by_operator)
{
	static const struct { const char *name, *dims; } known[] = {
		{ "grid", "2 10 12 2" },
		{ "sampled", "2 3 10 12" },
		{ "roi", "5 3 7 6" },
		{ "stft", "2 22 33 2" },
		{ "full", "2 22 64 2" },
		{ "half", "2 51 2" },
		{ "dft", "2 400 2" },
		{ "hann", "40" },
		{ "black", "40" },
		{ "conv", "2 8 17 15" },
		{ "bn", "2 8 17 15" },
		{ "pool", "2 8 8 7" },
		{ "at", "2 8 8 7" },
		{ "avg", "2 8 6 5" },
		{ "gap", "2 8 1 1" },
		{ "flat", "2 8" },
		{ "gemm", "2 5" },
		{ "deconv", "2 4 16 14" },
		{ "s", "4" },
		{ "b", "" },
		{ "b1", "1" },
		{ "ch", "1" },
		{ "hw", "2" },
		{ "unused", "1" },
		{ "rs", "3" },
		{ "tok", "2 8 56" },
		{ "tr", "2 56 8" },
		{ "mm", "2 56 24" },
		{ "q", "2 56 8" },
		{ "vv", "2 56 8" },
		{ "ein", "2 56 56" },
		{ "sm", "2 56 56" },
		{ "att", "2 56 8" },
		{ "hwi", "2" },
		{ "sizes", "4" },
		{ "up", "2 8 16 14" },
		{ "up2", "2 8 12 17" },
		{ "pad", "2 8 12 13" },
		{ "cos", "2 8 8 7" },
		{ "rs2", "3" },
		{ "exp", "2 8 1" },
		{ "tile", "4 15" },
		{ "sqz", "2 8" },
		{ "top", "2 3" },
		{ "topi", "2 3" },
		{ "am", "2" },
		{ "rm", "2 8" },
		{ "eq", "2" },
		{ "wh", "2" },
		{ "oh", "2 7" },
		{ "rng", "4" },
		{ "gnd", "2 5" },
		{ "gel", "2 2" },
		{ "d2s", "2 2 16 14" },
		{ "ln", "2 56 8" },
		{ "lnm", "2 56 1" },
		{ "lni", "2 56 1" },
		{ "drop", "2 56 8" },
		{ "mask", "2 56 8" },
		{ "ly", "7 2 2 10" },
		{ "lh", "2 2 10" },
		{ "lc", "2 2 10" },
		{ "rev", "4 2 6" },
		{ "tri", "2 56 56" },
		{ "nt", "2" },
	};
	struct error error = { 0 };
	OWN(graph) *graph = read_model("shapes", "batch=2", &error), *signals = read_model("signals", "batch=2", &error);
	cr_assert(graph && signals, "%s", error.text);
	cr_expect_eq(graph->about.intake.missing + signals->about.intake.missing, 0);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		const struct tensor *tensor = tensor_named(i < 9 ? signals : graph, known[i].name);
		char text[100];
		cr_expect_str_eq(shape_text(tensor, text, sizeof text), known[i].dims, "%s", known[i].name);
	}
	cr_expect_eq(tensor_named(graph, "mask")->dtype, DTYPE_BOOL);
	cr_expect_eq(tensor_named(graph, "at")->dtype, DTYPE_I64);
	cr_expect_eq(tensor_named(signals, "black")->dtype, DTYPE_F64);
}

/* One weight, whose data lies in another file. No such file is opened, but a path out of the folder is a sign of
 * nothing good. */
static enum status read_located(const char *location, struct error *error)
{
	unsigned char data[300], entry[200], tensor[250], model[300];
	size_t length = strlen(location), n = 0, t = 0, m = 0;
	n += (size_t)snprintf((char *)entry, sizeof entry, "\x0a\x08location\x12%c%s", (char)length, location);
	memcpy(tensor, "\x08\x04\x10\x01\x42\x01w\x6a", t = 8);
	tensor[t++] = (unsigned char)n;
	memcpy(tensor + t, entry, n);
	t += n;
	memcpy(data, "\x2a", 1);
	data[1] = (unsigned char)t;
	memcpy(data + 2, tensor, t);
	memcpy(model, "\x08\x0e\x3a", m = 3);
	model[m++] = (unsigned char)(t + 2);
	memcpy(model + m, data, t + 2);
	OWN(graph) *graph = onnx_read((const char *)model, m + t + 2, NULL, 0, error);
	enum status status = graph ? OK : error->status;
	return status;
}

/* A quantised convolution as exporters write it, one quantised as it runs, and a product of integers. */
Test(onnx, quantised_numbers_have_their_types)
{
	static const struct {
		const char *name;
		int dtype;
		int64_t bytes;
	} known[] = { { "xd_q", DTYPE_U8, 8192 }, { "xd", DTYPE_F32, 32768 }, { "wd", DTYPE_F32, 4608 },
		{ "c", DTYPE_F32, 65536 }, { "cd_q", DTYPE_U8, 16384 }, { "rq", DTYPE_U8, 16384 }, { "rs", DTYPE_F32, 4 },
		{ "rz", DTYPE_U8, 1 }, { "ci", DTYPE_I32, 16384 }, { "mm", DTYPE_U8, 32 } };
	struct error error = { 0 };
	OWN(graph) *graph = read_model("quantised", NULL, &error);
	cr_assert(graph, "%s", error.text);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		const struct tensor *tensor = tensor_named(graph, known[i].name);
		cr_expect(tensor->dtype == known[i].dtype && tensor->bytes == known[i].bytes, "%s: %d, %lld", known[i].name,
			tensor->dtype, (long long)tensor->bytes);
	}
	cr_expect_eq(graph->about.intake.missing, 0);
	cr_expect_str_eq(graph->about.intake.version, "IR 14, opset 13");
}

Test(onnx, weights_lie_beside_the_model)
{
	static const struct {
		const char *location;
		bool fine;
	} cases[] = { { "w.bin", true }, { "data/w..bin", true }, { "..w", true }, { "../w", false },
		{ "a/../../w", false }, { "/etc/passwd", false }, { "a/..", false }, { "C:\\w", false }, { "..\\w", false } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct error error = { 0 };
		enum status status = read_located(cases[i].location, &error);
		cr_expect_eq(status == BAD_INPUT && strstr(error.text, "outside of the model"), !cases[i].fine, "%s: %s",
			cases[i].location, error.text);
	}
	struct error error = { 0 };
	cr_expect_eq(read_located("", &error), BAD_INPUT);
	cr_expect(strstr(error.text, "without a name"), "%s", error.text);
}
