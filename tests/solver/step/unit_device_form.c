/* unit_device_form.c: sums in another order, views made again and releases of what was read last leave what a step
 * computes as it is. */
#include <math.h>
#include <string.h>

#include "solver/step/train.h"
#include "tests/common/native_text.h"
#include "tests/common/support.h"
#include "tests/common/two_devices.h"

/* What a step leaves behind: updated states, and results. */
static void compare(const struct graph *graph, const struct graph *form, const struct rules *rules)
{
	OWN(on_two) before, after;
	uint32_t compared = 0;
	run_on_two(graph, rules, "tp", &roles_tensor, &before);
	run_on_two(form, rules, "tp", &roles_tensor_sp, &after);
	for (uint32_t t = 0; t < graph->tensors; t++) {
		uint32_t other = graph_find_tensor(form, graph->tensor[t].name), writer = graph->tensor[t].writer;
		cr_assert_neq(other, NONE, "%s", graph->tensor[t].name);
		if (writer == NONE || (graph->op[writer].phase != PHASE_UPDATE && graph->tensor[t].kind != KIND_OUTPUT))
			continue;
		struct cell *a = &before.run.dense.cell[t], *b = &after.run.dense.cell[other];
		cr_assert_eq(a->shape.count, b->shape.count);
		for (int64_t i = 0; i < a->shape.count; i++, compared++)
			cr_assert(
				fabs(a->memory[a->place[i]] - b->memory[b->place[i]]) <= 1e-9 * (1 + fabs(a->memory[a->place[i]])),
				"%s, element %ld", graph->tensor[t].name, (long)i);
	}
	cr_assert(compared > 0);
}

Test(device_form, a_step_computes_the_same)
{
	static const char *const names[] = { "llama", "bert", "gpt", "t5" };
	struct rules *rules = test_rules();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct error error = { 0 };
		OWN(graph) *graph = step_of_config(
			names[i], two_layers(names[i], 4, 4), (struct model_training){ .optimizer = OPTIMIZER_ADAM });
		OWN(graph) *form = graph_device_form(graph, rules, &error);
		cr_assert_not_null(form, "%s", error.text);
		cr_expect((form == graph) == (i == 0),
			"%s: layers of a bert add up four gradients, gpt's and t5's embeddings are the output projection, too",
			names[i]);
		compare(graph, form, rules);
		OWN(graph) *again = graph_device_form(form, rules, &error);
		cr_assert_not_null(again, "%s", error.text);
		cr_expect_eq(again->ops, form->ops);
	}
}

#define T(id, kind, more) \
	"{\"k\":\"tensor\",\"id\":\"" id "\",\"bytes\":64,\"dtype\":\"f32\",\"shape\":[4,4],\"kind\":\"" kind "\"" more \
	"}\n"
#define OP(id, op, phase, in, out, more) \
	"{\"k\":\"op\",\"id\":\"" id "\",\"op\":\"" op "\",\"phase\":\"" phase "\",\"in\":[" in "],\"out\":[" out "]" more \
	"}\n"
#define ADDS(id, in, to) \
	OP(id, "aten.add_.Tensor", "backward", in, "\"" id "\"", ",\"inplace\":[[\"" id "\",\"" to "\"]]")
#define LETS_GO(id, of) OP(id, "tidemark.release", "backward", "\"" of "\"", "", "")

/* As PyTorch has it: the residual's gradient is added to in place. */
static const char in_place[] = "{\"k\":\"graph\",\"v\":1,\"name\":\"in_place\"}\n" T("x", "input", "")
	T("w1", "parameter", "") T("w2", "parameter", "") T("w3", "parameter", "") T("d", "gradient", "")
		T("v", "gradient", "") T("k", "gradient", "") T("q", "gradient", "") T("r1", "gradient", ",\"alias\":\"d\"")
			T("r2", "gradient", ",\"alias\":\"d\"") T("r3", "gradient", ",\"alias\":\"d\"") T("y", "output", "")
				OP("make_d", "aten.gelu.default", "backward", "\"x\"", "\"d\"", "")
					OP("make_v", "aten.mm.default", "backward", "\"x\",\"w1\"", "\"v\"", "")
						ADDS("r1", "\"d\",\"v\"", "d") LETS_GO("free_v", "v")
							OP("make_k", "aten.mm.default", "backward", "\"x\",\"w2\"", "\"k\"", "")
								ADDS("r2", "\"r1\",\"k\"", "r1") LETS_GO("free_k", "k")
									OP("make_q", "aten.mm.default", "backward", "\"x\",\"w3\"", "\"q\"", "")
										ADDS("r3", "\"r2\",\"q\"", "r2") LETS_GO("free_q", "q")
											OP("use", "aten.gelu.default", "backward", "\"r3\"", "\"y\"", "")
												LETS_GO("free_d", "d") "{\"k\":\"end\",\"ops\":12,\"tensors\":12}\n";

static void adder(const struct graph *graph, const char *name, const char *a, const char *b, const char *onto)
{
	uint32_t op = graph_find_op(graph, name);
	const char *first = graph->tensor[graph->reads.item[graph->reads.start[op]]].name,
			   *second = graph->tensor[graph->reads.item[graph->reads.start[op] + 1]].name;
	const char *target = graph->tensor[graph->inplace[graph->inplace_start[op]].in].name;
	cr_expect((strcmp(first, a) == 0 && strcmp(second, b) == 0) || (strcmp(first, b) == 0 && strcmp(second, a) == 0),
		"%s reads %s and %s", name, first, second);
	cr_expect_str_eq(target, onto, "%s adds to %s", name, target);
}

Test(device_form, products_gradients_are_summed_first_and_released_after_their_sum)
{
	struct error error = { 0 };
	OWN(graph) *graph = graph_of_text(in_place, sizeof in_place - 1, &error);
	cr_assert_not_null(graph, "%s", error.text);
	OWN(graph) *form = graph_device_form(graph, test_rules(), &error);
	cr_assert_not_null(form, "%s", error.text);
	adder(form, "r1", "v", "k", "v");
	adder(form, "r2", "r1", "q", "r1");
	adder(form, "r3", "d", "r2", "d");
	cr_expect_eq(graph_find_op(form, "free_v"), NONE, "it holds the sum");
	uint32_t freed = graph_find_op(form, "free_d");
	cr_expect(freed == NONE || strcmp(form->tensor[form->reads.item[form->reads.start[freed]]].name, "r3") == 0,
		"what was computed with last is let go of");
	compare(graph, form, test_rules());
}

Test(device_form, every_failed_allocation_is_reported_and_nothing_leaks)
{
	struct error error = { 0 };
	OWN(graph) *graph = graph_of_text(in_place, sizeof in_place - 1, &error);
	struct rules *rules = test_rules();
	EACH_REFUSAL(refused) {
		OWN(graph) *form = graph_device_form(graph, rules, &error);
		refused.status = form ? OK : error.status;
	}
}
