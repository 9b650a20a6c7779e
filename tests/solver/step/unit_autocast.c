/* unit_autocast.c: the casts of a small step, written out by hand; what is refused; built-in models. */
#include <stdlib.h>
#include <string.h>

#include "solver/step/precision.h"
#include "src/models/models.h"
#include "tests/common/native_text.h"
#include "tests/common/support.h"
#include "tests/common/two_devices.h"

#define TENSOR(name, dtype, bytes, shape, more) \
	"{\"k\":\"tensor\",\"id\":\"" name "\",\"bytes\":" #bytes ",\"dtype\":\"" dtype "\",\"shape\":[" shape "]" more "}\n"
#define MADE(name) TENSOR(name, "f32", 128, "4,8", ",\"kind\":\"activation\"")
#define SQUARE(name, more) TENSOR(name, "f32", 256, "8,8", more)
#define OP(name, type, phase, module, in, out, more) \
	"{\"k\":\"op\",\"id\":\"" name "\",\"op\":\"aten." type "\",\"phase\":\"" phase "\",\"mod\":\"" module \
	"\",\"in\":[" in "],\"out\":[" out "]" more "}\n"

/* y = gelu(x a^T) b^T + x; the loss is its sum. */
static const char small[] = "{\"k\":\"graph\",\"v\":1,\"name\":\"small\"}\n"
	TENSOR("x", "f32", 128, "4,8", ",\"kind\":\"input\"")
	SQUARE("a.w", ",\"kind\":\"parameter\"") SQUARE("b.w", ",\"kind\":\"parameter\"")
	SQUARE("a.t", ",\"kind\":\"parameter\",\"alias\":\"a.w\"") SQUARE("b.t", ",\"kind\":\"parameter\",\"alias\":\"b.w\"")
	MADE("a") MADE("gelu") MADE("b") MADE("sum")
	TENSOR("loss", "f32", 4, "", ",\"kind\":\"output\"") TENSOR("one", "f32", 4, "", ",\"kind\":\"gradient\"")
	TENSOR("d_sum", "f32", 128, "4,8", ",\"kind\":\"gradient\",\"alias\":\"one\"")
	TENSOR("d_sum.t", "f32", 128, "8,4", ",\"kind\":\"gradient\",\"alias\":\"one\"")
	SQUARE("d_b.w", ",\"kind\":\"gradient\"") SQUARE("b.t.t", ",\"kind\":\"parameter\",\"alias\":\"b.w\"")
	MADE("d_gelu") MADE("d_a") TENSOR("d_a.t", "f32", 128, "8,4", ",\"kind\":\"activation\",\"alias\":\"d_a\"")
	SQUARE("d_a.w", ",\"kind\":\"gradient\"")
	SQUARE("b.new", ",\"kind\":\"parameter\",\"alias\":\"b.w\"")
	SQUARE("a.new", ",\"kind\":\"parameter\",\"alias\":\"a.w\"")
	OP("1", "t.default", "forward", "a", "\"a.w\"", "\"a.t\"", "")
	OP("2", "mm.default", "forward", "a", "\"x\",\"a.t\"", "\"a\"", "")
	OP("3", "gelu.default", "forward", "g", "\"a\"", "\"gelu\"", "")
	OP("4", "t.default", "forward", "b", "\"b.w\"", "\"b.t\"", "")
	OP("5", "mm.default", "forward", "b", "\"gelu\",\"b.t\"", "\"b\"", "")
	OP("6", "add.Tensor", "forward", "", "\"b\",\"x\"", "\"sum\"", "")
	OP("7", "sum.default", "forward", "", "\"sum\"", "\"loss\"", "")
	OP("8", "ones_like.default", "backward", "", "\"loss\"", "\"one\"", "")
	OP("9", "expand.default", "backward", "", "\"one\"", "\"d_sum\"", "")
	OP("10", "t.default", "backward", "b", "\"d_sum\"", "\"d_sum.t\"", "")
	OP("11", "mm.default", "backward", "b", "\"d_sum.t\",\"gelu\"", "\"d_b.w\"", "")
	OP("12", "t.default", "backward", "b", "\"b.t\"", "\"b.t.t\"", "")
	OP("13", "mm.default", "backward", "b", "\"d_sum\",\"b.t.t\"", "\"d_gelu\"", "")
	OP("14", "gelu_backward.default", "backward", "g", "\"d_gelu\",\"a\"", "\"d_a\"", "")
	OP("15", "t.default", "backward", "a", "\"d_a\"", "\"d_a.t\"", "")
	OP("16", "mm.default", "backward", "a", "\"d_a.t\",\"x\"", "\"d_a.w\"", "")
	OP("17", "add_.Tensor", "update", "", "\"b.w\",\"d_b.w\"", "\"b.new\"", ",\"inplace\":[[\"b.new\",\"b.w\"]]")
	OP("18", "add_.Tensor", "update", "", "\"a.w\",\"d_a.w\"", "\"a.new\"", ",\"inplace\":[[\"a.new\",\"a.w\"]]")
	"{\"k\":\"op\",\"id\":\"19\",\"op\":\"tidemark.release\",\"phase\":\"update\",\"mod\":\"\",\"in\":[\"one\"],\"out\":[]}\n"
	"{\"k\":\"end\",\"tensors\":21,\"ops\":19}\n";

/* A cast is called by its format and what it casts. No gradient of x is needed, so that nothing reads a's weight again.
 * A weight's gradient is cast when the product's other one is there, and the weight's cast goes before. */
static const char cast[] =
	"1: bf16(a.w) > a.t bf16\n2: bf16(x) a.t > a bf16\n3: a > gelu bf16\n4: bf16(b.w) > b.t bf16\n"
	"5: gelu b.t > b bf16\n6: b x > sum f32\n7: sum > loss f32\nrelease: bf16(a.w) >\n8: loss > one f32\n"
	"9: one > d_sum f32\n10: bf16(d_sum) > d_sum.t bf16\n11: d_sum.t gelu > d_b.w bf16\n12: b.t > b.t.t bf16\n"
	"13: bf16(d_sum) b.t.t > d_gelu bf16\nrelease: bf16(b.w) >\n14: d_gelu a > d_a bf16\n15: d_a > d_a.t bf16\n"
	"16: d_a.t bf16(x) > d_a.w bf16\n17: b.w f32(d_b.w) > b.new f32\n18: a.w f32(d_a.w) > a.new f32\n"
	"release: one >\n";

static struct graph *graph_small(const char *text)
{
	struct error error = { 0 };
	struct graph *graph = graph_of_text(text, strlen(text), &error);
	cr_assert(graph, "%s", error.text);
	return graph;
}

static void print_ops(const struct graph *before, const struct graph *graph, FILE *stream)
{
	FOR(op, graph->ops) {
		if (!op_releases(&graph->op[op]) && graph_find_op(before, graph->op[op].name) == NONE)
			continue; /* a cast */
		fprintf(stream, "%s:", op_releases(&graph->op[op]) ? "release" : graph->op[op].name);
		FOR_ITEMS(read, &graph->reads, op) {
			const struct tensor *tensor = &graph->tensor[read];
			if (graph_find_tensor(before, tensor->name) != NONE)
				fprintf(stream, " %s", tensor->name);
			else
				fprintf(stream, " %s(%s)", dtype_names[tensor->dtype],
					graph->tensor[graph_argument(graph, tensor->writer, 0)].name);
		}
		fprintf(stream, " >");
		FOR_ITEMS(result, &graph->writes, op) {
			const struct tensor *tensor = &graph->tensor[result];
			cr_expect_eq(tensor->bytes * 8, before->tensor[graph_find_tensor(before, tensor->name)].bytes / 4 *
				dtype_bits[tensor->dtype], "%s", tensor->name);
			fprintf(stream, " %s %s", tensor->name, dtype_names[tensor->dtype]);
		}
		fprintf(stream, "\n");
	}
}

Test(autocast, casts_of_a_small_step_are_those_by_hand)
{
	struct error error = { 0 };
	struct graph *before = graph_small(small), *after = autocast_apply(before, test_rules(), &error);
	char *text = NULL;
	size_t size = 0;
	cr_assert(after, "%s", error.text);
	FILE *stream = open_memstream(&text, &size);
	print_ops(before, after, stream);
	fclose(stream);
	cr_expect(strcmp(text, cast) == 0, "%s", text);
	free(text);
	graph_release(after);
	graph_release(before);
}

Test(autocast, what_is_under_it_already_or_not_in_fp32_is_refused)
{
	struct error error = { 0 };
	struct graph *before = graph_small(small), *after = autocast_apply(before, test_rules(), &error), *half;
	cr_expect(!autocast_apply(after, test_rules(), &error) &&
		strstr(error.text, "op \"2\" computes in 16 bits"), "%s", error.text);
	graph_release(after);
	half = precision_apply(before, test_rules(), PRECISION_BF16, &error);
	cr_expect(!autocast_apply(half, test_rules(), &error) && strstr(error.text, "no parameter is in fp32"),
		"%s", error.text);
	graph_release(half);
	graph_release(before);
}

Test(autocast, each_refused_allocation)
{
	struct graph *before = graph_small(small);
	const struct rules *rules = test_rules();
	EACH_REFUSAL(refused) {
		struct error error = { 0 };
		struct graph *after = autocast_apply(before, rules, &error);
		refused.status = after ? OK : error.status;
		graph_release(after);
	}
	graph_release(before);
}

/* Of built-in models, whose steps rules make: products read 16 bits alone, and updates f32. */
Test(autocast, built_in_models_are_cast_throughout)
{
	static const char *const models[] = { "gpt2", "llama", "bert" };
	FOR_SIZE(i, COUNT_OF(models)) {
		struct model_training training = { .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_AUTOCAST };
		struct graph *step = step_of_config(models[i], two_layers(models[i], 4, 4), training);
		uint32_t products = 0;
		FOR(op, step->ops) {
			enum rule_autocast mode = rules_autocast(test_rules(), step->op[op].type);
			uint32_t wide = 0, narrow = 0;
			FOR_ITEMS(read, &step->reads, op) {
				wide += step->tensor[read].dtype == DTYPE_F32;
				narrow += step->tensor[read].dtype == DTYPE_BF16;
			}
			bool product = mode == AUTOCAST_NARROW && rules_find(test_rules(), step->op[op].type)->cost == COST_CONTRACTION;
			products += product;
			cr_expect(!product || wide == 0, "%s, %s: a product of %u in f32", models[i], step->op[op].name, wide);
			cr_expect(step->op[op].phase != PHASE_UPDATE || narrow == 0, "%s, %s", models[i], step->op[op].name);
		}
		cr_expect(products > 20, "%u", products);
		graph_release(step);
	}
}
